"""What a kernel does while nobody waits for it, in steps of a few milliseconds (`upstream.rest` says when).

Imported with the first of them, as all that it needs: a start does without.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from perdure.layer.bundling import write_in_background
from perdure.layer.errors import LayerError, NoLocks
from perdure.layer.place import Homes, Mode

from . import boot_notices
from .later import Later
from .packing import Packing

if TYPE_CHECKING:
    from perdure.layer.room import Layer

    from .workspace import Workspace


class Resting:
    """The moments of rest of one kernel."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._later = Later()
        self._packing = Packing()

    def step(self) -> bool:
        """Do some of what can be done now; whether there is more. The workspace knows all of what was loaded.

        Leave the next start its bundles, import what cells are likely to need, take in what hands did, settle, pack.
        """
        workspace = self._workspace
        self.leave_bundles()
        if workspace.mode is not Mode.ON:
            return False
        if self._later.step():
            return True
        if (layer := workspace.layer) is not None:
            self._reconcile(layer)
            with suppress(LayerError):  # what is kept lasts all the same
                if layer.settle():
                    return True
            if said := self._packing.step(layer.root):
                workspace.untold.news(f"[layer: {said}]")
        return False

    def leave_bundles(self) -> None:
        """Leave the next start what it can replay."""
        starting = self._workspace.starting
        bundlings, starting.to_write = starting.to_write, []
        if bundlings:
            write_in_background(Homes.of_user().cache, bundlings)

    def _reconcile(self, layer: Layer) -> None:
        untold = self._workspace.untold
        try:
            layer.reconcile()
        except NoLocks as error:
            self._workspace.mode = Mode.READONLY
            untold.problem(str(error))
        except LayerError as error:
            untold.problem(f"it could not be told whether files were changed by hand: {error}")
        boot_notices.tell_handwork(layer, untold)
