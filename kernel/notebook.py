"""The name of the notebook that a cell comes from, as a commit is to have it: readable, and nobody's secret. Pure.

The request names it, or the server did in the kernel's environment. jupyter_server puts the name of the session there,
in the absolute path of its folder; for a console that is the title of its tab, or `console-1-<id>`. VS Code calls a
session `analysis.ipynb-jvsc-<id>` or `analysis-jvsc-<id>.ipynb`. A drive of JupyterLab stands before a path as `RTC:`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath, PurePosixPath

from perdure.layer.secret import says_secret

_LONGEST = 200  # characters
_VSCODE = re.compile(r"(.*?)(?:\.ipynb)?-jvsc-[^/]*", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z][A-Za-z0-9_-]+:(?!/)")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/+([^?#]*)", re.DOTALL)
_NOTEBOOK = re.compile(r".+\.(?:ipynb|py|r|jl|md|myst|qmd|rmd|txt)", re.DOTALL | re.IGNORECASE)  # jupytext's too
_ID = re.compile(r"(?=.*[0-9])[A-Za-z0-9_-]{32,}")  # an id or a token: neither says anything to a reader


def notebook_name(said: str | None, folders: Sequence[PurePath], *, by_server: bool) -> str | None:
    """The notebook that is called `said`, as a path from the first of `folders` that it is in, else by its name alone.

    None where it is none, or none that should stand in a commit. `by_server`: it may tell of a console.
    """
    text = "".join(c if c.isprintable() else " " for c in said or "").strip()
    if url := _URL.fullmatch(text.partition("?")[0].partition("#")[0]):
        text = f"/{url[1]}"
    text = _DRIVE.sub("", text, count=1)
    if session := _VSCODE.fullmatch(text):
        text = f"{session[1]}.ipynb"
    path = PurePosixPath(text)
    if by_server and not _NOTEBOOK.fullmatch(path.name):
        return None
    return next((told for told in (_inside(path, folders), path.name) if _may_be_told(told)), None)


def _inside(path: PurePosixPath, folders: Sequence[PurePath]) -> str:
    """`path` from the first of `folders` that it is in; its name alone where it is outside of them."""
    if path.is_absolute():
        inside = (path.relative_to(folder) for folder in folders if path.is_relative_to(folder))
        path = next(inside, PurePosixPath(path.name))
    return path.name if ".." in path.parts else path.as_posix()


def _may_be_told(name: str) -> bool:
    parts = PurePosixPath(name).parts
    is_id = any(_ID.fullmatch(word) for part in parts for word in part.split("."))
    # A secret among folders looks like a path.
    is_secret = any(map(says_secret, (name, *parts)))
    return name not in ("", ".", "..", "/") and len(name) <= _LONGEST and not is_id and not is_secret
