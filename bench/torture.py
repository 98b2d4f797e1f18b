"""Whether anything that was acknowledged is ever lost: cases S1 and S2 of issue 5, for as long as is wanted.

S1: kernels are killed at random moments, beside a process that keeps processor and disk busy: two workspaces without
sockets around them most of the time, then kernels as a front end has them. A sweep kills at every single write of a
keep, a forget, an undo, and of starts that put a layer in order; and there the power is cut, so that what was not
synced may be lost. S2: two kernels and a git command line commit at once.

What was violated is told with the seed, what was done before it, and a copy of the folders; exit status 1.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kernel.home import Home
from tests.kernel.killed_kernels import KilledKernels
from tests.kernel.nursery import Nursery
from tests.kernel.race import Race
from tests.kernel.sweeps import SCENARIOS, Sweep
from tests.kernel.torture import Tally, Torture, Violated
from tests.kernel.tortured import When

KILLS, COMMITS = 100, 1000  # of the cases, by cases.md and issue 5
REAL = 0.1  # of the kills, through sockets
WHEN: tuple[When, ...] = ("before", "after", "half", "cut")
FEW = 10  # lives on one layer
BUSY = """
import hashlib, os, sys
file, data = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), bytes(1 << 18)
while True:
    for _ in range(20):
        data = hashlib.sha256(data).digest() * (1 << 13)
    os.pwrite(file, data, 0)
    os.fsync(file)
"""


class Session:
    """One run of all of it, and what it found."""

    def __init__(self, folder: Path, seed: int, nursery: Nursery) -> None:
        self.folder = folder
        self.nursery = nursery
        self.chance = random.Random(seed)
        self.violations = 0
        self.tally = Tally()
        self.kept = 0  # acknowledged keeps
        self.swept = 0
        self.emptied = 0
        self.raced: Counter[str] = Counter()
        self.raced_commits = 0
        self._count = 0

    def kill(self, kills: int, until: float) -> None:
        """S1 with workspaces, and then with kernels over sockets, until there were so many kills."""
        wanted = self.tally.kills + kills
        while self.tally.kills < wanted * (1 - REAL) and time.monotonic() < until:
            self._lives(lambda home, seed: Torture(home, self.nursery, seed), wanted * (1 - REAL), until)
        while self.tally.kills < wanted and time.monotonic() < until:
            self._lives(KilledKernels, wanted, until)

    def sweep(self, until: float) -> None:
        """A kill at every write of each scenario, in one of the ways to be killed there."""
        for name in SCENARIOS:
            for when in WHEN:
                if time.monotonic() > until:
                    return
                with self._folder(f"sweep of {name!r}") as folder:
                    sweep = Sweep(folder, self.nursery, self.chance.randrange(1_000_000))
                    # Of many calls some, another some each time.
                    step = 10 if name == "fifty" else 1
                    try:
                        sweep.run(name, when, start=self.chance.randint(1, step), step=step)
                    finally:
                        self.swept += sweep.kills
                        self.emptied += sweep.emptied

    def race(self, commits: int) -> None:
        """S2."""
        seed = str(self.chance.random())
        with self._folder(f"race, seed {seed}") as folder:
            race = Race(Home(folder), self.nursery, seed, commits)
            race.run()
            self.raced += race.acknowledged
            self.raced_commits += len(race.home.log())

    def _lives(self, made: Callable[[Home, str], Torture | KilledKernels], wanted: float, until: float) -> None:
        """Some lives on one new layer."""
        seed = str(self.chance.random())
        with self._folder(f"kills, seed {seed}") as folder:
            torture = made(Home(folder), seed)
            torture.tally = self.tally
            try:
                for _ in range(FEW):
                    if self.tally.kills < wanted and time.monotonic() < until:
                        torture.life()
            finally:
                self.kept += torture.ledger.acknowledged
                torture.end()

    @contextmanager
    def _folder(self, what: str) -> Iterator[Path]:
        """A folder for something, kept where that violated a promise."""
        self._count += 1
        folder = self.folder / str(self._count)
        folder.mkdir()
        try:
            yield folder
        except (Violated, AssertionError) as violated:
            self.violations += 1
            print(f"VIOLATED by {what}; the folders are in {folder}\n{violated}", flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def busy(folder: Path) -> Iterator[None]:
    """Processor and disk are busy during the block."""
    process = subprocess.Popen([sys.executable, "-c", BUSY, str(folder / "busy")])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def report(session: Session, seconds: float) -> None:
    tally = session.tally
    print(
        f"{seconds:.0f} s: {tally.kills} random kills, {session.kept} acknowledged parts of {tally.cells} cells, ",
        end="",
    )
    print(f"{tally.boots} starts, {tally.refused} refused; by hand: {dict(tally.by_hand) or 'nothing'}")
    for where, count in tally.where.most_common():
        print(f"  {count:5} killed {where}")
    print(f"{session.swept} kills at the n-th write; power cuts emptied {session.emptied} objects that nothing needed")
    print(f"{session.raced_commits} commits at once: {dict(session.raced)} acknowledged")
    print(f"{session.violations} violations")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="again and again until these are over")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--kills", type=int, default=KILLS, help="random kills in a round")
    parser.add_argument("--commits", type=int, default=COMMITS, help="commits at once in a round")
    parser.add_argument("--no-sweep", action="store_true", help="only what is random")
    options = parser.parse_args()
    os.umask(0o077)
    print(f"seed {options.seed}", flush=True)
    begun = time.monotonic()
    until = begun + options.minutes * 60
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    with Nursery() as nursery, busy(folder):
        session = Session(folder, options.seed, nursery)
        while time.monotonic() < until:
            session.kill(options.kills, until)
            session.race(options.commits)
            if not options.no_sweep:
                session.sweep(until)
            report(session, time.monotonic() - begun)
    if not session.violations:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if session.violations else 0


if __name__ == "__main__":
    sys.exit(main())
