"""The keep rule (DESIGN §3): what becomes of one top-level statement that completed. Pure.

A statement is looked at with its live value, after it ran; nothing here writes, imports or runs anything.
"""

from __future__ import annotations

import ast
import re
import typing
from collections.abc import Iterable
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType, UnionType

from .attached import kept_class, put_on, registered, registering, remembers
from .binding import changed_in_place
from .callables import makers, makes_function, makes_method
from .compose import Composer
from .definition import Kind
from .given import kind_of, method_key, owner_of
from .known import TYPE_MAKERS
from .outcome import Forgotten, Hidden, NotKept, Outcome
from .purity import import_path, why_impure
from .scope import reads_of
from .source import Statement, assigned, bound_targets, deleted_attributes, deleted_names, dotted
from .stages import defining_statement
from .tree import walk
from .view import Ambient, Imported, InLayer, View, gives_again, is_literal, value_of

_OUTPUT_NAMES = re.compile(r"_+\d*$|_i+$|_i\d+$|_oh$|_ih$|_dh$")
_FINAL = frozenset({"typing.Final", "typing_extensions.Final"})
_TYPE_ALIAS = frozenset({"typing.TypeAlias", "typing_extensions.TypeAlias"})
_CALLABLES = (FunctionType, BuiltinFunctionType, MethodType)
_HAS_EARLIER = "the layer still has the earlier"
_PLAIN_NOW = "it is a plain variable now"
_SET_IN_BLOCK = "it was set in a block"
_DELETED = "it was deleted"
_MADE_FROM_ITSELF = "it is made from what it was"
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert, ast.Delete)


def decide(statement: Statement, view: View, *, forced: bool = False) -> tuple[Outcome, ...]:
    """What becomes of `statement`, which has just completed.

    `forced` stands for `%keep`: secrets and expressions that are not pure are kept too.
    """
    try:
        outcomes = (*_decided(statement, view, forced), *_set_beside(statement.node, view))
    except RecursionError:
        return tuple(NotKept(name, "it is nested too deeply to be read") for name in bound_targets(statement.node)[:1])
    return (*_beside_the_earlier(outcomes, statement, view), *_changed_in_place(statement.node, view))


def _beside_the_earlier(outcomes: tuple[Outcome, ...], statement: Statement, view: View) -> tuple[Outcome, ...]:
    """`outcomes`, which say of what is not kept where another text of it is, since a restart brings that back."""
    gone = {outcome.name for outcome in outcomes if isinstance(outcome, Forgotten)}
    earlier = [n for n in bound_targets(statement.node) if n in view.kept and view.kept[n].text != statement.text]
    if not earlier or not gone.isdisjoint(earlier):
        return outcomes
    return tuple(
        replace(o, reason=f"{o.reason}; {_HAS_EARLIER} {'one' if ',' not in o.name else 'ones'}")
        if isinstance(o, NotKept)
        else o
        for o in outcomes
    )


def _changed_in_place(node: ast.stmt, view: View) -> tuple[Outcome, ...]:
    """What is to say of kept values that `node` changed without setting them: `TABLE["b"] = 2`."""
    outcomes = []
    for name in sorted(changed_in_place(node) & view.kept.keys() - {*bound_targets(node)}):
        origin = view.origin(name)
        if isinstance(origin, InLayer) and origin.definition.kind is Kind.VALUE:
            setting = defining_statement(origin.definition.text)
            if not (is_literal(setting) and gives_again(setting, view.namespace[name])):
                outcomes.append(
                    NotKept(name, "it was changed in place; the layer has it as it was set", forceable=True)
                )
    return tuple(outcomes)


def _decided(statement: Statement, view: View, forced: bool) -> tuple[Outcome, ...]:
    match statement.node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as node:
            names = _defined(node, view)
            kind = Kind.METHOD if names and owner_of(names[0]) else kind_of(node)
            return (Composer(view, forced).compose(statement, kind, names),) if names else ()
        case ast.Delete() as node:
            return forgotten(view, (*deleted_names(node), *deleted_attributes(node)), "")
        case ast.AugAssign(target=ast.Name(id=name)):
            return _left(view, (name,))
        case ast.Assign() as node if key := method_key(node):
            return _method(statement, node, key, view, forced)
        case ast.Expr() as node if not bound_targets(node):
            return _registering(statement, view, forced)
    names = bound_targets(statement.node)
    if not names or any(_OUTPUT_NAMES.match(name) or name not in view.namespace for name in names):
        return ()
    return _assigned(statement, names, view, forced)


def _defined(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, view: View) -> tuple[str, ...]:
    """The names by which `node`, which has run, is to be kept."""
    is_named = not _OUTPUT_NAMES.match(node.name) and node.name in view.namespace
    own = (node.name,) if is_named else ()
    if isinstance(node, ast.ClassDef):
        return own
    if registrations := registered(node, view):
        return (*own, *registrations) if is_named else registrations
    if methods := put_on(node, view):
        # `@add_to(Foo)` gives what it likes for the name itself; None most often.
        return (*methods, *own) if is_named and callable(view.namespace[node.name]) else methods
    return own


