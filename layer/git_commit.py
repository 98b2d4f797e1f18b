"""One commit, step by step: promise, objects, lock, working files, index, ref. Owns their order; every write is through
a journal, so that whoever holds it can take all back. Knows no dulwich: objects are read by a callable.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from .definition import RelPath
from .disk import FILE_MODE, FOLDER_MODE, Disk
from .errors import LayerError, LayerUnusable, StoreBusy
from .git_agreed import Agreement, agreement, is_ignore_file, remember
from .git_files import holds, is_executable, refuse_link_above
from .git_heal import heal
from .git_index import Index, index_of
from .git_locks import WAIT, LockFile, inode_of
from .git_objects import Objects, commit_text, make_folders, not_before, now, signature
from .git_redo import Redo, RedoLog
from .git_refs import Head, Refs
from .git_tree import EXECUTABLE_FILE, FILE, Entry, Read, Trees, every_file, names_of, tree_of
from .git_under_way import refuse_conflicts, refuse_what_is_under_way, under_way
from .journal import Journal
from .slots import fact
from .store import CommitId, Identity, Message, Promised

_TRIES = 100  # to commit on a HEAD that others keep moving


@fact
class _Built:
    """A commit that can become HEAD: on what, and its id, None where the tree is HEAD's already."""

    head: Head
    commit: CommitId | None


