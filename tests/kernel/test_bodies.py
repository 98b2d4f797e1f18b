"""Which statements a `%%time`-like cell runs, and which of them completed when one raised."""

from __future__ import annotations

import ast
from types import TracebackType

import pytest

from perdure.kernel.bodies import Body, body_of, completed


def call(name: str, line: str, body: str) -> ast.stmt:
    """What the shell makes of a cell magic."""
    return ast.parse(f"get_ipython().run_cell_magic({name!r}, {line!r}, {body!r})").body[0]


@pytest.mark.parametrize("name", ["time", "prun"])
def test_the_body_of_a_timed_cell_is_found(name: str) -> None:
    assert body_of(call(name, "", "def f():\n    pass\n")) == Body("def f():\n    pass\n", swallows=False)


@pytest.mark.parametrize("name", ["timeit", "capture", "bash", "writefile", "html", "scratch"])
def test_other_cells_have_none(name: str) -> None:
    assert body_of(call(name, "", "def f(): ...")) is None


@pytest.mark.parametrize(
    "code",
    [
        "x = get_ipython().run_cell_magic('time', '', 'a = 1')",
        "get_ipython().run_line_magic('time', 'a = 1')",
        "get_ipython().run_cell_magic('time', '', body)",
        "get_ipython().run_cell_magic(*'abc')",
        "shell.run_cell_magic('time', '', 'a = 1')",
        "def f(): ...",
        "1",
    ],
)
def test_what_only_looks_alike_has_none(code: str) -> None:
    assert body_of(ast.parse(code).body[0]) is None


def test_a_body_that_swallows_its_error_says_so() -> None:
    body = body_of(call("time", "--no-raise-error", "1/0"))
    assert body is not None
    assert body.swallows


BODY = "a = 1\ndef f():\n    return 1 / 0\n\nb = [\n    f(),\n]\nc = 2\n"


def raised(text: str, filename: str) -> TracebackType | None:
    try:
        exec(compile(text, filename, "exec"), {})
    except Exception as error:
        return error.__traceback__
    raise AssertionError("it did not raise")


@pytest.mark.parametrize("filename", ["<timed exec>", "<timed eval>", "<string>"])
def test_statements_before_the_one_that_raised_are_complete(filename: str) -> None:
    nodes = ast.parse(BODY).body
    assert completed(nodes, raised(BODY, filename)) == nodes[:2]


def test_of_an_error_from_elsewhere_nothing_is_complete() -> None:
    nodes = ast.parse(BODY).body
    assert completed(nodes, raised(BODY, "another.py")) == []
    assert completed(nodes, None) == []


def test_two_statements_on_the_line_that_raised_are_both_left_out() -> None:
    text = "a = 1; 1/0\nb = 2\n"
    assert completed(ast.parse(text).body, raised(text, "<timed exec>")) == []
