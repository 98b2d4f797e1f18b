"""Whether what waits is loaded at boot or when it is named makes no difference to any cell: on generated layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.layer.definition import RelPath
from perdure.layer.memory import MemoryStore
from tests.packages import Packages

from .cells import Cells, said

PACKAGES = ("gen_one", "gen_two")
IMPORTS = st.sampled_from(
    [*[""] * 6, *(f"import {p}\n" for p in PACKAGES), *(f"from {p} import UNIT, twice, Base\n" for p in PACKAGES)]
)
FUNCTIONS, CLASSES, VALUES = ("f0", "f1", "f2", "g3"), ("C0", "C1", "C2"), ("A0", "B1", "T2")
GIVEN = {"REG": "REG = []\n", "register": "def register(f):\n    REG.append(f.__name__)\n    return f\n"}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    with Packages(tmp_path_factory.mktemp("packages"), *PACKAGES).on_path() as made:
        yield made


def used(line: str) -> str:
    """Something of what an import line brings."""
    return "0" if not line else f"{line.split()[1]}.UNIT" if line.startswith("import") else "UNIT"


@st.composite
def layers(draw: st.DrawFn) -> dict[str, str]:
    """Files by path. Calls go anywhere, to some depth; what is needed to load has a lower number."""
    files = {f"functions/x/{name}.py": text for name, text in GIVEN.items()}
    for number, name in enumerate(FUNCTIONS):
        line = draw(IMPORTS)
        callee = draw(st.sampled_from(FUNCTIONS))
        value = draw(st.sampled_from((*VALUES, used(line))))
        heads = ("", "", "", "@register\n", "@REG.append\n", *(f"@{f}\n" for f in FUNCTIONS[:number]))
        head = draw(st.sampled_from(heads))
        default = draw(st.sampled_from(("0", "0", *VALUES[:2])))
        if draw(st.booleans()):
            callee = "list"
        body = f"    return ({name!r}, {callee}(d - 1), {value}, later) if type(d) is int and d > 0 else d\n"
        files[f"functions/x/{name}.py"] = f"{line}\n\n{head}def {name}(d=2, later={default}):\n{body}"
    for number, name in enumerate(CLASSES):
        line = draw(IMPORTS)
        base = draw(st.sampled_from(("object", *CLASSES[:number], *(["Base"] if "Base" in line else []))))
        value = draw(st.sampled_from(("0", *VALUES[:2], used(line))))
        callee = draw(st.sampled_from(FUNCTIONS))
        files[f"classes/x/{name}.py"] = (
            f"{line}\n\nclass {name}({base}):\n    own = {value}\n\n    def call(self):\n        return {callee}(1)\n"
        )
        if draw(st.booleans()):
            line = draw(IMPORTS)
            files[f"methods/x/{name}.put.py"] = f"{line}\n{name}.put = lambda self: ('put', {used(line)})\n"
    for number, name in enumerate(VALUES):
        line = draw(IMPORTS)
        others = [f"({v}, {used(line)})" for v in VALUES[:number]]
        calls = ["C0.own", "C1().put", "[f.__name__ for f in (f0, g3)]"] if number == 2 else []
        made = draw(st.sampled_from(("1", "[1]", f"[{used(line)}]", *others, *calls)))
        files[f"values/x/{name}.py"] = f"{line}\n{name} = {made}\n"
    return files


NAMES = (*FUNCTIONS, *CLASSES, *VALUES)
CELLS = st.one_of(
    st.sampled_from(FUNCTIONS).map("x = {0}(1)".format),
    st.sampled_from(CLASSES).map("x = {0}().call(), [c.__name__ for c in {0}.__mro__], {0}.own".format),
    st.sampled_from(CLASSES).map("x = hasattr({0}, 'put') and {0}().put()".format),
    st.sampled_from(VALUES).map("x = {0}".format),
    st.sampled_from(("x = [*REG]", "REG.append(1)", "register(len)", "y = 3", "UNIT = 9", "twice = None")),
    st.sampled_from(FUNCTIONS).map("def {0}(d=1, later=0):\n    return 'new'".format),
    st.tuples(st.sampled_from(FUNCTIONS), st.sampled_from(NAMES)).map(lambda p: f"def {p[0]}(d=1):\n    return {p[1]}"),
    st.sampled_from(CLASSES).map("class {0}:\n    own = 'new'".format),
    st.tuples(st.sampled_from(CLASSES), st.sampled_from(CLASSES)).map(lambda p: f"class {p[0]}({p[1]}): ..."),
    st.sampled_from(CLASSES).map("{0}.own = 'set'".format),
    st.sampled_from(VALUES).map("{0} = 8".format),
    st.sampled_from(VALUES).map("{0}.append(8)".format),
    st.sampled_from(NAMES).map("del {0}".format),
    st.sampled_from(NAMES).map("if True:\n    {0} = 5".format),
    st.sampled_from(NAMES).map("x = eval('{0}')".format),
)


def told(cells: Cells, source: str) -> tuple[Any, ...]:
    """What a cell came to, as text that tells no addresses."""
    outcomes = cells.run(source)
    error = type(cells.error).__name__ if cells.error else None
    shown = shape(cells.namespace.get("x"))
    return error, shown, said(outcomes), cells.warnings


def shape(value: object, depth: int = 4) -> object:
    if isinstance(value, list | tuple):
        return [shape(each, depth - 1) for each in value] if depth else "…"
    return getattr(value, "__qualname__", None) or (value if isinstance(value, int | str) else type(value).__name__)


UNBOUNDED = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def compare(packages: Packages, folder: dict[str, str], files: dict[str, str], sources: list[str]) -> None:
    """The same cells, with what waits loaded as it is named, and loaded at boot."""

    def kernel(defer: bool) -> Cells:
        packages.clear()
        store = MemoryStore({RelPath(path): text.encode() for path, text in files.items()})
        cells = Cells(store, defer=defer, folders={"/team": folder} if folder else {})
        cells.boot()
        return cells

    def skipped(cells: Cells) -> int:
        reports = [cells.layer.report, *(loaded.report for loaded in cells.layer.shipped.folders)]
        return sum(len(report.skipped) for report in reports)

    off = kernel(False)
    if skipped(off):
        return  # a cell that names what cannot be loaded is told so, which it cannot be where that was left out
    plain = [told(off, source) for source in sources], off.files
    on = kernel(True)
    assert skipped(on) == 0
    assert ([told(on, source) for source in sources], on.files) == plain


@settings(UNBOUNDED, max_examples=300)
@given(files=layers(), sources=st.lists(CELLS, min_size=1, max_size=5))
def test_on_and_off_give_the_same(packages: Packages, files: dict[str, str], sources: list[str]) -> None:
    compare(packages, {}, files, sources)


@settings(UNBOUNDED, max_examples=200)
@given(folder=layers(), files=layers(), data=st.data(), sources=st.lists(CELLS, min_size=1, max_size=5))
def test_on_and_off_with_a_cells_folder_below(
    packages: Packages, folder: dict[str, str], files: dict[str, str], data: st.DataObject, sources: list[str]
) -> None:
    over = data.draw(st.sets(st.sampled_from(sorted({*files} - {"functions/x/REG.py", "functions/x/register.py"}))))
    compare(packages, folder, {path: text for path, text in files.items() if path in over}, sources)
