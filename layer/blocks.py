"""The definitions of a top-level `if` or `try` that holds nothing else: which are live, each as if written plainly.

Owns what such a block may hold, the text of what stands in it, and how a live object is told to be of that text. The
live objects are asked and not the branch: a test may answer otherwise the second time, a `try` may have come half way,
and what ran is seen by what it left. No code of the user's is run for it, so no metaclass, property or `__eq__` is
asked; what cannot be told that way is taken only where it can be nothing else.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import io
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, GetSetDescriptorType, MethodType, ModuleType
from typing import Any

from .binding import bound_names
from .source import Source, Statement, bound_targets, deleted_names, dotted, parse, unwarned
from .tree import walk
from .view import equal

_MISSING = object()
_BLOCKS = (ast.If, ast.Try, ast.TryStar)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# As the interpreter itself reads them; a metaclass or a class may give other answers.
_NAMESPACE, _MRO = type.__dict__["__dict__"].__get__, type.__dict__["__mro__"].__get__
_NAME, _BASES = type.__dict__["__name__"].__get__, type.__dict__["__bases__"].__get__
_MODULE_NAMESPACE = vars(ModuleType)["__dict__"].__get__
_CODE = (
    "co_name co_code co_exceptiontable co_names co_varnames co_freevars co_cellvars co_argcount co_posonlyargcount"
    " co_kwonlyargcount"
).split()
_HELD = ((property, "fget fset fdel"), (staticmethod, "__func__"), (classmethod, "__func__"), (MethodType, "__func__"))
_OWN_FLAGS = 0xFF  # those of `inspect`; the higher ones say which futures were in force


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
        unit = _compiled(statement)
        found = [_Candidate(*pair, _is_live(pair[0], unit, live)) for pair in inside if bound_targets(pair[0])]
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
        at_home = any(_first_line(self.node) <= line <= (self.node.end_lineno or line) for line in _first_lines(value))
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
            return _pairs(node) is not None
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


def _pairs(node: ast.Assign | ast.AnnAssign) -> list[tuple[str, ast.expr]] | None:
    """Each name with its literal or dotted name; None where the assignment has anything else."""
    pairs: list[tuple[str, ast.expr]] = []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    todo: list[tuple[ast.expr, ast.expr | None]] = [(target, node.value) for target in targets]
    while todo:
        match todo.pop():
            case ast.Name(id=name), ast.expr() as value if dotted(value) or _literal(value) is not _MISSING:
                pairs.append((name, value))
            case ((ast.Tuple(elts=left) | ast.List(elts=left)), (ast.Tuple(elts=right) | ast.List(elts=right))):
                if len(left) != len(right):
                    return None  # a star among the targets
                todo += zip(left, right, strict=True)
            case _:
                return None
    return pairs


def _literal(value: ast.expr) -> object:
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, MemoryError):
        return _MISSING


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


# Whether a live object is of that text.


def _is_live(node: ast.stmt, unit: CodeType | None, live: Mapping[str, object]) -> bool | None:
    """Whether `node` gave its names their values, None where that cannot be told; `unit` is the code of the block."""
    names = bound_targets(node)
    if any(name not in live for name in names):
        return False
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return _all([_is_value(name, value, live) for name, value in _pairs(node) or ()])
    if unit is None or not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return None  # of `type X = …` only code of the user's gives the value
    code, value = _inner(unit, node.name, _first_line(node)), live[node.name]
    if code is None:
        return False  # the compiler leaves out what can never run, as below `if 0:`
    return _is_class(node, code, value, live) if isinstance(node, ast.ClassDef) else _is_function(node, code, value)


def _all(parts: Sequence[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _is_value(name: str, value: ast.expr, live: Mapping[str, object]) -> bool | None:
    if chain := dotted(value):
        found = _follow(chain, live)
        return False if chain == name else None if found is _MISSING else found is live[name]
    return equal(_literal(value), live[name])


def _follow(chain: str, live: Mapping[str, object]) -> object:
    """What `chain` is, as far as its attributes are those of modules."""
    name, *attributes = chain.split(".")
    value = live.get(name, vars(builtins).get(name, _MISSING))
    for attribute in attributes:
        if not issubclass(type(value), ModuleType):
            return _MISSING
        value = _MODULE_NAMESPACE(value).get(attribute, _MISSING)
    return value


def _is_function(node: ast.FunctionDef | ast.AsyncFunctionDef, code: CodeType, value: object) -> bool | None:
    """Whether `value` is the function `node`, or has it inside; of a decorated one what it became cannot be told."""
    if node.decorator_list:
        return any(_same_code(code, each) for each in _codes(value)) or None
    return type(value) is FunctionType and _same_code(code, value.__code__)


def _is_class(node: ast.ClassDef, code: CodeType, value: object, live: Mapping[str, object]) -> bool | None:
    """Whether `value` is the class `node`; what decorators, bases and metaclasses change in one cannot be told."""
    alike = issubclass(type(value), type) and _NAME(value) == node.name and _is_alike(node, code, value, live)
    return alike or (None if alike is None or node.decorator_list or node.bases or node.keywords else False)


def _is_alike(node: ast.ClassDef, code: CodeType, value: object, live: Mapping[str, object]) -> bool | None:
    chains = [dotted(base) for base in node.bases]
    bases = [_follow(chain, live) if chain and chain != node.name else _MISSING for chain in chains] or [object]
    # Others, as `Generic[T]`, say themselves what stands there; type parameters add one of those.
    if all(issubclass(type(base), type) for base in bases) and not getattr(node, "type_params", ()):
        there = _BASES(value)
        if len(bases) != len(there) or any(one is not other for one, other in zip(bases, there, strict=True)):
            return False
    deleted = {name for each in node.body if isinstance(each, ast.Delete) for name in deleted_names(each)}
    last = {name: each for each in node.body for name in _members(each) if name not in deleted}
    return _all([_is_member(name, each, code, _NAMESPACE(value)) for name, each in last.items()])


def _members(node: ast.stmt) -> tuple[str, ...]:
    """The names that `node` of a class body gives the class; a field's annotation is enough."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return (node.target.id,)
    return bound_targets(node)


