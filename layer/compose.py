"""A statement that is to be kept → its `Definition`: imports carried, variables pulled in, needs named. Pure."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from .consequences import hidden_builtins, made_with_the_earlier, what_it_hides, what_may_be_secret
from .definition import Definition, Key, Kind
from .dependents import in_circle, made_from, overtaken
from .given import given_by, owner_of
from .import_lines import extended, statements
from .imports import ImportEntry, entries_of
from .outcome import Kept, NotKept, Unchanged
from .purity import why_impure
from .running import Running
from .scope import Reads
from .secret import suspect
from .source import Statement, assigned, bound_targets, parse
from .stages import (
    defining_statement,
    has_part,
    is_overload,
    parts_of,
    reads_itself,
    reads_of_definition,
    until_part,
    with_part,
)
from .tree import walk
from .view import Imported, InLayer, Nowhere, Variable, View

LARGEST = 1 << 20  # bytes of one definition's text
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


class Composer:
    """Makes definitions in one view of the kernel; pulled-in variables are made once."""

    def __init__(self, view: View, forced: bool = False) -> None:
        self._view = view
        self._forced = forced
        self._running = Running(self._defining)
        self._pulled: dict[str, Definition] = {}
        self._pulling: set[str] = set()
        self._secret: set[str] = set()  # what could not be pulled in for what it looks like

    def compose(self, statement: Statement, kind: Kind, names: tuple[str, ...]) -> Kept | Unchanged | NotKept:
        """The definition of `names` by `statement`, or why it cannot be kept."""
        name = names[0]
        if why := self._refused(statement, name, forced=self._forced):
            return why
        reads = _reads(statement)
        made = self._make(statement, kind, names, reads)
        if isinstance(made, NotKept):
            return made
        known = self._view.kept.get(name)
        newer = overtaken(made, self._view.kept, reads.load if made.text == statement.text else None)
        if known is not None and _is_same(known, made) and not self._pulled and not newer:
            return Unchanged(made, self._variables(made.needs))
        shipped = self._view.shipped.get(name)
        if known is None and shipped is not None and self._is_shipped(made, shipped) and not self._pulled:
            return Unchanged(shipped, self._variables(made.needs))
        pulled = tuple(self._pulled.values())
        found = self._suspect(statement.text, statement.node) if self._forced else None
        if pulled and not found:
            settings = {key: defining_statement(made.text) for key, made in self._pulled.items()}
            whole = with_values(statement.node, settings)
            # Who asks for the name may not know yet that a plain variable brings a secret into it.
            found = suspect(ast.unparse(whole), whole)
            if found and not (self._forced and name in self._view.refused.names):
                return looks_secret(name, found)
        needs = self._variables(name for definition in (made, *pulled) for name in definition.needs)
        warnings = [said for new in (*pulled, made) for said in made_with_the_earlier(new, name, self._view)]
        warnings += [f"{other.key} is what {name} reads now" for other in newer]
        warnings += what_it_hides(made, needs, self._view)
        if not found:
            warnings += [said for new in (*pulled, made) for said in what_may_be_secret(new, self._view)]
        return Kept(made, pulled, needs, tuple(warnings), is_secret=found is not None)

    # What an expression may read, as purity asks.

    def readable(self, name: str) -> bool:
        """Whether `name` will be there when the layer loads, pulled in if need be."""
        origin = self._view.origin(name)
        return not isinstance(origin, Variable | Nowhere) or self._pull(name) is not None

    def import_path(self, name: str) -> str | None:
        """The import path that `name` stands for, None if it is no import."""
        return self._view.import_path(name)

    def is_data(self, name: str) -> bool:
        """Whether `name` holds a value of a type that no cell defined, and no class."""
        kind = type(self._view.namespace.get(name))
        return not issubclass(kind, type) and kind.__module__ != "__main__"

    def is_set(self, name: str) -> bool:
        """Whether `name` holds a set."""
        return issubclass(type(self._view.namespace.get(name)), (set, frozenset))

    def _refused(self, statement: Statement, name: str, *, forced: bool = False) -> NotKept | None:
        size = len(statement.text.encode("utf-8", "replace"))
        if size > LARGEST:
            return NotKept(name, f"it has {size:,} bytes and a definition at most {LARGEST:,}; move its data to a file")
        if not self._is_encodable(statement.text):
            return NotKept(name, "it has lone surrogates, which no UTF-8 file can hold; write them as escapes")
        known = self._view.kept.get(name)
        if forced or (known is not None and known.text == statement.text):  # who asked for it is not told again
            return None
        if found := self._suspect(statement.text, statement.node):
            return looks_secret(name, found)
        return None

    def _suspect(self, text: str, node: ast.AST) -> str | None:
        return suspect(text, node) or self._view.refused.found_in(text)

    @staticmethod
    def _is_encodable(text: str) -> bool:
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
        return True

    def _make(self, statement: Statement, kind: Kind, names: tuple[str, ...], reads: Reads) -> Definition | NotKept:
        own = frozenset(names)
        if reads.awaits:
            return NotKept(names[0], "it awaits as it loads, which no file can")
        if missing := self._missing(reads, own):
            told = (f"{name}, which looks like a secret," if name in self._secret else name for name in missing)
            return NotKept(names[0], f"it needs {', '.join(told)} to load")
        kept = self._view.kept
        if circle := next((name for name in sorted(reads.load - own) if in_circle(name, own, kept)), None):
            return NotKept(names[0], f"it needs {circle} to load, which itself needs {names[0]}")
        if (earlier := self._earlier(statement, names)) is not None:
            return self._staged(earlier, statement, reads, own)
        carried = [*self._carried(reads, own)]
        for name in sorted(reads.load & own):
            if name in self._view.shipped and name not in self._view.lost:
                continue
            imported = self._view.imports.last(name)
            if name in self._view.kept or not (imported or hasattr(builtins, name)):
                return NotKept(names[0], f"its load reads the earlier {name}, which it replaces")
            carried += imported  # `class Path(Path)`
        return Definition(
            key=Key(names[0]),
            kind=kind,
            text=statement.text,
            imports=statements(carried, _futures(statement)),
            needs=self._needs(reads, own),
            after=self._after(names),
            names=names if len(names) > 1 or given_by(statement.node) != names else (),
            overrides=self._overrides(names[0]),
        )

    def _overrides(self, name: str) -> str:
        """The digest of the shipped definition that one of `name` replaces; none where it was there first."""
        known, shipped = self._view.kept.get(name), self._view.shipped.get(name)
        return "" if shipped is None or (known is not None and not known.overrides) else shipped.digest

    def _is_shipped(self, made: Definition, shipped: Definition) -> bool:
        """Whether `made` is what a cells folder gives, whose file may import more and otherwise."""
        there = {(e.binding, e.path) for e in self._imported(shipped)}
        is_same = made.text == shipped.text and made.kind is shipped.kind and made.names == shipped.names
        return is_same and all((e.binding, e.path) in there for e in self._imported(made))

    def _imported(self, definition: Definition) -> Iterator[ImportEntry]:
        for line in definition.imports:
            for node in parse(line).body:
                yield from entries_of(node, self._view.modules)

    def _earlier(self, statement: Statement, names: tuple[str, ...]) -> Definition | None:
        """The kept definition that `statement` is a stage of: it reads that as it loads, or adds to its overloads."""
        name, node = names[0], statement.node
        known = self._view.kept.get(name)
        if known is None or known.gives != names:
            return None
        if reads_itself(node, name):
            return known
        path_of, last = self._view.import_path, parts_of(known.text)[-1].node
        return known if isinstance(node, _FUNCTION) and is_overload(last, path_of) else None

    def _staged(
        self, known: Definition, statement: Statement, reads: Reads, own: frozenset[str]
    ) -> Definition | NotKept:
        """`known` with `statement` behind what it has already; a text that is there is not put twice."""
        if not has_part(known.text, statement.text):
            text = with_part(known.text, statement)
        elif is_overload(statement.node, self._view.import_path):
            text = until_part(known.text, statement.text)  # the overloads are run anew, from this one on
        else:
            text = known.text
        needs = {*known.needs, *self._needs(reads, own)}
        imports = extended(known.imports, [*self._carried(reads, own)], _futures(statement))
        return replace(known, text=text, imports=imports, needs=tuple(sorted(needs - self._pulled.keys())))

    def _carried(self, reads: Reads, own: frozenset[str]) -> Iterator[ImportEntry]:
        """The imports that the definition carries."""
        for name in sorted(reads.all - own):
            chains = [chain for chain in reads.dotted if chain.startswith(f"{name}.")]
            origin = self._view.origin(name, chains)
            if isinstance(origin, Imported):
                yield from origin.entries

    def _missing(self, reads: Reads, own: frozenset[str]) -> list[str]:
        """The plain variables without which the definition cannot load; those that it can bring are pulled in."""
        names = reads.load | self._running.reads(reads) if reads.calls else reads.load
        found = (name for name in sorted(names - own) if isinstance(self._view.origin(name), Variable))
        return [*(name for name in found if self._pull(name) is None), *sorted(self._view.altered & names - own)]

    def _defining(self, name: str) -> ast.stmt | None:
        """The statement that defines `name`, for what it runs when a definition calls it in loading."""
        match self._view.origin(name):
            case InLayer(definition):
                return defining_statement(definition.text)
            case Variable(Statement(node=node)):
                return node
        return None

    def _needs(self, reads: Reads, own: frozenset[str]) -> tuple[str, ...]:
        """Names read only when called that nothing kept gives now."""
        names = sorted(reads.call - own - self._pulled.keys())
        return tuple(name for name in names if isinstance(self._view.origin(name), Variable | Nowhere))

    def _after(self, names: tuple[str, ...]) -> tuple[Key, ...]:
        """What is to load first: what was made with that which the new one hides, a builtin or a class's method."""
        kept = self._view.kept
        made = [other.key for name in names if owner_of(name) for other in made_from(name, kept.values())]
        made += [Key(key) for name in names if "@" in name for key in kept if _may_overlap(name, key)]
        if names[0] in kept:
            made += [key for key in kept[names[0]].after if key in kept]
        else:
            made += [other.key for name in hidden_builtins(names, self._view) for other in self._view.dependents(name)]
        keys = dict.fromkeys(kept[key].key for key in made)
        return tuple(key for key in keys if key not in names)

    def _variables(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({name for name in names if isinstance(self._view.origin(name), Variable)}))

    def _pull(self, name: str) -> Definition | None:
        """The definition by which the plain variable `name` can be kept too; None if it cannot."""
        if name in self._pulled:
            return self._pulled[name]
        origin = self._view.origin(name)
        if not isinstance(origin, Variable) or origin.statement is None or name in self._pulling:
            return None
        statement = origin.statement
        value = assigned(statement.node)
        if value is None or bound_targets(statement.node) != (name,):
            return None
        self._pulling.add(name)
        try:
            if refused := self._refused(statement, name):
                self._secret.update({name} if refused.is_secret else ())
            if refused or why_impure(value, self):
                return None
            made = self._make(statement, Kind.VALUE, (name,), _reads(statement))
        finally:
            self._pulling.discard(name)
        if isinstance(made, NotKept):
            return None
        self._pulled[name] = made
        return made


