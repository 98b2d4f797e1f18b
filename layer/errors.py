"""Faults of the layer. Owns every exception this room raises; knows no kernel.

    LayerError
    ├── LayerUnusable      the folder cannot serve as a layer (a file in its place, other things in it, foreign owner)
    │   └── NoLocks        it is on storage where kernels cannot take turns
    ├── StoreFault         a write or read failed half way; nothing of it stands
    ├── StoreBusy          git holds the lock and did not let go
    ├── UnreadableFile     a definition file that cannot be read as one
    ├── UnknownCommit      a name that no commit of the layer's history has, or more than one (a LookupError too)
    ├── NotLoaded          a cell names a deferred definition whose file cannot be loaded
    └── UnknownDefinition  a name that no definition of the layer has (a LookupError too)

What the keep rule decides against is not a fault: it is a value (`outcome.NotKept`).
"""

from __future__ import annotations

from pathlib import Path


class LayerError(Exception):
    """Root of the room's faults; the message says what happened and what to do."""


class LayerUnusable(LayerError):
    """The folder at `path` cannot serve as a layer; `why` is a clause, `advice` a sentence without its full stop."""

    def __init__(self, path: Path, why: str, advice: str) -> None:
        super().__init__(f"{path} {why}; {advice}")
        self.path = path
        self.why = why
        self.advice = advice


class NoLocks(LayerUnusable):
    """The storage that the folder at `path` is on has no file locks, as `cause` says: nothing may be written there."""

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(
            path,
            f"is on storage without file locks ({cause.strerror}), where kernels could undo each other's commits, "
            "so nothing is kept there",
            "move it to another disk, or set PERDURE_LAYER to a folder on one",
        )
        self.cause = cause


class StoreFault(LayerError):
    """Reading or writing `path` failed with `cause`; what stood before still stands. `why` is a clause."""

    def __init__(self, path: Path, cause: OSError) -> None:
        self.why = f"{cause.strerror or cause} at {path}"
        super().__init__(f"{self.why}; mend that and run the cell again")
        self.path = path
        self.cause = cause


class StoreBusy(LayerError):
    """Another program holds the lock at `path` and kept it for `seconds`."""

    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__(
            f"{path} has been held by another program for {seconds:g} s; "
            "end that, or remove the file, and run the cell again"
        )
        self.path = path
        self.seconds = seconds


class UnreadableFile(LayerError):
    """The file `path` of the layer is no definition file; `line` (from 1) is where it stops being one."""

    def __init__(self, path: str, line: int, why: str) -> None:
        super().__init__(f"{path}, line {line}: {why}")
        self.path = path
        self.line = line
        self.why = why


class UnknownCommit(LayerError, LookupError):
    """The history has no commit of the name `name`, or more than one; `why` is a clause."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} {why}")
        self.name = name
        self.why = why


class NotLoaded(LayerError):
    """The deferred definition of `names` cannot be loaded from `path`; `why` is a clause."""

    def __init__(self, names: tuple[str, ...], path: Path, why: str) -> None:
        named = ", ".join(names)
        super().__init__(
            f"{named} cannot be loaded, so this cell did not run; {path}: {why}; "
            f"mend that and run the cell again, or define {names[0]} anew; %forget takes it out of the layer"
        )
        self.names = names
        self.path = path
        self.why = why


class UnknownDefinition(LayerError, LookupError):
    """No definition of the layer has the name `name`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no definition {name!r} is kept; %cells lists those that are")
        self.name = name
