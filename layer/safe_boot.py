"""Boots that one file cannot spoil: bounded, interruptible, and with a journal that tells the next start of a death.

Owns what a start makes of the starts before it. Knows no kernel; `boot` asks it before and after each file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from .alarm import Alarm, Stop
from .asked import AskedRound, Round, Unjournalled, blame
from .boot_journal import LOADED, TOGETHER, BootJournal, Known, Mark, is_cut_of, mark_of
from .bounds import Bounds
from .definition import RelPath
from .slots import fact
from .store import Stamp
from .trial import Folder, Job, Tried, try_out

Marks: TypeAlias = Callable[[], Mapping[RelPath, Mark]]
"""Tells the marks of a folder's files. Of ten thousand files it takes time, and few starts ask."""

_FOR_TRIAL = 0.6  # the part of what is left of a start that a trial may take
_TOGETHER = 100  # files that are run under one bound, since to set one for each takes longer than most files
_LONG = 1.0  # seconds of a file from which on it is told how many they were
_UNSEEN = 0.05  # the part of that bound that may be over before it is set anew

_KILLED = "it killed the kernel at the last start"
_BY_CHANCE = "tried by itself it did no harm, so the next start loads it"
_LATE = "a start ended when all was loaded; what is new is left out of this one, and loaded by the next"
_NO_TIME = "a start did not end, and there was no time to try it; the next start does"


@fact
class Verdict:
    """What a start makes of the files after one that did not end."""

    refused: Mapping[str, str]  # by mark, why it is not run by this start: a clause
    facts: tuple[Mapping[str, object], ...]  # for the starts to come


def judge(
    marks: Collection[Mark],
    accused: Collection[Mark],
    known: Known,
    tried: Tried,
    unproven: Collection[Mark],
    when: str,
) -> Verdict:
    """What to make of a trial. Pure. `accused` are the marks of what was loading when a start ended, at `when`."""
    refused: dict[str, str] = {**tried.slow}
    # What hung is tried after all others the next time: there may be so many that nothing had a turn beside them.
    facts: list[Mapping[str, object]] = [{"slow": sorted(tried.slow)}] if tried.slow else []
    for mark, how in tried.fatal.items():
        if mark not in accused:
            refused[mark] = f"it killed the process that tried it ({how})"
            facts.append({"died": mark, "why": refused[mark]})
    for mark in accused:
        if mark in tried.harmless and mark not in known.accused:
            # A person may have ended the kernel, and then any file was the one.
            refused[mark] = f"{_KILLED} ({_BY_CHANCE})"
            facts.append({"accused": [mark]})
        else:
            how = tried.fatal.get(mark) or (f"tried by itself, {tried.slow[mark]}" if mark in tried.slow else "")
            refused[mark] = f"{_KILLED} ({how})" if how else _KILLED
            facts.append({"died": mark, "why": f"it killed the kernel at a start ({when}{f'; {how}' if how else ''})"})
    seen = tried.harmless | tried.fatal.keys() | tried.slow.keys() if not tried.is_whole else {*marks}
    untried = [mark for mark in unproven if mark not in seen and mark not in refused]
    refused |= dict.fromkeys(untried, _NO_TIME)
    if untried or known.untried:
        facts.append({"untried": untried})
    return Verdict(refused, tuple(facts))


