"""Which files a proof has to load: what a change may keep from loading, and what that needs. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from .definition import RelPath
from .order import Loadable, waits_of
from .slots import fact


@fact
class Concerned:
    """What a change of some definitions concerns."""

    proved: frozenset[RelPath]  # what it may keep from loading
    needed: frozenset[RelPath]  # what else these need to load
    needed_by: Mapping[RelPath, Collection[RelPath]]  # of all files: those that need one to load

    def behind(self, paths: Iterable[RelPath]) -> frozenset[RelPath]:
        """`paths`, and what needs one of them to load, through any number of others."""
        return _spread(paths, self.needed_by)


def concerned(files: Iterable[Loadable], names: Collection[str]) -> Concerned:
    """What of `files` the definitions `names` concern, which were kept; or forgotten, where nothing gives them now."""
    files = list(files)
    waits = waits_of(files)
    gone = {*names}.difference(*(file.gives for file in files))
    first = [
        file.path
        for file in files
        # Who only calls what is gone is left out of a start, too.
        if not gone.isdisjoint(file.reads.all | waits.reads[file.path]) or not {*file.gives}.isdisjoint(names)
    ]
    needed_by: dict[RelPath, list[RelPath]] = {}
    for path, others in waits.may.items():
        for other in others:
            needed_by.setdefault(other, []).append(path)
    proved = _spread(first, needed_by)
    return Concerned(proved, _spread(proved, waits.may) - proved, needed_by)


def _spread(paths: Iterable[RelPath], to: Mapping[RelPath, Collection[RelPath]]) -> frozenset[RelPath]:
    todo = [*paths]
    seen = {*todo}
    while todo:
        new = {*to.get(todo.pop(), ())} - seen
        seen |= new
        todo += new
    return frozenset(seen)
