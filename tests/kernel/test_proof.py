"""What a kernel tells of definitions that work in it and will not load in the next, where its config asks for proofs.

`%layer proof` waits until all that was kept is proved, so no test waits for a time.
"""

from __future__ import annotations

import os
import signal
import subprocess
from io import FileIO

import pytest

from perdure.layer.disk import RealDisk
from perdure.layer.trust import TrustRecord

from .answer import Answer
from .conftest import StartKernel
from .driver import Kernel
from .home import Home

PROVES = "--PerdureKernel.proof=process"
QUICK = "--PerdureKernel.boot_file_seconds=0.5"
WILL_NOT = " will not load after a restart: "
ALL_LOADS = "All that was kept since this kernel started loads, as far as that can be proved.\n"


@pytest.fixture
def proving(new_kernel: StartKernel) -> Kernel:
    return new_kernel().start(PROVES, QUICK)


def proved(kernel: Kernel) -> dict[str, str]:
    """Why each definition will not load, by name, once all is proved."""
    told = kernel.run("%layer proof").stdout
    if told == ALL_LOADS:
        return {}
    lines = (line.removesuffix(".").partition(WILL_NOT) for line in told.splitlines())
    return {name: reason for name, _, reason in lines}


def wait(kernel: Kernel, kind: str = "agent") -> Answer:
    """A cell that goes on until all is proved, and asks for nothing to be told."""
    return kernel.run("get_ipython().workspace.proving.rest()", kind=kind)


def children(process: int) -> list[str]:
    """The processes that `process` started and that are there, zombies too."""
    listed = subprocess.run(("ps", "-A", "-ww", "-o", "ppid=,args="), capture_output=True, text=True, check=True).stdout
    lines = (line.split(None, 1) for line in listed.splitlines())
    return [args for parent, args in lines if parent == str(process)]


def pid(kernel: Kernel) -> int:
    return int(kernel.run("import os; os.getpid()").value or "")


# What only the session has.


def test_what_only_this_session_has_is_told_with_the_reason_of_the_next_start(proving: Kernel) -> None:
    folder = proving.home.root / "elsewhere"
    folder.mkdir()
    (folder / "of_the_path.py").write_text("def wrap(f):\n    return f\n")
    proving.run(
        f"import json, os, sys\nsys.path.append({str(folder)!r})\nos.environ['OF_THE_CELL'] = '1'\n"
        "json.of_the_cell = lambda f: f\nfrom of_the_path import wrap"
    )
    for text in (
        "@wrap\ndef wrapped(): return 'wrapped'",
        "def environ(x=os.environ['OF_THE_CELL']): return x",
        "@json.of_the_cell\ndef by_hand(): return 'by hand'",
        "def behind(f=wrapped): return f()",
        "def good(x=os.sep): return x",
    ):
        assert proving.run(text).error is None
    assert proving.run("wrapped(), environ(), by_hand(), behind()").value == "('wrapped', '1', 'by hand', 'wrapped')"
    reasons = {
        "wrapped": "of_the_path is found nowhere here; install it",
        "environ": "it raised KeyError: 'OF_THE_CELL' at line 4",
        "by_hand": "it raised AttributeError: module 'json' has no attribute 'of_the_cell' at line 4",
        "behind": "it needs wrapped to load, and functions/w/wrapped.py is skipped",
    }
    assert proved(proving) == reasons
    skipped, summary = proving.run("%layer skipped").stdout, proving.run("%layer").stdout
    for name, reason in reasons.items():
        assert f"{name}{WILL_NOT}{reason}\n" in skipped
        assert f"{name}{WILL_NOT}{reason}\n" in summary
    # The next start says the same.
    proving.restart()
    listed = proving.run("%cells").stdout
    for name, reason in reasons.items():
        assert f"  skipped functions/{name[0]}/{name}.py: {reason}\n" in listed


def test_what_loads_says_nothing(proving: Kernel) -> None:
    assert proving.run("%layer proof").stdout == ALL_LOADS
    proving.run("import json\nRATE = 3\ndef area(x=RATE): return json.dumps(x)\nclass Circle: ...\nCircle.area = area")
    assert proving.run("display = 3\ndef shows():\n    get_ipython()\n    print(In)").error is None
    answer = wait(proving)
    assert (answer.notices, answer.perdure["warnings"]) == ([], [])
    assert proved(proving) == {}


