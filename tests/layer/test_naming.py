"""Key → path: safe on any file system, the same whatever was kept first."""

from __future__ import annotations

import itertools
import random
import string
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.definition import Definition, Key, Kind, RelPath
from perdure.layer.fileformat import read
from perdure.layer.given import given_by_all, kind_of_all
from perdure.layer.naming import LONGEST_NAME, folded_path, name_told_by, path_of, place_among
from perdure.layer.plan import step
from perdure.layer.session import Context
from perdure.layer.source import parse
from perdure.layer.store import holds_definition, parts
from perdure.layer.table import Table

from .git_cli import Git, created
from .keys import ANY_KEYS, KINDS, NAMES, placed


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
        (Kind.FUNCTION, "\u00e9t\u00e9", "functions/~/%C3%A9t%C3%A9.py"),
        (Kind.FUNCTION, "e\u0301te\u0301", "functions/~/%C3%A9t%C3%A9.py"),
        (Kind.METHOD, "Circle.grow", "methods/c/Circle.grow.py"),
        (Kind.METHOD, "area@int", "methods/a/area@int.py"),
        (Kind.METHOD, "area@list[int]", "methods/a/area@list%5Bint%5D.py"),
        (Kind.METHOD, "area@np.ndarray", "methods/a/area@np.ndarray.py"),
        (Kind.METHOD, "area@int | float", "methods/a/area@int%20%7C%20float.py"),
        (Kind.METHOD, "f@dict[str, 'Größe']", "methods/f/f@dict%5Bstr%2C%20%27Gr%C3%B6%C3%9Fe%27%5D.py"),
        (Kind.METHOD, "f@Literal['a/b~c%2F\\n']", "methods/f/f@Literal%5B%27a%2Fb%7Ec%252F%5Cn%27%5D.py"),
        (Kind.METHOD, "f@\ud800\0", "methods/f/f@%ED%A0%80%00.py"),
        (Kind.FUNCTION, "../../x", "functions/~/..%2F..%2Fx.py"),
    ],
)
def test_paths(kind: Kind, key: str, path: str) -> None:
    assert path_of(kind, Key(key)) == path


@given(KINDS, ANY_KEYS, st.booleans())
def test_a_path_is_short_ascii_and_inside_the_layer(kind: Kind, key: str, twin: bool) -> None:
    path = path_of(kind, Key(key), twin=twin)
    folder, inner, name = parts(path)
    assert path.isascii()
    assert path.isprintable()
    assert folder == kind.folder
    assert inner in {*string.ascii_lowercase, "_", "~"}
    assert len(name) <= LONGEST_NAME + len("~") + 12 + len(".py")
    assert holds_definition(path) or name.startswith(".")
    assert path.removeprefix(f"{folder}/{inner}/") == name


@given(KINDS, NAMES, st.booleans())
def test_a_path_tells_the_name_or_what_was_cut_from_it(kind: Kind, key: str, twin: bool) -> None:
    path = path_of(kind, Key(key), twin=twin)
    told, composed = name_told_by(path), unicodedata.normalize("NFC", key)
    assert composed.startswith(told)
    assert told == composed or len(parts(path)[2]) > LONGEST_NAME


@given(KINDS, st.sets(NAMES, min_size=1, max_size=6))
def test_any_order_of_keeping_gives_the_same_paths_no_two_of_them_alike_but_for_case(
    kind: Kind, keys: set[str]
) -> None:
    orders = itertools.islice(itertools.permutations(sorted(keys)), 24)
    paths, *others = [placed(kind, order) for order in orders]
    assert len({path.lower() for path in paths.values()}) == len(keys)
    assert all(other == paths for other in others)


