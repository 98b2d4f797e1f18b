"""Code of others that runs for so long and no longer, and can be interrupted. Owns SIGALRM and SIGINT while it runs.

Signals reach the main thread only, so elsewhere nothing is bounded. Nor is a call into C that does not come back:
whoever waits for the process ends it then.
"""

from __future__ import annotations

# As `signal`, without its wrappers that make enum members: these are called for every file.
import _signal  # type: ignore[import-not-found]
import _thread
import signal
import threading
from collections import deque
from collections.abc import Callable
from enum import Enum
from types import FrameType
from typing import Any, Self

_AGAIN = 0.05  # seconds until code that caught the exception gets it again
# Tripped together, each raises at another step: of code that loops around `except:` every level is left in one go.
_VOLLEY = [
    getattr(signal, name) for name in ("SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)
] + [*range(int(getattr(signal, "SIGRTMAX", 3)) - 3, int(getattr(signal, "SIGRTMAX", 0)) + 1)]

_ENOUGH = [None] * signal.NSIG


class Stop(Enum):
    """Why code was stopped."""

    SLOW = "slow"
    INTERRUPTED = "interrupted"


class _Stopped(BaseException):
    """What is raised in code that is to end. No Exception, so that `except Exception` lets it pass."""


class Alarm:
    """A block whose `run` bounds what it calls. Signal handlers and timer are as before when the block is over."""

    def __init__(self) -> None:
        self._handles: dict[int, Any] = {}  # by signal, what handled it before
        self._timer = (0.0, 0.0)
        self._handler = self._handle  # one object: each access of a method makes another
        self._is_inside = False
        self._stop: Stop | None = None
        self._displaced: dict[int, Any] = {}
        self._targets: list[object] = []  # see _fire

    def __enter__(self) -> Self:
        if threading.current_thread() is not threading.main_thread():
            return self
        # A handler of C code could not be put back from here.
        self._handles = {
            number: old for number in (signal.SIGALRM, signal.SIGINT) if (old := signal.getsignal(number)) is not None
        }
        for number in self._handles:
            signal.signal(number, self._handler)
        if signal.SIGALRM in self._handles:
            self._timer = signal.setitimer(signal.ITIMER_REAL, 0)
        return self

    def __exit__(self, *_: object) -> None:
        if signal.SIGALRM in self._handles:
            signal.setitimer(signal.ITIMER_REAL, *self._timer)
        for number, old in self._handles.items():
            if signal.getsignal(number) == self._handler:
                signal.signal(number, old)
        self._handles = {}

    def run(self, act: Callable[[], None], seconds: float) -> Stop | None:
        """Call `act`; why it was stopped, None if it was not. Raises what it raises unless it was stopped.

        A handler of these signals that it sets is in force when the block is over, and not before.
        """
        if not self._handles:
            act()
            return None
        try:
            try:
                self._arm(seconds)
                act()
            finally:
                self._is_inside = False
        except BaseException:
            self._is_inside = False  # the handler may have raised before the line above could say so
            self._targets.extend(_ENOUGH)  # before anything is called that signals which wait could raise in
            if self._stop is None:
                raise
        if self._displaced:
            self._targets.extend(_ENOUGH)
            self._calm()
        for number in self._handles:
            if _signal.getsignal(number) is not self._handler:
                self._handles[number] = _signal.getsignal(number)
                signal.signal(number, self._handler)
        return self._stop

    def _arm(self, seconds: float) -> None:
        self._stop = None
        self._is_inside = True
        if signal.SIGALRM in self._handles:
            _signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if not self._is_inside:
            return
        if self._stop is not None:
            self._fire()
        self._stop = Stop.SLOW if number == signal.SIGALRM else Stop.INTERRUPTED
        if signal.SIGALRM in self._handles:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        raise _Stopped

    def _fire(self) -> None:
        """Raise, and leave signals behind that raise at each of the next steps: it was caught when it was raised once.

        Their handler has to be one in C, since within one in Python the next would be handled, and raise, at once: it
        sets an item of a list by the signal's number, which raises an IndexError as long as the list is empty.
        """
        self._targets.clear()
        for number in _VOLLEY:
            self._displaced.setdefault(number, signal.getsignal(number))
            signal.signal(number, self._targets.__setitem__)
        # In one call of C, so that all are tripped before one is handled; and none of them is sent by the system, since
        # their handlers would then nest on a stack that is too small for them.
        deque(map(_thread.interrupt_main, _VOLLEY), maxlen=0)

    def _calm(self) -> None:
        """Put back what handled the signals of `_fire`."""
        for number, old in self._displaced.items():
            if old is not None:
                signal.signal(number, old)
        self._displaced.clear()
        self._targets.clear()
