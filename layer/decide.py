"""The keep rule (DESIGN §3): what becomes of one top-level statement that completed. Pure.

A statement is looked at with its live value, after it ran; nothing here writes, imports or runs anything.
"""

from __future__ import annotations

import ast
import typing
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType, UnionType

from .attached import defined, method, registered_with, unfit_for
from .binding import changed_in_place
from .callables import makers, makes_function
from .compose import Composer
from .definition import Kind
from .given import is_output_name, kind_of, method_keys, owner_of
from .known import TYPE_MAKERS
from .leaving import PLAIN_NOW, forgotten, leave
from .outcome import Forgotten, Hidden, Kept, NotKept, Outcome, Returns
from .purity import why_impure
from .scope import reads_of
from .source import Statement, assigned, bound_targets, deleted_attributes, deleted_names, dotted, import_path
from .stages import defining_statement
from .tree import walk
from .view import RESERVED, Ambient, Imported, InLayer, View, gives_again, is_literal

_FINAL = frozenset({"typing.Final", "typing_extensions.Final"})
_TYPE_ALIAS = frozenset({"typing.TypeAlias", "typing_extensions.TypeAlias"})
_CALLABLES = (FunctionType, BuiltinFunctionType, MethodType)
_HAS_EARLIER = "the layer still has the earlier"
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
    outcomes = tuple(each for outcome in outcomes for each in _with_losses(outcome, statement.node, view))
    return (*_beside_the_earlier(outcomes, statement, view), *_changed_in_place(statement.node, view))


def _with_losses(outcome: Outcome, node: ast.stmt, view: View) -> tuple[Outcome, ...]:
    """`outcome`, and what was put on the earlier definition and cannot be on the one that is to be kept."""
    made = outcome.definition if isinstance(outcome, Kept) else None
    lost = [] if made is None else [each for name in made.gives for each in unfit_for(node, name, view)]
    if not isinstance(outcome, Kept) or made is None or not lost:
        return (outcome,)
    names = tuple(each.name for each in lost)
    if made.text.startswith(f"{view.kept[made.key].text}\n"):
        # `area = lru_cache(area)`: live, what is registered works on inside the wrapper.
        return (NotKept(made.key, f"{', '.join(names)} could not be put on it after a restart"),)
    # No word on what a restart makes of what it does not bring back.
    told = tuple(said for said in outcome.warnings if not said.startswith(tuple(f"{name} " for name in names)))
    return (replace(outcome, warnings=told), *lost)


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
    surely = changed_in_place(node)
    for name in sorted(((surely | view.called_on) & view.kept.keys()) - {*bound_targets(node)}):
        origin = view.origin(name)
        is_value = isinstance(origin, InLayer) and origin.definition.kind is Kind.VALUE
        if isinstance(origin, InLayer) and is_value and not _is_type(view.namespace[name]):  # a class is put on
            setting = defining_statement(origin.definition.text)
            if not gives_again(setting, view.namespace[name]) or (name in surely and not is_literal(setting)):
                outcomes.append(
                    NotKept(name, "it was changed in place; the layer has it as it was set", forceable=True)
                )
    return tuple(outcomes)


def _decided(statement: Statement, view: View, forced: bool) -> tuple[Outcome, ...]:
    match statement.node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as node:
            if node.name in RESERVED:
                return (NotKept(node.name, "that name is the kernel's own"),)
            names = defined(node, view)
            kind = Kind.METHOD if names and owner_of(names[0]) else kind_of(node)
            made = Composer(view, forced).compose(statement, kind, names) if names else None
            return () if made is None else (made,)
        case ast.Delete() as node:
            return forgotten(view, (*deleted_names(node), *deleted_attributes(node)), "")
        case ast.AugAssign(target=ast.Name(id=name)):
            return leave(view, (name,))
        case ast.Assign() as node if keys := method_keys(node):
            return method(statement, node, keys, view, forced)
        case ast.Expr() as node if not bound_targets(node):
            return registered_with(statement, view, forced)
    names = bound_targets(statement.node)
    if not names or any(is_output_name(name) or name not in view.namespace or name in RESERVED for name in names):
        return ()
    return _assigned(statement, names, view, forced)


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
        if name not in view.kept:
            if name in view.namespace and name in view.imports:  # an import over what a cells folder gives
                outcomes.append(Returns(name, view.origins.get(name, "")))
        elif name not in view.namespace:
            outcomes += leave(view, (name,), _DELETED)
        elif isinstance(view.origin(name), Imported):
            outcomes.append(Hidden(name, view.kept[name]))
        else:
            outcomes += leave(view, (name,), PLAIN_NOW if isinstance(node, _SIMPLE) else _SET_IN_BLOCK)
    return tuple(outcomes)


