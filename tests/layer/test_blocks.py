"""Blocks that hold definitions alone, and which of those are live."""

from __future__ import annotations
import __future__

import ast
import sys
import textwrap
from collections.abc import Iterable
from types import FunctionType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.blocks import taken
from perdure.layer.source import Source, Statement, parse

_NO_TYPE_STATEMENT = pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
_PRELUDE = """
import functools, os, types
from dataclasses import dataclass, field
from enum import Enum
def wrapped(f):
    @functools.wraps(f)
    def inner(*args): return f(*args)
    return inner
def bare(f): return lambda *args: f(*args)
def same(f): return f
def number(f): return 3
class Base: pass
class Other: pass
class Loud(type):
    def __getattribute__(cls, name): raise AssertionError(name)
    def __eq__(cls, other): raise AssertionError
    def __hash__(cls): raise AssertionError
    def __instancecheck__(cls, other): raise AssertionError
class Made(metaclass=Loud): pass
class Proxy(metaclass=Loud):
    def __init__(self, f): self.f = f
    def __getattribute__(self, name): raise AssertionError(name)
    def __eq__(self, other): raise AssertionError
    @property
    def __dict__(self): raise AssertionError
"""


def _ran(
    cell: str, futures: tuple[str, ...] = (), namespace: dict[str, object] | None = None
) -> list[Statement] | None:
    """What is taken of the last statement of `cell`, after the cell ran."""
    live: dict[str, object] = {"__name__": "cells"} if namespace is None else namespace
    exec(_PRELUDE, live)
    *before, block = Source(cell).statements(parse(cell).body, futures)
    _run(before, live)
    earlier = dict(live)
    _run([block], live)
    found = taken(block, live, lambda name: live.get(name) is not earlier.get(name))
    for statement in found or ():  # each stands alone, and its node is that of its text
        (node,) = parse(statement.text).body
        assert ast.dump(node, include_attributes=True) == ast.dump(statement.node, include_attributes=True)
        assert statement.futures == futures
    return None if found is None else [*found]


def _run(statements: Iterable[Statement], namespace: dict[str, object]) -> None:
    for statement in statements:
        flags = sum(getattr(__future__, feature).compiler_flag for feature in statement.futures)
        exec(compile(ast.Module([statement.node], []), "<cell>", "exec", flags, dont_inherit=True), namespace)


def _texts(cell: str, futures: tuple[str, ...] = ()) -> list[str] | None:
    found = _ran(cell, futures)
    return None if found is None else [statement.text for statement in found]


_GENERATOR = """\
def f(*a, b=(1, 2), **c):
    def g(): return a, {x for x in b}
    while True:
        try:
            if c in {(1, 2), (3,)}: yield g, 0.0, lambda: -0.0, ...
        finally:
            break
"""
_METHODS = """\
class A:
    @property
    def a(self): return 1
    @a.setter
    def a(self, value): pass
    @classmethod
    def b(cls): return 1
    @staticmethod
    def c(): return 1
    @functools.cached_property
    def d(self): return 1
    def __e(self): return 1
    def __new__(cls): return 1
    f = object()
    g = Made()
    _h = 1
    del _h
"""

