"""What a proof loads, what its process says, and what comes of definitions that only a session could load."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from io import FileIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.layer.boot import Boot
from perdure.layer.boot_files import BootFiles
from perdure.layer.bounds import Bounds
from perdure.layer.definition import RelPath
from perdure.layer.proof import Beginning, Folder, Job, Proof, Prover
from perdure.layer.proof_files import Concerned, concerned
from perdure.layer.proof_hearing import Report, Unloadable, heard_more, without_a_turn
from perdure.layer.proof_process import key, loadable
from perdure.layer.shipped import Shipped


def path(name: str) -> RelPath:
    return RelPath(f"functions/{name[0]}/{name}.py")


def files(**texts: str) -> dict[RelPath, bytes]:
    return {path(name): text.encode() for name, text in texts.items()}


# What a change concerns.

WEB = {
    "base": "def base(f):\n    return f",
    "deco": "def deco(f):\n    return base(f)",
    "area": "@deco\ndef area(): ...",
    "twice": "def twice():\n    return area()",
    "rate": "def rate(): ...",
}


def about(*names: str, **texts: str) -> Concerned:
    return about_files(files(**(texts or WEB)), names)


def about_files(texts: Mapping[RelPath, bytes], names: Collection[str]) -> Concerned:
    return concerned([loadable(0, file) for file in BootFiles(texts, {})], names)


def keys(*names: str) -> frozenset[RelPath]:
    return frozenset(key(0, path(name)) for name in names)


def test_what_is_changed_is_loaded_with_what_needs_it_and_what_they_need() -> None:
    assert about("area").proved == keys("area")
    assert about("area").needed == keys("base", "deco")
    assert about("deco").proved == keys("deco", "area")
    assert about("twice") == Concerned(keys("twice"), frozenset(), about().needed_by)  # area is called later


def test_of_what_is_gone_whoever_reads_it_is_loaded() -> None:
    assert about(
        "gone", area="def area(x=gone): ...", calls="def calls():\n    gone()", other="def other(): ..."
    ).proved == (keys("area", "calls"))


def test_what_is_behind_a_file() -> None:
    assert about().behind(keys("base")) == keys("base", "area")


# What a process says.


def test_a_report_is_heard_line_by_line() -> None:
    report = Report()
    for line, tries in ((b'{"begun": true}', ""), (b'{"tries": "0 a"}', "0 a"), (b'{"tri', "0 a"), (b"7", "0 a")):
        report = heard_more(report, line)
        assert report == Report(True, tries)
    assert heard_more(report, b'{"tried": "0 a"}').tries == ""
    ended = heard_more(report, b'{"fails": [["a", ["x"], "it did"]], "loads": ["b"], "end": true}')
    assert ended == Report(True, "", (Unloadable(RelPath("a"), ("x",), "it did"),), frozenset({RelPath("b")}), True)


def test_turns_that_were_not_given_are_counted_where_they_can_be() -> None:
    assert without_a_turn(os.getpid()) >= 0
    assert without_a_turn(-1) == 0


# Proofs.

QUICK = Bounds(0.4, 30)


def prove(
    root: Path,
    names: Sequence[str],
    texts: Mapping[str, str],
    below: Mapping[RelPath, bytes] | None = None,
    *,
    passed: Mapping[RelPath, str] | None = None,
    ambient: Sequence[str] = (),
    beginning: Beginning | None = None,
    bounds: Bounds = QUICK,
) -> Proof:
    folders = [Folder(root / "below", below)] if below else []
    folders.append(Folder(root / "layer", files(**texts)))
    return Prover().prove(Job(folders, names, passed or {}, ambient, beginning or Beginning.now(), bounds))


def reasons(proof: Proof) -> dict[str, str]:
    assert proof.trouble == ""
    return {", ".join(fail.names): fail.reason for fail in proof.fails}


def test_what_loads_is_said_to_load(tmp_path: Path) -> None:
    proof = prove(tmp_path, ["deco"], WEB)
    assert proof == Proof((), frozenset({path("base"), path("deco"), path("area")}))


def test_what_fails_has_the_reason_of_a_boot(tmp_path: Path) -> None:
    proof = prove(
        tmp_path,
        ["area", "other", "third", "gone"],
        {
            "area": "import os\n\n\ndef area(unit=os.environ['NO_SUCH_UNIT']): ...",
            "other": "import no_such_package\n\n\ndef other(x=no_such_package.X): ...",
            "third": "def third(x=gone): ...",
            "fourth": "def fourth(x=area): ...",
            "fine": "def fine(): ...",
        },
    )
    assert reasons(proof) == {
        "area": "it raised KeyError: 'NO_SUCH_UNIT' at line 4",
        "other": "no_such_package is found nowhere here; install it",
        "third": "it needs gone to load, which nothing defines",
        "fourth": "it needs area to load, and functions/a/area.py is skipped",
    }


def test_files_below_are_there_and_are_not_judged(tmp_path: Path) -> None:
    below = files(base="def base(f):\n    return f", area="def area(): ...\n\n1 / 0")
    proof = prove(
        tmp_path, ["deco", "area"], {"deco": "@base\ndef deco(): ...", "area": "def area(x=deco): ..."}, below
    )
    assert reasons(proof) == {}
    assert proof.loads == {path("deco"), path("area")}


def test_what_did_not_load_at_the_start_either_is_not_told_again(tmp_path: Path) -> None:
    texts = {"old": "import os\n\n\ndef old(x=os._exit(1)): ...", "new": "def new(x=old): ..."}
    proof = prove(tmp_path, ["old", "new"], texts, passed={path("old"): "it did"})
    assert reasons(proof) == {"new": "it needs old to load, and functions/o/old.py is skipped"}


def test_a_registry_that_others_fill_is_filled(tmp_path: Path) -> None:
    """No text says that area needs metres; a start loads both."""
    proof = prove(
        tmp_path,
        ["area"],
        {
            "REG": "REG = {}",
            "add": "def add(f):\n    REG[f.__name__] = f\n    return f",
            "metres": "@add\ndef metres(): ...",
            "never": "import no_such_package\n\n\n@add\ndef never(): ...",
            "area": "def area(unit=globals()['REG']['metres']): ...",
        },
    )
    assert reasons(proof) == {}
    assert path("area") in proof.loads


def test_what_asks_something_of_a_kernel_is_not_judged(tmp_path: Path) -> None:
    proof = prove(
        tmp_path,
        ["area", "more", "shows", "bad"],
        {
            "area": "@helper.wraps\ndef area(x=get_ipython().user_ns): ...",
            "more": "def more(x=area): ...",
            "shows": "def shows(f=display):\n    display(helper)",
            "bad": "def bad(x=1 / 0): ...",
        },
        ambient=["get_ipython", "helper", "display"],
    )
    assert reasons(proof) == {"bad": "it raised ZeroDivisionError: division by zero at line 1"}
    assert proof.loads == {path("shows")}


HOSTILE = {
    "sleeps": ("import time", "time.sleep(1000)", "it took over 0.4 s to load"),
    "loops": ("import time", "exec('while True: pass')", "it took over 0.4 s to load"),
    "stuck": ("import itertools", "sum(itertools.repeat(0))", "it took over 0.4 s to load"),
    "floods": ("import os", "[print('x' * 10_000) for _ in iter(int, 1)]", "it took over 0.4 s to load"),
    "leaves": ("import os", "os._exit(0)", "it killed the process that tried it (exit status 0)"),
    "segfaults": ("import ctypes", "ctypes.string_at(0)", "it killed the process that tried it (signal SIGSEGV)"),
    "kills_all": ("import os", "os.killpg(0, 9)", "it killed the process that tried it (signal SIGKILL)"),
    "closes": ("import os", "os.closerange(3, 200)", "it killed the process that tried it (exit status 1)"),
    "alarms": ("import signal", "signal.setitimer(signal.ITIMER_REAL, 0.01)", ""),
    "exits": ("import sys", "sys.exit()", "it raised SystemExit at line 4"),
    "forks": ("import os", "os.fork()", ""),
    "starts": ("import subprocess", "subprocess.Popen(['sleep', '1000'])", ""),
}


def test_what_hangs_kills_or_floods_costs_itself(tmp_path: Path) -> None:
    texts = {name: f"{first}\n\n\ndef {name}(x={rest}): ..." for name, (first, rest, _) in HOSTILE.items()}
    proof = prove(tmp_path, [*texts, "area"], {**texts, "area": "def area(): ..."}, bounds=Bounds(0.4, 60))
    assert reasons(proof) == {name: reason for name, (*_, reason) in HOSTILE.items() if reason}
    assert proof.loads == {path("forks"), path("starts"), path("alarms"), path("area")}


def test_a_proof_ends_in_time_and_tells_what_it_knows(tmp_path: Path) -> None:
    hang = "import time\n\n\ndef {0}(x=time.sleep(1000)): ..."
    proof = prove(tmp_path, ["h1", "h2", "h3"], {n: hang.format(n) for n in ("h1", "h2", "h3")}, bounds=Bounds(1, 1.1))
    assert reasons(proof) == {"h1": "it took over 1 s to load"}


def test_it_begins_as_a_kernel_begins(tmp_path: Path) -> None:
    (tmp_path / "of_the_path.py").write_text("X = 1\n")
    environ = {**os.environ, "OF_THE_START": "1"}
    beginning = Beginning((*Beginning.now().path, str(tmp_path)), environ, tmp_path)
    statement = (
        "import os, of_the_path\n\n\ndef area(x=(os.environ['OF_THE_START'], os.listdir('.'), of_the_path.X)): ..."
    )
    assert reasons(prove(tmp_path, ["area"], {"area": statement}, beginning=beginning)) == {}


def test_it_gives_way_to_all_else_and_nobody_talks_to_it(tmp_path: Path) -> None:
    policy = "getattr(os, 'sched_getscheduler', lambda _: None)(0) == getattr(os, 'SCHED_IDLE', None)"
    asked = f"os.nice(0) == 19, os.read(0, 1) == b'', os.getsid(0) == os.getpid(), {policy}"
    proof = prove(tmp_path, ["area"], {"area": f"import os\n\n\ndef area(x={{(True,) * 4: 0}}[{asked}]): ..."})
    assert reasons(proof) == {}


def test_a_package_is_really_imported(tmp_path: Path) -> None:
    (tmp_path / "heavy.py").write_text("import sys\nsys.modules['heavy'].VERSION.major\n")
    beginning = Beginning((*Beginning.now().path, str(tmp_path)), {**os.environ}, tmp_path)
    texts = {"late": "import heavy\n\n\ndef late():\n    return heavy.X", "base": "def base(): ..."}
    assert reasons(prove(tmp_path, ["base"], texts, beginning=beginning)) == {}
    (reason,) = reasons(prove(tmp_path, ["late"], texts, beginning=beginning)).values()
    assert reason.startswith("it raised AttributeError: ")


def test_waiting_for_a_turn_is_not_hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a machine that is so busy that no turn comes: all the time that passes is waiting."""
    began = time.monotonic()
    monkeypatch.setattr("perdure.layer.proof_hearing.without_a_turn", lambda _: time.monotonic() - began)
    text = "import time\n\n\ndef area(x=time.sleep(0.9)): ..."
    assert prove(tmp_path, ["area"], {"area": text}).loads == {path("area")}


