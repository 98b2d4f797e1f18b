"""Which global names a statement reads, and when: as it loads, in its annotations, or when what it defines is called.

Pure and syntactic: no namespace is looked at. The rules are those of the language reference, "Naming and binding":
a function body runs later, a class body runs now and sees its own names but hides them from functions inside it,
a comprehension has a scope of its own but for its first iterable.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from .source import unwarned


@dataclass(frozen=True, slots=True)
class Reads:
    """Global names by when they are read; a name may stand in several."""

    load: frozenset[str]
    annotation: frozenset[str]
    call: frozenset[str]
    dotted: frozenset[str]  # attribute chains that begin at a global name: `a.b.c` and, of it, `a.b`

    @property
    def all(self) -> frozenset[str]:
        return self.load | self.annotation | self.call


def reads_of(*statements: ast.stmt) -> Reads:
    """What the statements, one after another, read of the globals that they do not set first themselves."""
    reader = _Reader()
    module = _Scope(_Kind.MODULE)
    for statement in statements:
        reader.run(statement, module, _When.LOAD)
    load, annotation, call = (frozenset(reader.found[when]) for when in _When)
    return Reads(load, annotation, call, frozenset(reader.dotted))


def bound_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that running `body` binds in its own scope: assignments, imports, loops, definitions, `as`, walrus."""
    scope = _Scope(_Kind.FUNCTION)
    _bind(body, scope)
    return frozenset(scope.names - scope.globals)


class _When(Enum):
    LOAD = auto()
    ANNOTATION = auto()
    CALL = auto()


class _Kind(Enum):
    MODULE = auto()
    CLASS = auto()
    FUNCTION = auto()  # also lambdas, comprehensions and type parameters: scopes that inner ones see


@dataclass(slots=True)
class _Scope:
    kind: _Kind
    parent: _Scope | None = None
    names: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)

    def is_global(self, name: str) -> bool:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.globals:
                return True
            # Class scopes are seen from their own body alone.
            if name in scope.names and (scope is self or scope.kind is not _Kind.CLASS):
                return False
            scope = scope.parent
        return True


