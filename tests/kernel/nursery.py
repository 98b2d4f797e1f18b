"""Where processes come from that are there to be killed, and how they are talked to; `tortured` runs in them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any, Self

from .home import Home
from .tortured import PROGRESS, Birth, When

PATIENCE = 120.0  # seconds; only a process that hangs makes anybody wait that long
_ROOT = Path(__file__).resolve().parents[2]
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from tests.kernel.tortured import main; main()"


class Died(Exception):
    """The process is no more."""


class Writer:
    """One such process, from its birth on."""

    def __init__(self, connection: Connection, progress: Path) -> None:
        self._connection = connection
        self._progress = progress
        _, self.pid = self._heard()
        self.told: list[str] = []  # at its start

    def ready(self) -> Writer:
        """Wait until it has loaded its layer. Died where it does not come so far."""
        _, self.told = self._heard()
        return self

    def send(self, name: str, *words: object) -> None:
        """Ask for something. Nobody hears of it where the process is dead: whoever waits for the answer will."""
        try:
            self._connection.send((name, *words))
        except OSError:
            pass

    def hears(self, seconds: float) -> bool:
        """Whether it says something, or dies, within this time."""
        return self._connection.poll(seconds)

    def answer(self) -> tuple[str, Any]:
        """What it says next. Died where it is dead and has said no more."""
        return self._heard()

    def ask(self, name: str, *words: object) -> Any:
        """The answer to a question. Died where there is none."""
        self.send(name, *words)
        return self._heard()[1]

    def kill(self) -> None:
        """SIGKILL; what it said before can still be heard."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def end(self) -> None:
        """Let it end."""
        self._connection.close()

    @property
    def progress(self) -> str:
        """How far it was, by the calls of the Disk port."""
        return self._progress.read_text("utf-8", "replace").strip()

    @property
    def calls(self) -> int:
        """How many calls of the Disk port it has begun in what it does now."""
        words = self.progress.split(maxsplit=2)
        return int(words[1]) if words and words[0] in ("in", "after") else 0

    @property
    def volatile(self) -> Path:
        """What a power cut may take of what it did, for `power_cut.lose`; there when it died in a call of the port."""
        return Path(f"{self._progress}.volatile")

    def _heard(self) -> tuple[str, Any]:
        try:
            if not self._connection.poll(PATIENCE):
                raise AssertionError(f"nothing was heard of process {self.pid} for {PATIENCE:g} s; {self.progress}")
            said: tuple[str, Any] = self._connection.recv()
            return said
        except (EOFError, ConnectionResetError):
            raise Died(self.progress) from None


class Nursery:
    """Makes writers, each in a process of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._listener = Listener(str(Path(self._folder.name) / "socket"), "AF_UNIX")
        self._mother = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(_ROOT)], stdin=subprocess.PIPE, start_new_session=True, text=True
        )
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._mother.communicate()
        self._listener.close()
        self._folder.cleanup()

    def birth(
        self, home: Home, *, kill_at: int = 0, when: When = "before", bundles: bool = True, machine: str = ""
    ) -> Writer:
        """A process with the layer of `home`; it dies in the call `kill_at` of the Disk port, if that is not 0.

        Without `bundles` it leaves the next start nothing to be quicker by. `machine` is that of `Birth`.
        """
        self._count += 1
        progress = Path(self._folder.name) / f"progress-{self._count}"
        progress.write_bytes(b"before the first call".ljust(PROGRESS))
        address = self._listener.address
        assert isinstance(address, str)
        birth = Birth(address, home.environ, str(home.work), str(progress), kill_at, when, bundles, machine)
        assert self._mother.stdin is not None
        self._mother.stdin.write(json.dumps(asdict(birth)) + "\n")
        self._mother.stdin.flush()
        return Writer(self._listener.accept(), progress)
