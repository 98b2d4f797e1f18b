"""Which global names code mentions, whether it reads them or speaks of them in a string: what may reach a definition.

Exact where syntax tells it, as `scope` is. Beyond it count the identifiers in strings that are given to eval, exec,
compile, getattr, profilers, debuggers, `globals()[…]` and magics, and in all strings where a namespace is taken whole;
words in other strings say nothing. Pure.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from .binding import bound_names
from .scope import reads_of
from .source import unwarned
from .tree import walk
from .words import words

_EVALUATING = frozenset(
    {"eval", "exec", "compile", "getattr", "hasattr", "setattr", "delattr", "attrgetter", "ev", "ex"}
    | {"timeit", "repeat", "Timer", "runctx", "runeval"}
)
_RUN = "run"  # of profilers and debuggers, and of much else
_RUNNING = frozenset({"cProfile", "profile", "pdb", "bdb", "trace", "Profile", "Pdb", "Bdb", "Trace"})
_NAMESPACES = frozenset({"globals", "locals", "vars"})
# What else gives a namespace whole: by a call without arguments, and as an attribute of frames and shells.
_LISTING = _NAMESPACES | {"dir"}
_HELD = frozenset({"user_ns", "user_global_ns", "f_globals", "f_locals"})
_LINE, _CELL = "run_line_magic", "run_cell_magic"
_SYSTEM = frozenset({"system", "getoutput", "getsystem"})
_TOLD = rf"\b(?:{'|'.join(sorted(_EVALUATING | _LISTING | _HELD | _SYSTEM | {_LINE, _CELL, _RUN, 'global', 'del'}))})\b"
_EXPANDED = r"\{[^{}]*\}|\$\w+"
# These take names of the layer's as names; nothing of theirs has to be loaded.
_OUR_MAGICS = frozenset({"cells", "forget", "keep", "layer"})
# Their bodies are no Python of this kernel.
_FOREIGN_BODIES = frozenset(
    "bash cmd file html HTML javascript js latex markdown perl pypy python python2 python3 ruby script sh svg SVG"
    " system sx writefile".split()
)


def mentioned_by_cell(nodes: Sequence[ast.stmt], text: str) -> frozenset[str]:
    """The global names that a cell, whose text is `text`, reads at any time, deletes, or speaks of in strings.

    Those that a block of it sets, which may not run, are among them.
    """
    names = reads_of(*nodes).all | spoken(nodes, text)
    blocks = [node for node in nodes if isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.With | ast.Match)]
    if blocks and (bound := bound_names(blocks)):
        names |= {n.id for n in walk(nodes) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} & bound
    return names


def spoken(nodes: Iterable[ast.AST], text: str) -> frozenset[str]:
    """The names that `nodes`, whose text is `text`, speak of and do not read: in strings, by `global`, by `del`."""
    if not re.search(_TOLD, text):
        return frozenset()  # nearly always
    nodes = [*nodes]
    names = frozenset(name for node in walk(nodes) for name in _spoken(node))
    return names | _looked_up(nodes)


def _looked_up(nodes: Sequence[ast.AST]) -> frozenset[str]:
    """Where a namespace is taken whole, as in `"f" in globals()`, any string may name what is looked up in it.

    What is looked up by a constant in the same place, `globals()["f"]`, tells all by itself; docstrings tell nothing.
    """
    asked: set[int] = set()  # what is asked for one constant name
    silent: set[int] = set()
    strings: list[ast.Constant] = []
    taken: list[ast.AST] = []
    for node in walk(nodes):
        match node:
            case ast.Subscript(value=value, slice=ast.Constant()):
                asked.add(id(value))
            case ast.Call(func=ast.Attribute(attr="get", value=value), args=[ast.Constant(), *_]):
                asked.add(id(value))
            case ast.Expr(value=ast.Constant() as docstring):
                silent.add(id(docstring))
            case ast.Constant(value=str()):
                strings.append(node)
        if _is_listing(node) or (isinstance(node, ast.Attribute) and node.attr in _HELD):
            taken.append(node)
    if all(id(node) in asked and _is_call_of_namespace(node) for node in taken):
        return frozenset()
    return frozenset(name for node in strings if id(node) not in silent for name in words(str(node.value)))


def _is_listing(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _LISTING
        and not node.args
        and not node.keywords
    )


def _spoken(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.Global(names=names):
            return names
        case ast.Name(id=name, ctx=ast.Del()):
            return (name,)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
            if name in _EVALUATING:
                given = [*args, *(keyword.value for keyword in keywords)]
                return [found for part in _strings(given) for found in words(part)]
            if name == _RUN:
                return _run(node.func, args)
            if name == _LINE:
                return _of_line(_constants(args))
            if name == _CELL:
                return _of_cell(_constants(args))
            if name in _SYSTEM:
                return [found for part in _strings(args) for found in _expanded(part)]
            if name == "get" and args and _is_namespace(node.func):
                return [found for part in _strings(args[:1]) for found in words(part)]
        case ast.Subscript(value=value, slice=index) if _is_call_of_namespace(value):
            return [found for part in _strings([index]) for found in words(part)]
    return ()


def _run(function: ast.expr, arguments: Sequence[ast.expr]) -> Iterable[str]:
    """Of a profiler's or a debugger's `run` all words; of any other the names in a string that is code with a call."""
    strings = _strings(arguments[:1])
    callers = {n.id if isinstance(n, ast.Name) else getattr(n, "attr", "") for n in walk([function])}
    if not _RUNNING.isdisjoint(callers):
        return [found for part in strings for found in words(part)]
    return [found for part in strings for found in _called(part)]


def _called(code: str) -> Iterable[str]:
    nodes = _parsed(code) if "(" in code else None
    is_code = nodes is not None and any(isinstance(node, ast.Call) for node in walk(nodes))
    return mentioned_by_cell(nodes, code) if nodes is not None and is_code else ()


def _parsed(code: str) -> list[ast.stmt] | None:
    try:
        with unwarned():
            return ast.parse(code).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_namespace(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and _is_call_of_namespace(function.value)


def _is_call_of_namespace(value: ast.AST) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _NAMESPACES


def _strings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The constant strings in `nodes`, parts of f-strings and of sums included."""
    for node in walk(nodes):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _constants(arguments: Iterable[ast.expr]) -> list[str]:
    """The arguments of a magic's call, in order; what is no constant string is none of them."""
    return [each.value for each in arguments if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def _of_line(parts: Sequence[str]) -> Iterable[str]:
    if not parts or parts[0] in _OUR_MAGICS:
        return ()
    return [found for part in parts[1:] for found in words(part)]


def _of_cell(parts: Sequence[str]) -> Iterable[str]:
    """Of a body that is Python the names as in any cell; of one that cannot be read as it stands all its words."""
    name, body = (parts[0], parts[-1]) if parts else ("", "")
    line = [found for part in parts[1:-1] for found in words(part)]
    if name in _FOREIGN_BODIES:
        return line
    nodes = _parsed(body)
    return [*line, *(words(body) if nodes is None else mentioned_by_cell(nodes, body))]  # None: magics of its own


def _expanded(command: str) -> Iterable[str]:
    """The names whose values a shell command asks for: `!ls {folder} $name`."""
    return [found for part in re.findall(_EXPANDED, command) for found in words(part)]
