"""Which layer a kernel works with, under which name, with which cells folders, and in which mode (DESIGN §4 "Which").

Owns the order of choice, the naming rule and the user's folders. Looks into no folder of a layer: whether there is
one, and whose, is asked by `opening` and `cells_folder`.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from pathlib import Path

from .disk import Disk
from .errors import LayerUnusable
from .slots import fact

LAYER_VARIABLE = "PERDURE_LAYER"
CELLS_VARIABLE = "PERDURE_CELLS"
MODE_VARIABLE = "PERDURE_MODE"

NOBODY = "you"
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_LONGEST_NAME = 100  # characters; `layer_<name>` must be a file name everywhere
# With a dot, which no layer name has: `<state>/<name>/` is the folder of that layer's events.
_NAME_FILE = "name.txt"
_OF_HOMES = ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")  # what the user's folders hang on
_PINNED = r"(?s)(.+)@([0-9a-fA-F]{7,64})"


class Origin(Enum):
    """Who said which layer it is."""

    ENVIRONMENT = "environment"
    CONFIG = "config"
    PROJECT = "project"  # a `.perdure` in the working folder or above it
    PERSONAL = "personal"


@fact
class Homes:
    """The user's own folders for perdure. None of them need exist."""

    data: Path  # layers
    state: Path  # what is remembered of them: names, trust, events
    cache: Path  # what can be made again

    @classmethod
    def of_user(cls) -> Homes:
        """The folders that the system's customs give (XDG, or macOS's Library)."""
        return _homes(*map(os.environ.get, _OF_HOMES))

    def events(self, place: Place) -> Path:
        """Where the events of the layer at `place` are recorded."""
        return self.state / place.record / "events.jsonl"

    def drafts(self, place: Place) -> Path:
        """Where the texts are that a hand wrote into the layer at `place` and that could not stay there."""
        return self.state / place.record / "drafts"


@lru_cache(maxsize=1)  # a start asks half a dozen times
def _homes(*_of_homes: str | None) -> Homes:
    from platformdirs import PlatformDirs  # here, so that a client that names its own layer does without

    dirs = PlatformDirs("perdure", appauthor=False)
    return Homes(data=dirs.user_data_path, state=dirs.user_state_path, cache=dirs.user_cache_path)


@fact
class Place:
    """Where a layer is, or is to be."""

    path: Path  # absolute
    name: str  # of `layer_<name>`: a to z, 0 to 9 and underscores
    origin: Origin

    @property
    def record(self) -> str:
        """The folder of its events below the state folder. Projects often have one name, so theirs has a mark more."""
        if self.origin is not Origin.PROJECT:
            return self.name
        return f"{self.name}-{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:8]}"


def choose(
    environ: Mapping[str, str],
    config: str | None,
    project: Callable[[], Path | None],
    personal: Callable[[], Place],
    *,
    cwd: Path,
) -> Place:
    """The layer that new definitions go to: the first of the environment's, the config's, the project's, the personal.

    `project` finds the folder of a project layer. `personal` costs a look into git's config. Each is asked only where
    none before it is the one. An empty text counts as none.

    Raises:
        LayerUnusable: the path that was given cannot be one.
    """
    for text, origin in ((environ.get(LAYER_VARIABLE), Origin.ENVIRONMENT), (config, Origin.CONFIG)):
        if text:
            path = _path(text, cwd)
            return Place(path, name_of_folder(path), origin)
    if found := project():
        return Place(found, name_of_folder(found), Origin.PROJECT)
    return personal()


def personal_place(homes: Homes, name: str) -> Place:
    """Where the personal layer of the name `name` is."""
    return Place(homes.data / f"layer_{name}", name, Origin.PERSONAL)


@fact
class CellsPlace:
    """Where a cells folder is to be found."""

    path: Path  # absolute
    pin: str | None = None  # the commit that its repository must be at: at least 7 hex digits, lower case


