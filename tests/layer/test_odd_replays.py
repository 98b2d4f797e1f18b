"""What becomes of a replay that does not go as the boot before it, and of what files do to the process."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.layer.bounds import Bounds
from perdure.layer.safe_boot import SafeBoot

from . import cells as cells_module
from .starts import Starts, all_known, complete, differences, is_replayed

SLOW = "functions/s/slow.py"
FILES = {
    "functions/a/area.py": "def area(r):\n    return RATE * r\n",
    "values/r/RATE.py": "RATE = 3\n",
    "classes/c/Circle.py": "class Circle:\n    size = RATE\n",
}


def odd(statement: str, name: str = "odd") -> str:
    """A definition that does something as it loads where the environment says so."""
    return (
        f"import os\n\nif os.environ.get('ODD') == {name!r}:\n    {statement}\n\n\ndef {name}():\n    return {name!r}\n"
    )


def with_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, **files: str) -> Starts:
    """A layer of which a file does something odd from now on."""
    rest = {f"functions/x/{name}.py": text for name, text in files.items()}
    starts = Starts(tmp_path, {**FILES, SLOW: odd("1", "slow"), "functions/o/odd.py": odd(statement), **rest})
    starts.prepare()
    assert is_replayed(starts.start())
    monkeypatch.setenv("ODD", "odd")
    return starts


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("raise ValueError('not today')", "it raised ValueError: not today"),
        ("raise SystemExit(3)", "it raised SystemExit: 3"),
        ("raise KeyboardInterrupt", "it raised KeyboardInterrupt"),
        ("import nowhere_at_all", "nowhere_at_all is found nowhere here; install it"),
    ],
)
def test_a_file_that_raises_now_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, why: str
) -> None:
    starts = with_odd(tmp_path, monkeypatch, statement)
    kernel = starts.start()
    assert not is_replayed(kernel)
    skipped = kernel.layer.report.skipped
    assert [each.path for each in skipped] == ["functions/o/odd.py"]
    assert skipped[0].reason.startswith(why)
    assert kernel.namespace["slow"]() == "slow"
    assert starts.write(kernel) == 0
    monkeypatch.delenv("ODD")
    assert is_replayed(starts.start())


def test_what_was_replayed_before_it_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    note = f"with open({str(log)!r}, 'a') as file:\n    file.write('a')\n\n\ndef a_first(): ...\n"
    starts = with_odd(tmp_path / "home", monkeypatch, "raise ValueError", a_first=note, zed=note.replace("a_f", "z_f"))
    log.unlink()
    starts.start()
    assert log.read_text() == "aa"


def test_a_file_that_raised_once_takes_nothing_from_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was put back after a file, and what it wants of the namespace, is known after it was replayed too."""
    files = {
        "functions/s/sqrt.py": "def sqrt(x):\n    return 'mine'\n",
        "functions/t/taking.py": "from math import sqrt\n\n\ndef taking():\n    return helper(sqrt)\n",
        "functions/z/odd.py": odd("os.environ['ODD'] = ''; raise ValueError"),
    }
    ambient = {"helper": abs}
    starts = Starts(tmp_path, files)
    starts.prepare(ambient)
    assert starts.replayed(ambient).namespace["sqrt"](1) == "mine"
    monkeypatch.setenv("ODD", "odd")
    kernel = starts.start(ambient)
    assert not is_replayed(kernel)
    assert kernel.layer.report.skipped == ()
    assert starts.write(kernel) == 1
    again = starts.replayed(ambient)
    assert again.namespace["sqrt"](1) == "mine"
    assert differences(all_known(kernel), all_known(complete(again))) == {}
    assert not is_replayed(starts.start())


def bounded(monkeypatch: pytest.MonkeyPatch, file: float, boot: float = 30) -> None:
    def safe(cache: Callable[[], Path], _: Bounds) -> SafeBoot:
        return SafeBoot(cache, Bounds(file, boot))

    monkeypatch.setattr(cells_module, "SafeBoot", safe)


def test_a_file_that_hangs_now_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = with_odd(tmp_path, monkeypatch, "import threading; threading.Event().wait()")
    bounded(monkeypatch, 0.3)
    kernel = starts.start()
    assert [(s.path, s.reason) for s in kernel.layer.report.skipped] == [
        ("functions/o/odd.py", "it took over 0.3 s to load")
    ]
    assert kernel.namespace["slow"]() == "slow"


def test_each_file_has_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = "import threading\n\nthreading.Event().wait(0.2)\n\n\ndef {0}(): ...\n"
    starts = Starts(tmp_path, {f"functions/b/{name}.py": busy.format(name) for name in ("b1", "b2", "b3", "b4")})
    starts.prepare()
    bounded(monkeypatch, 0.6)
    starts.replayed()


