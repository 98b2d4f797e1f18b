"""docs/format.md is enough: a reader and a writer made from it alone (by_the_page) agree with perdure's own."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import re
import warnings
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.layer import fileformat
from perdure.layer.definition import Definition, Key, Kind, RelPath
from perdure.layer.errors import UnreadableFile
from perdure.layer.given import base_of
from perdure.layer.naming import name_told_by
from perdure.layer.naming import path_of as path_by_perdure
from perdure.layer.order import Loadable
from perdure.layer.order import load_order as order_by_perdure
from perdure.layer.stages import reads_of_definition
from tests.kernel.driver import Kernel
from tests.kernel.home import Home
from tests.layer.cells import Cells
from tests.layer.keys import ANY_KEYS, KINDS, placed

from .blocks import blocks_of
from .by_the_page import Facts, Unreadable, kind_of, load_order, parsed, path_of, paths_of, read, told_by, write

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")


def facts_of(definition: Definition) -> Facts:
    """What perdure knows of a definition."""
    return Facts(
        definition.key,
        definition.kind.folder,
        definition.text,
        definition.imports,
        definition.gives,
        definition.needs,
        definition.overrides,
        definition.after,
    )


def definition_of(facts: Facts) -> Definition:
    names = facts.names if len(facts.names) > 1 else ()
    after = tuple(map(Key, facts.after))
    kind = Kind(facts.kind)
    return Definition(Key(facts.key), kind, facts.text, facts.imports, facts.needs, after, names, facts.overrides)


def both_read(data: bytes, path: str = "functions/x/x.py") -> Facts | None:
    """What both make of a file, which is the same; None where both can make nothing of it."""
    try:
        by_perdure = facts_of(fileformat.read(RelPath(path), data))
    except UnreadableFile:
        with pytest.raises(Unreadable):
            read(data)
        return None
    assert read(data) == by_perdure
    return by_perdure


def both_write(facts: Facts) -> bytes:
    """How both write it, which is the same."""
    data = write(facts)
    made = definition_of(facts)
    assert data == fileformat.render(made)
    assert hashlib.sha256(facts.text.encode()).hexdigest() == made.digest
    return data


def agree_on(files: dict[str, str]) -> None:
    """Both read the `files` of a layer to the same, write them as they stand, and put them where they are."""
    read_ones = {path: both_read(text.encode(), path) for path, text in files.items()}
    assert None not in read_ones.values()
    keys: dict[str, list[str]] = {}
    for path, facts in read_ones.items():
        assert facts is not None
        assert both_write(facts).decode() == files[path]
        keys.setdefault(facts.kind, []).append(facts.key)
    assert {path for kind, found in keys.items() for path in paths_of(kind, found).values()} == files.keys()


# Layers of real kernels.


def test_every_file_of_the_layer_that_a_page_makes(tmp_path: Path) -> None:
    kernel = Kernel(Home(tmp_path)).start()
    seen = 0
    try:
        for page in ("docs/keeping.md", "README.md"):
            for block in blocks_of(ROOT / page):
                if block.language == "python":
                    kernel.run(block.text)
                    agree_on(files := kernel.home.files())
                    seen = max(seen, len(files))
    finally:
        kernel.kill()
    assert seen > 40


@pytest.mark.parametrize("name", "calendar enum functools ipaddress pprint string textwrap typing urllib.parse".split())
def test_every_file_of_the_layer_that_real_code_makes(name: str) -> None:
    module = importlib.import_module(name)
    cells = Cells()
    cells.namespace.update({"__package__": module.__package__, "__file__": module.__file__})
    source = inspect.getsource(module)
    lines = source.split("\n")
    tests = [node for node in ast.parse(source).body if isinstance(node, ast.If) and "__main__" in ast.dump(node.test)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells.run("\n".join(lines[: tests[-1].lineno - 1] if tests else lines))
    assert cells.error is None
    assert len(cells.files) > 3
    agree_on({str(path): text for path, text in cells.files.items()})


STRANGE = [
    "from functools import singledispatch\nfrom typing import Union\n@singledispatch\ndef size(x): return 0",
    "@size.register\ndef size_of_some(x: Union[list, tuple]): return len(x)",
    "@size.register(int)\n@size.register\ndef _(x: 'float'): return x",
    "rate = 1\ndef Rate(): return rate\nRATE = Rate\nclass rate: pass",
    f"def {'long' * 60}(π, größe=1): return größe",
    f"{'é' * 40} = lambda: 0\n{'É' * 40} = lambda: 1",
    "LOW, HIGH = 1, 9",
    "LOW = 2",
    "# perdure: needs x\n# coding: latin-1\ndef odd(): return missing",
    "# -*- coding: latin-1 -*-\nODD = 'é'",
    "def f(): return 1\nf = (lambda g: lambda: g() + 1)(f)",
    "class K: pass\nK.m = lambda self: 1\nK.M = lambda self: 2",
    "_print = print\ndef print(x): _print(x)",
    "(WALRUS := 3)",
    "import os.path\nimport xml.dom as dom\nfrom math import *\ndef use(x: dom): return os.path, sqrt(x), tau",
]


def test_every_file_of_a_strange_layer() -> None:
    cells = Cells()
    for source in STRANGE:
        cells.run(source)
        assert cells.error is None
        agree_on({str(path): text for path, text in cells.files.items()})
    assert len(cells.files) > 20


# Files that anybody may have written.

WHOLE = r"""# perdure: needs df; after grow¦# perdure: name f; needs a¦# perdure: name B, A; later x; needs¦# perdure:
# perdure: overrides sha256:12ab; name f@Union[int%2C str], A¦# coding: latin-1¦# why¦import a¦import a, b as c  # d
from a import (b,\n    c)¦import a; X = 1¦import a; import b¦from __future__ import annotations¦def f(x): pass
@f.register(int)\n@f.register\ndef _(x, y: int): pass¦@a.b.register\nasync def _(*, y: " A "): pass¦def _(): pass
@f.register\n@f.register(float)\n@f().register(int)\ndef _(x: "a|b"): pass¦@f.register\ndef A(x: int): pass
class A: pass¦A = B = 1¦A, (B, *C), d.e = f()¦A.m = f¦A.m = B.m = f¦A.m = B = f¦A.b.m = f¦A[0] = 1¦A: int = 3¦A: int
(A := 1)¦A += 1¦for A in f: B = 1¦if f: import B¦del A¦print(A)¦x = '''\n\n    '''¦π = 1¦class µ: pass¦_ = 1
f = wrap(f)¦def f():\n    return 1  # end\n    # below¦    ¦"""
BROKEN = r"@f.register¦'''¦    pass¦\¦type X = int¦global f¦<<<<<<< ours¦def f():¦x = (¦return"
STATEMENTS = st.sampled_from([text.replace(r"\n", "\n") for text in re.split("[¦\n]", WHOLE)])
LINES = STATEMENTS | st.sampled_from(BROKEN.split("¦")) | st.text(max_size=6)
JUNK = (st.lists(STATEMENTS, max_size=7) | st.lists(LINES, max_size=7)).map(
    lambda lines: "\n".join(lines).encode(errors="replace")
)


