"""What a boot asks of the text of one definition file, so that a text that was read before need not be parsed again.

Pure: bytes in, facts out. Everything here can be written as plain values and read again (`boot_cache`); what hangs on
the kernel that asks, as the names a star import brings, is left open.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

from .binding import bound_names
from .deferral import may_change, needed_imports
from .definition import Definition, Kind, RelPath
from .fileformat import read_file
from .finding import NeededImport
from .given import base_of
from .imports import ImportEntry, unexpanded_entries
from .mentions import spoken
from .scope import Reads
from .slots import fact
from .stages import reads_of_definition
from .together import taken_by


@fact
class Facts:
    """What is to be known of a file before it runs, and of its imports after it did."""

    definition: Definition
    text: str  # all of it
    reads: Reads
    needed: tuple[NeededImport, ...]  # what it imports as it loads
    entries: tuple[tuple[ImportEntry, ...], ...]  # what its imports bind, statement by statement; stars unexpanded
    spoken: frozenset[str]  # names that it speaks of in strings
    imported: frozenset[str]  # names that its imports at top level bind
    bound: frozenset[str]  # all names that it binds
    may_change: bool  # whether it defines a value that code can change in place
    takes: frozenset[str] | None  # as builtin classes, if it does nothing as it loads but define (`together`)


def facts_of(path: RelPath, data: bytes) -> tuple[Facts, ast.Module]:
    """The facts of the file at `path`, and its tree.

    Raises:
        UnreadableFile: as `read_file`.
        RecursionError: it is nested too deeply.
    """
    file = read_file(path, data)
    body = file.tree.body
    has_imports = "import" in file.text
    facts = Facts(
        definition=file.definition,
        text=file.text,
        reads=reads_of_definition(*body),
        needed=needed_imports(body) if has_imports else (),
        entries=tuple(entries for node in body if (entries := unexpanded_entries(node))) if has_imports else (),
        spoken=spoken(body, file.text),
        imported=bound_names(node for node in body if isinstance(node, ast.Import | ast.ImportFrom)),
        bound=bound_names(body),
        may_change=may_change(base_of(body, file.definition.key)),
        takes=taken_by(body),
    )
    return facts, file.tree


def to_plain(facts: Facts) -> tuple[Any, ...]:
    """The facts, but for the text, as values that `marshal` writes."""
    made, reads = facts.definition, facts.reads
    start = facts.text.rindex(made.text)
    return (
        (made.key, made.kind.value, start, start + len(made.text)),
        (made.imports, made.needs, made.after, made.names, made.overrides),
        (reads.load, reads.annotation, reads.call, reads.dotted, dict(reads.calls), reads.awaits),
        tuple((each.module, each.attribute, each.guarded) for each in facts.needed),
        tuple(tuple((e.binding, e.module, e.attribute, e.renamed) for e in entries) for entries in facts.entries),
        facts.spoken,
        facts.imported,
        facts.bound,
        facts.may_change,
        facts.takes,
    )


def shared(plain: Any, known: dict[Any, Any]) -> Any:
    """The same values, with those of `known` for equal ones, which learns the others: most files have the same few.

    `marshal` writes and makes once what is there once.
    """
    if isinstance(plain, tuple) and not all(isinstance(each, str) for each in plain):
        return tuple(shared(each, known) for each in plain)
    if isinstance(plain, dict):
        return {shared(key, known): shared(value, known) for key, value in plain.items()}
    return known.setdefault(plain, plain) if isinstance(plain, str | tuple | frozenset) else plain


def from_plain(plain: tuple[Any, ...], text: str) -> Facts:
    """The facts that `to_plain` wrote of a file with this text."""
    (key, kind, start, end), rest, reads, needed, entries, *others = plain
    return Facts(
        Definition(key, Kind(kind), text[start:end], *rest),
        text,
        Reads(*reads),
        tuple(map(_needed, needed)),
        tuple(tuple(map(_entry, of_one)) for of_one in entries),
        *others,
    )


# Of a thousand files most import the same few names.


@lru_cache(maxsize=4096)
def _needed(plain: tuple[Any, ...]) -> NeededImport:
    return NeededImport(*plain)


@lru_cache(maxsize=4096)
def _entry(plain: tuple[Any, ...]) -> ImportEntry:
    return ImportEntry(*plain)
