"""Whether a live object is what a text makes, told without running the text or any code of the user's. Pure.

No metaclass, property or `__eq__` is asked: what cannot be told without them is answered by None.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MemberDescriptorType, MethodType

from .source import Statement, bound_targets, deleted_names, dotted, unwarned
from .view import MISSING, class_dict, equal, followed, own_dict

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# As the interpreter itself reads them; a metaclass may give other answers.
_NAME, _BASES = type.__dict__["__name__"].__get__, type.__dict__["__bases__"].__get__
_CODE = (
    "co_name co_code co_exceptiontable co_names co_varnames co_freevars co_cellvars co_argcount co_posonlyargcount"
    " co_kwonlyargcount"
).split()
_HELD = ((property, "fget fset fdel"), (staticmethod, "__func__"), (classmethod, "__func__"), (MethodType, "__func__"))
_CONSTANT_SIZE = len(compile("1", "", "eval").co_code)  # nothing but to return it
_OWN_FLAGS = 0xFF  # those of `inspect`; the higher ones say which futures were in force


def is_live(node: ast.stmt, unit: CodeType | None, live: Mapping[str, object]) -> bool | None:
    """Whether `node` gave its names their values, None where that cannot be told; `unit` is the code of the block."""
    names = bound_targets(node)
    if any(name not in live for name in names):
        return False
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return _all([_is_value(name, value, live) for name, value in pairs_of(node) or ()])
    if unit is None or not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        return None  # of `type X = …` only code of the user's gives the value
    code, value = _inner(unit, node.name, first_line(node)), live[node.name]
    if code is None:
        return False  # the compiler leaves out what can never run, as below `if 0:`
    return _is_class(node, code, value, live) if isinstance(node, ast.ClassDef) else _is_function(node, code, value)


def _all(parts: Sequence[bool | None]) -> bool | None:
    return False if False in parts else None if None in parts else True


def _is_value(name: str, value: ast.expr, live: Mapping[str, object]) -> bool | None:
    if chain := dotted(value):
        found = followed(chain, live)
        return False if chain == name else None if found is MISSING else found is live[name]
    return equal(_literal(value), live[name])


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
    bases = [followed(chain, live) if chain and chain != node.name else MISSING for chain in chains] or [object]
    # Others, as `Generic[T]`, say themselves what stands there; type parameters add one of those.
    if all(issubclass(type(base), type) for base in bases) and not getattr(node, "type_params", ()):
        there = _BASES(value)
        if len(bases) != len(there) or any(one is not other for one, other in zip(bases, there, strict=True)):
            return False
    text = ast.get_docstring(node, clean=False)
    if text is not None and class_dict(value).get("__doc__") != text and type(class_dict(value).get("__doc__")) is str:
        return False
    deleted = {name for each in node.body if isinstance(each, ast.Delete) for name in deleted_names(each)}
    last = {name: each for each in node.body for name in _members(each) if name not in deleted}
    return _all([_is_member(name, each, code, class_dict(value)) for name, each in last.items()])


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
    literal = _literal(node.value) if isinstance(node, ast.Assign | ast.AnnAssign) and node.value else MISSING
    if literal is MISSING or type(own[there]) is MemberDescriptorType:  # a slot of a dataclass
        return True
    # An Enum makes members of its literals.
    return equal(literal, own[there]) or equal(literal, own_dict(own[there]).get("_value_", MISSING))


def compiled(block: Statement) -> CodeType | None:
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


def first_line(node: ast.stmt) -> int:
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
        own = own_dict(value)
        todo += [own[part] for part in ("__wrapped__", "func") if part in own]  # `func`: of a cached_property


def first_lines(value: object) -> Iterator[int]:
    """The lines on which the code of a function begins, or that of a class's methods; from 3.13 on also its own."""
    parts = [value]
    if issubclass(type(value), type):
        own = class_dict(value)
        parts += own.values()
        if type(line := own.get("__firstlineno__")) is int:
            yield line
    for part in parts:
        yield from (code.co_firstlineno for code in _codes(part))


def pairs_of(node: ast.Assign | ast.AnnAssign) -> list[tuple[str, ast.expr]] | None:
    """Each name with its literal or dotted name; None where the assignment has anything else."""
    pairs: list[tuple[str, ast.expr]] = []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    todo: list[tuple[ast.expr, ast.expr | None]] = [(target, node.value) for target in targets]
    while todo:
        match todo.pop():
            case ast.Name(id=name), ast.expr() as value if dotted(value) or _literal(value) is not MISSING:
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
        return _folded(value)


def _folded(value: ast.expr) -> object:
    """What the compiler makes of an expression of constants alone, as `60 * 60`."""
    try:
        code = compile(ast.Expression(value), "", "eval", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError):
        return MISSING
    is_constant = not code.co_names and not code.co_varnames and len(code.co_code) == _CONSTANT_SIZE
    return code.co_consts[-1] if is_constant and code.co_consts else MISSING
