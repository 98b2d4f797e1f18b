"""What one kernel has to work with: its layer, or the reason it has none, its cells folders, and the cells it runs.

Owns how a kernel comes by its layer: mode, place, trust, boot. Knows no IPython: the namespace is a mapping.
"""

from __future__ import annotations

import builtins
import logging
import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from pathlib import Path

from perdure.layer.bounds import Bounds
from perdure.layer.disk import RealDisk
from perdure.layer.errors import LayerError
from perdure.layer.events import EventLog
from perdure.layer.git import git_identity
from perdure.layer.opening import Absent, Opening, Ready, Untrusted, open_layer
from perdure.layer.place import (
    MODE_VARIABLE,
    Homes,
    Mode,
    Origin,
    Place,
    choose,
    layer_name,
    personal_place,
    read_cells_entry,
    read_mode,
    remembered_name,
)
from perdure.layer.plan import Context
from perdure.layer.project import find_project
from perdure.layer.room import Layer
from perdure.layer.safe_boot import SafeBoot
from perdure.layer.session import session_id
from perdure.layer.source import Source
from perdure.layer.trust import TrustRecord
from perdure.layer.view import MODULE_NAMES

from . import boot_notices, others, projects
from .cell import Cell
from .cells_folders import CellsFolders
from .notebook import notebook_name
from .waking import Waking
from .wire import Notices, Request

_log = logging.getLogger(__name__)

