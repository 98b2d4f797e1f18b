"""The words of a text that may be names, told without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import FunctionType

from .view import class_dict

DOCTEST = frozenset({"doctest", "testmod", "run_docstring_examples"})
"""Words of a cell that may have the examples of docstrings run."""
_WORD = r"[^\W\d]\w*"
_EXAMPLE = r"(?m)^[ \t]*(?:>>>|\.\.\.) (.*)$"
_ESCAPE = r"\\[abfnrtv]"


def words(text: str) -> frozenset[str]:
    """The identifiers in `text`, wherever they stand: no name that it mentions is missing."""
    if not text.isascii():
        import unicodedata  # as the parser does it; nearly all cells do without

        text = unicodedata.normalize("NFKC", text)
    found = re.findall(_WORD, text)
    if "\\" in text:
        found += re.findall(_WORD, re.sub(_ESCAPE, " ", text))  # `'x = 1\narea(2)'`, as a cell magic gets its body
    return frozenset(found)


def in_examples(text: str, values: Iterable[object]) -> frozenset[str]:
    """The identifiers in doctest examples that a cell of this text may have run: its own, and those of the `values`."""
    texts = [text]
    for value in values:
        for part in (value, *class_dict(value).values()):
            doc = part.__doc__ if isinstance(part, FunctionType) else class_dict(part).get("__doc__")
            texts += [doc] if isinstance(doc, str) and ">>>" in doc else []
    return frozenset().union(*(words("\n".join(re.findall(_EXAMPLE, each))) for each in texts))
