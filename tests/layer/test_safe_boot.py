"""What a start makes of those before it: the journal, the judgement, the trial and the bounds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.alarm import Stop
from perdure.layer.aside import how_it_ended
from perdure.layer.asked import Blamed, blame
from perdure.layer.boot_journal import BootJournal, Known, Mark, is_cut_of, mark_of
from perdure.layer.bounds import Bounds
from perdure.layer.definition import RelPath
from perdure.layer.safe_boot import SafeBoot, Verdict, judge
from perdure.layer.trial import Folder, Job, Tried, read_report, try_out

A, B, C = Mark("a"), Mark("b"), Mark("c")
NOTHING = Tried({}, {}, (), True)


# Bounds.


@given(st.floats(0.01, 100), st.floats(0.01, 100), st.integers(0, 200))
def test_any_number_of_files_that_hang_end_in_time(file: float, boot: float, hanging: int) -> None:
    bounds, left = Bounds(file, boot), boot
    for _ in range(hanging):
        seconds = bounds.of_next(left)
        assert 0 <= seconds <= file
        left -= seconds
    assert left >= 0


def test_a_file_has_ten_seconds_at_first_and_none_at_the_end() -> None:
    assert Bounds().of_next(30) == 10
    assert Bounds().of_next(0.01) == 0
    assert Bounds().of_next(-1) == 0


# What is known.


def test_a_fact_replaces_what_was_known() -> None:
    known = Known()
    known.learn({"proven": [A]})
    known.learn({"died": A, "why": "it did"})
    known.learn({"slow": [B]})
    known.learn({"accused": [C]})
    assert (known.proven, known.died, known.slow, known.accused) == (set(), {A: "it did"}, {B}, {C})
    known.learn({"proven": [A, B, C]})
    assert (known.proven, known.died, known.slow, known.accused) == ({A, B, C}, {}, set(), set())


@pytest.mark.parametrize("fact", [{}, {"proven": 1}, {"died": 1, "why": "x"}, {"later": [1]}, {"slow": "ab"}])
def test_a_fact_that_is_not_understood_is_passed_over(fact: dict[str, object]) -> None:
    known = Known()
    known.learn(fact)
    assert known == Known()


def test_facts_say_the_same_of_what_is_there() -> None:
    known = Known({A, B}, {C: "it did"}, {A}, {B}, frozenset({C}))
    again = Known()
    for fact in known.facts([A, C]):
        again.learn(fact)
    assert again == Known({A}, {C: "it did"}, {A}, set(), frozenset({C}))


# Files that somebody asked for.


def test_who_is_blamed_for_a_death_while_something_was_loaded() -> None:
    said = [f"asked {A}", B, "loaded", "", f"asked {Mark('gone')}"]
    blamed = blame(said, [A, B, C], Known(), "then")
    assert blamed == Blamed(
        {A: "the kernel ended while it was loaded (then); the next start loads it again"},
        ({"accused": [A]},),
        (B, "loaded", ""),
    )
    again = "it killed the kernel again when it was loaded (then)"
    blamed = blame(said, [A, B, C], Known(accused={A}), "then")
    assert (blamed.refused, blamed.facts) == ({A: again}, ({"died": A, "why": again},))


def test_a_name_too_long_for_the_journal_is_blamed_too() -> None:
    mark = Mark("a" * 5000)
    assert blame([f"asked {mark}"[:4095]], [mark], Known(), "then").refused.keys() == {mark}


def test_a_loading_in_a_boot_has_the_bound_of_that_boot(tmp_path: Path) -> None:
    safe = SafeBoot(lambda: tmp_path, Bounds(0.1, 1))
    path = RelPath("functions/a/a.py")
    stops: list[Stop | None] = []

    def asks() -> None:
        with safe.asked() as asked:
            stops.append(asked.run(tmp_path, path, b"", lambda: None))
            while True:
                pass

    with safe.folder(tmp_path, lambda: {path: mark_of(path, b"")}) as watch:
        assert watch.run(path, asks) == "it took over 0.1 s to load"
    assert stops == [None]


# The judgement.


def judged(tried: Tried, *accused: Mark, known: Known | None = None) -> Verdict:
    return judge([A, B, C], accused, known or Known(), tried, [A, B, C], "then")


def test_who_killed_the_kernel_and_the_trial_is_known_for_good() -> None:
    verdict = judged(Tried({A: "signal SIGSEGV", B: "exit status 0"}, {}, (), True), A)
    assert verdict.refused == {
        A: "it killed the kernel at the last start (signal SIGSEGV)",
        B: "it killed the process that tried it (exit status 0)",
    }
    later = Known()
    for fact in verdict.facts:
        later.learn(fact)
    assert later.died == {A: "it killed the kernel at a start (then; signal SIGSEGV)", B: verdict.refused[B]}


def test_who_did_no_harm_when_tried_is_accused_once_and_condemned_the_second_time() -> None:
    known = Known()
    for _ in range(2):
        assert known.died == {}
        verdict = judged(Tried({}, {}, (A,), True), A, known=known)
        assert verdict.refused[A].startswith("it killed the kernel at the last start")
        for fact in verdict.facts:
            known.learn(fact)
    assert known.died == {A: "it killed the kernel at a start (then)"}


def test_what_hung_in_the_trial_is_left_out_once_and_comes_last_from_then_on() -> None:
    assert judged(Tried({}, {B: "it hung"}, (), True)) == Verdict({B: "it hung"}, ({"slow": [B]},))


def test_what_hung_in_the_trial_and_was_loading_is_known_for_good() -> None:
    verdict = judged(Tried({}, {A: "it took over 3 s"}, (), True), A)
    assert verdict.refused == {A: "it killed the kernel at the last start (tried by itself, it took over 3 s)"}


def test_what_there_was_no_time_for_waits_for_the_next_start() -> None:
    verdict = judged(Tried({}, {}, (A,), False))
    assert verdict.refused.keys() == {B, C}
    assert verdict.facts == ({"untried": [B, C]},)
    assert judged(NOTHING, known=Known(untried=frozenset({B}))).facts == ({"untried": []},)


# The trial's report.


def test_the_report_is_read_line_by_line() -> None:
    lines = ['{"trying": "a"}', '{"mark": "a"}', '{"mark": "b", "fatal": "x"}', '{"mark": "c", "slow": "y"}']
    assert read_report([*lines, '{"end": true}'], is_over=True) == Tried({B: "x"}, {C: "y"}, {A}, True)
    assert read_report([*lines, '{"end": false}'], is_over=True) == Tried({B: "x"}, {C: "y"}, {A}, False)
    assert read_report([*lines, '{"mar'], is_over=False) == Tried({B: "x"}, {C: "y"}, {A}, False)
    assert read_report([], is_over=True) == Tried({}, {}, set(), False)


def test_what_was_tried_when_the_trial_itself_ended_did_it() -> None:
    lines = ['{"trying": "a"}', '{"mark": "a"}', '{"trying": "b"}']
    assert read_report(lines, is_over=True) == Tried({B: "it killed more than itself"}, {}, {A}, False)
    assert read_report(lines[:2], is_over=True).harmless == set()


def test_a_status_is_told_as_a_clause() -> None:
    assert how_it_ended(3) == "exit status 3"
    assert how_it_ended(-signal.SIGSEGV) == "signal SIGSEGV"


def write(root: Path, **texts: str) -> dict[RelPath, bytes]:
    files = {RelPath(f"functions/{name[0]}/{name}.py"): textwrap.dedent(text).encode() for name, text in texts.items()}
    for path, data in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return files


def test_only_what_files_import_is_taken_from_the_path_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in ("perdure", "json"):
        (work / f"{name}.py").write_text("import os\nos._exit(3)\n")
    (work / "theirs.py").write_text("VALUE = 1\n")
    monkeypatch.setattr(sys, "path", [str(work), *sys.path])
    files = write(tmp_path, good="from theirs import VALUE\n\n\ndef good(): return VALUE\n")
    (mark,) = (mark_of(path, data) for path, data in files.items())
    assert try_out(Job((), Folder(str(tmp_path), ()), (), Bounds(5, 50)), 60) == Tried({}, {}, {mark}, True)


def test_a_trial_tells_good_from_bad_and_goes_on_after_one_that_kills_it(tmp_path: Path) -> None:
    files = write(
        tmp_path,
        bad="import os\nos.kill(os.getpid(), 9)\ndef bad(): pass\n",
        evil="import os\nos.kill(os.getppid(), 9)\nos._exit(0)\ndef evil(): pass\n",
        fine="def fine(x=good()): return x\n",
        good="def good(): return 1\n",
        hangs="import time\ntime.sleep(1000)\ndef hangs(): pass\n",
        raises="1 / 0\ndef raises(): pass\n",
    )
    marks = {path.rpartition("/")[2].removesuffix(".py"): mark_of(path, data) for path, data in files.items()}
    job = Job((), Folder(str(tmp_path), ()), (marks["good"],), Bounds(0.5, 50))
    tried = try_out(job, 60)
    assert tried.fatal == {marks["bad"]: "signal SIGKILL", marks["evil"]: "it killed more than itself"}
    assert tried.slow == {marks["hangs"]: "it took over 0.5 s to load"}
    assert {*tried.harmless} == {marks["fine"], marks["raises"]}
    assert tried.is_whole


def test_what_hangs_takes_no_turn_of_another_in_a_trial_and_what_is_slow_has_its_time(tmp_path: Path) -> None:
    hang, slow = "import time\ntime.sleep(60)\n", "import time\ntime.sleep(1.5)\n"
    texts = {f"a{i:02}": f"{hang}def a{i:02}(): pass\n" for i in range(12)}
    texts |= {"b": f"{slow}def b(): pass\n"} | {f"g{i:02}": f"def g{i:02}(): pass\n" for i in range(20)}
    files = write(tmp_path, **texts)
    marks = {path.rpartition("/")[2].removesuffix(".py"): mark_of(path, data) for path, data in files.items()}
    last = [mark for name, mark in marks.items() if name[0] == "a"]
    tried = try_out(Job((), Folder(str(tmp_path), ()), (), Bounds(4, 10)), 12)
    assert {*tried.harmless} >= {mark for name, mark in marks.items() if name[0] == "g"}
    assert tried.slow.keys() >= {*last}
    tried = try_out(Job((), Folder(str(tmp_path), ()), (), Bounds(4, 9), slow=last), 11)
    assert {*tried.harmless} == {mark for name, mark in marks.items() if name[0] in "bg"}


# The journal.


def leave_behind(cache: Path, root: Path, mark: str) -> None:
    """A boot in another process that dies at the file of this mark."""
    code = """\
        import os, sys
        from pathlib import Path
        from perdure.layer.boot_journal import BootJournal
        journal = BootJournal(Path(sys.argv[1]), Path(sys.argv[2]))
        journal.begin()
        if sys.argv[3]:
            journal.enters('before ' * 100)
            journal.enters(sys.argv[3])
        os.kill(os.getpid(), 9)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), cache, root, mark], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("path", ["functions/a/area.py", f"functions/a/{'long' * 2000}.py", "functions/é\n/ü.py"])
