"""`%layer`: its subcommands, each one entry of a table with its help, and what is completed behind them.

What they say is made in layer_views.py and layer_changes.py. Knows no IPython.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perdure.layer.errors import LayerError

from . import layer_changes, layer_views
from .shown import Shown
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class Subcommand:
    """`%layer WORD …`; `run` is given what stands behind the word."""

    usage: str  # the word, then its arguments
    help: str
    run: Callable[[Workspace, str], Shown]
    takes_name: bool = False  # whether a definition's name comes first

    @property
    def word(self) -> str:
        return self.usage.split()[0]


SUBCOMMANDS = {
    each.word: each
    for each in (
        Subcommand(
            "log [NAME] [-n N]", "the commits, newest first; of one definition", layer_views.log, takes_name=True
        ),
        Subcommand("show NAME", "its text, where it is, who made it and when", layer_views.show, takes_name=True),
        Subcommand(
            "diff NAME [REV]", "what changed since the version before, or since REV", layer_views.diff, takes_name=True
        ),
        Subcommand("undo [COMMIT]", "take the last commit back, or COMMIT, live too", layer_changes.undo),
        Subcommand("uses NAME", "who needs it, and what it needs", layer_views.uses, takes_name=True),
        Subcommand("used", "what the cells of this session took from the layer", layer_views.used),
        Subcommand("bake", "write that as source into the next cell", layer_changes.bake),
        Subcommand("skipped", "the files that were not loaded, why, and what mends them", layer_views.skipped),
        Subcommand("export PATH [-f]", "write all as one tidy module; -f overwrites", layer_changes.export),
        Subcommand("path", "the folder", layer_views.path),
        Subcommand("trust [PATH]", "accept and load what is not trusted yet", layer_changes.trust),
    )
}


def layer_help() -> str:
    """A line for each subcommand."""
    width = max(len(each.usage) for each in SUBCOMMANDS.values())
    return "\n".join(f"  %layer {each.usage:<{width}}  {each.help}" for each in SUBCOMMANDS.values())


def layer(workspace: Workspace, line: str) -> Shown:
    """`%layer WORD …`, or without a word its summary."""
    word, _, rest = line.strip().partition(" ")
    if not word:
        return layer_views.summary(workspace)
    if (subcommand := SUBCOMMANDS.get(word)) is None:
        return Shown(f"%layer knows no {line.strip()!r}. It knows these:\n{layer_help()}")
    try:
        return subcommand.run(workspace, rest.strip())
    except LayerError as error:
        return Shown(f"%layer {word}: {error}")


def completions(workspace: Workspace, before: str) -> Iterable[str]:
    """What may stand in place of the last word of `before`, the line up to the cursor, `%layer` or `layer` first."""
    _, *words = before.split(" ") if before.strip() else [""]
    words = [word for word in words[:-1] if word] + words[-1:]
    if len(words) < 2:
        return list(SUBCOMMANDS)
    subcommand = SUBCOMMANDS.get(words[0])
    if subcommand is None or not subcommand.takes_name or len(words) > 2:
        return ()
    return layer_views.names(workspace)
