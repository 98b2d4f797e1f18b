"""What every store promises (layer/store.py), on each store there is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from perdure.layer.definition import RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.errors import StoreFault, UnknownCommit
from perdure.layer.git import GitStore
from perdure.layer.memory import MemoryStore
from perdure.layer.store import (
    Change,
    Changed,
    CommitId,
    Dirt,
    Message,
    Remove,
    Store,
    Write,
    holds_definition,
)

from .git_cli import ADA, AREA, KEEP, RATE


class StoreContract(ABC):
    """Subclass it, name the store, and every promise of the port is tested."""

    @abstractmethod
    def store(self, files: Mapping[RelPath, bytes]) -> Store:
        """A store of ADA's whose first commit holds `files`."""

    @abstractmethod
    def edit(self, store: Store, path: RelPath, data: bytes | None) -> None:
        """Change a working file by hand; None takes it away."""

    @pytest.fixture
    def one(self) -> Store:
        return self.store({AREA: b"def area(): ...\n"})

    def test_what_is_committed_is_read(self, one: Store) -> None:
        data = b"\xef\xbb\xbfRATE = '\xc3\xa9\xff'\r\n\r"  # no byte is the store's business
        commit = one.commit([Write(RATE, data)], KEEP)
        assert one.files()[RATE] == data
        assert commit == one.head()

    def test_one_file_is_read_as_it_stands(self, one: Store) -> None:
        assert one.file(AREA) == b"def area(): ...\n"
        self.edit(one, AREA, b"edited")
        assert one.file(AREA) == b"edited"
        self.edit(one, AREA, None)
        assert one.file(AREA) is None
        assert one.file(RATE) is None

    def test_a_file_taken_away_by_hand_comes_back(self, one: Store) -> None:
        self.edit(one, AREA, None)
        assert one.commit([Write(AREA, b"def area(): ...\n")], KEEP) is None
        assert one.file(AREA) == b"def area(): ...\n"
        assert not one.dirt()

    def test_the_first_commit_is_there(self, one: Store) -> None:
        assert one.files() == {AREA: b"def area(): ...\n"}
        assert one.head() is not None
        assert len(one.log()) == 1
        assert not one.dirt()

    def test_files_are_sorted_and_only_those_of_definitions(self) -> None:
        paths = ["values/r/B.py", "values/a.py", "functions/z.py", "functions/a/b/c.py", "functions/Z.py"]
        others = ["__init__.py", "functions/.a.py", "functions/.x/a.py", "functions/a.pyc", "other/a.py", "classes.py"]
        store = self.store({RelPath(path): b"" for path in paths + others})
        assert list(store.files()) == sorted(paths)

    def test_hand_edits_are_read(self, one: Store) -> None:
        self.edit(one, AREA, b"by hand")
        self.edit(one, RATE, b"new")
        assert one.files() == {AREA: b"by hand", RATE: b"new"}

    def test_several_changes_are_one_commit(self, one: Store) -> None:
        moved = RelPath("classes/a/area.py")
        one.commit([Remove(AREA), Write(moved, b"class area: ...\n"), Write(RATE, b"RATE = 1\n")], KEEP)
        assert one.files() == {moved: b"class area: ...\n", RATE: b"RATE = 1\n"}
        assert len(one.log()) == 2

    def test_the_last_change_of_a_path_counts(self, one: Store) -> None:
        one.commit([Write(RATE, b"1"), Write(RATE, b"2"), Write(AREA, b"3"), Remove(AREA)], KEEP)
        assert one.files() == {RATE: b"2"}

    @pytest.mark.parametrize("changes", [[], [Write(AREA, b"def area(): ...\n")], [Remove(RATE)]])
    def test_what_changes_nothing_is_no_commit(self, one: Store, changes: list[Change]) -> None:
        before = one.head()
        assert one.commit(changes, KEEP) is None
        assert one.head() == before
        assert len(one.log()) == 1

    def test_everything_can_be_removed_and_written_again(self, one: Store) -> None:
        assert one.commit([Remove(AREA)], KEEP) is not None
        assert one.files() == {}
        assert not one.dirt()
        assert one.commit([Write(AREA, b"def area(): ...\n")], KEEP) is not None
        assert list(one.files()) == [AREA]

    def test_dirt(self, one: Store) -> None:
        deleted, untouched = RelPath("values/d.py"), RelPath("values/u.py")
        one.commit([Write(deleted, b"d"), Write(untouched, b"u")], KEEP)
        assert one.dirt() == Dirt()
        self.edit(one, AREA, b"def area(): ,,,\n")  # the same length: its stat alone tells little
        self.edit(one, deleted, None)
        self.edit(one, RATE, b"")
        assert one.dirt() == Dirt(changed=(AREA, deleted), unknown=(RATE,))

    def test_a_commit_leaves_other_dirt_as_it_is(self, one: Store) -> None:
        self.edit(one, AREA, b"by hand")
        self.edit(one, RelPath("note.txt"), b"mine")
        before = one.dirt()
        one.commit([Write(RATE, b"RATE = 1\n")], KEEP)
        assert one.dirt() == before
        assert one.files()[AREA] == b"by hand"

    def test_a_commit_over_a_hand_edit_is_clean(self, one: Store) -> None:
        self.edit(one, AREA, b"by hand")
        self.edit(one, RATE, b"by hand")
        assert one.commit([Write(AREA, b"by cell"), Write(RATE, b"by cell")], KEEP) is not None
        assert one.files() == {AREA: b"by cell", RATE: b"by cell"}
        assert not one.dirt()

    def test_the_committed_text_over_a_hand_edit_is_put_back_without_a_commit(self, one: Store) -> None:
        self.edit(one, AREA, b"by hand")
        assert one.commit([Write(AREA, b"def area(): ...\n")], KEEP) is None
        assert one.files() == {AREA: b"def area(): ...\n"}
        assert not one.dirt()

    def test_a_deletion_by_hand_can_be_committed(self, one: Store) -> None:
        self.edit(one, AREA, None)
        assert one.commit([Remove(AREA)], KEEP) is not None
        assert not one.dirt()

    def test_what_a_hand_left_is_committed_as_it_stands(self, one: Store) -> None:
        one.commit([Write(RelPath("values/d.py"), b"d")], KEEP)
        self.edit(one, AREA, b"by hand")
        self.edit(one, RATE, b"new")
        self.edit(one, RelPath("values/d.py"), None)
        self.edit(one, RelPath("note.txt"), b"mine")
        commit = one.adopt({AREA: b"by hand", RATE: b"new", RelPath("values/d.py"): None}, KEEP)
        assert commit is not None
        assert commit == one.head()
        assert one.files() == {AREA: b"by hand", RATE: b"new"}
        assert one.dirt() == Dirt(unknown=(RelPath("note.txt"),))
        assert one.changed(commit)[AREA] == Changed(b"def area(): ...\n", b"by hand")
        assert one.adopt({AREA: b"by hand"}, KEEP) is None

    def test_what_a_hand_does_meanwhile_stays_and_is_dirt(self, one: Store) -> None:
        self.edit(one, AREA, b"later")
        self.edit(one, RATE, b"back again")
        one.commit([Write(RelPath("values/d.py"), b"d")], KEEP)
        assert one.adopt({AREA: b"by hand", RATE: b"new", RelPath("values/d.py"): None}, KEEP) is not None
        assert one.files() == {AREA: b"later", RATE: b"back again", RelPath("values/d.py"): b"d"}
        assert one.dirt() == Dirt(changed=(AREA, RATE), unknown=(RelPath("values/d.py"),))
        head = one.head()
        assert head is not None
        assert (one.show(head, AREA), one.show(head, RATE)) == (b"by hand", b"new")

    def test_a_mark_is_another_after_each_commit_and_no_other_before(self, one: Store) -> None:
        marks = [one.mark()]
        for number in range(20):
            assert one.mark() == marks[-1]
            one.commit([Write(RATE, b"RATE = %d\n" % number)], KEEP)
            assert one.mark() not in marks[-1:]
            marks.append(one.mark())
            one.head()
            one.files()
        self.edit(one, AREA, b"edited")
        assert one.mark() == marks[-1]

    def test_the_history_since_a_commit(self, one: Store) -> None:
        begun = one.head()
        assert one.log(since=begun) == ()
        for number in range(3):
            one.commit([Write(RATE, b"RATE = %d\n" % number)], Message(f"keep {number}"))
        assert [entry.subject for entry in one.log(since=begun)] == ["keep 2", "keep 1", "keep 0"]
        assert [entry.subject for entry in one.log(1, since=begun)] == ["keep 2"]
        assert one.log(since=None) == one.log()

    def test_log(self, one: Store) -> None:
        message = Message("keep RATE", "Yearly, é.\n\nTwo paragraphs.", (("Session", "s-1a2b3c4d"), ("Cell", "In[12]")))
        one.commit([Write(RATE, b"1")], message)
        one.commit([Write(RATE, b"2")], KEEP)
        log = one.log()
        assert [entry.subject for entry in log[:2]] == ["keep area", "keep RATE"]
        assert log[0].id == one.head()
        assert (log[1].body, log[1].trailers, log[1].author) == (message.body, message.trailers, ADA)
        assert log[1].time.tzinfo is not None
        assert one.log(2) == log[:2]
        assert list(one.log(0)) == []

    def test_the_log_of_paths(self, one: Store) -> None:
        other = RelPath("functions/b/bore.py")
        first = one.head()
        made = one.commit([Write(RATE, b"1"), Write(other, b"b")], Message("keep RATE, bore"))
        gone = one.commit([Remove(RATE)], Message("forgot RATE"))
        one.commit([Write(AREA, b"new")], KEEP)
        assert [entry.id for entry in one.log(paths=[RATE])] == [gone, made]
        assert [entry.id for entry in one.log(1, [RATE])] == [gone]
        assert [entry.id for entry in one.log(paths=[other, RATE])] == [gone, made]
        assert [entry.id for entry in one.log(paths=[AREA])] == [one.head(), first]
        assert list(one.log(paths=[RelPath("functions/n/none.py")])) == []
        assert list(one.log(0, [AREA])) == []

    def test_a_commit_has_the_one_before_as_its_parent(self, one: Store) -> None:
        first = one.head()
        one.commit([Write(RATE, b"1")], KEEP)
        assert [entry.parents for entry in one.log()] == [(first,), ()]

    def test_what_a_commit_changed(self, one: Store) -> None:
        moved = RelPath("classes/a/area.py")
        first = one.head()
        second = one.commit([Remove(AREA), Write(moved, b"class"), Write(RATE, b"1")], KEEP)
        assert first is not None
        assert second is not None
        self.edit(one, RATE, b"by hand")
        assert one.changed(first)[AREA] == Changed(None, b"def area(): ...\n")
        assert list(one.changed(second).items()) == [
            (moved, Changed(None, b"class")),
            (AREA, Changed(b"def area(): ...\n", None)),
            (RATE, Changed(None, b"1")),
        ]

    def test_a_file_as_it_was(self, one: Store) -> None:
        first = one.head()
        second = one.commit([Write(AREA, b"new"), Write(RATE, b"1")], KEEP)
        assert first is not None
        assert second is not None
        assert one.show(first, AREA) == b"def area(): ...\n"
        assert one.show(second, AREA) == b"new"
        assert one.show(first, RATE) is None
        assert one.show(second, RelPath("functions/a")) is None

    def test_commits_by_name(self, one: Store) -> None:
        first = one.log()[0]
        one.commit([Write(RATE, b"1")], Message("second"))
        second = one.log()[0]
        for name in ("HEAD", "@", "HEAD~0", second.id, second.id[:8], second.id[:8].upper()):
            assert one.find(name) == second, name
        for name in ("HEAD~1", "HEAD~", "HEAD^", "@~1", first.id[:12]):
            assert one.find(name) == first, name

    @pytest.mark.parametrize("name", ["", "main", "0000000", "HEAD~1", "HEAD^^", "abc", "--all", "f" * 41])
    def test_a_commit_that_is_not_there(self, one: Store, name: str) -> None:
        with pytest.raises(UnknownCommit):
            one.find(name)

    def test_what_is_no_commit_has_no_files(self, one: Store) -> None:
        unknown = CommitId("0" * 40)
        with pytest.raises(UnknownCommit):
            one.changed(unknown)
        with pytest.raises(UnknownCommit):
            one.show(unknown, AREA)

    @pytest.mark.parametrize("path", ["", "/etc/a.py", "../a.py", "values/../../a.py", "values//a.py", ".git/config",
                                      "values/./a.py", "values/.GIT/a.py", "values/a\0.py"])  # fmt: skip
    def test_no_path_leads_out_of_the_layer(self, one: Store, path: str) -> None:
        with pytest.raises(ValueError, match="no path inside a layer"):
            one.commit([Write(RATE, b""), Write(RelPath(path), b"")], KEEP)
        assert list(one.files()) == [AREA]

    @pytest.mark.parametrize("path", ["functions/a/area.py/x.py", "functions/a"])
    def test_a_commit_that_cannot_be_whole_is_nothing(self, one: Store, path: str) -> None:
        before = one.head()
        with pytest.raises(StoreFault):
            one.commit([Write(RATE, b"1"), Write(AREA, b"2"), Write(RelPath(path), b"3")], KEEP)
        assert one.files() == {AREA: b"def area(): ...\n"}
        assert one.head() == before
        assert not one.dirt()


