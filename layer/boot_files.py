"""The files of one boot as they were read: their facts, and what is asked of them on the way.

A file whose text is known from before is not parsed: its tree is made when somebody asks for it, which is seldom.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import CodeType, ModuleType

from .definition import Definition, RelPath
from .errors import UnreadableFile
from .facts import Facts, facts_of
from .given import base_of
from .imports import ImportRecord, expanded
from .install import Compiled, FromText, compile_file
from .naming import name_told_by
from .order import Loadable
from .scope import Reads
from .slots import fact
from .source import parse
from .view import RESERVED


@fact
class Known:
    """A file that was read by an earlier boot and has not changed since."""

    facts: Facts
    code: CodeType | None = None  # its own, None where that was not kept


class BootFile:
    """One file."""

    __slots__ = ("_code", "_node", "_tree", "facts", "path")

    def __init__(self, path: RelPath, facts: Facts, tree: ast.Module | None, code: CodeType | None) -> None:
        self.path = path
        self.facts = facts
        self._tree = tree
        self._code = code
        self._node: ast.stmt | None = None

    @property
    def text(self) -> str:
        return self.facts.text

    @property
    def definition(self) -> Definition:
        return self.facts.definition

    @property
    def reads(self) -> Reads:
        return self.facts.reads

    def node(self) -> ast.stmt:
        """The statement that the definition begins with."""
        if self._node is None:
            tree = parse(self.text) if self._tree is None else self._tree
            self._node = base_of(tree.body, self.definition.key)
        return self._node

    def loadable(self) -> Loadable:
        made = self.definition
        return Loadable(self.path, made.gives, self.reads, self.node, made.after, self.facts.may_change)

    def way(self, root: Path, *, lazy: bool) -> FromText:
        """How it goes live. Raises as `compile`."""
        filename, facts = str(root / self.path), self.facts
        if lazy:
            return FromText(facts.text, filename, lazy_annotations=True)
        if self._code is None:
            self._code = compile_file(facts.text, filename, tree=self._tree).code
        return FromText(facts.text, filename, compiled=Compiled(self._code, facts.imported, facts.bound))

    def note_imports(self, record: ImportRecord, modules: Mapping[str, ModuleType]) -> None:
        """Remember what its imports have bound: it has run."""
        for entries in self.facts.entries:
            record.note(expanded(entries, modules))


class BootFiles:
    """All files of a folder that can be read, and why the others cannot."""

    def __init__(
        self, files: Mapping[RelPath, bytes], known: Mapping[RelPath, Known], root: Path | None = None
    ) -> None:
        """`known` are those of `files` that need not be parsed; `root` is their folder if they are to be loaded."""
        self._root = root
        self.unreadable: dict[RelPath, str] = {}
        self.givers: dict[str, RelPath] = {}
        self._gives: dict[RelPath, tuple[str, ...]] = {}  # the names of files that others give
        self._files = {file.path: file for file in self._read(files, known)}

    def __iter__(self) -> Iterator[BootFile]:
        return iter(self._files.values())

    def __getitem__(self, path: RelPath) -> BootFile:
        return self._files[path]

    def names(self, path: RelPath) -> tuple[str, ...]:
        """The names that the file at `path` gives, as far as they can be told."""
        if path in self._files:
            return self._files[path].definition.gives
        return self._gives.get(path, (name_told_by(path),))

    def definition(self, path: RelPath) -> Definition | None:
        return self._files[path].definition if path in self._files else None

    def bound(self) -> Collection[str]:
        """All names that any of them binds."""
        return frozenset().union(*(file.facts.bound for file in self))

    def _read_one(self, path: RelPath, data: bytes) -> BootFile:
        """A file that is not known. Raises as `facts_of`."""
        facts, tree = facts_of(path, data)
        if self._root is None or any(each.package not in sys.stdlib_module_names for each in facts.needed):
            return BootFile(path, facts, tree, None)  # it may wait
        # A tree takes fifty times the memory of its code, and all files are read before the first is loaded.
        try:
            return BootFile(path, facts, None, compile_file(facts.text, str(self._root / path), tree=tree).code)
        except Exception:  # whoever loads it is told
            return BootFile(path, facts, None, None)

    def _read(self, files: Mapping[RelPath, bytes], known: Mapping[RelPath, Known]) -> Iterator[BootFile]:
        for path, data in sorted(files.items()):
            if (earlier := known.get(path)) is not None:
                file = BootFile(path, earlier.facts, None, earlier.code)
            else:
                try:
                    file = self._read_one(path, data)
                except UnreadableFile as error:
                    self.unreadable[path] = f"line {error.line}: {error.why}"
                    continue
                except RecursionError:
                    self.unreadable[path] = "it is nested too deeply to be read"
                    continue
            names = file.definition.gives
            if taken := RESERVED.intersection(names):
                self.unreadable[path] = f"{min(taken)} is the kernel's own"
                continue
            if twice := [name for name in names if name in self.givers]:
                self._gives[path] = names
                where = self.givers[twice[0]]
                self.unreadable[path] = f"{twice[0]} is defined in {where} too; remove one of the files"
                continue
            self.givers.update(dict.fromkeys(names, path))
            yield file
