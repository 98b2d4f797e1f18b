"""`python -m perdure.kernel -f FILE` runs the kernel; `python -m perdure.kernel install` makes it known to Jupyter."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def main() -> None:
    """Do what the command line says."""
    # `-m` puts the working folder first on the path, and a random.py there would be imported for Python's own while
    # the kernel starts. IPython puts the folder back before the first cell (ipykernel_launcher does the same).
    if not sys.flags.safe_path and (sys.path[0] == "" or sys.path[0] == os.getcwd()):
        del sys.path[0]

    from . import spec

    if sys.argv[1:2] == ["install"]:
        sys.exit(spec.main(sys.argv[2:]))
    problem = spec.platform_problem()
    if problem is not None:
        sys.exit(f"perdure: {problem}")

    with _uncollected():
        from .upstream.app import main as run_kernel
    run_kernel()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Have no garbage collected during the block, which only imports: that makes much, and leaves nearly all of it.

    What is there after it counts as old, as if it had been looked through. No code of the user's is in the block.
    """
    if not gc.isenabled() or gc.get_freeze_count():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()  # into the oldest generation
        gc.enable()


if __name__ == "__main__":
    main()
