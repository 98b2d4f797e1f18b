"""What a cell came to, as notices and as metadata."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.kernel.report import Report
from perdure.kernel.wire import Notices
from perdure.layer.definition import Definition, Key, Kind
from perdure.layer.outcome import Forgotten, Hidden, Kept, NotKept, Outcome, Unchanged

STILL = "the layer still has the value, and a restart brings it back"


def definition(name: str, *more: str) -> Definition:
    return Definition(Key(name), Kind.VALUE, f"{name} = 1", names=(name, *more) if more else ())


@pytest.mark.parametrize(
    ("outcomes", "everything", "problems"),
    [
        ([], [], []),
        ([Kept(definition("a")), Kept(definition("b"))], ["[layer: kept a, b]"], []),
        ([Kept(definition("a")), Kept(definition("a"))], ["[layer: kept a]"], []),
        ([Kept(definition("LOW", "HIGH"))], ["[layer: kept LOW, HIGH]"], []),
        ([Kept(definition("f"), pulled=(definition("n"),))], ["[layer: kept n, f]"], []),
        ([Unchanged(definition("a"))], [], []),
        ([Forgotten("a"), Forgotten("b")], ["[layer: forgot a, b]"], []),
        (
            [Kept(definition("a")), Kept(definition("f"), needs=("df", "model"))],
            ["[layer: kept a]", "[layer: kept f; needs df, model (not kept)]"],
            ["[layer: kept f; needs df, model (not kept)]"],
        ),
        ([Unchanged(definition("f"), needs=("df",))], [], ["[layer: kept f; needs df (not kept)]"]),
        (
            [NotKept("home", "it needs app to load")],
            ["[layer: home not kept; it needs app to load]"],
            ["[layer: home not kept; it needs app to load]"],
        ),
        (
            [NotKept("N", "it calls load()", forceable=True)],
            ["[layer: N not kept; it calls load(); %keep N keeps it]"],
            ["[layer: N not kept; it calls load(); %keep N keeps it]"],
        ),
        (
            [NotKept("API_KEY", "looks like a secret", forceable=True, is_secret=True)],
            ["[layer: API_KEY looks like a secret; not kept; %keep API_KEY commits it to git all the same]"],
            ["[layer: API_KEY looks like a secret; not kept; %keep API_KEY commits it to git all the same]"],
        ),
        (
            [Forgotten("f", "it is a plain variable now")],
            ["[layer: forgot f; it is a plain variable now]"],
            ["[layer: forgot f; it is a plain variable now]"],
        ),
        (
            [Hidden("a", definition("a"))],
            [f"[layer: a is an import now; {STILL}; `del a` forgets it]"],
            [],
        ),
        ([Hidden("a", definition("a")), Unchanged(definition("a"))], [], []),
        ([Hidden("a", definition("a")), Forgotten("a")], ["[layer: forgot a]"], []),
        (
            [Kept(definition("f"), warnings=("g still is the earlier f",))],
            ["[layer: kept f]", "[layer: g still is the earlier f]"],
            [],
        ),
    ],
)
def test_outcomes_as_notices(outcomes: list[Outcome], everything: list[str], problems: list[str]) -> None:
    report = Report(outcomes=outcomes)
    assert report.lines(Notices.ALL) == everything
    assert report.lines(Notices.PROBLEMS) == problems
    assert report.lines(Notices.NONE) == []


def test_the_same_problem_is_told_once() -> None:
    problem = NotKept("home", "it needs app to load")
    assert len(Report(outcomes=[problem, problem]).lines(Notices.PROBLEMS)) == 1


def test_what_waited_and_what_failed_is_told_even_in_a_notebook() -> None:
    report = Report(told=("[layer: skipped a]",), faults=["b not kept; perdure itself failed"])
    assert report.lines(Notices.PROBLEMS) == ["[layer: skipped a]", "[layer: b not kept; perdure itself failed]"]


def test_a_failed_form_is_named_where_there_are_several() -> None:
    assert Report(forms=3, failed_form=2).lines(Notices.ALL) == ["[error in form 2 of 3]"]
    assert Report(forms=3, failed_form=2).lines(Notices.PROBLEMS) == []
    assert Report(forms=1, failed_form=1).lines(Notices.ALL) == []


def test_metadata_has_every_outcome() -> None:
    report = Report(
        outcomes=[
            Kept(definition("f"), (definition("n"),), ("df",), ("a warning",)),
            Unchanged(definition("u")),
            NotKept("home", "it needs app to load"),
            Forgotten("g"),
            Forgotten("h", "it is a plain variable now"),
        ],
        faults=["a fault"],
        forms=2,
        failed_form=2,
    )
    assert report.metadata("s-1") == {
        "v": 1,
        "session": "s-1",
        "state": "done",
        "failed_form": 2,
        "kept": ["n", "f"],
        "forgot": ["g", "h"],
        "not_kept": [{"name": "home", "reason": "it needs app to load"}],
        "needs": [{"name": "f", "names": ["df"]}],
        "warnings": ["a warning", "a fault"],
    }


NAMES = st.text(min_size=1, max_size=8)
DEFINITIONS = NAMES.map(definition)
OUTCOMES = st.one_of(
    st.builds(Kept, DEFINITIONS, st.tuples(DEFINITIONS), st.tuples(NAMES), st.tuples(NAMES)),
    st.builds(Unchanged, DEFINITIONS, st.tuples(NAMES)),
    st.builds(NotKept, NAMES, NAMES, st.booleans()),
    st.builds(Forgotten, NAMES, st.text(max_size=8)),
)


@given(st.lists(OUTCOMES, max_size=8), st.sampled_from(Notices))
def test_any_report_is_strict_json_and_lines_of_text(outcomes: list[Outcome], notices: Notices) -> None:
    report = Report(outcomes=outcomes)
    metadata = report.metadata("s")
    assert json.loads(json.dumps(metadata, allow_nan=False)) == metadata
    lines = report.lines(notices)
    assert len(lines) == len(set(lines))
    assert all(line.startswith("[layer: ") and line.endswith("]") for line in lines)
