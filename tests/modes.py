"""File modes that bind root too, as they bind everybody else: without that root can read any file.

Stands alone, so that its text can be a kernel's startup file.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION = 0x20080522  # of the interface, as capget(2) has it
_PAST_MODES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def bind(*, unbind: bool = False) -> None:
    """Have modes bind this thread, or not any more; nothing where they do in any case."""
    if os.geteuid() or sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets):
        raise OSError(ctypes.get_errno(), "capget")
    sets[0] = sets[0] | sets[1] & _PAST_MODES if unbind else sets[0] & ~_PAST_MODES  # the effective of the permitted
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


@contextmanager
def binding() -> Iterator[None]:
    """Have modes bind this thread during the block."""
    bind()
    try:
        yield
    finally:
        bind(unbind=True)
