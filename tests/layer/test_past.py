"""The history of one definition, followed by its name."""

from __future__ import annotations

from perdure.layer.definition import RelPath
from perdure.layer.memory import MemoryStore
from perdure.layer.past import NoVersion, Version, unified
from perdure.layer.store import Message, Remove, Write

from .cells import Cells


def subjects(cells: Cells, name: str, limit: int = 20) -> list[str]:
    return [entry.subject for entry in cells.layer.past(name).log(limit)]


def version(found: Version | NoVersion | None) -> tuple[str, str]:
    assert isinstance(found, Version), found
    return found.path, found.data.decode()


def test_a_definition_is_followed_through_its_files(cells: Cells) -> None:
    cells.run("def area(): return 1")
    cells.run("OTHER = 1")
    cells.run("class area: pass")
    cells.run("del area")
    assert subjects(cells, "area") == ["forgot area", "keep area", "keep area"]
    assert subjects(cells, "area", 2) == ["forgot area", "keep area"]
    assert subjects(cells, "nothing") == []


def test_a_name_that_came_from_anothers_file(cells: Cells) -> None:
    cells.run("LEFT, RIGHT = 1, 2")
    cells.run("LEFT = 3")
    cells.run("LEFT = 4")
    assert cells.layer.table.entries.keys() == {"LEFT", "RIGHT"}
    # What was made of LEFT since is none of RIGHT's history.
    assert subjects(cells, "RIGHT") == ["keep LEFT", "keep LEFT"]


def test_a_move_by_hand_is_followed(cells: Cells) -> None:
    cells.run("def area(): return 1")
    there, elsewhere = RelPath("functions/a/area.py"), RelPath("functions/z/mine.py")
    data = cells.store.file(there)
    assert data is not None
    cells.store.commit([Remove(there), Write(elsewhere, data)], Message("moved by hand"))
    cells = cells.restarted()
    assert subjects(cells, "area") == ["moved by hand", "keep area"]


def test_methods(cells: Cells) -> None:
    cells.run("class Circle: pass")
    cells.run("Circle.grow = lambda self: 1")
    cells.run("Circle.grow = lambda self: 2")
    assert subjects(cells, "Circle.grow") == ["keep Circle.grow"] * 2
    assert subjects(cells, "Circle") == ["keep Circle"]


def test_the_version_before(cells: Cells) -> None:
    cells.run("def area(): return 1")
    past = cells.layer.past("area")
    assert past.before() == NoVersion("area has no earlier version")
    cells.run("def area(): return 2")
    cells.run("OTHER = 1")
    past = cells.layer.past("area")
    assert version(past.before())[1] == "def area(): return 1\n"
    assert version(past.now())[1] == "def area(): return 2\n"
    cells.run("class area: pass")
    past = cells.layer.past("area")
    assert version(past.before())[0] == "functions/a/area.py"
    cells.run("del area")
    past = cells.layer.past("area")
    assert past.now() is None
    assert version(past.before())[1] == "class area: pass\n"


def test_before_a_hand_edit_is_what_was_committed(cells: Cells) -> None:
    cells.run("def area(): return 1")
    assert isinstance(cells.store, MemoryStore)
    cells.store.edit(RelPath("functions/a/area.py"), b"def area(): return 3\n")
    past = cells.layer.past("area")
    assert version(past.before())[1] == "def area(): return 1\n"


def test_before_newlines_that_git_converted_is_the_version_before(cells: Cells) -> None:
    cells.run("def area(): return 1")
    cells.run("def area(): return 2")
    assert isinstance(cells.store, MemoryStore)
    cells.store.edit(RelPath("functions/a/area.py"), b"def area(): return 2\r\n")
    assert version(cells.layer.past("area").before())[1] == "def area(): return 1\n"
    assert cells.layer.tracked.dirt().changed == ("functions/a/area.py",)
    cells.run("def area(): return 3")
    assert subjects(cells, "area") == ["keep area"] * 3  # and nothing to adopt


def test_before_a_hand_took_the_file_away_is_what_was_committed_last(cells: Cells) -> None:
    cells.run("def area(): return 1")
    cells.run("def area(): return 2")
    assert isinstance(cells.store, MemoryStore)
    cells.store.edit(RelPath("functions/a/area.py"), None)
    for kernel in (cells, cells.restarted()):
        past = kernel.layer.past("area")
        assert (version(past.before())[1], past.now()) == ("def area(): return 2\n", None)


def test_a_version_of_a_commit(cells: Cells) -> None:
    cells.run("OTHER = 1")
    cells.run("def area(): return 1")
    cells.run("class area: pass")
    past, entries = cells.layer.past("area"), cells.store.log()
    assert version(past.at(entries[1])) == ("functions/a/area.py", "def area(): return 1\n")
    assert past.at(entries[2]) == NoVersion(f"area was not there at {entries[2].id[:7]}")


def test_a_diff_names_both_sides() -> None:
    old = Version(RelPath("functions/a/area.py"), b"def area():\n    return 1\n", "1a2b3c4")
    new = Version(RelPath("functions/a/area.py"), b"def area():\n    return 2\n", "now")
    assert unified(old, new).splitlines() == [
        "--- functions/a/area.py (1a2b3c4)",
        "+++ functions/a/area.py (now)",
        "@@ -1,2 +1,2 @@",
        " def area():",
        "-    return 1",
        "+    return 2",
    ]
    assert unified(old, None).splitlines()[1] == "+++ /dev/null"
    assert unified(old, old) == ""
