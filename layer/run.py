"""A run of statements of one cell: offered to the layer one by one as they complete, committed together.

Owns the look that tells most statements of most cells to be none of the layer's business. What is decided on the others
stands in `deciding`, which is imported with the first of them: no kernel's first reply waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .binding import bound_names, called_on, changed_in_place
from .definition import Definition
from .given import registering
from .imports import is_pylab
from .source import Statement

if TYPE_CHECKING:
    from .deciding import Deciding
    from .outcome import Outcome
    from .room import Layer
    from .session import Context


class Run:
    """Statements of one cell, offered one by one and committed together."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._entered: Deciding | None = None  # None as long as nothing was to be decided
        self._texts: list[str] = []  # of the cell, not looked at yet

    def runs(self, text: str) -> None:
        """The cell, or one inside it, has this text: a comment may say early what a later statement gives away."""
        self._texts.append(text)

    def offer(self, statement: Statement) -> None:
        """Take in a statement that has just completed; nothing is written yet."""
        variables = self._layer.variables
        names = frozenset({"*"}) if is_pylab(statement.node) else bound_names([statement.node])
        changed = changed_in_place(statement.node)
        # What is known to be changed is not said again for every `ROWS.append(1)`.
        kept, known = self._kept, variables.changed
        called = frozenset(name for name in called_on(statement.node) if name in kept and name not in known)
        if names or changed or called or registering(statement.node) or variables.mentioned(statement):
            self._deciding.offer(statement, names, changed, called)

    def keep(self, name: str) -> None:
        """Keep `name` all the same, as `%keep` asks: what was refused, or a variable whose value can be written."""
        self._deciding.keep(name)

    def knows(self, name: str) -> bool:
        """Whether the layer has anything of the name `name`, live or not."""
        return self._deciding.knows(name)

    def forget(self, name: str) -> None:
        """Take `name` out of the layer and the namespace, as `%forget` asks; a file that was skipped goes too."""
        self._deciding.forget(name)

    @property
    def is_empty(self) -> bool:
        """Whether nothing came of what was offered."""
        return self._entered is None or self._entered.is_empty

    @property
    def waits(self) -> bool:
        """Whether there is something to write before what may take long starts."""
        return self._entered is not None and self._entered.waits

    def flush(self, context: Context) -> tuple[list[Outcome], list[str]]:
        """Commit what was offered since the last flush: its outcomes, and sentences to warn with.

        A commit that fails makes each definition a `NotKept`; nothing of it is written then.
        """
        return self._deciding.flush(context)

    @property
    def _kept(self) -> Mapping[str, Definition]:
        return self._layer.table.by_name if self._entered is None else self._entered.kept

    @property
    def _deciding(self) -> Deciding:
        if self._entered is None:
            from .deciding import Deciding

            self._entered = Deciding(self._layer)
        if self._texts:
            texts, self._texts = self._texts, []
            self._entered.look_through(texts)
        return self._entered
