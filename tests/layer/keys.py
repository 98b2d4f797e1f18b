"""Keys that anybody may keep something under, and where it is put then."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from hypothesis import strategies as st

from perdure.layer.definition import Definition, Key, Kind, RelPath
from perdure.layer.table import Table

KINDS = st.sampled_from(Kind)
_IDENTIFIERS = (
    st.text(st.sampled_from("aAbBzZ_0éÉπΠßİ\u0131\u017f\u212a中ǅ"), min_size=1, max_size=6)
    .map(lambda text: unicodedata.normalize("NFKC", text))
    .filter(str.isidentifier)
)
_TYPES = st.recursive(
    _IDENTIFIERS | st.sampled_from(["int", "Int", "np.ndarray", "None", "'\u00e9'", "'e\u0301'", "'E\u0301'"]),
    lambda inner: (
        inner.map(lambda kind: f"list[{kind}]")
        | st.lists(inner, min_size=2, max_size=3).map(" | ".join)
        | st.lists(inner, min_size=2, max_size=40).map(lambda kinds: f"dict[{', '.join(kinds)}]")
    ),
    max_leaves=6,
)
NAMES = (
    _IDENTIFIERS
    | st.tuples(_IDENTIFIERS, _IDENTIFIERS).map(".".join)
    | st.tuples(st.sampled_from("fF"), _TYPES).map("@".join)
    | st.tuples(st.sampled_from("aAπ"), st.integers(170, 300)).map(lambda part: part[0] * part[1])
)
_PARTS = st.text(st.sampled_from("aAbB_0éÉe\u0301πΠßİ中 []|~%'/"), min_size=1, max_size=5)
ANY_KEYS = (
    NAMES
    | st.tuples(_PARTS, _PARTS).map("@".join)
    | st.tuples(_PARTS, st.integers(20, 200)).map(lambda part: part[0] * part[1])
    | st.text(st.characters(), min_size=1, max_size=400)
)


def placed(kind: Kind, keys: Iterable[str]) -> dict[str, RelPath]:
    """Where the files of `keys` are once they are kept, one after another."""
    table = Table()
    for key in keys:
        table.put(Definition(Key(key), kind, "1"))  # `as = 1` would be no Python
    paths: dict[str, RelPath] = {key: entry.path for key, entry in table.entries.items()}
    assert all(table.at(path) == table.entries[Key(key)].definition for key, path in paths.items())
    return paths
