"""What is promised until it is settled: when it is done again, what of it, and what stays as somebody else left it."""

from __future__ import annotations

import errno
import os
import stat
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perdure.layer import git_redo
from perdure.layer.definition import RelPath
from perdure.layer.errors import StoreBusy, StoreFault
from perdure.layer.git_locks import REDO
from perdure.layer.git_objects import object_file
from perdure.layer.git_redo import Redo, read
from perdure.layer.git_redone import standing
from perdure.layer.store import CommitId, Remove, Write

from .failing_disk import WRITES, FailingDisk
from .git_cli import AREA, RATE, Git, put, settled
from .lossy_disk import Choose
from .machine import Machine, begun

CIRCLE = RelPath("classes/c/Circle.py")
LATER = RelPath("values/l/LATER.py")
NEW = b"def area(r): ...\n"

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def all_lost(these: Sequence[Any]) -> Any:
    """Nothing is there but what was synced."""
    return these[0]


def nothing_lost(these: Sequence[Any]) -> Any:
    """All is as it was when the power was cut."""
    return these[-1]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return begun(tmp_path / "machine", monkeypatch)


@pytest.fixture
def redo(machine: Machine) -> Path:
    return machine.path / ".git" / REDO


# Settling.


def test_what_is_settled_needs_no_promise(machine: Machine, redo: Path) -> None:
    settled(machine.store())
    assert redo.read_bytes() == b""
    redo.unlink()
    machine.disk.sync(redo.parent)
    machine.cut_power(all_lost)
    redo.touch()
    machine.check()


def test_what_others_keep_while_it_is_settled_is_promised_still(machine: Machine) -> None:
    for steps in range(1, 5):
        store = machine.store()
        for _ in range(steps):
            store.settle()
        machine.keep(Write(AREA, b"# %d\n" % steps))
        store.settle()
        store.settle()
        machine.cut_power(all_lost)
        machine.check()


def test_what_was_begun_when_it_was_looked_for_is_promised_still(machine: Machine) -> None:
    settling = machine.store()

    class Between(FailingDisk):
        def link(self, source: Path, target: Path) -> None:
            if target.name == "main.lock":  # the commit is promised, and its ref not written
                for _ in range(9):
                    try:
                        settling.settle()
                    except StoreBusy:
                        break
            super().link(source, target)

    machine.keep(Write(AREA, NEW), store=machine.store(Between(disk=machine.disk)))
    machine.cut_power(all_lost)
    machine.check()


def test_a_file_that_has_grown_is_settled_by_the_next_commit(
    machine: Machine, redo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_redo, "LIMIT", 2000)
    sizes = []
    store = machine.store()
    for number in range(10):
        machine.keep(Write(AREA, b"# %d\n" % number), store=store)
        sizes.append(redo.stat().st_size)
    assert 2000 < max(sizes) < 4000
    machine.cut_power(all_lost)
    machine.check()


def test_where_a_start_of_the_machine_cannot_be_told_each_commit_is_settled(
    machine: Machine, redo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_redo, "machine", lambda: "")
    machine.keep(Write(AREA, NEW))
    assert redo.read_bytes() == b""
    machine.cut_power(all_lost)
    machine.check()


# What others did.


@pytest.mark.parametrize("choose", [nothing_lost, all_lost])
def test_on_the_same_start_nothing_is_done_again(machine: Machine, git: Git, choose: Choose) -> None:
    machine.keep(Write(AREA, NEW))
    git("reset", "-q", "--hard", "HEAD~1")
    head = git("rev-parse", "HEAD")
    machine.store().recover()
    assert git("rev-parse", "HEAD") == head
    # Nor on the next, where git has it on record.
    machine.cut_power(choose)
    machine.store().recover()
    assert git("rev-parse", "HEAD") == head
    git.check()


def test_what_was_kept_after_a_reset_lasts_and_what_was_reset_stays_so(machine: Machine, git: Git) -> None:
    machine.keep(Write(CIRCLE, b"class Circle: ...\n"))
    git("reset", "-q", "--hard", "HEAD~1")
    del machine.files[CIRCLE]
    machine.told.clear()  # what is on record of it lasts as it does
    machine.keep(Write(AREA, NEW))
    machine.cut_power(all_lost)
    machine.check()


def test_what_a_hand_did_after_a_keep_stays(machine: Machine, git: Git) -> None:
    machine.keep(Write(AREA, NEW), Write(CIRCLE, b"class Circle: ...\n"))
    put(machine.path / AREA, b"def area(hand): ...\n")
    put(machine.path / CIRCLE, b"class Circle: hand = True\n")
    git("add", CIRCLE)
    machine.cut_power(all_lost)
    machine.store().recover()
    assert (machine.path / AREA).read_bytes() == b"def area(hand): ...\n"
    git.check(f"M  {CIRCLE}\n M {AREA}\n")


