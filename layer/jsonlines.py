"""Files of one JSON object a line that only ever grow. Owns how a line is added and read; knows no line's meaning."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .disk import Disk
from .journal import told_as_fault

_FAR = 4_000_000  # bytes


def add_lines(path: Path, several: Iterable[Mapping[str, object]], disk: Disk) -> None:
    """Add a line for each, on disk when this returns; file and folder are made where missing.

    Raises:
        StoreFault: the disk refused. Of the lines some may stand, and a torn one, which readers pass over.
    """
    if data := as_lines(several):
        add_data(path, data, disk)


def as_lines(several: Iterable[Mapping[str, object]]) -> bytes:
    """A line for each, as `add_data` takes them."""
    # ASCII only, so that a file name that is no UTF-8 (a lone surrogate) can be written and read back.
    return b"".join(json.dumps(fields, allow_nan=False).encode("ascii") + b"\n" for fields in several)


def add_data(path: Path, data: bytes, disk: Disk, *, synced: bool = True) -> None:
    """Add whole lines; as `add_lines` does, but for who has promised them otherwise, unsynced.

    Raises:
        StoreFault: as `add_lines`.
    """
    with told_as_fault(path):
        disk.make_folder(path.parent, synced=True)
        # A line torn by a crash must not take the next one with it.
        disk.append(path, data if _ends_whole(path) else b"\n" + data, synced=synced)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line in the order written; nothing where there is no file. A torn or foreign line is passed over.

    Raises:
        StoreFault: the file is there and cannot be read.
    """
    with told_as_fault(path):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return
    for line in data.splitlines():
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):  # no JSON, or no UTF-8
            continue
        if isinstance(fields, dict):
            yield fields


def last_line(path: Path, field: str, value: str) -> dict[str, Any] | None:
    """The newest whole line in which `field`, not the first of the line, is `value`; None where there is none.

    Looks at the last megabytes only.

    Raises:
        StoreFault: the file is there and cannot be read.
    """
    with told_as_fault(path):
        try:
            with path.open("rb") as file:
                file.seek(max(file.seek(0, 2) - _FAR, 0))
                data = file.read()
        except FileNotFoundError:
            return None
    mark = f", {json.dumps({field: value})[1:-1]}".encode("ascii")
    end = len(data)
    while (found := data.rfind(mark, 0, end)) >= 0:
        end = data.rfind(b"\n", 0, found) + 1
        try:
            fields = json.loads(data[end : (data.find(b"\n", found) + 1) or None])
        except (ValueError, RecursionError):
            continue
        if isinstance(fields, dict) and fields.get(field) == value:
            return fields
    return None


def _ends_whole(path: Path) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(fd, 1, max(os.fstat(fd).st_size - 1, 0)) in (b"", b"\n")
        finally:
            os.close(fd)
    except FileNotFoundError:
        return True
