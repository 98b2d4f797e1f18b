"""How Jupyter learns of the kernel: the kernelspec, and the command that installs it.

The one source is the folder kernelspec/ at the top of the repository. It travels twice in a wheel: as data files, which
pip puts where Jupyter looks, so that a plain `pip install` is enough; and as the folder perdure/kernelspec, which is
what `install` copies. It could copy the data files, but an editable install has none, and those of `pip install --user`
or `--target` are not under `sys.prefix`.

`perdure install` and `python -m perdure.kernel install` are both `run`. Knows nothing of the kernel itself. A starting
kernel imports this file first of all, and `perdure --version` does, so jupyter_client is imported where it is used.
"""

from __future__ import annotations

import argparse
import errno
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import perdure
from perdure.layer.slots import fact

KERNEL_NAME = "perdure"


class InstallError(Exception):
    """The kernelspec could not be installed; the message says why and what to do."""


@fact
class Installed:
    """A kernelspec that is in place."""

    name: str  # what `jupyter console --kernel` is given
    display_name: str  # what JupyterLab's launcher shows
    path: Path
    found: bool  # whether the Jupyter of this Python looks there


def platform_problem(os_name: str = os.name) -> str | None:
    """Why perdure cannot run on a platform and what to do; None where it can."""
    if os_name == "posix":
        return None
    return (
        "perdure does not run on Windows yet: its file locks and signals are those of Linux and macOS. "
        "In the Windows Subsystem for Linux it works as on Linux."
    )


def kernelspec_folder() -> Path:
    """The folder with kernel.json and the logos."""
    return Path(perdure.__file__).with_name("kernelspec")


def kernel_json(display_name: str | None = None) -> dict[str, object]:
    """The content of kernel.json for this very Python.

    The shipped file says `python`, by which Jupyter means the Python that it runs in itself. Installed by hand, the
    kernelspec may serve a Jupyter anywhere, so it names this interpreter.
    """
    content: dict[str, object] = json.loads((kernelspec_folder() / "kernel.json").read_bytes())
    argv = content["argv"]
    assert isinstance(argv, list)
    content["argv"] = [sys.executable, *argv[1:]]
    if display_name is not None:
        content["display_name"] = display_name
    return content


def install(
    *,
    prefix: Path | None = None,
    name: str = KERNEL_NAME,
    display_name: str | None = None,
) -> Installed:
    """Put the kernelspec under `prefix`/share/jupyter/kernels, or, without a prefix, into the user's Jupyter folder.

    One of that name that is there already is replaced. Without a `display_name` it is "Python 3 (`name`)".

    Raises:
        InstallError: it was not installed.
    """
    problem = platform_problem()
    if problem is not None:
        raise InstallError(problem)

    from jupyter_client.kernelspec import KernelSpecManager

    content = kernel_json(display_name or f"Python 3 ({name})")
    # Jupyter would log that it does not look under `prefix`; Installed.found says it in the words of our user.
    quiet = logging.getLogger(__name__)
    quiet.setLevel(logging.ERROR)
    manager = KernelSpecManager(log=quiet)
    try:
        with tempfile.TemporaryDirectory() as scratch:
            staged = Path(scratch, KERNEL_NAME)
            # copyfile: what is installed read-only must not be staged read-only.
            shutil.copytree(kernelspec_folder(), staged, copy_function=shutil.copyfile)
            staged.chmod(0o755)
            (staged / "kernel.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
            path = manager.install_kernel_spec(
                str(staged), kernel_name=name, user=prefix is None, prefix=None if prefix is None else str(prefix)
            )
    except ValueError as error:
        raise InstallError(f"{error} Choose another with --name.") from error
    except OSError as error:
        raise InstallError(_why_not(error)) from error
    destination = Path(path)
    found = str(destination.parent) in manager.kernel_dirs
    return Installed(destination.name, str(content["display_name"]), destination, found)


def _why_not(error: OSError) -> str:
    """What kept the kernelspec from being written, and what to do."""
    if isinstance(error, shutil.Error):
        # copytree goes on after a fault and hands them all over in the end; the first will do.
        _, where, reason = error.args[0][0]
    else:
        where, reason = error.filename, error.strerror
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        advice = "Use --user, or --prefix with a folder that is yours."
    else:
        advice = "Mend that and try again, or choose another place with --prefix."
    return f"the kernelspec was not installed: {where}: {reason or error}. {advice}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `install`, wherever it is offered."""
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="for your user, in every Jupyter you start (the default)")
    place.add_argument(
        "--sys-prefix", action="store_true", help="into this Python's environment, for the Jupyter that runs in it"
    )
    place.add_argument("--prefix", type=Path, metavar="P", help="into P/share/jupyter/kernels")
    parser.add_argument("--name", default=KERNEL_NAME, help="the kernel's name (default: %(default)s)")
    parser.add_argument("--display-name", metavar="TEXT", help='what Jupyter shows (default: "Python 3 (NAME)")')


def run(options: argparse.Namespace) -> int:
    """Install as `options` say and tell the user; returns the exit status."""
    prefix: Path | None = Path(sys.prefix) if options.sys_prefix else options.prefix
    try:
        installed = install(prefix=prefix, name=options.name, display_name=options.display_name)
    except InstallError as error:
        print(f"perdure: {error}", file=sys.stderr)
        return 1
    print(f"Installed the kernel {installed.name!r} in {installed.path}")
    if not installed.found:
        print(f"This Python's Jupyter does not look there; start it with JUPYTER_PATH={installed.path.parent.parent}")
    print(f'Next: choose "{installed.display_name}" in JupyterLab, or run: jupyter console --kernel {installed.name}')
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command line `python -m perdure.kernel install`."""
    parser = argparse.ArgumentParser(prog="python -m perdure.kernel install", description="Install the kernelspec.")
    add_arguments(parser)
    return run(parser.parse_args(argv))