class _Reader:
    def __init__(self) -> None:
        self.found: dict[_When, set[str]] = {when: set() for when in _When}
        self.dotted: set[str] = set()

    def run(self, node: ast.AST, scope: _Scope, when: _When) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, scope, when)
            case ast.ClassDef():
                self._class(node, scope, when)
            case ast.Lambda():
                self._defaults(node.args, scope, when)
                self._body([node.body], node.args, scope)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._comprehension(node, scope, when)
            case ast.AnnAssign():
                self._annotation(node.annotation, scope, when)
                self._all((node.value, node.target), scope, when)
            case ast.Name(id=name, ctx=context):
                if isinstance(context, ast.Load):
                    self._read(name, scope, when)
                elif scope.kind is not _Kind.FUNCTION:
                    # In function scopes all names are bound beforehand; here they become local as they are set.
                    scope.names.add(name) if isinstance(context, ast.Store) else scope.names.discard(name)
            case ast.Attribute():
                self._attribute(node, scope, when)
            case ast.Assign():
                self._all((node.value, *node.targets), scope, when)
            case ast.AugAssign(target=ast.Name(id=name)):
                self.run(node.value, scope, when)
                self._read(name, scope, when)
            case ast.NamedExpr():
                self._all((node.value, node.target), scope, when)
            case ast.For() | ast.AsyncFor():
                self._all((node.iter, node.target, *node.body, *node.orelse), scope, when)
            case ast.Global(names=names):
                scope.globals.update(names)
            case ast.Import() | ast.ImportFrom():
                _bind([node], scope)
            case _ if type(node).__name__ == "TypeAlias":
                self._type_alias(node, scope, when)
            case _:
                _bind_pattern(node, scope)
                self._all(ast.iter_child_nodes(node), scope, when)

    def _all(self, nodes: Iterable[ast.AST | None], scope: _Scope, when: _When) -> None:
        for node in nodes:
            if node is not None:
                self.run(node, scope, when)

    def _read(self, name: str, scope: _Scope, when: _When) -> bool:
        if scope.is_global(name):
            self.found[when].add(name)
            return True
        return False

    def _attribute(self, node: ast.Attribute, scope: _Scope, when: _When) -> None:
        chain = [node.attr]
        root = node.value
        while isinstance(root, ast.Attribute):
            chain.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            self.run(root, scope, when)
        elif self._read(root.id, scope, when):
            dotted = root.id
            for attribute in reversed(chain):
                dotted = f"{dotted}.{attribute}"
                self.dotted.add(dotted)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: _Scope, when: _When) -> None:
        self._all(node.decorator_list, scope, when)
        self._defaults(node.args, scope, when)
        inner = self._type_parameters(node, scope, when)
        for argument in _arguments(node.args):
            self._annotation(argument.annotation, inner, when)
        self._annotation(node.returns, inner, when)
        _set(node.name, scope)
        self._body(node.body, node.args, inner)

    def _class(self, node: ast.ClassDef, scope: _Scope, when: _When) -> None:
        self._all(node.decorator_list, scope, when)
        inner = self._type_parameters(node, scope, when)
        self._all((*node.bases, *(keyword.value for keyword in node.keywords)), inner, when)
        body = _Scope(_Kind.CLASS, inner, {"__module__", "__qualname__"})
        self._all(node.body, body, when)
        _set(node.name, scope)

    def _body(self, body: Iterable[ast.AST], arguments: ast.arguments, scope: _Scope) -> None:
        inner = _Scope(_Kind.FUNCTION, scope, {argument.arg for argument in _arguments(arguments)})
        # The compiler gives functions in a class this name for a bare super().
        inner.names.add("__class__")
        _bind(body, inner)
        self._all(body, inner, _When.CALL)

    def _defaults(self, arguments: ast.arguments, scope: _Scope, when: _When) -> None:
        self._all((*arguments.defaults, *arguments.kw_defaults), scope, when)

    def _comprehension(self, node: ast.AST, scope: _Scope, when: _When) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self.run(generators[0].iter, scope, when)
        inner = _Scope(_Kind.FUNCTION, scope)
        for generator in generators:
            _bind([generator.target], inner)
        for number, generator in enumerate(generators):
            later = () if number == 0 else (generator.iter,)
            self._all((*later, *generator.ifs), inner, when)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)  # type: ignore[attr-defined]
        self._all(parts, inner, when)

    def _type_parameters(self, node: ast.AST, scope: _Scope, when: _When) -> _Scope:
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return scope
        inner = _Scope(_Kind.FUNCTION, scope, {parameter.name for parameter in parameters})
        # Bounds and defaults are evaluated when asked for, as annotations are read: late.
        for parameter in parameters:
            for part in ("bound", "default_value"):
                self._annotation(getattr(parameter, part, None), inner, when)
        return inner

    def _type_alias(self, node: ast.AST, scope: _Scope, when: _When) -> None:
        inner = self._type_parameters(node, scope, when)
        self._annotation(node.value, inner, when)  # type: ignore[attr-defined]
        self.run(node.name, scope, when)  # type: ignore[attr-defined]

    def _annotation(self, node: ast.expr | None, scope: _Scope, when: _When) -> None:
        if node is None:
            return
        when = _When.ANNOTATION if when is _When.LOAD else when
        self.run(node, scope, when)
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                try:
                    with unwarned():
                        quoted = ast.parse(part.value, mode="eval").body
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue  # a plain string, as in Literal["a b"] or Annotated
                self.run(quoted, scope, when)


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None)


def _set(name: str, scope: _Scope) -> None:
    scope.names.add(name)


def _bind(nodes: Iterable[ast.AST], scope: _Scope) -> None:
    """Add to `scope` what the nodes bind in it, without entering inner scopes."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                scope.names.add(name)
                _bind(node.decorator_list, scope)  # a walrus may stand there
            case ast.Lambda():
                pass
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                scope.names.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                scope.names.update(alias.asname or alias.name.partition(".")[0] for alias in aliases)
            case ast.Global(names=names):
                scope.globals.update(names)
            case ast.Nonlocal(names=names):
                scope.names.update(names)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                # Its targets are its own; a walrus inside binds here.
                walruses = (part.target for part in ast.walk(node) if isinstance(part, ast.NamedExpr))
                scope.names.update(target.id for target in walruses)
            case _:
                _bind_pattern(node, scope)
                _bind(ast.iter_child_nodes(node), scope)


def _bind_pattern(node: ast.AST, scope: _Scope) -> None:
    match node:
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            scope.names.add(name)
        case ast.MatchMapping(rest=str(name)):
            scope.names.add(name)
