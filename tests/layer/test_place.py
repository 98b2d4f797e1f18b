"""Which layer, under which name, in which mode and session."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.disk import RealDisk
from perdure.layer.errors import LayerUnusable
from perdure.layer.place import (
    CellsPlace,
    Homes,
    Mode,
    Origin,
    Place,
    cells_entries,
    choose,
    layer_name,
    name_of_folder,
    personal_place,
    read_cells_entry,
    read_mode,
    remembered_name,
)
from perdure.layer.session import session_id

from .failing_disk import FailingDisk

HOMES = Homes(data=Path("/home/ada/data"), state=Path("/home/ada/state"), cache=Path("/home/ada/cache"))
CWD = Path("/elsewhere")


def chosen(environment: str | None, config: str | None, project: Path | None = None) -> Place:
    environ = {} if environment is None else {"PERDURE_LAYER": environment}
    return choose(environ, config, lambda: project, lambda: personal_place(HOMES, "ada"), cwd=CWD)


def test_the_first_of_environment_config_project_and_personal() -> None:
    found = Path("/srv/Sea Ice/.perdure")
    assert chosen("/a", "/b", found) == Place(Path("/a"), "a", Origin.ENVIRONMENT)
    assert chosen(None, "/b", found) == Place(Path("/b"), "b", Origin.CONFIG)
    assert chosen(None, None, found) == Place(found, "sea_ice", Origin.PROJECT)
    assert chosen("", "") == Place(Path("/home/ada/data/layer_ada"), "ada", Origin.PERSONAL)


def test_nothing_is_asked_that_does_not_matter() -> None:
    def never() -> Any:
        raise AssertionError

    choose({"PERDURE_LAYER": "/a"}, None, never, never, cwd=CWD)
    choose({}, None, lambda: Path("/p/.perdure"), never, cwd=CWD)


def test_projects_of_one_name_have_records_of_their_own() -> None:
    one, two = (Place(Path(f"/{path}/study/.perdure"), "study", Origin.PROJECT) for path in "ab")
    assert HOMES.events(one) != HOMES.events(two)
    assert HOMES.events(one).parent.name.startswith("study-")
    assert HOMES.events(Place(Path("/a"), "study", Origin.CONFIG)) == HOMES.state / "study" / "events.jsonl"


@pytest.mark.parametrize(
    ("text", "path", "name"),
    [
        ("kit", "/elsewhere/kit", "kit"),
        ("./kit/", "/elsewhere/kit", "kit"),
        (".", "/elsewhere", "elsewhere"),
        ("/x/y/..", "/x/y/..", "x"),
        ("~/kit", "/home/eve/kit", "kit"),
        ("/x/layer_Ada", "/x/layer_Ada", "ada"),
        ("/x/layer_", "/x/layer_", "you"),
        ("/x/My Project/.perdure", "/x/My Project/.perdure", "my_project"),
        ("/x/größe-2", "/x/größe-2", "gr__e_2"),
        ("/x/---", "/x/---", "you"),
        ("/", "/", "you"),
    ],
)
def test_a_folder_gives_path_and_name(text: str, path: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/eve")
    assert chosen(text, None) == Place(Path(path), name, Origin.ENVIRONMENT)


def test_a_user_that_is_not_there() -> None:
    with pytest.raises(LayerUnusable, match=r"~nobody-of-that-name/kit begins with a user .*; name another folder"):
        chosen("~nobody-of-that-name/kit", None)


def test_a_null_byte() -> None:
    with pytest.raises(LayerUnusable, match="null byte"):
        chosen(None, "a\0b")


@pytest.mark.parametrize(
    ("git", "user", "name"),
    [
        ("Ada Lovelace", "ada", "ada_lovelace"),
        ("Jörg", None, "j_rg"),
        (None, "R2D2", "r2d2"),
        ("", "", "you"),
        (None, None, "you"),
        ("李明", "liming", "liming"),
        ("李明", None, "you"),
        ("  ", "--", "you"),
    ],
)
def test_layer_name(git: str | None, user: str | None, name: str) -> None:
    assert layer_name(git, user) == name


@given(st.none() | st.text(), st.none() | st.text())
def test_any_name_makes_a_folder(git: str | None, user: str | None) -> None:
    name = layer_name(git, user)
    assert re.fullmatch(r"[a-z0-9_]{1,100}", name)
    assert name.strip("_")
    assert name_of_folder(Path(f"/x/layer_{name}")) == name


def homes_in(folder: Path) -> Homes:
    return Homes(folder / "data", folder / "state", folder / "cache")


def test_the_name_is_that_of_first_use(tmp_path: Path) -> None:
    homes, disk = homes_in(tmp_path), RealDisk()
    assert remembered_name(homes, disk, lambda: "ada") == "ada"
    assert remembered_name(homes, disk, lambda: "ada_king") == "ada"


@pytest.mark.parametrize("text", [b"", b"\n", b"\xff", b"---"])
def test_a_damaged_memory_of_the_name_is_replaced(tmp_path: Path, text: bytes) -> None:
    homes, disk = homes_in(tmp_path), RealDisk()
    remembered_name(homes, disk, lambda: "ada")
    (file,) = homes.state.iterdir()
    file.write_bytes(text)
    assert remembered_name(homes, disk, lambda: "eve") == "eve"
    assert remembered_name(homes, disk, lambda: "bob") == "eve"


def test_a_name_in_memory_never_leaves_the_folder(tmp_path: Path) -> None:
    homes, disk = homes_in(tmp_path), RealDisk()
    remembered_name(homes, disk, lambda: "ada")
    (file,) = homes.state.iterdir()
    file.write_text("../../eve\n")
    assert re.fullmatch("[a-z0-9_]+", remembered_name(homes, disk, lambda: "ada"))


def test_the_memory_of_the_name_is_no_layers_folder(tmp_path: Path) -> None:
    """A layer called as the file is would keep its events in a folder of that name."""
    homes = homes_in(tmp_path)
    remembered_name(homes, RealDisk(), lambda: "ada")
    (file,) = homes.state.iterdir()
    assert "." in file.name
    assert homes.events(Place(tmp_path, "name", Origin.CONFIG)).parent != file


@pytest.mark.parametrize("at", [1, 2])
def test_a_name_that_cannot_be_remembered_is_given_all_the_same(tmp_path: Path, at: int) -> None:
    disk = FailingDisk(at=at, code=errno.EROFS, lasting=True)
    assert remembered_name(homes_in(tmp_path), disk, lambda: "ada") == "ada"
    assert disk.failed


def test_the_users_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind))
    monkeypatch.setenv("HOME", str(tmp_path))
    homes = Homes.of_user()
    assert {homes.data.name, homes.state.name, homes.cache.name} == {"perdure"}
    assert all(tmp_path in path.parents for path in (homes.data, homes.state, homes.cache))


@pytest.mark.parametrize(
    ("text", "config", "mode"),
    [
        (None, None, Mode.ON),
        ("", "  ", Mode.ON),
        ("off", "on", Mode.OFF),
        (None, "readonly", Mode.READONLY),
        (" ReadOnly ", None, Mode.READONLY),
        ("on", "off", Mode.ON),
    ],
)
def test_mode(text: str | None, config: str | None, mode: Mode) -> None:
    assert read_mode(text, config) == (mode, None)


@pytest.mark.parametrize(("text", "config", "where"), [("yes", "off", "PERDURE_MODE"), (None, "yes", "the config")])
def test_an_unknown_mode_keeps_nothing_and_says_so(text: str | None, config: str | None, where: str) -> None:
    mode, problem = read_mode(text, config)
    assert mode is Mode.READONLY
    assert problem is not None
    assert problem.startswith(where)
    assert "'yes'" in problem
    assert "off, readonly, on" in problem


def test_a_session_of_its_own() -> None:
    first, second = session_id({}), session_id({"PERDURE_SESSION": " \n"})
    assert re.fullmatch("s-[0-9a-f]{8}", first)
    assert re.fullmatch("s-[0-9a-f]{8}", second)
    assert first != second


@pytest.mark.parametrize(
    ("given_name", "session"),
    [("agent 7", "agent 7"), (" a\nEvil: b ", "aEvil: b"), ("größe", "größe"), ("x" * 99, "x" * 64)],
)
def test_a_given_session(given_name: str, session: str) -> None:
    assert session_id({"PERDURE_SESSION": given_name}) == session


@given(st.text())
def test_any_session_fits_a_line(given_name: str) -> None:
    session = session_id({"PERDURE_SESSION": given_name})
    assert 0 < len(session) <= 64
    assert session.isprintable()
    assert session == session.strip()


# Cells folders.


def test_the_environment_names_cells_folders_before_the_config() -> None:
    separated = os.pathsep.join(("/a", "", "~/b", " "))
    assert cells_entries({"PERDURE_CELLS": separated}, ["/c"]) == ("/a", "~/b")
    assert cells_entries({"PERDURE_CELLS": ""}, ["/c", "", "/d"]) == ("/c", "/d")
    assert cells_entries({}, []) == ()


@pytest.mark.parametrize(
    ("text", "path", "pin"),
    [
        ("/kit", "/kit", None),
        ("kit", "/elsewhere/kit", None),
        ("~/kit@0123abc", "/home/eve/kit", "0123abc"),
        ("/kit@0123ABC", "/kit", "0123abc"),
        ("/kit@" + "a" * 40, "/kit", "a" * 40),
        ("/kit@012345", "/kit@012345", None),  # too short for a commit
        ("/kit@v1", "/kit@v1", None),
        ("/a@b/kit@0123abc", "/a@b/kit", "0123abc"),
        ("/kit@0123abc@4567def", "/kit@0123abc", "4567def"),
    ],
)
def test_a_cells_entry(text: str, path: str, pin: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/eve")
    assert read_cells_entry(text, CWD) == CellsPlace(Path(path), pin)


def test_a_path_with_an_at_that_is_there_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "kit@0123abc").mkdir()
    assert read_cells_entry("kit@0123abc", tmp_path) == CellsPlace(tmp_path / "kit@0123abc")
    pinned = read_cells_entry("kit@0123abc@4567def", tmp_path)
    assert pinned == CellsPlace(tmp_path / "kit@0123abc", "4567def")


@pytest.mark.parametrize("pin", ["v1.2", "012345", "main", ""])
def test_a_pin_that_is_no_commit_id(pin: str, tmp_path: Path) -> None:
    with pytest.raises(LayerUnusable, match=r"no commit id; write at least 7 hex digits after the @"):
        read_cells_entry(f"{tmp_path}@{pin}", CWD)