@settings(max_examples=1500, deadline=None)
@given(JUNK | st.binary(max_size=30))
@example(b"# perdure: name X\nA, (B, *C), d.e = f()\nglobal f")
@example(b"# perdure: name A\nA, (B, *C), d.e = f()\nglobal f")
@example(b"# perdure: name f\nglobal f\nf = [A for A in (B := [1])]")
@example(b"# perdure: name A, B\nf = [A for A in (B := [1])]")
@example(b"# perdure: name f\ndef f(x, x): return 1")
def test_both_make_the_same_of_any_file(data: bytes) -> None:
    both_read(data)


@settings(max_examples=300, deadline=None)
@given(JUNK, st.sampled_from(["\r\n", "\r"]))
def test_line_ends_and_a_byte_order_mark(data: bytes, end: str) -> None:
    assert both_read(b"\xef\xbb\xbf" + data.replace(b"\n", end.encode())) == both_read(data)


# Definitions that anybody may write.

NAMES = st.sampled_from("f A RATE größe π _x µ".split())
KEYS = (
    NAMES | st.tuples(NAMES, NAMES).map(".".join) | st.sampled_from(["f@int", "f@Union[int, str]", "f@Literal['%;']"])
)
TEXTS = st.lists(
    st.sampled_from(
        [
            "def {}():\n    '''a\n\n\n# perdure: x\n    '''\n    return 1",
            "@d(\n    1,\n)\nclass {}:\n\tx = '\u2028 \x0c'",
            "async def {}():\n    import a\n\n    # end",
            "{} = [\n    1,\n\n]  # end",
            "{}: int = '''\n'''",
            "{}, other = 1, 2",
            "{}.m = lambda self: 1",
            "@{}.register\ndef _(x: 'int | str'): pass",
            "{} = wrap({})",
        ]
    ),
    min_size=1,
    max_size=3,
)
COMMENTS = st.lists(st.sampled_from(["# why", "# perdure: needs x", "#", "# -*- coding: latin-1 -*-"]), max_size=3)
IMPORTS = st.lists(st.sampled_from(["import a", "from b import c, d as e", "import f.g as π"]), max_size=3, unique=True)


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    name = draw(NAMES)
    text = "\n".join([*draw(COMMENTS), "\n\n\n".join(draw(TEXTS)).replace("{}", name)])
    body = parsed(text)
    told = told_by(body)
    # Not all that the text gives may be its own by now, and it may give more than it tells.
    names = draw(st.sampled_from([told, told[:1], told[-1:], (*told, "f@Union[int, list]")]))
    return Facts(
        names[0],
        kind_of(names[0], body),
        text,
        imports=tuple(draw(IMPORTS)),
        names=names,
        needs=tuple(draw(st.lists(NAMES, max_size=2, unique=True))),
        overrides=draw(st.sampled_from(["", "ab" * 32])),
        after=tuple(draw(st.lists(KEYS, max_size=2, unique=True))),
    )


