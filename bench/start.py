"""What a start costs: to the first reply, and in memory, beside plain ipykernel with no definitions.

Kernels of perdure with one definition, with many of the standard library, and with as many of which half import
generated packages that sleep and allocate as they are imported: since those wait until they are named, the last two are
to cost the same. One start of each in every round, in every order in turn; each has been started before, so that all is
compiled and a start finds what the one before it left (DESIGN §10, issue 4). Memory is what the process has for itself
alone, when the first cell was answered.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from _statistics import estimate, verdict
from pathlib import Path
from statistics import median

from _layers import ROOT, definitions, made

from perdure.layer.definition import RelPath
from tests.kernel.driver import PERDURE, STOCK, Kernel
from tests.kernel.home import Home
from tests.packages import Packages

MUST, GOAL = 1.08, 1.0
MUST_MEMORY, GOAL_MEMORY = 12.0, 8.0  # MB over ipykernel's
SLOW = "import time\ntime.sleep(0.3)\nheap = [bytearray(1000) for _ in range(20000)]"
PACKAGES = tuple(f"heavy_{number}" for number in range(10))
STOCK_NAME = "ipykernel"
PATIENCE = 120.0  # seconds until a start has left its bundle


def half_slow(files: dict[str, str]) -> dict[str, str]:
    """The files, every second one with an import of one of the packages."""
    chance = random.Random(len(files))
    imports = {path: f"from {chance.choice(PACKAGES)} import twice\n" for path in itertools.islice(files, 1, None, 2)}
    return {path: imports.get(RelPath(path), "") + text for path, text in files.items()}


def start(kernel: Kernel) -> tuple[float, float]:
    """Seconds until the first cell has been answered, and MB of memory then."""
    begun = time.perf_counter()
    try:
        kernel.start()
        return time.perf_counter() - begun, memory(kernel.pid)
    finally:
        kernel.kill()


def memory(process: int) -> float:
    """MB that the process has for itself alone; not a number where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return float("nan")
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))) / 1024


def prepare(kernel: Kernel) -> None:
    """Start until what the next start can use is there."""
    start(kernel)
    kernel.start()
    until = time.monotonic() + PATIENCE
    while not any((kernel.home.root / "cache").rglob("*.bundle")):
        if time.monotonic() > until:
            sys.exit(f"there is no bundle after {PATIENCE:g} s")
        time.sleep(0.1)
    kernel.run("pass")  # it lives, so that what it has loaded is held to do no harm
    kernel.kill()


def starts(folder: Path, count: int, rounds: int) -> bool:
    packages = Packages(folder / "packages")
    for name in PACKAGES:
        packages.make(name, before=SLOW)
    path = {"PYTHONPATH": f"{packages.folder}:{ROOT}"}
    files = definitions(count)
    layers = {"one definition": definitions(1), f"{count}": files, f"{count}, half slow": half_slow(files)}
    kernels = {STOCK_NAME: Kernel(Home(folder / "stock"), STOCK, **path)}
    kernels |= {
        f"perdure, {what}": Kernel(made(folder / f"layer{number}", each), PERDURE, **path)
        for number, (what, each) in enumerate(layers.items())
    }
    for name, kernel in kernels.items():
        start(kernel) if name == STOCK_NAME else prepare(kernel)
    took: dict[str, list[float]] = {name: [] for name in kernels}
    held: dict[str, list[float]] = {name: [] for name in kernels}
    for order in itertools.islice(itertools.cycle(itertools.permutations(kernels)), rounds):
        for name in order:
            seconds, megabytes = start(kernels[name])
            took[name].append(seconds)
            held[name].append(megabytes)
    stock, *others = kernels
    print(f"start to first reply, {rounds} rounds; s, and MB")
    print(f"  {stock:28}{median(took[stock]):7.3f}{median(held[stock]):8.1f}")
    met = True
    for name in others:
        ratio = estimate([ours / theirs for ours, theirs in zip(took[name], took[stock], strict=True)])
        more = estimate([ours - theirs for ours, theirs in zip(held[name], held[stock], strict=True)])
        in_time, said = verdict(ratio, MUST, GOAL)
        in_bounds, also = verdict(more, MUST_MEMORY, GOAL_MEMORY)
        met = met and in_time and in_bounds
        print(f"  {name:28}{median(took[name]):7.3f}{median(held[name]):8.1f}")
        print(f"      {ratio} of ipykernel's time: {said}")
        print(f"      {more} MB over ipykernel's: {also}")
    print(f"packages imported: {len(packages.imports)}")
    return met and not packages.imports


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=24)
    options = parser.parse_args()
    if sys.dont_write_bytecode:
        print("PYTHONDONTWRITEBYTECODE is set: every start would compile what it imports", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return 0 if starts(Path(folder), options.definitions, options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
