"""Whether a layer is clean, told without git: `git status` would list nothing. Standard library only.

Two things take git to find out, and hold for ever once they are known: that the index of some checksum stages just the
tree of some commit, and which other paths the ignore files in that tree have git ignore. They are noted in the git
folder, and each commit of perdure's carries the note on. With it a look at each file tells the rest, as git itself
tells it: by the file's stat, or by its content where that is as young as the index (Documentation/technical/
racy-git.txt). What is not sure to be clean here is for `GitStore.dirt` to find out.

A note that is lost, or is of another index, costs time and nothing else; so it is not synced.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from .slots import fact

_NOTE = "perdure.agreed"
_NO_INDEX = ""
_UNKNOWN = "0" * 40  # with index.skipHash git leaves the checksum zero
_HEAD = struct.Struct(">10I20sH")
_LENGTH = 0x0FFF
_NANO = 1_000_000_000
_WORD = 0xFFFFFFFF

_Entry: TypeAlias = tuple[int | bytes, ...]
"""As in the index: ctime, mtime (seconds and nanoseconds of each), dev, ino, mode, uid, gid, size, blob, flags."""


@fact
class Agreement:
    """The index of this checksum stages the tree of `commit`; by the ignore files in that, git ignores `ignored`."""

    commit: str | None  # None before the first
    index: str  # 40 hex digits; empty for no index
    ignored: frozenset[str] = frozenset()  # paths that are not in the index; of a folder with a slash at its end


def agreement(git: Path, commit: str | None, index: str) -> Agreement | None:
    """What is known of that commit and the index of that checksum, in the git folder `git`; None for nothing."""
    if commit is None and index == _NO_INDEX:
        return Agreement(None, _NO_INDEX)
    try:
        note = json.loads((git / _NOTE).read_bytes())
        known = Agreement(note["commit"], note["index"], frozenset(map(str, note["ignored"])))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return known if (known.commit, known.index) == (commit, index) and index != _UNKNOWN else None


def is_ignore_file(path: str) -> bool:
    """Whether the file at `path` has part in what git ignores."""
    return path.rpartition("/")[2] == ".gitignore"


def remember(git: Path, agreed: Agreement) -> None:
    """Remember `agreed` instead of what was noted last; where it cannot be written, it is not."""
    data = json.dumps({"commit": agreed.commit, "index": agreed.index, "ignored": sorted(agreed.ignored)}).encode()
    spare = git / f"{_NOTE}.{os.getpid()}"
    try:
        with open(spare, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(data)
        spare.replace(git / _NOTE)
    except OSError:
        try:
            spare.unlink(missing_ok=True)
        except OSError:
            pass


def is_clean(layer: Path, commit: str | None) -> bool:
    """Whether the layer, whose HEAD is at `commit`, is sure to be clean."""
    git = layer / ".git"
    try:
        with open(git / "index", "rb") as file:
            data, mtime = file.read(), os.fstat(file.fileno()).st_mtime_ns
        agreed = agreement(git, commit, data[-20:].hex())
        if agreed is None or hashlib.sha1(data[:-20], usedforsecurity=False).digest() != data[-20:]:
            return False
        staged = dict(_staged(data))
        unsure = in_doubt(staged, dict(_files(layer, agreed.ignored)), mtime, agreed.ignored)
        return unsure is not None and all(_is_as_staged(layer, path, staged[path]) for path in unsure)
    except (OSError, ValueError, struct.error, IndexError):
        return False


def in_doubt(
    staged: Mapping[bytes, _Entry],
    found: Mapping[bytes, os.stat_result],
    mtime: int,
    ignored: Collection[str],
) -> list[bytes] | None:
    """Which of the files `found` have to be read to tell whether they are as `staged`; None where not all can be. Pure.

    `mtime` is that of the index, in nanoseconds.
    """
    if any(path not in staged and os.fsdecode(path) not in ignored for path in found):
        return None
    unsure = []
    for path, entry in staged.items():
        there = found.get(path)
        if there is None:
            return None
        ctime, modified = there.st_ctime_ns, there.st_mtime_ns
        numbers = (
            *(ctime // _NANO & _WORD, ctime % _NANO, modified // _NANO & _WORD, modified % _NANO, entry[4]),
            *(there.st_ino & _WORD, _mode(there), there.st_uid, there.st_gid, there.st_size & _WORD),
        )
        if numbers != entry[:10] or modified >= mtime:
            unsure.append(path)
    return unsure


def _staged(data: bytes) -> Iterator[tuple[bytes, _Entry]]:
    """The entries of an index as they stand there, by path. ValueError for one that says more than how a file is."""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version != 2:
        raise ValueError("not of the version that is written here, and by git")
    unpack, size, at = _HEAD.unpack_from, _HEAD.size, 12
    for _ in range(count):
        entry = unpack(data, at)
        if entry[11] & ~_LENGTH:
            raise ValueError("a merge is under way, or git is told not to look at a file")
        length = entry[11] if entry[11] < _LENGTH else data.index(b"\0", at + size) - at - size
        yield data[at + size : at + size + length], entry
        at += ((size + length) // 8 + 1) * 8


def _files(layer: Path, ignored: Collection[str]) -> Iterator[tuple[bytes, os.stat_result]]:
    """All that is no folder in the layer, but for its git folder and the folders in `ignored`."""
    folders = [(os.fsencode(layer), b"")]
    while folders:
        folder, prefix = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                path = prefix + entry.name
                if not entry.is_dir(follow_symlinks=False):
                    yield path, entry.stat(follow_symlinks=False)
                elif path != b".git" and os.fsdecode(path) + "/" not in ignored:
                    folders.append((entry.path, path + b"/"))


def _mode(found: os.stat_result) -> int:
    """The mode git would give a file; 0 for a link and the like, which are not looked at here."""
    if not stat.S_ISREG(found.st_mode):
        return 0
    return 0o100755 if found.st_mode & 0o100 else 0o100644


def _is_as_staged(layer: Path, path: bytes, entry: _Entry) -> bool:
    """Whether the file has the mode and the content of its entry."""
    file = os.path.join(os.fsencode(layer), path)
    if _mode(os.lstat(file)) != entry[6]:
        return False
    with open(file, "rb") as opened:
        data = opened.read()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest() == entry[10]
