"""A disk that forgets at a power cut what was not synced, as far as file systems may.

What it is asked for is really done, through `RealDisk`. Beside that it knows of each path which files may be there
after a power cut, and of each file what may be in it. Every path has its own luck, which is more than any one file
system leaves to it: what holds here holds on all.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from perdure.layer.disk import FILE_MODE, RealDisk

T = TypeVar("T")

Choose = Callable[[Sequence[Any]], Any]
"""Which of several may be; as `random.Random.choice`. The first is what was synced, the last what was there."""

_BLOCK = 4096


class PowerCut(BaseException):
    """The machine is off: nothing that is running goes on."""


@dataclass(eq=False)
class _File:
    """One file, whatever its names are: what may be in it. The last is what is there now."""

    contents: list[bytes]
    mode: int = FILE_MODE

    @property
    def now(self) -> bytes:
        return self.contents[-1]

    def write(self, data: bytes) -> None:
        """Without sync: of what is added any part may be there."""
        old = self.now
        cuts = {len(old), len(data) // 2, *range(len(old) // _BLOCK * _BLOCK + _BLOCK, len(data), _BLOCK)}
        grown = [data[:size] for size in sorted(cuts) if len(old) <= size < len(data) and data.startswith(old)]
        self.contents += [*grown, data]

    def sync(self) -> None:
        del self.contents[:-1]


@dataclass(eq=False)
class _Folder:
    """A folder; what is in it is told by the paths."""


_Entry = _File | _Folder | None


def _found(path: Path) -> _Entry:
    if not os.path.lexists(path):
        return None
    mode = path.lstat().st_mode
    if stat.S_ISDIR(mode):
        return _Folder()
    return _File([path.read_bytes() if stat.S_ISREG(mode) else b""], stat.S_IMODE(mode))


def new_file(data: bytes, mode: int) -> _File:
    """A file that is written anew: emptied, or as many blocks as were written, or whole."""
    return _File([b"", *(data[:size] for size in range(_BLOCK, len(data), _BLOCK)), data], mode)


@dataclass
class LossyDisk:
    """The real disk below `root`, until the `at`-th operation (from 1): in the middle of that the power is cut.

    What others write, past this port, is on disk at once.
    """

    root: Path
    at: int = 0
    count: int = 0
    is_off: bool = False
    disk: RealDisk = field(default_factory=RealDisk)
    _entries: dict[Path, list[_Entry]] = field(default_factory=dict)

    # The port.

    def make_folder(self, path: Path, *, synced: bool = False) -> None:
        if path.is_dir():
            return
        self.make_folder(path.parent, synced=synced)
        synced = self._operation(synced)
        self._before(path)
        self.disk.make_folder(path)
        self._entries[path].append(_Folder())
        self._done(synced, path.parent)

    def write(
        self, path: Path, data: bytes, *, mode: int = FILE_MODE, synced: bool = True, begun_in: Path | None = None
    ) -> os.stat_result:
        synced = self._operation(synced)
        self._before(path)
        temporary = (begun_in or path.parent) / f".{os.urandom(8).hex()}.tmp"
        file = new_file(data, mode)
        found = self.disk.write(path, data, mode=mode, synced=False, begun_in=begun_in)
        self._entries[temporary] = [None, file, None]
        self._entries[path].append(file)
        if synced:
            file.sync()
        self._done(synced, path.parent)
        return found

    def append(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        synced = self._operation(synced)
        self._before(path)
        file = self._entries[path][-1]
        self.disk.append(path, data, synced=False)
        is_new = not isinstance(file, _File)
        if isinstance(file, _File):
            file.write(file.now + data)
        else:
            file = new_file(data, FILE_MODE)
            self._entries[path].append(file)
        if synced:
            file.sync()
        self._done(synced, path.parent if is_new else None)

    def cut(self, path: Path, size: int, *, synced: bool = False) -> None:
        synced = self._operation(synced)
        self._before(path)
        self.disk.cut(path, size)
        file = self._entries[path][-1]
        assert isinstance(file, _File)
        file.contents.append(file.now[:size])
        if synced:
            file.sync()
        self._done(synced)

    def link(self, source: Path, target: Path) -> None:
        self._operation(False)
        self._before(source)
        self._before(target)
        self.disk.link(source, target)
        self._entries[target].append(self._entries[source][-1])
        self._done(False)

    def remove(self, path: Path, *, synced: bool = True) -> None:
        synced = self._operation(synced)
        self._before(path)
        self.disk.remove(path, synced=False)
        self._entries[path].append(None)
        self._done(synced, path.parent)

    def sync(self, path: Path) -> None:
        synced = self._operation(True)
        self.disk.sync(path)
        if synced:
            self._before(path)
            if isinstance(file := self._entries[path][-1], _File):
                file.sync()
        self._done(synced, path)

    def remove_folder(self, path: Path) -> None:
        self._operation(False)
        self._before(path)
        self.disk.remove_folder(path)
        self._entries[path].append(None)
        self._done(False)

    def rename(self, source: Path, target: Path) -> None:
        synced = self._operation(True)
        self._before(source)
        self._before(target)
        os.replace(source, target)
        if (file := self._entries[source][-1]) is not self._entries[target][-1]:
            self._entries[target].append(file)
            self._entries[source].append(None)
        self._done(synced, target.parent)

    # The power.

    def cut_power(self, choose: Choose) -> None:
        """Leave of each path what `choose` says, of what may be there; all that is there is on disk then."""
        for path in [*self._entries]:
            self._before(path)
        chosen = {path: choose(entries) for path, entries in self._entries.items()}
        contents = {
            id(file): choose(file.contents)
            for entries in self._entries.values()
            for file in entries
            if isinstance(file, _File)
        }
        # A folder in which others have put something is there, and so are those above it.
        foreign = {above for path in self._foreign() for above in path.parents}
        lost = [path for path, entry in chosen.items() if entry is None and path not in foreign]
        gone = {path for path in chosen if any(above in lost for above in (path, *path.parents))}
        for path in sorted(gone, key=lambda path: len(path.parts), reverse=True):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        names: dict[int, Path] = {}  # one of each file
        for path, entry in sorted(chosen.items()):
            if path in gone:
                continue
            if isinstance(entry, _Folder):
                path.mkdir(mode=0o700, exist_ok=True)
            elif isinstance(entry, _File) and path.parent.is_dir():
                self._leave(path, contents[id(entry)], entry.mode, names.setdefault(id(entry), path))
        self._entries.clear()
        self.is_off = False
        self.at = self.count = 0

    def _leave(self, path: Path, data: bytes, mode: int, other: Path) -> None:
        if other != path:
            path.unlink(missing_ok=True)
            os.link(other, path)
        elif not path.is_file() or path.read_bytes() != data:  # else it is as it was, with its times
            path.unlink(missing_ok=True)
            with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                file.write(data)

    def _operation(self, synced: bool) -> bool:
        """One more; whether it is to be synced. The one in which the power is cut comes to that no more."""
        if self.is_off:
            raise PowerCut
        self.count += 1
        return synced and self.count != self.at

    def _done(self, synced: bool, folder: Path | None = None) -> None:
        if synced and folder is not None:
            for path, entries in self._entries.items():
                if path.parent == folder:
                    del entries[:-1]
        if self.count == self.at:
            self.is_off = True
            raise PowerCut

    def _before(self, path: Path) -> None:
        """Know of `path` what is there, if others have written it or nothing is known of it."""
        there = _found(path)
        known = self._entries.get(path, [None])[-1]
        is_same = type(known) is type(there)
        if isinstance(known, _File) and isinstance(there, _File):
            is_same = known.now == there.now
        if not is_same:
            self._entries[path] = [there]
            for above in path.parents:  # on disk, as what others have put there
                if there is not None and above in self._entries:
                    del self._entries[above][:-1]
        self._entries.setdefault(path, [None])

    def _foreign(self) -> set[Path]:
        """What is there and was not put there through this."""
        return {path for path in self.root.rglob("*") if path not in self._entries}
