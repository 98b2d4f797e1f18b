"""The table of what is kept, edited in memory: the definitions that have a file, and those live by each name. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .definition import Definition, Key, RelPath
from .import_lines import entries_in, rebound
from .naming import folded_path, path_of, place_among
from .slots import fact


@fact
class Entry:
    """A definition and the path of its file."""

    definition: Definition
    path: RelPath
    awake: bool = True  # False for a file that was skipped at boot: not live, but to be replaced when its name is kept


class Table:
    """Every definition that has a file, by key, and those that are live by each name they give."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries: dict[Key, Entry] = {}
        self.by_name: dict[str, Definition] = {}
        self.touched: set[RelPath] = set()  # paths whose file this table changed since it was copied
        self._givers: dict[str, Key] = {}  # of every name, live or not
        self._by_path: dict[RelPath, Definition] = {}
        self._by_folded: dict[str, tuple[Key, ...]] = {}
        self._followed: dict[Key, int] = {}  # how many are to load after it
        self._meanings: dict[str, str | None] = {}  # imported name → what the files mean by it; None: this and that
        for entry in entries:
            self._add(entry)
        self.touched.clear()

    def copy(self) -> Table:
        """A table that can be edited without touching this one."""
        table = Table()
        table.entries, table.by_name, table._givers = self.entries.copy(), self.by_name.copy(), self._givers.copy()
        table._by_path, table._by_folded = self._by_path.copy(), self._by_folded.copy()
        table._meanings, table._followed = self._meanings.copy(), self._followed.copy()
        return table

    def at(self, path: RelPath) -> Definition | None:
        """The definition whose file is `path`."""
        return self._by_path.get(path)

    def giver(self, name: str) -> Entry | None:
        """The entry that gives `name`, live or not."""
        return self.entries[self._givers[name]] if name in self._givers else None

    def put(self, definition: Definition) -> None:
        """Keep `definition` in place of whatever gave its names.

        What it imports is the newest meaning of the name, and all files share one namespace: the others get it too.
        """
        from .dependents import overtaken, reads_as_it_loads  # here: a kernel that starts has a table, and edits none

        others = self.differing(definition)
        newest = entries_in(definition.imports)
        earlier: list[Key] = []
        for key, bindings in others.items():
            entry = self.entries[key]
            reads = reads_as_it_loads(entry.definition)
            # What it was made with it has to have as it loads; it then loads earlier, so that the newest stays.
            if bindings & reads and reads.isdisjoint(definition.gives):
                earlier.append(key)
            lines = rebound(entry.definition.imports, (e for e in newest if e.binding in bindings - reads))
            self._put(replace(entry.definition, imports=lines), awake=entry.awake)
        if earlier:
            definition = replace(definition, after=tuple(dict.fromkeys((*definition.after, *earlier))))
        self._put(definition, awake=True)
        self._meanings.update((entry.binding, entry.path) for entry in newest)
        for other in overtaken(definition, self.by_name) if self._followed.get(definition.key) else ():
            self._put(replace(other, after=tuple(key for key in other.after if key != definition.key)), awake=True)

    def differing(self, definition: Definition) -> dict[Key, frozenset[str]]:
        """The other definitions whose files import names with another meaning than `definition` does, and the names."""
        newest = {entry.binding: entry.path for entry in entries_in(definition.imports)}
        if all(self._meanings.get(binding, path) == path for binding, path in newest.items()):
            return {}  # nearly always: the files are not looked through then
        found: dict[Key, frozenset[str]] = {}
        for key, other in sorted(self.entries.items()):
            entries = entries_in(other.definition.imports)
            bindings = frozenset(e.binding for e in entries if newest.get(e.binding, e.path) != e.path)
            if bindings and {*definition.gives}.isdisjoint(other.definition.gives):
                found[key] = bindings
        return found

    def drop(self, name: str) -> None:
        """Take `name` out of the table; other names of the same definition stay."""
        if name in self._givers:
            entry = self.entries[self._givers[name]]
            self._without(entry.definition.key, (name,))
            self._come_home(folded_path(entry.definition.kind, entry.definition.key))

    def _put(self, definition: Definition, *, awake: bool) -> None:
        displaced = {self._givers[name] for name in definition.gives if name in self._givers}
        rests = [rest for key in sorted(displaced) if (rest := self._without(key, definition.gives))]
        if rests:
            # The displaced text still sets the name on its way, so the new one has to come later.
            definition = replace(definition, after=tuple(dict.fromkeys((*definition.after, *rests))))
        keys = self._by_folded.get(folded_path(definition.kind, definition.key), ())
        twins = {key: self.entries[key].path for key in keys}
        path, moves = place_among(definition.kind, definition.key, twins)
        for key, target in moves.items():
            self._settle(replace(self._remove(key), path=target))
        self._settle(Entry(definition, path, awake))

    def _settle(self, entry: Entry) -> None:
        """Add `entry`; a definition that somebody put into the file of this one by hand goes to its own."""
        other = self._by_path.get(entry.path)
        guest = self._remove(other.key) if other is not None else None
        self._add(entry)
        if guest is not None:
            self._put(guest.definition, awake=guest.awake)

    def _without(self, key: Key, names: Iterable[str]) -> Key | None:
        """Take `names` from the definition `key`; the key of what is left of it, None if nothing is."""
        entry = self._remove(key)
        rest = tuple(name for name in entry.definition.gives if name not in set(names))
        if not rest:
            return None
        overrides = entry.definition.overrides if rest[0] == key else ""  # it tells of the key's text
        self._put(replace(entry.definition, key=Key(rest[0]), names=rest, overrides=overrides), awake=entry.awake)
        return Key(rest[0])

    def _come_home(self, folded: str) -> None:
        """Give the file of the one key that is left of several which differed in case the name it has alone."""
        if len(keys := self._by_folded.get(folded, ())) == 1:
            entry = self.entries[keys[0]]
            kind, key = entry.definition.kind, keys[0]
            if entry.path == path_of(kind, key, twin=True) and self.at(path_of(kind, key)) is None:
                self._settle(replace(self._remove(key), path=path_of(kind, key)))

    def _add(self, entry: Entry) -> None:
        definition = entry.definition
        self.entries[definition.key] = entry
        self._by_path[entry.path] = definition
        self.touched.add(entry.path)
        for key in definition.after:
            self._followed[key] = self._followed.get(key, 0) + 1
        folded = folded_path(definition.kind, definition.key)
        self._by_folded[folded] = (*self._by_folded.get(folded, ()), definition.key)
        for imported in entries_in(definition.imports):
            if self._meanings.setdefault(imported.binding, imported.path) != imported.path:
                self._meanings[imported.binding] = None
        for name in definition.gives:
            self._givers[name] = definition.key
            if entry.awake:
                self.by_name[name] = definition

    def _remove(self, key: Key) -> Entry:
        entry = self.entries.pop(key)
        del self._by_path[entry.path]
        self.touched.add(entry.path)
        for other in entry.definition.after:
            self._followed[other] -= 1
        folded = folded_path(entry.definition.kind, key)
        self._by_folded[folded] = tuple(other for other in self._by_folded[folded] if other != key)
        for name in entry.definition.gives:
            del self._givers[name]
            self.by_name.pop(name, None)
        return entry
