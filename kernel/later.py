"""What a start leaves out and the first definition needs, imported while the kernel has nothing to do.

A step takes a few milliseconds, so that no cell waits long for one. Where an import fails, it fails again, and is told,
where it is needed.
"""

from __future__ import annotations

from importlib import import_module

from perdure.layer.git_dulwich import NEEDED

# From the inside out: what a step imports is then little more than the module that it names.
_ROOMS = (
    *(
        "telling",
        "tokens",
        "secret",
        "known",
        "purity",
        "stages",
        "running",
        "dependents",
        "callables",
        "randomness",
        "compose",
        "attached",
    ),
    *(
        "blocks",
        "decide",
        "plan",
        "deciding",
        "git_tree",
        "git_entries",
        "git_index",
        "git_objects",
        "git_commit",
        "git_recovery",
    ),
    *("others", "reread", "handwork", "reconciling", "drafts", "git_heal"),
)


class Later:
    """What is still to be imported in this process."""

    def __init__(self) -> None:
        self._left = [*NEEDED[::-1], *(f"perdure.layer.{room}" for room in _ROOMS[::-1])]

    def step(self) -> bool:
        """Import the next of it; whether there is more."""
        if not self._left:
            return False
        try:
            import_module(self._left.pop())
        except Exception:
            pass
        return bool(self._left)
