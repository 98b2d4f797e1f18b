"""The port to where a layer is stored: what is asked of a store, and nothing of how.

`git.GitStore` is the real one, `memory.MemoryStore` one that leaves nothing behind;
tests/layer/test_store_contract.py holds both to the same promises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import NewType, Protocol, TypeAlias

from .definition import Kind, RelPath
from .errors import UnknownCommit
from .slots import fact

CommitId = NewType("CommitId", str)
"""40 lower-case hex digits."""


Stamp: TypeAlias = tuple[int, int, int, int]
"""Of a file: inode, size, and the times of the last change of content and of inode, in nanoseconds."""


@fact
class Seen:
    """What lies in the folders of definitions, in a form that is quick to compare. Only a store looks into it."""

    folders: tuple[tuple[str, str, tuple[str, ...]], ...]  # each path, all that it lists as one text, folders in it
    stamps: bytes  # of all that is no folder, one after the other


_FOLDERS = frozenset(kind.folder for kind in Kind)
_BACK = r"(?:HEAD|@)(?:~(?P<count>\d*)|(?P<signs>\^+))?"
_ID = r"[0-9a-fA-F]{4,40}"
_SHORT_GIT = r"(?i:git~1)[ .]*(:.*)?"  # NTFS
_UNSEEN = "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"  # HFS+
_TRAILER = r"([A-Za-z0-9][A-Za-z0-9-]*): (.*)"


Promised: TypeAlias = "Callable[[CommitId], Mapping[Path, bytes]]"
"""What a commit of that id has written to files elsewhere by its maker, whole lines at the end of each."""


class NotRead(bytes):
    """What stands for the bytes of a file that is there and cannot be read: why, as the system words it.

    It is one file that is lost by that, where a fault would cost all of the layer.
    """


@fact
class Write:
    """Put `data` at `path`, whether or not something is there."""

    path: RelPath
    data: bytes


@fact
class Remove:
    """Take `path` away; one that is not there is no fault."""

    path: RelPath


Change: TypeAlias = Write | Remove


@fact
class Message:
    """A commit message: subject line, body (may be empty), trailers as (name, value)."""

    subject: str
    body: str = ""
    trailers: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """The message as git has it, ending in one newline."""
        parts = [self.subject]
        if self.body:
            parts.append(self.body)
        if self.trailers:
            parts.append("\n".join(f"{name}: {value}" for name, value in self.trailers))
        return "\n\n".join(parts) + "\n"

    @classmethod
    def read(cls, text: str) -> Message:
        """The parts of a message. Trailers are the last paragraph if it is not the first and has only `Name: value`."""
        subject, _, rest = text.strip("\n").partition("\n\n")
        before, _, last = rest.rpartition("\n\n")
        lines = [re.fullmatch(_TRAILER, line) for line in last.split("\n")]
        trailers = tuple((line[1], line[2]) for line in lines if line)
        if len(trailers) < len(lines):
            before, trailers = rest, ()
        return cls(subject.replace("\n", " "), before.strip("\n"), trailers)


@fact
class Identity:
    """Who a commit is by."""

    name: str
    email: str


FALLBACK = Identity("perdure", "perdure@localhost")
"""The author where git knows of none."""


@fact
class LogEntry:
    """One commit of the history."""

    id: CommitId
    author: Identity
    time: datetime  # whole seconds, with the author's offset
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]
    parents: tuple[CommitId, ...] = ()


@fact
class Changed:
    """What one commit did to one path: its bytes before and after, None where there is no file."""

    before: bytes | None
    after: bytes | None


@fact
class Dirt:
    """Where the working tree differs from the last commit."""

    changed: tuple[RelPath, ...] = field(default=())  # edited, deleted or staged since
    unknown: tuple[RelPath, ...] = field(default=())  # not in git and not ignored
    staged: tuple[RelPath, ...] = field(default=())  # of `changed`: somebody told git of it, or a merge left it so

    def __bool__(self) -> bool:
        return bool(self.changed or self.unknown)


class Store(Protocol):
    """A place that holds the files of one layer and their history.

    Every method raises `StoreFault` where the disk fails and `StoreBusy` where a lock is not let go.
    """

    def files(self) -> Mapping[RelPath, bytes]:
        """Every definition file as it stands now (hand edits included), sorted by path; `NotRead` where it must be."""
        ...

    def stamps(self) -> Mapping[RelPath, Stamp] | None:
        """For every one of these files what tells it from any that was there before; None where only its bytes do."""
        ...

    def is_as(self, seen: Seen, /) -> bool:
        """Whether all is sure to be as it was when that was seen; quicker than to compare stamps."""
        ...

    def file(self, path: RelPath) -> bytes | None:
        """The file at `path` as it stands now, None where there is none."""
        ...

    def commit(self, changes: Sequence[Change], message: Message, promised: Promised | None = None) -> CommitId | None:
        """Write all of `changes` and commit them, or do nothing and raise.

        The caller adds what is `promised` to its files when this has returned, and need not sync it: it lasts as the
        commit does.

        Returns None where the changes leave everything as it is: then there is no commit. On return the commit lasts,
        whatever happens to the machine, and `dirt` is as it was before, less what `changes` names. Other paths stay as
        they are, staged or not. Of two changes of one path the last counts; a path outside the layer is a ValueError.
        """
        ...

    def adopt(self, files: Mapping[RelPath, bytes | None], message: Message) -> CommitId | None:
        """Commit `files` as a hand left them, None for one that it took away; otherwise as `commit`.

        No file is written or taken away: one that is no more as told here stays as it is, and dirty.
        """
        ...

    @property
    def base(self) -> CommitId | None:
        """What the last commit that was made here was made on."""
        ...

    def settle(self) -> bool:
        """Do some of what commits left to be done while nobody waits; whether there is more.

        Raises:
            LayerError: it stays to be done; nothing is lost by that.
        """
        ...

    @property
    def is_behind(self) -> bool:
        """Whether `dirt` has what was committed while another program held git's index; `heal` mends it."""
        ...

    def heal(self) -> bool:
        """Mend what others, by writing at the same time, undid of commits; False where one is at work just now.

        Raises:
            NoLocks: nothing can be committed here at all.
        """
        ...

    @property
    def is_torn(self) -> bool:
        """Whether files may be half those of a commit that failed here, on a disk that let nobody take it back."""
        ...

    def recover(self) -> None:
        """Take back what is left of a commit that failed, here or with a kernel that was killed.

        Raises:
            LayerError: it cannot be done now; what is left stays for the next one.
        """
        ...

    def head(self) -> CommitId | None:
        """The last commit, None before the first."""
        ...

    def mark(self) -> object:
        """A value that is another one whenever `head` may be; told in a few microseconds."""
        ...

    def dirt(self) -> Dirt:
        """What `git status` would list, sorted; each unknown file by itself."""
        ...

    def log(
        self, limit: int | None = None, paths: Collection[RelPath] = (), *, since: CommitId | None = None
    ) -> Sequence[LogEntry]:
        """The history behind `head`, newest first, at most `limit` entries; without what is behind `since`, and it.

        With `paths`, the commits that changed one of them; a merge only where it differs from all that it merged.
        """
        ...

    def find(self, name: str) -> LogEntry:
        """The commit of the history that `name` means: its id or the first four digits or more of it, HEAD, `HEAD~2`.

        Raises:
            UnknownCommit: the history has none of that name, or several.
        """
        ...

    def changed(self, commit: CommitId) -> Mapping[RelPath, Changed]:
        """What `commit` did, by path and sorted by it: against its first parent, or nothing where it has none.

        Raises:
            UnknownCommit: there is no such commit.
        """
        ...

    def show(self, commit: CommitId, path: RelPath) -> bytes | None:
        """The file at `path` as of `commit`, None where there was none.

        Raises:
            UnknownCommit: there is no such commit.
        """
        ...


