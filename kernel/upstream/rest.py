"""The moments in which nobody waits for the kernel, for what is better done then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)
_QUIET = 0.5  # seconds without a cell
_PAUSE = 0.01  # seconds between two steps: a request that came meanwhile goes first


class Rest:
    """Calls `replied` on the kernel's main loop after each cell, and `quiet` when none has run for a while."""

    def __init__(self, loop: Any, replied: Callable[[], None], quiet: Callable[[], bool]) -> None:
        """`loop` is a tornado IOLoop. `quiet` does a little, and says whether there is more to do."""
        self._loop = loop
        self._replied = replied
        self._quiet = quiet
        self._timer: Any = None

    # From any thread:

    def ready(self) -> None:
        """The kernel is ready for its first cell."""
        self._loop.add_callback(self._wait)

    def begins(self) -> None:
        """A cell begins."""
        self._loop.add_callback(self._stop)

    def ended(self) -> None:
        """A cell has ended."""
        self._loop.add_callback(self._reply_is_out)

    def _reply_is_out(self) -> None:
        self._guarded(self._replied)
        self._wait()

    def _stop(self) -> None:
        if self._timer is not None:
            self._loop.remove_timeout(self._timer)
            self._timer = None

    def _wait(self, seconds: float = _QUIET) -> None:
        self._stop()
        self._timer = self._loop.call_later(seconds, self._step)

    def _step(self) -> None:
        self._timer = None
        if self._guarded(self._quiet):
            self._wait(_PAUSE)

    def _guarded(self, act: Callable[[], bool | None]) -> bool:
        try:
            return bool(act())
        except Exception:  # nobody waits for it, and nobody is to be hurt by it
            _log.exception("perdure could not use a moment of rest")
            return False