# A cell and what is taken of its last statement.
CELLS = {
    "if": ("if 1:\n    def f(): return 1\nelse:\n    def f(): return 2", ["def f(): return 1"]),
    "else": ("if 0:\n    def f(): return 1\nelse:\n    def f(): return 2", ["def f(): return 2"]),
    "elif": (
        "if 0:\n  def f(): return 1\nelif 1:\n  # two\n  def f(): return 2\nelif 1:\n  A = 3\nelse:\n  f = 4",
        ["# two\ndef f(): return 2"],
    ),
    "if in else": ("if 0:\n  A = 1\nelse:\n  if 1:\n    A = 2\n  B = 3", ["A = 2", "B = 3"]),
    "only if, not run": ("if 0:\n    def f(): return 1", []),
    "try": (
        "try:\n    def f(): return 1\nexcept OSError:\n    def f(): return 2\nelse:\n    A = 1\nfinally:\n    B = 2",
        ["def f(): return 1", "A = 1", "B = 2"],
    ),
    "except": (
        (
            "try:\n    import no_such_module\n    def f(): return 1\nexcept OSError: f = 1\n"
            "except ImportError as e:\n    def f(): return 2"
        ),
        ["def f(): return 2"],
    ),
    "half way": (
        "try:\n    A = 1\n    import no_such_module\n    B = 2\nexcept ImportError:\n    pass",
        ["A = 1"],
    ),
    "raise in except": (
        "try:\n    A = 1\nexcept OSError:\n    raise\nelse:\n    if 0:\n        raise ValueError('x')",
        ["A = 1"],
    ),
    "raise in else": ("if 1:\n    A = 1\nelse:\n    raise ValueError", ["A = 1"]),
    "except group": ("try:\n    A = 1\nexcept* OSError:\n    A = 2", ["A = 1"]),
    "None for a module": ("try:\n    import no_such as np\nexcept ImportError:\n    np = None", ["np = None"]),
    "a module": ("try:\n    import os as np\nexcept ImportError:\n    np = None", []),
    "flag": ("try:\n    import no_such\n    HAS_X = True\nexcept ImportError:\n    HAS_X = False", ["HAS_X = False"]),
    "flag set": ("try:\n    import os\n    HAS_X = True\nexcept ImportError:\n    HAS_X = False", ["HAS_X = True"]),
    "flags differ in type": ("if 0:\n    A = True\nelse:\n    A = 1", ["A = 1"]),
    "only imports": ("try:\n    import os\nexcept ImportError:\n    import sys", []),
    "import or def": (
        "try:\n    from no_such import f\nexcept ImportError:\n    def f(): return 1",
        ["def f(): return 1"],
    ),
    "calls of what the block imports": (  # those are compiled in another way
        "try:\n    import os.path as p\n    def f(): return p.join('a'), os.sep()\nexcept OSError:\n    f = 1",
        ["def f(): return p.join('a'), os.sep()"],
    ),
    "import and not def": ("try:\n    from os.path import join\nexcept ImportError:\n    def join(a): return a", []),
    "import and not a decorated def": (
        "try:\n    from os.path import join\nexcept ImportError:\n    @bare\n    def join(a): return a",
        [],
    ),
    "star import": ("if 1:\n    from os.path import *\n    @bare\n    def f(): pass\n    A = 1", ["A = 1"]),
    "type checking": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n    X = 1\nelse:\n    X = 2",
        ["X = 2"],
    ),
    "nested": (
        (
            "if 1:\n    try:\n        if 0:\n            A = 1\n        else:\n            # why\n"
            "            def f():\n                return 1\n            # end\n    except OSError:\n"
            "        pass\n    A = 3"
        ),
        ["# why\ndef f():\n    return 1", "A = 3"],
    ),
    "async": ("if 1:\n    async def f(): return 1\nelse:\n    def f(): return 1", ["async def f(): return 1"]),
    "rebound": (
        "if 1:\n    def f(): return 1\n    def f(): return 2\n    A = 1\n    A = 2",
        ["def f(): return 2", "A = 2"],
    ),
    "rebound to none": ("if 1:\n    def f(): return 1\n    f = None", ["f = None"]),
    "same texts": (
        "if 1:\n    def f(): return 1\n    A = 1\nelse:\n    def f(): return 1\n    A = 1",
        ["def f(): return 1", "A = 1"],
    ),
    "wrapped": (
        "if 1:\n    @wrapped\n    def f(): return 1\nelse:\n    def f(): return 1",
        ["@wrapped\ndef f(): return 1"],
    ),
    "not wrapped": ("if 0:\n    @wrapped\n    def f(): return 1\nelse:\n    def f(): return 1", ["def f(): return 1"]),
    "same code with and without decorator": (
        "if 1:\n    def f(): return 1\nelse:\n    @same\n    def f(): return 1",
        ["def f(): return 1"],
    ),
    "same code, other defaults": ("if 1:\n    def f(x=1): pass\nelse:\n    def f(x=2): pass", ["def f(x=1): pass"]),
    "cached": (
        "if 1:\n    @functools.lru_cache\n    @wrapped\n    def f(): return 1\nelse:\n    def f(): return 2",
        ["@functools.lru_cache\n@wrapped\ndef f(): return 1"],
    ),
    "bare decorator": ("if 1:\n    @bare\n    def f(): return 1", ["@bare\ndef f(): return 1"]),
    "bare decorator, not run": ("def f(): pass\nif 0:\n    @bare\n    def f(): return 1", []),
    "bare decorators in both": (
        "if Base:\n    @bare\n    def f(): return 1\n    A = 1\nelse:\n    @bare\n    def f(): return 2",
        ["A = 1"],
    ),
    "bare decorator or plain": (
        "if 1:\n    @bare\n    def f(): return 1\nelse:\n    def f(): return 2",
        ["@bare\ndef f(): return 1"],
    ),
    "another kind of object": ("if 1:\n    @number\n    def f(): pass", ["@number\ndef f(): pass"]),
    "an object that answers nothing": ("if 1:\n    @Proxy\n    def f(): pass", ["@Proxy\ndef f(): pass"]),
    "decorators over lines": (
        "if 1:\n    # a\n    @functools.lru_cache(\n        maxsize=3,\n    )\n    @(\n    same\n)\n    def f(): pass",
        ["# a\n@functools.lru_cache(\n    maxsize=3,\n)\n@(\nsame\n)\ndef f(): pass"],
    ),
    "first decorator in parentheses": (
        "if 1:\n    # a\n    @(\n        # b\n        same\n    )\n    def f(): pass",
        ["# a\n@(\n    # b\n    same\n)\ndef f(): pass"],
    ),
    "classes": (
        "if 0:\n    class A:\n        def m(self): return 1\nelse:\n    class A:\n        def m(self): return 2",
        ["class A:\n    def m(self): return 2"],
    ),
    "first class": (
        "if 1:\n    class A:\n        def m(self): return 1\nelse:\n    class A:\n        def m(self): return 2",
        ["class A:\n    def m(self): return 1"],
    ),
    "classes with attributes": (
        "if 1:\n    class A:\n        x = 1\nelse:\n    class A:\n        y = 1",
        ["class A:\n    x = 1"],
    ),
    "classes with values": (
        "if 1:\n    class A:\n        x = 1\nelse:\n    class A:\n        x = 2",
        ["class A:\n    x = 1"],
    ),
    "classes with fields": (
        "if 1:\n    class A:\n        x: int\nelse:\n    class A:\n        y: int",
        ["class A:\n    x: int"],
    ),
    "classes with bases": (
        "if 1:\n    class A(Base): x = 1\nelse:\n    class A(Other): x = 1",
        ["class A(Base): x = 1"],
    ),
    "a class with a base and one without": (
        "if 1:\n    class A(Base): pass\nelse:\n    class A: pass",
        ["class A(Base): pass"],
    ),
    "a class without a base": ("if 1:\n    class A: pass\nelse:\n    class A(Base): pass", ["class A: pass"]),
    "methods of all kinds": (
        "if 1:\n"
        + textwrap.indent(_METHODS, "    ")
        + "else:\n    class A:\n        @property\n        def a(self): pass",
        [_METHODS.rstrip()],
    ),
    "properties": (
        (
            "if 1:\n    class A:\n        @property\n        def a(self): return 1\nelse:\n    class A:\n"
            "        @property\n        def a(self): return 2"
        ),
        ["class A:\n    @property\n    def a(self): return 1"],
    ),
    "dataclass": (
        (
            "if 1:\n    @dataclass(slots=True)\n    class A:\n"
            "        x: list = field(default_factory=list)\n        y: int = 1\nelse:\n    @dataclass\n"
            "    class A:\n        z: int = 1"
        ),
        ["@dataclass(slots=True)\nclass A:\n    x: list = field(default_factory=list)\n    y: int = 1"],
    ),
    "enum": ("if 1:\n    class A(Enum):\n        X = 1\nelse:\n    A = None", ["class A(Enum):\n    X = 1"]),
    "a metaclass that answers nothing": (
        "if 1:\n    class A(metaclass=Loud):\n        def m(self): return 1",
        ["class A(metaclass=Loud):\n    def m(self): return 1"],
    ),
    "a class or a function": ("if 1:\n    def A(): pass\nelse:\n    class A: pass", ["def A(): pass"]),
    "a class that replaces its base": ("class A: pass\nif 1:\n    class A(A): x = 1", ["class A(A): x = 1"]),
    "aliases": ("if 0:\n    text = bytes\nelse:\n    text = str", ["text = str"]),
    "alias of a definition": ("if 1:\n    def f(): pass\n    g = f\n    f = f", ["def f(): pass", "g = f"]),
    "aliases both ways": ("try:\n    def f(): pass\n    g = f\nexcept OSError:\n    f = g", ["def f(): pass", "g = f"]),
    "alias by modules": ("if 0:\n    join = os.sep\nelse:\n    join = os.path.join", ["join = os.path.join"]),
    "alias by a class": ("if 1:\n    m = Base.__init__", ["m = Base.__init__"]),
    "literals": (
        (
            "if 1:\n    A = [1, {'a': -0.0}]\n    B: dict = {1: (2,)}\n    C, (D, E) = 1, (2, None)\n"
            "    F = G = 1\n    H: A"
        ),
        ["A = [1, {'a': -0.0}]", "B: dict = {1: (2,)}", "C, (D, E) = 1, (2, None)", "F = G = 1"],
    ),
    "set over": ("if 1:\n    A = B = 1\n    B = 2", ["B = 2"]),
    "on one line": ("if 1: A = 1; B = [\n  2]  # b\nelse: A = 3", ["A = 1", "B = [\n  2]  # b"]),
    "semicolons": (
        "if 1:\n    # a\n    A = 1; B = '''x\n    y'''; C = 3 # c",
        ["# a\nA = 1", "B = '''x\n    y'''", "C = 3 # c"],
    ),
    "docstrings and pass": ("if 1:\n    'why'\n    pass\n    A = 1\n    ...", ["A = 1"]),
    "comments": (
        (
            "if 1:  # no\n    # no\n\n    # a\n    A = 1  # b\n# c\n    # d\n    def f():\n"
            "        return 1  # e\n  # odd\n        # f\n    # g\n# h\nelse:\n    # i\n    B = 1"
        ),
        ["# a\nA = 1  # b", "# c\n# d\ndef f():\n    return 1  # e"],
    ),
    "comment at the end of a body": (
        "if 1:\n    def f():\n        return 1\n        # was 2\n    # no\nelse:\n    pass",
        ["def f():\n    return 1\n    # was 2"],
    ),
    "outer comment below an inner block": (
        "if 1:\n    if 1:\n        def f():\n            return 1\n    # of A\n    A = 1",
        ["def f():\n    return 1", "# of A\nA = 1"],
    ),
    "strings": (
        (
            "if 1:\n    def f():\n        '''One.\n\n        Two.\n    # no comment\n'''\n"
            "        return f'''\n    {1}\n    ''' 'a\\\n    b'"
        ),
        [
            (
                "def f():\n    '''One.\n\n        Two.\n    # no comment\n'''\n    return f'''\n    {1}\n"
                "    ''' 'a\\\n    b'"
            )
        ],
    ),
    "strings side by side": (
        "if 1:\n    A = ('a'\n         'b'\n    )\n    B = {\n  'x': 1,\n    }",
        ["A = ('a'\n     'b'\n)", "B = {\n'x': 1,\n}"],
    ),
    "tabs": ("if 1:\n\tdef f():\n\t\treturn '''\n\t'''\n\t# end", ["def f():\n\treturn '''\n\t'''"]),
    "continuation": (
        "if 1 and \\\n        2:\n    def f(a, \\\n          b):\n        return a + \\\n  b\n    A = \\\n        1",
        ["def f(a, \\\n      b):\n    return a + \\\nb", "A = \\\n    1"],
    ),
    "blank lines": (
        "if 1:\n    def f():\n\n        x = 1\n  \n        return x",
        ["def f():\n\n    x = 1\n\n    return x"],
    ),
    "form feed": ("if 1:\n\f    def f(): return 1", ["def f(): return 1"]),
    "not ASCII": ("é = 1\nif é: ñ = 'ü'; Ñ = 2", ["ñ = 'ü'", "Ñ = 2"]),
    "CRLF": ("if 1:\r\n    def f():\r\n        return 1", ["def f():\n    return 1"]),
    "code of all kinds": (
        "if 1:\n"
        + textwrap.indent(_GENERATOR, "    ")
        + "else:\n"
        + textwrap.indent(_GENERATOR, "  ").replace("-0.0", "0.0"),
        [_GENERATOR.rstrip()],
    ),
    "stars": ("if 1:\n    def f(*a): return a\nelse:\n    def f(**a): return a", ["def f(*a): return a"]),
    "await": ("if 1:\n    async def f(): await g()", ["async def f(): await g()"]),
    # None of these is such a block.
    "a call": ("if 1:\n    def f(): pass\n    print()", None),
    "a call for a value": ("if 1:\n    A = dict()", None),
    "an unpacking": ("if 1:\n    A, *B = 1, 2", None),
    "an item": ("d = {}\nif 1:\n    d['a'] = 1", None),
    "an augmented assignment": ("A = 1\nif 1:\n    A += 1", None),
    "deleting": ("A = 1\nif 1:\n    del A", None),
    "a call far down": ("if 1:\n    try:\n        A = 1\n    except OSError:\n        print()", None),
    "raise in if": ("try:\n    A = 1\n    if 0:\n        raise ValueError\nexcept OSError:\n    pass", None),
    "for": ("for i in ():\n    def f(): pass", None),
    "for in if": ("if 1:\n    for i in (): pass", None),
    "while": ("while 0:\n    def f(): pass", None),
    "with": ("import contextlib\nwith contextlib.suppress():\n    def f(): pass", None),
    "match": ("match 1:\n    case 1:\n        def f(): pass", None),
    "def": ("def f(): pass", None),
    "main": ("if __name__ == '__main__':\n    A = 1", None),
    "main turned round": ("if '__main__' == __name__:\n    A = 1", None),
    "main and more": ("if __name__ == '__main__' and 1:\n    A = 1", None),
    "main in elif": ("if 0:\n    A = 1\nelif __name__ == '__main__':\n    A = 1", None),
}


