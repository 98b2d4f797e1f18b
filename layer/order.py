"""The order in which definitions load: each after those whose names it reads to load, and what those call. Pure.

Ties go by path, so that any two machines load alike; what stands in a cycle comes last, by path, and is retried by the
loader. Annotations count like other reads, though one that cannot be read is no reason to fail (DESIGN §4, Skipped).
`after` in a header goes before what is read: `_print = print` was made with the builtin that a later `def print` hides.
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Iterable, Mapping

from .definition import Key, RelPath
from .given import owner_of
from .running import Running
from .scope import Reads
from .slots import fact


@fact
class Loadable:
    """What the order of one file hangs on."""

    path: RelPath
    gives: tuple[str, ...]
    reads: Reads
    defining: Callable[[], ast.stmt]  # gives the defining statement, for what runs when others call it; asked seldom
    after: tuple[Key, ...] = ()
    may_change: bool = False  # whether what it defines is a value that code can change in place, by its text

    @property
    def node(self) -> ast.stmt:
        return self.defining()


@fact
class Waits:
    """For each file those that load before it, by how sure that is; each holds what the next one holds, and more."""

    may: Mapping[RelPath, set[RelPath]]  # also those whose names stand in its annotations
    runs: Mapping[RelPath, set[RelPath]]  # also what runs as it loads: functions that it calls, what is put on names
    must: Mapping[RelPath, set[RelPath]]  # those whose names its own text reads
    reads: Mapping[RelPath, frozenset[str]]  # the names that are read as it loads, also by what it calls


def load_order(files: Iterable[Loadable]) -> list[RelPath]:
    """The paths of `files` in load order."""
    return in_order(waits_of(files))


def in_order(waits: Waits) -> list[RelPath]:
    """The paths in load order."""
    order: list[RelPath] = []
    # What is called on the way is a guess, and an annotation can wait: where they close a circle they give way.
    for each in (waits.may, waits.runs, waits.must):
        placed = {*order}
        order += _sorted({path: each[path] - {path} - placed for path in waits.must.keys() - placed})
    return order + sorted(waits.must.keys() - {*order})


def waits_of(files: Iterable[Loadable], before: Mapping[str, Loadable] | None = None) -> Waits:
    """What each of `files` loads after; `before` is what was loaded before, by name."""
    by_path = {file.path: file for file in sorted(files, key=lambda file: file.path)}
    givers = {name: file for file in reversed(by_path.values()) for name in file.gives}
    there = before or {}
    known = {**there, **givers}
    running = Running(lambda name: known[name].node if name in known else None)
    after = {path: _paths(file.after, givers) for path, file in by_path.items()}
    later: dict[RelPath, set[RelPath]] = {path: set() for path in by_path}
    for path, earlier in after.items():
        for other in earlier:
            later[other].add(path)
    must = {path: _paths(file.reads.load, givers) - later[path] | after[path] for path, file in by_path.items()}
    put_on = _put_on(by_path.values())
    runs: dict[RelPath, set[RelPath]] = {}
    reads: dict[RelPath, frozenset[str]] = {}
    for path, file in by_path.items():
        called = running.reads(file.reads)
        reads[path] = file.reads.load | file.reads.annotation | called
        runs[path] = must[path] | (_paths(called, givers) - later[path])
        if put_on:
            # `AREA = area(3)` after what is registered with area, `UNIT = Circle(1)` after the methods put on Circle;
            # but those do not wait for one another.
            names = ((file.reads.load | called) & put_on.keys()) - {owner_of(name) for name in file.gives}
            runs[path] |= {part for name in names for part in put_on[name]} - later[path]
    may = {p: runs[p] | (_paths(file.reads.annotation, givers) - later[p]) for p, file in by_path.items()}
    return Waits(may, runs, must, reads)


def _put_on(files: Iterable[Loadable]) -> dict[str, list[RelPath]]:
    """By name: the files of what is put on it."""
    found: dict[str, list[RelPath]] = {}
    for file in files:
        for name in file.gives:
            if owner := owner_of(name):
                found.setdefault(owner, []).append(file.path)
    return found


def _paths(names: Iterable[str], givers: Mapping[str, Loadable]) -> set[RelPath]:
    return {givers[name].path for name in givers.keys() & names}


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