def test_a_death_is_told_once(tmp_path: Path, path: str) -> None:
    mark = mark_of(RelPath(path), b"def area(): pass\n")
    leave_behind(tmp_path / "cache", tmp_path, mark)
    journal = BootJournal(tmp_path / "cache", tmp_path)
    (written,) = journal.begin()
    assert is_cut_of(written, mark)
    assert not is_cut_of(written, mark_of(RelPath(path), b"def area(): changed\n"))
    journal.end()
    assert BootJournal(tmp_path / "cache", tmp_path).begin() == []


def test_a_death_between_files_accuses_none(tmp_path: Path) -> None:
    leave_behind(tmp_path / "cache", tmp_path, "")
    (written,) = BootJournal(tmp_path / "cache", tmp_path).begin()
    assert not is_cut_of(written, mark_of(RelPath("functions/a/a.py"), b""))


def test_a_boot_that_goes_on_is_no_death(tmp_path: Path) -> None:
    journal = BootJournal(tmp_path / "cache", tmp_path)
    journal.begin()
    code = "import sys; from pathlib import Path; from perdure.layer.boot_journal import BootJournal; "
    code += "print(BootJournal(Path(sys.argv[1]), Path(sys.argv[2])).begin())"
    said = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "cache", tmp_path], capture_output=True, text=True, check=True
    )
    assert said.stdout == "[]\n"
    journal.end()


