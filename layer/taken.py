"""What cells take from definitions that they did not make, with all that those take in turn. Pure.

Told by the names in the texts: a name that is only made up as a cell runs is not seen.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from types import ModuleType

from .binding import bound_names
from .definition import Definition, Key, RelPath
from .dependents import reads_of_kept
from .given import base_of, owner_of
from .imports import ImportEntry, ImportRecord, entries_of
from .naming import path_of
from .order import Loadable, load_order
from .scope import reads_of
from .source import parse
from .tree import walk

_WORD = re.compile(r"[^\W\d]\w*")
# Line and cell magics whose text is Python that runs in the user's namespace.
_RUNNING = frozenset("capture debug lprun memit mprun prun time timeit".split())


def taken(cells: Iterable[str], given: Mapping[str, Definition]) -> tuple[Definition, ...]:
    """Of the definitions `given`, by name, those that `cells`, run one after another, take; in load order.

    `cells` are texts as IPython has transformed them. A name that a cell set before one read it is the cells' own.
    """
    nodes = [node for cell in cells for node in _body(cell)]
    own = bound_names(nodes)
    read = reads_of(*nodes).all | (_read_by_magics(nodes) - own)
    return in_load_order(with_what_they_need(sorted(read & given.keys()), given, own))


def imports_taken(
    cells: Iterable[str],
    given: Mapping[str, Definition],
    record: ImportRecord,
    namespace: Mapping[str, object],
    modules: Mapping[str, ModuleType],
) -> tuple[ImportEntry, ...]:
    """The imports that `cells` take from the files of the definitions `given`: of names that no cell bound.

    `record` has what was imported into `namespace`, and from `modules`.
    """
    nodes = [node for cell in cells for node in _body(cell)]
    reads = reads_of(*nodes)
    own = bound_names(nodes).union(entry.binding for node in nodes for entry in entries_of(node, modules))
    wanted = {n for n in (reads.all | _read_by_magics(nodes)) - own - given.keys() if n in record and n in namespace}
    if not wanted:
        return ()
    lines = {line for made in given.values() for line in made.imports if not wanted.isdisjoint(_WORD.findall(line))}
    # A star names nothing.
    lines |= {line for made in given.values() for line in made.imports if line.endswith("*")}
    carried = (entry for line in lines for node in parse(line).body for entry in entries_of(node, modules))
    by_files = wanted.intersection(entry.binding for entry in carried)
    chains = {name: [chain for chain in reads.dotted if chain.startswith(f"{name}.")] for name in by_files}
    return tuple(
        entry
        for name in sorted(by_files)
        for entry in record.carried(name, namespace[name], chains[name], modules, or_newer=True)
    )


def with_what_they_need(
    names: Iterable[str], given: Mapping[str, Definition], own: Collection[str] = ()
) -> tuple[Definition, ...]:
    """Of `given` those that give `names`, all that these read, and what is put on any of them.

    What is read only when called, and is one of `own`, is left out: it is there by then.
    """
    put_on: dict[str, list[str]] = {}
    for name in given:
        if owner := owner_of(name):
            put_on.setdefault(owner, []).append(name)
    found: dict[Key, Definition] = {}
    todo = [name for name in names if name in given]
    while todo:
        definition = given[todo.pop()]
        if definition.key in found:
            continue
        found[definition.key] = definition
        reads = reads_of_kept(definition)
        later = (reads.annotation | reads.call).difference(own)
        todo += sorted((reads.load | later) & given.keys())
        todo += [part for name in definition.gives for part in put_on.get(name, ())]
    return tuple(found.values())


def in_load_order(definitions: Iterable[Definition]) -> tuple[Definition, ...]:
    """`definitions` as a boot would load them."""
    by_path: dict[RelPath, Definition] = {}
    for definition in definitions:
        # Of two folders, definitions may have one path.
        by_path[RelPath(f"{path_of(definition.kind, definition.key)} {definition.key}")] = definition
    order = load_order(
        Loadable(path, made.gives, reads_of_kept(made), partial(_defining, made), made.after)
        for path, made in by_path.items()
    )
    return tuple(by_path[path] for path in order)


def _defining(made: Definition) -> ast.stmt:
    return base_of(parse(made.text).body, made.key)


def _body(cell: str) -> list[ast.stmt]:
    try:
        return parse(cell).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # it did not run either


def _read_by_magics(nodes: Iterable[ast.stmt]) -> frozenset[str]:
    """The words in what `%timeit` and its like are given: the shell has made them calls with a text."""
    return frozenset(word for node in walk(nodes) for text in _magic_texts(node) for word in _WORD.findall(text))


def _magic_texts(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(
            func=ast.Attribute(attr="run_line_magic" | "run_cell_magic"), args=[ast.Constant(value=name), *texts]
        ) if name in _RUNNING:
            for text in texts:
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value
