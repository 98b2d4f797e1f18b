"""What somebody is in the middle of in a repository, where a commit would do harm: a merge and its like, and conflicts.

It is told with what to do about it, and left alone.
"""

from __future__ import annotations

import os
from pathlib import Path

from .errors import LayerUnusable
from .git_index import Index

_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}


def refuse_what_is_under_way(layer: Path) -> None:
    """LayerUnusable in the middle of a merge, a rebase and their like."""
    if work := under_way(layer):
        raise LayerUnusable(
            layer,
            f"is in the middle of a git {work}",
            f"finish it there with `git {work} --continue` or drop it with `git {work} --abort`, "
            "and run the cell again",
        )


def under_way(layer: Path) -> str | None:
    """What git is in the middle of."""
    git = os.fspath(layer / ".git")
    return next((work for name, work in _UNDER_WAY.items() if os.path.exists(f"{git}/{name}")), None)


def refuse_conflicts(layer: Path, index: Index) -> None:
    """LayerUnusable where a merge left files in conflict: what is written here has no place for them."""
    if index.conflicted:
        raise LayerUnusable(
            layer,
            f"has files in conflict ({', '.join(sorted(map(os.fsdecode, index.conflicted)))})",
            "resolve them, `git add` them, and run the cell again",
        )
