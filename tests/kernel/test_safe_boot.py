"""Kernels that start although a definition hangs, kills, floods or meddles: each costs itself and one notice."""

from __future__ import annotations

import signal

import pytest

from perdure.layer.disk import RealDisk
from perdure.layer.trust import TrustRecord

from .conftest import StartKernel
from .driver import Kernel, KernelDied
from .home import Home

QUICK = "--PerdureKernel.boot_file_seconds=0.3"
GOOD = "def good():\n    return 'good'\n"


def put(home: Home, **texts: str) -> None:
    """Write definition files by hand, by name, and commit them."""
    for name, text in texts.items():
        file = home.layer / "functions" / name[0] / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    home.git("add", "--all")
    home.git("commit", "-q", "-m", "by hand")


def definition(name: str, *statements: str) -> str:
    """A definition after statements that run as it loads."""
    return "\n".join([*statements, "", "", f"def {name}():", f"    return {name!r}", ""])


def skips(kernel: Kernel) -> dict[str, str]:
    """Why each file was skipped, by name."""
    lines = kernel.run("%cells").stdout.splitlines()
    told = [line.removeprefix("  skipped ").partition(": ") for line in lines if line.startswith("  skipped ")]
    return {path.rpartition("/")[2].removesuffix(".py"): reason for path, _, reason in told}


def starts(kernel: Kernel, *arguments: str) -> bool:
    """Whether the kernel starts, or dies on the way."""
    try:
        kernel.start(*arguments)
    except KernelDied:
        kernel.kill()
        return False
    return True


# What does not end.

ENDLESS = {
    "loops": ["while True:", "    pass"],
    "sleeps": ["import time", "while True:", "    time.sleep(1)"],
    "catches": ["import time", "while True:", "    try:", "        time.sleep(1)", "    except:", "        pass"],
    "waits": ["import threading", "threading.Event().wait()"],
    "goes_on": ["import time", "try:", "    time.sleep(60)", "except BaseException:", "    pass"],
    "meddles": [
        "import signal",
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)",
        "signal.alarm(0)",
    ],
}


def test_what_does_not_end_is_stopped_and_the_rest_is_loaded(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, good=GOOD, zed=definition("zed"), **{name: definition(name, *ENDLESS[name]) for name in ENDLESS})
    kernel = new_kernel().start(QUICK)
    slow = "it took over 0.3 s to load"
    assert skips(kernel) == {name: slow for name in ENDLESS if name != "meddles"}
    assert kernel.run("good(), zed(), meddles()").value == "('good', 'zed', 'meddles')"
    assert kernel.run("goes_on").error == "NameError: name 'goes_on' is not defined"


def test_the_whole_start_is_bounded_and_what_had_no_turn_says_so(layer: Home, new_kernel: StartKernel) -> None:
    hang = ["import time", "time.sleep(60)"]
    put(layer, **{f"h{i:02}": definition(f"h{i:02}", *hang) for i in range(40)})
    told = skips(new_kernel().start("--PerdureKernel.boot_seconds=1"))
    assert len(told) == 40
    reasons = {reason.partition(" s ")[2] if "over" in reason else reason for reason in told.values()}
    assert reasons == {"to load", "the start had taken 1 s before its turn came"}


def test_what_hung_last_time_comes_last(layer: Home, new_kernel: StartKernel) -> None:
    statements = ["import time", "globals().get('zed') and print('after zed')", "time.sleep(60)"]
    put(layer, hangs=definition("hangs", *statements), zed=definition("zed"))
    kernel = new_kernel().start(QUICK)
    assert not any("after zed" in line for line in kernel.hello)
    kernel.kill()
    kernel.start(QUICK)
    assert any("after zed" in line for line in kernel.hello)
    assert skips(kernel) == {"hangs": "it took over 0.3 s to load"}


