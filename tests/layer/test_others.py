"""Two kernels on one layer: what each is told of the other, and what a refresh loads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.errors import LayerUnusable
from perdure.layer.git import GitStore
from perdure.layer.memory import MemoryStore
from perdure.layer.others import Difference, Others, difference
from perdure.layer.refresh import Refreshed
from perdure.layer.session import Context
from perdure.layer.store import CommitId, LogEntry, Message, NotRead, Remove, Write
from perdure.layer.undo import Undone

from .cells import Cells, said
from .git_cli import Git

AREA = RelPath("functions/a/area.py")


class Pair:
    """Two kernels, `ours` and `theirs`, booted on one store."""

    def __init__(self, *begin: str, folders: dict[str, dict[str, str]] | None = None) -> None:
        self.store = MemoryStore()
        first = Cells(self.store, folders=folders)
        for cell in begin:
            first.run(cell)
        self.ours, self.theirs = first.restarted(), first.restarted()

    def news(self) -> Others | None:
        return self.ours.layer.news()

    def refresh(self, *names: str) -> Refreshed:
        return self.ours.layer.refresh(names)

    def __getitem__(self, expression: str) -> Any:
        return eval(expression, self.ours.namespace)


def test_difference() -> None:
    one, two, three = (RelPath(f"values/{name}.py") for name in "abc")
    found = difference({one: b"1", two: b"2"}, {two: b"1", three: b"3"})
    assert found == Difference((one, two), (three,))
    assert difference({one: b"1"}, {one: b"1"}) == Difference((), ())


# News.


def test_what_another_kernel_kept_is_told_once() -> None:
    pair = Pair("def area(r): return 1\nRATE = 1")
    assert pair.news() is None
    pair.theirs.run("def area(r): return 2\nUNIT = 1")
    pair.theirs.run("del RATE")
    assert pair.news() == Others(("s-test",), ("area", "UNIT"), ("RATE",))
    assert pair.news() is None
    assert pair.theirs.layer.news() is None
    assert pair["area(1)"] == 1


def test_ones_own_commits_are_no_news_also_between_those_of_others() -> None:
    pair = Pair()
    pair.ours.run("A1 = 1")
    assert pair.news() is None
    pair.theirs.run("B1 = 1")
    pair.ours.run("A2 = 1")  # which reads the layer anew
    assert pair.news() == Others(("s-test",), ("B1",), ())
    assert pair.news() is None


def test_an_undo_is_ones_own_too_and_leaves_nothing_to_load() -> None:
    pair = Pair("def area(r): return 1\nclass Circle: pass\nCircle.grow = lambda self: 1")
    pair.ours.run("def area(r): return 2\nRATE = 1")
    pair.ours.run("class Circle: x = 1")
    pair.theirs.run("UNIT = 1")
    assert pair.news() == Others(("s-test",), ("UNIT",), ())
    for number in (1, 3):
        done = pair.ours.layer.undo(f"HEAD~{number}", Context("s-test", 9, "a.ipynb"))
        assert isinstance(done, Undone), done
        assert pair.news() is None
    assert pair["area(1), Circle().grow(), hasattr(Circle, 'x')"] == (1, 1, False)
    assert pair.refresh() == Refreshed(loaded=("UNIT",))


def test_an_undo_of_what_others_kept_is_no_more_to_load() -> None:
    pair = Pair("RATE = 1")
    pair.theirs.run("RATE = 2\nUNIT = 1")
    assert isinstance(pair.ours.layer.undo("HEAD", Context("s-test", 9)), Undone)
    assert pair.news() is None
    assert (pair["RATE"], pair.refresh()) == (1, Refreshed())


def test_what_was_taken_back_is_no_news() -> None:
    pair = Pair("RATE = 1")
    pair.theirs.run("RATE = 2")
    pair.theirs.run("RATE = 1")
    assert pair.news() is None


def test_who_it_was() -> None:
    pair = Pair("RATE = 1")
    for session in ("s-one", None, "s-one", "s-two"):
        trailers = (("Session", session),) if session else ()
        data = b"RATE = '%s'\n" % str(session).encode()
        pair.store.commit([Write(RelPath("values/r/RATE.py"), data)], Message("x", "", trailers))
    assert pair.news() == Others(("s-one", "git", "s-two"), ("RATE",), ())


def test_a_file_that_nobody_can_read_is_told_by_its_path() -> None:
    pair = Pair()
    pair.store.commit([Write(AREA, b"def area(:\n")], Message("x"))
    assert pair.news() == Others(("git",), ("area",), ())


def test_a_moved_file_is_not_told_as_forgotten() -> None:
    pair = Pair("def area(r): return 1")
    data = pair.store.files()[AREA]
    pair.store.commit([Remove(AREA), Write(RelPath("functions/area.py"), data)], Message("x"))
    assert pair.news() == Others(("git",), ("area",), ())


def test_a_history_that_is_another_one_is_told_as_gits() -> None:
    class Forgetful(MemoryStore):
        def log(
            self, limit: int | None = None, paths: Collection[RelPath] = (), *, since: CommitId | None = None
        ) -> Sequence[LogEntry]:
            if since is not None:
                raise LayerUnusable(Path("/layer"), "lacks a commit", "fetch it")
            return super().log(limit, paths)

    cells = Cells(Forgetful({RelPath("values/r/RATE.py"): b"RATE = 1\n"}))
    cells.boot()
    cells.store.commit([Write(AREA, b"def area(): ...\n")], Message("x", "", (("Session", "s-one"),)))
    assert cells.layer.news() == Others(("git",), ("area",), ())


# Refresh.


def test_it_loads_what_changed_and_nothing_else() -> None:
    pair = Pair("COUNT = []\ndef area(r, marks=COUNT): return 1\nMARK = COUNT.append(1)", "OLD = 1", "RATE = 1")
    pair.ours.namespace["seen"] = pair["COUNT"]
    pair.theirs.run("def area(r): return RATE + UNIT\nUNIT = 5\nRATE = 2\ndel OLD")
    assert pair.refresh() == Refreshed(loaded=("area", "RATE", "UNIT"), gone=("OLD",))
    assert pair["area(1), 'OLD' in globals(), seen is COUNT"] == (7, False, True)
    assert pair.refresh() == Refreshed()
    assert pair.news() is None
    assert pair.ours.names == pair.theirs.names == {"COUNT", "area", "RATE", "UNIT"}
    assert said(pair.ours.run("def area(r): return RATE + UNIT")) == ["same area"]
    assert said(pair.ours.run("def area(r): return 3")) == ["keep area"]


def test_it_loads_in_order_whatever_the_paths() -> None:
    pair = Pair("UNIT = 1")
    pair.theirs.run("def zoom(): return 3\nUNIT = zoom()\nAREA = UNIT + 1")
    pair.theirs.keep("UNIT")
    pair.theirs.run("AREA = UNIT + 1")
    pair.refresh()
    assert pair["zoom(), UNIT, AREA"] == (3, 3, 4)


def test_by_hand_without_a_commit() -> None:
    pair = Pair("def area(r): return 1", "def gone(): pass")
    pair.store.edit(AREA, b"def area(r): return 4\n")
    pair.store.edit(RelPath("functions/g/gone.py"), None)
    assert pair.news() is None
    assert pair.refresh() == Refreshed(loaded=("area",), gone=("gone",))
    assert pair["area(1)"] == 4


def test_what_another_wrote_after_us_is_loaded_and_ours_is_in_the_history() -> None:
    pair = Pair()
    pair.ours.run("def area(r): return 1")
    pair.theirs.run("def area(r): return 2")
    pair.ours.run("OTHER = 1")  # reads the layer anew
    assert pair["area(1)"] == 1
    assert pair.refresh() == Refreshed(loaded=("area",))
    assert pair["area(1)"] == 2


@pytest.mark.parametrize("own", ["area = open", "import math as area", "class area: pass\narea.x = 1\narea = area()"])
def test_what_is_the_users_own_stays_until_it_is_asked_for(own: str) -> None:
    pair = Pair()
    pair.theirs.run("def area(r): return 2\nUNIT = 1")
    exec(own, pair.ours.namespace)
    mine = pair["area"]
    assert pair.refresh() == Refreshed(loaded=("UNIT",), left=("area",))
    assert pair["area"] is mine
    assert pair.refresh() == Refreshed(left=("area",))
    assert pair.refresh("area") == Refreshed(loaded=("area",))
    assert pair["area(1)"] == 2
    assert pair.refresh() == Refreshed()


def test_a_redefinition_that_could_not_be_kept_stays_too() -> None:
    pair = Pair("def area(r): return 1")
    assert said(pair.ours.run("import io\nfile = io.StringIO()\ndef area(r, file=file): return 5"))[-1] == (
        "not area: it needs file to load; the layer still has the earlier one"
    )
    pair.theirs.run("def area(r): return 2")
    assert pair.refresh() == Refreshed(left=("area",))
    assert pair["area(1)"] == 5


def test_a_variable_of_a_scratch_cell_stays_over_one_that_is_gone() -> None:
    pair = Pair("RATE = 1")
    pair.theirs.run("del RATE")
    pair.ours.namespace["RATE"] = 7  # not offered
    assert pair.refresh() == Refreshed()
    assert pair["RATE"] == 7
    assert said(pair.ours.run("RATE = 7")) == ["keep RATE"]


def test_by_name_only_that_is_loaded() -> None:
    pair = Pair()
    pair.theirs.run("A1 = 1\nB1 = 1")
    assert pair.refresh("B1", "C1") == Refreshed(loaded=("B1",))
    assert pair.refresh() == Refreshed(loaded=("A1",))


def test_what_was_made_with_the_earlier_one_is_told() -> None:
    pair = Pair(
        "def area(r): return 1\ndef unit(by=area): return by(1)\ndef calls(): return area(2)",
        "def old(): pass\nkept_old = old",
    )
    pair.theirs.run("def area(r): return 2")
    pair.theirs.run("del old")
    done = pair.refresh()
    assert done == Refreshed(
        loaded=("area",), gone=("old",), made_earlier=(("kept_old", ("old",)), ("unit", ("area",)))
    )
    assert pair["unit(), calls()"] == (1, 2)


def test_who_calls_what_is_gone_is_told() -> None:
    pair = Pair("def old(): pass", "def calls(): return old()")
    pair.theirs.run("del old")
    assert pair.refresh() == Refreshed(gone=("old",), calling=(("calls", ("old",)),))


def test_methods_are_put_on_a_class_that_is_made_anew() -> None:
    pair = Pair("class Circle:\n    r = 1", "def grow(self): return 2\nCircle.grow = grow")
    pair.theirs.run("class Circle:\n    r = 3")
    assert pair.refresh().loaded == ("Circle", "Circle.grow")
    assert pair["Circle().r, Circle().grow()"] == (3, 2)


def test_a_file_that_fails_costs_itself_and_what_was_there_stays() -> None:
    pair = Pair("def area(r): return 1")
    pair.theirs.run("UNIT = 1")
    pair.store.edit(AREA, b"1 / 0\n\n\ndef area(r): return 2\n")
    pair.store.edit(RelPath("functions/b/broken.py"), b"def broken(:\n")
    pair.store.edit(RelPath("functions/t/twice.py"), b"UNIT = 3\n")
    done = pair.refresh()
    assert done.loaded == ("UNIT",)
    assert {s.path for s in pair.ours.layer.report.skipped} >= {AREA, "functions/b/broken.py"}
    assert pair["area(1)"] == 1
    assert pair.refresh() == Refreshed()
    pair.store.edit(AREA, b"def area(r): return 2\n")
    assert pair.refresh().loaded == ("area",)
    assert AREA not in {s.path for s in pair.ours.layer.report.skipped}


def test_an_override_that_is_gone_comes_back_at_the_next_start() -> None:
    pair = Pair("def area(r): return 2", folders={"/team": {"functions/area.py": "def area(r): return 1\n"}})
    pair.theirs.run("del area")
    assert pair.refresh() == Refreshed(gone=("area",), shipped_again=("area",))
    assert pair.ours.restarted().namespace["area"](1) == 1


def test_the_import_of_anothers_definition_changes_and_theirs_is_loaded_still() -> None:
    pair = Pair("from math import floor as up\ndef one(x): return up(x)", "def two(x): return up(x)")
    pair.theirs.run("def two(x): return up(x) + 1")
    pair.ours.run("from math import ceil as up\ndef one(x): return up(x) + 2")
    assert pair.refresh().loaded == ("two",)
    assert pair["two(1.5)"] == 3


def test_what_loading_prints_is_told() -> None:
    pair = Pair()
    pair.store.edit(RelPath("functions/l/loud.py"), b"print('loud')\n\n\ndef loud(): pass\n")
    assert pair.refresh().output == "loud\n"


def test_keeping_again_what_others_took_away_says_so() -> None:
    pair = Pair("def area(r): return 1")
    pair.theirs.run("del area")
    pair.ours.run("OTHER = 1")
    assert said(pair.ours.run("def area(r): return 3")) == ["keep area; others took area out of the layer meanwhile"]
    assert said(pair.ours.run("def area(r): return 4")) == ["keep area"]


# On git.


def test_git_by_hand_is_news(store: GitStore, path: Path, git: Git) -> None:
    file = RelPath("functions/n/new.py")
    cells = Cells(store)
    cells.boot()
    cells.run("def new(r): return 1")
    assert cells.layer.news() is None
    (path / file).write_text("def new(r): return 2\n")
    assert cells.layer.news() is None
    git("commit", "-aqm", "by hand")
    assert cells.layer.news() == Others(("git",), ("new",), ())
    git("reset", "-q", "--hard", "HEAD~1")
    assert cells.layer.news() is None  # back to what is live here
    git("reset", "-q", "--hard", "HEAD~1")
    assert cells.layer.news() == Others(("git",), (), ("new",))
    git("pack-refs", "--all")
    git("gc", "-q", "--prune=now")
    assert cells.layer.news() is None
    git("switch", "-qc", "another")
    assert cells.layer.news() is None
    (path / file).parent.mkdir(parents=True, exist_ok=True)
    (path / file).write_text("def new(r): return 3\n")
    git("add", "-A")
    git("commit", "-qm", "on another branch")
    assert cells.layer.news() == Others(("git",), ("new",), ())
    assert cells.layer.refresh() == Refreshed(loaded=("new",))


def test_two_stores_on_one_repository(store: GitStore, path: Path) -> None:
    ours, theirs = Cells(store), Cells(GitStore.open(path, author=None, disk=RealDisk()))
    ours.boot()
    theirs.boot()
    for number in range(5):
        theirs.run(f"RATE = {number}\ndef f{number}(): pass")
        ours.run(f"OURS = {number}")
        assert ours.layer.news() == Others(("s-test",), (f"f{number}", "RATE"), ())
        assert theirs.layer.news() is not None
        ours.layer.refresh()
        theirs.layer.refresh()
        assert ours.namespace["RATE"] == theirs.namespace["OURS"] == number
        assert ours.layer.news() is None


def test_a_file_that_cannot_be_read_meanwhile_leaves_what_is_live() -> None:
    pair = Pair("def area(r): return 1\nRATE = 1")
    data = pair.store.file(AREA)
    pair.store.edit(AREA, NotRead(b"Permission denied"))
    pair.theirs.run("RATE = 2")
    done = pair.refresh()
    assert (done.loaded, done.gone) == (("RATE",), ())
    assert [(each.path, each.reason) for each in done.skipped] == [
        (AREA, "line 1: it cannot be read: Permission denied")
    ]
    assert said(pair.ours.run("other = area(1)\nUNIT = 1")) == ["keep UNIT"]
    assert pair["area(1), RATE"] == (1, 2)
    pair.store.edit(AREA, data)
    assert pair.refresh().loaded == ("area",)
    assert pair.ours.layer.report.skipped == ()
