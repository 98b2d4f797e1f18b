"""A reader and a writer of definition files, their paths and load order, made from docs/format.md alone.

On the standard library and without perdure: test_format compares the two. The numbers are steps of "Reading a file".
"""

from __future__ import annotations

import ast
import hashlib
import itertools
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote


@dataclass(frozen=True)
class Facts:
    """What "Reading a file" says comes out."""

    key: str
    kind: str
    text: str
    imports: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    overrides: str = ""
    after: tuple[str, ...] = ()


class Unreadable(Exception):
    pass


def read(data: bytes) -> Facts:
    try:  # 1
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError:
        raise Unreadable from None
    body = parsed(text)  # 2
    fields = first_line(text)  # 3
    lines = text.split("\n")
    count = next(
        (n for n, node in enumerate(body) if not isinstance(node, ast.Import | ast.ImportFrom)), len(body)
    )  # 4
    if count == len(body):
        raise Unreadable
    while count and body[count - 1].end_lineno == body[count].lineno:
        count -= 1
    imports, body = body[:count], body[count:]
    start = (imports[-1].end_lineno or 0) if imports else int(fields is not None)  # 5
    while start < len(lines) and not lines[start].strip(" \t\f\v\r"):
        start += 1
    names = told_by(body)  # 6
    if named := (fields or {}).get("name"):  # 7
        if {name for name in named if not re.search("[.@]", name)} - bound(body):
            raise Unreadable
        names = named
    if not names:
        raise Unreadable
    return Facts(
        key=names[0],  # 8
        kind=kind_of(names[0], body),
        text="\n".join(lines[start:]).rstrip("\n"),
        imports=tuple(segment(lines, node) for node in imports),
        names=names,
        needs=(fields or {}).get("needs", ()),
        overrides=next((v[7:] for v in (fields or {}).get("overrides", ()) if v.startswith("sha256:")), ""),
        after=(fields or {}).get("after", ()),
    )


def parsed(text: str) -> list[ast.stmt]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise Unreadable from None


def first_line(text: str) -> dict[str, tuple[str, ...]] | None:
    line = text.split("\n")[0]
    if not line.startswith("# perdure:"):
        return None
    fields: dict[str, tuple[str, ...]] = {}
    for part in line.removeprefix("# perdure:").split(";"):
        field, _, values = part.strip().partition(" ")
        fields[field] = tuple(unquote(value.strip()) for value in values.split(",") if value.strip())
    return fields


def segment(lines: list[str], node: ast.stmt) -> str:
    taken = [line.encode() for line in lines[node.lineno - 1 : node.end_lineno]]
    taken[-1] = taken[-1][: node.end_col_offset]
    taken[0] = taken[0][node.col_offset :]
    return b"\n".join(taken).decode()


def told_by(body: list[ast.stmt]) -> tuple[str, ...]:
    """The names that the last statement which gives any tells, and those of the functions and classes beside it."""
    names = next((names for node in reversed(body) if (names := names_of(node))), ())
    beside = (node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef))
    return tuple(dict.fromkeys([*names, *itertools.chain(*map(names_of, beside))]))


def names_of(node: ast.stmt) -> tuple[str, ...]:
    """What the table of step 6 says."""
    match node:
        case ast.FunctionDef(name="_") | ast.AsyncFunctionDef(name="_"):
            return tuple(dict.fromkeys(registrations(node)))
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            on_classes = [
                f"{target.value.id}.{target.attr}"
                for target in targets
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
            ]
            names = on_classes if len(on_classes) == len(targets) else itertools.chain(*map(targeted, targets))
            return tuple(dict.fromkeys(names))
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()) | ast.Expr(ast.NamedExpr(ast.Name(id=name))):
            return (name,)
    return (node.name.id,) if type(node).__name__ == "TypeAlias" else ()  # type: ignore[attr-defined]


