"""What one kernel has to work with: its layer, or the reason it has none, its cells folders, and the cells it runs.

Owns how a kernel comes by its layer: mode, place, trust, boot. Knows no IPython: the namespace is a mapping. What a
start needs only now and then, as for a project's layer, is imported where it is: every first reply waits for this file.
"""

from __future__ import annotations

import ast
import builtins
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.layer.bounds import Bounds
from perdure.layer.disk import RealDisk
from perdure.layer.errors import LayerError
from perdure.layer.events import EventLog
from perdure.layer.interrupts import interrupts_deferred
from perdure.layer.opening import Absent, Ready, Untrusted
from perdure.layer.place import (
    MODE_VARIABLE,
    Homes,
    Mode,
    Origin,
    Place,
    read_mode,
)
from perdure.layer.progress import PATIENCE
from perdure.layer.project import find_project
from perdure.layer.room import Layer
from perdure.layer.safe_boot import SafeBoot
from perdure.layer.session import Context, session_id
from perdure.layer.source import Source
from perdure.layer.starting import Replayed, Starting
from perdure.layer.trust import TrustRecord
from perdure.layer.view import MODULE_NAMES
from perdure.layer.words import words

from . import boot_notices, others
from .cell import Cell
from .cells_folders import CellsFolders
from .choosing import Choosing, git_name
from .notebooks import Notebooks
from .report import Report
from .summary import summary_of
from .untold import Untold
from .waking import Waking
from .wire import Notices, Request

if TYPE_CHECKING:
    from .proving import Proving
    from .resting import Resting

_log = logging.getLogger(__name__)

NOTHING_HERE = "nothing is kept or loaded"
"""How a notice begins that tells why this kernel has no layer."""


