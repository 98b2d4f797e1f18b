"""Key → path of its file (DESIGN §4). Pure; the text inside a file is the truth, its name only finds it.

Paths are safe on any file system: ASCII, under 200 bytes a name, no two that differ only in case, never outside the
layer, since whatever is no letter, digit, `_`, `.` or `@` is percent-encoded. Clones that keep the same keys in another
order have the same paths.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import unquote

from .definition import Key, Kind, RelPath

LONGEST_NAME = 180  # bytes before the digest and `.py`; leaves room for the suffixes that file systems and tools add
_UNSAFE = r"[^A-Za-z0-9_.@]"
_WHOLE = r"(?:[^%]|%[0-7].|%[CD].%..|%E.%..%..|%F.%..%..%..)*"  # characters, escaped or not, in UTF-8


def path_of(kind: Kind, key: Key, *, twin: bool = False) -> RelPath:
    """Where the definition `key` of `kind` stands; `twin` where another key's path is as good as the same."""
    first = _composed(key)[0]
    inner = first.lower() if first.isascii() and (first == "_" or first.isalpha()) else "~"
    return RelPath(f"{kind.folder}/{inner}/{_file_stem(key, twin=twin)}.py")


def folded_path(kind: Kind, key: Key) -> str:
    """What two keys have in common whose files a case-blind file system would take for one.

    They differ in case, or in how accents are composed; the latter in a text within a type alone, since Python composes
    the names it reads. Long names have their digests, and so are never alike.
    """
    return path_of(kind, key).lower()


def place_among(kind: Kind, key: Key, twins: Mapping[Key, RelPath]) -> tuple[RelPath, dict[Key, RelPath]]:
    """The path of `key`, and the new paths of those of its `twins` that have to make way.

    `twins` are the other keys of the layer with the same `folded_path`, and where they stand. Each but the all-lower
    one carries a digest, so that two clones on two machines agree whichever was kept first.
    """
    if not twins:
        return path_of(kind, key), {}
    targets = {other: path_of(kind, other, twin=not _is_plain(other)) for other in twins}
    return path_of(kind, key, twin=not _is_plain(key)), {k: t for k, t in targets.items() if t != twins[k]}


def name_told_by(path: RelPath) -> str:
    """The name that a file should define, told by its path: for one whose text cannot be read."""
    return unquote(path.rpartition("/")[2].removesuffix(".py").partition("~")[0])


def _is_plain(key: Key) -> bool:
    """Whether `key` is the one among its twins that carries no digest."""
    return key == key.lower() == _composed(key)


def _file_stem(key: Key, *, twin: bool) -> str:
    stem = re.sub(_UNSAFE, _escaped, _composed(key))
    if len(stem) > LONGEST_NAME:
        whole = re.match(_WHOLE, stem[:LONGEST_NAME])
        assert whole is not None  # it may be of no character
        return f"{whole[0]}~{_digest(key)[:12]}"
    return f"{stem}~{_digest(key)[:6]}" if twin else stem


def _digest(key: Key) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _composed(key: Key) -> str:
    return unicodedata.normalize("NFC", key)


def _escaped(character: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in character[0].encode("utf-8", "surrogatepass"))
