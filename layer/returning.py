"""What a cells folder gives, live again in a kernel in which the layer had something else in its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .boot_report import Given
from .fileformat import render
from .given import owner_of
from .loading import AtOnce
from .shipped import Shipped, readable
from .source import parse
from .waiting import NOTHING, Loading, Waiting


def bring_back(shipped: Shipped, names: Iterable[str]) -> Loading:
    """Load what is shipped under `names`, which nothing else gives any more, and what is put on that.

    As this start loaded it: what changed in the folders since is left to the next one. Raises nothing of theirs.
    """
    wanted = {name for name in names if name in shipped.given and not shipped.is_live(name)}
    owners = {name: owner for name in shipped.given if (owner := owner_of(name)) is not None}
    # A method is shipped on the shipped class alone.
    wanted -= {n for n in wanted if n in owners and owners[n] not in wanted and not shipped.is_live(owners[n])}
    wanted |= {name for name, owner in owners.items() if owner in wanted}
    if not wanted:
        return NOTHING
    # Where two folders give a name, the later one may need the earlier one to load.
    items = [
        _waiting(Given(definition, folder.path, path))
        for folder in shipped.folders
        for definition, path in folder.report.live
        if wanted.intersection(definition.gives)
    ]
    first = shipped.deferred.load(shipped.reached_by((parse(item.text).body, item.text) for item in items))
    done = shipped.loader(AtOnce(wanted)).load(dict(enumerate(items)))
    for name in wanted:
        shipped.deferred.gone(name)
    back = {name for name in wanted if shipped.is_live(name)}
    shipped.variables.let_go(back)
    shipped.lost -= back
    return replace(done, output=first.output + done.output)


def _waiting(given: Given) -> Waiting:
    """A shipped definition to be loaded again, from its file, or as it was where the file says otherwise by now."""
    definition, path = given.definition, given.path
    try:
        files = {path: (given.folder / path).read_bytes()}
    except OSError:
        files = {}
    text = next((f.text for f in readable(files) if f.definition == definition), render(definition).decode())
    return Waiting(definition, path, given.folder, text, (), frozenset())
