"""Statements and their exact text."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.source import Source, bound_targets, deleted_names, dotted, parse

# A cell and the texts of its statements.
CELLS = {
    "plain": ("def f():\n    return 1\n\nX = 2\n", ["def f():\n    return 1", "X = 2"]),
    "no newline at end": ("def f(): return 1", ["def f(): return 1"]),
    "blank end": ("def f(): return 1\n\n   \n", ["def f(): return 1"]),
    "decorators": ("@a\n@b(\n    1,\n)\ndef f(): pass\n", ["@a\n@b(\n    1,\n)\ndef f(): pass"]),
    "decorator with space": ("@ a\ndef f(): pass", ["@ a\ndef f(): pass"]),
    "decorator on the next line": ("x = 1\n@\\\na\ndef f(): pass", ["x = 1", "@\\\na\ndef f(): pass"]),
    "decorator in parentheses": (
        "y = 0\n@(\n    # why\n    a\n    @ b\n)\nclass C: pass",
        ["y = 0", "@(\n    # why\n    a\n    @ b\n)\nclass C: pass"],
    ),
    "comment between decorators": ("@a\n# why\n@b\ndef f(): pass", ["@a\n# why\n@b\ndef f(): pass"]),
    "comment above": ("# one\n# two\ndef f(): pass", ["# one\n# two\ndef f(): pass"]),
    "comment above a decorator": ("# one\n@a\ndef f(): pass", ["# one\n@a\ndef f(): pass"]),
    "indented comment above": ("  # one\ndef f(): pass", ["  # one\ndef f(): pass"]),
    "blank line below a comment": ("# one\n\ndef f(): pass", ["def f(): pass"]),
    "blank line in a comment": ("# one\n\n# two\ndef f(): pass", ["# two\ndef f(): pass"]),
    "comment between statements": ("x = 1\n# why\ny = 2", ["x = 1", "# why\ny = 2"]),
    "comment behind": ("x = 1  # why\ny = 2 # too", ["x = 1  # why", "y = 2 # too"]),
    "comment behind a def": ("def f(): return 1  # why", ["def f(): return 1  # why"]),
    "comment behind brackets": ("x = [\n    1,  # one\n]  # end", ["x = [\n    1,  # one\n]  # end"]),
    "space behind": ("x = 1   \ny = 2", ["x = 1", "y = 2"]),
    "comment in a string": ('x = """\n# no comment"""\ny = 1', ['x = """\n# no comment"""', "y = 1"]),
    "comment at the end of a body": (
        "def f():\n    return 1\n    # was: return 2\n\n    # or 3\n# of g\ndef g(): pass",
        ["def f():\n    return 1\n    # was: return 2\n\n    # or 3", "# of g\ndef g(): pass"],
    ),
    "comment at the end of an outer body": (
        "class A:\n    def f(self):\n        return 1\n    # was: g\n  # nobody's\nx = 1",
        ["class A:\n    def f(self):\n        return 1\n    # was: g", "  # nobody's\nx = 1"],
    ),
    "comment below a one-line body": ("def f(): pass\n    # odd\nx = 1", ["def f(): pass", "    # odd\nx = 1"]),
    "comment of the last statement's body": ("if a:\n    b\n    # c\n\n", ["if a:\n    b\n    # c"]),
    "semicolon": ("a = 1; B = 2", ["a = 1", "B = 2"]),
    "semicolon and comment": ("# a\na = 1; B = [\n  2]  # b", ["# a\na = 1", "B = [\n  2]  # b"]),
    "semicolon at the end": ("a = 1;\nb = 2", ["a = 1", "b = 2"]),
    "tabs": ("def f():\n\tif 1:\n\t\treturn 2\n\t# end", ["def f():\n\tif 1:\n\t\treturn 2\n\t# end"]),
    "CRLF": ("# c\r\ndef f():\r\n    return '''a\r\nb'''\r\n", ["# c\ndef f():\n    return '''a\nb'''"]),
    "CR": ("x = 1\ry = 2\r", ["x = 1", "y = 2"]),
    "CR in a definition": ("# c\rdef f():\r\treturn 1\ry = 2", ["# c\ndef f():\n\treturn 1", "y = 2"]),
    "every newline": ("def f():\r\n  '''a\rb\nc'''\r\r\ny = 2", ["def f():\n  '''a\nb\nc'''", "y = 2"]),
    "tabs and spaces": (
        "def f():\n\tif 1:\n\t    return 1\n\treturn 2\ny = 2",
        ["def f():\n\tif 1:\n\t    return 1\n\treturn 2", "y = 2"],
    ),
    "form feed": ("x = 1\n\f\n\fdef f():\n    pass\n\f\ny = 2", ["x = 1", "def f():\n    pass", "y = 2"]),
    "form feed before a decorator": ("x = 1\n\f@a\n\f@b\ndef f(): pass", ["x = 1", "@a\n\f@b\ndef f(): pass"]),
    "form feed before a comment": ("\f# a\n\fclass A:\f pass\f# b", ["\f# a\n\fclass A:\f pass\f# b"]),
    "form feed in a body": (
        "def f():\n    x = 1\n\f\n    y = 2\n\f    return x\n\f    # c\nz = 1",
        ["def f():\n    x = 1\n\f\n    y = 2\n\f    return x\n\f    # c", "z = 1"],
    ),
    "form feed in a string": ("x = 'a\fb'\ny = 1", ["x = 'a\fb'", "y = 1"]),
    "line separators in a string": ("x = 'a\u2028b\x85c\x0bd\x1ce'\ny = 1", ["x = 'a\u2028b\x85c\x0bd\x1ce'", "y = 1"]),
    "unicode columns": ("é = 'ππ'; größe = '😀'; z = 1  # ñ", ["é = 'ππ'", "größe = '😀'", "z = 1  # ñ"]),
    "line continuation before a statement": (
        "x = 1; \\\ny = 2\n\\\n\\\n@a\ndef f(): pass\n\\\nclass A: pass",
        ["x = 1", "y = 2", "@a\ndef f(): pass", "class A: pass"],
    ),
    "line continuation in a definition": (
        "def f \\\n  (a, \\\n   b=2): \\\n    return a + \\\n  b \\\n\ny = 1",
        ["def f \\\n  (a, \\\n   b=2): \\\n    return a + \\\n  b", "y = 1"],
    ),
    "line continuation": ("x = 1 + \\\n    2\ny = \\\n    3", ["x = 1 + \\\n    2", "y = \\\n    3"]),
    "triple quotes": ("def f():\n    '''a\n\n\n# b\n'''\n", ["def f():\n    '''a\n\n\n# b\n'''"]),
    "quotes of every kind": (
        'x = """a\'\'\'b\\"""\n# c""" \'\'  # d\ny = \'\\\n# e\'',
        ['x = """a\'\'\'b\\"""\n# c""" \'\'  # d', "y = '\\\n# e'"],
    ),
    "encoding cookie": ("# coding: latin-1\nx = 'é'\n# coding: foo", ["# coding: latin-1\nx = 'é'"]),
    "byte order mark in a string": ("x = '\ufeff'\ny = 1", ["x = '\ufeff'", "y = 1"]),
    "names that Python composes": (
        "\ufb01 = 1; \U0001d518\U0001d52b\U0001d526 = 2\nclass \u2167: pass",  # fi, Uni, VIII
        ["\ufb01 = 1", "\U0001d518\U0001d52b\U0001d526 = 2", "class \u2167: pass"],
    ),
    "soft keywords": (
        "def match(case, type, _):\n    match case:\n        case _: return type\ntype = match",
        ["def match(case, type, _):\n    match case:\n        case _: return type", "type = match"],
    ),
    "ten thousand lines": (
        "x = 1\ndef f():\n" + "    x = 'π'  # c\n" * 10_000 + "y = 1",
        ["x = 1", "def f():\n" + "    x = 'π'  # c\n" * 9_999 + "    x = 'π'  # c", "y = 1"],
    ),
    "cell mark": ("# %% one\ndef f(): pass", ["def f(): pass"]),
    "cell mark and comment": ("# In[3]:\n# why\ndef f(): pass", ["# why\ndef f(): pass"]),
    "cell mark below": ("# why\n#%%\ndef f(): pass", ["def f(): pass"]),
    "backslashes": ("def f():\n    '\\d \\\\n'", ["def f():\n    '\\d \\\\n'"]),
    "nested": (
        "class A:\n    class B:\n        def f(self): pass\n",
        ["class A:\n    class B:\n        def f(self): pass"],
    ),
    "only a comment": ("# nothing", []),
}


