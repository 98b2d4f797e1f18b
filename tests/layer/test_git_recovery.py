"""A kernel is killed at every write of a commit; the next one finds the layer clean and can keep to it at once."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

from perdure.layer import disk as disk_module
from perdure.layer import git as git_module
from perdure.layer import git_commit, git_recovery
from perdure.layer.definition import RelPath
from perdure.layer.disk import FILE_MODE, Disk, RealDisk
from perdure.layer.errors import LayerUnusable, StoreBusy
from perdure.layer.git import GitStore
from perdure.layer.git_locks import TURN
from perdure.layer.git_recovery import Note
from perdure.layer.store import Change, Remove, Write

from .failing_disk import FailingDisk, FailingSystem, When
from .git_cli import ADA, AREA, KEEP, RATE, Git, created, opened, put

CIRCLE = RelPath("classes/c/Circle.py")
LATER = RelPath("values/l/LATER.py")
FIRST: list[Change] = [Write(RATE, b"RATE = 1\n")]
SECOND: list[Change] = [Write(AREA, b"def area(r): ...\n"), Write(CIRCLE, b"class Circle: ...\n"), Remove(RATE)]
STATUS = "A  staged.txt\n?? unknown.txt\n"

T = TypeVar("T")

pytestmark = pytest.mark.usefixtures("no_git_configuration")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lock is waited for, since none of a dead kernel may be; and what the disk really syncs is not seen here."""
    for module in (git_commit, git_module, git_recovery):
        monkeypatch.setattr(module, "WAIT", 0.0)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def layer(path: Path, store: GitStore, git: Git) -> Path:
    """A layer with FIRST, a file that is staged and one that git does not know."""
    store.commit(FIRST, KEEP)
    put(path / "staged.txt", "staged")
    put(path / "unknown.txt", "unknown")
    git("add", "staged.txt")
    return path


@dataclass
class DeadlyDisk(FailingDisk):
    """Kills its process at the `at`-th operation of any kind: before it, after it, or with half of it done."""

    def write(
        self, path: Path, data: bytes, *, mode: int = FILE_MODE, synced: bool = True, begun_in: Path | None = None
    ) -> os.stat_result:
        torn = (begun_in or path.parent) / ".0123456789abcdef.tmp"
        whole = partial(self.disk.write, path, data, mode=mode, synced=synced, begun_in=begun_in)
        return self._do("write", path, whole, lambda: torn.write_bytes(data[::2]))

    def _do(self, name: str, path: Path, act: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        self.done.append((name, path))
        if len(self.done) == self.at:
            if self.when == "after":
                act()
            elif self.when == "half" and half:
                half()
            kill_this()
        return act()


class DeadlySystem(FailingSystem):
    """Kills its process at the `at`-th system call that writes."""

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)

        def call(*args: object, **named: object) -> object:
            self.count += 1
            if self.count == self.at:
                kill_this()
            return real(*args, **named)

        return call if name in self.COUNTED else real


