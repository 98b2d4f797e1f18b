"""Which names a statement is there to give, and of which kind they are, told by its syntax alone. Pure.

A name is a top-level one, `Foo.m` for `Foo.m = …`, or `f@Type` for what is registered with a generic function by
`@f.register`. Whatever else a definition gives is said in the header of its file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from .definition import Kind
from .source import bound_targets, dotted
from .tree import walk

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_OUTPUT_NAMES = r"_+\d*$|_i+$|_i\d+$|_oh$|_ih$|_dh$"


def is_output_name(name: str) -> bool:
    """Whether the shell itself sets `name` as cells run: `_`, `_3`, `_i3`."""
    return re.match(_OUTPUT_NAMES, name) is not None


def given_by(node: ast.stmt) -> tuple[str, ...]:
    """The names that `node` is there to give; none for a statement that defines nothing."""
    names = bound_targets(node)
    if names == ("_",) and isinstance(node, _Function):
        return registrations(node)
    return names or (method_keys(node) if isinstance(node, ast.Assign) else ())


def given_by_all(body: Iterable[ast.stmt]) -> tuple[str, ...]:
    """The names that the text of a definition gives: those of its last statement that gives any.

    Other functions and classes that a hand wrote beside it are no less its own; variables there are helpers.
    """
    body = [*body]
    names = next((names for node in reversed(body) if (names := given_by(node))), ())
    others = (name for node in body if isinstance(node, (*_Function, ast.ClassDef)) for name in given_by(node))
    return tuple(dict.fromkeys((*names, *others)))


def method_keys(node: ast.Assign) -> tuple[str, ...]:
    """`Foo.m` for each target of `node`, as in `Foo.__radd__ = Foo.__add__ = add`; none where it sets anything else."""
    keys = []
    for target in node.targets:
        match target:
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                keys.append(f"{owner}.{name}")
            case _:
                return ()
    return tuple(dict.fromkeys(keys))


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


def registration_types(node: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The names that a bare `@f.register` looks up in the annotation of `node` as it loads."""
    annotation = registered_for(node)
    if annotation is None or not any(_is_bare_register(decorator) for decorator in node.decorator_list):
        return frozenset()
    return frozenset(part.id for part in walk([annotation]) if isinstance(part, ast.Name))


def _is_bare_register(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr == "register"


def registering(node: ast.stmt) -> str | None:
    """What `node` is a bare call of `register` of: `K` of `K.register(int)`, `F.m` of `F.m.register(int)(g)`."""
    if not isinstance(node, ast.Expr):
        return None
    call = node.value
    while isinstance(call, ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Name() | ast.Attribute() as registry, attr="register"):
                return dotted(registry)
        call = call.func
    return None


def defines(node: ast.stmt) -> bool:
    """Whether `node` may be a defining statement, told before it runs.

    Only such statements may share a commit: any other may take long, and a kill in it must lose nothing before it.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Delete):
        return True
    names = bound_targets(node) or (isinstance(node, ast.Assign) and method_keys(node))
    value = getattr(node, "value", None)
    return bool(names) and not any(isinstance(part, ast.Call | ast.Await) for part in walk([value or node]))


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
