"""The things that a kernel does to its layer, each with what has to come of it in the end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from perdure.kernel import packing
from perdure.kernel.layer_magic import layer as layer_magic
from perdure.kernel.magics import forget as forget_magic

from .home import Home
from .plain_kernel import PlainKernel

KEPT = (
    "RATE = 2\ndef area(r):\n    return RATE * r",
    "class Circle:\n    sides = 1",
    "def gone():\n    return 1",
    "def half():\n    return 'whole'",
)
MANY = "\n".join(f"def many_{number}():\n    return {number}" for number in range(50))
AREA, HALF = "functions/a/area.py", "functions/h/half.py"
BY_HAND = "def area(r):\n    return 'by hand'\n"
Namespace = dict[str, object]


@dataclass(frozen=True)
class Flow:
    """What a kernel does by `act`, after `prepare` had changed the home, and by a kernel that has started or `starts`.

    What happens between the two is `stir`. A kernel that starts later has to find what `check` says. What cannot be
    done again in the same way is done by `again`.
    """

    act: Callable[[PlainKernel], object]
    check: Callable[[Namespace], bool] = lambda _: True
    prepare: Callable[[Home], object] = lambda _: None
    stir: Callable[[Home], object] = lambda _: None
    again: Callable[[PlainKernel], object] | None = None
    starts: bool = False
    is_fresh: bool = False  # there is no layer yet
    commits: bool = True  # what does not may fail without a word
    is_one: bool = True  # one commit or nothing; else some of it may be done
    is_done: Callable[[Home, str], bool] = lambda home, head: committed(home) != head


# Before the flows.


def by_hand(home: Home) -> None:
    (home.layer / AREA).write_text(BY_HAND)


def torn(home: Home) -> None:
    (home.layer / HALF).write_text("def half(:\n")
    (home.layer / AREA).write_text("")


def behind(home: Home) -> None:
    """Somebody wrote the index at the same time as a kernel, whose last commit fell out of it."""
    before = (home.layer / ".git/index").read_bytes()
    PlainKernel(home).run("def late():\n    return 1")
    (home.layer / ".git/index").write_bytes(before)


def by_another(home: Home) -> None:
    by_hand(home)
    home.git("commit", "-qam", "by another")


def distrusted(home: Home) -> None:
    shutil.rmtree(home.state)


# The flows.


def runs(*codes: str) -> Callable[[PlainKernel], object]:
    return lambda kernel: kernel.run(*codes)


def says(line: str) -> Callable[[PlainKernel], object]:
    return lambda kernel: kernel.ask(lambda workspace: layer_magic(workspace, line).text)


def rests(kernel: PlainKernel) -> None:
    kernel.rest()


def packs(kernel: PlainKernel) -> None:
    """There is no git, which is to be told once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "is_due", lambda _: True)
        patch.setattr(packing, "pack", lambda _: False)
        kernel.rest()


def gives(name: str, value: object, *arguments: object) -> Callable[[Namespace], bool]:
    return lambda namespace: namespace[name](*arguments) == value  # type: ignore[operator]


def committed(home: Home) -> str:
    """What HEAD is, read without git."""
    branch = home.layer / ".git/refs/heads/main"
    return branch.read_text() if branch.exists() else ""


FLOWS = {
    "first keep": Flow(runs("def new():\n    return 1"), gives("new", 1), starts=True, is_fresh=True, is_one=False),
    "keep": Flow(runs("def new():\n    return 1"), gives("new", 1)),
    "keep fifty": Flow(runs(MANY), lambda n: gives("many_0", 0)(n) and gives("many_49", 49)(n)),
    "redefine": Flow(runs("def area(r):\n    return 0"), gives("area", 0, 1)),
    "move": Flow(runs("class area:\n    pass"), lambda n: isinstance(n["area"], type)),
    "forget": Flow(
        runs("del gone"),
        lambda n: "gone" not in n,
        again=lambda kernel: kernel.ask(lambda workspace: forget_magic(workspace, "gone") or ""),
    ),
    "undo": Flow(says("undo"), lambda n: "half" not in n),
    "adopt": Flow(rests, gives("area", "by hand", 1), prepare=by_hand),
    "adopt, as it keeps": Flow(
        runs("def new():\n    return 1"), gives("area", "by hand", 1), prepare=by_hand, is_one=False
    ),
    "restore": Flow(
        rests,
        lambda n: gives("area", 2, 1)(n) and gives("half", "whole")(n),
        prepare=torn,
        is_one=False,
        is_done=lambda home, _: home.status() == "",
    ),
    "save and replace": Flow(runs("def half():\n    return 0"), gives("half", 0), stir=torn, is_one=False),
    "heal": Flow(rests, gives("late", 1), prepare=behind, commits=False),
    "refresh": Flow(says("refresh"), gives("area", "by hand", 1), stir=by_another, commits=False),
    "tell that nothing is packed": Flow(packs, commits=False),
    "trust": Flow(says("trust"), prepare=distrusted, starts=True, commits=False),
    "start": Flow(lambda _: None, starts=True, commits=False),
    "start, and leave a bundle": Flow(rests, starts=True, commits=False),
}