def test_what_git_committed_on_top_stays(machine: Machine, git: Git) -> None:
    machine.keep(Write(AREA, NEW))
    machine.commit_by_git(AREA, b"def area(hand): ...\n")
    machine.keep(Write(LATER, b"LATER = 1\n"))
    machine.commit_by_git(CIRCLE, b"class Circle: ...\n")
    machine.cut_power(all_lost)
    machine.check()
    assert git("log", "--format=%an").split("\n")[0] == "Bob"


def test_what_git_committed_between_and_lost_leaves_the_definitions(machine: Machine, git: Git) -> None:
    whole = machine.commit
    machine.commit_by_git(CIRCLE, b"class Circle: ...\n")
    lost = object_file(machine.path / ".git/objects", machine.commit or "")
    machine.keep(Write(AREA, NEW))
    machine.cut_power(all_lost)
    lost.unlink()
    lost.touch()
    machine.store().recover()
    assert git("rev-parse", "HEAD").strip() == whole
    lost.unlink()  # git itself does not go past an emptied object
    assert git("status", "--porcelain") == f"A  {CIRCLE}\n M {AREA}\n"
    assert (machine.path / AREA).read_bytes() == NEW
    machine.adopt({AREA: NEW})
    assert git("log", "--format=%s").splitlines() == ["keep area", "keep area", "start"]


@pytest.mark.parametrize("choose", [all_lost, nothing_lost])
def test_a_lock_of_somebody_else_stays(machine: Machine, redo: Path, choose: Choose) -> None:
    settled(machine.store())
    machine.keep(Write(AREA, NEW))
    lock = machine.path / ".git/index.lock"
    machine.cut_power(choose)
    lock.touch()
    machine.store().recover()
    assert lock.exists()
    assert (machine.path / AREA).read_bytes() == NEW
    lock.unlink()
    machine.check()


def test_an_index_that_is_lost_and_locked_is_waited_for(machine: Machine, redo: Path) -> None:
    machine.cut_power(all_lost)
    lock = machine.path / ".git/index.lock"
    lock.touch()
    with pytest.raises(StoreBusy):
        machine.store().recover()
    assert lock.exists()
    assert redo.read_bytes()
    lock.unlink()
    machine.check()


def test_a_reflog_tells_of_it_and_goes_on(machine: Machine, git: Git) -> None:
    machine.keep(Write(AREA, NEW))
    log = machine.path / ".git/logs/HEAD"
    machine.cut_power(all_lost)
    put(log, b"0000")  # torn
    machine.store().recover()
    machine.keep(Write(LATER, b"LATER = 1\n"))
    assert [line.split(" ", 2)[2] for line in git("reflog").splitlines()] == [
        "commit: keep area",
        "commit: after a power cut",
    ]


# What is no promise.


def test_what_is_torn_is_none(machine: Machine, redo: Path) -> None:
    whole = redo.read_bytes()
    files = machine.files
    machine.keep(Write(AREA, NEW))
    for size in (len(whole) + 1, len(whole) + 50, redo.stat().st_size - 1):
        assert [each.files for _, each in read(redo.read_bytes()[:size])][1:] == [{RATE: files_of(machine)}]
    machine.cut_power(all_lost)
    os.truncate(redo, redo.stat().st_size - 1)
    machine.files = files
    machine.store().recover()
    assert machine.now == files


def files_of(machine: Machine) -> object:
    """The entry of RATE in HEAD."""
    return next(each.files[RATE] for _, each in read((machine.path / ".git" / REDO).read_bytes()) if RATE in each.files)


def test_what_is_damaged_in_the_middle_costs_itself(machine: Machine, redo: Path, git: Git) -> None:
    start = redo.stat().st_size
    machine.keep(Write(AREA, NEW))
    machine.keep(Write(LATER, b"LATER = 1\n"))
    machine.cut_power(all_lost)
    data = bytearray(redo.read_bytes())
    data[start + 100] ^= 1
    redo.write_bytes(data)
    machine.store().recover()
    assert (machine.path / LATER).read_bytes() == b"LATER = 1\n"
    assert (machine.path / RATE).read_bytes() == b"RATE = 1\n"
    git.check(f"?? {LATER}\n")  # to be adopted
    assert redo.read_bytes() == b""


