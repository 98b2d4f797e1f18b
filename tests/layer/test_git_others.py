"""GitStore in a repository that people and git have been at."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.errors import LayerUnusable, StoreFault
from perdure.layer.git import GitStore
from perdure.layer.git_entries import Stat
from perdure.layer.git_index import index_of
from perdure.layer.store import Dirt, NotRead, Remove, Write

from .git_cli import ADA, AREA, KEEP, RATE, Git, opened, put

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def test_what_is_staged_stays_staged(store: GitStore, git: Git, path: Path) -> None:
    put(path / "new.txt", "new")
    put(path / "__init__.py", "staged")
    put(path / "later.txt", "intent")
    git("add", "new.txt", "__init__.py")
    git("add", "-N", "later.txt")
    put(path / "__init__.py", "edited after it was staged")
    store.commit([Write(RATE, b""), Write(AREA, b"2")], KEEP)
    git.check("MM __init__.py\n A later.txt\nA  new.txt\n")
    assert git("show", "--format=", "--name-only") == f"{AREA}\n{RATE}\n"
    assert store.dirt() == git.dirt()


def test_modes_and_flags_of_others_stay(store: GitStore, git: Git, path: Path) -> None:
    put(path / "run.sh", "#!/bin/sh\n")
    (path / "run.sh").chmod(0o755)
    (path / "link").symlink_to("run.sh")
    git("add", "run.sh", "link")
    git("commit", "-m", "more")
    git("update-index", "--assume-unchanged", "run.sh")
    git("update-index", "--skip-worktree", "__init__.py")
    put(path / "run.sh", "edited")
    put(path / "__init__.py", "edited")
    store.commit([Write(RATE, b"")], KEEP)
    git.check()
    assert not store.dirt()
    assert {line[:1] for line in git("ls-files", "-v").splitlines()} == {"h", "S", "H"}
    assert git("ls-tree", "HEAD", "run.sh", "link").count("100755") == 1


def test_an_executable_definition_stays_so(store: GitStore, git: Git, path: Path) -> None:
    (path / AREA).chmod(0o755)
    git("commit", "-am", "executable")
    store.commit([Write(AREA, b"2")], KEEP)
    git.check()
    assert os.access(path / AREA, os.X_OK)
    (path / AREA).chmod(0o644)
    assert store.dirt() == git.dirt() == Dirt(changed=(AREA,))


def test_a_file_touched_while_it_was_staged_is_not_taken_for_clean(store: GitStore, git: Git, path: Path) -> None:
    """Git's racy case: a file was edited so soon after `git add` that its stat is still what the entry says."""
    note = path / "note.txt"
    put(note, "one")
    git("add", "note.txt")
    git("commit", "-qm", "a note")
    put(note, "two")
    long_ago = (1_000_000_000_000_000_000,) * 2
    os.utime(note, ns=long_ago)
    index = index_of(path)
    index.staged[b"note.txt"] = replace(index.staged[b"note.txt"], stat=Stat.of(note.lstat()))
    index.mtime_ns = 1 << 63  # so that it is written as it is
    put(path / ".git/index", index.to_bytes(path))
    os.utime(path / ".git/index", ns=long_ago)
    for i in range(3):
        assert git("--no-optional-locks", "status", "--porcelain") == " M note.txt\n"
        assert store.dirt() == Dirt(changed=(RelPath("note.txt"),))
        store.commit([Write(RATE, b"%d" % i)], KEEP)


@pytest.mark.parametrize("version", [2, 3, 4])
def test_any_version_of_the_index(store: GitStore, git: Git, path: Path, version: int) -> None:
    for name in ("functions/a/b.py", "functions/a/bcd.py", "values/x.py"):
        put(path / name, name)
    git("add", ".")
    git("commit", "-m", "more")
    git("config", "index.version", str(version))
    git("update-index", f"--index-version={version}")
    if version == 3:
        put(path / "later.txt", "")
        git("add", "-N", "later.txt")
    assert (path / ".git/index").read_bytes()[7] == version
    assert store.dirt() == git.dirt()
    store.commit([Write(RATE, b""), Remove(RelPath("functions/a/b.py"))], KEEP)
    assert store.dirt() == git.dirt()
    git.check(" A later.txt\n" if version == 3 else "")


def test_an_index_with_caches(store: GitStore, git: Git) -> None:
    git("config", "core.untrackedCache", "true")
    git("config", "index.skipHash", "true")
    git("update-index", "--untracked-cache", "--force-write-index")
    store.commit([Write(RATE, b"")], KEEP)
    git.check()


@pytest.mark.parametrize("damage", [b"DIRC", b"", b"DIRC\0\0\0\2\0\0\0\1" + bytes(20), b"x" * 100])
def test_a_damaged_index(store: GitStore, git: Git, path: Path, damage: bytes) -> None:
    put(path / ".git/index", damage)
    with pytest.raises(LayerUnusable, match=re.escape("`rm .git/index && git reset`")):
        store.commit([Write(RATE, b"")], KEEP)
    (path / ".git/index").unlink()
    git("reset")
    store.commit([Write(RATE, b"")], KEEP)
    git.check()


