"""Methods put on classes, registrations and stages: what of them is kept, and that a restart brings them back."""

from __future__ import annotations

import pytest

from .cells import Cells, said
from .made_up import MADE_UP

GENERIC = "from functools import singledispatch\n@singledispatch\ndef area(s): return 0"
ADD_TO = "def add_to(c):\n def put(f): setattr(c, f.__name__, f)\n return put"

KEPT: dict[str, tuple[list[str], list[str]]] = {
    # methods
    "method": (["class A: pass", "def m(self): return 1", "A.m = m"], ["keep A", "keep m", "keep A.m"]),
    "method by lambda": (["class A: pass", "A.m = lambda self: 1"], ["keep A", "keep A.m"]),
    "method, run again": (["class A: pass", "A.m = lambda self: 1", "A.m = lambda self: 1"], [*"AA"]),
    "property": (["class A: pass", "A.m = property(lambda self: 1)"], ["keep A", "keep A.m"]),
    "data on a class": (["class A: pass", "A.m = 1", "A.n = [1]"], ["keep A"]),
    "method becomes data": (
        ["class A: pass", "A.m = lambda self: 1", "A.m = 1"],
        ["keep A", "keep A.m", "forget A.m: it is no method now"],
    ),
    "method by what is not kept": (
        ["class A: pass", "app = iter('ab')", "A.m = lambda self, x=app: 1"],
        ["keep A", "not A.m: it reads app, which is not kept"],
    ),
    "method of what is not kept": (["A = iter('ab')", "class B: pass\nb = B()", "b.m = lambda: 1"], ["keep B"]),
    "method of an import": (["from decimal import Context", "Context.m = lambda self: 1"], []),
    "method under two names": (
        ["class A: pass", "A.__radd__ = A.__add__ = lambda self, other: 1", "A.__radd__ = lambda self, other: 2"],
        ["keep A", "keep A.__radd__, A.__add__", "keep A.__radd__"],
    ),
    "method that went into the class": (
        ["class A: pass", "A.m = lambda self: 1\nA.n = lambda self: 1", "class A:\n def m(self): return 2"],
        [
            "keep A",
            "keep A.m",
            "keep A.n",
            "keep A; A.n was made with the earlier A; after a restart it is made with the new one",
            "forget A.m: class A has its own now",
        ],
    ),
    "generic function that is a plain one now": (
        [
            GENERIC,
            "@area.register\ndef _(s: int): return s",
            "def area(s): return 1",
        ],
        [
            "keep area",
            "keep area@int",
            "keep area",
            "forget area@int: nothing can be put on area now",
        ],
    ),
    "generic function that is wrapped": (
        [
            "from functools import singledispatch, lru_cache\n@singledispatch\ndef area(s): return 0",
            "@area.register\ndef _(s: int): return s",
            "area = lru_cache(area)",
        ],
        [
            "keep area",
            "keep area@int",
            "not area: area@int could not be put on it after a restart; the layer still has the earlier one",
        ],
    ),
    "class that is a function now": (
        ["class A: pass", "A.m = lambda self: 1", "def A(): pass"],
        [
            "keep A",
            "keep A.m",
            "keep A",
            "forget A.m: nothing can be put on A now",
        ],
    ),
    "another name for a method, and a new method": (
        ["class V:\n def mul(self): return 1", "V.rmul = V.mul", "V.mul = lambda self: 2", "V.mul = lambda self: 3"],
        [
            "keep V",
            "keep V.rmul",
            "keep V.mul",
            "keep V.mul; V.rmul was made with the earlier V.mul; after a restart it is made with another",
        ],
    ),
    "two lambdas": (["f, g = lambda x: x, lambda x: -x", "h, i = lambda x: x, 3"], ["keep f, g"]),
    "method registered by a call": (
        [
            "from functools import singledispatchmethod",
            "class F:\n @singledispatchmethod\n def m(self, x): return 0",
            "F.m.register(float)(lambda self, x: 1)",
        ],
        ["keep F", "keep F"],
    ),
    "set that is unpacked": (
        ["ONE, *REST = frozenset('abc')", "A1, B1 = {1, 2}"],
        ["not ONE, REST: it puts a set in an order, which is another after a restart", "keep A1, B1"],
    ),
    "list that was changed, as a default": (
        ["NAMES = ['x']", "NAMES.append('y')", "def f(n=NAMES): pass", "def g(): return NAMES"],
        [
            "keep NAMES",
            "not NAMES: it was changed in place; the layer has it as it was set",
            "not f: it needs NAMES to load",
            "keep g",
        ],
    ),
    "name of its own other name": (["def f(): pass", "g = f", "f = g"], ["keep f", "keep g"]),
    "circle": (
        ["def f(): pass", "g = f", "def f(x=g): pass"],
        ["keep f", "keep g", "not f: it needs g to load, which itself needs f; the layer still has the earlier one"],
    ),
    "method wrapped": (
        ["def w(f): return lambda self: f(self) + 1", "class A: pass", "A.m = lambda self: 1", "A.m = w(A.m)"],
        ["keep w", "keep A", "keep A.m", "keep A.m"],
    ),
    "method by a decorator that gives nothing": (
        [
            ADD_TO,
            "class A: pass\nclass B: pass",
            "@add_to(A)\ndef m(self): return 1",
            "@add_to(B)\ndef m(self): return 2",
        ],
        ["keep add_to", "keep A", "keep B", "keep A.m", "keep B.m"],
    ),
    "method by a decorator, of a name of the shell's": (
        [
            ADD_TO,
            "class A: pass\n@add_to(A)\ndef _(self): pass",
        ],
        ["keep add_to", "keep A", "keep A._"],
    ),
    "method by a decorator that gives the function": (
        [
            "def add_to(c):\n def put(f):\n  setattr(c, f.__name__, f)\n  return f\n return put",
            "class A: pass\nclass B: pass",
            "@add_to(A)\ndef m(self): return 1",
            "@add_to(B)\ndef m(self): return 2",
        ],
        ["keep add_to", "keep A", "keep B", "keep A.m, m", "keep B.m, m"],
    ),
    "del of a method": (
        ["class A: pass", "A.m = lambda self: 1", "del A.m"],
        ["keep A", "keep A.m", "forget A.m"],
    ),
    "del of a class with methods": (
        ["class A: pass", "A.m = lambda self: 1", "del A"],
        ["keep A", "keep A.m", "forget A", "forget A.m"],
    ),
    # registrations
    "registrations (K10)": (
        [
            GENERIC,
            "class Square: side = 2",
            "@area.register\ndef _(s: int): return s",
            "@area.register\ndef _(s: Square): return s.side ** 2",
            "@area.register(str)\ndef _(s): return len(s)",
            "@area.register\ndef _(s: int): return s + 1",
        ],
        ["keep area", "keep Square", "keep area@int", "keep area@Square", "keep area@str", "keep area@int"],
    ),
    "registration for two types": (
        [
            GENERIC,
            "@area.register(int)\n@area.register(float)\ndef _(s): return s",
            "@area.register(int)\ndef _(s): return s + 1",
        ],
        ["keep area", "keep area@float, area@int", "keep area@int"],
    ),
    "registration with a name": (
        [
            GENERIC,
            "@area.register\ndef area_int(s: int): return s",
        ],
        ["keep area", "keep area_int, area@int"],
    ),
    "registration for what is not kept": (
        [
            GENERIC,
            "T = type(iter('ab'))",
            "@area.register\ndef _(s: T): return s",
        ],
        ["keep area", "not area@T: it needs T to load"],
    ),
    "another register": (["import atexit", "@atexit.register\ndef _(s: int = 1): return s"], []),
    "registration with a method": (
        [
            "from functools import singledispatchmethod",
            "class A:\n @singledispatchmethod\n def m(self, x): return 0",
            "@A.m.register\ndef _(self, x: int): return x",
        ],
        ["keep A", "keep A.m@int"],
    ),
    "del of a generic function": (
        [
            GENERIC,
            "@area.register\ndef _(s: int): return s",
            "del area",
        ],
        ["keep area", "keep area@int", "forget area", "forget area@int"],
    ),
    # stages
    "wrap (K7)": (
        ["def w(f): return lambda: f() + 1", "def f(): return 1", "f = w(f)", "f = w(f)"],
        ["keep w", "keep f", "keep f", "same f"],
    ),
    "wrap, and a new function": (
        ["def w(f): return lambda: f() + 1", "def f(): return 1", "f = w(f)", "def f(): return 2"],
        ["keep w", "keep f", "keep f", "keep f"],
    ),
    "wrap, run again": (
        ["def w(f): return lambda: f() + 1", "def f(): return 1\nf = w(f)", "def f(): return 1\nf = w(f)"],
        ["keep w", "keep f", "keep f", "same f", "same f"],
    ),
    "wrap by what is not kept": (
        ["app = iter('ab')", "def f(): return 1", "f = app.__class__ and (lambda g, a=app: g)(f)"],
        ["keep f", "forget f: it is a plain variable now"],
    ),
    "wrap of a lambda": (
        ["import functools", "f = lambda x: x", "f = functools.lru_cache(f)"],
        ["keep f", "keep f"],
    ),
    "wrap of a class": (
        ["def d(c):\n c.x = 1\n return c", "class A: pass", "A = d(A)"],
        ["keep d", "keep A", "keep A"],
    ),
    "abstract class (K19)": (
        [
            "from abc import ABC",
            "class K(ABC): pass",
            "K.register(int)",
            "K.register(int)",
            "class A: pass",
            "K.register(A)",
        ],
        ["keep K", "keep K", "same K", "keep A", "keep K"],
    ),
    "register that would make a circle": (
        ["from abc import ABC", "class K(ABC): pass", "class A:\n k = K", "K.register(A)"],
        ["keep K", "keep A", "not K.register(…): it needs A to load, which itself needs K"],
    ),
    "property in stages": (
        ["@property\ndef x(self): return 1\n@x.setter\ndef x(self, v): pass"],
        ["keep x", "keep x"],
    ),
    "overloads": (
        [
            "from typing import overload",
            "@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...\ndef f(x): return x",
            "@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...\ndef f(x): return x",
        ],
        ["keep f", "keep f", "keep f", "same f", "same f", "same f"],
    ),
    # callables
    "lambda": (["f = lambda x: x"], ["keep f"]),
    "lambda for two names": (["f = g = lambda x: x"], ["keep f, g"]),
    "partial": (["from functools import partial", "def g(a, b): return a", "f = partial(g, 1)"], ["keep g", "keep f"]),
    "another name for a partial": (
        ["from functools import partial", "def g(a, b): return a", "f = partial(g, 1)", "h = f", "i = h"],
        ["keep g", "keep f", "keep h", "keep i"],
    ),
    "lambda that becomes data": (
        ["f = lambda x: x", "f = 3", "def g(): pass", "h = g\nh = 4"],
        [
            "keep f",
            "forget f: it is a plain variable now",
            *("keep g", "keep h", "forget h: it is a plain variable now"),
        ],
    ),
    "method on a namedtuple": (
        ["from collections import namedtuple", "P = namedtuple('P', 'x')", "P.m = lambda self: 1"],
        ["keep P", "keep P.m"],
    ),
    "call of what makes functions": (["def g(n): return lambda: n", "f = g(3)"], ["keep g", "keep f"]),
    "call with an impure argument": (
        ["import os", "def g(n): return lambda: n", "f = g(os.getpid())"],
        ["keep g", "not f: it calls os.getpid()"],
    ),
    "call of what is not kept": (
        ["make = iter([1]).__class__ and (lambda n: lambda: n)", "f = make(1)"],
        ["not f: it reads make, which is not kept"],
    ),
    "object that can be called": (["class Model:\n def __call__(self): pass", "model = Model()"], ["keep Model"]),
    "object made from a function": (
        [
            "class Jit:\n def __init__(self, f): self.f = f\n def __call__(self): return self.f()",
            "def g(): return 1",
            "f = Jit(g)",
        ],
        ["keep Jit", "keep g", "keep f"],
    ),
    "result of a function": (["def g(): return [1]", "xs = g()", "ys = list(map(g, []))"], ["keep g"]),
    "walrus": (["(LIMIT := 10)", "(limit := 10)"], ["keep LIMIT"]),
    "walrus in a call": (["print(LIMIT := 10)"], []),
}
KEPT["method, run again"] = (KEPT["method, run again"][0], ["keep A", "keep A.m", "same A.m"])


