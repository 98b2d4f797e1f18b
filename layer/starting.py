"""The starts of one kernel's folders: each goes the way of the one before, as far as nothing changed (ADR 15).

Owns which of replay, boot in part and boot from nothing it is, and what has to be written for the next one.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .boot_cache import Bundle, Damaged, bundle_file
from .boot_journal import Mark
from .boot_report import BootReport
from .deferred import Deferred
from .definition import RelPath
from .found import Found, Source
from .imports import ImportRecord
from .install import Image
from .progress import told
from .recipe import Done, Recipe
from .replay import Replay
from .safe_boot import FolderWatch, SafeBoot
from .slots import fact
from .store import Seen

if TYPE_CHECKING:
    from .boot import Base, Boot
    from .boot_files import Known


@fact
class Read:
    """Files that were read already (`Source`)."""

    them: Mapping[RelPath, bytes]

    def stamps(self) -> None:
        return None

    def files(self) -> Mapping[RelPath, bytes]:
        return self.them

    def is_as(self, _seen: Seen) -> bool:
        return False

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
    source: Source
    bundle: Bundle
    then: Mapping[str, object]  # the namespace when all was loaded
    output: str  # what loading printed

    @property
    def count(self) -> int:
        """How many definitions it has."""
        return self.bundle.plan.count

    def is_touched_by(self, names: frozenset[str]) -> bool:
        """Whether what names these may have to do with any of them."""
        try:
            return not self.bundle.listing.names.isdisjoint(names)
        except Damaged:
            return True


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
        self.say_slow: Callable[[Path, int], object] | None = None  # called in another thread while a boot takes long
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
        with _without_gc():
            return self._start(root, source, base, complete)

    def _start(self, root: Path, source: Source, base: Base, complete: Callable[[], None]) -> Started | Replayed:
        if self._safe is None or self._cache is None:
            read = source.files()
            complete()
            return Started(self._boot(read, root, base).run(), read)
        found = Found(Bundle.read(bundle_file(self._cache(), root)) if self.is_on else None, source)
        proven = found.bundle.plan.proven if found.bundle is not None and found.is_whole else None
        with self._safe.folder(root, found.marks, defers=self._deferred.active, proven=proven) as watch:
            done = None
            if (bundle := found.bundle) is not None and found.is_whole and self._is_as_it_was(root, bundle, watch):
                replay = self._replay(bundle, watch)
                if isinstance(replay, Done):
                    done = replay
                elif replay is not None:
                    self._names.append(bundle.plan.name)
                    self._write_again(bundle, found, watch)
                    return Replayed(root, source, bundle, dict(self._image.namespace), replay.output)
            complete()
            files = found.files()
            say = self.say_slow
            with told(None if say is None else lambda: say(root, len(files))):
                boot = self._boot(files, root, base, watch, found.known(root), done)
                report = boot.run()
        name = os.urandom(8).hex()
        recipe = boot.recipe()
        # What is left out is tried at each start: that alone is no reason to write the same again each time.
        is_known = not recipe.is_whole and found.is_all_known(report)
        if self.is_on and not is_known:
            before = tuple(self._names)
            self.to_write.append(Bundling(root, name, before, self._deferred.active, recipe, found.marks()))
        self._names.append(name)
        return Started(report, files)

    def complete(self, replayed: Replayed, base: Base) -> Started:
        """Find out of a replay what is to be known of its definitions, as if it had been an ordinary boot."""
        bundle, root = replayed.bundle, replayed.root
        with _without_gc():
            files: Mapping[RelPath, bytes]
            known: Mapping[RelPath, Known]
            try:
                files = bundle.files()
                known = bundle.known(range(len(files)), with_code=False)
            except Damaged:  # the files tell it too; to load them again, over what they made, could make another thing
                files, known = replayed.source.files(), {}
            try:
                recipe = bundle.recipe()
            except Damaged:  # what nobody can tell any more is loaded anew
                return Started(self._boot(files, root, base).run(), files)
            done = Done(recipe, recipe.loaded, replayed.then, output=replayed.output)
            return Started(self._boot(files, root, base, None, known, done).run(), files)

    def _write_again(self, bundle: Bundle, found: Found, watch: FolderWatch) -> None:
        """Where this replay took longer than it had to, have the same bundle written by what is known now."""
        plan = bundle.plan
        try:
            if not found.is_slow and (
                watch.is_proven or watch.stamp_of_proof(bundle.listing.marks) in (None, plan.proven)
            ):
                return
            recipe = bundle.recipe()
        except Damaged:
            return
        again = Bundling(Path(plan.root), plan.name, plan.before, plan.defers, recipe, found.marks())
        self.to_write.append(again)

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

    def _is_as_it_was(self, root: Path, bundle: Bundle, watch: FolderWatch) -> bool:
        """Whether all that the recipe hung on beside the files is as it was."""
        plan = bundle.plan

        def loaded() -> list[Mark]:
            listing = bundle.listing
            return [Mark(listing.marks[number]) for number in listing.loaded]

        try:
            return (
                plan.is_whole
                and plan.root == str(root)
                and plan.before == tuple(self._names)
                and plan.defers == self._deferred.active
                and plan.ambient <= self._image.namespace.keys()
                and watch.knows_no_harm_of(loaded)
                and self._deferred.tells_the_same(plan.answers)
            )
        except Damaged:
            return False

    def _replay(self, bundle: Bundle, watch: FolderWatch) -> Replay | Done | None:
        """Run the code of the files as it ran then; what was done where it did not come to its end.

        None where nobody can tell, the bundle being damaged.
        """
        replay = Replay(self._image, bundle, watch)
        try:
            with suppress(Damaged):  # then an ordinary boot goes on from there
                if replay.run():
                    for name in bundle.plan.hidden:
                        self._image.namespace.pop(name, None)
                    return replay
            return replay.done()
        except Damaged:
            return None


@contextmanager
def _without_gc() -> Iterator[None]:
    """The block makes many objects that stay, and looking them over again and again is in vain.

    By the threshold, since whether it is enabled is for the files to say: what they set stays. What is there after the
    block counts as old, as if it had been looked through.
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
            if gc.isenabled() and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.set_threshold(*before)
