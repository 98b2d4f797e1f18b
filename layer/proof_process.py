"""The process in which what was kept is loaded as a start would load it; `proof` starts it.

It knows nothing of the session: the texts, and what a kernel begins with, are sent to it. Who started it watches from
outside how long each file takes, and whether the process is still there.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, TextIO

from .aside import load, step_aside
from .boot_files import BootFile, BootFiles, Known
from .boot_report import BootReport
from .definition import RelPath
from .finding import Finder
from .order import Loadable
from .proof import LAYER
from .proof_files import Concerned, concerned
from .shipped import Shipped

_NICE = 19
_NOT_PROVED = "it is not part of the proof"


def main(job: Mapping[str, Any]) -> None:
    """Load what the job says and tell what will not load; runs in the process that nobody needs."""
    _give_way()
    folders = [(Path(folder["root"]), dict(_sent(folder["files"]))) for folder in job["folders"]]
    _end_with_the_kernel(os.dup(0), job["cpu_seconds"])
    report, namespace = step_aside()
    namespace.update({name: _Absent() for name in job["ambient"]})
    numbers = range(len(folders) - 1, LAYER - 1, -1)
    read = {n: BootFiles(files, {}) for n, (_, files) in zip(numbers, folders, strict=True)}
    about = concerned([loadable(n, file) for n in read for file in read[n]], job["names"])
    wanted = about.proved | about.needed
    _say(report, begun=True)
    if job["whole"]:
        finder = Finder(sys.modules)
        wanted |= {key(n, file.path) for n in read for file in read[n] if all(map(finder.is_cheap, file.facts.needed))}
    left_out = [file.path for file in read[LAYER] if key(LAYER, file.path) not in wanted]
    shipped = Shipped(namespace, sys.modules)
    blind: set[RelPath] = set()
    loaded = BootReport()
    for number, (root, files) in zip(numbers, folders, strict=True):
        watch = _Telling(number, wanted, job["refused"], report, blind)
        known = {file.path: Known(file.facts) for file in read[number]}
        loaded = load(shipped, root, files, watch, known)
        shipped.add(root, loaded)
    blind |= about.behind(blind)
    if job["whole"]:  # else it is tried again with more
        ends = tuple(f", and {path} is skipped" for path in left_out)
        blind |= {key(LAYER, each.path) for each in loaded.skipped if each.reason.endswith(ends)}
    _say(report, **_told(loaded, about, blind, job["passed"]), end=True)
    os._exit(0)  # threads that files started may go on for ever


def key(number: int, path: RelPath) -> RelPath:
    """The file at `path` of the folder of that number, apart from those of other folders."""
    return RelPath(f"{number} {path}")


def loadable(number: int, file: BootFile) -> Loadable:
    """What the order of a file hangs on, which belongs to the folder of that number."""
    return replace(file.loadable(), path=key(number, file.path))


def _told(
    loaded: BootReport, about: Concerned, blind: Collection[RelPath], passed: Collection[str]
) -> dict[str, object]:
    concerned_ones = about.proved | about.needed
    unread = [skipped for skipped in loaded.skipped if skipped.definition is None]
    fails = [
        [skipped.path, skipped.names, skipped.reason]
        for skipped in loaded.skipped
        if skipped.path not in passed
        and (skipped in unread or ((own := key(LAYER, skipped.path)) in concerned_ones and own not in blind))
    ]
    return {"fails": fails, "loads": [item.path for item in loaded.loaded]}


def _sent(files: list[tuple[RelPath, int]]) -> Iterator[tuple[RelPath, bytes]]:
    for path, size in files:
        yield path, sys.stdin.buffer.read(size)


def _say(report: TextIO, **fact: object) -> None:
    report.write(json.dumps(fact) + "\n")
    report.flush()


def _give_way() -> None:
    """Run when nothing else wants to."""
    os.nice(_NICE)
    if hasattr(os, "SCHED_IDLE"):
        try:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        except OSError:
            pass


def _end_with_the_kernel(pipe: int, seconds: int) -> None:
    """End, with all that was started, when the kernel's end of `pipe` is closed; at the latest after CPU `seconds`."""

    def wait() -> None:
        os.read(pipe, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    if most == resource.RLIM_INFINITY or seconds < most:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))


class _Telling:
    """A watch that says which file is tried (`boot_watch.Watch`)."""

    def __init__(
        self,
        number: int,
        wanted: Collection[RelPath],
        refused: Mapping[str, str],
        report: TextIO,
        blind: set[RelPath],
    ) -> None:
        self._number = number
        self._wanted = wanted
        self._refused = refused
        self._report = report
        self._blind = blind

    def refuses(self, path: RelPath) -> str | None:
        own = key(self._number, path)
        return self._refused.get(own) or (None if own in self._wanted else _NOT_PROVED)

    def comes_last(self, _: RelPath) -> bool:
        return False

    def run(self, path: RelPath, act: Callable[[], None]) -> str | None:
        me, own = os.getpid(), key(self._number, path)
        _say(self._report, tries=own)
        try:
            act()
        except BaseException as error:
            if _is_for_want_of_a_kernel(error):
                self._blind.add(own)
            raise
        finally:
            if os.getpid() != me:
                os._exit(0)  # it forked, and this is the other one
            signal.setitimer(signal.ITIMER_REAL, 0)  # as a start does: it would end what is loaded after it
            _say(self._report, tried=own)
        return None


class _OnlyInKernel(BaseException):
    """Something was asked of a name that kernels have and this process has not."""


def _is_for_want_of_a_kernel(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, _OnlyInKernel):
            return True
        error = error.__cause__ or error.__context__
    return False


def _ask(*_: object, **__: object) -> NoReturn:
    raise _OnlyInKernel


_ASKING = (
    "getattribute setattr delattr call getitem setitem delitem contains len iter next bool int float index enter "
    "aenter mro_entries instancecheck subclasscheck eq ne lt le gt ge hash str repr format add radd sub rsub mul rmul "
    "matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow or ror and rand xor rxor lshift rshift neg "
    "pos invert abs await aiter anext"
)
_Absent = type("_Absent", (), {f"__{name}__": _ask for name in _ASKING.split()})
"""Stands for what a kernel's namespace has at its start: it can be named, and asked nothing."""
