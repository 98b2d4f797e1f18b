"""The pipeline of one cell: statements are offered to the layer as they complete, and a report is made of it.

Knows no IPython: who runs the statements calls `starting`, `completed` and `failed`, in that order for each, and
`finish` once. A cell that keeps nothing has no run and still counts its forms.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from perdure.layer.given import defines
from perdure.layer.interrupts import interrupts_deferred
from perdure.layer.outcome import NotKept, Outcome
from perdure.layer.source import Statement, bound_targets

from .report import Report
from .wire import RequestKind

if TYPE_CHECKING:
    from perdure.layer.others import Others
    from perdure.layer.run import Run
    from perdure.layer.session import Context

_log = logging.getLogger(__name__)


class Cell:
    """One execution of one cell."""

    def __init__(
        self,
        run: Run | None,
        context: Callable[[], Context],
        told: tuple[str, ...] = (),
        others: Others | None = None,
        *,
        kind: RequestKind = RequestKind.AGENT,
        ran: Callable[[str], None] | None = None,
    ) -> None:
        """`context` tells where a commit comes from, and is asked when there is one: most cells make none.

        `told` are lines that waited for this cell, `others` is what others did to the layer meanwhile.

        `ran` is told the text of each sequence of statements; None where nobody wrote it.
        """
        self.kind = kind
        self._run = run
        self._ran = ran
        self._context = context
        self._depth = 0
        self._scratch = 0
        self.report = Report(told=told, others=others)

    def enter(self, forms: int, *, scratch: bool = False) -> None:
        """A sequence of statements begins: the cell's own, or one inside it (`%%capture` runs a cell in a cell)."""
        self._depth += 1
        if scratch or self._scratch:
            self._scratch += 1
        if self._depth == 1:
            self.report.forms = forms

    def runs(self, text: str) -> None:
        """`text`, as IPython has transformed it, is run: the cell's own or that of a cell or body inside it."""
        if self._ran is not None:
            self._ran(text)
        if self._run is not None:
            self._run.runs(text)

    def leave(self) -> None:
        """The sequence that was entered last has ended."""
        self._depth -= 1
        self._scratch = max(0, self._scratch - 1)

    def starting(self, node: ast.stmt) -> None:
        """`node` is about to run: what was defined before it is committed unless it belongs to the same run."""
        if self._run is not None and self._run.waits and not defines(node):
            self._flush()

    def completed(self, statement: Statement) -> None:
        """`statement` ran to its end."""
        if self.keeps:
            self._guarded(lambda run: run.offer(statement), lambda: bound_targets(statement.node))

    def failed(self, form: int) -> None:
        """The statement number `form`, from 1, raised."""
        if self._depth == 1:
            self.report.failed_form = form

    @property
    def keeps(self) -> bool:
        """Whether anything of this cell is kept."""
        return self._run is not None and not self._scratch

    def settled(self) -> Context:
        """Commit what waits; gives where a commit that follows comes from."""
        self.commit()
        return self._context()

    def keep(self, name: str) -> None:
        """`%keep name`; what comes of it is told in any kind of request, since it was asked for."""
        if self._run is not None:
            self._flush()
            self._guarded(lambda run: run.keep(name), lambda: (name,))
            self.report.asked += self._flush()

    def knows(self, name: str) -> bool:
        """Whether there is anything of that name to forget."""
        return self._run is not None and self._run.knows(name)

    def forget(self, name: str) -> None:
        """`%forget name`, as `%keep`."""
        if self._run is not None:
            self._flush()
            self._guarded(lambda run: run.forget(name), lambda: (name,))
            self.report.asked += self._flush()

    def go_on(self, run: Run) -> None:
        """What is defined from here on belongs to `run`, as when the kernel has another layer now."""
        self.commit()
        if self._run is not None:
            self._run = run

    def commit(self) -> None:
        """Commit what waits, for who looks at the layer or changes it while the cell runs."""
        self._flush()

    def not_kept(self, name: str, reason: str) -> None:
        """Say that `name` could not even be offered."""
        if self.keeps:
            self.report.outcomes.append(NotKept(name, reason))

    def finish(self) -> Report:
        """The cell has ended, well or not: commit what is left and report."""
        if self._run is not None:
            self._flush()
            self._run = None  # a task that the cell left behind runs in its context still
        return self.report

    def _flush(self) -> list[Outcome]:
        """Commit what waits, report it, and give back its outcomes."""
        made: list[Outcome] = []
        if self._run is None or self._run.is_empty:
            return made  # as with most cells, which wait for nothing here

        def flush(run: Run) -> None:
            with interrupts_deferred():  # an interrupt comes through when what was done is reported too
                outcomes, faults = run.flush(self._context())
                made.extend(outcomes)
                self.report.outcomes += outcomes
                self.report.faults += faults

        self._guarded(flush, tuple)
        return made

    def _guarded(self, act: Callable[[Run], None], about: Callable[[], tuple[str, ...]]) -> None:
        """A mistake of ours costs the user a notice, not the cell. `about` gives the names that it would be about."""
        assert self._run is not None
        try:
            act(self._run)
        except Exception as error:
            names = about()
            _log.exception("perdure could not keep %s", ", ".join(names) or "what this cell defined")
            what = f"{', '.join(names)} not kept" if names else "this cell's definitions not kept"
            self.report.faults.append(
                f"{what}; perdure itself failed ({type(error).__name__}: {error}); the kernel's log has the details"
            )
