"""The table of what is kept, beside a simple model of it; and the commits that lead from one table to the next."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from perdure.layer.definition import Definition, Key, Kind, RelPath
from perdure.layer.fileformat import read, render
from perdure.layer.naming import path_of
from perdure.layer.plan import Step, step
from perdure.layer.session import Context
from perdure.layer.store import Change, Message, Remove, Write
from perdure.layer.table import Entry, Table

from .made_up import MADE_UP

CONTEXT = Context("s-1", 12, "analysis.ipynb", "Areas of shapes")
KEYS = ["a", "A", "aa", "Aa", "AA", "B", "b", "π"]


def function(name: str, body: str = "pass") -> Definition:
    return Definition(Key(name), Kind.FUNCTION, f"def {name}(): {body}")


def value(*names: str, text: str = "1") -> Definition:
    source = f"{', '.join(names)} = {text}"
    return Definition(Key(names[0]), Kind.VALUE, source, names=names if len(names) > 1 else ())


class Tables(RuleBasedStateMachine):
    """The model: each name → the text that gives it. The files: what the commits have written."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table()
        self.model: dict[str, str] = {}
        self.files: dict[RelPath, bytes] = {}

    def change(self, table: Table, kept: list[Key], forgot: list[Key]) -> None:
        made = step(self.table, table, kept, forgot, CONTEXT)
        for change in made.changes:
            if isinstance(change, Write):
                assert self.files.get(change.path) != change.data
                self.files[change.path] = change.data
            else:
                del self.files[change.path]
        self.table = table

    @rule(name=st.sampled_from(KEYS), body=st.sampled_from(["pass", "...", "1"]), kind=st.sampled_from(Kind))
    def put(self, name: str, body: str, kind: Kind) -> None:
        texts = {Kind.FUNCTION: f"def {name}(): {body}", Kind.CLASS: f"class {name}: {body}", Kind.VALUE: f"{name} = 1"}
        key = f"{name}.m" if kind is Kind.METHOD else name
        text = texts.get(kind, f"{key} = lambda self: {body if body != 'pass' else 0}")
        table = self.table.copy()
        table.put(Definition(Key(key), kind, text))
        self.change(table, [Key(key)], [])
        self.model[key] = text

    @rule(names=st.lists(st.sampled_from(KEYS), min_size=2, max_size=3, unique=True))
    def put_several(self, names: list[str]) -> None:
        table = self.table.copy()
        made = value(*names)
        table.put(made)
        self.change(table, [made.key], [])
        self.model |= dict.fromkeys(names, made.text)

    @rule(name=st.sampled_from(KEYS))
    def drop(self, name: str) -> None:
        table = self.table.copy()
        table.drop(name)
        self.change(table, [], [Key(name)])
        self.model.pop(name, None)

    @rule(name=st.sampled_from(KEYS), other=st.sampled_from(KEYS))
    def move_by_hand_and_boot(self, name: str, other: str) -> None:
        """Somebody gives a file the name that another key's would have; the next kernel finds it there."""
        target = path_of(Kind.FUNCTION, Key(other))
        entry = self.table.entries.get(Key(name))
        if entry is not None and target not in self.files:
            self.files[target] = self.files.pop(entry.path)
        self.table = Table(Entry(read(path, data), path) for path, data in sorted(self.files.items()))

    @invariant()
    def each_name_is_given_by_its_text(self) -> None:
        assert {name: definition.text for name, definition in self.table.by_name.items()} == self.model

    @invariant()
    def the_files_are_the_table(self) -> None:
        entries = self.table.entries
        assert self.files == {entry.path: render(entry.definition) for entry in entries.values()}
        assert all(self.table.at(entry.path) == entry.definition for entry in entries.values())
        assert all(read(path, data) == self.table.at(path) for path, data in self.files.items())

    @invariant()
    def no_name_is_given_twice(self) -> None:
        given = [name for entry in self.table.entries.values() for name in entry.definition.gives]
        assert len(given) == len(set(given))


Tables.TestCase.settings = settings(max_examples=100, stateful_step_count=20)
TestTables = Tables.TestCase


def test_a_copy_is_edited_alone() -> None:
    table = Table([Entry(function("a"), RelPath("functions/a/a.py"))])
    copy = table.copy()
    copy.put(function("b"))
    copy.drop("a")
    assert set(table.by_name) == {"a"}
    assert not table.touched


def test_what_was_skipped_at_boot_is_not_there_but_is_replaced() -> None:
    table = Table([Entry(function("a"), RelPath("functions/a/a.py"), awake=False)])
    assert not table.by_name
    after = table.copy()
    after.put(Definition(Key("a"), Kind.CLASS, "class a: pass"))
    assert [type(change) for change in made(table, after, ["a"]).changes] == [Write, Remove]
    assert set(after.by_name) == {"a"}


