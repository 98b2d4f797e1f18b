"""A process beside the kernel that loads files and that nobody needs: how it is started, and its first steps.

`trial_process` and `proof_process` are what runs there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from .boot_files import Known
    from .boot_report import BootReport
    from .boot_watch import Watch
    from .definition import RelPath
    from .shipped import Shipped

# What lies on the kernel's path, as the folder that it works in, may have names of the standard library, or ours: that
# is the path of the files alone. Nor is it ours alone, where such names may lie too: so that comes last.
HOUSE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
_PROGRAM = (
    f"import json, sys; job = json.loads(sys.stdin.buffer.readline()); sys.path.append({HOUSE!r}); "
    "from perdure.layer.{} import main; sys.path[:] = job['sys_path']; main(job)"
)


def start(module: str, environ: Mapping[str, str] | None = None, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Start the process that runs `main` of `module`, given the first line of what it is sent, which is JSON.

    It says what it has to say in lines of JSON.

    Raises:
        OSError: it cannot be started.
    """
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _PROGRAM.replace("{}", module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environ,
        cwd=folder,
        start_new_session=True,  # what kills its whole group does not reach the kernel
    )


def leave(
    words: Sequence[str], *, data: bytes = b"", environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> None:
    """Start a process that is sent `data` and that nobody hears of again. Raises nothing.

    It is to fork and end at once, so that none of the kernel's children is there for user code to wait for.
    """
    threading.Thread(target=_wait_for, args=(words, data, environ, folder), name="perdure-aside", daemon=True).start()


def _wait_for(words: Sequence[str], data: bytes, environ: Mapping[str, str] | None, folder: Path | None) -> None:
    with suppress(OSError):
        subprocess.run(
            words,
            input=data,
            env=environ,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )


def step_aside() -> tuple[TextIO, dict[str, object]]:
    """In the process: where it reports, and the namespace of a new `__main__`. What is printed goes nowhere."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")  # a descriptor that no program gets which files may start
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    space = ModuleType("__main__")
    sys.modules["__main__"] = space
    return report, space.__dict__


def load(
    shipped: Shipped,
    root: Path,
    files: Mapping[RelPath, bytes],
    watch: Watch,
    known: Mapping[RelPath, Known] | None = None,
) -> BootReport:
    """In the process: load `files` of the folder `root`, as a boot would, over what was loaded before.

    `known` are those of them that need not be read.
    """
    from .boot import Boot  # here: who only starts the process does without

    nothing = nullcontext("")
    image, imports, deferred = shipped.image, shipped.variables.imports, shipped.deferred
    modules, catching = sys.modules, lambda: nothing
    return Boot(files, root, image, imports, modules, shipped, watch, deferred, catching, known=known).run()


def how_it_ended(code: int) -> str:
    """An exit code, negative for a signal, as a clause."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
