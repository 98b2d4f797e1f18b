"""Names that leave the layer: deleted, or plain variables now, and what is lost with them. Pure."""

from __future__ import annotations

import builtins
from collections.abc import Iterable

from .definition import Kind
from .given import owner_of
from .outcome import Forgotten, Outcome, Returns
from .view import View

PLAIN_NOW = "it is a plain variable now"


def leave(view: View, names: tuple[str, ...], why: str = PLAIN_NOW) -> tuple[Outcome, ...]:
    """`names` became plain variables: what was kept under them no longer tells their value.

    A value stays all the same where definitions were made with it and still have it, as one pulled in for a default.
    """
    return forgotten(view, [name for name in names if not _made_others(view, name)], why)


def _made_others(view: View, name: str) -> bool:
    known = view.kept.get(name)
    return known is not None and known.kind is Kind.VALUE and bool(view.dependents(name))


def forgotten(view: View, names: Iterable[str], why: str) -> tuple[Forgotten | Returns, ...]:
    """The kept ones of `names` leave the layer, and with each what was put on it.

    What a cells folder gives under a name that was kept, or deleted (`why` is empty then), is back after a restart.
    """
    outcomes: list[Forgotten] = []
    names = tuple(names)
    gone = dict.fromkeys(name for name in names if name in view.kept)
    gone |= dict.fromkeys(part for name in gone for part in view.kept if owner_of(part) == name)
    for name in gone:
        if name in view.kept:
            without = (
                (view.dependents(name) if name not in view.shipped else (), "need", " to load"),
                (view.callers(name) if name not in view.shipped else (), "use", ", and will not load without it"),
            )
            left = (([o.key for o in others if o.key not in gone], verb, end) for others, verb, end in without)
            lost = [f"{', '.join(keys)} {verb if keys[1:] else f'{verb}s'} it{end}" for keys, verb, end in left if keys]
            if name in view.shipped or hasattr(builtins, name):
                lost = []  # they will have that one
            outcomes.append(Forgotten(name, "; ".join(part for part in (why, *lost) if part)))
    back = (name for name in dict.fromkeys((*names, *gone)) if name in view.shipped and (name in gone or not why))
    return (*outcomes, *(Returns(name, view.origins.get(name, "")) for name in back))
