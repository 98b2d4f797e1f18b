"""Code of others that runs for so long and no longer, and can be interrupted. Owns SIGALRM and SIGINT while it runs.

Signals reach the main thread only, so elsewhere nothing is bounded. Nor is a call into C that does not come back:
whoever waits for the process ends it then.
"""

from __future__ import annotations

# As `signal`, without its wrappers that make enum members: these are called for every file.
import _signal  # type: ignore[import-not-found]
import _thread
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from enum import Enum
from types import CodeType, FrameType
from typing import Any, Self

_AGAIN = 0.05  # seconds until code that caught the exception gets it again
# Tripped together, each raises at another step: of code that loops around `except:` every level is left in one go.
_VOLLEY = [
    getattr(signal, name) for name in ("SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)
] + [*range(int(getattr(signal, "SIGRTMAX", 3)) - 3, int(getattr(signal, "SIGRTMAX", 0)) + 1)]

_HERE = os.path.dirname(__file__)
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
        self.stop: Stop | None = None  # why what runs now, or ran last, was to end
        # See _fire, and the other one.
        self._tool: int | None = None
        self._place: tuple[CodeType, int] | None = None
        self._displaced: dict[int, Any] = {}
        self._targets: list[object] = []

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
            if self.stop is None:
                raise
        if self.stop is not None:
            self._targets.extend(_ENOUGH)
            self._calm()
        for number in self._handles:
            if _signal.getsignal(number) is not self._handler:
                self._handles[number] = _signal.getsignal(number)
                signal.signal(number, self._handler)
        return self.stop

    def _arm(self, seconds: float) -> None:
        self.stop = None
        self._is_inside = True
        if signal.SIGALRM in self._handles:
            _signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if not self._is_inside:
            return
        if self.stop is None:
            self.stop = Stop.SLOW if number == signal.SIGALRM else Stop.INTERRUPTED
            if signal.SIGALRM in self._handles:
                signal.setitimer(signal.ITIMER_REAL, _AGAIN, _AGAIN)
        else:
            self._fire()
        raise _Stopped

    if sys.version_info[:2] == (3, 12):
        # There what a signal raises as a loop begins again counts as raised in the `try` that the loop begins with.

        def _fire(self) -> None:
            """Raise, and again wherever that is caught: it was when it was raised once."""
            monitoring = sys.monitoring
            if self._tool is None:
                self._tool = next((n for n in range(6) if monitoring.get_tool(n) is None), None)
                if self._tool is not None:
                    monitoring.use_tool_id(self._tool, "perdure")
                    event = monitoring.events.EXCEPTION_HANDLED
                    monitoring.register_callback(self._tool, event, self._raise_in)
                    monitoring.set_events(self._tool, event)
            raise _Stopped

        def _raise_in(self, code: CodeType, offset: int, _: object) -> None:
            # Not twice running at one handler: it may be the one that catches what is raised here.
            is_same, self._place = self._place == (code, offset), (code, offset)
            if self._is_inside and not is_same and not code.co_filename.startswith(_HERE):
                raise _Stopped

        def _calm(self) -> None:
            """Take back what `_fire` set up."""
            if self._tool is not None:
                sys.monitoring.set_events(self._tool, 0)
                sys.monitoring.free_tool_id(self._tool)
                self._tool = None

    else:

        def _fire(self) -> None:
            """Raise, and leave signals that raise at each of the next steps: it was caught when it was raised once.

            Their handler has to be one in C, since within one in Python the next would be handled, and raise, at once.
            It sets an item of a list by the signal's number: that raises an IndexError as long as the list is empty.
            """
            self._targets.clear()
            for number in _VOLLEY:
                self._displaced.setdefault(number, signal.getsignal(number))
                signal.signal(number, self._targets.__setitem__)
            # In one call of C, so that all are tripped before one is handled; and none of them is sent by the system,
            # since their handlers would then nest on a stack that is too small for them.
            deque(map(_thread.interrupt_main, _VOLLEY), maxlen=0)

        def _calm(self) -> None:
            """Put back what handled the signals of `_fire`."""
            for number, old in self._displaced.items():
                if old is not None:
                    signal.signal(number, old)
            self._displaced.clear()
            self._targets.clear()
