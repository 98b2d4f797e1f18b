"""What one kernel remembers of names that are no definitions: how variables were set, and what was imported.

A variable's statement is trusted only as long as nothing can have changed the value since: a definition that needs the
variable to load, and `%keep`, would otherwise bring back another. Reads the namespace; writes nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from types import ModuleType

from .definition import Definition, Kind
from .given import owner_of
from .imports import ImportRecord, entries_of
from .outcome import NotKept
from .refused import Refused
from .source import Source, Statement, assigned, bound_targets, parse
from .tree import walk
from .view import Origin, Plain, Variable, equal, gives_again, is_literal


class Variables:
    """The variables and imports of one namespace."""

    def __init__(self, namespace: Mapping[str, object], modules: Mapping[str, ModuleType]) -> None:
        self.imports = ImportRecord()
        self.plain: dict[str, Plain] = {}
        self.refused: dict[str, Statement] = {}  # what `%keep` can force, by name
        self.secrets = Refused()  # what was not kept for what it looks like
        self.changed: set[str] = set()  # kept names whose value a statement changed in place
        self._namespace = namespace
        self._modules = modules
        self._read_by: dict[str, set[str]] = {}  # name → variables whose setting reads it: run again, it gives another
        self._open: set[str] = set()  # those whose value may be another by any statement that mentions them

    def see(self, statement: Statement, names: frozenset[str], kept: Collection[str]) -> frozenset[str]:
        """Note what `statement`, which bound `names`, did beside defining: imports, and variables needed later.

        Gives back all that it bound: what a star import did is not in its text.
        """
        node, namespace = statement.node, self._namespace
        imports = entries_of(node, self._modules)
        self.imports.note(imports)
        if "*" in names:
            there = (entry for entry in imports if entry.binding in namespace)
            given = {e.binding for e in there if e.gives(namespace[e.binding], self._modules)}
            names = (names - {"*"}) | given
        assignment = statement if assigned(node) is not None else None
        for name in names:
            before = self.plain.get(name)
            self.let_go((name,))
            if before is None or not _is_as_before(before, statement, namespace.get(name)):
                self._lose_settings_from(name, names, kept)
            if name not in namespace:
                continue
            live = namespace[name]
            # Of `if …: import x` and `else: x = None` the value tells which one ran.
            if not any(entry.binding == name and entry.gives(live, self._modules) for entry in imports):
                self.plain[name] = Plain(assignment, id(live))
                if assignment is not None and not is_literal(node):
                    for other in _inputs(node):
                        self._read_by.setdefault(other, set()).add(name)
                    from .frozen import is_frozen  # here, as below: a kernel that starts has set no variable

                    if not is_frozen(live):
                        self._open.add(name)
        return names

    def _lose_settings_from(self, name: str, set_now: frozenset[str], kept: Collection[str]) -> None:
        """Let go of how variables were set by means of `name`, which is another now; what is kept is as it was set."""
        for other in self._read_by.pop(name, set()) - set_now:
            if other in self.plain and other not in kept:
                self.plain[other] = replace(self.plain[other], statement=None)

    def let_go(self, names: Iterable[str]) -> None:
        """`names` were set by a definition that was loaded: how a cell had set them is over."""
        for name in names:
            self.plain.pop(name, None)
            self.refused.pop(name, None)
            self.changed.discard(name)
            self._open.discard(name)

    def mentioned(self, statement: Statement) -> list[str]:
        """The open ones whose name stands somewhere in the text of `statement`; may be asked without the lock."""
        return [name for name in tuple(self._open) if name in statement.text]

    def touch(self, statement: Statement, kept: Mapping[str, Definition]) -> None:
        """Let go of how variables were set that `statement` may have changed: it mentions them, or may when called."""
        found = self.mentioned(statement)
        if not found:
            return
        from .scope import reads_of

        node = statement.node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            mentioned = reads_of(node).call
        else:
            mentioned = frozenset(part.id for part in walk([node]) if isinstance(part, ast.Name))
        for name in mentioned.intersection(found):
            if self.plain[name].statement is not statement:
                self._open.discard(name)
                if name not in kept:  # what was pulled in is the layer's, as it was set
                    self.plain[name] = replace(self.plain[name], statement=None)

    def setting(self, name: str, kept: Mapping[str, Definition], origin: Origin) -> Statement | NotKept | None:
        """A statement that gives `name` its value of now; None where what is kept does, as far as can be told.

        `origin` is where the name comes from.
        """
        from .stages import defining_statement

        namespace = self._namespace
        refused = self.refused.get(name)
        if refused is not None and (owner_of(name) or not isinstance(refused.node, ast.Assign | ast.AnnAssign)):
            return refused
        if name in kept and kept[name].kind is not Kind.VALUE:
            return None
        if name not in namespace:
            return NotKept(name, "there is no such name here")
        if refused is None and name in kept:
            setting = defining_statement(kept[name].text)
            if (is_literal(setting) or name not in self.changed) and gives_again(setting, namespace[name]):
                return None
        known = origin.statement if isinstance(origin, Variable) else None
        plain = self.plain.get(name)
        if refused is not None and not (plain is not None and plain.statement is None):
            known = refused
        if known is not None and is_literal(known.node) and gives_again(known.node, namespace[name]):
            return known  # with its comments, as it was written
        names = bound_targets(refused.node) if refused is not None else (name,)
        text = _assignment({each: namespace.get(each) for each in names})
        if text is None:
            return known or NotKept(
                name, "its value cannot be written as source; define it by a statement that can run again"
            )
        statement = next(Source(text).statements(parse(text).body))
        for each in names:
            self.plain[each] = Plain(statement, id(namespace.get(each)))
        return statement


def _inputs(node: ast.stmt) -> frozenset[str]:
    """The names that an assignment reads; none where it is nested too deeply to be read."""
    from .scope import reads_of

    try:
        return reads_of(node).load
    except RecursionError:
        return frozenset()


def _is_as_before(before: Plain, statement: Statement, live: object) -> bool:
    """Whether a name that was set `before` is the same now that `statement` set it again."""
    if before.identity == id(live):
        return True
    return before.statement is not None and before.statement.text == statement.text and is_literal(statement.node)


def _assignment(values: Mapping[str, object]) -> str | None:
    """`name = …` as source that gives equal values; None where there is none."""
    try:
        written = [repr(value) for value in values.values()]
        same = all(equal(ast.literal_eval(text), value) for text, value in zip(written, values.values(), strict=True))
    except Exception:  # a repr or __eq__ of the user's may do anything
        return None
    return f"{', '.join(values)} = {', '.join(written)}" if same else None
