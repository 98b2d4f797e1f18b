"""Commits: one for each run of adjacent defining statements, standing before anything else runs, and what they say."""

from __future__ import annotations

import re

import pytest

from .driver import Kernel
from .home import Home


def subjects(home: Home) -> list[str]:
    """Oldest first."""
    return [commit.subject for commit in reversed(home.log())]


@pytest.fixture
def newer(shared: Kernel) -> list[str]:
    """The subjects that are there already, for a test to leave out."""
    return subjects(shared.home)


def test_adjacent_definitions_are_one_commit(shared: Kernel, newer: list[str]) -> None:
    shared.run("def run_a():\n    return 1\n\nRUN_B = 2\n\nclass RunC:\n    pass")
    assert subjects(shared.home)[len(newer) :] == ["keep run_a, RUN_B, RunC"]


def test_another_statement_parts_two_commits(shared: Kernel, newer: list[str]) -> None:
    shared.run("def part_a():\n    return 1\nprint('between')\ndef part_b():\n    return 2\npart_a()")
    assert subjects(shared.home)[len(newer) :] == ["keep part_a", "keep part_b"]


def test_keeping_and_forgetting_side_by_side_is_one_commit(shared: Kernel, newer: list[str]) -> None:
    shared.run("def both_old():\n    return 1")
    shared.run("def both_new():\n    return 2\ndel both_old")
    assert subjects(shared.home)[len(newer) :] == ["keep both_old", "keep both_new; forgot both_old"]


def test_a_commit_stands_before_the_next_statement_runs(shared: Kernel) -> None:
    answer = shared.run(f"def stands():\n    return 1\n!git -C {shared.home.layer} log -1 --format=%s")
    assert answer.stdout.strip() == "keep stands"


@pytest.mark.parametrize(
    "last",
    ["import time\ntime.sleep(600)", "LONG_CALL = __import__('time').sleep(600)", "while True:\n    pass"],
    ids=["a call", "a constant that calls", "a loop"],
)
def test_a_kill_in_a_long_last_statement_loses_no_definition(kernel: Kernel, last: str) -> None:
    running = kernel.send(f"def before_long():\n    return 'there'\nPRINTED = 1\nprint('on', flush=True)\n{last}")
    kernel.wait_for_output(running, "on")
    kernel.restart()
    assert kernel.run("before_long(), PRINTED").value == "('there', 1)"
    assert kernel.home.status() == ""
    assert kernel.home.fsck() == ""


def test_an_interrupted_cell_keeps_what_completed(kernel: Kernel) -> None:
    running = kernel.send("def completed():\n    return 1\nprint('on', flush=True)\nwhile True:\n    pass")
    kernel.wait_for_output(running, "on")
    kernel.interrupt()
    answer = kernel.finish(running)
    assert answer.error == "KeyboardInterrupt: "
    assert answer.perdure["kept"] == ["completed"]


def test_a_commit_says_which_session_cell_and_notebook(shared: Kernel) -> None:
    answer = shared.run("def trailed():\n    return 1", notebook="analysis.ipynb")
    (commit, *_) = shared.home.log()
    count = answer.content["execution_count"]
    assert commit.trailers == {
        "Session": answer.perdure["session"],
        "Cell": f"In[{count}]",
        "Notebook": "analysis.ipynb",
    }
    assert re.fullmatch(r"s-[0-9a-f]{8}", commit.trailers["Session"])
    assert commit.author == "Ada Lovelace <ada@example.org>"


def test_without_a_notebook_none_is_named(shared: Kernel) -> None:
    shared.run("def untrailed():\n    return 1")
    assert shared.home.log()[0].trailers.keys() == {"Session", "Cell"}


def test_a_commit_has_the_cells_note_as_its_body(shared: Kernel) -> None:
    shared.run(
        "# The area of a disc,\n# as Archimedes had it.\n\nimport math\n\ndef noted_area(r):\n    return math.pi * r"
    )
    assert shared.home.log()[0].body == "The area of a disc,\nas Archimedes had it."