def targeted(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Starred(value=value):
            yield from targeted(value)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from targeted(part)


def registrations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    annotation = next((each.annotation for each in parameters if each.annotation), None)
    for decorator in reversed(node.decorator_list):
        called, arguments = decorator, []
        if isinstance(decorator, ast.Call):
            called, arguments = decorator.func, decorator.args
        kind = arguments[0] if arguments else annotation
        written = ast.unparse(called)
        if kind is not None and re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*\.register", written):
            is_text = isinstance(kind, ast.Constant) and isinstance(kind.value, str)
            name = kind.value.strip() if is_text else ast.unparse(kind)  # type: ignore[attr-defined]
            yield f"{written.removesuffix('.register')}@{name}"


def bound(body: list[ast.stmt]) -> set[str]:
    """The names that step 7 asks for. Not by `symtable`, which refuses what can be parsed and not be compiled."""
    found: set[str] = set()
    declared: set[str] = set()
    todo: list[tuple[ast.AST, bool]] = [(node, True) for node in body]  # with whether what it stores is at top level
    while todo:
        node, is_top = todo.pop()
        parts: Iterable[ast.AST | None] = ast.iter_child_nodes(node)
        match node:
            case ast.FunctionDef(name=name, args=arguments) | ast.AsyncFunctionDef(name=name, args=arguments):
                found.add(name)
                parts = [*node.decorator_list, *arguments.defaults, *arguments.kw_defaults]
            case ast.ClassDef(name=name):
                found.add(name)
                parts = [*node.decorator_list, *node.bases, *node.keywords]
            case ast.Lambda(args=arguments):
                parts = [*arguments.defaults, *arguments.kw_defaults]
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                is_top = False
            case ast.NamedExpr(target=ast.Name(id=name)):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if is_top:
                found.add(name)
            case ast.alias(name=path, asname=name):
                found.add(name or path.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
            case ast.Global(names=names):
                declared.update(names)
        todo += [(part, is_top) for part in parts if part is not None]
    return found - declared


def kind_of(key: str, body: list[ast.stmt]) -> str:  # 9
    if "." in key or "@" in key:
        return "methods"
    node = next((node for node in body if key in names_of(node)), body[-1])
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return "functions"
    return "classes" if isinstance(node, ast.ClassDef) else "values"


def write(facts: Facts) -> bytes:
    """What "Writing a file" says."""
    names = facts.names or (facts.key,)
    told = told_by(parsed(facts.text))
    fields = {
        "needs": facts.needs,
        "overrides": (f"sha256:{facts.overrides}",) if facts.overrides else (),
        "after": facts.after,
        "name": names if names != told else (),
    }
    said = "; ".join(f"{field} {', '.join(map(escaped, values))}" for field, values in fields.items() if values)
    first = f"# perdure: {said}\n" if said else ""
    imports = "".join(f"{line}\n" for line in facts.imports)
    if imports:
        imports += "\n" if facts.kind == "values" else "\n\n"
    elif any(re.match(r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+", line) for line in facts.text.split("\n")[:2]):
        first = f"{first or '# perdure:' + chr(10)}\n"
    elif facts.text.startswith("# perdure:"):
        first = first or "# perdure:\n"
    return f"{first}{imports}{facts.text}\n".encode()


def escaped(value: str) -> str:
    return re.sub(r"[%,;\r\n]", lambda found: f"%{ord(found[0]):02X}", value)


def path_of(kind: str, key: str, twins: Iterable[str] = ()) -> str:
    """What "File names" says of `key`, which has these `twins`."""
    composed = unicodedata.normalize("NFC", key)
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    escapes = [
        c if re.fullmatch(r"[A-Za-z0-9_.@]", c) else "".join(f"%{b:02X}" for b in c.encode("utf-8", "surrogatepass"))
        for c in composed
    ]
    stem = "".join(escapes)
    if len(stem) > 180:
        ends = itertools.accumulate(map(len, escapes))
        stem = stem[: max((end for end in ends if end <= 180), default=0)] + f"~{digest[:12]}"
    elif [*twins] and not key == key.lower() == composed:
        stem += f"~{digest[:6]}"
    inner = composed[0].lower() if re.match(r"[A-Za-z_]", composed) else "~"
    return f"{kind}/{inner}/{stem}.py"


def paths_of(kind: str, keys: Iterable[str]) -> dict[str, str]:
    """Where the files of all `keys` are, which are of one kind."""
    alike: dict[str, list[str]] = {}
    for key in keys:
        alike.setdefault(path_of(kind, key).lower(), []).append(key)
    return {key: path_of(kind, key, {*twins} - {key}) for twins in alike.values() for key in twins}


@dataclass
class Reads:
    """What "Loading" asks of a text. Local names and what a text sets itself are not told apart: tests do without."""

    load: set[str] = field(default_factory=set)
    hints: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)

    def take(self, node: ast.AST | None) -> None:
        match node:
            case ast.FunctionDef(args=arguments, decorator_list=decorators, returns=returns):
                self.called(decorators)
                parts: list[ast.AST | None] = [*decorators, *arguments.defaults, *arguments.kw_defaults]
                hints = [each.annotation for each in (*arguments.args, *arguments.kwonlyargs) if each.annotation]
                self.hint([returns, *hints])
                if hints and any(isinstance(each, ast.Attribute) and each.attr == "register" for each in decorators):
                    self.take(hints[0])
            case ast.AnnAssign(annotation=annotation, value=value):
                parts = [value]
                self.hint([annotation])
            case ast.Lambda(args=arguments):
                parts = [*arguments.defaults, *arguments.kw_defaults]
            case ast.Name(id=name, ctx=ast.Load()):
                self.load.add(name)
                return
            case None:
                return
            case _:
                self.called([node] if isinstance(node, ast.Call) else getattr(node, "decorator_list", []))
                parts = [*ast.iter_child_nodes(node)]
        for part in parts:
            self.take(part)

    def called(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            while isinstance(node, ast.Call):
                node = node.func
            self.calls.update([node.id] if isinstance(node, ast.Name) else [])

    def hint(self, annotations: Iterable[ast.expr | None]) -> None:
        for annotation in annotations:
            written = ast.parse(str(annotation.value)) if isinstance(annotation, ast.Constant) else annotation
            self.hints.update(node.id for node in ast.walk(written or ast.Pass()) if isinstance(node, ast.Name))


def load_order(files: Mapping[str, Facts]) -> list[str]:
    givers = {name: path for path in sorted(files, reverse=True) for name in files[path].names}
    bodies = {path: parsed(files[path].text) for path in files}
    reads = {path: Reads() for path in files}
    for path, body in bodies.items():
        for node in body:
            reads[path].take(node)

    def run_by(calls: set[str], seen: set[str]) -> Iterator[str]:
        for name in (calls & givers.keys()) - seen:
            seen.add(name)
            inner = Reads()
            for node in bodies[givers[name]]:
                match node:
                    case ast.FunctionDef(name=own, body=body, decorator_list=decorators):
                        inner.called(decorators)
                        for part in body:
                            inner.take(part)
                        inner.load.discard(own)
                    case ast.ClassDef(bases=bases):  # no test has one that makes itself
                        inner.called(bases)
                    case ast.Assign(value=ast.Name() as other) | ast.AnnAssign(value=ast.Name() as other):
                        inner.called([other])
                    case ast.Assign(value=ast.Lambda(body=result)):
                        inner.take(result)
            yield from inner.load
            yield from run_by(inner.calls, seen)

    def paths(names: Iterable[str], path: str) -> set[str]:
        found = {givers[name] for name in names if name in givers}
        return {other for other in found if path not in first[other]} - {path}

    first: dict[str, set[str]] = {path: set() for path in files}
    first |= {path: {givers[key] for key in facts.after if key in givers} for path, facts in files.items()}
    rules: tuple[dict[str, set[str]], ...] = ({}, {}, {})
    for path, facts in files.items():
        read = reads[path].load | {*run_by(reads[path].calls, set())}
        own = {re.split("[.@]", name)[0] for name in facts.names if re.search("[.@]", name)}
        added = [name for name in givers if re.search("[.@]", name) and re.split("[.@]", name)[0] in read - own]
        rules[2][path] = first[path] | paths(reads[path].load, path)
        rules[1][path] = rules[2][path] | paths(read, path)
        rules[1][path] |= paths(added, path)
        rules[0][path] = rules[1][path] | paths(reads[path].hints, path)
    order: list[str] = []
    for after in rules:
        while ready := [path for path in files if path not in order and after[path] - {path} <= {*order}]:
            order.append(min(ready))
    return order + sorted(files.keys() - {*order})
