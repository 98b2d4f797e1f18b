"""What cells folders give in one kernel: their definitions, live before the layer's, and what became of them since.

Below a project's layer the personal one is such a folder too. A shipped definition is in no layer's table: it is never
committed and never moved. Owns which folder's definition wins, and which of them the user has set to something else.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from .asked import AskedWatch, unjournalled
from .binding import bound_names
from .boot_report import BootReport, Given
from .cells_folder import CellsFolder
from .deferred import Deferred
from .definition import Definition, RelPath
from .errors import UnknownDefinition, UnreadableFile
from .found import Source
from .given import owner_of
from .imports import entries_of
from .install import Image, InPlace
from .outcome import Outcome, Unchanged
from .safe_boot import SafeBoot
from .slots import fact
from .starting import Read, Replayed, Started, Starting
from .variables import Variables

if TYPE_CHECKING:
    from .fileformat import File
    from .loading import Loader, Queue


@fact
class Location:
    """Where a definition's text stands: `path` is absolute, `line` counts from 1."""

    path: Path
    line: int

    @classmethod
    def of(cls, definition: Definition, path: Path) -> Location:
        """The line of `definition` in its file; the first where the file cannot be read or has it no more."""
        try:
            before, found, _ = path.read_text(encoding="utf-8").partition(definition.text)
        except (OSError, UnicodeDecodeError):
            return cls(path, 1)
        return cls(path, before.count("\n") + 1 if found else 1)


PERSONAL = "the personal layer"
"""The origin of what the personal layer gives below a project's. Of other shipped definitions it is the folder."""


def folder_told(origin: str) -> str:
    """An origin as a part of a sentence."""
    return origin if origin == PERSONAL else f"the cells folder {origin}"


@fact
class Collision:
    """A name that two folders give: that of `later`, which was loaded later, is the live one."""

    name: str
    earlier: Path
    later: Path


@fact
class LoadedFolder:
    """A cells folder whose files were loaded, but for those that its report says were skipped."""

    path: Path
    pin: str | None
    report: BootReport
    collisions: tuple[Collision, ...]  # with folders loaded before it


