"""What a cell pays for looking up what it names of the definitions that wait (issue 4).

Of a layer of 1,000, half of which import packages: for cells that name nothing of it, something that reaches much, and
several. What deferral does for a start is measured by start.py.
"""

from __future__ import annotations

import argparse
import ast
import random
import sys
import tempfile
from _statistics import estimate
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))
from perdure.layer.memory import MemoryStore
from tests.layer.cells import Cells
from tests.packages import Packages

MUST_LOOKUP = 0.2  # milliseconds
PACKAGES = tuple(f"heavy_{number}" for number in range(10))


def definitions(count: int) -> dict[str, str]:
    """Files by path, of which every second one imports one of the packages. Each calls three others."""
    chance = random.Random(count)
    files = {}
    for number in range(count):
        head = f"from {chance.choice(PACKAGES)} import twice\n\n\n" if number % 2 else "import json\n\n\n"
        calls = ", ".join(f"f{chance.randrange(count):04}(x)" for _ in range(3))
        used = "twice" if number % 2 else "json.dumps"
        files[f"functions/f/f{number:04}.py"] = (
            f"{head}def f{number:04}(x):\n    if x > 3:\n        return {used}(x)\n    return [{calls}]\n"
        )
    return files


def lookups(folder: Path, count: int, rounds: int) -> bool:
    packages = Packages(folder / "looked-up", *PACKAGES)
    files = {path: text.encode() for path, text in definitions(count).items()}
    cells = {  # what each does, and its text
        "names nothing of the layer": "import math\nfor i in range(10):\n    print(math.sqrt(i))\nx = [i]",
        "names one that reaches much": "x = f0000(3)\nfor i in range(10):\n    print(x, i)",
        "defines and names five": "def g(a, b=2):\n    return [f0001(a), f0003(b), f0005(a), f0007(b), f0009(a)]\n",
    }
    print(f"\nlookup at {count} definitions, ms; {rounds} rounds")
    met = True
    with packages.on_path():
        kernel = Cells(MemoryStore(files), defer=True)  # type: ignore[arg-type]
        begun = perf_counter()
        kernel.boot()
        print(f"  boot: {perf_counter() - begun:.3f} s, waiting {len(kernel.layer.deferred.names)}")
        for what, source in cells.items():
            nodes = ast.parse(source).body
            took = [
                timed(lambda nodes=nodes, source=source: kernel.layer.deferred.reached_by(nodes, source))
                for _ in range(rounds)
            ]  # type: ignore[misc]
            found = kernel.layer.deferred.reached_by(nodes, source).bit_count()
            said = estimate(took)
            met = met and said.low <= MUST_LOOKUP
            print(f"  {what:34}{said}   reaches {found}")
    return met


def timed(act: Callable[[], object]) -> float:
    begun = perf_counter()
    act()
    return (perf_counter() - begun) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        met = lookups(Path(folder), options.definitions, options.rounds)
    print(f"\na lookup is {'within' if met else 'over'} the must of {MUST_LOOKUP} ms")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
