"""Which global names a statement reads, and when: as it loads, in its annotations, or when what it defines is called.

Pure and syntactic: no namespace is looked at. The rules are those of the language reference, "Naming and binding":
a function body runs later, a class body runs now, a comprehension has a scope of its own but for its first iterable,
and the annotation of a local variable is never evaluated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from typing import Any, TypeAlias

from .binding import (
    COMPREHENSIONS,
    Scope,
    ScopeKind,
    arguments_of,
    bind,
    bind_import,
    bind_pattern,
    called_names,
    outer_parts,
    walruses,
)
from .quoted import quoted
from .slots import fact
from .source import dotted
from .tree import children

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@fact
class Reads:
    """Global names by when they are read; a name may stand in several."""

    load: frozenset[str]
    annotation: frozenset[str]  # evaluated late or never, or where a NameError can be mended
    call: frozenset[str]
    dotted: frozenset[str]  # attribute chains that begin at a global name: `a.b.c` and, of it, `a.b`
    calls: Mapping[str, int]  # what loading calls, `f` or `A.m` → how often in a row: 2 for `f(1)(2)` and `@f(1)`
    awaits: bool = False  # loading awaits, which only a cell can

    @property
    def all(self) -> frozenset[str]:
        return self.load | self.annotation | self.call


def reads_of(*statements: ast.stmt, futures: Iterable[str] = ()) -> Reads:
    """What the statements, one after another, read of the globals that they do not set first themselves."""
    reader = _Reader("annotations" in futures)
    module = Scope(ScopeKind.MODULE)
    reader.run(statements, module, When.LOAD)
    return reader.reads(module.names)


def reads_of_body(function: _Function | ast.Lambda, calls: int, own: str | None = None) -> Reads:
    """What the body of `function` reads, with `load` for what it reads when called `calls` times in a row.

    The second call is that of a function defined in the body and returned: `@f(1)` calls `f`, and what it gave.
    `own` is a name that is not counted, as the function's own.
    """
    reader = _Reader(lazy=False, entered=calls)
    scope = Scope(ScopeKind.MODULE, names={own} if own else set())
    if isinstance(function, ast.Lambda):
        reader.body([function.body], function.args, scope)
    else:
        reader.body(function.body, function.args, reader.type_parameters(function, scope, When.LOAD))
    return reader.reads()


class When(Enum):
    LOAD = auto()
    ANNOTATION = auto()
    CALL = auto()


class _Reader:
    """Walks statements in the order they run. Only what opens a scope recurses: source nests deeper than Python may."""

    def __init__(self, lazy: bool, entered: int = 0) -> None:
        self._found: dict[When, set[str]] = {when: set() for when in When}
        self._dotted: set[str] = set()
        self._calls: dict[str, int] = {}
        self._lazy = lazy  # as under `from __future__ import annotations`
        self._awaits = False
        self._entered = entered  # so many levels of function bodies are read as if they ran now
        self._called_inside: frozenset[str] = frozenset()  # functions inside one of those that it calls itself

    def reads(self, set_by_then: Iterable[str] = ()) -> Reads:
        """What was found; of what is read when called, `set_by_then` is no global that others have to give."""
        load, annotation, call = (frozenset(self._found[when]) for when in When)
        return Reads(load, annotation, call.difference(set_by_then), frozenset(self._dotted), self._calls, self._awaits)

    def run(self, nodes: Iterable[ast.AST | None], scope: Scope, when: When) -> None:
        todo = [*nodes][::-1]
        while todo:
            node = todo.pop()
            if node is None:
                continue
            look = _LOOKS.get(type(node))
            parts = children(node) if look is None else look(self, node, scope, when)
            todo += [*parts][::-1]

    def body(self, body: Iterable[ast.AST], arguments: ast.arguments, scope: Scope, *, runs: bool = True) -> None:
        """A function's body; `runs` where calling the function runs it, which of a coroutine's is not so."""
        inner = Scope(ScopeKind.FUNCTION, scope, {argument.arg for argument in arguments_of(arguments)})
        inner.names.add("__class__")  # the compiler gives it to functions in a class, for a bare super()
        bind(body, inner)
        before = self._entered, self._called_inside
        entered = self._entered if runs else 0
        self._entered = max(0, entered - 1)
        self._called_inside = called_names(body) if entered else frozenset()
        self.run(body, inner, When.LOAD if entered else When.CALL)
        self._entered, self._called_inside = before

    def type_parameters(self, node: ast.AST, scope: Scope, when: When) -> Scope:
        parameters = getattr(node, "type_params", None)
        if not parameters:
            return scope
        inner = Scope(ScopeKind.TYPE, scope, {parameter.name for parameter in parameters})
        # Bounds and defaults are evaluated when asked for, as annotations are read: late.
        for parameter in parameters:
            for part in ("bound", "default_value"):
                self._annotation(getattr(parameter, part, None), inner, when)
        return inner

    # One method for each node that is more than its parts. Each gives the parts that are still to be read in the same
    # scope and at the same time.

    def _name(self, node: ast.Name, scope: Scope, when: When) -> Iterable[ast.AST]:
        if isinstance(node.ctx, ast.Load):
            self._read(node.id, scope, when)
        elif scope.kind is not ScopeKind.FUNCTION:
            # In function scopes all names are bound beforehand; here they become local as they are set.
            scope.names.add(node.id) if isinstance(node.ctx, ast.Store) else scope.names.discard(node.id)
        return ()

    def _attribute(self, node: ast.Attribute, scope: Scope, when: When) -> Iterable[ast.AST]:
        chain = [node.attr]
        root = node.value
        while isinstance(root, ast.Attribute):
            chain.append(root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            return (root,)
        if self._read(root.id, scope, when):
            path = root.id
            for attribute in reversed(chain):
                path = f"{path}.{attribute}"
                self._dotted.add(path)
        return ()

    def _call(self, node: ast.Call, scope: Scope, when: When) -> Iterable[ast.AST]:
        if when is When.LOAD:
            self._is_called(node.func, 1, scope)
        return (node.func, *node.args, *node.keywords)

    def _function(self, node: _Function, scope: Scope, when: When) -> Iterable[ast.AST]:
        self._decorators(node, scope, when)
        self.run(outer_parts(node.args), scope, when)
        inner = self.type_parameters(node, scope, when)
        for argument in arguments_of(node.args):
            self._annotation(argument.annotation, inner, when)
        self._annotation(node.returns, inner, when)
        scope.names.add(node.name)
        before = self._entered
        self._entered = max(before, node.name in self._called_inside)
        self.body(node.body, node.args, inner, runs=isinstance(node, ast.FunctionDef))
        self._entered = before
        return ()

    def _lambda(self, node: ast.Lambda, scope: Scope, _: When) -> Iterable[ast.AST]:
        self.body([node.body], node.args, scope)
        return outer_parts(node.args)

    def _class(self, node: ast.ClassDef, scope: Scope, when: When) -> Iterable[ast.AST]:
        self._decorators(node, scope, when)
        inner = self.type_parameters(node, scope, when)
        self.run((*node.bases, *node.keywords), inner, when)
        if when is When.LOAD:
            for base in node.bases:
                self._is_called(base, 1, inner, ".__init_subclass__")
            for keyword in node.keywords:
                if keyword.arg == "metaclass":
                    for method in ("__prepare__", "__new__", "__init__"):
                        self._is_called(keyword.value, 1, inner, f".{method}")
        self.run(node.body, Scope(ScopeKind.CLASS, inner, {"__module__", "__qualname__"}), when)
        scope.names.add(node.name)
        return ()

    def _comprehension(self, node: Any, scope: Scope, when: When) -> Iterable[ast.AST]:
        generators: list[ast.comprehension] = node.generators
        self.run([generators[0].iter], scope, when)
        scope.names.update(walruses(node))
        inner = Scope(ScopeKind.FUNCTION, scope)
        bind((generator.target for generator in generators), inner)
        for number, generator in enumerate(generators):
            self.run((generator.iter if number else None, generator.target, *generator.ifs), inner, when)
        self.run((node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,), inner, when)
        return ()

    def _annotated(self, node: ast.AnnAssign, scope: Scope, when: When) -> Iterable[ast.AST | None]:
        is_local = scope.kind is ScopeKind.FUNCTION
        self._annotation(node.annotation, scope, When.ANNOTATION if is_local else when)
        if node.value is None and isinstance(node.target, ast.Name):
            return ()  # declared, not set
        return (node.value, node.target)

    def _augmented(self, node: ast.AugAssign, scope: Scope, when: When) -> Iterable[ast.AST]:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id, scope, when)
        return (node.target, node.value)

    def _type_alias(self, node: Any, scope: Scope, when: When) -> Iterable[ast.AST]:
        self._annotation(node.value, self.type_parameters(node, scope, when), when)
        return (node.name,)

    def _await(self, node: ast.AST, _: Scope, when: When) -> Iterable[ast.AST]:
        self._awaits = self._awaits or when is When.LOAD
        return children(node)

    def _global(self, node: ast.Global, scope: Scope, _: When) -> Iterable[ast.AST]:
        scope.globals.update(node.names)
        return ()

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope, _: When) -> Iterable[ast.AST]:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self._lazy = self._lazy or any(alias.name == "annotations" for alias in node.names)
        bind_import(node, scope)
        return ()

    def _pattern(self, node: ast.AST, scope: Scope, _: When) -> Iterable[ast.AST]:
        bind_pattern(node, scope)
        return children(node)

    def _decorators(self, node: _Function | ast.ClassDef, scope: Scope, when: When) -> None:
        self.run(node.decorator_list, scope, when)
        if when is When.LOAD:
            for decorator in node.decorator_list:
                self._is_called(decorator, 1, scope)

    def _annotation(self, node: ast.expr | None, scope: Scope, when: When) -> None:
        if node is not None:
            self.run([node], scope, When.ANNOTATION if when is When.LOAD or self._lazy else when)
            self.run(quoted(node), scope, When.ANNOTATION)

    def _read(self, name: str, scope: Scope, when: When) -> bool:
        if scope.is_global(name):
            self._found[when].add(name)
            return True
        return False

    def _is_called(self, function: ast.expr, times: int, scope: Scope, method: str = "") -> None:
        while isinstance(function, ast.Call):
            function, times = function.func, times + 1
        name = dotted(function)
        if name is not None and scope.is_global(name.partition(".")[0]):
            name += method
            self._calls[name] = max(times, self._calls.get(name, 0))


_Look: TypeAlias = Callable[[_Reader, Any, Scope, When], Iterable[ast.AST | None]]
_LOOKS: dict[type[ast.AST], _Look] = {
    ast.Name: _Reader._name,
    ast.Attribute: _Reader._attribute,
    ast.Call: _Reader._call,
    ast.FunctionDef: _Reader._function,
    ast.AsyncFunctionDef: _Reader._function,
    ast.Lambda: _Reader._lambda,
    ast.ClassDef: _Reader._class,
    **dict.fromkeys(COMPREHENSIONS, _Reader._comprehension),
    ast.Assign: lambda _, node, *__: (node.value, *node.targets),
    ast.AnnAssign: _Reader._annotated,
    ast.AugAssign: _Reader._augmented,
    ast.NamedExpr: lambda _, node, *__: (node.value, node.target),
    ast.For: lambda _, node, *__: (node.iter, node.target, *node.body, *node.orelse),
    ast.AsyncFor: lambda _, node, *__: (node.iter, node.target, *node.body, *node.orelse),
    ast.Await: _Reader._await,
    ast.Global: _Reader._global,
    ast.Import: _Reader._import,
    ast.ImportFrom: _Reader._import,
    ast.ExceptHandler: _Reader._pattern,
    ast.MatchAs: _Reader._pattern,
    ast.MatchStar: _Reader._pattern,
    ast.MatchMapping: _Reader._pattern,
}
if hasattr(ast, "TypeAlias"):  # 3.12
    _LOOKS[ast.TypeAlias] = _Reader._type_alias
