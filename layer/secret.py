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
from .tree import walk

_MOST_PARTS = 40  # of a text that is written as a sum


def suspect(text: str, node: ast.AST) -> str | None:
    """What in the definition `node` with source `text` looks like a secret, as a phrase; None if nothing does."""
    if _has_word(text):
        for part in walk([node]):
            if type(part) in NAMING:
                for name, value, sure in named_values(part):
                    if _holds(name, value, sure):
                        return name
            elif type(part) is ast.Constant and isinstance(part.value, str | bytes) and len(part.value) > 8:
                said = part.value if isinstance(part.value, str) else part.value.decode("latin-1")
                if found := _told(said, is_code=False):
                    return found
        for comment in telling.COMMENT.findall(text):
            if found := _told(comment, is_code=True):
                return found
    return "a token" if _has_token_inside(text, node) else None


def says_secret(text: str) -> bool:
    """Whether a comment with `text` gives a secret away."""
    return has_token(text) or _told(text, is_code=True) is not None


def _has_token_inside(text: str, node: ast.AST) -> bool:
    """Whether there is a token in `text`, also one written in parts (`"sk-" "…"`, `"sk-" + "…"`) or with escapes."""
    if not any(mark in text for mark in telling.MARKS) and "\\" not in text:
        return False
    return has_token(text) or any(has_token(said) for part in walk([node]) if (said := _joined(part)))


def _joined(node: ast.AST) -> str:
    """The text that `node` is, a sum of texts being one; empty for any other."""
    parts: list[str] = []
    while len(parts) < _MOST_PARTS:
        match node:
            case ast.Constant(value=str(text)):
                return "".join([text, *reversed(parts)])
            case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str(text))):
                parts.append(text)
                node = left
            case _:
                break
    return ""


def has_token(text: str) -> bool:
    """Whether `text` holds something of the form of a known kind of token."""
    return any(mark in text for mark in telling.MARKS) and telling.TOKENS.search(text) is not None


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


def _holds(name: str, value: ast.expr | None, sure: bool) -> bool:
    """Whether `value` under `name` holds a secret; where it is not `sure` to be its value, it must look like one."""
    if is_telling(name):
        return any(_could_be_secret(name, said) and (sure or _looks_secret(said)) for said in _literals(value))
    if not _is_hinting(name):
        return False
    texts = [said for said in _literals(value) if said]
    # One odd word among many others is a word: the tokens of a lexer.
    return bool(texts) and 2 * sum(map(_looks_secret, texts)) >= len(texts)


def _told(text: str, *, is_code: bool) -> str | None:
    """The name under which a comment or a string says a secret: `# password = "…"`, `curl -H "Authorization: …"`."""
    if not _has_word(text):
        return None
    for match in telling.SAID.finditer(text):
        name = match["name"]
        tells = is_telling(name)
        if (tells or _is_hinting(name)) and _is_told(match, name, tells, is_code):
            return name
    for match in telling.PROSE.finditer(text):
        if _looks_secret(match["said"]):
            return match["name"]
    for header in telling.HEADER.finditer(text):
        said = header["said"]
        if header["known"]:
            if _could_be_secret("authorization", said) and not (_is_word(said) or said.lower().startswith("auth")):
                return "Authorization"
        elif _looks_secret(said):
            return "Authorization"
    if "curl" in text and (given := telling.CURL_USER.search(text)) and not _is_word(given["said"]):
        return "curl"
    return None


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
