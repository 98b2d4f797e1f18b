"""An opened layer at work in one kernel: files are loaded at boot, what runs of statements come to is committed.

The only place where decisions meet I/O. Knows no kernel: the namespace is a mapping, the session a name. What a start
does not need is imported where it is entered: no kernel's first reply waits for it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .boot_report import BootReport, Loaded
from .definition import Definition, Key, RelPath
from .errors import LayerError, NoLocks, StoreFault
from .events import EventLog
from .given import owner_of
from .install import InPlace
from .interrupts import interrupts_deferred
from .record import Record
from .run import Run
from .session import Context
from .shipped import LoadedFolder, Location, Shipped
from .starting import Replayed, Started
from .store import CommitId, LogEntry, Remove, Store
from .table import Entry, Table
from .tracked import Tracked
from .view import InLayer, Variable, View

if TYPE_CHECKING:
    from .handwork import Handwork
    from .others import Others
    from .outcome import Forgotten, Kept
    from .past import Past
    from .reconciling import Reconciling
    from .refresh import Refreshed
    from .undo import NotUndone, Undone

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
        drafts: Path,
        modules: Mapping[str, ModuleType] | None = None,
        shipped: Shipped | None = None,
    ) -> None:
        """`shipped` are the cells folders that were loaded into the namespace before; None where there are none.

        `drafts` is the folder where texts go that a hand wrote and that cannot stay in the layer.
        """
        self._modules = sys.modules if modules is None else modules
        self.shipped = Shipped(namespace, self._modules) if shipped is None else shipped
        self.root = root
        self.image = self.shipped.image
        self.report = BootReport()
        self.replayed: Replayed | None = None  # until it is completed, nothing else here may be asked
        self._store = store
        self.record = Record(events)
        self._ambient = ambient
        self._drafts = drafts
        self._by_hand: Reconciling | None = None
        self._is_reconciled = True  # until something is loaded
        self.can_be_kept_to = True  # until it shows that its storage has no locks
        self.handwork: Handwork | None = None  # what was found of it and nobody was told yet
        self.tracked = Tracked(store)
        self.variables = self.shipped.variables
        self.table = Table()
        self.deferred = self.shipped.deferred
        self.lock = self.deferred.lock

    def boot(self) -> None:
        """Load every definition file; what fails is left out and reported.

        Raises:
            StoreFault: the folder cannot be read.
        """
        with self.lock:
            self.tracked.begin()
            self._is_reconciled = False
            started = self.shipped.boot(self.root, self._store)
            if isinstance(started, Replayed):
                self.replayed = started
            else:
                self._has_started(started)

    def complete(self) -> None:
        """Where the files were loaded by a replay: find out what is to be known of them, before anything is asked."""
        if self.replayed is None:
            return
        with self.lock:
            self.shipped.complete()
            replayed, self.replayed = self.replayed, None
            self._has_started(self.shipped.starting.complete(replayed, self.shipped))

    def _has_started(self, started: Started) -> None:
        self.report = started.report
        self.tracked.has_begun(started.files)
        self.deferred.ready()
        entries = [Entry(definition, path) for definition, path in self.report.live]
        entries += [Entry(s.definition, s.path, awake=False) for s in self.report.skipped if s.definition]
        self.table = Table(entries)

    def record_skipped(self) -> None:
        """Put what this boot left out on the record, with the folder where that is a cells folder.

        Raises:
            StoreFault: the record cannot be written.
        """
        for loaded in self.shipped.folders:
            self.record.skipped(loaded.report.skipped, loaded.path)
        self.record.skipped(self.report.skipped)

    def reconcile(self) -> None:
        """Take in what a hand did to the files before this kernel loaded them; once, and before it keeps anything.

        `handwork` is what was found. While another program is at work in the repository, or the disk refuses, it stays
        to be done.

        Raises:
            LayerError: the folder cannot be read.
        """
        with self.lock, interrupts_deferred():
            if self._is_reconciled:
                if self._store.is_behind:
                    self._store.heal()
                return
            self.complete()
            self._is_reconciled = True
            done = self._reconciling.run()
            self._is_reconciled = self._reconciling.is_done
            if done:
                self.handwork = done
                if done.restored:
                    self.reread()

    def settle(self) -> bool:
        """Do some of what commits left for a moment of rest; whether there is more.

        Raises:
            LayerError: it stays to be done; nothing is lost by that.
        """
        with self.lock, interrupts_deferred():
            return self.tracked.settle()

    @property
    def _reconciling(self) -> Reconciling:
        if self._by_hand is None:
            from .reconciling import Reconciling

            self._by_hand = Reconciling(self._store, self.tracked, self.record, self._drafts)
        return self._by_hand

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

    def log(self, limit: int | None = None) -> Sequence[LogEntry]:
        """The layer's commits, newest first.

        Raises:
            LayerError: the repository cannot be read.
        """
        return self._store.log(limit)

    def past(self, name: str) -> Past:
        """The history of the definition `name`, whether or not there is one now."""
        from .past import Past

        entry = self.table.giver(name)
        return Past(self._store, name, entry.path if entry else None)

    def commit_named(self, name: str) -> LogEntry:
        """The commit that `name` means: an id or the beginning of one, `HEAD~2`.

        Raises:
            LayerError: there is none, or the repository cannot be read.
        """
        return self._store.find(name)

    def undo(self, name: str, context: Context) -> Undone | NotUndone:
        """Take the commit `name` back, and make live what that brings back.

        Raises:
            LayerError: there is no such commit, or none could be made; nothing was done.
        """
        from .undo import undo

        with self.lock:
            self.reconcile()
            return undo(self, self._store, name, context)

    def become_shipped(self, origin: str) -> LoadedFolder:
        """Take what is live of this layer for shipped, below the layer that the kernel keeps to from now on."""
        with self.lock:
            view = self.view(self.table.by_name)
            for entry in self.definitions:
                if self.deferred.names.keys().isdisjoint(entry.definition.gives):
                    self.image.install(entry.definition, InPlace())
                for name in entry.definition.gives:
                    if owner_of(name) or isinstance(view.origin(name), InLayer):
                        self.variables.plain.pop(name, None)
                    else:
                        self.shipped.lost.add(name)
                        self.image.forget(name)
            loaded = tuple(Loaded(entry.definition, entry.path) for entry in self.definitions)
            return self.shipped.add(self.root, replace(self.report, loaded=loaded, deferred=()), origin=origin)

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
            refused=self.variables.secrets,
        )

    def has_moved(self) -> bool:
        """Whether another kernel or git itself committed since this one last did.

        Raises:
            StoreFault: the folder cannot be read.
        """
        self._recover()
        return self.tracked.has_moved()

    def _recover(self) -> None:
        """See to it that the files are not half those of a commit that failed, before anything is decided by them."""
        if self._store.is_torn:
            with suppress(LayerError):  # the commit that follows tells
                self._store.recover()

    def has_changed(self, names: Iterable[str]) -> bool:
        """Whether a file that gives one of `names` is no more as this kernel last read or wrote it.

        Raises:
            StoreFault: the file cannot be read.
        """
        return self.tracked.has_changed({entry.path for name in names if (entry := self.table.giver(name))})

    def reread(self) -> None:
        """Take in what others made of the files; what is live stays live.

        Raises:
            StoreFault: the folder cannot be read.
        """
        from .reread import reread as read_again

        before = self.tracked.read_anew()
        shipped = self.shipped.definitions
        live = [name for name, definition in self.image.live.items() if shipped.get(name) is not definition]
        made = read_again(self.tracked.files, before, self.table, self.report.skipped, live)
        self.table = made.table
        self.report = replace(self.report, skipped=made.skipped)

    def news(self) -> Others | None:
        """What others committed since this was asked last, or since the boot; None nearly always, after one look.

        Raises:
            StoreFault: the folder cannot be read.
        """
        if not self.tracked.is_stirred:
            return None
        with self.lock:
            return self.tracked.news()

    def refresh(self, names: Collection[str] = ()) -> Refreshed:
        """Load what others changed, or what they changed of `names` alone; with a name, over what is here instead.

        Raises:
            StoreFault: the folder cannot be read.
        """
        from .refresh import Refresh

        with self.lock:
            self._recover()
            self.tracked.catch_up()
            self.reread()
            loading = Refresh(
                self.tracked.files,
                self.tracked.loaded,
                self.table,
                self.report.skipped,
                self.root,
                self.shipped,
                self.view(self.image.live),
            )
            done = loading.run(names)
            live = {item.path: item for item in loading.report.loaded}
            skipped = {s.path: s for s in (*self.report.skipped, *loading.report.skipped) if s.path not in live}
            others = (item for item in self.report.loaded if item.path not in live)
            self.report = replace(
                self.report, loaded=(*others, *live.values()), skipped=tuple(s for _, s in sorted(skipped.items()))
            )
            self.reread()  # with what is live now
            return done

    def commit(self, edits: Collection[Kept | Forgotten], context: Context) -> list[str]:
        """Write what `edits` come to; the sentences to warn with.

        Raises:
            LayerError: nothing was written.
        """
        from .outcome import Forgotten, Kept
        from .plan import apply, definitions_of, step

        if self.variables.secrets.found_in(context.note):
            context = replace(context, note="")
        with self.lock, interrupts_deferred():
            with suppress(LayerError):  # what it is about is told by the commit, which meets it too
                self.reconcile()
            if self.has_moved():
                self.reread()
            table = self.table.copy()
            for edit in edits:
                apply(edit, table)
            kept = [definition.key for edit in edits for definition in definitions_of(edit)]
            secret = {edit.definition.key for edit in edits if isinstance(edit, Kept) and edit.is_secret}
            forgot = [Key(edit.name) for edit in edits if isinstance(edit, Forgotten)]
            kept = [key for key in kept if key in table.entries]
            plan = step(self.table, table, kept, forgot, context, self.skipped_names())
            replaced = self._skipped_files_of((*plan.kept, *plan.forgot), table)
            changes = (*plan.changes, *map(Remove, replaced))
            made = {key: table.entries[key].path for key in plan.kept}
            by_hand = self.tracked.by_hand(change.path for change in changes)
            said = self._reconciling.save(by_hand) if by_hand else []
            was_behind = self._store.is_behind
            promised: dict[CommitId, Mapping[Path, bytes]] = {}

            def tell(commit: CommitId) -> Mapping[Path, bytes]:
                return self.record.lines(commit, made, plan.forgot, context, secret)

            def promise(commit: CommitId) -> Mapping[Path, bytes]:
                return promised.setdefault(commit, tell(commit))

            try:
                commit = self.tracked.commit(changes, plan.message, made.values(), promise)
            except NoLocks:
                self.can_be_kept_to = False
                raise
            self.table = table
            self._mended((*plan.kept, *plan.forgot), {change.path for change in changes})
            for edit in edits:
                for definition in definitions_of(edit):
                    self.image.install(definition, InPlace())
                    self.deferred.replaced(definition)
                if isinstance(edit, Forgotten) and not self.shipped.is_live(edit.name):
                    self.deferred.gone(edit.name)
                    if edit.asked:
                        self.image.remove(edit.name)
                    self.image.forget(edit.name)
            if commit is None:
                return said
            if self._store.is_behind and not was_behind:
                said.append(
                    f"kept, though another program holds {self.root / '.git/index.lock'}; until that is gone "
                    "`git status` lists what is kept as removed; where no git runs, remove the file"
                )
            try:
                lines = promised[commit] if commit in promised else tell(commit)
                self.record.committed(made, context, lines, synced=commit not in promised)
            except StoreFault as fault:
                said.append(f"kept, but not on record: {fault.why}; mend that")
            return said

    def _skipped_files_of(self, keys: Iterable[Key], table: Table) -> list[RelPath]:
        """Files that were skipped at boot and whose names now have another, or none: left, they would come back."""
        kept = set(keys)
        return [s.path for s in self.report.skipped if kept.issuperset(s.names) and table.at(s.path) is None]

    def _mended(self, keys: Iterable[Key], paths: Collection[RelPath]) -> None:
        kept = set(keys)
        left = tuple(s for s in self.report.skipped if s.path not in paths and not kept.issuperset(s.names))
        for skipped in self.report.skipped:
            if skipped not in left and (data := self.tracked.files.get(skipped.path)) is not None:
                self.shipped.acquit(self.root, skipped.path, data)
        if len(left) < len(self.report.skipped):
            self.report = replace(self.report, skipped=left)
