"""Load order: after what is needed to load, ties by path."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.definition import Key, RelPath
from perdure.layer.order import Loadable, load_order
from perdure.layer.scope import reads_of
from perdure.layer.source import bound_targets


def ordered(*sources: str, after: dict[str, str] | None = None) -> str:
    """The names that `sources` define, in load order; each stands in a file of its name."""
    files = []
    for source in sources:
        node = ast.parse(source).body[0]
        names = bound_targets(node)
        earlier = (Key((after or {})[names[0]]),) if names[0] in (after or {}) else ()
        files.append(Loadable(RelPath(names[0]), names, reads_of(node), lambda node=node: node, earlier))  # type: ignore[misc]
    order = load_order(files)
    assert order == load_order(reversed(files))
    assert sorted(order) == sorted(file.path for file in files)
    return " ".join(order)


@pytest.mark.parametrize(
    ("sources", "order"),
    [
        (["def b(): pass", "def a(): pass"], "a b"),
        (["def a(x=b): pass", "b = 1"], "b a"),
        (["def a(): return b", "b = 1"], "a b"),
        (["class A(B): pass", "class B(C): pass", "class C: pass"], "C B A"),
        (["@b\ndef a(): pass", "def b(f): return f"], "b a"),
        (["def a(x: b): pass", "class b: pass"], "b a"),
        (["a, z = b", "b = 1, 2", "c = z"], "b a c"),
        (["c = 1", "a = 1", "b = (a, c)"], "a c b"),
        # What is called on the way comes first too.
        (["@b\ndef a(): pass", "def b(f): return c(f)", "def c(f): return d", "d = 1"], "b c d a"),
        (["a = b(1)", "def b(x): return c", "c = 1"], "b c a"),
        (["@b\ndef a(): pass", "def b(f):\n def g(): return c\n return g", "c = 1"], "b a c"),
        (["@b()\ndef a(): pass", "def b():\n def g(f): return c\n return g", "c = 1"], "b c a"),
        (["class A(B): pass", "class B:\n def __init_subclass__(cls): z", "z = 1"], "B z A"),
        (["a = B()", "class B:\n def __init__(self): z", "z = 1"], "B z a"),
        (["a = b()", "b = lambda: c", "c = 1"], "b c a"),
        (["a = b()", "b = c", "def c(): return d", "d = 1"], "c b d a"),
        # Circles: by path, behind what is in none; guesses and annotations give way first.
        (["a = b", "b = a", "c = 1"], "c a b"),
        (["a = b", "b = a", "c = a"], "a b c"),
        (["class A:\n def f(self, b: B): pass", "class B(A): pass"], "A B"),
        (["class B:\n def f(self, a: A): pass", "class A(B): pass"], "B A"),
        (["@b\ndef a(): pass", "def b(f): return c", "c = a"], "b a c"),
        (["a = a"], "a"),
    ],
)
def test_order(sources: list[str], order: str) -> None:
    assert ordered(*sources) == order


def test_after_in_the_header_counts() -> None:
    assert ordered("a = 1", "b = 1", after={"a": "b"}) == "b a"
    assert ordered("a = 1", after={"a": "gone"}) == "a"


def test_after_in_the_header_goes_before_what_is_read() -> None:
    """`b` was made with the builtin that `a` hides since."""
    assert ordered("def a(): pass", "b = a", after={"a": "b"}) == "b a"
    assert ordered("def a(): pass", "b = c()", "def c(): return a()", after={"a": "b"}) == "c b a"
    assert ordered("def a(): pass", "def b(x: a): pass", after={"a": "b"}) == "b a"
    assert ordered("a = 1", "b = a", after={"a": "b", "b": "a"}) == "a b"


@given(st.dictionaries(st.integers(0, 12), st.sets(st.integers(0, 12), max_size=3)))
def test_everything_is_ordered_once_and_behind_what_it_needs(needs: dict[int, set[int]]) -> None:
    """Where no circle is, nothing stands before what it reads."""
    sources = [f"n{number} = {[f'n{other}' for other in others]}".replace("'", "") for number, others in needs.items()]
    order = ordered(*sources).split()
    places = {name: place for place, name in enumerate(order)}

    def reach(number: int, seen: frozenset[int]) -> set[int]:
        others = needs.get(number, set()) - seen
        return others.union(*(reach(other, seen | others) for other in others))

    in_circle = {number for number in needs if number in reach(number, frozenset())}
    for number, others in needs.items():
        if not in_circle & {number, *reach(number, frozenset())}:
            assert all(places[f"n{other}"] < places[f"n{number}"] for other in others & needs.keys())


def test_a_thousand_files_with_one_base_are_ordered_soon() -> None:
    """What the base calls is not followed for each of them."""
    base = "class Base:\n" + "".join(f" def m{n}(self): return f{n}(self)\n" for n in range(300))
    functions = [f"def f{n}(x): return f{(n + 1) % 300}(x)" for n in range(300)]
    derived = [f"class D{n}(Base): pass" for n in range(1000)]
    assert ordered(base, *functions, *derived).startswith("Base D0 ")
