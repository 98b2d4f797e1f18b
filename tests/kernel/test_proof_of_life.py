"""What counts as a sign that a kernel came to life with what it loaded, for the start after it."""

from __future__ import annotations

import pytest

from .conftest import StartKernel
from .driver import Kernel, KernelDied
from .home import Home
from .test_safe_boot import GOOD, put, skips

LATE = {"late": "a start ended when all was loaded; what is new is left out of this one, and loaded by the next"}


def untrusted(home: Home) -> None:
    """Have the layer be one that somebody else made."""
    (home.state / "perdure/trusted.jsonl").unlink()


def ends_in_order(kernel: Kernel) -> None:
    """Ask the kernel to end, and ask it for nothing else before."""
    kernel.hear_reply(kernel.ask("shutdown_request", {"restart": False}, channel="control"))
    assert kernel.wait_for_exit() == 0
    kernel.kill()


@pytest.mark.parametrize("mode", ["on", "readonly"])
def test_trust_as_the_last_cell(layer: Home, new_kernel: StartKernel, mode: str) -> None:
    put(layer, good=GOOD)
    untrusted(layer)
    kernel = new_kernel(PERDURE_MODE=mode).start()
    assert "1 definition" in kernel.run("%layer trust").stdout
    assert kernel.shutdown() == 0
    kernel.start()
    assert kernel.hello == []
    assert kernel.run("good()").value == "'good'"


def test_a_kernel_that_is_killed_once_it_has_replied(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, good=GOOD)
    untrusted(layer)
    kernel = new_kernel().start()
    kernel.run("%layer trust")
    assert kernel.restart().hello == []
    assert kernel.run("good()").value == "'good'"


def test_init_as_the_last_cell(home: Home, new_kernel: StartKernel) -> None:
    del home.environ["PERDURE_LAYER"]
    kernel = new_kernel().start()
    kernel.run("%layer init")
    kernel.kill()
    home.layer = home.work / ".perdure"
    put(home, moved=GOOD.replace("good", "moved"))
    assert kernel.start().hello == []
    assert kernel.run("moved()").value == "'moved'"


def test_a_kernel_that_nobody_asked_for_anything(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, good=GOOD)
    kernel = new_kernel()
    ends_in_order(kernel.launch())
    assert kernel.start().hello == []
    assert kernel.run("good()").value == "'good'"


def test_a_kernel_whose_main_thread_never_answered(layer: Home, new_kernel: StartKernel) -> None:
    """Its control thread did."""
    put(layer, good=GOOD)
    new_kernel().start().kill()
    default = "asyncio.get_event_loop().call_soon(time.sleep, 600)"
    put(layer, late=f"import asyncio\nimport time\n\n\ndef late(x={default}): ...\n")
    kernel = new_kernel().launch()
    kernel.hear_reply(kernel.ask("shutdown_request", {"restart": False}, channel="control"))
    kernel.kill()
    assert skips(kernel.start()) == LATE


def test_what_ends_the_kernel_before_it_can_reply(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, good=GOOD)
    new_kernel().start().kill()
    put(layer, late="import os\n\n\ndef late(x=os.closerange(3, 200)): ...\n")
    untrusted(layer)
    kernel = new_kernel().start()
    with pytest.raises(KernelDied):
        kernel.run("%layer trust")
    kernel.kill()
    assert skips(kernel.start()) == LATE
