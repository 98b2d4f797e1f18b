"""Which notebook kept a definition last, so that who else replaces it says so.

Known from the record of events, which is read back from its end and only when a definition that was there is replaced:
the history in git would take a look at each commit.
"""

from __future__ import annotations

from collections.abc import Iterable

from .definition import Key
from .errors import StoreFault
from .events import EventLog, EventName


class Keepers:
    """What one kernel knows of it."""

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._kept: dict[Key, str | None] = {}  # by this kernel, and by which of its notebooks
        self._told: set[Key] = set()

    def replaced(self, key: Key, notebook: str | None) -> str | None:
        """The other notebook that kept `key`, which `notebook` is about to replace; None where there is nothing to say.

        Who is no notebook, a console or an agent, replaces what any of them kept. It is said once for each key.
        """
        if key in self._told:
            return None
        other = self._kept[key] if key in self._kept else self._recorded(key)
        if other is None or other == notebook:
            return None
        self._told.add(key)
        return other

    def kept(self, keys: Iterable[Key], notebook: str | None) -> None:
        """This kernel kept `keys` for `notebook`."""
        self._kept.update(dict.fromkeys(keys, notebook))

    def _recorded(self, key: Key) -> str | None:
        try:
            event = self._events.last_of(key)
        except StoreFault:
            return None  # to know less is no reason to keep nothing
        if event is None or event.event != EventName.DEFINITION_RECORDED.value:
            return None
        notebook = event.fields.get("notebook")
        return notebook if isinstance(notebook, str) else None