def test_an_interrupt_skips_the_one_that_is_loading(layer: Home, new_kernel: StartKernel) -> None:
    me = ["import os, signal, time", "os.kill(os.getpid(), signal.SIGINT)", "time.sleep(60)"]
    put(layer, good=GOOD, slow=definition("slow", *me), zed=definition("zed"))
    kernel = new_kernel().start()
    assert skips(kernel) == {"slow": "it was interrupted"}
    assert kernel.run("good(), zed()").value == "('good', 'zed')"


# What ends the process.

DEADLY = {
    "segfault": (["import ctypes", "ctypes.string_at(0)"], "signal SIGSEGV"),
    "os_exit": (["import os", "os._exit(3)"], "exit status 3"),
    "os_exit_0": (["import os", "os._exit(0)"], "exit status 0"),
    "aborts": (["import os", "os.abort()"], "signal SIGABRT"),
    "kills": (["import os", "os.kill(os.getpid(), 9)"], "signal SIGKILL"),
    "kills_all": (["import os", "os.killpg(0, 9)"], "signal SIGKILL"),
}


@pytest.mark.parametrize("name", DEADLY)
def test_what_kills_the_kernel_is_skipped_by_the_next(layer: Home, new_kernel: StartKernel, name: str) -> None:
    statements, how = DEADLY[name]
    put(layer, good=GOOD, zed=definition("zed"), **{name: definition(name, *statements)})
    kernel = new_kernel()
    assert not starts(kernel)
    assert starts(kernel)
    said = f"it killed the kernel at the last start ({how})"
    assert kernel.hello[0] == f"[layer: skipped functions/{name[0]}/{name}.py: {said}]"
    assert kernel.run("good(), zed()").value == "('good', 'zed')"
    kernel.restart()
    assert skips(kernel)[name].startswith("it killed the kernel at a start (")
    # Mended, it is loaded again.
    put(layer, **{name: definition(name)})
    kernel.restart()
    assert kernel.hello == []


def test_what_nothing_can_stop_is_skipped_once_somebody_ended_the_kernel(layer: Home, new_kernel: StartKernel) -> None:
    """A loop in C that looks at no signal; whoever waits for the kernel gives up and kills it."""
    statements = ["import builtins, itertools, os, subprocess", "if hasattr(builtins, 'get_ipython'):"]
    statements += ["    subprocess.Popen(['sh', '-c', f'sleep 1; kill -9 {os.getpid()}'])", "sum(itertools.repeat(0))"]
    put(layer, good=GOOD, stuck=definition("stuck", *statements))
    kernel = new_kernel()
    assert not starts(kernel, QUICK)
    assert starts(kernel, QUICK)
    assert skips(kernel) == {
        "stuck": "it killed the kernel at the last start (tried by itself, it took over 0.3 s to load)"
    }
    assert kernel.run("good()").value == "'good'"


def test_one_that_was_loading_when_somebody_else_killed_the_kernel_comes_back(
    layer: Home, new_kernel: StartKernel
) -> None:
    """It lets itself be killed once."""
    once = layer.root / "once"
    statements = ["import os", f"if not os.path.exists({str(once)!r}):", f"    open({str(once)!r}, 'w').close()"]
    put(layer, good=GOOD, unlucky=definition("unlucky", *statements, "    os.kill(os.getpid(), 9)"))
    kernel = new_kernel()
    assert not starts(kernel)
    assert starts(kernel)
    assert skips(kernel)["unlucky"] == (
        "it killed the kernel at the last start (tried by itself it did no harm, so the next start loads it)"
    )
    kernel.restart()
    assert kernel.run("unlucky()").value == "'unlucky'"


def test_running_the_same_text_brings_it_back(layer: Home, new_kernel: StartKernel) -> None:
    where = layer.root / "calm"
    text = definition("mood", "import os", f"os.path.exists({str(where)!r}) or os._exit(1)")
    put(layer, mood=text)
    kernel = new_kernel()
    assert not starts(kernel)
    assert starts(kernel)
    where.touch()
    kernel.run(text)
    kernel.restart()
    assert kernel.run("mood()").value == "'mood'"


