"""The kernel: ipykernel's, with a workspace around its cells, notices after them, and the boot line in its banner."""

from __future__ import annotations

import html
import sys
from contextvars import ContextVar
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from IPython.display import display
from IPython.utils.tokenutil import token_at_cursor
from traitlets import Bool, Enum, Float, Type, Unicode, observe

from perdure import __version__
from perdure.kernel import current
from perdure.kernel.report import Report
from perdure.kernel.wire import DEFAULT_NOTICES, Notices, Request, RequestKind, read_request
from perdure.kernel.workspace import Workspace
from perdure.layer.bounds import Bounds
from perdure.layer.interrupts import interrupts_deferred
from perdure.layer.place import Mode

from .debugger import LateDebugger, stand_in
from .deferral import attach, load_for_completion
from .rest import Rest
from .shell import PerdureShell
from .traits import AnyForm, Settings

_MUTED = "opacity: 0.6; margin: 0; padding-left: var(--jp-code-padding, 0)"  # in line with other outputs in JupyterLab
_NOTICES = [member.value for member in Notices]
_DAY = 86_400.0  # seconds


class PerdureKernel(Settings, IPythonKernel):
    """A Python kernel whose definitions last."""

    implementation = "perdure"
    implementation_version = __version__
    shell_class = Type(PerdureShell)
    debugger_class: Any = Type(LateDebugger)

    layer = Unicode("", help="The folder of the layer; PERDURE_LAYER wins over it.").tag(config=True)
    mode = Unicode("", help="off, readonly or on; PERDURE_MODE wins over it.").tag(
        config=True, otherwise=Mode.READONLY.value
    )
    cells: Any = AnyForm(
        Unicode(),
        help="Folders of definitions loaded before the layer, as `path` or `path@commit`; PERDURE_CELLS wins.",
    ).tag(config=True)
    boot_file_seconds: Any = Float(
        Bounds().file_seconds, min=0.001, max=_DAY, help="How long a definition may take to load before it is skipped."
    ).tag(config=True)
    boot_seconds: Any = Float(
        Bounds().boot_seconds, min=0.001, max=_DAY, help="How long all of them may take; what is left then is skipped."
    ).tag(config=True)
    defer = Bool(True, help="Load definitions that import packages when a cell names them, not at each start.").tag(
        config=True
    )
    proof = Enum(
        ["static", "process"],
        "static",
        help="process: another process loads what is kept, at low priority, and tells what a restart will not load.",
    ).tag(config=True)
    notebook_notices = Enum(_NOTICES, DEFAULT_NOTICES[RequestKind.NOTEBOOK].value, help="What notebooks show.").tag(
        config=True
    )
    console_notices = Enum(_NOTICES, DEFAULT_NOTICES[RequestKind.CONSOLE].value, help="What consoles show.").tag(
        config=True
    )
    agent_notices = Enum(_NOTICES, DEFAULT_NOTICES[RequestKind.AGENT].value, help="What agents get.").tag(config=True)

    workspace: Workspace

    def __init__(self, **kwargs: Any) -> None:
        stand_in()
        super().__init__(**kwargs)
        # What the reply to the cell of this context will carry; a context of its own for each request and subshell.
        self._reply: ContextVar[dict[str, object] | None] = ContextVar("perdure_reply", default=None)
        self._rest: Rest | None = None  # until the loop is known
        self._read_default_notices()

    def boot(self) -> None:
        """Load cells folders and layer. Called by the app when the namespace is as any kernel has it at first."""
        shell: Any = self.shell
        self.workspace = Workspace(
            shell.user_ns,
            # The first two are builtins while a cell runs.
            ambient={"get_ipython": shell.get_ipython, "display": display} | shell.user_ns,
            layer=self.layer or None,
            mode=self.mode or None,
            cells=self.cells,
            bounds=Bounds(self.boot_file_seconds, self.boot_seconds),
            defer=self.defer,
            proves=self.proof == "process",
        )
        for said in self.bad_values.values():
            self.workspace.untold.problem(said)
        shell.workspace = self.workspace
        current.set_workspace(self.workspace)
        if self.defer:
            attach(shell, self.workspace.waking)
        # The log goes where the kernel was started, whatever becomes of the descriptors while definitions run.
        self.workspace.boot(shell.builtin_trap, self.log.warning)

    def start(self) -> None:
        """Overrides Kernel.start, which knows the loop that the kernel runs on: to rest when that has nothing to do."""
        super().start()
        self._rest = Rest(self.io_loop, self.workspace.replied, self.workspace.rest)

    @property
    def banner(self) -> str:  # type: ignore[override]  # a trait in the base class, a property in ipykernel's
        """Overrides IPythonKernel.banner, to add the boot line."""
        return f"{super().banner}{self.workspace.summary()}\n"

    @property
    def kernel_info(self) -> Any:
        """Overrides Kernel.kernel_info, which front ends ask for first, to note that the kernel came to life."""
        self.workspace.settle()
        return super().kernel_info

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: Any = None,
        allow_stdin: bool = False,
        *,
        cell_meta: Any = None,
        cell_id: Any = None,
    ) -> Any:
        """Overrides IPythonKernel.do_execute, to open a cell before it and to show the cell's notices after it.

        The names of the last two parameters are looked at by ipykernel, which fills those it finds.
        """
        if self._rest is not None:
            self._rest.begins()
        request = read_request(
            cell_meta if isinstance(cell_meta, dict) else {},
            allow_stdin=bool(allow_stdin),
            silent=bool(silent),
            store_history=bool(store_history),
            defaults=self._default_notices,
        )
        shell: Any = self.shell
        count = shell.execution_count if store_history and not silent else None
        cell = self.workspace.open_cell(request, code, count)
        token = self.workspace.cell.set(cell)
        try:
            reply = await super().do_execute(
                code, silent, store_history, user_expressions, allow_stdin, cell_meta=cell_meta, cell_id=cell_id
            )
        finally:
            # The cell is over: an interrupt that comes now must not cost the front end its reply.
            with interrupts_deferred(drop=True):
                self.workspace.cell.reset(token)
                report = self.workspace.close_cell(cell, request)
                if request.keeps and self.workspace.mode is not Mode.OFF:
                    self._show(report, request)
                self._reply.set(report.metadata(self.workspace.session))
                if self._rest is not None:
                    self._rest.ended(asks=self.workspace.awaits_reply, tires=self.workspace.awaits_rest)
        return reply

    def do_shutdown(self, restart: bool) -> Any:
        """Overrides IPythonKernel.do_shutdown: a kernel that ends in order came to life.

        That is said on the main loop, and before it is stopped: where that hangs, only the control thread answered.
        """
        self.io_loop.add_callback(self.workspace.end)
        return super().do_shutdown(restart)

    def finish_metadata(self, parent: Any, metadata: Any, reply_content: Any) -> Any:
        """Overrides IPythonKernel.finish_metadata, to add `metadata.perdure` to the reply of an execute request."""
        metadata = super().finish_metadata(parent, metadata, reply_content)
        if (ours := self._reply.get()) is not None:
            self._reply.set(None)
            metadata["perdure"] = ours
        return metadata

    def do_history(self, *args: Any, **kwargs: Any) -> Any:
        """Overrides IPythonKernel.do_history: of a range of this session stock answers 0 for its number."""
        content = super().do_history(*args, **kwargs)
        shell: Any = self.shell
        manager = shell.history_manager
        if manager is not None:
            number = manager.session_number
            content["history"] = [(session or number, *rest) for session, *rest in content["history"]]
        return content

    def do_complete(self, code: str, cursor_pos: int | None) -> Any:
        """Overrides IPythonKernel.do_complete: all attributes of a name that waits are there once it is loaded."""
        load_for_completion(code if cursor_pos is None else code[:cursor_pos], self.workspace.waking)
        return super().do_complete(code, cursor_pos)

    def do_inspect(self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()) -> Any:
        """Overrides IPythonKernel.do_inspect: of a name that waits is told what its text tells."""
        waking, name = self.workspace.waking, token_at_cursor(code, cursor_pos)
        waking.glance(name)
        if (told := waking.described(name, source=detail_level > 0)) is not None:
            return {"status": "ok", "found": True, "data": {"text/plain": told}, "metadata": {}}
        return super().do_inspect(code, cursor_pos, detail_level, omit_sections)

    async def do_debug_request(self, msg: Any) -> Any:
        """Overrides IPythonKernel.do_debug_request: an expression evaluated in a stopped cell may name what waits."""
        if isinstance(msg, dict) and msg.get("command") == "evaluate":
            expression = (msg.get("arguments") or {}).get("expression")
            # The cell may have been stopped while something was loaded: then this must not wait for it.
            self.workspace.waking.load_for_code(str(expression), patient=False)
        return await super().do_debug_request(msg)

    @observe("notebook_notices", "console_notices", "agent_notices")
    def _read_default_notices(self, _: Any = None) -> None:
        # Not for each cell: a trait costs, and every cell waits for it.
        self._default_notices = {
            RequestKind.NOTEBOOK: Notices(self.notebook_notices),
            RequestKind.CONSOLE: Notices(self.console_notices),
            RequestKind.AGENT: Notices(self.agent_notices),
        }

    def _show(self, report: Report, request: Request) -> None:
        """Publish the notices as one muted display, behind all that the cell printed."""
        lines = report.lines(request.notices)
        if not lines:
            return
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        text = "\n".join(lines)
        content = {
            "data": {
                "text/plain": text,
                "text/html": f'<pre style="{_MUTED}">{html.escape(text)}</pre>',
            },
            "metadata": {"perdure": {"notices": lines}},
            "transient": {},
        }
        self.send_response(self.iopub_socket, "display_data", content, ident=self._topic("display_data"))
