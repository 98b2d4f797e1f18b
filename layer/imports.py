"""What every import bound, and which imports a definition therefore carries (DESIGN §3, Imports).

The record is believed only as long as the live value is what its statement would give again. `__module__` is not
trusted: it names private paths, and constants have none. Knows modules only as values handed in.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, ModuleType

from .slots import fact
from .tree import children

_MISSING = object()
# What `%pylab` binds, of one name the plainest import first; with --no-import-all fewer of them give what is live.
_PYLAB = """
import numpy, matplotlib
import numpy as np, matplotlib.pyplot as plt
from matplotlib import pylab, mlab, pyplot
from numpy import *
from matplotlib.pyplot import *
from numpy.random import *
from numpy.linalg import *
from numpy.fft import *
from matplotlib.pylab import *
"""
# Their identity says nothing of where they come from: one object may serve any number of names.
_SHARED = (int, bool, str, bytes, type(None), type(Ellipsis))


@fact
class ImportEntry:
    """One binding that an import statement made."""

    binding: str
    module: str
    attribute: str | None  # None where the binding is the module, or the top of its dotted path
    renamed: bool = False

    @property
    def statement(self) -> str:
        """The shortest statement that makes this binding alone."""
        if self.attribute is None:
            return f"import {self.module} as {self.binding}" if self.renamed else f"import {self.module}"
        name = f"{self.attribute} as {self.binding}" if self.renamed else self.attribute
        return f"from {self.module} import {name}"

    @property
    def path(self) -> str:
        """What it binds: equal for any two statements that mean the same."""
        if self.attribute is not None:
            return f"{self.module}.{self.attribute}"
        return self.module if self.renamed else self.binding

    @property
    def is_plain(self) -> bool:
        """Whether it is an `import a.b`, which binds `a` and adds to it."""
        return self.attribute is None and not self.renamed

    def gives(self, live: object, modules: Mapping[str, ModuleType], *, or_newer: bool = False) -> bool:
        """Whether running the statement again would bind `live`, `or_newer` what its module has in its place now."""
        if self.attribute is None:
            path = self.module if self.renamed else self.module.partition(".")[0]
            return modules.get(path, _MISSING) is live
        module = modules.get(self.module)
        value = _MISSING if module is None else _attribute(module, self.attribute)
        if value is live or (or_newer and _is_reloaded(value, live)):
            return True
        return modules.get(f"{self.module}.{self.attribute}", _MISSING) is live


class ImportRecord:
    """Binding → the import statements that made it, newest meaning wins."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[ImportEntry, ...]] = {}

    def note(self, entries: Iterable[ImportEntry]) -> None:
        """Remember the `entries` of one statement, which has just run.

        Of several for one binding (`try: import ujson as json`, else `import json`) the live value tells later which
        one it was.
        """
        bindings: dict[str, tuple[ImportEntry, ...]] = {}
        for entry in entries:
            bindings[entry.binding] = (*bindings.get(entry.binding, ()), entry)
        for binding, made in bindings.items():
            known = self._entries.get(binding, ())
            if known == made:
                continue  # as nearly always: many files import the same
            # `import a.b` and `import a.c` both bind `a`, and each adds a submodule to it.
            adds = all(entry.is_plain for entry in (*known, *made))
            self._entries[binding] = (*(other for other in known if adds and other not in made), *dict.fromkeys(made))

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def carried(
        self,
        name: str,
        live: object,
        dotted: Iterable[str],
        modules: Mapping[str, ModuleType],
        *,
        or_newer: bool = False,
    ) -> tuple[ImportEntry, ...]:
        """The imports by which a definition that reads `name` and the chains `dotted` gets `live`; none if unknown."""
        entries = [entry for entry in self._entries.get(name, ()) if entry.gives(live, modules, or_newer=or_newer)]
        plain = [entry for entry in entries if entry.is_plain]
        if len(plain) < len(entries):
            return (next(entry for entry in entries if not entry.is_plain),)
        if not plain:
            return ()
        chains = tuple(dotted)
        wanted = {entry.module for entry in plain if _is_used(entry.module, chains)} or {e.module for e in plain}
        # What another import brought in: `import email`, then `email.mime.text` by somebody's `import email.mime.text`.
        wanted |= {_submodule(chain, modules) for chain in chains}
        longest = (path for path in sorted(wanted) if not any(other.startswith(f"{path}.") for other in wanted))
        return tuple(ImportEntry(name, path, None) for path in longest)

    def last(self, name: str) -> tuple[ImportEntry, ...]:
        """The newest import of `name`, whatever the name is now."""
        return self._entries.get(name, ())[-1:]


def entries_of(statement: ast.stmt, modules: Mapping[str, ModuleType]) -> tuple[ImportEntry, ...]:
    """What the imports in `statement` bound at top level, those inside if, try, with and loops included.

    A star import stands for one `from m import name` for each name it gave.
    """
    return tuple(expanded(unexpanded_entries(statement), modules))