def test_a_comment_above_the_first_definition_is_note_and_text(shared: Kernel) -> None:
    shared.run("# Half of it.\ndef noted_half(x):\n    return x / 2")
    assert shared.home.log()[0].body == "Half of it."
    assert shared.home.files()["functions/n/noted_half.py"].startswith("# Half of it.\ndef noted_half")


def test_a_cell_without_a_note_has_no_body(shared: Kernel) -> None:
    shared.run("def bare():\n    # inside\n    return 1")
    assert shared.home.log()[0].body == ""


def test_git_by_hand_reads_the_trailers(shared: Kernel) -> None:
    shared.run("# A note.\ndef by_hand():\n    return 1", notebook="n.ipynb")
    shape = "--format=%(trailers:key=Notebook,valueonly)"
    assert shared.home.git("log", "-1", shape).strip() == "n.ipynb"


def test_the_starter_names_the_session(home: Home) -> None:
    kernel = Kernel(home, PERDURE_SESSION="analysis-7").start()
    try:
        answer = kernel.run("def in_session():\n    return 1")
        assert answer.perdure["session"] == "analysis-7"
        assert home.log()[0].trailers["Session"] == "analysis-7"
        assert {event["session"] for event in home.events()} == {"analysis-7"}
    finally:
        kernel.kill()


def test_every_commit_is_on_record(kernel: Kernel) -> None:
    kernel.run("def recorded():\n    return 1")
    kernel.run("del recorded")
    head = kernel.home.git("rev-parse", "HEAD", "HEAD~1").split()
    told = [(event["event"], event["key"], event["commit"]) for event in kernel.home.events()]
    assert told == [("definition_recorded", "recorded", head[1]), ("definition_forgotten", "recorded", head[0])]


def test_a_shutdown_leaves_everything_kept(kernel: Kernel) -> None:
    kernel.run("def last_words():\n    return 1")
    assert kernel.shutdown() == 0
    kernel.start()
    assert kernel.run("last_words()").value == "1"


def test_exit_ends_the_kernel_after_its_definitions_are_kept(kernel: Kernel) -> None:
    kernel.run("def before_exit():\n    return 1\nexit()")
    assert kernel.wait_for_exit() == 0
    kernel.restart()
    assert kernel.run("before_exit()").value == "1"


def test_two_kernels_keep_into_one_layer(home: Home) -> None:
    kernels = [Kernel(home).start() for _ in range(2)]
    try:
        asked = [k.send(f"def from_{n}_{i}():\n    return {i}") for i in range(5) for n, k in enumerate(kernels)]
        for number, identity in enumerate(asked):
            answer = kernels[number % 2].finish(identity)
            assert answer.perdure["not_kept"] == []
        assert len(home.files()) == 10
        assert len(home.log()) == 10
        assert home.status() == ""
        assert home.fsck() == ""
    finally:
        for kernel in kernels:
            kernel.kill()


def test_what_a_hand_changed_is_in_git_before_it_is_replaced(kernel: Kernel) -> None:
    home = kernel.home
    kernel.run("class A:\n    x = 1\ndef helper(): return 1\ndef gone(): return 1")
    for path in ("classes/a/A.py", "functions/g/gone.py"):
        file = home.layer / path
        file.write_text(file.read_text().replace("1", "'by hand'"))
    answer = kernel.run("class A:\n    x = 3")
    assert answer.notices == ["[layer: kept A]", "[layer: the layer had another A, which is not of this kernel]"]
    kernel.run("del gone")
    (home.layer / "functions/h/helper.py").write_text("def helper(): return 'by hand'\n")
    kernel.restart()
    kernel.run("def helper(): return 4")
    assert [commit.subject for commit in home.log() if commit.subject.startswith("adopt")] == [
        "adopt helper",
        "adopt gone",
        "adopt A",
    ]
    for path in ("classes/a/A.py", "functions/g/gone.py", "functions/h/helper.py"):
        assert "by hand" in home.git("log", "-p", "--format=", "--", path)
    assert home.status() == ""