def test_the_record_does_not_grow_for_ever(tmp_path: Path) -> None:
    for _ in range(100):
        journal = BootJournal(tmp_path, tmp_path / "layer")
        journal.begin()
        journal.note({"proven": [A]}, {"slow": [B]}, there=[A, B])
        journal.end()
    (file,) = tmp_path.rglob("known.jsonl")
    assert len(file.read_text().splitlines()) < 30
    journal = BootJournal(tmp_path, tmp_path / "layer")
    journal.begin()
    assert (journal.known.proven, journal.known.slow) == ({A}, {B})
    journal.end()


# A folder's boot.


def test_what_ran_to_its_end_is_proven_and_what_was_stopped_comes_last(tmp_path: Path) -> None:
    one, two = RelPath("functions/o/one.py"), RelPath("functions/t/two.py")
    files = {one: b"1", two: b"2"}

    def hang() -> None:
        signal.pause()

    safe = SafeBoot(lambda: tmp_path / "cache", Bounds(0.02, 30))
    with safe.folder(tmp_path, lambda: {path: mark_of(path, data) for path, data in files.items()}) as watch:
        assert not watch.comes_last(one)
        assert watch.run(one, hang) == "it took over 0.02 s to load"
        assert watch.run(two, lambda: None) is None
    safe.settle()
    with safe.folder(tmp_path, lambda: {path: mark_of(path, data) for path, data in files.items()}) as watch:
        assert [watch.comes_last(path) for path in (one, two)] == [True, False]
        watch.run(one, lambda: None)
    safe.settle()
    journal = BootJournal(tmp_path / "cache", tmp_path)
    journal.begin()
    assert journal.known.proven == {mark_of(path, data) for path, data in files.items()}
    assert journal.known.slow == set()
    journal.end()


