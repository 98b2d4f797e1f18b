"""The port to the disk that every write of the layer goes through, so that a test can make any one of them fail.

Writes are whole or not at all: a temporary file beside the target, fsync, rename. What gives a file another name or
takes one away (`link`, `rename`, `remove`) needs no space: with these a full disk can still be put back in order.
"""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Protocol

FILE_MODE = 0o600
FOLDER_MODE = 0o700

_TEMPORARY = r"\.[0-9a-f]{16}\.tmp"
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK)


class Disk(Protocol):
    """What the layer asks of a file system. Every method raises OSError as the system gives it.

    What is not to be `synced` is done as far as other processes see; a power cut may undo it, or leave a file empty.
    """

    def make_folder(self, path: Path, *, synced: bool = False) -> None:
        """Make the folder and those above it, 0700 each; one that is there already is left as it is."""
        ...

    def write(
        self, path: Path, data: bytes, *, mode: int = FILE_MODE, synced: bool = True, begun_in: Path | None = None
    ) -> os.stat_result:
        """Replace or make the file in one step, on disk when this returns if it is to be; gives the new file's stat.

        It is written in the folder `begun_in` and then moved: on ext4 a new file takes ten times as long in a folder
        that seldom gets one as in one that often does.
        """
        ...

    def append(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        """Add to the end of the file, made 0600 if missing; on disk when this returns, if it is to be."""
        ...

    def cut(self, path: Path, size: int, *, synced: bool = False) -> None:
        """Take from the file what stands after its first `size` bytes."""
        ...

    def link(self, source: Path, target: Path) -> None:
        """Give the file a second name, FileExistsError where one is there; a copy where there are no hard links.

        It is how a lock is taken: nobody sees the name without what is in the file.
        """
        ...

    def remove(self, path: Path, *, synced: bool = True) -> None:
        """Take the file away, a missing one is no fault; for good when this returns, if it is to be."""
        ...

    def sync(self, path: Path) -> None:
        """Have on disk what is in the file, or which files are in the folder; one that cannot be opened is left out."""
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


def sync(path: str | Path) -> None:
    """Put a file, or a folder's entries, on disk: a rename survives a power cut only after its folder was."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class RealDisk:
    """The file system itself."""

    def make_folder(self, path: Path, *, synced: bool = False) -> None:
        # Path.mkdir(parents=True) would give the mode to the last folder only.
        if os.path.isdir(path):
            return
        self.make_folder(path.parent, synced=synced)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
        if synced:
            self.sync(path.parent)

    def write(
        self, path: Path, data: bytes, *, mode: int = FILE_MODE, synced: bool = True, begun_in: Path | None = None
    ) -> os.stat_result:
        target = os.fspath(path)
        folder = os.path.dirname(target)
        temporary = os.path.join(begun_in or folder, f".{os.urandom(8).hex()}.tmp")  # see is_temporary
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            try:
                _write_all(fd, data)
                if synced:
                    os.fsync(fd)
            finally:
                os.close(fd)
            os.replace(temporary, target)
        except OSError as fault:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            if fault.errno != errno.EXDEV:
                raise
            return self.write(path, data, mode=mode, synced=synced)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
        if synced:
            sync(folder)
        return os.stat(target)

    def append(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        new = synced and not os.path.exists(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
        try:
            _write_all(fd, data)
            if synced:
                os.fsync(fd)
        finally:
            os.close(fd)
        if new:
            sync(path.parent)

    def cut(self, path: Path, size: int, *, synced: bool = False) -> None:
        os.truncate(path, size)
        if synced:
            sync(path)

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

    def remove(self, path: Path, *, synced: bool = True) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            return
        if synced:
            sync(path.parent)

    def sync(self, path: Path) -> None:
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            sync(path)

    def remove_folder(self, path: Path) -> None:
        path.rmdir()

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)
        sync(target.parent)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
