"""A definition of several statements: what it begins with, and the stages put on it since. Pure.

`def f`, `f = wrap(f)`: the file has both, in the order they ran. Each text is stored once, whatever number of times it
ran: the same wrap twice is one stage.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from .given import base_of, given_by_all, owner_of, registration_types
from .scope import Reads, reads_of
from .source import Source, Statement, import_path, parse

_OVERLOAD = frozenset({"typing.overload", "typing_extensions.overload"})
_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@lru_cache(maxsize=256)
def parts_of(text: str) -> tuple[Statement, ...]:
    """The statements of a definition's text, with their exact texts."""
    return tuple(Source(text).statements(parse(text).body))


@lru_cache(maxsize=256)
def defining_statement(text: str) -> ast.stmt:
    """The statement that a definition begins with; stages, and what a hand put before it, are others."""
    body = parse(text).body
    names = given_by_all(body)
    return base_of(body, names[0]) if names else body[-1]


def has_part(text: str, part: str) -> bool:
    """Whether the statement `part` is one of those of `text`."""
    return part in text and any(each.text == part for each in parts_of(text))


def with_part(text: str, part: Statement) -> str:
    """`text` with the statement `part` behind it."""
    last = parts_of(text)[-1].node
    space = "\n\n\n" if isinstance(last, _BLOCKS) or isinstance(part.node, _BLOCKS) else "\n"
    return f"{text}{space}{part.text}"


def until_part(text: str, part: str) -> str:
    """`text` up to and with the statement `part`, which is one of its own."""
    parts = parts_of(text)
    number = next(i for i, each in enumerate(parts) if each.text == part)
    made = parts[0].text
    for each in parts[1 : number + 1]:
        made = with_part(made, each)
    return made


def reads_of_definition(*body: ast.stmt, futures: tuple[str, ...] = ()) -> Reads:
    """What a definition reads: as `reads_of`, with the types that a bare `@f.register` looks up as it loads."""
    reads = reads_of(*body, futures=futures)
    functions = [node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    types = frozenset().union(*map(registration_types, functions)) & reads.annotation
    return replace(reads, load=reads.load | types) if types else reads


def reads_itself(node: ast.stmt, name: str) -> bool:
    """Whether `node`, which gives `name`, reads what that was as it loads: `f = wrap(f)`, `Foo.m = wrap(Foo.m)`."""
    if owner_of(name) and isinstance(node, ast.Assign):
        return name in reads_of(ast.Expr(node.value)).dotted
    return name in reads_of(node).load


def is_overload(node: ast.stmt, path_of: Callable[[str], str | None]) -> bool:
    """Whether `node` is one of the signatures of an overloaded function, of which more and the body are to follow."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else []
    return any(import_path(decorator, path_of) in _OVERLOAD for decorator in decorators)
