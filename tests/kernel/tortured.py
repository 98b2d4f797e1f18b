"""A kernel's workspace in a process that is there to be killed: it does what it is told, over a connection, until then.

`main` is the process that the others are forked from, so that each is there in milliseconds; `nursery` is its other
side. Every call of the Disk port is counted where it outlives the process, and one of them can be told to be the last.
Knows of the store that it writes through that port, and nothing else.
"""

from __future__ import annotations

import ast
import builtins
import io
import json
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any, Literal, TypeAlias

from perdure.kernel.later import Later
from perdure.kernel.layer_changes import undo
from perdure.kernel.report import Report
from perdure.kernel.wire import Notices, Request, RequestKind
from perdure.kernel.workspace import Workspace
from perdure.layer.disk import Disk, RealDisk, is_temporary
from perdure.layer.outcome import Forgotten, Kept, Unchanged
from perdure.layer.source import Source
from tests.layer.power_cut import Volatile

When: TypeAlias = Literal["before", "after", "half", "cut"]
"""Of a call of the Disk port, when it kills: with nothing done, with all done, with a half of what is written.

`cut` is after it too, and what is not synced then may be lost (`layer.power_cut`).
"""

PROGRESS = 256  # bytes
_OPERATIONS = tuple(name for name in vars(Disk) if not name.startswith("_"))
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_TORN = ".0123456789abcdef.tmp"


@dataclass(frozen=True, slots=True)
class Birth:
    """What a process is made with; all of it JSON."""

    address: str  # of the connection that it is to make
    environ: dict[str, str]
    folder: str  # where it works
    progress: str  # a file of PROGRESS bytes
    kill_at: int = 0  # the call that kills, counted from the start; 0 for none, or until `arm`
    when: When = "before"
    bundles: bool = True  # whether it leaves the next start what that can replay
    machine: str = ""  # what is to be taken for the machine's name for the time since it was started


