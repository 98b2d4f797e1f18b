"""The layer as a package: its definitions in the order in which perdure loads them, each as it was."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .plain_layer import Both, Layer, imported, names_in


def test_two_files_of_one_name(tmp_path: Path) -> None:
    files = {"classes/a/area.py": "class area: ...", "functions/a/area.py": "def area(): ..."}
    module = imported(Layer(tmp_path, files))
    assert isinstance(module.area, type)
    assert module.skipped == {
        "functions/a/area.py": "area is defined in classes/a/area.py too; remove one of the files"
    }


def test_a_name_that_comes_only_when_called(tmp_path: Path) -> None:
    """Making A calls make, and that helper."""
    files = {
        "values/a/A.py": "A = make()",
        "functions/m/make.py": "def make():\n    return helper()\n",
        "functions/z/helper.py": "@late\ndef helper():\n    return 3\n",
        "functions/z/late.py": "def late(f):\n    return f\n",
        "classes/a/Aa.py": "class Aa(A.__class__): ...",
    }
    module = imported(Layer(tmp_path, files))
    assert module.A == 3
    assert module.Aa.__mro__[1] is int
    assert module.skipped == {}


def test_what_fails_for_a_registry_not_filled_yet_is_tried_again(tmp_path: Path) -> None:
    files = {
        "classes/u/User.py": "class User:\n    handler = REG['a']\n",
        "functions/h/handler.py": "@register('a')\ndef handler(): ...\n",
        "functions/r/register.py": "def register(key):\n    return lambda f: REG.setdefault(key, f)\n",
        "values/r/REG.py": "REG = {}",
    }
    module = imported(Layer(tmp_path, files))
    assert module.skipped == {}
    assert module.User.handler is module.handler


def test_each_file_runs_once(tmp_path: Path) -> None:
    """Those that fail, and those in a circle that something can give way in."""
    texts = {
        "classes/c/Circle.py": "class Circle: ...",
        "functions/a/annotated.py": "def annotated(x: Late): ...",
        "functions/m/make.py": "def make():\n    return Z\n",
        "methods/c/Circle.unit.py": "Circle.unit = UNIT",
        "values/a/A.py": "A = B",
        "values/b/B.py": "B = make()",
        "values/b/BAD.py": "from math import BAD",
        "values/l/Late.py": "Late = int",
        "values/u/UNIT.py": "UNIT = Circle()",
        "values/z/Z.py": "Z = 1",
    }
    count = "import builtins\nbuiltins.runs = getattr(builtins, 'runs', 0) + 1\n"
    layer = Layer(tmp_path, {path: count + text for path, text in texts.items()})
    said = layer.python(
        "import builtins; print(*layer.skipped, builtins.runs, layer.A, layer.Circle.unit is layer.UNIT)"
    )
    assert said == f"values/b/BAD.py {len(texts)} 1 True"


def test_a_circle(tmp_path: Path) -> None:
    files = {
        "classes/a/A.py": "class A:\n    def b(self) -> B: ...\n",
        "classes/b/B.py": "class B:\n    def a(self) -> A: ...\n",
        "values/x/X.py": "X = Y",
        "values/y/Y.py": "Y = X",
    }
    module = imported(Layer(tmp_path, files))
    assert {"A", "B"} <= names_in(module)
    assert list(module.skipped) == ["values/x/X.py", "values/y/Y.py"]


def test_annotations_that_nothing_defines(tmp_path: Path) -> None:
    files = {
        "functions/f/f.py": "def f(x: Nowhere): ...\n",
        "functions/g/g.py": "@f\ndef g(x: Nowhere): ...\n",
        "functions/h/h.py": "def h(x: int): ...\n",
        "values/a/A.py": "A = f(Gone)",
    }
    module = imported(Layer(tmp_path, files))
    assert names_in(module) == {"f", "g", "h"}
    assert module.skipped == {"values/a/A.py": "NameError: name 'Gone' is not defined"}
    assert module.f.__annotations__ == {"x": "Nowhere"} or sys.version_info >= (3, 14)
    assert module.h.__annotations__ == {"x": int}  # lazy is only what must be


def test_the_future_is_each_files_own(tmp_path: Path) -> None:
    files = {
        "functions/f/f.py": "from __future__ import annotations\n\n\ndef f(x: int): ...\n",
        "functions/g/g.py": "def g(x: int): ...\n",
    }
    module = imported(Layer(tmp_path, files))
    assert module.f.__annotations__ == {"x": "int"}
    assert module.g.__annotations__ == {"x": int}


def test_the_header(tmp_path: Path) -> None:
    files = {
        "values/a/A.py": "# perdure: needs df; after Z, nothing; unknown x; name A, B\nexec('A = B = len(Z_LOG)')",
        "values/z/Z.py": "Z = Z_LOG.append(1)",
        "values/z/Z_LOG.py": "Z_LOG = []",
        "values/b/C.py": "C = B + 1",
    }
    module = imported(Layer(tmp_path, files))
    assert module.skipped == {}
    assert (module.A, module.C) == (1, 2)


def test_a_name_in_the_header_may_have_a_comma(tmp_path: Path) -> None:
    text = "# perdure: name read@dict[str%2C int], read@x%25y\nread = 1\n"
    module = imported(Layer(tmp_path, {"methods/r/a.py": text, "methods/r/b.py": text}))
    assert module.skipped == {
        "methods/r/b.py": "read@dict[str, int] is defined in methods/r/a.py too; remove one of the files"
    }


def test_what_was_made_with_a_builtin_that_is_hidden_since(tmp_path: Path) -> None:
    files = {
        "functions/s/sum.py": "# perdure: after TOTAL, _sum\ndef sum(x):\n    return ('mine', _sum(x))\n",
        "functions/a/again.py": "def again(x=sum([1])):\n    return x\n",
        "values/t/TOTAL.py": "TOTAL = sum([1, 2])",
        "values/_/_sum.py": "_sum = sum",
    }
    module = imported(Layer(tmp_path, files))
    assert (module.TOTAL, module.sum([4]), module.again()) == (3, ("mine", 4), ("mine", 1))


# Several statements in one file; what is put on another definition.

AREA = "from functools import singledispatch\n\n\n@singledispatch\ndef area(s):\n    return 'any'\n"


def test_stages_run_in_order(tmp_path: Path) -> None:
    files = {
        "classes/a/A.py": "class A:\n    x = 1\n\n\nclass A(A):\n    y = A.x + 1\n",
        "classes/k/K.py": "from abc import ABC\n\n\nclass K(ABC):\n    pass\n\n\nK.register(int)\n",
        "functions/a/area.py": AREA + "\n\narea.register(str, loud)\n",
        "functions/f/f.py": "def f(x):\n    return x\n\n\nf = wrap(f)\nf = wrap(f)\n",
        "functions/l/loud.py": "def loud(s):\n    return s.upper()\n",
        "functions/o/over.py": "from typing import overload\n\n\n@overload\ndef over(x: int) -> int: ...\n"
        "@overload\ndef over(x: str) -> str: ...\ndef over(x):\n    return x\n",
        "functions/w/wrap.py": "def wrap(f):\n    return lambda x: [f(x)]\n",
    }
    both = Both(tmp_path, files)
    assert both.skipped == {}
    assert both.value("f(1), A.y, isinstance(1, K), area('a'), over(3)") == ([[1]], 2, True, "A", 3)


def test_several_files_may_set_a_name_on_their_way(tmp_path: Path) -> None:
    """What a file sets and does not give is as it was: nothing, or what another gives."""
    files = {
        "classes/c/Circle.py": "class Circle:\n    pass\n",
        "classes/s/Square.py": "class Square:\n    pass\n",
        "functions/a/add_to.py": "def add_to(*classes):\n    def add(f):\n        for each in classes:\n"
        "            setattr(each, f.__name__, f)\n        return f\n    return add\n",
        "functions/a/area.py": AREA,
        "functions/g/grow.py": "def grow():\n    return 'grow'\n",
        "functions/s/say.py": "from gettext import gettext as _\n\n\ndef say():\n    return _('said')\n",
        "methods/a/area@int.py": "@area.register\ndef _(s: int):\n    return 'int'\n",
        "methods/a/area@list.py": "@area.register(list)\n@area.register(tuple)\ndef _(s):\n    return 'list'\n",
        "methods/c/Circle.grow.py": "# perdure: name Circle.grow\n@add_to(Circle)\ndef grow(self): return 'circle'\n",
        "methods/c/Circle.shrink.py": "# perdure: name Circle.shrink, Square.shrink\n"
        "@add_to(Circle, Square)\ndef shrink(self):\n    return 'both'\n",
        "methods/s/Square.grow.py": "# perdure: name Square.grow\n@add_to(Square)\ndef grow(self): return 'square'\n",
        "values/b/B.py": "# perdure: name B\nA, B, C = 1, 2, 3\n",
        "values/a/A.py": "# perdure: after B\nA = 4\n",
    }
    both = Both(tmp_path, files)
    assert both.skipped == {}
    assert both.value("[area(x) for x in (1, [], (), '')]") == ["int", "list", "list", "any"]
    assert both.value("Circle().grow(), Square().grow(), Square().shrink(), grow()") == (
        "circle",
        "square",
        "both",
        "grow",
    )
    assert both.value("A, B, say()") == (4, 2, "said")
    assert not {"C", "shrink"} & names_in(both.module)
    assert both.module._("x") == "x"  # the import it was
    del files["functions/s/say.py"]
    assert not hasattr(imported(Layer(tmp_path, files, "other")), "_")


def test_an_import_does_not_take_the_name_of_a_definition(tmp_path: Path) -> None:
    files = {
        "functions/a/sqrt.py": "def sqrt(x):\n    return 'mine'\n",
        "values/r/ROOT.py": "from math import sqrt\n\nROOT = sqrt(4)\n",
    }
    assert Both(tmp_path, files).value("ROOT, sqrt(4)") == (2.0, "mine")


def test_what_is_put_on_something_is_what_others_load_with(tmp_path: Path) -> None:
    """Each here loads well before the methods and registrations too, with another value."""
    files = {
        "classes/a/Aa.py": "class Aa:\n    value = area('x')\n",
        "classes/c/Circle.py": "class Circle:\n    size = 1\n",
        "functions/a/area.py": AREA,
        "functions/b/b.py": "def b(x=[area('x'), Circle.size]):\n    return x\n",
        "methods/a/area@Text.py": "@area.register\ndef _(s: Text):\n    return 'text'\n",
        "methods/a/area@Bytes.py": "@area.register\ndef _(s: 'Bytes'):\n    return 'bytes'\n",
        "methods/c/Circle.size.py": "Circle.size = Z_SIZE\n",
        "values/a/AREA.py": "AREA = area(b'x')",
        "values/u/UNIT.py": "UNIT = Circle()\nSIZE = UNIT.size\n",
        "values/z/Bytes.py": "Bytes = bytes",
        "values/z/Text.py": "Text = str",
        "values/z/Z_SIZE.py": "Z_SIZE = 2",
    }
    both = Both(tmp_path, files)
    assert both.value("Aa.value, b(), AREA, SIZE") == ("text", ["text", 2], "bytes", 2)


def test_what_is_put_on_something_waits_where_it_has_to(tmp_path: Path) -> None:
    """In a circle it gives way; annotations give way before it does."""
    files = {
        "classes/c/Circle.py": "class Circle:\n    unit = None\n",
        "classes/p/P.py": "from __future__ import annotations\n\n\nclass P:\n    def q(self) -> Q: ...\n",
        "classes/q/Q.py": "class Q(P):\n    kind = str\n",
        "functions/a/area.py": AREA,
        "methods/a/area@Z.py": "@area.register(Z)\ndef _(s):\n    return 'z'\n",
        "methods/c/Circle.unit.py": "Circle.unit = UNIT\n",
        "values/a/A.py": "A = area(Q), area('')",
        "values/u/UNIT.py": "UNIT = Circle()",
        "values/z/Z.py": "Z = Q.kind",
    }
    both = Both(tmp_path, files)
    assert both.skipped == {}
    assert both.value("A, Circle.unit is UNIT") == (("any", "z"), True)
    files["methods/a/area@Z.py"] = "@area.register\ndef _(s: Z):\n    return 'z'\n"  # this annotation does not
    assert imported(Layer(tmp_path, files, "other")).A == ("any", "z")


def test_methods_of_one_class_may_read_each_other(tmp_path: Path) -> None:
    files = {
        "classes/c/Circle.py": "class Circle:\n    pass\n",
        "methods/c/Circle.alias.py": "Circle.alias = Circle.grow\n",
        "methods/c/Circle.grow.py": "Circle.grow = lambda self: 'grown'\n",
        "methods/c/Circle.last.py": "# perdure: after Circle.naught\nCircle.last = getattr(Circle, 'zero', None)\n",
        "methods/c/Circle.zero.py": "Circle.zero = Circle.naught = 0\n",
    }
    both = Both(tmp_path, files)
    assert both.skipped == {}
    assert both.value("Circle().alias(), Circle.last") == ("grown", 0)


def test_a_registration_needs_the_type_that_it_is_for(tmp_path: Path) -> None:
    files = {
        "functions/a/area.py": AREA,
        "methods/a/area@Gone.py": "@area.register\ndef _(s: Gone): ...\n",
        "methods/a/area@int.py": "@area.register\ndef _(s: int) -> int:\n    return 1\n",
        "methods/n/Nowhere.grow.py": "Nowhere.grow = 1\n",
    }
    both = Both(tmp_path, files)
    assert both.skipped == {
        "methods/a/area@Gone.py": "NameError: name 'Gone' is not defined",
        "methods/n/Nowhere.grow.py": "NameError: name 'Nowhere' is not defined",
    }
    assert both.value("area(0), area('')") == (1, "any")


def test_one_name_in_two_files_of_methods(tmp_path: Path) -> None:
    files = {
        "classes/c/Circle.py": "class Circle: ...\n",
        "functions/a/area.py": AREA,
        "methods/a/area@int.py": "@area.register\ndef _(s: int): ...\n",
        "methods/a/copy.py": "@area.register(int)\ndef _(s): ...\n",
        "methods/c/Circle.grow.py": "Circle.grow = 1\n",
        "methods/c/copy.py": "# perdure: name Circle.grow\nsetattr(Circle, 'grow', 2)\n",
    }
    both = Both(tmp_path, files)
    assert both.skipped == {
        "methods/a/copy.py": "area@int is defined in methods/a/area@int.py too; remove one of the files",
        "methods/c/copy.py": "Circle.grow is defined in methods/c/Circle.grow.py too; remove one of the files",
    }


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Names, and for each those it needs to load: never a circle."""
    names = draw(st.lists(st.from_regex(r"[A-Z][a-z]{0,2}", fullmatch=True), unique=True, max_size=8))
    return {name: tuple(draw(st.sets(st.sampled_from(names[:i])))) if i else () for i, name in enumerate(names)}


