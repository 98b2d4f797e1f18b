"""Whether what was kept will load after a restart: asked of a process that knows nothing of the session.

Owns what is sent there, how long it may take, and what its answers mean; what it does stands in `proof_process`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from .aside import start
from .bounds import Bounds
from .definition import RelPath
from .naming import name_told_by
from .proof_hearing import BEGINNING, Heard, Listener, Report, Unloadable, kill
from .slots import fact

__all__ = ["Beginning", "Folder", "Job", "Proof", "Prover", "Unloadable"]

LAYER = 0
"""The number of the layer among the folders, which are counted from the one that is loaded last."""

_CPU = 16  # it ends itself after this many times as much time of the processor, on all its threads


@fact
class Beginning:
    """What a kernel has when it begins to load, before a cell changed any of it."""

    path: Sequence[str]
    environ: Mapping[str, str]
    folder: Path

    @classmethod
    def now(cls) -> Beginning:
        """Of this process."""
        return cls((*sys.path,), {**os.environ}, Path.cwd())


@fact
class Folder:
    """A folder of definitions, and the files of it that are to be loaded, with the texts that they are to have."""

    root: Path
    files: Mapping[RelPath, bytes]


@fact
class Job:
    """What is to be proved: that what was made of the definitions `names` of the last folder loads."""

    folders: Sequence[Folder]  # in load order
    names: Collection[str]  # kept, or forgotten
    passed: Mapping[RelPath, str]  # files of the last folder that did not load at this start either, and why
    ambient: Collection[str]  # what a kernel's namespace has at its start
    beginning: Beginning
    bounds: Bounds


@fact
class Proof:
    """What came of a job. What is in neither was not judged."""

    fails: tuple[Unloadable, ...] = ()
    loads: frozenset[RelPath] = frozenset()
    trouble: str = ""  # why nothing could be proved, a clause


def encoded(job: Job, refused: Mapping[str, str], *, whole: bool) -> bytes:
    """The job as it is sent: a line of JSON, then the texts. Pure.

    `refused` are keys of files, and why they are not to run. With `whole`, all is loaded that a start would load.
    """
    texts = [data for folder in job.folders for data in folder.files.values()]
    head = {
        "sys_path": [*job.beginning.path],
        "folders": [
            {"root": str(folder.root), "files": [(path, len(data)) for path, data in folder.files.items()]}
            for folder in job.folders
        ],
        "names": sorted(job.names),
        "passed": sorted(job.passed),
        "ambient": sorted(job.ambient),
        "refused": {**{f"{LAYER} {path}": why for path, why in job.passed.items()}, **refused},
        "whole": whole,
        "cpu_seconds": int(_CPU * job.bounds.boot_seconds + BEGINNING),
    }
    return b"".join([json.dumps(head).encode("ascii"), b"\n", *texts])


class Prover:
    """Does one job after another, each in processes of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def prove(self, job: Job) -> Proof:
        """Do the job; this waits for it. Raises nothing for what the files do."""
        left, whole = job.bounds.boot_seconds, False
        refused: dict[str, str] = {}
        died: set[str] = set()
        known = Report()
        while left > 0 and not self._is_over:
            try:
                heard = self._ask(encoded(job, refused, whole=whole), job, left)
            except OSError as error:
                return Proof(trouble=f"no process could be started ({error.strerror or error})")
            left -= heard.seconds
            report, tries = heard.report, heard.report.tries
            if report.is_whole:
                known = report
                if whole or not report.fails:
                    break
                whole = True
            elif heard.is_slow:
                refused[tries] = job.bounds.says_slow(job.bounds.file_seconds)
            elif tries and heard.ended and tries not in died:
                died.add(tries)  # somebody may have ended it by chance
            elif tries and heard.ended:
                refused[tries] = f"it killed the process that tried it ({heard.ended})"
            elif heard.ended:
                return Proof(trouble=f"the process for it ended by itself ({heard.ended})")
            else:
                break  # no time, or the kernel ends
        found = {fail.path: fail for fail in known.fails}
        for file, reason in refused.items():
            number, _, path = file.partition(" ")
            if number == str(LAYER) and not known.is_whole:
                found[RelPath(path)] = Unloadable(RelPath(path), (name_told_by(RelPath(path)),), reason)
        return Proof(tuple(fail for _, fail in sorted(found.items())), known.loads)

    def end(self) -> None:
        """Do no more; what is under way is ended at once."""
        with self._lock:
            self._is_over = True
            if self._process is not None:
                kill(self._process)

    def _ask(self, job: bytes, about: Job, seconds: float) -> Heard:
        with self._lock:
            if self._is_over:
                return Heard(Report(), "", False, 0)
            process = start("proof_process", about.beginning.environ, about.beginning.folder)
            self._process = process
        try:
            heard = Listener(process, job, about.bounds, seconds).listen()
        finally:
            with self._lock:
                self._process = None
                kill(process)  # with what it started
            # Only now: as long as its own end is open, it goes on.
            process.stdin.close() if process.stdin else None
            process.stdout.close() if process.stdout else None
            process.wait()
        return heard
