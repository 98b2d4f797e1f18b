"""A start tells which definitions it waited for."""

from __future__ import annotations

import re

from .conftest import StartKernel
from .driver import Kernel
from .home import Home
from .starts import Starts
from .test_layer_magics import said
from .test_safe_boot import put

LONG = r"(grid|mesh) took 1\.\d s of the start"
WAITS = "import time\n\n\ndef {0}(x=time.sleep({1})):\n    return x\n"


def tells(kernel: Kernel) -> bool:
    """Whether the kernel tells of its two long loads, once in a cell and always in %layer."""
    told = [line.removeprefix("[layer: ").removesuffix("]") for line in kernel.hello]
    assert [re.fullmatch(LONG, line) is not None for line in told] == [True, True], told
    assert kernel.run("1").notices == []
    assert [line for line in said(kernel, "%layer") if re.fullmatch(LONG, line)] == told
    return told[0].startswith("mesh")  # the longest first


def test_what_takes_over_a_second_is_told_by_a_boot_and_by_a_replay(layer: Home) -> None:
    put(layer, grid=WAITS.format("grid", 1.05), mesh=WAITS.format("mesh", 1.4), quick=WAITS.format("quick", 0))
    starts = Starts(layer)
    assert tells(starts.start())
    starts.write()
    kernel = starts.start()
    assert starts.is_replayed()
    assert tells(kernel)
    kernel.kill()


def test_a_notebook_shows_the_same_each_time(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, grid=WAITS.format("grid", 1.05))
    kernel = new_kernel().launch().hear()
    assert kernel.run("1", kind="notebook").notices == []
    assert len([line for line in said(kernel, "%layer") if re.fullmatch(LONG, line)]) == 1


def test_a_long_start_tells_the_log_what_it_is_at_and_the_banner_how_long_it_took(
    layer: Home, new_kernel: StartKernel
) -> None:
    """Even while what definitions print is caught."""
    put(layer, grid="import os\n\nos.write(2, b'caught')\n\n\n" + WAITS.format("grid", 1.5))
    kernel = new_kernel().start()
    assert f"perdure is loading 1 definition from {layer.layer}\n" in kernel.log
    banner = kernel.request("kernel_info_request", {}).content["banner"]
    assert re.search(r": 1 definition, loaded in \d+\.\d s; %cells lists them\n$", banner)
