"""When a kernel has the repository of its layer packed: at rest, and not again and again."""

from __future__ import annotations

import time
from pathlib import Path

from perdure.layer.packing import is_due, pack, tells_of_no_git

_AGAIN = 3_600.0  # seconds: a packing takes minutes, and one that fails is to cost no more than that


class Packing:
    """What this kernel did for that."""

    def __init__(self) -> None:
        self._since: float | None = None

    def step(self, layer: Path) -> str | None:
        """Have the repository at `layer` packed if that is due; what is to be told of it, as a clause."""
        if self._since is not None and time.monotonic() - self._since < _AGAIN:
            return None
        if not is_due(layer):
            return None
        self._since = time.monotonic()
        if not pack(layer) and tells_of_no_git(layer):
            return (
                f"{layer} has thousands of loose objects, which git would pack, but there is no git here; "
                "all works without it, and takes more room"
            )
        return None