NAMES = "abcde"
WHOLE = st.fixed_dictionaries(
    {
        name: st.tuples(
            st.lists(st.sampled_from([n for n in NAMES if n != name] + ["gone"]), max_size=2, unique=True),
            st.sampled_from(["pass", "gone()", *(f"{n}()" for n in NAMES)]),
            st.sampled_from(["", "", "", "1 / 0", "raise SystemExit", "import no_such_package"]),
        )
        for name in NAMES
    }
)


@settings(max_examples=12, deadline=None)
@given(WHOLE, st.sets(st.sampled_from([*NAMES, "gone"]), min_size=1))
def test_a_proof_says_what_a_start_says(parts: dict[str, tuple[list[str], str, str]], names: set[str]) -> None:
    texts = {
        name: f"{also}\n\n\ndef {name}({', '.join(f'x{n}={other}' for n, other in enumerate(reads))}):\n    {body}"
        for name, (reads, body, also) in parts.items()
    }
    root = Path("/nowhere")
    layer, namespace = files(**texts), dict[str, object]()
    shipped = Shipped(namespace, sys.modules)
    start = Boot(layer, root, shipped.image, shipped.variables.imports, sys.modules).run()
    skipped = {each.path: each.reason for each in start.skipped}
    concerns = about_files(layer, names)
    asked = {p for p in layer if key(0, p) in concerns.proved | concerns.needed}
    job = Job([Folder(root, layer)], names, {}, (), Beginning.now(), QUICK)
    proof = Prover().prove(job)
    assert {fail.path: fail.reason for fail in proof.fails} == {p: skipped[p] for p in asked & skipped.keys()}
    assert proof.loads & asked == asked - skipped.keys()


