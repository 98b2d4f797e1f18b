"""Cells run as the kernel runs them, statement by statement in one namespace, without IPython."""

from __future__ import annotations
import __future__

import ast
import builtins
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from perdure.layer.boot_report import BootReport
from perdure.layer.bounds import Bounds
from perdure.layer.cells_folder import CellsFolder
from perdure.layer.definition import Definition, RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.events import EventLog
from perdure.layer.given import defines
from perdure.layer.memory import MemoryStore
from perdure.layer.outcome import Forgotten, Hidden, Kept, NotKept, Outcome, Returns, Unchanged
from perdure.layer.room import Layer
from perdure.layer.safe_boot import SafeBoot
from perdure.layer.session import Context
from perdure.layer.shipped import Shipped
from perdure.layer.source import Source
from perdure.layer.store import Store
from perdure.layer.waiting import NOTHING

_FEATURES = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}


class Events(EventLog):
    """A record that is kept in memory."""

    def __init__(self) -> None:
        super().__init__(Path(), "s-test", RealDisk())
        self.recorded: list[tuple[str, dict[str, object]]] = []

    def add(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        for line in data.splitlines():
            fields = json.loads(line)
            del fields["time"], fields["session"]
            self.recorded.append((fields.pop("event"), fields))


class Cells:
    """One kernel: a namespace, and the layer that is live in it."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        events: EventLog | None = None,
        ambient: Mapping[str, object] | None = None,
        modules: Mapping[str, ModuleType] | None = None,
        folders: Mapping[str, Mapping[str, str]] | None = None,
        defer: bool = False,
        root: Path = Path("/layer"),
        cache: Path | None = None,
        drafts: Path = Path("/dev/null/drafts"),
    ) -> None:
        """`folders` are cells folders: path → the texts of their files by path. `defer`: packages are waited for.

        With a `cache` a boot is bounded, and goes the way of the one before it.
        """
        self.store = MemoryStore() if store is None else store
        self.namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, **(ambient or {})}
        self.events = Events() if events is None else events
        known = sys.modules if modules is None else modules
        self._folders = folders or {}
        self._defer = defer
        self.safe = None if cache is None else SafeBoot(lambda: cache, Bounds())
        where = None if cache is None else lambda: cache
        shipped = Shipped(self.namespace, known, self.safe, defer=defer, cache=where)
        for path, texts in self._folders.items():
            files = {RelPath(name): text.encode() for name, text in texts.items()}
            shipped.load(CellsFolder(Path(path), None, files))
        self.layer = Layer(
            self.store,
            root,
            self.namespace,
            self.events,
            ambient=ambient or {},
            drafts=drafts,
            modules=known,
            shipped=shipped,
        )
        self.error: Exception | None = None  # of the last cell
        self.warnings: list[str] = []  # likewise
        self.loading = NOTHING  # what was loaded before the last cell ran
        self._count = 0
        self._features: dict[str, int] = {}  # in force for all later cells, as in IPython

    def boot(self) -> BootReport:
        self.layer.boot()
        return self.layer.report

    def restarted(self, folders: Mapping[str, Mapping[str, str]] | None = None, *, defer: bool | None = None) -> Cells:
        """A new kernel on the same store, booted; `folders` are its cells folders, the same ones unless given."""
        defer = self._defer if defer is None else defer
        cells = Cells(self.store, folders=self._folders if folders is None else folders, defer=defer)
        cells.boot()
        return cells

    def run(self, source: str) -> list[Outcome]:
        """Run one cell; what became of its statements. An exception ends the cell and is left in `error`."""
        self._count += 1
        self.error, self.warnings = None, []
        context = Context("s-test", self._count, note=Source(source).leading_comment())
        run = self.layer.run()
        run.runs(source)
        outcomes: list[Outcome] = []

        def flush() -> None:
            told, warnings = run.flush(context)
            outcomes.extend(told)
            self.warnings += warnings

        nodes, deferred = ast.parse(source).body, self.layer.deferred
        self.loading = deferred.load(deferred.reached_by(nodes, source))
        for statement in Source(source).statements(nodes):
            node = statement.node
            if run.waits and not defines(node):
                flush()
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                self._features |= {alias.name: _FEATURES[alias.name] for alias in node.names}
            code = compile(
                ast.Module([node], []), "<cell>", "exec", flags=sum(self._features.values()), dont_inherit=True
            )
            try:
                with deferred.there_to_delete([node]):
                    exec(code, self.namespace)
            except Exception as error:
                self.error = error
                break
            run.offer(replace(statement, futures=tuple(self._features)))
        flush()
        return outcomes

    def keep(self, name: str) -> list[Outcome]:
        """`%keep name`."""
        run = self.layer.run()
        run.keep(name)
        outcomes, self.warnings = run.flush(Context("s-test", self._count))
        return outcomes

    def forget(self, name: str) -> list[Outcome]:
        """`%forget name`."""
        run = self.layer.run()
        run.forget(name)
        outcomes, self.warnings = run.flush(Context("s-test", self._count))
        return outcomes

    def kept(self, name: str) -> Definition:
        """The kept definition that gives `name`."""
        return next(entry.definition for entry in self.layer.definitions if name in entry.definition.gives)

    @property
    def names(self) -> set[str]:
        """Every name that the layer gives."""
        return {name for entry in self.layer.definitions for name in entry.definition.gives}

    @property
    def files(self) -> dict[RelPath, str]:
        return {path: data.decode() for path, data in self.store.files().items()}


def begun(folders: Mapping[str, Mapping[str, str]] | None = None) -> Cells:
    """A kernel on a layer without definitions, over these cells folders."""
    cells = Cells(MemoryStore({RelPath(".gitignore"): b""}), folders=folders)
    cells.boot()
    return cells


def said(outcomes: list[Outcome]) -> list[str]:
    """Outcomes in a word each, for tables."""
    return [_said(outcome) for outcome in outcomes]


def _said(outcome: Outcome) -> str:
    match outcome:
        case Kept(definition, pulled, needs, warnings):
            parts = [f"keep {', '.join(definition.gives)}"]
            parts += [f"with {', '.join(each.key for each in pulled)}"] if pulled else []
            parts += [f"needs {', '.join(needs)}"] if needs else []
            return "; ".join([" ".join(parts), *warnings])
        case Unchanged(definition):
            return f"same {', '.join(definition.gives)}"
        case NotKept(name, reason):
            return f"not {name}: {reason}"
        case Forgotten(name, reason):
            return f"forget {name}: {reason}" if reason else f"forget {name}"
        case Hidden(name):
            return f"hidden {name}"
        case Returns(name, folder):
            return f"{name} returns from {folder}"