def test_killers_in_several_folders_cost_one_start(layer: Home, new_kernel: StartKernel) -> None:
    team = layer.root.resolve() / "team"
    team.mkdir(mode=0o700)
    (team / "functions").mkdir(mode=0o700)
    (team / "functions/base.py").write_text("def base():\n    return 1\n")
    (team / "functions/dies.py").write_text("import os\nos._exit(1)\n\n\ndef dies(): ...\n")
    TrustRecord(layer.state / "perdure", RealDisk()).accept(team)
    put(
        layer,
        above="def above(x=base()):\n    return x\n",
        kills=definition("kills", "import os", "base() and os.abort()"),
    )
    kernel = new_kernel(PERDURE_CELLS=str(team))
    assert not starts(kernel)
    assert starts(kernel)
    assert kernel.hello[:2] == [
        f"[layer: skipped {team}/functions/dies.py: it killed the kernel at the last start (exit status 1)]",
        "[layer: skipped functions/k/kills.py: it killed the process that tried it (signal SIGABRT)]",
    ]
    assert kernel.run("above()").value == "1"


def test_a_kernel_that_is_killed_while_a_cell_runs_accuses_nothing(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, good=GOOD)
    kernel = new_kernel().start()
    kernel.send("import os; os.kill(os.getpid(), 9)")
    assert kernel.wait_for_exit() == -signal.SIGKILL
    kernel.kill()
    kernel.start()
    assert kernel.hello == []
    assert kernel.run("good()").value == "'good'"


# What meddles.


def test_a_flood_of_output_is_told_in_one_notice_of_bounded_length(layer: Home, new_kernel: StartKernel) -> None:
    flood = ["import os, subprocess, sys", "print('first')", "line = b'x' * 100_000", "for _ in range(1_000):"]
    flood += ["    os.write(1, line)", "    print('y' * 100_000, file=sys.stderr)"]
    put(layer, flood=definition("flood", *flood, "subprocess.run(['echo', 'last'])"), good=GOOD)
    kernel = new_kernel().start()
    (told,) = kernel.hello
    assert told.startswith("[layer: loading printed:\nfirst\n")
    assert "characters …]" in told
    assert "last" in told
    assert len(told) < 11_000
    assert kernel.run("print(flood(), good())").stdout == "flood good\n"


MEDDLING = {
    "closes": ["import os", "os.close(1)", "os.close(2)"],
    "moves": ["import os", "os.chdir('/')"],
    "handles": ["import signal", "signal.signal(signal.SIGTERM, lambda *_: None)"],
    "threads": ["import threading", "def loop():", "    while True:", "        pass"],
    "forks": ["import os", "os.fork()"],
    "forks_and_leaves": ["import os, sys", "if not os.fork():", "    sys.exit()"],
    "recursion": ["def deep():", "    deep()", "deep()"],
    "memory": ["b'x' * (1 << 62)"],
    "leaves": ["raise SystemExit"],
    "interrupts": ["raise KeyboardInterrupt"],
    "generator": ["raise GeneratorExit"],
    "own": ["class Own(BaseException): pass", "raise Own('way')"],
    "redirects": ["import sys", "sys.stdout = sys.stderr = None"],
}
RAISES = {
    "recursion": "it raised RecursionError: ",
    "memory": "it raised ",
    "leaves": "it raised SystemExit at line 1",
    "interrupts": "it raised KeyboardInterrupt at line 1",
    "generator": "it raised GeneratorExit at line 1",
    "own": "it raised Own: way at line 2",
}


def test_what_meddles_costs_itself_at_most(layer: Home, new_kernel: StartKernel) -> None:
    texts = {name: definition(name, *statements) for name, statements in MEDDLING.items()}
    texts["threads"] = texts["threads"] + "\nthreading.Thread(target=loop, daemon=True).start()\n"
    put(layer, good=GOOD, zed=definition("zed"), **texts)
    kernel = new_kernel().start()
    told = skips(kernel)
    for name, reason in RAISES.items():
        assert told.pop(name).startswith(reason)
    assert told.keys() <= {"threads"}
    assert kernel.run("print(good(), zed())").stdout == "good zed\n"
    assert kernel.run("import os; os.getcwd()").value == repr(str(layer.work))


