"""Starts the kernel for Jupyter, which runs `python -m perdure_launcher` in the notebook's folder.

`-m` puts that folder first on the path before anything of ours runs. One that holds something named `perdure`, as the
parent of a clone does, would then be imported in our place; so the name that is looked up there is one nobody has.
"""

import os
import sys

if __name__ == "__main__":
    # IPython puts the folder back, behind the standard library, before the first cell.
    if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]

    from perdure.kernel.__main__ import main

    main()