class TestMemoryStore(StoreContract):
    def store(self, files: Mapping[RelPath, bytes]) -> Store:
        return MemoryStore(files, author=ADA)

    def edit(self, store: Store, path: RelPath, data: bytes | None) -> None:
        assert isinstance(store, MemoryStore)
        store.edit(path, data)


def edit_file(root: Path, path: str, data: bytes | None) -> None:
    file = root / path
    if data is None:
        file.unlink(missing_ok=True)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


class TestGitStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path, no_git_configuration: None) -> None:
        self.path = tmp_path / "layer"

    def store(self, files: Mapping[RelPath, bytes]) -> Store:
        return GitStore.create(self.path, files, Message("start"), author=ADA, disk=RealDisk())

    def edit(self, store: Store, path: RelPath, data: bytes | None) -> None:
        edit_file(self.path, path, data)


PATHS = st.sampled_from(
    [RelPath(p) for p in ("functions/a/a.py", "functions/a/b.py", "values/A.py", "x/y/z/notes.txt")]
)
TEXTS = st.sampled_from([b"", b"a = 1\n", b"a = 2\n", b"\xff\r\n"])
CHANGES = st.one_of(st.builds(Write, PATHS, TEXTS), st.builds(Remove, PATHS))


class Both(RuleBasedStateMachine):
    """A GitStore and a MemoryStore that are told the same things stay the same."""

    folder: Path
    runs = 0

    def __init__(self) -> None:
        super().__init__()
        Both.runs += 1
        self.path = self.folder / str(Both.runs)
        self.git = GitStore.create(self.path, {}, Message("start"), author=ADA, disk=RealDisk())
        self.memory = MemoryStore(author=ADA)

    @rule(changes=st.lists(CHANGES, max_size=4))
    def commit(self, changes: list[Change]) -> None:
        in_git, in_memory = (store.commit(changes, KEEP) for store in (self.git, self.memory))
        assert (in_git is None) == (in_memory is None)

    @rule(path=PATHS, data=st.none() | TEXTS)
    def edit_by_hand(self, path: RelPath, data: bytes | None) -> None:
        edit_file(self.path, path, data)
        self.memory.edit(path, data)

    @rule(files=st.dictionaries(PATHS, st.none() | TEXTS, max_size=3))
    def adopt(self, files: dict[RelPath, bytes | None]) -> None:
        try:
            in_memory = self.memory.adopt(files, KEEP)
        except StoreFault:
            return
        assert (self.git.adopt(files, KEEP) is None) == (in_memory is None)

    @rule()
    def open_again(self) -> None:
        self.git = GitStore.open(self.path, author=ADA, disk=RealDisk())

    @invariant()
    def same(self) -> None:
        assert self.git.files() == self.memory.files()
        assert self.git.dirt() == self.memory.dirt()
        assert len(self.git.log()) == len(self.memory.log())
        on_disk = {str(file.relative_to(self.path)) for file in self.path.rglob("*") if file.is_file()}
        assert {p for p in on_disk if holds_definition(RelPath(p))} == set(self.memory.files())


def test_git_and_memory_agree(tmp_path: Path, no_git_configuration: None) -> None:
    Both.folder = tmp_path
    run_state_machine_as_test(
        Both,
        settings=settings(
            max_examples=25, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
