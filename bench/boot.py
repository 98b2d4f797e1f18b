"""What loading a layer costs beside importing the same definitions as one compiled module.

The boot looks at every file of the layer and loads all of them; what is imported before it is not counted, as the
interpreter is not for the module. Each is done in a process of its own, in turn. Beside the boot that finds all as it
was, one with nothing to go by, from the source alone (DESIGN §10).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from _statistics import estimate, verdict
from pathlib import Path
from statistics import median

from _layers import ROOT, definitions, made

MUST, GOAL = 1.5, 1.2
MUST_OVER_SOURCE = 15.0  # how much slower a boot from the source is, or the bundle is good for nothing
PATIENCE = 300.0  # seconds until a bundle is there

BOOT = """
import sys, time
sys.path.insert(0, sys.argv[1])
import platformdirs.unix
from perdure.kernel.workspace import Workspace
space = {"__name__": "__main__"}
begun = time.perf_counter()
workspace = Workspace(space, ambient=dict(space))
workspace.boot()
print(time.perf_counter() - begun)
assert len(space) > int(sys.argv[2]), len(space)
workspace.settle()
if sys.argv[3:]:
    workspace.replied()
    time.sleep(0.5)  # a thread hands them on
"""
IMPORT = """
import sys, time
sys.path.insert(0, sys.argv[1])
begun = time.perf_counter()
import all_of_it
print(time.perf_counter() - begun)
assert len(vars(all_of_it)) > int(sys.argv[2])
"""


def timed(script: str, *arguments: object, environ: dict[str, str]) -> float:
    """Milliseconds that the script says it took."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)], env=environ, check=True, capture_output=True, text=True
    )
    return float(done.stdout) * 1000


def measure(folder: Path, count: int, rounds: int) -> bool:
    files = definitions(count)
    home = made(folder / str(count), files)
    environ = {name: value for name, value in home.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    module = folder / f"module{count}"
    module.mkdir()
    (module / "all_of_it.py").write_text("\n\n".join(files.values()), encoding="utf-8")
    timed(IMPORT, module, count, environ=environ)  # compiles it
    source = [timed(BOOT, ROOT, count, environ=environ) for _ in range(2)]
    timed(BOOT, ROOT, count, "and leave a bundle", environ=environ)
    until = time.monotonic() + PATIENCE
    while not any(Path(environ["XDG_CACHE_HOME"]).rglob("*.bundle")):
        if time.monotonic() > until:
            sys.exit(f"there is no bundle after {PATIENCE:g} s")
        time.sleep(0.2)
    boots, imports, ratios = [], [], []
    for number in range(rounds):
        for act in (0, 1) if number % 2 else (1, 0):
            if act:
                boots.append(timed(BOOT, ROOT, count, environ=environ))
            else:
                imports.append(timed(IMPORT, module, count, environ=environ))
        ratios.append(boots[-1] / imports[-1])
    ratio, slower = estimate(ratios), median(source) / median(boots)
    met, said = verdict(ratio, MUST, GOAL)
    print(f"\n{count} definitions, {rounds} rounds, ms")
    print(f"  import of one compiled module {median(imports):9.1f}")
    print(f"  boot                          {median(boots):9.1f}   {ratio} of that: {said}")
    print(f"  from the source              {median(source):9.1f}   {slower:.1f} times that (must {MUST_OVER_SOURCE:g})")
    return met and slower >= MUST_OVER_SOURCE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    os.umask(0o077)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        met = [measure(Path(folder), count, options.rounds) for count in options.definitions]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
