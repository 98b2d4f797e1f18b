"""Files of a layer → its definitions live in a namespace, and what was left out, why (DESIGN §4, Boot).

A failing file is left out alone: everything else loads. Knows no store: it is handed the files' bytes.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Protocol

from .binding import bound_names
from .boot_report import BootReport, Loaded, Skipped
from .boot_watch import Unwatched, Watch
from .deferred import Deferred
from .definition import Definition, RelPath
from .errors import UnreadableFile
from .fileformat import read_file
from .given import base_of
from .imports import ImportRecord, entries_of
from .install import FromText, Image
from .loading import Waiting
from .naming import name_told_by
from .order import Loadable, in_order, waits_of
from .printed import printed
from .reasons import why_not_found, why_raised
from .scope import Reads
from .stages import reads_of_definition
from .view import MODULE_NAMES, RESERVED


@dataclass(frozen=True, slots=True)
class Given:
    """A definition of a cells folder."""

    definition: Definition
    folder: Path
    path: RelPath


class Base(Protocol):
    """What a layer is loaded over: the definitions of cells folders, by every name they give."""

    @property
    def given(self) -> Mapping[str, Given]:
        """Those that are live."""
        ...

    @property
    def asleep(self) -> Mapping[str, Given]:
        """Those that could be read and not be loaded."""
        ...


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Exception
    loaded: int  # how many files had been loaded then


@dataclass(frozen=True, slots=True)
class _File:
    path: RelPath
    text: str
    definition: Definition
    reads: Reads
    tree: ast.Module

    @property
    def node(self) -> ast.stmt:
        """The statement that the definition begins with."""
        return base_of(self.tree.body, self.definition.key)


class Boot:
    """One boot of one layer, `root` being its folder."""

    def __init__(
        self,
        files: Mapping[RelPath, bytes],
        root: Path,
        image: Image,
        imports: ImportRecord,
        modules: Mapping[str, ModuleType],
        base: Base | None = None,
        watch: Watch | None = None,
        deferred: Deferred | None = None,
        catching: Callable[[], AbstractContextManager[object]] = printed,
    ) -> None:
        """Without a `watch` nothing is bounded. `deferred` takes what is to be loaded later, if it is active.

        `catching` gives what the files print, as a text.
        """
        self._deferred = deferred if deferred is not None and deferred.active else None
        self._packages: dict[RelPath, tuple[str, ...]] = {}  # what each file waits for, of those that wait
        self._needs: Mapping[RelPath, frozenset[str]] = {}  # the definitions that each of them needs to load
        self._root = root
        self._watch: Watch = Unwatched() if watch is None else watch
        self._base = base
        self._catching = catching
        self._image = image
        self._imports = imports
        self._modules = modules
        self._skipped: dict[RelPath, str] = {}
        self._loaded: dict[RelPath, Loaded] = {}
        self._givers: dict[str, RelPath] = {}
        self._gives: dict[RelPath, tuple[str, ...]] = {}  # the names of files that others give
        self._files = dict(self._read(files))

    def run(self) -> BootReport:
        """Load all that loads. Raises nothing of the files' own."""
        self._skip_those_whose_base_changed()
        self._skip_those_that_are_dangerous()
        self._skip_those_that_call_what_is_gone()
        order = self._order()
        with self._catching() as output:
            self._load([path for path in order if path not in self._packages])
        deferred = self._hold(order)
        loaded = tuple(self._with_unresolved(item) for item in self._loaded.values())
        skipped = tuple(self._as_skipped(path, reason) for path, reason in sorted(self._skipped.items()))
        return BootReport(loaded, skipped, str(output), deferred)

    def _read(self, files: Mapping[RelPath, bytes]) -> Iterable[tuple[RelPath, _File]]:
        for path, data in sorted(files.items()):
            try:
                file = read_file(path, data)
                reads = reads_of_definition(*file.tree.body)
            except UnreadableFile as error:
                self._skip(path, f"line {error.line}: {error.why}")
                continue
            except RecursionError:
                self._skip(path, "it is nested too deeply to be read")
                continue
            names = file.definition.gives
            if taken := RESERVED.intersection(names):
                self._skip(path, f"{min(taken)} is the kernel's own")
                continue
            if twice := [name for name in names if name in self._givers]:
                self._gives[path] = names
                self._skip(path, f"{twice[0]} is defined in {self._givers[twice[0]]} too; remove one of the files")
                continue
            self._givers.update(dict.fromkeys(names, path))
            yield path, _File(path, file.text, file.definition, reads, file.tree)

    def _skip_those_whose_base_changed(self) -> None:
        """Leave out what was written to replace a text of a cells folder that is not the same any more."""
        for path, file in self._files.items():
            key, overridden = file.definition.key, file.definition.overrides
            if not overridden:
                continue
            given = (self._base.given.get(key) or self._base.asleep.get(key)) if self._base else None
            if given is None:
                self._skip(path, f"the {key} that it overrides is in no cells folder now")
            elif given.definition.digest != overridden:
                self._skip(path, f"the text of {key} that it overrides changed in {given.folder}")

    def _skip_those_that_call_what_is_gone(self) -> None:
        """Leave out files that call a name which was a definition when they were kept and which nothing gives now.

        Only the file itself: its callers load, and meet a NameError where they call it.
        """
        there = {*MODULE_NAMES, *dir(builtins), *self._image.namespace, *self._image.live}
        for path in self._skipped:  # its names are gone for another reason, which is told
            there.update(self._names(path))
        for file in self._files.values():
            # What a file imports is there for all: they share one namespace, as cells do.
            there |= bound_names(file.tree.body)
        for path, file in list(self._files.items()):
            if gone := sorted(file.reads.call - there - set(file.definition.needs)):
                self._skip(path, f"it uses {gone[0]}, which nothing defines now")

    def _skip_those_that_are_dangerous(self) -> None:
        """Leave out what must not run here, as it ended the process before."""
        for path in self._files:
            if path not in self._skipped and (why := self._watch.refuses(path)):
                self._skip(path, why)

    def _order(self) -> list[RelPath]:
        """The files in load order, those that wait among them; it is found out which these are."""
        files = [
            Loadable(path, file.definition.gives, file.reads, file.node, file.definition.after)
            for path, file in self._files.items()
            if path not in self._skipped
        ]
        waits = waits_of(files, self._deferred.nodes if self._deferred is not None else None)
        if self._deferred is not None:
            bodies = {file.path: (self._files[file.path].tree.body, self._files[file.path].text) for file in files}
            decided = self._deferred.decide(files, waits, bodies)
            self._packages, self._needs = dict(decided.packages), decided.needs
            for path, reason in decided.missing.items():
                self._skip(path, reason)
            for path in self._packages:
                self._image.defer(self._files[path].definition)
        return [path for path in in_order(waits) if path not in self._skipped]

    def _hold(self, order: Iterable[RelPath]) -> tuple[Waiting, ...]:
        """Hand over what waits."""
        if self._deferred is None:
            return ()
        waiting = [(self._files[path], self._packages[path]) for path in order if path in self._packages]
        held = tuple(
            Waiting(
                file.definition, file.path, self._root, file.text, packages, self._needs.get(file.path, frozenset())
            )
            for file, packages in waiting
        )
        self._deferred.hold(held, [item.definition for item in self._loaded.values()])
        return held

    def _has_to_wait(self, path: RelPath, error: Exception) -> bool:
        """Whether the file needs one that waits, which its text did not tell; then it waits too."""
        name = error.name if isinstance(error, NameError) and error.name else ""
        giver = self._givers.get(name)
        packages = self._packages.get(giver) if giver is not None else None
        if packages is None and self._deferred is not None:
            packages = self._deferred.packages_of(name)  # in a folder loaded before
        if packages is not None:
            self._packages[path] = packages
        return packages is not None

    def _load(self, order: list[RelPath]) -> None:
        order.sort(key=self._watch.comes_last)
        waiting: dict[RelPath, _Failure | None] = dict.fromkeys(order)
        while waiting:
            left: dict[RelPath, _Failure] = {}
            for path, failure in waiting.items():
                if failure is not None and not self._is_worth_another_try(failure):
                    left[path] = failure
                elif (error := self._try(self._files[path])) is not None and not self._has_to_wait(path, error):
                    left[path] = _Failure(error, len(self._loaded))
            if len(left) == len(waiting) and not self._try_lazily(left):
                self._skipped.update(dict.fromkeys(left, ""))  # all of them, before it is said why
                self._skipped.update({path: self._why_failed(path, failure.error) for path, failure in left.items()})
                return
            waiting = {path: failure for path, failure in left.items() if not self._is_done(path)}

    def _is_worth_another_try(self, failure: _Failure) -> bool:
        """A missing name may have come; what failed in another way may have found a registry not filled yet."""
        return isinstance(failure.error, NameError) or failure.loaded < len(self._loaded)

    def _try_lazily(self, left: Mapping[RelPath, _Failure]) -> bool:
        """Where nothing moves: load the first that waits for a name in an annotation alone; whether one did."""
        for path, failure in left.items():
            file, error = self._files[path], failure.error
            if isinstance(error, NameError) and error.name in file.reads.annotation - file.reads.load:
                self._try(file, lazy=error.name)
                if self._is_done(path):
                    return True
        return False

    def _is_done(self, path: RelPath) -> bool:
        return path in self._loaded or path in self._skipped or path in self._packages

    def _try(self, file: _File, lazy: str | None = None) -> Exception | None:
        """Load one file, or skip it; gives back the exception where another file may yet bring what was missing."""
        filename = str(self._root / file.path)
        way = FromText(file.text, filename, lazy_annotations=lazy is not None)
        try:
            stopped = self._watch.run(file.path, lambda: self._image.install(file.definition, way))
        except NameError as error:
            name = error.name
            if lazy is None and name in file.reads.annotation - file.reads.load and not self._may_come(name):
                return self._try(file, lazy=name)
            return error
        except ModuleNotFoundError as error:
            self._skip(file.path, why_not_found(error, filename))
        except SyntaxError as error:
            self._skip(file.path, why_raised(error, filename))
        except Exception as error:
            # Python 3.11 wraps what a `__set_name__` raises.
            cause = error.__cause__ if type(error) is RuntimeError else None
            return cause if isinstance(cause, NameError) else error
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: a definition must not end the kernel
            self._skip(file.path, why_raised(error, filename))
        else:
            if stopped is not None:
                self._image.take_back(file.definition)  # it may have gone on to its end all the same
                self._skip(file.path, stopped)
                return None
            self._loaded[file.path] = Loaded(file.definition, file.path, lazy=lazy)
            for node in file.tree.body:
                self._imports.note(entries_of(node, self._modules))
        return None

    def _may_come(self, name: str | None) -> bool:
        """Whether a file not loaded yet gives `name`."""
        giver = self._givers.get(name or "")
        return giver is not None and (giver in self._packages or not self._is_done(giver))

    def _why_failed(self, path: RelPath, error: Exception) -> str:
        name, reads = error.name if isinstance(error, NameError) else None, self._files[path].reads
        if name not in reads.load | reads.annotation | self._givers.keys():
            return why_raised(error, str(self._root / path))
        if giver := next((other for other in self._skipped if other != path and name in self._names(other)), None):
            return f"it needs {name} to load, and {giver} is skipped"
        return f"it needs {name} to load, which nothing defines"

    def _with_unresolved(self, item: Loaded) -> Loaded:
        there: Collection[str] = self._image.namespace
        waiting: Collection[str] = self._deferred.names if self._deferred is not None else ()
        needs = (name for name in item.definition.needs if name not in there and name not in waiting)
        missing = tuple(name for name in needs if not hasattr(builtins, name))
        return Loaded(item.definition, item.path, missing, item.lazy)

    def _names(self, path: RelPath) -> tuple[str, ...]:
        if path in self._files:
            return self._files[path].definition.gives
        return self._gives.get(path, (name_told_by(path),))

    def _as_skipped(self, path: RelPath, reason: str) -> Skipped:
        definition = self._files[path].definition if path in self._files else None
        return Skipped(path, reason, self._names(path), definition)

    def _skip(self, path: RelPath, reason: str) -> None:
        # The file stays among the read ones: its names tell others why they cannot load.
        self._skipped[path] = reason