def test_a_definition_that_deletes_the_layer(layer: Home, new_kernel: StartKernel) -> None:
    delete = ["import shutil", f"shutil.rmtree({str(layer.layer)!r})"]
    put(layer, a_good=definition("a_good"), delete=definition("delete", *delete), zed=definition("zed"))
    kernel = new_kernel().start()
    assert kernel.run("a_good(), delete(), zed()").value == "('a_good', 'delete', 'zed')"
    (told,) = kernel.run("def new(): ...").notices[-1:]
    assert "new not kept" in told


def test_a_cache_that_cannot_be_written_is_done_without(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, good=GOOD)
    (layer.root / "cache").write_text("no folder")
    kernel = new_kernel().start()
    assert kernel.hello == []
    assert kernel.run("good()").value == "'good'"


def test_a_start_leaves_no_mark_of_itself(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, good=GOOD)
    new_kernel().start()
    (folder,) = (layer.root / "cache/perdure/boot").iterdir()
    assert [file.name for file in folder.iterdir()] == ["known.jsonl"]


# All of it at once.

HOSTILE = [
    ["import ctypes", "ctypes.string_at(0)"],
    ["import os", "os._exit({i})"],
    ["import os", "os.abort()"],
    ["import os", "os.kill(os.getpid(), 9)"],
    ["while True:", "    pass"],
    ["import time", "time.sleep(1000)"],
    ["raise BaseException({i})"],
    ["import os", "os.killpg(0, 9)"],
    ["import os", "if not os.fork():", "    os.kill(os.getppid(), 9)", "    os._exit(2)", "os.wait()"],
    ["import sys", "sys.exit({i})"],
]


def test_torture(layer: Home, new_kernel: StartKernel) -> None:
    """50 hostile definitions among 500 good ones, some of which need others to load."""
    good = {f"{'abcdefghij'[i % 10]}_good_{i}": i for i in range(500)}
    texts = {}
    for name, i in good.items():
        needs = f"={list(good)[i - 1]}" if i % 3 else "=None"
        texts[name] = f"def {name}(before{needs}):\n    return {i}\n"
    hostile = [f"{'abcdefghij'[i % 10]}_hostile_{i}" for i in range(50)]
    for i, name in enumerate(hostile):
        texts[name] = definition(name, *(line.format(i=i) for line in HOSTILE[i % len(HOSTILE)]))
    put(layer, **texts)
    bounds = ("--PerdureKernel.boot_file_seconds=0.2", "--PerdureKernel.boot_seconds=60")
    kernel = new_kernel()
    assert not starts(kernel, *bounds)
    assert starts(kernel, *bounds)
    told = skips(kernel)
    assert {name: why for name, why in told.items() if "good" in name} == {}
    assert kernel.run(f"[{', '.join(f'{name}()' for name in good)}] == [*range(500)]").value == "True"
    told = skips(kernel)
    assert told.keys() == {*hostile}
    assert all(told.values())


@pytest.mark.parametrize(
    "default",
    ["os.closerange(3, 200)", "asyncio.get_event_loop().close()", "asyncio.get_event_loop().call_soon(os._exit, 1)"],
)
def test_what_ends_the_kernel_after_it_was_loaded_is_left_out_of_the_next_start(
    layer: Home, new_kernel: StartKernel, default: str
) -> None:
    put(layer, good=GOOD)
    kernel = new_kernel().start()
    kernel.kill()
    put(layer, late=f"import asyncio\nimport os\nimport threading\n\n\ndef late(x={default}): ...\n")
    assert not starts(kernel)
    assert starts(kernel)
    assert skips(kernel) == {
        "late": "a start ended when all was loaded; what is new is left out of this one, and loaded by the next"
    }
    assert kernel.run("good()").value == "'good'"
    assert kernel.run("%forget late").notices == ["[layer: forgot late]"]
    assert kernel.restart().hello == []
