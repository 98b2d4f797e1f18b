"""A machine with a layer: kernels keep to it, its power is cut, and what they acknowledged is looked for."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perdure.layer import git as git_module
from perdure.layer import git_commit, git_recovery, git_redo
from perdure.layer.definition import RelPath
from perdure.layer.disk import Disk
from perdure.layer.git import GitStore
from perdure.layer.git_locks import REDO, TURN
from perdure.layer.store import Change, CommitId, Message, Write

from .git_cli import ADA, FILES, KEEP, RATE, Git, put, settled
from .lossy_disk import Choose, LossyDisk


class Machine:
    """A machine with a layer, whose power can be cut, and what kernels on it have acknowledged."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        # No lock is waited for, since none of a dead kernel may be; what is synced is known to `LossyDisk`.
        for module in (git_commit, git_module, git_recovery):
            monkeypatch.setattr(module, "WAIT", 0.0)
        monkeypatch.setattr(os, "fsync", lambda _: None)
        self.path = root / "layer"
        self.events = root / "events.jsonl"
        root.mkdir(parents=True)
        self.disk = LossyDisk(root)
        self.git = Git(self.path)
        self.starts = 1
        self.commit: CommitId | None = None  # the last one that was acknowledged
        self.files: dict[RelPath, bytes] = {}  # as they are by that
        self.begun: dict[RelPath, bytes] | None = None  # as they are by one that was begun
        self.edited: Mapping[RelPath, bytes | None] = {}  # by a hand, last
        self.told: list[bytes] = []  # lines that were acknowledged
        monkeypatch.setattr(git_redo, "machine", lambda: f"start {self.starts}")
        monkeypatch.setattr(git_recovery, "machine", lambda: f"start {self.starts}")
        real = shutil.rmtree

        def rmtree(path: Path, **named: Any) -> None:
            if not self.disk.is_off:
                real(path, **named)

        monkeypatch.setattr(shutil, "rmtree", rmtree)  # past the disk, by what clears up

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
        promised = []

        def promise(commit: CommitId) -> Mapping[Path, bytes]:
            promised.append(commit)
            return {self.events: line}

        commit = (store or self.store()).commit(changes, KEEP, promise)
        self._acknowledged(commit)
        if commit is not None:
            self.disk.append(self.events, line, synced=commit not in promised)
            self.told.append(line)

    def adopt(self, files: Mapping[RelPath, bytes | None]) -> None:
        """A hand changes files, and a kernel commits them."""
        self.by_hand(files)
        self.begun = {path: data for path, data in {**self.files, **files}.items() if data is not None}
        self.edited = files
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
            if store.dirt():  # a hand has done it, and no commit has it yet
                assert store.adopt(self.edited, KEEP)
                settled(store)
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


def begun(root: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose layer holds area and RATE, of which nothing is settled."""
    machine = Machine(root, monkeypatch)
    machine.create()
    machine.keep(Write(RATE, b"RATE = 1\n"))
    return machine


def luck(seed: int) -> Choose:
    """All is as it was synced, all as it was, or each thing has its own luck."""
    return (lambda these: these[0], lambda these: these[-1], random.Random(seed).choice)[min(seed % 5, 2)]