@pytest.mark.parametrize(("cells", "outcomes"), KEPT.values(), ids=KEPT)
def test_what_becomes_of_it(cells: list[str], outcomes: list[str]) -> None:
    kernel = Cells()
    assert [line for cell in cells for line in said(kernel.run(cell))] == outcomes
    again = kernel.restarted()
    assert again.layer.report.skipped == ()
    assert again.names == kernel.names
    # What was kept is what is kept: a restart and the same files.
    assert {e.definition for e in again.layer.definitions} == {e.definition for e in kernel.layer.definitions}


BACK = {
    "method": (["class A: pass\nA.m = lambda self: 7"], "A().m()", 7),
    "method by a decorator": (
        [
            ADD_TO,
            "class A: pass\nclass B: pass",
            "@add_to(A)\ndef m(self): return 1",
            "@add_to(B)\ndef m(self): return 2",
        ],
        "(A().m(), B().m())",
        (1, 2),
    ),
    "registrations": (
        [
            GENERIC,
            "class Square: side = 2",
            "@area.register\ndef _(s: int): return s",
            "@area.register\ndef _(s: Square): return s.side ** 2",
            "@area.register(str)\ndef _(s): return len(s)",
            "AREA = area(Square())\nBOTH = [area('abc'), area(5)]",
        ],
        "(area(5), area(Square()), area('abc'), area(1.5))",
        (5, 4, 3, 0),
    ),
    "stages": (
        ["def w(f): return lambda: f() + 1", "def f(): return 1", "f = w(f)", "f = w(f)  # again"],
        "f()",
        3,
    ),
    "another name for a method": (
        ["class V:\n def mul(self): return 1", "V.rmul = V.mul", "V.mul = lambda self: 2"],
        "(V().rmul(), V().mul())",
        (1, 2),
    ),
    "registrations that overlap": (
        [
            GENERIC,
            "@area.register\ndef _(s: int | float): return 1",
            "@area.register\ndef _(s: int): return 2",
        ],
        "(area(3), area(1.5))",
        (2, 1),
    ),
    "registrations that overlap, the one for several first": (
        [
            GENERIC,
            "@area.register\ndef _(s: float | bool): return 1",
            "@area.register\ndef _(s: bool): return 2",
        ],
        "(area(True), area(1.5))",
        (2, 1),
    ),
    "registrations that overlap, the other way round": (
        [
            GENERIC,
            "@area.register\ndef _(s: int): return 2",
            "@area.register\ndef _(s: int | float): return 1",
        ],
        "(area(3), area(1.5))",
        (1, 1),
    ),
    "classes of two branches that differ in a computed value": (
        ["if True:\n class A:\n  pace = 60 * 60\nelse:\n class A:\n  pace = 24 * 60"],
        "A.pace",
        3600,
    ),
    "classes of two branches that differ in a docstring": (
        ["if True:\n class A:\n  'one'\nelse:\n class A:\n  'two'"],
        "A.__doc__",
        "one",
    ),
    "classes of two branches that differ in a value": (
        ["if True:\n class A:\n  pace = 1\nelse:\n class A:\n  pace = 'slow'"],
        "A.pace",
        1,
    ),
    "stage on a lambda, and what is made with it": (
        [
            "from functools import partial, lru_cache",
            "f = lambda n: n",
            "f = lru_cache(f)",
            "g = partial(f)\nh = f\ndef d(x=f(2)): return x\nclass G:\n x = f(1)",
        ],
        "(g(1), h(2), d(), G.x, h is f)",
        (1, 2, 2, 1, True),
    ),
    "registrations and methods behind calls": (
        [
            GENERIC,
            "@area.register\ndef _(s: int): return s",
            "def f(n): return area(n)\ndef g(n): return f(n)",
            "def b(n, key=g(2)): return key",
            "class K:\n def m(self): return 1",
            "K.m = lambda self: 2",
            "def q(): return K().m()",
            "def c(key=q()): return key",
        ],
        "(b(0), c())",
        (2, 2),
    ),
    "stages taken away": (
        ["def w(f): return lambda: f() + 1", "def f(): return 1", "f = w(f)", "def f(): return 1"],
        "f()",
        1,
    ),
    "abstract class": (["from abc import ABC\nclass K(ABC): pass\nK.register(int)"], "isinstance(1, K)", True),
    "class of its earlier self": (
        ["class A:\n x = 1", "class A(A):\n y = 2", "class A(A):\n y = 2"],
        "(A.x, A.y, len(A.__mro__))",
        (1, 2, 3),
    ),
    "property in stages": (
        [
            "@property\ndef x(self): return self.v\n@x.setter\ndef x(self, v): self.v = v * 2",
            "class A: pass\nA.x = x",
            "def use():\n a = A()\n a.x = 4\n return a.x",
        ],
        "use()",
        8,
    ),
    "overloads": (
        [
            "from typing import overload\n@overload\ndef f(x: int): ...",
            "@overload\ndef f(x: str): ...\ndef f(x): return x",
        ],
        "f(3)",
        3,
    ),
    "callables": (
        [
            "from functools import partial\ndef g(a, b): return a - b",
            "f = partial(g, b=1)\nh = lambda x: f(x)\ni = partial(h, 5)",
        ],
        "(f(3), h(4), i())",
        (2, 3, 4),
    ),
    "memory of a cache": (
        ["import functools", "@functools.lru_cache\ndef f(n): return n", "g = functools.lru_cache(maxsize=2)(f)"],
        "g(2)",
        2,
    ),
}


