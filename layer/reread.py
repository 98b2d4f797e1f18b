"""The files of a layer that something else than this kernel changed → its table as it is now. Pure.

What is live stays live: another text in a file is what the layer has, and not what runs here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .boot_report import Skipped
from .definition import RelPath
from .errors import UnreadableFile
from .fileformat import read
from .naming import name_told_by
from .slots import fact
from .table import Entry, Table


@fact
class Reread:
    """What the files hold now, and those of them that no name is loaded from."""

    table: Table
    skipped: tuple[Skipped, ...]


def reread(
    files: Mapping[RelPath, bytes],
    known: Mapping[RelPath, bytes],
    table: Table,
    skipped: Collection[Skipped],
    live: Collection[str],
) -> Reread:
    """`table` and `skipped` as told by `files`; only those that differ from `known` are parsed.

    `live` are the names of the definitions that run here. Of two files for one name the first by path counts, as at
    boot; the other is skipped, so that it is taken away when the name is kept.
    """
    earlier = {item.path: item for item in skipped}
    entries: list[Entry] = []
    left_out: list[Skipped] = []
    givers: dict[str, RelPath] = {}
    for path, data in sorted(files.items()):
        is_same = known.get(path) == data
        definition = table.at(path) if is_same else None
        if is_same and path in earlier:
            left_out.append(earlier[path])
        elif definition is None:
            try:
                definition = read(path, data)
            except UnreadableFile as error:
                left_out.append(Skipped(path, f"line {error.line}: {error.why}", (name_told_by(path),)))
        if definition is None:
            continue
        if twice := [name for name in definition.gives if name in givers]:
            reason = f"{twice[0]} is defined in {givers[twice[0]]} too; remove one of the files"
            left_out.append(Skipped(path, reason, definition.gives))
            continue
        givers.update(dict.fromkeys(definition.gives, path))
        entries.append(Entry(definition, path, awake=all(name in live for name in definition.gives)))
    return Reread(Table(entries), tuple(left_out))
