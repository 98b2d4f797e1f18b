"""What a decision may look at, and where each name in it comes from. Reads only; the namespace is the user's."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from types import GetSetDescriptorType, ModuleType
from typing import Any, TypeAlias

from .definition import Definition, Kind
from .imports import ImportEntry, ImportRecord, find
from .refused import Refused
from .slots import fact
from .source import Statement, assigned

MISSING = object()
# As the interpreter itself reads them: past what a metaclass, a class or a module may say.
_CLASS_DICT, _MRO = type.__dict__["__dict__"].__get__, type.__dict__["__mro__"].__get__
_MODULE_DICT = vars(ModuleType)["__dict__"].__get__
ATOMS = (int, bool, float, complex, str, bytes, type(None))
MODULE_NAMES = frozenset("__name__ __doc__ __file__ __spec__ __loader__ __package__ __builtins__ __builtin__".split())
"""Names that any module has, one way or the other."""
RESERVED = MODULE_NAMES | {"get_ipython"}
"""Names that no definition can have: without them the shell, or Python itself, does not go on."""


@fact
class Plain:
    """What last set a name, other than an import.

    `statement` is the assignment if it was one; trees of larger statements are not held on to. `identity` is the id()
    of the value: that would keep a user's data alive. So a changed id means a changed variable, and an equal one is
    checked further where that can be done.
    """

    statement: Statement | None
    identity: int


@fact
class Ambient:
    """The name is there in any kernel."""


@fact
class InLayer:
    """A definition of the layer or of a cells folder gives the name."""

    definition: Definition


@fact
class Imported:
    """Imports give the name."""

    entries: tuple[ImportEntry, ...]


@fact
class Variable:
    """A plain variable of this kernel; `statement` is its last assignment if that was seen and still holds."""

    statement: Statement | None


@fact
class Nowhere:
    """Nothing has the name now."""


Origin: TypeAlias = Ambient | InLayer | Imported | Variable | Nowhere


@fact
class View:
    """The state of one kernel as decisions see it."""

    namespace: Mapping[str, object]
    kept: Mapping[str, Definition]  # by every name a definition gives
    plain: Mapping[str, Plain]
    imports: ImportRecord
    modules: Mapping[str, ModuleType]
    ambient: Mapping[str, object]  # what the kernel itself put into the namespace
    shipped: Mapping[str, Definition] = field(
        default_factory=dict
    )  # live ones of cells folders, by every name they give
    origins: Mapping[str, str] = field(default_factory=dict)  # the folders of `shipped`, by the same names
    lost: AbstractSet[str] = frozenset()  # the names of `shipped` that a cell has set otherwise since, or deleted
    functions: Collection[str] = ()  # the kept names that could be called before the statement decided on
    waiting: Collection[str] = ()  # the names that are kept, or shipped, and are loaded when they are named
    altered: AbstractSet[str] = frozenset()  # the kept names whose values were changed in place since
    called_on: frozenset[str] = frozenset()  # the kept names of whose values the statement called methods
    changed: frozenset[str] = frozenset()  # the kept names that the statement decided on bound to another object
    refused: Refused = field(default_factory=Refused)  # what was not kept for looking like a secret

    def origin(self, name: str, dotted: Iterable[str] = ()) -> Origin:
        """Where `name` comes from; `dotted` are the attribute chains it is read in, which tell submodules."""
        live = self.namespace.get(name, MISSING)
        if live is MISSING:
            if name in self.waiting and (definition := self.kept.get(name) or self.shipped.get(name)) is not None:
                return InLayer(definition)
            known = name in self.ambient or hasattr(builtins, name) or name in MODULE_NAMES
            return Ambient() if known else Nowhere()
        if self.ambient.get(name, MISSING) is live or name in MODULE_NAMES:
            return Ambient()
        definition, plain = self.kept.get(name), self.plain.get(name)
        # A variable that was pulled in and has been set again since is a plain one: what it was is in the layer, for
        # the definition that was made with it.
        in_layer = definition if plain is None or not _is_older(definition, plain) else None
        if in_layer is not None and name not in self.imports:
            return InLayer(in_layer)
        # Where no statement set the name since, a module that was loaded again has the newer one.
        if entries := self.imports.carried(name, live, dotted, self.modules, or_newer=plain is None):
            return Imported(entries)
        if in_layer is not None:
            return InLayer(in_layer)
        if name in self.shipped and plain is None:
            return InLayer(self.shipped[name])
        if plain is None and name not in self.imports and (found := find(name, live, self.modules)):
            return Imported((found,))
        return Variable(plain.statement if plain is not None and _still_holds(plain, live) else None)

    def dependents(self, name: str) -> tuple[Definition, ...]:
        """The kept definitions that read `name` to load."""
        from .dependents import dependents  # here, as below: boot knows views, and decides nothing by them

        return dependents(name, self.kept.values())

    def callers(self, name: str) -> tuple[Definition, ...]:
        """The kept definitions that read `name` only when they are called."""
        from .dependents import callers

        return callers(name, self.kept.values())

    def import_path(self, name: str) -> str | None:
        """The import path `name` stands for: `numpy` for `np`, `builtins.len` for `len`; None if it is no import."""
        origin = self.origin(name)
        if isinstance(origin, Ambient):
            return f"builtins.{name}" if hasattr(builtins, name) else None
        if not isinstance(origin, Imported):
            return None
        entry = origin.entries[-1]
        if entry.attribute is not None:
            return f"{entry.module}.{entry.attribute}"
        return entry.module if entry.renamed else name


def class_dict(live: object) -> Mapping[str, object]:
    """What the class `live` itself has; nothing where it is none. Runs no code of a metaclass."""
    if not issubclass(type(live), type):
        return {}
    found: Mapping[str, object] = _CLASS_DICT(live)
    return found


def own_dict(value: object) -> Mapping[str, Any]:
    """The attributes that the instance `value` has itself, if they are in an ordinary `__dict__`. Runs no code."""
    for kind in _MRO(type(value)):
        if (descriptor := _CLASS_DICT(kind).get("__dict__")) is not None:
            own = descriptor.__get__(value) if type(descriptor) is GetSetDescriptorType else None
            return own if type(own) is dict else {}
    return {}


def followed(chain: str, namespace: Mapping[str, object], *, into_classes: bool = False) -> object:
    """What the attribute chain `a.b.c` is now as far as it goes through modules, else `MISSING`. Runs no code.

    Of a class it gives what stands there, which is not always what it has for others: a staticmethod, a property.
    """
    name, *attributes = chain.split(".")
    value = namespace.get(name, vars(builtins).get(name, MISSING))
    for attribute in attributes:
        if issubclass(type(value), ModuleType):
            value = _MODULE_DICT(value).get(attribute, MISSING)
        else:
            value = class_dict(value).get(attribute, MISSING) if into_classes else MISSING
    return value


def value_of(name: str, namespace: Mapping[str, object]) -> object:
    """What the name of a definition, `f` or `Foo.m`, is now; `MISSING` where it is nothing, as of `f@Type`."""
    owner, dot, attribute = name.partition(".")
    if not dot:
        return namespace.get(name, MISSING)
    return class_dict(namespace.get(owner)).get(attribute, MISSING)


def _is_older(definition: Definition | None, plain: Plain) -> bool:
    if definition is None or definition.kind is not Kind.VALUE:
        return False
    from .stages import has_part

    return plain.statement is None or not has_part(definition.text, plain.statement.text)


def _still_holds(plain: Plain, live: object) -> bool:
    if plain.statement is None or id(live) != plain.identity:
        return False
    return gives_again(plain.statement.node, live)


def gives_again(node: ast.stmt, live: object) -> bool:
    """Whether the assignment `node` would give `live` again, as far as that can be told without running it."""
    # The same list may have been filled since; literals can be compared with what they would give again.
    again = _literal(node)
    return again is MISSING or equal(again, live)


def is_literal(node: ast.stmt) -> bool:
    """Whether the assignment `node` sets a name to a literal."""
    return _literal(node) is not MISSING


def _literal(node: ast.stmt) -> object:
    value = assigned(node)
    if not isinstance(value, ast.List | ast.Dict | ast.Set | ast.Tuple | ast.Constant | ast.UnaryOp):
        return MISSING
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return MISSING


def _is_plain(item: object) -> bool:
    return type(item) in ATOMS or (type(item) is tuple and all(map(_is_plain, item)))


def equal(one: object, other: object) -> bool:
    """Equality of built-in values, without running any `__eq__` of the user's."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return len(one) == len(other) and all(
            equal(a, b) and equal(one[a], other[b]) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, set | frozenset) and isinstance(other, set | frozenset):
        return len(one) == len(other) and all(map(_is_plain, other)) and one == other
    if isinstance(one, float | complex):
        return repr(one) == repr(other)  # 0.0 is not -0.0
    return one == other
