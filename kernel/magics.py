"""What the magics but `%layer` say, as text and without IPython; `upstream/magics.py` hangs them into the shell."""

from __future__ import annotations

import re

from perdure.layer.definition import Kind

from .cell import Cell
from .workspace import Workspace

# Names stand apart by spaces or commas; in brackets, as of `area@dict[str, int]`, both belong to the name.
_NAMES = r"(?:\[[^\]]*\]+|[^\s,\[])+"
_SCRATCH = r"\s*%%scratch\b"


def is_scratch(cell: str) -> bool:
    """Whether the cell asks, by `%%scratch` on its first line, to have nothing kept."""
    return "%%scratch" in cell and re.match(_SCRATCH, cell) is not None


def strip_scratch(lines: list[str]) -> list[str]:
    """The lines of a cell without a `%%scratch` at their head: what is left runs as any cell does."""
    return lines[1:] if lines and is_scratch(lines[0]) else lines


# By this IPython leaves it out when a console asks whether a cell is complete: as with any cell magic, an empty line
# ends it.
strip_scratch.has_side_effects = True  # type: ignore[attr-defined]


def cells(workspace: Workspace) -> str:
    """`%cells`: each cells folder, then the layer: definitions by kind, and what was skipped or is unresolved."""
    layer, folders = workspace.layer, workspace.cells_folders
    lines = folders.listed(layer.definitions if layer is not None else ())
    lines.append(workspace.summary().removesuffix("; %cells lists them"))
    if layer is None:
        return "\n".join(lines)
    for kind in Kind:
        made = (entry.definition for entry in layer.definitions if entry.definition.kind is kind)
        if names := [name for definition in made for name in definition.gives]:
            lines.append(f"  {kind.folder}: {', '.join(names)}")
    if not layer.definitions:
        lines.append("  no definitions yet")
    if overrides := folders.overrides(layer.definitions):
        lines.append(f"  overrides: {', '.join(overrides)}")
    lines += workspace.waking.lines()
    lines += [f"  skipped {skipped.path}: {skipped.reason}" for skipped in layer.report.skipped]
    lines += [f"  unresolved: {key} needs {', '.join(names)}" for key, names in layer.unresolved()]
    lines += [f"  not kept: {', '.join(names)}, which {key} needs" for key, names in layer.unkept_needs()]
    lines += [
        f"  {item.definition.key} loaded with its annotations as text: {item.lazy} is not defined"
        for item in layer.report.loaded
        if item.lazy is not None
    ]
    return "\n".join(lines)


def keep(workspace: Workspace, line: str) -> str | None:
    """`%keep NAME…`: keep these names although the rule does not; what came of it is told by the cell's notices."""
    if not (names := names_in(workspace, line)):
        return "%keep NAME keeps a definition or variable that is not kept by itself."
    if (cell := _keeping(workspace)) is None:
        return f"Nothing is kept here: {workspace.summary()}"
    for name in names:
        cell.keep(name)
    return None


def forget(workspace: Workspace, line: str) -> str | None:
    """`%forget NAME…`: take these definitions out of the layer and the namespace, also `Foo.m` and `f@Type`."""
    if not (names := names_in(workspace, line)):
        return "%forget NAME takes a definition out of the layer; %cells lists them."
    if (cell := _keeping(workspace)) is None:
        return f"Nothing is forgotten here: {workspace.summary()}"
    unknown = [name for name in names if not cell.knows(name)]
    for name in names:
        if name not in unknown:
            cell.forget(name)
    return (
        f"The layer has nothing to forget of the name {', '.join(unknown)}; %cells lists what it has."
        if unknown
        else None
    )


def names_in(workspace: Workspace, line: str) -> list[str]:
    """The names in `line`; `area@int | float` is one."""
    layer, whole = workspace.layer, line.strip()
    is_one = layer is not None and (layer.table.giver(whole) is not None or whole in layer.variables.refused)
    return [whole] if is_one else re.findall(_NAMES, line)


def _keeping(workspace: Workspace) -> Cell | None:
    """The cell that runs, if it keeps anything."""
    cell = workspace.cell.get()
    return cell if cell is not None and cell.keeps else None
