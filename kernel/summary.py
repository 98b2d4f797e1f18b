"""One line on a kernel's layer, as the banner shows it. Asks of the layer nothing that a start leaves for later."""

from __future__ import annotations

from perdure.layer.place import Mode, Origin, Place
from perdure.layer.room import Layer


def summary_of(
    layer: Layer | None,
    place: Place | None,
    mode: Mode,
    *,
    cells: str,
    took: float | None,
    waiting: Place | None,
    trouble: str | None,
) -> str:
    """`cells` tells of the cells folders, `took` is how many seconds the loading took, if that is to be told.

    `waiting` is a project layer to be trusted, `trouble` why there is none.
    """
    if mode is Mode.OFF:
        return "perdure keeps and loads nothing (PERDURE_MODE=off)"
    if layer is None:
        folders = f"; {cells}" if cells else ""
        return f"perdure has no layer: {trouble or 'none was made yet, and nothing may be written'}{folders}"
    count = len(layer.definitions) if layer.replayed is None else layer.replayed.count
    parts = [f"{count} definition{'s'[: count != 1]}", *([cells] if cells else [])]
    if took is not None:
        parts.append(f"loaded in {took:.1f} s")
    if skipped := len(layer.report.skipped):
        parts.append(f"{skipped} skipped")
    if mode is Mode.READONLY:
        parts.append("nothing is kept (read-only)")
    if waiting is not None:
        parts.append(f"{waiting.path} is not trusted")
    project = "project " if place is not None and place.origin is Origin.PROJECT else ""
    return f"perdure {project}layer {layer.root}: {', '.join(parts)}; %cells lists them"
