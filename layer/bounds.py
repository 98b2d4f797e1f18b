"""How long loading may take: one file, and the whole boot. Pure: the clock is whoever asks."""

from __future__ import annotations

from .slots import fact

_SHARE = 3  # no file takes more than this part of what is left: after some that hang there is time for the rest
_LEAST = 1000  # a boot with less than this part of its time left is over


@fact
class Bounds:
    """What a person waits for a kernel, in seconds."""

    file_seconds: float = 10.0
    boot_seconds: float = 30.0  # of all folders together, what is tried in a process of its own included

    def of_next(self, left: float) -> float:
        """Seconds that the next file may take where `left` are left of the whole; 0 where it is not to be tried."""
        return min(self.file_seconds, left / _SHARE) if left > self.boot_seconds / _LEAST else 0.0

    def says_slow(self, seconds: float) -> str:
        """Why a file was stopped that had `seconds`, as a clause."""
        return f"it took over {seconds:.2g} s to load"

    def says_late(self) -> str:
        """Why a file was not tried at all, as a clause."""
        return f"the start had taken {self.boot_seconds:g} s before its turn came"
