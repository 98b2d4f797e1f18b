"""Code that does not end is ended, whatever it catches (layer/alarm.py)."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from perdure.layer.alarm import Alarm, Stop

SOON = 0.02  # seconds


@pytest.fixture(autouse=True)
def everything_is_put_back() -> Iterator[None]:
    numbers = [*range(1, signal.NSIG)]

    def handlers() -> list[object]:
        return [signal.getsignal(n) if n in signal.valid_signals() else None for n in numbers]

    before = handlers()
    yield
    assert handlers() == before


def spin() -> None:
    while True:
        pass


def sleep() -> None:
    while True:
        time.sleep(1)


def catch_everything() -> None:
    while True:
        try:
            time.sleep(1)
        except:  # noqa: E722
            pass


def catch_everything_on_two_levels() -> None:
    while True:
        try:
            catch_everything()
        except:  # noqa: E722
            pass


def catch_and_clean_up() -> None:
    while True:
        try:
            while True:
                try:
                    sleep()
                finally:
                    time.sleep(0)
        except BaseException:
            time.sleep(0)


NOT_IN_3_12 = pytest.mark.skipif(sys.version_info[:2] == (3, 12), reason="its loops catch what is raised between them")


@pytest.mark.parametrize(
    "act",
    [
        spin,
        sleep,
        catch_everything,
        catch_everything_on_two_levels,
        pytest.param(catch_and_clean_up, marks=NOT_IN_3_12),
    ],
)
def test_what_does_not_end_is_stopped(act: Callable[[], None]) -> None:
    with Alarm() as alarm:
        assert alarm.run(act, SOON) is Stop.SLOW
        assert alarm.run(lambda: None, SOON) is None


def test_what_ends_in_time_is_left_alone() -> None:
    done: list[int] = []
    with Alarm() as alarm:
        assert alarm.run(lambda: done.append(1), 10) is None
    assert done == [1]


def test_what_is_raised_is_passed_on() -> None:
    with Alarm() as alarm, pytest.raises(ZeroDivisionError):
        alarm.run(lambda: 1 / 0, 10)  # type: ignore[arg-type]


def test_what_it_makes_of_being_stopped_is_no_matter() -> None:
    def other() -> None:
        try:
            sleep()
        finally:
            raise LookupError

    with Alarm() as alarm:
        assert alarm.run(other, SOON) is Stop.SLOW


def test_an_interrupt_stops_it() -> None:
    def interrupted() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        catch_everything()

    with Alarm() as alarm:
        assert alarm.run(interrupted, 60) is Stop.INTERRUPTED


def test_an_interrupt_between_two_is_passed_over() -> None:
    with Alarm() as alarm:
        signal.raise_signal(signal.SIGINT)
        assert alarm.run(lambda: None, 60) is None


def test_handlers_that_it_sets_are_in_force_afterwards_and_not_before() -> None:
    heard: list[int] = []

    def sets() -> None:
        signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.alarm(0)

    before = signal.getsignal(signal.SIGALRM), signal.getsignal(signal.SIGINT)
    with Alarm() as alarm:
        assert alarm.run(sets, SOON) is None
        assert alarm.run(spin, SOON) is Stop.SLOW
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.raise_signal(signal.SIGALRM)
    assert heard == [signal.SIGALRM]
    for number, old in zip((signal.SIGALRM, signal.SIGINT), before, strict=True):
        signal.signal(number, old)


def test_a_timer_that_was_running_goes_on() -> None:
    heard = threading.Event()
    old = signal.signal(signal.SIGALRM, lambda *_: heard.set())
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with Alarm() as alarm:
            alarm.run(lambda: None, 10)
        assert heard.wait(60)
    finally:
        signal.signal(signal.SIGALRM, old)


def test_on_another_thread_nothing_is_bounded() -> None:
    said: list[Stop | None] = []

    def elsewhere() -> None:
        with Alarm() as alarm:
            said.append(alarm.run(lambda: None, SOON))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert said == [None]
