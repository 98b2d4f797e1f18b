"""The starts of one kernel's folders: each goes the way of the one before, as far as nothing changed (ADR 15).

Owns which of replay, boot in part and boot from nothing it is, and what has to be written for the next one.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from .alarm import Stop
from .boot_cache import Bundle, Plan, bundle_file
from .boot_journal import Mark, mark_of
from .boot_report import BootReport
from .deferred import Deferred
from .definition import RelPath
from .errors import LayerError
from .imports import ImportRecord
from .install import Image
from .printed import printed
from .recipe import Done, Recipe
from .safe_boot import FolderWatch, SafeBoot
from .slots import fact
from .store import Stamp

if TYPE_CHECKING:
    from .boot import Base, Boot
    from .boot_files import Known


class Source(Protocol):
    """Where the files of a folder come from; a `Store` is one."""

    def stamps(self) -> Mapping[RelPath, Stamp] | None:
        """As `Store.stamps`."""
        ...

    def files(self) -> Mapping[RelPath, bytes]:
        """As `Store.files`."""
        ...

    def file(self, path: RelPath) -> bytes | None:
        """As `Store.file`."""
        ...


@fact
class Read:
    """Files that were read already (`Source`)."""

    them: Mapping[RelPath, bytes]

    def stamps(self) -> None:
        return None

    def files(self) -> Mapping[RelPath, bytes]:
        return self.them

    def file(self, path: RelPath) -> bytes | None:
        return self.them.get(path)


@fact
class Started:
    """What came of a boot that was no replay."""

    report: BootReport
    files: Mapping[RelPath, bytes]


@fact
class Replayed:
    """A folder whose definitions are all live or wait, and of which nothing else is known yet."""

    root: Path
    bundle: Bundle
    done: Done

    @property
    def count(self) -> int:
        """How many definitions it has."""
        return len(self.bundle.plan.paths)

    @property
    def names(self) -> frozenset[str]:
        """What a cell has to name to touch any of them."""
        return self.bundle.plan.names

    @property
    def output(self) -> str:
        """What loading printed."""
        return self.done.output


@fact
class Bundling:
    """A bundle that is to be written."""

    root: Path
    name: str
    before: tuple[str, ...]
    defers: bool
    recipe: Recipe
    marks: Mapping[RelPath, Mark]


class Starting:
    """Boots one folder after another into one image."""

    def __init__(
        self,
        image: Image,
        imports: ImportRecord,
        modules: Mapping[str, ModuleType],
        deferred: Deferred,
        safe: SafeBoot | None,
        cache: Callable[[], Path] | None,
    ) -> None:
        """`cache` tells the user's folder for what can be made again; without it or `safe` nothing is remembered."""
        self.to_write: list[Bundling] = []
        self.is_on = True  # until cells run: what is loaded then finds what they made, and no start is like that
        self._image = image
        self._imports = imports
        self._modules = modules
        self._deferred = deferred
        self._safe = safe
        self._cache = cache
        self._names: list[str] = []  # of the bundles that the folders so far were or will be replayed from

    def start(self, root: Path, source: Source, base: Base, complete: Callable[[], None]) -> Started | Replayed:
        """Load the files of the folder `root` over what was loaded before. Raises nothing of theirs.

        An ordinary boot has to know all of the folders before: `complete` is called ahead of it.

        Raises:
            StoreFault: the folder cannot be read.
        """
        if self._safe is None or self._cache is None:
            read = source.files()
            complete()
            return Started(self._boot(read, root, base).run(), read)
        bundle = Bundle.read(bundle_file(self._cache(), root)) if self.is_on else None
        same: Collection[int] = ()
        files: Mapping[RelPath, bytes] | None = None
        marks: Mapping[RelPath, Mark]
        try:
            same, files = _unchanged(bundle, source) if bundle is not None else ((), source.files())
        except LayerError:  # of one file; which one is told by who reads all
            same, files = (), source.files()
        is_whole = files is None
        if bundle is not None and is_whole:
            marks = dict(zip(bundle.plan.paths, map(Mark, bundle.plan.marks), strict=True))
        else:
            marks = {path: mark_of(path, data) for path, data in (files or {}).items()}
        with self._safe.folder(root, marks, defers=self._deferred.active) as watch, _without_gc():
            done = None
            if bundle is not None and is_whole and self._is_as_it_was(root, bundle.plan, watch):
                done = self._replay(bundle, watch)
                if done.then is not None:
                    self._names.append(bundle.plan.name)
                    return Replayed(root, bundle, done)
            complete()
            known: Mapping[RelPath, Known] = {}
            if bundle is not None and same:
                # Code tells of its file by the path that the folder had then.
                known = bundle.known(same, with_code=bundle.plan.root == str(root))
            if files is None:
                assert bundle is not None
                files = bundle.files()
            boot = self._boot(files, root, base, watch, known, done)
            report = boot.run()
        name = os.urandom(8).hex()
        recipe = boot.recipe()
        # What is left out is tried at each start: that alone is no reason to write the same again each time.
        is_known = bundle is not None and not recipe.is_whole and _holds(bundle, same, files, report)
        if self.is_on and not is_known:
            before = tuple(self._names)
            self.to_write.append(Bundling(root, name, before, self._deferred.active, recipe, marks))
        self._names.append(name)
        return Started(report, files)

    def complete(self, replayed: Replayed, base: Base) -> Started:
        """Find out of a replay what is to be known of its definitions, as if it had been an ordinary boot."""
        bundle = replayed.bundle
        files = bundle.files()
        with _without_gc():
            known = bundle.known(range(len(files)), with_code=False)
            return Started(self._boot(files, replayed.root, base, None, known, replayed.done).run(), files)

    def _boot(
        self,
        files: Mapping[RelPath, bytes],
        root: Path,
        base: Base,
        watch: FolderWatch | None = None,
        known: Mapping[RelPath, Known] | None = None,
        done: Done | None = None,
    ) -> Boot:
        from .boot import Boot  # here: a replay does without

        image, imports, deferred = self._image, self._imports, self._deferred
        return Boot(files, root, image, imports, self._modules, base, watch, deferred, known=known, done=done)

    def _is_as_it_was(self, root: Path, plan: Plan, watch: FolderWatch) -> bool:
        """Whether all that the recipe hung on beside the files is as it was."""
        return (
            plan.is_whole
            and plan.root == str(root)
            and plan.before == tuple(self._names)
            and plan.defers == self._deferred.active
            and plan.ambient <= self._image.namespace.keys()
            and watch.knows_no_harm_of([Mark(plan.marks[number]) for number in plan.loaded])
            and self._deferred.tells_the_same(plan.answers)
        )

    def _replay(self, bundle: Bundle, watch: FolderWatch) -> Done:
        """Run the code of the files in the order in which they were loaded then."""
        plan, namespace = bundle.plan, self._image.namespace
        try:
            codes = bundle.codes()
        except (ValueError, EOFError, TypeError):
            return Done(plan.recipe(), ())
        acts = [
            (Mark(plan.marks[number]), self._image.running(code, plan.foreign.get(number, ())))
            for number, code in zip(plan.loaded, codes, strict=True)
        ]
        with printed() as output:
            count, stop = watch.run_in_turn(acts)
        recipe = plan.recipe()
        if count == len(codes):
            for name in plan.hidden:
                namespace.pop(name, None)
            return Done(recipe, recipe.loaded, dict(namespace), output=str(output))
        stopped = {recipe.loaded[count]: "it was interrupted"} if stop is Stop.INTERRUPTED else {}
        return Done(recipe, recipe.loaded[:count], None, stopped, str(output))


