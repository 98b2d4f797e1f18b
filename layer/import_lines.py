"""The imports of a definition's file as lines: what a person would write, read again and brought up to date. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from .imports import ImportEntry

_FUTURE = "from __future__ import "


def statements(entries: Iterable[ImportEntry], futures: Iterable[str] = ()) -> tuple[str, ...]:
    """The entries as the statements a person would write: futures, then modules, then names grouped by module."""
    lines = [f"{_FUTURE}{feature}" for feature in sorted(set(futures))]
    unique = sorted(set(entries), key=lambda entry: (entry.module, entry.attribute or "", entry.binding))
    lines += [entry.statement for entry in unique if entry.attribute is None]
    grouped: dict[str, list[str]] = {}
    for entry in unique:
        if entry.attribute is not None:
            grouped.setdefault(entry.module, []).append(entry.statement.partition(" import ")[2])
    lines += [f"from {module} import {', '.join(names)}" for module, names in grouped.items()]
    return tuple(lines)


@lru_cache(maxsize=4096)
def entries_in(lines: tuple[str, ...]) -> tuple[ImportEntry, ...]:
    """What import `lines` bind that `statements` wrote; nothing where a hand wrote them otherwise."""
    entries = [entry for line in lines if not line.startswith(_FUTURE) for entry in _written(line)]
    is_ours = statements(entries, _futures(lines)) == lines and all(entry.binding.isidentifier() for entry in entries)
    return tuple(entries) if is_ours else ()


def rebound(lines: tuple[str, ...], entries: Iterable[ImportEntry]) -> tuple[str, ...]:
    """Import `lines` that `statements` wrote, with the bindings of `entries` made by these."""
    newest = tuple(entries)
    bindings = {entry.binding for entry in newest}
    others = [entry for entry in entries_in(lines) if entry.binding not in bindings]
    return statements([*others, *newest], _futures(lines))


def extended(lines: tuple[str, ...], entries: Iterable[ImportEntry], futures: Iterable[str]) -> tuple[str, ...]:
    """Import `lines` with what `entries` bind, in place of what they bound to that name, and `futures` in force."""
    newest = tuple(entries)
    if lines and not entries_in(lines) and any(not line.startswith(_FUTURE) for line in lines):
        more = statements(newest, futures)  # written by a hand: left as they are
        early = [line for line in more if line.startswith(_FUTURE) and line not in lines]
        return (*early, *lines, *(line for line in more if not line.startswith(_FUTURE) and line not in lines))
    bindings = {entry.binding for entry in newest}
    added = bindings - {entry.binding for entry in newest if not entry.is_plain}  # `import a.b` adds to `import a.c`
    others = [e for e in entries_in(lines) if e.binding not in bindings or (e.binding in added and e.is_plain)]
    return statements([*others, *newest], [*_futures(lines), *futures])


def _written(line: str) -> Iterator[ImportEntry]:
    origin, _, names = f" {line}".partition(" import ")
    module = origin.removeprefix(" from ")
    for each in names.split(", "):
        name, _, new = each.partition(" as ")
        if module:
            yield ImportEntry(new or name, module, name, renamed=bool(new))
        else:
            yield ImportEntry(new or name.partition(".")[0], name, None, renamed=bool(new))


def _futures(lines: Iterable[str]) -> list[str]:
    return [line.removeprefix(_FUTURE) for line in lines if line.startswith(_FUTURE)]
