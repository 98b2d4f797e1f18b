"""Files of one JSON object a line that only ever grow. Owns how a line is added and read; knows no line's meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .disk import Disk
from .journal import told_as_fault


def add_line(path: Path, fields: Mapping[str, object], disk: Disk) -> None:
    """Add one line, on disk when this returns; file and folder are made where missing.

    Raises:
        StoreFault: the disk refused. Of the line at most a torn end stands, which readers pass over.
    """
    # ASCII only, so that a file name that is no UTF-8 (a lone surrogate) can be written and read back.
    line = json.dumps(fields, allow_nan=False).encode("ascii") + b"\n"
    with told_as_fault(path):
        disk.make_folder(path.parent)
        # A line torn by a crash must not take the next one with it.
        disk.append(path, line if _ends_whole(path) else b"\n" + line)


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


def _ends_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - 1, 0))
            return file.read(1) in (b"", b"\n")
    except FileNotFoundError:
        return True
