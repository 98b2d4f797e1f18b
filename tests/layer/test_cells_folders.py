"""Cells folders: what they give, and how the layer overrides it."""

from __future__ import annotations

import pytest

from perdure.layer.errors import UnknownDefinition
from perdure.layer.session import Context

from .cells import Cells, said

AREA = "def area(r):\n    return 3 * r * r"
TEAM = {"functions/a/area.py": AREA + "\n", "values/r/RATE.py": "RATE = 2\n"}


def cells(**folders: dict[str, str]) -> Cells:
    """A kernel with cells folders, booted; `team="…"` is the folder /team."""
    made = Cells(folders={f"/{name}": files for name, files in folders.items()})
    made.boot()
    return made


def skips(kernel: Cells) -> list[str]:
    return [f"{skipped.path}: {skipped.reason}" for skipped in kernel.layer.report.skipped]


# What is loaded, and from where.


def test_folders_are_loaded_in_order_and_may_use_those_before_them() -> None:
    kernel = cells(
        one={"functions/a/area.py": AREA},
        two={"values/u/UNIT.py": "UNIT = area(1)\n"},
        three={"values/u/U.py": "U = UNIT\n"},
    )
    assert kernel.namespace["U"] == 3
    kernel = cells(two={"values/u/UNIT.py": "UNIT = area(1)\n"}, one={"functions/a/area.py": AREA})
    ((path, reason),) = [(s.path, s.reason) for f in kernel.layer.shipped.folders for s in f.report.skipped]
    assert (path, reason) == ("values/u/UNIT.py", "it needs area to load, which nothing defines")


def test_a_shipped_definition_is_known_and_in_no_table() -> None:
    kernel = cells(team=TEAM)
    assert kernel.layer.text("area") == AREA
    assert str(kernel.layer.location("area").path) == "/team/functions/a/area.py"
    assert kernel.names == set()
    assert kernel.layer.table.entries == {}


def test_what_reads_a_shipped_definition_needs_nothing() -> None:
    kernel = cells(team=TEAM)
    assert said(kernel.run("def ring(a, b=area(RATE)):\n    return area(a) - b")) == ["keep ring"]
    again = kernel.restarted()
    assert again.namespace["ring"](3) == 15
    gone = kernel.restarted(folders={})
    assert skips(gone) == ["functions/r/ring.py: it uses area, which nothing defines now"]


def test_of_two_folders_with_one_name_the_later_wins() -> None:
    kernel = cells(one=TEAM, two={"values/r/RATE.py": "RATE = 5\n"})
    assert kernel.namespace["RATE"] == 5
    first, second = kernel.layer.shipped.folders
    assert first.collisions == ()
    assert [(c.name, str(c.earlier), str(c.later)) for c in second.collisions] == [("RATE", "/one", "/two")]
    assert kernel.layer.shipped.origins["RATE"] == "/two"


# The same again.


@pytest.mark.parametrize("text", [AREA, "RATE = 2"])
def test_the_text_of_a_shipped_definition_again_is_no_keep(text: str) -> None:
    kernel = cells(team=TEAM)
    assert said(kernel.run(text)) == ["same area" if "area" in text else "same RATE"]
    assert kernel.files == {}
    assert said(kernel.run("def uses(r):\n    return area(r) * RATE")) == ["keep uses"]


def test_a_shipped_file_may_import_otherwise_than_perdure_writes_it() -> None:
    file = "from math import (\n    floor,\n    pi,\n)\n\n\ndef turn(x):\n    return floor(x / pi)\n"
    kernel = cells(team={"functions/t/turn.py": file})
    assert said(kernel.run("def turn(x):\n    return floor(x / pi)")) == ["same turn"]
    assert said(kernel.run("from math import ceil as floor\ndef turn(x):\n    return floor(x / pi)")) == [
        "keep turn; turn replaces that of /team"
    ]


def test_it_is_back_when_it_is_run_again_after_another() -> None:
    kernel = cells(team=TEAM)
    kernel.run("area = 3")
    with pytest.raises(UnknownDefinition):
        kernel.layer.text("area")
    assert said(kernel.run("def uses():\n    return area")) == ["keep uses needs area"]
    assert said(kernel.run(AREA)) == ["same area"]
    assert kernel.layer.text("area") == AREA


def test_a_branch_that_did_not_run_leaves_it() -> None:
    kernel = cells(team=TEAM)
    kernel.run("if False:\n    area = 3")
    assert kernel.layer.text("area") == AREA
    assert said(kernel.run("def uses():\n    return area(1)")) == ["keep uses"]


# Overrides.

OVERRIDES = {
    "def area(r):\n    return 4 * r * r": ("functions/a/area.py", 4),
    "def cached(f):\n    return lambda r: f(r) * 10\narea = cached(area)": ("values/a/area.py", 30),
    "def area(r, old=area):\n    return old(r) + 1": ("functions/a/area.py", 4),
}


