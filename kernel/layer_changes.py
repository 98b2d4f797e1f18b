"""What `%layer` does: takes a commit back, writes source out, makes, loads and accepts layers and folders."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from perdure.layer.definition import Definition
from perdure.layer.dependents import callers, dependents
from perdure.layer.errors import LayerError
from perdure.layer.module import cell_of, in_ipython_only, module_of
from perdure.layer.past import SHORT
from perdure.layer.place import Mode
from perdure.layer.room import Layer
from perdure.layer.shipped import folder_told
from perdure.layer.taken import in_load_order, with_what_they_need
from perdure.layer.undo import NotUndone, Undone

from . import others, projects, trusting
from .layer_views import imports_that_were_taken, no_layer, what_was_taken
from .magics import names_in
from .shown import Shown
from .workspace import Workspace

_FORCE = re.compile(r"(?:^|\s)-f(?=\s|$)")


def undo(workspace: Workspace, rest: str) -> Shown:
    """`%layer undo [COMMIT]`."""
    layer, cell = workspace.layer, workspace.cell.get()
    if layer is None:
        return no_layer(workspace)
    if cell is None or not cell.keeps:
        why = "it is read-only" if workspace.mode is not Mode.ON else "nothing of this cell is kept"
        return Shown(f"Nothing was undone: {why}.")
    done = layer.undo(rest or "HEAD", cell.settled())
    if isinstance(done, NotUndone):
        return Shown(f"Not undone: {done.why}.")
    return Shown("\n".join(_told(done, layer)))


def bake(workspace: Workspace, _rest: str) -> Shown:
    """`%layer bake`."""
    definitions, imports = what_was_taken(workspace), imports_that_were_taken(workspace)
    if not definitions and not imports:
        return Shown("There is nothing to bake: the cells of this session took nothing from the layer.")
    made = [name for definition in definitions for name in definition.gives]
    made += dict.fromkeys(entry.binding for entry in imports)
    said = [f"The next cell has {', '.join(made)}: run it before the others.", *_lacks(definitions)]
    return Shown("\n".join(said), next_cell=cell_of(definitions, sys.stdlib_module_names, imports).rstrip("\n"))


def export(workspace: Workspace, rest: str) -> Shown:
    """`%layer export PATH [-f]`."""
    layer = workspace.layer
    if layer is None:
        return no_layer(workspace)
    name = _FORCE.sub(" ", rest).strip().strip("'\"")
    if not name:
        return Shown("%layer export PATH writes all definitions as one module; -f overwrites a file that is there.")
    path, force = Path(name).expanduser(), bool(_FORCE.search(rest))
    given = {**workspace.cells_folders.shipped.definitions, **layer.table.by_name}
    wanted = (name for entry in layer.definitions for name in entry.definition.gives)
    definitions = in_load_order(with_what_they_need(wanted, given))
    origin = re.sub(r"[^\w.-]", "_", workspace.place.name if workspace.place else "")
    docstring = f"The definitions of the perdure layer {origin}, in the order in which they load."
    text = module_of(definitions, docstring, sys.stdlib_module_names)
    try:
        with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        return Shown(f"Nothing was written: {path} is there already; %layer export {name} -f overwrites it.")
    except (OSError, UnicodeEncodeError) as error:
        reason = error.strerror or error if isinstance(error, OSError) else "a definition holds what is no UTF-8 text"
        return Shown(f"Nothing was written to {path}: {reason}.")
    count = len(definitions)
    return Shown("\n".join([f"{count} definition{'s'[: count != 1]} in {path}.", *_lacks(definitions, plain=True)]))


def init(workspace: Workspace, rest: str) -> Shown:
    """`%layer init [.]`."""
    if rest not in ("", "."):
        return Shown(f"%layer init makes a project layer in the working folder, not in {rest}; %cd goes to another.")
    try:
        return Shown(projects.init(workspace, rest))
    except LayerError as error:
        return Shown(f"Nothing was made: {error}")


def refresh(workspace: Workspace, rest: str) -> Shown:
    """`%layer refresh [NAME…]`."""
    if workspace.layer is None:
        return Shown(f"Nothing to load: {workspace.summary()}.")
    if (cell := workspace.cell.get()) is not None:
        cell.commit()
    try:
        wanted = names_in(workspace, rest)
        report = cell.report if cell is not None else None
        return Shown(others.refresh(workspace.layer, wanted, report, records=workspace.mode is Mode.ON))
    except LayerError as error:
        return Shown(f"Not refreshed: {error}")


def load(workspace: Workspace, _rest: str) -> Shown:
    """`%layer load`."""
    return Shown(workspace.waking.load_all())


def trust(workspace: Workspace, rest: str) -> Shown:
    """`%layer trust [PATH]`."""
    try:
        path = rest.strip(" \"'")
        return Shown(trusting.trust(workspace, path or None))
    except LayerError as error:
        return Shown(f"Not trusted: {error}")


def _told(done: Undone, layer: Layer) -> list[str]:
    """What an undo came to, as sentences."""
    lines = [f"Took back {done.entry.id[:SHORT]} {done.entry.subject}."]
    for names, one, many in ((done.loaded, "is as it was", "are as they were"), (done.gone, "is gone", "are gone")):
        if names:
            lines.append(f"{', '.join(names)} {many if names[1:] else one}.")
    if along := done.came_along:
        was, were = ("which was", "is") if len(along) == 1 else ("which were", "are")
        lines.append(f"{', '.join(along)}, {was} skipped for want of that, {were} loaded too.")
    lines += [f"{name} is registered until this kernel ends." for name in done.gone if "@" in name]
    origins = layer.shipped.origins
    lines += [f"{name} is that of {folder_told(origins[name])} again." for name in done.shipped_again]
    lines += [f"{failed.told}." for failed in done.not_shipped]
    lines += [f"{each.path} does not load: {each.reason}." for each in done.failed]
    lines += [f"{each.told}." for each in done.failed_first]
    for name in (*done.loaded, *done.shipped_again, *done.gone):
        made = dependents(name, layer.table.by_name.values())
        others = [d.key for d in made if d.key not in (*done.loaded, *done.came_along)]
        if others:
            needs = "will not load without it" if name in done.gone else f"still has the other {name} until a restart"
            lines.append(f"{', '.join(others)} {needs}.")
    for name in done.gone:
        if others := [d.key for d in callers(name, layer.table.by_name.values())]:
            lines.append(f"{', '.join(others)} will miss {name} when called.")
    if done.not_on_record is not None:
        lines.append(f"It is not on record: {done.not_on_record.why}; mend that.")
    if done.output.strip():
        lines.append(f"Loading printed:\n{done.output.rstrip()}")
    return lines


def _lacks(definitions: Sequence[Definition], *, plain: bool = False) -> list[str]:
    """What the source of `definitions` will miss, as sentences; `plain` for where there is no IPython."""
    given = {name for made in definitions for name in made.gives}
    needs = [(made.key, [name for name in made.needs if name not in given]) for made in definitions]
    lines = [f"{key} needs {', '.join(names)}, which is not kept." for key, names in needs if names]
    if plain and (keys := in_ipython_only(definitions)):
        lines.append(f"{', '.join(keys)} calls a magic, which only IPython has.")
    return lines
