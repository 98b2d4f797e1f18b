"""The files of a layer as one kernel knows them: as it read or wrote them last, and as it loaded them.

Owns what others changed of them, and what no commit has. Knows nothing of what the files define.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from .definition import RelPath
from .store import Change, CommitId, Dirt, Message, Promised, Store, Write
from .watch import Watch

if TYPE_CHECKING:
    from .others import Others


class Tracked:
    """What one kernel knows of the files in a store. Who asks holds the layer's lock."""

    def __init__(self, store: Store) -> None:
        self.files: dict[RelPath, bytes] = {}  # as last read or written here
        self.loaded: dict[RelPath, bytes] = {}  # as loaded or written here: what others changed since differs
        self._store = store
        self._head: CommitId | None = None  # as last read or written here
        self._by_hand: set[RelPath] = set()  # files that may have what no commit has
        self._watch = Watch(store)
        self.is_settled = True  # whether the store has nothing left to do of what was committed here

    def begin(self) -> None:
        """The files are about to be read and loaded.

        Raises:
            StoreFault: the folder cannot be read.
        """
        self._watch.catch_up()
        self._head = self._store.head()

    def has_begun(self, files: Mapping[RelPath, bytes]) -> None:
        """All of `files` were read, and loaded as far as they can be."""
        self.files = dict(files)
        self.loaded = self.files.copy()

    def read_anew(self) -> Mapping[RelPath, bytes]:
        """Read all files again; gives them as they were known before.

        Raises:
            StoreFault: the folder cannot be read.
        """
        self._head = self._store.head()
        files, before = dict(self._store.files()), self.files
        self._by_hand.update(path for path in {*files, *before} if files.get(path) != before.get(path))
        self.files = files
        return before

    def dirt(self) -> Dirt:
        """What `git status` lists."""
        dirt = self._store.dirt()
        self._by_hand.update(dirt.changed, dirt.unknown)
        return dirt

    # What others did.

    def has_moved(self) -> bool:
        """Whether another kernel or git itself committed since this one last did or looked.

        Raises:
            StoreFault: the folder cannot be read.
        """
        return self._store.head() != self._head

    def has_changed(self, paths: Iterable[RelPath]) -> bool:
        """Whether one of these files is no more as it was read or written last.

        Raises:
            StoreFault: the file cannot be read.
        """
        return any(self._store.file(path) != self.files.get(path) for path in paths)

    @property
    def is_stirred(self) -> bool:
        """Whether there may be news; some microseconds, and without the lock."""
        return self._watch.is_stirred

    def news(self) -> Others | None:
        """What others committed since this was asked last, or since all was read; None where that is nothing.

        Raises:
            StoreFault: the folder cannot be read.
        """
        commits = self._watch.look()
        if commits is None:
            return None
        from .others import told_by  # here: no start has anything to tell of them

        return told_by(commits, self._store.files(), self.loaded)

    def catch_up(self) -> None:
        """Take everything until now for heard.

        Raises:
            StoreFault: the repository cannot be read.
        """
        self._watch.catch_up()

    # What this kernel does.

    def commit(
        self, changes: Sequence[Change], message: Message, made: Collection[RelPath], promised: Promised
    ) -> CommitId | None:
        """Commit `changes`; None where they leave all as it is. `made` are the files of what is live here by that.

        Raises:
            LayerError: nothing was written.
        """
        commit = self._store.commit(changes, message, promised) if changes else None
        self.is_settled = self.is_settled and commit is None
        for change in changes:
            in_step = change.path in made or self.loaded.get(change.path) == self.files.get(change.path)
            if not isinstance(change, Write):
                self.files.pop(change.path, None)
                self.loaded.pop(change.path, None)
                continue
            self.files[change.path] = change.data
            if in_step:  # else it is another's definition, of which this kernel changed an import
                self.loaded[change.path] = change.data
        if commit is not None:
            self._head = commit
            self._watch.committed(commit, self._store.base)
        return commit

    def settle(self) -> bool:
        """Do some of what is better done at rest; whether there is more.

        Raises:
            LayerError: it stays to be done.
        """
        self.is_settled = not self._store.settle()
        return not self.is_settled

    def made(self, commit: CommitId) -> None:
        """This kernel made `commit` otherwise than by `commit`."""
        self._watch.committed(commit, self._store.base)
        self.is_settled = False

    def has_loaded(self, files: Mapping[RelPath, bytes | None]) -> None:
        """This kernel has loaded `files` as they are now; None for one that is gone."""
        for path, data in files.items():
            if data is None:
                self.loaded.pop(path, None)
            else:
                self.loaded[path] = data

    def adopted(self, commit: CommitId, files: Mapping[RelPath, bytes | None], before: CommitId | None) -> None:
        """This kernel made `commit`, which came after `before`, of what a hand had made of `files`."""
        self.is_settled = False
        # Where a file is no more as it was read here, the commit is news here too.
        if all(self.files.get(path) == data for path, data in files.items()):
            self._watch.committed(commit, self._store.base)
            if before == self._head:
                self._head = commit

    def by_hand(self, paths: Iterable[RelPath]) -> Sequence[RelPath]:
        """Those of `paths` that may have what no commit has."""
        return sorted(self._by_hand.intersection(paths))

    def saved(self, paths: Iterable[RelPath]) -> None:
        """What a hand made of the files `paths` is in a commit, or kept elsewhere."""
        self._by_hand.difference_update(paths)
