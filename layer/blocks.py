"""The definitions of a top-level `if` or `try` that holds nothing else: which are live, each as if written plainly.

Owns what such a block may hold, and the text of what stands in it. The live objects are asked and not the branch: a
test may answer otherwise the second time, a `try` may have come half way, and what ran is seen by what it left. What
`alike` cannot tell is taken only where it can be nothing else.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .alike import compiled, first_line, first_lines, is_live, pairs_of
from .binding import bound_names
from .source import Source, Statement, bound_targets, parse
from .tree import walk

_BLOCKS = (ast.If, ast.Try, ast.TryStar)


def taken(
    statement: Statement, live: Mapping[str, object], is_fresh: Callable[[str], bool]
) -> tuple[Statement, ...] | None:
    """The definitions and literals in the block `statement` that are live; None if it is no block of such alone.

    `live` is the namespace after it ran; `is_fresh` says of a name whether the statement bound it to another object.
    """
    try:
        if not isinstance(statement.node, _BLOCKS) or not _may_stand(statement.node):
            return None
        text, nodes = _agreed(statement.text, [statement.node])
        inside = _inside(statement.node, nodes[0], text, statement.futures)
        unit = compiled(statement)
        found = [_Candidate(*pair, is_live(pair[0], unit, live)) for pair in inside if bound_targets(pair[0])]
        chosen = _chosen(found, statement.node, live, is_fresh)
        return tuple(candidate.alone() for candidate in found if candidate in chosen)
    except (RecursionError, MemoryError, SyntaxError, ValueError):
        return None  # nested too deeply, or made by an AST transformer and not to be written


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    node: ast.stmt  # as it ran, with the lines of its cell
    statement: Statement  # dedented
    is_live: bool | None  # None where that cannot be told

    def rank(self, value: object) -> tuple[bool, bool]:
        """What tells it from others that are of `value` too: an alias defines nothing, and a code has its lines."""
        at_home = any(first_line(self.node) <= line <= (self.node.end_lineno or line) for line in first_lines(value))
        return not isinstance(self.node, ast.Assign | ast.AnnAssign), at_home

    def alone(self) -> Statement:
        text, nodes = _agreed(self.statement.text, [self.node])
        return Statement(nodes[0], text, self.statement.futures)


def _chosen(
    found: Sequence[_Candidate], block: ast.stmt, live: Mapping[str, object], is_fresh: Callable[[str], bool]
) -> list[_Candidate]:
    """For each name the candidate that gave it its value; of equal ones the later."""
    otherwise = bound_names(n for n in walk([block]) if isinstance(n, ast.Import | ast.ImportFrom | ast.NamedExpr))
    chosen = []
    for name in dict.fromkeys(name for candidate in found for name in bound_targets(candidate.node)):
        possible = [each for each in found if name in bound_targets(each.node) and each.is_live is not False]
        if told := [each for each in possible if each.is_live]:
            chosen.append(max(reversed(told), key=lambda each: each.rank(live[name])))
        elif len(possible) == 1 and otherwise.isdisjoint((name, "*")) and is_fresh(name):
            chosen += possible
    return chosen


# What may stand in a block.


def _may_stand(node: ast.stmt, may_raise: bool = False) -> bool:
    match node:
        case ast.If() | ast.Try() | ast.TryStar():
            if isinstance(node, ast.If) and any(map(_asks_for_main, walk([node.test]))):
                return False
            first, *others = _bodies(node)
            return all(_may_stand(each, may_raise) for each in first) and all(
                _may_stand(each, may_raise=True) for body in others for each in body
            )
        case ast.Assign() | ast.AnnAssign(target=ast.Name(), value=ast.expr()):
            return pairs_of(node) is not None
        case ast.AnnAssign(target=ast.Name()) | ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Raise():
            return may_raise
    return bool(bound_targets(node))


def _bodies(node: ast.stmt) -> list[list[ast.stmt]]:
    """The branches of a block in the order they stand in."""
    handlers = [handler.body for handler in getattr(node, "handlers", ())]
    return [node.body, *handlers, node.orelse, getattr(node, "finalbody", [])]  # type: ignore[attr-defined]


def _asks_for_main(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[ast.Eq()], left=left, comparators=[right]):
            sides = (left, right)
            return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
                isinstance(side, ast.Constant) and side.value == "__main__" for side in sides
            )
    return False


# The text of what stands in a block.


def _inside(ran: ast.stmt, node: ast.stmt, text: str, futures: tuple[str, ...]) -> Iterator[tuple[ast.stmt, Statement]]:
    """All but the blocks in a block, as it ran and as a statement; `node` is the block `ran` with its place in `text`.

    What stands there is dedented body by body, so that comments are told as at the top level.
    """
    for body, placed in zip(_bodies(ran), _bodies(node), strict=True):
        if not body:
            continue
        if isinstance(ran, ast.If) and body is ran.orelse and _line(text, placed[0]).startswith(b"elif"):
            yield from _inside(body[0], placed[0], text, futures)  # an `if` in the tree alone
            continue
        dedented, nodes = _agreed(_dedented(text, placed), body)
        for one, statement in zip(body, Source(dedented).statements(nodes, futures), strict=True):
            if isinstance(one, _BLOCKS):
                yield from _inside(one, statement.node, dedented, futures)
            else:
                yield one, statement


def _agreed(text: str, body: list[ast.stmt]) -> tuple[str, list[ast.stmt]]:
    """`text` and its statements if those are `body`, else `body` written anew. Raises ValueError if that fails too."""
    wanted = [ast.dump(node) for node in body]
    for anew in (False, True):
        try:
            text = "\n".join(map(ast.unparse, body)) if anew else text
            nodes = parse(text).body
        except (SyntaxError, UnicodeEncodeError):
            continue
        if [ast.dump(node) for node in nodes] == wanted:
            return text, nodes
    raise ValueError("no text gives this tree")


def _line(text: str, node: ast.stmt) -> bytes:
    return text.encode().split(b"\n")[node.lineno - 1][node.col_offset :]


def _dedented(text: str, body: list[ast.stmt]) -> str:
    """The lines of `body` in `text`, with the comments around it, without its indentation."""
    lines = text.encode().split(b"\n")
    decorators = getattr(body[0], "decorator_list", ())
    first = (*decorators, body[0])[0].lineno - 1
    while decorators and not lines[first].lstrip().startswith(b"@"):
        first -= 1  # `@(` and its expression on a line below
    indent = lines[first][: body[0].col_offset]
    if indent.strip():  # it stands on the line of its clause
        lines[first], indent = lines[first][len(indent) :], b""
    while indent and lines[first - 1].lstrip().startswith(b"#"):
        first -= 1
    last = body[-1].end_lineno or first
    while last < len(lines) and lines[last].strip()[:1] in (b"", b"#"):
        last += 1
    kept = _lines_in_strings(text) if indent else set()
    return b"\n".join(lines[at] if at in kept else _without(indent, lines[at]) for at in range(first, last)).decode()


def _without(indent: bytes, line: bytes) -> bytes:
    while not line.startswith(indent):
        indent = indent[:-1]  # a comment, or a line in brackets, further out
    return line[len(indent) :]


def _lines_in_strings(text: str) -> set[int]:
    """The lines, from 0, that begin inside a string: white space there is of its value."""
    found: set[int] = set()
    starts: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        kind = tokenize.tok_name[token.type]
        if kind.endswith("STRING_START"):  # of an f-string, from 3.12 on
            starts.append(token.start[0])
        elif kind == "STRING" or kind.endswith("STRING_END"):
            found.update(range(token.start[0] if kind == "STRING" else starts.pop(), token.end[0]))
    return found
