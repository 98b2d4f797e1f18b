"""Git's history, read: which commits there are, what one changed, how a file was. Writes nothing.

Knows no dulwich: commits come from callables, in git's order or one by its name, and objects from another.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from itertools import islice
from typing import Protocol

from .definition import RelPath
from .git_tree import FOLDER, Entry, Path, Read, differing, differs_at, find, names_of, tree_of
from .store import Changed, CommitId, Identity, LogEntry, Message, found_in

_FEW = 50  # commits to be read one by one
_SUBMODULE = 0o160000  # its commit is an object of another repository
_TREES = 1024  # kept while a history is walked: most trees of a commit are its parent's too


class RawCommit(Protocol):
    """What is read of a commit object."""

    author_time: int
    author_timezone: int
    author: bytes
    message: bytes

    @property
    def id(self) -> bytes: ...
    @property
    def parents(self) -> Sequence[bytes]: ...


class History:
    """The commits behind `head`, newest first."""

    def __init__(
        self,
        head: CommitId | None,
        walk: Callable[[CommitId, CommitId | None], Iterable[RawCommit]],
        commit: Callable[[CommitId], RawCommit],
        read: Read,
    ) -> None:
        """`walk` gives the commits behind its first argument, without those behind the second."""
        self._head = head
        self._walk = walk
        self._commit = commit
        self._read = read

    def log(self, limit: int | None, paths: Collection[RelPath], since: CommitId | None) -> Sequence[LogEntry]:
        """See `Store.log`."""
        if limit == 0:
            return ()
        entries = self._entries(since)
        return tuple(islice(self._of(entries, [names_of(path) for path in paths]) if paths else entries, limit))

    def find(self, name: str) -> LogEntry:
        """See `Store.find`."""
        return found_in(self._entries(), name)

    def changed(self, commit: CommitId) -> Mapping[RelPath, Changed]:
        """See `Store.changed`."""
        parents = _parents(self._read(commit))
        before, after = tree_of(parents[0] if parents else None, self._read), tree_of(commit, self._read)
        found = sorted(differing(before, after, self._read), key=lambda each: each[0])
        changed = {RelPath(os.fsdecode(path)): Changed(*map(self._data, pair)) for path, *pair in found}
        return {path: each for path, each in changed.items() if each != Changed(None, None)}

    def show(self, commit: CommitId, path: RelPath) -> bytes | None:
        """See `Store.show`."""
        return self._data(find(tree_of(commit, self._read), names_of(path), self._read))

    def _data(self, entry: Entry | None) -> bytes | None:
        return self._read(entry.id) if entry is not None and entry.mode not in (FOLDER, _SUBMODULE) else None

    def _entries(self, since: CommitId | None = None) -> Iterator[LogEntry]:
        if self._head is None:
            return iter(())
        few = _straight(self._head, since, self._commit) if since is not None else None
        return map(_log_entry, self._walk(self._head, since) if few is None else few)

    def _of(self, entries: Iterable[LogEntry], paths: Sequence[Path]) -> Iterator[LogEntry]:
        read = lru_cache(_TREES)(self._read)
        for entry in entries:
            tree, *parents = (tree_of(commit, read) for commit in (entry.id, *(entry.parents or [None])))
            if all(any(differs_at(tree, parent, path, read) for path in paths) for parent in parents):
                yield entry


def _straight(head: CommitId, since: CommitId, read: Callable[[CommitId], RawCommit]) -> list[RawCommit] | None:
    """The commits from `head` back to `since` where these are few and none is a merge: a walker takes its time."""
    found: list[RawCommit] = []
    name = head
    while name != since and len(found) < _FEW:
        commit = read(name)
        if len(commit.parents) != 1:
            return None
        found.append(commit)
        name = CommitId(commit.parents[0].decode())
    return found if name == since else None


def _parents(commit: bytes) -> list[str]:
    head = commit.partition(b"\n\n")[0].split(b"\n")
    return [line.removeprefix(b"parent ").decode() for line in head if line.startswith(b"parent ")]


def _log_entry(commit: RawCommit) -> LogEntry:
    name, _, rest = commit.author.decode("utf-8", "replace").partition(" <")
    message = Message.read(commit.message.decode("utf-8", "replace"))
    try:
        zone = timezone(timedelta(seconds=commit.author_timezone))
    except ValueError:  # git takes offsets of more than a day
        zone = UTC
    return LogEntry(
        CommitId(commit.id.decode()),
        Identity(name, rest.removesuffix(">")),
        datetime.fromtimestamp(commit.author_time, zone),
        message.subject,
        message.body,
        message.trailers,
        tuple(CommitId(parent.decode()) for parent in commit.parents),
    )