class KillingDisk:
    """Counts the calls of the Disk port in this process, and ends it by SIGKILL in the one that it is told."""

    def __init__(self, progress: mmap.mmap, volatile: Path, at: int, when: When) -> None:
        """`volatile` is the file where it is told, if power is cut, what may be lost."""
        self._lost = Volatile()
        self._volatile = volatile
        self.at = at
        self.when = when
        self.count = 0
        self._progress = progress
        self._is_inside = False

    def install(self) -> None:
        for name in _OPERATIONS:
            self._wrap(name, getattr(RealDisk, name))

    def arm(self, at: int, when: When) -> None:
        self.count, self.at, self.when = 0, at, when
        self.note("before the first call")

    def note(self, text: str) -> None:
        """Have `text` be known after the death of this process."""
        self._progress[:] = text.encode("utf-8", "replace")[:PROGRESS].ljust(PROGRESS)

    def _wrap(self, name: str, real: Callable[..., Any]) -> None:
        def call(disk: RealDisk, path: Path, *rest: Any, **named: Any) -> Any:
            if self._is_inside:  # one that another is made of
                return real(disk, path, *rest, **named)
            self.count += 1
            said = f"{self.count} {name} {rest[0].name if rest and isinstance(rest[0], Path) else path.name}"
            self.note(f"in {said}")
            self._is_inside = True
            try:
                if self.count == self.at and self.when in ("before", "half"):
                    if self.when == "half":
                        self._half(name, real, disk, path, *rest, **named)
                    self.end()
                with self._lost.doing(name, path, *rest, **named):
                    done = real(disk, path, *rest, **named)
                if self.count == self.at:
                    self.end()
                return done
            finally:
                self._is_inside = False
                self.note(f"after {said}")

        setattr(RealDisk, name, call)

    def _half(self, name: str, real: Callable[..., Any], disk: RealDisk, path: Path, *rest: Any, **named: Any) -> None:
        if name == "append":
            real(disk, path, rest[0][: len(rest[0]) // 2], **named)
        elif name == "write":
            assert is_temporary(_TORN)
            (named.get("begun_in") or path.parent).joinpath(_TORN).write_bytes(rest[0][: len(rest[0]) // 2])

    def end(self) -> None:
        """The end of this process."""
        self._lost.save(self._volatile)
        os.kill(os.getpid(), signal.SIGKILL)


class Tortured:
    """A workspace, and what it does when it is told to."""

    def __init__(self, connection: Connection, disk: KillingDisk, *, bundles: bool) -> None:
        self._connection = connection
        self._disk = disk
        self._space: dict[str, object] = {"__name__": "__main__", "told": self._told}
        self._report: Report | None = None  # of the cell that runs, or ran last
        self._workspace = Workspace(self._space, ambient=dict(self._space))
        self._request = Request(RequestKind.AGENT, Notices.ALL)
        self._count = 0
        self._bundles = bundles

    def boot(self) -> list[str]:
        """Load the layer and do all that is done at rest; gives what is told of it."""
        self._workspace.boot()
        if not self._bundles:
            self._workspace.starting.to_write.clear()
        said = self.cell("import math")["said"]
        self.rest()
        return [*said, *self.cell("pass")["said"]]

    def serve(self) -> None:
        """Answer until there is nobody who asks."""
        while True:
            try:
                name, *words = self._connection.recv()
            except EOFError:
                return
            self._connection.send((name, getattr(self, name)(*words)))

    def cell(self, text: str) -> dict[str, list[str]]:
        """Run a cell as the shell does."""
        self._count += 1
        if not self._disk.at:
            self._disk.arm(0, "before")
        workspace, nodes = self._workspace, ast.parse(text).body
        cell = workspace.open_cell(self._request, text, self._count)
        token = workspace.cell.set(cell)
        self._report = cell.report
        if workspace.may_touch(nodes, text):
            workspace.waking.load_for_code(text)
        cell.enter(len(nodes))
        for number, statement in enumerate(Source(text).statements(nodes), 1):
            cell.starting(statement.node)
            try:
                exec(compile(ast.Module([statement.node], []), "cell", "exec"), self._space)
            except NameError:  # of a name that is in the layer, and not in this kernel
                cell.failed(number)
                break
            cell.completed(statement)
        cell.leave()
        report = workspace.close_cell(cell, self._request)
        workspace.cell.reset(token)
        # When the reply is out, what follows it may be done; here it is done first, so that it can be killed as well.
        workspace.replied()
        return _outcomes(report)

    def undo(self) -> str:
        """`%layer undo`."""
        said: list[str] = []
        self._space["undoing"] = lambda: said.append(undo(self._workspace, "").text)
        self.cell("undoing()")
        return said[0]

    def rest(self) -> None:
        """Do all that is left for when nobody waits."""
        while self._workspace.rest():
            pass

    def values(self, names: list[str]) -> dict[str, object]:
        """What the functions of these names return, the tokens of the classes, the constants; None for what is none."""
        self._workspace.waking.load_for_code(" ".join(names))
        return {name: _value(self._space.get(name)) for name in names}

    def arm(self, at: int, when: When) -> None:
        self._disk.arm(at, when)

    def cut(self) -> None:
        """The end."""
        self._disk.end()

    def _told(self) -> None:
        """For cells: tell that they have come so far, and what became of what was before."""
        assert self._report is not None
        self._connection.send(("told", _outcomes(self._report)))


def _outcomes(report: Report) -> dict[str, list[str]]:
    """What a cell came to so far, by names, and what is said of it."""
    gives = {
        kind.__name__: [name for each in report.outcomes if isinstance(each, kind) for name in each.definition.gives]
        for kind in (Kept, Unchanged)
    }
    return {
        "kept": gives["Kept"],
        "unchanged": gives["Unchanged"],
        "forgot": [each.name for each in report.outcomes if isinstance(each, Forgotten)],
        "said": report.lines(Notices.ALL),
    }


def _value(found: object) -> object:
    if isinstance(found, type):
        return getattr(found, "token", None)
    return found() if callable(found) else found


def live(birth: Birth) -> None:
    """The life of one process."""
    os.environ.clear()
    os.environ.update(birth.environ)
    os.chdir(birth.folder)
    os.umask(0o077)
    connection = Client(birth.address, "AF_UNIX")
    connection.send(("born", os.getpid()))
    with open(birth.progress, "r+b") as file:
        progress = mmap.mmap(file.fileno(), PROGRESS)
    disk = KillingDisk(progress, Path(f"{birth.progress}.volatile"), birth.kill_at, birth.when)
    if birth.machine:
        _rename_machine(birth.machine)
    disk.install()
    tortured = Tortured(connection, disk, bundles=birth.bundles)
    connection.send(("ready", tortured.boot()))
    tortured.serve()


def _rename_machine(name: str) -> None:
    """Have the system tell `name` for what is another one after each start of the machine."""
    real = builtins.open

    def told(file: Any, *rest: Any, **named: Any) -> Any:
        return io.StringIO(name) if file == _BOOT_ID else real(file, *rest, **named)

    builtins.open = told


def main() -> None:
    """Fork a process for each line of standard input, which is a Birth."""
    later = Later()
    while later.step():
        pass
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them: their connections tell when they are gone
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            try:
                live(Birth(**json.loads(line)))
            except BaseException:
                traceback.print_exc()
            os._exit(0)
