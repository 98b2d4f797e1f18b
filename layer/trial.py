"""Files that may be the end of a process, tried in one that nobody needs, before the kernel loads them.

Owns the asking; what the other process does stands in `trial_process`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace

from .aside import start
from .bounds import Bounds
from .slots import fact

_OUTSIDE = "it killed more than itself"
_BRIEF = 0.5  # seconds that a file has at first: of many that hang none takes the turn of another


@fact
class Folder:
    """A folder to load, without the files that have one of the marks `without`."""

    root: str
    without: Collection[str]


@fact
class Job:
    """What is to be tried."""

    before: Sequence[Folder]  # loaded first, as they are
    folder: Folder
    proven: Collection[str]  # marks of its files that need no trial
    bounds: Bounds
    defers: bool = False  # whether what imports packages waits, and so is not tried
    slow: Collection[str] = ()  # marks of its files that are tried last


@fact
class Tried:
    """What came of a trial."""

    fatal: Mapping[str, str]  # by mark, how the process ended: a clause
    slow: Mapping[str, str]  # by mark, why it was stopped: a clause
    harmless: Collection[str]  # marks of what may be loaded, though it may raise
    is_whole: bool  # whether all that can be loaded was tried


def try_out(job: Job, seconds: float, clock: Callable[[], float] = time.monotonic) -> Tried:
    """Try the job's files in another process, and in a next one where one ends that; all of them have `seconds`.

    A file that takes long is tried once more when all others were, and only then has all the time that a file may have.
    So has what is known to take long.
    """
    until = clock() + seconds
    quick = Folder(job.folder.root, [*job.folder.without, *job.slow])
    brief = replace(job.bounds, file_seconds=min(_BRIEF, job.bounds.file_seconds))
    tried = _try_all(replace(job, folder=quick, bounds=brief), Tried({}, {}, (), False), until, clock)
    takes_long = tried.slow if brief != job.bounds else {}
    if not tried.is_whole or not (takes_long or job.slow):
        return tried
    again = _try_all(job, replace(tried, slow={} if takes_long else tried.slow), until, clock)
    slow = {mark: why for mark, why in tried.slow.items() if mark not in {*again.fatal, *again.harmless}}
    return replace(again, slow={**slow, **again.slow})


def _try_all(job: Job, tried: Tried, until: float, clock: Callable[[], float]) -> Tried:
    while (left := until - clock()) > 0:
        again = _run(job, tried, left)
        tried = Tried(
            {**tried.fatal, **again.fatal},
            {**tried.slow, **again.slow},
            {*tried.harmless, *again.harmless} - again.fatal.keys() - again.slow.keys(),
            again.is_whole,
        )
        if _OUTSIDE not in again.fatal.values():
            break
    return tried


def _run(job: Job, tried: Tried, seconds: float) -> Tried:
    """Try in one process what was not `tried` yet."""
    without = {*job.folder.without, *tried.fatal, *tried.slow}
    told = {
        "sys_path": sys.path,
        "before": [{"root": folder.root, "without": sorted(folder.without)} for folder in job.before],
        "folder": {"root": job.folder.root, "without": sorted(without)},
        "defers": job.defers,
        "slow": sorted(job.slow),
        "proven": sorted({*job.proven, *tried.harmless}),
        "bounds": asdict(replace(job.bounds, boot_seconds=min(seconds, job.bounds.boot_seconds))),
    }
    try:
        process = start("trial_process")
    except OSError:
        return read_report((), is_over=False)
    with process:
        try:
            output, _ = process.communicate(json.dumps(told).encode("ascii"), timeout=seconds)
            is_over = True
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            is_over = False
    return read_report(output.decode("utf-8", "replace").splitlines(), is_over=is_over)


def read_report(lines: Iterable[str], *, is_over: bool) -> Tried:
    """What the process that tried says. Pure. `is_over`: it ended, and was not stopped for want of time."""
    fatal: dict[str, str] = {}
    slow: dict[str, str] = {}
    harmless: dict[str, None] = {}
    trying: str | None = None
    end: bool | None = None
    for line in lines:
        try:
            fact = json.loads(line)
        except ValueError:  # cut off in the middle
            continue
        match fact:
            case {"trying": str(mark)}:
                trying = mark
            case {"mark": str(mark), "fatal": str(how)}:
                fatal[mark] = how
            case {"mark": str(mark), "slow": str(why)}:
                slow[mark] = why
            case {"mark": str(mark)}:
                harmless[mark] = None
            case {"end": bool(whole)}:
                end = whole
    if is_over and end is None and trying is not None:
        fatal[trying] = _OUTSIDE
    return Tried(fatal, slow, {*harmless} - fatal.keys() - slow.keys(), bool(end))
