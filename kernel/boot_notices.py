"""What cells are told of the loading of the layer, and of what hands did to it before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perdure.layer.definition import RelPath
from perdure.layer.errors import LayerError
from perdure.layer.naming import name_told_by
from perdure.layer.room import Layer

from .report import some

if TYPE_CHECKING:
    from perdure.layer.handwork import Handwork

    from .untold import Untold

_SHOWN = 3  # files named in a notice before the rest is only counted
_NAMED = 10  # names, likewise


def problems(layer: Layer, *, records: bool) -> list[str]:
    """What is not as it should be, as clauses; put on the record where it `records`."""
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
            layer.record_skipped()
        except LayerError as error:
            told.append(f"what was skipped could not be recorded: {error}")
    return told


def slow(root: Path, count: int) -> str:
    """What a start is at that takes long, as a line of the kernel's log."""
    return f"perdure is loading {count:,} definition{'s'[: count != 1]} from {root}"


def long(took: Mapping[tuple[Path, RelPath], float]) -> list[str]:
    """Which files, by folder and path, took how many seconds of the start, the longest first; as clauses."""
    longest = sorted(took.items(), key=lambda each: -each[1])
    told = [f"{name_told_by(path)} took {seconds:.1f} s of the start" for (_, path), seconds in longest]
    return some(told, "more took over a second each")


def printed(layer: Layer) -> list[str]:
    """What loading printed, if anything, as a clause."""
    output = (layer.report if layer.replayed is None else layer.replayed).output.rstrip()
    return [f"loading printed:\n{output}"] if output else []


def tell_handwork(layer: Layer, untold: Untold) -> None:
    """Have cells tell what was found of the work of hands, if anything was and nobody was told yet."""
    done, layer.handwork = layer.handwork, None
    if done is not None:
        for said in adopted(done):
            untold.news(f"[layer: {said}]")
        for said in handwork(done, layer.root):
            untold.problem(said)


def handwork(done: Handwork, root: Path) -> Iterator[str]:
    """What a hand did to the layer at `root` and somebody should know, as clauses."""
    for restored in done.restored:
        where = f", and what was there is in {restored.draft}" if restored.draft is not None else ""
        yield (f"{restored.path} {restored.why}; it is as the last commit has it again{where}; %layer refresh loads it")
    for path, what in done.secrets.items():
        yield (
            f"{path} was changed by hand and is not committed: {what} looks like a secret; "
            f"`git commit` in {root} commits it all the same"
        )
    if done.fault:
        yield done.fault
    if done.failed:
        yield (
            f"changed by hand and not committed: {_first(done.failed)}; {done.trouble}; "
            "mend that, and the next definition that is kept has it committed too"
        )
    if done.left:
        yield (
            f"changed outside perdure and not committed: {_first(done.left)}; "
            f"the files are loaded as they are; `git status` in {root} tells what is left to do"
        )


def adopted(done: Handwork) -> Iterator[str]:
    """What was made a commit of, as clauses."""
    if done.adopted:
        yield f"adopted {_some(done.adopted)}, changed by hand"
    if done.forgot:
        gone = "whose file is" if len(done.forgot) == 1 else "whose files are"
        yield f"forgot {_some(done.forgot)}, {gone} gone; %layer undo brings back what was there"


def _first(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"