@pytest.mark.parametrize("text", OVERRIDES)
def test_an_override_is_kept_with_the_digest_of_what_it_replaces(text: str) -> None:
    path, value = OVERRIDES[text]
    kernel = cells(team=TEAM)
    assert said(kernel.run(text))[-1] == "keep area; area replaces that of /team"
    digest = kernel.layer.shipped.definitions["area"].digest
    header, _, rest = next(t for p, t in kernel.files.items() if p == path).partition("\n")
    assert header == f"# perdure: overrides sha256:{digest}"
    assert rest.strip() == text.splitlines()[-1] if text.endswith("cached(area)") else text
    assert said(kernel.run(text))[-1] == "same area"
    again = kernel.restarted()
    assert skips(again) == []
    assert again.namespace["area"](1) == value
    assert again.layer.text("area") == again.kept("area").text


def test_a_class_may_extend_the_shipped_one_of_its_name() -> None:
    shape = {"classes/c/Circle.py": "class Circle:\n    sides = 0\n"}
    kernel = cells(team=shape)
    assert said(kernel.run("class Circle(Circle):\n    colour = 'red'")) == [
        "keep Circle; Circle replaces that of /team"
    ]
    again = kernel.restarted()
    assert (again.namespace["Circle"].sides, again.namespace["Circle"].colour) == (0, "red")
    assert len(again.namespace["Circle"].__mro__) == 3


def test_what_is_no_more_shipped_cannot_be_wrapped() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def twice(f):\n    return lambda r: 2 * f(r)\narea = [len][0]")
    assert said(kernel.run("area = twice(area)")) == ["not area: it reads area, which is not kept"]
    kernel.run("area = [object][0]")
    assert said(kernel.run("class area(area):\n    pass")) == [
        "not area: its load reads the earlier area, which it replaces"
    ]


def test_a_second_wrap_is_a_stage_of_the_override() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def twice(f):\n    return lambda r: 2 * f(r)")
    assert said(kernel.run("area = twice(area)")) == ["keep area; area replaces that of /team"]
    assert said(kernel.run("area = twice(twice(area))")) == ["keep area"]
    assert kernel.restarted().namespace["area"](1) == 24
    assert skips(kernel.restarted({"/team": {"functions/a/area.py": AREA + "  # new"}})) == [
        "values/a/area.py: the text of area that it overrides changed in /team"
    ]


def test_a_method_may_be_put_on_a_shipped_class() -> None:
    kernel = cells(team={"classes/c/Circle.py": "class Circle:\n    sides = 0\n"})
    assert said(kernel.run("def grow(self):\n    return 2\nCircle.grow = grow"))[-1] == "keep Circle.grow"
    assert kernel.restarted().namespace["Circle"]().grow() == 2


def changed(**texts: str) -> dict[str, dict[str, str]]:
    return {"/team": {path.replace("__", "/") + ".py": text for path, text in texts.items()}}


def test_an_override_is_skipped_when_the_text_below_it_changed_or_is_gone() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def area(r):\n    return 4 * r * r")
    assert skips(kernel.restarted()) == []
    again = kernel.restarted({"/team": TEAM | {"functions/a/area.py": AREA + "  # better\n"}})
    assert skips(again) == ["functions/a/area.py: the text of area that it overrides changed in /team"]
    assert again.namespace["area"](1) == 3
    again = kernel.restarted({"/team": {"values/r/RATE.py": "RATE = 2\n"}})
    assert skips(again) == [
        (
            "functions/a/area.py: the area that it overrides is in no cells folder now; "
            "if it stands by itself now, remove `overrides` from its first line"
        )
    ]
    assert "area" not in again.namespace
    assert skips(kernel.restarted({"/elsewhere": TEAM})) == []


def test_what_a_skipped_override_said_can_be_kept_anew() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def area(r):\n    return 4 * r * r")
    newer = {"/team": TEAM | {"functions/a/area.py": AREA + "  # better\n"}}
    again = kernel.restarted(newer)
    assert said(again.run("def area(r):\n    return 4 * r * r")) == ["keep area; area replaces that of /team"]
    assert skips(again) == []
    assert skips(again.restarted(newer)) == []
    assert again.restarted(newer).namespace["area"](1) == 4


def test_a_base_that_could_not_be_loaded_is_still_a_base() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def area(r):\n    return 4 * r * r")
    assert skips(kernel.restarted({"/team": {"functions/a/area.py": "import no_such_package\n\n\n" + AREA}})) == []


def test_a_file_without_the_header_wins() -> None:
    kernel = cells(team=TEAM)
    kernel.store.edit("values/r/RATE.py", b"RATE = 7\n")  # type: ignore[attr-defined]
    again = kernel.restarted()
    assert skips(again) == []
    assert again.namespace["RATE"] == 7


def test_an_override_of_the_later_of_two_folders() -> None:
    kernel = cells(one=TEAM, two={"functions/a/area.py": "def area(r):\n    return 5 * r * r\n"})
    kernel.run("def area(r):\n    return 4 * r * r")
    assert kernel.kept("area").overrides == kernel.layer.shipped.definitions["area"].digest
    assert skips(kernel.restarted({"/one": TEAM})) == [
        "functions/a/area.py: the text of area that it overrides changed in /one"
    ]


