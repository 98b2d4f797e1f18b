"""Key → path of its file (DESIGN §4). Pure; the text inside a file is the truth, its name only finds it.

Paths are safe on any file system: ASCII, at most 180 bytes a name, no two that differ only in case, never outside the
layer, since whatever is no letter, digit, `_`, `.` or `@` is percent-encoded.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import unquote

from .definition import Key, Kind, RelPath

LONGEST_NAME = 180  # bytes before `.py`; leaves room for the suffixes that file systems and tools add
_UNSAFE = re.compile(rb"[^A-Za-z0-9_.@]")


def path_of(kind: Kind, key: Key, *, twin: bool = False) -> RelPath:
    """Where the definition `key` of `kind` stands; `twin` where another key's path differs from it only in case."""
    first = key[0].lower() if key[0].isascii() else ""
    inner = first if first == "_" or "a" <= first <= "z" else "~"
    return RelPath(f"{kind.folder}/{inner}/{_file_stem(key, twin=twin)}.py")


def folded_path(kind: Kind, key: Key) -> str:
    """What two keys have in common whose files a case-blind file system would take for one."""
    return path_of(kind, key).lower()


def place_among(kind: Kind, key: Key, twins: Mapping[Key, RelPath]) -> tuple[RelPath, dict[Key, RelPath]]:
    """The path of `key`, and the new paths of those of its `twins` that have to make way.

    `twins` are the other keys of the layer with the same `folded_path`, and where they stand. Each but the all-lower
    one carries a digest, so that two clones on two machines agree whichever was kept first.
    """
    if not twins:
        return path_of(kind, key), {}
    targets = {other: path_of(kind, other, twin=other != other.lower()) for other in twins}
    return path_of(kind, key, twin=key != key.lower()), {k: t for k, t in targets.items() if t != twins[k]}


def name_told_by(path: RelPath) -> str:
    """The name that a file should define, told by its path: for one whose text cannot be read."""
    return unquote(path.rpartition("/")[2].removesuffix(".py").partition("~")[0])


def _file_stem(key: Key, *, twin: bool) -> str:
    encoded = _UNSAFE.sub(lambda m: b"%%%02X" % m.group()[0], unicodedata.normalize("NFC", key).encode())
    digest = hashlib.sha256(key.encode()).hexdigest()
    stem = encoded.decode("ascii")
    if len(stem) > LONGEST_NAME:
        return f"{stem[:LONGEST_NAME]}~{digest[:12]}"
    return f"{stem}~{digest[:6]}" if twin else stem
