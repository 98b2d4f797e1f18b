"""What becomes of what a hand did to definition files and did not commit (DESIGN §4 "Commits"). Pure.

An edit, a new file and a file that was removed are adopted, so that git has all that a kernel loads. What nobody can
read is no edit but half of one: it is put back as the last commit has it. A secret is for the user alone to commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from pathlib import Path

from .definition import RelPath
from .errors import UnreadableFile
from .fileformat import read_file
from .naming import name_told_by
from .secret import suspect
from .slots import fact

MOST = 500
"""Files that are adopted at once; so many more are copied there, and a commit of them takes its time."""


@fact
class Torn:
    """A file that cannot be read, and what the last commit has there; `why` is a clause."""

    found: bytes
    committed: bytes
    why: str


@fact
class Judged:
    """What is to be done with each file."""

    adopt: Mapping[RelPath, bytes | None] = field(default_factory=dict)  # None: it was removed
    restore: Mapping[RelPath, Torn] = field(default_factory=dict)
    secrets: Mapping[RelPath, str] = field(default_factory=dict)  # path → what looks like one
    left: tuple[RelPath, ...] = ()


@fact
class Restored:
    """A file that is as the last commit has it again; `draft` is where what was there is now, if it was anything."""

    path: RelPath
    why: str
    draft: Path | None


@fact
class Handwork:
    """What was found of it in a layer, and done with it."""

    adopted: tuple[str, ...] = ()  # names
    forgot: tuple[str, ...] = ()  # names
    restored: tuple[Restored, ...] = ()
    secrets: Mapping[RelPath, str] = field(default_factory=dict)  # not committed: path → what looks like one
    left: tuple[RelPath, ...] = ()  # not committed either: for the user to settle
    fault: str = ""  # why the record does not have what was adopted, a clause
    failed: tuple[RelPath, ...] = ()  # nor these, because of `trouble`; it is tried again
    trouble: str = ""  # why the disk refused, a clause

    def __bool__(self) -> bool:
        return self != Handwork()


def judge(
    found: Mapping[RelPath, bytes | None], committed: Callable[[RelPath], bytes | None], *, most: int = MOST
) -> Judged:
    """What is to be done with the files `found`, None for one that is gone; `committed` tells the last commit's."""
    if len(found) > most:
        return Judged(left=tuple(found))
    adopt: dict[RelPath, bytes | None] = {}
    restore: dict[RelPath, Torn] = {}
    secrets: dict[RelPath, str] = {}
    left: list[RelPath] = []
    for path, data in found.items():
        if data is None:
            adopt[path] = None
            continue
        why, secret = _look(path, data)
        if why is None and secret is None:
            adopt[path] = data
            continue
        before = committed(path)
        before_why, before_secret = _look(path, before) if before is not None else ("", None)
        if why is None:
            if before_secret is not None:  # whoever committed it knew
                adopt[path] = data
            else:
                secrets[path] = secret or ""
        elif before is None or before_why is not None:
            left.append(path)
        else:
            restore[path] = Torn(data, before, why)
    return Judged(adopt, restore, secrets, tuple(left))


def _look(path: RelPath, data: bytes) -> tuple[str | None, str | None]:
    """Why the file cannot be read, a clause; and what looks like a secret in it. None for each where nothing does."""
    if not data.strip():
        return "was empty", None
    try:
        file = read_file(path, data)
    except UnreadableFile as error:
        return f"could not be read (line {error.line}: {error.why})", None
    except RecursionError:
        return "could not be read (it is nested too deeply)", None
    return None, suspect(file.text, file.tree)


def names_of(paths: Collection[RelPath], text: Callable[[RelPath], bytes | None]) -> tuple[str, ...]:
    """The names that the files give, by their texts; what a path tells where there is none to be read."""
    found: dict[str, None] = {}
    for path in paths:
        data = text(path)
        try:
            gives = read_file(path, data).definition.gives if data is not None else ()
        except (UnreadableFile, RecursionError):
            gives = ()
        found |= dict.fromkeys(gives or (name_told_by(path),))
    return tuple(found)
