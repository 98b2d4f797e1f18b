"""What a cell pays for looking up what waits: cells that name nothing, something live, and something that waits.

Of a layer of 1,000 definitions, half of which import generated packages that sleep and allocate as they are imported
(DESIGN §10, issue 4). What such a layer costs a start is measured by start.py.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
import sys
import tempfile
from _statistics import estimate
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))
from perdure.layer.memory import MemoryStore
from tests.kernel.home import Home
from tests.layer.cells import Cells
from tests.packages import Packages

MUST_LOOKUP = 0.2  # milliseconds
SLOW = "import time\ntime.sleep(0.3)\nheap = [bytearray(1000) for _ in range(20000)]"
PACKAGES = tuple(f"heavy_{number}" for number in range(10))


def definitions(count: int, slow: bool) -> dict[str, str]:
    """Files by path; where `slow`, every second one imports one of the packages. Each calls three others."""
    chance = random.Random(count)
    files = {}
    for number in range(count):
        head = f"from {chance.choice(PACKAGES)} import twice\n\n\n" if slow and number % 2 else "import json\n\n\n"
        calls = ", ".join(f"f{chance.randrange(count):04}(x)" for _ in range(3))
        used = "twice" if slow and number % 2 else "json.dumps"
        files[f"functions/f/f{number:04}.py"] = (
            f"{head}def f{number:04}(x):\n    if x > 3:\n        return {used}(x)\n    return [{calls}]\n"
        )
    return files


def made(folder: Path, files: dict[str, str]) -> Home:
    """A home whose layer has the files, committed."""
    home = Home(folder)
    script = (
        "from pathlib import Path\nimport sys\nsys.path.insert(0, sys.argv[2])\n"
        "from perdure.layer.disk import RealDisk\nfrom perdure.layer.opening import open_layer\n"
        "from perdure.layer.place import Homes, Origin, Place\nfrom perdure.layer.store import Identity\n"
        "place = Place(Path(sys.argv[1]), 'layer', Origin.ENVIRONMENT)\n"
        "open_layer(place, Homes.of_user(), author=Identity('Ada', 'ada@example.org'), disk=RealDisk())\n"
    )
    root = str(Path(__file__).parents[1])
    subprocess.run([sys.executable, "-c", script, str(home.layer), root], env=home.environ, check=True)
    for path, text in files.items():
        (home.layer / path).parent.mkdir(parents=True, exist_ok=True)
        (home.layer / path).write_text(text, encoding="utf-8")
    home.git("add", "-A")
    home.git("commit", "-qm", "definitions")
    return home


def lookups(folder: Path, count: int, rounds: int) -> bool:
    packages = Packages(folder / "looked-up", *PACKAGES)
    files = {path: text.encode() for path, text in definitions(count, True).items()}
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
    parser.add_argument("--lookups", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        met = lookups(Path(folder), options.definitions, options.lookups)
    print(f"\na lookup is {'within' if met else 'over'} the must of {MUST_LOOKUP} ms")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
