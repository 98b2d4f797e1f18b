"""Git's index where others, by writing it at the same time, undid what a commit had put there.

`git commit` and `git add` read the index, then lock it, then write what they read: what was published in between is
gone from it. Where a lock was held for long, the index was not written at all. HEAD and the working files have it all
the same, but `git status` shows a removal that nobody made, and the next commit by hand would make it.

Owns how that is told from what a person staged: the index says of a file what it said after some recent commit, and the
working file is as HEAD has it. Only definition files are looked at.
"""

from __future__ import annotations

import os
from pathlib import Path

from .definition import RelPath
from .git_files import holds
from .git_index import Index
from .git_tree import EXECUTABLE_FILE, Entry, Read, every_file, find, tree_of
from .store import CommitId, holds_definition

_FAR = 100  # commits back; others wrote what they had read moments before


def heal(layer: Path, index: Index, head: CommitId | None, read: Read) -> bool:
    """Have `index` say what HEAD does of each file that fell out of step; whether there was one."""
    found = dict(every_file(tree_of(head, read), read))
    staged = index.staged
    paths = found.keys() | staged.keys()
    behind = [
        path for path in paths - index.conflicted if found.get(path) != (staged[path].entry if path in staged else None)
    ]
    behind = [path for path in behind if holds_definition(RelPath(os.fsdecode(path)))]
    behind = [path for path in behind if _is_as_committed(layer, path, found.get(path), read)]
    behind = [
        path for path in behind if head and _was_so(path, staged[path].entry if path in staged else None, head, read)
    ]
    for path in behind:
        if entry := found.get(path):
            index.put(path, entry, (layer / os.fsdecode(path)).lstat())
        else:
            index.remove(path)
    return bool(behind)


def _is_as_committed(layer: Path, path: bytes, entry: Entry | None, read: Read) -> bool:
    file = layer / os.fsdecode(path)
    if entry is None:
        return not os.path.lexists(file)
    return holds(file, read(entry.id), executable=entry.mode == EXECUTABLE_FILE)


def _was_so(path: bytes, entry: Entry | None, head: CommitId, read: Read) -> bool:
    """Whether a recent commit before `head` has `path` as `entry`."""
    names = tuple(path.split(b"/"))
    commit: str | None = head
    for _ in range(_FAR):
        commit = _parent(read(commit)) if commit else None
        if commit is None:
            return False
        if find(tree_of(commit, read), names, read) == entry:
            return True
    return False


def _parent(commit: bytes) -> str | None:
    for line in commit.partition(b"\n\n")[0].split(b"\n"):
        if line.startswith(b"parent "):
            return line.removeprefix(b"parent ").decode()
    return None
