"""What a start skipped for want of a definition, and what becomes of it when that is there again."""

from __future__ import annotations

import pytest

from .conftest import StartKernel
from .driver import Kernel
from .home import Home
from .test_layer_magics import said

WET = "WET = 10"
DAYS = "def wet_days(rain):\n    return [mm for mm in rain if mm > WET]"


@pytest.fixture
def without_wet(home: Home, new_kernel: StartKernel) -> Kernel:
    """A kernel whose layer lacks a constant that one function reads, and another needs to load."""
    kernel = new_kernel().start()
    kernel.run(
        f"{WET}\n{DAYS}\ndef unless(rain, least=WET):\n    return rain < least\ndef dry(x=unless):\n    return x(1)"
    )
    kernel.run("del WET")
    kernel.restart()
    assert kernel.hello == [
        "[layer: skipped functions/d/dry.py: it needs unless to load, and functions/u/unless.py is skipped]",
        "[layer: skipped functions/u/unless.py: it needs WET to load, which nothing defines]",
        "[layer: skipped functions/w/wet_days.py: it uses WET, which nothing defines now]",
        "[layer: mend a skipped file or run its definition again; all else is loaded]",
    ]
    return kernel


def test_an_undo_loads_it(without_wet: Kernel) -> None:
    kernel = without_wet
    assert said(kernel, "%layer undo")[1:] == [
        "WET is as it was.",
        "wet_days, unless, dry, which were skipped for want of that, are loaded too.",
    ]
    assert kernel.run("wet_days([1, 20]), dry()").value == "([20], True)"
    assert said(kernel, "%layer skipped") == ["Nothing is skipped."]
    assert kernel.run("def wet_days(rain):\n    return 0").notices == ["[layer: kept wet_days]"]
    assert kernel.restart().hello == []
    assert kernel.run("wet_days([1]), dry()").value == "(0, True)"


def test_an_undo_loads_nothing_over_what_is_here(without_wet: Kernel) -> None:
    kernel = without_wet
    kernel.run("%%scratch\ndef wet_days(rain):\n    return 'mine'")
    assert said(kernel, "%layer undo")[2] == "unless, dry, which were skipped for want of that, are loaded too."
    assert kernel.run("wet_days([1]), dry()").value == "('mine', True)"
    assert [line for line in said(kernel, "%layer skipped") if line.startswith("wet_days: ")] != []


def test_what_does_not_load_then_is_told(home: Home, without_wet: Kernel) -> None:
    file = home.layer / "functions/w/wet_days.py"
    file.write_text(f"1 / 0\n\n\n{DAYS}\n")
    home.git("commit", "-qam", "by hand")
    kernel = without_wet.restart()
    _, wet, others, failed = said(kernel, "%layer undo HEAD~1")
    assert (wet, others) == (
        "WET is as it was.",
        "unless, dry, which were skipped for want of that, are loaded too.",
    )
    assert failed == "functions/w/wet_days.py does not load: it raised ZeroDivisionError: division by zero at line 1."
    assert kernel.run("wet_days").error == "NameError: name 'wet_days' is not defined"


def test_a_refresh_loads_it(home: Home, without_wet: Kernel) -> None:
    home.git("revert", "--no-edit", "HEAD")
    assert said(without_wet, "%layer refresh") == ["Loaded wet_days, WET, unless, dry."]
    assert without_wet.run("wet_days([1, 20]), dry()").value == "([20], True)"
    assert said(without_wet, "%layer skipped") == ["Nothing is skipped."]


def test_a_new_definition_says_that_the_next_start_loads_it(without_wet: Kernel) -> None:
    kernel = without_wet
    told = "unless, wet_days, dry were skipped for want of WET; the next start loads them"
    answer = kernel.run(WET)
    assert answer.notices == ["[layer: kept WET]", f"[layer: {told}]"]
    assert answer.perdure["warnings"] == [told]
    assert kernel.run("WET = 11").notices == ["[layer: kept WET]"]
    assert kernel.restart().hello == []


def test_what_is_run_again_with_it_is_not_told_of(without_wet: Kernel) -> None:
    told = "unless, dry were skipped for want of WET; the next start loads them"
    assert without_wet.run(f"{WET}\n{DAYS}").notices == ["[layer: kept WET, wet_days]", f"[layer: {told}]"]


def test_a_name_error_says_that_it_was_skipped(without_wet: Kernel) -> None:
    kernel = without_wet
    why = "perdure: wet_days was skipped at the start: it uses WET, which nothing defines now; %layer skipped"
    for code in ("wet_days([1])", "def f():\n    return wet_days\nf()"):
        answer = kernel.run(code)
        assert answer.error == "NameError: name 'wet_days' is not defined"
        assert answer.content["traceback"][-1].endswith(why)
    assert "perdure" not in "".join(kernel.run("nowhere").content["traceback"])
    kernel.run("%%scratch\nWET = 1")
    kernel.run(WET)
    later = "perdure: wet_days was skipped at the start for want of WET; the next start loads it"
    assert "".join(kernel.run("wet_days([1])").content["traceback"]).endswith(later)
    kernel.run(DAYS)
    assert kernel.run("wet_days([20])").value == "[20]"
