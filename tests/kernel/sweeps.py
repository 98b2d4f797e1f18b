"""Kills at every write there is: of a cell that keeps, of one that forgets, of an undo, of a start that puts in order.

Each time the layer is as it was before, and the process dies one call of the Disk port later. The next kernel starts,
and the layer is looked at; what was lost is done again, and it is looked at once more.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.layer.power_cut import lose

from .by_hand import Hand
from .home import Home
from .ledger import Attempt, Ledger, stands
from .nursery import Died, Nursery, Writer
from .random_cells import TOLD, Author
from .torture import Violated
from .tortured import When

_BEFORE = "def one():\n    return 1\nclass two:\n    token = 2\nTHREE = 3\ndef four():\n    return 4\n"
_STANDING = {
    "functions/o/one.py": "def one():\n    return 1\n",
    "classes/t/two.py": "class two:\n    token = 2\n",
    "values/t/THREE.py": "THREE = 3\n",
    "functions/f/four.py": "def four():\n    return 4\n",
}
_MANY = 50
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is killed: a cell, an undo, or, where there is no text, a start."""

    text: str = ""
    parts: tuple[Attempt, ...] = ()
    by_hand: Callable[[Hand, Home], None] | None = None  # before it
    is_first: bool = False  # whether there is no layer yet
    rests: bool = False  # whether the kernel rests after it, and is killed there


def _cell(text: str, *parts: dict[str, str | None]) -> Scenario:
    return Scenario(text, tuple(Attempt(text, changes) for changes in parts))


def _fell_out(_: Hand, home: Home) -> None:
    """The index is as another program had read it before the last commit."""
    home.git("rm", "-q", "--cached", "functions/f/four.py")


def _edits(hand: Hand, home: Home) -> None:
    hand.put("functions/o/one.py", "def one():\n    return 11\n")
    hand.put("functions/n/new.py", "def new():\n    return 5\n")
    hand.take_away("values/t/THREE.py")


def _tears(hand: Hand, home: Home) -> None:
    (home.layer / "functions/o/one.py").write_text("")
    (home.layer / "classes/t/two.py").write_text("class two(:\n")


def _fifty() -> Scenario:
    made = {f"functions/m/many_{i}.py": f"def many_{i}():\n    return {100 + i}\n" for i in range(_MANY)}
    return _cell("".join(made.values()), {**made})


_TWICE = _cell(
    f"def new():\n    return 5\n{TOLD}\nFIVE = 6\n",
    {"functions/n/new.py": "def new():\n    return 5\n"},
    {"values/f/FIVE.py": "FIVE = 6\n"},
)
SCENARIOS = {
    "keep": _cell("def one():\n    return 9\n", {"functions/o/one.py": "def one():\n    return 9\n"}),
    "keep, and keep again": _TWICE,
    "rest": Scenario(_TWICE.text, _TWICE.parts, rests=True),
    "fifty": _fifty(),
    "move": _cell(
        "class one:\n    token = 9\n",
        {"functions/o/one.py": None, "classes/o/one.py": "class one:\n    token = 9\n"},
    ),
    "forget": _cell("del one, THREE", {"functions/o/one.py": None, "values/t/THREE.py": None}),
    "undo": Scenario("%layer undo", (Attempt("%layer undo", dict.fromkeys(_STANDING)),)),
    "heal": Scenario(by_hand=_fell_out),
    "adopt": Scenario(by_hand=_edits),
    "restore": Scenario(by_hand=_tears),
    "first start": Scenario(is_first=True),
    "first keep": replace(_cell("FIVE = 6\n", {"values/f/FIVE.py": "FIVE = 6\n"}), is_first=True),
}