@settings(max_examples=500, deadline=None)
@given(facts())
def test_what_one_writes_the_other_reads(facts: Facts) -> None:
    data = both_write(facts)
    assert both_read(data) == facts


# File names.


def test_the_paths_of_the_page() -> None:
    table = re.findall(r"^\| `(\S.*?)`(?:, beside `(\w+)`)? \| (\w+) \| `(\S+)` \|$", PAGE, re.MULTILINE)
    assert len(table) > 9
    for key, twin, kind, path in table:
        key = key.replace("\\|", "|")
        keys = [key, *([twin] if twin else [])]
        assert paths_of(kind, keys)[key] == path
        assert placed(Kind(kind), keys)[key] == path


@settings(max_examples=500)
@given(KINDS, ANY_KEYS)
def test_both_make_the_same_path_of_any_key(kind: Kind, key: str) -> None:
    path = path_of(kind.folder, key)
    assert path == path_by_perdure(kind, Key(key))
    # What is said of a file that cannot be read.
    assert name_told_by(RelPath(path)) == unquote(path.split("/")[2].removesuffix(".py").partition("~")[0])


@settings(max_examples=300)
@given(KINDS, st.sets(st.text(st.sampled_from("aAéÉe\u0301"), min_size=1, max_size=3), max_size=6))
def test_both_tell_twins_apart_in_the_same_way(kind: Kind, keys: set[str]) -> None:
    assert paths_of(kind.folder, keys) == placed(kind, sorted(keys))


