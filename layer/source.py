"""A cell's source as statements with their exact text. Pure; knows no namespace.

Lines are split once, as bytes, on newlines alone: `ast` counts columns in UTF-8 bytes and lines as the tokenizer does,
and `str.splitlines` would also split at form feeds and Unicode separators inside strings.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

_COMMENT = re.compile(rb"[ \t\f]*#")
_CELL_MARK = re.compile(rb"[ \t\f]*#[ \t]*(%%|In\[)")  # what editors put between cells; says nothing of a definition
_TRAILING_COMMENT = re.compile(rb"[ \t\f]*#.*")


@contextmanager
def unwarned() -> Iterator[None]:
    """Compile without warnings, as of `"\\d"`: the text has run in a cell, where they were shown once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def parse(text: str) -> ast.Module:
    """The tree of a text that has run before. Raises what `ast.parse` raises, and warns of nothing."""
    with unwarned():
        return ast.parse(text)


@dataclass(frozen=True, slots=True)
class Statement:
    """One top-level statement of a cell."""

    node: ast.stmt
    text: str  # exact source with decorators, the comment block above and a comment behind
    futures: tuple[str, ...] = ()  # `from __future__` features in force when it was compiled


class Source:
    """Text with its lines at hand."""

    def __init__(self, text: str) -> None:
        self._lines = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "surrogatepass").split(b"\n")

    def statements(self, nodes: Sequence[ast.stmt], futures: tuple[str, ...] = ()) -> Iterator[Statement]:
        """The statements `nodes`, which were parsed from this text, in order."""
        above = 0  # the last line that belongs to an earlier statement
        for node in nodes:
            try:
                text = _decode(self._text_of(node, above))
                above = node.end_lineno or node.lineno
            except (AttributeError, IndexError):
                text = ast.unparse(node)  # made by an AST transformer of the user's: it stands nowhere
            yield Statement(node, text, futures)

    def segment(self, node: ast.stmt) -> str:
        """The node's own text, without comments around it."""
        return _decode(self._slice(node))

    def lines_from(self, line: int) -> str:
        """All from `line` (from 1) on, without newlines at the end."""
        return _decode(b"\n".join(self._lines[line - 1 :]).rstrip(b"\n"))

    def is_blank(self, line: int) -> bool:
        """Whether `line` (from 1) exists and holds white space alone."""
        return line <= len(self._lines) and not self._lines[line - 1].strip()

    def leading_comment(self) -> str:
        """The comment that opens the text, its marks taken off: a cell's note."""
        said: list[str] = []
        for line in self._lines:
            if not line.strip() and not said:
                continue
            if not _COMMENT.match(line) or _CELL_MARK.match(line):
                break
            said.append(_decode(line.strip()).lstrip("#").strip())
        return "\n".join(said).strip()

    def _text_of(self, node: ast.stmt, above: int) -> bytes:
        data = self._slice(node)
        end = (node.end_lineno or node.lineno) - 1
        behind = self._lines[end][node.end_col_offset or 0 :]
        if _TRAILING_COMMENT.fullmatch(behind):
            data += behind.rstrip()
        start = self._first_line(node)
        if self._lines[start - 1][: _first_column(node)].strip():
            return data  # it follows another statement on its line: a comment above is not its own
        comments = []
        line = start - 1
        while line > above and _COMMENT.match(self._lines[line - 1]) and not _CELL_MARK.match(self._lines[line - 1]):
            comments.append(self._lines[line - 1])
            line -= 1
        return b"\n".join([*reversed(comments), data])

    def _slice(self, node: ast.stmt) -> bytes:
        first, last = self._first_line(node) - 1, (node.end_lineno or node.lineno) - 1
        lines = self._lines[first : last + 1]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][_first_column(node) :]
        return b"\n".join(lines)

    def _first_line(self, node: ast.stmt) -> int:
        decorators = getattr(node, "decorator_list", None)
        if not decorators:
            return node.lineno
        line: int = decorators[0].lineno
        # A decorator's position is that of its expression; in parentheses that may be lines below its `@`.
        while line > 1 and not self._lines[line - 1].lstrip().startswith(b"@"):
            line -= 1
        return line


def bound_targets(node: ast.stmt) -> tuple[str, ...]:
    """The names that `node`, a def, class or plain assignment, is there to define; none for any other statement."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(dict.fromkeys(name for target in targets for name in _target_names(target)))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
            return (name,)
    # `type X = …` is a node of 3.12 and later.
    if type(node).__name__ == "TypeAlias":
        return (node.name.id,)  # type: ignore[attr-defined]
    return ()


def _target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _target_names(element)
        case ast.Starred(value=value):
            yield from _target_names(value)


def _first_column(node: ast.stmt) -> int:
    return 0 if getattr(node, "decorator_list", None) else node.col_offset


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
