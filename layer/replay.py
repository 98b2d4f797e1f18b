"""The code of a bundle, run as it ran then: many files as one where they do no more than define, all others in turn."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from types import CodeType
from typing import Any

from .alarm import Stop
from .boot_cache import Bundle
from .boot_journal import Mark
from .install import Image
from .printed import BoundedText, printed
from .recipe import Done
from .safe_boot import FolderWatch


class Replay:
    """One replay of one folder."""

    def __init__(self, image: Image, bundle: Bundle, watch: FolderWatch) -> None:
        self._image = image
        self._bundle = bundle
        self._watch = watch
        self._count = 0  # of files that came to their end
        self._is_stopped = False
        self._interrupted = False
        self._output: BoundedText | None = None

    @cached_property
    def _codes(self) -> tuple[CodeType, ...]:
        return self._bundle.codes()

    @property
    def output(self) -> str:
        """What loading printed."""
        return "" if self._output is None else str(self._output)

    def run(self) -> bool:
        """Load the files; whether all came to their end. Raises `Damaged` alone."""
        with ExitStack() as around:
            if not self._watch.is_proven:  # each by itself: so the next start can tell which it was
                self._run_in_turn(self._codes, around)
                return not self._is_stopped
            for (turn, _, _), codes in zip(self._bundle.plan.turns, self._bundle.turns(), strict=True):
                if turn > 0 and self._run_as_one(*codes):
                    self._count += turn
                    continue
                self._run_in_turn(codes if turn < 0 else self._codes[self._count : self._count + turn], around)
                if self._is_stopped:
                    return False
        return True

    def done(self) -> Done:
        """What it came to that did not come to its end. Raises `Damaged`."""
        recipe = self._bundle.recipe()
        stopped = {recipe.loaded[self._count]: "it was interrupted"} if self._interrupted else {}
        return Done(recipe, recipe.loaded[: self._count], None, stopped, self.output)

    def _run_as_one(self, code: CodeType) -> bool:
        namespace: Any = self._image.namespace
        # What these files call `list` is to be the builtin one.
        return self._bundle.plan.takes.isdisjoint(namespace) and self._watch.run_together(
            partial(exec, code, namespace)
        )

    def _run_in_turn(self, codes: Sequence[CodeType], around: ExitStack) -> None:
        if self._output is None:  # files that do no more than define do not print
            self._output = around.enter_context(printed())
        listing, running = self._bundle.listing, self._image.running
        numbers = listing.loaded[self._count : self._count + len(codes)]
        acts = [
            (Mark(listing.marks[number]), running(code, listing.foreign.get(number, ())))
            for number, code in zip(numbers, codes, strict=True)
        ]
        count, stop = self._watch.run_in_turn(acts)
        self._count += count
        self._is_stopped = count < len(acts)
        self._interrupted = self._is_stopped and stop is Stop.INTERRUPTED
