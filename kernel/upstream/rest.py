"""The moments in which nobody waits for the kernel, for what is better done then."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)
_QUIET = 0.5  # seconds without a cell
_PAUSE = 0.01  # seconds between two steps: a request that came meanwhile goes first


class Rest:
    """Calls `replied` when a reply is out, where that is asked for, and `quiet` when no cell has run for a while.

    Both run on the kernel's main loop, `quiet` until it has nothing more to do, and again after a cell that left it
    something. Most cells are only counted: every cell waits for that.
    """

    def __init__(self, loop: Any, replied: Callable[[], None], quiet: Callable[[], bool]) -> None:
        """`loop` is a tornado IOLoop. `quiet` does a little, and says whether there is more to do."""
        self._loop = loop
        self._replied = replied
        self._quiet = quiet
        self._running = 0  # cells
        self._since = time.monotonic()  # when the last one began or ended
        self._counting = threading.Lock()
        self._is_over = False  # whether `quiet` had nothing more to do
        loop.add_callback(self._look)

    # From any thread:

    def begins(self) -> None:
        """A cell begins."""
        with self._counting:
            self._running += 1

    def ended(self, *, asks: bool, tires: bool) -> None:
        """A cell has ended; whether it `asks` for `replied`, and whether it left `quiet` something to do."""
        with self._counting:
            self._running -= 1
        self._since = time.monotonic()
        if asks:
            self._loop.add_callback(self._guarded, self._replied)
        if tires and self._is_over:
            self._is_over = False
            self._loop.add_callback(self._look)

    def _look(self) -> None:
        left = _QUIET if self._running else self._since + _QUIET - time.monotonic()
        if left > 0:
            self._loop.call_later(left, self._look)
        elif self._guarded(self._quiet):
            self._loop.call_later(_PAUSE, self._look)
        else:
            self._is_over = True

    def _guarded(self, act: Callable[[], bool | None]) -> bool:
        try:
            return bool(act())
        except Exception:  # nobody waits for it, and nobody is to be hurt by it
            _log.exception("perdure could not use a moment of rest")
            return False
