"""Annotations that stand as text: what a type checker, or `get_type_hints`, reads in them. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .source import unwarned
from .tree import children


def quoted(annotation: ast.expr) -> Iterator[ast.expr]:
    """The expressions that stand as text in an annotation; in Literal and behind the type in Annotated it is data."""
    todo: list[ast.AST] = [annotation]
    while todo:
        node = todo.pop()
        match node:
            case ast.Constant(value=str(text)):
                try:
                    with unwarned():
                        yield ast.parse(text, mode="eval").body
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue  # not ours to complain of
            case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")):
                continue
            case ast.Subscript(
                value=ast.Name(id="Annotated") | ast.Attribute(attr="Annotated"), slice=ast.Tuple(elts=[first, *_])
            ):
                todo.append(first)
            case _:
                todo += children(node)
