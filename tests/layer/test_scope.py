"""Which names a statement reads, and when: the language reference row by row, then real code beside `symtable`."""

from __future__ import annotations

import ast
import importlib
import inspect
import symtable
import sys
import textwrap

import pytest

from perdure.layer.binding import bound_names
from perdure.layer.scope import Reads, reads_of, reads_of_body

NEW_TYPES = pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are syntax of Python 3.12")
TYPE_DEFAULTS = pytest.mark.skipif(sys.version_info < (3, 13), reason="their defaults are syntax of Python 3.13")


def reads(source: str, *futures: str) -> Reads:
    return reads_of(*ast.parse(textwrap.dedent(source)).body, futures=futures)


# source, read to load, read in annotations, read when called
ROWS = [
    ("f = g", "g", "", ""),
    ("a.b.c", "a", "", ""),
    ("def f(): pass", "", "", ""),
    # Functions: decorators and defaults now, the body later, parameters never.
    ("@deco(x)\ndef f(a, b=y, *c, d=z, **e): return a, b, c, d, e, later", "deco x y z", "", "later"),
    ("def f(n): return f(n - 1)", "", "", ""),
    ("def f(): g(); return g", "", "", "g"),
    ("def f():\n g = 1\n return g", "", "", ""),
    ("def f():\n print(g)\n g = 1", "", "", "print"),
    ("def f():\n global g\n g = 1\n return g", "", "", "g"),
    ("def f():\n global g\n def h(): return g\n return h", "", "", "g"),
    ("def f(x):\n def h():\n  nonlocal x\n  x += 1\n return h", "", "", ""),
    ("def f(x):\n def h():\n  global x\n  return x\n return h", "", "", "x"),
    ("def f():\n def h(): return x\n x = 1\n return h", "", "", ""),
    ("def f():\n import a.b as c, d.e\n return c, d, e", "", "", "e"),
    ("def f():\n del a\n return a", "", "", ""),
    ("def f():\n for i, (j, *k) in rows: pass\n return i, j, k", "", "", "rows"),
    ("def f():\n with a as b, c as (d, e): return b, d, e", "", "", "a c"),
    ("def f():\n try: a\n except E as e: return e", "", "", "a E"),
    ("def f():\n if (n := g()): return n", "", "", "g"),
    ("def f():\n x[i] = y; z.a = w; x += 1", "", "", "i y z w"),
    ("def f(a=(b := 1)): return b", "", "", ""),
    ("async def f():\n async for a in b: await c(a)\n async with d as e: return e", "", "", "b c d"),
    ("def f(): yield from g", "", "", "g"),
    ("def f(): return f'{a!r:>{b}} {c:{d}}'", "", "", "a b c d"),
    # Annotations: of functions with what they are in, of local variables never.
    ("def f(a: A, *b: B, c: C = d, **e: E) -> R: pass", "d", "A B C E R", ""),
    ("def f(a: 'A | list[B]') -> 'C.D': pass", "", "A list B C", ""),
    ("def f(a: Literal['A'], b: t.Annotated['B', 'C']): pass", "", "Literal t B", ""),
    ("def f(a: 'no name'): pass", "", "", ""),
    ("def f():\n x: A = y\n z: B\n return x, z", "", "A B", "y"),
    ("def f():\n def g(a: A): pass", "", "", "A"),
    ("from __future__ import annotations\ndef f():\n def g(a: A): pass", "", "A", ""),
    ("x: A = y", "y", "A", ""),
    ("x: A\nx", "x", "A", ""),
    ("a.b: A = y", "a y", "A", ""),
    # Lambdas.
    ("f = lambda a, b=c: (a, b, d)", "c", "", "d"),
    ("def f(): return lambda a, b=c: (a, b, d)", "", "", "c d"),
    ("f = lambda: (x := 1, x)", "", "", ""),
    # Classes: the body now, with names of its own that functions inside do not see.
    ("@deco\nclass A(B, metaclass=M, k=w): pass", "deco B M w", "", ""),
    ("class A:\n x = 1\n y = x\n def f(self): return x", "", "", "x"),
    ("class A:\n x = x", "x", "", ""),
    ("class A:\n y = x\n x = 1", "x", "", ""),
    ("class A:\n x = 1\n del x\n y = x", "x", "", ""),
    ("class A:\n x = 1\n ys = [x for _ in x]", "x", "", ""),
    ("class A:\n def f(self): pass\n g = f", "", "", ""),
    ("class A:\n def f(self): return A", "", "", ""),
    ("class A:\n a = A", "A", "", ""),
    ("class A:\n def f(self): return __class__, super()", "", "", "super"),
    ("class A:\n q = __qualname__, __module__", "", "", ""),
    ("class A:\n x: X = y\n def f(self, a: x) -> Z: pass", "y", "X Z", ""),
    ("class A:\n global g\n g = 1\n def f(self): return g", "", "", "g"),
    ("def f(g):\n class A:\n  global g\n  g = 1\n  def m(self): return g\n return A", "", "", ""),
    ("class A:\n class B:\n  x = 1\n y = B.x\n z = x", "x", "", ""),
    ("class A:\n for i in r: pass\n j = i", "r", "", ""),
    ("class A:\n import os\n p = os.sep", "", "", ""),
    ("class A:\n @property\n def x(self): pass\n @x.setter\n def x(self, v): pass", "property", "", ""),
    ("def f(x):\n class A:\n  y = x\n return A", "", "", ""),
    # Comprehensions: their targets are theirs, their walruses are not.
    ("[a for a in b]", "b", "", ""),
    ("[a for a in a]", "a", "", ""),
    ("{k: v for k, v in d.items() if k in c}", "d c", "", ""),
    ("[x for a in b for x in a if x if y]", "b y", "", ""),
    ("(a + b for b in c)", "a c", "", ""),
    ("[z for x in y if (z := g(x))]\nz", "y g", "", ""),
    ("[[w := x for x in y] for y in v]\nw", "v", "", ""),
    ("def f(): return [w for x in y if (w := x)], w", "", "", "y"),
    ("[lambda: (w := 1) for x in y]\nw", "y w", "", ""),
    ("[lambda: x for x in y]", "y", "", ""),
    ("async def f(): return [a async for a in b]", "", "", "b"),
    # Statements at top level bind as they run.
    ("x = 1\nx", "", "", ""),
    ("x\nx = 1", "x", "", ""),
    ("x += 1", "x", "", ""),
    ("x = 1\ndel x\nx", "x", "", ""),
    ("a, (b, *c) = a", "a", "", ""),
    ("for i in r: i\nelse: i", "r", "", ""),
    ("with a as b: b", "a", "", ""),
    ("try: a\nexcept E as e: e\nfinally: b", "a E b", "", ""),
    ("import a.b, c as d\nfrom e import f as g, h\na, d, g, h, c", "c", "", ""),
    ("(y := x), y", "x", "", ""),
    ("if a: b = 1\nelse: b = 2\nb", "a", "", ""),
    # Match: captures bind, what is compared with is read.
    (
        "match s:\n case A(x, y=[1, *r]) if x: x, r\n case {'k': v, **w}: v, w\n case m.N | None as z: z\n case _: q",
        "s A m q",
        "",
        "",
    ),
    ("def f(s):\n match s:\n  case [a, *b] | {'c': a, **b}: return a, b\n  case C() as d: return d", "", "", "C"),
]

