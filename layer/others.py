"""What others did to the files of a layer since this kernel loaded them: other kernels, git, an editor. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .definition import RelPath
from .errors import UnreadableFile
from .fileformat import read
from .naming import name_told_by
from .slots import fact
from .store import LogEntry

GIT = "git"
"""Who made a commit that names no session."""

_TRAILER = "Session"


@fact
class Difference:
    """Where the files of a layer differ from those that this kernel loaded or wrote, by path."""

    changed: tuple[RelPath, ...]  # another text, or new
    gone: tuple[RelPath, ...]


@fact
class Others:
    """What commits of others come to: who made them, the oldest first, and the names that they kept and forgot."""

    who: tuple[str, ...]
    kept: tuple[str, ...]
    forgot: tuple[str, ...]


def difference(files: Mapping[RelPath, bytes], loaded: Mapping[RelPath, bytes]) -> Difference:
    """Where `files`, as they are now, differ from those `loaded`."""
    changed = (path for path, data in files.items() if loaded.get(path) != data)
    return Difference(tuple(sorted(changed)), tuple(sorted(loaded.keys() - files.keys())))


def names_in(path: RelPath, data: bytes) -> tuple[str, ...]:
    """The names that a file gives; what its path tells where it cannot be read."""
    try:
        return read(path, data).gives
    except (UnreadableFile, RecursionError):
        return (name_told_by(path),)


def told_by(
    commits: Iterable[LogEntry], files: Mapping[RelPath, bytes], loaded: Mapping[RelPath, bytes]
) -> Others | None:
    """What `commits` of others, newest first, come to; None where they left the files as this kernel loaded them.

    Without a commit it was git that went back to an earlier one.
    """
    found = difference(files, loaded)
    kept = dict.fromkeys(name for path in found.changed for name in names_in(path, files[path]))
    forgot = dict.fromkeys(name for path in found.gone for name in names_in(path, loaded[path]))
    if not kept and not forgot:
        return None
    who = dict.fromkeys(dict(commit.trailers).get(_TRAILER, GIT) for commit in reversed([*commits]))
    # A file that was moved is gone under one path and new under another.
    return Others(tuple(who) or (GIT,), tuple(kept), tuple(name for name in forgot if name not in kept))
