"""The shell: IPython's, with the cell's statements offered to the layer one by one as they complete."""

from __future__ import annotations
import __future__

import ast
import os
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ipykernel.zmqshell import ZMQInteractiveShell
from traitlets import Instance

from perdure.kernel import magics
from perdure.kernel.bodies import Body, body_of, completed
from perdure.kernel.cell import Cell
from perdure.kernel.workspace import Workspace
from perdure.layer.source import Source, Statement, bound_targets, parse

from .completion import add_completion
from .deferral import without_own_frames
from .magics import PerdureMagics

_ONE_BY_ONE = ("all", "last", "last_expr", "none", "last_expr_or_assign")
# Features that a compiler remembers and that change what a definition's source means.
_FUTURES = {"annotations": __future__.annotations.compiler_flag}


class PerdureShell(ZMQInteractiveShell):
    """IPython's shell for kernels; what cells do in it is what they do in stock."""

    workspace = Instance(Workspace, allow_none=True)

    async def run_ast_nodes(
        self,
        nodelist: list[ast.stmt],
        cell_name: str,
        interactivity: str = "last_expr",
        compiler: Any = compile,
        result: Any = None,
    ) -> bool | None:
        """Overrides InteractiveShell.run_ast_nodes, to see each statement's end.

        The parent is called once per statement. It compiles and runs node by node itself, so nothing changes for the
        cell; only what "the last node" means has to be said for each.
        """
        if self.workspace is None:
            return await super().run_ast_nodes(nodelist, cell_name, interactivity, compiler, result)
        cell, waking = self.workspace.cell.get(), self.workspace.waking
        info = getattr(result, "info", None)
        text = info.transformed_cell if info is not None else "\n".join(map(ast.unparse, nodelist))
        touches = self.workspace.may_touch(nodelist, text)
        if touches and not self._load_for(nodelist, text, result):
            return True
        if cell is None or info is None or not nodelist or interactivity not in _ONE_BY_ONE:
            with waking.deleting(*nodelist):
                return await super().run_ast_nodes(nodelist, cell_name, interactivity, compiler, result)
        last, number = len(nodelist), 0
        cell.runs(info.transformed_cell)
        cell.enter(last, scratch=magics.is_scratch(info.raw_cell))
        try:
            for number, statement in enumerate(Source(info.transformed_cell).statements(nodelist), 1):
                node = statement.node
                if touches:
                    cell.starting(node)
                shown = interactivity if number == last or interactivity == "all" else "none"
                with waking.deleting(node):
                    failed = await super().run_ast_nodes([node], cell_name, shown, compiler, result)
                if body := body_of(node):
                    self._offer_body(cell, body, result.error_in_exec if failed else None, compiler)
                if failed:
                    cell.failed(number)
                    return True
                if touches:
                    cell.completed(_with_futures(statement, compiler))
        except KeyboardInterrupt as interrupt:
            # It came while something was kept, between two statements; what happens in them the parent catches. It
            # ends the cell all the same, in the parent's way.
            result.error_in_exec = interrupt.with_traceback(None)
            self.showtraceback((KeyboardInterrupt, interrupt, None))
            cell.failed(number)
            return True
        finally:
            cell.leave()
        return False

    def user_expressions(self, expressions: dict[str, str]) -> Any:
        """Overrides InteractiveShell.user_expressions: they may name what waits."""
        if self.workspace is not None:
            for expression in expressions.values():
                self.workspace.waking.load_for_code(str(expression))
        return super().user_expressions(expressions)

    def showtraceback(self, exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        """Overrides InteractiveShell.showtraceback: a NameError for what waits or was skipped says so.

        Where the user's module was asked for an attribute, a traceback ends there as in stock.
        """
        error = exc_tuple[1] if exc_tuple is not None else sys.exc_info()[1]
        if self.workspace is not None and error is not None:
            if isinstance(error, NameError) and self._is_of_user(error):
                self.workspace.note(error)
            self.workspace.waking.shown(error)
            without_own_frames(error)
        super().showtraceback(exc_tuple, *args, **kwargs)

    def safe_execfile(self, fname: Any, *where: Any, **options: Any) -> None:
        """Overrides InteractiveShell.safe_execfile: a file that runs in the user's namespace may name what waits."""
        if where and where[0] is self.user_ns and self.workspace is not None:
            try:
                with tokenize.open(os.path.expanduser(fname)) as file:
                    text = file.read()
                nodes: list[ast.stmt] = parse(text).body
            except (OSError, SyntaxError, ValueError, RecursionError):  # it will be told when the file is run
                nodes, text = [], ""
            if not self._load_for(nodes, text, None):
                return
        super().safe_execfile(fname, *where, **options)

    def reset(self, new_session: bool = True, aggressive: bool = False) -> None:
        """Overrides InteractiveShell.reset, which clears the namespace: of what waits too."""
        super().reset(new_session, aggressive)
        if self.workspace is not None:
            self.workspace.waking.taken_away(self.workspace.waking.names())

    def _load_for(self, nodelist: list[ast.stmt], text: str, result: Any) -> bool:
        """Load what the statements name and what waits; False where that failed, which then is the cell's error."""
        assert self.workspace is not None
        failure: BaseException | None
        try:
            failure = self.workspace.waking.before_cell(nodelist, text)
        except KeyboardInterrupt as interrupt:
            failure = interrupt
        if failure is None:
            return True
        failure = failure.with_traceback(None)  # where in perdure it came up tells a user nothing
        if result is not None:
            result.error_in_exec = failure
        self.showtraceback((type(failure), failure, None))
        return False

    def _is_of_user(self, error: BaseException) -> bool:
        """Whether `error` came up in code whose globals are the user's."""
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        return traceback is not None and traceback.tb_frame.f_globals is self.user_ns

    def init_magics(self) -> None:
        """Overrides ZMQInteractiveShell.init_magics, to add perdure's magics to the stock ones."""
        super().init_magics()
        self.register_magics(PerdureMagics)
        add_completion(self)
        # Before the line transformers, which would take %%scratch for the one magic of the cell.
        self.input_transformer_manager.cleanup_transforms.append(magics.strip_scratch)

    def _offer_body(self, cell: Cell, body: Body, error: BaseException | None, compiler: Any) -> None:
        """Offer the statements of a `%%time`-like body, which has just been run by IPython itself."""
        text = self.transform_cell(body.text)
        try:
            nodes: Sequence[ast.stmt] = parse(text).body
        except (SyntaxError, ValueError):
            return  # it did not run either
        cell.runs(text)
        if body.swallows:
            for name in (name for node in nodes for name in bound_targets(node)):
                cell.not_kept(name, "--no-raise-error hides whether it ran; leave that out")
            return
        if error is not None:
            nodes = completed(nodes, error.__traceback__)
        for statement in Source(text).statements(nodes):
            cell.starting(statement.node)
            cell.completed(_with_futures(statement, compiler))


def _with_futures(statement: Statement, compiler: Any) -> Statement:
    flags = getattr(compiler, "flags", 0)
    futures = tuple(name for name, flag in _FUTURES.items() if flags & flag)
    return replace(statement, futures=futures) if futures else statement
