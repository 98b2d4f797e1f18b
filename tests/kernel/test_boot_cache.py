"""Kernels that start by the way of the start before (ADR 15): what may go wrong, and whom it must not touch."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from perdure.kernel.trusting import trust
from perdure.kernel.workspace import Workspace
from perdure.layer.boot_cache import Bundle
from perdure.layer.bundling import as_plain, bundle
from perdure.layer.disk import RealDisk
from perdure.layer.starting import Starting
from perdure.layer.trust import TrustRecord
from tests.layer.made_up import MADE_UP
from tests.packages import Packages

from .driver import PATIENCE, Kernel, KernelDied
from .home import Home
from .starts import RESTLESS, Starts, wait_for

AREA = "def area(r):\n    return RATE * r\n"
FILES = {
    "functions/a/area.py": AREA,
    "functions/g/good.py": "def good():\n    return 'good'\n",
    "values/r/RATE.py": "RATE = 3\n",
}
NO_CHILD = "ChildProcessError: [Errno 10] No child processes"


def put(home: Home, files: dict[str, str]) -> None:
    """Write definition files by hand and commit them."""
    for path, text in files.items():
        (home.layer / path).parent.mkdir(parents=True, exist_ok=True)
        (home.layer / path).write_text(text, encoding="utf-8")
    home.git("add", "-A")
    home.git("commit", "-qm", "by hand")


def odd(statement: str) -> str:
    """A definition that does something as it loads where the environment says so."""
    return f"import os\n\nif os.environ.get('ODD'):\n    {statement}\n\n\ndef odd():\n    return 'odd'\n"


@pytest.fixture
def starts(layer: Home) -> Iterator[Starts]:
    made = Starts(layer)
    put(layer, FILES)
    yield made
    made.kernel.kill()


def test_the_third_start_is_a_replay_of_the_second(starts: Starts) -> None:
    starts.write()
    kernel = starts.start(None)  # with its moments of rest
    assert kernel.hello == []
    info = kernel.request("kernel_info_request", {}).content
    assert info["banner"].endswith(f"perdure layer {starts.home.layer}: 3 definitions; %cells lists them\n")
    assert kernel.run("area(2)").value == "6"
    assert kernel.run("def area(r):\n    return r").notices == ["[layer: kept area]"]
    assert starts.is_replayed()
    kernel = starts.start()
    assert kernel.run("area(2)").value == "2"
    assert not starts.is_replayed()


def test_what_a_hand_or_git_did_between_is_loaded(starts: Starts) -> None:
    home = starts.home
    starts.write()
    for texts, value in (({"values/r/RATE.py": "RATE = 4\n"}, "8"), ({"functions/a/area.py": "area = abs\n"}, "2")):
        put(home, texts)
        assert starts.start().run("area(2)").value == value
    home.git("revert", "--no-edit", "HEAD", "HEAD~1")
    assert starts.start().run("area(2)").value == "6"
    starts.write()
    home.git("rm", "-q", "values/r/RATE.py")
    home.git("commit", "-qm", "without")
    assert starts.start().run("area(2)").error == "NameError: name 'area' is not defined"


# Who does not notice.


def test_no_process_of_ours_is_there_for_user_code_and_no_secret_lies_in_the_cache(starts: Starts) -> None:
    starts.write()
    put(starts.home, {"functions/n/new.py": "def new(): ...\n"})
    before = starts.bundle().stat().st_ino
    kernel = starts.start(None)
    assert kernel.run(f"API_KEY = {MADE_UP['OpenAI']!r}").notices[0].startswith("[layer: API_KEY looks like")
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if starts.bundle().stat().st_ino != before:
            break
        pause.wait(0.05)
    assert kernel.run("import os\nos.wait()").error == NO_CHILD
    assert "perdure" not in str(kernel.run("import threading\n[t.name for t in threading.enumerate()]").value)
    found = Bundle.read(starts.bundle())
    assert found is not None
    assert "functions/n/new.py" in found.listing.paths
    assert MADE_UP["OpenAI"].encode() not in starts.bundle().read_bytes()
    assert [path for path in starts.home.root.rglob("*.tmp") if "cache" in path.parts] == []


def writer(home: Home) -> psutil.Process | None:
    """The process that writes the home's bundles, if there is one."""
    for process in psutil.process_iter():
        try:
            is_writer = any("perdure.layer.bundling" in part for part in process.cmdline())
            if is_writer and process.environ().get("XDG_CACHE_HOME") == home.environ["XDG_CACHE_HOME"]:
                return process
        except psutil.Error:  # gone, or another's
            pass
    return None


def test_a_writer_that_is_killed_costs_nothing(starts: Starts) -> None:
    kernel = starts.start(None)
    pause = threading.Event()
    while (process := writer(starts.home)) is None:
        assert not starts.bundle().exists()
        pause.wait(0.02)
    os.kill(process.pid, signal.SIGKILL)
    assert kernel.run("area(2)").value == "6"
    assert starts.start().run("area(2)").value == "6"
    assert not starts.is_replayed()
    starts.write()
    starts.start()
    assert starts.is_replayed()


