"""`%layer refresh`: the files that others changed → live in this kernel, and what has to be told of it.

Loads exactly what changed, and what is put on it, a class's kept methods. What the user has set otherwise here, and
not kept, is left alone unless it is asked for by name. What was made from an earlier definition stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from .boot_report import BootReport, Skipped
from .definition import Definition, RelPath
from .dependents import callers, dependents
from .given import owner_of
from .others import difference, names_in
from .shipped import Shipped
from .slots import fact
from .table import Table
from .view import Ambient, InLayer, View
from .waiting import Failed
from .wanted import files_wanting


@fact
class Refreshed:
    """What a refresh did."""

    loaded: tuple[str, ...] = ()  # names, in the order they were loaded
    gone: tuple[str, ...] = ()  # names whose files are gone, and that are no more here either
    left: tuple[str, ...] = ()  # names that are something else here, which is not kept
    skipped: tuple[Skipped, ...] = ()
    made_earlier: tuple[tuple[str, tuple[str, ...]], ...] = ()  # definition → the names it was made with, as they were
    calling: tuple[tuple[str, tuple[str, ...]], ...] = ()  # definition → the names it uses that are gone
    shipped_again: tuple[str, ...] = ()  # of `gone` those that the next start brings back from below the layer
    failed_first: tuple[Failed, ...] = ()  # what was to be made with the earlier definitions, and cannot be loaded
    output: str = ""  # what loading printed

    def __bool__(self) -> bool:
        return bool(self.loaded or self.gone or self.left or self.skipped)


class Refresh:
    """One refresh. `files` are as they are now, `loaded` those that this kernel loaded or wrote; it is brought up."""

    def __init__(
        self,
        files: Mapping[RelPath, bytes],
        loaded: dict[RelPath, bytes],
        table: Table,
        duplicates: Collection[Skipped],
        root: Path,
        shipped: Shipped,
        view: View,
    ) -> None:
        """`table` is that of `files`, `duplicates` is what it leaves out; `view` has what is live here for kept."""
        self.report = BootReport()
        self._files = files
        self._loaded = loaded
        self._table = table
        self._left_out = {skipped.path: skipped for skipped in duplicates}
        self._root = root
        self._shipped = shipped
        self._view = view
        self._image = shipped.image

    def run(self, wanted: Collection[str] = ()) -> Refreshed:
        """Do it for the names `wanted` alone, those set otherwise here too; for all others where none is given."""
        found = difference(self._files, self._loaded)
        before = frozenset(self._image.live)
        gone = self._take_away(found.gone, wanted)
        left: dict[str, None] = {}
        chosen: dict[RelPath, tuple[str, ...]] = {}
        for path in found.changed:
            names = names_in(path, self._files[path])
            if wanted and not {*names} & {*wanted}:
                continue
            if not wanted and (own := [name for name in names if self._is_own(name)]):
                left.update(dict.fromkeys(own))
                continue
            chosen[path] = names
        skipped = [self._left_out[path] for path in chosen if path in self._left_out]
        to_load = {path: self._files[path] for path in chosen if path not in self._left_out}
        anew = {name for path in to_load for name in chosen[path]}
        to_load |= self._put_on(anew, to_load)
        to_load = files_wanting(self._left_out.values(), anew, self._files, self._image.namespace) | to_load
        self.report = self._shipped.load_anew(self._root, to_load)
        self._loaded.update((path, self._files[path]) for path in (*chosen, *to_load))
        fresh = [name for item in self.report.loaded for name in item.definition.gives]
        for name in fresh:
            for known in (self._shipped.variables.plain, self._shipped.variables.refused):
                known.pop(name, None)
        changed = [name for name in fresh if name in before]
        return Refreshed(
            loaded=tuple(fresh),
            gone=tuple(gone),
            left=tuple(left),
            skipped=(*skipped, *self.report.skipped),
            made_earlier=tuple(self._telling(dependents, (*changed, *gone), {*fresh})),
            calling=tuple(self._telling(callers, gone, {*fresh})),
            shipped_again=tuple(name for name in gone if name in self._shipped.given),
            failed_first=self.report.failed_first,
            output=self.report.output,
        )

    def _take_away(self, paths: Collection[RelPath], wanted: Collection[str]) -> list[str]:
        gone: list[str] = []
        for path in paths:
            names = [name for name in names_in(path, self._loaded[path]) if self._table.giver(name) is None]
            if wanted and not {*names} & {*wanted}:
                continue
            del self._loaded[path]
            for name in names:
                live = self._image.live.get(name)
                if live is None or live is self._shipped.definitions.get(name):
                    continue
                if not self._is_own(name):
                    self._image.remove(name)
                    gone.append(name)
                self._shipped.deferred.gone(name)
                self._image.forget(name)
        return gone

    def _is_own(self, name: str) -> bool:
        """Whether `name` is something of the user's here that no definition tells."""
        if owner_of(name):
            return name in self._image.live and not name.count("@") and self._image.is_other(name)
        if name not in self._image.namespace:
            return False
        if name in self._image.live and (self._image.is_other(name) or name in self._shipped.variables.refused):
            return True
        return not isinstance(self._view.origin(name), InLayer | Ambient)

    def _put_on(self, names: Collection[str], chosen: Collection[RelPath]) -> dict[RelPath, bytes]:
        """The files of what is put on the definitions `names`: made anew, these have it no more."""
        entries = (entry for entry in self._table.entries.values() if entry.awake and entry.path not in chosen)
        return {e.path: self._files[e.path] for e in entries if any(owner_of(n) in names for n in e.definition.gives)}

    def _telling(
        self,
        reading: Callable[[str, Iterable[Definition]], tuple[Definition, ...]],
        names: Iterable[str],
        fresh: Collection[str],
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The definitions not among `fresh` that are `reading` some of `names`, and which."""
        kept = [entry.definition for entry in self._table.entries.values() if entry.awake]
        found: dict[str, list[str]] = {}
        for name in names:
            for definition in reading(name, kept):
                if definition.key not in fresh:
                    found.setdefault(definition.key, []).append(name)
        return ((key, tuple(read)) for key, read in sorted(found.items()))