# Load order.

FORMS = r"""X = [a, b]¦X: a = b¦X = a()¦X = lambda p=a: b¦def X(): return a, b()¦def X(p: a = b): return c()
@a\ndef X(): return b¦@a(b)\ndef X(): return c¦class X(a):\n    y = b¦@a\nclass X:\n    def m(self): return b
X.m = a¦@X.register(a)\ndef _(p): return b¦@X.register\ndef _(p: a, q: b): return c¦def X(p: 'a') -> b: return c"""


@st.composite
def layers(draw: st.DrawFn) -> dict[str, Facts]:
    """A layer of definitions that read, call, adorn and annotate one another in any way."""
    names = "n0 n1 n2 n3 n4 n5".split()
    files: dict[str, Facts] = {}
    for name in [*names, *draw(st.lists(st.sampled_from(names), max_size=3))]:
        form = draw(st.sampled_from(re.split("[¦\n]", FORMS))).replace(r"\n", "\n")
        text = re.sub(r"\b[abc]\b", lambda _: draw(st.sampled_from([*names, "len"])), form.replace("X", name))
        facts = read(text.encode())
        after = tuple(draw(st.lists(st.sampled_from(names), max_size=1))) if draw(st.integers(0, 4)) == 0 else ()
        files.setdefault(path_of(facts.kind, facts.key), read(write(replace(facts, after=after))))
    given_once = {facts.key: path for path, facts in sorted(files.items(), reverse=True)}
    return {path: files[path] for path in sorted(given_once.values())}


@settings(max_examples=500, deadline=None)
@given(layers())
def test_both_load_in_the_same_order(files: dict[str, Facts]) -> None:
    loadable = []
    for path, facts in files.items():
        body = parsed(facts.text)
        node = base_of(body, facts.key)
        loadable.append(
            Loadable(
                RelPath(path),
                facts.names,
                reads_of_definition(*body),
                lambda node=node: node,  # type: ignore[misc]
                tuple(map(Key, facts.after)),
            )
        )
    assert load_order(files) == order_by_perdure(loadable)


# A layer made by the page alone.

OWN = [
    Facts("RATE", "values", "RATE = 3  # per cent"),
    Facts("Circle", "classes", "class Circle:\n    def __init__(self, r):\n        self.r = r"),
    Facts("area", "functions", "def area(c, k=RATE):\n    return math.floor(c.r * k)", imports=("import math",)),
    Facts("Circle.grow", "methods", "Circle.grow = lambda self: Circle(self.r * factor)", needs=("factor",)),
    Facts("Area", "functions", "def Area():\n    return 'twin'"),
]


def test_a_kernel_loads_and_keeps_a_layer_that_perdure_did_not_make(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.layer.mkdir(mode=0o700)
    files = {"pyproject.toml": b"[tool.perdure]\nformat = 1\n", ".gitignore": b"__pycache__/\n.*.tmp\n"}
    for facts in OWN:
        twins = [other.key for other in OWN if other.key.lower() == facts.key.lower() and other != facts]
        files[path_of(facts.kind, facts.key, twins)] = write(facts)
    for path, data in files.items():
        (home.layer / path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (home.layer / path).write_bytes(data)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "new layer"]):
        home.git(*words)
    kernel = Kernel(home).start()
    try:
        assert "not trusted" in "".join(kernel.hello)
        kernel.run("%layer trust")
        assert kernel.run("factor = 2\narea(Circle(2).grow()), Area()").value == "(12, 'twin')"
        assert kernel.run("def area(c):\n    return 1").notices == ["[layer: kept area]"]
        assert kernel.run("class Circle:\n    def __init__(self, r):\n        self.r = r").notices == []
    finally:
        kernel.kill()
    assert home.status() == ""
    assert home.files()["functions/a/area.py"] == "def area(c):\n    return 1\n"
    agree_on(home.files())
