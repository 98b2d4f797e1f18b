"""Definitions as one text, for a module or a cell: imports merged and sorted, then each in load order. Pure.

The imports stand as `ruff check --select I` and `ruff format` leave them. A definition's own text is left as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from .binding import bound_names
from .definition import Definition, Kind
from .dependents import reads_of_kept
from .imports import ImportEntry, entries_of
from .source import parse

_WIDTH = 88  # characters of a line, as formatters have it by default
_FUTURE = "from __future__ import "
# Names that only IPython puts into a namespace, and where plain Python finds them.
_AMBIENT = {name: ImportEntry(name, "IPython", name) for name in ("display", "get_ipython")}


def cell_of(definitions: Sequence[Definition], stdlib: Collection[str], entries: Collection[ImportEntry] = ()) -> str:
    """The source of `definitions`, which are in load order, and of the imports `entries`, for the cells below.

    `stdlib` are the names of Python's own modules.
    """
    futures, top, inline, last = _imports(definitions, stdlib, ambient=False, more=entries)
    lines = [*futures, *top, *_body(definitions, inline), *([""] if last else []), *last]
    return "\n".join(lines).strip("\n") + "\n"


def module_of(definitions: Sequence[Definition], docstring: str, stdlib: Collection[str]) -> str:
    """A module of `definitions`, which are in load order. `docstring` is one line without quotes or backslashes."""
    futures, top, inline, _ = _imports(definitions, stdlib, ambient=True)
    names = (name for definition in definitions for name in definition.gives)
    public = sorted((n for n in names if n.isidentifier() and not n.startswith("_")), key=_member_rank)
    quoted = [f'"{name}"' for name in public]
    exported = _wrapped("__all__ = [", quoted, "]")
    return (
        "\n".join([f'"""{docstring}"""', "", *futures, *top, *exported, "", *_body(definitions, inline)]).rstrip("\n")
        + "\n"
    )


def in_ipython_only(definitions: Iterable[Definition]) -> tuple[str, ...]:
    """The keys of those that call for IPython itself: magics in a function are kept as such calls."""
    return tuple(made.key for made in definitions if "get_ipython" in reads_of_kept(made).all)


def _imports(
    definitions: Sequence[Definition],
    stdlib: Collection[str],
    *,
    ambient: bool,
    more: Collection[ImportEntry] = (),
) -> tuple[list[str], list[str], dict[str, list[str]], list[str]]:
    """The lines of `__future__`, those of all other imports, by key those right before it, and those behind all.

    The latter two are of names that definitions mean different things by; what is meant by `more` holds in the end.
    """
    given = {name for definition in definitions for name in definition.gives}
    meanings: dict[str, set[str]] = {}
    carried: dict[str, list[ImportEntry]] = {}
    futures: set[str] = set()
    raw: list[str] = []
    for definition in definitions:
        carried[definition.key] = []
        for line in definition.imports:
            if line.startswith(_FUTURE):
                futures.update(alias.name for alias in _aliases(line))
                continue
            entries = [entry for node in parse(line).body for entry in entries_of(node, {})]
            if not entries:
                raw.append(line)  # a star, or relative: as a hand wrote it
            carried[definition.key] += [entry for entry in entries if entry.binding not in given]
        if ambient:
            read = reads_of_kept(definition).all - given - bound_names(_nodes(definition.imports))
            carried[definition.key] += [_AMBIENT[name] for name in sorted(read & _AMBIENT.keys())]
        for entry in carried[definition.key]:
            meanings.setdefault(entry.binding, set()).add(entry.path)
    for entry in more:
        meanings.setdefault(entry.binding, set()).add(entry.path)
    every = [*more, *(entry for entries in carried.values() for entry in entries)]
    agreed = {entry for entry in every if len(meanings[entry.binding]) == 1}
    last = [f"{entry.statement}  # noqa: E402, F811" for entry in more if entry not in agreed]
    inline = {
        key: [f"{entry.statement}  # noqa: E402, F811" for entry in dict.fromkeys(entries) if entry not in agreed]
        for key, entries in carried.items()
    }
    top = _sorted_lines(agreed, stdlib) + ([*dict.fromkeys(raw), ""] if raw else [])
    return [f"{_FUTURE}{name}" for name in sorted(futures)] + ([""] if futures else []), top, inline, last


def _body(definitions: Sequence[Definition], inline: dict[str, list[str]]) -> Iterator[str]:
    """The definitions, with as many lines between as a person leaves: two around blocks, none between values."""
    is_block = True
    for number, definition in enumerate(definitions):
        was_block, is_block = is_block, definition.kind in (Kind.FUNCTION, Kind.CLASS) or "\n" in definition.text
        if number and (was_block or is_block):
            yield from ("", "")
        elif not number and is_block:
            yield ""
        yield from inline[definition.key]
        yield from ([""] * 2 if inline[definition.key] and is_block else [])
        yield definition.text


def _sorted_lines(entries: Iterable[ImportEntry], stdlib: Collection[str]) -> list[str]:
    """Import lines in sections, Python's own modules first, each section followed by an empty line."""
    lines: list[str] = []
    sections: dict[bool, list[ImportEntry]] = {True: [], False: []}
    for entry in entries:
        sections[entry.module.partition(".")[0] in stdlib].append(entry)
    for section in (sections[True], sections[False]):
        modules = sorted((e for e in section if e.attribute is None), key=lambda e: (_rank(e.module), e.statement))
        lines += dict.fromkeys(entry.statement for entry in modules)
        groups: dict[tuple[str, str], list[ImportEntry]] = {}
        for entry in section:
            if entry.attribute is not None:
                groups.setdefault((entry.module, entry.binding if entry.renamed else ""), []).append(entry)
        made = [
            (module, sorted(each, key=lambda e: _member_rank(e.attribute or "")))
            for (module, _), each in groups.items()
        ]
        for module, each in sorted(made, key=lambda pair: (_rank(pair[0]), _member_rank(pair[1][0].attribute or ""))):
            names = dict.fromkeys(entry.statement.partition(" import ")[2] for entry in each)
            lines += _from_line(module, [*names])
        if section:
            lines.append("")
    return lines


def _from_line(module: str, names: list[str]) -> list[str]:
    line = f"from {module} import {', '.join(names)}"
    return [line] if len(line) <= _WIDTH else [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _wrapped(head: str, parts: list[str], end: str) -> list[str]:
    line = f"{head}{', '.join(parts)}{end}"
    return [line] if len(line) <= _WIDTH else [head, *(f"    {part}," for part in parts), end]


def _nodes(lines: Iterable[str]) -> Iterator[ast.stmt]:
    return (node for line in lines for node in parse(line).body)


def _aliases(line: str) -> Iterator[ast.alias]:
    return (alias for node in parse(line).body if isinstance(node, ast.ImportFrom) for alias in node.names)


def _rank(name: str) -> tuple[tuple[str | int, ...], str]:
    """Without regard to case, and numbers as numbers: `a2` comes before `a10`."""
    parts = re.split(r"(\d+)", name.lower())
    return tuple(int(part) if number % 2 else part for number, part in enumerate(parts)), name


def _member_rank(name: str) -> tuple[int, tuple[tuple[str | int, ...], str]]:
    """Constants, then classes, then the rest."""
    kind = 0 if len(name) > 1 and name.isupper() else 1 if name[:1].isupper() else 2
    return kind, _rank(name)
