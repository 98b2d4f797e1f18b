"""The order in which definitions load: each after those whose names it reads to load, and what those call. Pure.

Ties go by path, so that any two machines load alike; what stands in a cycle comes last, by path, and is retried by the
loader. Annotations count like other reads, though one that cannot be read is no reason to fail (DESIGN §4, Skipped).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .definition import Key, RelPath
from .scope import Reads


@dataclass(frozen=True, slots=True)
class Loadable:
    """What the order of one file hangs on."""

    path: RelPath
    gives: tuple[str, ...]
    reads: Reads
    after: tuple[Key, ...] = ()


def load_order(files: Iterable[Loadable]) -> list[RelPath]:
    """The paths of `files` in load order."""
    by_path = {file.path: file for file in sorted(files, key=lambda file: file.path)}
    givers: dict[str, list[Loadable]] = {}
    for file in by_path.values():
        for name in file.gives:
            givers.setdefault(name, []).append(file)
    named = {
        path: _paths(file.reads.load | file.reads.annotation | {*file.after}, givers) for path, file in by_path.items()
    }
    called = {path: _called_in_loading(file, givers) for path, file in by_path.items()}
    order = _sorted({path: (named[path] | called[path]) - {path} for path in by_path})
    # What is called on the way is a guess and may close a circle; what is named is not.
    order += _sorted({path: named[path] - {path} - {*order} for path in by_path.keys() - {*order}})
    return order + sorted(by_path.keys() - {*order})


def _paths(names: Iterable[str], givers: Mapping[str, list[Loadable]]) -> set[RelPath]:
    return {giver.path for name in names for giver in givers.get(name, ())}


def _called_in_loading(file: Loadable, givers: Mapping[str, list[Loadable]]) -> set[RelPath]:
    """Files that what `file` reads to load may call: a decorator calls its helpers, a base class its own."""
    reached: set[RelPath] = set()
    todo = [giver for name in file.reads.load for giver in givers.get(name, ())]
    while todo:
        giver = todo.pop()
        if giver.path not in reached:
            reached.add(giver.path)
            todo += [other for name in giver.reads.call | giver.reads.load for other in givers.get(name, ())]
    return reached


def _sorted(waits: Mapping[RelPath, set[RelPath]]) -> list[RelPath]:
    """Paths by what they wait for, ties by path; those in a circle, and behind one, are left out."""
    waits = {path: set(others) for path, others in waits.items()}
    frees: dict[RelPath, list[RelPath]] = {}
    for path, others in waits.items():
        for other in others:
            frees.setdefault(other, []).append(path)
    ready = [path for path, others in waits.items() if not others]
    heapq.heapify(ready)
    order: list[RelPath] = []
    while ready:
        path = heapq.heappop(ready)
        order.append(path)
        for waiting in frees.get(path, ()):
            waits[waiting].discard(path)
            if not waits[waiting]:
                heapq.heappush(ready, waiting)
    return order
