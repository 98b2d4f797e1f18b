"""The process in which files are tried that may be its end; `trial` starts it.

It loads what was proven, and forks before each other file: the fork loads it, and says that it is still there after it.
Only then does the process load it itself, as others may need it. So any number of files that kill cost one trial, and
no more than a fork each.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TextIO

from .aside import how_it_ended, load, step_aside
from .boot_journal import Mark, mark_of
from .bounds import Bounds
from .cells_folder import CellsFolder
from .definition import RelPath
from .git_files import definition_files
from .shipped import Shipped

_NICE = 5


def main(job: Mapping[str, Any]) -> None:
    """Try what the job says and tell it on standard output; runs in the process that nobody needs."""
    report, namespace = step_aside()
    os.nice(_NICE)
    shipped = Shipped(namespace, sys.modules, defer=job["defers"])
    for folder in job["before"]:
        files = _files(folder)
        shipped.load(CellsFolder(Path(folder["root"]), None, files))
    files, root = _files(job["folder"]), Path(job["folder"]["root"])
    watch = _Forking(files, {*job["proven"]}, {*job["slow"]}, Bounds(**job["bounds"]), report)
    load(shipped, root, files, watch)
    report.write(json.dumps({"end": not watch.is_late}) + "\n")
    report.flush()
    os._exit(0)  # threads that files started may go on for ever


def _files(folder: Mapping[str, Any]) -> dict[RelPath, bytes]:
    without = {*folder["without"]}
    files = definition_files(Path(folder["root"]))
    return {path: data for path, data in files.items() if mark_of(path, data) not in without}


class _Forking:
    """A watch that loads a file only after a fork did."""

    def __init__(
        self,
        files: Mapping[RelPath, bytes],
        proven: Collection[str],
        slow: Collection[str],
        bounds: Bounds,
        report: TextIO,
    ) -> None:
        self._marks = {path: mark_of(path, data) for path, data in files.items()}
        self._proven = proven
        self._slow = slow
        self._bounds = bounds
        self._report = report
        self._until = time.monotonic() + bounds.boot_seconds
        self.is_late = False

    def refuses(self, _: RelPath) -> str | None:
        return None

    def comes_last(self, path: RelPath) -> bool:
        return self._marks[path] in self._slow

    def run(self, path: RelPath, act: Callable[[], None]) -> str | None:
        mark = self._marks[path]
        if mark in self._proven:
            self._write(trying=mark)  # it may kill all the same, now that something else is there
            act()
            return None
        seconds = self._bounds.of_next(self._until - time.monotonic())
        if not seconds:
            self.is_late = True
            return self._bounds.says_late()
        self._write(trying=mark)
        status = self._fork(act, seconds)
        if status is None:
            return self._tell(mark, slow=self._bounds.says_slow(seconds))
        if status:
            return self._tell(mark, fatal=status)
        self._tell(mark)
        act()
        return None

    def _tell(self, mark: Mark, **what: str) -> str:
        self._write(mark=mark, **what)
        return "".join(what.values())

    def _write(self, **fact: str) -> None:
        self._report.write(json.dumps(fact) + "\n")
        self._report.flush()

    def _fork(self, act: Callable[[], None], seconds: float) -> str | None:
        """How a fork that calls `act` ended, empty where it was there still; None where it took too long."""
        source, sink = os.pipe()
        child = os.fork()
        if not child:
            self._in_fork(act, sink)
        os.close(sink)
        try:
            ready, _, _ = select.select([source], [], [], seconds)
            is_there = bool(ready) and os.read(source, 1) == b"!"
        finally:
            os.close(source)
        for kill in (os.killpg, os.kill):
            try:
                kill(child, signal.SIGKILL) if is_there or not ready else None
            except OSError:
                pass
        _, status = os.waitpid(child, 0)
        return "" if is_there else how_it_ended(os.waitstatus_to_exitcode(status)) if ready else None

    def _in_fork(self, act: Callable[[], None], sink: int) -> None:
        me = os.getpid()
        try:
            os.setpgid(0, 0)
            os.close(self._report.fileno())
            try:
                act()
            except BaseException:  # it is the kernel that tells of it
                pass
            if os.getpid() == me:
                os.write(sink, b"!")
                signal.pause()  # until it is killed, with all that it started
        finally:
            os._exit(0)