def test_a_split_index_is_refused(store: GitStore, git: Git, path: Path) -> None:
    git("update-index", "--split-index")
    put(path / "new.txt", "")
    git("add", "new.txt")
    with pytest.raises(LayerUnusable, match="extension link"):
        store.commit([Write(RATE, b"")], KEEP)
    assert not (path / RATE).exists()


def test_a_missing_index_is_made_of_head(store: GitStore, git: Git, path: Path) -> None:
    put(path / AREA, "by hand")
    (path / ".git/index").unlink()
    store.commit([Write(RATE, b""), Remove(RelPath("__init__.py"))], KEEP)
    git.check(f" M {AREA}\n")
    assert store.dirt() == git.dirt()
    git("commit", "-qm", "by hand", "--allow-empty")
    assert git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == [".gitignore", AREA, RATE]


def test_after_gc(store: GitStore, git: Git, path: Path) -> None:
    store.commit([Write(RATE, b"1")], KEEP)
    for i in range(3):
        git("gc", "-q", "--prune=now")
        git("pack-refs", "--all")
        assert not (path / ".git/refs/heads/main").exists()
        assert store.head() == git("rev-parse", "HEAD").strip()
        store.commit([Write(RelPath(f"functions/b/b{i}.py"), b""), Write(RATE, b"%d" % i)], KEEP)
        git.check()
    assert len(store.log()) == len(opened(path).log()) == 5
    assert not store.dirt()


def test_another_branch(store: GitStore, git: Git) -> None:
    git("switch", "-q", "-c", "try/this")
    git("pack-refs", "--all")
    store.commit([Write(RATE, b"")], KEEP)
    git.check()
    assert git("log", "--format=%s", "try/this") == "keep area\nstart\n"
    assert git("log", "--format=%s", "main") == "start\n"
    git("switch", "-q", "main")
    assert RATE not in store.files()


def test_a_detached_head(store: GitStore, git: Git, path: Path) -> None:
    git("switch", "-q", "--detach")
    with pytest.raises(LayerUnusable, match=r"detached HEAD.*git switch main"):
        store.commit([Write(RATE, b"")], KEEP)
    git.check()
    assert store.head() == git("rev-parse", "HEAD").strip()
    git("switch", "-q", "main")
    store.commit([Write(RATE, b"")], KEEP)
    git.check()


def conflict(git: Git, how: str) -> None:
    """Leave a merge, rebase, … of two edits of AREA in conflict."""
    git("switch", "-q", "-c", "other")
    put(git.path / AREA, "theirs")
    git("commit", "-qam", "theirs")
    git("switch", "-q", "main")
    put(git.path / AREA, "ours")
    git("commit", "-qam", "ours")
    git(how, "other", ok=False)


@pytest.mark.parametrize("how", ["merge", "cherry-pick", "rebase"])
def test_in_the_middle_of_a_merge(store: GitStore, git: Git, path: Path, how: str) -> None:
    conflict(git, how)
    status = git("status", "--porcelain")
    with pytest.raises(
        LayerUnusable, match=f"in the middle of a git {how}; finish it there with `git {how} --continue`"
    ):
        store.commit([Write(RATE, b"")], KEEP)
    assert git("status", "--porcelain") == status
    assert store.dirt() == git.dirt()
    git(how, "--abort")
    store.commit([Write(RATE, b"")], KEEP)
    git.check()


def test_files_in_conflict_without_a_merge(store: GitStore, git: Git, path: Path) -> None:
    conflict(git, "merge")
    (path / ".git/MERGE_HEAD").unlink()
    with pytest.raises(LayerUnusable, match=r"files in conflict \(functions/a/area.py\); resolve them"):
        store.commit([Write(RATE, b"")], KEEP)
    assert not (path / RATE).exists()
    assert not (path / ".git/index.lock").exists()


def test_commits_by_hand_in_between(store: GitStore, git: Git, path: Path) -> None:
    store.commit([Write(RATE, b"1")], KEEP)
    put(path / AREA, "by hand")
    git("commit", "-qam", "by hand")
    store.commit([Write(RATE, b"2")], KEEP)
    git("revert", "--no-edit", "HEAD~1")
    store.commit([Write(RATE, b"3")], KEEP)
    git.check()
    assert store.files() == {AREA: b"def area(): ...\n", RATE: b"3"}
    assert [entry.author.name for entry in store.log()] == [ADA.name, "Bob", ADA.name, "Bob", ADA.name, ADA.name]


