"""How a kernel comes by its layer, without a kernel: mode, place and trust, and what the first cell is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from perdure.kernel.trusting import trust
from perdure.kernel.wire import Notices, Request, RequestKind
from perdure.kernel.workspace import Workspace
from perdure.layer.session import Context

from .home import Home

AGENT = Request(RequestKind.AGENT, Notices.ALL)


@pytest.fixture(autouse=True)
def user(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(home.work)
    return home


def workspace(home: Home, *, layer: str | None = None, mode: str | None = None, **environ: str) -> Workspace:
    namespace: dict[str, object] = {"__name__": "__main__"}
    made = Workspace(namespace, ambient=dict(namespace), environ={**home.environ, **environ}, layer=layer, mode=mode)
    made.boot()
    return made


def told(space: Workspace, **changes: Any) -> list[str]:
    """What the next cell is to show."""
    request = Request(**{"kind": RequestKind.AGENT, "notices": Notices.ALL, **changes})
    return space.open_cell(request, "", 1).finish().lines(request.notices)


def test_a_layer_is_made_where_there_is_none(user: Home) -> None:
    space = workspace(user)
    assert space.layer is not None
    assert space.summary() == f"perdure layer {user.layer}: 0 definitions; %cells lists them"
    assert told(space) == []


@pytest.mark.parametrize("mode", ["off", "readonly"])
def test_no_layer_is_made_where_nothing_may_be_written(user: Home, mode: str) -> None:
    space = workspace(user, PERDURE_MODE=mode)
    assert space.layer is None
    assert not user.layer.exists()
    assert told(space) == []


def test_the_environment_wins_over_config(user: Home, tmp_path: Path) -> None:
    configured = str(tmp_path / "configured")
    assert str(workspace(user, layer=configured).place.path) == str(user.layer)  # type: ignore[union-attr]
    space = workspace(user, layer=configured, PERDURE_LAYER="")
    assert space.place is not None
    assert str(space.place.path) == configured
    assert workspace(user, mode="off", PERDURE_MODE="on").layer is not None
    assert workspace(user, mode="off").layer is None


def test_trouble_is_told_once_to_the_first_cell_that_shows_problems(user: Home) -> None:
    user.layer.write_text("in the way")
    space = workspace(user)
    assert space.layer is None
    assert space.summary() == f"perdure has no layer: {space.trouble}"
    assert told(space, notices=Notices.NONE) == []
    assert told(space, keeps=False) == []
    (line,) = told(space, notices=Notices.PROBLEMS)
    assert line == f"[layer: nothing is kept or loaded; {space.trouble}]"
    assert told(space) == []


def test_definitions_run_inside_what_is_put_around_them(user: Home) -> None:
    space = workspace(user)
    assert space.layer is not None
    space.settle()
    file = user.layer / "values/a/AROUND.py"
    file.parent.mkdir(parents=True)
    file.write_text("AROUND = inside\n")
    namespace: dict[str, object] = {}

    @contextmanager
    def around() -> Iterator[None]:
        namespace["inside"] = True
        yield
        del namespace["inside"]

    again = Workspace(namespace, ambient={}, environ=user.environ)
    again.boot(around())
    assert namespace["AROUND"] is True
    assert "inside" not in namespace


def test_a_mistake_of_our_own_leaves_a_kernel_without_a_layer(user: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("perdure.layer.room.Layer.boot", broken)
    space = workspace(user)
    assert space.layer is None
    assert "perdure itself failed (RuntimeError: ours)" in told(space)[0]


def test_a_cell_knows_where_it_comes_from(user: Home) -> None:
    space = workspace(user, PERDURE_SESSION="s-mine", JPY_SESSION_NAME="server.ipynb")
    assert space.layer is not None
    space.layer.image.namespace["f"] = 1
    for request, notebook in (
        (AGENT, "server.ipynb"),
        (Request(RequestKind.AGENT, Notices.ALL, "own.ipynb"), "own.ipynb"),
    ):
        cell = space.open_cell(request, "# A note.\nx = 1", 7)
        assert cell.settled() == Context("s-mine", 7, notebook, "A note.")


def test_there_is_nothing_to_trust_in_a_layer_of_ones_own(user: Home) -> None:
    assert trust(workspace(user)).startswith("No layer here waits for trust. perdure layer ")


def test_trust_loads_what_was_not_trusted(user: Home) -> None:
    workspace(user)
    file = user.layer / "values/t/THEIRS.py"
    file.parent.mkdir(parents=True)
    file.write_text("THEIRS = 1\n")
    moved = user.root / "moved"
    user.layer.rename(moved)
    space = workspace(user, PERDURE_LAYER=str(moved))
    assert space.layer is None
    assert "is not trusted" in told(space)[0]
    assert trust(space).startswith(f"perdure layer {moved}: 1 definition; %cells lists them.")
    assert space._namespace["THEIRS"] == 1
