"""What can become of a statement offered to the layer. Frozen values; a statement may have several or none."""

from __future__ import annotations

from typing import TypeAlias

from .definition import Definition
from .slots import fact


@fact
class Kept:
    """`definition` is to be written, and before it the plain variables it needs to load."""

    definition: Definition
    pulled: tuple[Definition, ...] = ()
    needs: tuple[str, ...] = ()  # plain variables that it reads when called; a name nothing has yet is none
    warnings: tuple[str, ...] = ()  # sentences without a full stop
    is_secret: bool = False  # for what it looks like, and asked for all the same


@fact
class Unchanged:
    """The layer has this very text already."""

    definition: Definition
    needs: tuple[str, ...] = ()  # as in Kept


@fact
class NotKept:
    """`name` would be a definition but for `reason`, a clause such as `it needs app to load`."""

    name: str
    reason: str
    forceable: bool = False  # `%keep NAME` keeps it all the same
    is_secret: bool = False  # for what it looks like


@fact
class Forgotten:
    """The kept name `name` leaves the layer; other names of the same definition stay."""

    name: str
    reason: str = ""  # a clause; empty after `del`
    asked: bool = False  # by `%forget`: the live object goes too


@fact
class Hidden:
    """An import took the name `name` of `definition`, which stays: a notebook that is run again would flip for ever."""

    name: str
    definition: Definition


@fact
class Returns:
    """The name `name` was deleted here; `folder`, a cells folder or the personal layer, gives it again at a start."""

    name: str
    folder: str


Outcome: TypeAlias = Kept | Unchanged | NotKept | Forgotten | Hidden | Returns