TYPE_ROWS = [
    ("def f[T](a: T, b: U = v) -> list[T]: return T, w", "v", "U list", "w"),
    ("def f[T: B](a: T): pass", "", "B", ""),
    ("class A[T](B[T]):\n x: T\n def f(self) -> T: return T", "B", "", ""),
    ("class A:\n X = 1\n def f[T](self, a: X, b: T): return X", "", "", "X"),
    ("class A:\n X = 1\n class C[T](X): pass", "", "", ""),
    ("class A:\n X = 1\n type Y = X\n type Z[T] = dict[T, X]", "", "dict", ""),
    ("type X = int | Y", "", "int Y", ""),
    ("type X[T, *Ts, **P] = dict[T, Y]", "", "dict Y", ""),
    ("def f():\n type X = Y\n return X", "", "", "Y"),
    ("def f(): return f'{x + f'{y}'}'", "", "", "x y"),
]


def as_rows(rows: list[tuple[str, str, str, str]], *marks: pytest.MarkDecorator) -> list[object]:
    return [pytest.param(*row, marks=marks, id=row[0].replace("\n", "; ")) for row in rows]


@pytest.mark.parametrize(("source", "load", "annotation", "call"), as_rows(ROWS) + as_rows(TYPE_ROWS, NEW_TYPES))
def test_reads(source: str, load: str, annotation: str, call: str) -> None:
    found = reads(source)
    assert (found.load, found.annotation, found.call) == tuple(frozenset(s.split()) for s in (load, annotation, call))


