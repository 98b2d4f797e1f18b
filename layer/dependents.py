"""Which kept definitions read a name: as they load, so that a restart makes them anew with it, or when called. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from .binding import bound_names
from .definition import Definition
from .scope import Reads
from .source import parse
from .stages import reads_of_definition


def dependents(name: str, kept: Iterable[Definition]) -> tuple[Definition, ...]:
    """Those of `kept`, sorted by key, that read `name` to load; not the one that gives it."""
    return tuple(found for found in _mentioning(name, kept) if name in _reads(found.text).load)


def made_from(attribute: str, kept: Iterable[Definition]) -> tuple[Definition, ...]:
    """Those of `kept`, sorted by key, that read `attribute`, as `Foo.m`, to load: `old = Foo.m`."""
    found = {d.key: d for d in kept if attribute in d.text and attribute not in d.gives}
    root = attribute.partition(".")[0]
    reads = ((definition, _reads(definition.text)) for _, definition in sorted(found.items()))
    return tuple(definition for definition, r in reads if attribute in r.dotted and root in r.load)


def callers(name: str, kept: Iterable[Definition]) -> tuple[Definition, ...]:
    """Those of `kept`, sorted by key, that read `name` only when they are called; not the one that gives it."""
    found = ((definition, _reads(definition.text)) for definition in _mentioning(name, kept))
    return tuple(definition for definition, reads in found if name in reads.call and name not in reads.load)


def overtaken(
    definition: Definition, kept: Mapping[str, Definition], load: frozenset[str] | None = None
) -> tuple[Definition, ...]:
    """Those of `kept`, by name, that were to load after `definition`, which now is to load after them.

    `load` are the names that it reads to load, where these are known.
    """
    load = _reads(definition.text).load if load is None else load
    earlier = (kept.get(name) for name in sorted(load | {*definition.after}))
    return tuple(other for other in earlier if other is not None and definition.key in other.after)


def in_circle(name: str, names: frozenset[str], kept: Mapping[str, Definition]) -> bool:
    """Whether what gives `name` needs one of `names` itself to load, through any number of others."""
    todo, seen = [name], {name}
    while todo:
        found = kept.get(todo.pop())
        if found is None:
            continue
        new = _reads(found.text).load - seen
        if not new.isdisjoint(names):
            return True
        seen |= new
        todo += new
    return False


def reads_as_it_loads(definition: Definition) -> frozenset[str]:
    """The names that loading `definition` reads, those in its annotations included."""
    reads = _reads(definition.text)
    return reads.load | reads.annotation


def reads_of_kept(definition: Definition) -> Reads:
    """What `definition` reads, and when."""
    return _reads(definition.text)


def _mentioning(name: str, kept: Iterable[Definition]) -> list[Definition]:
    word = re.compile(rf"\b{re.escape(name)}\b")
    found = {
        definition.key: definition
        for definition in kept
        if name in definition.text and name not in definition.gives and word.search(definition.text)
        # One that carries an import of the name means that.
        if not any(name in bound_names(parse(line).body) for line in definition.imports if name in line)
    }
    return [definition for _, definition in sorted(found.items())]


@functools.lru_cache(maxsize=4096)
def _reads(text: str) -> Reads:
    return reads_of_definition(*parse(text).body)
