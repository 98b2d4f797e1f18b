"""Interrupts that wait until something is whole. Owns the swap of the SIGINT handler; knows no kernel and no git.

A signal mask is not enough: the system gives the signal to any thread that does not mask it, and Python then runs the
handler on the main thread all the same, in the middle of what was to be whole.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_deferred(*, drop: bool = False) -> Iterator[None]:
    """Keep SIGINT away from the block, and deliver one that came meanwhile when the block is over.

    `drop`: forget it instead, where what it was meant to stop is over by then.

    Python runs signal handlers on the main thread only, so on other threads there is nothing to do. Blocks nest: the
    outermost delivers. Where the block raised and the handler raises too, the handler's exception wins and has the
    block's as its context.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.getsignal(signal.SIGINT)
    if old is None:  # set by C code: it could not be put back from here
        yield
        return
    if isinstance(old, _Noted) and not drop:
        yield  # the block around this one keeps them away already
        return
    noted = _Noted()
    signal.signal(signal.SIGINT, noted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)
        if noted.frames and not drop:
            if callable(old):
                old(signal.SIGINT, noted.frames[0])
            elif old == signal.SIG_DFL:
                signal.raise_signal(signal.SIGINT)


class _Noted:
    """A handler that only notes what came: at which frames."""

    def __init__(self) -> None:
        self.frames: list[FrameType | None] = []

    def __call__(self, _: int, frame: FrameType | None) -> None:
        self.frames.append(frame)