@pytest.mark.parametrize(("cell", "texts"), CELLS.values(), ids=CELLS)
def test_what_is_taken(cell: str, texts: list[str] | None) -> None:
    assert _texts(cell) == texts


def test_of_equal_ones_the_one_on_whose_lines_the_code_is_and_else_the_later() -> None:
    cell = "if Base:\n    # one\n    def f(): return 1\nelse:\n    # two\n    def f(): return 1"
    assert _texts(cell) == ["# one\ndef f(): return 1"]
    (block,) = Source(cell).statements(parse(cell).body)
    namespace: dict[str, object] = {}
    exec("\n" * 99 + "def f(): return 1", namespace)
    (statement,) = taken(block, namespace, lambda name: True) or ()
    assert statement.text == "# two\ndef f(): return 1"


@pytest.mark.parametrize("live", ["def f(): return 2", "f = 1", "class f: pass", "f = print", ""])
def test_another_object_of_the_name_is_not_taken(live: str) -> None:
    """It may have been set since, by another thread."""
    cell = "if 1:\n    def f(): return 1"
    (block,) = Source(cell).statements(parse(cell).body)
    namespace: dict[str, object] = {}
    exec(live, namespace)
    assert taken(block, namespace, lambda name: True) == ()


def test_futures_count_in_the_code() -> None:
    cell = "if 1:\n    def f():\n        def g(x: no_such): pass\n        return g\nelse:\n    f = None"
    namespace: dict[str, object] = {}
    found = _ran(cell, ("annotations",), namespace)
    assert found is not None
    assert [statement.text for statement in found] == [textwrap.dedent(cell[6:].partition("else")[0]).rstrip()]
    assert namespace["f"]().__annotations__ == {"x": "no_such"}  # type: ignore[operator]
    (block,) = Source(cell).statements(parse(cell).body)
    assert taken(block, namespace, lambda name: True) == ()  # without the future it is other code