def test_a_reply_ends_the_boot_and_proves_nothing(tmp_path: Path) -> None:
    """What ends the kernel a second after the cell that loaded it is still what is new."""
    path = RelPath("functions/o/one.py")
    mark = mark_of(path, b"1")

    def left_behind() -> tuple[list[Path], set[str]]:
        journal = BootJournal(tmp_path / "cache", tmp_path)
        left = [*tmp_path.rglob("*.boot")]
        journal.begin()
        journal.end()
        return left, journal.known.proven

    safe = SafeBoot(lambda: tmp_path / "cache", Bounds())
    with safe.folder(tmp_path, lambda: {path: mark}) as watch:
        watch.run(path, lambda: None)
    safe.answered()
    assert left_behind() == ([], set())
    safe.settle()
    assert left_behind() == ([], {mark})


def test_who_was_accused_by_chance_and_is_loaded_again_is_accused_no_more(tmp_path: Path) -> None:
    path = RelPath("functions/o/one.py")
    mark = mark_of(path, b"1")
    journal = BootJournal(tmp_path / "cache", tmp_path)
    journal.begin()
    journal.note({"proven": [mark]}, {"accused": [mark]})
    journal.end()
    safe = SafeBoot(lambda: tmp_path / "cache", Bounds())
    with safe.folder(tmp_path, lambda: {path: mark_of(path, b"1")}) as watch:
        watch.run(path, lambda: None)
    safe.settle()
    journal = BootJournal(tmp_path / "cache", tmp_path)
    journal.begin()
    assert journal.known.accused == set()
    journal.end()


def test_what_has_no_turn_is_told(tmp_path: Path) -> None:
    times = iter([0.0, 29.0, 29.5, 29.99])
    safe = SafeBoot(lambda: tmp_path / "cache", Bounds(), lambda: next(times))
    path = RelPath("functions/o/one.py")
    with safe.folder(tmp_path, lambda: {path: mark_of(path, b"")}) as watch:
        assert watch.run(path, lambda: None) is None
        assert watch.run(path, lambda: None) == "the start had taken 30 s before its turn came"


def test_the_working_folder_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SafeBoot(lambda: tmp_path / "cache", Bounds()).folder(tmp_path, dict):
        os.chdir("/")
    assert Path.cwd() == tmp_path
