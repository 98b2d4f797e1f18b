"""Proofs of what cells keep, beside the cells, and what is told of them (`c.PerdureKernel.proof = "process"`).

Owns the thread that waits for proofs, and which failures were told already. What a proof is stands in layer.proof.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from perdure.layer.bounds import Bounds
from perdure.layer.definition import RelPath
from perdure.layer.fileformat import render
from perdure.layer.outcome import Forgotten, Kept, Outcome
from perdure.layer.plan import definitions_of
from perdure.layer.proof import Beginning, Folder, Job, Proof, Prover, Unloadable
from perdure.layer.room import Layer
from perdure.layer.shipped import Shipped
from perdure.layer.slots import state

from .report import Report, some

_log = logging.getLogger(__name__)
_MORE = "more will not load; %layer skipped lists them"
_PATIENCE = 2.0  # seconds that the end of the kernel waits for the end of a proof


@state
class _Failure:
    """A file that will not load after a restart."""

    what: Unloadable
    root: Path
    data: bytes  # of the file, when it was proved
    is_shown: bool = False  # by a notice
    is_said: bool = False  # in the metadata of a reply


class Proving:
    """The proofs of one kernel, one at a time. Only its own thread waits for them."""

    def __init__(
        self, layer: Callable[[], Layer | None], shipped: Shipped, ambient: Collection[str], bounds: Bounds
    ) -> None:
        """`layer` gives the one that is kept to; `ambient` are the names of any kernel's namespace at its start."""
        self._layer = layer
        self._shipped = shipped
        self._ambient = ambient
        self._bounds = bounds
        self._beginning = Beginning.now()
        self._prover = Prover()
        self._pid = os.getpid()
        self._thread: threading.Thread | None = None
        self._wake = threading.Condition()
        self._names: set[str] = set()  # kept or forgotten, and not proved yet
        self._is_proving = False
        self._is_over = False
        self._failures: dict[RelPath, _Failure] = {}
        self._trouble: str | None = None  # to be told; empty once it was

    def closes(self, report: Report, *, shows: bool) -> None:
        """A cell is over and came to `report`: tell with it what is known; in a notice, too, if it `shows` all.

        Raises nothing.
        """
        try:
            report.unloadable += self._unsaid()
            if shows:
                report.news += [f"[layer: {said}]" for said in some(self._unshown(), _MORE)]
            self.hear(report.outcomes)
        except Exception as error:  # a mistake of ours must not cost the cell
            _log.exception("perdure could not have proved what a cell kept")
            self._could_not(f"perdure itself failed ({type(error).__name__}: {error})")

    def hear(self, outcomes: Sequence[Outcome]) -> None:
        """What `outcomes` kept or took away is to be proved."""
        names = {outcome.name for outcome in outcomes if isinstance(outcome, Forgotten)}
        kept = (definitions_of(outcome) for outcome in outcomes if isinstance(outcome, Kept))
        names.update(name for made in kept for definition in made for name in definition.gives)
        if not names or os.getpid() != self._pid:
            return
        with self._wake:
            self._names |= names
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="perdure-proof", daemon=True)
                self._thread.start()
                atexit.register(self.end)
            self._wake.notify_all()

    def rest(self, seconds: float | None = None) -> bool:
        """Wait until all is proved that was kept until now, at most `seconds`; whether it is."""
        with self._wake:
            return self._wake.wait_for(lambda: not self._names and not self._is_proving, seconds)

    def failing(self) -> list[Unloadable]:
        """What will not load after a restart, for who tells it now."""
        found = self._current()
        for failure in found:
            failure.is_shown = True
        return [failure.what for failure in found]

    def end(self) -> None:
        """Prove no more; the process of a proof is ended."""
        if os.getpid() != self._pid:
            return
        with self._wake:
            self._is_over = True
            self._wake.notify_all()
        self._prover.end()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def _unsaid(self) -> list[str]:
        """What will not load, as clauses, and was in no reply yet."""
        found = [failure for failure in self._current() if not failure.is_said]
        for failure in found:
            failure.is_said = True
        return [failure.what.told for failure in found]

    def _unshown(self) -> list[str]:
        """What will not load, as clauses, and was in no notice yet; and why there was no proof, once."""
        found = [failure for failure in self._current() if not failure.is_shown]
        for failure in found:
            failure.is_shown = True
        trouble, self._trouble = self._trouble, self._trouble and ""
        return [*(failure.what.told for failure in found), *([trouble] if trouble else [])]

    def _current(self) -> list[_Failure]:
        """The failures of files that are still as they were proved."""
        if not self._failures or (layer := self._layer()) is None:
            return []
        files = layer.tracked.files
        failures = tuple(self._failures.items())
        return [failure for path, failure in failures if failure.root == layer.root and files.get(path) == failure.data]

    def _work(self) -> None:
        while True:
            with self._wake:
                self._is_proving = False
                self._wake.notify_all()
                self._wake.wait_for(lambda: self._names or self._is_over)
                if self._is_over:
                    return
                names, self._names, self._is_proving = self._names, set(), True
            try:
                self._prove(names)
            except Exception as error:  # a mistake of ours must cost nothing but the proof
                _log.exception("perdure could not prove %s", ", ".join(sorted(names)))
                self._could_not(f"perdure itself failed ({type(error).__name__}: {error})")

    def _prove(self, names: Collection[str]) -> None:
        layer = self._layer()
        if layer is None:
            return
        with layer.lock:
            files = {**layer.tracked.loaded}
            passed = {skipped.path: skipped.reason for skipped in layer.report.skipped}
        folders = [*self._shipped_folders(), Folder(layer.root, files)]
        job = Job(folders, names, passed, self._ambient, self._beginning, self._bounds)
        proof = self._prover.prove(job)
        if proof.trouble:
            self._could_not(proof.trouble)
        self._take(proof, layer.root, files)

    def _take(self, proof: Proof, root: Path, files: dict[RelPath, bytes]) -> None:
        known = {path: failure for path, failure in self._failures.items() if failure.root == root}
        made = {path: failure for path, failure in known.items() if path not in proof.loads}
        for what in proof.fails:
            failure = made.get(what.path)
            if failure is not None and failure.data == files.get(what.path):
                failure.what = what  # it was told of this very text
            elif what.path in files:
                made[what.path] = _Failure(what, root, files[what.path])
        self._failures = made

    def _could_not(self, why: str) -> None:
        if self._trouble is None:
            self._trouble = f'what is kept could not be proved; {why}; c.PerdureKernel.proof = "static" asks for none'

    def _shipped_folders(self) -> Iterable[Folder]:
        for loaded in self._shipped.folders:
            yield Folder(loaded.path, {path: render(definition) for definition, path in loaded.report.live})
