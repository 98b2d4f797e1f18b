"""The workspace of this process's kernel, for what user code calls without naming one (`perdure.definition_text`).

An interpreter runs one kernel at most, as it has one IPython shell. Nothing of the kernel's own looks here: it is
handed its workspace.
"""

from __future__ import annotations

from perdure.layer.errors import LayerError
from perdure.layer.room import Layer
from perdure.layer.shipped import Shipped

from .workspace import Workspace

__all__ = ["LayerError", "NoLayer", "layer", "set_workspace"]

_workspace: Workspace | None = None


class NoLayer(LayerError):
    """There is no layer to ask: no perdure kernel runs here, or it has none."""


def set_workspace(workspace: Workspace) -> None:
    """Make `workspace` the one of this process. Called once, by a kernel that starts."""
    global _workspace
    _workspace = workspace


def layer() -> Layer | Shipped:
    """The layer of this process's kernel; its cells folders where it has only these.

    Raises:
        NoLayer: there is neither.
    """
    if _workspace is None:
        raise NoLayer("no perdure kernel runs in this process; start one with `jupyter console --kernel perdure`")
    if _workspace.layer is None:
        shipped = _workspace.cells_folders.shipped
        if shipped.folders:
            return shipped
        raise NoLayer(_workspace.summary())
    return _workspace.layer
