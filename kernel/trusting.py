"""`%layer trust`: what waits to be trusted is accepted, loaded, and told of.

Owns which of the layer, the project layer and the cells folders that is, and in which order. How each is accepted is
theirs.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

from perdure.layer.disk import RealDisk
from perdure.layer.opening import accept_layer
from perdure.layer.place import Homes, Mode, read_cells_entry
from perdure.layer.trust import TrustRecord

from . import projects
from .workspace import NOTHING_HERE, Workspace


def trust(workspace: Workspace, path: str | None = None) -> str:
    """Accept what waits for it, or that at `path` alone, and load it; what came of it, as sentences.

    Raises:
        LayerError: the acceptance could not be remembered, or what is not loaded not be recorded.
    """
    wanted = None if path is None else Path(os.path.realpath(read_cells_entry(path, Path.cwd()).path))
    layer, cells_folders = workspace.layer, workspace.cells_folders
    place = workspace.place if layer is None else None
    if place is not None and wanted not in (None, Path(os.path.realpath(place.path))):
        place = None
    project = workspace.waiting
    if project is not None and wanted not in (None, project.path):
        project = None
    waiting = cells_folders.waiting(wanted) if workspace.mode is not Mode.OFF else []
    if place is None and project is None and not waiting:
        where = "No layer here" if path is None else f"Nothing at {path}"
        return f"{where} waits for trust. {workspace.summary()}."
    workspace.begin_loading()
    record, said = TrustRecord(Homes.of_user().state, RealDisk()), []
    for refused in waiting:
        with layer.lock if layer is not None else nullcontext():
            told, loaded = cells_folders.accept(refused, record, workspace.place.path if workspace.place else None)
        said.append(told)
        _untell(workspace, f"{refused.path} has ")
        if loaded is not None and layer is not None:
            if layer.report.skipped:
                said.append("What the layer skipped for want of it is loaded at the next start.")
            if workspace.mode is Mode.ON:
                layer.record.skipped(loaded.report.skipped, loaded.path)
    if project is not None:
        said.append(projects.accept(workspace, project, record))
        _untell(workspace, projects.UNTRUSTED)
    elif place is not None:
        accept_layer(place.path, record, RealDisk())
        _untell(workspace, f"{NOTHING_HERE}; {place.path} ")
        workspace.open_chosen()
        workspace.boot_layer()
        problems = workspace.untold.take_problems()
        said += problems if workspace.layer is None else [f"{workspace.summary()}.", *problems]
    return "\n".join(said)


def _untell(workspace: Workspace, said: str) -> None:
    """Take back the notices with `said`, those of the running cell too: what they tell of was accepted in this cell."""
    workspace.untold.take_back(said)
    if (cell := workspace.cell.get()) is not None:
        cell.report.told = tuple(line for line in cell.report.told if said not in line)
