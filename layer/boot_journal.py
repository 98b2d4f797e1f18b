"""What is known of the files of one folder from earlier boots, and the mark of the one that is loading now.

Lies in the user's cache, a folder for each folder that is loaded. `known.jsonl` tells which files were loaded to their
end and which were the end of a process; a `*.boot` file is there while a boot goes on, and says after a process that
died at which file. That must outlive the process and not the machine, so nothing is synced. A file is known by path and
content: one that is changed is another.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import mmap
import os
import zlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import NewType

from .definition import RelPath
from .disk import FILE_MODE, RealDisk
from .errors import StoreFault
from .jsonlines import lines
from .slots import state
from .store import Stamp

Mark = NewType("Mark", str)
"""A file by its path and content: enough to tell a text from the one before, and made in no time."""

LOADED = Mark("loaded")
"""What a process leaves that loaded all files and died before anybody had heard of it."""

_OVER = Mark("over")
"""What is left of a boot that ended as it should, where the disk let nobody take its file away."""

TOGETHER = Mark("together")
"""What a process leaves that died while many files ran as one; which of them did it shows when each runs by itself."""

_SLOT = 4096  # bytes: of a longer mark the beginning, which has the checksum
_SUFFIX = ".boot"
_TOO_LONG = 4  # lines of facts for each file there is, before the record is written anew


def mark_of(path: RelPath, data: bytes) -> Mark:
    """The mark of the file at `path` with the content `data`."""
    return Mark(f"{zlib.crc32(data)} {len(data)} {path}")


def folder_in(cache: Path, root: Path) -> Path:
    """Where in the user's cache lies what boots of the folder `root` leave."""
    return cache / "boot" / hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:32]


@state
class Known:
    """What earlier boots say of files."""

    proven: set[str] = field(default_factory=set)  # marks of what was loaded to its end
    died: dict[str, str] = field(default_factory=dict)  # mark → of how the process ended, a clause
    slow: set[str] = field(default_factory=set)  # marks of what was stopped, and not loaded to its end since
    accused: set[str] = field(default_factory=set)  # marks of what was loading when a process died, perhaps by chance
    untried: frozenset[str] = frozenset()  # marks of what was to be tried elsewhere first, and there was no time

    def learn(self, fact: Mapping[str, object]) -> None:
        """Take in one line; what is not understood is passed over."""
        match fact:
            case {"proven": [*marks]}:
                self.proven.update(map(str, marks))
                self.slow.difference_update(map(str, marks))
                self.accused.difference_update(map(str, marks))
                for mark in self.died.keys() & marks:
                    del self.died[mark]
            case {"slow": [*marks]}:
                self.slow.update(map(str, marks))
            case {"accused": [*marks]}:
                self.accused.update(map(str, marks))
            case {"untried": [*marks]}:
                self.untried = frozenset(map(str, marks))
            case {"died": str(mark), "why": str(why)}:
                self.died[mark] = why
                self.proven.discard(mark)

    def facts(self, there: Iterable[str]) -> list[dict[str, object]]:
        """The lines that say the same of the marks `there`, and nothing of others."""
        marks = {*there}
        facts: list[dict[str, object]] = [
            {name: sorted(getattr(self, name) & marks)} for name in ("proven", "slow", "accused", "untried")
        ]
        return facts + [{"died": mark, "why": why} for mark, why in sorted(self.died.items()) if mark in marks]


