"""Notebooks with saved outputs: what they show is what they showed, however often they run.

Through nbclient and through `pytest --nbval`; both keep what the notebooks define, as a person's notebook does, and
show the same notices of problems each time.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.kernel.home import Home

SAVED = Path(__file__).parent
# In this order: the last one uses what the others keep.
NAMES = ("keeping.ipynb", "analysis.ipynb", "next_day.ipynb")
AGAIN = "again.ipynb"  # by itself: it changes what it has kept, each time

Outputs = dict[str, list[dict[str, Any]]]
"""The outputs of each cell, by its id."""


class Author:
    """Somebody with notebooks of their own, who runs them from the command line."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.home.environ["JUPYTER_PREFER_ENV_PATH"] = "0"  # in a virtual environment, its kernelspecs would win
        for name in (*NAMES, AGAIN):
            shutil.copy(SAVED / name, self.home.work)
        self._run("-m", "perdure.kernel", "install", "--user")

    def nbclient(self, name: str, **environ: str) -> Outputs:
        """Run a notebook as `jupyter execute` does."""
        target = self.home.root / "executed.ipynb"
        self._run("-c", "from nbclient.cli import main; main()", f"--output={target}", name, **environ)
        return outputs(target)

    def nbval(self, names: Sequence[str], *options: str, **environ: str) -> tuple[int, str]:
        """Check notebooks as `pytest --nbval` does: how many of their cells passed, and all that it said."""
        plain = ("-p", "no:cacheprovider", "-q", "--color=no", f"--rootdir={self.home.work}")
        said = self._run("-m", "pytest", "--nbval", *plain, *options, *names, **environ)
        passed = re.search(r"(\d+) passed", said)
        assert passed is not None, said
        return int(passed[1]), said

    def _run(self, *command: str, **environ: str) -> str:
        done = subprocess.run(
            (sys.executable, *command),
            cwd=self.home.work,
            env=self.home.environ | environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path)


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Author, dict[str, Outputs]]:
    """An author who has run all notebooks once, and what they showed. What comes after must not change the layer."""
    author = Author(tmp_path_factory.mktemp("author"))
    return author, {name: author.nbclient(name) for name in NAMES}


@pytest.fixture
def seasoned(first_run: tuple[Author, dict[str, Outputs]]) -> Iterator[Author]:
    """The author with a layer, which is looked at before and after."""
    author = first_run[0]
    files, log = author.home.files(), author.home.log()
    yield author
    assert author.home.files() == files
    assert author.home.log() == log
    assert author.home.status() == ""


def outputs(path: Path) -> Outputs:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return {cell.id: _steady(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"}


def _steady(shown: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs without what differs from run to run: tracebacks have paths, and what is printed may come in pieces."""
    steady: list[dict[str, Any]] = []
    for output in shown:
        output = {name: value for name, value in output.items() if name != "traceback"}
        if steady and output.get("name") is not None and output.get("name") == steady[-1].get("name"):
            steady[-1]["text"] += output["text"]
        else:
            steady.append(output)
    return steady


def notices(shown: Outputs) -> list[str]:
    found = (output["metadata"].get("perdure") for cell in shown.values() for output in cell if "metadata" in output)
    return [line for ours in found if ours for line in ours["notices"]]


def without_notices(shown: Outputs) -> Outputs:
    return {
        cell: [output for output in those if "perdure" not in output.get("metadata", {})]
        for cell, those in shown.items()
    }


def code_cells(names: Sequence[str]) -> int:
    return sum(len(outputs(SAVED / name)) for name in names)


@pytest.mark.parametrize("name", NAMES)
def test_the_first_run_shows_what_is_saved(name: str, first_run: tuple[Author, dict[str, Outputs]]) -> None:
    assert first_run[1][name] == outputs(SAVED / name)


def test_the_first_run_keeps(seasoned: Author) -> None:
    kept = seasoned.home.files().keys()
    assert {"functions/d/distance.py", "values/p/places.py", "classes/t/Trip.py", "classes/b/Bill.py"} <= kept


@pytest.mark.parametrize("name", NAMES)
def test_the_second_run_shows_the_same_and_keeps_nothing_new(name: str, seasoned: Author) -> None:
    assert seasoned.nbclient(name) == outputs(SAVED / name)


@pytest.mark.parametrize("name", NAMES)
def test_read_only_shows_the_same_without_notices(name: str, seasoned: Author) -> None:
    assert seasoned.nbclient(name, PERDURE_MODE="readonly") == without_notices(outputs(SAVED / name))


def test_what_changes_its_definitions_shows_the_same_each_time(author: Author) -> None:
    kept = []
    for _ in range(3):
        assert author.nbclient(AGAIN) == outputs(SAVED / AGAIN)
        assert author.home.status() == ""
        kept.append(author.home.files())
    assert kept[0] == kept[1] == kept[2]
    passed, said = author.nbval([AGAIN])
    assert passed == code_cells([AGAIN]), said


def test_nbval_twice_in_a_row(seasoned: Author) -> None:
    for _ in range(2):
        passed, said = seasoned.nbval(NAMES)
        assert passed == code_cells(NAMES), said


def test_nbval_on_a_new_layer(author: Author) -> None:
    passed, said = author.nbval(NAMES)
    assert passed == code_cells(NAMES), said
    assert author.home.status() == ""


def test_nbval_read_only_where_no_notice_is_saved(seasoned: Author) -> None:
    passed, said = seasoned.nbval(NAMES[1:], PERDURE_MODE="readonly")
    assert passed == code_cells(NAMES[1:]), said


def test_nbval_needs_no_layer_where_nothing_is_used_from_it(author: Author) -> None:
    passed, said = author.nbval(NAMES[1:2], PERDURE_MODE="readonly")
    assert passed == code_cells(NAMES[1:2]), said
    assert not author.home.layer.exists()


def test_the_analysis_shows_what_it_shows_on_the_stock_kernel(author: Author) -> None:
    passed, said = author.nbval(["analysis.ipynb"], "--nbval-current-env")
    assert passed == code_cells(["analysis.ipynb"]), said


def test_the_notebooks_are_what_they_are_meant_to_be() -> None:
    analysis = nbformat.read(SAVED / "analysis.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    assert not any("perdure" in cell.source for cell in analysis.cells)
    assert notices(outputs(SAVED / "analysis.ipynb")) == []
    assert notices(outputs(SAVED / "next_day.ipynb")) == []
    assert notices(outputs(SAVED / "keeping.ipynb")) == [
        "[layer: kept left_over; needs visited (not kept)]",
        "[layer: log_trip not kept; it needs sheet to load]",
        "[layer: HOME_FOLDER not kept; it calls os.getcwd(); %keep HOME_FOLDER keeps it]",
        "[layer: API_TOKEN looks like a secret; not kept; %keep API_TOKEN commits it to git all the same]",
    ]
