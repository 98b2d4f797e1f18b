"""Repositories with many loose objects are packed in the background, and nobody notices."""

from __future__ import annotations

import hashlib
from itertools import count, islice
from pathlib import Path

import pytest

from perdure.layer.packing import LIMIT, is_due

from .conftest import StartKernel
from .driver import Kernel
from .home import Home
from .test_lean_start import watch_for

_CHILDREN = """
import os
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")
"""


@pytest.fixture
def loose(layer: Home) -> Home:
    """A layer with as many loose objects, as far as a look tells, as are packed."""
    more = nearly_many(layer)
    assert not is_due(layer.layer)
    add(layer, more)
    assert is_due(layer.layer)
    return layer


def nearly_many(layer: Home) -> bytes:
    """Have it have one less; gives the content of a file that makes one more."""
    texts = (b"%d\n" % number for number in count())
    seventeen = (t for t in texts if hashlib.sha1(b"blob %d\0" % len(t) + t).hexdigest().startswith("17"))
    add(layer, *islice(seventeen, LIMIT // 256))
    return next(seventeen)


def add(layer: Home, *texts: bytes) -> None:
    """Commit a file of each, by git."""
    (layer.layer / "notes").mkdir(exist_ok=True)
    for text in texts:
        (layer.layer / f"notes/{int(text)}").write_bytes(text)
    layer.git("add", "--all")
    layer.git("commit", "-q", "-m", "notes")


def packed(layer: Path) -> str:
    """A condition that holds when nothing is loose any more."""
    return (
        f"not Path({str(layer / '.git/objects/17')!r}).exists() and not Path({str(layer / '.git/gc.pid')!r}).exists()"
    )


def test_many_loose_objects_are_packed(loose: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(GIT_DIR=str(loose.root / "another")).start()
    kernel.run("def area(r):\n    return r * r")
    watch_for(kernel, packed(loose.layer))
    assert kernel.run(_CHILDREN).stdout == "none\n"
    assert [*(loose.layer / ".git/objects/pack").glob("*.pack")]
    assert kernel.run("def area(r):\n    return 3 * r * r").notices == ["[layer: kept area]"]
    assert (loose.fsck(), loose.status()) == ("", "")
    assert kernel.restart().hello == []
    assert kernel.run("area(2)").value == "12"
    for file in (loose.layer / ".git/objects").rglob("*"):
        assert file.is_dir() or not file.stat().st_mode & 0o077, file


def test_those_that_came_later_are_packed_too(layer: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    rested(kernel)
    add(layer, nearly_many(layer))
    kernel.run("def area(r):\n    return r * r")
    watch_for(kernel, packed(layer.layer))
    assert (layer.fsck(), layer.status()) == ("", "")


def test_few_are_not(layer: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    kernel.run("def area(r):\n    return r * r")
    rested(kernel)
    assert not [*(layer.layer / ".git/objects/pack").iterdir()]


def test_without_git_it_is_said_once(loose: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(PATH=str(loose.root / "nothing")).start()
    rested(kernel)
    (told,) = kernel.run("1").notices
    assert "there is no git here" in told
    rested(kernel.restart())
    assert kernel.run("1").notices == []
    assert loose.status() == ""


def test_a_readonly_kernel_packs_nothing(loose: Home, new_kernel: StartKernel) -> None:
    rested(new_kernel(PERDURE_MODE="readonly").start())
    assert is_due(loose.layer)
    assert not [*(loose.layer / ".git/objects/pack").iterdir()]


def rested(kernel: Kernel) -> None:
    """Have the kernel do all that it does at rest."""
    assert kernel.run("while get_ipython().workspace.rest():\n    pass").status == "ok"
