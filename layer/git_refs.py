"""HEAD, the branch it names, and their reflogs. Standard library only, so that a boot can look at HEAD for a few
microseconds; knows nothing of objects and of the index.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from .disk import Disk
from .errors import LayerUnusable
from .git_locks import LockFile
from .journal import Journal
from .slots import fact
from .store import CommitId

_ALWAYS = 2  # files that are watched whichever branch it is
_ENOUGH = 4096  # bytes
_LENGTHS = (40, 64)  # hex digits of SHA-1 and SHA-256
_HEX = frozenset("0123456789abcdef")
NOTHING = "0" * 40
"""What git writes in a reflog where there was no commit yet."""


@fact
class Head:
    """What HEAD says: the branch (None where HEAD is detached) and the last commit (None before the first)."""

    branch: str | None
    commit: CommitId | None


class Refs:
    """The refs of the git folder `git`."""

    def __init__(self, git: Path, disk: Disk, seconds: float) -> None:
        self._git = git
        self._disk = disk
        self._seconds = seconds
        self._head = os.fspath(git / "HEAD")
        self._watched = [os.fspath(git / name) for name in ("HEAD", "packed-refs")]

    def head(self) -> Head:
        """Read HEAD and, through it, the branch."""
        text = _read(self._head).strip()
        if text.startswith("ref: "):
            branch = text.removeprefix("ref: ")
            self._watched[_ALWAYS:] = [f"{self._git}/{branch}"]
            return Head(branch, self.read(branch))
        return Head(None, self._id(text, "HEAD"))

    def mark(self) -> tuple[tuple[int, int, int] | None, ...]:
        """A value that is another one whenever `head` may be, told from the files that it reads without reading them.

        Refs are replaced by renaming, so each move gives the file another inode or another time.
        """
        if len(self._watched) == _ALWAYS:
            with suppress(OSError, ValueError, LayerUnusable):
                self.head()  # which branch is watched, too, is told by HEAD
        return tuple(map(_stamp, self._watched))

    def read(self, ref: str) -> CommitId | None:
        """The commit that `ref` names; None where there is no such ref."""
        # The loose file is newer than packed-refs where both have the ref. `git pack-refs` writes the one before it
        # removes the other, so looking in this order never misses.
        try:
            return self._id(_read(f"{self._git}/{ref}").strip(), ref)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            pass
        try:
            packed = _read(f"{self._git}/packed-refs")
        except FileNotFoundError:
            return None
        for line in packed.splitlines():
            if line.endswith(f" {ref}"):
                return self._id(line.split(" ", 1)[0], ref)
        return None

    def move(self, old: Head, new: CommitId, log_entry: str, journal: Journal) -> bool:
        """Have the branch of `old` name `new` if it still names what it did; False, and nothing done, if not.

        `log_entry` is what a reflog line says after the two ids: who, when, and the reason.
        """
        assert old.branch is not None
        lock = LockFile(self._git / old.branch, self._git, self._disk, self._seconds)
        journal.make_folder(lock.path.parent)
        lock.take(journal)
        if self.head() != old:
            lock.release()
            return False
        line = f"{old.commit or NOTHING} {new} {log_entry}\n".encode()
        # The reflogs come first, as git has it: a line about a move that did not happen misleads less than a move
        # that no reflog tells of, which `git reflog` could not undo. Git does not sync them either.
        journal.append(self._git / "logs" / "HEAD", line, synced=False)
        journal.append(self._git / "logs" / old.branch, line, synced=False)
        lock.publish(f"{new}\n".encode(), journal)
        return True

    def _id(self, text: str, ref: str) -> CommitId:
        if len(text) not in _LENGTHS or not _HEX.issuperset(text):
            raise LayerUnusable(
                self._git, f"has a damaged ref, {ref}", "`git fsck` and `git reflog` there help mend it"
            )
        return CommitId(text)


def _read(path: str) -> str:
    # A ref is read several times in each commit: as `Path.read_text`, in a third of the time.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, _ENOUGH)
        while len(data) % _ENOUGH == 0 and (more := os.read(fd, _ENOUGH)):
            data += more
    finally:
        os.close(fd)
    return os.fsdecode(data)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