@pytest.mark.parametrize(("cells", "expression", "value"), BACK.values(), ids=BACK)
def test_it_is_back_after_a_restart(cells: list[str], expression: str, value: object) -> None:
    kernel = Cells()
    for cell in cells:
        kernel.run(cell)
        assert kernel.error is None
    again = kernel.restarted()
    assert again.layer.report.skipped == ()
    assert eval(expression, again.namespace) == value
    assert "_" not in again.namespace


def test_a_file_of_stages_reads_as_it_was_written() -> None:
    kernel = Cells()
    kernel.run("import functools\n# Adds one.\ndef f(x):\n    return x + 1")
    kernel.run("# Remembers.\nf = functools.lru_cache(f)  # all of it")
    assert kernel.files == {
        "functions/f/f.py": "import functools\n\n\n# Adds one.\ndef f(x):\n    return x + 1\n\n\n# Remembers.\n"
        "f = functools.lru_cache(f)  # all of it\n"
    }
    kernel.run("class K: pass\nK.m = lambda self: 1")
    assert kernel.files["methods/k/K.m.py"] == "K.m = lambda self: 1\n"  # type: ignore[index]


def test_what_a_new_definition_leaves_of_others_is_said() -> None:
    kernel = Cells()
    kernel.run("class A: pass\nA.m = lambda self: 1")
    assert said(kernel.run("class A:\n x = 1")) == [
        "keep A; A.m was made with the earlier A; after a restart it is made with the new one"
    ]