def kill_this() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def died(work: Callable[[], object]) -> bool:
    """Do `work` in a process of its own; whether it was killed in it."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL)
    return child.exitcode != 0


def commit(path: Path, disk: Disk) -> None:
    """Make SECOND, and write down beside the layer that it was acknowledged."""
    told = GitStore.open(path, author=ADA, disk=disk).commit(SECOND, KEEP)
    assert told
    path.with_name("told").write_text(told)


def check_clean(path: Path) -> None:
    """Nothing but what was acknowledged, or is whole without that, is there; `git status` is as before."""
    git = Git(path)
    git.check(STATUS)
    log = git("log", "--format=%H %s")
    assert "keep area" in log  # FIRST
    told = path.with_name("told")
    assert not told.exists() or told.read_text() in log
    for file in path.rglob("*"):
        assert not file.name.endswith((".lock", ".tmp", ".spare")) or file.name == TURN, f"left behind: {file}"
        assert ".git" in file.parts or file.is_file() or any(file.iterdir()), f"an empty folder: {file}"
    assert (path / ".git" / TURN).read_bytes() == b""


def boot(path: Path) -> None:
    opened(path).recover()
    check_clean(path)


def keep(path: Path) -> None:
    assert opened(path).commit([Write(LATER, b"LATER = 1\n")], KEEP)
    check_clean(path)
    opened(path).commit(SECOND, KEEP)  # where the dead one had not
    check_clean(path)
    assert opened(path).files().keys() == {AREA, CIRCLE, LATER}


def killed_everywhere(layer: Path, work: Callable[[Path, int], None], then: Callable[[Path], None]) -> int:
    """Kill `work` at its first write, its second … and do `then` after each; how many there were."""
    for at in range(1, 1000):
        path = layer.with_name(f"at{at}") / "layer"
        shutil.copytree(layer, path)
        Git(path)("status")  # has git note the times of the copied files
        if not died(lambda path=path, at=at: work(path, at)):  # type: ignore[misc]
            return at - 1
        then(path)
        shutil.rmtree(path.parent)
    raise AssertionError("the commit never ends")


@pytest.mark.parametrize(("when", "then"), [("after", boot), ("half", keep)])
def test_a_kill_at_any_write(layer: Path, when: When, then: Callable[[Path], None]) -> None:
    assert killed_everywhere(layer, lambda path, at: commit(path, DeadlyDisk(at, when=when)), then) > 30


def test_a_kill_at_any_system_call(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(path: Path, at: int) -> None:
        monkeypatch.setattr(disk_module, "os", DeadlySystem(at, 0))
        commit(path, RealDisk())

    assert killed_everywhere(layer, work, keep) > 40


def test_a_kill_on_a_file_system_without_hard_links(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*args: object, **named: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    assert killed_everywhere(layer, lambda path, at: commit(path, DeadlyDisk(at, when="after")), boot) > 30


class KilledAtTheRef(RealDisk):
    """Kills its process when files and index are written and the ref is locked."""

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        if target.name == "main.lock":
            kill_this()


@pytest.fixture
def half_done(layer: Path) -> Path:
    """The layer with SECOND in its files and its index, and not in its history."""
    assert died(lambda: GitStore.open(layer, author=ADA, disk=KilledAtTheRef()).commit(SECOND, KEEP))
    assert (layer / ".git/refs/heads/main.lock").exists()
    assert set(Git(layer).dirt().changed) == {AREA, CIRCLE, RATE, "staged.txt"}
    return layer


def test_a_recovery_that_is_killed_too(half_done: Path) -> None:
    def recover(path: Path, at: int) -> None:
        GitStore.open(path, author=ADA, disk=DeadlyDisk(at, when="after")).recover()

    assert killed_everywhere(half_done, recover, keep) > 10


def test_definitions_are_as_before_the_dead_commit(half_done: Path) -> None:
    opened(half_done).recover()
    assert opened(half_done).files() == {AREA: b"def area(): ...\n", RATE: b"RATE = 1\n"}
    assert not (half_done / "classes").exists()


def test_what_was_edited_since_stays(half_done: Path, git: Git) -> None:
    put(half_done / AREA, "by hand")
    put(half_done / RATE, "by hand")
    git("add", AREA)
    opened(half_done).recover()
    assert (half_done / AREA).read_text() == (half_done / RATE).read_text() == "by hand"
    git.check(f"M  {AREA}\nA  staged.txt\n M {RATE}\n?? unknown.txt\n")
    assert opened(half_done).commit([Write(LATER, b"")], KEEP)


def test_what_was_committed_by_hand_since_stays(half_done: Path, git: Git) -> None:
    (half_done / ".git/refs/heads/main.lock").unlink()
    git("commit", "-qm", "by hand")
    opened(half_done).recover()
    git.check("?? unknown.txt\n")
    assert (half_done / CIRCLE).exists()


@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/main.lock"])
def test_a_lock_of_somebody_else_stays(half_done: Path, git: Git, lock: str) -> None:
    (half_done / ".git/refs/heads/main.lock").unlink()
    put(half_done / ".git" / lock, "somebody's")
    with pytest.raises(StoreBusy):
        opened(half_done).commit([Write(LATER, b"")], KEEP)
    assert (half_done / ".git" / lock).read_text() == "somebody's"
    (half_done / ".git" / lock).unlink()
    keep(half_done)


def test_a_recovery_waits_for_the_end_of_a_merge(half_done: Path, git: Git) -> None:
    put(half_done / ".git/MERGE_HEAD", git("rev-parse", "HEAD"))
    with pytest.raises(LayerUnusable, match="in the middle of a git merge"):
        opened(half_done).recover()
    (half_done / ".git/MERGE_HEAD").unlink()
    boot(half_done)


def test_a_note_that_was_torn(layer: Path) -> None:
    note = Note.of({AREA: b"", RelPath("functions/\udcff.py"): None})
    assert Note.read(note.to_bytes()) == note
    for end in (1, 20, len(note.to_bytes()) - 2):
        put(layer / ".git" / TURN, note.to_bytes()[:end])
        boot(layer)


def test_where_nothing_is_left_a_recovery_writes_nothing(tmp_path: Path, layer: Path) -> None:
    for path in (layer, created(tmp_path / "new").path):
        disk = DeadlyDisk(1)
        GitStore.open(path, author=ADA, disk=disk).recover()
        assert disk.done == []


def adopt(path: Path, disk: Disk) -> None:
    """Commit what a hand did, and write down beside the layer that it was acknowledged."""
    told = GitStore.open(path, author=ADA, disk=disk).adopt(HAND, KEEP)
    assert told
    path.with_name("told").write_text(told)


HAND: dict[RelPath, bytes | None] = {AREA: b"def area(hand): ...\n", CIRCLE: b"class Circle: ...\n", RATE: None}


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_hand_did_stays_where_its_commit_is_killed(layer: Path, git: Git, when: When) -> None:
    for path, data in HAND.items():
        if data is None:
            (layer / path).unlink()
        else:
            put(layer / path, data)
    at, killed = 0, True
    while killed:
        at += 1
        copy = layer.with_name(f"copy-{at}")
        shutil.copytree(layer, copy, symlinks=True)
        killed = died(lambda copy=copy, at=at: adopt(copy, DeadlyDisk(at, when=when)))  # type: ignore[misc]
        opened(copy).recover()
        for path, data in HAND.items():
            assert ((copy / path).read_bytes() if (copy / path).exists() else None) == data
        told = Git(copy)("status", "--porcelain", "-uall")
        # It stands or it was never begun, and nobody staged anything.
        assert told in (STATUS, f" M {AREA}\nA  staged.txt\n D {RATE}\n?? {CIRCLE}\n?? unknown.txt\n")
        assert "dangling" not in Git(copy)("fsck", "--strict", "--no-dangling")
        assert killed or told == STATUS
        layer.with_name("told").unlink(missing_ok=True)
    assert at > 10
