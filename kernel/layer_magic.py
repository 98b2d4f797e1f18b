"""`%layer`: its subcommands, each one entry of a table with its help, and what is completed behind them.

What they say is made in layer_views.py and layer_changes.py, which are imported when they are asked: no kernel's start
waits for them. Knows no IPython.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING

from perdure.layer.errors import LayerError
from perdure.layer.slots import fact

from .workspace import Workspace

if TYPE_CHECKING:
    from .shown import Shown


_ANY = sys.maxsize  # names


@fact
class Subcommand:
    """`%layer WORD …`, by the function WORD of `module`, given the workspace and what follows."""

    usage: str  # the word, then its arguments
    help: str
    module: str
    names: int = 0  # how many definitions may be named first

    @property
    def word(self) -> str:
        return self.usage.split()[0]

    @property
    def run(self) -> Callable[[Workspace, str], Shown]:
        """The function."""
        found: Callable[[Workspace, str], Shown] = getattr(import_module(f".{self.module}", __package__), self.word)
        return found


_ALL = (
    Subcommand("log [NAME] [-n N]", "the commits, newest first; of one definition", "layer_views", names=1),
    Subcommand("show NAME", "its text, where it is, who made it and when", "layer_views", names=1),
    Subcommand("diff NAME [REV]", "what changed since the version before, or since REV", "layer_views", names=1),
    Subcommand("undo [COMMIT]", "take the last commit back, or COMMIT, live too", "layer_changes"),
    Subcommand("uses NAME", "who needs it, and what it needs", "layer_views", names=1),
    Subcommand("used", "what the cells of this session took from the layer", "layer_views"),
    Subcommand("bake", "write that as source into the next cell", "layer_changes"),
    Subcommand("skipped", "the files that were not loaded, why, and what mends them", "layer_views"),
    Subcommand("proof", "what will not load after a restart, once all of it is proved", "layer_views"),
    Subcommand("export PATH [-f]", "write all as one tidy module; -f overwrites", "layer_changes"),
    Subcommand("path", "the folder", "layer_views"),
    Subcommand("init [.]", "make a project layer in this folder; . below another one too", "layer_changes"),
    Subcommand("refresh [NAME…]", "load what others changed, or of it NAME alone", "layer_changes", names=_ANY),
    Subcommand("load", "load what waits until a cell names it", "layer_changes"),
    Subcommand("trust [PATH]", "accept and load what is not trusted yet", "layer_changes"),
)
SUBCOMMANDS = {each.word: each for each in _ALL}


def layer_help() -> str:
    """A line for each subcommand."""
    width = max(len(each.usage) for each in SUBCOMMANDS.values())
    return "\n".join(f"  %layer {each.usage:<{width}}  {each.help}" for each in SUBCOMMANDS.values())


def layer(workspace: Workspace, line: str) -> Shown:
    """`%layer WORD …`, or without a word its summary."""
    from . import layer_views
    from .shown import Shown

    word, _, rest = line.strip().partition(" ")
    try:
        if not word:
            return layer_views.summary(workspace)
        if (subcommand := SUBCOMMANDS.get(word)) is None:
            return Shown(f"%layer knows no {line.strip()!r}. It knows these:\n{layer_help()}")
        return subcommand.run(workspace, rest.strip())
    except LayerError as error:
        return Shown(f"%layer {word}".rstrip() + f": {error}")


def completions(workspace: Workspace, before: str) -> Iterable[str]:
    """What may stand in place of the last word of `before`, the line up to the cursor, `%layer` or `layer` first."""
    _, *words = before.split(" ") if before.strip() else [""]
    words = [word for word in words[:-1] if word] + words[-1:]
    if len(words) < 2:
        return list(SUBCOMMANDS)
    subcommand = SUBCOMMANDS.get(words[0])
    if subcommand is None or len(words) - 1 > subcommand.names:
        return ()
    from . import layer_views

    return layer_views.names(workspace)
