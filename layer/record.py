"""What one kernel puts on the record of its layer, and what it reads from there. Decides nothing."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path

from .boot_report import Skipped
from .definition import Key, RelPath
from .events import EventLog, EventName
from .keepers import Keepers
from .session import Context
from .store import CommitId


class Record:
    """The record in `events`, as a layer writes it. Everything raises StoreFault where it cannot be written."""

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._keepers = Keepers(events)

    def skipped(self, files: Iterable[Skipped], folder: Path | None = None) -> None:
        """`files` were left out: the layer's, or those of a cells folder."""
        where = {"folder": str(folder)} if folder is not None else {}
        self._events.record_all(
            (EventName.FILE_SKIPPED, {**where, "path": each.path, "reason": each.reason_on_record}) for each in files
        )

    def lines(
        self,
        commit: CommitId,
        kept: Mapping[Key, RelPath],
        forgot: Iterable[str],
        context: Context,
        forced: Container[Key] = (),
    ) -> Mapping[Path, bytes]:
        """What is to be told of `commit`, by the file it goes to; `kept` are definitions and their files.

        `forced` are those of them that look like a secret, and that the user asked for all the same.
        """
        where = {"notebook": context.notebook} if context.notebook is not None else {}
        events: list[tuple[EventName, Mapping[str, object]]] = []
        for key, path in kept.items():
            asked = {"forced": True} if key in forced else {}
            fields = {"key": key, "path": path, "commit": commit, **where, **asked}
            events.append((EventName.DEFINITION_RECORDED, fields))
        events += [(EventName.DEFINITION_FORGOTTEN, {"key": name, "commit": commit}) for name in forgot]
        return self._events.lines(events)

    def committed(
        self, kept: Iterable[Key], context: Context, lines: Mapping[Path, bytes], *, synced: bool = True
    ) -> None:
        """This kernel made a commit for the cell of `context`, of which `lines` tell; `kept` are its definitions.

        The lines need not be `synced` where the commit has promised them.
        """
        self._keepers.kept(kept, context.notebook)
        for path, data in lines.items():
            self._events.add(path, data, synced=synced)

    def adopted(self, commit: CommitId, kept: Mapping[Key, RelPath], forgot: Iterable[str]) -> None:
        """This kernel made `commit` of what a hand had done to the files."""
        self._keepers.kept(kept, None)
        fields = {"commit": commit, "by_hand": True}
        self._events.record_all(
            [
                *((EventName.DEFINITION_RECORDED, {"key": key, "path": path, **fields}) for key, path in kept.items()),
                *((EventName.DEFINITION_FORGOTTEN, {"key": name, **fields}) for name in forgot),
            ]
        )

    def replaced(self, key: Key, context: Context) -> str | None:
        """The notebook that kept `key`, which the cell of `context`, not of that one, replaces; said once."""
        return self._keepers.replaced(key, context.notebook)
