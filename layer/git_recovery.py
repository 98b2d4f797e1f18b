"""What a commit leaves that was killed on its way, and how whoever has the next turn takes it back.

Owns the note that stands in perdure's lock file while a commit is under way: by it the locks and files of a dead one
are told from everybody else's. Only what is still as the commit left it is touched: an edit by hand since then stays.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from .definition import RelPath
from .disk import FILE_MODE, FOLDER_MODE, Disk, is_temporary
from .errors import StoreFault
from .git_files import drop_empty_folders, refuse_link_above
from .git_index import Index, index_of
from .git_locks import WAIT, LockFile
from .git_objects import object_id
from .git_redo import RedoLog, machine
from .git_refs import Refs
from .git_tree import EXECUTABLE_FILE, FILE, Entry, Read, find, names_of, tree_of
from .git_under_way import refuse_conflicts, refuse_what_is_under_way
from .journal import Journal
from .slots import fact


@fact
class Note:
    """A commit that is under way: the token in the names of its spares, and the blob of each path, None for removed."""

    token: str
    blobs: Mapping[RelPath, str | None]
    by_hand: bool = False  # whether the files are so by a hand: then they are no leftovers of a dead one
    redo: int = 0  # size of the file of promises (`git_redo`) before it was promised
    machine: str = ""  # what `git_redo.machine` said of it

    @classmethod
    def of(cls, wanted: Mapping[RelPath, bytes | None], *, by_hand: bool = False, redo: int = 0) -> Note:
        blobs = {path: None if data is None else object_id("blob", data) for path, data in wanted.items()}
        return cls(os.urandom(8).hex(), blobs, by_hand, redo, machine())

    def to_bytes(self) -> bytes:
        said = {"token": self.token, "blobs": self.blobs, "by_hand": self.by_hand}
        said |= {"redo": self.redo, "machine": self.machine}
        return json.dumps(said).encode("ascii") + b"\n"

    @classmethod
    def read(cls, data: bytes) -> Note | None:
        """The note of these bytes; None for a torn one, of a commit that had not begun then."""
        try:
            fields = json.loads(data)
        except ValueError:
            return None
        blobs = {RelPath(path): blob for path, blob in fields["blobs"].items()}
        return cls(
            fields["token"], blobs, fields.get("by_hand", False), fields.get("redo", 0), fields.get("machine", "")
        )


def take_back(layer: Path, data: bytes, disk: Disk, refs: Refs, read: Read, redo: RedoLog) -> None:
    """Take back what is left of the commit that wrote `data` as its note; where the ref moved it stands as it is.

    The caller holds the turn, so whoever wrote the note is dead. May itself be killed, and is then done again.
    """
    git = layer / ".git"
    for lock in (git / "index.lock", *(git / "refs" / "heads").rglob("*.lock")):
        if _is_ours(lock, data):
            disk.remove(lock)
    note = Note.read(data)
    if note is None:
        return
    for leftover in leftovers(layer, f"perdure-{note.token}*.spare", note.blobs):
        disk.remove(leftover)
    if note.machine != machine():
        return  # before a power cut: no file was written for it, else `git_redo` would tell of it
    head = tree_of(refs.head().commit, read)
    entries = {path: find(head, names_of(path), read) for path in note.blobs}
    behind = {
        path: entry
        for path, entry in entries.items()
        # A link or a folder that stood there cannot be made again from here: `git status` shows it.
        if (entry.id if entry else None) != note.blobs[path]
        and (entry is None or entry.mode in (FILE, EXECUTABLE_FILE))
    }
    if behind:
        refuse_what_is_under_way(layer)
        for path, entry in () if note.by_hand else behind.items():
            _restore_file(layer, path, entry, note.blobs[path], disk, read)
        _restore_index(layer, note, behind, disk)
        redo.cut(note.redo)  # until here a power cut has the commit made after all, rather than half of it stay
    for path in note.blobs:
        drop_empty_folders(layer, path, disk.remove_folder)


def _is_ours(lock: Path, note: bytes) -> bool:
    """Whether `lock` is the lock file with `note` in it by another name, or a copy where there are no hard links."""
    try:
        with open(lock, "rb") as file:
            return file.read(len(note) + 1) == note
    except OSError:
        return False


def leftovers(layer: Path, spares: str, paths: Iterable[RelPath]) -> Iterator[Path]:
    """What dead commits of `paths` left in the midst of writing: the spares of that pattern, and temporary files."""
    git = layer / ".git"
    yield from git.glob(spares)
    heads = git / "refs" / "heads"
    folders = {git, heads, *git.glob("objects/??"), *(path for path in heads.rglob("*") if path.is_dir())}
    for folder in folders | {(layer / path).parent for path in paths}:
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if is_temporary(path.name))


def _restore_file(layer: Path, path: RelPath, entry: Entry | None, left: str | None, disk: Disk, read: Read) -> None:
    """Make the working file as HEAD has it, if it is as the dead commit `left` it."""
    try:
        refuse_link_above(layer, path)
    except StoreFault:
        return  # somebody put a link there since
    file = layer / path
    if not _holds_blob(file, left):
        return
    if entry is None:
        disk.remove(file)
    else:
        disk.make_folder(file.parent)
        disk.write(file, read(entry.id), mode=FOLDER_MODE if entry.mode == EXECUTABLE_FILE else FILE_MODE)


def _restore_index(layer: Path, note: Note, behind: Mapping[RelPath, Entry | None], disk: Disk) -> None:
    """Stage what HEAD has wherever the index has what the dead commit put there."""

    def left_in(index: Index) -> list[RelPath]:
        staged = {path: index.staged.get(os.fsencode(path)) for path in behind}
        return [path for path, found in staged.items() if (found.entry.id if found else None) == note.blobs[path]]

    git = layer / ".git"
    if not (git / "index").exists() or not left_in(index_of(layer)):
        return
    journal = Journal(disk, git, f"{note.token}-back")
    try:
        lock = LockFile(git / "index", git, disk, WAIT)
        lock.take(journal)
        index = index_of(layer)
        refuse_conflicts(layer, index)
        for path in left_in(index):
            entry = behind[path]
            if entry is None:
                index.remove(os.fsencode(path))
            elif _holds_blob(layer / path, entry.id):
                index.put(os.fsencode(path), entry, (layer / path).lstat())
            else:
                index.put_unseen(os.fsencode(path), entry)
        lock.publish(index.to_bytes(layer), journal)
    except BaseException as fault:
        journal.undo(fault)
        raise
    journal.settle()


def _holds_blob(file: Path, blob: str | None) -> bool:
    """Whether the working file is the regular file `blob`; for None, whether there is none."""
    if not os.path.lexists(file):
        return blob is None
    return stat.S_ISREG(file.lstat().st_mode) and object_id("blob", file.read_bytes()) == blob