def test_a_missing_object(store: GitStore, git: Git, path: Path) -> None:
    tree = git("rev-parse", "HEAD^{tree}").strip()
    (path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    with pytest.raises(LayerUnusable, match="git fsck"):
        opened(path).commit([Write(RATE, b"")], KEEP)


def test_an_empty_object_is_written_anew(store: GitStore, git: Git, path: Path) -> None:
    name = (
        subprocess.run(["git", "hash-object", "--stdin"], input=b"text", capture_output=True, check=True)
        .stdout.decode()
        .strip()
    )
    put(path / ".git/objects" / name[:2] / name[2:], b"")
    store.commit([Write(RATE, b"text")], KEEP)
    git.check()


def test_a_damaged_ref(store: GitStore, path: Path) -> None:
    put(path / ".git/refs/heads/main", "\0" * 41)
    with pytest.raises(LayerUnusable, match=r"damaged ref, refs/heads/main"):
        store.commit([Write(RATE, b"")], KEEP)


def test_a_repository_of_another_hash(tmp_path: Path) -> None:
    Git(tmp_path)("init", "-q", "--object-format=sha256")
    with pytest.raises(LayerUnusable, match="objectformat sha256"):
        opened(tmp_path).commit([Write(RATE, b"")], KEEP)


def test_nothing_is_written_through_a_link(store: GitStore, path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    put(tmp_path / "elsewhere/secret.py", "")
    (path / "values").symlink_to(tmp_path / "elsewhere")
    (path / "functions/a/link.py").symlink_to(tmp_path / "elsewhere/secret.py")
    with pytest.raises(StoreFault, match=r"symbolic links at .*/values"):
        store.commit([Write(RATE, b"")], KEEP)
    link = RelPath("functions/a/link.py")
    assert store.files() == {AREA: b"def area(): ...\n", link: store.file(link)}
    assert isinstance(store.file(link), NotRead)
    assert isinstance(store.file(RelPath("values/secret.py")), NotRead)
    assert store.file(RelPath("values/none.py")) is None
    store.commit([Write(RelPath("functions/a/link.py"), b"a file now")], KEEP)
    assert (tmp_path / "elsewhere/secret.py").read_bytes() == b""
    assert store.files()[RelPath("functions/a/link.py")] == b"a file now"


def test_dirt_is_what_git_status_lists(store: GitStore, git: Git, path: Path, no_git_configuration: Path) -> None:
    no_git_configuration.write_text(f"[core]\n\texcludesFile = {no_git_configuration.parent}/ignore\n")
    put(no_git_configuration.parent / "ignore", "*.swp\n")
    put(path / ".git/info/exclude", "private/\n")
    put(path / ".gitignore", "__pycache__/\n*.pyc\n/build\n!keep.pyc\ndocs/*\n!docs/a\n")
    put(path / "sub/.gitignore", "*.log\n!b.log\n")
    names = ["a.pyc", "keep.pyc", "functions/__pycache__/x", "functions/n/new.py", "build/x", "sub/build/x", "x.swp"]
    names += ["sub/a.log", "sub/b.log", "private/x", "docs/a/b", "docs/c", "é.txt", "functions/a/tab\tname.py"]
    for name in names:
        put(path / name, name)
    (path / "broken").symlink_to("nowhere")
    Git(path / "sub")("init", "-q", "nested")
    git("add", "-f", "build/x")
    git("rm", "-q", "--cached", "__init__.py")
    (path / AREA).unlink()
    assert store.dirt() == git.dirt()
    assert AREA in store.dirt().changed


def test_dirt_with_a_file_for_a_folder(store: GitStore, git: Git, path: Path) -> None:
    os.rename(path / "functions", path / "moved")
    put(path / "functions", "")
    assert store.dirt() == git.dirt()


@pytest.mark.parametrize("setting", ["true", "input", "false"])
def test_newlines_that_git_converts_are_no_change(
    store: GitStore, path: Path, no_git_configuration: Path, setting: str
) -> None:
    """As in a clone, which has the definitions and not the configuration of the layer it was made from."""
    store.commit([Write(RATE, b"RATE = 1\r\n")], KEEP)
    no_git_configuration.write_text(f"[core]\n\tautocrlf = {setting}\n")
    clone = path.with_name("clone")
    Git(path)("clone", "--quiet", str(path), str(clone))
    git, other = Git(clone), opened(clone)
    assert ((clone / AREA).read_bytes() == b"def area(): ...\r\n") == (setting == "true")
    for file in (AREA, RATE):
        put(clone / file, (clone / file).read_bytes())
    assert other.dirt() == git.dirt() == Dirt()
    put(clone / AREA, b"def area(): ...\r\n")
    assert other.dirt() == git.dirt()
    put(clone / AREA, b"def area(): ...\r\n\r\n")
    put(clone / "__init__.py", b"\r")
    assert other.dirt() == git.dirt() == Dirt(changed=(RelPath("__init__.py"), AREA))
