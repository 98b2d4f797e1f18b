"""The history of a definition: which commits made it what it is, how it was, and what has changed since.

Followed by name through the commits: a definition that became a class, or got a file of its own, is still the same.
Reads a store; knows nothing of what is live.
"""

from __future__ import annotations

import difflib

from .definition import Key, Kind, RelPath
from .errors import UnreadableFile
from .fileformat import read
from .given import owner_of
from .naming import name_told_by, path_of
from .slots import fact
from .store import CommitId, LogEntry, Store, holds_definition, is_same

SHORT = 7
"""Digits of a commit's id that are shown, as git does."""


@fact
class Version:
    """The file of a definition at some time; `when` is what that is called, a short commit id or `now`."""

    path: RelPath
    data: bytes
    when: str


@fact
class NoVersion:
    """There is nothing to compare with; `why` is a sentence without its full stop."""

    why: str


class Past:
    """The past of the definition `name`, whose file is at `path` now; None where it has none any more."""

    def __init__(self, store: Store, name: str, path: RelPath | None) -> None:
        self._store = store
        self._name = name
        self._path = path
        kinds = (Kind.METHOD,) if owner_of(name) else (Kind.FUNCTION, Kind.CLASS, Kind.VALUE)
        self._paths = {path_of(kind, Key(name), twin=twin) for kind in kinds for twin in (False, True)}
        self._paths |= {path} if path else set()

    def log(self, limit: int) -> tuple[LogEntry, ...]:
        """The newest `limit` commits that changed the definition or its file, newest first."""
        asked = limit
        while True:
            entries = self._store.log(asked, sorted(self._paths))
            before = len(self._paths)
            found = [entry for entry in entries if self._concerns(entry.id)]
            if len(self._paths) > before:
                continue  # it came from another file: from the beginning, with that
            if len(found) >= limit or len(entries) < asked:
                return tuple(found[:limit])
            asked *= 2

    def now(self) -> Version | None:
        """The file as it stands."""
        data = self._store.file(self._path) if self._path else None
        return Version(self._path, data, "now") if self._path and data is not None else None

    def before(self) -> Version | NoVersion:
        """The file before the last change of it: the last commit's where there are changes that are not committed.

        That is also so where a hand took the file away.
        """
        now, head = self.now(), self._store.head()
        committed = self._at(head) if head else None
        if committed and not is_same(committed.data, now.data if now else None):
            return committed
        newest = self.log(1)
        if newest and newest[0].parents and (version := self._at(newest[0].parents[0])):
            return version
        return NoVersion(f"{self._name} has no earlier version")

    def at(self, commit: LogEntry) -> Version | NoVersion:
        """The file as of `commit`."""
        if version := self._at(commit.id):
            return version
        self.log(len(self._store.log()) or 1)  # finds every file that it was in
        return self._at(commit.id) or NoVersion(f"{self._name} was not there at {commit.id[:SHORT]}")

    def _at(self, commit: CommitId) -> Version | None:
        for path in sorted(self._paths):
            data = self._store.show(commit, path)
            if self._gives(path, data):
                assert data is not None
                return Version(path, data, commit[:SHORT])
        return None

    def _concerns(self, commit: CommitId) -> bool:
        """Whether `commit` changed the definition; notes the file that it was in before, if that was another."""
        changed = self._store.changed(commit)
        mine = [
            each for path, each in changed.items() if path in self._paths and self._is_of(path, each.before, each.after)
        ]
        if any(each.before is None for each in mine):
            others = [path for path in changed.keys() - self._paths if holds_definition(path)]
            self._paths |= {path for path in others if self._gives(path, changed[path].before)}
        return bool(mine)

    def _is_of(self, path: RelPath, *versions: bytes | None) -> bool:
        return any(self._gives(path, data) for data in versions)

    def _gives(self, path: RelPath, data: bytes | None) -> bool:
        if data is None:
            return False
        try:
            return self._name in read(path, data).gives
        except UnreadableFile:
            return name_told_by(path) == self._name


def unified(old: Version | None, new: Version | None) -> str:
    """The differences as `git diff` would show them; empty where there are none."""
    sides = [version.data.decode("utf-8", "replace").splitlines() if version else [] for version in (old, new)]
    names = [f"{version.path} ({version.when})" if version else "/dev/null" for version in (old, new)]
    return "\n".join(difflib.unified_diff(sides[0], sides[1], names[0], names[1], lineterm=""))