class BootJournal:
    """The journal of one boot of one folder. Where the cache cannot be written, it knows nothing and says nothing."""

    def __init__(self, cache: Path, root: Path) -> None:
        self._folder = folder_in(cache, root)
        self._file: Path | None = None
        self._map: mmap.mmap | None = None
        self._descriptor = -1
        self._lines = 0

    @cached_property
    def known(self) -> Known:
        """What is known of the files, as it stood when that was asked first."""
        known = Known()
        try:
            for fact in lines(self._record):
                known.learn(fact)
                self._lines += 1
        except StoreFault:
            pass
        return known

    @property
    def _record(self) -> Path:
        return self._folder / "known.jsonl"

    def stamp(self) -> Stamp | None:
        """What tells the record of what is known from any that was there before; None where there is none."""
        try:
            found = os.stat(self._record)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def proves(self, marks: Collection[str]) -> Stamp | None:
        """The stamp of the record if it says that all of these were loaded to their end, and nothing of other kinds."""
        stamp, known = self.stamp(), self.known
        says_more = known.died or known.slow or known.accused or known.untried
        return None if says_more or not known.proven.issuperset(marks) or stamp != self.stamp() else stamp

    def begin(self) -> list[str]:
        """Note that a boot goes on; where the boots that did not end were, which is told once.

        Each is a mark as far as `is_cut_of` tells, or empty where that boot had not come to a file.
        """
        deaths: list[str] = []
        try:
            RealDisk().make_folder(self._folder)
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))
            deaths = [death for name in names if (death := _death(self._folder / name)) is not None]
        except OSError:
            pass
        self.open()
        return deaths

    def open(self) -> None:
        """Note that something is loaded from now on, without a look at what others left."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._open()
        except OSError:
            self.end()

    def enters(self, mark: Mark) -> None:
        """The file of this mark is about to run; what ran before is over then."""
        if self._map is not None:
            data = _cut(mark) + b"\n"
            self._map[: len(data)] = data

    def rests(self) -> None:
        """All is loaded; whether the kernel comes to life is still to be seen, and `end` is for then."""
        self.enters(LOADED)

    def end(self) -> None:
        """The boot is over."""
        self.enters(_OVER)
        if self._file is not None:
            with suppress(OSError):  # a definition made away with the folder, or the disk refuses
                self._file.unlink(missing_ok=True)
        if self._descriptor >= 0:
            with suppress(OSError):  # a definition closed it
                os.close(self._descriptor)
        self._file, self._map, self._descriptor = None, None, -1

    def note(self, *facts: Mapping[str, object], there: Iterable[str] = ()) -> None:
        """Learn the facts, and write them down for later boots; `there` are the marks of all files."""
        if not facts:
            return
        for fact in facts:
            self.known.learn(fact)
        path, marks = self._record, [*there]
        try:
            if marks and self._lines > _TOO_LONG + len(marks) // _TOO_LONG:
                temporary = path.with_name(f"{os.urandom(8).hex()}.tmp")
                with open(temporary, "xb", opener=_private) as file:
                    file.write(_text(self.known.facts(marks)))
                temporary.replace(path)
            else:
                with open(path, "ab", opener=_private) as file:  # in one write, so that lines of two kernels do not mix
                    file.write(b"\n" + _text(facts))
        except OSError:
            pass

    def _open(self) -> None:
        name = os.urandom(8).hex()
        self._file = self._folder / f"{name}.tmp"
        self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_EXCL, FILE_MODE)
        # A lock of this process alone, which its children have no part in.
        fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(self._descriptor, b"\n" * _SLOT)  # written before it is mapped: a page the disk has no room for kills
        # Another kernel sees it locked or not at all.
        self._file = self._file.rename(self._folder / f"{name}{_SUFFIX}")
        self._map = mmap.mmap(self._descriptor, _SLOT)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def is_cut_of(written: str, mark: Mark) -> bool:
    """Whether `written`, which a boot left that did not end, is the mark."""
    return bool(written) and written == _cut(mark).partition(b"\n")[0].decode("utf-8", "replace")


def _cut(mark: Mark) -> bytes:
    return mark.encode("utf-8", "surrogatepass")[: _SLOT - 1]


def _death(file: Path) -> str | None:
    """What a boot left that did not end, taken away; None where it goes on, or did end."""
    with file.open("r+b") as opened:
        try:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        written = opened.read(_SLOT).partition(b"\n")[0].decode("utf-8", "replace")
        file.unlink(missing_ok=True)
    return written if written != _OVER else None


def _text(facts: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(json.dumps(fact).encode("ascii") + b"\n" for fact in facts)