def test_what_was_skipped_stays_skipped_where_another_makes_it_move() -> None:
    table = Table([Entry(function("Foo"), RelPath("functions/f/Foo.py"), awake=False)])
    table.put(function("foo"))
    assert set(table.by_name) == {"foo"}
    assert table.entries[Key("Foo")].path == path_of(Kind.FUNCTION, Key("Foo"), twin=True)
    assert not table.entries[Key("Foo")].awake


def test_a_definition_that_takes_a_name_from_several_comes_after_what_is_left() -> None:
    table = Table()
    table.put(value("A", "B", "C"))
    table.put(value("B", text="5"))
    assert table.entries[Key("A")].definition.names == ("A", "C")
    assert table.entries[Key("B")].definition.after == ("A",)
    table.drop("A")
    assert table.entries[Key("C")].definition.names == ("C",)


def made(before: Table, after: Table, kept: list[str], forgot: list[str] | None = None) -> Step:
    return step(before, after, [Key(name) for name in kept], [Key(name) for name in forgot or []], CONTEXT)


def after_putting(*definitions: Definition, before: Table | None = None) -> Table:
    table = (before or Table()).copy()
    for definition in definitions:
        table.put(definition)
    return table


def paths(changes: tuple[Change, ...]) -> list[tuple[str, str]]:
    return [(type(change).__name__, change.path) for change in changes]


def test_a_step_holds_the_changes_and_nothing_else() -> None:
    before = after_putting(function("a"), function("b"))
    after = after_putting(function("b", "1"), function("c"), before=before)
    after.drop("a")
    assert paths(made(before, after, ["b", "c"], ["a"]).changes) == [
        ("Write", "functions/b/b.py"),
        ("Write", "functions/c/c.py"),
        ("Remove", "functions/a/a.py"),
    ]


def test_putting_the_same_again_changes_nothing() -> None:
    before = after_putting(function("a"))
    assert made(before, after_putting(function("a"), before=before), ["a"]).changes == ()


def test_a_definition_of_another_kind_moves_in_one_step() -> None:
    before = after_putting(function("area"))
    after = after_putting(Definition(Key("area"), Kind.CLASS, "class area: pass"), before=before)
    assert paths(made(before, after, ["area"]).changes) == [
        ("Write", "classes/a/area.py"),
        ("Remove", "functions/a/area.py"),
    ]


def test_message() -> None:
    after = after_putting(function("area"), Definition(Key("Circle"), Kind.CLASS, "class Circle: pass"))
    assert made(Table(), after, ["area", "Circle", "area"]).message == Message(
        "keep area, Circle",
        "Areas of shapes",
        (("Session", "s-1"), ("Cell", "In[12]"), ("Notebook", "analysis.ipynb")),
    )


@pytest.mark.parametrize(
    ("kept", "forgot", "subject"),
    [
        (["b"], [], "keep b"),
        ([], ["a"], "forgot a"),
        (["b"], ["a"], "keep b; forgot a"),
        (["b"], ["never"], "keep b"),  # kept and forgotten within the run
    ],
)
def test_subjects(kept: list[str], forgot: list[str], subject: str) -> None:
    before = after_putting(function("a"))
    after = after_putting(*map(function, kept), before=before)
    for name in forgot:
        after.drop(name)
    assert made(before, after, kept, forgot).message.subject == subject


def test_many_names_are_in_the_body_where_the_subject_cannot_hold_them() -> None:
    names = [f"function_number_{number}" for number in range(9)]
    message = made(Table(), after_putting(*map(function, names)), names).message
    assert message.subject == "keep function_number_0, function_number_1 and 7 more"
    assert message.body == f"keep {', '.join(names)}\n\nAreas of shapes"


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (Context("s-1"), Message("keep a", "", (("Session", "s-1"),))),
        (
            Context("s-1", note=f"uses {MADE_UP['GitHub']}"),
            Message("keep a", "", (("Session", "s-1"),)),
        ),
        (Context("s-1", note="password = 'hunter-two'"), Message("keep a", "", (("Session", "s-1"),))),
        (Context("s-1", notebook="a\nb.ipynb"), Message("keep a", "", (("Session", "s-1"), ("Notebook", "a b.ipynb")))),
        (Context("s-1", note="One\n\nTwo: three"), Message("keep a", "One\n\nTwo: three", (("Session", "s-1"),))),
        (Context("s-1", note="x" * 3_000_000), Message("keep a", "x" * 4_000 + "…", (("Session", "s-1"),))),
    ],
)
def test_what_a_message_says_of_where_it_comes_from(context: Context, message: Message) -> None:
    said = step(Table(), after_putting(function("a")), [Key("a")], [], context).message
    assert said == message
    assert Message.read(said.text()) == said


def test_the_last_of_several_that_differ_in_case_is_named_as_if_it_were_alone() -> None:
    """A clone that never had the others has the same paths."""
    table = Table()
    for key in ("foo", "Foo", "FOO"):
        table.put(function(key))
    table.drop("FOO")
    assert table.entries[Key("Foo")].path == path_of(Kind.FUNCTION, Key("Foo"), twin=True)
    table.drop("foo")
    assert table.entries[Key("Foo")].path == path_of(Kind.FUNCTION, Key("Foo"))
