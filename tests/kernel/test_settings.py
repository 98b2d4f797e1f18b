"""Settings of a config file and of the command line: what cannot be costs one notice, and the kernel starts."""

from __future__ import annotations

import re

import pytest

from .conftest import StartKernel
from .home import Home

BOUND = "not a number from 0.001 to 86400"


def configure(home: Home, *lines: str) -> None:
    config = home.ipython / "profile_default" / "ipython_kernel_config.py"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("\n".join(lines), encoding="utf-8")


def test_each_bad_value_of_a_config_file_costs_a_notice(home: Home, new_kernel: StartKernel) -> None:
    configure(
        home,
        "c.PerdureKernel.notebook_notices = 'loud'",
        "c.PerdureKernel.console_notices = None",
        "c.PerdureKernel.agent_notices = ['all']",
        "c.PerdureKernel.layer = 5",
        "c.PerdureKernel.defer = 'never'",
        "c.PerdureKernel.boot_seconds = -1",
        "c.PerdureKernel.boot_file_seconds = float('nan')",
        "c.PerdureKernel.cells = (n for n in ())",
    )
    kernel = new_kernel().start()
    where = "[layer: c.PerdureKernel."
    told = sorted(re.sub("<generator.*>", "<generator>", line) for line in kernel.hello)
    assert told == [
        f"{where}agent_notices is ['all'], not one of all, problems, none; all is used]",
        f"{where}boot_file_seconds is nan, {BOUND}; 10 is used]",
        f"{where}boot_seconds is -1, {BOUND}; 30 is used]",
        f"{where}cells is <generator>, not a list of texts; that counts as not set]",
        f"{where}console_notices is None, not one of all, problems, none; all is used]",
        f"{where}defer is 'never', not True or False; True is used]",
        f"{where}layer is 5, not a text; that counts as not set]",
        f"{where}notebook_notices is 'loud', not one of all, problems, none; problems is used]",
    ]
    answer = kernel.run("def works():\n    return 'works'\nworks()")
    assert (answer.value, answer.notices) == ("'works'", ["[layer: kept works]"])
    assert kernel.run("def again(): ...", kind="notebook").notices == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--PerdureKernel.defer=maybe"], "defer is 'maybe', not True or False; True is used"),
        (["--PerdureKernel.boot_seconds=soon"], f"boot_seconds is 'soon', {BOUND}; 30 is used"),
    ],
)
def test_a_bad_value_of_the_command_line(new_kernel: StartKernel, arguments: list[str], said: str) -> None:
    kernel = new_kernel().start(*arguments)
    assert kernel.hello == [f"[layer: c.PerdureKernel.{said}]"]


def test_a_mode_that_cannot_be_writes_nothing(home: Home, new_kernel: StartKernel) -> None:
    configure(home, "c.PerdureKernel.mode = False")
    kernel = new_kernel().start()
    assert "[layer: c.PerdureKernel.mode is False, not a text; readonly is used]" in kernel.hello
    assert kernel.run("def works(): ...").perdure["kept"] == []
    assert home.files() == {}


def test_values_that_can_be_are_used(home: Home, new_kernel: StartKernel) -> None:
    configure(
        home,
        "from pathlib import Path",
        f"c.PerdureKernel.layer = Path({str(home.root / 'other')!r})",
        "c.PerdureKernel.boot_seconds = 3",
        "c.PerdureKernel.cells.append('nowhere')",
        "c.PerdureKernel.notebook_notices = 'none'",
    )
    del home.environ["PERDURE_LAYER"]
    kernel = new_kernel().start()
    assert len(kernel.hello) == 1
    assert "nowhere is not there" in kernel.hello[0]
    kernel.run("def works(): ...")
    assert (home.root / "other" / "functions" / "w" / "works.py").exists()
    assert kernel.run("SUM = print(1)", kind="notebook").notices == []