_NOTEBOOK_VARIABLE = "JPY_SESSION_NAME"  # what jupyter_server tells the kernels it starts


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
    ) -> None:
        """`ambient` is what any kernel has in its namespace; what follows `environ` is what the config says."""
        self._environ = dict(os.environ) if environ is None else environ
        self._namespace = namespace
        self._ambient = ambient
        self._configured = layer
        self.mode, unknown_mode = read_mode(self._environ.get(MODE_VARIABLE), mode)
        self.session = session_id(self._environ)
        self.cell: ContextVar[Cell | None] = ContextVar("perdure_cell", default=None)  # the one this context runs
        self._safe = SafeBoot(lambda: Homes.of_user().cache, bounds or Bounds())
        self.cells_folders = CellsFolders(namespace, sys.modules, self._environ, cells, self._safe, defer=defer)
        self.ran: list[str] = []  # the texts of the cells of this session, as IPython has transformed them
        self.waking = Waking(self.cells_folders.shipped.deferred, self.cell, self._tell)
        self.layer: Layer | None = None
        self.place: Place | None = None
        self._folders: tuple[Path, ...] = ()  # what notebooks are named from: the project's, the working folder
        self._notebooks: dict[str, str | None] = {}  # what a request said → the notebook
        self.waiting: Place | None = None  # a project layer that is not trusted yet; the personal one serves
        self.trouble: str | None = None  # why there is no layer although one was wanted
        self._problems: list[str] = []  # what the next cell is to tell
        self._news: list[str] = []  # what the next cell that shows all notices is to tell
        if unknown_mode:
            self._problems.append(f"[layer: {unknown_mode}]")

    def boot(self, around: AbstractContextManager[object] | None = None) -> None:
        """Load the cells folders, open the layer and load it; `around` is in force while definitions run.

        Raises nothing: whatever goes wrong becomes a notice of the first cell, and the kernel starts and cells run.
        """
        if self.mode is Mode.OFF:
            return
        self._guarded(self._open)
        self.begin_loading()
        with around or nullcontext():
            self._guarded(self._load_cells_folders)
            self.boot_layer()
        self.cells_folders.shipped.deferred.ready()

    def open_cell(self, request: Request, code: str, count: int | None) -> Cell:
        """A cell that is about to run; `count` is the number of its In, None where it has none."""
        self.settle()
        keeps = self.layer is not None and self.mode is Mode.ON and request.keeps
        told: list[str] = []
        if request.keeps and request.notices is not Notices.NONE:
            told, self._problems = self._problems, []
        if request.keeps and request.notices is Notices.ALL:
            told, self._news = [*self._news, *told], []
            if self.layer is not None:
                told += others.news(self.layer)
        context = Context(
            self.session,
            count,
            self._notebook(request.notebook),
            Source(code).leading_comment() if keeps and "#" in code else "",
        )
        run = self.layer.run() if self.layer is not None and keeps else None
        ran = self.ran.append if request.keeps else None
        return Cell(run, context, tuple(told), kind=request.kind, ran=ran)

    def has(self, name: str) -> bool:
        """Whether the user's namespace has `name`."""
        return name in self._namespace

    def is_ambient(self, name: str) -> bool:
        """Whether any kernel has `name`: the builtins, and what IPython puts there."""
        return name in self._ambient or name in MODULE_NAMES or hasattr(builtins, name)

    def trust(self, path: str | None = None) -> str:
        """Accept what waits for it, or that at `path` alone, and load it; what came of it, as sentences.

        Raises:
            LayerError: the acceptance could not be remembered, or what is not loaded not be recorded.
        """
        wanted = None if path is None else Path(os.path.realpath(read_cells_entry(path, Path.cwd()).path))
        place = self.place if self.layer is None else None
        if place is not None and wanted not in (None, Path(os.path.realpath(place.path))):
            place = None
        project = self.waiting if self.waiting is not None and wanted in (None, self.waiting.path) else None
        waiting = self.cells_folders.waiting(wanted) if self.mode is not Mode.OFF else []
        if place is None and project is None and not waiting:
            where = "No layer here" if path is None else f"Nothing at {path}"
            return f"{where} waits for trust. {self.summary()}."
        self.begin_loading()
        record, said = TrustRecord(Homes.of_user().state, RealDisk()), []
        for refused in waiting:
            with self.layer.lock if self.layer is not None else nullcontext():
                told, loaded = self.cells_folders.accept(refused, record, self.place.path if self.place else None)
            said.append(told)
            self._untell(f"{refused.path} has ")
            if loaded is not None and self.layer is not None:
                if self.layer.report.skipped:
                    said.append("What the layer skipped for want of it is loaded at the next start.")
                if self.mode is Mode.ON:
                    self.layer.record.skipped(loaded.report.skipped, loaded.path)
        if project is not None:
            said.append(projects.accept(self, project, record))
            self._untell(projects.UNTRUSTED)
        elif place is not None:
            record.accept(place.path)
            self.trouble = None
            self._guarded(self._open)
            self.boot_layer()
            said += self.take_problems() if self.layer is None else [f"{self.summary()}.", *self.take_problems()]
        return "\n".join(said)

    def _untell(self, said: str) -> None:
        """Take back the notices with `said` of the running cell: what they tell of was accepted in this very cell."""
        if (cell := self.cell.get()) is not None:
            cell.report.told = tuple(line for line in cell.report.told if said not in line)

    def summary(self) -> str:
        """One line on the layer, as the banner shows it."""
        if self.mode is Mode.OFF:
            return "perdure keeps and loads nothing (PERDURE_MODE=off)"
        cells = self.cells_folders.summary()
        if self.layer is None:
            folders = f"; {cells}" if cells else ""
            return f"perdure has no layer: {self.trouble or 'none was made yet, and nothing may be written'}{folders}"
        count = len(self.layer.definitions)
        parts = [f"{count} definition{'s'[: count != 1]}", *([cells] if cells else [])]
        if skipped := len(self.layer.report.skipped):
            parts.append(f"{skipped} skipped")
        if self.mode is Mode.READONLY:
            parts.append("nothing is kept (read-only)")
        if self.waiting is not None:
            parts.append(f"{self.waiting.path} is not trusted")
        project = "project " if self.place is not None and self.place.origin is Origin.PROJECT else ""
        return f"perdure {project}layer {self.layer.root}: {', '.join(parts)}; %cells lists them"

    def problem(self, said: str) -> None:
        """Have the next cell that shows notices tell what is `said`."""
        self._problems.append(f"[layer: {said}]")

    def take_problems(self) -> list[str]:
        """What the next cell was to tell, for who tells it now."""
        problems, self._problems = self._problems, []
        return problems

    def open(self, place: Place, *, make: bool = True) -> Opening:
        """What is at `place`; a layer is made there if it may be.

        Raises:
            LayerError: as `open_layer`.
        """
        return open_layer(place, Homes.of_user(), author=None, disk=RealDisk(), make=make and self.mode is Mode.ON)

    def take(self, ready: Ready) -> None:
        """Have what was opened be the layer that this kernel keeps to. Nothing of it is loaded yet."""
        self.place = ready.place
        cwd = Path.cwd()
        project = find_project(cwd) if ready.place.origin is Origin.PROJECT else None
        self._folders, self._notebooks = (cwd,) if project is None else (project.parent, cwd), {}
        events = EventLog(Homes.of_user().events(ready.place), self.session, RealDisk())
        self.layer = Layer(
            ready.store,
            ready.place.path,
            self._namespace,
            events,
            ambient=self._ambient,
            shipped=self.cells_folders.shipped,
        )
        if ready.made and _git_name() is None:
            self._news.append(
                "[layer: git knows no name for you, so commits are by perdure <perdure@localhost>; "
                "`git config --global user.name` and user.email change that]"
            )

    def settle(self) -> None:
        """Somebody hears of the kernel: what it has loaded did it no harm."""
        self._safe.settle()

    def begin_loading(self) -> None:
        """What is loaded from now on has the time of one start, all together."""
        self._safe.begin()

    def boot_layer(self) -> None:
        """Load the layer, if there is one, and note what is to be told of it."""
        self._guarded(lambda: self._load_and_tell(self.layer) if self.layer is not None else None)

    def personal(self) -> Place:
        """Where the user's own layer is."""
        homes, user = Homes.of_user(), self._environ.get("USER")
        return personal_place(homes, remembered_name(homes, RealDisk(), lambda: layer_name(_git_name(), user)))

    def _tell(self, line: str) -> None:
        if line not in self._news:  # of the list that is there then: each cell takes it away
            self._news.append(line)

    def _open(self) -> None:
        cwd = Path.cwd()
        place = choose(self._environ, self._configured, lambda: find_project(cwd), self.personal, cwd=cwd)
        if place.origin is Origin.PROJECT:
            if projects.open_found(self, place, cwd):
                return
            place = self.personal()
        self.place = place
        match self.open(place):
            case Untrusted(place, files):
                self.place = place
                some = f" with {len(files)} definition{'s'[: len(files) != 1]}"
                self._do_without(f"{place.path}{some} is not trusted; look at it, then %layer trust loads it")
            case Ready() as ready:
                self.take(ready)
            case Absent():
                pass

    def _notebook(self, said: str | None) -> str | None:
        """The notebook that a request says it comes from, else the one that the server started this kernel for."""
        known, key = self._notebooks, said or ""
        if key not in known:
            text = said or self._environ.get(_NOTEBOOK_VARIABLE)
            if text and os.path.isabs(text):
                text = os.path.realpath(text)
            known[key] = notebook_name(text, self._folders, by_server=not said)
        return known[key]

    def _load_cells_folders(self) -> None:
        folders = self.cells_folders
        record = TrustRecord(Homes.of_user().state, RealDisk())
        if folders:
            folders.load(record, self.place.path if self.place is not None else None)
        if self.place is not None and self.place.origin is Origin.PROJECT:
            folders.load_personal(self.personal().path, record, self.place.path)
        self._problems += [f"[layer: {said}]" for said in folders.problems()]
        if printed := folders.printed().rstrip():
            self._news.append(f"[layer: loading cells folders printed:\n{printed}]")

    def _load_and_tell(self, layer: Layer) -> None:
        layer.boot()
        for said in boot_notices.problems(layer, records=self.mode is Mode.ON):
            self.problem(said)
        self._news += [f"[layer: {said}]" for said in boot_notices.printed(layer)]

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
        self._problems.append(f"[layer: nothing is kept or loaded; {why}]")


def _git_name() -> str | None:
    identity = git_identity()
    return identity.name if identity is not None else None
