"""The project layer of one kernel: found when it starts, made by `%layer init`, accepted by `%layer trust`.

Knows no IPython. Where a project layer may be stands in layer.project, what is asked of it in layer.opening.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.layer.cells_folder import CellsFolder
from perdure.layer.definition import Kind, RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.errors import LayerError, UnreadableFile
from perdure.layer.fileformat import read
from perdure.layer.opening import Absent, Ready, Untrusted, accept_layer
from perdure.layer.place import LAYER_VARIABLE, Mode, Origin, Place, name_of_folder
from perdure.layer.project import FOLDER, exclude, find_project
from perdure.layer.shipped import PERSONAL
from perdure.layer.trust import TrustRecord

if TYPE_CHECKING:
    from .workspace import Workspace

UNTRUSTED = "is not trusted; %layer trust shows and loads it"
_INSTEAD = "the personal layer serves instead"


def open_found(workspace: Workspace, place: Place, cwd: Path) -> bool:
    """Take the project layer that was found at `place`; False, and told why, where the personal one is to serve."""
    try:
        match workspace.choosing.open(place):
            case Ready() as ready:
                if ready.made:  # somebody made the empty folder by hand, or `%layer init` broke off
                    exclude(place.path, RealDisk())
                workspace.take(ready)
                return True
            case Untrusted(found):
                workspace.waiting = found
                where = "here" if place.path.parent == cwd else f"in {place.path.parent}"
                workspace.untold.problem(f"{FOLDER} {where} {UNTRUSTED}")
            case Absent():
                pass
    except LayerError as error:
        workspace.untold.problem(f"{error}; until then {_INSTEAD}")
    return False


def accept(workspace: Workspace, place: Place, trust: TrustRecord) -> str:
    """Trust the project layer at `place`, tell what it holds, and keep to it if loading it replaces nothing.

    Raises:
        LayerError: the acceptance could not be remembered, or the layer cannot be used.
    """
    accept_layer(place.path, trust, RealDisk())
    opening = workspace.choosing.open(place)
    if not isinstance(opening, Ready):
        return f"{place.path} is trusted and cannot be loaded: it is another folder now. Start the kernel again."
    files = opening.store.files()
    said = [f"Project layer {place.path}", *_holdings(files)]
    workspace.waiting = None
    shipped = workspace.cells_folders.shipped
    if name := shipped.would_replace(CellsFolder(place.path, None, files)):
        return "\n".join([*said, f"It is trusted now; the next start loads it, since {name} is here already."])
    _go_over(workspace, opening)
    return "\n".join([*said, f"{workspace.summary()}.", *workspace.untold.take_problems()])


def init(workspace: Workspace, folder: str = "") -> str:
    """`%layer init`: make a project layer in the working folder, and keep to it from now on.

    With a `folder` of `.` also where one of a folder above is in force.

    Raises:
        LayerError: it could not be made.
    """
    if workspace.mode is not Mode.ON:
        return f"Nothing is made here: {workspace.summary()}."
    cwd = Path.cwd()
    path = cwd / FOLDER
    above = find_project(cwd)
    if above == path and (there := _there_already(workspace, path)):
        return there
    if above is not None and above != path and not folder:
        return f"The project layer of this folder is {above}; `%layer init .` makes another one here all the same."
    excluding = _excluded(path)
    opening = workspace.choosing.open(Place(path, name_of_folder(path), Origin.PROJECT))
    if not isinstance(opening, Ready):
        return f"{path} could not be made."
    said = [f"Made the project layer {path}, a git repository of its own{excluding}."]
    place = workspace.place
    if place is not None and place.origin in (Origin.ENVIRONMENT, Origin.CONFIG):
        setting = LAYER_VARIABLE if place.origin is Origin.ENVIRONMENT else "the config"
        said.append(f"As long as {setting} names {place.path}, definitions are kept there all the same.")
    elif place is not None and place.origin is Origin.PROJECT:
        said.append(f"Kernels that start here keep to it; this one goes on with {place.path}.")
    else:
        workspace.begin_loading()
        _go_over(workspace, opening)
        said.append("This kernel keeps to it from now on. What was kept before stays in the personal layer,")
        said.append("which is loaded before it at each start.")
    return " ".join(said)


def _there_already(workspace: Workspace, path: Path) -> str | None:
    """What to say of what is at `path`; None where `init` may go on."""
    match workspace.choosing.open(Place(path, name_of_folder(path), Origin.PROJECT), make=False):
        case Ready(_, place, _):
            in_force = workspace.place is not None and workspace.place.path == place.path
            return f"{path} is a project layer already{'' if in_force else '; the next start loads it'}."
        case Untrusted():
            return f"{path} is a project layer already, and not trusted; %layer trust shows and loads it."
        case Absent():
            return None


def _excluded(path: Path) -> str:
    """Have the surrounding repository ignore `path`; what is to be said of it."""
    try:
        file = exclude(path, RealDisk())
    except LayerError as error:
        return f", which the repository around it does not ignore ({error})"
    return f", which {file} has the repository around it ignore" if file is not None else ""


def _go_over(workspace: Workspace, ready: Ready) -> None:
    """Keep to the layer that was opened, with the personal one below it, and load it."""
    personal, folders = workspace.layer, workspace.cells_folders
    if personal is not None:
        folders.personal = Path(os.path.realpath(personal.root))
        personal.become_shipped(PERSONAL)
    workspace.trouble = None
    workspace.take(ready)
    workspace.boot_layer()
    cell = workspace.cell.get()
    if cell is not None and workspace.layer is not None:
        cell.go_on(workspace.layer.run())


def _holdings(files: Mapping[RelPath, bytes]) -> list[str]:
    """The names in `files`, by kind; nothing of them is run."""
    names: dict[Kind, list[str]] = {}
    unread: list[str] = []
    for path, data in files.items():
        try:
            definition = read(path, data)
        except (UnreadableFile, RecursionError):
            unread.append(path)
            continue
        names.setdefault(definition.kind, []).extend(definition.gives)
    lines = [f"  {kind.folder}: {', '.join(sorted(names[kind]))}" for kind in Kind if kind in names]
    lines += [f"  cannot be read: {', '.join(unread)}"] if unread else []
    return lines or ["  no definitions"]
