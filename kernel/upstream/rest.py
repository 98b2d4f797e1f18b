"""The moment in which a kernel has nothing to do, for what is better done then than while somebody waits."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

_log = logging.getLogger(__name__)
_QUIET = 0.5  # seconds without a cell
_PAUSE = 0.01  # seconds between two acts, in which whatever has come goes first


class Rest:
    """Calls `act` on the loop of the kernel's main thread each time that no cell has run for a while."""

    def __init__(self, loop: Any, act: Callable[[], bool]) -> None:
        """`loop` is a tornado IOLoop. `act` does a little, and says whether there is more to do."""
        self._loop = loop
        self._act = act
        self._timer: Any = None

    def stirred(self) -> None:
        """A cell begins or has ended. May be called from any thread."""
        self._loop.add_callback(self._begin)

    def _begin(self) -> None:
        if self._timer is not None:
            self._loop.remove_timeout(self._timer)
        self._timer = self._loop.call_later(_QUIET, self._end)

    def _end(self) -> None:
        self._timer = None
        try:
            if self._act():
                self._timer = self._loop.call_later(_PAUSE, self._end)
        except Exception:  # nobody waits for it, and nobody is to be hurt by it
            _log.exception("perdure could not use a moment of rest")