def found_in(history: Iterable[LogEntry], name: str) -> LogEntry:
    """See `Store.find`; `history` is that of the store, newest first."""
    if (steps := re.fullmatch(_BACK, name)) is not None:
        wanted = None
        back = steps["signs"].count("^") if steps["signs"] is not None else _count(steps["count"])
        for entry in history:
            if wanted in (None, entry.id):
                if back == 0:
                    return entry
                back -= 1
                if not entry.parents:
                    break
                wanted = entry.parents[0]
        raise UnknownCommit(name, "reaches behind the first commit")
    if re.fullmatch(_ID, name) is None:
        raise UnknownCommit(name, "is no commit; %layer log lists them")
    found = [entry for entry in history if entry.id.startswith(name.lower())]
    if len(found) != 1:
        raise UnknownCommit(
            name, "may be any of several commits; write more of it" if found else "is no commit of this layer"
        )
    return found[0]


def _count(digits: str | None) -> int:
    return 0 if digits is None else int(digits or 1)  # `HEAD~` is `HEAD~1`


def is_same(one: bytes | None, other: bytes | None) -> bool:
    """Whether two versions of a file are the same but for their newlines, which git may convert."""
    if one is None or other is None:
        return one is other
    return one == other or one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def holds_definition(path: RelPath) -> bool:
    """Whether a file of this path is one of a definition: a `.py` under a Kind's folder, nothing of it hidden."""
    first, *rest = path.split("/")
    return first in _FOLDERS and bool(rest) and rest[-1].endswith(".py") and not any(map(is_hidden, rest))


def is_hidden(name: str) -> bool:
    """Whether no definitions are looked for in a file or folder of this name.

    It begins with a dot, or is what some file system takes for `.git`: a commit that had it could not be checked out.
    """
    if name.isascii():
        return name.startswith(".") or (name[:5].lower() == "git~1" and re.fullmatch(_SHORT_GIT, name) is not None)
    return name.lstrip(_UNSEEN).startswith(".")


def parts(path: RelPath) -> tuple[str, ...]:
    """The names a path is made of. ValueError for one that would leave the layer or reach into its `.git`."""
    names = tuple(path.split("/"))
    if any(name in {"", ".", ".."} or name.lower() == ".git" or "\0" in name for name in names):
        raise ValueError(f"no path inside a layer: {path!r}")
    return names