class Commits:
    """Makes commits in the repository at `path`. Its caller holds the turn (`git_locks.turn`)."""

    def __init__(
        self, path: Path, author: Callable[[], Identity], disk: Disk, refs: Refs, read: Read, redo: RedoLog
    ) -> None:
        self._path = path
        self._git = path / ".git"
        self._author = author
        self._disk = disk
        self._refs = refs
        self._read = read
        self._redo = redo
        self._trees = Trees(read)
        self._head: tuple[str, bytes] | None = None  # the last commit that was read or made, and its text
        self._objects = Objects(self._git / "objects", disk)
        self._known: Index | None = None  # as it was published here last
        self._published = ""  # checksum of the index that was published here last
        self._agreed: Agreement | None = None  # of that index, until it is noted
        self._stubborn: int | None = None  # inode of a lock on the index that was waited for in vain
        self.base: CommitId | None = None  # what the last commit was made on
        self.is_behind = False  # whether the index lacks what was committed while others held its lock

    def make(
        self,
        wanted: Mapping[RelPath, bytes | None],
        message: Message,
        journal: Journal,
        promised: Promised | None,
        *,
        by_hand: bool = False,
    ) -> CommitId | None:
        """Write and commit `wanted`, where None takes a path away; None where there is nothing to commit.

        What is so `by_hand` is committed only, and the working files stay as they are.
        """
        refuse_what_is_under_way(self._path)
        when = now()
        self._objects.begin()
        head = self._refs.head()
        head_tree = self._tree_of(head.commit)
        leaves: dict[RelPath, Entry | None] = {}
        for path, data in wanted.items():
            if data is None:
                leaves[path] = None
            else:
                old = self._trees.find(head_tree, names_of(path))
                runs = is_executable(self._path / path) if by_hand else old and old.mode == EXECUTABLE_FILE
                mode = EXECUTABLE_FILE if runs else FILE
                leaves[path] = Entry(mode, self._objects.add("blob", data))
        built = self._build(head, leaves, message, when)
        if built.commit is None and self._stands(wanted, leaves):
            return None
        self._promise(built, leaves, promised, journal)

        # Promise and objects are written before the lock is taken: that is the slow part, and the git command line does
        # not wait for locks. HEAD may have moved meanwhile.
        lock = LockFile(self._git / "index", self._git, self._disk, WAIT)
        is_held = self._take(lock, journal)
        if (head := self._refs.head()) != built.head:
            built = self._build(head, leaves, message, when)
            self._promise(built, leaves, promised, journal)
        # What is made of it here is known only once it is published, and until then it is nobody's.
        known, self._known = self._known, None
        index = index_of(self._path, known)
        agreed = self._agreement(built.head.commit, index.checksum)
        if not os.path.lexists(lock.target):
            # To git a missing index is an empty one, but ours must not be: the next commit by hand would take all that
            # is not in it out of HEAD.
            for name, entry in every_file(self._tree_of(built.head.commit), self._read):
                index.put_unseen(name, entry)
        refuse_conflicts(self._path, index)
        if agreed is None and index.checksum != self._published:
            heal(self._path, index, built.head.commit, self._read)
        for path in _in_turn(leaves):
            if by_hand:
                self._stage(path, leaves[path], wanted[path], index)
            else:
                self._place(path, leaves[path], wanted[path], index, journal)

        index.clear_below({os.fsencode(path) for path, leaf in leaves.items() if leaf})

        # The index comes before the ref. `git commit` reads HEAD first and the index second, and takes no lock for
        # either: one that found our commit as HEAD and an index without our files would commit their removal. The
        # other way round it finds our files staged on the old HEAD, and whichever of us is second sees HEAD moved.
        data = index.to_bytes(self._path)
        # Where somebody holds the index for seconds, an editor open in `git commit -a`, it is written later (`heal`).
        # They have read HEAD by then, so they will find that it moved, and nobody else can commit without the lock.
        if is_held:
            lock.publish(data, journal)
        else:
            self.is_behind = True
        for _ in range(_TRIES):
            if built.commit is None:
                return None
            reason = "commit" if built.head.commit else "commit (initial)"
            log_entry = f"{signature(self._author(), when)}\t{reason}: {' '.join(message.subject.splitlines())}"
            if self._refs.move(built.head, built.commit, log_entry, journal):
                self.base = built.head.commit
                if not is_held:
                    return built.commit
                if not lock.still_stands():
                    self._stage_again(wanted, leaves, f"{journal.token}-again")
                elif agreed is not None and agreed.commit == built.head.commit:
                    ignored = frozenset() if any(map(is_ignore_file, wanted)) else agreed.ignored
                    # The same was done to index and tree, so they agree still.
                    self._agreed = Agreement(built.commit, data[-20:].hex(), ignored)
                index.was_written(data)
                self._known, self._published, self.is_behind = index, index.checksum, False
                return built.commit
            built = self._build(self._refs.head(), leaves, message, when)
            if built.commit is None:
                return built.head.commit  # another's commit has taken our files from the index along
            self._promise(built, leaves, promised, journal)
        raise StoreBusy(self._git / "HEAD", WAIT)

    def make_folders(self, most: int) -> bool:
        """Make up to `most` folders that the objects of later commits will lie in; whether there are more to make."""
        return make_folders(self._git / "objects", self._disk, most)

    def note_agreement(self) -> None:
        """Note for the next start that the layer is clean, as far as the last commit here left it so."""
        if self._agreed is not None:
            remember(self._git, self._agreed)
            self._agreed = None

    def heal(self, journal: Journal) -> bool:
        """Stage what others had fall out of the index; False where they have its lock."""
        if under_way(self._path):
            return True  # whoever settles that writes the index anew
        index, head = index_of(self._path), self._refs.head().commit
        if heal(self._path, index, head, self._read):
            lock = LockFile(self._git / "index", self._git, self._disk, 0)
            try:
                lock.take(journal)
            except StoreBusy:
                return False
            index = index_of(self._path)
            heal(self._path, index, head, self._read)
            data = index.to_bytes(self._path)
            lock.publish(data, journal)
            self._published = data[-20:].hex()
        self.is_behind = False
        return True

    def _take(self, lock: LockFile, journal: Journal) -> bool:
        """Take the lock on the index; False where somebody has it and does not let go."""
        lock.seconds = 0 if self._stubborn is not None and inode_of(lock.path) == self._stubborn else WAIT
        try:
            lock.take(journal)
        except StoreBusy:
            self._stubborn = inode_of(lock.path)
            return False
        return True

    def _build(self, head: Head, leaves: Mapping[RelPath, Entry | None], message: Message, when: datetime) -> _Built:
        """Make the trees and the commit of `leaves` on `head`."""
        if head.branch is None:
            raise LayerUnusable(
                self._path,
                "has a detached HEAD, and a commit on it would belong to no branch",
                "`git switch main` there, or `git switch -c NAME` to keep what is checked out, and run the cell again",
            )
        old = self._tree_of(head.commit)
        tree = self._trees.spliced(old, {names_of(path): leaf for path, leaf in leaves.items()}, self._objects.add)
        if tree is None and old is not None:
            tree = self._objects.add("tree", b"")  # the one empty tree that git has is the root's
        if tree is None or tree == old:
            return _Built(head, None)
        parents = [head.commit] if head.commit else []
        # By the author it was made when the clock says.
        committed = not_before(when, self._text_of(head.commit)) if head.commit else when
        by, at = (signature(self._author(), time) for time in (when, committed))
        text = commit_text(tree, parents, by, at, message.text())
        commit = CommitId(self._objects.add("commit", text))
        self._head = commit, text
        return _Built(head, commit)

    def _promise(
        self, built: _Built, leaves: Mapping[RelPath, Entry | None], promised: Promised | None, journal: Journal
    ) -> None:
        """Have on disk what the commit is made of, and then its objects, unsynced, in their places.

        Before that nothing is written: what a power cut leaves of a file is mended by what was promised. From here on
        it may have the commit made.
        """
        if built.commit is not None and built.head.branch is not None:
            objects, lines = self._objects.files(), promised(built.commit) if promised and self._redo.lasts else {}
            self._redo.add(Redo(built.head.branch, built.head.commit, built.commit, leaves, objects, lines), journal)
            self._objects.write()

    def _agreement(self, commit: CommitId | None, checksum: str) -> Agreement | None:
        agreed = self._agreed
        if agreed is not None and (agreed.commit, agreed.index) == (commit, checksum):
            return agreed
        return agreement(self._git, commit, checksum)

    def _tree_of(self, commit: CommitId | None) -> str | None:
        return tree_of(commit, self._text_of)

    def _text_of(self, commit: str) -> bytes:
        """As the object is stored; that of HEAD is asked for again and again."""
        if self._head is None or self._head[0] != commit:
            self._head = commit, self._read(commit)
        return self._head[1]

    def _stands(self, wanted: Mapping[RelPath, bytes | None], leaves: Mapping[RelPath, Entry | None]) -> bool:
        """Whether working files and index are as wanted already."""
        staged = index_of(self._path).staged
        for path, leaf in leaves.items():
            entry = staged.get(os.fsencode(path))
            if (entry and entry.entry) != leaf:
                return False
            file, data = self._path / path, wanted[path]
            if leaf is None or data is None:
                if os.path.lexists(file):
                    return False
            elif not holds(file, data, executable=leaf.mode == EXECUTABLE_FILE):
                return False
        return True

    def _place(self, path: RelPath, leaf: Entry | None, data: bytes | None, index: Index, journal: Journal) -> None:
        """Make the working file and its index entry as `leaf` and `data` say."""
        refuse_link_above(self._path, path)
        file, name = self._path / path, os.fsencode(path)
        if leaf is None or data is None:
            if os.path.lexists(file):
                journal.remove(file)
            index.remove(name)
            return
        executable = leaf.mode == EXECUTABLE_FILE
        if holds(file, data, executable=executable):
            found = file.lstat()
        else:
            found = journal.write(file, data, mode=FOLDER_MODE if executable else FILE_MODE)
        index.put(name, leaf, found)

    def _stage(self, path: RelPath, leaf: Entry | None, data: bytes | None, index: Index) -> None:
        """Have the index say what `leaf` and `data` do, whatever the working file is by now."""
        refuse_link_above(self._path, path)
        file, name = self._path / path, os.fsencode(path)
        if leaf is None or data is None:
            index.remove(name)
            return
        # Before it is read: whoever writes it after that gives it another stat.
        found = file.lstat() if os.path.lexists(file) else None
        if found is not None and holds(file, data, executable=leaf.mode == EXECUTABLE_FILE):
            index.put(name, leaf, found)
        else:
            index.put_unseen(name, leaf)

    def _stage_again(
        self, wanted: Mapping[RelPath, bytes | None], leaves: Mapping[RelPath, Entry | None], token: str
    ) -> None:
        """Put our entries into an index that somebody has written since we published ours.

        `git commit` reads the index, then locks it, then writes what it read: what was published in between is gone
        from the index, and the next commit by hand would take it out of HEAD. Our commit stands, so a fault here
        is none: the working files are right, and `git status` shows the rest.
        """
        journal = Journal(self._disk, self._git, token)
        lock = LockFile(self._git / "index", self._git, self._disk, WAIT)
        try:
            lock.take(journal)
            index = index_of(self._path)
            for path, leaf in leaves.items():
                file, data = self._path / path, wanted[path]
                if leaf is None or data is None:
                    if not os.path.lexists(file):
                        index.remove(os.fsencode(path))
                elif holds(file, data, executable=leaf.mode == EXECUTABLE_FILE):
                    index.put(os.fsencode(path), leaf, file.lstat())
            if index.conflicted:
                lock.release()
            else:
                lock.publish(index.to_bytes(self._path), journal)
        except (OSError, LayerError) as fault:
            journal.undo(fault)
        else:
            journal.settle()


def _in_turn(leaves: Mapping[RelPath, Entry | None]) -> list[RelPath]:
    """The order in which files are placed: a definition that moves is in two files for a moment, never in none.

    But a file system may not tell `Foo.py` from `foo.py`: there, to remove the one after writing the other is to lose
    what was written.
    """
    written = {path.lower() for path, leaf in leaves.items() if leaf}
    return sorted(leaves, key=lambda path: 1 if leaves[path] else 0 if path.lower() in written else 2)
