"""What waits until it is named, and what came of loading some of it. Frozen values only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .definition import Definition, RelPath
from .slots import fact


@fact
class Waiting:
    """A definition that is kept and not loaded yet."""

    definition: Definition
    path: RelPath
    root: Path  # of the layer or cells folder
    text: str  # the whole file
    packages: tuple[str, ...]  # that it waits for
    needs: frozenset[str]  # names of the definitions that loading it reads
    reads: frozenset[str] = frozenset()  # names that its own text reads as it loads

    @property
    def file(self) -> Path:
        return self.root / self.path


@fact
class Failed:
    """A definition that was to be loaded and could not be; `reason` is a clause."""

    waiting: Waiting
    reason: str

    @property
    def told(self) -> str:
        return f"{', '.join(self.waiting.definition.gives)} cannot be loaded; {self.waiting.file}: {self.reason}"


@fact
class Loading:
    """What came of loading some that waited."""

    loaded: tuple[Waiting, ...] = ()
    failed: tuple[Failed, ...] = ()
    lazy: tuple[tuple[Waiting, str], ...] = ()  # of `loaded`, with the name in an annotation that nothing defines
    output: str = ""  # what loading printed
    seconds: float = 0.0

    def failure_of(self, names: Iterable[str]) -> Failed | None:
        """The first of those that failed which gives one of `names`."""
        wanted = {*names}
        return next((each for each in self.failed if not wanted.isdisjoint(each.waiting.definition.gives)), None)


NOTHING = Loading()
