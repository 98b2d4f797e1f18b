"""What looks like a secret in the cells of one kernel: it is refused wherever it stands, also where nothing tells.

Memory alone. Knows no rule by which something looks like one (`secret`), and is imported by each start.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from .slots import state

if TYPE_CHECKING:
    from .secret import Secret


@state
class Refused:
    """The names and the texts."""

    names: set[str] = field(default_factory=set)  # of definitions; who asks for one of them was told
    texts: dict[str, str] = field(default_factory=dict)  # secret → the name that gave it away

    def learn(self, names: Iterable[str], found: Iterable[Secret]) -> None:
        """This was `found` in a cell; the definition of `names` was refused for it."""
        self.names.update(names)
        # What does not look like one by itself may be a word anywhere.
        self.texts.update((each.said, each.what) for each in found if each.is_sure)

    def found_in(self, text: str) -> str | None:
        """The name that gave a secret away which stands in `text`; None where none does."""
        return next((what for said, what in self.texts.items() if said in text), None)
