"""Why a file was not loaded, as a clause: what an exception says, in one line and for sure. Pure."""

from __future__ import annotations

import re
import traceback

RAISED = "it raised "
_LONGEST = 200  # characters of an exception's message
_SAID = rf"(?<=^{RAISED})(\w+): .*?(?=( at line \d+)?$)"


def why_raised(error: BaseException, filename: str) -> str:
    """What was raised, and at which line of `filename` where that is on the way."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return f"line {error.lineno}: {error.msg}"  # one that only the compiler finds
    return what_it_raised(error, filename)


def what_it_raised(error: BaseException, filename: str, longest: int = _LONGEST) -> str:
    """The exception's kind, the first `longest` characters of its words, and the line; whatever it is."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    where = f" at line {lines[-1]}" if lines else ""
    try:
        said = " ".join(str(error).split())
    except BaseException:  # an exception of the user's may fail to print itself, in any way
        said = ""
    said = f": {said[:longest]}{'…' if len(said) > longest else ''}" if said else ""
    return f"{RAISED}{type(error).__name__}{said}{where}"


def why_not_found(error: ModuleNotFoundError, filename: str) -> str:
    """Which package or module is missing."""
    name = error.name or ""
    package, _, inner = name.partition(".")
    if not package:
        return why_raised(error, filename)
    # What is missing may be a part of a package that is there, as after an upgrade.
    return f"{name} is no module of {package} here" if inner else f"{package} is found nowhere here; install it"


def without_what_was_said(reason: str) -> str:
    """The reason `why_raised` without the exception's own words."""
    return re.sub(_SAID, r"\1", reason)