def unexpanded_entries(statement: ast.stmt) -> tuple[ImportEntry, ...]:
    """As `entries_of`, with one entry of the binding `*` for a star import."""
    return tuple(entry for node in _imports(statement) for entry in _entries(node))


def expanded(entries: Iterable[ImportEntry], modules: Mapping[str, ModuleType]) -> Iterator[ImportEntry]:
    """The entries, with those that star imports stand for now."""
    for entry in entries:
        if entry.binding == "*":
            yield from (ImportEntry(name, entry.module, name) for name in _star(modules.get(entry.module)))
        else:
            yield entry


def find(name: str, live: object, modules: Mapping[str, ModuleType]) -> ImportEntry | None:
    """The shortest public import that yields `live` as `name`, for a binding whose import was not seen.

    Looks under the same name and under the object's own; fewer dots win, then the shorter, then the alphabet.
    """
    kind = type(live)  # not isinstance: a proxy's __class__ is code of its own
    if issubclass(kind, ModuleType):
        paths = [path for path, module in list(modules.items()) if module is live and _is_public(path)]
        if not paths:
            return None
        path = min(paths, key=_rank)
        return ImportEntry(name, path, None, renamed=path != name)
    if kind in _SHARED:
        return None
    own = getattr(live, "__name__", None) if issubclass(kind, (type, FunctionType, BuiltinFunctionType)) else None
    for attribute in dict.fromkeys((name, own)):
        if not isinstance(attribute, str) or not attribute.isidentifier():
            continue
        paths = [
            path
            for path, module in list(modules.items())
            if _is_public(path)
            and issubclass(type(module), ModuleType)
            and vars(module).get(attribute, _MISSING) is live
        ]
        if paths:
            return ImportEntry(name, min(paths, key=_rank), attribute, renamed=attribute != name)
    return None


def is_pylab(statement: ast.stmt) -> bool:
    """Whether `statement` is what IPython makes of a `%pylab` line: star imports by another name."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("get_ipython")), "run_line_magic"), [name, *_])):
            return isinstance(name, ast.Constant) and name.value == "pylab"
    return False


@lru_cache(maxsize=1)
def _pylab_imports() -> list[ast.stmt]:
    return ast.parse(_PYLAB).body


def _imports(statement: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    if isinstance(statement, ast.Expr) and is_pylab(statement):
        for line in _pylab_imports():
            yield from _imports(line)
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield statement
    elif not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.expr):
        for child in children(statement):
            yield from _imports(child)


def _entries(node: ast.Import | ast.ImportFrom) -> Iterator[ImportEntry]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            binding = alias.asname or alias.name.partition(".")[0]
            yield ImportEntry(binding, alias.name, None, renamed=alias.asname is not None)
    elif node.level == 0 and node.module not in (None, "__future__"):
        for alias in node.names:
            binding = alias.asname or alias.name
            yield ImportEntry(binding, node.module, alias.name, renamed=binding != alias.name)


def _star(module: ModuleType | None) -> Iterable[str]:
    if module is None:
        return ()
    names = vars(module).get("__all__")
    if isinstance(names, list | tuple):
        return [name for name in names if isinstance(name, str)]
    return [name for name in vars(module) if not name.startswith("_")]


def _attribute(module: ModuleType, name: str) -> object:
    try:
        found = vars(module).get(name, _MISSING)
        return getattr(module, name, _MISSING) if found is _MISSING else found
    except Exception:  # a module's own __getattr__ may raise what it likes
        return _MISSING


def _is_reloaded(value: object, live: object) -> bool:
    """Whether `live` may be what `value` was before its module was loaded again, as %autoreload does."""
    kind = type(live)
    if not issubclass(kind, (type, FunctionType)) or type(value) is not kind:
        return False
    return all(getattr(value, name, None) == getattr(live, name, "") for name in ("__module__", "__qualname__"))


def _is_used(module: str, chains: tuple[str, ...]) -> bool:
    return any(chain == module or chain.startswith(f"{module}.") for chain in chains)


def _submodule(chain: str, modules: Mapping[str, ModuleType]) -> str:
    """The longest part of the attribute `chain` that is a module inside a package; its first name if none is."""
    path, *names = chain.split(".")
    for name in names:
        package, part = modules.get(path), modules.get(f"{path}.{name}", _MISSING)
        # `os.path` is in os whoever imports it: os is no package.
        if package is None or "__path__" not in vars(package) or vars(package).get(name) is not part:
            break
        path = f"{path}.{name}"
    return path


def _is_public(path: str) -> bool:
    return not path.startswith("_") and "._" not in path and not path.startswith("perdure.")


def _rank(path: str) -> tuple[int, int, str]:
    return (path.count("."), len(path), path)
