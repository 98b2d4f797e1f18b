"""Breakpoints in cells: the debugger of JupyterLab stops in perdure where it stops in stock, and goes on."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.packages import Packages

from .conftest import StartKernel
from .driver import PERDURE, STOCK, Kernel
from .home import Home

CELL = "def watched(n):\n    doubled = n * 2\n    return doubled\n\nfirst = 1\nwatched(first) + 1"


def asked(command: str, **arguments: Any) -> dict[str, Any]:
    return {"seq": 0, "type": "request", "command": command, "arguments": arguments}


def debug(kernel: Kernel, command: str, **arguments: Any) -> dict[str, Any]:
    """One request of the debug adapter protocol, answered."""
    reply = kernel.request("debug_request", asked(command, **arguments), channel="control").content
    assert reply.get("success"), reply
    body: dict[str, Any] = reply.get("body") or {}
    return body


@pytest.mark.parametrize("program", [STOCK, PERDURE], ids=["stock", "perdure"])
def test_a_breakpoint_stops_in_a_function_of_a_cell(new_kernel: StartKernel, program: tuple[str, ...]) -> None:
    kernel = new_kernel(program).start()
    debug(kernel, "initialize", clientID="test", adapterID="", pathFormat="path", linesStartAt1=True)
    # Its answer comes after configurationDone only.
    attaching = kernel.ask("debug_request", asked("attach"), channel="control")
    source = {"path": debug(kernel, "dumpCell", code=CELL)["sourcePath"]}
    placed = debug(
        kernel, "setBreakpoints", source=source, breakpoints=[{"line": 2}, {"line": 5}], sourceModified=False
    )
    assert [point["verified"] for point in placed["breakpoints"]] == [True, True]
    debug(kernel, "configurationDone")
    kernel.finish(attaching)
    running = kernel.send(CELL, notices="none")
    for line, name in ((5, "<module>"), (2, "watched")):
        thread = kernel.wait_for_message("debug_event", lambda content: content["event"] == "stopped")["body"][
            "threadId"
        ]
        frame = debug(kernel, "stackTrace", threadId=thread)["stackFrames"][0]
        assert (frame["line"], frame["name"]) == (line, name)
        debug(kernel, "continue", threadId=thread)
    answer = kernel.finish(running)
    assert answer.value == "3"


@pytest.mark.parametrize("program", [STOCK, PERDURE], ids=["stock", "perdure"])
def test_breakpoint_is_passed_over_where_no_debugger_listens(new_kernel: StartKernel, program: tuple[str, ...]) -> None:
    kernel = new_kernel(program).start()
    cell = "def halted(n):\n    breakpoint()\n    return n\n\nhalted(3)"
    for _ in range(2):
        answer = kernel.run(cell)
        assert (answer.error, answer.value, answer.stdout, answer.stderr) == (None, "3", "", "")
    debug(kernel, "debugInfo")
    assert kernel.run(cell, inputs=["c"]).prompts == ()
    assert kernel.run("import sys\nsys.breakpointhook = lambda *_: print('mine')\nbreakpoint()").stdout == "mine\n"


def test_an_expression_in_a_stopped_cell_may_name_what_is_deferred(home: Home, new_kernel: StartKernel) -> None:
    packages = Packages(home.root / "packages", "slow")
    path = os.pathsep.join([str(packages.folder), os.environ.get("PYTHONPATH", "")])
    kernel = new_kernel(PYTHONPATH=path).start()
    kernel.run("from slow import twice\ndef area(x):\n    return twice(x)")
    kernel.restart()
    packages.clear()
    debug(kernel, "initialize", clientID="test", adapterID="", pathFormat="path", linesStartAt1=True)
    attaching = kernel.ask("debug_request", asked("attach"), channel="control")
    source = {"path": debug(kernel, "dumpCell", code=CELL)["sourcePath"]}
    debug(kernel, "setBreakpoints", source=source, breakpoints=[{"line": 2}], sourceModified=False)
    debug(kernel, "configurationDone")
    kernel.finish(attaching)
    running = kernel.send(CELL, notices="none")
    stopped = kernel.wait_for_message("debug_event", lambda content: content["event"] == "stopped")
    thread = stopped["body"]["threadId"]
    frame = debug(kernel, "stackTrace", threadId=thread)["stackFrames"][0]["id"]
    assert packages.imports == []
    assert debug(kernel, "evaluate", expression="area(4)", frameId=frame)["result"] == "8"
    assert packages.imports == ["slow"]
    debug(kernel, "continue", threadId=thread)
    assert kernel.finish(running).value == "3"
