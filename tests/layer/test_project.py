"""Where a project layer is found, and how the repository around it is told to ignore it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from perdure.layer.disk import RealDisk
from perdure.layer.errors import StoreFault
from perdure.layer.project import exclude, find_project


def git(folder: Path, *words: str | Path) -> str:
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout


def repository(path: Path) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q")
    return path


def layer_in(folder: Path) -> Path:
    """A repository called `.perdure` with something in it, as git would list it."""
    path = repository(folder / ".perdure")
    (path / "file").touch()
    return path


def listed(top: Path) -> str:
    return git(top, "status", "--porcelain", "--untracked-files=all")


def test_the_nearest_one_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b" / "c"
    inner.mkdir(parents=True)
    assert find_project(inner) is None
    (tmp_path / ".perdure").mkdir()
    assert find_project(inner) == tmp_path / ".perdure"
    (tmp_path / "a" / "b" / ".perdure").mkdir()
    assert find_project(inner) == tmp_path / "a" / "b" / ".perdure"


@pytest.mark.parametrize("kind", ["a file", "a link that leads nowhere"])
def test_whatever_it_is_it_is_found(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".perdure"
    if kind == "a file":
        path.touch()
    else:
        path.symlink_to("nowhere")
    assert find_project(tmp_path) == path


@pytest.mark.parametrize("below", ["", "notebooks/deep", "odd [1] *?/a\\b"])
def test_the_repository_around_it_ignores_it_and_is_left_alone(
    tmp_path: Path, no_git_configuration: Path, below: str
) -> None:
    top = repository(tmp_path / "top")
    file = top / ".git" / "info" / "exclude"
    file.write_bytes(b"*.log")  # with no newline at its end
    before = {path: path.read_bytes() for path in (top / ".git").rglob("*") if path.is_file() and path != file}
    layer = layer_in(top / below)
    assert listed(top) != ""
    assert exclude(layer, RealDisk()) == file
    assert listed(top) == ""
    assert file.read_bytes().startswith(b"*.log\n/")
    assert exclude(layer, RealDisk()) is None  # it is there already
    after = {path: path.read_bytes() for path in (top / ".git").rglob("*") if path.is_file() and path != file}
    assert {path.name for path in after.keys() - before.keys()} <= {"index"}  # of `git status`
    assert all(after[path] == data for path, data in before.items())
    (top / "other").mkdir()
    (top / "other" / ".perdure").touch()
    assert listed(top) == "?? other/.perdure\n"


def test_in_a_worktree(tmp_path: Path, no_git_configuration: Path) -> None:
    top = repository(tmp_path / "top")
    git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one")
    git(top, "worktree", "add", "-q", tmp_path / "other")
    layer = layer_in(tmp_path / "other" / "sub")
    assert exclude(layer, RealDisk()) == top / ".git" / "worktrees" / "other" / ".." / ".." / "info" / "exclude"
    assert listed(tmp_path / "other") == ""


def test_without_the_folder_for_it(tmp_path: Path, no_git_configuration: Path) -> None:
    top = repository(tmp_path / "top")
    for file in (top / ".git" / "info").iterdir():
        file.unlink()
    (top / ".git" / "info").rmdir()
    exclude(layer_in(top), RealDisk())
    assert listed(top) == ""


def test_a_name_that_no_line_can_hold(tmp_path: Path, no_git_configuration: Path) -> None:
    top = repository(tmp_path / "top")
    exclude(layer_in(top / "two\nlines"), RealDisk())
    assert listed(top) == ""


def test_without_a_repository_nothing_is_done(tmp_path: Path) -> None:
    assert exclude(tmp_path / ".perdure", RealDisk()) is None


def test_a_disk_that_refuses_is_told(tmp_path: Path, no_git_configuration: Path) -> None:
    top = repository(tmp_path / "top")
    file = top / ".git" / "info" / "exclude"
    file.unlink()
    file.mkdir()
    with pytest.raises(StoreFault, match="info/exclude"):
        exclude(layer_in(top), RealDisk())
