"""Walking syntax trees quickly: every statement of every cell is walked, several times.

Nodes without fields (`Load`, `Add`, `Pass`) say nothing that their parents do not, and are left out; that, and making
no generators, is what `ast.iter_child_nodes` and `ast.walk` cost.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below `node`, in the order of its fields."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [part for part in value if isinstance(part, ast.AST) and part._fields]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """`nodes` and all below them, in no order that matters."""
    todo = list(nodes)
    while todo:
        node = todo.pop()
        yield node
        todo += children(node)
