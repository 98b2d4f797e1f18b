"""An interrupt that comes while perdure keeps something: the front end gets its reply, and nothing is lost unsaid."""

from __future__ import annotations

from .driver import Kernel


def test_a_commit_at_the_end_of_a_cell_goes_on_and_the_reply_comes(kernel: Kernel) -> None:
    kernel.run("def before(): pass")
    (kernel.home.layer / ".git" / "index.lock").touch()  # as an editor open in `git commit` has it
    answer = kernel.finish_interrupting(kernel.send("def waits(): pass"))
    assert answer.status == "ok"
    assert answer.perdure["kept"] == ["waits"]


def test_between_two_statements_it_ends_the_cell_and_what_was_kept_is_said(kernel: Kernel) -> None:
    kernel.run("def before(): pass")
    (kernel.home.layer / ".git" / "index.lock").touch()
    answer = kernel.finish_interrupting(kernel.send("def waits(): pass\nprint('went on')"))
    assert answer.status == "error"
    assert answer.error is not None
    assert "KeyboardInterrupt" in answer.error
    assert answer.stdout == ""
    assert answer.perdure["kept"] == ["waits"]