def test_an_interrupt_skips_the_one_that_is_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = "import signal, threading; os.kill(os.getpid(), signal.SIGINT); threading.Event().wait()"
    starts = with_odd(tmp_path, monkeypatch, me)
    before = signal.getsignal(signal.SIGINT)
    kernel = starts.start()
    assert [(s.path, s.reason) for s in kernel.layer.report.skipped] == [("functions/o/odd.py", "it was interrupted")]
    assert kernel.namespace["slow"]() == "slow"
    assert "odd" not in kernel.namespace
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.delenv("ODD")
    assert is_replayed(starts.start())


def test_who_takes_an_interrupt_for_itself_costs_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = (
        "import signal\n    try:\n        os.kill(os.getpid(), signal.SIGINT)\n        while True: pass\n"
        "    except BaseException: pass"
    )
    wait = "import threading\n\nthreading.Event().wait(0.2)\n\n\ndef {0}(): ...\n"
    starts = with_odd(tmp_path, monkeypatch, me, zed=wait.format("zed"), yes=wait.format("yes"))
    kernel = complete(starts.start())
    assert {s.path for s in kernel.layer.report.skipped} <= {"functions/o/odd.py"}


def test_a_file_that_forks_leaves_no_second_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    starts = with_odd(tmp_path / "home", monkeypatch, f"os.fork() and os.wait() or open({str(here)!r}, 'a').close()")
    kernel = starts.replayed()
    assert here.exists()
    assert kernel.namespace["slow"]() == "slow"


def test_what_files_print_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = with_odd(tmp_path, monkeypatch, "print('here')")
    kernel = starts.replayed()
    assert kernel.layer.replayed is not None
    assert kernel.layer.replayed.output == "here\n"
    assert complete(kernel).layer.report.output == "here\n"
    monkeypatch.delenv("ODD")
    starts = with_odd(tmp_path / "two", monkeypatch, "print('here'); raise ValueError")
    assert {*starts.start().layer.report.output.splitlines()} == {"here"}


def test_where_the_kernel_works_and_whom_signals_reach_is_as_in_any_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = with_odd(tmp_path, monkeypatch, "import signal; os.chdir('/'); signal.signal(signal.SIGALRM, print)")
    before, handler = os.getcwd(), signal.getsignal(signal.SIGALRM)
    try:
        starts.replayed()
        assert os.getcwd() == before
        assert signal.getsignal(signal.SIGALRM) is print
    finally:
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.parametrize("statement", ["gc.disable()", "gc.enable()", "gc.set_threshold(77, 7, 7)", "pass"])
def test_what_a_file_asks_of_the_garbage_collector_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    was, threshold = gc.isenabled(), gc.get_threshold()
    try:
        starts = with_odd(tmp_path, monkeypatch, f"import gc; {statement}")
        starts.replayed()
        assert gc.isenabled() == (statement != "gc.disable()")
        assert gc.get_threshold() == ((77, 7, 7) if "77" in statement else threshold)
    finally:
        gc.set_threshold(*threshold)
        (gc.enable if was else gc.disable)()


def test_what_a_file_does_to_others_is_known_in_the_same_way(tmp_path: Path) -> None:
    """Whether a definition is what was loaded is asked of what it was when all was loaded."""
    files = {
        "values/c/COUNT.py": "COUNT = 0\n",
        "functions/c/count.py": "def count(f):\n    global COUNT\n    COUNT += 1\n    return f\n",
        "functions/z/zed.py": "@count\ndef zed():\n    return COUNT\n",
        "functions/w/wrapper.py": "globals()['count'] = lambda f, old=count: old(f)\n\n\ndef wrapper(): ...\n",
    }
    starts = Starts(tmp_path, files)
    first = starts.prepare()
    again = complete(starts.replayed())
    assert differences(all_known(first), all_known(again)) == {}
    for source in ("if False:\n    COUNT = 5", "count = count", "COUNT = 7", "if False:\n    zed = 1"):
        assert [str(each) for each in first.run(source)] == [str(each) for each in again.run(source)]


def test_what_a_cell_changed_before_all_was_known_is_known_to_be_changed(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES)
    starts.prepare()
    kernel = starts.replayed()
    kernel.namespace["area"] = 3  # exec("ar" "ea = 3")
    kernel.namespace.pop("RATE")
    complete(kernel)
    assert kernel.layer.image.is_other("area")
    assert kernel.layer.image.is_other("RATE")
    assert not kernel.layer.image.is_other("Circle")
    assert (kernel.namespace["area"], "RATE" in kernel.namespace) == (3, False)
