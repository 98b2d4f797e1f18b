"""What `%layer` tells: of commits, of one definition, of what a session took. Looks and changes nothing."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.layer.boot_report import Skipped
from perdure.layer.definition import Definition, Kind
from perdure.layer.imports import ImportEntry
from perdure.layer.past import SHORT, NoVersion, unified
from perdure.layer.place import Mode
from perdure.layer.room import Layer
from perdure.layer.store import LogEntry
from perdure.layer.taken import imports_taken, taken
from perdure.layer.uses import uses_of

from .mending import place_in, what_mends
from .shown import Shown, Table, page
from .workspace import Workspace

if TYPE_CHECKING:
    from perdure.layer.proof import Unloadable

_COMMITS = 20  # of a log, unless asked for more
_DIGITS = 18  # of such a number: more commits than any layer has, and what counting takes
_LAST = 3  # commits in the summary
_COUNT = re.compile(r"(?:^|\s)-n\s*(\d+)(?=\s|$)")


def no_layer(workspace: Workspace) -> Shown:
    """What is said where there is no layer."""
    return Shown(f"There is no layer here: {_boot_line(workspace)}")


def path(workspace: Workspace, _rest: str) -> Shown:
    """`%layer path`."""
    if workspace.place is None:
        return Shown(workspace.summary())
    below = workspace.cells_folders.personal
    told = f"\nThe personal layer {below} is loaded before it." if below is not None else ""
    return Shown(f"{workspace.place.path}{told}")


def summary(workspace: Workspace) -> Shown:
    """`%layer`: the folder, how many definitions of each kind, the last commits, and what is not as it should be."""
    layer = workspace.layer
    if layer is None:
        return no_layer(workspace)
    kinds = [(kind.folder, [e for e in layer.definitions if e.definition.kind is kind]) for kind in Kind]
    rows = [(f"  {folder}", str(len(entries))) for folder, entries in kinds if entries]
    parts: list[str | Table] = [_boot_line(workspace)]
    parts += [Table(rows)] if rows else []
    parts.append("last commits:")
    parts.append(Table([(f"  {commit}", *rest) for commit, *rest in map(_commit_row, layer.log(_LAST))]))
    parts += [f"skipped {skipped.path}: {skipped.reason}" for skipped in layer.report.skipped]
    parts += workspace.long_loads()
    parts += [what.told for what in _unloadable(workspace)]
    parts += [f"unresolved: {key} needs {', '.join(names)}" for key, names in layer.unresolved()]
    parts.append("%layer? lists what else %layer tells and does")
    return page(*parts)


def log(workspace: Workspace, rest: str) -> Shown:
    """`%layer log [NAME] [-n N]`."""
    layer = workspace.layer
    if layer is None:
        return no_layer(workspace)
    counted = _COUNT.search(rest)
    limit = int(counted[1][:_DIGITS]) if counted else _COMMITS
    name = _COUNT.sub(" ", rest).strip()
    entries = layer.past(name).log(limit) if name and limit else layer.log(limit)
    if not entries:
        return _unknown(workspace, name) if name and limit else Shown("No commits.")
    return page(Table([*map(_commit_row, entries)], ("commit", "when", "what", "where")))


def show(workspace: Workspace, name: str) -> Shown:
    """`%layer show NAME`."""
    if not name:
        return Shown("%layer show NAME shows the text of a definition; %cells lists them.")
    layer, shipped = workspace.layer, workspace.cells_folders.shipped
    entry = layer.table.giver(name) if layer is not None else None
    if layer is not None and entry is not None:
        definition, where = entry.definition, layer.root / entry.path
        made = layer.past(name).log(1)
        told = [("made", _maker(made[0]) if made else "by a hand, and not committed")]
        told += [("skipped", each.reason) for each in layer.report.skipped if each.path == entry.path]
    elif given := shipped.given.get(name) or shipped.asleep.get(name):
        definition, where = given.definition, given.folder / given.path
        is_personal = given.folder == workspace.cells_folders.personal
        told = [("made", "in the personal layer" if is_personal else "in a cells folder")]
    else:
        return _unknown(workspace, name)
    told = [("file", str(where)), *told, *_waits(workspace, name)]
    told += [("imports", line) for line in definition.imports]
    told += [("needs", f"{', '.join(definition.needs)} (when called)")] if definition.needs else []
    told += [("gives", ", ".join(definition.gives))] if definition.gives != (name,) else []
    # No table: a path is copied, and must not be broken.
    return page("\n".join(f"{what + ':':<9}{said}" for what, said in told), "", definition.text)


def _waits(workspace: Workspace, name: str) -> Iterator[tuple[str, str]]:
    """Whether a definition is loaded when it is named only, as lines of `show`."""
    deferred = workspace.cells_folders.shipped.deferred
    if (packages := deferred.packages_of(name)) is not None:
        yield "waits", f"for {', '.join(packages)}; it is loaded when a cell names it"
        reasons = (failed.reason for failed in deferred.failures() if name in failed.waiting.definition.gives)
        yield from (("failed", reason) for reason in reasons)


def diff(workspace: Workspace, rest: str) -> Shown:
    """`%layer diff NAME [REV]`."""
    layer = workspace.layer
    if layer is None:
        return no_layer(workspace)
    name, _, revision = (rest, "", "") if rest in names(workspace) else rest.rpartition(" ")
    name, revision = (name.strip(), revision) if name else (revision, "")
    if not name:
        return Shown(
            "%layer diff NAME [REV] shows what changed in a definition since the version before, or since REV."
        )
    past = layer.past(name)
    if not past.log(1) and past.now() is None:
        return _unknown(workspace, name)
    old = past.at(layer.commit_named(revision)) if revision else past.before()
    if isinstance(old, NoVersion):
        return Shown(f"{old.why}; %layer show {name} shows it, %layer log {name} its commits.")
    return Shown(unified(old, past.now()) or f"{name} is the same as at {old.when}.")


def uses(workspace: Workspace, name: str) -> Shown:
    """`%layer uses NAME`."""
    known = {
        **workspace.cells_folders.shipped.definitions,
        **(workspace.layer.table.by_name if workspace.layer else {}),
    }
    if not name:
        return Shown("%layer uses NAME tells who needs a definition, and what it needs.")
    if name not in known:
        return _unknown(workspace, name)
    found = uses_of(name, known, workspace.has, workspace.is_ambient)
    rows = [
        ("needed to load by", found.needed_by),
        ("used when called by", found.used_by),
        ("put on it", found.put_on_it),
        ("needs to load", found.needs),
        ("uses when called", found.uses),
        ("plain variables", found.variables),
        ("found nowhere", found.missing),
    ]
    told = [(what, ", ".join(those)) for what, those in rows if those]
    told += [("imports" if not number else "", line) for number, line in enumerate(found.imports)]
    return page(Table(told)) if told else Shown(f"{name} needs nothing, and nothing that is kept needs it.")


def used(workspace: Workspace, _rest: str) -> Shown:
    """`%layer used`."""
    definitions, imports = what_was_taken(workspace), imports_that_were_taken(workspace)
    if not definitions and not imports:
        return Shown("The cells of this session took nothing from the layer.")
    rows = [(", ".join(made.gives), made.kind.name.lower(), str(_origin(workspace, made))) for made in definitions]
    rows += [(entry.binding, "import", entry.statement) for entry in imports]
    return page(Table(rows, ("name", "kind", "from")))


def what_was_taken(workspace: Workspace) -> Sequence[Definition]:
    """What the cells of this session took from layer and cells folders and did not define themselves; in load order."""
    return taken(workspace.ran, workspace.cells_folders.shipped.image.loaded)


def imports_that_were_taken(workspace: Workspace) -> Sequence[ImportEntry]:
    """The imports of the files of layer and cells folders that the cells of this session took; sorted."""
    shipped = workspace.cells_folders.shipped
    there, record = shipped.image.namespace, shipped.variables.imports
    return imports_taken(workspace.ran, shipped.image.loaded, record, there, sys.modules)


def skipped(workspace: Workspace, _rest: str) -> Shown:
    """`%layer skipped`."""
    found = [(layer.root, each) for layer in _of(workspace.layer) for each in layer.report.skipped]
    shipped = workspace.cells_folders.shipped.folders
    found += [(folder.path, each) for folder in shipped for each in folder.report.skipped]
    lines = [_told(root, each, f"{', '.join(each.names)}: {each.reason}") for root, each in found]
    for layer in _of(workspace.layer):
        lines += [
            _told(layer.root, Skipped(what.path, what.reason, what.names), what.told) for what in _unloadable(workspace)
        ]
    if not lines:
        return no_layer(workspace) if workspace.layer is None else Shown("Nothing is skipped.")
    return Shown("\n\n".join(lines))


def proof(workspace: Workspace, _rest: str) -> Shown:
    """`%layer proof`."""
    proving = workspace.proving
    if workspace.layer is None:
        return no_layer(workspace)
    if proving is None:
        asks = 'c.PerdureKernel.proof = "process" asks for it'
        return Shown(f"Nothing is proved here; {asks if workspace.mode is Mode.ON else 'nothing is kept'}.")
    if (cell := workspace.cell.get()) is not None:
        cell.commit()
        proving.hear(cell.report.outcomes)
    proving.rest()
    told = [f"{what.told}." for what in proving.failing()]
    return Shown("\n".join(told) or "All that was kept since this kernel started loads, as far as that can be proved.")


def names(workspace: Workspace) -> list[str]:
    """Every name that the layer or a cells folder gives, loaded or not; sorted."""
    shipped = workspace.cells_folders.shipped
    found = {*shipped.given, *shipped.asleep}
    if workspace.layer is not None:
        found.update(name for entry in workspace.layer.table.entries.values() for name in entry.definition.gives)
    return sorted(found)


def _of(layer: Layer | None) -> Iterator[Layer]:
    if layer is not None:
        yield layer


def _boot_line(workspace: Workspace) -> str:
    return workspace.summary().removesuffix("; %cells lists them")


def _unknown(workspace: Workspace, name: str) -> Shown:
    every = names(workspace)
    near = difflib.get_close_matches(name, every, n=5)
    near += [other for other in every if other.lower() == name.lower() and other not in near]
    told = f"; near it: {', '.join(near)}" if near else "; %cells lists what is"
    return Shown(f"Nothing is kept under {name}{told}.")


def _commit_row(entry: LogEntry) -> tuple[str, str, str, str]:
    return entry.id[:SHORT], f"{entry.time:%Y-%m-%d %H:%M}", entry.subject, _where(dict(entry.trailers))


def _where(trailers: Mapping[str, str]) -> str:
    said = (trailers.get("Cell"), trailers.get("Notebook") or trailers.get("Session"))
    return " ".join(filter(None, said))


def _maker(entry: LogEntry) -> str:
    trailers = dict(entry.trailers)
    cell, notebook, session = (trailers.get(name) for name in ("Cell", "Notebook", "Session"))
    where = " of ".join(filter(None, (cell, notebook)))
    told = ", ".join(filter(None, (where, f"session {session}" if session else "by hand")))
    return f"{entry.time:%Y-%m-%d %H:%M} by {entry.author.name}: {told}; commit {entry.id[:SHORT]} {entry.subject}"


def _origin(workspace: Workspace, definition: Definition) -> Path | str:
    given = workspace.cells_folders.shipped.given.get(definition.key)
    if given is not None and given.definition is definition:
        return given.folder
    entry = workspace.layer.table.giver(definition.key) if workspace.layer is not None else None
    return entry.path if entry is not None else "the layer, until it was forgotten"


def _told(root: Path, skipped: Skipped, said: str) -> str:
    return "\n".join([said, f"  {place_in(root, skipped)}", f"  {what_mends(skipped)}"])


def _unloadable(workspace: Workspace) -> Sequence[Unloadable]:
    return workspace.proving.failing() if workspace.proving is not None else ()
