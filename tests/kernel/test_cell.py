"""The pipeline of a cell, without IPython: a tiny runner, a layer in memory."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from perdure.kernel.cell import Cell
from perdure.kernel.report import Report
from perdure.kernel.wire import Notices
from perdure.layer.disk import RealDisk
from perdure.layer.errors import StoreFault
from perdure.layer.events import EventLog
from perdure.layer.memory import MemoryStore
from perdure.layer.outcome import Kept, NotKept
from perdure.layer.room import Layer
from perdure.layer.session import Context
from perdure.layer.source import Source
from perdure.layer.store import Change, CommitId, Message, Promised

CONTEXT = Context("s-1", 1)


class Bench:
    """A layer in memory, and a runner that does to a cell what the shell does."""

    def __init__(self, folder: Path, store: MemoryStore | None = None) -> None:
        self.store = MemoryStore() if store is None else store
        self.namespace: dict[str, object] = {"__name__": "__main__"}
        events = EventLog(folder / "events.jsonl", "s-1", RealDisk())
        self.layer = Layer(
            self.store,
            folder,
            self.namespace,
            events,
            ambient=dict(self.namespace),
            drafts=folder / "drafts",
            modules=sys.modules,
        )

    def cell(self, *, keeps: bool = True) -> Cell:
        return Cell(self.layer.run() if keeps else None, lambda: CONTEXT)

    def run(self, code: str, *, keeps: bool = True) -> Report:
        cell = self.cell(keeps=keeps)
        self.run_in(cell, code)
        return cell.finish()

    def run_in(self, cell: Cell, code: str, *, scratch: bool = False) -> None:
        """Run statements in an open cell; `inside("…")` in them runs a cell in the cell, as %%capture does."""
        self.namespace["inside"] = lambda text, **options: self.run_in(cell, text, **options)
        self.namespace["commits"] = lambda: len(self.store.log())
        nodes = ast.parse(code).body
        cell.enter(len(nodes), scratch=scratch)
        try:
            for number, statement in enumerate(Source(code).statements(nodes), 1):
                cell.starting(statement.node)
                try:
                    exec(compile(ast.Module([statement.node], []), "<cell>", "exec"), self.namespace)
                except Exception:
                    cell.failed(number)
                    return
                cell.completed(statement)
        finally:
            cell.leave()

    @property
    def subjects(self) -> list[str]:
        return [entry.subject for entry in reversed(self.store.log())]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def kept(report: Report) -> Sequence[str]:
    return [outcome.definition.key for outcome in report.outcomes if isinstance(outcome, Kept)]


def test_statements_that_define_share_a_commit(bench: Bench) -> None:
    assert kept(bench.run("def f():\n    pass\nRATE = 1\nclass C:\n    pass")) == ["f", "RATE", "C"]
    assert bench.subjects == ["keep f, RATE, C"]


def test_what_is_defined_is_committed_before_another_statement_starts(bench: Bench) -> None:
    bench.run("def f():\n    pass\nseen = commits()\ndef g():\n    pass\nCALLED = commits()\n")
    assert bench.namespace["seen"] == 1
    assert bench.namespace["CALLED"] == 2


def test_a_cell_that_defines_nothing_commits_nothing(bench: Bench) -> None:
    assert bench.run("x = 1\nx + 1").outcomes == []
    assert bench.subjects == []


def test_forms_are_counted_and_the_failed_one_is_named(bench: Bench) -> None:
    report = bench.run("def f():\n    pass\n1/0\ndef g():\n    pass")
    assert (report.forms, report.failed_form) == (3, 2)
    assert kept(report) == ["f"]


def test_a_cell_that_keeps_nothing_counts_its_forms(bench: Bench) -> None:
    report = bench.run("def f():\n    pass\n1/0", keeps=False)
    assert (report.forms, report.failed_form, report.outcomes) == (2, 2, [])


def test_what_a_cell_inside_a_cell_defines_is_kept(bench: Bench) -> None:
    report = bench.run("inside('def f():\\n    pass\\n1/0')\n2")
    assert kept(report) == ["f"]
    # The forms are those of the outer cell, which went on.
    assert (report.forms, report.failed_form) == (2, None)


def test_a_scratch_cell_keeps_nothing_of_itself_nor_of_cells_inside_it(bench: Bench) -> None:
    cell = bench.cell()
    bench.run_in(cell, "def f():\n    pass\ninside('def g():\\n    pass')\ndef h():\n    pass", scratch=True)
    assert cell.finish().outcomes == []


def test_a_scratch_cell_inside_a_cell_ends_with_itself(bench: Bench) -> None:
    report = bench.run("def f():\n    pass\ninside('def g():\\n    pass', scratch=True)\ndef h():\n    pass")
    assert kept(report) == ["f", "h"]


def test_keep_forces(bench: Bench) -> None:
    bench.run("def load():\n    return 1\nDATA = load()")
    cell = bench.cell()
    cell.keep("DATA")
    assert kept(cell.finish()) == ["DATA"]


def test_what_keep_was_asked_for_is_told_in_notebooks_too(bench: Bench) -> None:
    bench.run("def load():\n    return 1\nDATA = load()")
    first, again = (Notices.PROBLEMS, "kept DATA"), (Notices.ALL, "DATA is kept already, as DATA = 1")
    for notices, said in (first, first, again):  # a notebook shows the same each time
        cell = bench.cell()
        cell.keep("DATA")
        told = cell.finish().lines(notices)
        assert told == [f"[layer: {said}]"]


def test_a_cell_without_a_layer_takes_everything(bench: Bench) -> None:
    cell = Cell(None, lambda: CONTEXT)
    cell.keep("x")
    cell.not_kept("x", "a reason")
    assert cell.finish().outcomes == []


class FullStore(MemoryStore):
    """Refuses commits while it is full."""

    full = False

    def commit(self, changes: Sequence[Change], message: Message, promised: Promised | None = None) -> CommitId | None:
        if self.full:
            raise StoreFault(Path("layer"), OSError(28, "No space left on device"))
        return super().commit(changes, message, promised)


def test_a_commit_that_fails_is_told_and_the_cell_goes_on(tmp_path: Path) -> None:
    store = FullStore()
    bench = Bench(tmp_path, store)
    store.full = True
    report = bench.run("def f():\n    pass\nx = 1\ndef g():\n    pass")
    reasons = {outcome.name: outcome.reason for outcome in report.outcomes if isinstance(outcome, NotKept)}
    assert reasons.keys() == {"f", "g"}
    assert all("No space left on device" in reason for reason in reasons.values())
    store.full = False
    assert kept(bench.run("def f():\n    pass")) == ["f"]


def test_a_mistake_of_our_own_costs_a_notice(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("ours")

    cell = bench.cell()
    monkeypatch.setattr("perdure.layer.room.Run.offer", broken)
    bench.run_in(cell, "def f():\n    pass")
    assert cell.finish().faults == [
        "f not kept; perdure itself failed (RuntimeError: ours); the kernel's log has the details"
    ]
