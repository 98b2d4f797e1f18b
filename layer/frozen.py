"""Which values nothing can have changed since they were made, told by their types alone."""

from __future__ import annotations

import datetime
import functools
import operator
import re
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from types import BuiltinFunctionType, EllipsisType, FunctionType, GenericAlias, MethodType, ModuleType, UnionType
from uuid import UUID

_FROZEN = (
    *(int, float, complex, str, bytes, type(None), EllipsisType, range, slice),
    *(type, FunctionType, BuiltinFunctionType, MethodType, ModuleType, GenericAlias, UnionType),
    *(functools.partial, operator.itemgetter, operator.attrgetter, re.Pattern),
    *(PurePath, datetime.date, datetime.time, datetime.timedelta, datetime.tzinfo, Decimal, Fraction, Enum, UUID),
)


def is_frozen(live: object) -> bool:
    """Whether `live` is sure to be what it was; runs no code of the user's."""
    if isinstance(live, tuple):
        return all(map(is_frozen, tuple.__iter__(live)))
    if isinstance(live, frozenset):
        return all(map(is_frozen, frozenset.__iter__(live)))
    kind = type(live)
    return issubclass(kind, _FROZEN) or any(
        base.__module__ == "numpy" and base.__name__ in ("generic", "dtype") for base in kind.__mro__
    )
