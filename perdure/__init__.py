"""Perdure: a Jupyter kernel for Python whose definitions last.

What code in a cell may call. The rooms of the package lie beside this folder (layer/, kernel/, client/);
docs/ARCHITECTURE.md is the map. A starting kernel imports this file before its path is in order, so the rooms are
imported where they are used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take the name for true; importing typing would be too early here
if TYPE_CHECKING:
    from perdure.layer.room import Location

__version__ = "0.1.0"
__all__ = ["__version__", "definition_location", "definition_text"]


def definition_text(name: str) -> str:
    """The exact source of the kept definition `name`, as it is live in this kernel.

    Raises:
        LookupError: nothing of that name is kept.
        perdure.layer.errors.LayerError: this process has no layer; every fault of perdure is one.
    """
    from perdure.kernel.current import LayerError, layer

    try:
        return layer().text(name)
    except LayerError as error:
        raise error.with_traceback(None) from None  # where in perdure it came up tells a user nothing


def definition_location(name: str) -> Location:
    """The file and line of the kept definition `name`.

    Raises:
        LookupError: nothing of that name is kept.
        perdure.layer.errors.LayerError: this process has no layer; every fault of perdure is one.
    """
    from perdure.kernel.current import LayerError, layer

    try:
        return layer().location(name)
    except LayerError as error:
        raise error.with_traceback(None) from None
