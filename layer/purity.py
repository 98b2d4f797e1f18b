"""Whether an expression may be evaluated again at every boot: same result, nothing touched outside. Pure.

Literals, operators, comprehensions, lambdas, reads of what is kept or imported, calls known to be pure, and value
methods (`"a b".split()`). Known calls are told by the path they were imported under, so no user code is run to decide.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Protocol

from .binding import bound_names
from .known import CALLED_BY, IMPURE_ATTRIBUTES, KEPT_FOR_LATER, PURE_CALLS, PURE_METHODS, PURE_MODULES
from .source import dotted
from .tree import children, walk


class Names(Protocol):
    """What has to be known of the names in an expression."""

    def import_path(self, name: str) -> str | None:
        """The import path that `name` stands for (`np` → `numpy`, `len` → `builtins.len`), None if it is no import."""
        ...

    def readable(self, name: str) -> bool:
        """Whether the name will be there when the expression is evaluated at boot."""
        ...

    def is_data(self, name: str) -> bool:
        """Whether the name holds a value whose methods are not the user's own code."""
        ...


def why_impure(expression: ast.expr, names: Names) -> str | None:
    """Why the expression cannot simply be evaluated again, as a clause (`it calls connect()`); None if it can."""
    return _Looker(names).look([expression], frozenset())


def import_path(node: ast.expr, path_of: Callable[[str], str | None]) -> str | None:
    """The import path that the chain `node` leads to, None where its root is no import."""
    written = dotted(node)
    if written is None:
        return None
    root, _, rest = written.partition(".")
    path = path_of(root)
    return (f"{path}.{rest}" if rest else path) if path else None


class _Looker:
    def __init__(self, names: Names) -> None:
        self._names = names

    def look(self, nodes: Iterable[ast.AST | None], local: frozenset[str]) -> str | None:
        """Why one of `nodes` is not pure; `local` are names that the expression itself binds around them."""
        todo = [*nodes][::-1]  # not by recursion: a sum of a thousand terms is a thousand deep
        while todo:
            match todo.pop():
                case None:
                    pass
                case ast.Name(id=name) as node:
                    if name not in local and (why := self._name(node, name)):
                        return why
                case ast.Attribute(value=value) as node:
                    if self._is_impure(self._import_path(node, local)):
                        return f"it reads {dotted(node)}"
                    todo.append(value)
                case ast.Call() as node:
                    if why := self._call(node, local):
                        return why
                case ast.Lambda(args=arguments):
                    # What its body reads and calls is for the time when it is called.
                    todo += [*arguments.defaults, *arguments.kw_defaults]
                case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() as node:
                    targets = bound_names([generator.target for generator in node.generators])
                    if why := self.look(children(node), local | targets):
                        return why
                case ast.Await() | ast.Yield() | ast.YieldFrom():
                    return "it awaits or yields"
                case ast.NamedExpr(target=target):
                    return f"it sets {target.id} on the way"
                case node:
                    todo += [*children(node)][::-1]
        return None

    def _name(self, node: ast.Name, name: str) -> str | None:
        if not self._names.readable(name):
            return f"it reads {name}, which is not kept"
        return f"it reads {name}" if self._is_impure(self._import_path(node, frozenset())) else None

    def _call(self, node: ast.Call, local: frozenset[str]) -> str | None:
        arguments = (*node.args, *node.keywords)
        path = self._import_path(node.func, local)
        if path is not None and _is_pure(path):
            return self.look(arguments, local) or self._called_on_the_way(node, path, local)
        if path is None and isinstance(node.func, ast.Attribute) and node.func.attr in PURE_METHODS:
            root = node.func.value
            if not isinstance(root, ast.Name) or root.id in local or self._names.is_data(root.id):
                return self.look((root, *arguments), local)
        if isinstance(node.func, ast.Lambda):
            return self.look((node.func, *arguments), local) or self._body(node.func, local)
        return f"it calls {dotted(node.func) or ast.unparse(node.func)}()"

    def _called_on_the_way(self, node: ast.Call, path: str, local: frozenset[str]) -> str | None:
        """Why what a pure call is handed to call is not pure itself: `map(fetch, URLS)`, `sorted(rows, key=fetch)`."""
        if path in KEPT_FOR_LATER:
            return None
        place = CALLED_BY.get(path)
        handed = [*node.args[place : place + 1]] if place is not None else []
        handed += [keyword.value for keyword in node.keywords if keyword.arg in ("key", "func")]
        handed += [part for part in (*node.args, *(k.value for k in node.keywords)) if isinstance(part, ast.Lambda)]
        for function in handed:
            if isinstance(function, ast.Lambda):
                if why := self._body(function, local):
                    return why
            elif (written := dotted(function)) is not None and written not in local:
                called = self._import_path(function, local)
                if called is None or not (_is_pure(called) or called.rpartition(".")[2] in PURE_METHODS):
                    return f"it calls {written}()"
        return None

    def _body(self, function: ast.Lambda, local: frozenset[str]) -> str | None:
        arguments = [node.arg for node in walk([function.args]) if isinstance(node, ast.arg)]
        return self.look([function.body], local.union(arguments))

    @staticmethod
    def _is_impure(path: str | None) -> bool:
        return path is not None and any(path == bad or path.startswith(f"{bad}.") for bad in IMPURE_ATTRIBUTES)

    def _import_path(self, node: ast.expr, local: frozenset[str]) -> str | None:
        written = dotted(node)
        if written is None or written.partition(".")[0] in local:
            return None
        return import_path(node, self._names.import_path)


def _is_pure(path: str) -> bool:
    module, _, name = path.rpartition(".")
    return path in PURE_CALLS or (module in PURE_MODULES and not name.startswith("_"))
