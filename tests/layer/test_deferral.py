"""What waits at boot, and what a cell loads of it, in one process and without IPython."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.memory import MemoryStore
from perdure.layer.outcome import Forgotten, Kept, Unchanged
from perdure.layer.refresh import Refreshed
from perdure.layer.session import Context
from perdure.layer.undo import Undone
from tests.packages import Packages

from .cells import Cells, said

AREA = "from slow import twice\n\n\ndef area(x):\n    return twice(x)\n"


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    with Packages(tmp_path / "packages", "slow", "other").on_path() as made:
        yield made


def booted(files: dict[str, str], folders: dict[str, dict[str, str]] | None = None) -> Cells:
    cells = Cells(
        MemoryStore({RelPath(path): text.encode() for path, text in files.items()}), defer=True, folders=folders
    )
    cells.boot()
    return cells


def waiting(cells: Cells) -> set[str]:
    return set(cells.layer.deferred.names)


def test_what_imports_a_package_waits_until_a_cell_names_it(packages: Packages) -> None:
    cells = booted({"functions/a/area.py": AREA, "functions/p/plain.py": "def plain():\n    return 1\n"})
    assert waiting(cells) == {"area"}
    assert "area" not in cells.namespace
    assert cells.names == {"area", "plain"}
    cells.run("x = plain()")
    assert packages.imports == []
    cells.run("x = area(2)")
    assert (cells.namespace["x"], packages.imports, waiting(cells)) == (4, ["slow"], set())
    assert cells.namespace["area"].__code__.co_filename == "/layer/functions/a/area.py"
    assert cells.layer.variables.imports.last("twice")[0].module == "slow"


@pytest.mark.parametrize(
    ("line", "waits"),
    [
        ("import slow", True),
        ("import slow.inner", True),
        ("import slow as s", True),
        ("from slow import twice", True),
        ("from slow.inner import DEPTH", True),
        ("from slow import *", True),
        ("import json", False),
        ("import xml.etree.ElementTree", False),
        ("from tests.packages import Packages", False),  # imported by this file
        ("import sys, slow", True),
        ("try:\n    import slow\nexcept ImportError:\n    slow = None", True),
        ("try:\n    import nowhere_at_all\nexcept ImportError:\n    nowhere_at_all = None", False),
        ("if TYPE_CHECKING:\n    import slow", False),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import slow", False),
    ],
)
def test_which_imports_are_waited_for(packages: Packages, line: str, waits: bool) -> None:
    cells = booted({"functions/f/f.py": f"TYPE_CHECKING = False\n{line}\n\n\ndef f(): ...\n"})
    assert (waiting(cells), packages.imports) == ({"f"} if waits else set(), [])


def test_an_import_in_a_function_is_none_of_its_loading(packages: Packages) -> None:
    cells = booted({"functions/f/f.py": "def f():\n    import slow\n\n    return slow.UNIT\n"})
    assert waiting(cells) == set()
    assert packages.imports == []


def test_a_package_that_is_loaded_is_not_waited_for(packages: Packages) -> None:
    import slow  # type: ignore[import-not-found]

    assert slow.UNIT == 5
    assert waiting(booted({"functions/a/area.py": AREA})) == set()
    deep = booted({"functions/a/area.py": "from slow.inner import DEPTH\n\n\ndef area(): ...\n"})
    assert waiting(deep) == {"area"}  # of a package that is loaded, a module may not be


def test_a_package_that_is_nowhere_is_told_at_boot(packages: Packages) -> None:
    cells = booted(
        {
            "functions/f/f.py": "import nowhere_at_all\n\n\ndef f(): ...\n",
            "functions/g/g.py": "import slow\n\n\n@f\ndef g(): ...\n",
            "functions/h/h.py": "@f\ndef h(): ...\n",
        }
    )
    assert {item.path: item.reason for item in cells.layer.report.skipped} == {
        "functions/f/f.py": "nowhere_at_all is found nowhere here; install it",
        "functions/g/g.py": "it needs f to load, and functions/f/f.py is skipped",
        "functions/h/h.py": "it needs f to load, and functions/f/f.py is skipped",
    }
    assert packages.imports == []


WAITS = "from slow import Base, UNIT, twice\n\n\n"


@pytest.mark.parametrize(
    ("files", "waits"),
    [
        ({"C": f"{WAITS}class C(Base): ...\n", "D": "class D(C): ...\n", "e": "def e(): C()\n"}, {"C", "D"}),
        ({"d": f"{WAITS}def d(f): return f\n", "g": "@d\ndef g(): ...\n"}, {"d", "g"}),
        ({"A": f"{WAITS}A = UNIT + 1\n", "g": "def g(x=A): ...\n"}, {"A", "g"}),
        ({"A": f"{WAITS}A = UNIT + 1\n", "m": "def m():\n    return A\n", "X": "X = m()\n"}, {"A", "X"}),
        (
            {"C": f"{WAITS}class C(Base): ...\n", "g": "def g(x: C): ...\n", "h": "def h(x: 'C'): ...\n"},
            {"C", "g", "h"},
        ),
        ({"C": "class C: ...\n", "C.m": f"{WAITS}C.m = lambda self: UNIT\n", "g": "def g(): C()\n"}, {"C", "C.m"}),
        ({"R": "R = []\n", "f": f"{WAITS}@R.append\ndef f(): UNIT\n", "X": "X = [*R]\n"}, {"R", "f", "X"}),
        (
            {"R": "R = {}\n", "r": "def r(f):\n    R[f] = 1\n    return f\n", "f": f"{WAITS}@r\ndef f(): UNIT\n"},
            {"R", "f"},
        ),
        (
            {
                "B": "class B:\n    def __init_subclass__(cls): ...\n",
                "C": f"{WAITS}class C(B):\n    unit = UNIT\n",
                "D": "class D: ...\n",
                "E": f"{WAITS}class E(D):\n    unit = UNIT\n",
            },
            {"B", "C", "E"},
        ),
    ],
)
def test_what_needs_it_waits_too(packages: Packages, files: dict[str, str], waits: set[str]) -> None:
    cells = booted({f"functions/x/{name}.py": text for name, text in files.items()})
    assert cells.layer.report.skipped == ()
    assert (waiting(cells), packages.imports) == (waits, [])
    cells.layer.deferred.load_all()
    assert waiting(cells) == set()
    assert {name for name in files if "." not in name} <= cells.namespace.keys()


@pytest.mark.parametrize(
    "cell",
    [
        "area(1)",
        "use = lambda: area(1)",
        "def use(x=area): ...",
        "def use():\n    return [area(i) for i in range(3)]",
        "def use(x: 'area'): ...",
        "class Use:\n    area = area",
        "def use():\n    global area\n    area = 3",
        "through()",
        "thing = Through()",
        "print(f'{area(1)}')",
        "eval('area(1)')",
        "exec('y = ' + 'area(1)')",
        "compile('area', '', 'eval')",
        "globals()['area']",
        "globals().get('area')",
        "'area' in globals()",
        "'area' in dir()",
        "names = ['area']\n[globals()[name] for name in names]",
        "for name in ('area', 'through'):\n    globals().get(name)",
        "'{area}'.format(**globals())",
        "'%(area)s' % vars()",
        "shell = type('', (), {'user_ns': globals()})\nshell.user_ns['area']",
        "def has(name='area'):\n    'Of area.'\n    return name in globals()",
        "def use():\n    return getattr(use, 'area', 1)",
        "if False:\n    area = 1\narea",
        "if through:\n    del area",
        "CALLS[0](1)",
    ],
)
def test_cells_that_name_it(packages: Packages, cell: str) -> None:
    files = {
        "area": AREA,
        "through": "def through():\n    return inner()\n",
        "inner": "def inner():\n    return [area(i) for i in range(2)]\n",
        "Through": "class Through:\n    def __init__(self):\n        through()\n",
        "CALLS": "CALLS = (lambda x: area(x),)\n",
    }
    cells = booted({f"functions/x/{name}.py": text for name, text in files.items()})
    assert waiting(cells) == {"area"}
    cells.run(cell)
    assert cells.error is None
    assert packages.imports == ["slow"]


@pytest.mark.parametrize(
    "cell",
    [
        "print('area')",
        "x = {'area': 1}['area']",
        "# area",
        "def use(area):\n    return area",
        "[area for area in range(3)]",
        "area = 3\narea",
        "def area(): ...",
        "thing = Plain()\nthing.area",
        "x = dict(area=3)",
        "import math as area",
    ],
)
def test_cells_that_do_not_name_it(packages: Packages, cell: str) -> None:
    cells = booted({"functions/a/area.py": AREA, "classes/p/Plain.py": "class Plain:\n    area = 3\n"})
    cells.run(cell)
    assert cells.error is None
    assert packages.imports == []


def test_it_is_kept_and_live_as_any_other(packages: Packages) -> None:
    text = AREA.partition("\n\n\n")[2].rstrip()
    cells = booted({"functions/a/area.py": AREA, "functions/u/use.py": "def use():\n    return area(1)\n"})
    assert cells.layer.unresolved() == ()
    assert cells.layer.text("area") == text
    from_other = cells.run("def more():\n    return use()")
    assert said(from_other) == ["keep more"]
    assert packages.imports == ["slow"]


def test_redefining_it(packages: Packages) -> None:
    cells = booted({"functions/a/area.py": AREA})
    (outcome,) = cells.run("def area(x):\n    return 3")
    assert isinstance(outcome, Kept)
    assert outcome.warnings == ()
    cells.run("x = area(1)")
    assert (cells.namespace["x"], packages.imports, waiting(cells)) == (3, [], set())
    assert "slow" not in cells.files[RelPath("functions/a/area.py")]


def test_running_its_own_text_again(packages: Packages) -> None:
    cells = booted({"functions/a/area.py": AREA})
    cells.run("from slow import twice")
    (outcome,) = cells.run("def area(x):\n    return twice(x)")
    assert isinstance(outcome, Unchanged)
    own = cells.namespace["area"]
    cells.run("area(1)")
    assert cells.namespace["area"] is own


def test_forgetting_it(packages: Packages) -> None:
    cells = booted({"functions/a/area.py": AREA, "functions/b/b.py": AREA.replace("area", "b")})
    assert said(cells.run("del area")) == ["forget area"]
    run = cells.layer.run()
    run.forget("b")
    outcomes, _ = run.flush(Context("s-test", 2))
    assert [type(outcome) for outcome in outcomes] == [Forgotten]
    assert (waiting(cells), cells.files) == (set(), {})
    cells.run("b")
    assert isinstance(cells.error, NameError)


def test_a_variable_in_its_place_forgets_it(packages: Packages) -> None:
    cells = booted({"functions/a/area.py": AREA})
    assert said(cells.run("area = 3")) == said([Forgotten("area", "it is a plain variable now")])
    cells.run("x = area")
    assert cells.namespace["x"] == 3
    assert packages.imports == []


def test_what_cells_have_set_meanwhile_stays(packages: Packages) -> None:
    cells = booted({"functions/a/area.py": AREA})
    cells.run("twice = 3")
    cells.namespace["other"] = 1
    cells.run("area")
    assert cells.namespace["twice"] == 3
    fresh = booted({"functions/a/area.py": AREA})
    fresh.namespace["area"] = 7  # by code that no cell shows, as an extension's
    fresh.run("x = area")
    assert fresh.namespace["x"] == 7


def test_what_was_made_with_the_earlier_is(packages: Packages) -> None:
    """A name that a waiting definition needs to load is redefined, or what it stands for is changed."""
    files = {
        "Base": "class Base: ...\n",
        "Sub": "import slow\n\n\nclass Sub(Base):\n    unit = slow.UNIT\n",
        "RATE": "RATE = 3\n",
        "PRICE": "import slow\n\nPRICE = slow.UNIT * RATE\n",
        "TABLE": "TABLE = {}\n",
        "SIZE": "import slow\n\nSIZE = slow.UNIT + len(TABLE)\n",
    }
    cells = booted({f"values/x/{name}.py": text for name, text in files.items()})
    assert waiting(cells) == {"Sub", "PRICE", "SIZE"}
    base = cells.namespace["Base"]
    cells.run("class Base: ...")
    cells.run("RATE = 4")
    cells.run("TABLE['x'] = 1")
    cells.run("told = Sub.__mro__[1], PRICE, SIZE")
    assert cells.namespace["told"] == (base, 15, 5)


def test_a_load_that_fails_is_told_each_time_and_costs_no_other(packages: Packages) -> None:
    packages.make("broken", before="raise ImportError('no such symbol: blas')")
    cells = booted(
        {
            "functions/f/f.py": "import broken\n\n\ndef f(): ...\n",
            "functions/g/g.py": AREA.replace("area", "g"),
            "functions/h/h.py": "import slow\n\n\n@f\ndef h(): ...\n",
            "functions/u/use.py": "def use():\n    return f, g\n",
        }
    )
    for _ in range(2):
        cells.run("f")
        failed = cells.loading.failure_of({"f"})
        assert failed is not None
        assert failed.told == (
            "f cannot be loaded; /layer/functions/f/f.py: it raised ImportError: no such symbol: blas at line 1"
        )
    assert packages.imports == ["broken"]  # tried once
    cells.run("h")
    failed = cells.loading.failure_of({"h"})
    assert failed is not None
    assert failed.reason == (
        "it needs f to load; /layer/functions/f/f.py: it raised ImportError: no such symbol: blas at line 1"
    )
    cells.run("x = use")
    assert cells.loading.failure_of({"use"}) is None
    assert waiting(cells) == {"f", "h"}
    (outcome,) = cells.run("def f(): ...")
    assert isinstance(outcome, Kept)
    cells.run("f")
    assert cells.error is None


def test_cells_folders_and_the_layer_over_them(packages: Packages) -> None:
    folder = {
        "functions/a/area.py": AREA,
        "functions/b/both.py": "import slow\n\n\ndef both():\n    return 'folder'\n",
        "functions/u/use.py": "def use():\n    return both()\n",
        "classes/c/C.py": "class C: ...\n",
    }
    layer = {
        "functions/b/both.py": "import other\n\n\ndef both():\n    return 'layer'\n",
        "methods/c/C.m.py": "import other\n\n\nC.m = lambda self: other.UNIT\n",
    }
    cells = booted(layer, {"/team": folder})
    assert waiting(cells) == {"area", "both", "C.m"}
    cells.run("x = use(), C().m()")
    assert (cells.namespace["x"], packages.imports) == (("layer", 5), ["other"])
    cells.run("y = area(1)")
    assert (cells.namespace["y"], packages.imports) == (2, ["other", "slow"])


def test_output_is_captured(packages: Packages, capsys: pytest.CaptureFixture[str]) -> None:
    cells = booted({"functions/a/area.py": f"print('loading')\n{AREA}"})
    cells.run("area")
    assert cells.loading.output == "loading\n"
    assert capsys.readouterr().out == ""


def test_nothing_waits_unless_asked(packages: Packages) -> None:
    cells = Cells(MemoryStore({RelPath("functions/a/area.py"): AREA.encode()}))
    cells.boot()
    assert waiting(cells) == set()
    assert packages.imports == ["slow"]


# Definitions that change while some wait: another kernel's, taken back, put below a project's layer.


def test_a_refresh_takes_the_place_of_what_waits_and_of_nothing_made_with_it(packages: Packages) -> None:
    ours = booted({"functions/a/area.py": AREA, "values/t/TWO.py": "TWO = area(1)\n", "values/r/RATE.py": "RATE = 1\n"})
    theirs = ours.restarted(defer=False)
    theirs.run("def area(x):\n    return -1\nRATE = 2")
    assert waiting(ours) == {"area", "TWO"}
    done = ours.layer.refresh()
    assert (done.loaded, done.made_earlier) == (("area", "RATE"), (("TWO", ("area",)),))
    assert waiting(ours) == set()
    ours.run("x = area(1), TWO")
    assert ours.namespace["x"] == (-1, 2)
    assert ours.layer.refresh() == Refreshed()


def test_a_refresh_takes_away_what_waits(packages: Packages) -> None:
    ours = booted({"functions/a/area.py": AREA})
    ours.restarted(defer=False).run("del area")
    assert ours.layer.refresh().gone == ("area",)
    assert waiting(ours) == set()
    ours.run("x = area(1)")
    assert (str(ours.error), packages.imports) == ("name 'area' is not defined", ["slow"])  # by the other kernel


def test_what_is_refreshed_has_what_it_needs_of_what_waits(packages: Packages) -> None:
    ours = booted({"functions/a/area.py": AREA})
    ours.restarted(defer=False).run("def size(by=area): return by(2)")
    assert ours.layer.refresh().loaded == ("size",)
    assert ours.namespace["size"]() == 4


def test_an_undo_over_what_waits(packages: Packages) -> None:
    first = booted({"functions/p/plain.py": "def plain(): ...\n"})
    first.run("def area(x): return 1\nclass Circle: size = 1")
    first.run("from slow import twice\ndef area(x): return twice(x)\nCircle.grow = lambda self: twice(self.size)")
    packages.clear()
    cells = first.restarted()
    assert waiting(cells) == {"area", "Circle", "Circle.grow"}
    for name, loaded, gone in (("HEAD", (), ("Circle.grow",)), ("HEAD~2", ("area",), ())):
        done = cells.layer.undo(name, Context("s-test", 1))
        assert isinstance(done, Undone), done
        assert (done.loaded, done.gone) == (loaded, gone)
    assert waiting(cells) == {"Circle"}
    cells.run("x = Circle.size, area(5), hasattr(Circle, 'grow')")
    assert cells.namespace["x"] == (1, 1, False)
    assert waiting(cells) == set()
    assert cells.layer.news() is None


def test_what_waits_below_a_project_layer_is_loaded_when_it_is_named(packages: Packages) -> None:
    cells = booted({"functions/a/area.py": AREA, "values/r/RATE.py": "RATE = 1\n"})
    loaded = cells.layer.become_shipped("the personal layer")
    assert loaded.collisions == ()
    assert waiting(cells) == {"area"}
    cells.run("x = area(RATE)")
    assert cells.namespace["x"] == 2