# Forgetting.


def test_del_of_an_override_says_that_the_shipped_one_returns() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def area(r):\n    return 4 * r * r")
    assert said(kernel.run("del area")) == ["forget area", "area returns from /team"]
    assert kernel.files == {}
    assert kernel.restarted().namespace["area"](1) == 3


def test_what_is_left_of_an_override_of_two_names_overrides_nothing() -> None:
    kernel = cells(team={"values/l/LOW.py": "LOW = 1\n"})
    assert said(kernel.run("LOW, HIGH = 2, 3")) == ["keep LOW, HIGH; LOW replaces that of /team"]
    assert kernel.kept("LOW").overrides
    kernel.run("LOW = 4")
    assert kernel.kept("LOW").overrides
    again = kernel.restarted()
    assert skips(again) == []
    assert (again.namespace["LOW"], again.namespace["HIGH"]) == (4, 3)


def test_del_of_a_shipped_name_changes_nothing() -> None:
    kernel = cells(team=TEAM)
    assert said(kernel.run("del area")) == ["area returns from /team"]
    assert kernel.files == {}
    assert kernel.store.log() == ()
    with pytest.raises(UnknownDefinition):
        kernel.layer.text("area")


def test_a_plain_variable_in_place_of_a_shipped_name_is_not_kept() -> None:
    kernel = cells(team=TEAM)
    assert said(kernel.run("area = 3")) == []
    kernel.run("def area(r):\n    return 4 * r * r")
    assert said(kernel.run("area = 3")) == ["forget area: it is a plain variable now", "area returns from /team"]


def test_keep_of_a_shipped_name_says_who_gives_it() -> None:
    kernel = cells(team=TEAM)
    assert said(kernel.keep("RATE")) == ["not RATE: the cells folder /team gives it at each start"]


def test_forget_of_an_override_and_of_a_shipped_name() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def area(r):\n    return 4 * r * r")
    run = kernel.layer.run()
    run.forget("area")
    outcomes, _ = run.flush(Context("s-test", 1))
    assert said(outcomes) == ["forget area", "area returns from /team"]
    run = kernel.layer.run()
    run.forget("RATE")
    assert said(run.flush(Context("s-test", 2))[0])[0] == "not RATE: the layer has nothing of that name to forget"


# Another kernel moves the layer meanwhile.


def test_an_override_that_another_kernel_made_is_not_live_here() -> None:
    kernel = cells(team=TEAM)
    other = kernel.restarted()
    other.run("def area(r):\n    return 4 * r * r")
    assert said(kernel.run("def mine():\n    return 1")) == ["keep mine"]
    assert [entry.definition.key for entry in kernel.layer.definitions] == ["mine"]
    assert kernel.layer.text("area") == AREA


def test_a_skipped_file_of_a_cells_folder_is_on_record_with_the_folder() -> None:
    kernel = cells(team={"functions/b/broken.py": "def broken(:\n"})
    kernel.layer.record_skipped()
    ((event, fields),) = kernel.events.recorded  # type: ignore[attr-defined]
    assert (event, fields["folder"], fields["path"]) == ("file_skipped", "/team", "functions/b/broken.py")


# What was found by trying to break it.


def test_an_own_definition_that_was_there_first_is_no_override() -> None:
    kernel = Cells()
    kernel.run("def area(r):\n    return r")
    named = kernel.restarted(folders={"/team": TEAM})
    assert said(named.run("def area(r):\n    return r + 1")) == ["keep area"]
    assert named.kept("area").overrides == ""
    assert named.restarted(folders={}).namespace["area"](1) == 2


def test_an_override_that_was_skipped_is_forgotten_and_the_shipped_one_stays() -> None:
    kernel = cells(team=TEAM)
    kernel.run("def area(r):\n    return 4 * r")
    changed = kernel.restarted(folders={"/team": TEAM | {"functions/a/area.py": "def area(r):\n    return 5 * r\n"}})
    assert skips(changed) == ["functions/a/area.py: the text of area that it overrides changed in /team"]
    changed.forget("area")
    assert changed.files == {}
    assert changed.namespace["area"](1) == 5


def test_an_import_over_a_shipped_name_is_told() -> None:
    kernel = cells(team=TEAM)
    assert said(kernel.run("from math import floor as area")) == ["area returns from /team"]


def test_another_name_for_a_shipped_function_is_told_of_the_new_one() -> None:
    kernel = cells(team=TEAM)
    kernel.run("alias = area")
    (outcome,) = said(kernel.run("def area(r):\n    return 4 * r"))
    assert outcome == (
        "keep area; alias still is the earlier area; after a restart it is the new one; area replaces that of /team"
    )
    assert said(kernel.run("area = 3"))[0] == "forget area: it is a plain variable now"
