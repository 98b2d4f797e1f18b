"""`MemoryStore`: a layer that is nowhere but in memory, with the promises of a real one. For tests and previews."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from .definition import RelPath
from .errors import StoreFault, UnknownCommit
from .store import (
    FALLBACK,
    Change,
    Changed,
    CommitId,
    Dirt,
    Identity,
    LogEntry,
    Message,
    Promised,
    Seen,
    Write,
    found_in,
    holds_definition,
    parts,
)


class MemoryStore:
    """Working files, the last commit's files, and the history, newest last."""

    def __init__(self, files: Mapping[RelPath, bytes] | None = None, *, author: Identity = FALLBACK) -> None:
        self._author = author
        self._working = dict(files or {})
        self._committed: dict[RelPath, bytes] = {}
        self._log: list[LogEntry] = []
        self._snapshots: dict[CommitId, dict[RelPath, bytes]] = {}
        self._alone = threading.Lock()
        self.commit([Write(path, data) for path, data in self._working.items()], Message("start"))

    def files(self) -> Mapping[RelPath, bytes]:
        return {path: data for path, data in sorted(self._working.items()) if holds_definition(path)}

    def stamps(self) -> None:
        return None

    def is_as(self, _seen: Seen) -> bool:
        return False

    def file(self, path: RelPath) -> bytes | None:
        return self._working.get(path)

    def commit(self, changes: Sequence[Change], message: Message, promised: Promised | None = None) -> CommitId | None:
        wanted = {change.path: change.data if isinstance(change, Write) else None for change in changes}
        for path in wanted:
            parts(path)
        with self._alone:
            working = _changed(self._working, wanted)
            committed = _changed(self._committed, wanted)
            _refuse_file_above_file(working, [path for path, data in wanted.items() if data is not None])
            self._working = working
            commit = self._record(committed, message)
            if commit is not None and promised is not None:
                promised(commit)
            return commit

    def adopt(self, files: Mapping[RelPath, bytes | None], message: Message) -> CommitId | None:
        with self._alone:
            return self._record(_changed(self._committed, files), message)

    @property
    def base(self) -> CommitId | None:
        return self._log[-2].id if len(self._log) > 1 else None

    def settle(self) -> bool:
        return False

    @property
    def is_behind(self) -> bool:
        return False

    def heal(self) -> bool:
        return True

    @property
    def is_torn(self) -> bool:
        return False

    def recover(self) -> None:
        pass

    def head(self) -> CommitId | None:
        return self._log[-1].id if self._log else None

    def mark(self) -> object:
        return self.head()

    def dirt(self) -> Dirt:
        with self._alone:
            changed = (path for path, data in self._committed.items() if self._working.get(path) != data)
            return Dirt(tuple(sorted(changed)), tuple(sorted(self._working.keys() - self._committed.keys())))

    def log(
        self, limit: int | None = None, paths: Collection[RelPath] = (), *, since: CommitId | None = None
    ) -> Sequence[LogEntry]:
        ids = [entry.id for entry in self._log]
        new = self._log[ids.index(since) + 1 :] if since in ids else self._log
        entries = [entry for entry in reversed(new) if not paths or self.changed(entry.id).keys() & {*paths}]
        return tuple(entries[:limit])

    def find(self, name: str) -> LogEntry:
        return found_in(reversed(self._log), name)

    def changed(self, commit: CommitId) -> Mapping[RelPath, Changed]:
        after = self._at(commit)
        parent = next(parents[:1] for entry in self._log if entry.id == commit for parents in [entry.parents])
        before = self._at(parent[0]) if parent else {}
        paths = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        return {path: Changed(before.get(path), after.get(path)) for path in paths}

    def show(self, commit: CommitId, path: RelPath) -> bytes | None:
        return self._at(commit).get(path)

    def edit(self, path: RelPath, data: bytes | None) -> None:
        """Change a working file by hand, past the store; None takes it away."""
        with self._alone:
            self._working = _changed(self._working, {path: data})

    def _at(self, commit: CommitId) -> dict[RelPath, bytes]:
        try:
            return self._snapshots[commit]
        except KeyError:
            raise UnknownCommit(commit, "is no commit of this layer") from None

    def _record(self, committed: dict[RelPath, bytes], message: Message) -> CommitId | None:
        if committed == self._committed:
            return None
        self._committed = committed
        self._log.append(self._entry(message))
        self._snapshots[self._log[-1].id] = committed
        return self.head()

    def _entry(self, message: Message) -> LogEntry:
        told = Message.read(message.text())
        when = datetime.now(UTC).replace(microsecond=0)
        content = repr((self.head(), sorted(self._committed.items()), message, when)).encode()
        name = hashlib.sha1(content, usedforsecurity=False).hexdigest()
        parents = (before,) if (before := self.head()) else ()
        return LogEntry(CommitId(name), self._author, when, told.subject, told.body, told.trailers, parents)


def _changed(files: Mapping[RelPath, bytes], wanted: Mapping[RelPath, bytes | None]) -> dict[RelPath, bytes]:
    both = {**files, **wanted}
    return {path: data for path, data in both.items() if data is not None}


def _refuse_file_above_file(files: Iterable[RelPath], written: Iterable[RelPath]) -> None:
    """A disk has no file where a folder is, and no folder where a file is."""
    every = set(files)
    folders = {str(above) for path in every for above in Path(path).parents}
    for path in written:
        above = next((str(folder) for folder in Path(path).parents if str(folder) in every), None)
        if above is not None:
            raise StoreFault(Path(above), NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)))
        if path in folders:
            raise StoreFault(Path(path), IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)))
