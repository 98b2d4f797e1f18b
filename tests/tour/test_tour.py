"""The tour, given as `make demo` gives it; and that it notices when a step is not as told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs" / "tour" / "tour.py"
NOTEBOOK = TOUR.with_name("penguins.ipynb")


def tour(home: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The tour as somebody whose home folder is `home` sees it."""
    (home / "tmp").mkdir(parents=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
    own |= {"HOME": str(home), "TMPDIR": str(home / "tmp"), "GIT_CONFIG_NOSYSTEM": "1", **environment}
    return subprocess.run(
        (sys.executable, TOUR, *options), cwd=home, env=own, capture_output=True, text=True, check=False, timeout=240
    )


@pytest.mark.parametrize("identity", [{}, {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}])
def test_every_step_is_as_told(identity: dict[str, str], tmp_path: Path) -> None:
    layer = tmp_path / "mine"
    done = tour(tmp_path / "home", PERDURE_LAYER=str(layer), **identity)
    assert (done.stderr, done.returncode) == ("", 0), done.stdout[-2000:]
    for line in (
        "       functions/f/fit.py",
        "       values/d/digits.py",
        "   ok: The process ended by the signal.",
        "   ok: This is the table of the first kernel. Nothing had to be imported.",
        "           [layer: kept typical_mass]",
        "           A few heavy birds pull the mean up; the median stays.",
        '       +    return table.groupby(by)["mass_kg"].median().round(digits).to_dict()',
        "Everything was as told, and the folder of the tour is removed again. From here:",
    ):
        assert line in done.stdout.splitlines()
    # Neither the user's home folder nor the user's layer was touched, and nothing was left.
    assert [path for path in (tmp_path / "home").rglob("*") if path.name != "tmp"] == []
    assert not layer.exists()


def test_it_reads_in_any_terminal(tmp_path: Path) -> None:
    done = tour(tmp_path, LC_ALL="C", TERM="dumb", PYTHONCOERCECLOCALE="0", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "\033" not in done.stdout


@pytest.mark.parametrize("mode", ["off", "readonly"])
def test_a_step_that_is_not_as_told_fails_loudly(mode: str, tmp_path: Path) -> None:
    done = tour(tmp_path, "--mode", mode)
    assert done.returncode == 1
    assert "Everything was as told" not in done.stdout
    assert done.stderr.startswith("\nNOT AS TOLD: The cell 'heaviest' shows its result.\n  expected:\n")
    assert "[layer: kept heaviest; needs penguins (not kept)]" in done.stderr
    assert "  came:\n       [6.3, 6.05, 6.0]\n" in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_notebook_is_an_ordinary_one() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert notebook["metadata"]["kernelspec"]["name"] == "perdure"
    assert len(code) >= 10
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert not any("perdure" in "".join(cell["source"]) or "%" in "".join(cell["source"]) for cell in notebook["cells"])