@pytest.mark.parametrize(("cell", "texts"), CELLS.values(), ids=CELLS)
def test_texts(cell: str, texts: list[str]) -> None:
    assert [statement.text for statement in Source(cell).statements(parse(cell).body)] == texts


@pytest.mark.parametrize(("cell", "texts"), CELLS.values(), ids=CELLS)
def test_a_text_means_what_its_statement_means(cell: str, texts: list[str]) -> None:
    """Alone it parses to the same tree, and gives itself again."""
    for statement in Source(cell).statements(parse(cell).body):
        body = parse(statement.text).body
        assert [ast.dump(node) for node in body] == [ast.dump(statement.node)]
        assert [again.text for again in Source(statement.text).statements(body)] == [statement.text]


_PIECES = [
    "def f():\n    x = 1",
    "    # in",
    "# out",
    "",
    "a = 1; b = 2",
    "@d\nclass A: pass",
    "# %%",
    "c = '''\n#'''  # e",
    "\f@d\nasync def g():\n\tif 1:\n\t  return '''\f\v\u2028\x85\n\n'''\n\f\n\t# in",
    "\\\ne = 'π\u2028'; f = '\x1c' \\\n  'é'  # \v \x85",
    "\f",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_every_line_is_in_at_most_one_text_and_in_order(pieces: list[str], newline: str) -> None:
    cell = newline.join("\n".join(pieces).split("\n"))
    statements = list(Source(cell).statements(ast.parse(cell).body))
    texts = [statement.text for statement in statements]
    assert [ast.dump(parse(text).body[0]) for text in texts] == [ast.dump(s.node) for s in statements]
    rest = "\n".join(pieces)
    for text in texts:
        before, found, rest = rest.partition(text)
        assert found
        assert all(not line.strip(" ;\f\\") or line.lstrip().startswith("#") for line in before.split("\n"))


@pytest.mark.parametrize("module", "contextlib dataclasses enum functools textwrap typing".split())
def test_real_code_has_the_text_that_inspect_gives(module: str) -> None:
    """`inspect.getsource` has the decorators and the comments at the end of a body too, but no comment above."""
    loaded = importlib.import_module(module)
    source = inspect.getsource(loaded)
    texts = {getattr(s.node, "name", ""): s.text for s in Source(source).statements(parse(source).body)}
    own = [f for f in vars(loaded).values() if inspect.isfunction(f) and f.__module__ == module and f.__name__ in texts]
    assert own
    for function in own:
        assert texts[function.__name__].endswith(inspect.getsource(function).rstrip("\n"))


@pytest.mark.parametrize("place", [lambda node: node, ast.fix_missing_locations], ids=["nowhere", "as IPython does"])
def test_a_node_without_a_place_is_written_anew(place: Callable[[ast.stmt], ast.stmt]) -> None:
    """IPython lets users change the tree."""
    made = place(ast.Assign([ast.Name("x", ast.Store())], ast.Constant(1)))
    nodes = [made, *ast.parse("# a\ny = 2").body]
    assert [statement.text for statement in Source("# a\ny = 2").statements(nodes)] == ["x = 1", "# a\ny = 2"]


def test_lone_surrogates_pass() -> None:
    statement = ast.parse("x = 1").body
    assert next(iter(Source("x = 1  # \ud800").statements(statement))).text == "x = 1  # \ud800"


@pytest.mark.parametrize(
    ("cell", "note"),
    [
        ("# Clean the data\n# in two steps\nx = 1\n# not this", "Clean the data\nin two steps"),
        ("\n\n## Title ##\n\n# not this", "Title ##"),
        ("#!shebang-like\nx", "!shebang-like"),
        ("# %% mark\n# not this", ""),
        ("x = 1\n# not this", ""),
        ("", ""),
        ("#", ""),
    ],
)
def test_leading_comment(cell: str, note: str) -> None:
    assert Source(cell).leading_comment() == note


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(): pass", "f"),
        ("async def f(): pass", "f"),
        ("class A: pass", "A"),
        ("a = b = 1", "a b"),
        ("a, (b, *c) = d[0] = e.f = 1", "a b c"),
        ("a: int = 1", "a"),
        ("a: int", ""),
        ("a.b: int = 1", ""),
        ("a += 1", ""),
        ("(a := 1)", "a"),
        ("import a", ""),
        ("for a in b: pass", ""),
        pytest.param(
            "type X[T] = T", "X", marks=pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
        ),
    ],
)
def test_bound_targets(source: str, names: str) -> None:
    assert bound_targets(ast.parse(source).body[0]) == tuple(names.split())


def test_deleted_names() -> None:
    node = ast.parse("del a, (b, [c]), d.e, f[0], a").body[0]
    assert isinstance(node, ast.Delete)
    assert deleted_names(node) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("source", "path"), [("a", "a"), ("a.b.c", "a.b.c"), ("a().b", None), ("a[0]", None), ("1", None)]
)
def test_dotted(source: str, path: str | None) -> None:
    assert dotted(ast.parse(source, mode="eval").body) == path


def test_parsing_what_ran_before_warns_of_nothing() -> None:
    assert textwrap.dedent(ast.literal_eval(parse(r"'\d'").body[0].value)) == r"\d"  # type: ignore[attr-defined]
