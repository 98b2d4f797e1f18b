"""GitStore on storage without locks, and with clocks that go wrong."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perdure.layer import git_objects
from perdure.layer.definition import RelPath
from perdure.layer.errors import NoLocks
from perdure.layer.git import GitStore
from perdure.layer.git_objects import not_before
from perdure.layer.store import Change, CommitId, Remove, Write

from .git_cli import AREA, KEEP, RATE, Git, opened, put, settled

pytestmark = pytest.mark.usefixtures("no_git_configuration")

NOON = 1_900_000_000
DAY = 86_400


@pytest.fixture(params=[errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def no_locks(store: GitStore, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    def flock(_fd: int, _operation: int) -> None:
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.usefixtures("no_locks")
def test_nothing_is_written_where_there_are_no_locks(store: GitStore, git: Git, path: Path) -> None:
    put(path / AREA, "by hand")
    for act in (
        lambda: store.commit([Write(RATE, b"")], KEEP),
        lambda: store.adopt({AREA: b"by hand"}, KEEP),
        store.heal,
    ):
        with pytest.raises(NoLocks, match="is on storage without file locks") as told:
            act()
        assert told.value.path == path
    git.check(f" M {AREA}\n")
    assert store.files() == {AREA: b"by hand"}
    assert store.dirt() == git.dirt()


def ticking(monkeypatch: pytest.MonkeyPatch, *times: int) -> None:
    """Have the clock say these times, and then the last of them."""
    left = list(times)
    monkeypatch.setattr(git_objects, "time", type("Clock", (), {"time": lambda: left.pop(0) if left[1:] else left[0]}))


def test_a_clock_that_goes_backwards(store: GitStore, git: Git, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[CommitId | None] = []
    for number, hour in enumerate((0, 2, 1, -24 * 365, 3)):
        ticking(monkeypatch, NOON + hour * 3_600)
        made.append(store.commit([Write(RATE, b"RATE = %d\n" % number)], KEEP))
    assert [entry.id for entry in store.log(5)] == made[::-1] == git("log", "--format=%H", "-5").split()
    times = [int(line) for line in git("log", "--format=%ct", "-5").split()]
    assert times == sorted(times, reverse=True)
    # When it was made is what the clock said, right or wrong.
    assert [int(entry.time.timestamp()) for entry in store.log(5)] == [
        NOON + hour * 3_600 for hour in (3, -24 * 365, 1, 2, 0)
    ]
    since = made[1]
    assert since is not None
    assert [entry.id for entry in store.log(since=since)] == made[:1:-1]
    git.check()


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        (b"tree x\ncommitter A <a@b> 1900000100 +0200\n\nm", NOON + 100),
        (b"tree x\ncommitter A <a@b> 1800000000 +0200\n\nm", NOON),
        (b"tree x\ncommitter A <a@b> 99999999999999999999 +0200\n\nm", NOON),
        (b"tree x\ncommitter A <a@b>\n\ncommitter A <a@b> 1900000100 +0000", NOON),
    ],
)
def test_not_before(parent: bytes, expected: int) -> None:
    assert not_before(datetime.fromtimestamp(NOON, UTC), parent).timestamp() == expected


@pytest.mark.parametrize("shift", [-400 * DAY, 400 * DAY])
def test_files_from_another_time(store: GitStore, git: Git, path: Path, shift: int) -> None:
    """As after a clock that was set, or from an archive: an edit is seen whatever the times of files and index are."""
    store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    then = time.time() + shift
    for file in (path / ".git/index", path / AREA, path / RATE):
        os.utime(file, (then, then))
    store = opened(path)
    assert store.dirt() == git.dirt()
    (path / RATE).write_bytes(b"RATE = 2\n")  # as long as before
    os.utime(path / RATE, (then, then))
    assert store.dirt().changed == (RATE,)
    assert store.adopt({RATE: b"RATE = 2\n"}, KEEP)
    store.commit([Write(RelPath("values/n/NEW.py"), b"NEW = 1\n")], KEEP)
    git.check()
    assert not store.dirt()


def test_many_objects_are_one_pack_and_few_are_loose(store: GitStore, git: Git, path: Path) -> None:
    few = [Write(RelPath(f"functions/f/few{n}.py"), f"few{n} = {n}\n".encode()) for n in range(20)]
    many: list[Change] = [
        Write(RelPath(f"functions/{name[0]}/{name}.py"), f"def {name}():\n    {'x' * size}\n".encode())
        for n in range(60)
        for name, size in [(f"{'abcdefghij'[n % 10]}{n}", n**3)]
    ]
    store.commit(few, KEEP)
    assert not [*path.glob(".git/objects/pack/*")]
    store.commit([*many, Remove(few[0].path)], KEEP)
    assert sorted(file.suffix for file in path.glob(".git/objects/pack/*")) == [".idx", ".pack"]
    git.check()
    assert git("verify-pack", "-v", *(os.fspath(file) for file in path.glob(".git/objects/pack/*.idx"))).endswith(
        "ok\n"
    )
    for change in many:
        assert isinstance(change, Write)
        assert git("show", f"HEAD:{change.path}").encode() == change.data
        assert store.show(store.log(1)[0].id, change.path) == change.data
    git("gc", "--quiet")
    store.commit([Remove(change.path) for change in many], KEEP)
    git.check()


@pytest.mark.parametrize("shift", [-DAY, -1, 0, 1, DAY])
def test_an_index_from_another_time_than_its_files(store: GitStore, git: Git, path: Path, shift: int) -> None:
    """As after a clock that was set back or forth between a commit and the next look: no edit hides behind a time."""
    store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    for file in (path / AREA, path / RATE):
        os.utime(file, (NOON, NOON))
    git("update-index", "--refresh")  # the entries say so
    os.utime(path / ".git/index", (NOON + shift, NOON + shift))
    store = opened(path)
    assert not store.dirt()
    (path / RATE).write_bytes(b"RATE = 2\n")  # as long as before, and at the same time
    os.utime(path / RATE, (NOON, NOON))
    assert store.dirt().changed == (RATE,)
    store.commit([Write(AREA, b"def area(): 1\n")], KEEP)
    assert store.dirt().changed == (RATE,)
    assert store.adopt({RATE: b"RATE = 2\n"}, KEEP)
    git.check()
    assert not store.dirt()


def test_history_where_commits_by_hand_are_older_than_those_before(
    store: GitStore, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = store.head()
    assert heard is not None
    tree, parent = git("rev-parse", "HEAD^{tree}").strip(), heard
    for number in range(60):  # more than are read one by one
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{NOON - number * DAY} +0000")
        parent = CommitId(git("commit-tree", "-m", f"c{number}", "-p", parent, tree).strip())
    git("update-ref", "HEAD", parent)
    store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    assert [entry.id for entry in store.log()] == git("log", "--format=%H").split()
    assert [entry.id for entry in store.log(since=heard)] == git("log", "--format=%H", f"{heard}..").split()


def test_what_git_took_of_a_commit_that_was_being_made_is_written_again(store: GitStore, git: Git, path: Path) -> None:
    store.commit([Write(RATE, b"RATE = 2\n")], KEEP)
    blob = git("rev-parse", f"HEAD:{RATE}").strip()
    (path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    settled(store)
    git.check()
    store.commit([Write(RATE, b"RATE = 3\n")], KEEP)
    git("gc", "--quiet")
    settled(store)
    git.check()
    assert not list(path.glob(".git/objects/??/*"))