class SafeBoot:
    """The boots of one kernel, which share their time."""

    def __init__(self, cache: Callable[[], Path], bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        """`cache` tells the user's folder for what can be made again; it is asked when a folder is loaded."""
        self._cache = cache
        self._bounds = bounds
        self._clock = clock
        self._until = clock() + bounds.boot_seconds
        self.took: dict[tuple[Path, RelPath], float] = {}  # by folder and file, the seconds of those that took long
        self._before: list[Folder] = []
        self._refused: set[tuple[Path, str]] = set()  # by folder and mark
        self._accused: set[tuple[Path, str]] = set()  # by folder and mark, what may have been the end of a kernel
        self._is_loading = False
        self._fork = Fork()
        self._is_after_death = False
        self._resting: list[tuple[BootJournal, FolderWatch]] = []  # boots after which the kernel was not heard of yet

    def begin(self) -> None:
        """The time of a start begins."""
        self._is_after_death = False
        self._until = self._clock() + self._bounds.boot_seconds

    @contextmanager
    def folder(
        self, root: Path, marks: Marks, *, defers: bool = False, proven: Stamp | None = None
    ) -> Iterator[FolderWatch]:
        """A watch over one boot of the folder, whose files have these marks; the block is the boot.

        `defers`: what imports packages waits. `proven` is a stamp that the record of the folder had when it said of all
        files that they were loaded to their end, and nothing else: if it has that still, no mark is looked at.
        """
        journal = BootJournal(self._cache(), root)
        deaths = journal.begin()
        if proven is not None and not deaths and journal.stamp() == proven and not self._is_after_death:
            refused: Mapping[str, str] = {}
        else:
            proven = None
            refused = self._refusals(root, {*marks().values()}, journal, deaths, defers)
        try:
            self._is_loading = True
            with _same_working_folder(), Alarm() as alarm:
                watch = FolderWatch(
                    *(marks, journal, alarm, refused, self._bounds, self._until, self._clock, self._fork),
                    is_proven=proven is not None,
                )
                yield watch
        except BaseException:
            journal.end()
            raise
        finally:
            self._is_loading = False
        if watch.took:
            self.took |= {(root, path): watch.took[mark] for path, mark in marks().items() if mark in watch.took}
        journal.rests()
        self._resting.append((journal, watch))
        self._refused |= {(root, mark) for mark in refused}
        left_out = sorted({*marks().values()}.intersection(refused)) if refused else []
        self._before.append(Folder(str(root), [*left_out, *watch.slow]))

    def _refusals(
        self, root: Path, there: set[Mark], journal: BootJournal, deaths: list[str], defers: bool
    ) -> Mapping[str, str]:
        """By mark, why files are not run by this start, after what is known of them and `deaths` tells."""
        known = journal.known
        blamed = blame(deaths, there, known, f"{datetime.now():%Y-%m-%d %H:%M}")
        deaths = [*blamed.others]
        refused: dict[str, str] = {}
        if blamed.facts:
            journal.note(*blamed.facts)
        self._accused |= {(root, mark) for mark in known.accused}
        try:
            # Where an earlier folder was the end of the last start, this one's turn did not come.
            self._is_after_death = self._is_after_death or any(written != LOADED for written in deaths)
            if self._is_after_death or not known.untried.isdisjoint(there):
                accused = [mark for mark in sorted(there) if any(is_cut_of(written, mark) for written in deaths)]
                verdict = self._try(root, there, accused, known, defers)
                journal.note(*verdict.facts)
                refused.update(verdict.refused)
            if LOADED in deaths:
                # Whatever was new did it, and by itself it may do no harm: a timer, a closed descriptor.
                refused |= dict.fromkeys((m for m in there if m not in known.proven and m not in refused), _LATE)
        except BaseException:
            journal.end()
            raise
        return {**known.died, **refused, **blamed.refused}

    @contextmanager
    def asked(self, seconds: float | None = None) -> Iterator[Round]:
        """Around files that are loaded since somebody asks for them; `seconds` bounds all of them together."""
        if self._is_loading:  # a file that is being loaded asks for another: bound and journal are that file's
            yield Unjournalled()
            return
        self._is_loading = True
        try:
            with Alarm() as alarm:
                asked = AskedRound(lambda root: BootJournal(self._cache(), root), alarm, seconds, self._is_harmless)
                try:
                    yield asked
                finally:
                    asked.end()
        finally:
            self._is_loading = False

    def _is_harmless(self, root: Path, mark: Mark) -> None:
        if (root, mark) in self._accused:
            self._accused.discard((root, mark))
            BootJournal(self._cache(), root).note({"proven": [mark]})

    @property
    def is_resting(self) -> bool:
        """Whether something was loaded and the kernel was not heard of since."""
        return bool(self._resting)

    def answered(self) -> None:
        """The cell in which it was loaded has its reply: a kernel that ends now may have ended for any reason.

        That speaks against no file, and not for one either: what ends a kernel later is new still at the next start.
        """
        for journal, _ in self._resting:
            journal.end()

    def settle(self) -> None:
        """The kernel was heard of: what was loaded until now did it no harm."""
        for journal, watch in self._resting:
            watch.learn()
            journal.end()
        self._resting.clear()

    def acquit(self, root: Path, path: RelPath, data: bytes) -> None:
        """The text of the file was run by hand, and the kernel is still there: later starts load it again."""
        mark = mark_of(path, data)
        if (root, mark) in self._refused:
            BootJournal(self._cache(), root).note({"proven": [mark]})

    def _left(self) -> float:
        return self._until - self._clock()

    def _try(
        self, root: Path, there: Collection[Mark], accused: Collection[Mark], known: Known, defers: bool
    ) -> Verdict:
        unproven = [m for m in sorted(there) if m in accused or not (m in known.proven or m in known.died)]
        seconds = self._left() * _FOR_TRIAL
        if not unproven:
            return judge(there, accused, known, Tried({}, {}, (), True), (), "")
        job = Job(
            self._before,
            Folder(str(root), [mark for mark in known.died if mark in there and mark not in accused]),
            [mark for mark in known.proven if mark in there and mark not in accused],
            Bounds(self._bounds.file_seconds, max(seconds, 0)),
            defers,
            [mark for mark in unproven if mark in known.slow],
        )
        tried = try_out(job, max(seconds, 0) * 1.2)
        return judge(there, accused, known, tried, unproven, f"{datetime.now():%Y-%m-%d %H:%M}")


class Fork:
    """Whether this process was forked since: asked for every file, where the process id would be a system call."""

    def __init__(self) -> None:
        self.is_here = False
        os.register_at_fork(after_in_child=self._note)

    def _note(self) -> None:
        self.is_here = True


@contextmanager
def _same_working_folder() -> Iterator[None]:
    """The working folder is the same after the block, if it can be entered."""
    try:
        descriptor = os.open(".", os.O_RDONLY)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        try:
            os.fchdir(descriptor)
            os.close(descriptor)
        except OSError:  # a definition closed it
            pass


class FolderWatch:
    """Watches one boot of one folder (`boot_watch.Watch`)."""

    def __init__(
        self,
        marks: Marks,
        journal: BootJournal,
        alarm: Alarm,
        refused: Mapping[str, str],
        bounds: Bounds,
        until: float,
        clock: Callable[[], float],
        fork: Fork,
        *,
        is_proven: bool,
    ) -> None:
        """`is_proven`: nothing is known of the files but that they were loaded to their end, and no start has died."""
        self.is_proven = is_proven
        self._marks_of = marks
        self._journal = journal
        self._alarm = alarm
        self._refused = refused
        self._bounds = bounds
        self._until = until
        self._clock = clock
        self._fork = fork
        self._ended: list[str] = []
        self.slow: list[str] = []  # marks of what was stopped
        self.took: dict[Mark, float] = {}  # seconds of what took long, and came to its end

    @cached_property
    def _marks(self) -> Mapping[RelPath, Mark]:
        return self._marks_of()

    def refuses(self, path: RelPath) -> str | None:
        return self._refused.get(self._marks[path])

    def comes_last(self, path: RelPath) -> bool:
        return self._marks[path] in self._journal.known.slow

    def run(self, path: RelPath, act: Callable[[], None]) -> str | None:
        start = self._clock()
        seconds = self._bounds.of_next(self._until - start)
        if not seconds:
            return self._bounds.says_late()
        mark = self._marks[path]
        self._journal.enters(mark)
        try:
            stop = self._alarm.run(act, seconds)
        finally:
            if self._fork.is_here:
                os._exit(0)  # a definition forked, and this is not the kernel
        if stop is None:
            self._ended.append(mark)
            if (took := self._clock() - start) >= _LONG:
                self.took[mark] = took
            return None
        if stop is Stop.INTERRUPTED:
            return "it was interrupted"
        self.slow.append(mark)
        return self._bounds.says_slow(seconds)

    def knows_no_harm_of(self, marks: Callable[[], Collection[Mark]]) -> bool:
        """Whether all of these were loaded to their end before, and nothing is known against any file that is there."""
        if self.is_proven:
            return True
        there, known = self._marks.values(), self._journal.known
        refused = self._refused.keys()
        return known.proven.issuperset(marks()) and refused.isdisjoint(there) and known.slow.isdisjoint(there)

    def stamp_of_proof(self, marks: Collection[str]) -> Stamp | None:
        """As `BootJournal.proves`."""
        return self._journal.proves(marks)

    def run_together(self, act: Callable[[], object]) -> bool:
        """Call `act`, which loads files that do nothing as they load but define; whether it came to its end.

        Raises nothing. What did not come to its end is to be loaded file by file, and each has its bounds then.
        """
        seconds = self._bounds.of_next(self._until - self._clock())
        if not seconds:
            return False
        is_over = False

        def run() -> None:
            nonlocal is_over
            act()
            is_over = True

        self._journal.enters(TOGETHER)
        try:
            self._alarm.run(run, seconds)
        except BaseException:
            pass
        return is_over

    def run_in_turn(self, acts: Sequence[tuple[Mark, Callable[[], object]]]) -> tuple[int, Stop | None]:
        """Call each, which loads the file of that mark; how many came to their end, and why the next was stopped.

        Raises nothing: who raised is the next one, too.
        """
        before, count = len(self._ended), 0
        stop: Stop | None = None
        while count < len(acts):
            seconds = self._bounds.of_next(self._until - self._clock())
            if not seconds:
                stop = Stop.SLOW
                break
            ended, stop = self._run_some(acts[count : count + _TOGETHER], seconds)
            count = len(self._ended) - before
            if not ended:
                break
        else:
            stop = None
        if self.is_proven:
            del self._ended[before:]  # there is nothing in it to be learned
        return count, stop

    def _run_some(self, acts: Iterable[tuple[Mark, Callable[[], object]]], seconds: float) -> tuple[bool, Stop | None]:
        """Call some of these in turn, the first at least; whether each came to its end, and why one did not."""
        before = self._clock()
        until, is_between = before + seconds * _UNSEEN, False

        def run() -> None:
            nonlocal is_between, before
            ended, enters, fork, alarm, clock = self._ended, self._journal.enters, self._fork, self._alarm, self._clock
            for mark, act in acts:
                enters(mark)
                act()
                if fork.is_here:
                    os._exit(0)
                ended.append(mark)
                now = clock()
                if now - before >= _LONG:
                    self.took[mark] = now - before
                before = now
                if alarm.stop is not None or now > until:  # who was to be stopped may come to its end all the same
                    break
            is_between = True

        try:
            stop = self._alarm.run(run, seconds)
        except BaseException:  # the file is loaded once more, by itself, and then it is told
            stop = None
        finally:
            if self._fork.is_here:
                os._exit(0)
        return is_between, stop

    def learn(self) -> None:
        """Write down what this boot showed of its files."""
        if not self._ended and not self.slow:
            return
        known = self._journal.known
        again = known.slow | known.accused
        proven = [mark for mark in self._ended if mark not in known.proven or mark in again]
        slow = [mark for mark in self.slow if mark not in known.slow]
        if proven or slow:
            self._journal.note({"proven": proven}, {"slow": slow}, there=self._marks.values())
