"""What comes of loading files: which are live, which wait, which were left out and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .definition import Definition, RelPath
from .reasons import RAISED, without_what_was_said
from .slots import fact

if TYPE_CHECKING:
    from .waiting import Failed, Waiting


@fact
class Skipped:
    """A file that was not loaded; `reason` is a clause."""

    path: RelPath
    reason: str
    names: tuple[str, ...]  # what it would have given, as far as that can be told
    definition: Definition | None = None  # what it holds, where that can be read and nothing else gives its names
    wants: str | None = None  # the name for want of which it was left out

    @property
    def reason_on_record(self) -> str:
        """The reason without an exception's own words: they may be what no log should have."""
        return without_what_was_said(self.reason)

    @property
    def has_raised(self) -> bool:
        """Whether it was tried and failed, and not left out before."""
        return self.reason.startswith(RAISED)


@fact
class Loaded:
    """A definition that is live now."""

    definition: Definition
    path: RelPath
    unresolved: tuple[str, ...] = ()  # read when called; plain variables when it was kept, not there now
    lazy: str | None = None  # the name in an annotation that nothing defines: annotations are strings then


@fact
class BootReport:
    """What came of the files of one folder."""

    loaded: tuple[Loaded, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    output: str = ""  # what loading printed
    deferred: tuple[Waiting, ...] = ()  # what is loaded when a cell names it
    failed_first: tuple[Failed, ...] = ()  # what waited, had to be loaded before these files, and could not be

    @property
    def live(self) -> tuple[tuple[Definition, RelPath], ...]:
        """The definitions that the kernel has, loaded or to be loaded, and their files."""
        loaded = ((item.definition, item.path) for item in self.loaded)
        return (*loaded, *((item.definition, item.path) for item in self.deferred))


@fact
class Given:
    """A definition of a cells folder."""

    definition: Definition
    folder: Path
    path: RelPath