@pytest.mark.parametrize(
    "keys",
    [
        ["foo", "Foo", "FOO", "fOo"],
        ["Foo.m", "foo.m", "foo.M"],
        ["f@int", "f@Int", "F@int", "F@Int"],
        ["f@'\u00e9'", "f@'e\u0301'", "f@'\u00c9'", "f@'E\u0301'"],  # é, composed and not: one file name in NFC
        ["é", "É"],  # apart as escapes are
        ["x" * 300, "X" * 300, "x" * 299 + "X", "x" * 181, "X" * 181, "x" * 180, "X" * 180],
        ["π" * 300, "Π" * 300, "π" * 30, "π" * 31, "Π" * 30],
        ["f@" + " | ".join(["int", "Int"] * 40), "f@" + " | ".join(["Int", "int"] * 40)],
    ],
)
def test_what_is_alike_is_told_apart_in_any_order(keys: list[str]) -> None:
    paths, *others = [placed(Kind.METHOD, order) for order in itertools.islice(itertools.permutations(keys), 5040)]
    assert len({path.lower() for path in paths.values()}) == len(keys)
    assert all(other == paths for other in others)


@pytest.mark.parametrize("wide", ["é", "ह", "😀", "\ud800"])
@pytest.mark.parametrize("before", range(170, 181))
def test_no_character_is_cut_in_two(wide: str, before: int) -> None:
    name = parts(path_of(Kind.VALUE, Key("x" * before + wide * 9)))[2]
    stem, _, digest = name.removesuffix(".py").partition("~")
    assert len(digest) == 12
    escapes = len("".join(f"%{byte:02X}" for byte in wide.encode("utf-8", "surrogatepass")))
    assert len(stem) == before + (LONGEST_NAME - before) // escapes * escapes


TEXTS = [
    "def area(x): pass",
    "async def Area(x): pass",
    "AREA = 1",
    "Alpha, ALPHA = 1, 2",
    "class foo: pass",
    "class Foo: pass",
    "class FOO: pass",
    "π = 1",
    "class größe: pass",
    "class Größe: pass",
    "def _helper(): pass",
    "def 中(): pass",
    f"def {'l' * 300}(): pass",
    f"def {'L' * 300}(): pass",
    f"class {'é' * 300}: pass",
    "Foo.m = area",
    "Foo.M = area",
    "foo.m = area",
    "@area.register\ndef _(x: int): pass",
    "@area.register(list[int])\ndef _(x): pass",
    "@area.register\ndef _(x: List[int]): pass",
    "@area.register\ndef _(x: LIST[int]): pass",
    "@area.register(np.ndarray)\ndef _(x): pass",
    "@area.register\ndef _(x: int | float): pass",
    '@area.register\ndef _(x: dict[str, "Foo"]): pass',
    "@area.register\ndef _(x: 'Foo'): pass",
    "@area.register\ndef _(x: Literal['\u00e9']): pass",
    "@area.register\ndef _(x: Literal['e\u0301']): pass",
    f"@area.register\ndef _(x: {' | '.join(f'Größe{number}' for number in range(40))}): pass",
    f"@area.register\ndef _(x: {' | '.join(f'größe{number}' for number in range(40))}): pass",
]


def definition(text: str) -> Definition:
    body = parse(text).body
    names = given_by_all(body)
    return Definition(Key(names[0]), kind_of_all(body, names), text, names=names if len(names) > 1 else ())


def test_two_layers_that_keep_the_same_in_another_order_have_the_same_tree(
    tmp_path: Path, no_git_configuration: Path
) -> None:
    definitions = [definition(text) for text in TEXTS]
    assert len({made.key for made in definitions}) == len(TEXTS)
    trees: dict[int, str] = {}
    for clone in range(3):
        path = tmp_path / str(clone)
        store, table = created(path), Table()
        for made in definitions:
            ahead = table.copy()
            ahead.put(made)
            plan = step(table, ahead, [made.key], [], Context("s-1"))
            store.commit(plan.changes, plan.message)
            table = ahead
        git = Git(path)
        git.check()
        assert {read(*file).key for file in store.files().items()} == {made.key for made in definitions}
        trees[clone] = git("rev-parse", "HEAD^{tree}")
        random.Random(clone).shuffle(definitions)
    assert len({*trees.values()}) == 1


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
