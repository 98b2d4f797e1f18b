"""Git's index: its bytes, and whether a working file is what its entry says. Reads versions 2, 3 and 4 as git writes
them, writes 2 (3 where an entry needs it). Knows nothing of trees and locks.

Source of the format: gitformat-index(5); of the racy entries: Documentation/technical/racy-git.txt.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import TypeAlias

from .errors import LayerUnusable
from .git_entries import CHECKSUM_SIZE, HEAD_SIZE, Entries, Staged, Stat, cut_out, is_conflicted
from .git_objects import object_id
from .git_tree import Entry
from .slots import state

_LINK = 0o120000
_SUBMODULE = 0o160000
_NANO = 1_000_000_000
_TICK = 20_000_000  # nanoseconds: more than the clock of a file system takes from one time to the next
_UNSEEN = Stat(0, 0, 0, 0, 0, 0, 0, 0, 0)


Seen: TypeAlias = tuple[bytes, tuple[int, ...]]
"""An entry, and the stat of the file that was read and found to be so."""


class UnreadableIndex(ValueError):
    """These bytes are no index, or one in a form that is not read here; the text says which."""


@state
class Index:
    """The index as it is being made ready: path → entry, and the paths that a merge left in conflict."""

    staged: Entries = field(default_factory=Entries)
    conflicted: set[bytes] = field(default_factory=set)
    mtime_ns: int = 0  # of the file that was read
    size: int = 0  # of the file that was read or written last
    sum: bytes = b""  # that this file ends in; nothing where there was none
    young: frozenset[bytes] | None = None  # all that can be racy is among these and what was put; None: not known
    sure: dict[bytes, Seen] = field(default_factory=dict)  # files that were read when they were old enough, as they are

    @property
    def checksum(self) -> str:
        """That the file has, in hex digits; empty where there was none."""
        return self.sum.hex()

    def was_written(self, data: bytes) -> None:
        """It is in a file of these bytes now."""
        self.size, self.sum = len(data), data[-CHECKSUM_SIZE:]

    def put(self, path: bytes, entry: Entry, found: os.stat_result) -> None:
        """Stage a file that is as `entry` says. A file above it, which is a folder now, goes."""
        for above in _above(path):
            self.staged.pop(above, None)
        self.staged[path] = Staged(entry, Stat.of(found))

    def put_unseen(self, path: bytes, entry: Entry) -> None:
        """Stage `entry` without knowing the working file: git, and `differs`, look into it."""
        self.staged[path] = Staged(entry, _UNSEEN)

    def clear_below(self, paths: Iterable[bytes]) -> None:
        """Take away what stands below any of `paths`, which are files now."""
        for path in paths:
            for other in self.staged.below(path):
                del self.staged[other]

    def remove(self, path: bytes) -> None:
        self.staged.pop(path, None)

    def is_racy(self, staged: Staged, tick: int = 1) -> bool:
        """Whether the file may have changed without its stat: its entry is as young as the index itself.

        `tick` is in nanoseconds: what counts as the same time.
        """
        return staged.stat.mtime_in_ns // tick >= self.mtime_ns // tick

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
        now = time.time_ns()
        for path in self._racy():
            seen = self.staged.packed(path), _look(root, path)
            if self.sure.get(path) == seen:
                continue
            staged = self.staged[path]
            if self.differs(root, path, staged):
                self.staged[path] = replace(staged, stat=replace(staged.stat, size=0))
            elif now - max(seen[1][-2:], default=now) > _TICK:
                self.sure[path] = seen  # its next change gives it another stat, though git may be too coarse to tell
        data = self.staged.to_bytes()
        return data + hashlib.sha1(data, usedforsecurity=False).digest()

    def stands_as(self, size: int, checksum: bytes, mtime_ns: int) -> bool:
        """Whether this is the index in a file of that size, end and mtime; then it goes on as one read from it.

        What was not racy for an older file is not for this one: only the rest has to be looked at.
        """
        if (size, checksum) != (self.size, self.sum) or mtime_ns < self.mtime_ns or self.conflicted:
            return False
        young = {*(self.staged.since(self.mtime_ns // _NANO) if self.young is None else self.young), *self.staged.put}
        self.mtime_ns = mtime_ns
        self.young = frozenset(path for path in young if self._is_young(path))
        self.sure = {path: seen for path, seen in self.sure.items() if path in self.young}
        self.staged.put.clear()
        return True

    def _racy(self) -> list[bytes]:
        """The paths of which git, comparing whole seconds, cannot tell by their stat whether they were changed."""
        if self.young is None:
            return self.staged.since(self.mtime_ns // _NANO)
        return [path for path in sorted(self.young | self.staged.put) if self._is_young(path)]

    def _is_young(self, path: bytes) -> bool:
        return self.staged.changed_in(path) >= self.mtime_ns // _NANO


def _look(root: Path, path: bytes) -> tuple[int, ...]:
    """What changes whenever the file does."""
    try:
        found = os.lstat(f"{root}/{os.fsdecode(path)}")
    except OSError:
        return ()
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def index_of(layer: Path, known: Index | None = None) -> Index:
    """The index of the repository at `layer`; an empty one where there is none. LayerUnusable where it is damaged.

    It is `known`, where the file is as that was written.
    """
    try:
        with open(layer / ".git" / "index", "rb") as file:
            found = os.fstat(file.fileno())
            if known is not None and found.st_size > CHECKSUM_SIZE:
                end = os.pread(file.fileno(), CHECKSUM_SIZE, found.st_size - CHECKSUM_SIZE)
                if known.stands_as(found.st_size, end, found.st_mtime_ns):
                    return known
            return read_index(file.read(), found.st_mtime_ns)
    except FileNotFoundError:
        return Index()
    except UnreadableIndex as fault:
        advice = "`rm .git/index && git reset` there makes it anew"
        raise LayerUnusable(layer, f"has a git index that cannot be used ({fault})", advice) from fault


def read_index(data: bytes, mtime_ns: int) -> Index:
    """The index of these bytes, read from a file of that mtime. Raises UnreadableIndex."""
    # With index.skipHash git leaves the checksum zero.
    if data[-CHECKSUM_SIZE:] not in (hashlib.sha1(data[:-CHECKSUM_SIZE], usedforsecurity=False).digest(), bytes(20)):
        raise UnreadableIndex("its checksum is wrong")
    try:
        signature, version, count = struct.unpack_from(">4sII", data)
        if signature != b"DIRC" or version not in (2, 3, 4):
            raise UnreadableIndex(f"it is of version {version}")
        index = Index(mtime_ns=mtime_ns)
        index.was_written(data)
        at, path, entries = HEAD_SIZE, b"", {}
        for _ in range(count):
            path, entry, at = cut_out(data, at, path, version)
            if is_conflicted(entry):
                index.conflicted.add(path)
            else:
                entries[path] = entry
        index.staged = Entries(entries)
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


def _extensions(data: bytes, at: int) -> Iterator[bytes]:
    while at < len(data) - CHECKSUM_SIZE:
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
