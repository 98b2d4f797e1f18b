"""A cell's source as statements with their exact text. Pure; knows no namespace.

Lines are split once, as bytes, on newlines alone: `ast` counts columns in UTF-8 bytes and lines as the tokenizer does,
and `str.splitlines` would also split at form feeds and Unicode separators inside strings.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .slots import fact

_COMMENT = rb"[ \t\f]*#"
_CELL_MARK = rb"[ \t\f]*#[ \t]*(%%|In\[)"  # what editors put between cells; says nothing of a definition
_TRAILING_COMMENT = rb"[ \t\f]*#.*"


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


@fact
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
                data, end = self._text_of(node, above)
            except (AttributeError, IndexError):
                data, end = b"", 0
            above = max(above, end)
            # What an AST transformer of the user's made stands nowhere; IPython puts it at the start, without width.
            yield Statement(node, _decode(data) or ast.unparse(ast.fix_missing_locations(node)), futures)

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
            if not re.match(_COMMENT, line) or re.match(_CELL_MARK, line):
                break
            said.append(_decode(line.strip()).lstrip("#").strip())
        return "\n".join(said).strip()

    def _text_of(self, node: ast.stmt, above: int) -> tuple[bytes, int]:
        """The text of `node`, and the last line that it has a part of."""
        data = self._slice(node)
        end = node.end_lineno or node.lineno
        if not data:
            return data, above
        behind = self._lines[end - 1][node.end_col_offset or 0 :]
        if not behind.strip() or re.fullmatch(_TRAILING_COMMENT, behind):
            data += behind.rstrip()
            last = self._last_line(node, end)
            data = b"\n".join([data, *self._lines[end:last]])
            end = last
        start = self._first_line(node)
        before = self._lines[start - 1][: self._first_column(node)]
        if before.strip():
            return data, end  # it follows another statement on its line: a comment above is not its own
        first = start
        while first - 1 > above and self._is_comment(first - 1) and not re.match(_CELL_MARK, self._lines[first - 2]):
            first -= 1
        if first < start:
            data = before + data  # form feeds
        return b"\n".join([*self._lines[first - 1 : start - 1], data]), end

    def _last_line(self, node: ast.stmt, end: int) -> int:
        """`end`, or the last of the comments below it that are indented as the body of `node` is, as in `inspect`."""
        body: list[ast.stmt] | None = getattr(node, "body", None)
        if not body or body[0].lineno == node.lineno:
            return end
        last, line = end, end + 1
        while line <= len(self._lines) and (self._is_comment(line) or self.is_blank(line)):
            text = self._lines[line - 1]
            if not self.is_blank(line):
                if len(text) - len(text.lstrip()) < body[0].col_offset:
                    break
                last = line
            line += 1
        return last

    def _is_comment(self, line: int) -> bool:
        return re.match(_COMMENT, self._lines[line - 1]) is not None

    def _slice(self, node: ast.stmt) -> bytes:
        first, last = self._first_line(node) - 1, (node.end_lineno or node.lineno) - 1
        lines = self._lines[first : last + 1]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][self._first_column(node) :]
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

    def _first_column(self, node: ast.stmt) -> int:
        if not getattr(node, "decorator_list", None):
            return node.col_offset
        return max(0, self._lines[self._first_line(node) - 1].find(b"@"))


def bound_targets(node: ast.stmt) -> tuple[str, ...]:
    """The names that `node`, a def, class, assignment or bare walrus, is there to define; none for any other."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return tuple(dict.fromkeys(name for target in targets for name in _target_names(target)))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()) | ast.Expr(ast.NamedExpr(ast.Name(id=name))):
            return (name,)
    # `type X = …` is a node of 3.12 and later.
    if type(node).__name__ == "TypeAlias":
        return (node.name.id,)  # type: ignore[attr-defined]
    return ()


def assigned(node: ast.stmt) -> ast.expr | None:
    """What the assignment `node` sets its names to, `(X := 1)` being one too; None for any other statement."""
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.Expr(ast.NamedExpr(value=value)):
            return value
    return node.value if type(node).__name__ == "TypeAlias" else None  # type: ignore[attr-defined]


def deleted_names(node: ast.Delete) -> tuple[str, ...]:
    """The names that `node` deletes; `del a.b` and `del a[0]` delete none."""
    return tuple(dict.fromkeys(name for target in node.targets for name in _target_names(target)))


def deleted_attributes(node: ast.Delete) -> tuple[str, ...]:
    """`Foo.m` for each that `node` deletes."""
    found = (dotted(target) for target in node.targets if isinstance(target, ast.Attribute))
    return tuple(written for written in found if written is not None and written.count(".") == 1)


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` as written, None for anything but a chain of attributes at a name."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        chain.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(chain)]) if isinstance(node, ast.Name) else None


def import_path(node: ast.expr, path_of: Callable[[str], str | None]) -> str | None:
    """The import path that the chain `node` leads to, None where its root is no import."""
    written = dotted(node)
    if written is None:
        return None
    root, _, rest = written.partition(".")
    path = path_of(root)
    return (f"{path}.{rest}" if rest else path) if path else None


def _target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            for element in elements:
                yield from _target_names(element)
        case ast.Starred(value=value):
            yield from _target_names(value)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
