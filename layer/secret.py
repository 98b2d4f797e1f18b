"""The two simple secret rules (DESIGN §3): known token patterns, and a literal under a telling name. Pure.

They look at source before anything is written: what they refuse reaches no file, no git object and no log.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from .tree import walk

_TOKENS = re.compile(
    r"""
    \bsk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}          # OpenAI, Anthropic; without a digit it is a CSS class
    | \b(?:AKIA|ASIA)[0-9A-Z]{16}\b                      # AWS access key id
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bglpat-[A-Za-z0-9_-]{16,}                         # GitLab
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}                   # Slack
    | \bAIza[0-9A-Za-z_-]{30,}                           # Google
    | \bhf_[A-Za-z0-9]{20,}                              # Hugging Face
    | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[A-Za-z0-9_-]{30,}
    | \b[sr]k_live_[A-Za-z0-9]{16,}                      # Stripe
    | \bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}       # SendGrid
    | \beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.   # JSON web token
    | -----BEGIN\ (?:[A-Z]+\ )*PRIVATE\ KEY
    # user:password@host in a URL, unless it only says so
    | \b[a-z][a-z0-9+]*://[^\s:/@'"{}<>]+:(?!(?:pass|passwd|password|pwd|secret|token|x+|\*+|\.+)@)[^\s/@'"{}<>]+@
    """,
    re.VERBOSE,
)
# One of these is in every token; looking for them first takes a hundredth of the time.
_MARKS = (
    "sk- AKIA ASIA ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xox AIza hf_ npm_ pypi- k_live_ SG. eyJ :// PRIVATE"
).split()
_TELLING = re.compile(
    r"(?:^|_)(?:passwords?|passwd|passphrase|pwd|secrets?|token|api_?keys?|access_?key|secret_?key|auth_?key"
    r"|private_?key|client_?secret|credentials?|authorization)(?:_?(?:value|str|text|\d+))?$"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PLACEHOLDER = re.compile(r"[<{\[].*[>}\]]|\$\w+|your[-_ ].*|x+|change-?me|none|null|todo", re.IGNORECASE | re.DOTALL)


def suspect(text: str, node: ast.AST) -> str | None:
    """What in the definition `node` with source `text` looks like a secret, as a phrase; None if nothing does."""
    for name, value in _named_values(node):
        if is_telling(name) and any(_could_be_secret(name, said) for said in _literals(value)):
            return name
    return "a token" if has_token(text) else None


def has_token(text: str) -> bool:
    """Whether `text` holds something of the form of a known kind of token."""
    return any(mark in text for mark in _MARKS) and _TOKENS.search(text) is not None


def is_telling(name: str) -> bool:
    """Whether a literal under `name` is one not to write down: `db_password`, `apiKey`, `X-Auth-Token`."""
    return _TELLING.search(_HUMP.sub("_", name).replace("-", "_").lower()) is not None


def _named_values(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Every (name, value) that the source puts together: assignment, default, keyword argument, dict item."""
    for part in walk([node]):
        match part:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _assigned(target, value)
            case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                if name := _name(target):
                    yield name, value
            case ast.keyword(arg=str(name), value=value):
                yield name, value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value
            case ast.arguments():
                positional = [*part.posonlyargs, *part.args]
                # Defaults belong to the last positional parameters.
                pairs = zip(reversed(positional), reversed(part.defaults), strict=False)
                yield from ((argument.arg, value) for argument, value in pairs)
                yield from ((a.arg, v) for a, v in zip(part.kwonlyargs, part.kw_defaults, strict=True))
            case ast.Compare(left=left, comparators=[value]):
                # What a token is compared with is mostly a word of some grammar.
                if (name := _name(left)) and not name.lower().endswith("token"):
                    yield name, value


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Tuple | ast.List):
        # Value by value where they can be told apart; else any of them may be under any name.
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        paired = len(values) == len(target.elts) and not any(
            isinstance(e, ast.Starred) for e in (*target.elts, *values)
        )
        for number, element in enumerate(target.elts):
            yield from _assigned(element, values[number] if paired else value)
    elif isinstance(target, ast.Starred):
        yield from _assigned(target.value, value)
    elif name := _name(target):
        yield name, value


def _name(target: ast.expr) -> str | None:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return None


def _literals(value: ast.expr | None) -> Iterator[str]:
    """The texts that `value` is or is put together from; what calls and lookups are given is not among them."""
    match value:
        case ast.Constant(value=str(said)):
            yield said
        case ast.Constant(value=bytes(said)):
            yield said.decode("latin-1")
        case ast.BinOp(left=left, right=right):
            first, second = [*_literals(left)], [*_literals(right)]
            yield from (*first, *second) if first and second else ()  # "Bearer " + token is none
        case ast.BoolOp(values=parts) | ast.Dict(values=parts):
            yield from _each(parts)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _each((body, orelse))
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            yield from _each(parts)
        case ast.Call(func=ast.Attribute(value=receiver, attr="encode" | "strip")):
            yield from _literals(receiver)


def _each(values: Iterable[ast.expr | None]) -> Iterator[str]:
    for value in values:
        yield from _literals(value)


def _could_be_secret(name: str, said: str) -> bool:
    """Whether the literal could be the secret itself: not empty, no placeholder as `<token>`, no name of itself."""
    letters = [c for c in said.lower() if c.isalnum()]
    if len(said) < 4 or not letters or _PLACEHOLDER.fullmatch(said.strip()):
        return False
    return letters != [c for c in name.lower() if c.isalnum()]
