"""Two kernels at once on one layer: what each is told of the other, and `%layer refresh`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import StartKernel
from .driver import Kernel
from .home import Home


class Two:
    """Ours, which is told, and theirs, which changes things."""

    def __init__(self, home: Home, start: StartKernel) -> None:
        self.home = home
        self.ours = start().start()
        self.theirs = start(PERDURE_SESSION="s-theirs").start()


@pytest.fixture
def two(home: Home, new_kernel: StartKernel) -> Two:
    return Two(home, new_kernel)


def refresh(kernel: Kernel, names: str = "") -> list[str]:
    return kernel.run(f"%layer refresh {names}").stdout.splitlines()


def test_what_another_kernel_kept_is_told_once_and_loaded_when_asked(two: Two) -> None:
    two.ours.run("def area(r):\n    return 1")
    assert two.theirs.run("1").notices[0].endswith(" kept area; %layer refresh loads it]")
    assert refresh(two.theirs) == ["Loaded area."]
    two.theirs.run("def area(r):\n    return 2")
    answer = two.ours.run("area(1)")
    assert answer.notices == ["[layer: s-theirs kept area; %layer refresh loads it]"]
    assert answer.value == "1"
    assert two.ours.run("area(1)").notices == []
    assert two.theirs.run("1").notices == []
    assert refresh(two.ours) == ["Loaded area."]
    assert two.ours.run("area(1)").value == "2"
    two.ours.run("import perdure")
    assert two.ours.run("print(perdure.definition_text('area'))").stdout == "def area(r):\n    return 2\n"
    assert refresh(two.ours) == ["Nothing changed since this kernel loaded or kept it."]


def test_several_commits_are_summed_up(two: Two) -> None:
    for name in "abcdef":
        two.theirs.run(f"def f_{name}():\n    return 1")
    two.theirs.run("del f_a")
    assert two.ours.run("1").notices == ["[layer: s-theirs kept f_b, f_c, f_d and 2 more; %layer refresh loads them]"]
    refresh(two.ours)
    two.theirs.run("del f_b\nF_NEW = 1")
    assert two.ours.run("1").notices == ["[layer: s-theirs kept F_NEW and forgot f_b; %layer refresh takes that in]"]
    assert refresh(two.ours) == ["Loaded F_NEW.", "Took away f_b."]
    two.theirs.run("del f_c")
    assert two.ours.run("1").notices == ["[layer: s-theirs forgot f_c; %layer refresh takes it away]"]
    assert two.ours.run("f_c()").value == "1"
    assert refresh(two.ours) == ["Took away f_c."]
    assert two.ours.run("f_c()").error == "NameError: name 'f_c' is not defined"


def test_git_by_hand_is_told_and_an_edit_without_a_commit_is_loaded_too(two: Two) -> None:
    two.ours.run("def area(r):\n    return 1\nRATE = 1")
    area = two.home.layer / "functions" / "a" / "area.py"
    area.write_text("def area(r):\n    return 5\n")
    assert two.ours.run("1").notices == []
    assert refresh(two.ours) == ["Loaded area."]
    assert two.ours.run("area(1)").value == "5"
    two.home.git("commit", "-qam", "five")
    assert two.ours.run("1").notices == []  # it is what is live here
    two.home.git("revert", "--no-edit", "HEAD")
    assert two.ours.run("1").notices == ["[layer: git kept area; %layer refresh loads it]"]
    two.home.git("rm", "-q", "values/r/RATE.py")
    two.home.git("commit", "-qm", "no rate")
    assert two.ours.run("1").notices == ["[layer: git kept area and forgot RATE; %layer refresh takes that in]"]
    assert refresh(two.ours) == ["Loaded area.", "Took away RATE."]
    assert two.home.status() == ""


def test_a_notebook_is_not_told_so_that_its_outputs_stay_the_same(two: Two) -> None:
    two.theirs.run("A1 = 1")
    assert two.ours.run("1", kind="notebook").notices == []
    two.theirs.run("B1 = 1")
    assert two.ours.run("1", kind="console").notices == ["[layer: s-theirs kept A1 and B1; %layer refresh loads them]"]


def test_refresh_tells_no_news_that_it_has_just_dealt_with(two: Two) -> None:
    two.ours.run("%%scratch\ndef mine():\n    return 'ours'")
    two.theirs.run("A1 = 1\nB1 = 1")
    answer = two.ours.run("%layer refresh")
    assert (answer.stdout, answer.notices) == ("Loaded A1, B1.\n", [])
    two.theirs.run("A1 = 2\nB1 = 2")
    two.theirs.run("def mine():\n    return 'theirs'\ndel A1")
    answer = two.ours.run("%layer refresh B1")
    assert answer.stdout == "Loaded B1.\n"
    assert answer.notices == ["[layer: s-theirs kept mine and forgot A1; %layer refresh takes that in]"]
    two.theirs.run("B1 = 3")
    answer = two.ours.run("%layer refresh")
    assert answer.stdout.splitlines()[:2] == ["Loaded B1.", "Took away A1."]
    assert answer.stdout.splitlines()[2].startswith("Left mine as it is: ")
    assert answer.notices == []


def test_what_is_the_users_own_is_not_overwritten_unasked(two: Two) -> None:
    two.ours.run("import os\ndata = [1]\nserver = os.popen('true')\ndef mine(s=server):\n    return 'ours'")
    two.ours.run("%%scratch\ndef tried():\n    return 'ours'")
    two.theirs.run("def mine():\n    return 'theirs'\ndef tried():\n    return 'theirs'\ndef fine():\n    return 1")
    yours = "it is yours and not kept; %layer refresh"
    assert refresh(two.ours) == [
        "Loaded fine.",
        f"Left mine as it is: {yours} mine takes the layer's instead.",
        f"Left tried as it is: {yours} tried takes the layer's instead.",
    ]
    assert two.ours.run("mine(), tried()").value == "('ours', 'ours')"
    assert refresh(two.ours, "mine") == ["Loaded mine."]
    assert two.ours.run("mine(), tried()").value == "('theirs', 'ours')"


def test_what_was_made_with_the_earlier_one_is_told_and_not_loaded(two: Two) -> None:
    two.ours.run("def area(r):\n    return 1\ndef unit(by=area):\n    return by(1)\ndef old():\n    pass")
    two.ours.run("def calls():\n    return old()")
    refresh(two.theirs)
    two.theirs.run("def area(r):\n    return 2")
    two.theirs.run("del old")
    assert refresh(two.ours) == [
        "Loaded area.",
        "Took away old.",
        "unit was made with the earlier area; run it again, or restart the kernel, for a new one.",
        "calls uses old, which nothing defines now.",
    ]
    assert two.ours.run("area(1), unit()").value == "(2, 1)"


def test_a_file_that_fails_costs_one_line_and_the_record_has_it(two: Two) -> None:
    two.ours.run("def area(r):\n    return 1")
    (two.home.layer / "functions" / "a" / "area.py").write_text("print('loud')\n1 / 0\n\n\ndef area(r): ...\n")
    why = "it raised ZeroDivisionError: division by zero at line 2"
    assert refresh(two.ours) == [
        f"Skipped functions/a/area.py: {why}. What was here under its name is here still.",
        "Loading printed:",
        "loud",
    ]
    assert two.ours.run("area(1)").value == "1"
    assert "  skipped functions/a/area.py: " in two.ours.run("%cells").stdout
    assert [e["path"] for e in two.home.events() if e["event"] == "file_skipped"] == ["functions/a/area.py"]


def test_redefining_what_others_changed_or_took_away_says_so(two: Two) -> None:
    two.ours.run("def area(r):\n    return 1\ndef gone():\n    return 1")
    refresh(two.theirs)
    two.theirs.run("def area(r):\n    return 2")
    two.theirs.run("del gone")
    two.ours.run("1")
    answer = two.ours.run("def area(r):\n    return 3\ndef gone():\n    return 2")
    assert answer.notices == [
        "[layer: kept area, gone]",
        "[layer: the layer had another area, which is not of this kernel]",
        "[layer: others took gone out of the layer meanwhile]",
    ]
    assert two.ours.run("1").notices == []
    assert two.theirs.run("1").notices[0].endswith(" kept area and gone; %layer refresh loads them]")


def test_definitions_of_the_refreshing_cell_itself(two: Two) -> None:
    two.theirs.run("A1 = 1")
    answer = two.ours.run("def first():\n    return 1\n%layer refresh\ndef second():\n    return A1")
    assert answer.stdout == "Loaded A1.\n"
    assert answer.perdure["kept"] == ["first", "second"]
    assert two.home.status() == ""


def test_without_a_layer_and_readonly(two: Two, new_kernel: StartKernel) -> None:
    readonly = new_kernel(PERDURE_MODE="readonly").start()
    two.theirs.run("A1 = 1")
    assert readonly.run("1").notices == ["[layer: s-theirs kept A1; %layer refresh loads it]"]
    assert refresh(readonly) == ["Loaded A1."]
    off = new_kernel(PERDURE_MODE="off").start()
    assert off.run("%layer refresh").stdout.startswith("Nothing to load: ")


def test_a_repository_that_breaks_costs_no_cell(two: Two, tmp_path: Path) -> None:
    two.ours.run("A1 = 1")
    (two.home.layer / ".git" / "HEAD").write_text("nonsense\n")
    assert two.ours.run("A1").value == "1"
    assert two.ours.run("%layer refresh").stdout.startswith("Not refreshed: ")