@pytest.mark.parametrize(
    "line", [b'{"machine": 3}', b'{"machine": [], "objects": 1}', b'{"machine": "", "objects": {}}']
)
def test_what_another_version_may_write_is_passed_over(machine: Machine, redo: Path, line: bytes) -> None:
    before = redo.read_bytes()
    redo.write_bytes(b"%s %d\n" % (line, zlib.crc32(line)) + before)
    machine.keep(Write(LATER, b"LATER = 1\n"))
    machine.cut_power(all_lost)
    machine.store().recover()
    assert machine.now == machine.files


@pytest.mark.parametrize("how", ["link", "writable", "pipe"])
def test_what_no_kernel_wrote_is_none(machine: Machine, redo: Path, how: str, tmp_path: Path) -> None:
    settled(machine.store())
    machine.starts += 1
    other = begun_elsewhere(machine, tmp_path)
    redo.unlink()
    if how == "link":
        redo.symlink_to(other)
    elif how == "writable":
        redo.write_bytes(other.read_bytes())
        redo.chmod(0o622)
    else:
        os.mkfifo(redo)
    before = other.read_bytes()
    machine.store().recover()
    machine.keep(Write(LATER, b"LATER = 1\n"))
    assert CIRCLE not in machine.now
    assert other.read_bytes() == before
    assert stat.S_ISREG(redo.lstat().st_mode)
    machine.cut_power(all_lost)
    machine.check()


def begun_elsewhere(machine: Machine, tmp_path: Path) -> Path:
    """A file with a promise that this layer never made."""
    path = tmp_path / "other.redo"
    path.write_bytes(promise(machine).to_bytes("another"))
    return path


def promise(machine: Machine, **fields: object) -> Redo:
    head = machine.store().head()
    assert head
    said: dict[str, object] = {"branch": "refs/heads/main", "old": head, "new": head, "files": {}, "objects": {}}
    return Redo(**(said | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        {"files": {"../outside.py": None}},
        {"files": {".git/config": None}},
        {"branch": "refs/heads/../../config"},
        {"branch": "HEAD"},
        {"objects": {"../../../outside": b""}},
        {"lines": {Path("/home/ada/.bashrc"): b"true\n"}},
    ],
)
def test_what_reaches_out_of_the_layer_is_none(machine: Machine, fields: dict[str, object]) -> None:
    assert [*read(promise(machine).to_bytes("another"))]
    assert not [*read(promise(machine, **fields).to_bytes("another"))]


def test_only_what_the_last_one_stands_on_is_done_again() -> None:
    def each(old: str, new: str) -> Redo:
        return Redo("refs/heads/main", CommitId(old), CommitId(new), {}, {})

    def ends(*moves: str) -> list[str]:
        return [redo.new for redo in standing(each(*move) for move in moves)]

    assert ends("ab", "bc") == ["b", "c"]
    assert ends("ab", "ac") == ["c"]  # b was taken back
    assert ends("ab", "bc", "cd", "be") == ["b", "e"]
    assert ends("ab", "bc", "ad") == ["d"]
    assert ends("ab", "xc") == ["b", "c"]  # others committed x


# Faults.


@pytest.mark.parametrize("at", [1, 5, 9])
def test_where_nothing_can_be_written_it_stays_to_be_done(machine: Machine, redo: Path, at: int) -> None:
    machine.keep(Write(AREA, NEW))
    machine.cut_power(all_lost)
    disk = FailingDisk(at, errno.EROFS, lasting=True, counted=WRITES | {"cut"}, disk=machine.disk)
    with pytest.raises(StoreFault, match="Read-only file system"):
        machine.store(disk).recover()
    assert redo.read_bytes()
    machine.check()


def test_a_commit_that_could_not_be_taken_out_is_not_in_the_way(machine: Machine) -> None:
    disk = FailingDisk(12, lasting=True, counted=WRITES | {"cut"}, disk=machine.disk)
    files = machine.files
    with pytest.raises(StoreFault):
        machine.keep(Write(CIRCLE, b"class Circle: ...\n"), store=machine.store(disk))
    machine.files = files
    machine.keep(Write(AREA, NEW))
    machine.cut_power(all_lost)
    machine.check()


def test_the_folders_of_what_was_removed_go(machine: Machine) -> None:
    settled(machine.store())
    machine.keep(Remove(RATE))
    machine.cut_power(all_lost)
    assert (machine.path / RATE).exists()
    machine.check()
    assert not (machine.path / RATE).parent.exists()


def test_a_machine_says_another_word_at_each_start() -> None:
    git_redo.machine.cache_clear()
    word = git_redo.machine()
    assert word == git_redo.machine()
    assert word.isprintable()


@pytest.fixture
def git(machine: Machine) -> Git:
    return machine.git
