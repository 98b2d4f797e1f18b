"""events.jsonl: what happened to a layer, one JSON object a line (DESIGN §4 "Record").

Owns the names of the events and the fields every one has. Decides nothing: who does a thing records it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

from . import jsonlines
from .disk import Disk
from .slots import fact


class EventName(Enum):
    """What can happen."""

    DEFINITION_RECORDED = "definition_recorded"
    DEFINITION_FORGOTTEN = "definition_forgotten"
    FILE_SKIPPED = "file_skipped"


@fact
class Event:
    """One line as read back. `event` is a plain text: a later perdure may have written names this one lacks."""

    time: str  # ISO 8601 in UTC, milliseconds
    session: str
    event: str
    fields: dict[str, Any]


def now() -> datetime:
    """The clock of real use."""
    return datetime.now(UTC)


class EventLog:
    """The record of one layer as one session writes it; other kernels may write to the same file."""

    def __init__(self, path: Path, session: str, disk: Disk, clock: Callable[[], datetime] = now) -> None:
        self._path = path
        self._session = session
        self._disk = disk
        self._clock = clock

    def record(self, event: EventName, **fields: object) -> None:
        """Write the event down, on disk when this returns. `fields` are JSON values under names of their own.

        Raises:
            StoreFault: it could not be written.
        """
        self.record_all([(event, fields)])

    def record_all(self, events: Iterable[tuple[EventName, Mapping[str, object]]]) -> None:
        """Write several events down together, each with its fields, as `record` does one.

        Raises:
            StoreFault: they could not be written; some may be.
        """
        for path, data in self.lines(events).items():
            self.add(path, data)

    def lines(self, events: Iterable[tuple[EventName, Mapping[str, object]]]) -> Mapping[Path, bytes]:
        """What `record_all` would write, and to which file; nothing for no events."""
        time = self._clock().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = []
        for event, fields in events:
            head = {"time": time, "session": self._session, "event": event.value}
            if taken := head.keys() & fields.keys():
                raise ValueError(f"{', '.join(sorted(taken))}: every event has this field already")
            lines.append({**head, **fields})
        return {self._path: jsonlines.as_lines(lines)} if lines else {}

    def add(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        """Write one of `lines`; unsynced for who has promised it otherwise.

        Raises:
            StoreFault: it could not be written; some may be.
        """
        jsonlines.add_data(path, data, self._disk, synced=synced)

    def read(self) -> Iterator[Event]:
        """Every event, oldest first; a torn line is passed over.

        Raises:
            StoreFault: the file is there and cannot be read.
        """
        for fields in jsonlines.lines(self._path):
            if (event := _read(fields)) is not None:
                yield event

    def last_of(self, key: str) -> Event | None:
        """The newest event about the definition `key`, as far back as a look takes well under a millisecond.

        Raises:
            StoreFault: the file is there and cannot be read.
        """
        fields = jsonlines.last_line(self._path, "key", key)
        return _read(fields) if fields is not None else None


def _read(fields: dict[str, Any]) -> Event | None:
    time, session, event = (fields.pop(name, None) for name in ("time", "session", "event"))
    if isinstance(time, str) and isinstance(session, str) and isinstance(event, str):
        return Event(time, session, event, fields)
    return None