@_NO_TYPE_STATEMENT
def test_type_statements_and_type_parameters() -> None:
    assert _texts("if 1:\n    type X[T] = list[T]\n    type Y = no_such") == ["type X[T] = list[T]", "type Y = no_such"]
    assert _texts("if 1:\n    type X = int\nelse:\n    type X = str") == []
    cell = (
        "if 1:\n    def f[T](x: T) -> T: return x\n    class A[T]:\n        def m[S](self): return 1\nelse:\n    f = 1"
    )
    assert _texts(cell) == ["def f[T](x: T) -> T: return x", "class A[T]:\n    def m[S](self): return 1"]


def test_text_that_cannot_be_dedented_is_written_anew() -> None:
    """A lone surrogate stops the parser; so does a tree that a transformer of the user's has changed."""
    (block,) = Source("if 1:  # \ud800\n    A = 1  # a").statements(parse("if 1:\n    A = 1").body)
    assert [s.text for s in taken(block, {"A": 1}, lambda name: True) or ()] == ["A = 1"]
    changed = Statement(parse("if 1:\n    A = 2").body[0], "if 1:\n    A = 1")
    assert [s.text for s in taken(changed, {"A": 2}, lambda name: True) or ()] == ["A = 2"]
    unwritable = parse("if 1:\n    A = 2").body[0]
    unwritable.body[0].value.value = (1, 2)  # type: ignore[attr-defined]
    assert taken(Statement(unwritable, "if 1:\n    A = 1"), {"A": 2}, lambda name: True) is None


