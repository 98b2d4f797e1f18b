"""The session: a kernel's identity in trailers, events and `lower_floor`, and what else a commit says of its origin.

Owns its form; keeps none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from .slots import fact

SESSION_VARIABLE = "PERDURE_SESSION"
LONGEST = 64  # characters


def session_id(environ: Mapping[str, str]) -> str:
    """The name the kernel's starter gave it, else a new one: `s-` and 8 hex digits.

    Each call may give another one: a kernel asks once, when it starts. The name stands in a line of a commit message,
    so it loses what cannot be printed.
    """
    given = "".join(character for character in environ.get(SESSION_VARIABLE, "") if character.isprintable())
    return given.strip()[:LONGEST].rstrip() or f"s-{os.urandom(4).hex()}"


@fact
class Context:
    """Where a commit comes from: what its trailers and body say."""

    session: str
    cell: int | None = None
    notebook: str | None = None
    note: str = ""
