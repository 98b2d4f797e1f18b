"""What a kernel with many definitions takes of memory at most, beside plain ipykernel (issue 5).

The peak of the process when its first cell was answered, and when it has done all that it does when nothing is to be
done: after a start that finds all as the one before it left it, and after one that has nothing but the source. What
writes the bundle is another process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from _layers import ROOT, definitions, made
from start import prepare

from tests.kernel.driver import PERDURE, STOCK, Kernel
from tests.kernel.home import Home

MUST = 40.0  # MB over ipykernel's, of a start that finds all as it was
REST = """
from perdure.kernel import current as _c
_c._workspace.complete()
while _c._workspace.rest(): pass
"""


def peaks(kernel: Kernel, code: str) -> tuple[float, float]:
    """MB that the process had at most when its first cell was answered, and when it has run the code."""
    try:
        kernel.start()
        first = peak(kernel.pid)
        kernel.run(code)
        return first, peak(kernel.pid)
    finally:
        kernel.kill()


def peak(process: int) -> float:
    """MB that the process had at most until now; not a number where the system does not tell."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = {"PYTHONPATH": str(ROOT)}
        stock = Kernel(Home(Path(folder) / "stock"), STOCK, **path)
        ours = Kernel(made(Path(folder) / "layer", definitions(options.definitions)), PERDURE, **path)
        prepare(ours)
        theirs = [peaks(stock, "pass")[1] for _ in range(options.rounds)]
        replayed = [peaks(ours, REST) for _ in range(options.rounds)]
        for file in (ours.home.root / "cache").rglob("*.bundle"):
            file.unlink()
        _, source = peaks(ours, REST)
    stocks = median(theirs)
    loaded, more = (median(each) - stocks for each in zip(*replayed, strict=True))
    print(f"peak memory with {options.definitions} definitions, {options.rounds} rounds; MB")
    print(f"  ipykernel                                {stocks:6.1f}")
    print(f"  a start as the last one, first reply    {loaded:+7.1f}")
    print(f"      when all is known of them           {more:+7.1f} (must {MUST:g})")
    print(f"  one from the source                     {source - stocks:+7.1f}")
    return 0 if more <= MUST else 1


if __name__ == "__main__":
    sys.exit(main())
