"""Git's history as perdure reads it is what `git log` tells, whatever people and git did to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.git import GitStore
from perdure.layer.store import Changed, CommitId, Remove, Write

from .git_cli import AREA, KEEP, RATE, Git, opened, put

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def told(git: Git, *words: str) -> list[str]:
    return git("log", "--format=%H", *words).split()


def test_a_merge_is_of_a_path_only_where_it_made_something_new(store: GitStore, git: Git, path: Path) -> None:
    git("switch", "-qc", "side")
    store.commit([Write(RATE, b"side")], KEEP)
    git("switch", "-q", "main")
    store.commit([Write(AREA, b"main")], KEEP)
    git("merge", "-q", "--no-edit", "side")
    merge = store.log(1)[0]
    assert len(merge.parents) == 2
    for paths in ([AREA], [RATE], [AREA, RATE]):
        found = [entry.id for entry in store.log(paths=paths)]
        assert (merge.id in found) == (len(paths) == 2)  # together they are as in neither of the two
        assert sorted(found) == sorted(told(git, "--", *paths))  # of one second, each has its own order
    assert store.changed(merge.id) == {RATE: Changed(None, b"side")}
    assert store.find("HEAD~1").id == told(git, "--first-parent")[1]


def test_after_git_packed_it(store: GitStore, git: Git, path: Path) -> None:
    for number in range(5):
        store.commit([Write(AREA, b"%d" % number), Write(RATE, b"%d" % number)], KEEP)
    store.commit([Remove(RATE)], KEEP)
    before = store.log()
    git("gc", "-q", "--prune=now")
    again = opened(path)
    assert again.log() == before
    assert [entry.id for entry in again.log(paths=[RATE])] == told(git, "--", RATE)
    assert again.show(before[2].id, RATE) == b"3"
    assert again.find(before[3].id[:9]) == before[3]


def test_a_commit_of_another_branch_is_read_but_not_found(store: GitStore, git: Git) -> None:
    git("switch", "-qc", "side")
    store.commit([Write(RATE, b"side")], KEEP)
    side = CommitId(git("rev-parse", "HEAD").strip())
    git("switch", "-q", "main")
    assert store.show(side, RATE) == b"side"
    with pytest.raises(LookupError, match="is no commit of this layer"):
        store.find(side)


def test_a_file_where_a_folder_was(store: GitStore, git: Git, path: Path) -> None:
    inner = RelPath("other/x/y.txt")
    put(path / inner, "inner")
    git("add", "-A")
    git("commit", "-qm", "folder")
    git("rm", "-q", inner)
    put(path / "other", "file")
    git("add", "-A")
    git("commit", "-qm", "file")
    head = store.head()
    assert head is not None
    assert store.changed(head) == {RelPath("other"): Changed(None, b"file"), inner: Changed(b"inner", None)}
    assert [entry.id for entry in store.log(paths=[inner])] == told(git, "--", inner)


def test_what_is_no_file_of_this_repository_is_passed_over(store: GitStore, git: Git) -> None:
    head = git("rev-parse", "HEAD").strip()
    git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},module")
    git("commit", "-qm", "a submodule")
    commit = CommitId(git("rev-parse", "HEAD").strip())
    assert store.changed(commit) == {}
    assert store.show(commit, RelPath("module")) is None
    assert store.log(1)[0].parents == (head,)
