"""What goes over the wire: the reading of `metadata.perdure` in a request, and the words both ends use.

Standard library only: the client imports this file and nothing else of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple, TypeVar

_E = TypeVar("_E", bound=Enum)

VERSION = 1
"""Of `metadata.perdure` in replies."""


class RequestKind(Enum):
    """Who asks (DESIGN §5): what is shown and when it is answered hangs on it."""

    AGENT = "agent"
    NOTEBOOK = "notebook"
    CONSOLE = "console"


class Notices(Enum):
    """Which notices a cell shows."""

    ALL = "all"
    PROBLEMS = "problems"  # so that a notebook's outputs stay the same from run to run
    NONE = "none"


DEFAULT_NOTICES = {
    RequestKind.AGENT: Notices.ALL,
    RequestKind.NOTEBOOK: Notices.PROBLEMS,
    RequestKind.CONSOLE: Notices.ALL,
}


class Request(NamedTuple):
    """What an execute request says beside its code."""

    kind: RequestKind
    notices: Notices
    notebook: str | None = None
    keeps: bool = True


def read_request(
    metadata: Mapping[str, object],
    *,
    allow_stdin: bool,
    silent: bool,
    store_history: bool,
    defaults: Mapping[RequestKind, Notices] = DEFAULT_NOTICES,
) -> Request:
    """The request as its metadata and content tell; a key that is missing or of a wrong form counts as not given.

    Front ends use silent requests, and ones that stay out of the history, to look into the namespace: those keep
    nothing. A notebook's cells are its own in or out of the history (nbval runs them so), and so is what a request
    that says its kind itself brings.
    """
    said = metadata.get("perdure")
    ours: Mapping[str, object] = said if isinstance(said, Mapping) else {}
    told = _member(RequestKind, ours.get("kind"))
    kind = told or _guess(metadata, allow_stdin)
    notebook = ours.get("notebook")
    return Request(
        kind=kind,
        notices=_member(Notices, ours.get("notices")) or defaults[kind],
        notebook=notebook if isinstance(notebook, str) and notebook else None,
        keeps=not silent and (store_history or told is not None or kind is RequestKind.NOTEBOOK),
    )


def _guess(metadata: Mapping[str, object], allow_stdin: bool) -> RequestKind:
    # nbclient and nbval send no cellId, but nobody is there to type either.
    return RequestKind.NOTEBOOK if metadata.get("cellId") or not allow_stdin else RequestKind.CONSOLE


def _member(kinds: type[_E], value: object) -> _E | None:
    if not isinstance(value, str):
        return None
    try:
        return kinds(value)
    except ValueError:
        return None
