"""Whether a layer is clean, told without git: never where git lists something, and nearly always where it does not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.layer.git import GitStore
from perdure.layer.git_agreed import Agreement, agreement, in_doubt, is_clean, remember
from perdure.layer.git_entries import Stat
from perdure.layer.git_index import index_of
from perdure.layer.store import Dirt, Remove, Write

from .git_cli import AREA, KEEP, RATE, Git, created, opened, put, settled

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def told(path: Path) -> bool:
    return is_clean(path, opened(path).head())


def test_a_layer_that_perdure_alone_wrote_is_clean(store: GitStore, path: Path) -> None:
    settled(store)
    assert told(path)
    store.commit([Write(AREA, b"2"), Write(RATE, b"3")], KEEP)
    settled(store)
    assert told(path)
    store.commit([Remove(RATE)], KEEP)
    settled(store)
    assert told(path)


def touch(path: Path) -> None:
    (path / AREA).touch()


def edit(path: Path) -> None:
    """Another content of the same size and the same mtime."""
    before = (path / AREA).stat()
    (path / AREA).write_bytes((path / AREA).read_bytes().swapcase())
    os.utime(path / AREA, ns=(before.st_atime_ns, before.st_mtime_ns))


def link(path: Path) -> None:
    (path / AREA).rename(path / "elsewhere")
    (path / AREA).symlink_to(path / "elsewhere")


DIRTY: list[Callable[[Path], object]] = [
    edit,
    link,
    lambda path: (path / AREA).unlink(),
    lambda path: (path / AREA).chmod(0o755),
    lambda path: put(path / "new.txt", ""),
    lambda path: put(path / "functions/n/new.py", ""),
    lambda path: put(path / ".gitignore", "*.txt"),
    lambda path: (path / ".git" / "index").unlink(),
]


@pytest.mark.parametrize("change", DIRTY)
def test_what_is_changed_is_not_clean(change: Callable[[Path], object], store: GitStore, git: Git, path: Path) -> None:
    change(path)
    assert not told(path)
    assert store.dirt() == git.dirt() != Dirt()
    assert not told(path)


def test_a_file_that_was_touched_is_read(store: GitStore, path: Path) -> None:
    settled(store)
    touch(path)
    assert told(path)


def test_what_git_did_is_found_out_once(store: GitStore, git: Git, path: Path) -> None:
    put(path / AREA, "by hand")
    git("commit", "-am", "by hand")
    assert not told(path)
    assert not store.dirt()
    assert told(path)
    git("add", AREA)
    git("status")  # has its own index written, perhaps
    assert not store.dirt()
    assert told(path)


def test_what_is_staged_stays_told(store: GitStore, git: Git, path: Path) -> None:
    put(path / RATE, "staged")
    git("add", RATE)
    store.commit([Write(AREA, b"2")], KEEP)
    assert not told(path)
    assert store.dirt() == git.dirt() == Dirt(changed=(RATE,), staged=(RATE,))


def test_what_the_tree_has_git_ignore_is_remembered(store: GitStore, git: Git, path: Path) -> None:
    put(path / "__pycache__/area.pyc", "")
    put(path / "odd.pyc", "")
    assert not told(path)
    assert not store.dirt()
    assert told(path)
    put(path / "__pycache__/more.pyc", "")
    assert told(path)
    store.commit([Write(AREA, b"2")], KEEP)
    settled(store)
    assert told(path)
    put(path / "even.pyc", "")
    assert not told(path)


def test_what_only_the_user_has_git_ignore_is_asked_each_time(
    store: GitStore, git: Git, path: Path, no_git_configuration: Path
) -> None:
    put(path / "mine.txt", "")
    put(path / ".git/info/exclude", "mine.txt\n")
    assert not store.dirt()
    assert not told(path)
    put(path / ".git/info/exclude", "")
    assert store.dirt() == git.dirt() != Dirt()


def test_by_an_ignore_file_that_is_no_commits_nothing_is_remembered(store: GitStore, git: Git, path: Path) -> None:
    committed = (path / ".gitignore").read_bytes()
    put(path / ".gitignore", committed + b"*.txt\n")
    put(path / "new.txt", "")
    assert store.dirt().unknown == ()
    put(path / ".gitignore", committed)
    assert not told(path)
    assert store.dirt() == git.dirt() != Dirt()
    (path / "new.txt").unlink()
    put(path / "cache/.gitignore", "*")
    put(path / "cache/new.txt", "")
    assert not store.dirt()
    put(path / "cache/.gitignore", "")
    assert store.dirt() == git.dirt() != Dirt()


def test_a_file_as_young_as_the_index_is_read(store: GitStore, git: Git, path: Path) -> None:
    (path / AREA).write_bytes((path / AREA).read_bytes().swapcase())
    # As if it had been written in the same tick as the index, and edited after that: its stat is the one in the index.
    index = index_of(path)
    name, found = os.fsencode(AREA), (path / AREA).lstat()
    index.staged[name] = replace(index.staged[name], stat=Stat.of(found))
    index.mtime_ns = found.st_mtime_ns + 1  # so that the size stays
    data = index.to_bytes(path)
    (path / ".git/index").write_bytes(data)
    remember(path / ".git", Agreement(store.head(), data[-20:].hex()))
    os.utime(path / ".git/index", ns=(found.st_mtime_ns, found.st_mtime_ns))
    assert not told(path)
    assert store.dirt() == Dirt(changed=(AREA,))


def test_doubt() -> None:
    with tempfile.NamedTemporaryFile() as file:
        there = os.lstat(file.name)
    numbers = Stat.of(there)
    entry = (
        *(numbers.ctime, numbers.ctime_ns, numbers.mtime, numbers.mtime_ns, numbers.dev, numbers.ino, 0o100644),
        *(numbers.uid, numbers.gid, numbers.size, b"", 0),
    )
    later, same = there.st_mtime_ns + 1, there.st_mtime_ns
    assert in_doubt({b"a": entry}, {b"a": there}, later, ()) == []
    assert in_doubt({b"a": entry}, {b"a": there}, same, ()) == [b"a"]
    assert in_doubt({b"a": (*entry[:9], 1, *entry[10:])}, {b"a": there}, later, ()) == [b"a"]
    assert in_doubt({b"a": entry}, {}, later, ()) is None
    assert in_doubt({}, {b"a": there}, later, ()) is None
    assert in_doubt({}, {b"a": there}, later, ("a",)) == []


@pytest.mark.parametrize(
    "data", ["", "[]", "{", '{"commit": 1}', '{"commit": null, "index": [], "ignored": 3}', "[" * 9999]
)
def test_a_note_that_cannot_be_read_is_none(data: str, store: GitStore, path: Path) -> None:
    put(path / ".git/perdure.agreed", data)
    assert not told(path)
    assert not store.dirt()
    assert told(path)


def test_a_git_folder_that_cannot_be_written_costs_nothing_but_time(store: GitStore, path: Path) -> None:
    (path / ".git/perdure.agreed").mkdir()
    assert not store.dirt()
    store.commit([Write(AREA, b"2")], KEEP)
    assert not store.dirt()
    assert [name for name in os.listdir(path / ".git") if name.startswith("perdure.agreed")] == ["perdure.agreed"]


def test_without_a_checksum_nothing_is_known(store: GitStore, path: Path) -> None:
    remember(path / ".git", Agreement(store.head(), "0" * 40))
    assert agreement(path / ".git", store.head(), "0" * 40) is None


MOVES: dict[str, Callable[[Path, Git], object]] = {
    "edit": lambda path, git: put(path / AREA, "edited"),
    "edit back": lambda path, git: git("checkout", "-q", AREA, ok=False),
    "stage": lambda path, git: git("add", "-A"),
    "commit by hand": lambda path, git: git("commit", "-qam", "by hand", ok=False),
    "reset": lambda path, git: git("reset", "-q", "HEAD~1", ok=False),
    "pack": lambda path, git: git("gc", "-q"),
    "keep": lambda path, git: opened(path).commit([Write(AREA, os.urandom(4).hex().encode())], KEEP),
    "keep another": lambda path, git: opened(path).commit([Write(RATE, os.urandom(4).hex().encode())], KEEP),
    "forget": lambda path, git: opened(path).commit([Remove(RATE)], KEEP),
    "cache": lambda path, git: put(path / "__pycache__/x.pyc", ""),
    "new": lambda path, git: put(path / "new.txt", "new"),
    "ignore": lambda path, git: put(path / ".gitignore", "new.txt\n"),
    "look": lambda path, git: opened(path).dirt(),
}


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(sorted(MOVES)), max_size=7))
def test_whatever_happens_it_says_what_git_says(moves: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layer"
        created(path)
        git = Git(path)
        for move in moves:
            MOVES[move](path, git)
        clean = told(path)
        assert opened(path).dirt() == git.dirt()
        assert not clean or not git.dirt()
