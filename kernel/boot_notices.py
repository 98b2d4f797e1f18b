"""What the first cell is told of the loading of the layer. Puts what was skipped on the record."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.layer.errors import LayerError
from perdure.layer.room import Layer
from perdure.layer.store import NotRead

from .report import some

_SHOWN = 3  # files named in a notice before the rest is only counted


def problems(layer: Layer, *, records: bool) -> list[str]:
    """What is not as it should be, as clauses; where it `records`, also what git would say of the folder.

    Of a folder whose files are as they were when it was clean, that is looked for in a moment of rest.
    """
    report = layer.report
    skipped = [f"skipped {skipped.path}: {skipped.reason}" for skipped in report.skipped]
    told = [*some(skipped, "more files are skipped; %cells lists them")]
    if skipped:
        told.append("mend a skipped file or run its definition again; all else is loaded")
    lazy = [
        f"{item.definition.key} loaded with its annotations as text; {item.lazy} is not defined"
        for item in report.loaded
        if item.lazy is not None
    ]
    told += some(lazy, "more loaded so; %cells lists them")
    if records:
        try:
            told += [] if layer.was_clean() else dirt(layer)
            layer.record_skipped()
        except LayerError as error:
            told.append(f"the state of the layer could not be told or recorded: {error}")
    return told


def printed(layer: Layer) -> list[str]:
    """What loading printed, if anything, as a clause."""
    output = (layer.report if layer.replayed is None else layer.replayed).output.rstrip()
    return [f"loading printed:\n{output}"] if output else []


def dirt(layer: Layer) -> Iterator[str]:
    """What git would say of the folder, as a clause if it says anything.

    Raises:
        LayerError: the folder cannot be read.
    """
    dirt, files = layer.dirt(), layer.tracked.files
    # What cannot be read is skipped, which is told.
    if paths := [path for path in (*dirt.changed, *dirt.unknown) if not isinstance(files.get(path), NotRead)]:
        named = ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        yield (
            f"changed outside perdure and not committed: {named}; "
            f"the files are loaded as they are; `git add -A` and `git commit` in {layer.root} keep the change"
        )
