"""The facts of a definition. Frozen values only; no I/O, no live objects."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import NewType

from .slots import fact

Key = NewType("Key", str)
"""What a definition is kept under: its top-level name; `Foo.m` for a method put on a class, `f@Type` for what is
registered with a generic function."""

RelPath = NewType("RelPath", str)
"""A path inside the layer, with forward slashes: `functions/a/area.py`."""


class Kind(Enum):
    """What a definition is; the value is the layer folder that holds its kind."""

    FUNCTION = "functions"
    CLASS = "classes"
    VALUE = "values"
    METHOD = "methods"  # put on a class, or registered with a function, after that was defined

    @property
    def folder(self) -> str:
        return self.value


@fact
class Definition:
    """One named thing and all that its file says of it.

    `text` is the exact source with decorators and the comment block above it, lines ended by a bare newline and no
    newline at its end. It is one statement, or several in the order they ran: the stages of `def f`, `f = wrap(f)`.
    `imports` are whole import statements, one each, `from __future__` first, in the order they stand in the file.
    """

    key: Key
    kind: Kind
    text: str
    imports: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()  # read when called; plain variables, or nothing at all, when this was kept
    after: tuple[Key, ...] = ()  # definitions to load first although no name says so
    names: tuple[str, ...] = ()  # every name it gives, where that is more or other than its key
    overrides: str = ""  # the digest of the text of the same key that it replaces in a cells folder

    @property
    def gives(self) -> tuple[str, ...]:
        """The top-level names that loading this definition sets."""
        return self.names or (self.key,)

    @property
    def digest(self) -> str:
        """What another definition's `overrides` says of this one: SHA-256 of the text, 64 hex digits."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()
