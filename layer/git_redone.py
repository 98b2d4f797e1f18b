"""What a power cut took of commits that were promised to last, done once more from what `git_redo` kept of them.

Of each file a power cut may have left what it was, what it became, an emptied one, a piece of it, or none. What is none
of these was written since, by a hand or by git, and stays. Nothing is synced here: all is promised until it is.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from .definition import RelPath
from .disk import FILE_MODE, FOLDER_MODE, Disk
from .errors import LayerError, LayerUnusable, StoreBusy
from .git_files import drop_empty_folders, holds, refuse_link_above
from .git_index import Index, index_of
from .git_locks import TURN, LockFile, inode_of
from .git_objects import OBJECT_MODE, object_file, object_id
from .git_recovery import leftovers
from .git_redo import Redo
from .git_refs import NOTHING, Refs
from .git_tree import EXECUTABLE_FILE, FILE, Entry, Read, differing, every_file, find, names_of, tree_of
from .journal import Journal
from .slots import fact
from .store import CommitId

_BLOCK = 4096  # bytes: of a longer file a power cut may leave so many, or a multiple of that
_FAR = 100  # commits that others made between two of ours


@fact
class _Lost:
    """A file of the working tree that may be as it was before the last commit of it."""

    path: RelPath
    last: Entry | None  # by that commit
    head: Entry | None  # in HEAD
    earlier: frozenset[str | None]  # the blobs that it was before; None among them where there was no file
    is_adrift: bool  # whether that commit cannot be in the history any more

    @property
    def is_told(self) -> bool:
        """Whether how it is to be is told by that commit, and not by a later one of somebody else."""
        return self.is_adrift or self.last == self.head


def redo(layer: Path, promised: Sequence[Redo], disk: Disk, refs: Refs, read: Read) -> None:
    """Have all of `promised`, in their order, as they were before the machine went down. The caller has the turn.

    May be cut short itself, and is then done again.
    """
    git = layer / ".git"
    for lock in (git / "index.lock", *(git / "refs" / "heads").rglob("*.lock")):
        if _is_of_kernel(lock, git):
            disk.remove(lock)
    for leftover in leftovers(layer, "perdure-*.spare", [path for each in promised for path in each.files]):
        disk.remove(leftover)
    for each in promised:
        for name, data in each.objects.items():
            _have(object_file(git / "objects", name), name, data, disk)
    stands: list[Redo] = []
    adrift: list[Redo] = []
    for branch in dict.fromkeys(each.branch for each in promised):
        of_it = [each for each in promised if each.branch == branch]
        chain = standing(of_it)
        whole = chain[: _whole(chain, read)]
        _move(git, branch, of_it, whole[-1].new, disk, refs, read)
        stands += chain
        adrift += chain[len(whole) :]
    for name in dict.fromkeys(("HEAD", *(each.branch for each in promised))):
        _mend(git / "logs" / name, disk)
    for each in stands:
        for file, lines in each.lines.items():
            _say(file, lines, disk)
    head = refs.head().commit
    files = [*_files(stands, adrift, tree_of(head, read), read)]
    for lost in files:
        if lost.is_told:
            _place(layer, lost, disk, read)
    _stage(layer, files, head, disk, read)


def standing(promised: Iterable[Redo]) -> list[Redo]:
    """Those on which the last one stands, of commits to one branch in the order they were promised in. Pure.

    What was taken back, and failed at that, is not among them, nor what somebody reset before the next one.
    """
    chain: list[Redo] = []
    for each in promised:
        while any(each.old == earlier.old for earlier in chain):
            chain.pop()
        chain.append(each)
    return chain


def _is_of_kernel(lock: Path, git: Path) -> bool:
    """Whether a kernel made it: as another name of its own lock, or where there are no hard links as a copy of that."""
    if (inode := inode_of(lock)) is None:
        return False
    with open(lock, "rb") as file:
        return inode == inode_of(git / TURN) or file.read(10) == b'{"token": '


def _have(file: Path, name: str, wanted: bytes, disk: Disk) -> None:
    """Have the file of the bytes `wanted`, or of a loose object the same object packed otherwise."""
    try:
        there = file.read_bytes()
        kind, _, data = zlib.decompress(there).partition(b"\0") if "/" not in name else (b"", b"", b"")
        if there == wanted or (kind and object_id(kind.split(b" ")[0].decode(), data) == name):
            return
    except (FileNotFoundError, zlib.error, ValueError):
        pass
    disk.make_folder(file.parent)
    disk.write(file, wanted, mode=OBJECT_MODE, synced=False)


def _whole(chain: Sequence[Redo], read: Read) -> int:
    """How many of `chain`, from its first on, can be in a history: what others committed between may be lost."""
    for count, (before, each) in enumerate(pairwise(chain), 1):
        if each.old != before.new and not _is_there(each.old, {before.new, chain[0].old}, read):
            return count
    return len(chain)


def _is_there(commit: CommitId | None, known: set[CommitId | None], read: Read) -> bool:
    """Whether `commit` can be read, and all that it is made of, as far back as one of `known`."""
    try:
        for _ in range(_FAR):
            if commit is None or commit in known:
                return True
            lines = read(commit).partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
            parent = next((line[len("parent ") :] for line in lines if line.startswith("parent ")), None)
            for _, _, entry in differing(tree_of(parent, read), tree_of(commit, read), read):
                if entry is not None and entry.mode in (FILE, EXECUTABLE_FILE):
                    read(entry.id)
            commit = CommitId(parent) if parent else None
    except LayerError:
        return False
    return True


def _move(git: Path, branch: str, promised: Sequence[Redo], new: CommitId, disk: Disk, refs: Refs, read: Read) -> None:
    """Have the branch name `new` if it names what it did on the way there, or nothing that is there."""
    log = git / "logs" / branch
    try:
        found = refs.read(branch)
        if found is not None:
            read(found)
    except LayerUnusable:  # the ref is emptied, or names what is lost itself
        found = None
    else:
        if found == new or all(found not in (each.old, each.new) for each in promised):
            return
        if new == promised[-1].new and _has_left(log, new):
            return  # by a `git reset`, after all of these
    by = next(line for line in read(new).split(b"\n") if line.startswith(b"committer "))
    line = f"{found or NOTHING} {new} ".encode() + by.removeprefix(b"committer ") + b"\tcommit: after a power cut\n"
    is_head = (git / "HEAD").read_text("utf-8", "surrogateescape") == f"ref: {branch}\n"
    for each in (git / "logs" / "HEAD", log) if is_head else (log,):
        _mend(each, disk)
        disk.make_folder(each.parent)
        disk.append(each, line, synced=False)
    disk.make_folder((git / branch).parent)
    disk.write(git / branch, f"{new}\n".encode(), synced=False)


def _has_left(log: Path, commit: CommitId) -> bool:
    """Whether the branch of that reflog was moved from `commit` to another."""
    try:
        return any(line.startswith(f"{commit} ".encode()) for line in log.read_bytes().split(b"\n"))
    except OSError:
        return False


def _mend(log: Path, disk: Disk) -> None:
    """Take a torn line from the end of a reflog: the next one would go on in it."""
    try:
        data = log.read_bytes()
    except OSError:
        return
    if not data.endswith(b"\n"):
        disk.cut(log, data.rfind(b"\n") + 1)


def _say(file: Path, lines: bytes, disk: Disk) -> None:
    """Have the file end in `lines`, or have had them already."""
    try:
        there = file.read_bytes()
    except FileNotFoundError:
        there = b""
    known = set(there.split(b"\n"))
    missing = [line for line in lines.split(b"\n") if line and line not in known]
    if missing:
        disk.make_folder(file.parent)
        torn = b"" if there.endswith(b"\n") or not there else b"\n"
        disk.append(file, torn + b"".join(line + b"\n" for line in missing), synced=False)


def _files(stands: Sequence[Redo], adrift: Sequence[Redo], head: str | None, read: Read) -> Iterator[_Lost]:
    """Each file of these commits, once."""
    trees: dict[CommitId | None, str | None] = {}

    def before(each: Redo, path: RelPath) -> Entry | None:
        try:
            if each.old not in trees:
                trees[each.old] = tree_of(each.old, read)
            return find(trees[each.old], names_of(path), read)
        except LayerError:
            return None

    for path in dict.fromkeys(path for each in stands for path in each.files):
        of_it = [each for each in stands if path in each.files]
        states = [*(before(each, path) for each in of_it), *(each.files[path] for each in of_it[:-1])]
        earlier = frozenset(entry.id if entry else None for entry in states)
        is_adrift = any(each is of_it[-1] for each in adrift)
        yield _Lost(path, of_it[-1].files[path], find(head, names_of(path), read), earlier, is_adrift)


def _place(layer: Path, lost: _Lost, disk: Disk, read: Read) -> None:
    """Make the working file as it was last, if it is as it was before, emptied, a piece or gone."""
    try:
        refuse_link_above(layer, lost.path)
    except LayerError:
        return
    file = layer / lost.path
    there = b""
    if os.path.lexists(file):
        if not file.is_file() or file.is_symlink():
            return
        there = file.read_bytes()
    data = read(lost.last.id) if lost.last is not None else b""
    if not _is_earlier(there, data, lost.earlier, read):
        return
    if lost.last is None:
        disk.remove(file, synced=False)
        drop_empty_folders(layer, lost.path, disk.remove_folder)
        return
    executable = lost.last.mode == EXECUTABLE_FILE
    if not holds(file, data, executable=executable):
        disk.make_folder(file.parent)
        disk.write(file, data, mode=FOLDER_MODE if executable else FILE_MODE, synced=False)


def _is_earlier(there: bytes, last: bytes, earlier: Iterable[str | None], read: Read) -> bool:
    """Whether `there` is what a power cut may have left of a file that is to be as `last`, and was as `earlier`."""
    if not there or object_id("blob", there) in earlier:
        return True
    return len(there) % _BLOCK == 0 and any(
        whole.startswith(there) for whole in (last, *(read(blob) for blob in earlier if blob))
    )


def _stage(layer: Path, files: Sequence[_Lost], head: CommitId | None, disk: Disk, read: Read) -> None:
    """Have the index say of the files what HEAD does; it is made anew where it is lost.

    What somebody staged stays. Where a program of theirs has the index, that is for `heal`; StoreBusy where it is lost.
    """
    git = layer / ".git"
    journal = Journal(disk, git, synced=False)
    lock = LockFile(git / "index", git, disk, 0)
    try:
        lock.take(journal)
        index, is_lost = _index(layer, head, read)
        for lost in files:
            name = os.fsencode(lost.path)
            there = index.staged.get(name)
            ours = {*lost.earlier, lost.last.id if lost.last else None}
            is_ours = lost.is_told and (there.entry.id if there else None) in ours
            if name in index.conflicted or not (is_ours or is_lost):
                continue
            if lost.head is None:
                index.remove(name)
            elif holds(layer / lost.path, read(lost.head.id), executable=lost.head.mode == EXECUTABLE_FILE):
                index.put(name, lost.head, (layer / lost.path).lstat())
            else:
                index.put_unseen(name, lost.head)
        if index.conflicted:
            lock.release()  # of a merge, which whoever settles it stages
        else:
            lock.publish(index.to_bytes(layer), journal)
    except BaseException as fault:
        journal.undo(fault)
        if isinstance(fault, StoreBusy) and not _index(layer, head, read)[1]:
            return
        raise
    journal.settle()


def _index(layer: Path, head: CommitId | None, read: Read) -> tuple[Index, bool]:
    """The index, and whether it was lost: then it says what HEAD does."""
    try:
        index = index_of(layer)
        is_lost = not os.path.lexists(layer / ".git" / "index")
    except LayerUnusable:
        index, is_lost = Index(), True
    if is_lost:
        for name, staged in every_file(tree_of(head, read), read):
            index.put_unseen(name, staged)
    return index, is_lost
