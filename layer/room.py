"""An opened layer at work in one kernel: statements are offered, runs of them committed, files loaded at boot.

The only place where decisions meet I/O. Knows no kernel: the namespace is a mapping, the session a name.
"""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from .binding import bound_names, changed_in_place
from .boot import Boot, BootReport
from .compose import defining_statement
from .decide import decide
from .definition import Definition, Key, RelPath
from .errors import LayerError, StoreFault, UnknownDefinition
from .events import EventLog, EventName
from .frozen import is_frozen
from .imports import ImportRecord, entries_of
from .install import Image, InPlace
from .interrupts import interrupts_deferred
from .outcome import Forgotten, Kept, NotKept, Outcome, Unchanged
from .plan import Context, Entry, Table, apply, definitions_of, settled, step, with_rebound
from .reread import reread
from .scope import reads_of
from .source import Source, Statement, bound_targets, parse
from .store import CommitId, Dirt, Remove, Store, Write
from .tree import walk
from .view import Plain, Variable, View, gives_again, is_literal


@dataclass(frozen=True, slots=True)
class Location:
    """Where a definition's text stands: `path` is absolute, `line` counts from 1."""

    path: Path
    line: int


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
    ) -> None:
        self.root = root
        self.image = Image(namespace)
        self.imports = ImportRecord()
        self.report = BootReport()
        self._store = store
        self._events = events
        self._ambient = ambient
        self._modules = sys.modules if modules is None else modules
        self._table = Table()
        self._files: dict[RelPath, bytes] = {}  # as last read or written here
        self._head: CommitId | None = None  # likewise
        self._plain: dict[str, Plain] = {}
        self._refused: dict[str, Statement] = {}  # what `%keep` can force, by name
        self._changed: set[str] = set()  # kept names whose value a statement changed in place
        self._open: set[str] = set()  # variables whose value may be another by any statement that mentions them
        self._lock = threading.RLock()

    def boot(self) -> BootReport:
        """Load every definition file; what fails is left out and reported.

        Raises:
            StoreFault: the folder cannot be read.
        """
        with self._lock:
            self._head = self._store.head()
            self._files = dict(self._store.files())
            boot = Boot(self._files, self.root, self.image, self.imports, self._modules)
            self.report = boot.run()
            entries = [Entry(item.definition, item.path) for item in self.report.loaded]
            entries += [Entry(s.definition, s.path, awake=False) for s in self.report.skipped if s.definition]
            self._table = Table(entries)
        return self.report

    def record_skipped(self) -> None:
        """Put what this boot left out on the record.

        Raises:
            StoreFault: the record cannot be written.
        """
        for skipped in self.report.skipped:
            self._events.record(EventName.FILE_SKIPPED, path=skipped.path, reason=skipped.reason)

    def dirt(self) -> Dirt:
        """What `git status` lists in the layer's folder."""
        return self._store.dirt()

    def run(self) -> Run:
        """A new run of statements, to be committed together."""
        return Run(self)

    @property
    def definitions(self) -> tuple[Entry, ...]:
        """Every kept definition that is live here, by key."""
        return tuple(entry for _, entry in sorted(self._table.entries.items()) if entry.awake)

    def unresolved(self) -> tuple[tuple[Key, tuple[str, ...]], ...]:
        """Definitions that read, when called, names which are nowhere now."""
        there = self.image.namespace
        found = ((e.definition.key, tuple(n for n in e.definition.needs if n not in there)) for e in self.definitions)
        return tuple((key, names) for key, names in found if names)

    def unkept_needs(self) -> tuple[tuple[Key, tuple[str, ...]], ...]:
        """Definitions that read, when called, plain variables of this kernel, which the next one will not have."""
        view = self._view(self._table.by_name)
        made = (entry.definition for entry in self.definitions)
        found = ((d.key, tuple(n for n in d.needs if isinstance(view.origin(n), Variable))) for d in made)
        return tuple((key, names) for key, names in found if names)

    def text(self, name: str) -> str:
        """The exact source of the definition `name` as it is live in this kernel.

        Raises:
            UnknownDefinition: nothing of that name is kept.
        """
        return self._definition(name).text

    def location(self, name: str) -> Location:
        """Where the text of the definition `name` stands in the layer.

        Raises:
            UnknownDefinition: nothing of that name is kept.
        """
        definition = self._definition(name)
        entry = self._table.entries.get(definition.key)
        if entry is None:
            raise UnknownDefinition(name)
        path = self.root / entry.path
        try:
            before, found, _ = path.read_text(encoding="utf-8").partition(definition.text)
        except (OSError, UnicodeDecodeError):
            return Location(path, 1)
        return Location(path, before.count("\n") + 1 if found else 1)

    def _definition(self, name: str) -> Definition:
        try:
            return self.image.live[name]
        except KeyError:
            raise UnknownDefinition(name) from None

    # What follows is for Run alone, which stands in this file for that reason.

    def _view(self, kept: Mapping[str, Definition], bound: Iterable[str] = ()) -> View:
        """What a decision sees, on a statement that bound the names `bound`."""
        changed = frozenset(name for name in bound if name in kept and self.image.is_other(name))
        return View(self.image.namespace, kept, self._plain, self.imports, self._modules, self._ambient, changed)

    def _see(self, statement: Statement, names: frozenset[str]) -> frozenset[str]:
        """Note what `statement`, which bound `names`, did beside defining: imports, and variables needed later.

        Gives back all that it bound: what a star import did is not in its text.
        """
        node, namespace = statement.node, self.image.namespace
        imports = entries_of(node, self._modules)
        self.imports.note(imports)
        if "*" in names:
            there = (entry for entry in imports if entry.binding in namespace)
            given = {e.binding for e in there if e.gives(namespace[e.binding], self._modules)}
            names = (names - {"*"}) | given
        assignment = statement if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for name in names:
            self._plain.pop(name, None)
            self._refused.pop(name, None)
            self._changed.discard(name)
            self._open.discard(name)
            if name not in namespace:
                continue
            live = namespace[name]
            # Of `if …: import x` and `else: x = None` the value tells which one ran.
            if not any(entry.binding == name and entry.gives(live, self._modules) for entry in imports):
                self._plain[name] = Plain(assignment, id(live))
                if assignment is not None and not is_literal(node) and not is_frozen(live):
                    self._open.add(name)
        return names

    def _mentioned(self, statement: Statement) -> list[str]:
        """The variables of `_open` whose name stands somewhere in the text of `statement`; may be asked unlocked."""
        return [name for name in tuple(self._open) if name in statement.text]

    def _touch(self, statement: Statement, kept: Mapping[str, Definition]) -> None:
        """Let go of how variables were set that `statement` may have changed: it mentions them, or may when called."""
        found = self._mentioned(statement)
        if not found:
            return
        node = statement.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            mentioned = reads_of(node).call
        else:
            mentioned = frozenset(part.id for part in walk([node]) if isinstance(part, ast.Name))
        for name in mentioned.intersection(found):
            if self._plain[name].statement is not statement:
                self._open.discard(name)
                if name not in kept:  # what was pulled in is the layer's, as it was set
                    self._plain[name] = replace(self._plain[name], statement=None)

    def _has_moved(self) -> bool:
        """Whether another kernel or git itself committed since this one last did.

        Raises:
            StoreFault: the folder cannot be read.
        """
        return self._store.head() != self._head

    def _has_changed(self, definition: Definition) -> bool:
        """Whether the file that gives what `definition` gives is no more as this kernel last read or wrote it.

        Raises:
            StoreFault: the file cannot be read.
        """
        paths = {entry.path for name in definition.gives if (entry := self._table.giver(name))}
        return any(self._store.file(path) != self._files.get(path) for path in paths)

    def _reread(self) -> None:
        """Take in what others made of the files; what is live stays live.

        Raises:
            StoreFault: the folder cannot be read.
        """
        self._head = self._store.head()
        files = dict(self._store.files())
        made = reread(files, self._files, self._table, self.report.skipped, self.image.live)
        self._files, self._table = files, made.table
        self.report = replace(self.report, skipped=made.skipped)

    def _commit(self, edits: Iterable[Kept | Forgotten], context: Context) -> list[str]:
        """Write what `edits` come to; the sentences to warn with.

        Raises:
            LayerError: nothing was written.
        """
        with self._lock, interrupts_deferred():
            if self._has_moved():
                self._reread()
            table = self._table.copy()
            for edit in edits:
                apply(edit, table)
            kept = [definition.key for edit in edits for definition in definitions_of(edit)]
            forgot = [Key(edit.name) for edit in edits if isinstance(edit, Forgotten)]
            plan = step(self._table, table, [key for key in kept if key in table.entries], forgot, context)
            replaced = self._skipped_files_of(plan.kept, table)
            changes = (*plan.changes, *map(Remove, replaced))
            commit = self._store.commit(changes, plan.message) if changes else None
            self._table = table
            for change in changes:
                if isinstance(change, Write):
                    self._files[change.path] = change.data
                else:
                    self._files.pop(change.path, None)
            self._head = commit or self._head
            self._mended(plan.kept)
            for edit in edits:
                for definition in definitions_of(edit):
                    self.image.install(definition, InPlace())
                if isinstance(edit, Forgotten):
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

    def _skipped_files_of(self, keys: Iterable[Key], table: Table) -> list[RelPath]:
        """Files that were skipped at boot and whose names now have another: left, they would come back."""
        kept = set(keys)
        return [s.path for s in self.report.skipped if kept.issuperset(s.names) and table.at(s.path) is None]

    def _mended(self, keys: Iterable[Key]) -> None:
        kept = set(keys)
        left = tuple(skipped for skipped in self.report.skipped if not kept.issuperset(skipped.names))
        if len(left) < len(self.report.skipped):
            self.report = replace(self.report, skipped=left)


