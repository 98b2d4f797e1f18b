"""Git objects that are written: their ids, their loose files, the text of a commit. Knows no packs and reads nothing.

Loose objects stay when a commit fails. They are garbage that no ref names and `git gc` removes; taking them away could
take away what another process has just found there and relied on.
"""

from __future__ import annotations

import hashlib
import re
import time
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from .disk import Disk
from .journal import size_of, told_as_fault
from .store import CommitId, Identity

OBJECT_MODE = 0o400  # as git's own, without the bits for others: an object never changes

_CRUD = "".join(map(chr, range(33))) + ".,:;<>\"\\'"
"""What git strips from both ends of a name."""


class LooseObjects:
    """The folder `objects` of a git folder, for writing. What is written is not synced: see `git_redo`."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk
        self.added: dict[str, bytes] = {}
        """The loose files, by id, of all that was to be added since this was emptied last."""

    def add(self, kind: str, data: bytes) -> str:
        """Write the object of `kind` (blob, tree, commit) unless it is there as a loose one; gives its id."""
        whole = _whole(kind, data)
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        if name in self.added:
            return name
        loose = self.added[name] = zlib.compress(whole, level=1)
        path = Path(f"{self._folder}/{name[:2]}/{name[2:]}")
        # An empty file is what a power cut leaves of an object written without fsync; it would shadow this one.
        if not size_of(path):
            with told_as_fault(path):
                self._disk.make_folder(path.parent)
                self._disk.write(path, loose, mode=OBJECT_MODE, synced=False, begun_in=self._folder.parent)
        return name


def loose_file(folder: Path, name: str) -> Path:
    """Where the object `name` lies in the folder `objects`, if it is loose."""
    return folder / name[:2] / name[2:]


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
