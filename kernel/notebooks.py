"""Which notebook each request comes from: what it says itself, else what the server told this kernel, asked once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_VARIABLE = "JPY_SESSION_NAME"  # what jupyter_server tells the kernels it starts


class Notebooks:
    """The notebooks of one kernel, by what its requests say."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._folders: tuple[Path, ...] = ()
        self._known: dict[str, str | None] = {}

    def name_from(self, *folders: Path) -> None:
        """Name notebooks by their paths in `folders` from now on, the first that each is in."""
        self._folders, self._known = folders, {}

    def name(self, said: str | None) -> str | None:
        """The notebook that a request says it comes from, else the one that the server started this kernel for."""
        from .notebook import notebook_name  # here: asked for when there is something to commit

        known, key = self._known, said or ""
        if key not in known:
            text = said or self._environ.get(_VARIABLE)
            if text and os.path.isabs(text):
                text = os.path.realpath(text)
            known[key] = notebook_name(text, self._folders, by_server=not said)
        return known[key]