def _method(statement: Statement, node: ast.Assign, key: str, view: View, forced: bool) -> tuple[Outcome, ...]:
    """What becomes of `Foo.m = …`."""
    owner, _, _ = key.partition(".")
    live = value_of(key, view.namespace)
    if kept_class(owner, view) is None or not makes_method(node.value, live, view.namespace):
        return _left(view, (key,), "it is no method now")
    composer = Composer(view, forced)
    why = None if forced else why_impure(node.value, composer, makers(node.value, view.namespace))
    made = NotKept(key, why, forceable=True) if why else composer.compose(statement, Kind.METHOD, (key,))
    return (made, *_left(view, (key,), "it is another method now")) if isinstance(made, NotKept) else (made,)


def _registering(statement: Statement, view: View, forced: bool) -> tuple[Outcome, ...]:
    """What becomes of `K.register(…)`: a stage of K."""
    name = registering(statement.node)
    origin = view.origin(name) if name is not None else None
    known = view.kept.get(name) if name is not None else None
    if name is None or known is None or not isinstance(origin, InLayer) or not remembers(name, view):
        return ()
    value = statement.node.value  # type: ignore[attr-defined]
    composer = Composer(view, forced)
    why = None if forced else why_impure(value, composer, makers(value, view.namespace))
    made = NotKept(name, why) if why else composer.compose(statement, known.kind, known.gives)
    if isinstance(made, NotKept):
        return (NotKept(f"{name}.register(…)", made.reason),)
    return (made,)


def _set_beside(node: ast.stmt, view: View) -> tuple[Outcome, ...]:
    """What becomes of kept names that `node` bound or deleted otherwise than by defining: in a block, by a walrus.

    Those it left as they were, in a branch that did not run, are none of them.
    """
    if not view.changed:
        return ()
    own = {*bound_targets(node), *(deleted_names(node) if isinstance(node, ast.Delete) else ())}
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        own.add(node.target.id)
    outcomes: list[Outcome] = []
    for name in sorted(view.changed - own):
        if name not in view.namespace:
            outcomes += _left(view, (name,), _DELETED)
        elif isinstance(view.origin(name), Imported):
            outcomes.append(Hidden(name, view.kept[name]))
        else:
            outcomes += _left(view, (name,), _PLAIN_NOW if isinstance(node, _SIMPLE) else _SET_IN_BLOCK)
    return tuple(outcomes)


def defines(node: ast.stmt) -> bool:
    """Whether `node` may be a defining statement, told before it runs.

    Only such statements may share a commit: any other may take long, and a kill in it must lose nothing before it.
    """
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Delete):
        return True
    names = bound_targets(node) or (isinstance(node, ast.Assign) and method_key(node))
    value = getattr(node, "value", None)
    return bool(names) and not any(isinstance(part, ast.Call | ast.Await) for part in walk([value or node]))


def _assigned(statement: Statement, names: tuple[str, ...], view: View, forced: bool) -> tuple[Outcome, ...]:
    node, name = statement.node, names[0]
    value = assigned(node)
    assert value is not None  # it has targets
    composer = Composer(view, forced)
    if not forced and _has_only_names(node) and makes_function(value, view.namespace[name], view.namespace):
        return _function(statement, value, names, view, composer)
    if forced or all(map(_is_constant_name, names)) or _is_annotated(node, _FINAL, view):
        if not _has_only_names(node):
            return _left(view, names)
        if len(names) == 1 and _is_type_making(node, value, view):
            return (composer.compose(statement, Kind.VALUE, names),)
        if not forced and not reads_of(node).load.isdisjoint(names):
            # `NUM = NUM + 1`: its statement cannot run again, and its value can be written.
            ends = ((each, f"{_MADE_FROM_ITSELF}; %keep {each} keeps it as it is now") for each in names)
            left = tuple(outcome for each, end in ends for outcome in _left(view, (each,), end))
            return left or (NotKept(", ".join(names), _MADE_FROM_ITSELF, forceable=True),)
        why = None if forced else why_impure(value, composer)
        if why is None:
            return (composer.compose(statement, Kind.VALUE, names),)
        return (NotKept(", ".join(names), why, forceable=True), *_left(view, names, why))
    if len(names) > 1 or not _has_only_names(node):
        return _left(view, names)
    if _is_type_making(node, value, view) or _is_function_alias(value, name, view):
        outcome = composer.compose(statement, Kind.VALUE, names)
        # A variable that happens to hold a class or function is no failed definition: it stays a plain one, unsaid.
        return _left(view, names) if isinstance(outcome, NotKept) and _is_alias(value) else (outcome,)
    known = view.kept.get(name)
    is_followed = known is not None and known.kind is Kind.VALUE and not view.dependents(name)
    if is_followed and not why_impure(value, composer):
        return (composer.compose(statement, Kind.VALUE, names),)  # kept by %keep, or for what is gone
    return _left(view, names)


