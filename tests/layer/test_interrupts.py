"""When an interrupt is delivered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from perdure.layer.interrupts import interrupts_deferred


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """The signals that the program's own handler has got."""
    signals: list[int] = []

    def handler(number: int, frame: FrameType | None) -> None:
        signals.append(number)

    old = signal.signal(signal.SIGINT, handler)
    yield signals
    assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, old)


def test_one_is_delivered_at_the_end(heard: list[int]) -> None:
    with interrupts_deferred():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert heard == []
    assert heard == [signal.SIGINT]


def test_none_is_none(heard: list[int]) -> None:
    with interrupts_deferred():
        pass
    assert heard == []


def test_the_outermost_block_delivers(heard: list[int]) -> None:
    with interrupts_deferred():
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
        assert heard == []
    assert heard == [signal.SIGINT]


def test_a_fault_of_the_block_goes_on(heard: list[int]) -> None:
    def work() -> None:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert heard == [signal.SIGINT]


def test_a_signal_that_another_thread_receives(heard: list[int]) -> None:
    with interrupts_deferred():
        thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
        thread.start()
        thread.join()
        assert heard == []
    assert heard == [signal.SIGINT]


def test_the_default_raises_after_the_block(interruptible: None) -> None:
    after = []

    def work() -> None:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            after.append("whole")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert after == ["whole"]


def test_ignored_stays_ignored() -> None:
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, old)


def test_the_systems_default_ends_the_process() -> None:
    script = (
        "import signal; from perdure.layer.interrupts import interrupts_deferred\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
        "with interrupts_deferred():\n    signal.raise_signal(signal.SIGINT); print('whole', flush=True)\n"
        "print('not reached')"
    )
    here = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=here, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("whole\n", -signal.SIGINT)


def test_other_threads_have_nothing_to_defer(heard: list[int]) -> None:
    def work() -> None:
        with interrupts_deferred():
            pass

    handler = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is handler
