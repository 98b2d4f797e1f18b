"""How a boot went, so that the next one can go the same way (ADR 15). Frozen values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from .definition import RelPath
from .finding import Answers
from .slots import fact


@fact
class Recipe:
    """How a boot went, so that the next one can go the same way."""

    loaded: tuple[RelPath, ...]  # in the order in which they were
    foreign: Mapping[RelPath, frozenset[str]]  # by file, what was put back after it had run
    waiting: Mapping[RelPath, tuple[str, ...]]  # the files that wait, and the packages each waits for
    hidden: frozenset[str]  # names of earlier folders' that what waits has taken
    ambient: frozenset[str]  # what files call when called, and only the namespace had before
    answers: Answers  # what was told of packages
    is_whole: bool = True  # whether nothing was left out; else the next one has to try that again, and is no replay


@fact
class Done:
    """What of a boot has been done already, by a recipe."""

    recipe: Recipe
    loaded: tuple[RelPath, ...]  # those of the recipe's that are
    then: Mapping[str, object] | None = None  # the namespace when all was done; None where there is more to load
    stopped: Mapping[RelPath, str] = field(default_factory=dict)  # what was stopped on the way, and why
    output: str = ""  # what was printed