def test_a_cache_that_cannot_be_written_costs_nothing(starts: Starts) -> None:
    (starts.home.root / "cache").write_text("")
    for _ in range(2):
        kernel = starts.start(None)
        assert kernel.hello == []
        assert kernel.run("area(2)").value == "6"


def test_nothing_of_the_notebooks_folder_runs_as_it_is_written(starts: Starts) -> None:
    """It may have modules of any name."""
    work = starts.home.work
    for name in ("perdure", "marshal", "dataclasses", "facts"):
        (work / f"{name}.py").write_text(f"open({str(work / 'ran')!r}, 'a').close()\n")
    put(starts.home, {"functions/o/odd.py": f"import sys\n\nsys.path.insert(0, {str(work)!r})\n\n\ndef odd(): ...\n"})
    starts.write()
    assert not (work / "ran").exists()


def test_two_kernels_start_at_once(starts: Starts) -> None:
    starts.write()
    for changed in (False, True):
        if changed:
            put(starts.home, {"values/r/RATE.py": "RATE = 4\n"})
        kernels = [Kernel(starts.home) for _ in range(2)]
        threads = [threading.Thread(target=kernel.start) for kernel in kernels]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [kernel.run("area(2)").value for kernel in kernels] == ["8" if changed else "6"] * 2
        for kernel in kernels:
            kernel.kill()
    starts.write()
    assert starts.start().run("area(2)").value == "8"


@pytest.mark.parametrize("mode", ["readonly", "off"])
def test_a_mode_holds_in_a_replay_too(starts: Starts, mode: str) -> None:
    starts.write()
    kernel = starts.start(PERDURE_MODE=mode)
    assert kernel.run("area(2)").value == (None if mode == "off" else "6")
    assert kernel.run("def area(r):\n    return 1").notices == []
    assert starts.home.files() == FILES
    assert starts.is_replayed() == (mode != "off")


def test_code_is_as_the_interpreter_was_told_to_make_it(starts: Starts) -> None:
    put(starts.home, {"functions/a/asserts.py": "def asserts():\n    assert False\n    return 'asserts'\n"})
    program = ("-O", *RESTLESS)
    kernel = starts.start(("-O", "-m", "perdure_launcher"))
    wait_for(starts.bundle())
    assert kernel.run("asserts()").value == "'asserts'"
    kernel = starts.start(program)
    assert kernel.run("asserts()").value == "'asserts'"
    kernel.run(
        "from pathlib import Path\nfrom perdure.kernel import current\nfrom perdure.layer.boot_cache import Bundle"
    )
    names = "current._workspace._cells.shipped.starting._names"
    assert kernel.run(f"Bundle.read(Path({str(starts.bundle())!r})).plan.name in {names}").value == "True"
    kernel = starts.start()
    assert kernel.run("asserts()").error == "AssertionError: "


def test_a_project_over_the_personal_layer_over_a_cells_folder(starts: Starts) -> None:
    home = starts.home
    del home.environ["PERDURE_LAYER"]
    team = home.root.resolve() / "team"
    (team / "functions/t").mkdir(parents=True)
    (team / "functions/t/team.py").write_text("def team():\n    return 'team'\n")
    team.chmod(0o700)
    TrustRecord(home.state / "perdure", RealDisk()).accept(team)
    starts.environ = {"PERDURE_CELLS": str(team)}
    kernel = starts.start()
    kernel.run("def mine():\n    return team(), 'mine'")
    kernel.run("%layer init")
    kernel.run("def project():\n    return mine(), 'project'\ndef team():\n    return 'other'")
    kernel.kill()
    personal = home.root / "data/perdure/layer_ada_lovelace"
    project = home.work / ".perdure"
    starts.write(project)
    kernel = starts.start()
    banner = kernel.request("kernel_info_request", {}).content["banner"]
    assert banner.endswith(": 2 definitions, over 1 of the personal layer, 1 cells folder; %cells lists them\n")
    assert kernel.hello == []
    assert kernel.run("project()").value == "(('other', 'mine'), 'project')"
    assert "overridden by the layer: team" in kernel.run("%cells").stdout
    assert [starts.is_replayed(root) for root in (team, personal, project)] == [True] * 3
    assert kernel.run("del team").notices[0] == "[layer: forgot team]"
    (team / "functions/t/team.py").write_text("def team():\n    return 'anew'\n")
    assert starts.start().run("project()").value == "(('anew', 'mine'), 'project')"


# What a file does as it is replayed.