@pytest.mark.parametrize("folder", ["gone", "file"])
def test_a_proof_that_cannot_be_had_says_so(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    beginning = Beginning(Beginning.now().path, {**os.environ}, tmp_path / folder)
    proof = prove(tmp_path, ["area"], {"area": "def area(): ..."}, beginning=beginning)
    assert proof.trouble.startswith("no process could be started (")
    beginning = Beginning([], {**os.environ, "PYTHONHOME": "/nowhere"}, tmp_path)
    proof = prove(tmp_path, ["area"], {"area": "def area(): ..."}, beginning=beginning)
    assert proof.trouble == "the process for it ended by itself (exit status 1)"


def test_a_proof_under_way_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "here")
    here = f"os.write(os.open({str(tmp_path / 'here')!r}, os.O_WRONLY), b'!')"
    waits = f"import os\nimport time\n\n\ndef waits(x={here} and time.sleep(1000)): ..."
    job = Job([Folder(tmp_path, files(waits=waits))], ["waits"], {}, (), Beginning.now(), Bounds(60, 60))
    prover, proofs = Prover(), list[Proof]()
    thread = threading.Thread(target=lambda: proofs.append(prover.prove(job)))
    thread.start()
    with FileIO(tmp_path / "here") as file:
        assert file.read(1) == b"!"
        prover.end()
        assert file.read() == b""
    thread.join()
    assert proofs == [Proof()]
    assert prover.prove(job) == Proof()
