"""`Definition` ↔ the text of its file (DESIGN §4). Pure: bytes in, facts out.

A file reads as what a person would write: needed imports, then the definition. One optional first line carries what
the text cannot: `# perdure: needs df, model; overrides sha256:ab12…; after grow; name A, B`.
"""

from __future__ import annotations

import ast
import re
from urllib.parse import quote, unquote

from .binding import bound_names
from .definition import Definition, Key, Kind, RelPath
from .errors import UnreadableFile
from .given import given_by_all, kind_of_all, owner_of
from .slots import fact
from .source import Source, parse
from .store import NotRead

HEADER = "# perdure:"
_FIELDS = ("needs", "overrides", "after", "name")
_DIGEST = "sha256:"
_MARKS = r"[%,;\n\r]"
# What `tokenize.open`, and so `linecache`, takes for the encoding of a file in its first two lines (PEP 263).
_COOKIE = r"[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+"
_CONFLICT = r"(?m)^(<<<<<<< |>>>>>>> |\|\|\|\|\|\|\| |=======$)"


def render(definition: Definition) -> bytes:
    """The file's bytes: UTF-8, bare newlines, one at the end."""
    parts = []
    header = _header(definition)
    is_first = not definition.imports
    has_cookie = is_first and any(re.match(_COOKIE, line) for line in definition.text.split("\n", 2)[:2])
    # Without a header a definition whose own comment looks like ours would be read as having one.
    if header or has_cookie or (is_first and definition.text.startswith(HEADER)):
        parts.append(f"{HEADER}{header}\n")
    if has_cookie:
        parts.append("\n")
    if definition.imports:
        parts.append("\n".join(definition.imports) + "\n")
        parts.append("\n" if definition.kind is Kind.VALUE else "\n\n")
    parts.append(definition.text + "\n")
    return "".join(parts).encode()


@fact
class File:
    """A definition file as read."""

    definition: Definition
    text: str  # all of it
    tree: ast.Module


def read(path: RelPath, data: bytes) -> Definition:
    """What the file at `path` defines.

    Raises:
        UnreadableFile: not UTF-8, merge conflict markers, a syntax error, or nothing that could be a definition.
    """
    return read_file(path, data).definition


def read_file(path: RelPath, data: bytes) -> File:
    """As `read`, with the text and the tree it was read from."""
    text = decode(path, data)
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _not_python(path, text, error) from None
    source = Source(text)
    imports, body = _leading_imports(tree.body)
    if not body:
        raise UnreadableFile(path, 1, "it defines nothing")
    header = _read_header(text)
    fields = header or {}
    told, given = given_by_all(body), fields.get("name", ())
    if strange := sorted({name for name in given if not owner_of(name)} - bound_names(body)):
        raise UnreadableFile(path, 1, f"its first line names {strange[0]}, which it does not define")
    if odd := [name for name in given if not name.isprintable()]:
        raise UnreadableFile(path, 1, f"its first line names {odd[0]!r}, which cannot be the name of anything")
    if not (names := given or told):
        raise UnreadableFile(path, body[0].lineno, "it defines nothing")
    definition = Definition(
        key=Key(names[0]),
        kind=kind_of_all(body, names),
        text=source.lines_from(_first_line_of_text(source, header is not None, imports)),
        imports=tuple(source.segment(node) for node in imports),
        needs=fields.get("needs", ()),
        after=tuple(Key(name) for name in fields.get("after", ())),
        names=given or (told if len(told) > 1 else ()),
        overrides=next((d.removeprefix(_DIGEST) for d in fields.get("overrides", ()) if d.startswith(_DIGEST)), ""),
    )
    return File(definition, text, tree)


def decode(path: RelPath, data: bytes) -> str:
    """The file's text, newlines made bare.

    Raises:
        UnreadableFile: it is not UTF-8, or nobody could read it.
    """
    if isinstance(data, NotRead):
        raise UnreadableFile(path, 1, f"it cannot be read: {data.decode()}")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UnreadableFile(path, line, "it is not UTF-8 text") from None


def _not_python(path: RelPath, text: str, error: BaseException) -> UnreadableFile:
    if conflict := re.search(_CONFLICT, text):
        line = text.count("\n", 0, conflict.start()) + 1
        return UnreadableFile(path, line, "it has merge conflict markers")
    if isinstance(error, SyntaxError):
        return UnreadableFile(path, error.lineno or 1, error.msg)
    return UnreadableFile(path, 1, str(error) or "it is nested too deeply to be read")


def _header(definition: Definition) -> str:
    given = () if _is_plain(definition) else definition.gives
    if given and given_by_all(parse(definition.text).body) == given:
        given = ()
    overrides = (f"{_DIGEST}{definition.overrides}",) if definition.overrides else ()
    fields = zip(_FIELDS, (definition.needs, overrides, definition.after, given), strict=True)
    said = "; ".join(f"{field} {', '.join(map(_encoded, values))}" for field, values in fields if values)
    return f" {said}" if said else ""


def _is_plain(definition: Definition) -> bool:
    """Whether all of it is the `def` or `class` of its one name, as most is: nothing is to be parsed to tell."""
    if definition.names:
        return False
    text, key = definition.text, definition.key
    begins = (f"{begin} {key}{end}" for begin in ("def", "class", "async def") for end in "(:")
    return text.startswith(tuple(begins)) and re.search(r"\n[^\s)\]}]", text) is None


def _read_header(text: str) -> dict[str, tuple[str, ...]] | None:
    first = text.split("\n", 1)[0]
    if not first.startswith(HEADER):
        return None
    fields: dict[str, tuple[str, ...]] = {}
    for part in first[len(HEADER) :].split(";"):
        field, _, values = part.strip().partition(" ")
        # Fields of later versions are left alone: a layer may have been written by one.
        if field in _FIELDS:
            fields[field] = tuple(unquote(value.strip()) for value in values.split(",") if value.strip())
    return fields


def _encoded(value: str) -> str:
    """`value` without what the first line has a meaning for, as of the key `size@Union[list, tuple]`."""
    return re.sub(_MARKS, lambda mark: quote(mark[0], safe=""), value)


def _leading_imports(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    count = 0
    while count < len(body) and isinstance(body[count], ast.Import | ast.ImportFrom):
        count += 1
    # `import a; X = 1` on one line is all text.
    while 0 < count < len(body) and body[count - 1].end_lineno == body[count].lineno:
        count -= 1
    return body[:count], body[count:]


def _first_line_of_text(source: Source, has_header: bool, imports: list[ast.stmt]) -> int:
    line = (imports[-1].end_lineno or 0) + 1 if imports else 1 + has_header
    while source.is_blank(line):
        line += 1
    return line
