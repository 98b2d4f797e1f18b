"""Case S1 with kernels as a front end has them: over sockets, with IPython around the layer."""

from __future__ import annotations

import ast
import os
import random
import signal
import threading
import time

from .by_hand import Hand
from .driver import Kernel, KernelDied
from .home import Home
from .ledger import Attempt, Ledger, stands
from .random_cells import MUCH, TOLD, Author
from .torture import Tally, Violated

_LOOKS = 100
_VALUE = """%%scratch
def value_of(name):
    found = globals().get(name)
    if isinstance(found, type):
        return found.token
    return found() if callable(found) else found"""


class KilledKernels:
    """One kernel after the other on one home, each killed in the middle of a cell."""

    def __init__(self, home: Home, seed: str) -> None:
        self.home = home
        self.ledger = Ledger(home)
        self.tally = Tally()
        self.story: list[str] = []
        self._chance = random.Random(seed)
        self._author = Author("k", self._chance)
        self._hand = Hand(self.ledger, self._chance, self._author)
        self._kernel = Kernel(home)
        self._seconds = 0.2  # that a cell takes, about

    def life(self) -> None:
        """A start, a look, some cells, and a kill in the last of them. Violated where the look shows anything."""
        self._start()
        for _ in range(self._chance.randrange(3)):
            self._cell()
        if self._chance.random() < 0.3 and (attempt := self._hand.taking_back("%layer undo", by_cell=True)):
            self._run(attempt.what, (attempt,))
        self._cell(share=self._chance.uniform(0, 1.3))

    def end(self) -> None:
        """A last start and a look."""
        try:
            self._start()
        finally:
            self._kernel.kill()

    def _start(self) -> None:
        self._kernel.kill()
        is_first = not self.home.layer.exists()
        self._kernel.start()
        self.tally.boots += 1
        if is_first:
            return
        for _ in range(_LOOKS):  # what a kernel does at rest is done in some of these moments
            if not self.home.status():
                break
            self._kernel.run("pass")
        wrong = self.ledger.look()
        wanted = self.ledger.values()
        told = self._kernel.run(f"{_VALUE}\n{{name: value_of(name) for name in {sorted(wanted)!r}}}").value
        found = ast.literal_eval(str(told))
        wrong += [
            f"{name} loads as {found[name]}, not {wanted[name]}" for name in wanted if found[name] != wanted[name]
        ]
        if wrong:
            raise Violated("\n".join(["", *wrong, "after:", *self.story, *self._kernel.hello]))
        self.story.clear()

    def _cell(self, share: float | None = None) -> None:
        """Run a cell; where there is a `share`, the kernel is killed after that part of the time that it takes."""
        cell = self._author.cell(self.ledger.standing)
        self._run(cell.text.replace(f"{TOLD}\n", "str()\n"), cell.parts, share)

    def _run(self, text: str, parts: tuple[Attempt, ...], share: float | None = None) -> None:
        for part in parts:
            self.ledger.begin(part)
        self.tally.cells += 1
        self.story.append(text.replace(MUCH, "…"))
        pid, begun = self._kernel.pid, time.monotonic()
        killer = threading.Timer((share or 0) * self._seconds, os.killpg, (pid, signal.SIGKILL))
        if share is not None:
            killer.start()
        try:
            answer = self._kernel.run(text)
        except KernelDied:
            self.tally.fell("in a cell, before its reply was heard")
            return
        finally:
            killer.join() if share is not None else None
        if share is not None:
            self.tally.fell("after the reply was heard")
        self._seconds += 0.2 * (time.monotonic() - begun - self._seconds)
        said = answer.stdout if text == "%layer undo" else answer.perdure | {"unchanged": self._unchanged(parts)}
        for part in parts:
            if stands(part, said):
                self.ledger.acknowledge(part)
            else:
                self.ledger.refuse(part)
                self.tally.refused += 1
                self.story.append(f"refused: {answer.notices}")

    def _unchanged(self, parts: tuple[Attempt, ...]) -> list[str]:
        """Names of which the layer has the very text, and nothing is told then."""
        standing = self.ledger.standing
        return [name for part in parts for name, path in part.kept.items() if standing.get(path) == part.changes[path]]
