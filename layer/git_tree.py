"""Git trees: their bytes, and a new tree from an old one and a few changes. Pure; the objects come and go by callables.

Only the trees above a changed path are read and written: what a commit costs does not grow with the layer, but with
the folders it touches.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from .definition import RelPath
from .slots import fact
from .store import parts

FILE = 0o100644
EXECUTABLE_FILE = 0o100755
FOLDER = 0o040000
_FOLDER = (b"40000", b"040000")  # the latter by old programs
_KEPT = 128  # trees in memory; a commit touches three or four

Path: TypeAlias = tuple[bytes, ...]
"""The names from the root down."""

Read: TypeAlias = Callable[[str], bytes]
Add: TypeAlias = Callable[[str, bytes], str]


@fact
class Entry:
    """What a name in a tree stands for: git's mode, and the id of the object."""

    mode: int
    id: str


def names_of(path: RelPath) -> Path:
    """The names that a tree knows `path` by. ValueError for one that is in no layer."""
    return tuple(map(os.fsencode, parts(path)))


def read_tree(data: bytes) -> dict[bytes, Entry]:
    """The entries of a tree object. ValueError for bytes that are none."""
    entries: dict[bytes, Entry] = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        entries[data[space + 1 : end]] = Entry(int(data[at:space], 8), data[end + 1 : end + 21].hex())
        at = end + 21
    return entries


def tree_bytes(entries: Mapping[bytes, Entry]) -> bytes:
    """The tree object of `entries`. Git sorts a folder as if its name ended in a slash."""
    ordered = sorted(entries.items(), key=lambda item: item[0] + (b"/" if item[1].mode == FOLDER else b""))
    return b"".join(b"%o %s\0" % (entry.mode, name) + bytes.fromhex(entry.id) for name, entry in ordered)


def tree_of(commit: str | None, read: Read) -> str | None:
    """The id of the tree of a commit; None for no commit."""
    return read(commit).split(b"\n", 1)[0].removeprefix(b"tree ").decode() if commit else None


def find(tree: str | None, path: Path, read: Read) -> Entry | None:
    """What `path` stands for in `tree`; None where it is not there."""
    return Trees(read).find(tree, path)


def differs_at(one: str | None, other: str | None, path: Path, read: Read) -> bool:
    """Whether `path` stands for something else in the one tree than in the other; reads no more than tells it."""
    left, right = (Entry(FOLDER, tree) if tree else None for tree in (one, other))
    for name in path:
        if left == right:
            return False
        left, right = (
            read_tree(read(entry.id)).get(name) if entry and entry.mode == FOLDER else None for entry in (left, right)
        )
    return left != right


def differing(
    one: str | None, other: str | None, read: Read, prefix: bytes = b""
) -> Iterator[tuple[bytes, Entry | None, Entry | None]]:
    """Each path that is a file in either tree and not the same in both, and what it stands for in each."""
    left, right = (read_tree(read(tree)) if tree else {} for tree in (one, other))
    for name in sorted(left.keys() | right.keys()):
        pair = left.get(name), right.get(name)
        if pair[0] == pair[1]:
            continue
        files = [entry if entry and entry.mode != FOLDER else None for entry in pair]
        if files[0] or files[1]:
            yield prefix + name, files[0], files[1]
        folders = [entry.id if entry and entry.mode == FOLDER else None for entry in pair]
        if folders[0] or folders[1]:
            yield from differing(folders[0], folders[1], read, prefix + name + b"/")


def every_file(tree: str | None, read: Read, prefix: bytes = b"") -> Iterator[tuple[bytes, Entry]]:
    """Each path of `tree` that is no folder, with what it stands for."""
    for name, entry in read_tree(read(tree)).items() if tree else ():
        if entry.mode == FOLDER:
            yield from every_file(entry.id, read, prefix + name + b"/")
        else:
            yield prefix + name, entry


class Tree:
    """A tree that is being changed: what a commit does to a folder of a thousand files costs little more than to one.

    Its entries stay as they stand in the object, in git's order: that of a folder sorts as if it ended in a slash.
    """

    __slots__ = ("_names", "_packed")

    def __init__(self, names: list[bytes], packed: list[bytes]) -> None:
        self._names = names
        self._packed = packed

    @classmethod
    def read(cls, data: bytes) -> Tree:
        """The tree of the object `data`. ValueError for bytes that are none."""
        names: list[bytes] = []
        packed: list[bytes] = []
        at = 0
        while at < len(data):
            space = data.index(b" ", at)
            end = data.index(b"\0", space)
            name = data[space + 1 : end]
            names.append(name + b"/" if data[at:space] in _FOLDER else name)
            packed.append(data[at : end + 21])
            at = end + 21
        return cls(names, packed)

    def copy(self) -> Tree:
        return Tree(self._names.copy(), self._packed.copy())

    def get(self, name: bytes) -> Entry | None:
        """What `name` stands for; None where it is not there."""
        for form in (name, name + b"/"):
            at = bisect_left(self._names, form)
            if at < len(self._names) and self._names[at] == form:
                entry = self._packed[at]
                return Entry(int(entry[: entry.index(b" ")], 8), entry[-20:].hex())
        return None

    def put(self, name: bytes, entry: Entry | None) -> None:
        """Have `name` stand for `entry`; for None, for nothing."""
        for form in (name, name + b"/"):
            at = bisect_left(self._names, form)
            if at < len(self._names) and self._names[at] == form:
                del self._names[at], self._packed[at]
        if entry is not None:
            form = name + b"/" if entry.mode == FOLDER else name
            at = bisect_left(self._names, form)
            self._names.insert(at, form)
            self._packed.insert(at, b"%o %s\0" % (entry.mode, name) + bytes.fromhex(entry.id))

    def to_bytes(self) -> bytes:
        return b"".join(self._packed)


class Trees:
    """The trees of a repository, those that were read or made last in memory: a commit's are nearly its parent's."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[str, Tree] = {}  # the latest last

    def tree(self, name: str) -> Tree:
        """The tree of that id, not to be changed."""
        return self._keep(name, self._known[name] if name in self._known else Tree.read(self._read(name)))

    def find(self, tree: str | None, path: Path) -> Entry | None:
        """What `path` stands for in `tree`; None where it is not there."""
        entry = Entry(FOLDER, tree) if tree else None
        for name in path:
            if entry is None or entry.mode != FOLDER:
                return None
            entry = self.tree(entry.id).get(name)
        return entry

    def spliced(self, tree: str | None, changes: Mapping[Path, Entry | None], add: Add) -> str | None:
        """The id of `tree` with `changes` made: an entry put at its path, or None for a path taken away.

        Gives None where nothing is left, since git has no empty folders. A file where a folder is needed gives way.
        """
        new = self.tree(tree).copy() if tree else Tree([], [])
        below: dict[bytes, dict[Path, Entry | None]] = {}
        for (name, *rest), entry in changes.items():
            if rest:
                below.setdefault(name, {})[tuple(rest)] = entry
            else:
                new.put(name, entry)
        for name, inner in below.items():
            old = new.get(name)
            folder = old.id if old is not None and old.mode == FOLDER else None
            if folder is None and all(entry is None for entry in inner.values()):
                continue
            made = self.spliced(folder, inner, add)
            new.put(name, Entry(FOLDER, made) if made else None)
        if not (data := new.to_bytes()):
            return None
        name_of_all = add("tree", data)
        self._keep(name_of_all, new)
        return name_of_all

    def _keep(self, name: str, tree: Tree) -> Tree:
        self._known.pop(name, None)
        self._known[name] = tree
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
        return tree
