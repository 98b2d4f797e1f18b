"""What others did to the files of a layer since this kernel loaded them: other kernels, git, an editor. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

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
    kept, forgot = _names(files, loaded)
    if not kept and not forgot:
        return None
    who = dict.fromkeys(dict(commit.trailers).get(_TRAILER, GIT) for commit in reversed([*commits]))
    return Others(tuple(who) or (GIT,), kept, forgot)


def still_to_tell(
    found: Others, files: Mapping[RelPath, bytes], loaded: Mapping[RelPath, bytes], told: Collection[str]
) -> Others | None:
    """What of `found` is not live here still, and was not `told` otherwise since; None where that is nothing."""
    kept, forgot = (
        tuple(name for name in names if name in now and name not in told)
        for names, now in zip((found.kept, found.forgot), _names(files, loaded), strict=True)
    )
    return Others(found.who, kept, forgot) if kept or forgot else None


def _names(files: Mapping[RelPath, bytes], loaded: Mapping[RelPath, bytes]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names that `files` have otherwise than those `loaded`, and those that they have no more."""
    found = difference(files, loaded)
    kept = dict.fromkeys(name for path in found.changed for name in names_in(path, files[path]))
    forgot = dict.fromkeys(name for path in found.gone for name in names_in(path, loaded[path]))
    # A file that was moved is gone under one path and new under another.
    return tuple(kept), tuple(name for name in forgot if name not in kept)
