"""Which notices a cell shows: by the kind of request, by what the request asks, and by config (DESIGN §5)."""

from __future__ import annotations

from typing import Any

import pytest

from .driver import Kernel
from .home import Home


def define(kernel: Kernel, name: str, **options: Any) -> list[str]:
    """The notices of a cell with a success and a problem in it."""
    cell = f"{name}_data = [1][:]\ndef {name}_ok():\n    return 1\ndef {name}_needs():\n    return {name}_data"
    return kernel.run(cell, **options).notices


def success(name: str) -> str:
    return f"[layer: kept {name}_ok]"


def problem(name: str) -> str:
    return f"[layer: kept {name}_needs; needs {name}_data (not kept)]"


@pytest.mark.parametrize("kind", ["agent", "console"])
def test_agents_and_consoles_get_all(shared: Kernel, kind: str) -> None:
    assert define(shared, f"all_{kind}", kind=kind) == [success(f"all_{kind}"), problem(f"all_{kind}")]


def test_notebooks_get_problems(shared: Kernel) -> None:
    assert define(shared, "problems", kind="notebook") == [problem("problems")]


def test_a_notebook_run_again_shows_the_same(shared: Kernel) -> None:
    assert define(shared, "again", kind="notebook") == define(shared, "again", kind="notebook")


def test_a_request_can_choose(shared: Kernel) -> None:
    assert define(shared, "chosen_all", kind="notebook", notices="all") == [
        success("chosen_all"),
        problem("chosen_all"),
    ]
    assert define(shared, "chosen_some", kind="agent", notices="problems") == [problem("chosen_some")]
    assert define(shared, "chosen_none", kind="agent", notices="none") == []


def test_a_request_of_a_cell_is_a_notebooks(shared: Kernel) -> None:
    asked = define(shared, "celled", kind=None, metadata={"cellId": "c-1"}, allow_stdin=True)
    assert asked == [problem("celled")]


def test_a_request_that_nobody_can_answer_is_a_notebooks(shared: Kernel) -> None:
    assert define(shared, "deaf", kind=None, allow_stdin=False) == [problem("deaf")]


def test_any_other_request_is_a_consoles(shared: Kernel) -> None:
    assert define(shared, "typed", kind=None, allow_stdin=True) == [success("typed"), problem("typed")]


@pytest.mark.parametrize(
    "metadata",
    [{"perdure": None}, {"perdure": []}, {"perdure": {"kind": 5, "notices": ["all"], "notebook": {}}}],
    ids=["null", "a list", "wrong types"],
)
def test_metadata_of_a_wrong_form_counts_as_none(shared: Kernel, metadata: dict[str, object]) -> None:
    assert shared.run("1 + 1", kind=None, metadata=metadata).value == "2"


def test_config_changes_what_a_kind_shows(home: Home) -> None:
    kernel = Kernel(home)
    try:
        kernel.start("--PerdureKernel.notebook_notices=none", "--PerdureKernel.agent_notices=problems")
        assert define(kernel, "configured", kind="notebook") == []
        assert define(kernel, "configured_too", kind="agent") == [problem("configured_too")]
    finally:
        kernel.kill()


def test_notices_come_as_one_muted_display_behind_the_output(shared: Kernel) -> None:
    answer = shared.run("print('printed')\ndef shown():\n    return '<b>'\nshown()")
    assert [m["msg_type"] for m in answer.iopub if m["msg_type"] != "status"] == [
        "execute_input",
        "stream",
        "execute_result",
        "display_data",
    ]
    content = answer.of_type("display_data")[0]["content"]
    assert content["data"]["text/plain"] == "[layer: kept shown]"
    html = content["data"]["text/html"]
    assert html.startswith('<pre style="opacity: 0.6;')
    assert html.endswith('">[layer: kept shown]</pre>')
    assert content["metadata"] == {"perdure": {"notices": ["[layer: kept shown]"]}}


def test_html_notices_are_escaped(shared: Kernel) -> None:
    answer = shared.run("ESCAPED = open('nothing<b>', 'w').name")
    assert "&lt;" not in answer.of_type("display_data")[0]["content"]["data"]["text/plain"]
    answer = shared.run("ESCAPED_TOO = (lambda: 1 < 2 and print('<b>'))()")
    assert "<b>" not in answer.of_type("display_data")[0]["content"]["data"]["text/html"]


@pytest.mark.parametrize("options", [{"silent": True}, {"store_history": False}], ids=["silent", "no history"])
def test_a_front_end_that_looks_in_keeps_nothing(shared: Kernel, options: dict[str, Any]) -> None:
    answer = shared.run("def looked_in():\n    return 1", kind=None, allow_stdin=True, **options)
    assert answer.notices == []
    assert answer.perdure["kept"] == []
    assert "functions/l/looked_in.py" not in shared.home.files()


def test_a_notebooks_cell_out_of_the_history_is_kept(shared: Kernel) -> None:
    # nbval runs them so.
    answer = shared.run("def validated():\n    return 1", kind=None, allow_stdin=False, store_history=False)
    assert answer.perdure["kept"] == ["validated"]


def test_an_agents_cell_out_of_the_history_is_kept(shared: Kernel) -> None:
    answer = shared.run("def agents_aside():\n    return 1", kind="agent", store_history=False)
    assert answer.perdure["kept"] == ["agents_aside"]
    assert "Cell" not in shared.home.log("functions/a/agents_aside.py")[0].trailers


def test_the_reply_says_what_became_of_the_cell(shared: Kernel) -> None:
    answer = shared.run("reply_data = [1][:]\ndef reply_f():\n    return reply_data\nREPLY_CALL = reply_f()")
    assert answer.perdure == {
        "v": 1,
        "session": answer.perdure["session"],
        "state": "done",
        "failed_form": None,
        "kept": ["reply_f"],
        "forgot": [],
        "not_kept": [{"name": "REPLY_CALL", "reason": "it calls reply_f()"}],
        "needs": [{"name": "reply_f", "names": ["reply_data"]}],
        "warnings": [],
    }
