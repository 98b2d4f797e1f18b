"""Which kept definitions read a name as they load, and so are made anew with it after a restart. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from .definition import Definition
from .scope import reads_of
from .source import parse


def dependents(name: str, kept: Iterable[Definition]) -> tuple[Definition, ...]:
    """Those of `kept`, sorted by key, that read `name` to load; not the one that gives it."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    found = {
        definition.key: definition
        for definition in kept
        if name in definition.text
        and name not in definition.gives
        and word.search(definition.text)
        and name in _load_reads(definition.text)
    }
    return tuple(definition for _, definition in sorted(found.items()))


@functools.lru_cache(maxsize=4096)
def _load_reads(text: str) -> frozenset[str]:
    return reads_of(*parse(text).body).load
