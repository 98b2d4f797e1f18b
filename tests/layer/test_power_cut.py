"""The power is cut at any moment; what was kept until then is there, and the layer can be kept to at once."""

from __future__ import annotations

import errno
import os
import random
import shutil
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from perdure.layer import git as git_module
from perdure.layer import git_commit, git_recovery, git_redo
from perdure.layer.definition import RelPath
from perdure.layer.disk import Disk
from perdure.layer.errors import LayerError, StoreFault
from perdure.layer.git import GitStore
from perdure.layer.git_locks import REDO, TURN
from perdure.layer.store import Change, CommitId, Message, Remove, Write

from .failing_disk import TAKES_SPACE, FailingDisk
from .git_cli import ADA, AREA, FILES, KEEP, RATE, Git, put, settled
from .lossy_disk import Choose, LossyDisk, PowerCut

CIRCLE = RelPath("classes/c/Circle.py")
MOVED = RelPath("values/a/area.py")
LATER = RelPath("values/l/LATER.py")
LONG = b"def area(r):\n" + b"    print(r)\n" * 900 + b"    return r\n"

pytestmark = pytest.mark.usefixtures("no_git_configuration")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lock is waited for, since none of a dead kernel may be; what is synced is known to `LossyDisk`."""
    for module in (git_commit, git_module, git_recovery):
        monkeypatch.setattr(module, "WAIT", 0.0)
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Machine:
    """A machine with a layer, whose power can be cut, and what kernels on it have acknowledged."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = root / "layer"
        self.events = root / "events.jsonl"
        root.mkdir(parents=True)
        self.disk = LossyDisk(root)
        self.git = Git(self.path)
        self.starts = 1
        self.commit: CommitId | None = None  # the last one that was acknowledged
        self.files: dict[RelPath, bytes] = {}  # as they are by that
        self.begun: dict[RelPath, bytes] | None = None  # as they are by one that was begun
        self.told: list[bytes] = []  # lines that were acknowledged
        monkeypatch.setattr(git_redo, "machine", lambda: f"start {self.starts}")
        monkeypatch.setattr(git_recovery, "machine", lambda: f"start {self.starts}")
        real = shutil.rmtree

        def rmtree(path: Path, **named: Any) -> None:
            if not self.disk.is_off:
                real(path, **named)

        monkeypatch.setattr(git_module.shutil, "rmtree", rmtree)

    def store(self, disk: Disk | None = None) -> GitStore:
        return GitStore.open(self.path, author=ADA, disk=disk or self.disk)

    def create(self) -> GitStore:
        self.disk.make_folder(self.path, synced=True)
        self.begun = dict(FILES)
        store = GitStore.create(self.path, FILES, Message("start"), author=ADA, disk=self.disk)
        self._acknowledged(store.head())
        return store

    def keep(self, *changes: Change, store: GitStore | None = None) -> None:
        """Commit `changes`, which are acknowledged then."""
        self.begun = self.files.copy()
        for change in changes:
            if isinstance(change, Write):
                self.begun[change.path] = change.data
            else:
                self.begun.pop(change.path, None)
        line = f'{{"number": {len(self.told)}, "start": {self.starts}}}\n'.encode()
        commit = (store or self.store()).commit(changes, KEEP, lambda _: {self.events: line})
        self._acknowledged(commit)
        if commit is not None:
            self.disk.append(self.events, line, synced=False)
            self.told.append(line)

    def adopt(self, files: Mapping[RelPath, bytes | None]) -> None:
        """A hand changes files, and a kernel commits them."""
        self.by_hand(files)
        self.begun = {path: data for path, data in {**self.files, **files}.items() if data is not None}
        self._acknowledged(self.store().adopt(files, KEEP))

    def by_hand(self, files: Mapping[RelPath, bytes | None]) -> None:
        for path, data in files.items():
            if data is None:
                (self.path / path).unlink(missing_ok=True)
            else:
                put(self.path / path, data)

    def commit_by_git(self, path: RelPath, data: bytes) -> None:
        put(self.path / path, data)
        self.git("add", path)
        self.git("commit", "-qm", "by hand")
        self.begun = {**self.files, path: data}
        self._acknowledged(CommitId(self.git("rev-parse", "HEAD").strip()))

    def _acknowledged(self, commit: CommitId | None) -> None:
        if commit is not None and self.begun is not None:
            self.commit, self.files = commit, self.begun
        self.begun = None

    def cut_power(self, choose: Choose) -> None:
        self.disk.cut_power(choose)
        self.starts += 1

    def check(self) -> None:
        """After a power cut all that was acknowledged is there, and nothing of anything that was not, or all of it."""
        store = self.store()
        store.recover()
        assert store.heal()
        found = self.now
        assert found in (self.files, self.begun)
        if found == self.begun:
            self.commit, self.files = store.head(), found
        self.begun = None
        assert self.commit in [entry.id for entry in store.log()]
        self.git.check()
        assert (self.path / ".git" / REDO).read_bytes() == (self.path / ".git" / TURN).read_bytes() == b""
        for file in self.path.rglob("*"):
            assert not file.name.endswith((".lock", ".tmp", ".spare")) or file.name == TURN, f"left behind: {file}"
        told = self.events.read_bytes().splitlines(keepends=True) if self.events.exists() else []
        assert set(self.told) <= {*told}

    @property
    def now(self) -> dict[RelPath, bytes]:
        """The working files."""
        files = (file for file in self.path.rglob("*") if ".git" not in file.parts and file.is_file())
        return {RelPath(file.relative_to(self.path).as_posix()): file.read_bytes() for file in files}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose layer holds area and RATE, of which nothing is settled."""
    return begun(tmp_path / "machine", monkeypatch)


def begun(root: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine(root, monkeypatch)
    machine.create()
    machine.keep(Write(RATE, b"RATE = 1\n"))
    return machine


def luck(seed: int) -> Choose:
    """All is as it was synced, all as it was, or each thing has its own luck."""
    return (lambda these: these[0], lambda these: these[-1], random.Random(seed).choice)[min(seed % 5, 2)]


def everywhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[Machine], None],
    before: Callable[[Machine], None],
    step: int = 1,
) -> int:
    """Cut the power in each operation of `work`, or every `step`th, after `before`; which was the last."""
    for at in range(1, 1000, step):
        machine = begun(tmp_path / f"at{at}", monkeypatch)
        before(machine)
        machine.disk.at, machine.disk.count = at, 0
        try:
            work(machine)
        except PowerCut:
            machine.cut_power(luck(at))
            machine.check()
            machine.keep(Write(LATER, b"LATER = 1\n"))
            assert settled(machine.store()).dirt().changed == ()
            shutil.rmtree(machine.disk.root)
        else:
            return at
    raise AssertionError("it never ends")


def commit(machine: Machine) -> None:
    machine.keep(Write(AREA, LONG), Write(CIRCLE, b"class Circle: ...\n"), Remove(RATE))


def test_in_the_middle_of_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert everywhere(tmp_path, monkeypatch, commit, lambda _: None) > 30


def test_in_the_middle_of_a_commit_on_what_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert everywhere(tmp_path, monkeypatch, commit, settle, step=3) > 30


def settle(machine: Machine) -> None:
    settled(machine.store())


def test_in_the_middle_of_settling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert everywhere(tmp_path, monkeypatch, settle, commit, step=3) > 15


def adopt(machine: Machine) -> None:
    machine.adopt({AREA: b"def area(hand): ...\n", CIRCLE: b"class Circle: ...\n", RATE: None})


def test_what_a_hand_did_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand = {AREA: b"def area(hand): ...\n", CIRCLE: b"class Circle: ...\n"}
    for at in range(1, 1000, 2):
        machine = begun(tmp_path / f"at{at}", monkeypatch)
        machine.disk.at, machine.disk.count = at, 0
        try:
            adopt(machine)
        except PowerCut:
            machine.cut_power(luck(at))
            machine.store().recover()
            there = machine.now
            assert {path: there.get(path) for path in hand} == hand
            machine.adopt(hand | {RATE: None})
            machine.git.check()
            shutil.rmtree(machine.disk.root)
        else:
            assert at > 30
            break


def test_in_the_middle_of_doing_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(machine: Machine) -> None:
        commit(machine)
        machine.keep(Write(AREA, b"def area(r): ...\n"), Remove(CIRCLE))
        machine.cut_power(random.Random(1).choice)

    assert everywhere(tmp_path, monkeypatch, lambda machine: machine.store().recover(), cut, step=2) > 15


def test_in_the_middle_of_taking_back_what_a_killed_kernel_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(LossyDisk):
        """Kills its kernel when files and index are written and the ref is locked."""

        def link(self, source: Path, target: Path) -> None:
            super().link(source, target)
            if target.name == "main.lock":
                self.is_off = True
                raise PowerCut

    def kill(machine: Machine) -> None:
        machine.disk.__class__ = Killed
        with pytest.raises(PowerCut):
            commit(machine)
        machine.disk.__class__ = LossyDisk
        machine.disk.is_off = False  # it was only the kernel

    assert everywhere(tmp_path, monkeypatch, lambda machine: machine.store().recover(), kill, step=2) > 15


def test_in_the_middle_of_the_first_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(1, 1000, 3):
        machine = Machine(tmp_path / f"at{at}", monkeypatch)
        machine.disk.at = at
        try:
            machine.create()
        except PowerCut:
            machine.cut_power(luck(at))
            machine.create()
            machine.cut_power(luck(at + 1))
            machine.check()
            shutil.rmtree(machine.disk.root)
        else:
            assert at > 40
            break


def test_whatever_comes_after_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(16):
        live(Machine(tmp_path / f"{seed}" / "machine", monkeypatch), random.Random(seed))


def live(machine: Machine, chance: random.Random) -> None:
    """Some commits, rests, kills and power cuts, as `chance` has it."""
    machine.create()
    paths = [AREA, CIRCLE, MOVED, RATE, RelPath("functions/a/again.py")]

    def text() -> bytes:
        return chance.choice([b"", b"    x\n" * 2000]) + b"# %d\n" % chance.randrange(4)

    def keep() -> None:
        some = chance.sample(paths, chance.randint(1, 3))
        machine.keep(*(Write(path, text()) if chance.random() < 0.7 else Remove(path) for path in some))

    def forget_all() -> None:
        machine.keep(*map(Remove, sorted(machine.files.keys() & {*paths})))

    def hand() -> None:
        machine.adopt({path: chance.choice([text(), None]) for path in chance.sample(paths, 2)})

    def by_git() -> None:
        machine.commit_by_git(chance.choice(paths), b"# by hand %d\n" % chance.randrange(10**9))

    def fail() -> None:
        disk = FailingDisk(chance.randint(1, 25), when=chance.choice(["before", "after", "half"]), disk=machine.disk)
        try:
            machine.keep(Write(chance.choice(paths), b"# fails\n"), store=machine.store(disk))
        except LayerError as fault:
            # What could not be taken back may be done by a power cut.
            machine.begun = machine.begun if getattr(fault, "__notes__", None) else None

    def rest() -> None:
        store = machine.store()
        for _ in range(chance.randint(1, 5)):
            store.settle()

    acts = [keep, keep, keep, forget_all, hand, by_git, fail, rest]
    for _ in range(3):
        machine.disk.at = chance.randint(1, 150)
        try:
            for _ in range(6):
                chance.choice(acts)()
        except PowerCut:
            if machine.now not in (machine.files, machine.begun) and chance.random() < 0.5:
                machine.disk.is_off = False  # it was the kernel that was killed, and the next one is there before
                machine.disk.at = 0
                machine.store().recover()
        machine.cut_power(luck(chance.randrange(100)))
        machine.check()
