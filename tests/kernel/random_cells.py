"""Cells that define, redefine, move and forget at random, and what becomes of the files by each."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from perdure.layer.definition import Key, Kind
from perdure.layer.naming import path_of

from .ledger import Attempt

_NUMBERS = count(1000)  # no two definitions of a run come to the same
_NAMES = 30  # of each kind: few, so that most are there already
_MANY = 50
MUCH = "Much is said of it. " * 20_000
TOLD = "told()"
"""A statement between two parts of a cell that tells that the first of them has run."""


@dataclass(frozen=True, slots=True)
class RandomCell:
    """A cell and its parts, each of which is to be committed before the next one begins."""

    text: str
    parts: tuple[Attempt, ...]


@dataclass(slots=True)
class Author:
    """Writes cells under names of its own. Seeded: the same `chance` and the same layer give the same cells."""

    initial: str  # of all its names
    chance: random.Random
    recent: list[RandomCell] = field(default_factory=list)

    def cell(self, standing: Mapping[str, str]) -> RandomCell:
        """A cell for a layer in which these files stand."""
        draw = self.chance.random()
        mine = {Path(path).stem: path for path in standing if Path(path).stem.lower().startswith(f"{self.initial}_")}
        if draw < 0.08 and self.recent:
            cell = self.recent[-1]  # run again
        elif draw < 0.2 and mine:
            gone = self.chance.sample(sorted(mine), min(len(mine), self.chance.randint(1, 3)))
            text = f"del {', '.join(gone)}"
            return RandomCell(text, (Attempt(text, dict.fromkeys(mine[name] for name in gone)),))
        elif draw < 0.3:
            cell = self._joined(self._definitions(_MANY))
        elif draw < 0.45:
            first, second = self._definitions(2), self._definitions(2)
            apart = {name: each for name, each in second.items() if name not in first}
            cell = self._joined(first, apart) if apart else self._joined(first)
        else:
            cell = self._joined(self._definitions(self.chance.choice((1, 1, 1, 2, 5))))
        self.recent = [cell]
        return RandomCell(cell.text, tuple(Attempt(p.what, _moved(p.changes, mine)) for p in cell.parts))

    def definition(self) -> tuple[str, str, str]:
        """A name, the path of its file, and its text."""
        number, chance = next(_NUMBERS), self.chance
        name = f"{self.initial}_{chance.randrange(_NAMES)}"
        draw = chance.random()
        if draw < 0.15:
            name = name.upper()
            return name, path_of(Kind.VALUE, Key(name)), f"{name} = {number}\n"
        if draw < 0.35:
            return name, path_of(Kind.CLASS, Key(name)), f"class {name}:\n    token = {number}\n"
        lines = ""
        if draw < 0.4:
            lines = f'    """{MUCH}"""\n'
        elif draw < 0.7:
            lines = '    """Little is said of it."""\n'
        note = "# A note.\n" if draw > 0.9 else ""
        return name, path_of(Kind.FUNCTION, Key(name)), f"{note}def {name}():\n{lines}    return {number}\n"

    def _definitions(self, how_many: int) -> dict[str, tuple[str, str]]:
        """Names, and the path and the text of each."""
        return {name: (path, text) for name, path, text in (self.definition() for _ in range(how_many))}

    def _joined(self, *parts: dict[str, tuple[str, str]]) -> RandomCell:
        texts = ["".join(text for _, text in part.values()) for part in parts]
        made = (Attempt(text, dict(part.values())) for text, part in zip(texts, parts, strict=True))
        return RandomCell(f"{TOLD}\n".join(texts), tuple(made))


def _moved(changes: Mapping[str, str | None], there: Mapping[str, str]) -> dict[str, str | None]:
    """`changes` with the files that are left by what has another kind now."""
    left = (there.get(Path(path).stem) for path in changes)
    return {**{path: None for path in left if path is not None and path not in changes}, **changes}