@TYPE_DEFAULTS
def test_defaults_of_type_parameters() -> None:
    found = reads("def f[T = D](a: T): pass")
    assert not found.load
    assert found.annotation == {"D"}


def test_annotations_of_inner_functions_are_not_evaluated_under_the_future_feature() -> None:
    source = "def f():\n def g(a: A): pass"
    assert reads(source, "annotations").annotation == {"A"}
    assert reads(source, "annotations").call == frozenset()


@pytest.mark.parametrize(
    ("source", "dotted"),
    [
        ("a.b.c(d.e)", "a.b a.b.c d.e"),
        ("def f(a): return a.b, c.d", "c.d"),
        ("f().a.b", ""),
        ("a.b[0].c.d", "a.b"),
        ("def f(x: np.ndarray): pass", "np.ndarray"),
        ("def f(x: 'np.ndarray'): pass", "np.ndarray"),
        ("a.b = 1", "a.b"),
    ],
)
def test_attribute_chains_begin_at_global_names(source: str, dotted: str) -> None:
    assert reads(source).dotted == frozenset(dotted.split())


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("f(g(1), key=h())", {"f": 1, "g": 1, "h": 1}),
        ("f(1)(2)", {"f": 2}),
        ("f.g.h()", {"f.g.h": 1}),
        ("f().g()", {"f": 1}),
        ("f[0]()", {}),
        ("@f\n@g(1)\n@h.i\ndef x(a=j()): k()", {"f": 1, "g": 2, "h.i": 1, "j": 1}),
        ("def x(): f()", {}),
        ("x = lambda: f()", {}),
        ("x = [f(y) for y in g()]", {"f": 1, "g": 1}),
        ("class A(f(), B, metaclass=M):\n x = g()\n def m(self): h()", None),
        ("def x(f):\n @f\n def g(): pass", {}),
        ("f = 1\nf()", {}),
    ],
)
def test_calls_while_loading(source: str, calls: dict[str, int] | None) -> None:
    if calls is None:
        of_class = {"B.__init_subclass__": 1, "M.__prepare__": 1, "M.__new__": 1, "M.__init__": 1}
        # What f() gives is called too, but nobody knows what that is.
        calls = {"f": 1, "g": 1, "f.__init_subclass__": 2} | of_class
    assert reads(source).calls == calls


@pytest.mark.parametrize(
    ("source", "calls", "load", "call"),
    [
        ("def f(a, b=z): x(); return lambda: y", 1, "x", "y"),
        ("def f(a):\n def g(): return y\n return g", 1, "", "y"),
        ("def f(a):\n def g(): return y\n return g", 2, "y", ""),
        ("def f(a):\n async def g(): return y\n return g", 2, "", "y"),
        ("def f(n): return f(n - 1)", 1, "", ""),
        ("def f(a):\n def g(): return y\n return g()", 1, "y", ""),
        ("def f(a):\n def g(): return y\n def h(): g()\n return h", 1, "", "y"),
        ("def f(a):\n def g(h): return y\n @g\n def h(): return z\n return h", 1, "y", "z"),
        ("def f():\n class A:\n  x = y\n  def m(self): z", 1, "y", "z"),
    ],
)
def test_reads_of_a_body_that_is_called(source: str, calls: int, load: str, call: str) -> None:
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    found = reads_of_body(function, calls, "f")
    assert (found.load, found.call) == (frozenset(load.split()), frozenset(call.split()))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = b.c = d[0] = 1", "a"),
        ("def f(x): y = 1", "f"),
        ("@(w := deco)\ndef f(x=(v := 1)): y = 1", "f v w"),
        ("@(w := deco)\nclass A(x := B, k=(u := 1)): y = 1", "A u w x"),
        ("[z := x for x in y]", "z"),
        ("lambda a=(b := 1): (c := 2)", "b"),
        ("import a.b, c.d as e\nfrom f import g as h", "a e h"),
        ("for i, [j] in r:\n with a as (b, c): pass", "b c i j"),
        ("match a:\n case {'b': c, **d}: pass\n case [e, *f] as g: pass", "c d e f g"),
        ("try: pass\nexcept* E as e: pass", "e"),
        ("a: int\nb: int = 1", "a b"),
        ("del a", "a"),
    ],
)
def test_bound_names(source: str, names: str) -> None:
    assert bound_names(ast.parse(source).body) == frozenset(names.split())


