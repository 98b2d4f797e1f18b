"""What loading prints, by whatever way, is caught and bounded (layer/printed.py)."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.printed import BoundedText, printed


@given(st.lists(st.text(max_size=20)))
def test_head_and_tail_are_kept(texts: list[str]) -> None:
    bounded = BoundedText(5, 7)
    for text in texts:
        bounded.add(text)
    whole = "".join(texts)
    left_out = f"\n[… {len(whole) - 12:,} characters …]\n"
    assert str(bounded) == (whole if len(whole) <= 12 else f"{whole[:5]}{left_out}{whole[-7:]}")


def test_every_way_to_print_is_caught() -> None:
    with printed() as text:
        print("print")
        print("error", file=sys.stderr)
    assert str(text) == "print\nerror\n"
    with printed() as text:
        os.write(1, b"write\n")
        os.write(2, b"\xff\n")
        subprocess.run(["echo", "echo"], check=True)
    assert str(text) == "write\n\ufffd\necho\n"
    with printed() as text:
        subprocess.run(["echo", "given"], check=True, stdout=sys.stdout)
    assert str(text) == "given\n"


def test_a_flood_is_bounded() -> None:
    with printed() as text:
        for _ in range(100):
            os.write(1, b"x" * 100_000)
    assert 10_000 < len(str(text)) < 10_100


def test_streams_and_descriptors_are_put_back(capfd: pytest.CaptureFixture[str]) -> None:
    streams = sys.stdout, sys.stderr
    with printed():
        os.close(1)
        os.close(2)
    assert (sys.stdout, sys.stderr) == streams
    os.write(1, b"out")
    os.write(2, b"err")
    assert capfd.readouterr() == ("out", "err")


def test_who_kept_a_stream_prints_to_what_is_there_later(capsys: pytest.CaptureFixture[str]) -> None:
    with printed() as text:
        kept = sys.stdout
    kept.write("later")
    assert str(text) == ""
    assert capsys.readouterr().out == "later"


def test_a_program_that_outlives_it_prints_where_it_would_have(capfd: pytest.CaptureFixture[str]) -> None:
    with printed() as text:
        cat = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    cat.communicate(b"later")
    heard = ""
    while not heard:
        heard = capfd.readouterr().out
    assert heard == "later"
    assert str(text) == ""


def test_a_program_that_never_stops_printing_does_not_hold_it() -> None:
    with printed() as text:
        yes = subprocess.Popen(["yes"])
        while not str(text):
            pass
    yes.kill()
    yes.wait()
    assert len(str(text)) < 10_100


def test_what_is_no_text_cannot_be_printed() -> None:
    with printed(), pytest.raises(TypeError, match="must be str, not bytes"):
        sys.stdout.write(b"x")  # type: ignore[arg-type]


def test_without_descriptors_streams_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> int:
        raise OSError

    monkeypatch.setattr(os, "dup", fails)
    with printed() as text:
        print("caught")
        with pytest.raises(io.UnsupportedOperation):
            sys.stdout.fileno()
    assert str(text) == "caught\n"
