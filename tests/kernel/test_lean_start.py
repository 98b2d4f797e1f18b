"""A start costs what plain ipykernel's costs: what it does without, and that nothing of the user's shows it."""

from __future__ import annotations

from perdure.kernel.later import _ROOMS
from perdure.layer.git_dulwich import NEEDED

from .conftest import StartKernel
from .driver import STOCK, Kernel
from .home import Home
from .starts import Starts

# Neither names nor binds anything of the layer, and imports nothing.
_MODULES = "print(*__import__('sys').modules)"
_COLLECTOR = "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.get_debug())"
_WATCH = """
def watch():
    import sys, time
    from pathlib import Path
    while not ({condition}):
        time.sleep(0.01)
    print("there it is")

__import__("threading").Thread(target=watch, daemon=True).start()
"""

# What a definition needs that is made, and what a layer needs that is asked or changed.
LATE = {f"perdure.layer.{room}" for room in _ROOMS}
NOT_AT_START = LATE | {
    *("debugpy", "dulwich", "rich", "tomllib", "fractions"),
    *("perdure.layer.undo", "perdure.layer.past", "perdure.layer.refresh", "perdure.layer.bundling"),
    *("perdure.kernel.layer_views", "perdure.kernel.layer_changes", "perdure.kernel.projects", "perdure.kernel.shown"),
    *("perdure.kernel.notebook", "perdure.kernel.later"),
}
NOT_IN_A_REPLAY = {
    f"perdure.layer.{room}" for room in "boot boot_files facts fileformat scope order deferral loading mentions".split()
}


def test_the_first_reply_waits_for_no_more_than_it_needs(home: Home) -> None:
    starts = Starts(home)
    try:
        starts.start().run("def area(r):\n    return r * r\n\nclass Circle: ...")
        starts.write()
        kernel = starts.start()
        there = {*kernel.run(_MODULES).stdout.split()}
        assert starts.is_replayed()
    finally:
        starts.kernel.kill()
    assert "perdure.layer.room" in there
    assert there & (NOT_AT_START | NOT_IN_A_REPLAY) == set()


def test_what_cells_are_likely_to_need_comes_when_nothing_is_to_be_done(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    watch_for(kernel, f"{ {*LATE, *NEEDED}!r} <= sys.modules.keys()")


def watch_for(kernel: Kernel, condition: str) -> None:
    """Wait until `condition` holds in the kernel, which has nothing else to do."""
    kernel.run(f"%%scratch{_WATCH.format(condition=condition)}")
    kernel.wait_for_message("stream", lambda content: "there it is" in content["text"])


def test_the_garbage_collector_is_as_in_any_kernel(home: Home, new_kernel: StartKernel) -> None:
    (home.ipython / "profile_default" / "startup").mkdir(parents=True)
    (home.ipython / "profile_default" / "startup" / "look.py").write_text(f"{_COLLECTOR}\nSEEN = gc.isenabled()\n")
    stock = new_kernel(STOCK).start().run(_COLLECTOR).stdout
    kernel = new_kernel().start()
    assert kernel.run(_COLLECTOR).stdout == stock
    assert kernel.run("SEEN").value == "True"


def test_a_collector_that_was_off_stays_off(home: Home, new_kernel: StartKernel) -> None:
    site = home.root / "site"
    site.mkdir()
    (site / "usercustomize.py").write_text("")
    (site / "sitecustomize.py").write_text("import gc\ngc.disable()\n")
    kernel = new_kernel(PYTHONPATH=_with(site)).start()
    assert kernel.run("import gc\ngc.isenabled()").value == "False"


def _with(folder: object) -> str:
    import os

    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_the_debugger_is_there_though_nothing_of_it_is_loaded(home: Home, new_kernel: StartKernel) -> None:
    features = "get_ipython().kernel.kernel_info['supported_features']"
    stock = new_kernel(STOCK).start().run(features).value
    kernel = new_kernel().start()
    assert kernel.run(features).value == stock
    assert kernel.run("'debugpy' in __import__('sys').modules").value == "False"
    assert kernel.run("import ipykernel.debugger\nipykernel.debugger.Debugger").value == "ipykernel.debugger.Debugger"
    assert kernel.run(
        "import sys\n'debugpy' in sys.modules, sys.modules['ipykernel.debugger'].__spec__.name"
    ).value == ("(True, 'ipykernel.debugger')")
