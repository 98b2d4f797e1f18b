"""What runs when a definition loads beside its own text: functions that it calls, and those they call. Pure.

Followed by name through statements handed in: the body of a function called while loading, a lambda's, a class's
constructor; of what a function returns only what is called at once (`@route("/")`). What is called in other ways, as
through an object's attribute, is not seen: a file that fails for it is told at boot.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from .scope import Reads, reads_of_body
from .source import dotted

Defining: TypeAlias = Callable[[str], ast.stmt | None]
"""A name → the statement that defines it, None where that is not known or not to be followed."""

_MOST = 3  # calls in a row that are followed: enough for a decorated decorator with arguments

_MAKING = frozenset({"__new__", "__init__", "__post_init__", "__set_name__"})


class Running:
    """Follows calls; what one name runs is found out once."""

    def __init__(self, defining: Defining) -> None:
        self._defining = defining
        self._known: dict[tuple[str, int], tuple[frozenset[str], tuple[tuple[str, int], ...]]] = {}

    def reads(self, reads: Reads) -> frozenset[str]:
        """The names that what `reads` calls while loading reads as it runs."""
        found: set[str] = set()
        seen: set[tuple[str, int]] = set()
        todo = [*reads.calls.items()]
        while todo:
            name, times = todo.pop()
            call = (name, min(times, _MOST))
            if call not in seen:
                seen.add(call)
                names, calls = self._run(*call)
                found |= names
                todo += calls
        return frozenset(found)

    def _run(self, name: str, times: int) -> tuple[frozenset[str], tuple[tuple[str, int], ...]]:
        """What calling `name`, `f` or `A.m`, reads and calls."""
        if (name, times) not in self._known:
            root, _, method = name.partition(".")
            node = self._defining(root)
            bodies = [] if node is None else [*_bodies(node, method, times)]
            calls = [pair for body in bodies if isinstance(body, Reads) for pair in body.calls.items()]
            calls += [body for body in bodies if not isinstance(body, Reads)]
            names = frozenset().union(*(body.load for body in bodies if isinstance(body, Reads)))
            self._known[name, times] = names, tuple(calls)
        return self._known[name, times]


def _bodies(node: ast.stmt, method: str, times: int) -> Iterator[Reads | tuple[str, int]]:
    """What calling the thing that `node` defines, or its `method`, runs: reads of bodies, and calls of other names."""
    match node:
        case ast.FunctionDef() if not method:
            yield reads_of_body(node, times, node.name)
            # What is called is what the decorators gave: a function in their bodies.
            yield from (call for decorator in node.decorator_list for call in _call_of(decorator, times + 1))
        case ast.ClassDef():
            wanted = {method} if method else _MAKING
            own = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in wanted]
            yield from (reads_of_body(part, times) for part in own)
            if not own:
                for base in node.bases:
                    yield from _call_of(base, times, method)
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            if isinstance(value, ast.Lambda) and not method:
                yield reads_of_body(value, times)
            elif isinstance(value, ast.Call):
                if (dotted(value.func) or "").rpartition(".")[2] == "partial" and value.args:
                    yield from _call_of(value.args[0], times)
            else:
                yield from _call_of(value, times, method)


def _call_of(function: ast.expr, times: int, method: str = "") -> Iterator[tuple[str, int]]:
    while isinstance(function, ast.Call):
        function, times = function.func, times + 1
    if name := dotted(function):
        yield (f"{name}.{method}" if method else name), times
