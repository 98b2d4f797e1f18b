"""A layer on a real disk that fills up, or becomes read-only, under a running kernel (S4)."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .driver import PERDURE, Kernel
from .home import Home

SIZE = "900k"
TEXT = 5_000  # characters of a definition, which no compression makes small


class SmallDisk(Home):
    """A home whose layer, state and cache are on a small disk that only what runs `inside` sees."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.disk = root / "disk"
        self.layer = self.disk / "layer"
        self.disk.mkdir()
        self.environ |= {
            "PERDURE_LAYER": str(self.layer),
            "XDG_STATE_HOME": str(self.disk / "state"),
            "XDG_CACHE_HOME": str(self.disk / "cache"),
        }
        script = 'mount -t tmpfs -o "size=$1,mode=700" tmpfs "$2" && echo ready && cat'
        self._holder = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c", script, "sh", SIZE, self.disk],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        self.is_mounted = self._holder.stdout.readline() == b"ready\n"

    @property
    def inside(self) -> list[str]:
        """The words before a command that is to see the disk."""
        return ["nsenter", f"--target={self._holder.pid}", "--user", "--mount", "--preserve-credentials"]

    def do(self, *words: str | Path, said: str = "") -> str:
        """What a command says that sees the disk."""
        done = subprocess.run(
            [*self.inside, *words], env=self.environ, cwd="/", text=True, capture_output=True, check=False, input=said
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def git(self, *words: str | Path, said: str = "") -> str:
        return self.do("git", "-C", self.layer, *words, said=said)

    def fill(self) -> None:
        """Leave no room for a byte."""
        subprocess.run(
            [*self.inside, "sh", "-c", f"cat /dev/zero > {self.disk}/filler"], capture_output=True, check=False
        )

    def empty(self) -> None:
        """Make room again."""
        self.do("rm", self.disk / "filler")

    def end(self) -> str:
        """Let go of the disk; why it could not be mounted, if so."""
        _, said = self._holder.communicate()
        return said.decode().strip()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[SmallDisk]:
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("there is no unshare here, which a disk of one's own is mounted with")
    disk = SmallDisk(tmp_path)
    if not disk.is_mounted:
        pytest.skip(f"no disk can be mounted here without being root: {disk.end()}")
    yield disk
    disk.end()


@pytest.fixture
def kernel(small: SmallDisk) -> Iterator[Kernel]:
    kernel = Kernel(small, PERDURE)
    kernel._command = [*small.inside, "--wd=" + str(small.work), *kernel._command]
    yield kernel.start()
    kernel.kill()


def defining(number: int, size: int = TEXT) -> str:
    return f"def f{number}():\n    return {number}, {secrets.token_hex(size // 2)!r}"


def check(home: SmallDisk, status: str = "") -> None:
    """The repository is sound, and there is nothing in the folder that should not be."""
    assert home.git("--no-optional-locks", "status", "--porcelain", "-uall") == status
    assert home.fsck() == ""
    assert home.do("find", home.layer, "-name", "*.tmp", "-o", "-name", "*.lock", "-size", "+0") == ""


def subjects(home: SmallDisk) -> list[str]:
    return home.git("log", "--format=%s").splitlines()


def live(kernel: Kernel, numbers: range) -> bool:
    return kernel.run(f"[f() [0] for f in ({', '.join(f'f{n}' for n in numbers)},)] == {[*numbers]}").value == "True"


def test_a_disk_that_fills_up_and_is_emptied(small: SmallDisk, kernel: Kernel) -> None:
    small.do("sh", "-c", f"head -c 100000 /dev/zero > {small.disk}/filler")
    kept = 0
    while True:
        answer = kernel.run(f"{defining(kept)}\nf{kept}()[0]")
        assert answer.value == str(kept)  # the cell runs in any case
        if not answer.perdure["kept"]:
            break
        assert answer.notices == [f"[layer: kept f{kept}]"]
        kept += 1
        assert kept < 200
    (told,) = answer.notices
    assert told.startswith(f"[layer: f{kept} not kept; No space left on device at ")
    assert told.endswith("; mend that and run the cell again]")
    assert kept > 5
    check(small)

    # Where nothing at all can be written.
    small.fill()
    for code in ("f0 = lambda: (0,)", "del f1", "class f2:\n    pass", "NEW = 1"):
        answer = kernel.run(code)
        assert answer.perdure["kept"] == answer.perdure["forgot"] == []
        assert any("No space left on device" in told for told in answer.notices), answer.notices
    check(small)
    kernel.restart()
    assert kernel.hello == []
    assert live(kernel, range(kept))
    check(small)

    small.empty()
    assert kernel.run(defining(kept)).notices == [f"[layer: kept f{kept}]"]
    assert kernel.run("del f1").notices == ["[layer: forgot f1]"]
    check(small)
    kernel.restart()
    assert kernel.hello == []
    assert live(kernel, range(2, kept + 1))
    assert len(subjects(small)) == kept + 3


def test_a_disk_that_becomes_read_only(small: SmallDisk, kernel: Kernel) -> None:
    kernel.run(defining(0))
    small.do("mount", "-o", "remount,ro", small.disk)
    (told,) = kernel.run(f"{defining(1)}\nassert f1()").notices
    assert told.startswith("[layer: f1 not kept; Read-only file system at ")
    check(small)
    kernel.restart()
    assert live(kernel, range(1))
    (told,) = [*kernel.hello, *kernel.run(defining(1)).notices]
    assert "Read-only file system" in told
    small.do("mount", "-o", "remount,rw", small.disk)
    assert kernel.run(defining(1)).notices == ["[layer: kept f1]"]
    check(small)
    kernel.restart()
    assert kernel.hello == []
    assert live(kernel, range(2))


def test_a_hand_edit_on_a_full_disk(small: SmallDisk, kernel: Kernel) -> None:
    kernel.run(defining(0, 100))
    kernel.kill()
    small.do("sh", "-c", f"echo 'def f0(): return (7,)' > {small.layer}/functions/f/f0.py")
    small.fill()
    kernel.start()
    rest = "while get_ipython().workspace.rest():\n    pass"
    told = [*kernel.hello, *kernel.run(rest).notices, *kernel.run("1").notices]
    (said,) = told
    assert said.startswith("[layer: changed by hand and not committed: functions/f/f0.py; No space left on device at ")
    assert said.endswith("; mend that, and the next definition that is kept has it committed too]")
    assert kernel.run(f"{rest}\nf0()[0]").value == "7"
    assert kernel.run("1").notices == []  # it is told once
    check(small, " M functions/f/f0.py\n")
    small.empty()
    assert kernel.run(defining(1)).notices == ["[layer: kept f1]", "[layer: adopted f0, changed by hand]"]
    check(small)
    assert subjects(small) == ["keep f1", "adopt f0", "keep f0", "new layer"]


def test_a_full_disk_from_the_start(small: SmallDisk, kernel: Kernel) -> None:
    kernel.kill()
    small.do("rm", "-r", small.layer, small.disk / "state")
    small.fill()
    kernel.start()
    (told,) = kernel.hello
    assert told.startswith("[layer: nothing is kept or loaded; No space left on device at ")
    answer = kernel.run(f"{defining(0)}\nf0()[0]")
    assert (answer.value, answer.notices) == ("0", [])
    assert small.do("find", small.disk, "-path", small.layer) == ""
    small.empty()
    kernel.restart()
    assert kernel.run(defining(0)).notices == ["[layer: kept f0]"]
    check(small)
    assert os.listdir(small.disk) == []  # from outside
