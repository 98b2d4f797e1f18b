"""Which starts are replays of the one before, what forbids that, and what becomes of a replay that does not go well."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from perdure.layer.boot_journal import BootJournal, folder_in, mark_of
from perdure.layer.definition import RelPath
from perdure.layer.facts import facts_of
from perdure.layer.store import Stamp
from tests.packages import Packages

from .cells import Cells
from .starts import FolderStore, Starts, all_known, complete, differences, is_replayed

AREA, RATE, SLOW = "functions/a/area.py", "values/r/RATE.py", "functions/s/slow.py"
FILES = {
    AREA: "def area(r):\n    return RATE * r\n",
    RATE: "RATE = 3\n",
    "classes/c/Circle.py": "class Circle:\n    size = RATE\n",
    "methods/c/Circle.grow.py": "Circle.grow = lambda self: area(self.size)\n",
    SLOW: "import slow_one\n\n\ndef slow():\n    return slow_one.UNIT\n",
}


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    with Packages(tmp_path / "packages", "slow_one").on_path() as made:
        yield made


@pytest.fixture
def starts(tmp_path: Path, packages: Packages) -> Starts:
    made = Starts(tmp_path / "home", FILES)
    made.prepare()
    return made


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that starts parse from now on."""
    read: list[str] = []

    def noting(path: RelPath, data: bytes) -> object:
        read.append(path)
        return facts_of(path, data)

    monkeypatch.setattr("perdure.layer.boot_files.facts_of", noting)
    return read


# Nothing changed.