def cells_entries(environ: Mapping[str, str], config: Sequence[str]) -> tuple[str, ...]:
    """The cells folders that the environment names, else those of the config, in load order; empty ones count as none.

    Those of the environment are separated as paths are in PATH.
    """
    named = [text for text in environ.get(CELLS_VARIABLE, "").split(os.pathsep) if text.strip()]
    return tuple(named or (text for text in config if text.strip()))


def read_cells_entry(text: str, cwd: Path) -> CellsPlace:
    """The place that `path` or `path@<commit id>` means; of a path with an `@` in it that is there, the path.

    Raises:
        LayerUnusable: it can be neither.
    """
    path = _path(text, cwd)
    if os.path.lexists(path):
        return CellsPlace(path)
    if pinned := re.fullmatch(_PINNED, text):
        return CellsPlace(_path(pinned[1], cwd), pinned[2].lower())
    before, at, after = text.rpartition("@")
    if at and before and os.path.lexists(_path(before, cwd)):
        raise LayerUnusable(
            _path(before, cwd),
            f"is to be pinned to {after!r}, which is no commit id",
            "write at least 7 hex digits after the @",
        )
    return CellsPlace(path)


def layer_name(git_name: str | None, user: str | None) -> str:
    """The name of a person's layer: git's user.name, else the login name, else `you`.

    Lower case, every character outside a to z and 0 to 9 an underscore; a text with none of those counts as none.
    """
    return next((name for name in map(_clean, (git_name, user)) if name), NOBODY)


def name_of_folder(path: Path) -> str:
    """The name of the layer in a folder that the user chose: its base name, for `.perdure` that of its parent."""
    path = Path(os.path.normpath(path))
    base = path.parent.name if path.name == ".perdure" else path.name
    return _clean(base.removeprefix("layer_")) or NOBODY


def remembered_name(homes: Homes, disk: Disk, ask: Callable[[], str]) -> str:
    """The name of the personal layer as it was at first use; `ask` gives it that first time.

    A changed user.name then loses nothing. Where it cannot be written down it is only asked again next time: a layer
    on a read-only disk still loads.
    """
    file = homes.state / _NAME_FILE
    try:
        if known := _clean(file.read_text(encoding="utf-8").strip()):
            return known
    except (OSError, UnicodeDecodeError):
        pass
    name = _clean(ask()) or NOBODY
    try:
        disk.make_folder(homes.state)
        disk.write(file, f"{name}\n".encode())
    except OSError:
        pass
    return name


class Mode(Enum):
    """How much a kernel has to do with its layer."""

    OFF = "off"  # neither loads nor keeps
    READONLY = "readonly"  # loads, keeps nothing
    ON = "on"


def read_mode(text: str | None, config: str | None = None) -> tuple[Mode, str | None]:
    """The mode that PERDURE_MODE (`text`) or else the config asks for, and a clause to tell the user if it is unknown.

    An unknown value gives READONLY: the definitions are there, and nothing is written that was perhaps not wanted.
    """
    for said, where in ((text, MODE_VARIABLE), (config, "the config's mode")):
        if said is None or not said.strip():
            continue
        try:
            return Mode(said.strip().lower()), None
        except ValueError:
            choices = ", ".join(mode.value for mode in Mode)
            return Mode.READONLY, f"{where} is {said!r}, not one of {choices}; nothing is kept until it is"
    return Mode.ON, None


def _path(text: str, cwd: Path) -> Path:
    expanded = Path(os.path.expanduser(text))
    if "\0" in text:
        raise LayerUnusable(Path(text.replace("\0", "?")), "holds a null byte", "name another folder")
    if expanded.parts and expanded.parts[0].startswith("~") and text.startswith("~"):
        # A shell would make a folder of that name here; nobody means that.
        raise LayerUnusable(Path(text), "begins with a user this machine does not have", "name another folder")
    return cwd / expanded


def _clean(text: str | None) -> str:
    """`text` as a layer name, empty where nothing of it can be in one."""
    name = "".join(each if each in _LETTERS else "_" for each in (text or "").lower()[:_LONGEST_NAME])
    return name if name.strip("_") else ""
