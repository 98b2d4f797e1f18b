"""From a place to the files of a cells folder, or what is wrong with it: whether it may be loaded at all.

Owns the order in which that is asked. Nothing of the folder is executed here, and nothing is ever written to it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from .definition import Kind, RelPath
from .errors import LayerError, LayerUnusable, StoreFault
from .git_files import definition_files
from .git_head import commit_at
from .opening import check_format, format_of, resolved
from .place import CELLS_VARIABLE, CellsPlace
from .slots import fact
from .trust import TrustRecord, why_not_owned

_SHOWN = 10  # hex digits of a commit id in a sentence


@fact
class CellsFolder:
    """A cells folder that may be loaded, by its resolved path, and its definition files."""

    path: Path
    pin: str | None
    files: Mapping[RelPath, bytes]


@fact
class Refused:
    """A cells folder that is not loaded; `why` is a clause that follows its path and says what to do."""

    path: Path
    why: str
    pin: str | None = None
    waits: bool = False  # for nothing but to be trusted


def open_folder(
    place: CellsPlace, trust: TrustRecord, *, layer: Path | None, taken: Collection[Path]
) -> CellsFolder | Refused:
    """The folder at `place` with its files read, or why it is not to be loaded.

    `layer` is where the layer is or is to be, `taken` are the resolved paths of the folders named before this one.
    """
    path = Path(os.path.abspath(place.path))
    try:
        path = resolved(place.path)
        _check(path, layer, taken)
        _check_pin(path, place.pin)
        files = definition_files(path)
        if not trust.accepts(path):
            with_some = f"has {len(files)} definition{'s'[: len(files) != 1]} and is not trusted"
            return Refused(path, f"{with_some}; look at it, then %layer trust {path} loads it", place.pin, waits=True)
    except LayerUnusable as error:
        what = "" if error.path == path else f"cannot be used: {error.path} "
        return Refused(path, f"{what}{error.why}; {error.advice}", place.pin)
    except StoreFault as error:
        return Refused(path, _unreadable(error.path, error.cause), place.pin)
    except LayerError as error:
        return Refused(path, f"cannot be used: {error}", place.pin)
    except OSError as error:
        return Refused(path, _unreadable(Path(error.filename or path), error), place.pin)
    return CellsFolder(path, place.pin, files)


def _check(path: Path, layer: Path | None, taken: Collection[Path]) -> None:
    """That `path` is a folder of definitions, this user's alone, and none that is loaded in any case."""
    take_out = f"take it out of {CELLS_VARIABLE} or the config"
    if layer is not None and path == Path(os.path.realpath(layer)):
        raise LayerUnusable(path, "is the layer itself, which is loaded after all cells folders", take_out)
    if path in taken:
        raise LayerUnusable(path, "is named twice and loaded where it is named first", take_out)
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise LayerUnusable(path, "is not there", f"make it, or {take_out}") from None
    if not path.is_dir():
        raise LayerUnusable(path, "is a file, not a folder", "name the folder that holds the definitions")
    os.listdir(path)  # a folder that may be entered and not be listed is unreadable, not empty
    version = format_of(path)
    if version is None:
        if not any((path / kind.folder).is_dir() for kind in Kind):
            folders = ", ".join(f"{kind.folder}/" for kind in Kind)
            raise LayerUnusable(path, f"has none of {folders} in it", "name a folder of definitions")
    else:
        check_format(path, version)
    if flaw := why_not_owned(path, (kind.folder for kind in Kind)):
        raise LayerUnusable(path, flaw.why, flaw.advice)


def _check_pin(path: Path, pin: str | None) -> None:
    """That the repository of `path` is at the commit `pin`, if there is one."""
    if pin is None:
        return
    head = commit_at(path)
    if head is None:
        raise LayerUnusable(path, f"is pinned to commit {pin} but in no git repository that has one", "clone it there")
    if not head.startswith(pin):
        why = f"is pinned to commit {pin} but at {head[:_SHOWN]}"
        raise LayerUnusable(path, why, f"`git checkout {pin}` there, or name the other commit")


def _unreadable(path: Path, error: OSError) -> str:
    return f"cannot be read: {error.strerror or error} at {path}; mend that and start the kernel again"
