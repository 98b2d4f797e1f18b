"""Hearing one process that proves, and looking at its time. What is asked of it stands in `proof`.

Time in which it was ready to run and others ran does not count: it runs when nothing else wants to.
"""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from .aside import how_it_ended
from .bounds import Bounds
from .definition import RelPath
from .slots import fact

BEGINNING = 60.0  # seconds that an interpreter may take to start, and to read all texts
_PATIENCE = 20  # a proof takes at most this many times what it may, turns that it did not get included
_LOOK = 0.2  # seconds between looks at whether the process is there
_CHUNK = 65_536  # bytes
_MOST = 16_000_000  # bytes of a report


@fact
class Unloadable:
    """A file that will not load; `reason` is a clause, as a boot gives it."""

    path: RelPath
    names: tuple[str, ...]
    reason: str

    @property
    def told(self) -> str:
        """What is said of it, as a clause."""
        return f"{', '.join(self.names)} will not load after a restart: {self.reason}"


@fact
class Report:
    """What a process said."""

    has_begun: bool = False
    tries: str = ""  # the key of the file that it was loading when it said nothing more
    fails: tuple[Unloadable, ...] = ()
    loads: frozenset[RelPath] = frozenset()
    is_whole: bool = False  # it came to its end


def heard_more(report: Report, line: bytes) -> Report:
    """What a process said, with one more line of it; one that is no fact of ours is passed over. Pure."""
    try:
        fact = json.loads(line)
    except ValueError:
        return report
    match fact:
        case {"begun": True}:
            return replace(report, has_begun=True)
        case {"tries": str(key)}:
            return replace(report, tries=key)
        case {"tried": str()}:
            return replace(report, tries="")
        case {"fails": [*fails], "loads": [*loads], "end": True}:
            found = tuple(Unloadable(path, tuple(names), reason) for path, names, reason in fails)
            return Report(True, "", found, frozenset(loads), is_whole=True)
    return report


@fact
class Heard:
    """What came of one process."""

    report: Report
    ended: str  # how the process ended, a clause; empty where it was ended from here
    is_slow: bool  # whether the file that it was loading had all its time
    seconds: float  # that it took, once it had begun


class Listener:
    """Sends one process its job, hears its report, and looks at its time."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        job: bytes,
        bounds: Bounds,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._job = memoryview(job)
        self._bounds = bounds
        self._seconds = seconds
        self._clock = clock
        self._into, self._out = process.stdin.fileno(), process.stdout.fileno()
        self._report = Report()
        self._line = b""  # as far as it has come
        self._size = 0

    def listen(self) -> Heard:
        """Until the report is there, the process is not, or its time is over."""
        began, longest = self._clock(), self._seconds * _PATIENCE + BEGINNING
        begun = tried = 0.0  # by the time that the process had
        os.set_blocking(self._into, False)
        while True:
            before = self._report
            is_there = self._hear()
            report = self._report
            had = self._clock() - began - without_a_turn(self._process.pid)
            if report.has_begun and not before.has_begun:
                begun = had
            if report.tries != before.tries:
                tried = had
            if report.is_whole:
                return Heard(report, "", False, had - begun)
            if not is_there or self._size > _MOST:
                return Heard(report, how_it_ended(self._end()), False, had - begun)
            if report.tries and had - tried > self._bounds.file_seconds:
                return Heard(report, "", True, had - begun)
            limit = begun + self._seconds if report.has_begun else BEGINNING
            if had > limit or self._clock() - began > longest:
                return Heard(report, "", False, self._seconds)

    def _end(self) -> int:
        try:
            return self._process.wait(_LOOK)
        except subprocess.TimeoutExpired:  # a file closed what is listened to
            kill(self._process)
            return self._process.wait()

    def _hear(self) -> bool:
        """Send and take what can be, and wait for that a moment; False where nothing more comes."""
        poller = select.poll()
        poller.register(self._out, select.POLLIN)
        if self._job:
            poller.register(self._into, select.POLLOUT)
        ready = dict(poller.poll(int(_LOOK * 1000)))
        if self._into in ready:
            try:
                self._job = self._job[os.write(self._into, self._job[:_CHUNK]) :]
            except BlockingIOError:
                pass
            except BrokenPipeError:
                self._job = self._job[:0]
        if self._out in ready:
            data = os.read(self._out, _CHUNK)
            self._size += len(data)
            *lines, self._line = (self._line + data).split(b"\n")
            self._report = functools.reduce(heard_more, lines, self._report)
            return bool(data)
        # What a file started may hold the pipe open.
        return self._process.poll() is None


def without_a_turn(pid: int) -> float:
    """Seconds that the process was ready to run and others ran, where the system tells that."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the process, with what it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