class Workspace:
    """The state of one kernel process beside the user's namespace."""

    def __init__(
        self,
        namespace: MutableMapping[str, object],
        *,
        ambient: Mapping[str, object],
        environ: Mapping[str, str] | None = None,
        layer: str | None = None,
        mode: str | None = None,
        cells: object = (),
        bounds: Bounds | None = None,
        defer: bool = True,
        proves: bool = False,
    ) -> None:
        """`ambient` is what any kernel has in its namespace; what follows `environ` is what the config says."""
        self._environ = dict(os.environ) if environ is None else environ
        self._namespace = namespace
        self._ambient = ambient
        self.mode, unknown_mode = read_mode(self._environ.get(MODE_VARIABLE), mode)
        self.choosing = Choosing(self._environ, layer, self.mode)
        self.session = session_id(self._environ)
        self.cell: ContextVar[Cell | None] = ContextVar("perdure_cell", default=None)  # the one this context runs
        bounds = bounds or Bounds()
        self._safe = SafeBoot(lambda: Homes.of_user().cache, bounds)
        self._cells = CellsFolders(
            namespace, sys.modules, self._environ, cells, self._safe, defer=defer, cache=lambda: Homes.of_user().cache
        )
        self.ran: list[str] = []  # the texts of the cells of this session, as IPython has transformed them
        self.untold = Untold()
        self._rests: Resting | None = None  # until there was nothing to do
        self.waking = Waking(self._cells.shipped.deferred, self.cell, self.untold.news, self.complete)
        self._layer: Layer | None = None
        self._untouched: Sequence[Replayed] = ()  # what was replayed and is still to be found out
        self._took = 0.0  # seconds that it took to load everything
        self.place: Place | None = None
        self._notebooks = Notebooks(self._environ)
        self.waiting: Place | None = None  # a project layer that is not trusted yet; the personal one serves
        self.trouble: str | None = None  # why there is no layer although one was wanted
        self.proving: Proving | None = None  # of what cells keep, where the config asks for it
        if proves and self.mode is Mode.ON:
            from .proving import Proving  # most kernels do without

            names = {*ambient}.difference(dir(builtins), MODULE_NAMES)
            self.proving = Proving(lambda: self.layer, self._cells.shipped, names, bounds)
        if unknown_mode:
            self.untold.problem(unknown_mode)

    def boot(
        self,
        around: AbstractContextManager[object] | None = None,
        say_slow: Callable[[str], object] | None = None,
    ) -> None:
        """Load the cells folders, open the layer and load it; `around` is in force while definitions run.

        `say_slow` is told what goes on when that takes over a second, in another thread.

        Raises nothing: whatever goes wrong becomes a notice of the first cell, and the kernel starts and cells run.
        """
        if self.mode is Mode.OFF:
            return
        begun = time.monotonic()
        if say_slow is not None:
            self.starting.say_slow = lambda root, count: say_slow(boot_notices.slow(root, count))
        self.open_chosen()
        self.begin_loading()
        with around or nullcontext():
            self._guarded(self._load_cells_folders)
            self.boot_layer()
        for said in self.long_loads():
            self.untold.news(f"[layer: {said}]")
        self.starting.is_on, self.starting.say_slow = False, None
        self._took = time.monotonic() - begun
        if replayed := self._replayed():
            self._untouched = replayed
        else:
            self._cells.shipped.deferred.ready()

    @property
    def layer(self) -> Layer | None:
        """The layer that this kernel keeps to, if it has one."""
        self.complete()
        return self._layer

    @layer.setter
    def layer(self, layer: Layer | None) -> None:
        self._layer = layer

    @property
    def cells_folders(self) -> CellsFolders:
        """The cells folders of this kernel."""
        self.complete()
        return self._cells

    def complete(self) -> None:
        """Find out what is to be known of what the start only replayed, before anybody asks (ADR 15)."""
        if not self._untouched:
            return
        with self._cells.shipped.deferred.lock:
            if self._is_complete():
                return
            with interrupts_deferred():  # half of it would be wrong for good
                self._guarded(self._find_out)
                self._untouched = ()

    def _is_complete(self) -> bool:
        return not self._untouched

    def _find_out(self) -> None:
        self._cells.shipped.complete()
        if self._layer is not None:
            self._layer.complete()
        self._cells.shipped.deferred.ready()

    def may_touch(self, nodes: Sequence[ast.stmt], text: str) -> bool:
        """Whether these statements may define, bind or name anything that has to do with the layer; then all is known.

        Before the kernel's first idle moment a cell that does not runs without waiting for that.
        """
        if untouched := self._untouched:
            if all(isinstance(node, ast.Expr | ast.Pass) for node in nodes) and ":=" not in text:
                said = words(text)
                if "get_ipython" not in said and not any(each.is_touched_by(said) for each in untouched):
                    return False
            self.complete()
        return True

    def rest(self) -> bool:
        """The kernel has nothing to do: do some of what can be done now; whether there is more."""
        if self._untouched:
            self.complete()
            return True
        return self._resting.step()

    @property
    def _resting(self) -> Resting:
        if self._rests is None:
            from .resting import Resting  # as a start need not

            self._rests = Resting(self)
        return self._rests

    @property
    def starting(self) -> Starting:
        """How this kernel's folders were loaded, and what is left of that for the next start."""
        return self._cells.shipped.starting

    def _replayed(self) -> list[Replayed]:
        layer = self._layer.replayed if self._layer is not None else None
        return [*self._cells.shipped.replayed, *([layer] if layer is not None else [])]

    def open_cell(self, request: Request, code: str, count: int | None) -> Cell:
        """A cell that is about to run; `count` is the number of its In, None where it has none."""
        self.settle()
        layer = self._layer
        keeps = layer is not None and self.mode is Mode.ON and request.keeps
        told = self.untold.take(request.notices) if request.keeps else []
        heard = None
        if request.keeps and request.notices is Notices.ALL and layer is not None and layer.tracked.is_stirred:
            self.complete()
            heard = others.news(layer)

        @cache
        def context() -> Context:
            note = Source(code).leading_comment() if "#" in code else ""
            return Context(self.session, count, self._notebooks.name(request.notebook), note)

        run = layer.run() if layer is not None and keeps else None
        ran = self.ran.append if request.keeps else None
        return Cell(run, context, tuple(told), heard, kind=request.kind, ran=ran)

    def close_cell(self, cell: Cell, request: Request) -> Report:
        """The cell has ended, well or not: what it came to, and what is to be told besides."""
        report = cell.finish()
        if self._layer is not None and not self._layer.can_be_kept_to:
            self.mode = Mode.READONLY  # its cells were told why
        if self._layer is not None and self._layer.handwork is not None:  # found by what the cell kept
            boot_notices.tell_handwork(self._layer, self.untold)
            report.told = (*report.told, *self.untold.take(request.notices))
        if self.proving is not None and request.keeps:
            self.proving.closes(report, shows=request.notices is Notices.ALL)
        return report

    def note(self, error: BaseException) -> None:
        """Where `error` misses a name that waits or was skipped at the start, say so in a note; load what waits."""
        self.waking.note(error)
        if type(error) is NameError and error.name and not self.has(error.name):
            from .mending import note_on  # as few cells need

            reports = [folder.report for folder in self.cells_folders.shipped.folders]
            reports += [self.layer.report] if self.layer is not None else []
            if note := note_on(error.name, [each for report in reports for each in report.skipped], self._namespace):
                error.add_note(note)

    def has(self, name: str) -> bool:
        """Whether the user's namespace has `name`."""
        return name in self._namespace

    def is_ambient(self, name: str) -> bool:
        """Whether any kernel has `name`: the builtins, and what IPython puts there."""
        return name in self._ambient or name in MODULE_NAMES or hasattr(builtins, name)

    def long_loads(self) -> list[str]:
        """Which definitions took over a second of what was loaded, and how long; as clauses."""
        return boot_notices.long(self._safe.took)

    def summary(self) -> str:
        """One line on the layer, as the banner shows it."""
        cells = self._cells.summary() if self.mode is not Mode.OFF else ""
        took = self._took if self._took >= PATIENCE else None
        return summary_of(
            *(self._layer, self.place, self.mode), cells=cells, took=took, waiting=self.waiting, trouble=self.trouble
        )

    def open_chosen(self) -> None:
        """Open the layer that is chosen for this kernel, or note what is wrong with it. Raises nothing."""
        self.trouble = None
        self._guarded(self._open)

    def take(self, ready: Ready) -> None:
        """Have what was opened be the layer that this kernel keeps to. Nothing of it is loaded yet."""
        self.place = ready.place
        cwd = Path.cwd()
        project = find_project(cwd) if ready.place.origin is Origin.PROJECT else None
        self._notebooks.name_from(*([] if project is None else [project.parent]), cwd)
        events = EventLog(Homes.of_user().events(ready.place), self.session, RealDisk())
        self.layer = Layer(
            ready.store,
            ready.place.path,
            self._namespace,
            events,
            ambient=self._ambient,
            shipped=self._cells.shipped,
            drafts=Homes.of_user().drafts(ready.place),
        )
        if ready.made and git_name() is None:
            self.untold.news(
                "[layer: git knows no name for you, so commits are by perdure <perdure@localhost>; "
                "`git config --global user.name` and user.email change that]"
            )

    def settle(self) -> None:
        """Somebody hears of the kernel: what it has loaded did it no harm."""
        self._safe.settle()

    def end(self) -> None:
        """The kernel ends in order."""
        self.settle()
        if self.layer is not None:
            with suppress(LayerError):  # what is kept lasts all the same
                while not self.layer.tracked.is_settled:
                    self.layer.settle()

    @property
    def awaits_rest(self) -> bool:
        """Whether `rest` has something to do, though it had nothing before."""
        return self._layer is not None and not self._layer.tracked.is_settled

    @property
    def awaits_reply(self) -> bool:
        """Whether `replied` is to be called."""
        return self._safe.is_resting or bool(self.starting.to_write)

    def replied(self) -> None:
        """The reply to a cell is out. It may be the last cell, and the kernel be ended without another word."""
        self._safe.answered()
        if self.starting.to_write:
            self._resting.leave_bundles()

    def begin_loading(self) -> None:
        """What is loaded from now on has the time of one start, all together."""
        self._safe.begin()

    def boot_layer(self) -> None:
        """Load the layer, if there is one, and note what is to be told of it."""
        self._guarded(lambda: self._load_and_tell(self._layer) if self._layer is not None else None)

    def _open(self) -> None:
        cwd = Path.cwd()
        place = self.choosing.chosen(cwd)
        if place.origin is Origin.PROJECT:
            from . import projects

            if projects.open_found(self, place, cwd):
                return
            place = self.choosing.personal()
        self.place = place
        match self.choosing.open(place):
            case Untrusted(place, files):
                self.place = place
                some = f" with {len(files)} definition{'s'[: len(files) != 1]}"
                self._do_without(f"{place.path}{some} is not trusted; look at it, then %layer trust loads it")
            case Ready() as ready:
                self.take(ready)
            case Absent():
                pass

    def _load_cells_folders(self) -> None:
        folders = self._cells
        record = TrustRecord(Homes.of_user().state, RealDisk())
        if folders:
            folders.load(record, self.place.path if self.place is not None else None)
        if self.place is not None and self.place.origin is Origin.PROJECT:
            folders.load_personal(self.choosing.personal().path, record, self.place.path)
        for said in folders.problems():
            self.untold.problem(said)
        if printed := folders.printed().rstrip():
            self.untold.news(f"[layer: loading cells folders printed:\n{printed}]")

    def _load_and_tell(self, layer: Layer) -> None:
        layer.boot()
        for said in boot_notices.problems(layer, records=self.mode is Mode.ON):
            self.untold.problem(said)
        for said in boot_notices.printed(layer):
            self.untold.news(f"[layer: {said}]")

    def _guarded(self, act: Callable[[], None]) -> None:
        """Where `act` fails there is no layer, and the next cell says why."""
        try:
            act()
        except LayerError as error:
            self._do_without(str(error))
        except Exception as error:  # a mistake of ours must not cost the kernel
            _log.exception("perdure could not open its layer")
            self._do_without(
                f"perdure itself failed ({type(error).__name__}: {error}); the kernel's log has the details"
            )

    def _do_without(self, why: str) -> None:
        self.layer = None
        self.trouble = why
        self.untold.problem(f"{NOTHING_HERE}; {why}")
