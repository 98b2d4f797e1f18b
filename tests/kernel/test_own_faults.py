"""A mistake of perdure's own costs a notice: never the cell, and never the start of the kernel. Without a kernel."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from perdure.kernel import choosing
from perdure.kernel.cell import Cell
from perdure.kernel.proving import Proving
from perdure.kernel.report import Report
from perdure.kernel.wire import Notices, read_request
from perdure.kernel.workspace import Workspace
from perdure.layer.bounds import Bounds
from perdure.layer.definition import RelPath
from perdure.layer.session import Context
from perdure.layer.source import Source

CODE = "area = 3\n"


class Mistaken:
    """A run in which everything goes wrong that can."""

    waits, is_empty = True, False

    def offer(self, *_: object) -> None:
        raise ZeroDivisionError("offering")

    def keep(self, *_: object) -> None:
        raise ZeroDivisionError("keeping")

    def flush(self, *_: object) -> None:
        raise ZeroDivisionError("writing")


def test_a_mistake_in_a_cell_becomes_notices() -> None:
    run: Any = Mistaken()
    cell = Cell(run, lambda: Context("s-test"))
    statements = list(Source(CODE).statements(ast.parse(CODE).body))
    cell.enter(len(statements))
    for statement in statements:
        cell.starting(ast.parse("print()").body[0])
        cell.completed(statement)
    cell.keep("area")
    cell.leave()
    details = "the kernel's log has the details"
    assert cell.finish().lines(Notices.PROBLEMS) == [
        f"[layer: this cell's definitions not kept; perdure itself failed (ZeroDivisionError: writing); {details}]",
        f"[layer: area not kept; perdure itself failed (ZeroDivisionError: offering); {details}]",
        f"[layer: area not kept; perdure itself failed (ZeroDivisionError: keeping); {details}]",
    ]


def test_a_mistake_in_what_proves_costs_the_cell_nothing() -> None:
    mistaken: Any = None
    proving = Proving(lambda: mistaken.layer, mistaken, (), Bounds())
    proving._failures[RelPath("a")] = mistaken
    report = Report()
    proving.closes(report, shows=True)
    assert report.lines(Notices.ALL) == []
    proving._failures.clear()
    proving._layer = lambda: None
    proving.closes(report, shows=True)
    (told,) = report.lines(Notices.ALL)
    assert told.startswith("[layer: what is kept could not be proved; perdure itself failed (AttributeError: ")


def test_a_mistake_at_the_start_leaves_a_kernel_without_a_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mistaken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("opening")

    monkeypatch.setattr(choosing, "open_layer", mistaken)
    environ: Mapping[str, str] = {"PERDURE_LAYER": str(tmp_path / "layer")}
    workspace = Workspace({}, ambient={}, environ=environ)
    workspace.boot()
    request = read_request({}, allow_stdin=True, silent=False, store_history=True)
    cell = workspace.open_cell(request, CODE, 1)
    cell.enter(1)
    for statement in Source(CODE).statements(ast.parse(CODE).body):
        cell.starting(statement.node)
        cell.completed(statement)
    cell.leave()
    (line,) = cell.finish().lines(Notices.PROBLEMS)
    assert line.startswith("[layer: nothing is kept or loaded; perdure itself failed (ZeroDivisionError: opening)")
    assert workspace.open_cell(request, CODE, 2).finish().lines(Notices.ALL) == []  # it is said once