def _unchanged(bundle: Bundle, source: Source) -> tuple[Collection[int], Mapping[RelPath, bytes] | None]:
    """The numbers of the bundle's files that are as they were, and all files there are; None for these if all are."""
    plan, stamps = bundle.plan, source.stamps()
    if stamps is None:
        files = source.files()
        kept = bundle.files()
        same = {number for number, path in enumerate(plan.paths) if files.get(path) == kept[path]}
        return same, None if len(same) == len(plan.paths) == len(files) else files
    if plan.young:
        kept = bundle.files()
        young = {number for number in plan.young if source.file(plan.paths[number]) != kept[plan.paths[number]]}
    else:
        young = set()
    if not young and plan.stamps == tuple(stamps.values()) and plan.paths == tuple(stamps):
        return range(len(plan.paths)), None
    numbers = {path: number for number, path in enumerate(plan.paths)}
    same = {n for path, stamp in stamps.items() if (n := numbers.get(path)) is not None and plan.stamps[n] == stamp}
    same -= young
    kept = bundle.files()
    found: dict[RelPath, bytes] = {}
    for path in stamps:
        number = numbers.get(path)
        data = kept[path] if number in same else source.file(path)
        if data is not None:
            found[path] = data
    return same, found


def _holds(bundle: Bundle, same: Collection[int], files: Collection[RelPath], report: BootReport) -> bool:
    """Whether the bundle has all that can be read of the files: what was left out now may load at the next start."""
    plan = bundle.plan
    unread = {skipped.path for skipped in report.skipped if skipped.definition is None}
    return len(same) == len(plan.paths) and {*files} - {*plan.paths} <= unread


@contextmanager
def _without_gc() -> Iterator[None]:
    """The block makes many objects that stay, and looking them over again and again is in vain.

    By the threshold, since whether it is enabled is for the files to say: what they set stays.
    """
    young, *others = before = gc.get_threshold()
    if not young:
        yield
        return
    gc.set_threshold(0, *others)
    during = gc.get_threshold()
    try:
        yield
    finally:
        if gc.get_threshold() == during:
            gc.set_threshold(*before)
