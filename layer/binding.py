"""Which names a scope binds, and whether a name read in it is global. Pure and syntactic.

The rules are those of the language reference, "Naming and binding": a class body hides its names from functions inside
it but not from annotation scopes, and a walrus in a comprehension binds outside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import Enum, auto

from .slots import state
from .tree import children

_BIND_NOTHING = frozenset(
    {ast.Attribute, ast.Call, ast.Constant, ast.Expr, ast.BinOp, ast.Compare, ast.Subscript, ast.Tuple, ast.Assign}
    | {ast.Return, ast.If, ast.BoolOp, ast.UnaryOp, ast.keyword, ast.For, ast.JoinedStr, ast.FormattedValue, ast.List}
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class ScopeKind(Enum):
    MODULE = auto()
    CLASS = auto()
    FUNCTION = auto()  # also lambdas and comprehensions
    TYPE = auto()  # type parameters and what they are in scope of (PEP 695): sees the class around it


@state
class Scope:
    """The names bound so far; in functions all are bound beforehand, elsewhere as statements run."""

    kind: ScopeKind
    parent: Scope | None = None
    names: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)  # declared so

    def is_global(self, name: str) -> bool:
        """Whether reading `name` here reads a global or a builtin."""
        scope: Scope | None = self
        sees_classes = True
        while scope is not None:
            if sees_classes or scope.kind is not ScopeKind.CLASS:
                if name in scope.globals:
                    return True
                if name in scope.names:
                    return False
            sees_classes = sees_classes and scope.kind is ScopeKind.TYPE
            scope = scope.parent
        return True


def bound_names(body: Iterable[ast.AST]) -> frozenset[str]:
    """The names that running `body` binds in its own scope: assignments, imports, loops, definitions, `as`, walrus."""
    scope = Scope(ScopeKind.FUNCTION)
    bind(body, scope)
    return frozenset(scope.names - scope.globals)


def bind(nodes: Iterable[ast.AST], scope: Scope) -> None:
    """Add to `scope` what the nodes bind in it, without entering inner scopes."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        kind = type(node)
        if kind is ast.Name:
            if not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
                scope.names.add(node.id)  # type: ignore[attr-defined]
            continue
        if kind in _BIND_NOTHING:  # most of any body: spare them the match
            todo += children(node)
            continue
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                scope.names.add(name)
                todo += [*node.decorator_list, *outer_parts(node.args)]  # a walrus may stand there
            case ast.ClassDef(name=name):
                scope.names.add(name)
                todo += [*node.decorator_list, *node.bases, *node.keywords]
            case ast.Lambda():
                todo += outer_parts(node.args)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                scope.names.update(walruses(node))  # its targets are its own
            case ast.Import() | ast.ImportFrom():
                bind_import(node, scope)
            case ast.Global(names=names):
                scope.globals.update(names)
            case ast.Nonlocal(names=names):
                scope.names.update(names)
            case _:
                bind_pattern(node, scope)
                todo += children(node)


def bind_import(node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
    scope.names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)


def bind_pattern(node: ast.AST, scope: Scope) -> None:
    """Bind the name of an `except … as` or a capturing pattern, which is no node of its own."""
    match node:
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            scope.names.add(name)
        case ast.MatchMapping(rest=str(name)):
            scope.names.add(name)


def walruses(comprehension: ast.AST) -> Iterator[str]:
    """The names that walruses in a comprehension bind around it (PEP 572); those in lambdas bind there."""
    todo = [comprehension]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        if not isinstance(node, ast.Lambda):
            todo += children(node)


def changed_in_place(statement: ast.stmt) -> frozenset[str]:
    """The names of whose values `statement`, or a block in it, sets or deletes items or attributes."""
    if isinstance(statement, ast.Expr | ast.Import | ast.ImportFrom):
        return frozenset()  # most statements
    found = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root: ast.expr = node
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name):
                found.add(root.id)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            todo += children(node)
    return frozenset(found)


def called_on(statement: ast.stmt) -> frozenset[str]:
    """The names of whose values `statement` calls methods, which may change them: `ROWS.append(1)`."""
    found = set()
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                found.add(name)
        todo += children(node)
    return frozenset(found)


def called_names(body: Iterable[ast.AST]) -> frozenset[str]:
    """The names that a function's body calls, and those it decorates with, without entering functions in it."""
    found = set()
    todo = list(body)
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef(decorator_list=decorators) | ast.AsyncFunctionDef(decorator_list=decorators):
                found |= {decorator.id for decorator in decorators if isinstance(decorator, ast.Name)}
            case ast.Lambda():
                pass
            case _:
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    found.add(node.func.id)
                todo += children(node)
    return frozenset(found)


def arguments_of(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None)


def outer_parts(arguments: ast.arguments) -> list[ast.expr]:
    """The defaults of a function: what of its parameters is evaluated around it, annotations aside."""
    return [*arguments.defaults, *(default for default in arguments.kw_defaults if default is not None)]
