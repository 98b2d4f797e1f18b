"""What each name may reach of what waits, against a search that is plain to see."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.reach import Reach, numbers_in

NAMES = [f"n{number}" for number in range(9)]
SETS = st.frozensets(st.sampled_from([*NAMES, "print"]), max_size=4)
GRAPHS = st.dictionaries(st.sampled_from(NAMES), SETS)
WAITING = st.lists(st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=2), max_size=6)


def reached(mentions: Mapping[str, frozenset[str]], waiting: list[frozenset[str]], name: str) -> set[int]:
    """By walking from `name` through all that is mentioned."""
    seen, todo = {name}, [name]
    while todo:
        new = mentions.get(todo.pop(), frozenset()) - seen
        seen |= new
        todo += new
    return {number for number, names in enumerate(waiting) if names & seen}


@given(GRAPHS, WAITING, st.lists(st.tuples(st.booleans(), st.sampled_from(NAMES)), max_size=4))
def test_it_is_what_a_walk_finds(
    mentions: dict[str, frozenset[str]], waiting: list[frozenset[str]], changes: list[tuple[bool, str]]
) -> None:
    reach = Reach(mentions, [(names, ()) for names in waiting])
    left = set(range(len(waiting)))
    for loads, changed in [(True, ""), *changes]:
        if loads and changed:
            numbers = reached(mentions, waiting, changed) & left
            reach.settle(numbers)
            left -= numbers
        elif changed:
            mentions.pop(changed, None)
            waiting = [names - {changed} for names in waiting]
            reach.redefined(changed)
        for name in NAMES:
            assert {*numbers_in(reach.of([name]))} == reached(mentions, waiting, name) & left
        assert {*numbers_in(reach.of(NAMES))} <= left
        assert reach.names == {name for name in NAMES if reached(mentions, waiting, name) & left}


def test_what_needs_a_name_to_load() -> None:
    reach = Reach({}, [(["A"], ["B", "C"]), (["D"], ["C"])])
    assert [*numbers_in(reach.needing(["C", "x"]))] == [0, 1]
    assert reach.names == {"A", "B", "C", "D"}
    reach.settle([0])
    assert [*numbers_in(reach.needing(["B", "C"]))] == [1]
    assert reach.names == {"C", "D"}


def test_a_chain_as_long_as_a_layer_is_no_recursion() -> None:
    count = 20_000
    mentions = {f"f{number}": {f"f{number + 1}"} for number in range(count)}
    reach = Reach(mentions, [([f"f{count}"], ())])
    assert reach.of(["f0"]) == 1
