"""What a user can do about a file that was skipped, told by its reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from perdure.layer.boot_report import Skipped

_LINE = re.compile(r"\bline (\d+)")

_Advice = Callable[[re.Match[str], str], str]
_AGAIN = "edit the file and restart, or run the definition again in a cell"
# Reasons as layer/boot.py and layer/safe_boot.py word them → what helps, for the match and the first name of the file.
_ADVICE: tuple[tuple[str, _Advice], ...] = (
    (
        r"(\S+) is found nowhere here",
        lambda found, _: f"`%pip install {found[1]}`, if that is the name of its package, and restart",
    ),
    (r"(\S+) is no module of (\S+) here", lambda found, _: f"{found[2]} has another version now: {_AGAIN}"),
    (r"it needs \S+ to load, and (\S+) is skipped", lambda found, _: f"mend {found[1]} and restart"),
    (r"(?:it needs|it uses) (\S+?)(?: to load)?, which nothing", lambda found, _: f"define {found[1]} and restart"),
    (r"is defined in (\S+) too", lambda _, name: f"remove one of the two files and restart, or define {name} again"),
    (r"that it overrides is in no cells folder", lambda _, __: _AGAIN),
    (r"that it overrides", lambda _, name: f"look at what {name} is now, then run your definition of it again"),
    (r"^it was interrupted", lambda _, name: f"restart, or run {name or 'it'} again in a cell"),
    (r"^the start had taken", lambda _, __: "restart; c.PerdureKernel.boot_seconds gives a start more time"),
    (r"the next start (?:loads it|does)", lambda _, __: "restart"),
    (r"it cannot be read", lambda _, __: "make it readable, as by `chmod u+r`, and restart"),
    (r"merge conflict", lambda _, __: "settle the conflict in the file, commit, and restart"),
)


def what_mends(skipped: Skipped) -> str:
    """A clause on what to do, and how to be rid of the file."""
    name = skipped.names[0] if skipped.names else ""
    advice = _AGAIN
    for reason, help_for in _ADVICE:
        if found := re.search(reason, skipped.reason):
            advice = help_for(found, name)
            break
    return f"{advice}; %forget {name} drops it" if name else advice


def note_on(name: str, skipped: Iterable[Skipped], there: Collection[str]) -> str | None:
    """What a NameError for `name` is to tell where it was skipped; `there` are the names that are live."""
    for each in skipped:
        if name in each.names:
            if each.wants is not None and each.wants in there:
                return f"perdure: {name} was skipped at the start for want of {each.wants}; the next start loads it"
            return f"perdure: {name} was skipped at the start: {each.reason}; %layer skipped"
    return None


def place_in(root: Path, skipped: Skipped) -> str:
    """Where the file is, with the line where the reason tells one."""
    line = _LINE.search(skipped.reason)
    return f"{root / skipped.path}{f':{line[1]}' if line else ''}"
