"""The moments in which nobody waits for the kernel, for what is better done then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)
_QUIET = 0.5  # seconds without a cell


class Rest:
    """Calls `replied` on the kernel's main loop after each cell, and `quiet` when none has run for a while."""

    def __init__(self, loop: Any, replied: Callable[[], None], quiet: Callable[[], None]) -> None:
        """`loop` is a tornado IOLoop."""
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
        self._loop.add_callback(self._guarded, self._replied)
        self._loop.add_callback(self._wait)

    def _stop(self) -> None:
        if self._timer is not None:
            self._loop.remove_timeout(self._timer)
            self._timer = None

    def _wait(self) -> None:
        self._stop()
        self._timer = self._loop.call_later(_QUIET, self._guarded, self._quiet)

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception:  # nobody waits for it, and nobody is to be hurt by it
            _log.exception("perdure could not use a moment of rest")
