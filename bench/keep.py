"""What keeping a definition costs beside `git add` and `git commit` of the same file (DESIGN §10, issue 5).

A kept definition is synced to the disk, committed and on record, and `git status` is clean; the rival has the same file
written in a copy of the layer. A kernel's workspace keeps, in a process of its own and without sockets around it: a
round trip takes as long in plain ipykernel, and would hide what is measured here. Timed is the whole cell, its
compiling and running included. Every round keeps one definition in each layer, in every order in turn, and now and then
fifty in one cell.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
from _statistics import Estimate, estimate, verdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from _layers import ROOT, definitions, made, more

from tests.kernel.home import Home

MUST, GOAL = 0.3, 0.15  # of the time of git's command line
MUST_GROWTH, GOAL_GROWTH = 2.0, 1.5  # of the larger layer over the smaller
FIFTY = 50
MUST_FIFTY = 12.0  # times one definition, for fifty in one cell
EVERY = 5  # rounds between two cells of fifty

KEEPER = """
import ast, gc, os, sys, time
sys.path.insert(0, sys.argv[1])
from perdure.kernel.wire import Notices, Request, RequestKind
from perdure.kernel.workspace import Workspace
from perdure.layer.source import Source
space = {"__name__": "__main__"}
workspace = Workspace(space, ambient=dict(space))
workspace.boot()
while workspace.rest():
    pass
request = Request(RequestKind.AGENT, Notices.ALL)
print("ready", flush=True)
for number, line in enumerate(sys.stdin, 1):
    text = ast.literal_eval(line)
    begun = time.perf_counter()
    cell = workspace.open_cell(request, text, number)
    nodes = ast.parse(text).body
    if workspace.may_touch(nodes, text):
        workspace.waking.load_for_code(text)
    cell.enter(len(nodes))
    for statement in Source(text).statements(nodes):
        cell.starting(statement.node)
        exec(compile(ast.Module([statement.node], []), "cell", "exec"), space)
        cell.completed(statement)
    cell.leave()
    report = workspace.close_cell(cell, request)
    took = time.perf_counter() - begun
    assert not report.faults, report.faults
    print(took, *[type(outcome).__name__ for outcome in report.outcomes], flush=True)
    workspace.replied()
"""


class Keeper:
    """A kernel's workspace in a process of its own, on the layer of `home`."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._process = subprocess.Popen(
            [sys.executable, "-c", KEEPER, str(ROOT)],
            env=home.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._said()
        self._ask("import json\nimport math")

    def keep(self, *texts: str) -> float:
        """Milliseconds of a cell that has these definitions."""
        took, *outcomes = self._ask("\n".join(texts))
        if outcomes != ["Kept"] * len(texts):
            sys.exit(f"not kept: {outcomes} of {texts}")
        return float(took) * 1000

    def end(self) -> None:
        self._process.communicate()

    def _ask(self, cell: str) -> list[str]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{cell!r}\n")
        self._process.stdin.flush()
        return self._said()

    def _said(self) -> list[str]:
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            sys.exit("the keeping process ended")
        return line.split()


class CommandLine:
    """Git's command line, in a copy of a layer."""

    def __init__(self, home: Home, folder: Path) -> None:
        shutil.copytree(home.layer, folder)
        self._folder, self._environ = folder, home.environ
        self._git("update-index", "-q", "--refresh")

    def keep(self, path: str, text: str) -> float:
        """Milliseconds until the file at `path` is written and committed."""
        begun = perf_counter()
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self._git("add", path)
        self._git("commit", "-q", "-m", f"keep {file.stem}")
        return (perf_counter() - begun) * 1000

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self._folder, env=self._environ, check=True)


class Layer:
    """A layer of `count` definitions, by perdure and by git's command line, and how long each has taken."""

    def __init__(self, folder: Path, count: int, rounds: int) -> None:
        files = definitions(count)
        self.count = count
        home = made(folder / str(count), files)
        self._git = CommandLine(home, folder / f"{count}-by-git")
        self.ours = Keeper(home)
        self.took: dict[str, list[float]] = {"perdure": [], "git": [], "fifty": []}
        new = more(files, rounds * 2 + FIFTY * (rounds // EVERY + 2) + 2)
        # Without the imports, which are in the first cell: before each of them what was defined is committed.
        self._new = iter((path, text.rpartition("\n\n\n")[2]) for path, text in new.items())
        self.step("perdure"), self.step("git"), self.step("fifty")
        for each in self.took.values():
            each.clear()  # the first of each has things to import and to read

    def step(self, how: str) -> None:
        if how == "perdure":
            self.took[how].append(self.ours.keep(next(self._new)[1]))
        elif how == "git":
            self.took[how].append(self._git.keep(*next(self._new)))
        else:
            self.took[how].append(self.ours.keep(*(text for _, text in itertools.islice(self._new, FIFTY))))

    def end(self) -> None:
        """End the kernel; what was promised must be so."""
        self.ours.end()
        home = self.ours.home
        kept = len(home.log()) - 1  # without the one of all that was there
        if said := home.status():
            sys.exit(f"the layer is not clean:\n{said}")
        singles, fifties = len(self.took["perdure"]) + 1, len(self.took["fifty"]) + 1
        recorded = [event for event in home.events() if event["event"] == "definition_recorded"]
        if kept != singles + fifties or len(recorded) != singles + FIFTY * fifties:
            sys.exit(f"{kept} commits and {len(recorded)} events for {singles} cells, and {fifties} of {FIFTY}")


def measure(layers: list[Layer], rounds: int) -> None:
    steps = [(layer, how) for layer in layers for how in ("perdure", "git")]
    orders: Iterator[tuple[tuple[Layer, str], ...]] = itertools.cycle(itertools.permutations(steps))
    for number, order in enumerate(itertools.islice(orders, rounds)):
        for layer, how in order:
            layer.step(how)
        if number % EVERY == 0:
            for layer in layers:
                layer.step("fifty")


def of(some: list[float], others: list[float]) -> Estimate:
    """How many times as long as the others, taken in the same rounds, some took."""
    return estimate([one / other for one, other in zip(some, others, strict=True)])


def report(layers: list[Layer], rounds: int) -> bool:
    print(f"to keep a definition, {rounds} rounds; ms")
    met = True

    def told(what: str, ratio: Estimate, must: float, goal: float) -> None:
        nonlocal met
        is_met, said = verdict(ratio, must, goal)
        met = met and is_met
        print(f"    {ratio} {what}: {said}")

    for layer in layers:
        ours, theirs, fifty = (layer.took[how] for how in ("perdure", "git", "fifty"))
        print(f"  {layer.count} definitions: {median(ours):.2f}; git's command line {median(theirs):.2f}")
        told("of git's time", of(ours, theirs), MUST, GOAL)
        each = of(fifty, [median(ours)] * len(fifty))
        told(f"for {FIFTY} in one cell, {median(fifty):.1f}", each, MUST_FIFTY, MUST_FIFTY)
    for small, large in itertools.pairwise(layers):
        growth = of(large.took["perdure"], small.took["perdure"])
        told(f"at {large.count} of that at {small.count}", growth, MUST_GROWTH, GOAL_GROWTH)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=int, nargs="*", default=[1000, 10000])
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    os.umask(0o077)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        layers = [Layer(Path(folder), count, options.rounds) for count in options.definitions]
        measure(layers, options.rounds)
        for layer in layers:
            layer.end()
        return 0 if report(layers, options.rounds) else 1


if __name__ == "__main__":
    sys.exit(main())
