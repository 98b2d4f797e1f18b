"""Writes that can be taken back. Owns the order of doing and undoing; knows no git and no definitions.

Taking back needs no space on the disk: what is replaced keeps a second name in a spare folder until the whole has
succeeded, and is renamed over what replaced it. (Writing the old bytes anew would fail on the very disk whose being
full made the undo necessary.)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from .disk import FILE_MODE, Disk
from .errors import StoreFault

Undo = Callable[[], None]


class told_as_fault:  # noqa: N801 — read as what it does; a generator takes four times as long, dozens of times a keep
    """Turn an OSError of the block into the room's StoreFault, naming the path that was meant."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, cause: BaseException | None, _: object) -> None:
        if isinstance(cause, OSError):
            raise StoreFault(self._path, cause) from cause


def size_of(path: Path) -> int | None:
    """The size of the file at `path`, None where there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return None


class Journal:
    """What was done to the disk so far, so that all of it can be undone.

    Call `undo` where something failed, else `settle`. Each step is noted before it is taken: one that fails may still
    have happened (a rename whose folder could not be synced), and undoing what did not happen is harmless.
    """

    def __init__(self, disk: Disk, spares: Path, token: str | None = None, *, synced: bool = True) -> None:
        """`spares` is a folder on the file system of everything that is written: for what is on its way.

        `token` is in the name of every spare, so that they can be found after a kill. `synced`: as in `Disk`.
        """
        self.disk = disk
        self.synced = synced
        self.token = token or os.urandom(8).hex()
        self._folder = spares
        self._undos: list[Undo] = []
        self._spares: list[Path] = []
        self._count = 0  # of the spares that were ever made

    def note(self, undo: Undo) -> None:
        """Have `undo` called, before those noted earlier, if all is taken back."""
        self._undos.append(undo)

    def spare(self, path: Path) -> Path | None:
        """Give the file at `path` a second name that lasts until the end; None where there is no file."""
        if not os.path.lexists(path):
            return None
        spare = self._folder / f"perdure-{self.token}-{self._count}.spare"
        self._count += 1
        self._spares.append(spare)
        with told_as_fault(path):
            self.disk.link(path, spare)
        return spare

    def make_folder(self, path: Path) -> None:
        if path.is_dir():
            return
        missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
        for folder in reversed(missing):
            self.note(lambda folder=folder: self._remove_folder(folder))  # type: ignore[misc]
        with told_as_fault(path):
            self.disk.make_folder(path)

    def write(self, path: Path, data: bytes, *, mode: int = FILE_MODE) -> os.stat_result:
        """Replace or make the file, and the folders above it."""
        self.make_folder(path.parent)
        self._displace(path)
        with told_as_fault(path):
            return self.disk.write(path, data, mode=mode, synced=self.synced, begun_in=self._folder)

    def remove(self, path: Path) -> None:
        """Take the file away; a missing one is no fault."""
        self._displace(path)
        with told_as_fault(path):
            self.disk.remove(path, synced=self.synced)

    def append(self, path: Path, data: bytes, *, synced: bool | None = None) -> None:
        """Add to the end of the file; undoing cuts the file to what it was, unless others have added more."""
        self.make_folder(path.parent)
        size = size_of(path)

        def undo() -> None:
            if size is None:
                self.disk.remove(path)
            elif size < path.stat().st_size <= size + len(data):
                self.disk.cut(path, size)

        self.note(undo)
        with told_as_fault(path):
            self.disk.append(path, data, synced=self.synced if synced is None else synced)

    def undo(self, because: BaseException) -> None:
        """Take everything back, last first. What cannot be taken back is told in a note on `because`."""
        for undo in reversed(self._undos):
            try:
                undo()
            except Exception as fault:  # one thing that stays is no reason to leave the others
                because.add_note(f"not taken back: {fault}")
        self._let_go(synced=True)  # nothing tells after a power cut of what was undone

    def settle(self) -> None:
        """Let go of what was kept for undoing."""
        self._let_go(synced=self.synced)

    def _let_go(self, *, synced: bool) -> None:
        for spare in self._spares:
            try:
                self.disk.remove(spare, synced=synced and spare is self._spares[-1])
            except OSError:
                pass  # a second name too many harms nothing, and what it was for is decided
        self._spares.clear()
        self._undos.clear()

    def _displace(self, path: Path) -> None:
        spare = self.spare(path)

        def undo() -> None:
            if spare is None:
                self.disk.remove(path)
            elif os.path.lexists(spare):
                self._put_back(spare, path)

        self.note(undo)

    def _put_back(self, spare: Path, path: Path) -> None:
        try:
            # Where nothing happened yet both are names of one file; then rename does nothing, by POSIX.
            self.disk.rename(spare, path)
        except OSError:
            self._spares.remove(spare)  # the only copy there is: it stays, and the fault names it
            raise

    def _remove_folder(self, folder: Path) -> None:
        try:
            self.disk.remove_folder(folder)
        except OSError:
            pass  # never made, or somebody has put something there since
