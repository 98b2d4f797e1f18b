"""The port to the disk that every write of the layer goes through, so that a test can make any one of them fail.

Writes are whole or not at all: a temporary file beside the target, fsync, rename. What gives a file another name or
takes one away (`link`, `rename`, `remove`) needs no space: with these a full disk can still be put back in order.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Protocol

FILE_MODE = 0o600
FOLDER_MODE = 0o700

_TEMPORARY = r"\.[0-9a-f]{16}\.tmp"
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)


class Disk(Protocol):
    """What the layer asks of a file system. Every method raises OSError as the system gives it."""

    def make_folder(self, path: Path) -> None:
        """Make the folder and those above it, 0700 each; one that is there already is left as it is."""
        ...

    def write(self, path: Path, data: bytes, *, mode: int = FILE_MODE, listed: bool = True) -> os.stat_result:
        """Replace or make the file in one step, on disk when this returns; gives the new file's stat.

        Unless it is to be `listed`: then it may be the old one again after a power cut, until its folder is synced.
        """
        ...

    def append(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        """Add to the end of the file, made 0600 if missing; on disk when this returns, if it is to be `synced`."""
        ...

    def cut(self, path: Path, size: int) -> None:
        """Take from the file what stands after its first `size` bytes."""
        ...

    def link(self, source: Path, target: Path) -> None:
        """Give the file a second name, FileExistsError where one is there; a copy where there are no hard links.

        It is how a lock is taken: nobody sees the name without what is in the file.
        """
        ...

    def remove(self, path: Path, *, listed: bool = True) -> None:
        """Take the file away, a missing one is no fault; for good when this returns, or as with `write`."""
        ...

    def sync(self, folder: Path) -> None:
        """Have on disk which files are in the folder."""
        ...

    def remove_folder(self, path: Path) -> None:
        """Take the empty folder away; OSError where something is in it."""
        ...

    def rename(self, source: Path, target: Path) -> None:
        """Move the file over `target` in one step, on disk when this returns."""
        ...


def is_temporary(name: str) -> bool:
    """Whether a file of this name is what a write that was killed leaves."""
    return name.endswith(".tmp") and re.fullmatch(_TEMPORARY, name) is not None


def sync_folder(path: Path) -> None:
    """Put the folder's entries on disk: a rename survives a power cut only after this."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class RealDisk:
    """The file system itself."""

    def make_folder(self, path: Path) -> None:
        # Path.mkdir(parents=True) would give the mode to the last folder only.
        if not path.parent.is_dir():
            self.make_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)

    def write(self, path: Path, data: bytes, *, mode: int = FILE_MODE, listed: bool = True) -> os.stat_result:
        temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")  # see is_temporary
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            try:
                _write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if listed:
            sync_folder(path.parent)
        return path.stat()

    def append(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        new = not path.exists()
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
        try:
            _write_all(fd, data)
            if synced:
                os.fsync(fd)
        finally:
            os.close(fd)
        if new and synced:
            sync_folder(path.parent)

    def cut(self, path: Path, size: int) -> None:
        os.truncate(path, size)

    def link(self, source: Path, target: Path) -> None:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as fault:
            if fault.errno not in _NO_HARD_LINKS:
                raise
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE))
            try:
                self.write(target, source.read_bytes(), mode=source.stat().st_mode & 0o777)
            except BaseException:
                target.unlink(missing_ok=True)
                raise

    def remove(self, path: Path, *, listed: bool = True) -> None:
        try:
            path.unlink()
        except FileNotFoundError:
            return
        if listed:
            sync_folder(path.parent)

    def sync(self, folder: Path) -> None:
        sync_folder(folder)

    def remove_folder(self, path: Path) -> None:
        path.rmdir()

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)
        sync_folder(target.parent)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
