"""What a boot asks around each file, so that it need not know how files are bounded, journalled or tried.

`safe_boot.FolderWatch` is the kernel's; `trial_process` has one that forks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .definition import RelPath


class Watch(Protocol):
    """What keeps a file that does not end, or that ends the process, from costing the start."""

    def refuses(self, path: RelPath) -> str | None:
        """Why the file is not to be run at all, as a clause."""
        ...

    def comes_last(self, path: RelPath) -> bool:
        """Whether all others are to be run before it."""
        ...

    def run(self, path: RelPath, act: Callable[[], None]) -> str | None:
        """Call `act`, which loads the file; why it was stopped, as a clause. Raises what `act` raises otherwise."""
        ...


class Unwatched:
    """Runs everything (`Watch`)."""

    def refuses(self, _: RelPath) -> str | None:
        return None

    def comes_last(self, _: RelPath) -> bool:
        return False

    def run(self, _: RelPath, act: Callable[[], None]) -> str | None:
        act()
        return None
