"""What a boot leaves for the next one: a file in the user's cache, one for each folder that is loaded and each Python.

Owns its form and whether it may be believed. It holds code that the next start runs, so it has to be this user's alone,
as the layer itself. In three parts, so that a start reads no more than it needs: what tells whether anything changed,
the code, and the facts of the files with their bytes.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import stat
import struct
import sys
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Self

from .boot_journal import folder_in
from .definition import RelPath
from .disk import Disk
from .finding import Answers
from .recipe import Recipe
from .slots import fact
from .store import Stamp

if TYPE_CHECKING:
    from .boot_files import Known

FORMAT = 3
"""To be raised whenever what is written, or what a boot decides, changes."""

YOUNG = 2_000_000_000
"""Nanoseconds: a file that changed so shortly before its stamp was taken may change again and have the same stamp."""

_HEAD = struct.Struct("<16sQQQLLL")
_MAGIC = b"perdure bundle\0\0"


def edition() -> tuple[object, ...]:
    """What reads and runs a bundle: another Python, or another perdure, has another one."""
    from perdure import __version__

    tag = sys.implementation.cache_tag
    return (FORMAT, __version__, tag, importlib.util.MAGIC_NUMBER, sys.flags.optimize)


def bundle_file(cache: Path, root: Path) -> Path:
    """Where the bundle of the folder `root` lies."""
    return folder_in(cache, root) / f"{sys.implementation.cache_tag}.bundle"


@fact
class Plan:
    """What a start asks of a bundle first. Files are told by their numbers in `paths`."""

    edition: tuple[object, ...]
    root: str
    name: str  # of this bundle and no other
    before: tuple[str, ...]  # the names of the bundles of the folders that were loaded before
    defers: bool
    paths: tuple[RelPath, ...]  # sorted
    stamps: tuple[Stamp, ...]
    young: tuple[int, ...]  # files whose stamps may not tell the next change: their bytes do
    marks: tuple[str, ...]
    loaded: tuple[int, ...]  # in load order
    foreign: Mapping[int, frozenset[str]]
    waiting: Mapping[int, tuple[str, ...]]
    hidden: frozenset[str]
    ambient: frozenset[str]
    cheap: Mapping[tuple[str, str | None], bool]
    there: Mapping[str, bool]
    is_whole: bool  # whether a boot left nothing out; else it is good for a boot in part alone
    names: frozenset[str]  # all that the files give, bind or wait for: what names none of them touches nothing of it

    def to_plain(self) -> tuple[Any, ...]:
        """As values that `marshal` writes."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def recipe(self) -> Recipe:
        """How the boot that it was made after went."""
        paths = self.paths
        return Recipe(
            tuple(paths[number] for number in self.loaded),
            {paths[number]: names for number, names in self.foreign.items()},
            {paths[number]: packages for number, packages in self.waiting.items()},
            self.hidden,
            self.ambient,
            self.answers,
            self.is_whole,
        )

    @property
    def answers(self) -> Answers:
        """What that boot was told of packages."""
        return Answers(self.cheap, self.there)


class Bundle:
    """A bundle as it was read. Its parts are made of the bytes when they are asked for."""

    def __init__(self, plan: Plan, codes: bytes, facts: bytes) -> None:
        self.plan = plan
        self._codes = codes
        self._facts = facts
        self._read_facts: Sequence[tuple[bytes, tuple[Any, ...]]] | None = None

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """What lies at `file`; None where that is nothing, or damaged, or of another edition.

        Nor is anything taken that another user may have written.
        """
        try:
            with open(file, "rb", buffering=0, opener=_without_waiting) as opened:
                found = os.fstat(opened.fileno())
                if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode) or found.st_mode & 0o022:
                    return None
                data = memoryview(opened.read())
            magic, *rest = _HEAD.unpack_from(data)
            sizes, sums = rest[:3], rest[3:]
            if magic != _MAGIC or _HEAD.size + sum(sizes) != len(data):
                return None
            parts, at = [], _HEAD.size
            for size, wanted in zip(sizes, sums, strict=True):
                part = data[at : at + size]
                if zlib.adler32(part) != wanted:
                    return None
                parts.append(part)
                at += size
            plain = marshal.loads(parts[0])
            if plain[0] != edition():
                return None
            return cls(Plan(*plain), parts[1], parts[2])  # type: ignore[arg-type]  # marshal reads any buffer
        except (OSError, struct.error, ValueError, EOFError, TypeError, IndexError):
            return None

    def codes(self) -> tuple[CodeType, ...]:
        """The code of the files in `plan.loaded`, in that order."""
        codes: tuple[CodeType, ...] = marshal.loads(self._codes)
        return codes

    def files(self) -> dict[RelPath, bytes]:
        """The bytes of all files."""
        return {path: data for path, (data, _) in zip(self.plan.paths, self._each(), strict=True)}

    def known(self, numbers: Collection[int], *, with_code: bool) -> dict[RelPath, Known]:
        """The files of these numbers, as an earlier boot read them."""
        from .boot_files import Known  # here: not asked by a replay
        from .facts import from_plain
        from .fileformat import decode

        codes = dict(zip(self.plan.loaded, self.codes(), strict=True)) if with_code else {}
        known: dict[RelPath, Known] = {}
        for number, (path, (data, plain)) in enumerate(zip(self.plan.paths, self._each(), strict=True)):
            if number in numbers:
                known[path] = Known(from_plain(plain, decode(path, data)), codes.get(number))
        return known

    def _each(self) -> Sequence[tuple[bytes, tuple[Any, ...]]]:
        """For each of `plan.paths`: its bytes, and its facts as plain values."""
        if self._read_facts is None:
            self._read_facts = marshal.loads(self._facts)
        return self._read_facts


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # for a pipe it would wait until somebody writes


def write(
    file: Path, disk: Disk, plan: Plan, codes: Sequence[CodeType], facts: Sequence[tuple[bytes, tuple[Any, ...]]]
) -> None:
    """Write a bundle. Raises OSError; what was there before is there then."""
    parts = [marshal.dumps(part) for part in (plan.to_plain(), tuple(codes), tuple(facts))]
    head = _HEAD.pack(_MAGIC, *map(len, parts), *map(zlib.adler32, parts))
    disk.make_folder(file.parent)
    disk.write(file, head + b"".join(parts))