def _may_overlap(name: str, other: str) -> bool:
    """Whether two registrations with one function may be for one type, as of several that one of them is for."""
    generic, _, kind = name.partition("@")
    return other.startswith(f"{generic}@") and any(mark in f"{kind} {other}" for mark in ("|", "Union[", "Optional["))


def looks_secret(name: str, found: str) -> NotKept:
    """Why `name`, in whose definition `found` is what looks like a secret, is not kept."""
    why = "looks like a secret" if found == name else f"holds what looks like a secret ({found})"
    return NotKept(name, why, forceable=True, is_secret=True)


def with_values(node: ast.stmt, settings: Mapping[str, ast.stmt]) -> ast.AST:
    """`node` with the values that `settings` set put where their names stand: `p = "…"` under `PASSWORD = p` tells."""

    class Put(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            is_read = name.id in settings and isinstance(name.ctx, ast.Load)
            value = assigned(settings[name.id]) if is_read else None
            return name if value is None else value

    whole: ast.AST = Put().visit(copy.deepcopy(node))
    return whole


def _reads(statement: Statement) -> Reads:
    return reads_of_definition(statement.node, futures=statement.futures)


def _futures(statement: Statement) -> tuple[str, ...]:
    """The `from __future__` features in force where there is something in the statement that they change."""
    if not statement.futures:
        return ()
    parts = walk([statement.node])
    is_annotated = any(getattr(part, "annotation", None) or getattr(part, "returns", None) for part in parts)
    return statement.futures if is_annotated else ()


def _is_same(known: Definition, made: Definition) -> bool:
    """Whether writing `made` would change nothing that matters when `known` loads."""
    return (
        known.text == made.text
        and known.kind is made.kind
        and known.names == made.names
        and set(known.imports) == set(made.imports)
        # A need that went away stays in the header, harmlessly; a new one has to be written down.
        and set(made.needs) <= set(known.needs)
    )
