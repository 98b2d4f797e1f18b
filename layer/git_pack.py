"""A git pack: many objects in one file, and its index. Pure; as plain as can be, each object whole and for itself.

Source of the format: gitformat-pack(5).
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from bisect import bisect_right
from collections.abc import Mapping

_TYPES = {"commit": 1, "tree": 2, "blob": 3}
_IDS = 20  # bytes of an object's id


def pack_of(objects: Mapping[str, tuple[str, bytes]]) -> dict[str, bytes]:
    """The files of a pack of `objects` (id → kind and data), by their names in the folder `objects`; the index last."""
    parts = [b"PACK" + struct.pack(">II", 2, len(objects))]
    at, entries = len(parts[0]), []
    for name, (kind, data) in objects.items():
        entry = _head(_TYPES[kind], len(data)) + zlib.compress(data, level=1)
        entries.append((bytes.fromhex(name), zlib.crc32(entry), at))
        parts.append(entry)
        at += len(entry)
    data = _sealed(b"".join(parts))
    name = f"pack/pack-{data[-_IDS:].hex()}"
    return {f"{name}.pack": data, f"{name}.idx": _index(sorted(entries), data[-_IDS:])}


def _head(kind: int, size: int) -> bytes:
    """The type of an object and its size: four bits of that at first, then seven and seven."""
    byte, size = kind << 4 | size & 0x0F, size >> 4
    head = bytearray()
    while size:
        head.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    head.append(byte)
    return bytes(head)


def _index(entries: list[tuple[bytes, int, int]], checksum: bytes) -> bytes:
    """The index, of version 2, of a pack with this checksum; `entries` are id, CRC and offset, sorted."""
    ids, sums, offsets = zip(*entries, strict=True)
    fan = [bisect_right(ids, bytes([first]) + b"\xff" * (_IDS - 1)) for first in range(256)]
    numbers = struct.pack(f">{len(fan)}I", *fan), struct.pack(f">{2 * len(ids)}I", *sums, *offsets)
    return _sealed(b"\xfftOc" + struct.pack(">I", 2) + numbers[0] + b"".join(ids) + numbers[1] + checksum)


def _sealed(data: bytes) -> bytes:
    return data + hashlib.sha1(data, usedforsecurity=False).digest()
