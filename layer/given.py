"""Which names a statement is there to give, and of which kind they are, told by its syntax alone. Pure.

A name is a top-level one, `Foo.m` for `Foo.m = …`, or `f@Type` for what is registered with a generic function by
`@f.register`. Whatever else a definition gives is said in the header of its file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from .definition import Kind
from .source import bound_targets, dotted

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def given_by(node: ast.stmt) -> tuple[str, ...]:
    """The names that `node` is there to give; none for a statement that defines nothing."""
    names = bound_targets(node)
    if names == ("_",) and isinstance(node, _Function):
        return registrations(node)
    if not names and isinstance(node, ast.Assign) and (method := method_key(node)):
        return (method,)
    return names


def given_by_all(body: Iterable[ast.stmt]) -> tuple[str, ...]:
    """The names that the text of a definition gives: those of its last statement that gives any."""
    return next((names for node in reversed([*body]) if (names := given_by(node))), ())


def method_key(node: ast.Assign) -> str | None:
    """`Foo.m` where `node` sets that and nothing else."""
    match node.targets:
        case [ast.Attribute(value=ast.Name(id=owner), attr=name)]:
            return f"{owner}.{name}"
    return None


def registrations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
    """`f@Type` for each `@f.register` and `@f.register(Type)` of `node`, from the inner one outwards."""
    return tuple(dict.fromkeys(_registrations(node)))


def _registrations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in reversed(node.decorator_list):
        call = decorator if isinstance(decorator, ast.Call) else None
        function = call.func if call else decorator
        if not isinstance(function, ast.Attribute) or function.attr != "register":
            continue
        generic = dotted(function.value)
        kind = call.args[0] if call and call.args else registered_for(node)
        if generic is not None and kind is not None:
            yield f"{generic}@{_written(kind)}"


def registered_for(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    """The annotation by which a bare `@f.register` knows the type: that of the first parameter which has one."""
    arguments = node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.annotation is not None:
            return argument.annotation
    return None


def owner_of(name: str) -> str | None:
    """The name that has to be there for `name` to be put on it: `Foo` of `Foo.m`, `f` of `f@Type`; None for others."""
    generic, at, _ = name.partition("@")
    root, dot, _ = generic.partition(".")
    return root if at or dot else None


def kind_of(node: ast.stmt) -> Kind:
    """The kind of what `node` defines."""
    if isinstance(node, _Function):
        return Kind.FUNCTION
    return Kind.CLASS if isinstance(node, ast.ClassDef) else Kind.VALUE


def kind_of_all(body: Sequence[ast.stmt], names: tuple[str, ...]) -> Kind:
    """The kind of a definition that gives `names` by `body`: that of the first statement which binds the first name."""
    if owner_of(names[0]):
        return Kind.METHOD
    return kind_of(base_of(body, names[0]))


def base_of(body: Sequence[ast.stmt], name: str) -> ast.stmt:
    """The statement that `name` begins with; the last one where none of them gives it. The others are its stages."""
    return next((node for node in body if name in given_by(node)), body[-1])


def _written(kind: ast.expr) -> str:
    if isinstance(kind, ast.Constant) and isinstance(kind.value, str):
        return kind.value.strip()  # `s: "Square"`
    return ast.unparse(kind)
