"""What a kernel keeps is on disk at once, wherever that is, and at rest where it belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.layer.git_locks import REDO
from perdure.layer.git_objects import object_file
from perdure.layer.git_redo import read

from .conftest import StartKernel
from .home import Home
from .test_lean_start import watch_for

_KEPT_AND_KILLED = """
def volume(r, h):
    return area(r) * h
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def redo(layer: Home) -> Path:
    return layer.layer / ".git" / REDO


def settled(redo: Path) -> str:
    """A condition that holds when nothing is left to be synced."""
    return f"not Path({str(redo)!r}).read_bytes()"


def lose(layer: Path, redo: Path) -> None:
    """Take what is promised from where it belongs, as a power cut may, and have the machine started anew."""
    promised = [each for _, each in read(redo.read_bytes())]
    assert promised
    for each in promised:
        for name in each.objects:
            file = object_file(layer / ".git/objects", name)
            file.chmod(0o600)
            file.write_bytes(b"")
        for path in each.files:
            (layer / path).write_bytes(b"")
    (layer / ".git" / promised[0].branch).write_text(f"{promised[0].old}\n")
    (layer / ".git/index").write_bytes(b"")
    redo.write_bytes(b"".join(each.to_bytes("an earlier start") for each in promised))


def test_what_was_kept_is_there_after_a_power_cut(layer: Home, redo: Path, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    assert kernel.run("def area(r):\n    return 3 * r * r").notices == ["[layer: kept area]"]
    kernel.send(_KEPT_AND_KILLED)
    kernel.wait_for_exit()
    lose(layer.layer, redo)
    assert kernel.restart().hello == []
    assert kernel.run("volume(1, 2)").value == "6"
    assert (layer.fsck(), layer.status()) == ("", "")
    assert redo.read_bytes() == b""
    assert layer.git("log", "-2", "--format=%s") == "keep volume\nkeep area\n"
    assert kernel.run("def area(r):\n    return r * r").notices == ["[layer: kept area]"]


def test_at_rest_it_is_put_where_it_belongs(redo: Path, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    for number in range(3):
        kernel.run(f"def area(r):\n    return {number} * r")
        watch_for(kernel, settled(redo))


def test_and_when_the_kernel_ends_in_order(layer: Home, redo: Path, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    kernel.run("def area(r):\n    return r")
    assert kernel.shutdown() == 0
    assert redo.read_bytes() == b""
    assert layer.status() == ""


def test_another_kernel_settles_what_a_killed_one_left(redo: Path, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    kernel.send(_KEPT_AND_KILLED)
    kernel.wait_for_exit()
    assert redo.read_bytes()
    kernel.kill()
    watch_for(kernel.start(), settled(redo))


def test_what_came_with_a_folder_that_is_trusted_now_is_no_promise(
    layer: Home, redo: Path, new_kernel: StartKernel
) -> None:
    kernel = new_kernel().start()
    kernel.run("def area(r):\n    return 3 * r * r")
    kernel.send(_KEPT_AND_KILLED)
    kernel.wait_for_exit()
    kernel.kill()
    redo.write_bytes(b"".join(each.to_bytes("elsewhere") for _, each in read(redo.read_bytes())))
    layer.git("reset", "--hard", "--quiet", "HEAD~1")
    (redo.parent / "logs/refs/heads/main").unlink()
    for record in layer.state.rglob("trusted.jsonl"):
        record.unlink()
    kernel.start()
    assert "is not trusted" in kernel.hello[0]
    kernel.run("%layer trust")
    assert kernel.run("area(1), 'volume' in globals()").value == "(3, False)"
    assert not redo.exists()
