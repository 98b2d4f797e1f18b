"""`GitStore`: a layer kept in a git repository.

Everything is read and written by the git_*.py beside this file, written through the Disk port; what writes is imported
when there is something to write. Knows nothing of definitions beyond where their files lie.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .definition import RelPath
from .disk import Disk
from .errors import LayerError, LayerUnusable, StoreBusy, StoreFault, UnknownCommit
from .git_dulwich import Reader, git_identity
from .git_files import definition_files, definition_stamps, drop_empty_folders, is_as_seen, one_file, unknown_files
from .git_locks import REDO, TURN, WAIT, turn
from .git_refs import Refs
from .interrupts import interrupts_deferred
from .journal import Journal, size_of, told_as_fault
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
    Stamp,
    Write,
    parts,
)

if TYPE_CHECKING:
    from .git_commit import Commits
    from .git_history import History
    from .git_recovery import Note
    from .git_redo import RedoLog

_AT_ONCE = 16  # files synced in one step: some milliseconds
_FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info")
_UNSEEN = (".git/refs", ".git/objects", ".git", ".")  # folders with others in them that no commit has synced
_FILES = {
    # gc.auto: git would pack in the middle of a cell. autocrlf: a file's bytes are what was kept. sharedRepository:
    # what the git command line adds is for this user only, too.
    "config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
    "\tautocrlf = false\n\tsharedRepository = 0600\n[gc]\n\tauto = 0\n",
    # Last, since a folder without it is no repository: not for git, and not for `GitStore.open`.
    "HEAD": "ref: refs/heads/main\n",
}


class GitStore:
    """The layer in the folder `path`. Made by `create` or `open`; threads and processes may share a layer."""

    def __init__(self, path: Path, author: Identity | None, disk: Disk) -> None:
        self.path = path
        self._git = path / ".git"
        self._disk = disk
        self._refs = Refs(self._git, disk, WAIT)
        self._author = author
        self._reader = Reader(path)
        self._alone = threading.RLock()  # dulwich's object store is not made for two threads at once
        self.is_torn = False

    @classmethod
    def create(
        cls, path: Path, files: Mapping[RelPath, bytes], message: Message, *, author: Identity | None, disk: Disk
    ) -> GitStore:
        """Make the repository, branch main, with `files` as its first commit; nothing of it stays where that fails.

        Completes one that a killed process left without its first commit. What else is in the folder stays unknown
        to git.
        """
        store = cls(path, author, disk)
        with interrupts_deferred():
            store._create(files, message)
        return store

    @classmethod
    def open(cls, path: Path, *, author: Identity | None, disk: Disk) -> GitStore:
        """Open the repository at `path`. Reads one file, writes nothing. LayerUnusable where there is none."""
        if not (path / ".git" / "HEAD").is_file():
            raise LayerUnusable(path, "is no git repository of its own", "choose another folder, or `git init` there")
        return cls(path, author, disk)

    def files(self) -> Mapping[RelPath, bytes]:
        return definition_files(self.path)

    def stamps(self) -> Mapping[RelPath, Stamp]:
        return definition_stamps(self.path)

    def is_as(self, seen: Seen) -> bool:
        return is_as_seen(self.path, seen)

    def file(self, path: RelPath) -> bytes | None:
        return one_file(self.path, path)

    def head(self) -> CommitId | None:
        with told_as_fault(self._git / "HEAD"):
            return self._refs.head().commit

    def mark(self) -> object:
        return self._refs.mark()

    def commit(self, changes: Sequence[Change], message: Message, promised: Promised | None = None) -> CommitId | None:
        """See `Store.commit`. LayerUnusable where HEAD names no branch or a merge is under way."""
        from .git_recovery import Note

        wanted = {change.path: change.data if isinstance(change, Write) else None for change in changes}
        with self._turn():
            self._settle_if(self._redo.is_long)
            with self._committing(Note.of(wanted, redo=self._redo.size), synced=False) as journal:
                commit = self._commits.make(wanted, message, journal, promised)
                # From here on the commit stands, whatever happens.
                journal.settle()
                for path, data in wanted.items():
                    if data is None:
                        drop_empty_folders(self.path, path, self._disk.remove_folder)
            self._settle_if(not self._redo.lasts)
            return commit

    def adopt(self, files: Mapping[RelPath, bytes | None], message: Message) -> CommitId | None:
        """See `Store.adopt`; raises as `commit`."""
        from .git_recovery import Note

        with self._turn():
            self._settle_if(self._redo.is_long)
            note = Note.of(files, by_hand=True, redo=self._redo.size)
            with self._committing(note, synced=False) as journal:
                commit = self._commits.make(files, message, journal, None, by_hand=True)
                journal.settle()
            self._settle_if(not self._redo.lasts)
            return commit

    @property
    def base(self) -> CommitId | None:
        return self._commits.base

    def settle(self) -> bool:
        """See `Store.settle`."""
        self._note_agreement()
        if not size_of(self._git / REDO):
            return self._is_used and self._commits.make_folders(_AT_ONCE)
        if self._redo.has_grown():
            with self._turn():
                self._redo.look()
        if left := self._redo.left:
            self._redo.sync(left[:_AT_ONCE])
            return True
        with self._turn():
            if not self._redo.has_grown():
                self._redo.restore(lambda name: self._reader.has(CommitId(name)))
                self._redo.empty()
        return True

    def _note_agreement(self) -> None:
        if self._is_used:
            self._commits.note_agreement()

    @property
    def _is_used(self) -> bool:
        """Whether anything was committed here."""
        return "_commits" in self.__dict__

    def _settle_if(self, due: bool) -> None:
        if due:
            with suppress(StoreFault):  # all stays promised
                self._redo.settle()

    @property
    def is_behind(self) -> bool:
        return self._is_used and self._commits.is_behind

    def heal(self) -> bool:
        from .git_agreed import is_clean
        from .git_recovery import Note

        if self.is_torn:
            with suppress(LayerError):
                self.recover()
        if self.is_torn or os.path.lexists(self._git / "index.lock"):
            return False
        try:
            with self._turn():  # also where there is nothing to mend: whether there are locks is told early
                self._note_agreement()
                if is_clean(self.path, self._refs.head().commit):
                    return True
                with self._committing(Note.of({})) as journal:
                    done = self._commits.heal(journal)
                    journal.settle()
                    return done
        except StoreBusy:
            return False
        except StoreFault:
            return True  # a disk that nothing can be written to; what it looks like can be told all the same

    def recover(self) -> None:
        """See `Store.recover`; `commit` does it first."""
        with told_as_fault(self._git):
            if not size_of(self._git / TURN) and not size_of(self._git / REDO):
                return
        with self._turn():
            pass

    def dirt(self) -> Dirt:
        from .git_agreed import is_clean

        with self._alone, told_as_fault(self._git):
            self._note_agreement()
            commit = self._refs.head().commit
            return Dirt() if is_clean(self.path, commit) else self._dirt(commit)

    def _dirt(self, commit: CommitId | None) -> Dirt:
        from .git_agreed import Agreement, is_ignore_file, remember
        from .git_index import index_of
        from .git_tree import every_file, tree_of

        head = dict(every_file(tree_of(commit, self._reader.object), self._reader.object))
        index, newlines = index_of(self.path), self._reader.converts_newlines()
        told = index.conflicted | (head.keys() - index.staged.keys())
        told.update(path for path, staged in index.staged.items() if head.get(path) != staged.entry)
        agrees, changed = not told, told.copy()
        for path, staged in index.staged.items():
            if index.differs(self.path, path, staged, newlines=newlines):
                changed.add(path)
        known = {os.fsdecode(path) for path in index.staged.keys() | index.conflicted}
        ignored: set[str] = set()
        unknown = [*unknown_files(self.path, known.__contains__, self._reader.ignored(told=ignored))]
        if agrees:
            # By an ignore file that is itself no commit's, what is ignored may be another tomorrow.
            own = any(map(is_ignore_file, (*map(os.fsdecode, changed), *ignored, *unknown)))
            remember(self._git, Agreement(commit, index.checksum, frozenset() if own else frozenset(ignored)))
        by_git, at_all = (tuple(RelPath(os.fsdecode(path)) for path in sorted(paths)) for paths in (told, changed))
        return Dirt(at_all, tuple(sorted(unknown)), by_git)

    def log(
        self, limit: int | None = None, paths: Collection[RelPath] = (), *, since: CommitId | None = None
    ) -> Sequence[LogEntry]:
        with self._history() as history:
            return history.log(limit, paths, since)

    def find(self, name: str) -> LogEntry:
        with self._history() as history:
            return history.find(name)

    def changed(self, commit: CommitId) -> Mapping[RelPath, Changed]:
        with self._history(commit) as history:
            return history.changed(commit)

    def show(self, commit: CommitId, path: RelPath) -> bytes | None:
        with self._history(commit) as history:
            return history.show(commit, path)

    def _create(self, files: Mapping[RelPath, bytes], message: Message) -> None:
        journal = Journal(self._disk, self._git)
        ours = not os.path.lexists(self._git)
        try:
            with told_as_fault(self._git):
                for folder in _FOLDERS:
                    journal.make_folder(self._git / folder)
                for folder in _UNSEEN:
                    self._disk.sync(self.path / folder)
                for name, text in _FILES.items():
                    if not (self._git / name).exists():
                        journal.write(self._git / name, text.encode())
            self.commit([Write(path, data) for path, data in files.items()], message)
        except BaseException as fault:
            if ours:
                shutil.rmtree(self._git, ignore_errors=True)  # with the objects, which no journal has
            journal.undo(fault)
            raise
        journal.settle()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Be the only one that writes during the block, with nothing left of dead ones."""
        lock = self._git / TURN
        with interrupts_deferred(), self._alone, turn(lock, self._disk, WAIT):
            with told_as_fault(self._git):
                if size_of(self._git / REDO) and (commits := self._redo.lost()) is not None:
                    from .git_redone import redo

                    redo(self.path, commits, self._disk, self._refs, self._reader.object)
                    self._redo.settle()
                    self._disk.cut(lock, 0)  # a note from before that is of one of them, or of nothing that is left
                elif size_of(lock):
                    from .git_recovery import take_back

                    take_back(self.path, lock.read_bytes(), self._disk, self._refs, self._reader.object, self._redo)
                    self._disk.cut(lock, 0)
                self.is_torn = False
            yield

    @contextmanager
    def _committing(self, note: Note, *, synced: bool = True) -> Iterator[Journal]:
        """Have all that is written by the journal given taken back where the block fails."""
        for path in note.blobs:
            parts(path)
        with self._noted(note, synced=synced) as journal:
            try:
                with told_as_fault(self._git):
                    self._reader.check()
                    yield journal
            except BaseException as fault:
                journal.undo(fault)
                raise

    @contextmanager
    def _noted(self, note: Note, *, synced: bool) -> Iterator[Journal]:
        """Have `note` on disk during the block, for whoever comes after a kill in it; gives the journal to write by."""
        lock = self._git / TURN
        try:
            with told_as_fault(lock):
                self._disk.append(lock, note.to_bytes(), synced=synced)
            yield Journal(self._disk, self._git, note.token, synced=synced)
        finally:
            try:
                self._disk.cut(lock, 0)
            except OSError:
                self.is_torn = True  # or whole, and then the next turn finds nothing to take back

    @cached_property
    def _commits(self) -> Commits:
        from .git_commit import Commits

        return Commits(self.path, self._signer, self._disk, self._refs, self._reader.object, self._redo)

    @cached_property
    def _redo(self) -> RedoLog:
        from .git_redo import RedoLog

        return RedoLog(self.path, self._disk)

    def _signer(self) -> Identity:
        """Who commits: as told, else whom git knows, asked when the first commit is made: reading needs no author."""
        if self._author is None:
            self._author = git_identity() or FALLBACK
        return self._author

    @contextmanager
    def _history(self, commit: CommitId | None = None) -> Iterator[History]:
        """The history, to be read within the block. UnknownCommit where `commit` is none."""
        from .git_history import History

        with self._alone, told_as_fault(self._git):
            if commit is not None and not self._reader.has(commit):
                raise UnknownCommit(commit, "is no commit of this layer")
            yield History(self._refs.head().commit, self._reader.walk, self._reader.commit, self._reader.object)
