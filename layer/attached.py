"""What is put on another definition after that was made: methods, registrations, stages by a call (DESIGN §3).

`Foo.m = f` and `@add_to(Foo)` give `Foo.m`, `@f.register` gives `f@Type`, `K.register(…)` is a stage of K. All of it
is told by the statement and the live object together; no code of the user's runs.
"""

from __future__ import annotations

import ast
from abc import ABCMeta
from collections.abc import Iterator
from functools import singledispatchmethod
from types import FunctionType

from .callables import FUNCTIONS, live_value
from .given import registered_for, registrations
from .tree import walk
from .view import Imported, InLayer, View, class_dict

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def kept_class(name: str, view: View) -> type | None:
    """The live class `name`, if a definition gives it."""
    live = view.namespace.get(name)
    if isinstance(live, type) and issubclass(type(live), type) and isinstance(view.origin(name), InLayer):
        return live
    return None


def registered(node: _Function, view: View) -> tuple[str, ...]:
    """`f@Type` for each generic function that `node` is registered with, of those that a restart brings back."""
    return tuple(name for name in registrations(node) if _is_generic(name.partition("@")[0], view))


def put_on(node: _Function, view: View) -> tuple[str, ...]:
    """`Foo.m` for each kept class that a decorator of `node`, which names it, put it on."""
    if not node.decorator_list:
        return ()
    found = (f"{owner}.{node.name}" for owner in _classes_named(node, view) if _is_on(node, owner, view))
    return tuple(dict.fromkeys(found))


def registering(node: ast.stmt) -> str | None:
    """The name on which `node` is a bare call of `register`: `K.register(int)`, `f.register(int)(g)`."""
    if not isinstance(node, ast.Expr):
        return None
    call = node.value
    while isinstance(call, ast.Call):
        match call.func:
            case ast.Attribute(value=ast.Name(id=name), attr="register"):
                return name
        call = call.func
    return None


def remembers(name: str, view: View) -> bool:
    """Whether what is registered with the definition `name` is part of it: an abstract class, a generic function."""
    live = view.namespace.get(name)
    return issubclass(type(live), ABCMeta) or _is_generic(name, view)


def registration_types(node: _Function) -> frozenset[str]:
    """The names that a bare `@f.register` looks up in the annotation of `node` as it loads."""
    annotation = registered_for(node)
    if annotation is None or not any(_is_bare_register(decorator) for decorator in node.decorator_list):
        return frozenset()
    return frozenset(part.id for part in walk([annotation]) if isinstance(part, ast.Name))


def _is_bare_register(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr == "register"


def _is_generic(name: str, view: View) -> bool:
    """Whether `name`, `f` or `Foo.m`, is a function of functools.singledispatch that will be there after a restart."""
    if not isinstance(view.origin(name.partition(".")[0]), InLayer | Imported):
        return False
    live = live_value(ast.parse(name, mode="eval").body, view.namespace)
    if isinstance(live, singledispatchmethod):
        return True
    return isinstance(live, FunctionType) and {"register", "dispatch", "registry"} <= vars(live).keys()


def _classes_named(node: _Function, view: View) -> Iterator[str]:
    """The kept classes that the decorators of `node` name, or the annotation of its first parameter (`self: Foo`)."""
    annotation = registered_for(node)
    for part in walk([*node.decorator_list, *([annotation] if annotation else [])]):
        if isinstance(part, ast.Name) and kept_class(part.id, view) is not None:
            yield part.id


def _is_on(node: _Function, owner: str, view: View) -> bool:
    """Whether what the class `owner` has under the name of `node` is the function that `node` has just made."""
    live = class_dict(view.namespace[owner]).get(node.name)
    while not isinstance(live, FunctionType):
        if isinstance(live, property):
            live = live.fget
        elif isinstance(live, classmethod | staticmethod):
            live = live.__func__
        elif isinstance(live, FUNCTIONS) and "__wrapped__" in getattr(live, "__dict__", {}):
            live = live.__dict__["__wrapped__"]
        else:
            return False
    while isinstance(inner := vars(live).get("__wrapped__"), FunctionType):
        live = inner
    code = live.__code__
    return code.co_name == node.name and code.co_firstlineno == node.decorator_list[0].lineno