def test_nothing_is_too_deep() -> None:
    deep = parse("if 1: pass").body[0]
    for _ in range(5000):
        deep = ast.If(ast.Constant(1), [deep], [])
    assert taken(Statement(deep, "if 1: pass"), {}, lambda name: True) is None
    value: ast.expr = ast.Constant(1)
    for _ in range(5000):
        value = ast.List([value], ast.Load())
    assign = ast.Assign([ast.Name("a", ast.Store())], value)
    assert taken(Statement(ast.If(ast.Constant(1), [assign], []), ""), {"a": 1}, lambda name: True) is None


_DEFINITIONS = st.builds(
    "{}def f{}(x={}):\n    '''Of\n  {}.'''\n    return x, {}".format,
    st.sampled_from(["", "# why\n", "@same\n", "async "]),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 1),
    st.sampled_from(["1", "2", "(\n  3,\n)", "'''\n  '''", "lambda: x"]),
)
_OTHERS = st.one_of(
    st.builds("V{} = {}".format, st.integers(0, 2), st.sampled_from(["1", "None", "'''\n  a'''", "[\n]"])),
    st.sampled_from(["pass", "import os", "# nothing\npass"]),
)


def _nested(bodies: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inner = st.lists(bodies, min_size=1, max_size=3).map("\n".join)
    indent = st.sampled_from([" ", "    ", "\t"])

    def block(shape: str, one: str, two: str, indent: str) -> str:
        return shape.format(_indented(one, indent), _indented(two, indent))

    shapes = ["if 1:\n{}\nelse:\n{}", "if 0:\n{}\nelse:\n{}", "if 0:\n{}\nelif 1:\n{}"]
    shapes += ["try:\n{}\nfinally:\n{}", "try:\n{}\nexcept OSError:\n{}"]
    return st.builds(block, st.sampled_from(shapes), inner, inner, indent)


def _indented(text: str, indent: str) -> str:
    """Indented as an editor would not: what is inside strings stays."""
    inside, lines = False, []
    for line in text.split("\n"):
        lines.append(line if inside or not line else indent + line)
        inside ^= line.count("'''") % 2 == 1
    return "\n".join(lines)


@given(_nested(st.recursive(_DEFINITIONS | _OTHERS, _nested, max_leaves=8)))
def test_what_is_taken_gives_equal_functions_and_values(cell: str) -> None:
    namespace: dict[str, object] = {}
    found = _ran(cell, (), namespace)
    assert found is not None
    again: dict[str, object] = {}
    exec(_PRELUDE, again)
    _run(found, again)
    for name in (name for name in namespace if name[0] in "fV" and name[1:].isdigit()):
        one, other = namespace[name], again[name]
        assert type(one) is type(other)
        if isinstance(one, FunctionType) and isinstance(other, FunctionType):
            assert one.__code__.co_code == other.__code__.co_code
            assert one.__doc__ == other.__doc__
            assert one.__defaults__ == other.__defaults__
        else:
            assert one == other
