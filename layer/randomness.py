"""Literals that look random: what may be a secret although no name and no form tells. Pure.

What is random by its nature and no secret (hashes, ids, pictures, test vectors) is told apart by what stands beside it,
and where that cannot be done it is left alone: the definition is kept in any case, and a user who is warned of nothing
too often reads no warning.
"""

from __future__ import annotations

import ast
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from .named_values import called_by
from .tree import walk

_MOST = 4  # in one definition; more are a table
_MOST_WORDS = 40  # of one literal; more are prose or data
_LONGEST = 200  # characters; what is longer is data
_WORD = re.compile(r"(?<![\w+/~.=-])[A-Za-z0-9+/_~.-]{20,}={0,2}(?![\w+/~=])")
_HEX = re.compile(r"(?:0x)?([0-9a-f]{32,128}|[0-9A-F]{32,128})")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_NO_WORD = re.compile(r"[/.=_-]{2}|\.\w{1,5}$|^[./~]")  # paths, rules
_SYLLABLES = re.compile(r"[a-z]{3,}")
_ONE_CASE = re.compile(r"[a-z0-9]+|[A-Z0-9]+")
_LONG_NAME = re.compile(r"[A-Za-z]{12,}")
# What begins so is a picture, an archive, a document, a digest, or in base64 a text of XML or JSON.
_DATA = re.compile(r"iVBORw|R0lGOD|/9j/|UklGR|PHN2Zy|PD94b|UEsDB|H4sI|JVBER|AAAB|eyJ|(?:sha|md)\d")
_WHOLE = re.compile(r"://|data:|;base64|\b(?:sha|md)\d+[:-]")  # an address, a picture, a digest that says so
_OF_ANOTHER_KIND = re.compile(
    r"sha_?\d|(?:^|_)sha(?:_|$)|md5|hash|digest|checksum|crc|blake|hmac|etag|uuid|guid|commit|revision|(?:^|_)rev(?:_|$)"
    r"|oid|fingerprint|integrity|thumbprint|signature|alphabet|charset|letters|digits|base(?:32|58|62|64|85)|vector"
    r"|expected|png|jpe?g|gif|svg|icon|image|pixel|font|wasm|pickle|compress|zlib|lzma|sequence|(?:^|_)seq(?:_|$)"
    r"|dna|rna|protein|peptide|smiles|inchi|genome|primer|(?:^|_)(?:cert|pub|public)|version|(?:^|_)ids?(?:_|$)",
    re.IGNORECASE,
)


def random_words(text: str, tree: Callable[[str], ast.AST]) -> list[str]:
    """The words in literals of `text` that look random and may be secrets; `tree` parses it, where that is needed."""
    found = {word for word in _WORD.findall(text) if is_random(word)}
    if not found:
        return []
    words = dict.fromkeys(word for literal in _literals(tree(text)) for word in _words(literal) if word in found)
    return [*words] if len(words) <= _MOST else []


def is_random(word: str) -> bool:
    """Whether `word`, of the characters of base64 or hex, is put together by chance, as far as that can be told."""
    if not 20 <= len(word) <= _LONGEST or _DATA.match(word) or _UUID.fullmatch(word):
        return False
    if match := _HEX.fullmatch(word):
        return _bits(match[1]) > 3.0 and _turns(match[1]) > 0.25
    plain = word.rstrip("=")
    letters = [c for c in plain if c.isalnum()]
    if len(letters) < 20 or not any(map(str.isdigit, letters)) or not any(map(str.isalpha, letters)):
        return False
    # An alphabet, in whatever order, has each of its letters once.
    if _NO_WORD.search(plain) or (len(letters) > 30 and len({*letters}) == len(letters)):
        return False
    if _bits(letters) < math.log2(min(len(letters), 32)) - 1.0:
        return False
    if _ONE_CASE.fullmatch("".join(letters)):
        is_one = len(letters) == len(plain) and len(letters) >= 24 and not _LONG_NAME.search(plain)
        return is_one and _turns(letters) > 0.28
    in_syllables = sum(map(len, _SYLLABLES.findall(plain)))
    return in_syllables < 0.4 * len(letters) and _turns(letters) > 0.35 and not _is_text(word)


def _bits(letters: str | list[str]) -> float:
    """Shannon's entropy of one letter."""
    return -sum(n / len(letters) * math.log2(n / len(letters)) for n in Counter(letters).values())


def _turns(letters: str | list[str]) -> float:
    """How often capitals, small letters and digits take turns: seldom in names, every third time and more by chance."""
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 for c in letters]
    steps = sum(ord(b) - ord(a) == 1 for a, b in pairwise(letters))
    turns = sum(a != b for a, b in pairwise(kinds))
    return turns / (len(kinds) - 1) if steps * 4 < len(kinds) else 0.0


def _is_text(word: str) -> bool:
    """Whether `word` is a text that was put into base64."""
    try:
        return binascii.a2b_base64(word + "=" * (-len(word) % 4)).decode().isprintable()
    except ValueError:
        return False


def _words(literal: str) -> Iterator[str]:
    """The words of a literal; none of a long text, nor of what says what it is."""
    parts = literal.split(None, _MOST_WORDS)
    if len(parts) <= _MOST_WORDS:
        for part in parts:
            if not _WHOLE.search(part):
                yield from _WORD.findall(part)


def _literals(node: ast.AST) -> Iterator[str]:
    """Every literal text below `node` beside which no name in the same simple statement tells what else it is."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        is_other = _OF_ANOTHER_KIND.search(node.name) is not None
    else:
        is_other = isinstance(node, ast.stmt) and not hasattr(node, "body") and any(map(_is_other, _names(node)))
    if is_other:
        return
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Constant(value=str(text)):
                yield text
            case ast.Constant(value=bytes(data)):
                yield data.decode("latin-1")
            case ast.Constant():
                pass
            case _:
                yield from _literals(child)


def _is_other(name: str) -> bool:
    return _OF_ANOTHER_KIND.search(name) is not None


def _names(node: ast.AST) -> Iterator[str]:
    for part in walk([node]):
        match part:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.Dict(keys=keys):
                yield from (key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
            case ast.Call():
                yield called_by(part)