def _is_member(name: str, node: ast.stmt, code: CodeType, own: Mapping[str, object]) -> bool | None:
    """Whether `own`, the namespace of a class with the body `code`, has what `node` of the body gives `name`."""
    owner = code.co_name.lstrip("_")
    there = f"_{owner}{name}" if owner and name.startswith("__") and not name.endswith("__") else name
    if there not in own:
        fields = own.get("__annotations__")  # what a dataclass takes out of the class stays there
        return isinstance(node, ast.AnnAssign) and (type(fields) is not dict or there in fields)
    if isinstance(node, _FUNCTIONS) and (method := _inner(code, name)):
        return any(_same_code(method, each) for each in _codes(own[there])) or (None if node.decorator_list else False)
    literal = _literal(node.value) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value else _MISSING
    if literal is _MISSING or type(literal) is not type(own[there]):
        return True  # an Enum makes members of them
    return equal(literal, own[there])


def _compiled(block: Statement) -> CodeType | None:
    """The code of the block, whole and in its place: what it imports, and where lines end, has part in the codes."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for feature in block.futures:
        flags |= getattr(__future__, feature).compiler_flag
    try:
        with unwarned():
            unit: CodeType = compile(ast.Module([block.node], []), "", "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, TypeError):
        return None
    return unit


def _inner(code: CodeType, name: str, line: int | None = None) -> CodeType | None:
    """The last code called `name` in `code`, also among its type parameters; if `line` is given, one starting there."""
    found = None
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            if inner.co_name == f"<generic parameters of {name}>":
                found = _inner(inner, name, line) or found
            elif inner.co_name == name and line in (None, inner.co_firstlineno):
                found = inner
    return found


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _same_code(one: CodeType, other: CodeType) -> bool:
    """Whether two codes do the same, wherever they stand."""
    return (
        all(getattr(one, part) == getattr(other, part) for part in _CODE)
        and one.co_flags & _OWN_FLAGS == other.co_flags & _OWN_FLAGS
        and len(one.co_consts) == len(other.co_consts)
        and all(map(_same_constant, one.co_consts, other.co_consts))
    )


def _same_constant(one: object, other: object) -> bool:
    if isinstance(one, CodeType) and isinstance(other, CodeType):
        return _same_code(one, other)
    return equal(one, other) or (type(one) is frozenset and one == other)


def _codes(value: object) -> Iterator[CodeType]:
    """The code of the function `value`, and of those it wraps or holds."""
    todo, seen = [value], set[int]()
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) is FunctionType:
            yield value.__code__
        # No look-up in a dict: hashing a class may ask its metaclass.
        todo += [getattr(value, part) for kind, parts in _HELD if kind is type(value) for part in parts.split()]
        own = _attributes(value)
        todo += [own[part] for part in ("__wrapped__", "func") if part in own]  # `func`: of a cached_property


def _attributes(value: object) -> dict[str, Any]:
    """The own `__dict__` of `value` if it is an ordinary one."""
    for kind in _MRO(type(value)):
        if (descriptor := _NAMESPACE(kind).get("__dict__")) is not None:
            own = descriptor.__get__(value) if type(descriptor) is GetSetDescriptorType else None
            return own if type(own) is dict else {}
    return {}


def _first_lines(value: object) -> Iterator[int]:
    """The lines on which the code of a function begins, or that of a class's methods; from 3.13 on also its own."""
    parts = [value]
    if issubclass(type(value), type):
        own = _NAMESPACE(value)
        parts += own.values()
        if type(line := own.get("__firstlineno__")) is int:
            yield line
    for part in parts:
        yield from (code.co_firstlineno for code in _codes(part))
