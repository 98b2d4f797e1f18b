"""The locks of a git folder. Owns how they are waited for, held and let go; knows nothing of what they guard.

There are two kinds. `turn` is perdure's own, a flock, which the system lets go when its process dies: kernels take
turns by it. `LockFile` is git's: a file `NAME.lock` made exclusively beside NAME. A lock file that somebody else made
is waited for and never removed. Ours outlive us where we are killed; so each is the file of perdure's own lock by
another name, and whoever has the next turn knows it by what is in it (`git_recovery`).
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .disk import Disk
from .errors import NoLocks, StoreBusy
from .journal import Journal, told_as_fault

TURN = "perdure.lock"
"""The file in the git folder by which kernels take turns. Empty but for the note of a commit that is under way."""

REDO = "perdure.redo"
"""The file in the git folder that has what is not synced in its place yet (`git_redo`). Who writes it has the turn."""

WAIT = 5.0
"""Seconds that a lock is waited for; git's own commands hold theirs for milliseconds."""

# NFS without a lock daemon, and whatever has no locks at all.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)

PAUSE = 0.005  # seconds between two looks at a lock: about as long as git holds one


@contextmanager
def turn(path: Path, disk: Disk, seconds: float) -> Iterator[None]:
    """Hold the flock on `path`, in the git folder, during the block; StoreBusy where others keep it for `seconds`.

    Raises:
        NoLocks: the storage has none.
    """
    with told_as_fault(path):
        if not os.path.exists(path):
            disk.append(path, b"")
        # A descriptor of its own each time, so that two threads of one process exclude each other too.
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        _wait(lambda: _flocked(fd, path), path, seconds)
        yield
    finally:
        os.close(fd)


class LockFile:
    """Git's lock on one file of the git folder `git`, held from `take` to `publish` or `release`.

    Its holder has the turn.
    """

    def __init__(self, target: Path, git: Path, disk: Disk, seconds: float) -> None:
        """`seconds`: how long it is waited for where another has it."""
        self.target = target
        self._turn = git / TURN
        self.path = target.with_name(target.name + ".lock")
        self._disk = disk
        self.seconds = seconds
        self._inode: int | None = None  # of our lock while it is held: by now that name may be another's
        self._published: int | None = None  # inode of what was published here

    def take(self, journal: Journal) -> None:
        """Make the lock; StoreBusy where another has it for `seconds`. Undoing the journal lets go of it."""
        journal.note(self.release)
        self._take()

    def publish(self, data: bytes, journal: Journal) -> None:
        """Make `data` the content of the target, and let go of the lock. Undoing puts the old content back."""
        spare = journal.spare(self.target)
        journal.note(lambda: self._put_back(spare))
        with told_as_fault(self.target):
            try:
                # Git writes into its lock and renames that; a lock that is always the same file is known after a kill.
                self._disk.write(self.target, data, synced=journal.synced, begun_in=self._turn.parent)
            finally:
                self._published = inode_of(self.target)
            self.release(synced=journal.synced)

    def still_stands(self) -> bool:
        """Whether the target is the file that was published here."""
        return self._published is not None and inode_of(self.target) == self._published

    def release(self, *, synced: bool = True) -> None:
        """Let go of the lock if it is still held."""
        if self._holds():
            self._disk.remove(self.path, synced=synced)
        self._inode = None

    def _holds(self) -> bool:
        return self._inode is not None and inode_of(self.path) == self._inode

    def _take(self) -> None:
        _wait(self._linked, self.path, self.seconds)

    def _linked(self) -> bool:
        with told_as_fault(self.path):
            try:
                self._disk.link(self._turn, self.path)  # as exclusive as O_EXCL, and takes no space
            except FileExistsError:
                return False
            self._inode = inode_of(self.path)
            return True

    def _put_back(self, spare: Path | None) -> None:
        if not self.still_stands():
            return  # it was never published, or somebody has written something else since: theirs stays
        if not self._holds():
            self._take()  # publishing let go of it
        if spare is None:
            self._disk.remove(self.target)
        else:
            self._disk.rename(spare, self.target)
        self.release()


def _flocked(fd: int, path: Path) -> bool:
    with told_as_fault(path):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as cause:
            if cause.errno in _NO_LOCKS:
                raise NoLocks(path.parent.parent, cause) from cause
            raise
        return True


def _wait(attempt: Callable[[], bool], path: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not attempt():
        if time.monotonic() > end:
            raise StoreBusy(path, seconds)
        time.sleep(PAUSE)


def inode_of(path: Path) -> int | None:
    """The inode of the file at `path`, None where there is none."""
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
