"""The command `perdure`. Owns its subcommands' names and help; what they do stands in the rooms it calls.

What takes long to import is imported by the subcommand that needs it, so that `perdure --help` answers at once.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import perdure
from perdure.kernel import spec

DESCRIPTION = "A Jupyter kernel for Python whose definitions last."


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="perdure", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=f"perdure {perdure.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    install = commands.add_parser(
        "install",
        help="make the kernel known to Jupyter",
        description=(
            "Make the kernel known to Jupyter. `pip install perdure` does this already for a Jupyter in the same "
            "environment; the command is for a Jupyter elsewhere, for an editable install, or for a second name."
        ),
    )
    spec.add_arguments(install)
    install.set_defaults(run=spec.run)

    options = parser.parse_args(argv)
    status: int = options.run(options)
    return status
