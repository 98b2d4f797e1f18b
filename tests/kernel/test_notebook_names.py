"""What a commit says of the notebook that a cell comes from, and what is said when another one's definition goes."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.notebook import notebook_name
from tests.layer.made_up import MADE_UP

from .conftest import StartKernel
from .home import Home

PROJECT, WORK = PurePosixPath("/home/ada/study"), PurePosixPath("/home/ada/work")
ID = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("analysis.ipynb", "analysis.ipynb"),
        ("deep/analysis.ipynb", "deep/analysis.ipynb"),
        ("/home/ada/study/deep/analysis.ipynb", "deep/analysis.ipynb"),
        ("/home/ada/work/größe 2.ipynb", "größe 2.ipynb"),
        ("/home/ada/clients/acme/plan.ipynb", "plan.ipynb"),
        ("../acme/plan.ipynb", "plan.ipynb"),
        ("RTC:deep/analysis.ipynb", "deep/analysis.ipynb"),
        (f"analysis.ipynb-jvsc-{ID}", "analysis.ipynb"),
        (f"/home/ada/study/deep/analysis-jvsc-{ID}.ipynb", "deep/analysis.ipynb"),
        (f"analysis-jvsc-{ID}", "analysis.ipynb"),
        ("notes.md", "notes.md"),
        ("two\nlines.ipynb", "two lines.ipynb"),
        (f"console-1-{ID}", None),
        ("/home/ada/study/Console 1", None),
        (f"/home/ada/study/console-1-{ID}", None),
        ("", None),
        ("   ", None),
        (None, None),
    ],
)
def test_what_a_server_says(said: str | None, name: str | None) -> None:
    assert notebook_name(said, (PROJECT, WORK), by_server=True) == name


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("analysis", "analysis"),
        ("file:///home/ada/study/a.ipynb", "a.ipynb"),
        ("https://hub.example.org/user/ada/lab/tree/a.ipynb?token=0123456789abcdef#x", "a.ipynb"),
        ("vscode-notebook-cell:/home/ada/study/deep/a.ipynb#W0sZmlsZQ", "deep/a.ipynb"),
        ("token=0123456789abcdef/a.ipynb", "a.ipynb"),
        (MADE_UP["GitHub"], None),
        (f"{ID}/a.ipynb", "a.ipynb"),
        (f"{ID}.ipynb", None),
        ("x" * 300 + "/a.ipynb", "a.ipynb"),
        ("x" * 300, None),
        ("..", None),
        ("/", None),
    ],
)
def test_what_a_request_says(said: str, name: str | None) -> None:
    assert notebook_name(said, (PROJECT, WORK), by_server=False) == name


@given(st.text(), st.booleans())
def test_any_name_fits_a_line_and_leaves_no_folder(said: str, by_server: bool) -> None:
    name = notebook_name(said, (PROJECT,), by_server=by_server)
    assert name is None or (name.isprintable() and 0 < len(name) <= 200)
    assert name is None or not name.startswith(("/", ".."))


def test_from_the_server_over_the_wire(home: Home, new_kernel: StartKernel) -> None:
    path = home.work.resolve() / "deep" / "analysis.ipynb"
    kernel = new_kernel(JPY_SESSION_NAME=str(path)).start()
    kernel.run("def area(r):\n    return 1")
    assert home.log()[0].trailers["Notebook"] == "deep/analysis.ipynb"
    kernel = new_kernel(JPY_SESSION_NAME=f"console-1-{ID}").start()
    kernel.run("def area(r):\n    return 2")
    assert "Notebook" not in home.log()[0].trailers


def test_from_a_project_below_it(home: Home, new_kernel: StartKernel) -> None:
    del home.environ["PERDURE_LAYER"]
    home.work = home.root.resolve() / "work"
    new_kernel().start().run("%layer init")
    top = home.work
    home.work, home.layer = top / "deep", top / ".perdure"
    home.work.mkdir()
    new_kernel(JPY_SESSION_NAME=str(home.work / "analysis.ipynb")).start().run("def area(r):\n    return 1")
    assert home.log()[0].trailers["Notebook"] == "deep/analysis.ipynb"


def test_replacing_what_another_notebook_kept_says_so_once(home: Home, new_kernel: StartKernel) -> None:
    first = new_kernel().start()
    first.run("def area(r):\n    return 1\nRATE = 1", notebook="analysis.ipynb")
    first.kill()
    kernel = new_kernel().start()
    assert kernel.run("def area(r):\n    return 1", notebook="other.ipynb").notices == []
    replaced = "area was kept by analysis.ipynb; this replaces it"
    answer = kernel.run("def area(r):\n    return 2", notebook="other.ipynb")
    assert answer.notices == ["[layer: kept area]", f"[layer: {replaced}]"]
    assert answer.perdure["warnings"] == [replaced]
    assert kernel.run("def area(r):\n    return 3", notebook="other.ipynb").notices == ["[layer: kept area]"]
    assert kernel.run("RATE = 2", notebook="analysis.ipynb").notices == ["[layer: kept RATE]"]
    assert kernel.run("NEW = 2", notebook="other.ipynb").notices == ["[layer: kept NEW]"]


def test_a_console_that_replaces_what_a_notebook_kept_says_so_once(home: Home, new_kernel: StartKernel) -> None:
    first = new_kernel().start()
    first.run("def area(r):\n    return 1", notebook="a.ipynb")
    first.run("RATE = 1")
    first.kill()
    kernel = new_kernel().start()
    replaced = "area was kept by a.ipynb; this replaces it"
    for kind in ("console", "agent"):
        kernel.restart()
        kernel.run("def area(r):\n    return 1", notebook="a.ipynb")
        answer = kernel.run(f"RATE = '{kind}'\ndef area(r):\n    return '{kind}'", kind=kind)
        assert answer.notices == ["[layer: kept RATE, area]", f"[layer: {replaced}]"]
        assert answer.perdure["warnings"] == [replaced]
        assert kernel.run(f"def area(r):\n    return '{kind} again'", kind=kind).notices == ["[layer: kept area]"]
    kernel.restart()
    assert kernel.run("def area(r):\n    return 1", notebook="a.ipynb").notices == ["[layer: kept area]"]
    answer = kernel.run("def area(r):\n    return 2", kind="notebook")  # of which nobody told the name
    assert (answer.notices, answer.perdure["warnings"]) == ([], [replaced])


def test_of_two_notebooks_in_one_kernel(new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    kernel.run("def ring(r):\n    return 1", notebook="a.ipynb")
    assert kernel.run("def ring(r):\n    return 2", notebook="b.ipynb").notices == [
        "[layer: kept ring]",
        "[layer: ring was kept by a.ipynb; this replaces it]",
    ]
    assert kernel.run("def ring(r):\n    return 3", notebook="a.ipynb").notices == ["[layer: kept ring]"]


def test_a_notebooks_outputs_stay_the_same(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    kernel.run("def ring(r):\n    return 1", notebook="a.ipynb")
    assert kernel.run("def ring(r):\n    return 2", notebook="b.ipynb", kind="notebook").notices == []
