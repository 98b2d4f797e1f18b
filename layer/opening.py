"""From a place to an opened store: what is there, whether it may be used, and making it where nothing is.

Owns the order in which these are asked. Nothing of a folder is executed here, and dulwich is not needed where the
layer exists: a kernel that starts waits for this.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from .definition import Kind, RelPath
from .disk import Disk
from .errors import LayerError, LayerUnusable
from .generated import FORMAT, is_as_generated
from .git import GitStore
from .journal import told_as_fault
from .making import is_blank, make_layer
from .place import Homes, Place
from .slots import fact
from .store import Identity, Store, holds_definition
from .trust import TrustRecord, why_not_owned

_ELSEWHERE = "move it away, or set PERDURE_LAYER to another folder"


@fact
class Ready:
    """An opened layer. The place's path is resolved: it is the one trust and tracebacks name."""

    store: Store
    place: Place
    made: bool  # just now, by this call


@fact
class Untrusted:
    """A layer that was neither made here nor accepted: nothing of it runs until it is."""

    place: Place
    files: tuple[RelPath, ...]  # its definitions, for the user to look at


@fact
class Absent:
    """No layer is there yet, and none was to be made."""

    place: Place


Opening: TypeAlias = Ready | Untrusted | Absent


def open_layer(place: Place, homes: Homes, *, author: Identity | None, disk: Disk, make: bool = True) -> Opening:
    """Open the layer at `place`. A missing path or an empty folder is made into one, unless `make` is False.

    What a killed kernel left of a commit is taken back; where `make` is False nothing at all is written. `author` signs
    commits; None is whom git knows.

    Raises:
        LayerUnusable: what is there cannot serve as a layer.
        StoreFault: the disk refused; nothing half made stays.
        StoreBusy: another kernel is making it and does not come to an end.
    """
    with told_as_fault(place.path):
        path = resolved(place.path)
    place = Place(path, place.name, place.origin)
    trust = TrustRecord(homes.state, disk)
    with told_as_fault(path):
        _check_room(path)
        blank = is_blank(path)
    if blank and not make:
        return Absent(place)
    made = blank and make_layer(place, trust, author=author, disk=disk)
    with told_as_fault(path):
        flaw = why_not_owned(path)
        is_trusted = flaw is None and trust.accepts(path)
        if is_trusted and make:
            # First of all: what makes the folder a layer, too, may be what a power cut took.
            with suppress(LayerError):  # no repository, another kernel at work, a disk that is read-only: told later
                GitStore.open(path, author=author, disk=disk).recover()
        _check_layer(path)
    if flaw:
        raise LayerUnusable(path, flaw.why, flaw.advice)
    if not is_trusted:
        return Untrusted(place, _definitions(path))
    return Ready(GitStore.open(path, author=author, disk=disk), place, made)


def accept_layer(path: Path, trust: TrustRecord, disk: Disk) -> None:
    """Trust the layer at `path`, as it is there to be looked at: what its git folder has it become is left out.

    Raises:
        StoreFault: the acceptance could not be remembered.
    """
    from .git_redo import RedoLog

    RedoLog(path, disk).disown()
    trust.accept(path)


def resolved(path: Path) -> Path:
    """`path` without links.

    Raises:
        LayerUnusable: a link leads nowhere; where it points to may be a disk that is not there.
    """
    for part in (path, *path.parents):
        if part.is_symlink() and not part.exists():
            target = os.readlink(part)
            raise LayerUnusable(part, f"is a link to {target}, which is not there", "mend or remove the link")
    return Path(os.path.realpath(path))


def _check_room(path: Path) -> None:
    """That `path` is a folder or can become one."""
    for part in (path, *path.parents):
        if os.path.lexists(part):
            if not part.is_dir():
                raise LayerUnusable(part, "is a file, not a folder", _ELSEWHERE)
            return


def _check_layer(path: Path) -> None:
    """That the folder is a layer of a format this perdure knows."""
    version = format_of(path)
    git = path / ".git"
    if version is None:
        what = "is a git repository, but no layer" if git.exists() else "has other things in it and is no layer"
        raise LayerUnusable(path, what, _ELSEWHERE)
    check_format(path, version)
    if not git.exists():
        raise LayerUnusable(path, "is a layer without its .git", "put it back, or `git init` there and commit all")
    if not git.is_dir():
        raise LayerUnusable(path, "is a worktree or submodule of another repository", "clone it, and use the clone")


def check_format(path: Path, version: object) -> None:
    """That `version`, what the folder at `path` says its format is, is one that this perdure knows.

    Raises:
        LayerUnusable: it is not.
    """
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise LayerUnusable(path, f"says format = {version!r} in pyproject.toml", f"make it {FORMAT}")
    if version > FORMAT:
        why = f"was written by a newer perdure (its format is {version}, this one knows {FORMAT})"
        raise LayerUnusable(path, why, "update perdure")


def format_of(path: Path) -> object:
    """What `[tool.perdure] format` says in the folder at `path`, None where nothing does.

    Raises:
        LayerUnusable: its pyproject.toml cannot be read.
    """
    try:
        text = (path / "pyproject.toml").read_text(encoding="utf-8")
        if is_as_generated(text):
            return FORMAT
        import tomllib

        settings: object = tomllib.loads(text)
    except (FileNotFoundError, IsADirectoryError):
        return None
    except (ValueError, RecursionError) as error:  # no TOML (merge markers), no UTF-8, nested without end
        raise LayerUnusable(path, f"has a pyproject.toml that cannot be read ({error})", "mend that file") from None
    for key in ("tool", "perdure", "format"):
        settings = settings.get(key) if isinstance(settings, dict) else None
    return settings


def _definitions(path: Path) -> tuple[RelPath, ...]:
    """The definition files, unread."""
    found = (file for kind in Kind for file in (path / kind.folder).rglob("*.py") if file.is_file())
    return tuple(sorted(rel for file in found if holds_definition(rel := RelPath(file.relative_to(path).as_posix()))))
