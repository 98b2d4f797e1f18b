"""An opened layer at work in one kernel: files are loaded at boot, what runs of statements come to is committed.

The only place where decisions meet I/O. Knows no kernel: the namespace is a mapping, the session a name.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from .boot import Boot, BootReport
from .definition import Definition, Key, RelPath
from .errors import StoreFault
from .events import EventLog, EventName
from .install import InPlace
from .interrupts import interrupts_deferred
from .naming import name_told_by
from .outcome import Forgotten, Kept
from .plan import Context, Entry, Table, apply, definitions_of, step
from .reread import reread as read_again
from .run import Run
from .shipped import LoadedFolder, Location, Shipped
from .store import CommitId, Dirt, Message, Remove, Store, Write
from .view import Variable, View

__all__ = ["Layer", "Location"]


class Layer:
    """One layer, live in one namespace. Safe to use from several threads, each with its own `Run`."""

    def __init__(
        self,
        store: Store,
        root: Path,
        namespace: MutableMapping[str, object],
        events: EventLog,
        *,
        ambient: Mapping[str, object],
        modules: Mapping[str, ModuleType] | None = None,
        shipped: Shipped | None = None,
    ) -> None:
        """`shipped` are the cells folders that were loaded into the namespace before; None where there are none."""
        self._modules = sys.modules if modules is None else modules
        self.shipped = Shipped(namespace, self._modules) if shipped is None else shipped
        self.root = root
        self.image = self.shipped.image
        self.report = BootReport()
        self._store = store
        self._events = events
        self._ambient = ambient
        self._files: dict[RelPath, bytes] = {}  # as last read or written here
        self._head: CommitId | None = None  # likewise
        self._by_hand: set[RelPath] = set()  # files that may have what no commit has
        self.variables = self.shipped.variables
        self.table = Table()
        self.deferred = self.shipped.deferred
        self.lock = self.deferred.lock

    def boot(self) -> BootReport:
        """Load every definition file; what fails is left out and reported.

        Raises:
            StoreFault: the folder cannot be read.
        """
        with self.lock:
            self._head = self._store.head()
            self._files = dict(self._store.files())
            imports, waits = self.variables.imports, self.deferred
            boot = Boot(self._files, self.root, self.image, imports, self._modules, self.shipped, waits)
            self.report = boot.run()
            self.deferred.ready()
            entries = [Entry(definition, path) for definition, path in self.report.live]
            entries += [Entry(s.definition, s.path, awake=False) for s in self.report.skipped if s.definition]
            self.table = Table(entries)
        return self.report

    def record_skipped(self) -> None:
        """Put what this boot left out on the record, with the folder where that is a cells folder.

        Raises:
            StoreFault: the record cannot be written.
        """
        for loaded in self.shipped.folders:
            self.record_skipped_of(loaded)
        for skipped in self.report.skipped:
            self._events.record(EventName.FILE_SKIPPED, path=skipped.path, reason=skipped.reason_on_record)

    def record_skipped_of(self, loaded: LoadedFolder) -> None:
        """Put on the record what was left out of a cells folder.

        Raises:
            StoreFault: the record cannot be written.
        """
        for skipped in loaded.report.skipped:
            folder = str(loaded.path)
            self._events.record(
                EventName.FILE_SKIPPED, folder=folder, path=skipped.path, reason=skipped.reason_on_record
            )

    def dirt(self) -> Dirt:
        """What `git status` lists in the layer's folder."""
        dirt = self._store.dirt()
        self._by_hand.update(dirt.changed, dirt.unknown)
        return dirt

    def run(self) -> Run:
        """A new run of statements, to be committed together."""
        return Run(self)

    @property
    def definitions(self) -> tuple[Entry, ...]:
        """Every kept definition that is live here, by key."""
        return tuple(entry for _, entry in sorted(self.table.entries.items()) if entry.awake)

    def skipped_names(self) -> frozenset[str]:
        """What the files that this boot left out would have given."""
        return frozenset(name for skipped in self.report.skipped for name in skipped.names)

    def unresolved(self) -> tuple[tuple[Key, tuple[str, ...]], ...]:
        """Definitions that read, when called, names which are nowhere now."""
        there = self.image.namespace.keys() | self.deferred.names.keys()
        found = ((e.definition.key, tuple(n for n in e.definition.needs if n not in there)) for e in self.definitions)
        return tuple((key, names) for key, names in found if names)

    def unkept_needs(self) -> tuple[tuple[Key, tuple[str, ...]], ...]:
        """Definitions that read, when called, plain variables of this kernel, which the next one will not have."""
        view = self.view(self.table.by_name)
        made = (entry.definition for entry in self.definitions)
        found = ((d.key, tuple(n for n in d.needs if isinstance(view.origin(n), Variable))) for d in made)
        return tuple((key, names) for key, names in found if names)

    def text(self, name: str) -> str:
        """The exact source of the definition `name` as it is live in this kernel.

        Raises:
            UnknownDefinition: nothing of that name is kept.
        """
        return self.shipped.text(name)

    def location(self, name: str) -> Location:
        """Where the text of the definition `name` stands, in the layer or in a cells folder.

        Raises:
            UnknownDefinition: nothing of that name is kept.
        """
        definition = self.shipped.live(name)
        entry = self.table.entries.get(definition.key)
        if entry is None or self.shipped.definitions.get(name) is definition:
            return self.shipped.location(name)
        return Location.of(definition, self.root / entry.path)

    # What follows is for a Run, which holds the lock while it asks.

    def view(
        self, kept: Mapping[str, Definition], bound: Iterable[str] = (), called: frozenset[str] = frozenset()
    ) -> View:
        """What a decision sees, on a statement that bound the names `bound` and called methods of those in `called`."""
        there = self.shipped.definitions
        changed = frozenset(n for n in bound if (n in kept or n in there) and self.image.is_other(n))
        return View(
            self.image.namespace,
            kept,
            self.variables.plain,
            self.variables.imports,
            self._modules,
            self._ambient,
            shipped=self.shipped.definitions,
            origins=self.shipped.origins,
            lost=self.shipped.lost,
            functions=self.image.functions,
            waiting=self.deferred.names,
            altered=self.variables.changed,
            called_on=called,
            changed=changed,
        )

    def has_moved(self) -> bool:
        """Whether another kernel or git itself committed since this one last did.

        Raises:
            StoreFault: the folder cannot be read.
        """
        return self._store.head() != self._head

    def has_changed(self, names: Iterable[str]) -> bool:
        """Whether a file that gives one of `names` is no more as this kernel last read or wrote it.

        Raises:
            StoreFault: the file cannot be read.
        """
        paths = {entry.path for name in names if (entry := self.table.giver(name))}
        return any(self._store.file(path) != self._files.get(path) for path in paths)

    def reread(self) -> None:
        """Take in what others made of the files; what is live stays live.

        Raises:
            StoreFault: the folder cannot be read.
        """
        self._head = self._store.head()
        files = dict(self._store.files())
        shipped = self.shipped.definitions
        live = [name for name, definition in self.image.live.items() if shipped.get(name) is not definition]
        made = read_again(files, self._files, self.table, self.report.skipped, live)
        self._by_hand.update(path for path in {*files, *self._files} if files.get(path) != self._files.get(path))
        self._files, self.table = files, made.table
        self.report = replace(self.report, skipped=made.skipped)

    def commit(self, edits: Iterable[Kept | Forgotten], context: Context) -> list[str]:
        """Write what `edits` come to; the sentences to warn with.

        Raises:
            LayerError: nothing was written.
        """
        with self.lock, interrupts_deferred():
            if self.has_moved():
                self.reread()
            table = self.table.copy()
            for edit in edits:
                apply(edit, table)
            kept = [definition.key for edit in edits for definition in definitions_of(edit)]
            forgot = [Key(edit.name) for edit in edits if isinstance(edit, Forgotten)]
            kept = [key for key in kept if key in table.entries]
            plan = step(self.table, table, kept, forgot, context, self.skipped_names())
            replaced = self._skipped_files_of((*plan.kept, *plan.forgot), table)
            changes = (*plan.changes, *map(Remove, replaced))
            self._adopt(change.path for change in changes)
            commit = self._store.commit(changes, plan.message) if changes else None
            self.table = table
            for change in changes:
                if isinstance(change, Write):
                    self._files[change.path] = change.data
                else:
                    self._files.pop(change.path, None)
            self._head = commit or self._head
            self._mended((*plan.kept, *plan.forgot), {change.path for change in changes})
            for edit in edits:
                for definition in definitions_of(edit):
                    self.image.install(definition, InPlace())
                    self.deferred.replaced(definition)
                if isinstance(edit, Forgotten) and not self._is_shipped_live(edit.name):
                    self.deferred.gone(edit.name)
                    if edit.asked:
                        self.image.remove(edit.name)
                    self.image.forget(edit.name)
            if commit is None:
                return []
            try:
                for key in plan.kept:
                    entry = table.entries[key]
                    self._events.record(EventName.DEFINITION_RECORDED, key=key, path=entry.path, commit=commit)
                for key in plan.forgot:
                    self._events.record(EventName.DEFINITION_FORGOTTEN, key=key, commit=commit)
            except StoreFault as fault:
                return [f"kept, but not on record: {fault}"]
            return []

    def _is_shipped_live(self, name: str) -> bool:
        """Whether what is live under `name` is what a cells folder gives."""
        shipped = self.shipped.definitions.get(name)
        return shipped is not None and self.image.live.get(name) is shipped

    def _adopt(self, paths: Iterable[RelPath]) -> None:
        """Commit what a hand made of the files `paths`, which are about to be replaced: it would be in no commit."""
        found = [(path, data) for path in sorted(self._by_hand.intersection(paths)) if (data := self._store.file(path))]
        if found:
            subject = f"adopt {', '.join(name_told_by(path) for path, _ in found)}"
            self._store.commit([Write(path, data) for path, data in found], Message(subject, "Changed by hand."))
        self._by_hand.difference_update(path for path, _ in found)

    def _skipped_files_of(self, keys: Iterable[Key], table: Table) -> list[RelPath]:
        """Files that were skipped at boot and whose names now have another, or none: left, they would come back."""
        kept = set(keys)
        return [s.path for s in self.report.skipped if kept.issuperset(s.names) and table.at(s.path) is None]

    def _mended(self, keys: Iterable[Key], paths: Collection[RelPath]) -> None:
        kept = set(keys)
        left = tuple(s for s in self.report.skipped if s.path not in paths and not kept.issuperset(s.names))
        if len(left) < len(self.report.skipped):
            self.report = replace(self.report, skipped=left)
