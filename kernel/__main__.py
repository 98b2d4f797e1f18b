"""`python -m perdure.kernel -f FILE` runs the kernel; `python -m perdure.kernel install` makes it known to Jupyter."""

from __future__ import annotations

import os
import sys


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

    from .upstream.app import main as run_kernel

    run_kernel()


if __name__ == "__main__":
    main()