def _assigned(statement: Statement, names: tuple[str, ...], view: View, forced: bool) -> tuple[Outcome, ...]:
    node, name = statement.node, names[0]
    value = assigned(node)
    assert value is not None  # it has targets
    composer = Composer(view, forced)
    if not forced and _has_only_names(node) and _makes_functions(node, value, names, view):
        return _function(statement, value, names, view, composer)
    if forced or all(map(_is_constant_name, names)) or _is_annotated(node, _FINAL, view):
        if not _has_only_names(node):
            return leave(view, names)
        if len(names) == 1 and _is_type_making(node, value, view):
            return (composer.compose(statement, Kind.VALUE, names),)
        if not forced and not reads_of(node).load.isdisjoint(names):
            # `NUM = NUM + 1`: its statement cannot run again, and its value can be written.
            ends = ((each, f"{_MADE_FROM_ITSELF}; %keep {each} keeps it as it is now") for each in names)
            left = tuple(outcome for each, end in ends for outcome in leave(view, (each,), end))
            return left or (NotKept(", ".join(names), _MADE_FROM_ITSELF, forceable=True),)
        unpacks = isinstance(node, ast.Assign) and any(isinstance(t, ast.Tuple | ast.List) for t in node.targets)
        why = None if forced else why_impure(value, composer, unpacks=unpacks)
        if why is None:
            return (composer.compose(statement, Kind.VALUE, names),)
        return (NotKept(", ".join(names), why, forceable=True), *leave(view, names, why))
    if len(names) > 1 or not _has_only_names(node):
        return leave(view, names)
    if name in view.kept and name not in view.changed and _is_alias(value):
        return ()  # `g = f`, `f = g`: it is what it was
    if _is_type_making(node, value, view) or _is_function_alias(value, name, view):
        outcome = composer.compose(statement, Kind.VALUE, names)
        # A variable that happens to hold a class or function is no failed definition: it stays a plain one, unsaid.
        return leave(view, names) if isinstance(outcome, NotKept) and _is_alias(value) else (outcome,)
    known = view.kept.get(name)
    is_followed = known is not None and known.kind is Kind.VALUE and name not in view.functions
    is_followed = is_followed and not view.dependents(name)
    if is_followed and not why_impure(value, composer):
        return (composer.compose(statement, Kind.VALUE, names),)  # kept by %keep, or for what is gone
    return leave(view, names)


def _makes_functions(node: ast.stmt, value: ast.expr, names: tuple[str, ...], view: View) -> bool:
    """Whether `node` sets each of its names to a function that it makes, as `f, g = lambda …, lambda …` does."""
    live = view.namespace
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            return len(targets) == len(values) == len(names) and all(
                makes_function(part, live[name], live) for part, name in zip(values, names, strict=True)
            )
    return makes_function(value, live[names[0]], live)


def _function(
    statement: Statement, value: ast.expr, names: tuple[str, ...], view: View, composer: Composer
) -> tuple[Outcome, ...]:
    """What becomes of `f = lambda …` and of `f = jit(g)`, which made a function or a class."""
    own = frozenset(name for name in names if name in view.kept or (name in view.shipped and name not in view.lost))
    why = why_impure(value, composer, makers(value, view.namespace), own)
    # A known maker of types is asked for no purity: `Point = namedtuple("Point", FIELDS)`.
    if why is None or (len(names) == 1 and _is_type_making(statement.node, value, view)):
        made = composer.compose(statement, Kind.VALUE, names)
    else:
        made = NotKept(", ".join(names), why, forceable=True)
    if not isinstance(made, NotKept) or names[0] in reads_of(statement.node).load:
        return (made,)  # of `f = wrap(f)` what the layer has is the better part, and no plain variable's past
    return (made, *leave(view, names, made.reason))


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
        if dotted(made) not in (None, written):
            return _is_function_alias(made, name, view)  # `h = g` after `g = f`
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
