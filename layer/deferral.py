"""Which files wait at boot until a cell names what they define (DESIGN §4, Deferred). Pure.

A file waits for packages that it imports and that are not loaded: a start then costs the same whatever was ever
imported. Whatever needs a waiting definition to load waits too, and so does what it is put on or registered with: a
class without one of its methods, or a registry without one of its entries, would be another than it was.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field

from .definition import RelPath
from .finding import NeededImport
from .given import owner_of
from .order import Loadable, Waits
from .slots import fact
from .source import dotted
from .tree import children, walk

_METACLASS_METHODS = ("__prepare__", "__new__", "__init__", "__init_subclass__")


def needed_imports(body: Sequence[ast.stmt]) -> tuple[NeededImport, ...]:
    """What the statements of a file import as they run; what stands in functions, or is for type checkers, does not."""
    return tuple(_imports(body, guarded=False))


def _imports(body: Sequence[ast.AST], guarded: bool) -> Iterator[NeededImport]:
    for node in body:
        match node:
            case ast.Import(names=names):
                yield from (NeededImport(alias.name, None, guarded) for alias in names)
            case ast.ImportFrom(module=str(module), level=0, names=names):
                yield from (NeededImport(module, alias.name, guarded) for alias in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda() | ast.expr():
                continue
            case ast.If(test=test, orelse=orelse) if (dotted(test) or "").rpartition(".")[2] == "TYPE_CHECKING":
                yield from _imports(orelse, guarded)
            case ast.ClassDef(body=inner):
                yield from _imports(inner, guarded)
            case ast.stmt() | ast.ExceptHandler() | ast.match_case():
                yield from _imports(children(node), guarded or not isinstance(node, ast.With))


@fact
class Elsewhere:
    """What was loaded before: the definitions of earlier folders, by the names they give."""

    files: Mapping[str, Loadable] = field(default_factory=dict)
    packages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of those that wait, what they wait for
    needed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # names that one which waits needs to load


@fact
class Decided:
    """Which of the files wait, and which need not be tried."""

    packages: Mapping[RelPath, tuple[str, ...]]  # a waiting file → the packages that it or what it needs waits for
    missing: Mapping[RelPath, str]  # a file → why it cannot load, a clause
    needs: Mapping[RelPath, frozenset[str]] = field(default_factory=dict)  # a waiting file → what it needs to load
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)  # a name → waiting ones that come with it
    registered: frozenset[str] = frozenset()  # waiting ones that register themselves with another


def decide_deferral(
    files: Sequence[Loadable],
    waits: Waits,
    imports: Mapping[RelPath, Sequence[NeededImport]],
    is_cheap: Callable[[NeededImport], bool],
    is_there: Callable[[str], bool],
    elsewhere: Elsewhere,
) -> Decided:
    """What of `files` waits.

    `is_cheap` says of an import that it costs nothing now, `is_there` of a package that it can be found.
    """
    givers = {name: file.path for file in files for name in file.gives}
    own, missing = _by_themselves(files, imports, is_cheap, is_there)
    for file in files:
        if file.path in missing:
            continue
        for name in waits.reads[file.path] & elsewhere.packages.keys():
            if name not in givers or name in file.gives:
                own.setdefault(file.path, set()).update(elsewhere.packages[name])
        # What takes the place of a name comes after what was made with the earlier one.
        for name in elsewhere.needed.keys() & {*file.gives}:
            own.setdefault(file.path, set()).update(elsewhere.needed[name])
    if not own:
        return Decided({}, missing)
    known = {**elsewhere.files, **{name: file for file in files for name in file.gives}}
    read = {file.path: waits.reads[file.path] & known.keys() for file in files}
    owners = {file.path: _registered_with(file, read[file.path], known) for file in files}
    for file in files:
        owners[file.path] |= {owner for name in file.gives if (owner := owner_of(name))}
    needs = _with_parts(waits.may, owners, givers, read)
    packages_of = _spread(own, needs, missing)
    for path in _lost_with(missing, [file for path, file in _chosen(files, packages_of)], givers, elsewhere):
        del packages_of[path]
    parts: dict[str, set[str]] = {}
    for file in files:
        if file.path in packages_of:
            # What may change, by whoever has it, has to be what it was when this loads.
            changing = {name for name in read[file.path] if known[name].may_change}
            for owner in (owners[file.path] | changing) - {*file.gives}:
                parts.setdefault(owner, set()).update(file.gives)
    return Decided(
        packages_of,
        missing,
        {path: _all_read(path, waits, read) - {*by_path.gives} for path, by_path in _chosen(files, packages_of)},
        {name: frozenset(names) for name, names in parts.items()},
        frozenset(name for path, file in _chosen(files, packages_of) if owners[path] for name in file.gives),
    )


def _by_themselves(
    files: Sequence[Loadable],
    imports: Mapping[RelPath, Sequence[NeededImport]],
    is_cheap: Callable[[NeededImport], bool],
    is_there: Callable[[str], bool],
) -> tuple[dict[RelPath, set[str]], dict[RelPath, str]]:
    """The files that wait for packages of their own imports, and those that import what is nowhere."""
    own: dict[RelPath, set[str]] = {}
    missing: dict[RelPath, str] = {}
    for file in files:
        dear = [each for each in imports.get(file.path, ()) if not is_cheap(each)]
        gone = {each.package for each in dear if not is_there(each.package)}
        if lost := sorted(each.package for each in dear if each.package in gone and not each.guarded):
            missing[file.path] = f"{lost[0]} is found nowhere here; install it"
        elif packages := {each.package for each in dear} - gone:
            own[file.path] = packages
    return own, missing


def _with_parts(
    may: Mapping[RelPath, set[RelPath]],
    owners: Mapping[RelPath, set[str]],
    givers: Mapping[str, RelPath],
    read: Mapping[RelPath, frozenset[str]],
) -> dict[RelPath, set[RelPath]]:
    """`may`, and for each file what is put on what it defines, or on what it reads as it loads."""
    needs = {path: set(others) for path, others in may.items()}
    put_on: dict[str, set[RelPath]] = {}
    for path, names in owners.items():
        for name in names:
            put_on.setdefault(name, set()).add(path)
            if name in givers:
                needs[givers[name]].add(path)
    for path, others in needs.items():
        # What reads a registry as it loads has to find there what registers itself.
        others.update(*(put_on[name] for name in read[path] & put_on.keys()))
    return needs


def _chosen(files: Sequence[Loadable], paths: Collection[RelPath]) -> Iterator[tuple[RelPath, Loadable]]:
    yield from ((file.path, file) for file in files if file.path in paths)


def _all_read(path: RelPath, waits: Waits, read: Mapping[RelPath, frozenset[str]]) -> frozenset[str]:
    """The names of definitions that loading the file at `path` reads, and those that these read, and so on."""
    seen, todo = {path}, [path]
    while todo:
        new = waits.may[todo.pop()] - seen
        seen |= new
        todo += new
    return frozenset().union(*(read[each] for each in seen))


def _registered_with(file: Loadable, read: frozenset[str], known: Mapping[str, Loadable]) -> set[str]:
    """What `file` may register itself with as it loads: names whose values that may change; itself is none.

    `@REGISTRY.append`, `@app.route("/")`, and `@register` where the body of register reads REGISTRY. Subclasses
    register themselves with a base that has an `__init_subclass__`.
    """
    owners = set()
    for call in file.reads.calls:
        root, _, method = call.partition(".")
        if root in known and method and (method not in _METACLASS_METHODS or _defines(known[root].node, method)):
            owners.add(root)
    if file.reads.calls:
        owners |= {name for name in read - file.reads.load if known[name].may_change}
    return owners - {*file.gives}


def _defines(node: ast.stmt, method: str) -> bool:
    body = node.body if isinstance(node, ast.ClassDef) else ()
    return any(isinstance(part, ast.FunctionDef) and part.name == method for part in body)


def may_change(node: ast.stmt) -> bool:
    """Whether what `node` defines is a value that code can change in place, as far as its text tells."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if value is None or isinstance(value, ast.Lambda):
        return False
    parts = walk([value])
    return not all(isinstance(part, ast.Constant | ast.UnaryOp | ast.BinOp | ast.Tuple) for part in parts)


