"""Files that are loaded since somebody asks for them: a cell that names what waits, a refresh, an undo.

Nothing bounds them unless it is said: who names a heavy package waits for it. An interrupt ends what hangs, whatever
it catches; and a journal tells the next start of a file that was the end of the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from .alarm import Alarm, Stop
from .boot_journal import BootJournal, Known, Mark, is_cut_of, mark_of
from .definition import RelPath
from .slots import fact

_ASKED = "asked "  # before the mark in a journal: no start was the end of the process


class Round(Protocol):
    """Around each file of one loading."""

    def run(self, root: Path, path: RelPath, data: bytes, act: Callable[[], None]) -> Stop | None:
        """Call `act`, which loads the file of the folder `root`; why it was stopped. Raises what `act` raises else."""
        ...


class Unjournalled:
    """Runs everything (`Round`)."""

    def run(self, _root: Path, _path: RelPath, _data: bytes, act: Callable[[], None]) -> Stop | None:
        act()
        return None


@contextmanager
def unjournalled(_seconds: float | None = None) -> Iterator[Round]:
    """A round that neither bounds nor notes anything."""
    yield Unjournalled()


class AskedRound:
    """One loading of a kernel (`Round`)."""

    def __init__(
        self,
        journal_of: Callable[[Path], BootJournal],
        alarm: Alarm,
        seconds: float | None,
        harmless: Callable[[Path, Mark], None],
    ) -> None:
        """`seconds` are for all files together. `harmless` is told what was loaded to its end."""
        self._journal_of = journal_of
        self._journals: dict[Path, BootJournal] = {}
        self._alarm = alarm
        self._until = None if seconds is None else time.monotonic() + seconds
        self._harmless = harmless

    def run(self, root: Path, path: RelPath, data: bytes, act: Callable[[], None]) -> Stop | None:
        left = 0.0 if self._until is None else self._until - time.monotonic()  # 0 is no bound, for an alarm
        if self._until is not None and left <= 0:
            return Stop.SLOW
        if root not in self._journals:
            self._journals[root] = self._journal_of(root)
            self._journals[root].open()
        mark = mark_of(path, data)
        self._journals[root].enters(Mark(_ASKED + mark))
        stop = self._alarm.run(act, left)
        if stop is None:
            self._harmless(root, mark)
        return stop

    def end(self) -> None:
        """The process is there still."""
        for journal in self._journals.values():
            journal.end()


class AskedWatch:
    """The same for who loads as a boot does (`boot_watch.Watch`): files of one folder, over what is live."""

    def __init__(self, asked: Round, root: Path, files: Mapping[RelPath, bytes]) -> None:
        self._asked = asked
        self._root = root
        self._files = files

    def refuses(self, _: RelPath) -> str | None:
        return None

    def comes_last(self, _: RelPath) -> bool:
        return False

    def run(self, path: RelPath, act: Callable[[], None]) -> str | None:
        return "it was interrupted" if self._asked.run(self._root, path, self._files[path], act) else None


@fact
class Blamed:
    """What a start makes of processes that ended while something was loaded that was asked for."""

    refused: Mapping[str, str]  # by mark, why it is left out of this start: a clause
    facts: tuple[Mapping[str, object], ...]  # for the starts to come
    others: tuple[str, ...]  # what the boots left that did not end


def blame(written: Iterable[str], there: Iterable[Mark], known: Known, when: str) -> Blamed:
    """What to make of what is `written` in journals that nobody ended. Pure; `there` are the marks of all files.

    The first time it may have been chance: a person ends a kernel that is busy. Then it is left out of one start.
    """
    written = (*written,)
    asked = [said for said in written if said.startswith(_ASKED)]
    refused: dict[str, str] = {}
    facts: list[Mapping[str, object]] = []
    for mark in sorted(there) if asked else ():
        if not any(is_cut_of(said, Mark(_ASKED + mark)) for said in asked):
            continue
        if mark in known.accused:
            refused[mark] = f"it killed the kernel again when it was loaded ({when})"
            facts.append({"died": mark, "why": refused[mark]})
        else:
            refused[mark] = f"the kernel ended while it was loaded ({when}); the next start loads it again"
            facts.append({"accused": [mark]})
    return Blamed(refused, tuple(facts), tuple(said for said in written if not said.startswith(_ASKED)))
