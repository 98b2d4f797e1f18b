"""What a boot leaves for the next one: a file in the user's cache, one for each folder that is loaded and each Python.

Owns its form and whether it may be believed. It holds code that the next start runs, so it has to be this user's alone,
as the layer itself. In parts, each with its checksum, so that a start reads no more than it needs: a replay what tells
whether anything changed, and the code in the turns it runs in.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import stat
import struct
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from io import FileIO
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from .boot_journal import folder_in
from .definition import RelPath
from .disk import Disk
from .finding import Answers
from .recipe import Recipe
from .slots import fact
from .store import Seen, Stamp

if TYPE_CHECKING:
    from .boot_files import Known

FORMAT = 4
"""To be raised whenever what is written, or what a boot decides, changes."""

YOUNG = 2_000_000_000
"""Nanoseconds: a file that changed so shortly before its stamp was taken may change again and have the same stamp."""

_PARTS = 5
_HEAD = struct.Struct(f"<16s{_PARTS}Q{_PARTS}L")
_MAGIC = b"perdure bundle\0\0"
_PIECE = 256  # files whose facts are read at a time
_AT_ONCE = 1 << 16  # bytes: head and plan of most folders


class Damaged(Exception):
    """A part of a bundle is not what was written."""


def edition() -> tuple[object, ...]:
    """What reads and runs a bundle: another Python, or another perdure, has another one."""
    from perdure import __version__

    tag = sys.implementation.cache_tag
    return (FORMAT, __version__, tag, importlib.util.MAGIC_NUMBER, sys.flags.optimize)


def bundle_file(cache: Path, root: Path) -> Path:
    """Where the bundle of the folder `root` lies."""
    return folder_in(cache, root) / f"{sys.implementation.cache_tag}.bundle"


Turn: TypeAlias = tuple[int, int, int]
"""Of how many files the code runs as one, less than 0 where each runs by itself; the code's size and its checksum."""


@fact
class Plan:
    """What a start asks of a bundle first."""

    edition: tuple[object, ...]
    root: str
    name: str  # of this bundle and no other
    before: tuple[str, ...]  # the names of the bundles of the folders that were loaded before
    defers: bool
    is_whole: bool  # whether a boot left nothing out; else it is good for a boot in part alone
    count: int  # of files
    folders: tuple[Any, ...]  # those of `Seen`
    seen: bytes  # the stamps of `Seen`; empty where they may not tell the next change
    proven: Stamp | None  # of the record that says of all files that they were loaded to their end, and no more
    turns: tuple[Turn, ...]  # in load order
    facts: tuple[tuple[int, int], ...]  # of each piece of the facts the size and the checksum
    takes: frozenset[str]  # what the files that run as one take for builtin classes
    hidden: frozenset[str]
    ambient: frozenset[str]
    cheap: Mapping[tuple[str, str | None], bool]
    there: Mapping[str, bool]

    @property
    def answers(self) -> Answers:
        """What the boot that it was made after was told of packages."""
        return Answers(self.cheap, self.there)


@fact
class Listing:
    """What is to be known of each file. They are told by their numbers in `paths`."""

    paths: tuple[RelPath, ...]  # sorted
    stamps: tuple[Stamp, ...]
    young: tuple[int, ...]  # files whose stamps may not tell the next change: their bytes do
    marks: tuple[str, ...]
    loaded: tuple[int, ...]  # in load order
    foreign: Mapping[int, frozenset[str]]
    waiting: Mapping[int, tuple[str, ...]]
    names: frozenset[str]  # all that the files give, bind or wait for: what names none of them touches nothing of it


