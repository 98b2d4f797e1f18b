"""A kernel without IPython and without a process: a workspace, and cells that are run in it as the shell runs them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable

from perdure.kernel.report import Report
from perdure.kernel.wire import Notices, Request, RequestKind
from perdure.kernel.workspace import Workspace
from perdure.layer.given import defines
from perdure.layer.source import Source

from .home import Home

_AGENT = Request(RequestKind.AGENT, Notices.ALL)


class PlainKernel:
    """One kernel on a home, started. The process has the environment of that home."""

    def __init__(self, home: Home) -> None:
        self.namespace: dict[str, object] = {"__name__": "__main__", "__builtins__": builtins}
        self.workspace = Workspace(self.namespace, ambient=dict(self.namespace), environ=home.environ)
        self.told: list[str] = []  # every notice, and what was answered
        self.reports: list[Report] = []
        self._count = 0
        self.workspace.boot()

    def run(self, *codes: str) -> Report:
        """Run cells, which raise nothing; what the last of them came to."""
        report = Report()
        for code in codes:
            report = self._cell(code)
        return report

    def ask(self, magic: Callable[[Workspace], str]) -> str:
        """Run a cell that has a magic alone; what that says."""
        said: list[str] = []
        self._cell("", lambda: said.append(magic(self.workspace)))
        self.told += said
        return "".join(said)

    def rest(self) -> None:
        """Have nothing to do, until all is done that is done then; and hear of it in the next cell."""
        while self.workspace.rest():
            pass
        self.run("pass")

    def _cell(self, code: str, instead: Callable[[], object] | None = None) -> Report:
        self._count += 1
        cell = self.workspace.open_cell(_AGENT, code, self._count)
        token = self.workspace.cell.set(cell)
        try:
            nodes = ast.parse(code).body
            self.workspace.may_touch(nodes, code)
            cell.enter(len(nodes))
            if instead is not None:
                instead()
            for statement in Source(code).statements(nodes):
                if not defines(statement.node):
                    cell.starting(statement.node)
                exec(compile(ast.Module([statement.node], []), "<cell>", "exec"), self.namespace)
                cell.completed(statement)
            cell.leave()
        finally:
            self.workspace.cell.reset(token)
        report = self.workspace.close_cell(cell, _AGENT)
        self.reports.append(report)
        self.told += report.lines(Notices.ALL)
        self.workspace.replied()
        return report
