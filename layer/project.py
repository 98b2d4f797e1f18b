"""Where a project layer is found, and how it stays out of the repository that it lies in.

A project layer is a folder `.perdure` in the working folder or above it, with a git repository of its own. Whether it
may be loaded is asked by `opening`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from .disk import Disk
from .git_head import git_folder, shared_folder
from .journal import told_as_fault

FOLDER = ".perdure"

_MEANING = r"[\\*?\[]"  # what git's ignore patterns have a meaning for, but at the ends of a line


def find_project(cwd: Path) -> Path | None:
    """The nearest `.perdure` in `cwd` or above it, whatever it is; None where there is none.

    Every folder above counts, as git has it for its own search: a layer of the home folder serves all below it.
    """
    return next((found for above in (cwd, *cwd.parents) if os.path.lexists(found := above / FOLDER)), None)


def exclude(layer: Path, disk: Disk) -> Path | None:
    """Have the repository around the folder `layer` ignore it, by its `info/exclude`; that file if it was written to.

    Nothing else of that repository is touched. In a worktree the file is the one that all of its worktrees share.

    Raises:
        StoreFault: the disk refused.
    """
    with told_as_fault(layer):
        found = next(((top, git) for top in layer.parents if (git := git_folder(top)) is not None), None)
        if found is None:
            return None
        top, git = found
        file = (shared_folder(git) or git) / "info" / "exclude"
    with told_as_fault(file):
        try:
            there = file.read_bytes()
        except FileNotFoundError:
            there = b""
        pattern = os.fsencode(_pattern(layer.relative_to(top)))
        if pattern in there.splitlines():
            return None
        disk.make_folder(file.parent)
        disk.append(file, (b"" if there.endswith(b"\n") or not there else b"\n") + pattern + b"\n")
    return file


def _pattern(path: Path) -> str:
    """The line by which git ignores the folder `path` of a repository."""
    if any(mark in str(path) for mark in "\n\r"):
        return f"{FOLDER}/"  # no line of such a file could name it
    return f"/{re.sub(_MEANING, lambda mark: chr(92) + mark[0], path.as_posix())}/"
