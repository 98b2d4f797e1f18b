"""How a definition goes live: one function for all of it, and the record of which text is live under each name.

A cell's statement has put its object in place already; boot, and whatever later puts back another text, runs that text
in the user's namespace under its file's path, so that tracebacks and `inspect` show the file.
"""

from __future__ import annotations
import __future__

import ast
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import partial
from types import CodeType, MappingProxyType
from typing import Any, TypeAlias

from .binding import bound_names
from .definition import Definition, Kind
from .slots import fact
from .source import unwarned
from .view import ATOMS, MISSING, RESERVED, class_dict, equal, value_of


@fact
class InPlace:
    """The statement that defined it has just run: the live object is there."""


@fact
class FromText:
    """Run `text`, the whole of a definition's file, as the code of `filename`."""

    text: str
    filename: str
    lazy_annotations: bool = False  # as under `from __future__ import annotations`
    compiled: Compiled | None = None  # what `text` was compiled to, without lazy annotations; None where it is to be


@fact
class Compiled:
    """A definition's file as it runs, and the names that it binds."""

    code: CodeType
    imported: frozenset[str]  # by import statements at its top level
    bound: frozenset[str]  # all of them


def compile_file(
    text: str, filename: str, *, lazy_annotations: bool = False, tree: ast.Module | None = None
) -> Compiled:
    """Compile the whole of a definition's file, of which `tree` is the tree if that is known. Raises as `compile`."""
    flags = __future__.annotations.compiler_flag if lazy_annotations else 0
    with unwarned():
        if tree is None:
            tree = ast.parse(text, filename)
        code = compile(tree, filename, "exec", flags=flags, dont_inherit=True)
    imported = bound_names(node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    return Compiled(code, imported, bound_names(tree.body))


Way: TypeAlias = InPlace | FromText


class Image:
    """What is live in one kernel's namespace, and from which definition."""

    def __init__(self, namespace: MutableMapping[str, object]) -> None:
        self.namespace = namespace
        self._live: dict[str, Definition] = {}
        self.live = MappingProxyType(self._live)  # by every name a definition gives
        self.loaded: dict[str, Definition] = {}  # by name, what was loaded from a file last, and not defined by a cell
        self.functions: set[str] = set()  # the names whose value could be called when marked
        self._then: Mapping[str, object] | None = None  # the namespace as it was when that happened which is noted now
        self._same: dict[str, Callable[[object], bool]] = {}  # whether a value is what the name had when marked

    @contextmanager
    def noting(self, then: Mapping[str, object]) -> Iterator[None]:
        """In the block it is only noted what has been done, when the namespace was as `then`."""
        self._then = then
        try:
            yield
        finally:
            self._then = None

    def install(self, definition: Definition, way: Way, names: Collection[str] | None = None) -> None:
        """Make `definition` the live one under its names, or under those in `names` alone.

        Raises whatever running the text raises; then the record is as before, though imports may have been bound.
        """
        names = definition.gives if names is None else names
        if isinstance(way, FromText):
            self._run(definition, way)
            self.loaded.update(dict.fromkeys(names, definition))
        self._become_live(definition, names)

    def was_loaded(self, definition: Definition) -> None:
        """As `install`, of what has been run from its file already."""
        self.loaded.update(dict.fromkeys(definition.gives, definition))
        self._become_live(definition, definition.gives)

    def _become_live(self, definition: Definition, names: Collection[str]) -> None:
        for name in names:
            self._live[name] = definition
            self.mark(name)

    def defer(self, definition: Definition, hide: Collection[str] = ()) -> None:
        """`definition` is the live one under its names, though it is loaded later: what these are now is its own.

        What there was before under a name in `hide` is nobody's any more.
        """
        for name in definition.gives:
            if name in hide and self._then is None:
                self.namespace.pop(name, None)
            self._live[name] = definition
            self.mark(name)
            if definition.kind is not Kind.VALUE:
                self.functions.add(name)

    def put_back(self, definition: Definition, values: Mapping[str, object]) -> None:
        """`definition`, which is deferred, has not been loaded after all: those of its names are `values` again."""
        for name, value in values.items():
            if value is not MISSING:
                self.namespace[name] = value
            elif name.isidentifier():
                self.namespace.pop(name, None)
            self.mark(name)
            if definition.kind is not Kind.VALUE:
                self.functions.add(name)

    def forget(self, name: str) -> None:
        """The name is no definition any more; its object, if there is one, is left alone."""
        self._live.pop(name, None)
        self._same.pop(name, None)
        self.functions.discard(name)

    def remove(self, name: str) -> None:
        """Take the live object of the definition `name` away. What is registered as `f@Type` cannot be: it stays."""
        owner, dot, attribute = name.partition(".")
        if not dot:
            self.namespace.pop(name, None)
        elif attribute in class_dict(self.namespace.get(owner)):
            type.__delattr__(self.namespace[owner], attribute)  # a class, as just asked

    def take_back(self, definition: Definition) -> None:
        """The definition is not to be live after all, if it is."""
        for name in definition.gives:
            if self._live.get(name) is definition:
                self.remove(name)
                self.forget(name)

    def mark(self, name: str) -> None:
        """Take what the definition's `name` is now for the definition's own."""
        live = value_of(name, self.namespace if self._then is None else self._then)
        (self.functions.add if callable(live) else self.functions.discard)(name)
        if name in self._live:
            self._same[name] = _telling(live)

    def lose(self, name: str) -> None:
        """What the definition's `name` is now, and is later, is none of it."""
        self._same.pop(name, None)

    def is_other(self, name: str) -> bool:
        """Whether `name` is another object than when it was marked last; one never marked is."""
        same = self._same.get(name)
        return same is None or not same(value_of(name, self.namespace))

    def _run(self, definition: Definition, way: FromText) -> None:
        compiled = way.compiled
        if compiled is None or way.lazy_annotations:
            compiled = compile_file(way.text, way.filename, lazy_annotations=way.lazy_annotations)
        self.running(compiled.code, self.foreign_names(definition, compiled.imported, compiled.bound))()

    def running(self, code: CodeType, foreign: Collection[str]) -> Callable[[], None]:
        """What runs `code` in the namespace when it is called, and puts back what is under the names `foreign`."""
        namespace: Any = self.namespace
        if not foreign:
            return partial(exec, code, namespace)

        def run() -> None:
            before = {name: namespace.get(name, MISSING) for name in foreign}
            try:
                exec(code, namespace)
            finally:
                for name, value in before.items():
                    if value is MISSING:
                        namespace.pop(name, None)
                    else:
                        namespace[name] = value

        return run

    def foreign_names(self, definition: Definition, imported: frozenset[str], bound: frozenset[str]) -> frozenset[str]:
        """The names that the file of `definition` sets on its way but that other definitions give."""
        # `from math import sqrt`, though sqrt is a function of the user's own since.
        foreign = imported & self._live.keys()
        own = bound - imported
        # `A, B = 1, 2` after a new A; of what a hand wrote beside a definition, what another one gives.
        foreign |= own if definition.names else (own & self._live.keys()) | (own & RESERVED)
        if definition.kind is Kind.METHOD:
            foreign |= {"_"}  # of `@f.register` over `def _`; the last value is the user's
        return foreign - {*definition.gives}


def _telling(live: object) -> Callable[[object], bool]:
    """How to tell `live` again without keeping a user's data alive.

    An id() alone does not do: a function that a loop defines twice may lie where the first one lay.
    """
    if type(live) in ATOMS:
        return lambda other: equal(live, other)
    try:
        reference = weakref.ref(live)
    except TypeError:
        identity = id(live)
        return lambda other: id(other) == identity
    return lambda other: reference() is other
