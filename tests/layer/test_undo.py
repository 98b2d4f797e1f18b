"""Taking commits back: what is in the files, what is live, and when it is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.layer.definition import RelPath
from perdure.layer.errors import StoreFault, UnknownCommit
from perdure.layer.memory import MemoryStore
from perdure.layer.session import Context
from perdure.layer.store import Message, Write
from perdure.layer.undo import NotUndone, Undone

from .cells import Cells, begun, said

CONTEXT = Context("s-test", 9, "a.ipynb")


def undone(cells: Cells, name: str = "HEAD") -> Undone:
    done = cells.layer.undo(name, CONTEXT)
    assert isinstance(done, Undone), done
    return done


def refused(cells: Cells, name: str = "HEAD") -> str:
    before = cells.files, cells.store.head()
    done = cells.layer.undo(name, CONTEXT)
    assert isinstance(done, NotUndone), done
    assert (cells.files, cells.store.head()) == before
    return done.why.partition(" ")[2]


def test_a_redefinition_is_taken_back_live(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    cells.run("def area(r): return 2")
    done = undone(cells)
    assert (done.loaded, done.gone, done.failed) == (("area",), (), ())
    assert cells.namespace["area"](0) == 1
    entry = cells.store.log(1)[0]
    assert entry.subject == "undo: keep area"
    assert entry.body == f"This takes back commit {done.entry.id}."
    assert entry.trailers == (("Session", "s-test"), ("Cell", "In[9]"), ("Notebook", "a.ipynb"))
    assert said(cells.run("def area(r): return 1")) == ["same area"]


def test_an_undo_can_be_undone(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    cells.run("def area(r): return 2")
    undone(cells)
    undone(cells)
    assert cells.namespace["area"](0) == 2
    assert cells.store.log(1)[0].subject == "undo: undo: keep area"
    undone(cells)
    assert cells.namespace["area"](0) == 1


def test_what_was_new_is_gone(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    assert undone(cells).gone == ("area",)
    assert "area" not in cells.namespace
    assert cells.names == set()
    undone(cells)
    assert cells.namespace["area"](0) == 1
    assert [name for name, _ in cells.events.recorded] == [  # type: ignore[attr-defined]
        "definition_recorded",
        "definition_forgotten",
        "definition_recorded",
    ]


def test_what_was_forgotten_is_back_over_a_plain_variable(cells: Cells) -> None:
    cells.run("def power(): return 1")
    cells.run("power = 3")
    assert cells.names == set()
    assert undone(cells).loaded == ("power",)
    assert cells.namespace["power"]() == 1
    assert said(cells.run("def user(): return power()")) == ["keep user"]


def test_an_older_commit_among_others(cells: Cells) -> None:
    cells.run("RATE = 1")
    cells.run("def area(r): return RATE")
    older = cells.store.log()[1].id
    cells.run("RATE_TWO = 1")
    assert undone(cells, older[:10]).gone == ("RATE",)
    assert cells.names == {"area", "RATE_TWO"}


def test_several_definitions_load_in_order(cells: Cells) -> None:
    cells.run("def twice(f): return lambda: 2 * f()\n@twice\ndef area(): return 1\nclass Shape: side = area()")
    cells.run("del area, twice, Shape")
    done = undone(cells)
    assert set(done.loaded) == {"area", "twice", "Shape"}
    assert cells.namespace["Shape"].side == 2


def test_a_class_keeps_what_was_put_on_it(cells: Cells) -> None:
    cells.run("class Circle:\n    r = 1")
    cells.run("Circle.grow = lambda self: self.r + 1")
    cells.run("class Circle:\n    r = 2")
    assert undone(cells).loaded == ("Circle",)
    assert cells.namespace["Circle"]().grow() == 2


def test_with_a_class_goes_what_was_put_on_it_since(cells: Cells) -> None:
    cells.run("class Circle:\n    r = 1")
    cells.run("Circle.grow = lambda self: self.r + 1")
    assert undone(cells, "HEAD~1").gone == ("Circle", "Circle.grow")
    assert cells.names == set()
    assert undone(cells).loaded == ("Circle", "Circle.grow")
    assert cells.namespace["Circle"]().grow() == 2


def test_a_method_is_taken_off(cells: Cells) -> None:
    cells.run("class Circle:\n    r = 1")
    cells.run("Circle.grow = lambda self: self.r + 1")
    assert undone(cells).gone == ("Circle.grow",)
    assert not hasattr(cells.namespace["Circle"], "grow")


def test_a_definition_that_changed_its_kind(cells: Cells) -> None:
    cells.run("def area(): return 1")
    cells.run("class area: pass")
    done = undone(cells)
    assert (done.loaded, done.gone) == (("area",), ())
    assert cells.namespace["area"]() == 1
    assert list(cells.store.files()) == ["functions/a/area.py"]


def test_what_was_changed_since_is_left(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    first = cells.store.log(1)[0].id
    cells.run("def area(r): return 2")
    second = cells.store.log(1)[0].id[:7]
    assert refused(cells, first) == (
        f"keep area: functions/a/area.py was changed since, by {second} keep area; take that back first"
    )
    assert cells.namespace["area"](0) == 2


def test_what_is_back_already_is_no_commit(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    first = cells.store.log(1)[0].id
    cells.run("del area")
    assert refused(cells, first) == "keep area is taken back already"


def test_a_name_that_is_in_another_file_now_is_left(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    cells.run("del area")
    gone = cells.store.log(1)[0].id
    cells.run("class area: pass")
    assert refused(cells, gone) == ("forgot area: area is in classes/a/area.py now; take back what made that first")


def test_what_another_file_gives_now_stays(cells: Cells) -> None:
    cells.run("def area(r): return 1\nRATE = 1")
    both = cells.store.log(1)[0].id
    cells.run("class area: pass")
    assert undone(cells, both).gone == ("RATE",)
    assert isinstance(cells.namespace["area"], type)
    assert cells.names == {"area"}


def test_a_hand_edit_is_left(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    assert isinstance(cells.store, MemoryStore)
    cells.store.edit(RelPath("functions/a/area.py"), b"def area(): return 3\n")
    assert refused(cells).startswith("keep area: functions/a/area.py has changes that are not committed")


def test_newlines_that_git_converted_are_no_edit(cells: Cells) -> None:
    cells.run("def area(r): return 1")
    cells.run("def area(r): return 2")
    assert isinstance(cells.store, MemoryStore)
    cells.store.edit(RelPath("functions/a/area.py"), b"def area(r): return 2\r\n")
    assert undone(cells).loaded == ("area",)
    assert cells.namespace["area"](0) == 1


def test_the_first_commit_stays(cells: Cells) -> None:
    assert refused(cells) == "start made the layer"
    with pytest.raises(UnknownCommit):
        cells.layer.undo("HEAD~1", CONTEXT)


def test_a_record_that_cannot_be_written_is_told_and_the_undo_stands(
    cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells.run("def area(r): return 1")
    cells.run("def area(r): return 2")

    def full(*_: object, **__: object) -> None:
        raise StoreFault(Path("events.jsonl"), OSError(28, "No space left on device"))

    monkeypatch.setattr(cells.events, "add", full)
    done = undone(cells)
    assert "No space left" in str(done.not_on_record)
    assert (done.loaded, cells.namespace["area"](0)) == (("area",), 1)


def test_a_file_that_does_not_load_is_told(cells: Cells) -> None:
    path = RelPath("functions/a/area.py")
    cells.store.commit([Write(path, b"import no_such_module\n\n\ndef area(): ...\n")], Message("by hand"))
    cells = cells.restarted()
    cells.run("def area(): return 1")
    done = undone(cells)
    assert (done.loaded, [skipped.path for skipped in done.failed]) == ((), [path])
    assert [skipped.reason for skipped in cells.layer.report.skipped] == [
        "no_such_module is found nowhere here; install it"
    ]
    assert said(cells.run("def area(): return 2")) == ["keep area"]
    assert cells.layer.report.skipped == ()


def over(*texts: str) -> Cells:
    """A kernel over a cells folder of these definitions."""
    made = begun()
    for text in texts:
        made.run(text)
    return begun({"/team": {str(path): text for path, text in made.files.items()}})


def test_what_it_took_the_place_of_in_a_cells_folder_is_live_again() -> None:
    cells = over("def area(): return 0", "def user(): return area()")
    cells.run("def area(): return 1")
    done = undone(cells)
    assert (done.loaded, done.gone, done.shipped_again) == ((), (), ("area",))
    assert (cells.namespace["area"](), cells.namespace["user"]()) == (0, 0)
    assert cells.names == set()
    assert said(cells.run("def area(): return 0")) == ["same area"]
    assert said(cells.run("def more(x=area): return x()")) == ["keep more"]
    assert undone(cells, "HEAD~1").loaded == ("area",)
    assert cells.namespace["area"]() == 1
    assert cells.restarted().namespace["area"]() == 1


def test_a_class_of_a_cells_folder_is_back_with_its_methods_and_those_of_the_layer() -> None:
    cells = over("class Circle:\n    r = 0", "Circle.grow = lambda self: self.r + 10")
    cells.run("class Circle:\n    r = 1")
    cells.run("Circle.shrink = lambda self: self.r - 10")
    done = undone(cells, "HEAD~1")
    assert (done.gone, done.shipped_again, done.loaded) == ((), ("Circle",), ())
    for kernel in (cells, cells.restarted()):
        circle = kernel.namespace["Circle"]()
        assert (circle.r, circle.grow(), circle.shrink()) == (0, 10, -10)


def test_a_method_of_a_cells_folder_is_back_on_its_class_alone() -> None:
    cells = over("class Circle:\n    r = 0", "Circle.grow = lambda self: self.r + 10")
    cells.run("Circle.grow = lambda self: 3")
    assert undone(cells).shipped_again == ("Circle.grow",)
    assert cells.namespace["Circle"]().grow() == 10
    cells.run("class Circle:\n    r = 1")
    cells.run("Circle.grow = lambda self: 4")
    done = undone(cells)
    assert (done.gone, done.shipped_again) == (("Circle.grow",), ())
    for kernel in (cells, cells.restarted()):
        assert not hasattr(kernel.namespace["Circle"], "grow")


def test_of_several_names_that_a_file_of_a_cells_folder_gives_the_others_stay() -> None:
    cells = over("LOW, HIGH = 1, 2")
    cells.run("HIGH = 5")
    cells.run("LOW = 3")
    assert undone(cells).shipped_again == ("LOW",)
    for kernel in (cells, cells.restarted()):
        assert (kernel.namespace["LOW"], kernel.namespace["HIGH"]) == (1, 5)


def test_one_of_a_cells_folder_that_another_took_the_place_of_is_made_with_that() -> None:
    team = {"functions/a/area.py": "def area(): return 1\n"}
    late = {"functions/a/area.py": "def twice(f): return lambda: 2 * f()\n\n\narea = twice(area)\n"}
    cells = begun({"/team": team, "/late": late})
    cells.run("def area(): return 7")
    assert undone(cells).shipped_again == ("area",)
    assert cells.namespace["area"]() == cells.restarted().namespace["area"]() == 2


def test_one_of_a_cells_folder_that_does_not_load_any_more_is_gone_and_told() -> None:
    cells = over("COUNT = 1", "def area(x=COUNT): return x")
    cells.run("def area(): return 2")
    cells.run("del COUNT")
    done = undone(cells)
    assert (done.gone, done.shipped_again) == (("area",), ())
    assert [failed.told for failed in done.not_shipped] == [
        "area cannot be loaded; /team/functions/a/area.py: it raised NameError: name 'COUNT' is not defined at line 1"
    ]
    assert "area" not in cells.namespace


def test_what_others_committed_meanwhile_can_be_undone(cells: Cells) -> None:
    other = cells.restarted()
    other.run("def area(): return 1")
    assert undone(cells).gone == ("area",)
    assert cells.store.files() == {}


TEXTS = {
    "one": "def one(): return {n}",
    "one ": "class one(tuple): m = {n}",
    "RATE": "RATE = {n}",
    "two": "def two(x=RATE): return one(), x, {n}",
    "Shape": "class Shape:\n    side = {n}",
    "Shape.grow": "Shape.grow = lambda self: (self.side, one(), {n})",
}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("run"), st.sampled_from(sorted(TEXTS)), st.integers(0, 2)),
        st.tuples(st.just("del"), st.sampled_from(["one", "RATE", "two", "Shape"]), st.just(0)),
        st.tuples(st.just("undo"), st.just("HEAD"), st.integers(0, 3)),
    ),
    max_size=14,
)


def state(cells: Cells) -> dict[str, object]:
    """What each kept name gives, as far as what it was made with does not matter."""
    space = cells.namespace
    found: dict[str, object] = {}
    for name in cells.names | cells.layer.shipped.given.keys():
        try:
            match name:
                case "RATE":
                    found[name] = space["RATE"]
                case "one":
                    found[name] = space["one"]()
                case "two":
                    found[name] = (space["two"]()[0], space["two"]()[2])
                case "Shape":
                    found[name] = space["Shape"].side
                case "Shape.grow":
                    found[name] = space["Shape"]().grow()
        except (LookupError, NameError, AttributeError) as error:  # a class that was run again is without its methods
            found[name] = str(error)
    return found


@settings(max_examples=250, deadline=None)
@given(steps=STEPS, below=st.sets(st.sampled_from([name for name in TEXTS if name != "one "])))
def test_what_is_live_after_an_undo_is_what_a_restart_gives(steps: list[tuple[str, str, int]], below: set[str]) -> None:
    cells = over(*(TEXTS[name].format(n=5) for name in TEXTS if name in below))
    for step, name, number in steps:
        match step:
            case "run":
                cells.run(TEXTS[name].format(n=number))
            case "del" if name not in below:  # what a cells folder gives is missing until a restart then
                cells.run(f"del {name}")
            case "del":
                pass
            case _:
                if len(cells.store.log()) <= number + 1:
                    continue
                before = cells.files
                done = cells.layer.undo(f"HEAD~{number}", CONTEXT)
                if isinstance(done, NotUndone):
                    assert cells.files == before
                    continue
                again = cells.restarted()
                # A restart skips what calls a definition that is gone; a kernel that has it live keeps it.
                there = state(again)
                live = (*done.loaded, *done.shipped_again)
                assert {name: state(cells)[name] for name in live if name in there} == {
                    name: there[name] for name in live if name in there
                }
                assert not {*done.gone} & (cells.names | again.names)
                missing = {each.waiting.definition.key for each in done.not_shipped}
                assert not {name for name in {*done.gone} - missing if "." not in name} & again.namespace.keys()
                assert not {name.partition(".")[0] for name in done.gone if "." not in name} & cells.namespace.keys()
                # What came back and does not load, as a method whose class was deleted since, a restart skips too.
                failed = {name for skipped in done.failed for name in skipped.names}
                assert not failed & again.names or cells.names - again.names
