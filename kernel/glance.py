"""What is told of a definition that waits from its text alone, for who looks at it in passing. Pure.

Help at the cursor and completion come unasked, with every move in some front ends. They must not import a package: that
may take long or hang, and cannot be given up half way, since few packages can be imported a second time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from perdure.layer.definition import Definition
from perdure.layer.source import bound_targets, parse

_Def = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def described(definition: Definition, name: str, file: str, packages: Iterable[str], *, source: bool) -> str | None:
    """The text on `name`, which is of `definition` or an attribute of its class; None where there is no such thing."""
    whole = name in definition.gives
    owner, _, attribute = name.partition(".")
    nodes = parse(definition.text).body
    node = _last(nodes, name if whole else owner)
    if not whole:
        node = _last(node.body, attribute) if isinstance(node, ast.ClassDef) else None
        if node is None:
            return None
    rows: list[tuple[str, str]] = []
    if node is not None and (signature := _signature(node)):
        rows.append(("Signature", signature))
    if node is not None and (docstring := ast.get_docstring(node)):
        rows.append(("Docstring", docstring if "\n" not in docstring else f"\n{docstring}"))
    if source:
        rows.append(("Source", f"\n{definition.text if whole or node is None else ast.unparse(node)}"))
    rows.append(("File", file))
    rows.append(("Type", "type" if isinstance(node, ast.ClassDef) else "function" if node is not None else "value"))
    rows.append(("Deferred", f"it is loaded when a cell names it ({', '.join(packages)})"))
    return "\n".join(f"{what + ':':<10} {said}" for what, said in rows)


def attributes(definition: Definition, name: str) -> Iterator[tuple[str, str]]:
    """What the body of the class `name` gives its attributes, with their types as completion names them."""
    node = _last(parse(definition.text).body, name)
    for each in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(each, _Def):
            yield each.name, "class" if isinstance(each, ast.ClassDef) else "function"
        else:
            yield from ((target, "instance") for target in bound_targets(each))


def _last(nodes: Iterable[ast.stmt], name: str) -> _Def | None:
    """The definition of `name` that counts."""
    found = [node for node in nodes if isinstance(node, _Def) and node.name == name]
    return found[-1] if found else None


def _signature(node: _Def) -> str | None:
    """How it is called; of a class without an `__init__` of its own the text does not tell."""
    if not isinstance(node, ast.ClassDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
        return f"{node.name}({ast.unparse(node.args)}){returns}"
    made = _last(node.body, "__init__")
    if made is None or isinstance(made, ast.ClassDef):
        return None
    given = made.args
    own = {"posonlyargs": given.posonlyargs[1:]} if given.posonlyargs else {"args": given.args[1:]}
    fields = {name: getattr(given, name) for name in given._fields}
    return f"{node.name}({ast.unparse(ast.arguments(**fields | own))})"
