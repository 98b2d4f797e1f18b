"""The entries of git's index: what each says of a file, its bytes, and all of them as a mapping that keeps the bytes.

A commit touches a few of ten thousand entries; the others are not looked into but cut out of the file, and joined into
the next one. Knows nothing of the rest of an index, nor of racy entries.

Source of the format: gitformat-index(5).
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterator, MutableMapping

from .git_tree import Entry
from .slots import fact

HEAD_SIZE = 12
"""Bytes of an index before its first entry."""

CHECKSUM_SIZE = 20
"""Bytes after all else in it."""

_HEAD = struct.Struct(">10I20sH")
_FLAGS = struct.Struct(">H")
_EXTENDED = 0x4000
_ASSUMED_UNCHANGED = 0x8000
_STAGE = 0x3000
_LENGTH = 0x0FFF
_SKIP_WORKTREE = 0x4000  # among the extended flags
_MTIME = slice(8, 12)  # whole seconds
_NANO = 1_000_000_000
_WORD = 0xFFFFFFFF


@fact
class Stat:
    """What git remembers of a file to see whether it was touched; each number cut to 32 bits."""

    ctime: int
    ctime_ns: int
    mtime: int
    mtime_ns: int
    dev: int
    ino: int
    uid: int
    gid: int
    size: int

    @classmethod
    def of(cls, found: os.stat_result) -> Stat:
        ctime, mtime = divmod(found.st_ctime_ns, _NANO), divmod(found.st_mtime_ns, _NANO)
        numbers = (*ctime, *mtime, found.st_dev, found.st_ino, found.st_uid, found.st_gid, found.st_size)
        return cls(*(number & _WORD for number in numbers))

    @property
    def mtime_in_ns(self) -> int:
        """When its content changed last."""
        return self.mtime * _NANO + self.mtime_ns


@fact
class Staged:
    """One entry of the index."""

    entry: Entry
    stat: Stat
    flags: int = 0  # without the length of the name
    extended: int = 0

    @property
    def unwatched(self) -> bool:
        """Whether git was told not to look at the working file."""
        return bool(self.flags & _ASSUMED_UNCHANGED or self.extended & _SKIP_WORKTREE)


class Entries(MutableMapping[bytes, Staged]):
    """Path → entry, sorted by path as git sorts them."""

    def __init__(self, packed: dict[bytes, bytes] | None = None) -> None:
        """`packed` are the entries as they stand in a file, with the zeros that fill each up."""
        sort = sorted((packed or {}).items())
        self._paths = [path for path, _ in sort]
        self._packed = [entry for _, entry in sort]
        self._extended = {path for path, entry in sort if _flags(entry) & _EXTENDED}
        self.put: set[bytes] = set()
        """The paths whose entries were set since this was emptied last."""

    def __getitem__(self, path: bytes) -> Staged:
        return _unpacked(self.packed(path))

    def __setitem__(self, path: bytes, staged: Staged) -> None:
        packed = pack(path, staged)
        at = bisect_left(self._paths, path)
        if at < len(self._paths) and self._paths[at] == path:
            self._packed[at] = packed
        else:
            self._paths.insert(at, path)
            self._packed.insert(at, packed)
        (self._extended.add if staged.extended else self._extended.discard)(path)
        self.put.add(path)

    def __delitem__(self, path: bytes) -> None:
        at = self._at(path)
        if at is None:
            raise KeyError(path)
        del self._paths[at], self._packed[at]
        self._extended.discard(path)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, bytes) and self._at(path) is not None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)

    def below(self, folder: bytes) -> list[bytes]:
        """The paths that begin with `folder` and a slash."""
        first, end = (bisect_left(self._paths, folder + mark) for mark in (b"/", b"0"))  # 0 is what comes after /
        return self._paths[first:end]

    def packed(self, path: bytes) -> bytes:
        """The entry as it stands in a file. KeyError where there is none."""
        if (at := self._at(path)) is None:
            raise KeyError(path)
        return self._packed[at]

    def changed_in(self, path: bytes) -> int:
        """The second in which the file was changed, by its entry; -1 where there is none."""
        at = self._at(path)
        return -1 if at is None else int.from_bytes(self._packed[at][_MTIME], "big")

    def since(self, seconds: int) -> list[bytes]:
        """The paths of the files that were changed in that second or later, by their entries."""
        if seconds > _WORD:
            return []
        bound = max(seconds, 0).to_bytes(4, "big")
        return [path for path, entry in zip(self._paths, self._packed, strict=True) if entry[_MTIME] >= bound]

    def to_bytes(self) -> bytes:
        """The head of an index that has these entries, and the entries."""
        head = struct.pack(">4sII", b"DIRC", 3 if self._extended else 2, len(self._paths))
        return head + b"".join(self._packed)

    def _at(self, path: bytes) -> int | None:
        at = bisect_left(self._paths, path)
        return at if at < len(self._paths) and self._paths[at] == path else None


def cut_out(data: bytes, start: int, previous: bytes, version: int) -> tuple[bytes, bytes, int]:
    """The path and the bytes of the entry that begins at `start` in an index, and where it ends.

    `previous` is the path of the entry before. IndexError, ValueError or struct.error for bytes that are no entry.
    """
    (flags,) = _FLAGS.unpack_from(data, start + _HEAD.size - 2)
    begin = start + _HEAD.size + (2 if flags & _EXTENDED else 0)
    if version == 4:
        dropped, at = _varint(data, begin)
        end = data.index(b"\0", at)
        path = previous[: len(previous) - dropped] + data[at:end]
        return path, _filled(data[start:begin] + path), end + 1
    end = begin + (flags & _LENGTH)
    if flags & _LENGTH == _LENGTH:
        end = data.index(b"\0", end)
    elif data[end]:
        raise ValueError("a name is longer than its entry says")
    after = start + ((end - start) // 8 + 1) * 8
    return data[begin:end], data[start:after], after


def is_conflicted(packed: bytes) -> bool:
    """Whether the entry is one of several for a path that a merge left in conflict."""
    return bool(_flags(packed) & _STAGE)


def pack(path: bytes, staged: Staged) -> bytes:
    """The entry as it stands in a file."""
    s = staged.stat
    flags = (staged.flags & ~(_LENGTH | _EXTENDED)) | min(len(path), _LENGTH) | (_EXTENDED if staged.extended else 0)
    numbers = (s.ctime, s.ctime_ns, s.mtime, s.mtime_ns, s.dev, s.ino, staged.entry.mode, s.uid, s.gid, s.size)
    data = _HEAD.pack(*numbers, bytes.fromhex(staged.entry.id), flags)
    if staged.extended:
        data += staged.extended.to_bytes(2, "big")
    return _filled(data + path)


def _unpacked(packed: bytes) -> Staged:
    ctime, ctime_ns, mtime, mtime_ns, dev, ino, mode, uid, gid, size, name, flags = _HEAD.unpack_from(packed)
    extended = int.from_bytes(packed[_HEAD.size : _HEAD.size + 2], "big") if flags & _EXTENDED else 0
    found = Stat(ctime, ctime_ns, mtime, mtime_ns, dev, ino, uid, gid, size)
    return Staged(Entry(mode, name.hex()), found, flags & ~_LENGTH, extended)


def _flags(packed: bytes) -> int:
    flags: int = _FLAGS.unpack_from(packed, _HEAD.size - 2)[0]
    return flags


def _filled(data: bytes) -> bytes:
    return data + bytes(8 - len(data) % 8)  # one NUL at least


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
