"""Files of a layer → its definitions live in a namespace, and what was left out, why (DESIGN §4, Boot).

A failing file is left out alone: everything else loads. Knows no store: it is handed the files' bytes.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Protocol

from .boot_files import BootFile, BootFiles, Known
from .boot_report import BootReport, Given, Loaded, Skipped
from .boot_watch import Unwatched, Watch
from .deferred import Deferred
from .definition import RelPath
from .finding import Answers
from .imports import ImportRecord
from .install import Image
from .order import in_order, waits_of
from .printed import printed
from .reasons import why_not_found, why_raised
from .recipe import Done, Recipe
from .slots import fact
from .view import MODULE_NAMES
from .waiting import Waiting


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


@fact
class _Failure:
    error: Exception
    loaded: int  # how many files had been loaded then


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
        *,
        known: Mapping[RelPath, Known] | None = None,
        done: Done | None = None,
    ) -> None:
        """Without a `watch` nothing is bounded. `deferred` takes what is to be loaded later, if it is active.

        `catching` gives what the files print, as a text. `known` are those of `files` that need not be parsed.
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
        self._done = done
        self._files = BootFiles(files, known or {}, root)
        self._skipped: dict[RelPath, str] = {**self._files.unreadable}
        self._wants: dict[RelPath, str] = {}  # for want of which name each was, of those for which that is why
        self._loaded: dict[RelPath, Loaded] = {}
        # For the recipe.
        earlier = Recipe((), {}, {}, frozenset(), frozenset(), Answers()) if done is None else done.recipe
        self._foreign = {path: earlier.foreign[path] for path in earlier.loaded if path in earlier.foreign}
        self._hidden: frozenset[str] = frozenset()
        self._ambient = earlier.ambient
        self._answers = earlier.answers

    def run(self) -> BootReport:
        """Load all that loads. Raises nothing of the files' own."""
        then = None
        if self._done is None:
            self._skip_those_whose_base_changed()
            self._skip_those_that_are_dangerous()
            self._skip_those_that_call_what_is_gone()
        else:
            self._skipped.update(self._done.stopped)
            then = self._done.then
        with self._image.noting(then) if then is not None else nullcontext():
            order = self._order()
            output = self._load_all([path for path in order if path not in self._packages])
            if then is None:
                self._mark_loaded()
            deferred = self._hold(order)
        loaded = tuple(self._with_unresolved(item) for item in self._loaded.values())
        skipped = tuple(self._as_skipped(path, reason) for path, reason in sorted(self._skipped.items()))
        return BootReport(loaded, skipped, output, deferred)

    def recipe(self) -> Recipe:
        """How to go the same way again."""
        is_whole = not self._skipped and all(item.lazy is None for item in self._loaded.values())
        return Recipe(
            tuple(self._loaded), self._foreign, self._packages, self._hidden, self._ambient, self._answers, is_whole
        )

    def _load_all(self, order: list[RelPath]) -> str:
        """Load what is to be loaded now; gives what that printed."""
        before = ""
        if self._done is not None:
            before = self._done.output
            self._take(self._done)
            order = [path for path in order if path not in self._loaded]
        if not order:
            return before
        with self._catching() as output:
            self._load(order)
        return f"{before}{output}"

    def _mark_loaded(self) -> None:
        """What the names are now is the definitions' own: one may have set another's as it loaded."""
        for item in self._loaded.values():
            for name in item.definition.gives:
                if self._image.live.get(name) is item.definition:
                    self._image.mark(name)

    def _take(self, done: Done) -> None:
        """What was loaded by the recipe is loaded."""
        with self._image.noting(self._image.namespace) if done.then is None else nullcontext():
            for path in done.loaded:
                file = self._files[path]
                self._image.was_loaded(file.definition)
                self._loaded[path] = Loaded(file.definition, path)
                file.note_imports(self._imports, self._modules)

    def _skip_those_whose_base_changed(self) -> None:
        """Leave out what was written to replace a text of a cells folder that is not the same any more."""
        for file in self._files:
            path = file.path
            key, overridden = file.definition.key, file.definition.overrides
            if not overridden:
                continue
            given = (self._base.given.get(key) or self._base.asleep.get(key)) if self._base else None
            if given is None:
                alone = "if it stands by itself now, remove `overrides` from its first line"
                self._skip(path, f"the {key} that it overrides is in no cells folder now; {alone}")
            elif given.definition.digest != overridden:
                self._skip(path, f"the text of {key} that it overrides changed in {given.folder}")

    def _skip_those_that_call_what_is_gone(self) -> None:
        """Leave out files that call a name which was a definition when they were kept and which nothing gives now.

        Only the file itself: its callers load, and meet a NameError where they call it.
        """
        # What a file imports is there for all: they share one namespace, as cells do.
        there = {*MODULE_NAMES, *dir(builtins), *self._image.live, *self._files.bound()}
        for path in self._skipped:  # its names are gone for another reason, which is told
            there.update(self._files.names(path))
        ambient: set[str] = set()
        for file in self._files:
            wanted = file.reads.call - there - {*file.definition.needs}
            if gone := sorted(wanted - self._image.namespace.keys()):
                self._skip(file.path, f"it uses {gone[0]}, which nothing defines now", gone[0])
            ambient |= wanted
        self._ambient = frozenset(ambient)

    def _skip_those_that_are_dangerous(self) -> None:
        """Leave out what must not run here, as it ended the process before."""
        for file in self._files:
            if file.path not in self._skipped and (why := self._watch.refuses(file.path)):
                self._skip(file.path, why)

    def _order(self) -> list[RelPath]:
        """The files in load order, those that wait among them; it is found out which these are."""
        there = [file for file in self._files if file.path not in self._skipped]
        files = [file.loadable() for file in there]
        waits = waits_of(files, self._deferred.files if self._deferred is not None else None)
        if self._deferred is not None:
            facts = {file.path: file.facts for file in there}
            if self._done is None:
                self._answers = self._deferred.ask(each for of_one in facts.values() for each in of_one.needed)
            decided = self._deferred.decide(files, waits, facts, self._answers)
            self._packages, self._needs = dict(decided.packages), decided.needs
            if self._done is not None:
                self._packages = dict(self._done.recipe.waiting)
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
                file.definition,
                file.path,
                self._root,
                file.text,
                packages,
                self._needs.get(file.path, frozenset()),
                file.reads.load,
            )
            for file, packages in waiting
        )
        self._hidden = self._deferred.hold(held, [item.definition for item in self._loaded.values()])
        return held

    def _has_to_wait(self, path: RelPath, error: Exception) -> bool:
        """Whether the file needs one that waits, which its text did not tell; then it waits too."""
        name = error.name if isinstance(error, NameError) and error.name else ""
        giver = self._files.givers.get(name)
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

    def _try(self, file: BootFile, lazy: str | None = None) -> Exception | None:
        """Load one file, or skip it; gives back the exception where another file may yet bring what was missing."""
        filename = str(self._root / file.path)
        try:
            way = file.way(self._root, lazy=lazy is not None)
            if foreign := self._image.foreign_names(file.definition, file.facts.imported, file.facts.bound):
                self._foreign[file.path] = foreign
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
            file.note_imports(self._imports, self._modules)
        return None

    def _may_come(self, name: str | None) -> bool:
        """Whether a file not loaded yet gives `name`."""
        giver = self._files.givers.get(name or "")
        return giver is not None and (giver in self._packages or not self._is_done(giver))

    def _why_failed(self, path: RelPath, error: Exception) -> str:
        name, reads = error.name if isinstance(error, NameError) else None, self._files[path].reads
        if name not in reads.load | reads.annotation | self._files.givers.keys():
            return why_raised(error, str(self._root / path))
        assert name is not None
        self._wants[path] = name
        skipped = (other for other in self._skipped if other != path and name in self._files.names(other))
        if giver := next(skipped, None):
            return f"it needs {name} to load, and {giver} is skipped"
        return f"it needs {name} to load, which nothing defines"

    def _with_unresolved(self, item: Loaded) -> Loaded:
        there: Collection[str] = self._image.namespace
        waiting: Collection[str] = self._deferred.names if self._deferred is not None else ()
        needs = (name for name in item.definition.needs if name not in there and name not in waiting)
        missing = tuple(name for name in needs if not hasattr(builtins, name))
        return Loaded(item.definition, item.path, missing, item.lazy)

    def _as_skipped(self, path: RelPath, reason: str) -> Skipped:
        return Skipped(path, reason, self._files.names(path), self._files.definition(path), self._wants.get(path))

    def _skip(self, path: RelPath, reason: str, wants: str | None = None) -> None:
        # The file stays among the read ones: its names tell others why they cannot load.
        self._skipped[path] = reason
        if wants is not None:
            self._wants[path] = wants