class Bundle:
    """A bundle as it was read. Its parts are read when they are asked for; each may raise `Damaged` then."""

    def __init__(self, plan: Plan, file: FileIO, parts: Sequence[tuple[int, int, int]]) -> None:
        """`parts` are where each begins in the open file, its size and its checksum.

        The file's descriptor is closed with this; `file` itself does not own it.
        """
        self.plan = plan
        self._file = file
        self._descriptor = file.fileno()
        self._parts = parts

    @classmethod
    def read(cls, file: Path) -> Self | None:
        """The bundle that lies at `file`; None where that is nothing, or damaged, or of another edition.

        Nor is anything taken that another user may have written.
        """
        descriptor = -1
        try:
            # For a pipe it would wait until somebody writes.
            descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
            opened = FileIO(descriptor, closefd=False)
            found = os.fstat(descriptor)
            if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode) or found.st_mode & 0o022:
                raise Damaged
            data = memoryview(opened.read(_AT_ONCE) or b"")
            magic, *rest = _HEAD.unpack_from(data)
            sizes, sums = rest[:_PARTS], rest[_PARTS:]
            if magic != _MAGIC or _HEAD.size + sum(sizes) != found.st_size:
                raise Damaged
            parts, start = [], _HEAD.size
            for size, wanted in zip(sizes, sums, strict=True):
                parts.append((start, size, wanted))
                start += size
            start, size, wanted = parts[0]
            begun = data[start : start + size]
            plain = marshal.loads(_whole(begun, wanted) if len(begun) == size else _part(opened, *parts[0]))
            if plain[0] != edition():
                raise Damaged
            return cls(Plan(*plain), opened, parts)
        except (OSError, Damaged, struct.error, ValueError, EOFError, TypeError, IndexError):
            if descriptor >= 0:
                _close(descriptor)
            return None

    def __del__(self) -> None:
        _close(self._descriptor)

    def turns(self) -> Iterator[tuple[CodeType, ...]]:
        """The code of each turn of the plan: one for all of its files, or one for each."""
        return self._some(1, [(size, wanted) for _, size, wanted in self.plan.turns])

    @cached_property
    def listing(self) -> Listing:
        """What is to be known of each file."""
        return Listing(*self._read(2))

    def codes(self) -> tuple[CodeType, ...]:
        """The code of the files in `listing.loaded`, in that order."""
        return self._read(3)  # type: ignore[no-any-return]

    def facts(self) -> Iterator[tuple[RelPath, bytes, tuple[Any, ...]]]:
        """For each of `listing.paths`: the path, the file's bytes, and its facts as plain values.

        Some at a time: of ten thousand files they take as much memory as all that the files define.
        """
        paths = iter(self.listing.paths)
        for some in self._some(4, self.plan.facts):
            for (data, plain), path in zip(some, paths, strict=False):  # which takes no path too many
                yield path, data, plain

    def files(self) -> dict[RelPath, bytes]:
        """The bytes of all files."""
        return {path: data for path, data, _ in self.facts()}

    def known(self, numbers: Collection[int], *, with_code: bool) -> dict[RelPath, Known]:
        """The files of these numbers, as an earlier boot read them."""
        from .boot_files import Known  # here: not asked by a replay
        from .facts import from_plain
        from .fileformat import decode

        codes = dict(zip(self.listing.loaded, self.codes(), strict=True)) if with_code else {}
        known: dict[RelPath, Known] = {}
        for number, (path, data, plain) in enumerate(self.facts()):
            if number in numbers:
                known[path] = Known(from_plain(plain, decode(path, data)), codes.get(number))
        return known

    def recipe(self) -> Recipe:
        """How the boot that it was made after went."""
        plan, listing = self.plan, self.listing
        paths = listing.paths
        return Recipe(
            tuple(paths[number] for number in listing.loaded),
            {paths[number]: names for number, names in listing.foreign.items()},
            {paths[number]: packages for number, packages in listing.waiting.items()},
            plan.hidden,
            plan.ambient,
            plan.answers,
            plan.is_whole,
        )

    def _some(self, part: int, pieces: Sequence[tuple[int, int]]) -> Iterator[Any]:
        """What the pieces of a part say, one after the other, given the size and the checksum of each."""
        at, *_ = self._parts[part]
        # All through the same few pages: fresh ones cost more than what is read into them.
        room = memoryview(bytearray(max((size for size, _ in pieces), default=0)))
        for size, wanted in pieces:
            yield _loaded(partial(_part, self._file, at, size, wanted, room))
            at += size

    def _read(self, part: int) -> Any:
        return _loaded(partial(_part, self._file, *self._parts[part]))


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:  # a definition closed all there were
        pass


def _loaded(read: Callable[[], memoryview]) -> Any:
    """What the bytes say. Raises `Damaged`."""
    try:
        return marshal.loads(read())
    except (OSError, ValueError, EOFError, TypeError, MemoryError) as error:
        raise Damaged from error


def _part(file: FileIO, start: int, size: int, wanted: int, room: memoryview | None = None) -> memoryview:
    """So many bytes of the file from there on, read into `room` if there is some. Raises OSError, `Damaged`."""
    whole = memoryview(bytearray(size)) if room is None else room[:size]
    file.seek(start)
    at = 0
    while at < size and (count := file.readinto(whole[at:])):  # it may be fewer than asked for
        at += count
    return _whole(whole[:at], wanted) if at == size else _whole(whole[:0], -1)


def _whole(data: memoryview, wanted: int) -> memoryview:
    if zlib.adler32(data) != wanted:
        raise Damaged
    return data


def write(
    file: Path,
    disk: Disk,
    plan: Plan,
    listing: Listing,
    turns: Sequence[tuple[int, Sequence[CodeType]]],
    codes: Sequence[CodeType],
    facts: Sequence[tuple[bytes, tuple[Any, ...]]],
) -> None:
    """Write a bundle. `turns` are the counts of its turns and their code; `plan` does without turns and facts.

    Raises OSError; what was there before is there then.
    """
    in_turn = [(count, marshal.dumps(tuple(code))) for count, code in turns]
    some = [marshal.dumps(tuple(facts[at : at + _PIECE])) for at in range(0, len(facts), _PIECE)]
    plan = replace(
        plan,
        turns=tuple((count, len(data), zlib.adler32(data)) for count, data in in_turn),
        facts=tuple((len(data), zlib.adler32(data)) for data in some),
    )
    in_one = b"".join(data for _, data in in_turn)
    parts = [marshal.dumps(_plain(plan)), in_one, marshal.dumps(_plain(listing)), marshal.dumps(tuple(codes))]
    parts.append(b"".join(some))
    head = _HEAD.pack(_MAGIC, *map(len, parts), *map(zlib.adler32, parts))
    disk.make_folder(file.parent)
    disk.write(file, head + b"".join(parts))


def _plain(made: Plan | Listing) -> tuple[Any, ...]:
    """Its fields, as values that `marshal` writes."""
    return tuple(getattr(made, name) for name in type(made).__match_args__)


def as_seen(plan: Plan) -> Seen | None:
    """What the plan says that was seen of the folder; None where that may not tell the next change."""
    return Seen(plan.folders, plan.seen) if plan.seen else None
