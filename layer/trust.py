"""Whose folder it is, and which folders were accepted (DESIGN §4 "Trust").

Code runs at boot, so both are asked before a file of a layer is read as code. Owns the two questions; what follows
from the answers is decided in `opening`.
"""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from . import jsonlines
from .disk import Disk

_RECORD = "trusted.jsonl"


@dataclass(frozen=True, slots=True)
class NotOwned:
    """Why a folder is not this user's alone: `why` is a clause that follows its path, `advice` what to do."""

    why: str
    advice: str


def why_not_owned(path: Path) -> NotOwned | None:
    """Why another user could change what the layer at `path` runs; None where none could.

    The folder and its `.git` must be this user's and not writable by group or others, as ssh asks of its keys. Links
    are followed.

    Raises:
        OSError: the folder cannot be looked at.
    """
    for part in (path, path / ".git"):
        try:
            mode = part.stat().st_mode
        except FileNotFoundError:
            continue
        if foreign := why_foreign(part):
            return NotOwned(_of_part(path, part, foreign.why), foreign.advice)
        if mode & (stat.S_IWGRP | stat.S_IWOTH):
            # Recursive: what a loose umask did to the folder it did to everything in it.
            advice = f"run `chmod -R go-w {shlex.quote(str(path))}`"
            return NotOwned(_of_part(path, part, "can be written by other users"), advice)
    return None


def why_foreign(path: Path) -> NotOwned | None:
    """Why the file or folder at `path` is another user's; None where it is this one's.

    Raises:
        OSError: it cannot be looked at.
    """
    if path.stat().st_uid == os.getuid():
        return None
    return NotOwned("is owned by another user", f"copy it, or run `chown -R $(id -u) {shlex.quote(str(path))}`")


def _of_part(path: Path, part: Path, why: str) -> str:
    return why if part == path else f"has a {part.name} that {why}"


class TrustRecord:
    """The folders that perdure made here or that the user accepted, by resolved path: a moved one is a new one."""

    def __init__(self, state: Path, disk: Disk) -> None:
        self._file = state / _RECORD
        self._disk = disk

    def accepts(self, path: Path) -> bool:
        """Whether the folder at `path` was accepted.

        Raises:
            StoreFault: the record is there and cannot be read.
        """
        wanted = os.path.realpath(path)
        return any(line.get("path") == wanted for line in jsonlines.lines(self._file))

    def accept(self, path: Path) -> None:
        """Remember the folder at `path`, on disk when this returns.

        Raises:
            StoreFault: it could not be written.
        """
        if not self.accepts(path):
            jsonlines.add_line(self._file, {"path": os.path.realpath(path)}, self._disk)