@pytest.mark.parametrize(
    ("statement", "how"),
    [("os._exit(3)", "exit status 3"), ("import ctypes; ctypes.string_at(0)", "signal SIGSEGV")],
)
def test_what_kills_a_replay_is_left_out_by_the_next_start(starts: Starts, statement: str, how: str) -> None:
    put(starts.home, {"functions/o/odd.py": odd(statement)})
    starts.write()
    with pytest.raises(KernelDied):
        starts.start(ODD="1")
    kernel = starts.start(ODD="1")
    assert kernel.hello[0] == f"[layer: skipped functions/o/odd.py: it killed the kernel at the last start ({how})]"
    assert len(kernel.hello) == 2
    assert kernel.run("area(2), good()").value == "(6, 'good')"
    assert not starts.is_replayed()


def test_an_interrupt_skips_the_one_that_is_replayed(starts: Starts) -> None:
    me = "import signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"
    put(starts.home, {"functions/o/odd.py": odd(me)})
    starts.write()
    kernel = starts.start(ODD="1")
    assert kernel.hello[0] == "[layer: skipped functions/o/odd.py: it was interrupted]"
    assert kernel.run("area(2), good()").value == "(6, 'good')"
    assert starts.start().run("odd()").value == "'odd'"
    assert starts.is_replayed()


def test_what_a_thread_of_a_definition_reads_is_there(starts: Starts) -> None:
    text = (
        "import threading\n\n\ndef odd(found=threading.Event()):\n    while 'good' not in globals():\n"
        "        found.wait(0.001)\n    getattr(__import__('__main__'), 'nowhere', None)\n    found.set()\n\n\n"
        "threading.Thread(target=odd, daemon=True).start()\n"
    )
    put(starts.home, {"functions/o/odd.py": text})
    starts.write()
    kernel = starts.start()
    assert kernel.run("odd.__defaults__[0].wait()").value == "True"
    assert kernel.run("area(2)").value == "6"
    assert kernel.run("def area(r): return 1").notices == ["[layer: kept area]"]
    assert starts.is_replayed()


def test_what_loading_prints_is_told_by_the_first_cell_once(starts: Starts) -> None:
    put(starts.home, {"functions/o/odd.py": odd("print('here')")})
    starts.write()
    kernel = starts.start(ODD="1")
    assert kernel.hello == ["[layer: loading printed:\nhere]"]
    assert kernel.run("area(2)").notices == []
    assert starts.is_replayed()


# In one process.


@pytest.fixture
def prepared(layer: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home whose layer has a bundle."""
    monkeypatch.chdir(layer.work)
    put(layer, FILES)
    space = started(layer)
    space.settle()
    for each in space.cells_folders.shipped.starting.to_write:
        bundle(layer.root / "cache" / "perdure", as_plain(each), 0)
    return layer


def started(home: Home) -> Workspace:
    space = Workspace({"__name__": "__main__"}, ambient={}, environ=home.environ)
    space.boot()
    return space


def test_an_interrupt_waits_until_all_is_known(prepared: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    space = started(prepared)
    complete = Starting.complete

    def interrupted(*arguments: object) -> object:
        signal.raise_signal(signal.SIGINT)
        return complete(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Starting, "complete", interrupted)
    monkeypatch.setattr(signal, "SIGINT", signal.SIGINT)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            space.complete()
    finally:
        signal.signal(signal.SIGINT, before)
    assert space.layer is not None
    assert [entry.definition.key for entry in space.layer.definitions] == ["RATE", "area", "good"]


def test_a_layer_that_is_trusted_while_the_kernel_runs_is_known_at_once(prepared: Home) -> None:
    for file in prepared.state.rglob("trusted.jsonl"):
        file.unlink()
    space = started(prepared)
    assert "is not trusted" in space.summary()
    assert "3 definitions" in trust(space)
    assert space.layer is not None
    assert [entry.definition.key for entry in space.layer.definitions] == ["RATE", "area", "good"]
    assert space.cells_folders.shipped.starting.to_write == []


def test_a_fault_of_our_own_costs_the_layer_and_not_the_cell(prepared: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    space = started(prepared)

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Starting, "complete", fails)
    space.rest()
    assert space.layer is None
    assert "perdure itself failed (ZeroDivisionError: )" in str(space.trouble)


def test_a_package_that_is_gone_is_told_of(layer: Home, tmp_path: Path) -> None:
    packages = Packages(tmp_path / "packages", "slow")
    path = os.pathsep.join([str(packages.folder), os.environ.get("PYTHONPATH", "")])
    starts = Starts(layer, PYTHONPATH=path)
    put(layer, {**FILES, "functions/f/far.py": "import slow\n\n\ndef far():\n    return slow.UNIT\n"})
    try:
        starts.write()
        assert starts.start().run("far()").value == "5"
        assert starts.is_replayed()
        (packages.folder / "slow").rename(packages.folder / "gone")
        kernel = starts.start()
        assert kernel.hello[0] == "[layer: skipped functions/f/far.py: slow is found nowhere here; install it]"
        assert kernel.run("area(1)").value == "3"
    finally:
        starts.kernel.kill()
