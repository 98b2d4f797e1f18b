"""`@fact`: a frozen, slotted dataclass that is quick to define. `@state`: one that can be changed.

`dataclass(frozen=True, slots=True)` writes and compiles seven methods for each class and makes the class twice: half a
millisecond, while a starting kernel defines dozens of them and uses few. Here the methods are common to all facts, and
`__init__`, the one that has to be a class's own, is compiled when a second instance is made: of many there is one. What
a fact can be asked is the same: it is compared, hashed, shown, copied, pickled and matched by its fields, and
`dataclasses.replace`, `fields` and `asdict` know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def fact(cls: type[_T]) -> type[_T]:
    """Make of `cls` a frozen class with a slot for each of its annotated fields. A fact inherits from no other."""
    return _made(cls, _COMMON | _FROZEN)


@dataclass_transform(field_specifiers=(field,))
def state(cls: type[_T]) -> type[_T]:
    """As `fact`, of what changes: its fields can be set, and it has no hash."""
    return _made(cls, _COMMON | {"__hash__": None})


def _made(cls: type[_T], methods: dict[str, object]) -> type[_T]:
    body = dict(vars(cls))
    names = tuple(cls.__annotations__)
    defaults = {name: body.pop(name) for name in names if name in body}
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    metaclass: Any = type(cls)
    made: Any = metaclass(cls.__name__, cls.__bases__, methods | body | {"__slots__": names, "__match_args__": names})
    made.__qualname__ = cls.__qualname__
    made.__dataclass_fields__ = _Fields(cls, defaults)
    # The fields as a tuple, or as the one value where there is only one: to compare and to hash is all it is for.
    made.__fact__ = staticmethod(attrgetter(*names) if names else lambda _: ())

    def first(self: object, *args: object, **kwargs: object) -> None:
        made.__init__ = second
        if len(args) + len(kwargs) == len(names) and kwargs.keys() == {*names[len(args) :]}:
            for name, value in zip(names, (*args, *(kwargs[name] for name in names[len(args) :])), strict=True):
                object.__setattr__(self, name, value)
        else:
            second(self, *args, **kwargs)

    def second(self: object, *args: object, **kwargs: object) -> None:
        made.__init__ = _init(made, defaults)
        made.__init__(self, *args, **kwargs)

    made.__init__ = first
    return made  # type: ignore[no-any-return]


def _init(cls: Any, defaults: dict[str, Any]) -> Callable[..., None]:
    """The `__init__` of a fact: its fields in order, with their defaults."""
    scope: dict[str, Any] = {}
    parameters, lines = [], []
    for name in cls.__slots__:
        scope[f"_set_{name}"] = getattr(cls, name).__set__
        default = defaults.get(name, MISSING)
        value = name
        if isinstance(default, Field) and default.default_factory is not MISSING:
            scope[f"_new_{name}"], scope["_unset"] = default.default_factory, MISSING
            parameters.append(f"{name}=_unset")
            value = f"_new_{name}() if {name} is _unset else {name}"
        elif default is not MISSING:
            scope[f"_default_{name}"] = default.default if isinstance(default, Field) else default
            parameters.append(f"{name}=_default_{name}")
        else:
            parameters.append(name)
        lines.append(f"\n _set_{name}(self, {value})")
    exec(f"def __init__(self, {', '.join(parameters)}):{''.join(lines) or ' pass'}", scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


class _Fields:
    """What `dataclasses` looks for in a class, made when it does."""

    def __init__(self, cls: type, defaults: dict[str, Any]) -> None:
        self._cls = cls
        self._defaults = defaults
        self._made: dict[str, Field[Any]] | None = None

    def __get__(self, _instance: object, _owner: type) -> dict[str, Field[Any]]:
        if self._made is None:
            like: Any = type(self._cls.__name__, (), {"__annotations__": self._cls.__annotations__} | self._defaults)
            self._made = dataclass(like).__dataclass_fields__
        return self._made


# What is common to all facts.


def _setattr(_self: object, name: str, _value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: object, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _eq(self: Any, other: Any) -> bool:
    return self.__fact__(self) == self.__fact__(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(self.__fact__(self))


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def _reduce(self: Any) -> tuple[type, tuple[object, ...]]:
    return type(self), tuple(getattr(self, name) for name in self.__slots__)


_COMMON: dict[str, object] = {"__eq__": _eq, "__repr__": _repr, "__reduce__": _reduce}
_FROZEN: dict[str, object] = {"__setattr__": _setattr, "__delattr__": _delattr, "__hash__": _hash}
