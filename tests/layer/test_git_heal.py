"""Git's index, where others wrote it at the same time, or held it for long."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.layer import git_commit
from perdure.layer.definition import RelPath
from perdure.layer.git import GitStore
from perdure.layer.store import Remove, Write

from .git_cli import AREA, KEEP, RATE, Git, opened, put

NEW = RelPath("values/n/NEW.py")

pytestmark = pytest.mark.usefixtures("no_git_configuration")


@pytest.fixture
def stale(store: GitStore, path: Path, git: Git) -> Path:
    """A layer whose index somebody wrote as it was before two commits of ours, with something of their own staged."""
    store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    old = (path / ".git/index").read_bytes()
    store.commit([Write(NEW, b"NEW = 1\n"), Write(AREA, b"def area(): return 2\n")], KEEP)
    store.commit([Remove(RATE)], KEEP)
    put(path / ".git/index", old)
    put(path / "mine.txt", "mine")
    git("add", "mine.txt")
    assert git.dirt().changed == (AREA, "mine.txt", NEW, RATE)
    return path


def by_a_commit(store: GitStore) -> None:
    store.commit([Write(RelPath("values/o/OTHER.py"), b"OTHER = 1\n")], KEEP)


def by_itself(store: GitStore) -> None:
    assert store.heal()


@pytest.mark.parametrize("heals", [by_a_commit, by_itself])
def test_what_fell_out_of_the_index_is_put_back(stale: Path, git: Git, heals: Callable[[GitStore], None]) -> None:
    store = opened(stale)
    heals(store)
    git.check("A  mine.txt\n")
    assert store.dirt() == git.dirt()


def test_what_a_person_staged_is_left_alone(store: GitStore, path: Path, git: Git) -> None:
    store.commit([Write(RATE, b"RATE = 1\n"), Write(NEW, b"NEW = 1\n")], KEEP)
    store.commit([Write(RATE, b"RATE = 2\n")], KEEP)
    put(path / AREA, "staged, and taken back in the file")
    git("add", AREA)
    put(path / AREA, "def area(): ...\n")
    git("rm", "-q", "--cached", NEW)
    put(path / NEW, "edited since")
    put(path / RATE, "RATE = 1\n")
    git("add", RATE)
    before = git("status", "--porcelain")
    for heals in (by_itself, by_a_commit):
        heals(opened(path))
        assert git("status", "--porcelain") == before


def test_a_merge_under_way_is_left_alone(stale: Path, git: Git) -> None:
    put(stale / ".git/MERGE_HEAD", git("rev-parse", "HEAD"))
    before = git("ls-files", "--stage")
    assert opened(stale).heal()
    assert git("ls-files", "--stage") == before


def test_an_index_that_is_held_for_long_is_written_later(
    store: GitStore, path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_commit, "WAIT", 0.2)
    lock = path / ".git/index.lock"
    put(lock, "somebody's")
    index = (path / ".git/index").read_bytes()
    assert store.commit([Write(RATE, b"RATE = 1\n"), Remove(AREA)], KEEP)
    assert store.is_behind
    assert ((path / ".git/index").read_bytes(), lock.read_text()) == (index, "somebody's")
    assert git("show", "HEAD:" + RATE) == "RATE = 1\n"
    # It is not waited for again.
    monkeypatch.setattr(git_commit, "WAIT", 1_000.0)
    assert store.commit([Write(NEW, b"NEW = 1\n")], KEEP)
    assert not store.heal()
    lock.unlink()
    assert store.heal()
    git.check()
    assert [entry.subject for entry in store.log()] == ["keep area", "keep area", "start"]


@pytest.mark.parametrize("saves", [True, False])
def test_an_editor_open_in_git_commit(
    store: GitStore, path: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saves: bool
) -> None:
    """Its index is of before our commit. It cannot become HEAD, and it does not stay the index."""
    monkeypatch.setattr(git_commit, "WAIT", 0.2)
    go, there = tmp_path / "go", tmp_path / "there"
    os.mkfifo(go)
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\ntouch {there}\ncat {go} > /dev/null\n{"echo by hand" if saves else ":"} > "$1"\n')
    editor.chmod(0o755)
    put(path / AREA, "def area(): return 'by hand'\n")
    who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org", "-c", f"core.editor={editor}"]
    commit = subprocess.Popen(
        ["git", *who, "commit", "-a"], cwd=path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while not there.exists():
        assert commit.poll() is None
        time.sleep(0.01)
    assert (path / ".git/index.lock").exists()
    assert store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    go.write_text("")
    assert commit.wait(60) != 0
    assert store.heal()
    git.check(f" M {AREA}\n")
    assert git("log", "--format=%s") == "keep area\nstart\n"
    git("commit", "-qam", "by hand")
    git.check()
    assert git("ls-tree", "-r", "--name-only", "HEAD").split()[-2:] == [AREA, RATE]


def test_a_commit_of_another_kernel_heals_too(
    store: GitStore, path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_commit, "WAIT", 0.05)
    put(path / ".git/index.lock", "somebody's")
    store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    (path / ".git/index.lock").unlink()
    by_a_commit(opened(path))
    git.check()
