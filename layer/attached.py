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

from .binding import bound_names
from .callables import FUNCTIONS, makers, makes_method
from .compose import Composer
from .definition import Kind
from .given import is_output_name, owner_of, registered_for, registering, registrations
from .leaving import forgotten, leave
from .outcome import Forgotten, NotKept, Outcome, Returns
from .purity import why_impure
from .source import Statement
from .tree import walk
from .view import Imported, InLayer, View, class_dict, followed, value_of

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def defined(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, view: View) -> tuple[str, ...]:
    """The names by which `node`, which has run, is to be kept."""
    is_named = node.name in view.namespace and not is_output_name(node.name)
    own = (node.name,) if is_named else ()
    if isinstance(node, ast.ClassDef):
        return own
    if registrations := registered(node, view):
        return (*own, *registrations) if is_named else registrations
    if methods := put_on(node, view):
        # `@add_to(Foo)` gives what it likes for the name itself; None most often.
        return (*methods, *own) if is_named and callable(view.namespace[node.name]) else methods
    return own


def unfit_for(node: ast.stmt, name: str, view: View) -> tuple[Forgotten | Returns, ...]:
    """What was put on the kept definition `name` and cannot be on what `node` has made of it: that leaves the layer."""
    if name not in view.kept:
        return ()
    parts = [part for part in view.kept if owner_of(part) == name]
    if not parts:
        return ()
    own = bound_names(node.body) if isinstance(node, ast.ClassDef) else frozenset()
    hidden = [part for part in parts if part.partition(".")[2] in own]  # they would hide the class's new ones
    is_class = kept_class(name, view) is not None
    lost = [
        part
        for part in parts
        if part not in hidden and not (_is_generic(part.partition("@")[0], view) if "@" in part else is_class)
    ]
    return (
        *forgotten(view, hidden, f"class {name} has its own now"),
        *forgotten(view, lost, f"nothing can be put on {name} now"),
    )


def method(
    statement: Statement, node: ast.Assign, keys: tuple[str, ...], view: View, forced: bool
) -> tuple[Outcome, ...]:
    """What becomes of `Foo.m = …`."""
    live = value_of(keys[0], view.namespace)
    on_kept = all(kept_class(key.partition(".")[0], view) is not None for key in keys)
    if not on_kept or not makes_method(node.value, live, view.namespace):
        return leave(view, keys, "it is no method now")
    composer = Composer(view, forced)
    why = None if forced else why_impure(node.value, composer, makers(node.value, view.namespace))
    made = NotKept(keys[0], why, forceable=True) if why else composer.compose(statement, Kind.METHOD, keys)
    return (made, *leave(view, keys, "it is another method now")) if isinstance(made, NotKept) else (made,)


def registered_with(statement: Statement, view: View, forced: bool) -> tuple[Outcome, ...]:
    """What becomes of `K.register(…)`: a stage of K."""
    registry = registering(statement.node)
    name = registry.partition(".")[0] if registry is not None else None
    origin = view.origin(name) if name is not None else None
    known = view.kept.get(name) if name is not None else None
    if name is None or known is None or not isinstance(origin, InLayer):
        return ()
    if registry is None or not remembers(registry, view):
        return ()
    value = statement.node.value  # type: ignore[attr-defined]
    composer = Composer(view, forced)
    why = None if forced else why_impure(value, composer, makers(value, view.namespace))
    made = NotKept(name, why) if why else composer.compose(statement, known.kind, known.gives)
    if isinstance(made, NotKept):
        return (NotKept(f"{registry}.register(…)", made.reason),)
    return (made,)


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


def remembers(name: str, view: View) -> bool:
    """Whether what is registered with the definition `name` is part of it: an abstract class, a generic function."""
    live = view.namespace.get(name)
    return issubclass(type(live), ABCMeta) or _is_generic(name, view)


def _is_generic(name: str, view: View) -> bool:
    """Whether `name`, `f` or `Foo.m`, is a function of functools.singledispatch that will be there after a restart."""
    if not isinstance(view.origin(name.partition(".")[0]), InLayer | Imported):
        return False
    live = followed(name, view.namespace, into_classes=True)
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
