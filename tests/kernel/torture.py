"""Case S1: kernels are killed at random points of what they do; nothing that was acknowledged is lost.

Two workspaces, each in a process of its own, work on one layer, and a hand with them; one or both are killed, at a
random moment of a cell or of the start after it. Then they start again, and the layer is looked at.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from .by_hand import Hand
from .home import Home
from .ledger import Attempt, Ledger, stands
from .nursery import Died, Nursery, Writer
from .random_cells import MUCH, Author

Task: TypeAlias = tuple[str, str, tuple[Attempt, ...]]
"""What a kernel is asked, the text of it, and the attempts that it is."""


class Violated(AssertionError):
    """Something that was promised is not so."""


_NOTHING: Task = ("cell", "", ())


@dataclass(slots=True)
class Tally:
    """What was done."""

    kills: int = 0
    boots: int = 0
    cells: int = 0
    refused: int = 0
    by_hand: Counter[str] = field(default_factory=Counter)
    where: Counter[str] = field(default_factory=Counter)  # in what the kills fell

    def fell(self, where: str) -> None:
        """A kill fell there, as the process noted it last."""
        self.kills += 1
        place = re.sub(r"^(in|after) \d+ ", r"\1 ", where)
        place = re.sub(r" (\S*[0-9a-f]{16}\S*|[0-9a-f]{2})$", " HASH", place)
        self.where[re.sub(r" \S+\.py$", " DEFINITION", place)] += 1


class Torture:
    """Kernels on the layer of one home, killed again and again."""

    def __init__(self, home: Home, nursery: Nursery, seed: str, *, writers: int = 2) -> None:
        self.home = home
        self.ledger = Ledger(home)
        self.tally = Tally()
        self.story: list[str] = []  # what was done since the last look
        self._chance = random.Random(seed)
        self._nursery = nursery
        self._authors = [Author(initial, self._chance) for initial in "abcd"[:writers]]
        self._writers: dict[int, Writer] = {}  # those that live
        self._fresh: set[int] = set()  # those that were born last
        self._hand = Hand(self.ledger, self._chance, Author("h", self._chance))
        self._seconds = {"cell": 0.05, "many": 0.2, "undo": 0.05, "boot": 0.1}  # that these take, about
        self._calls: dict[str, float] = {"cell": 30, "many": 200, "undo": 30, "boot": 30}  # of the Disk port, likewise

    def life(self) -> None:
        """Some cells, a kill in the last of them, a start, and a look. Violated where that shows anything."""
        self._start()
        for _ in range(self._chance.randrange(4)):
            self._round(())
            if self._chance.random() < 0.3:
                self._by_hand()
        both = [(number,) for number in self._writers] + [tuple(self._writers)]
        self._round(self._chance.choice(both))
        if self._chance.random() < 0.4:
            self._by_hand()
        if self._chance.random() < 0.2:
            self._kill_a_start()
        self._start()
        self._hand.let_go()
        self.look()

    def end(self) -> None:
        self._hand.let_go()
        for writer in self._writers.values():
            writer.end()

    def look(self) -> None:
        """Violated where anything is not as it has to be."""
        wrong = self.ledger.look()
        # What was torn is put back when it was skipped already, which is told.
        wanted = {name: value for name, value in self.ledger.values().items() if name not in self._hand.torn}
        self._hand.torn.clear()
        for number in self._fresh:
            found = self._writers[number].ask("values", sorted(wanted))
            wrong += [
                f"{name} loads as {found[name]}, not {wanted[name]}" for name in wanted if found[name] != wanted[name]
            ]
        if wrong:
            raise Violated("\n".join(["", *wrong, "after:", *self.story]))
        self.story.clear()

    def _start(self) -> None:
        """Start those that are dead, one after the other."""
        self._fresh.clear()
        for number in range(len(self._authors)):
            if number not in self._writers:
                begun = time.monotonic()
                self._writers[number] = writer = self._nursery.birth(self.home).ready()
                self._took("boot", begun)
                self._fresh.add(number)
                self.tally.boots += 1
                self.story.append(f"kernel {number} starts: {writer.told}")

    def _kill_a_start(self) -> None:
        """Kill one of the dead again while it starts, and after the start that follows.

        That one may leave out what is new, and tells of it, since it cannot know that no file was the end of the other.
        """
        delay = self._chance.uniform(0, 1.2) * self._seconds["boot"]
        writer = self._nursery.birth(self.home)
        time.sleep(delay)  # a random moment is what is wanted
        self._killed(writer, "a start")
        writer = self._nursery.birth(self.home).ready()
        self.tally.boots += 1
        self.story.append(f"a kernel starts: {writer.told}")
        self._killed(writer, "it")

    def _round(self, doomed: Sequence[int]) -> None:
        """Each of the living does something; the doomed are killed at one moment of it."""
        tasks = self._tasks(doomed)
        begun = time.monotonic()
        for number, (what, text, parts) in tasks.items():
            for part in parts:
                self.ledger.begin(part)
            self.tally.cells += 1
            self.story.append(f"kernel {number}: {text.replace(MUCH, '…')!r}")
            self._writers[number].send(what, *([text] if what == "cell" else []))
        if doomed:
            usual_end = begun + max(self._seconds[_pace(task)] for task in tasks.values())
            self._wait_for_death(doomed[0], usual_end, self._calls[_pace(tasks.get(doomed[0], _NOTHING))])
            for number in doomed:
                self._writers[number].kill()
        for number, task in tasks.items():
            self._hear(number, task, begun)
        for number in doomed:
            self._killed(self._writers.pop(number), f"kernel {number}")

    def _wait_for_death(self, number: int, usual_end: float, calls: float) -> None:
        """A random moment of what is done usually until then; by the clock, or by the writes of that kernel."""
        share, begun = self._chance.uniform(0, 1.2), time.monotonic()
        if self._chance.random() < 0.4:
            time.sleep(max(0.0, share * (usual_end - begun)))
            return
        wanted = share * calls
        while time.monotonic() < usual_end + 0.2 and self._writers[number].calls < wanted:
            time.sleep(0)

    def _tasks(self, doomed: Sequence[int]) -> dict[int, Task]:
        if self._chance.random() < 0.12:
            attempt = self._hand.taking_back("%layer undo", by_cell=True)
            if attempt is not None:
                return {doomed[0] if doomed else 0: ("undo", "%layer undo", (attempt,))}
        cells = {number: self._authors[number].cell(self.ledger.standing) for number in self._writers}
        return {number: ("cell", cell.text, cell.parts) for number, cell in cells.items()}

    def _killed(self, writer: Writer, who: str) -> None:
        """Kill it, if it is not dead yet, and note where that fell."""
        writer.kill()
        try:
            while True:
                writer.answer()
        except Died:
            self.tally.fell(writer.progress)
            self.story.append(f"{who} was killed {writer.progress}")

    def _hear(self, number: int, task: Task, begun: float) -> None:
        """Take what one of them says of its task, until it is done or dead."""
        parts = task[2]
        left = list(parts)
        try:
            while (said := self._writers[number].answer())[0] == "told":
                self._judge(number, left.pop(0), said[1])
        except Died:
            self.story.append(f"kernel {number} died with {len(left)} parts of {len(parts)} unanswered")
            return
        self._took(_pace(task), begun)
        self._calls[_pace(task)] += 0.2 * (self._writers[number].calls - self._calls[_pace(task)])
        for part in left:
            self._judge(number, part, said[1])

    def _judge(self, number: int, part: Attempt, said: dict[str, list[str]]) -> None:
        """Note whether it was acknowledged, by what its writer said so far."""
        if stands(part, said):
            self.ledger.acknowledge(part)
            self.story.append(f"kernel {number} acknowledged {[*part.kept]} {[*part.forgot]}")
        else:
            self.ledger.refuse(part)
            self.tally.refused += 1
            self.story.append(f"kernel {number} refused: {said}")

    def _by_hand(self) -> None:
        what = self._hand.act(alone=not self._writers)
        self.tally.by_hand[what] += 1
        self.story.append(f"by hand: {what}")

    def _took(self, what: str, begun: float) -> None:
        self._seconds[what] += 0.2 * (time.monotonic() - begun - self._seconds[what])


def _pace(task: Task) -> str:
    what, text, _ = task
    return "many" if what == "cell" and text.count("\n") > 60 else what