def test_a_start_is_a_replay_of_the_one_before(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    read = reads(monkeypatch)
    for _ in range(2):
        kernel = starts.replayed()
        assert kernel.namespace["area"](2) == 6
        assert kernel.namespace["Circle"]().grow() == 9
        assert "slow" not in kernel.namespace
        assert "slow_one" not in sys.modules
        assert kernel.layer.shipped.starting.to_write == []
        complete(kernel)
        assert kernel.run("x = slow()") == []
        assert kernel.namespace["x"] == 5
        del sys.modules["slow_one"]
    assert read == []


def test_a_replay_knows_what_the_boot_before_it_knew(tmp_path: Path, packages: Packages) -> None:
    starts = Starts(tmp_path / "home", FILES)
    before = all_known(starts.prepare())
    assert differences(before, all_known(complete(starts.replayed()))) == {}


def test_completing_twice_is_completing_once(starts: Starts) -> None:
    kernel = complete(starts.replayed())
    before = all_known(kernel)
    assert differences(before, all_known(complete(kernel))) == {}


def test_an_empty_layer_is_replayed_too(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {})
    starts.prepare()
    assert complete(starts.replayed()).names == set()


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0\ndef odd(): ...\n",
        "def odd(:\n",
        "def odd():\n    return never_defined\n",
        "def odd(r=never_defined): ...",
    ],
)
def test_a_file_that_is_left_out_is_tried_again_and_costs_the_others_nothing(
    tmp_path: Path, packages: Packages, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    odd = "functions/o/odd.py"
    starts = Starts(tmp_path / "home", FILES | {odd: text})
    starts.prepare()
    read = reads(monkeypatch)
    for _ in range(2):
        kernel = starts.start()
        assert not is_replayed(kernel)
        assert [skipped.path for skipped in kernel.layer.report.skipped] == [odd]
        assert kernel.namespace["Circle"]().grow() == 9
        assert {*read} <= {odd}
        assert kernel.layer.shipped.starting.to_write == []  # it would be the same again
    starts.put(odd, "def odd():\n    return 1\n")
    kernel = starts.start()
    assert kernel.namespace["odd"]() == 1
    starts.write(kernel)
    assert starts.replayed().namespace["odd"]() == 1


def test_without_a_cache_nothing_is_remembered(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES)
    kernel = Cells(FolderStore(starts.root), root=starts.root)
    kernel.boot()
    assert kernel.layer.shipped.starting.to_write == []


def test_where_the_cache_cannot_be_written_every_start_is_the_first(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {AREA: FILES[AREA], RATE: FILES[RATE]})
    starts.cache.write_bytes(b"")  # a file where the folder would be
    for _ in range(2):
        kernel = starts.start()
        assert not is_replayed(kernel)
        with pytest.raises(OSError, match="cache"):
            starts.write(complete(kernel))
        assert kernel.run("x = area(1)") == []


# Files changed.


def stamped(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_atime_ns, found.st_mtime_ns


def edit(starts: Starts) -> None:
    starts.put(RATE, "RATE = 12\n")


def edit_secretly(starts: Starts) -> None:
    """The size is the same, and so is the time."""
    path = starts.root / RATE
    before = stamped(path)
    with path.open("r+b") as file:
        file.write(b"RATE = 4\n")
    os.utime(path, ns=before)
    assert stamped(path) == before


def add(starts: Starts) -> None:
    starts.put("values/u/UNIT.py", "UNIT = 1\n")


def remove(starts: Starts) -> None:
    (starts.root / "methods/c/Circle.grow.py").unlink()


def rename(starts: Starts) -> None:
    (starts.root / AREA).rename(starts.root / "functions/a/other.py")


def replace(starts: Starts) -> None:
    """By a file of the same content, as an editor does."""
    (starts.root / "new").write_text(FILES[RATE])
    (starts.root / "new").replace(starts.root / RATE)


def link(starts: Starts) -> None:
    """A link is no definition file: it is told of, and not read through."""
    (starts.root / RATE).rename(starts.root / "elsewhere")
    (starts.root / RATE).symlink_to(starts.root / "elsewhere")


@pytest.mark.parametrize("change", [edit, edit_secretly, add, remove, rename, replace, link])
def test_where_files_changed_those_alone_are_read(
    starts: Starts, change: Callable[[Starts], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(starts)
    read = reads(monkeypatch)
    kernel = complete(starts.start())
    changed = {
        edit: RATE,
        edit_secretly: RATE,
        add: "values/u/UNIT.py",
        rename: "functions/a/other.py",
        replace: RATE,
        link: RATE,
    }
    assert read == [changed[change]] if change in changed else read == []
    starts.cache = starts.cache.with_name("other")
    assert differences(all_known(starts.prepare()), all_known(kernel)) == {}


@pytest.mark.parametrize("change", [edit, edit_secretly, add, remove, rename, replace])
def test_the_next_start_but_one_goes_the_new_way(starts: Starts, change: Callable[[Starts], None]) -> None:
    change(starts)
    kernel = complete(starts.start())
    assert starts.write(kernel) == 1
    again = starts.replayed()
    assert differences(all_known(kernel), all_known(complete(again))) == {}


class Coarse(FolderStore):
    """A folder on a file system whose stamps tell nothing."""

    known: Mapping[RelPath, Stamp] = {}

    def stamps(self) -> Mapping[RelPath, Stamp]:  # type: ignore[override]
        return self.known


def test_of_a_young_file_the_bytes_are_compared(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    starts.cache = starts.cache.with_name("other")
    ahead = 10**10
    os.utime(starts.root / RATE, (ahead, ahead))
    starts.prepare()
    monkeypatch.setattr(Coarse, "known", FolderStore(starts.root).stamps())
    monkeypatch.setattr(f"{Starts.__module__}.FolderStore", Coarse)
    assert is_replayed(starts.start())
    starts.put(RATE, "RATE = 4\n")
    kernel = starts.start()
    assert not is_replayed(kernel)
    assert kernel.namespace["area"](1) == 4


def test_a_file_that_cannot_be_read_any_more_is_told_of(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    starts.put(RATE, "RATE = (\n")
    kernel = complete(starts.start())
    assert [(s.path, s.reason) for s in kernel.layer.report.skipped][-1][0] == RATE
    assert [each.recipe.is_whole for each in kernel.layer.shipped.starting.to_write] == [False]
    starts.put(RATE, FILES[RATE])
    assert complete(starts.start()).namespace["area"](1) == 3


# Something else is not as it was.


def test_another_way_to_the_folder_is_another_start(starts: Starts) -> None:
    """Tracebacks tell the path by which the folder is known."""
    real, starts.root = starts.root, starts.root.with_name("link")
    starts.root.symlink_to(real)
    for _ in range(2):
        kernel = complete(starts.start())
        assert kernel.namespace["area"].__code__.co_filename == str(starts.root / AREA)
        starts.write(kernel)
    assert is_replayed(starts.start())
    starts.root = real
    kernel = starts.start()
    assert not is_replayed(kernel)
    assert kernel.namespace["area"].__code__.co_filename == str(real / AREA)


def test_another_edition_is_a_start_from_nothing(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.layer.boot_cache.FORMAT", 77)
    assert not is_replayed(starts.start())


def test_a_layer_over_other_folders_is_another(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES | {SLOW: "def slow(): ...\n"}, {"values/t/TEAM.py": "TEAM = 1\n"})
    starts.prepare()
    team = starts.folders
    kernel = starts.replayed()
    assert [each.root for each in kernel.layer.shipped.replayed] == team
    starts.folders = []
    assert not is_replayed(starts.start())
    starts.folders = team
    (team[0] / "values/t/TEAM.py").write_text("TEAM = 2\n")
    kernel = complete(starts.start())
    assert kernel.namespace["TEAM"] == 2
    assert starts.write(kernel) == 2
    starts.replayed()


def test_where_the_layer_changed_its_folders_are_replayed_and_known_at_once(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {RATE: "RATE = TEAM\n"}, {"values/t/TEAM.py": "TEAM = 1\n"})
    starts.prepare()
    starts.put(RATE, "RATE = TEAM + 1\n")
    kernel = starts.start()
    assert kernel.layer.shipped.replayed == []
    assert kernel.namespace["RATE"] == 2
    assert [folder.path for folder in kernel.layer.shipped.folders] == starts.folders
    assert starts.write(kernel) == 1
    starts.replayed()


def test_packages_that_come_and_go_forbid_it(
    starts: Starts, packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    __import__("slow_one")
    kernel = complete(starts.start())  # it need not wait any more
    assert "slow" in kernel.namespace
    packages.clear()
    assert is_replayed(starts.start())
    (packages.folder / "slow_one").rename(packages.folder / "gone")
    sys.path_importer_cache.clear()
    kernel = complete(starts.start())
    assert [s.path for s in kernel.layer.report.skipped] == [SLOW]
    (packages.folder / "gone").rename(packages.folder / "slow_one")
    sys.path_importer_cache.clear()
    assert is_replayed(starts.start())


def test_what_only_the_namespace_had_has_to_be_there(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {AREA: "def area(r):\n    return helper(r)\n"})
    ambient = {"helper": abs}
    starts.prepare(ambient)
    assert starts.replayed(ambient).namespace["area"](-1) == 1
    kernel = complete(starts.start())
    assert [skipped.reason for skipped in kernel.layer.report.skipped] == ["it uses helper, which nothing defines now"]


def test_deferral_on_and_off_are_two_ways(starts: Starts) -> None:
    starts.defer = False
    kernel = complete(starts.start())
    assert "slow" in kernel.namespace
    sys.modules.pop("slow_one")
    starts.write(kernel)
    assert "slow" in starts.replayed().namespace
    sys.modules.pop("slow_one")
    starts.defer = True
    kernel = starts.start()
    assert not is_replayed(kernel)
    assert "slow" not in kernel.namespace


def journal(starts: Starts) -> BootJournal:
    made = BootJournal(starts.cache, starts.root)
    made.begin()
    return made


def test_a_death_at_the_last_start_forbids_it(starts: Starts) -> None:
    made = journal(starts)
    made.enters(mark_of(RelPath(AREA), FILES[AREA].encode()))
    kernel = complete(starts.start())
    assert [skipped.path for skipped in kernel.layer.report.skipped if "killed" in skipped.reason] == [AREA]
    made.end()
    assert is_replayed(starts.start())  # tried by itself it did no harm


@pytest.mark.parametrize("fact", ["slow", "died"])
def test_what_is_known_against_a_file_forbids_it(starts: Starts, fact: str) -> None:
    mark = mark_of(RelPath(AREA), FILES[AREA].encode())
    made = journal(starts)
    made.note({"slow": [mark]} if fact == "slow" else {"died": mark, "why": "it killed the kernel"})
    made.end()
    assert not is_replayed(starts.start())


def test_only_what_was_loaded_to_its_end_is_replayed(starts: Starts) -> None:
    (folder_in(starts.cache, starts.root) / "known.jsonl").unlink()
    assert not is_replayed(starts.start())
    assert is_replayed(starts.start())


def test_what_is_loaded_when_cells_ran_already_is_no_start(starts: Starts) -> None:
    kernel = Cells(FolderStore(starts.root), root=starts.root, cache=starts.cache, defer=True)
    kernel.layer.shipped.starting.is_on = False
    kernel.layer.boot()
    assert not is_replayed(kernel)
    assert kernel.names >= {"area", "RATE"}
    assert kernel.layer.shipped.starting.to_write == []
