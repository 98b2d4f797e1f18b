"""Ada Lovelace, who reads a page and does what it says: in cells of real kernels, and in a shell.

Owns what she has when a page begins: a home folder, Jupyter with perdure in it, and a clone of the repository. Knows no
page; what the blocks and marks of one mean stands in blocks.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kernel.answer import Answer, Message
from tests.kernel.driver import PERDURE, Kernel
from tests.kernel.home import Home

from .blocks import Block

ROOT = Path(__file__).resolve().parents[2]

# `make` is only asked whether it would: what it does is run elsewhere (tests/tour; .ci/run calls `make test`).
# pip installs into a folder of the test's own.
PREAMBLE = """
make() { command make -n "$@" >/dev/null; }
pip() { command python -m pip --quiet "$@" --no-deps --no-index --no-build-isolation --target "$HOME/site"; }
"""


class _Unheard(Kernel):
    """A kernel whose first cell is the reader's, which is told of the start.

    What a driver asks to know that a kernel hears it is silent here, as what front ends ask.
    """

    _silent = False

    def start(self, *arguments: str) -> Kernel:
        self._silent = True
        try:
            return super().start(*arguments)
        finally:
            self._silent = False

    def run(self, code: str, **said: Any) -> Answer:
        return super().run(code, **said | {"silent": self._silent})


@dataclass(slots=True)
class _Front:
    """A console or a notebook with its kernel."""

    kernel: Kernel
    file: Path | None  # of the notebook
    cells: list[Message] = field(default_factory=list)
    written: str | None = None  # what the kernel wrote into the next cell


class Reader:
    """Does the blocks of one page, one after another."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        environ = self.home.environ
        for name in ("PERDURE_LAYER", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            del environ[name]  # she has everything where the system has it by default
        environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environ["PATH"]))
        environ["JUPYTER_PREFER_ENV_PATH"] = "0"
        shutil.copytree(ROOT / "kernelspec", Path(environ["JUPYTER_DATA_DIR"]) / "kernels" / "perdure")
        self._clone = root / "clone"
        self._fronts: dict[tuple[str, str], _Front] = {}

    def does(self, block: Block) -> str:
        """What `block` shows."""
        shown = self._shell(block) if block.language == "sh" else self._cell(block)
        return shown.replace(self.home.environ["HOME"], "/home/ada")

    def leaves(self) -> None:
        for front in self._fronts.values():
            front.kernel.kill()

    # Cells.

    def _cell(self, block: Block) -> str:
        front = self._front(block)
        if block.written:
            assert front.written == block.text, f"the kernel wrote:\n{front.written}"
        if front.file is None:
            answer = front.kernel.run(block.text, kind="console", allow_stdin=True)
        else:  # as JupyterLab does, which says nothing of the kind
            answer = front.kernel.run(block.text, kind=None, allow_stdin=True, metadata={"cellId": f"{block.line}"})
            front.cells.append(_saved(block, answer))
            front.file.write_text(_notebook(front.cells), "utf-8")
        payload = [each for each in answer.content.get("payload", ()) if each["source"] == "set_next_input"]
        front.written = payload[-1]["text"] if payload else None
        said = (answer.stdout, *_displayed(answer), answer.stderr, answer.value, answer.error, *answer.notices)
        return "\n".join(part.strip("\n") for part in said if part)

    def _front(self, block: Block) -> _Front:
        """Where the cell is run."""
        here = (block.folder, block.notebook)
        front = self._fronts.get(here)
        if front is None:
            file = self._folder(block) / block.notebook if block.notebook else None
            # As jupyter_server tells a kernel whose it is.
            kernel = _Unheard(self.home, PERDURE, **({"JPY_SESSION_NAME": str(file)} if file else {}))
            front = self._fronts[here] = _Front(kernel, file)
        elif not block.restarted:
            return front
        self.home.work = self._folder(block)
        front.kernel.restart()
        return front

    def _folder(self, block: Block) -> Path:
        if not block.folder:
            return self.home.root / "work"
        folder = Path(block.folder.replace("~", self.home.environ["HOME"], 1))
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # The shell.

    def _shell(self, block: Block) -> str:
        done = subprocess.run(
            ("sh", "-euc", PREAMBLE + block.text),
            cwd=self._folder(block) if block.folder else self._in_the_clone(),
            env=self.home.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _in_the_clone(self) -> Path:
        if not self._clone.exists():
            listed = subprocess.run(
                ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for name in filter(None, listed.split("\0")):
                (self._clone / name).parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).exists():
                    shutil.copy(ROOT / name, self._clone / name, follow_symlinks=False)
        return self._clone


_OUTPUTS = ("stream", "execute_result", "display_data", "error")


def _displayed(answer: Answer) -> Iterator[str]:
    """What was displayed, in its plain form; notices are told apart from it."""
    for message in answer.of_type("display_data"):
        if "perdure" not in message["content"]["metadata"]:
            yield message["content"]["data"]["text/plain"]


def _saved(block: Block, answer: Answer) -> Message:
    """A cell as a notebook's file has it."""
    shown = [(message["msg_type"], message["content"]) for message in answer.iopub]
    return {
        "cell_type": "code",
        "id": f"line-{block.line}",
        "metadata": {},
        "source": block.text,
        "execution_count": answer.content["execution_count"],
        "outputs": [
            {"output_type": kind} | {name: said for name, said in content.items() if name != "transient"}
            for kind, content in shown
            if kind in _OUTPUTS
        ],
    }


def _notebook(cells: list[Message]) -> str:
    """The text of a notebook's file."""
    spec = {"name": "perdure", "display_name": "Python 3 (perdure)", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": spec}, "cells": cells})
