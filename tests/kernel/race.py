"""Case S2: two kernels and a git command line commit at once; no commit is lost, and no file.

Each has names of its own, and some that all of them write: of those, what stands at the end was not written over by
anybody who began after it had been acknowledged.
"""

from __future__ import annotations

import random
import re
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from .home import Home
from .ledger import Attempt, Ledger, stands
from .nursery import Nursery, Writer
from .random_cells import MUCH, Author
from .torture import Violated

_SHARED = 5  # names that all write


@dataclass(frozen=True, slots=True)
class _Written:
    """A text that somebody wrote into a file that is everybody's, and when."""

    text: str
    begun: float
    ended: float  # when that was acknowledged


@dataclass(slots=True)
class Race:
    """So many commits, by all together, on the layer of one home."""

    home: Home
    nursery: Nursery
    seed: str
    commits: int
    acknowledged: Counter[str] = field(default_factory=Counter)  # by who it was
    refused: Counter[str] = field(default_factory=Counter)
    _shared: dict[str, list[_Written]] = field(default_factory=dict)
    _failures: list[BaseException] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        """Violated where anything is lost."""
        ledger = Ledger(self.home)
        writers = {initial: self.nursery.birth(self.home).ready() for initial in "ab"}
        racers = [self._racer(self._keep, writer, initial, ledger) for initial, writer in writers.items()]
        racers.append(self._racer(self._commit_by_hand, ledger))
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join()
        for writer in writers.values():
            writer.end()
        if self._failures:
            raise self._failures[0]
        last = self.nursery.birth(self.home).ready()
        wrong = [*self._of_the_shared(ledger), *ledger.look()]
        wanted = ledger.values()
        found = last.ask("values", sorted(wanted))
        wrong += [
            f"{name} loads as {found[name]}, not {wanted[name]}" for name in wanted if found[name] != wanted[name]
        ]
        last.end()
        if wrong:
            raise Violated("\n".join(["", *wrong]))

    def _racer(self, act: Callable[..., None], *words: object) -> threading.Thread:
        def run() -> None:
            try:
                act(*words)
            except BaseException as failure:
                self._failures.append(failure)

        return threading.Thread(target=run)

    def _goes_on(self) -> bool:
        return not self._failures and self.acknowledged.total() < self.commits

    def _keep(self, writer: Writer, initial: str, ledger: Ledger) -> None:
        """One kernel: cell after cell."""
        chance = random.Random(f"{self.seed} {initial}")
        author, number = Author(initial, chance), 0
        while self._goes_on():
            number += 1
            if chance.random() < 0.15:
                self._keep_shared(writer, chance, initial, number)
                continue
            with self._lock:
                cell = author.cell(ledger.standing)
                for part in cell.parts:
                    ledger.begin(part)
            left = [*cell.parts]
            writer.send("cell", cell.text)
            while (said := writer.answer())[0] == "told":
                part = left.pop(0)
                self._settle(ledger, part, f"kernel {initial}", done=stands(part, said[1]))
            for part in left:
                self._settle(ledger, part, f"kernel {initial}", done=stands(part, said[1]))

    def _keep_shared(self, writer: Writer, chance: random.Random, initial: str, number: int) -> None:
        name = f"s_{chance.randrange(_SHARED)}"
        path = f"functions/s/{name}.py"
        text = f"def {name}():\n    return {number * 10 + ord(initial)}\n"
        begun = time.monotonic()
        said = writer.ask("cell", text)
        if stands(Attempt(text, {path: text}), said):
            self._shared.setdefault(path, []).append(_Written(text, begun, time.monotonic()))
            self.acknowledged[f"kernel {initial}"] += 1

    def _settle(self, ledger: Ledger, part: Attempt, who: str, *, done: bool) -> None:
        with self._lock:
            if not done:
                ledger.refuse(part)
                self.refused[who] += 1
            elif ledger.acknowledge(part):
                self.acknowledged[who] += 1

    def _commit_by_hand(self, ledger: Ledger) -> None:
        """A person: a file, `git add`, `git commit`; where another has the lock, again."""
        author = Author("h", random.Random(f"{self.seed} h"))
        while self._goes_on():
            name, path, text = author.definition()
            if any(other != path and other.rpartition("/")[2] == f"{name}.py" for other in ledger.standing):
                continue
            text = text.replace(MUCH, "")
            file = self.home.layer / path
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            file.write_text(text)
            attempt = Attempt(f"git commit {path}", {path: text}, by_cell=False)
            with self._lock:
                ledger.begin(attempt)
            while self._git("add", path) is None or (said := self._git("commit", "-m", f"by hand {name}")) is None:
                self.refused["git"] += 1
            short = re.match(r"\[\S+ ([0-9a-f]+)\]", said)
            if short is not None:  # else a kernel's commit took it along
                commit = self.home.git("rev-parse", short[1]).strip()
                with self._lock:
                    ledger.commits.add(commit)
            self._settle(ledger, attempt, "git", done=True)

    def _git(self, *words: str) -> str | None:
        """What a git command says; None where a lock was in its way."""
        done = subprocess.run(
            ["git", *words], cwd=self.home.layer, env=self.home.environ, text=True, capture_output=True, check=False
        )
        if done.returncode and re.search(r"\.lock|cannot lock ref", done.stderr):
            return None
        nothing = "nothing to commit" in done.stdout or "nothing added to commit" in done.stdout
        assert done.returncode == 0 or nothing, f"git {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def _of_the_shared(self, ledger: Ledger) -> list[str]:
        """What is wrong with the files that everybody wrote; what stands there is right from now on."""
        wrong, files = [], self.home.files()
        for path, writes in self._shared.items():
            right = {w.text for w in writes if not any(other.begun > w.ended for other in writes)}
            if (text := files.get(path)) not in right:
                wrong.append(f"{path} is {text!r}, and has to be one of {sorted(right)}")
            with suppress(KeyError):
                ledger.standing[path] = files[path]
            ledger.names.add(path.rpartition("/")[2].removesuffix(".py"))
        return wrong
