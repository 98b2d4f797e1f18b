"""Whose folder it is, and which folders were accepted (DESIGN §4 "Trust").

Code runs at boot, so both are asked before a file of a layer is read as code. Owns the two questions; what follows
from the answers is decided in `opening`.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from . import jsonlines
from .disk import Disk
from .slots import fact

_RECORD = "trusted.jsonl"
_FOREIGN = "is owned by another user"


@fact
class NotOwned:
    """Why a folder is not this user's alone: `why` is a clause that follows its path, `advice` what to do."""

    why: str
    advice: str


def why_not_owned(path: Path, parts: Iterable[str] | None = None) -> NotOwned | None:
    """Why another user could change what the layer at `path` runs; None where none could.

    The folder and its `.git` must be this user's and not writable by group or others, as ssh asks of its keys. Links
    are followed. So must all that is in them be, where the folder lets others in; what lies in one that does not, none
    of them can reach. With `parts` only what is in these folders of it counts: a cells folder may lie in a project that
    has much beside it.

    Raises:
        OSError: the folder cannot be looked at.
    """
    for part in (path, path / ".git"):
        try:
            found = part.stat()
        except FileNotFoundError:
            continue
        if flaw := _flaw(path, part, found):
            return flaw
    if parts is None:
        return _flaw_below(path, path)
    if not _lets_others_in(path):
        return None
    folders = (path / part for part in parts)
    there = (folder for folder in folders if folder.is_dir() and not folder.is_symlink())
    return next((flaw for each in there if (flaw := _flaw(path, each, each.stat()) or _flaw_below(path, each))), None)


def _lets_others_in(folder: Path) -> bool:
    return bool(folder.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH))


def _flaw_below(path: Path, folder: Path) -> NotOwned | None:
    """What is wrong in `folder`, if others can get into it; folders that they cannot enter are not looked into."""
    if not _lets_others_in(folder):
        return None
    # Git's objects are files by the ten thousand, and git itself makes them read-only: their folders tell enough.
    objects = folder.is_relative_to(path / ".git" / "objects")
    with os.scandir(folder) as entries:
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.is_symlink() or (objects and not is_folder):
                continue
            part = folder / entry.name
            try:
                flaw = _flaw(path, part, entry.stat(follow_symlinks=False))
                flaw = flaw or (_flaw_below(path, part) if is_folder else None)
            except FileNotFoundError:
                continue  # another kernel at work
            if flaw:
                return flaw
    return None


def _flaw(path: Path, part: Path, found: os.stat_result) -> NotOwned | None:
    """What is wrong with `part` of the layer at `path`, which was found to be so."""
    if found.st_uid != os.getuid():
        return NotOwned(_of_part(path, part, _FOREIGN), _claim(part))
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
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
    return NotOwned(_FOREIGN, _claim(path))


def _claim(path: Path) -> str:
    return f"copy it, or run `chown -R $(id -u) {shlex.quote(str(path))}`"


def _of_part(path: Path, part: Path, why: str) -> str:
    return why if part == path else f"has a {part.relative_to(path)} that {why}"


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
            jsonlines.add_lines(self._file, [{"path": os.path.realpath(path)}], self._disk)