class Shipped:
    """The cells folders of one kernel, and what they share with its layer: what is live, what was imported."""

    def __init__(
        self,
        namespace: MutableMapping[str, object],
        modules: Mapping[str, ModuleType],
        safe: SafeBoot | None = None,
        *,
        defer: bool = False,
        cache: Callable[[], Path] | None = None,
    ) -> None:
        """`safe` watches what is loaded, the layer's files too; None where nothing is to be bounded.

        With `defer`, what waits for packages that are not loaded is loaded when it is named. `cache` tells where lies
        what a start leaves for the next one.
        """
        self._safe = safe
        self.pending: list[tuple[Replayed, str | None, str | None]] = []  # with pins and origins
        self.image = Image(namespace)
        self.variables = Variables(namespace, modules)
        self._asked = safe.asked if safe is not None else unjournalled
        self.deferred = Deferred(self.image, self.variables.imports, modules, active=defer, asked=self._asked)
        self.starting = Starting(self.image, self.variables.imports, modules, self.deferred, safe, cache)
        self.folders: tuple[LoadedFolder, ...] = ()  # in load order
        self.lost: set[str] = set()  # names that a cell has set to something else since, or deleted
        self._modules = modules
        self._given: dict[str, Given] = {}
        self._asleep: dict[str, Given] = {}
        self._definitions: dict[str, Definition] = {}
        self._origins: dict[str, str] = {}
        self.given = MappingProxyType(self._given)  # what wins, by every name it gives
        self.asleep = MappingProxyType(self._asleep)  # what could be read and not be loaded, likewise
        self.definitions = MappingProxyType(self._definitions)  # those of `given`
        self.origins = MappingProxyType(self._origins)  # the folders of `given`, as texts

    def load(self, folder: CellsFolder, origin: str | None = None) -> None:
        """Load the definitions of `folder` over those of the folders before it. Raises nothing of its files' own.

        `origin` is what they are said to come from; None for the folder's path.
        """
        started = self.boot(folder.path, Read(folder.files))
        if isinstance(started, Replayed):
            self.pending.append((started, folder.pin, origin))
        else:
            self.add(folder.path, started.report, pin=folder.pin, origin=origin)

    def add(self, path: Path, report: BootReport, *, pin: str | None = None, origin: str | None = None) -> LoadedFolder:
        """Take what `report` says is live, from the folder `path`, for shipped."""
        collisions: list[Collision] = []
        for definition, file in report.live:
            for name in definition.gives:
                if name in self._given:
                    collisions.append(Collision(name, self._given[name].folder, path))
                self._given[name] = Given(definition, path, file)
                self._definitions[name] = definition
                self._origins[name] = origin or str(path)
        for skipped in report.skipped:
            if skipped.definition is not None:
                given = Given(skipped.definition, path, skipped.path)
                self._asleep.update(dict.fromkeys(skipped.definition.gives, given))
        loaded = LoadedFolder(path, pin, report, tuple(collisions))
        self.folders = (*self.folders, loaded)
        return loaded

    def boot(self, root: Path, source: Source) -> Started | Replayed:
        """Load the files of the folder `root` over what was loaded before. Raises nothing of theirs.

        Raises:
            StoreFault: the folder cannot be read.
        """
        return self.starting.start(root, source, self, self.complete)

    @property
    def replayed(self) -> list[Replayed]:
        """The folders of which it is still to be found out what there is to be known."""
        return [replayed for replayed, *_ in self.pending]

    def complete(self) -> None:
        """Find out what is to be known of the folders that were replayed."""
        pending, self.pending = self.pending, []
        for replayed, pin, origin in pending:
            self.add(replayed.root, self.starting.complete(replayed, self).report, pin=pin, origin=origin)

    def load_anew(self, root: Path, files: Mapping[RelPath, bytes]) -> BootReport:
        """Load `files` of the folder `root` at once, over what is live, as somebody has just asked for.

        What of that waits still is loaded first, as before a cell with these texts: what needs an earlier definition
        has to be made with it. Raises nothing of the files' own.
        """
        if not files:
            return BootReport()
        from .boot import Boot  # here: a start that is a replay does without

        first = self.deferred.load(self.reached_by((file.tree.body, file.text) for file in readable(files)))
        with self._asked() as asked:
            watch = AskedWatch(asked, root, files)
            report = Boot(files, root, self.image, self.variables.imports, self._modules, self, watch).run()
        for item in report.loaded:
            self.deferred.replaced(item.definition)
        return replace(report, output=first.output + report.output, failed_first=first.failed)

    def loader(self, queue: Queue) -> Loader:
        """Loads what `queue` has, into the image of this kernel."""
        from .finding import Finder
        from .loading import Loader

        return Loader(queue, self.image, self.variables.imports, self._modules, Finder(self._modules), self._asked)

    def is_live(self, name: str) -> bool:
        """Whether what is live under `name` is what a cells folder gives."""
        definition = self._definitions.get(name)
        return definition is not None and self.image.live.get(name) is definition

    def reached_by(self, bodies: Iterable[tuple[Sequence[ast.stmt], str]]) -> int:
        """What has to be loaded before these files, statements and text of each, as a set of `deferred`."""
        found = 0
        for body, text in bodies if self.deferred else ():
            found |= self.deferred.reached_by(body, text)
        return found

    def acquit(self, root: Path, path: RelPath, data: bytes) -> None:
        """The text of a file that was skipped was run by hand since, and did no harm."""
        if self._safe is not None:
            self._safe.acquit(root, path, data)

    def would_replace(self, folder: CellsFolder) -> str | None:
        """A name that loading `folder` would set, or put a method on, although it is here; None where there is none."""
        namespace = self.image.namespace
        for file in readable(folder.files):
            imported = {
                entry.binding
                for node in file.tree.body
                for entry in entries_of(node, self._modules)
                if entry.binding in namespace and entry.gives(namespace[entry.binding], self._modules)
            }
            owners = {owner for name in file.definition.gives if (owner := owner_of(name))}
            bound = bound_names(file.tree.body) - imported - ({"_"} if owners else set())  # `_` of `@f.register`
            if there := sorted((bound | owners) & (namespace.keys() | self.deferred.names.keys())):
                return there[0]
        return None

    def unresolved(self, loaded: LoadedFolder) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The definitions of a folder that read, when called, names which are nowhere now, and the names."""
        there = self.image.namespace.keys() | self.deferred.names.keys()
        found = ((i.definition.key, tuple(n for n in i.unresolved if n not in there)) for i in loaded.report.loaded)
        return tuple((key, names) for key, names in found if names)

    def text(self, name: str) -> str:
        """The exact source of the definition `name` as it is live in this kernel.

        Raises:
            UnknownDefinition: nothing of that name is live.
        """
        return self.live(name).text

    def location(self, name: str) -> Location:
        """Where the text of the shipped definition `name` stands.

        Raises:
            UnknownDefinition: no cells folder gives what is live under that name.
        """
        definition, given = self.live(name), self._given.get(name)
        if given is None or given.definition is not definition:
            raise UnknownDefinition(name)
        return Location.of(definition, given.folder / given.path)

    def live(self, name: str) -> Definition:
        """The definition `name` as it is live in this kernel, the layer's or a shipped one.

        Raises:
            UnknownDefinition: nothing of that name is live.
        """
        try:
            return self.image.live[name]
        except KeyError:
            raise UnknownDefinition(name) from None

    def settle(self, names: Iterable[str], outcomes: Iterable[Outcome]) -> None:
        """Note what a statement that bound `names`, and came to `outcomes`, did to shipped definitions."""
        if not self._given:
            return
        again = [outcome.definition for outcome in outcomes if isinstance(outcome, Unchanged)]
        for name in self._given.keys() & {*names}:
            definition = self._definitions[name]
            is_live = self.is_live(name)
            if any(other is definition for other in again):
                self.image.install(definition, InPlace())
                self.variables.plain.pop(name, None)
                self.lost.discard(name)
            elif is_live and not self.image.is_other(name):
                self.variables.plain.pop(name, None)  # a branch that did not run
            else:
                self.lost.add(name)
                if is_live:
                    self.image.forget(name)


def readable(files: Mapping[RelPath, bytes]) -> Iterator[File]:
    """Those of `files` that can be read; the others will be skipped."""
    from .fileformat import read_file

    for path, data in files.items():
        try:
            yield read_file(path, data)
        except (UnreadableFile, RecursionError):
            pass
