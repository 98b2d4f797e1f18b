"""A word while a start takes long, from a thread beside it: what is loaded may run for seconds without a pause."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 1.0
"""Seconds that nobody asks what a start is at."""


@contextmanager
def told(say: Callable[[], object] | None, seconds: float = PATIENCE) -> Iterator[None]:
    """Have something `say` what goes on if the block is not over by then; it is called in another thread."""
    if say is None:
        yield
        return
    timer = threading.Timer(seconds, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
