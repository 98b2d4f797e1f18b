"""Files whose code may run as one, and that code. Pure.

A start is quickest with one code object for many files. That is only for files that do nothing as they load but define:
they print nothing, take no time, hang on nothing a kernel may have otherwise, and where one of them fails all the same,
to run them all again, one by one, is to run them once. All others run by themselves.
"""

from __future__ import annotations

import ast
import builtins
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from types import CodeType

from .binding import bound_names
from .definition import RelPath

_RUN = 0xFF  # of files that could run together one in so many ends a run, and it is the same one at each writing

_CLASSES = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
# What neither prints nor warns as it is imported, in any version, and of which no name does as it is taken.
_QUIET = frozenset(
    "abc argparse array base64 bisect calendar cmath collections colorsys concurrent contextlib contextvars "
    "copy csv ctypes dataclasses datetime decimal difflib enum errno fnmatch fractions functools glob gzip hashlib "
    "heapq hmac html http io ipaddress itertools json keyword logging math mimetypes multiprocessing numbers operator "
    "os pathlib pickle platform pprint queue random re secrets selectors shlex shutil signal socket sqlite3 ssl "
    "statistics string struct subprocess sys tempfile textwrap threading time timeit traceback types typing "
    "unicodedata urllib uuid weakref zipfile zlib zoneinfo".split()
)


def taken_by(body: Iterable[ast.stmt]) -> frozenset[str] | None:
    """What a file of these statements takes for builtin classes, if it does nothing as it loads but define; else None.

    That is to import, to define functions and classes, and to set names to literals.
    """
    plain = _Plain()
    for node in body:
        if not plain.defines(node):
            return None
    # Names of the module itself, as __builtins__ and __annotations__, say how all that comes after them runs.
    return None if any(name.startswith("__") for name in bound_names(body)) else frozenset(plain.taken)


class _Plain:
    """What one file imports and takes, as far as its statements were looked at."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._imported: set[str] = set()

    def defines(self, node: ast.stmt) -> bool:
        """Whether a statement at top level does no more than define."""
        match node:
            case ast.Import() | ast.ImportFrom():
                self._imported |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
                return _is_quiet(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return not node.decorator_list and self._has_plain_signature(node)
            case ast.ClassDef():
                # None of a user's code runs: of no base, no decorator, and not in its body.
                is_alone = not node.keywords and not node.decorator_list
                return (
                    is_alone and all(map(self._is_known, node.bases)) and all(map(self._is_plain_in_class, node.body))
                )
            case ast.Assign():
                return all(isinstance(target, ast.Name) for target in node.targets) and _is_literal(node.value)
            case _:  # an annotated name would be in the namespace's annotations before its turn, a docstring its own
                return False

    def _is_plain_in_class(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return all(map(self._is_plain_decorator, node.decorator_list)) and self._has_plain_signature(node)
            case ast.Assign():
                return all(isinstance(target, ast.Name) for target in node.targets) and _is_literal(node.value)
            case ast.Expr():
                return isinstance(node.value, ast.Constant)
            case ast.Pass():
                return True
            case _:
                return False

    def _is_plain_decorator(self, node: ast.expr) -> bool:
        """`@property`, and `@name.setter` of what the class has by then."""
        match node:
            case ast.Name(id="classmethod" | "property" | "staticmethod"):
                return self._is_known(node)
            case ast.Attribute(value=ast.Name(), attr="getter" | "setter" | "deleter"):
                return True
            case _:
                return False

    def _has_plain_signature(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        annotations = [each.annotation for each in arguments if each is not None] + [node.returns]
        return all(_is_literal(each) for each in (*given.defaults, *given.kw_defaults) if each is not None) and all(
            self._is_known(each) for each in annotations if each is not None
        )

    def _is_known(self, node: ast.expr) -> bool:
        """Whether the expression is of builtin classes and what the file has imported."""
        match node:
            case ast.Name(id=name) if name in self._imported:
                return True
            case ast.Name(id=name) if name in _CLASSES:
                self.taken.add(name)
                return True
            case ast.Constant():
                return True
            case ast.Attribute():
                return self._is_known(node.value)
            case ast.Subscript():
                return self._is_known(node.value) and self._is_known(node.slice)
            case ast.Tuple() | ast.List():
                return all(map(self._is_known, node.elts))
            case ast.BinOp(op=ast.BitOr()):
                return self._is_known(node.left) and self._is_known(node.right)
            case _:
                return False


def _is_quiet(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether the import neither prints nor warns."""
    if isinstance(node, ast.Import):
        return all(alias.name.partition(".")[0] in _QUIET for alias in node.names)
    module = (node.module or "").partition(".")[0]
    return not node.level and module in _QUIET and all(alias.name != "*" for alias in node.names)


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Tuple() | ast.List() | ast.Set():
            return all(map(_is_literal, node.elts))
        case ast.Dict():
            return all(isinstance(key, ast.Constant) for key in node.keys) and all(map(_is_literal, node.values))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=ast.Constant()):
            return True
        case _:
            return False


def runs(order: Iterable[RelPath], plain: Collection[RelPath]) -> Iterator[tuple[RelPath, ...]]:
    """The files in their order, those together that are `plain` and stand together.

    Where a run ends hangs on nothing but its last file, so that of most of them the code is as it was when some file
    has changed.
    """
    run: list[RelPath] = []
    for path in order:
        if path not in plain:
            if run:
                yield tuple(run)
            yield (path,)
            run = []
            continue
        run.append(path)
        if not zlib.crc32(path.encode("utf-8", "surrogatepass")) & _RUN:
            yield tuple(run)
            run = []
    if run:
        yield tuple(run)


def merged(files: Sequence[tuple[ast.Module, CodeType]]) -> CodeType | None:
    """The code of these plain files as one, each of which was compiled to that code; None where that cannot be.

    All that stays of it, the functions and classes, is as the files' own code makes it, with their files' names.
    """
    body: list[ast.stmt] = []
    own: dict[CodeType, CodeType] = {}
    for tree, code in files:
        body += tree.body
        for each in code.co_consts:
            if isinstance(each, CodeType):
                if each in own:  # code is compared without its file: whose it is could not be told
                    return None
                own[each] = each
    one = compile(ast.Module(_once(body), type_ignores=[]), "<definitions>", "exec", dont_inherit=True)
    try:
        constants = [_like(own[each], each) if isinstance(each, CodeType) else each for each in one.co_consts]
    except KeyError:
        return None
    return one.replace(co_consts=tuple(constants))


def _like(own: CodeType, one: CodeType) -> CodeType:
    """`one`, which equals `own`, with what code is compared without.

    Of many files compiled as one the parts that are equal are there once, and so read sooner than `own`. But functions
    of two classes are taken for one where they differ in nothing but the class they name.
    """
    pairs = zip(own.co_consts, one.co_consts, strict=True)
    inner = (_like(ours, each) if isinstance(ours, CodeType) else each for ours, each in pairs)
    return one.replace(co_filename=own.co_filename, co_qualname=own.co_qualname, co_consts=tuple(inner))


def _once(body: Iterable[ast.stmt]) -> list[ast.stmt]:
    """The statements without the imports that bind again just what their name is bound to."""
    bound: dict[str, object] = {}
    once: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            of = node.module if isinstance(node, ast.ImportFrom) else None
            made = {(a.asname or a.name).partition(".")[0]: (of, a.name, a.asname) for a in node.names}
            if len(made) == len(node.names) and made.items() <= bound.items():
                continue
            bound |= made
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.pop(node.name, None)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    bound.pop(target.id, None)
        once.append(node)
    return once
