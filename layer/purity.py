"""Whether an expression may be evaluated again at every boot: same result, nothing touched outside. Pure.

Literals, operators, comprehensions, lambdas, reads of what is kept or imported, calls known to be pure, and value
methods (`"a b".split()`). Known calls are told by the path they were imported under, so no user code is run to decide.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from .binding import bound_names
from .known import IMPURE_ATTRIBUTES, PURE_CALLS, PURE_METHODS, PURE_MODULES
from .source import dotted

PathOf: TypeAlias = Callable[[str], str | None]
"""A name → the import path that it stands for (`np` → `numpy`, `len` → `builtins.len`), None if it is no import."""

Readable: TypeAlias = Callable[[str], bool]
"""Whether a name will be there when the expression is evaluated at boot."""


def why_impure(expression: ast.expr, path_of: PathOf, readable: Readable) -> str | None:
    """Why the expression cannot simply be evaluated again, as a clause (`it calls connect()`); None if it can."""
    return _Looker(path_of, readable).look(expression, frozenset())


def import_path(node: ast.expr, path_of: PathOf) -> str | None:
    """The import path that the chain `node` leads to, None where its root is no import."""
    written = dotted(node)
    if written is None:
        return None
    root, _, rest = written.partition(".")
    path = path_of(root)
    return (f"{path}.{rest}" if rest else path) if path else None


class _Looker:
    def __init__(self, path_of: PathOf, readable: Readable) -> None:
        self._path_of = path_of
        self._readable = readable

    def look(self, node: ast.AST, local: frozenset[str]) -> str | None:
        match node:
            case ast.Name(id=name):
                return None if name in local or self._readable(name) else f"it reads {name}, which is not kept"
            case ast.Attribute():
                path = self._import_path(node, local)
                if path is not None and any(path == bad or path.startswith(f"{bad}.") for bad in IMPURE_ATTRIBUTES):
                    return f"it reads {dotted(node)}"
                return self.look(node.value, local)
            case ast.Call():
                return self._call(node, local)
            case ast.Lambda():
                return self._all((*node.args.defaults, *node.args.kw_defaults), local)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                targets = bound_names(
                    [ast.For(generator.target, generator.iter, [], []) for generator in node.generators]
                )
                return self._all(ast.iter_child_nodes(node), local | targets)
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                return "it awaits or yields"
            case ast.NamedExpr():
                return f"it sets {ast.unparse(node.target)} on the way"
        return self._all(ast.iter_child_nodes(node), local)

    def _all(self, nodes: object, local: frozenset[str]) -> str | None:
        for node in nodes:  # type: ignore[attr-defined]
            if node is not None and (why := self.look(node, local)):
                return why
        return None

    def _call(self, node: ast.Call, local: frozenset[str]) -> str | None:
        arguments = (*node.args, *node.keywords)
        path = self._import_path(node.func, local)
        if path is not None:
            module, _, name = path.rpartition(".")
            if path in PURE_CALLS or (module in PURE_MODULES and not name.startswith("_")):
                return self._all(arguments, local)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in PURE_METHODS:
            return self._all((node.func.value, *arguments), local)
        elif isinstance(node.func, ast.Lambda):
            return self._all((node.func, node.func.body, *arguments), local)
        return f"it calls {dotted(node.func) or ast.unparse(node.func)}()"

    def _import_path(self, node: ast.expr, local: frozenset[str]) -> str | None:
        written = dotted(node)
        if written is None or written.partition(".")[0] in local:
            return None
        return import_path(node, self._path_of)
