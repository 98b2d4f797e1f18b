"""Key → path: safe on any file system, the same whatever was kept first."""

from __future__ import annotations

import itertools
import string
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perdure.layer.definition import Definition, Key, Kind, RelPath
from perdure.layer.naming import LONGEST_NAME, folded_path, path_of, place_among
from perdure.layer.plan import Table
from perdure.layer.store import holds_definition, parts

KINDS = st.sampled_from(Kind)
IDENTIFIERS = (
    st.text(st.sampled_from("aAbBzZ_0éÉπΠßİ\u0131\u017f\u212a中ǅ"), min_size=1, max_size=6)
    .map(lambda text: unicodedata.normalize("NFKC", text))
    .filter(str.isidentifier)
)
ANY_KEYS = IDENTIFIERS | st.text(min_size=1, max_size=400)


@pytest.mark.parametrize(
    ("kind", "key", "path"),
    [
        (Kind.FUNCTION, "area", "functions/a/area.py"),
        (Kind.CLASS, "Circle", "classes/c/Circle.py"),
        (Kind.VALUE, "RATE", "values/r/RATE.py"),
        (Kind.FUNCTION, "_helper", "functions/_/_helper.py"),
        (Kind.FUNCTION, "π", "functions/~/%CF%80.py"),
        (Kind.FUNCTION, "größe", "functions/g/gr%C3%B6%C3%9Fe.py"),
        (Kind.FUNCTION, "İ", "functions/~/%C4%B0.py"),  # its lower case is an i and a dot
        (Kind.FUNCTION, "Circle.grow", "functions/c/Circle.grow.py"),
        (Kind.FUNCTION, "area@int", "functions/a/area@int.py"),
        (Kind.FUNCTION, "../../x", "functions/~/..%2F..%2Fx.py"),
        (Kind.FUNCTION, "e\u0301", "functions/e/%C3%A9.py"),
    ],
)
def test_paths(kind: Kind, key: str, path: str) -> None:
    assert path_of(kind, Key(key)) == path


@given(KINDS, ANY_KEYS, st.booleans())
def test_a_path_is_short_ascii_and_inside_the_layer(kind: Kind, key: str, twin: bool) -> None:
    assume(key.encode("utf-8", "ignore").decode() == key)
    path = path_of(kind, Key(key), twin=twin)
    folder, inner, name = parts(path)
    assert path.isascii()
    assert folder == kind.folder
    assert inner in {*string.ascii_lowercase, "_", "~"}
    assert len(name) <= LONGEST_NAME + len("~") + 12 + len(".py")
    assert holds_definition(path) or name.startswith(".")
    assert path.removeprefix(f"{folder}/{inner}/") == name


@given(KINDS, st.sets(IDENTIFIERS, min_size=1, max_size=6))
def test_any_order_of_keeping_gives_the_same_paths_no_two_of_them_alike_but_for_case(
    kind: Kind, keys: set[str]
) -> None:
    found = set()
    for order in itertools.islice(itertools.permutations(sorted(keys)), 24):
        table = Table()
        for key in order:
            table.put(Definition(Key(key), kind, "1"))  # `as = 1` would be no Python
        paths = {key: entry.path for key, entry in table.entries.items()}
        assert len({path.lower() for path in paths.values()}) == len(keys)
        assert all(table.at(path) == table.entries[key].definition for key, path in paths.items())
        found.add(tuple(sorted(paths.items())))
    assert len(found) == 1


def test_twins() -> None:
    """Of keys that differ only in case the all-lower one has the plain name, whichever came first."""
    assert place_among(Kind.CLASS, Key("foo"), {Key("Foo"): RelPath("classes/f/Foo.py")}) == (
        "classes/f/foo.py",
        {"Foo": "classes/f/Foo~1cbec7.py"},
    )
    assert place_among(Kind.CLASS, Key("Foo"), {Key("foo"): RelPath("classes/f/foo.py")}) == (
        "classes/f/Foo~1cbec7.py",
        {},
    )
    path, moves = place_among(Kind.VALUE, Key("ALPHA"), {Key("Alpha"): RelPath("values/a/Alpha.py")})
    assert path.startswith("values/a/ALPHA~")
    assert moves[Key("Alpha")].startswith("values/a/Alpha~")


def test_long_names_are_cut_and_stay_apart() -> None:
    one, other = Key("x" * 300 + "a"), Key("x" * 300 + "b")
    assert path_of(Kind.VALUE, one) != path_of(Kind.VALUE, other)
    assert folded_path(Kind.VALUE, Key("X" * 300)) != folded_path(Kind.VALUE, Key("x" * 300))
