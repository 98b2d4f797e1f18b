"""What a power cut took of commits that were promised to last, done once more from what `git_redo` kept of them.

Of each file a power cut may have left what it was, what it became, an emptied one, or none. What is none of these was
written since, by a hand or by git, and stays.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .definition import RelPath
from .disk import FILE_MODE, FOLDER_MODE, Disk, is_temporary
from .errors import LayerError, LayerUnusable
from .git_commit import names_of
from .git_files import holds, refuse_link_above
from .git_index import Index, index_of
from .git_locks import TURN, WAIT, LockFile, inode_of
from .git_objects import OBJECT_MODE, object_file, object_id
from .git_redo import Redo
from .git_refs import Refs
from .git_tree import EXECUTABLE_FILE, Entry, Read, every_file, find, tree_of
from .journal import Journal
from .store import CommitId


def redo(layer: Path, commits: Sequence[Redo], disk: Disk, refs: Refs, read: Read) -> None:
    """Have all of `commits`, in their order, as they were before the machine went down. The caller has the turn.

    May be cut short itself, and is then done again.
    """
    git = layer / ".git"
    for lock in (git / "index.lock", *(git / "refs" / "heads").rglob("*.lock")):
        if _is_of_kernel(lock, git):
            disk.remove(lock)
    for leftover in _leftovers(layer, commits):
        disk.remove(leftover)
    for each in commits:
        for name, data in each.objects.items():
            _have(object_file(git / "objects", name), name, data, disk)
    for branch in dict.fromkeys(each.branch for each in commits):
        _move(git / branch, branch, [each for each in commits if each.branch == branch], disk, refs, read)
    for each in commits:
        for file, lines in each.lines.items():
            _say(file, lines, disk)
    head = tree_of(refs.head().commit, read)
    paths = dict.fromkeys(path for each in commits for path in each.files)
    entries = {path: find(head, names_of(path), read) for path in paths}
    last = {path: entry for each in commits for path, entry in each.files.items()}
    for path in paths:
        if last[path] == entries[path]:  # else it is later commits that tell how it is
            _place(layer, path, entries[path], _earlier(path, commits, read), disk, read)
    _stage(layer, entries, refs.head().commit, disk, read)


def _is_of_kernel(lock: Path, git: Path) -> bool:
    """Whether a kernel made it: as another name of its own lock, or where there are no hard links as a copy of that."""
    if (inode := inode_of(lock)) is None:
        return False
    with open(lock, "rb") as file:
        return inode == inode_of(git / TURN) or file.read(10) == b'{"token": '


def _leftovers(layer: Path, commits: Sequence[Redo]) -> Iterator[Path]:
    git = layer / ".git"
    yield from git.glob("perdure-*.spare")
    heads = git / "refs" / "heads"
    folders = {git, heads, *git.glob("objects/??"), *(path for path in heads.rglob("*") if path.is_dir())}
    for folder in folders | {(layer / path).parent for each in commits for path in each.files}:
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if is_temporary(path.name))


def _have(file: Path, name: str, wanted: bytes, disk: Disk) -> None:
    """Have the file of the bytes `wanted`, or of a loose object the same object packed otherwise."""
    try:
        there = file.read_bytes()
        kind, _, data = zlib.decompress(there).partition(b"\0") if "/" not in name else (b"", b"", b"")
        if there == wanted or (kind and object_id(kind.split(b" ")[0].decode(), data) == name):
            disk.sync(file)
            return
    except (FileNotFoundError, zlib.error, ValueError):
        pass
    disk.make_folder(file.parent)
    disk.write(file, wanted, mode=OBJECT_MODE)


def _move(file: Path, branch: str, commits: Sequence[Redo], disk: Disk, refs: Refs, read: Read) -> None:
    """Have the branch name the last of `commits`, if it names none that came after that."""
    try:
        found = refs.read(branch)
        if found is not None:
            read(found)
    except LayerUnusable:  # the ref is emptied, or names what is lost itself
        moved: CommitId | None = commits[-1].new
    else:
        moved = found
        for each in commits:
            if moved == each.old:
                moved = each.new
        if moved == found:
            return
    assert moved is not None
    disk.make_folder(file.parent)
    disk.write(file, f"{moved}\n".encode())


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
        disk.append(file, torn + b"".join(line + b"\n" for line in missing))


def _earlier(path: RelPath, commits: Sequence[Redo], read: Read) -> set[str | None]:
    """The blobs that `path` was before the last of `commits`; None among them where there was no file."""
    of_it = [each for each in commits if path in each.files]
    first = of_it[0].old
    try:
        before = find(tree_of(first, read), names_of(path), read)
    except LayerError:
        before = None
    states = [before, *(each.files[path] for each in of_it[:-1])]
    return {entry.id if entry else None for entry in states}


def _place(layer: Path, path: RelPath, entry: Entry | None, earlier: set[str | None], disk: Disk, read: Read) -> None:
    """Make the working file as `entry` says, if it is as it was before, emptied or gone."""
    try:
        refuse_link_above(layer, path)
    except LayerError:
        return
    file = layer / path
    there = None
    if os.path.lexists(file):
        if not file.is_file() or file.is_symlink():
            return
        there = file.read_bytes()
    if there and object_id("blob", there) not in earlier:
        return
    if entry is None:
        disk.remove(file)
        return
    data, executable = read(entry.id), entry.mode == EXECUTABLE_FILE
    if not holds(file, data, executable=executable):
        disk.make_folder(file.parent)
        disk.write(file, data, mode=FOLDER_MODE if executable else FILE_MODE)


def _stage(layer: Path, entries: Mapping[RelPath, Entry | None], head: CommitId | None, disk: Disk, read: Read) -> None:
    """Have the index say of the files what HEAD does; it is made anew where it is lost."""
    git = layer / ".git"
    journal = Journal(disk, git)
    lock = LockFile(git / "index", git, disk, WAIT)
    try:
        lock.take(journal)
        try:
            index = index_of(layer)
            is_lost = not os.path.lexists(git / "index")
        except LayerUnusable:
            index, is_lost = Index(), True
        if is_lost:
            for name, staged in every_file(tree_of(head, read), read):
                index.put_unseen(name, staged)
        for path, entry in entries.items():
            name = os.fsencode(path)
            if name in index.conflicted:
                continue
            if entry is None:
                index.remove(name)
            elif holds(layer / path, read(entry.id), executable=entry.mode == EXECUTABLE_FILE):
                index.put(name, entry, (layer / path).lstat())
            else:
                index.put_unseen(name, entry)
        if index.conflicted:
            lock.release()  # of a merge, which whoever settles it stages
        else:
            lock.publish(index.to_bytes(layer), journal)
    except BaseException as fault:
        journal.undo(fault)
        raise
    journal.settle()
