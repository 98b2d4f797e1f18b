"""What a start costs: from the process's first instruction to its first reply, beside plain ipykernel with no layer.

Kernels of perdure with one definition, with many of the library, and with as many of which half import generated
packages that sleep and allocate as they are imported, which deferral is to make as quick. One start of each in every
round, in another order each time. Before the first round each has had a start and a rest, as any kernel has that is not
the first on its layer, so that it finds what that left for it (DESIGN §10).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from _statistics import estimate, verdict
from pathlib import Path
from statistics import median
from time import perf_counter

from deferral import PACKAGES, SLOW, definitions, made

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kernel.driver import PERDURE, STOCK, Kernel
from tests.kernel.home import Home
from tests.packages import Packages

MUST, GOAL = 1.08, 1.00
PATIENCE = 60.0  # seconds for what a kernel leaves to the next one


def start(kernel: Kernel) -> float:
    """Seconds until the first cell has been answered."""
    begun = perf_counter()
    try:
        kernel.start()
        return perf_counter() - begun
    finally:
        kernel.kill()


def settle(kernel: Kernel) -> None:
    """Let a kernel come to rest once, and a second one compile what only that needs."""
    try:
        kernel.start()
        if kernel.home.layer.exists():
            until = time.monotonic() + PATIENCE
            while not [*(kernel.home.root / "cache").rglob("*.bundle")]:
                assert time.monotonic() < until, "the kernel left no bundle"
                time.sleep(0.05)
    finally:
        kernel.kill()
    start(kernel)


def starts(folder: Path, count: int, rounds: int) -> bool:
    packages = Packages(folder / "packages")
    for name in PACKAGES:
        packages.make(name, before=SLOW)
    path = {"PYTHONPATH": os.pathsep.join([str(packages.folder), str(Path(__file__).parents[1])])}
    kernels = {
        "ipykernel, no definitions": Kernel(Home(folder / "stock"), STOCK, **path),
        "perdure, 1": Kernel(made(folder / "one", definitions(1, False)), PERDURE, **path),
        f"perdure, {count} of the library": Kernel(made(folder / "plain", definitions(count, False)), PERDURE, **path),
        f"perdure, {count}, half slow": Kernel(made(folder / "slow", definitions(count, True)), PERDURE, **path),
    }
    for kernel in kernels.values():
        settle(kernel)
    samples: dict[str, list[float]] = {name: [] for name in kernels}
    chance, order = random.Random(rounds), [*kernels]
    for _ in range(rounds):
        chance.shuffle(order)
        for name in order:
            samples[name].append(start(kernels[name]))
    stock, *others = samples
    print(f"start to first reply, {rounds} rounds, s, and how many times ipykernel's")
    print(f"  {stock:34}{median(samples[stock]):7.3f}")
    met = True
    for name in others:
        ratio = estimate([ours / theirs for ours, theirs in zip(samples[name], samples[stock], strict=True)])
        is_within, said = verdict(ratio, MUST, GOAL)
        met = met and is_within
        print(f"  {name:34}{median(samples[name]):7.3f}   {ratio}  {said}")
    print(f"  packages imported by all that: {len(packages.imports)}")
    return met


def main() -> int:
    if sys.dont_write_bytecode:
        print("PYTHONDONTWRITEBYTECODE is set: every start would compile all of perdure", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if starts(Path(folder), options.definitions, options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
