"""Packing: `git gc` on a layer with many loose objects, by a process of its own that nobody waits for.

Each commit leaves four objects, a file each; after some thousand of them every look at the repository is slow and the
disk pays for each. Git packs them, if it is installed: what is loose stays readable. Owns when, and how it is started.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from .aside import leave

LIMIT = 6_700
"""Loose objects from which on they are packed: git's own `gc.auto`."""

PACKS = 50
"""Packs from which on they are made one: git's own `gc.autoPackLimit`."""

_SAMPLE = "17"  # one of the 256 folders, which are filled evenly; git looks at this one too
_NAME = 38  # hex digits
_NICE = "19"
# Git's own lock has one `git gc` at a time in a repository, whoever starts it.
_PROGRAM = (
    "import os, sys; os.fork() and os._exit(0); os.umask(0o077); os.nice(int(sys.argv[1])); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)
_TOLD = "perdure.no-git"
_ELSEWHERE = tuple(
    f"GIT_{name}"
    for name in "DIR WORK_TREE INDEX_FILE OBJECT_DIRECTORY ALTERNATE_OBJECT_DIRECTORIES COMMON_DIR NAMESPACE".split()
)


def is_due(layer: Path, limit: int = LIMIT) -> bool:
    """Whether the repository at `layer` has about `limit` loose objects or more, or many packs; some microseconds."""
    objects = layer / ".git" / "objects"
    loose = sum(len(name) == _NAME for name in _names(objects / _SAMPLE))
    return loose > limit // 256 or sum(name.endswith(".pack") for name in _names(objects / "pack")) > PACKS


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def pack(layer: Path) -> bool:
    """Have git pack the repository at `layer`, in the background and at low priority; False where there is no git."""
    git = shutil.which("git")
    if git is None:
        return False
    words = [git, f"--git-dir={layer / '.git'}", f"--work-tree={layer}", "gc", "--quiet"]
    environ = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    leave([sys.executable, "-I", "-S", "-c", _PROGRAM, _NICE, *words], environ=environ, folder=layer)
    return True


def tells_of_no_git(layer: Path) -> bool:
    """Whether nobody was told yet that this layer is not packed for want of git; from now on somebody was."""
    told = layer / ".git" / _TOLD
    try:
        os.close(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:
        return False  # told, or not to be remembered: better once too little than at every start
    return True
