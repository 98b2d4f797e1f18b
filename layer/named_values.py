"""What source puts together as a name and its value: by assignment, as an item, by a call that sets. Pure.

Knows the words by which calls set something, and not which names and values matter to whom.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from . import telling

NAMING = frozenset(
    {ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.AugAssign, ast.keyword, ast.Dict, ast.arguments, ast.Compare}
    | {ast.Tuple, ast.Call}
)
"""Types of the nodes that may have any."""


def named_values(part: ast.AST) -> Iterator[tuple[str, ast.expr | None, bool]]:
    """Every (name, value, whether it is sure to be its value) that one node puts together.

    By assignment, default, keyword argument, dict item, comparison, pair, or a call that sets.
    """
    match part:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _assigned(target, value)
        case (
            ast.AnnAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
            | ast.AugAssign(target=target, value=value)
        ):
            if name := _name(target):
                yield name, value, True
        case ast.keyword(arg=str(name), value=value):
            yield name, value, True
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, value, True
        case ast.arguments():
            positional = [*part.posonlyargs, *part.args]
            # Defaults belong to the last positional parameters.
            pairs = zip(reversed(positional), reversed(part.defaults), strict=False)
            yield from ((argument.arg, value, True) for argument, value in pairs)
            yield from ((a.arg, v, True) for a, v in zip(part.kwonlyargs, part.kw_defaults, strict=True))
        case ast.Compare(left=left, comparators=[value]):
            # What a token is compared with is mostly a word of some grammar.
            if (name := _name(left)) and not name.lower().endswith(("token", "tokens")):
                yield name, value, True
        case ast.Tuple(elts=[ast.Constant(value=str(name)), value]):
            yield name, value, False
        case ast.Call(args=[_, *_]):
            yield from _given(part)


def _given(call: ast.Call) -> Iterator[tuple[str, ast.expr, bool]]:
    """Names and values that a call is given side by side: `setdefault("MY_TOKEN", "…")`."""
    called = called_by(call)
    first, *others = call.args[1:] if called == "setattr" and len(call.args) == 3 else call.args
    if not (isinstance(first, ast.Constant) and isinstance(first.value, str)):
        return
    name = first.value.lstrip("-")
    if called == "run_line_magic" and name in ("env", "set_env"):  # what %env is inside a definition
        match others:
            case [ast.Constant(value=str(line))]:
                name, _, given = line.replace("=", " ", 1).partition(" ")
                yield name, ast.Constant(given.strip()), True
        return
    sure = called in telling.SETTING
    others += [keyword.value for keyword in call.keywords if keyword.arg == "default"]
    for value in others[-1:] if called in ("add_argument", "add_option", "option") else others[:1]:
        yield name, value, sure


def called_by(call: ast.Call) -> str:
    """The last name of what is called."""
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr, bool]]:
    if isinstance(target, ast.Tuple | ast.List):
        # Value by value where they can be told apart; else any of them may be under any name.
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        paired = len(values) == len(target.elts) and not any(
            isinstance(e, ast.Starred) for e in (*target.elts, *values)
        )
        for number, element in enumerate(target.elts):
            yield from _assigned(element, values[number] if paired else value)
    elif isinstance(target, ast.Starred):
        yield from _assigned(target.value, value)
    elif name := _name(target):
        yield name, value, True


def _name(target: ast.expr) -> str | None:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return None
