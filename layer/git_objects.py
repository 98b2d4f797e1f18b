"""Git objects that are written: their ids, their files, the text of a commit. Reads nothing.

Objects stay when a commit fails. They are garbage that no ref names and `git gc` removes; taking them away could
take away what another process has just found there and relied on.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from .disk import Disk
from .git_pack import pack_of
from .journal import size_of, told_as_fault
from .store import CommitId, Identity

MANY = 32
"""Objects from which on a commit's are one pack: a file for each takes longer than all else."""

_TRIES = 5  # to put a file into a folder that somebody keeps taking away

OBJECT_MODE = 0o400  # as git's own, without the bits for others: an object never changes

_CRUD = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
"""What git strips from both ends of a name."""


class Objects:
    """What is to be added to the folder `objects` of a git folder. What is written is not synced: see `git_redo`."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        self._added: dict[str, tuple[str, bytes]] = {}  # by id, kind and data
        self._files: dict[str, bytes] = {}
        self._seen = 0  # how many of those that were added are in them

    def begin(self) -> None:
        """For another commit."""
        self._added.clear()
        self._files.clear()
        self._seen = 0

    def add(self, kind: str, data: bytes) -> str:
        """Have the object of `kind` (blob, tree, commit) written with the others; gives its id."""
        name = object_id(kind, data)
        self._added.setdefault(name, (kind, data))
        return name

    def files(self) -> Mapping[str, bytes]:
        """The files of all that was added since `begin`: loose ones, or where they are many a pack.

        By their names in the folder, loose ones by their ids.
        """
        new = dict(islice(self._added.items(), self._seen, None))
        self._seen = len(self._added)
        if len(new) > MANY:
            self._files |= pack_of(new)
        else:
            self._files |= {name: zlib.compress(_whole(kind, data), level=1) for name, (kind, data) in new.items()}
        return self._files.copy()

    def write(self) -> None:
        """Write those of `files` that are not there."""
        for name, data in self._files.items():
            path = object_file(self._folder, name)
            # An empty file is what a power cut leaves of an object that git wrote without fsync; it would shadow ours.
            if not size_of(path):
                with told_as_fault(path):
                    self._write(path, data)

    def _write(self, path: Path, data: bytes) -> None:
        for left in reversed(range(_TRIES)):
            self._disk.make_folder(path.parent)
            try:
                self._disk.write(path, data, mode=OBJECT_MODE, synced=False, begun_in=self._folder.parent)
            except FileNotFoundError:  # a `git gc` took the folder away between the two, as it was empty
                if not left:
                    raise
            else:
                return


def make_folders(folder: Path, disk: Disk, most: int) -> bool:
    """Make up to `most` of those that loose objects will lie in; whether there are more to make.

    A new folder takes ten times as long as a new file, and `git gc` takes away those that it empties.
    """
    with told_as_fault(folder):
        there = set(os.listdir(folder))
        missing = [name for number in range(256) if (name := f"{number:02x}") not in there]
        for name in missing[:most]:
            disk.make_folder(folder / name)
    return len(missing) > most


def object_file(folder: Path, name: str) -> Path:
    """Where the file that `Objects.files` calls `name` lies in the folder `objects`."""
    return Path(f"{folder}/{name}" if "/" in name else f"{folder}/{name[:2]}/{name[2:]}")


def object_id(kind: str, data: bytes) -> str:
    """The id of the object of `kind` with this content."""
    return hashlib.sha1(_whole(kind, data), usedforsecurity=False).hexdigest()


def signature(who: Identity, when: datetime) -> str:
    """`Ada Lovelace <ada@example.org> 1700000000 +0100`, without what would break the line."""
    name, email = _clean(who.name) or "perdure", _clean(who.email)
    return f"{name} <{email}> {int(when.timestamp())} {when:%z}"


def now() -> datetime:
    """The time with this machine's offset, in whole seconds as git has it; in UTC where git cannot write the offset."""
    utc = datetime.fromtimestamp(int(time.time()), UTC)
    try:
        local = utc.astimezone()
    except ValueError:  # TZ=UTC+24: Python knows offsets of less than a day only
        return utc
    offset = local.utcoffset()
    return utc if offset is None or offset % timedelta(minutes=1) else local


def not_before(when: datetime, parent: bytes) -> datetime:
    """`when`, or the time of the commit object `parent` where that is later, as after a clock was set back.

    Git takes a history for sorted by the committers' times: it stops looking where it must be past what it looks for.
    """
    found = re.search(rb"(?m)^committer .*> (\d+) [+-]\d{4}$", parent.partition(b"\n\n")[0])
    try:
        return max(when, datetime.fromtimestamp(int(found[1]), when.tzinfo)) if found else when
    except (ValueError, OverflowError, OSError):  # of a year that there is none of
        return when


def commit_text(tree: str, parents: Sequence[CommitId], author: str, committer: str, message: str) -> bytes:
    """A commit object; `author` and `committer` are signatures."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents), f"author {author}", f"committer {committer}"]
    # A NUL would end the message for git.
    return ("\n".join(lines) + "\n\n" + message.replace("\0", "")).encode("utf-8", "replace")


def _whole(kind: str, data: bytes) -> bytes:
    """The object as it is hashed and stored."""
    return f"{kind} {len(data)}\0".encode() + data


def _clean(text: str) -> str:
    return re.sub(r"[<>\n\0]", "", text.strip(_CRUD))
