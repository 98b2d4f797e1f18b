"""The two simple secret rules (DESIGN §3): known token patterns, and a literal under a telling name. Pure.

They look at source before anything is written: what they refuse reaches no file, no git object and no log. Some names
tell (`password`), and any text under them may be the secret; some only hint (`tokens`, `OPENAI_KEY`), and so do calls
and prose: there it must look like one, letters and digits mixed (`hunter22`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from . import telling
from .named_values import NAMING, called_by, named_values
from .slots import fact
from .source import parse
from .tokens import may_have_token, token_in
from .tree import walk

_TOKEN = "a token"
_MOST_PARTS = 40  # of a text that is written as a sum


@fact
class Secret:
    """Something that looks like a secret; `said` is for memory alone, and for no message, file or log."""

    what: str  # the name that gives it away, or `a token`
    said: str  # the text itself

    @property
    def is_sure(self) -> bool:
        """Whether what is said looks like a secret also where nothing gives it away."""
        return self.what == _TOKEN or _looks_secret(self.said)


def suspect(text: str, node: ast.AST) -> str | None:
    """What in the definition `node` with source `text` looks like a secret, as a phrase; None if nothing does."""
    found = next(secrets_in(text, node), None)
    return found.what if found is not None else None


def secrets_in(text: str, node: ast.AST) -> Iterator[Secret]:
    """All that looks like a secret in the source `text`, of which `node` is the tree."""
    if _has_word(text):
        for part in walk([node]):
            if type(part) in NAMING:
                for name, value, sure in named_values(part):
                    yield from (Secret(name, said) for said in _held(name, value, sure))
            elif type(part) is ast.Constant and isinstance(part.value, str | bytes) and len(part.value) > 8:
                said = part.value if isinstance(part.value, str) else part.value.decode("latin-1")
                yield from _told(said, is_code=False)
        for comment in telling.COMMENT.findall(text):
            yield from _told(comment, is_code=True)
    if found := token_in(text):
        yield Secret(_TOKEN, found)
    elif may_have_token(text) or "\\" in text:
        # Also one that is written in parts (`"sk-" "…"`, `"sk-" + "…"`) or with escapes.
        for part in walk([node]):
            if _is_in_parts(part) and (said := _joined(part)) and (found := token_in(said)):
                yield Secret(_TOKEN, found)


def says_secret(text: str) -> bool:
    """Whether a comment with `text` gives a secret away."""
    return token_in(text) is not None or next(_told(text, is_code=True), None) is not None


def secrets_of(code: str) -> Iterator[Secret]:
    """As `secrets_in`, of the text of a cell; nothing of what cannot be parsed."""
    if _has_word(code) or token_in(code):
        try:
            yield from secrets_in(code, parse(code))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            pass


def _is_in_parts(node: ast.AST) -> bool:
    """Whether `node` may be a text that does not stand in the source as it is."""
    if type(node) is ast.Constant and isinstance(node.value, str | bytes):
        # Quotes, a letter before them, and what is between.
        in_line = (node.end_col_offset or 0) - node.col_offset <= len(node.value) + 3
        return not in_line or node.lineno != node.end_lineno
    return type(node) is ast.BinOp and type(node.op) is ast.Add


def _joined(node: ast.AST) -> str:
    """The text that `node` is, a sum of texts being one; empty for any other."""
    parts: list[str] = []
    while len(parts) < _MOST_PARTS:
        match node:
            case ast.Constant(value=str(text)):
                return "".join([text, *reversed(parts)])
            case ast.Constant(value=bytes(data)):
                return "".join([data.decode("latin-1"), *reversed(parts)])
            case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str(text))):
                parts.append(text)
                node = left
            case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=bytes(data))):
                parts.append(data.decode("latin-1"))
                node = left
            case _:
                break
    return ""


@lru_cache(maxsize=1024)
def is_telling(name: str) -> bool:
    """Whether a literal under `name` is one not to write down: `db_password`, `apiKey`, `X-Auth-Token`."""
    return telling.TELLING.search(_snake(name)) is not None


@lru_cache(maxsize=1024)
def _is_hinting(name: str) -> bool:
    """Whether what looks like a secret under `name` is one: `TOKENS`, `MAPS_KEY`, but no `sort_key`."""
    snake = _snake(name)
    return telling.HINTING.search(snake) is not None and not telling.PLAIN_KEY.search(snake)


def _has_word(text: str) -> bool:
    lower = text.lower()
    return any(word in lower for word in telling.WORDS) or (
        ("pass" in lower or "key" in lower) and telling.PARTS.search(lower) is not None
    )


def _snake(name: str) -> str:
    return telling.HUMP.sub("_", name).replace("-", "_").lower()


def _held(name: str, value: ast.expr | None, sure: bool) -> Iterator[str]:
    """The secrets that `value` under `name` holds; where it is not `sure` to be its value, they must look like one."""
    if is_telling(name):
        yield from (s for s in _literals(value) if _could_be_secret(name, s) and (sure or _looks_secret(s)))
    elif _is_hinting(name):
        texts = [said for said in _literals(value) if said]
        odd = [said for said in texts if _looks_secret(said)]
        # One odd word among many others is a word: the tokens of a lexer.
        yield from odd if 2 * len(odd) >= len(texts) else ()


def _told(text: str, *, is_code: bool) -> Iterator[Secret]:
    """What a comment or a string says under a name: `# password = "…"`, `curl -H "Authorization: …"`."""
    if not _has_word(text):
        return
    for match in telling.SAID.finditer(text):
        name = match["name"]
        tells = is_telling(name)
        if (tells or _is_hinting(name)) and _is_told(match, name, tells, is_code):
            yield Secret(name, match["quoted"] or match["bare"])
    for match in telling.PROSE.finditer(text):
        if _looks_secret(match["said"]):
            yield Secret(match["name"], match["said"])
    for header in telling.HEADER.finditer(text):
        said = header["said"]
        if header["known"]:
            if _could_be_secret("authorization", said) and not (_is_word(said) or said.lower().startswith("auth")):
                yield Secret("Authorization", said)
        elif _looks_secret(said):
            yield Secret("Authorization", said)
    if "curl" in text and (given := telling.CURL_USER.search(text)) and not _is_word(given["said"]):
        yield Secret("curl", given["said"])


def _is_told(match: re.Match[str], name: str, tells: bool, is_code: bool) -> bool:
    lead, quoted, bare = match["lead"] or "", match["quoted"], match["bare"]
    said = quoted or bare
    if _is_word(said) or not _could_be_secret(name, said):
        return False
    called = lead.rstrip("([").rpartition(".")[2]
    if quoted:
        # `os.environ["X"]`, `getpass("X")`: names and questions; `b"x"` and `str("x")` are the text itself.
        if (lead.endswith("[") and called) or ("(" in lead and telling.ASKING.match(called)):
            return False
        if tells and is_code and ("(" not in lead or called in telling.PASSING):
            return True
    elif tells and name.isupper() and match["sign"] == "=":
        return not telling.NO_SECRET.search(said)  # MY_TOKEN=abcdefgh, for a shell
    return _looks_secret(said)


def _is_word(said: str) -> bool:
    """Whether the text is but another name for it: `--token TOKEN`, `password=my_password`."""
    return said.isidentifier() and (is_telling(said) or _is_hinting(said))


def _literals(value: ast.expr | None) -> Iterator[str]:
    """The texts that `value` is or is put together from; what it is looked up by is not among them."""
    match value:
        case ast.Constant(value=str(said)):
            yield said
        case ast.Constant(value=bytes(said)):
            yield said.decode("latin-1")
        case ast.JoinedStr(values=parts):
            yield from _together([p.value if isinstance(p, ast.FormattedValue) else p for p in parts])
        case ast.BinOp(left=left, right=right):
            yield from _together((left, right))
        case ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            yield from _each(parts)
        case ast.Dict(keys=keys, values=parts):
            yield from _each(parts)
            yield from filter(_looks_secret, _each(keys))
        case ast.IfExp(body=body, orelse=orelse):
            yield from _each((body, orelse))
        case (
            ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.NamedExpr(value=inner) | ast.Lambda(body=inner)
        ):
            yield from _literals(inner)
        case ast.ListComp(elt=element) | ast.SetComp(elt=element) | ast.GeneratorExp(elt=element):
            yield from _each((element, *(generator.iter for generator in value.generators)))
        case ast.Call():
            yield from _of_call(value)


def _of_call(call: ast.Call) -> Iterator[str]:
    """The texts in a call: its receiver's, those it gives back, and of others what looks like a secret."""
    called, others = called_by(call), call.args
    if isinstance(call.func, ast.Attribute):
        match called, others:
            case "join", [ast.List(elts=parts) | ast.Tuple(elts=parts)]:
                yield from _together(parts)
                return
            case "join", [part]:
                yield from _literals(part)
                return
            case "format", _:
                yield from _together((call.func.value, *others, *(keyword.value for keyword in call.keywords)))
                return
        yield from _literals(call.func.value)
    for keyword in call.keywords:
        if keyword.arg in ("default", "default_factory"):
            yield from _literals(keyword.value)
    if called in telling.PASSING:
        yield from _each(others[:1])
    elif called in ("get", "getenv", "getattr", "pop"):
        yield from filter(_looks_secret, _each(others[1:]))  # the default
    elif telling.ASKING.match(called):
        pass
    else:
        yield from filter(_looks_secret, _each((*others, *(keyword.value for keyword in call.keywords))))


def _together(parts: Iterable[ast.expr]) -> Iterator[str]:
    """What the parts make when put together; beside what is not literal only what looks like a secret by itself."""
    said: list[str] = []
    is_whole = True
    for part in parts:
        texts = [*_literals(part)]
        is_whole = is_whole and (bool(texts) or isinstance(part, ast.Constant))
        said += texts
    if is_whole:
        yield "".join(said)  # "Bearer " + token is none
    else:
        yield from filter(_looks_secret, said)


def _each(values: Iterable[ast.expr | None]) -> Iterator[str]:
    for value in values:
        yield from _literals(value)


def _could_be_secret(name: str, said: str) -> bool:
    """Whether the literal could be the secret itself: not empty, no placeholder as `<token>`, no name of itself."""
    letters = [c for c in said.lower() if c.isalnum()]
    if len(said) < 4 or not letters or telling.PLACEHOLDER.fullmatch(said.strip()):
        return False
    return letters != [c for c in name.lower() if c.isalnum()]


def _looks_secret(said: str) -> bool:
    """Whether the text looks like a secret wherever it stands: letters and digits mixed, no prose, no path."""
    return telling.MIXED.search(said) is not None and not telling.NO_SECRET.search(said)
