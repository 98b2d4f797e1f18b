"""The locks of a git folder. Owns how they are waited for, held and let go; knows nothing of what they guard.

There are two kinds. `turn` is perdure's own, a flock, which the system lets go when its process dies: kernels take
turns by it. `LockFile` is git's: a file `NAME.lock` made exclusively beside NAME, which becomes NAME when it is
renamed over it. A lock file that somebody else made is waited for and never removed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .disk import Disk
from .errors import StoreBusy
from .journal import Journal, told_as_fault

PAUSE = 0.005  # seconds between two looks at a lock: about as long as git holds one


@contextmanager
def turn(path: Path, disk: Disk, seconds: float) -> Iterator[None]:
    """Hold the flock on `path` during the block; StoreBusy where others keep it for `seconds`."""
    with told_as_fault(path):
        if not path.exists():
            disk.append(path, b"")
        # A descriptor of its own each time, so that two threads of one process exclude each other too.
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        _wait(lambda: _flocked(fd, path), path, seconds)
        yield
    finally:
        os.close(fd)


class LockFile:
    """Git's lock on one file, held from `take` to `publish` or `release`."""

    def __init__(self, target: Path, disk: Disk, seconds: float) -> None:
        self.target = target
        self.path = target.with_name(target.name + ".lock")
        self._disk = disk
        self._seconds = seconds
        self._inode: int | None = None  # of the file that is, or was, our lock: that name may be another's by now

    def take(self, journal: Journal) -> None:
        """Make the lock; StoreBusy where another has it for `seconds`. Undoing the journal lets go of it."""
        journal.note(self.release)
        _wait(self._created, self.path, self._seconds)

    def publish(self, data: bytes, journal: Journal) -> None:
        """Make `data` the content of the target, which lets go of the lock. Undoing puts the old content back."""
        spare = journal.spare(self.target)
        journal.note(lambda: self._put_back(spare))
        with told_as_fault(self.target):
            try:
                self._disk.write(self.path, data)  # replaces our own lock in one step: it is never let go
            finally:
                self._inode = _inode(self.path)
            self._disk.rename(self.path, self.target)

    def still_stands(self) -> bool:
        """Whether the target is the file that was published here."""
        return self._inode is not None and _inode(self.target) == self._inode

    def release(self) -> None:
        """Let go of the lock if it is still held."""
        if self._inode is not None and _inode(self.path) == self._inode:
            self._disk.remove(self.path)
        self._inode = None

    def _created(self) -> bool:
        with told_as_fault(self.path):
            try:
                self._inode = self._disk.create(self.path).st_ino
            except FileExistsError:
                return False
            return True

    def _put_back(self, spare: Path | None) -> None:
        if not self.still_stands():
            return  # it was never published, or somebody has written something else since: theirs stays
        # Publishing let go of the lock, so it has to be taken again. A link is as exclusive as O_EXCL, and takes no
        # space.
        if spare is None:
            _wait(self._created, self.path, self._seconds)
            self._disk.remove(self.target)
            self._disk.remove(self.path)
        else:
            _wait(lambda: self._linked(spare), self.path, self._seconds)
            self._disk.rename(self.path, self.target)

    def _linked(self, spare: Path) -> bool:
        try:
            self._disk.link(spare, self.path)
        except FileExistsError:
            return False
        self._inode = _inode(self.path)
        return True


def _flocked(fd: int, path: Path) -> bool:
    with told_as_fault(path):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _wait(attempt: Callable[[], bool], path: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not attempt():
        if time.monotonic() > end:
            raise StoreBusy(path, seconds)
        time.sleep(PAUSE)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None