@given(graphs(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_any_graph_loads_as_the_kernel_loads_it(
    tmp_path_factory: pytest.TempPathFactory, graph: dict[str, tuple[str, ...]], random: Any
) -> None:
    files = {}
    for name, needs in graph.items():
        form = random.choice(["{name} = [{sum}]", "class {name}:\n    v = [{sum}]", "def {name}(v=[{sum}]): ..."])
        kind = {"c": "classes", "d": "functions"}.get(form[0], "values")
        files[f"{kind}/x/{name}.py"] = form.format(name=name, sum=", ".join(needs)) + "\n"
    both = Both(tmp_path_factory.mktemp("graph"), files)
    assert both.skipped == {}
    assert names_in(both.module) == set(graph)


def test_what_is_put_on_something_is_what_others_load_with_through_calls(tmp_path: Path) -> None:
    files = {
        "functions/a/area.py": "import functools\n\n\n@functools.singledispatch\ndef area(s):\n    return 0\n",
        "methods/a/area@int.py": "@area.register\ndef _(s: int):\n    return s\n",
        "functions/f/f.py": "def f(n):\n    return area(n)\n",
        "functions/g/g.py": "def g(n):\n    return f(n)\n",
        "functions/b/b.py": "def b(key=g(2)):\n    return key\n",
        "classes/k/K.py": "class K:\n    def m(self):\n        return 1\n",
        "methods/k/K.m.py": "K.m = lambda self: 2",
        "functions/q/q.py": "def q():\n    return K().m()\n",
        "functions/c/c.py": "def c(key=q()):\n    return key\n",
    }
    module = imported(Layer(tmp_path, files))
    assert (module.b(), module.c(), module.skipped) == (2, 2, {})


def test_a_function_may_be_called_as_a_module_is_by_symtable(tmp_path: Path) -> None:
    module = imported(Layer(tmp_path, {"functions/t/top.py": "def top(n, k=1):\n    m = n + k\n    return m\n"}))
    assert (module.top(1), module.skipped) == (2, {})


def test_what_a_hand_wrote_beside_a_definition_stays_for_it(tmp_path: Path) -> None:
    files = {
        "functions/f/f.py": "_step = 3\n\n\ndef f(n):\n    return n + _step\n",
        "functions/g/g.py": "RATE = 1\n\n\ndef g():\n    return RATE\n",
        "values/r/RATE.py": "RATE = 5",
    }
    both = Both(tmp_path, files)
    assert both.value("f(1), g(), RATE") == (4, 5, 5)