@NEW_TYPES
def test_a_type_alias_binds_its_name_alone() -> None:
    assert bound_names(ast.parse("type X[T] = list[T]\ndef f[U](): pass").body) == {"X", "f"}


@pytest.mark.parametrize(
    "source",
    [
        "x = " + " + ".join(["a"] * 2000),
        "x = a" + ".b()" * 800,
        "if a: pass\n" + "elif a: pass\n" * 800,
        "def f():\n return " + " + ".join(["a"] * 2000),
    ],
    ids=["sum", "method chain", "elif", "sum in a function"],
)
def test_long_source_is_not_too_deep(source: str) -> None:
    assert reads_of(*_parsed_deep(source)).all == {"a"}
    assert bound_names(_parsed_deep(source)) <= {"x", "f"}


def _parsed_deep(source: str) -> list[ast.stmt]:
    """CPython builds the tree by recursion that counts against Python's own limit."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        return ast.parse(source).body
    finally:
        sys.setrecursionlimit(limit)


CORPUS = (
    "argparse ast asyncio.tasks collections configparser contextlib copy csv dataclasses datetime decimal difflib dis "
    "email.message enum fractions functools heapq http.client inspect json.decoder logging mailbox pickle pathlib "
    "shutil statistics string subprocess tarfile tempfile textwrap threading tokenize traceback types typing "
    "unittest.case unittest.mock urllib.request uuid weakref xml.dom.minidom zipfile"
).split()


@pytest.mark.parametrize("module", CORPUS)
def test_real_code_reads_what_symtable_says(module: str) -> None:
    """Every name that the compiler's own table calls global is found, and none that it calls local."""
    for node in ast.parse(inspect.getsource(importlib.import_module(module))).body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        # Inside a function the statement's own names are no globals, which is how reads_of counts them.
        wrapper = ast.parse("def _(): pass")
        wrapper.body[0].body = [node]  # type: ignore[attr-defined]
        table = symtable.symtable(ast.unparse(wrapper), module, "exec").get_children()[0]
        found = reads_of(node)
        known = _globals_of(table)
        assert known <= found.all, node.name
        # In a class body a name may be read as a global one before it is set; a table has no before.
        assert found.load | found.call <= known | _class_names(table), node.name


def _globals_of(table: symtable.SymbolTable, owner: str = "") -> set[str]:
    if table.get_type() in ("class", getattr(symtable, "SymbolTableType", None)):
        owner = table.get_name()
    found = {_unmangled(s.get_name(), owner) for s in table.get_symbols() if s.is_global() and s.is_referenced()}
    # Outside a class a function that names super() has a __class__ that nothing gives.
    return found.union(*(_globals_of(child, owner) for child in table.get_children())) - {"__class__"}


def _class_names(table: symtable.SymbolTable) -> set[str]:
    own = {symbol.get_name() for symbol in table.get_symbols()} if str(table.get_type()) == "class" else set()
    return own.union(*(_class_names(child) for child in table.get_children()))


def _unmangled(name: str, owner: str) -> str:
    return name.removeprefix(f"_{owner.lstrip('_')}") if name.startswith(f"_{owner.lstrip('_')}__") else name