def _function(
    statement: Statement, value: ast.expr, names: tuple[str, ...], view: View, composer: Composer
) -> tuple[Outcome, ...]:
    """What becomes of `f = lambda …` and of `f = jit(g)`, which made a function or a class."""
    own = frozenset(name for name in names if name in view.kept)
    why = why_impure(value, composer, makers(value, view.namespace), own)
    # A known maker of types is asked for no purity: `Point = namedtuple("Point", FIELDS)`.
    if why is None or (len(names) == 1 and _is_type_making(statement.node, value, view)):
        made = composer.compose(statement, Kind.VALUE, names)
    else:
        made = NotKept(", ".join(names), why, forceable=True)
    if not isinstance(made, NotKept) or names[0] in reads_of(statement.node).load:
        return (made,)  # of `f = wrap(f)` what the layer has is the better part, and no plain variable's past
    return (made, *_left(view, names, made.reason))


def _left(view: View, names: tuple[str, ...], why: str = _PLAIN_NOW) -> tuple[Outcome, ...]:
    """`names` became plain variables: what was kept under them no longer tells their value.

    A value stays all the same where definitions were made with it and still have it, as one pulled in for a default.
    """
    return forgotten(view, [name for name in names if not _made_others(view, name)], why)


def _made_others(view: View, name: str) -> bool:
    known = view.kept.get(name)
    return known is not None and known.kind is Kind.VALUE and bool(view.dependents(name))


def forgotten(view: View, names: Iterable[str], why: str) -> tuple[Outcome, ...]:
    """The kept ones of `names` leave the layer, and with each what was put on it."""
    outcomes = []
    gone = dict.fromkeys(name for name in names if name in view.kept)
    gone |= dict.fromkeys(part for name in gone for part in view.kept if owner_of(part) == name)
    for name in gone:
        if name in view.kept:
            without = (
                (view.dependents(name), "need", " to load"),
                (view.callers(name), "use", ", and will not load without it"),
            )
            left = (([o.key for o in others if o.key not in gone], verb, end) for others, verb, end in without)
            lost = [f"{', '.join(keys)} {verb if keys[1:] else f'{verb}s'} it{end}" for keys, verb, end in left if keys]
            outcomes.append(Forgotten(name, "; ".join(part for part in (why, *lost) if part)))
    return tuple(outcomes)


def _is_constant_name(name: str) -> bool:
    return name.isupper() and len(name.strip("_")) >= 2


def _is_annotated(node: ast.stmt, paths: frozenset[str], view: View) -> bool:
    if not isinstance(node, ast.AnnAssign):
        return False
    annotation = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
    return import_path(annotation, view.import_path) in paths


def _has_only_names(node: ast.stmt) -> bool:
    """Whether every target is a name or a tuple of names, so that the statement sets nothing else."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    parts = (part for target in targets for part in walk([target]))
    return not any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts)


def _is_type_making(node: ast.stmt, value: ast.expr, view: View) -> bool:
    """`type X = …`, TypeVar and its kin, or an alias whose live value is a type or typing object."""
    if type(node).__name__ == "TypeAlias" or _is_annotated(node, _TYPE_ALIAS, view):
        return True
    if isinstance(value, ast.Call):
        path = import_path(value.func, view.import_path)
        # type(x) with one argument asks, with three it makes.
        return path in TYPE_MAKERS and not (path == "builtins.type" and len(value.args) != 3)
    return _is_alias(value) and _is_type(view.namespace[bound_targets(node)[0]])


def _is_function_alias(value: ast.expr, name: str, view: View) -> bool:
    """`g = f`, `dump = json.dumps`: another name for what a restart brings back; a variable's method is none."""
    written = dotted(value)
    if written is None:
        return False
    live, origin = view.namespace[name], view.origin(written.partition(".")[0])
    if isinstance(origin, InLayer) and written in view.namespace:
        if view.namespace[written] is not live:
            return False
        made = assigned(defining_statement(origin.definition.text))  # None of a def or class
        if made is None or makes_function(made, live, view.namespace):
            return True
    if isinstance(origin, Imported | Ambient):
        return callable(live)
    return type(live) in _CALLABLES and isinstance(origin, InLayer)


def _is_alias(value: ast.expr) -> bool:
    match value:
        case ast.Name() | ast.Attribute():
            return dotted(value) is not None
        case ast.Subscript(value=inner):
            return _is_alias(inner)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _is_alias(left) and (_is_alias(right) or isinstance(right, ast.Constant))
    return False


def _is_type(value: object) -> bool:
    kind = type(value)
    return issubclass(kind, (type, GenericAlias, UnionType)) or kind.__module__ in (
        typing.__name__,
        "typing_extensions",
    )