def _spread(
    own: Mapping[RelPath, set[str]], needs: Mapping[RelPath, Collection[RelPath]], missing: Collection[RelPath]
) -> dict[RelPath, tuple[str, ...]]:
    """The waiting files: `own`, and those that need one of these, with the packages that each waits for."""
    needed_by: dict[RelPath, list[RelPath]] = {}
    for path, others in needs.items():
        for other in others:
            needed_by.setdefault(other, []).append(path)
    found = {path: set(packages) for path, packages in own.items()}
    todo = [*found]
    while todo:
        path = todo.pop()
        for other in needed_by.get(path, ()):
            if other in missing:
                continue
            known = found.setdefault(other, set())
            if not found[path] <= known:
                known |= found[path]
                todo.append(other)
    return {path: tuple(sorted(packages)) for path, packages in sorted(found.items())}


def _lost_with(
    missing: dict[RelPath, str], files: Sequence[Loadable], givers: Mapping[str, RelPath], elsewhere: Elsewhere
) -> list[RelPath]:
    """Add to `missing` those of the waiting `files` that need one of these to load: known now, it costs no import."""
    added: list[RelPath] = []
    before = -1
    while before < len(added):
        before = len(added)
        for file in files:
            names = sorted((file.reads.load & givers.keys()) - elsewhere.files.keys() - {*file.gives})
            lost = next((name for name in names if givers[name] in missing), None)
            if lost is not None and file.path not in missing:
                missing[file.path] = f"it needs {lost} to load, and {givers[lost]} is skipped"
                added.append(file.path)
    return added
