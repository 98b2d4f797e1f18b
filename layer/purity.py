"""Whether an expression may be evaluated again at every boot: same result, nothing touched outside. Pure.

Literals, operators, comprehensions, lambdas, reads of what is kept or imported, calls known to be pure, and value
methods (`"a b".split()`). Known calls are told by the path they were imported under, so no user code is run to decide.

Reasons name names and nothing else of the source: they go into outputs, where a literal may be a secret.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Protocol

from .binding import bound_names
from .known import (
    ASKING_FOR_NOW,
    CALLED_BY,
    IMPURE_ATTRIBUTES,
    IN_ANY_ORDER,
    IN_STEP,
    KEPT_FOR_LATER,
    NOW,
    PURE_CALLS,
    PURE_METHODS,
    PURE_MODULES,
    RUNNING_ON,
    SET_METHODS,
    TO_ORDER,
)
from .source import dotted, import_path
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

    def is_set(self, name: str) -> bool:
        """Whether the name holds a set."""
        ...


_ANY_ORDER = "it puts a set in an order, which is another after a restart"


def why_impure(
    expression: ast.expr,
    names: Names,
    makers: frozenset[int] = frozenset(),
    own: frozenset[str] = frozenset(),
    *,
    unpacks: bool = False,
) -> str | None:
    """Why the expression cannot simply be evaluated again, as a clause (`it calls connect()`); None if it can.

    `makers` are the id() of calls that are to be made again whatever they do, as decorators are; `own` are names that
    will be there although they are not asked for; `unpacks` where the order of what it gives counts.
    """
    looker = _Looker(names, makers)
    return looker.look([expression], own) or (_ANY_ORDER if unpacks and looker.is_unordered(expression, own) else None)


class _Looker:
    def __init__(self, names: Names, makers: frozenset[int]) -> None:
        self._names = names
        self._makers = makers
        self._excused: set[int] = set()  # nodes whose order, or running on, goes nowhere: `sorted(list({…}))`

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
                case ast.ListComp() as node if self.is_unordered(node, local) and id(node) not in self._excused:
                    return _ANY_ORDER
                case ast.FormattedValue(value=value) | ast.Starred(value=value) as node if id(
                    node
                ) not in self._excused and self.is_unordered(value, local):
                    return _ANY_ORDER
                case ast.Set(elts=elements):
                    self._excuse(elements)
                    todo += elements[::-1]
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
        if id(node) in self._makers:
            return self.look((node.func, *arguments), local)
        path = self._import_path(node.func, local)
        if path is not None and _is_pure(path):
            if why := self._known_call(node, path, local):
                return why
            return self.look(arguments, local) or self._called_on_the_way(node, path, local)
        if path is None and isinstance(node.func, ast.Attribute) and node.func.attr in PURE_METHODS:
            root = node.func.value
            if node.func.attr == "join" and any(self.is_unordered(part, local) for part in node.args):
                return _ANY_ORDER
            if not isinstance(root, ast.Name) or root.id in local or self._names.is_data(root.id):
                return self.look((root, *arguments), local)
        if isinstance(node.func, ast.Lambda):
            return self.look((node.func, *arguments), local) or self._body(node.func, local)
        return f"it calls {_chain(node.func)}()"

    def _known_call(self, node: ast.Call, path: str, local: frozenset[str]) -> str | None:
        """Why a call of something pure is none with these arguments."""
        if path in RUNNING_ON and id(node) not in self._excused:
            return f"it calls {_chain(node.func)}()"
        if path in ASKING_FOR_NOW and any(map(_is_now, (*node.args, *(k.value for k in node.keywords)))):
            return f"it calls {_chain(node.func)}() for the time now"
        if path in IN_ANY_ORDER and not any(keyword.arg == "key" for keyword in node.keywords):
            self._excuse(node.args)
        elif path in TO_ORDER or path in IN_ANY_ORDER or path.startswith("itertools."):
            if path in IN_STEP:
                self._excuse([part for part in node.args if isinstance(part, ast.Call)])
            if id(node) in self._excused and path in ("builtins.list", "builtins.tuple"):
                self._excuse(node.args)
            elif any(self.is_unordered(part, local) for part in node.args):
                return _ANY_ORDER
        return None

    def _excuse(self, nodes: Iterable[ast.AST]) -> None:
        self._excused.update(map(id, nodes))

    def is_unordered(self, node: ast.expr, local: frozenset[str]) -> bool:
        """Whether going through `node` follows the order of a set, which strings have another of in each process."""
        todo: list[ast.expr] = [node]
        while todo:
            match todo.pop():
                case ast.Set(elts=elements):
                    if not all(map(_is_number, elements)):
                        return True
                case ast.SetComp():
                    return True
                case ast.Name(id=name):
                    if name not in local and self._names.is_set(name):
                        return True
                case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.BitXor() | ast.Sub(), right=right):
                    todo += (left, right)
                case ast.IfExp(body=body, orelse=orelse):
                    todo += (body, orelse)
                case ast.BoolOp(values=values):
                    todo += values
                case ast.ListComp(generators=generators) | ast.GeneratorExp(generators=generators):
                    todo += [generator.iter for generator in generators]
                case ast.Call(func=function, args=arguments):
                    path = self._import_path(function, local)
                    if path in ("builtins.set", "builtins.frozenset"):
                        match arguments:
                            case [ast.List(elts=elements) | ast.Tuple(elts=elements)] if all(map(_is_number, elements)):
                                pass
                            case [_, *_]:
                                return True
                    elif path in ("builtins.map", "builtins.filter"):
                        todo += arguments[1:]
                    elif path is None and isinstance(function, ast.Attribute) and function.attr in SET_METHODS:
                        todo.append(function.value)
        return False

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


def _chain(node: ast.expr) -> str:
    """What is called, by its names alone: `open(…).read`."""
    said = ""
    while True:
        match node:
            case ast.Name(id=name):
                return name + said
            case ast.Attribute(value=value, attr=name):
                node, said = value, f".{name}{said}"
            case ast.Call(func=value):
                node, said = value, f"(…){said}"
            case ast.Subscript(value=value):
                node, said = value, f"[…]{said}"
            case _:
                return f"(…){said}"


def _is_number(node: ast.expr) -> bool:
    """Whether the order of such in a set is the same in every process."""
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)


def _is_now(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple):
        return any(map(_is_now, node.elts))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.strip().lower() in NOW


def _is_pure(path: str) -> bool:
    module, _, name = path.rpartition(".")
    return path in PURE_CALLS or (module in PURE_MODULES and not name.startswith("_"))