class Sweep:
    """Kills at every call of the Disk port, in the folder given."""

    def __init__(self, folder: Path, nursery: Nursery, seed: int = 0) -> None:
        """`seed` is for what a power cut takes."""
        self._nursery = nursery
        self._seed = seed
        self._kept = folder / "before"
        self._home = Home(folder / "home")
        self._place = ""  # of the last kill
        self.kills = 0
        self.emptied = 0  # objects that a power cut left without content, and that nothing needed

    def run(self, name: str, when: When, *, start: int = 1, step: int = 1) -> int:
        """Kill in the call `start`, `start + step` …; how many calls there are at least. Violated where one loses."""
        scenario = SCENARIOS[name]
        ledger = self._prepare(scenario)
        for at in range(start, _MOST, step):
            self._restore(at)
            trial = replace(ledger, standing=dict(ledger.standing), pending=[], commits=set(ledger.commits))
            wrong = self._try(scenario, trial, at, when)
            if wrong is None:
                return at - 1
            self.kills += 1
            if wrong:
                where = f"{name!r}, killed {when} call {at}, seed {self._seed}, {self._place}:"
                raise Violated("\n".join([where, *wrong]))
        raise AssertionError("it never ends")

    def _prepare(self, scenario: Scenario) -> Ledger:
        """Make the layer as it is before."""
        for folder in (self._kept, self._home.root):
            shutil.rmtree(folder, ignore_errors=True)
        self._home = Home(self._home.root)
        ledger = Ledger(self._home)
        if not scenario.is_first:
            attempt = Attempt(_BEFORE, _STANDING)
            ledger.begin(attempt)
            writer = self._birth().ready()
            assert writer.ask("cell", _BEFORE)["kept"] == [*attempt.kept]
            if scenario.by_hand is not None:
                writer.ask("rest")  # else a file that a hand removes may come back after a power cut
            ledger.acknowledge(attempt)
            writer.end()
            assert ledger.look() == []
        ledger.names |= {name for part in scenario.parts for name in (*part.kept, *part.forgot)}
        hand = Hand(ledger, random.Random(0), Author("h", random.Random(0)))
        if scenario.by_hand is not None:
            scenario.by_hand(hand, self._home)
        self._home.root.rename(self._kept)
        return ledger

    def _restore(self, at: int) -> None:
        root = self._home.root
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self._kept, root, symlinks=True)
        if self._home.layer.exists():
            self._home.status()  # has git note the times of the copied files

    def _try(self, scenario: Scenario, ledger: Ledger, at: int, when: When) -> list[str] | None:
        """What is wrong after a kill in the call `at`; None where that never came."""
        if scenario.text:
            writer = self._birth().ready()
            died = not self._act(scenario, ledger, writer, at, when)
        else:
            writer = self._birth(kill_at=at, when=when)
            try:
                writer.ready()
                died = False
            except Died:
                died = True
        self._place = writer.progress
        if when == "cut":
            self._cut(writer, at, died=died)
        writer.end()
        torn = when in ("half", "cut")
        machine = "two" if when == "cut" else "one"
        after = self._birth(machine=machine).ready()
        if when == "cut":
            self._drop_emptied()
        wrong = ledger.look(torn=torn)
        if not scenario.text:
            # It may leave out what is new, since it cannot know that no file was the end of the other.
            after.end()
            after = self._birth(machine=machine).ready()
        wrong += self._values(ledger, after)
        if scenario.text and died:
            self._again(scenario, ledger, after)
            wrong += [f"done again, {said}" for said in (*ledger.look(torn=torn), *self._values(ledger, after))]
        after.end()
        return wrong if died or wrong else None

    def _act(self, scenario: Scenario, ledger: Ledger, writer: Writer, at: int = 0, when: When = "before") -> bool:
        """Have it done, and killed in the call `at` of it; whether it came to its end."""
        left = [*scenario.parts]
        for part in left:
            ledger.begin(part)
        try:
            writer.ask("arm", at, when)
            writer.send("undo" if scenario.text == "%layer undo" else "cell", *self._words(scenario))
            while (said := writer.answer())[0] == "told":
                ledger.acknowledge(left.pop(0))
        except Died:
            return False
        for part in left:
            assert stands(part, said[1]), said
            ledger.acknowledge(part)
        try:
            if scenario.rests:
                writer.ask("rest")
        except Died:
            return False
        return True

    def _drop_emptied(self) -> None:
        """Take away emptied objects that nothing needs: git complains of them, and what was not acknowledged left them.

        One that is needed stays, for git to find.
        """
        needed = self._home.git("rev-list", "--objects", "--all")
        for file in (self._home.layer / ".git/objects").glob("??/*"):
            if not file.stat().st_size and file.parent.name + file.name not in needed:
                file.unlink()
                self.emptied += 1

    def _cut(self, writer: Writer, at: int, *, died: bool) -> None:
        """Have what was not synced be lost, or some of it."""
        if not died:
            try:
                writer.ask("cut")
            except Died:
                pass
        lost = lose(writer.volatile, random.Random(at + self._seed))
        self._place = f"{self._place}; by the power cut {', '.join(lost) or 'nothing'}"

    def _again(self, scenario: Scenario, ledger: Ledger, writer: Writer) -> None:
        """Do again what was lost."""
        files = self._home.files()
        if any(files.get(path) != text for part in scenario.parts for path, text in part.changes.items()):
            assert self._act(scenario, ledger, writer)

    def _words(self, scenario: Scenario) -> list[str]:
        return [] if scenario.text == "%layer undo" else [scenario.text]

    def _values(self, ledger: Ledger, writer: Writer) -> list[str]:
        wanted = ledger.values()
        found = writer.ask("values", sorted(wanted))
        return [f"{n} is {found[n]}, not {wanted[n]}; {writer.told}" for n in wanted if found[n] != wanted[n]]

    def _birth(self, *, kill_at: int = 0, when: When = "before", machine: str = "one") -> Writer:
        return self._nursery.birth(self._home, kill_at=kill_at, when=when, bundles=False, machine=machine)
