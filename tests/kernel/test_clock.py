"""A clock that is set back while kernels run, and between them: nothing is lost, unseen or out of order."""

from __future__ import annotations

import os

import pytest

from .conftest import StartKernel
from .home import Home
from .starts import Starts

DAY = 86_400
HOUR = 3_600

_SITE = """
import time

def clock(real, unit):
    def told():
        with open({file!r}) as file:
            return real() + int(file.read()) * unit
    return told

time.time, time.time_ns = clock(time.time, 1), clock(time.time_ns, 1_000_000_000)
"""


class Clock:
    """The clock of every process that is started in a home, and of the files that they write there."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._file = home.root / "clock"
        self._now = 0
        self._seen: set[tuple[str, int]] = set()
        self.set(0)
        site = home.root / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(_SITE.format(file=str(self._file)))
        home.environ["PYTHONPATH"] = os.pathsep.join([str(site), *filter(None, [home.environ.get("PYTHONPATH")])])

    def set(self, seconds: int) -> None:
        """The clock is that much before or after the right one."""
        self.stamp()
        self._now = seconds
        self._file.write_text(str(seconds))

    def stamp(self) -> None:
        """Give what was written since the last time the times that this clock would have given it."""
        for path in self.home.layer.rglob("*"):
            if path.is_file() and (key := (str(path), path.stat().st_mtime_ns)) not in self._seen:
                time = key[1] + self._now * 10**9
                os.utime(path, ns=(time, time))
                self._seen.add((str(path), time))
        if self.home.layer.exists():
            self.home.status()  # has git take the times for those that it had seen
            self._seen.add((str(index := self.home.layer / ".git/index"), index.stat().st_mtime_ns))

    def edit(self, path: str, text: str) -> None:
        """Write a file by hand, as long as it was, at the time that this clock says."""
        file = self.home.layer / path
        before = file.stat()
        assert before.st_size == len(text)
        file.write_text(text)
        time = file.stat().st_mtime_ns + self._now * 10**9
        os.utime(file, ns=(time, time))
        self._seen.add((str(file), time))


@pytest.fixture
def clock(home: Home) -> Clock:
    return Clock(home)


def test_a_clock_that_is_set_back_while_two_kernels_run(clock: Clock, home: Home, new_kernel: StartKernel) -> None:
    ours = new_kernel(PERDURE_SESSION="s-ours").start()
    theirs = new_kernel(PERDURE_SESSION="s-theirs").start()
    ours.run("def area():\n    return 1")
    clock.set(-DAY)
    assert theirs.run("def other():\n    return 1").notices == [
        "[layer: kept other]",
        "[layer: s-ours kept area; %layer refresh loads it]",
    ]
    assert ours.run("1").notices == ["[layer: s-theirs kept other; %layer refresh loads it]"]
    clock.set(-HOUR)
    assert ours.run("def area():\n    return 2").notices == ["[layer: kept area]"]
    assert theirs.run("1").notices == ["[layer: s-ours kept area; %layer refresh loads it]"]
    for kernel in (ours, theirs):
        kernel.run("%layer refresh")
    clock.set(-400 * DAY)
    home.environ["GIT_COMMITTER_DATE"] = home.environ["GIT_AUTHOR_DATE"] = "2001-01-01T00:00:00Z"
    clock.edit("functions/o/other.py", "def other():\n    return 3\n")
    assert home.status() == " M functions/o/other.py\n"
    home.git("commit", "-qam", "by hand, long ago")
    for kernel in (ours, theirs):
        assert kernel.run("1").notices == ["[layer: git kept other; %layer refresh loads it]"]
        kernel.run("%layer refresh")
        assert kernel.run("area(), other()").value == "(2, 3)"
    assert theirs.run("del area").notices == ["[layer: forgot area]"]
    subjects = ["forgot area", "by hand, long ago", "keep area", "keep other", "keep area"]
    assert [commit.subject for commit in home.log()] == subjects
    assert home.git("log", "--format=%H") == home.git("log", "--format=%H", "--topo-order")
    events = [(event["event"], event["key"]) for event in home.events()]
    assert events == [
        ("definition_recorded", "area"),
        ("definition_recorded", "other"),
        ("definition_recorded", "area"),
        ("definition_forgotten", "area"),
    ]
    assert (home.status(), home.fsck()) == ("", "")
    told = ours.run("%layer log").stdout
    assert [told.index(subject) for subject in subjects[:4]] == sorted(told.index(subject) for subject in subjects[:4])


@pytest.mark.parametrize("later", [-DAY, DAY])
def test_an_edit_is_seen_by_the_next_start_whatever_the_clock_says(clock: Clock, home: Home, later: int) -> None:
    starts = Starts(home)
    try:
        starts.start(None).run("def area():\n    return 1")
        starts.kernel.run("def other():\n    return 1")
        starts.kernel.kill()
        clock.set(later)
        starts.write()  # what the start after it would go by
        clock.edit("functions/a/area.py", "def area():\n    return 2\n")
        kernel = starts.start(None)
        assert kernel.run("area(), other()").value == "(2, 1)"
        rest = kernel.run("while get_ipython().workspace.rest():\n    pass")
        told = [*kernel.hello, *rest.notices, *kernel.run("1").notices]
        assert told == ["[layer: adopted area, changed by hand]"]
        assert home.log()[0].subject == "adopt area"
        assert home.status() == ""
        assert starts.start().run("area()").value == "2"
    finally:
        starts.kernel.kill()
