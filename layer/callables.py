"""Which calls and lambdas make a function: `f = lambda …`, `f = partial(…)`, `f = jit(g)` (DESIGN §3). Pure.

An object that merely can be called is none: a model that was built and then trained is data, and brought back untrained
it would be silently wrong. So the result is to be a function by its type, or to be made from one.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, MethodType

from .source import dotted
from .view import class_dict, followed, own_dict

_WRAPPER = type(functools.lru_cache(lambda: None))
FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, _WRAPPER, functools.partial)
_MADE = (*FUNCTIONS, operator.itemgetter, operator.attrgetter, operator.methodcaller)
_PUT = (*FUNCTIONS, property, classmethod, staticmethod, functools.partialmethod, functools.cached_property)


def makes_function(value: ast.expr, live: object, names: Mapping[str, object]) -> bool:
    """Whether `value`, which gave `live`, is an expression that makes a function or class; `names` are the globals."""
    if isinstance(value, ast.Lambda):
        return callable(live)
    if isinstance(value, ast.Attribute) and dotted(value) is None:
        return issubclass(type(live), FUNCTIONS)  # `re.compile("…").match`
    if not isinstance(value, ast.Call) or not callable(live):
        return False
    if issubclass(type(live), type):
        # Others are asked for: `kind = type(x)`. One that was made here says so.
        return class_dict(live).get("__module__") == "__main__" and dotted(value.func) != "type"
    return issubclass(type(live), _MADE) or _takes_function(value, names)


def makes_method(value: ast.expr, live: object, names: Mapping[str, object]) -> bool:
    """Whether `value`, put on a class as `live`, is there to be called or got as a method or property is."""
    if isinstance(value, ast.Name | ast.Attribute | ast.Lambda):
        return issubclass(type(live), _PUT)
    if isinstance(value, ast.Call):
        return issubclass(type(live), _PUT) or _takes_function(value, names)
    return False


def makers(value: ast.expr, names: Mapping[str, object]) -> frozenset[int]:
    """The id() of each call in `value` whose result is a function, or handed on to make one."""
    found: set[int] = set()
    todo = [*value.elts] if isinstance(value, ast.Tuple) else [value]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            found.add(id(node))
            todo += [part for part in _arguments(node) if isinstance(part, ast.Call) and _takes_function(part, names)]
            todo.append(node.func)
    return frozenset(found)


def _takes_function(call: ast.Call, names: Mapping[str, object]) -> bool:
    """Whether a function is handed to `call`, or to what is called by it: `wraps(f)(g)`."""
    if isinstance(call.func, ast.Call) and _takes_function(call.func, names):
        return True
    return any(_is_function(part, names) for part in _arguments(call))


def _is_function(node: ast.expr, names: Mapping[str, object]) -> bool:
    if isinstance(node, ast.Lambda):
        return True
    if isinstance(node, ast.Call):
        return _takes_function(node, names)
    live = followed(dotted(node) or "", names, into_classes=True)
    # What wraps a function says so, whatever its type is.
    return issubclass(type(live), FUNCTIONS) or "__wrapped__" in own_dict(live)


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]