def test_a_key_with_the_marks_of_the_first_line_in_it_comes_back() -> None:
    kernel = Cells()
    kernel.run("from functools import singledispatch\nfrom typing import Union\n@singledispatch\ndef size(x): return 0")
    kernel.run("@size.register\ndef size_of_some(x: Union[list, tuple]): return len(x)")
    assert kernel.files["functions/s/size_of_some.py"].startswith(  # type: ignore[index]
        "# perdure: name size_of_some, size@Union[list%2C tuple]\n"
    )
    again = kernel.restarted()
    assert again.layer.report.skipped == ()
    assert again.namespace["size"]([1, 2]) == 2


def test_a_circle_through_what_left_is_told() -> None:
    kernel = Cells()
    kernel.run("def w(g): return lambda: g\ndef f(): pass\ng = f\ndel f")
    assert said(kernel.run("f = w(g)")) == ["not f: it needs g to load, which itself needs f"]


def test_a_secret_that_a_definition_needs_is_not_kept_with_it_even_if_asked() -> None:
    kernel = Cells()
    kernel.run("password = 'hunter22'\ndef d(p=password): return p")
    assert said(kernel.keep("d")) == ["not d: it needs password, which looks like a secret, to load"]
    assert not any("hunter22" in text for text in kernel.files.values())


def test_a_plain_variable_that_is_a_secret_is_kept_by_who_asks_twice() -> None:
    kernel = Cells()
    kernel.run("settings = {'password': 'hunter22'}")
    assert said(kernel.keep("settings")) == ["not settings: holds what looks like a secret (password)"]
    assert said(kernel.keep("settings")) == ["keep settings"]


def test_a_secret_that_came_later_is_told_before_it_is_kept() -> None:
    kernel = Cells()
    kernel.run(f"DEPTHS = {{'a': 1}}\nDEPTHS['b'] = {MADE_UP['GitHub']!r}")
    assert said(kernel.keep("DEPTHS")) == ["not DEPTHS: holds what looks like a secret (a token)"]
    assert said(kernel.keep("DEPTHS")) == ["keep DEPTHS"]


@pytest.mark.parametrize(
    "text", ["__builtins__: Final = {}", "def get_ipython(): return None", "__name__: Final = 'x'"]
)
def test_a_name_of_the_kernels_own_is_not_kept(text: str) -> None:
    kernel = Cells()
    kernel.run(f"from typing import Final\n{text}")
    assert kernel.files == {}
