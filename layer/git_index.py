"""Git's index: its bytes, and whether a working file is what its entry says. Reads versions 2, 3 and 4 as git writes
them, writes 2 (3 where an entry needs it). Knows nothing of trees and locks.

Source of the format: gitformat-index(5); of the racy entries: Documentation/technical/racy-git.txt.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Container, Iterator
from dataclasses import field, replace
from pathlib import Path

from .errors import LayerUnusable
from .git_objects import object_id
from .git_tree import Entry
from .slots import fact, state

_HEAD = struct.Struct(">10I20sH")
_EXTENDED = 0x4000
_ASSUMED_UNCHANGED = 0x8000
_STAGE = 0x3000
_LENGTH = 0x0FFF
_SKIP_WORKTREE = 0x4000  # among the extended flags
_LINK = 0o120000
_SUBMODULE = 0o160000
_NANO = 1_000_000_000


class UnreadableIndex(ValueError):
    """These bytes are no index, or one in a form that is not read here; the text says which."""


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
        return cls(*(number & 0xFFFFFFFF for number in numbers))


_UNSEEN = Stat(0, 0, 0, 0, 0, 0, 0, 0, 0)


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


@state
class Index:
    """The index as it is being made ready: path → entry, and the paths that a merge left in conflict."""

    staged: dict[bytes, Staged] = field(default_factory=dict)
    conflicted: set[bytes] = field(default_factory=set)
    mtime_ns: int = 0  # of the file that was read
    checksum: str = ""  # that it had, in hex digits; empty where there was none

    def put(self, path: bytes, entry: Entry, found: os.stat_result) -> None:
        """Stage a file that is as `entry` says. A file above it, which is a folder now, goes."""
        for above in _above(path):
            self.staged.pop(above, None)
        self.staged[path] = Staged(entry, Stat.of(found))

    def put_unseen(self, path: bytes, entry: Entry) -> None:
        """Stage `entry` without knowing the working file: git, and `differs`, look into it."""
        self.staged[path] = Staged(entry, _UNSEEN)

    def clear_below(self, paths: Container[bytes]) -> None:
        """Take away what stands below any of `paths`, which are files now."""
        for other in [other for other in self.staged if any(above in paths for above in _above(other))]:
            del self.staged[other]

    def remove(self, path: bytes) -> None:
        self.staged.pop(path, None)

    def is_racy(self, staged: Staged, tick: int = 1) -> bool:
        """Whether the file may have changed without its stat: its entry is as young as the index itself.

        `tick` is in nanoseconds: what counts as the same time.
        """
        return (staged.stat.mtime * _NANO + staged.stat.mtime_ns) // tick >= self.mtime_ns // tick

    def differs(self, root: Path, path: bytes, staged: Staged, *, newlines: bool = False) -> bool:
        """Whether the working file is other than its entry, as `git status` would find.

        With `newlines` git has those of text files in the working tree be CR LF, by core.autocrlf.
        """
        if staged.unwatched:
            return False
        file = root / os.fsdecode(path)
        try:
            found = file.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        if staged.entry.mode == _SUBMODULE:
            return not stat.S_ISDIR(found.st_mode)
        if _mode(found) != staged.entry.mode:
            return True
        if replace(Stat.of(found), dev=staged.stat.dev) == staged.stat and not self.is_racy(staged):
            return False
        try:
            data = os.fsencode(os.readlink(file)) if stat.S_ISLNK(found.st_mode) else file.read_bytes()
        except PermissionError:
            return True
        if object_id("blob", data) == staged.entry.id:
            return False
        # To git a file of another size is another in any case.
        if not newlines or b"\0" in data or len(data) & 0xFFFFFFFF != staged.stat.size != 0:
            return True
        bare = data.replace(b"\r\n", b"\n")
        return b"\r" in bare or object_id("blob", bare) != staged.entry.id

    def to_bytes(self, root: Path) -> bytes:
        """The index as a file. The extensions that git may have had are caches, and are left out.

        A new index is younger than the entries that were racy in the old one. Git would take their files for
        untouched, so those that were touched lose their size, by which git looks again. Most builds of git compare
        whole seconds.
        """
        version = 3 if any(staged.extended for staged in self.staged.values()) else 2
        out = [struct.pack(">4sII", b"DIRC", version, len(self.staged))]
        for path, staged in sorted(self.staged.items()):
            if self.is_racy(staged, tick=_NANO) and self.differs(root, path, staged):
                staged = replace(staged, stat=replace(staged.stat, size=0))
            out.append(_packed(path, staged))
        data = b"".join(out)
        return data + hashlib.sha1(data, usedforsecurity=False).digest()


def index_of(layer: Path) -> Index:
    """The index of the repository at `layer`; an empty one where there is none. LayerUnusable where it is damaged."""
    try:
        with open(layer / ".git" / "index", "rb") as file:
            return read_index(file.read(), os.fstat(file.fileno()).st_mtime_ns)
    except FileNotFoundError:
        return Index()
    except UnreadableIndex as fault:
        advice = "`rm .git/index && git reset` there makes it anew"
        raise LayerUnusable(layer, f"has a git index that cannot be used ({fault})", advice) from fault


def read_index(data: bytes, mtime_ns: int) -> Index:
    """The index of these bytes, read from a file of that mtime. Raises UnreadableIndex."""
    # With index.skipHash git leaves the checksum zero.
    if data[-20:] not in (hashlib.sha1(data[:-20], usedforsecurity=False).digest(), bytes(20)):
        raise UnreadableIndex("its checksum is wrong")
    try:
        signature, version, count = struct.unpack_from(">4sII", data)
        if signature != b"DIRC" or version not in (2, 3, 4):
            raise UnreadableIndex(f"it is of version {version}")
        index = Index(mtime_ns=mtime_ns, checksum=data[-20:].hex())
        at = 12
        path = b""
        for _ in range(count):
            path, staged, at = _unpacked(data, at, path, version)
            if staged.flags & _STAGE:
                index.conflicted.add(path)
            else:
                index.staged[path] = staged
        for name in _extensions(data, at):
            if not name[:1].isupper():  # what git may not leave aside, neither may we
                raise UnreadableIndex(f"it has the extension {name.decode('ascii', 'replace')}")
    except (struct.error, ValueError, IndexError) as fault:
        raise UnreadableIndex(str(fault)) from fault
    return index


def _above(path: bytes) -> Iterator[bytes]:
    end = path.find(b"/")
    while end >= 0:
        yield path[:end]
        end = path.find(b"/", end + 1)


def _packed(path: bytes, staged: Staged) -> bytes:
    s = staged.stat
    flags = (staged.flags & ~(_LENGTH | _EXTENDED)) | min(len(path), _LENGTH) | (_EXTENDED if staged.extended else 0)
    numbers = (s.ctime, s.ctime_ns, s.mtime, s.mtime_ns, s.dev, s.ino, staged.entry.mode, s.uid, s.gid, s.size)
    data = _HEAD.pack(*numbers, bytes.fromhex(staged.entry.id), flags)
    if staged.extended:
        data += staged.extended.to_bytes(2, "big")
    data += path
    return data + bytes(8 - len(data) % 8)  # one NUL at least


def _unpacked(data: bytes, start: int, previous: bytes, version: int) -> tuple[bytes, Staged, int]:
    ctime, ctime_ns, mtime, mtime_ns, dev, ino, mode, uid, gid, size, name, flags = _HEAD.unpack_from(data, start)
    at = start + _HEAD.size
    extended = 0
    if flags & _EXTENDED:
        extended = int.from_bytes(data[at : at + 2], "big")
        at += 2
    if version == 4:
        dropped, at = _varint(data, at)
        end = data.index(b"\0", at)
        path = previous[: len(previous) - dropped] + data[at:end]
        at = end + 1
    else:
        end = data.index(b"\0", at)
        path = data[at:end]
        at = start + ((end - start) // 8 + 1) * 8
    found = Stat(ctime, ctime_ns, mtime, mtime_ns, dev, ino, uid, gid, size)
    return path, Staged(Entry(mode, name.hex()), found, flags & ~_LENGTH, extended), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _extensions(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data) - 20:
        name, size = struct.unpack_from(">4sI", data, at)
        yield name
        at += 8 + size


def _mode(found: os.stat_result) -> int:
    """The mode git would give what lies there."""
    if stat.S_ISLNK(found.st_mode):
        return _LINK
    if not stat.S_ISREG(found.st_mode):
        return stat.S_IFMT(found.st_mode)
    return 0o100755 if found.st_mode & 0o100 else 0o100644
