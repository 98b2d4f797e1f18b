"""The power is cut at any moment; what was kept until then is there, and the layer can be kept to at once."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.errors import LayerError
from perdure.layer.store import Remove, Write

from .failing_disk import WRITES, FailingDisk, When
from .git_cli import AREA, RATE, settled
from .lossy_disk import LossyDisk, PowerCut
from .machine import Machine, begun, luck

CIRCLE = RelPath("classes/c/Circle.py")
MOVED = RelPath("values/a/area.py")
LATER = RelPath("values/l/LATER.py")
LONG = b"def area(r):\n" + b"    print(r)\n" * 900 + b"    return r\n"

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def everywhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    work: Callable[[Machine], None],
    before: Callable[[Machine], None],
    step: int = 1,
) -> int:
    """Cut the power in each operation of `work`, or every `step`th, after `before`; which was the last."""
    for at in range(1, 1000, step):
        machine = begun(tmp_path / f"at{at}", monkeypatch)
        before(machine)
        machine.disk.at, machine.disk.count = at, 0
        try:
            work(machine)
        except PowerCut:
            machine.cut_power(luck(at))
            machine.check()
            machine.keep(Write(LATER, b"LATER = 1\n"))
            assert settled(machine.store()).dirt().changed == ()
            shutil.rmtree(machine.disk.root)
        else:
            return at
    raise AssertionError("it never ends")


def commit(machine: Machine) -> None:
    machine.keep(Write(AREA, LONG), Write(CIRCLE, b"class Circle: ...\n"), Remove(RATE))


def test_in_the_middle_of_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert everywhere(tmp_path, monkeypatch, commit, lambda _: None) > 30


def test_in_the_middle_of_a_commit_on_what_is_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert everywhere(tmp_path, monkeypatch, commit, settle, step=3) > 30


def settle(machine: Machine) -> None:
    settled(machine.store())


def test_in_the_middle_of_settling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert everywhere(tmp_path, monkeypatch, settle, commit, step=3) > 15


def adopt(machine: Machine) -> None:
    machine.adopt({AREA: b"def area(hand): ...\n", CIRCLE: b"class Circle: ...\n", RATE: None})


def test_what_a_hand_did_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hand = {AREA: b"def area(hand): ...\n", CIRCLE: b"class Circle: ...\n"}
    for at in range(1, 1000, 2):
        machine = begun(tmp_path / f"at{at}", monkeypatch)
        machine.disk.at, machine.disk.count = at, 0
        try:
            adopt(machine)
        except PowerCut:
            machine.cut_power(luck(at))
            machine.store().recover()
            there = machine.now
            assert {path: there.get(path) for path in hand} == hand
            machine.adopt(hand | {RATE: None})
            machine.git.check()
            shutil.rmtree(machine.disk.root)
        else:
            assert at > 30
            break


def test_in_the_middle_of_doing_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(machine: Machine) -> None:
        commit(machine)
        machine.keep(Write(AREA, b"def area(r): ...\n"), Remove(CIRCLE))
        machine.cut_power(random.Random(1).choice)

    assert everywhere(tmp_path, monkeypatch, lambda machine: machine.store().recover(), cut, step=3) > 15


def test_in_the_middle_of_taking_back_what_a_killed_kernel_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(LossyDisk):
        """Kills its kernel when files and index are written and the ref is locked."""

        def link(self, source: Path, target: Path) -> None:
            super().link(source, target)
            if target.name == "main.lock":
                self.is_off = True
                raise PowerCut

    def kill(machine: Machine) -> None:
        machine.disk.__class__ = Killed
        with pytest.raises(PowerCut):
            commit(machine)
        machine.disk.__class__ = LossyDisk
        machine.disk.is_off = False  # it was only the kernel

    assert everywhere(tmp_path, monkeypatch, lambda machine: machine.store().recover(), kill, step=2) > 15


def test_in_the_middle_of_the_first_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for at in range(1, 1000, 3):
        machine = Machine(tmp_path / f"at{at}", monkeypatch)
        machine.disk.at = at
        try:
            machine.create()
        except PowerCut:
            machine.cut_power(luck(at))
            machine.create()
            machine.cut_power(luck(at + 1))
            machine.check()
            shutil.rmtree(machine.disk.root)
        else:
            assert at > 40
            break


def test_whatever_comes_after_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(16):
        live(Machine(tmp_path / f"{seed}" / "machine", monkeypatch), random.Random(seed))


def live(machine: Machine, chance: random.Random) -> None:
    """Some commits, rests, kills and power cuts, as `chance` has it."""
    machine.create()
    paths = [AREA, CIRCLE, MOVED, RATE, RelPath("functions/a/again.py")]

    def text() -> bytes:
        return chance.choice([b"", b"    x\n" * 2000]) + b"# %d\n" % chance.randrange(4)

    def keep() -> None:
        some = chance.sample(paths, chance.randint(1, 3))
        machine.keep(*(Write(path, text()) if chance.random() < 0.7 else Remove(path) for path in some))

    def forget_all() -> None:
        machine.keep(*map(Remove, sorted(machine.files.keys() & {*paths})))

    def hand() -> None:
        machine.adopt({path: chance.choice([text(), None]) for path in chance.sample(paths, 2)})

    def by_git() -> None:
        machine.commit_by_git(chance.choice(paths), b"# by hand %d\n" % chance.randrange(10**9))

    def fail() -> None:
        when: When = chance.choice(["before", "after", "half"])
        counted = WRITES - {"remove"}  # a spare that cannot be removed stays, and harms nothing
        disk = FailingDisk(chance.randint(1, 25), when=when, counted=counted, disk=machine.disk)
        try:
            machine.keep(Write(chance.choice(paths), b"# fails\n"), store=machine.store(disk))
        except LayerError as fault:
            # What could not be taken back may be done by a power cut.
            machine.begun = machine.begun if getattr(fault, "__notes__", None) else None

    def rest() -> None:
        store = machine.store()
        for _ in range(chance.randint(1, 5)):
            store.settle()

    acts = [keep, keep, keep, forget_all, hand, by_git, fail, rest]
    for _ in range(3):
        machine.disk.at = chance.randint(1, 150)
        try:
            for _ in range(6):
                chance.choice(acts)()
        except PowerCut:
            if machine.now not in (machine.files, machine.begun) and chance.random() < 0.5:
                machine.disk.is_off = False  # it was the kernel that was killed, and the next one is there before
                machine.disk.at = 0
                machine.store().recover()
        machine.cut_power(luck(chance.randrange(100)))
        machine.check()
