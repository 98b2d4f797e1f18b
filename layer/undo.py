"""Taking a commit back: what that comes to, or why it cannot be done, and the definitions live as they were.

As `git revert` does it: by a commit of its own, so that an undo can be undone. A file that was changed since is left to
the user: two changes of one definition are not merged here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from .boot_report import Skipped
from .definition import RelPath
from .errors import StoreFault, UnreadableFile
from .fileformat import read
from .given import owner_of
from .naming import name_told_by
from .past import SHORT
from .plan import LONGEST_SUBJECT, trailers
from .returning import bring_back
from .secret import suspect
from .session import Context
from .slots import fact
from .source import parse
from .store import Change, Changed, LogEntry, Message, Remove, Store, Write, holds_definition, is_same
from .waiting import Failed
from .wanted import files_wanting

if TYPE_CHECKING:
    from .room import Layer


@fact
class Undone:
    """A commit that was taken back, and what that did to this kernel."""

    entry: LogEntry  # the commit taken back
    loaded: tuple[str, ...] = ()  # names that are live as they were
    came_along: tuple[str, ...] = ()  # names that the start had skipped for want of these, and that are live now
    gone: tuple[str, ...] = ()  # names that are not there any more
    failed: tuple[Skipped, ...] = ()  # files that are as they were, and do not load
    shipped_again: tuple[str, ...] = ()  # names that are live as a cells folder gives them
    not_shipped: tuple[Failed, ...] = ()  # what a cells folder gives of `gone`, and does not load
    failed_first: tuple[Failed, ...] = ()  # what was to be made with the definitions taken back, and cannot be loaded
    output: str = ""  # what loading printed
    not_on_record: StoreFault | None = None  # why the record of events does not have it


@fact
class NotUndone:
    """Nothing was done; `why` is a clause that begins with what it is about."""

    why: str


def undo(layer: Layer, store: Store, name: str, context: Context) -> Undone | NotUndone:
    """Take the commit `name` back. The caller holds the layer's lock.

    Raises:
        LayerError: there is no such commit, or the commit that takes it back could not be made; nothing was done.
    """
    if layer.has_moved():
        layer.reread()
    entry = store.find(name)
    said = f"{entry.id[:SHORT]} {entry.subject}"
    if len(entry.parents) != 1:
        what = "is a merge; `git revert -m 1` in the folder takes it back" if entry.parents else "made the layer"
        return NotUndone(f"{said} {what}")
    changed = {path: each for path, each in store.changed(entry.id).items() if _stands(path, each, store)}
    if not changed:
        return NotUndone(f"{said} is taken back already")
    changed |= _without_their_owner(_gone(changed), changed, layer, store)
    if why := _in_the_way(changed, store) or _elsewhere(changed, layer):
        return NotUndone(f"{said}: {why}")
    changes = [_reverse(path, each) for path, each in changed.items()]
    commit = store.commit(changes, _message(entry, context))
    if commit is None:
        return NotUndone(f"{said} is taken back already")
    layer.tracked.made(commit)
    files = _definitions(changed, "before")
    back, gone = _names(files), _gone(changed)
    _take_away(layer, gone)
    below = bring_back(layer.shipped, gone)
    shipped = [name for name in gone if layer.shipped.is_live(name)]
    layer.variables.let_go(back)
    files |= _put_on((*back, *shipped), layer, store)
    wanting = files_wanting(layer.report.skipped, back, layer.tracked.files, layer.image.namespace)
    files = wanting | files
    report = layer.shipped.load_anew(layer.root, files)
    live = {item.path for item in report.loaded}
    layer.report = replace(layer.report, skipped=tuple(s for s in layer.report.skipped if s.path not in live))
    layer.tracked.has_loaded(dict.fromkeys(changed) | files)
    layer.reread()
    failed = {skipped.path for skipped in report.skipped}
    others = tuple(item for item in layer.report.loaded if item.path not in changed)
    along = tuple(item for item in report.loaded if item.path in wanting and item.path not in changed)
    left = tuple(item for item in layer.report.skipped if item.path not in failed)
    loaded = tuple(item for item in report.loaded if item.path in changed)
    layer.report = replace(
        layer.report,
        loaded=(*others, *loaded, *along),
        skipped=tuple(sorted((*left, *report.skipped), key=lambda s: s.path)),
    )
    try:
        kept = {item.definition.key: item.path for item in loaded}
        secret = {item.definition.key for item in loaded if suspect(item.definition.text, parse(item.definition.text))}
        layer.record.committed(kept, context, layer.record.lines(commit, kept, gone, context, secret))
        fault = None
    except StoreFault as error:
        fault = error
    return Undone(
        entry,
        tuple(given for item in loaded for given in item.definition.gives),
        tuple(given for item in along for given in item.definition.gives),
        tuple(name for name in gone if name not in shipped),
        report.skipped,
        tuple(shipped),
        below.failed,
        report.failed_first,
        below.output + report.output,
        fault,
    )


def _definitions(changed: Mapping[RelPath, Changed], side: Literal["before", "after"]) -> dict[RelPath, bytes]:
    """The definition files among `changed`, as they were then."""
    found: dict[RelPath, bytes | None] = {p: getattr(c, side) for p, c in changed.items() if holds_definition(p)}
    return {path: data for path, data in found.items() if data is not None}


def _gone(changed: Mapping[RelPath, Changed]) -> tuple[str, ...]:
    """The names that `changed` brought."""
    back = _names(_definitions(changed, "before"))
    return tuple(name for name in _names(_definitions(changed, "after")) if name not in back)


def _without_their_owner(
    gone: Iterable[str], changed: Mapping[RelPath, Changed], layer: Layer, store: Store
) -> dict[RelPath, Changed]:
    """What was put on one of `gone` by other commits: it goes too, as by `del`.

    Where a cells folder gives that one again, it stays, as for one that is as it was.
    """
    owners, head = {name for name in gone if name not in layer.shipped.given}, store.head()
    entries = (e for e in layer.table.entries.values() if owner_of(e.definition.key) in owners)
    return {e.path: Changed(None, store.show(head, e.path)) for e in entries if head and e.path not in changed}


def _stands(path: RelPath, changed: Changed, store: Store) -> bool:
    """Whether the file is not as it was before the change already."""
    head = store.head()
    return head is None or store.show(head, path) != changed.before or not is_same(store.file(path), changed.before)


def _elsewhere(changed: Mapping[RelPath, Changed], layer: Layer) -> str | None:
    """Which file gives a name now that would be in another one again, as a clause; None where there is none."""
    for name in _names(_definitions(changed, "before")):
        entry = layer.table.giver(name)
        if entry is not None and entry.path not in changed:
            return f"{name} is in {entry.path} now; take back what made that first"
    return None


def _in_the_way(changed: Mapping[RelPath, Changed], store: Store) -> str | None:
    """Why a commit that `changed` these cannot be taken back, a clause; None where none of them was changed since."""
    head = store.head()
    for path, each in changed.items():
        now = store.show(head, path) if head is not None else None
        if now not in (each.after, each.before):
            later = store.log(1, [path])[0]
            return f"{path} was changed since, by {later.id[:SHORT]} {later.subject}; take that back first"
        if not is_same(store.file(path), now):
            return f"{path} has changes that are not committed; commit them or `git checkout HEAD {path}` first"
    return None


def _reverse(path: RelPath, changed: Changed) -> Change:
    return Remove(path) if changed.before is None else Write(path, changed.before)


def _message(entry: LogEntry, context: Context) -> Message:
    subject = f"undo: {entry.subject}"
    if len(subject) > LONGEST_SUBJECT:
        subject = f"{subject[: LONGEST_SUBJECT - 1]}…"
    return Message(subject, f"This takes back commit {entry.id}.", trailers(context))


def _names(files: Mapping[RelPath, bytes]) -> tuple[str, ...]:
    """The names that the files give, sorted."""
    return tuple(sorted({name for path, data in files.items() for name in _given(path, data)}))


def _given(path: RelPath, data: bytes) -> tuple[str, ...]:
    try:
        return read(path, data).gives
    except UnreadableFile:
        return (name_told_by(path),)


def _take_away(layer: Layer, names: Iterable[str]) -> None:
    """Forget `names` and remove what is live under them, as `%forget` does."""
    for name in names:
        if name in layer.image.live and not layer.shipped.is_live(name):
            layer.image.remove(name)
            layer.deferred.gone(name)
            layer.image.forget(name)
            layer.variables.let_go((name,))
    layer.shipped.settle(names, ())


def _put_on(names: Iterable[str], layer: Layer, store: Store) -> dict[RelPath, bytes]:
    """The files of what is put on the definitions `names`: a class that is loaded anew is without its methods."""
    owners = set(names)
    parts = {
        entry.path: store.file(entry.path) for entry in layer.definitions if owner_of(entry.definition.key) in owners
    }
    return {path: data for path, data in parts.items() if data is not None}
