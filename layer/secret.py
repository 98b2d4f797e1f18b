"""The two simple secret rules (DESIGN §3): known token patterns, and a literal under a telling name. Pure.

They look at source before anything is written: what they refuse reaches no file, no git object and no log.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_TOKENS = re.compile(
    r"""
    \bsk-[A-Za-z0-9_-]{16,}                              # OpenAI, Anthropic
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
    | \b[a-z][a-z0-9+]*://[^\s:/@'"{}]+:[^\s/@'"{}]+@    # user:password@host in a URL
    """,
    re.VERBOSE,
)
_TELLING = re.compile(
    r"(?:^|_)(?:password|passwd|passphrase|pwd|secret|token|api_?key|access_?key|secret_?key|auth_?key|private_?key"
    r"|client_?secret|credentials?)(?:_?(?:value|str|text|\d+))?$",
    re.IGNORECASE,
)


def suspect(text: str, node: ast.AST) -> str | None:
    """What in the definition `node` with source `text` looks like a secret, as a phrase; None if nothing does."""
    for name, value in _named_literals(node):
        if _TELLING.search(name) and _is_telling(value):
            return name
    return "a token" if has_token(text) else None


def has_token(text: str) -> bool:
    """Whether `text` holds something of the form of a known kind of token."""
    return _TOKENS.search(text) is not None


def _named_literals(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Every (name, value) that the source puts together: assignment, default, keyword argument, dict item."""
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=targets, value=value):
                yield from ((name, value) for target in targets if (name := _name(target)))
            case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                if name := _name(target):
                    yield name, value
            case ast.keyword(arg=str(name), value=value):
                yield name, value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value.replace("-", "_"), value
            case ast.arguments():
                positional = [*part.posonlyargs, *part.args]
                # Defaults belong to the last positional parameters.
                pairs = zip(reversed(positional), reversed(part.defaults), strict=False)
                yield from ((argument.arg, value) for argument, value in pairs)
                yield from ((a.arg, v) for a, v in zip(part.kwonlyargs, part.kw_defaults, strict=True))
            case ast.Compare(left=left, comparators=[value]):
                if name := _name(left):
                    yield name, value


def _name(target: ast.expr) -> str | None:
    match target:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name.replace("-", "_")
    return None


def _is_telling(value: ast.expr | None) -> bool:
    """A literal that could be the secret itself: not empty, and no placeholder such as `<token>` or `***`."""
    if not isinstance(value, ast.Constant) or not isinstance(value.value, str | bytes):
        return False
    said = value.value.decode("latin-1") if isinstance(value.value, bytes) else value.value
    return len(said) >= 4 and any(c.isalnum() for c in said) and not re.fullmatch(r"[<{\[].*[>}\]]|\$\w+", said)
