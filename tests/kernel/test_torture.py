"""Cases S1 and S2: nothing that was acknowledged is lost, wherever a kernel is killed and whoever commits beside it.

The short form of bench/torture.py, with seeds that are always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .home import Home
from .killed_kernels import KilledKernels
from .nursery import Nursery
from .race import Race
from .sweeps import SCENARIOS, Sweep
from .torture import Torture


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.mark.parametrize("writers", [1, 2])
def test_s1_kernels_are_killed_at_random_and_nothing_acknowledged_is_lost(
    home: Home, nursery: Nursery, writers: int
) -> None:
    torture = Torture(home, nursery, f"short {writers}", writers=writers)
    try:
        for _ in range(6):
            torture.life()
    finally:
        torture.end()
    assert torture.tally.kills >= 6
    assert torture.ledger.acknowledged


def test_s1_through_real_kernels(home: Home) -> None:
    killed = KilledKernels(home, "short")
    try:
        killed.life()
        killed.life()
    finally:
        killed.end()


def test_s1_a_kill_at_every_write_of_a_keep(tmp_path: Path, nursery: Nursery) -> None:
    sweep = Sweep(tmp_path, nursery)
    assert sweep.run("keep", "half") == sweep.kills > 10


def test_a_power_cut_after_some_writes(tmp_path: Path, nursery: Nursery) -> None:
    sweep = Sweep(tmp_path, nursery)
    assert sweep.run("rest", "cut", start=2, step=9) > sweep.kills > 3


# At every write of these too kernels are killed by bench/torture.py; one that kept nothing would be seen here.
@pytest.mark.parametrize("name", sorted(SCENARIOS.keys() - {"keep", "rest"}))
def test_s1_a_kill_at_some_writes_of_all_else(tmp_path: Path, nursery: Nursery, name: str) -> None:
    assert Sweep(tmp_path, nursery).run(name, "after", start=3, step=17 if name != "fifty" else 90)


def test_s2_two_kernels_and_git_commit_at_once(home: Home, nursery: Nursery) -> None:
    race = Race(home, nursery, "short", 60)
    race.run()
    assert race.acknowledged.keys() == {"kernel a", "kernel b", "git"}