class Run:
    """Statements of one cell, offered one by one and committed together."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._outcomes: list[Outcome] = []
        self._edits: list[Kept | Forgotten] = []
        self._ahead: Table | None = None  # the layer's table as it will be after the commit
        self._looked = False  # whether it was asked since the last commit if others moved the layer

    def offer(self, statement: Statement, *, forced: bool = False) -> None:
        """Take in a statement that has just completed; nothing is written yet."""
        layer = self._layer
        names = bound_names([statement.node])
        inside = changed_in_place(statement.node)
        if not (names or inside or layer._mentioned(statement)):
            return  # most statements of most cells: they cost no more than this look
        with layer._lock, interrupts_deferred():
            names = layer._see(statement, names)
            self._decide(statement, forced, names)
            for name in names:
                layer.image.mark(name)
            layer._changed |= inside & self._kept.keys()
            layer._touch(statement, self._kept)

    def keep(self, name: str) -> None:
        """Keep `name` all the same, as `%keep` asks: what was refused, or a variable whose value can be written."""
        layer = self._layer
        with layer._lock, interrupts_deferred():
            self._look()
            kept = self._kept
            statement = self._as_source(name, kept)
            if statement is None:
                self._outcomes.append(Unchanged(kept[name]))
                return
            if isinstance(statement, NotKept):
                self._outcomes.append(statement)
                return
            self._decide(statement, forced=True)

    @property
    def waits(self) -> bool:
        """Whether there is something to write."""
        return bool(self._edits)

    def flush(self, context: Context) -> tuple[list[Outcome], list[str]]:
        """Commit what was offered since the last flush: its outcomes, and sentences to warn with.

        A commit that fails makes each definition a `NotKept`; nothing of it is written then.
        """
        outcomes, ahead = self._outcomes, self._ahead
        self._outcomes, self._edits, self._ahead, self._looked = [], [], None, False
        if ahead is None:
            return outcomes, []
        outcomes = [settled(outcome, ahead) for outcome in outcomes]
        edits = [outcome for outcome in outcomes if isinstance(outcome, Kept | Forgotten)]
        try:
            warnings = self._layer._commit(edits, context)
        except LayerError as fault:
            failed = [_failed(outcome, fault) if outcome in edits else outcome for outcome in outcomes]
            return failed, []
        return outcomes, warnings

    @property
    def _kept(self) -> Mapping[str, Definition]:
        return self._ahead.by_name if self._ahead else self._layer._table.by_name

    def _decide(self, statement: Statement, forced: bool, bound: Iterable[str] = ()) -> None:
        layer = self._layer
        outcomes = decide(statement, layer._view(self._kept, bound), forced=forced)
        if any(isinstance(outcome, Kept | Unchanged | Forgotten) for outcome in outcomes):
            try:
                if self._look(outcomes):
                    outcomes = decide(statement, layer._view(self._kept, bound), forced=forced)
            except LayerError as fault:
                outcomes = tuple(_failed(outcome, fault) for outcome in outcomes)
        for outcome in outcomes:
            self._take(self._told_of_others(outcome), statement)

    def _told_of_others(self, outcome: Outcome) -> Outcome:
        """`outcome`, which says so where it takes the place of a text that this kernel neither wrote nor loaded."""
        if not isinstance(outcome, Kept):
            return outcome
        key, table, live = outcome.definition.key, self._layer._table, self._layer.image.live
        there = table.giver(key)
        if there is None or (key in live and live[key].text == there.definition.text):
            return outcome
        if there.path in {skipped.path for skipped in self._layer.report.skipped}:
            return outcome
        return replace(
            outcome, warnings=(*outcome.warnings, f"the layer had another {key}, which is not of this kernel")
        )

    def _look(self, outcomes: Iterable[Outcome] = ()) -> bool:
        """Whether others changed what `outcomes` were decided on; then it has been read anew."""
        layer = self._layer
        moved = not self._looked and layer._has_moved()
        self._looked = True
        made = [outcome.definition for outcome in outcomes if isinstance(outcome, Kept | Unchanged)]
        if moved or any(map(layer._has_changed, made)):
            layer._reread()
            if self._ahead is not None:
                self._ahead = layer._table.copy()
                for edit in self._edits:
                    apply(edit, self._ahead)
            return True
        return False

    def _take(self, outcome: Outcome, statement: Statement) -> None:
        if isinstance(outcome, Kept):
            outcome = with_rebound(outcome, self._ahead or self._layer._table)
        self._outcomes.append(outcome)
        if isinstance(outcome, NotKept):
            for name in bound_targets(statement.node):
                self._layer._refused[name] = statement
        elif isinstance(outcome, Kept | Forgotten):
            self._edits.append(outcome)
            self._ahead = self._ahead or self._layer._table.copy()
            apply(outcome, self._ahead)

    def _as_source(self, name: str, kept: Mapping[str, Definition]) -> Statement | NotKept | None:
        """A statement that gives `name` its value of now; None where what is kept does, as far as can be told."""
        layer = self._layer
        namespace = layer.image.namespace
        refused = layer._refused.get(name)
        if refused is not None and not isinstance(refused.node, ast.Assign | ast.AnnAssign):
            return refused
        if name not in namespace:
            return NotKept(name, "there is no such name here")
        if refused is None and name in kept:
            setting = defining_statement(kept[name].text)
            if (is_literal(setting) or name not in layer._changed) and gives_again(setting, namespace[name]):
                return None
        origin = layer._view(layer._table.by_name).origin(name)
        known = origin.statement if isinstance(origin, Variable) else None
        plain = layer._plain.get(name)
        if refused is not None and not (plain is not None and plain.statement is None):
            known = refused
        if known is not None and is_literal(known.node) and gives_again(known.node, namespace[name]):
            return known  # with its comments, as it was written
        names = bound_targets(refused.node) if refused is not None else (name,)
        text = _assignment({each: namespace.get(each) for each in names})
        if text is None:
            return known or NotKept(
                name, "its value cannot be written as source; define it by a statement that can run again"
            )
        statement = next(Source(text).statements(parse(text).body))
        for each in names:
            layer._plain[each] = Plain(statement, id(namespace.get(each)))
        return statement


def _assignment(values: Mapping[str, object]) -> str | None:
    """`name = …` as source that gives equal values; None where there is none."""
    try:
        written = [repr(value) for value in values.values()]
        same = all(ast.literal_eval(text) == value for text, value in zip(written, values.values(), strict=True))
    except Exception:  # a repr or __eq__ of the user's may do anything
        return None
    return f"{', '.join(values)} = {', '.join(written)}" if same else None


def _failed(outcome: Outcome, fault: LayerError) -> Outcome:
    if isinstance(outcome, Kept | Unchanged):
        return NotKept(outcome.definition.key, str(fault))
    if isinstance(outcome, Forgotten):
        return NotKept(outcome.name, f"still in the layer: {fault}")
    return outcome
