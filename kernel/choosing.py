"""Which layer a kernel is to have, by environment, config and folder, and what is there. Loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from perdure.layer.disk import RealDisk
from perdure.layer.git_dulwich import git_identity
from perdure.layer.opening import Opening, open_layer
from perdure.layer.place import Homes, Mode, Place, choose, layer_name, personal_place, remembered_name
from perdure.layer.project import find_project
from perdure.layer.slots import fact


@fact
class Choosing:
    """What the choice hangs on, beside the working folder."""

    environ: Mapping[str, str]
    configured: str | None
    mode: Mode

    def chosen(self, cwd: Path) -> Place:
        """Where the layer is that is chosen in the folder `cwd`.

        Raises:
            LayerError: what is configured cannot be a place.
        """
        return choose(self.environ, self.configured, lambda: find_project(cwd), self.personal, cwd=cwd)

    def personal(self) -> Place:
        """Where the user's own layer is."""
        homes, user = Homes.of_user(), self.environ.get("USER")
        return personal_place(homes, remembered_name(homes, RealDisk(), lambda: layer_name(git_name(), user)))

    def open(self, place: Place, *, make: bool = True) -> Opening:
        """What is at `place`; a layer is made there if it may be.

        Raises:
            LayerError: as `open_layer`.
        """
        return open_layer(place, Homes.of_user(), author=None, disk=RealDisk(), make=make and self.mode is Mode.ON)


def git_name() -> str | None:
    """What git calls the user; None where it knows no name."""
    identity = git_identity()
    return identity.name if identity is not None else None
