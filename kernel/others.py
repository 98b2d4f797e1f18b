"""What is said of what others did to the layer, and of `%layer refresh`, which loads it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perdure.layer.errors import LayerError

if TYPE_CHECKING:
    from perdure.layer.others import Others
    from perdure.layer.refresh import Refreshed
    from perdure.layer.room import Layer

    from .report import Report

_log = logging.getLogger(__name__)
_SHOWN = 4  # names in a notice before the rest is only counted


def news(layer: Layer) -> Others | None:
    """What others committed since it was asked last; None nearly always. Raises nothing."""
    try:
        return layer.news()
    except LayerError:
        return None  # the next definition that is kept tells
    except Exception:  # a mistake of ours must not cost the cell
        _log.exception("perdure could not tell what others did to the layer")
        return None


def told(found: Others) -> str:
    """What others did, and what to do about it, as a sentence."""
    did = " and ".join(
        f"{verb} {_listed(names)}" for verb, names in (("kept", found.kept), ("forgot", found.forgot)) if names
    )
    count = len(found.kept) + len(found.forgot)
    if found.kept and found.forgot:
        what = "takes that in"
    elif found.kept:
        what = "loads it" if count == 1 else "loads them"
    else:
        what = "takes it away" if count == 1 else "takes them away"
    return f"{_listed(found.who)} {did}; %layer refresh {what}"


def refresh(layer: Layer, names: Sequence[str], report: Report | None, *, records: bool) -> str:
    """Load what others changed, of `names` alone if there are any; what came of it, as lines.

    What the cell of `report` was to tell of others is dealt with then.

    Raises:
        LayerError: the layer cannot be read, or what was skipped not be recorded.
    """
    done = layer.refresh(names)
    if records and done.skipped:
        layer.record.skipped(done.skipped)
    if report is not None and report.others is not None:
        from perdure.layer.others import still_to_tell  # here, as all that few cells need

        report.others = still_to_tell(report.others, layer.tracked.files, layer.tracked.loaded, done.left)
    return "\n".join(_lines(done, names))


def _lines(done: Refreshed, names: Sequence[str]) -> Iterator[str]:
    if not done:
        yield f"Nothing {'of these ' if names else ''}changed since this kernel loaded or kept it."
    if done.loaded:
        yield f"Loaded {', '.join(done.loaded)}."
    if done.gone:
        yield f"Took away {', '.join(done.gone)}."
    if done.shipped_again:
        yield f"The next start brings {', '.join(done.shipped_again)} back, from below the layer."
    for name in done.left:
        yield f"Left {name} as it is: it is yours and not kept; %layer refresh {name} takes the layer's instead."
    for skipped in done.skipped:
        yield f"Skipped {skipped.path}: {skipped.reason}. What was here under its name is here still."
    for failed in done.failed_first:
        yield f"{failed.told}."
    for key, made in done.made_earlier:
        yield f"{key} was made with the earlier {', '.join(made)}; run it again, or restart the kernel, for a new one."
    for key, gone in done.calling:
        yield f"{key} uses {', '.join(gone)}, which nothing defines now."
    if printed := done.output.rstrip():
        yield f"Loading printed:\n{printed}"


def _listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b, c and 4 more`."""
    shown = list(names) if len(names) <= _SHOWN else [*names[: _SHOWN - 1], f"{len(names) - _SHOWN + 1} more"]
    return " and ".join([part for part in (", ".join(shown[:-1]), shown[-1]) if part])