def test_it_is_told_once_for_each_text_and_to_agents_and_consoles(proving: Kernel) -> None:
    proving.run("import os\nos.environ['UNIT'] = 'm'")
    proving.run("def area(unit=os.environ['UNIT']): return 1")
    said = f"area{WILL_NOT}it raised KeyError: 'UNIT' at line 4"
    notebook = wait(proving, kind="notebook")
    assert (notebook.notices, notebook.perdure["warnings"]) == ([], [said])
    console = proving.run("1", kind="console")
    assert (console.notices, console.perdure["warnings"]) == ([f"[layer: {said}]"], [])
    assert proving.run("1").notices == []
    # Run again, and with others that are proved again.
    proving.run("def area(unit=os.environ['UNIT']): return 1")
    proving.run("def other(x=area): return x")
    assert wait(proving).notices == [
        f"[layer: other{WILL_NOT}it needs area to load, and functions/a/area.py is skipped]"
    ]
    # Another text that fails is another.
    proving.run("def area(unit=os.environ['UNIT']): return 2")
    assert wait(proving).notices == [f"[layer: {said}]"]
    # Mended, so is what needs it.
    proving.run("def area(unit='m'): return 2")
    assert wait(proving).notices == []
    assert proved(proving) == {}


def test_what_was_replaced_or_forgotten_meanwhile_is_not_told(proving: Kernel) -> None:
    proving.run(
        "import os\nos.environ['UNIT'] = 'm'\ndef area(u=os.environ['UNIT']): ...\ndef gone(u=os.environ['UNIT']): ..."
    )
    answer = proving.run("get_ipython().workspace.proving.rest()\ndef area(u='m'): ...\ndel gone", kind="agent")
    assert [line for line in answer.notices if WILL_NOT in line] == []
    assert answer.perdure["warnings"] == []
    assert proved(proving) == {}


def test_what_needs_a_definition_that_is_forgotten_or_changed_is_told(proving: Kernel) -> None:
    proving.run("BASE = 3\ndef deco(f):\n    return f")
    proving.run("def area(x=BASE): ...\n@deco\ndef round_(): ...\ndef fine(): ...")
    assert proved(proving) == {}
    proving.run("del BASE")
    proving.run("def deco(f, unit):\n    return f")
    told = proved(proving)
    assert told["area"] == "it needs BASE to load, which nothing defines"
    assert told["round_"].startswith("it raised TypeError: deco() missing 1 required positional argument: 'unit'")
    assert told.keys() == {"area", "round_"}


