"""`GitStore`: a layer kept in a git repository. The only file that imports dulwich.

dulwich reads: objects (packs too), the history, ignore rules and git's configuration. It is imported when the first of
these is asked for: a boot that finds its files as they were does not pay for it. Everything is written by the
git_*.py beside this file, through the Disk port. Knows nothing of definitions beyond where their files lie.
"""

from __future__ import annotations

import os
import shutil
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .definition import RelPath
from .disk import Disk
from .errors import LayerUnusable, UnknownCommit
from .git_commit import WAIT, Commits
from .git_files import definition_files, drop_empty_folders, unknown_files
from .git_index import index_of
from .git_locks import TURN, turn
from .git_recovery import Note, take_back
from .git_refs import Refs
from .git_tree import every_file, tree_of
from .interrupts import interrupts_deferred
from .journal import Journal, told_as_fault
from .store import FALLBACK, Change, Changed, CommitId, Dirt, Identity, LogEntry, Message, Write, parts

if TYPE_CHECKING:
    from dulwich.objects import Commit, ObjectID
    from dulwich.repo import Repo

    from .git_history import History

__all__ = ["FALLBACK", "GitStore", "Identity", "git_identity"]

_FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info")
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
        self._commits = Commits(path, self._signer, disk, self._refs, self._object)
        self._opened: Repo | None = None
        self._alone = threading.RLock()  # dulwich's object store is not made for two threads at once

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

    def file(self, path: RelPath) -> bytes | None:
        with told_as_fault(self.path / path):
            try:
                return (self.path / path).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def head(self) -> CommitId | None:
        with told_as_fault(self._git / "HEAD"):
            return self._refs.head().commit

    def mark(self) -> object:
        return self._refs.mark()

    def commit(self, changes: Sequence[Change], message: Message) -> CommitId | None:
        """See `Store.commit`. LayerUnusable where HEAD names no branch or a merge is under way."""
        wanted = {change.path: change.data if isinstance(change, Write) else None for change in changes}
        for path in wanted:
            parts(path)
        with self._turn(), self._noted(Note.of(wanted)) as journal:
            try:
                with told_as_fault(self._git):
                    self._repo()
                    commit = self._commits.make(wanted, message, journal)
            except BaseException as fault:
                journal.undo(fault)
                raise
            # From here on the commit stands, whatever happens.
            journal.settle()
            for path, data in wanted.items():
                if data is None:
                    drop_empty_folders(self.path, path, self._disk.remove_folder)
            return commit

    def recover(self) -> None:
        """Take back what a killed kernel left of its commit, as `commit` does first; one look where there is nothing.

        Raises:
            StoreFault, StoreBusy, LayerUnusable: it cannot be done now; what is left stays for the next one.
        """
        lock = self._git / TURN
        with told_as_fault(lock):
            if not lock.exists() or not lock.stat().st_size:
                return
        with self._turn():
            pass

    def dirt(self) -> Dirt:
        with self._alone, told_as_fault(self._git):
            head = dict(every_file(tree_of(self._refs.head().commit, self._object), self._object))
            index, newlines = index_of(self.path), self._converts_newlines()
            changed = index.conflicted | (head.keys() - index.staged.keys())
            for path, staged in index.staged.items():
                if head.get(path) != staged.entry or index.differs(self.path, path, staged, newlines=newlines):
                    changed.add(path)
            known = {os.fsdecode(path) for path in index.staged.keys() | index.conflicted}
            unknown = unknown_files(self.path, known.__contains__, self._ignored())
            return Dirt(tuple(RelPath(os.fsdecode(path)) for path in sorted(changed)), tuple(sorted(unknown)))

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
                if note := lock.read_bytes():
                    take_back(self.path, note, self._disk, self._refs, self._object)
                    self._disk.cut(lock, 0)
            yield

    @contextmanager
    def _noted(self, note: Note) -> Iterator[Journal]:
        """Have `note` on disk during the block, for whoever comes after a kill in it; gives the journal to write by."""
        lock = self._git / TURN
        try:
            with told_as_fault(lock):
                self._disk.append(lock, note.to_bytes())
            yield Journal(self._disk, self._git, note.token)
        finally:
            try:
                self._disk.cut(lock, 0)
            except OSError:
                pass  # taken for a dead one's by the next turn, which finds nothing to take back

    def _signer(self) -> Identity:
        """Who commits: as told, else whom git knows, asked when the first commit is made: reading needs no author."""
        if self._author is None:
            self._author = git_identity() or FALLBACK
        return self._author

    # What dulwich and the index file are asked.

    def _repo(self) -> Repo:
        if self._opened is None:
            from dulwich.repo import Repo

            with self._damage_told("its configuration"):
                repo = Repo(str(self.path))
                weakref.finalize(self, repo.close)
                for extension, usual in (("objectformat", b"sha1"), ("refstorage", b"files")):
                    try:
                        kind = repo.get_config().get(("extensions",), extension)
                    except KeyError:
                        continue
                    if kind != usual:
                        raise LayerUnusable(
                            self.path,
                            f"is a git repository with {extension} {kind.decode()}",
                            f"perdure writes {usual.decode()} only: clone it into one of that kind",
                        )
            self._opened = repo
        return self._opened

    def _object(self, name: str) -> bytes:
        """The bytes of an object, wherever git keeps it."""
        store = self._repo().object_store
        with self._damage_told(name):
            return store.get_raw(_object_id(name))[1]

    @contextmanager
    def _history(self, commit: CommitId | None = None) -> Iterator[History]:
        """The history, to be read within the block. UnknownCommit where `commit` is none."""
        from .git_history import History

        with self._alone, told_as_fault(self._git):
            if commit is not None and _object_id(commit) not in self._repo().object_store:
                raise UnknownCommit(commit, "is no commit of this layer")
            yield History(self._refs.head().commit, self._walk, self._commit_object, self._object)

    def _walk(self, head: CommitId, since: CommitId | None) -> Iterator[Commit]:
        """The commits behind `head`, in git's order; without what is behind `since`."""
        from dulwich.walk import Walker

        with self._damage_told(head):
            left_out = [_object_id(since)] if since is not None else None
            for step in Walker(self._repo().object_store, [_object_id(head)], exclude=left_out):
                yield step.commit

    def _commit_object(self, name: CommitId) -> Commit:
        from dulwich.objects import Commit

        data = self._object(name)
        with self._damage_told(name):
            return Commit.from_string(data)

    def _converts_newlines(self) -> bool:
        """Whether git takes CR LF for a bare newline: in a clone that has not the configuration of `create`."""
        try:
            said = self._repo().get_config_stack().get(("core",), "autocrlf")
        except KeyError:
            return False
        return said.lower() in (b"true", b"yes", b"on", b"1", b"input")

    def _ignored(self) -> Callable[[str], bool]:
        """Whether git ignores a path, by all of git's ignore files. A folder is asked for with a slash at its end."""
        from dulwich.ignore import IgnoreFilterManager

        rules = IgnoreFilterManager.from_repo(self._repo())

        def ignored(path: str) -> bool:
            # After `docs/*` and `!docs/a` dulwich calls `docs/` ignored too, though git looks into it.
            return bool(rules.is_ignored(path)) and (not path.endswith("/") or rules.may_prune_directory(path))

        return ignored

    @contextmanager
    def _damage_told(self, what: str) -> Iterator[None]:
        """Turn whatever dulwich raises while it reads into LayerUnusable; its exceptions have no base of their own."""
        try:
            yield
        except (OSError, LayerUnusable, UnknownCommit):
            raise
        except Exception as fault:
            raise LayerUnusable(
                self.path,
                f"is a git repository in which {what} cannot be read ({type(fault).__name__}: {fault})",
                "`git fsck` there tells what is damaged",
            ) from fault


def git_identity() -> Identity | None:
    """Who git says the user is, as `git commit` would find out outside any repository; None where it has no name."""
    from dulwich.config import StackedConfig

    try:
        config = StackedConfig.default()
    except (OSError, ValueError):
        config = StackedConfig([])

    def said(name: str) -> str:
        for section in ("author", "user"):
            try:
                return config.get((section,), name).decode("utf-8", "replace").strip()
            except KeyError:
                pass
        return ""

    name = os.environ.get("GIT_AUTHOR_NAME", "").strip() or said("name")
    email = os.environ.get("GIT_AUTHOR_EMAIL", "").strip() or said("email") or os.environ.get("EMAIL", "").strip()
    # Git would make an address up from the machine's name; ours says no more than is known.
    return Identity(name, email or FALLBACK.email) if name else None


def _object_id(name: str) -> ObjectID:
    from dulwich.objects import ObjectID

    return ObjectID(name.encode())