def test_definitions_below_the_layer_are_there(
    home: Home, new_kernel: StartKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = home.root.resolve() / "team"
    (team / "functions").mkdir(parents=True)
    (team / "functions/deco.py").write_text("import os\n\n\ndef deco(f):\n    return f\n")
    for folder in (team, team / "functions"):
        folder.chmod(0o700)
    for name, value in home.environ.items():
        monkeypatch.setenv(name, value)
    TrustRecord(home.state / "perdure", RealDisk()).accept(team)
    kernel = new_kernel(PERDURE_CELLS=str(team)).start(PROVES)
    kernel.run("@deco\ndef area(): ...")
    assert proved(kernel) == {}
    # What a kernel has not loaded is not run: neither here nor of the layer.
    (team / "functions/deco.py").write_text(f"open({str(home.root / 'ran')!r}, 'w')\n\n\ndef deco(f): ...\n")
    (home.layer / "functions/o").mkdir(parents=True)
    (home.layer / "functions/o/other.py").write_text(
        f"@area.x\ndef other(x=open({str(home.root / 'ran')!r}, 'w')): ...\n"
    )
    kernel.run("@deco\ndef area(): return 2")
    assert proved(kernel) == {}
    assert not (home.root / "ran").exists()


def test_a_startup_file_may_have_what_a_definition_needs(home: Home, new_kernel: StartKernel) -> None:
    startup = home.ipython / "profile_default/startup"
    startup.mkdir(parents=True)
    (startup / "mine.py").write_text("import os, sys\ndef trace(f): return f\nos.environ['OF_THE_START'] = '1'\n")
    kernel = new_kernel().start(PROVES)
    kernel.run("import os\n@trace\ndef area(): ...\ndef unit(x=os.environ['OF_THE_START']): ...")
    assert proved(kernel) == {}


# What hangs, kills or floods.


def test_hostile_definitions_cost_themselves_and_the_kernel_goes_on(proving: Kernel) -> None:
    proving.run("import ctypes, os, sys, time\nos.environ['HERE'] = '1'\nhere = lambda: os.environ.get('HERE')")
    texts = {
        "sleeps": "time.sleep(1000)",
        "segfaults": "ctypes.string_at(0)",
        "floods": "[print('x' * 10_000) for _ in iter(int, 1)]",
        "leaves": "os._exit(3)",
    }
    for name, what in texts.items():
        # Live it does no harm.
        assert proving.run(f"def {name}(x=os.environ.get('HERE') or {what}): return x").error is None
    proving.run("def good(): return 'good'")
    told = proved(proving)
    assert told == {
        "sleeps": "it took over 0.5 s to load",
        "segfaults": "it killed the process that tried it (signal SIGSEGV)",
        "floods": "it took over 0.5 s to load",
        "leaves": "it killed the process that tried it (exit status 3)",
    }
    assert proving.run("print(good())").stdout == "good\n"
    assert proving.log.count("Traceback") == 0
    assert children(pid(proving)) == []


def waits_in_a_proof(kernel: Kernel) -> FileIO:
    """Keep a definition whose proof waits for ever, and wait until it does; this ends when its process has."""
    pipe = kernel.home.root / "pipe"
    os.mkfifo(pipe)
    waits = f"os.write(os.open({str(pipe)!r}, os.O_WRONLY), b'!') and time.sleep(1000)"
    text = f"import os, time\nos.environ['HERE'] = '1'\ndef waits(x=os.environ.get('HERE') or {waits}): ..."
    assert kernel.run(text).error is None
    file = FileIO(pipe)
    assert file.read(1) == b"!"
    return file


def test_the_end_of_the_kernel_is_the_end_of_its_proof(new_kernel: StartKernel) -> None:
    kernel = new_kernel().start(PROVES)
    process = pid(kernel)
    with waits_in_a_proof(kernel) as file:
        (child,) = children(process)
        assert "proof_process" in child
        assert kernel.shutdown() == 0
        assert file.read() == b""


def test_a_kernel_that_is_killed_takes_its_proof_along(new_kernel: StartKernel) -> None:
    kernel = new_kernel().start(PROVES)
    process = pid(kernel)
    with waits_in_a_proof(kernel) as file:
        os.kill(process, signal.SIGKILL)
        assert file.read() == b""


def test_what_is_kept_while_a_proof_runs_is_proved_next_and_no_cell_waits(new_kernel: StartKernel) -> None:
    kernel = new_kernel().start(PROVES, "--PerdureKernel.boot_file_seconds=3")
    waits_in_a_proof(kernel).close()
    for number in range(5):
        assert kernel.run(f"def f{number}(x=os.environ['HERE']): ...").error is None
    assert kernel.run("def waits(): ...").error is None  # and so the proof of the earlier one tells nothing
    assert len([line for line in children(pid(kernel)) if "proof_process" in line]) == 1
    assert proved(kernel) == {f"f{n}": "it raised KeyError: 'HERE' at line 4" for n in range(5)}


# Where there is none.


def test_without_the_setting_no_process_is_started(kernel: Kernel) -> None:
    kernel.run("import os, threading\nos.environ['UNIT'] = 'm'\ndef area(u=os.environ['UNIT']): ...")
    assert children(pid(kernel)) == []
    names = kernel.run("sorted(t.name for t in threading.enumerate())").value or ""
    assert "perdure-proof" not in names
    told = 'Nothing is proved here; c.PerdureKernel.proof = "process" asks for it.\n'
    assert kernel.run("%layer proof").stdout == told
    assert kernel.run("import sys; [m for m in sys.modules if 'proof' in m or 'proving' in m]").value == "[]"


def test_a_proof_that_cannot_be_had_is_told_once(proving: Kernel) -> None:
    proving.run("import sys; executable, sys.executable = sys.executable, '/nowhere/python'")
    proving.run("def area(): ...")
    (told,) = wait(proving).notices
    assert told.startswith("[layer: what is kept could not be proved; no process could be started (")
    assert told.endswith('; c.PerdureKernel.proof = "static" asks for none]')
    proving.run("def area(): return 2")
    assert wait(proving).notices == []
    proving.run("sys.executable = executable; import os; os.environ['UNIT'] = 'm'\ndef area(u=os.environ['UNIT']): ...")
    assert proved(proving).keys() == {"area"}
