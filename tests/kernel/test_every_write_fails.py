"""Whatever a kernel does to its layer, and whichever write of it fails, nothing is lost, half done or passed over.

Each flow is a thing that a kernel does. It is done again and again on the same home, and each time another write fails,
until all have: the test finds out by itself how many there are.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from perdure.kernel import packing, resting
from perdure.layer.bundling import as_plain, bundle
from perdure.layer.outcome import Kept, NotKept
from perdure.layer.starting import Bundling
from tests.layer.failing_disk import When
from tests.layer.failing_writes import EVERY, SPACE, FailingWrites

from .flows import FLOWS, KEPT, Flow, committed, gives
from .home import Home
from .plain_kernel import PlainKernel

NOTE = "perdure.agreed"  # says that the layer is clean, and may say nothing


def everything(home: Home) -> dict[str, bytes | None]:
    """All in the layer but for what a commit may leave: whole objects, and a note for the next one."""
    found = {}
    for path in sorted(home.layer.rglob("*")):
        name = str(path.relative_to(home.layer))
        if not name.startswith((".git/objects", ".git/perdure.lock", f".git/{NOTE}")):
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


def leftovers(home: Home) -> list[Path]:
    """Temporary files and locks, and a note of a commit that is over."""
    found = (path for path in home.layer.rglob("*") if path.suffix in (".tmp", ".lock", ".spare"))
    return [path for path in found if path.name != "perdure.lock" or path.read_bytes()]


class Trials:
    """One flow, tried again and again on the same home."""

    def __init__(self, flow: Flow, home: Home) -> None:
        self.flow = flow
        self.home = home
        self.model = home.root.with_name("model")
        if not flow.is_fresh:
            PlainKernel(home).run(*KEPT)
            home.git("repack", "-adq")  # a few files to copy
        flow.prepare(home)
        shutil.copytree(home.root, self.model)
        every = FailingWrites()
        self.fail(every)
        self.writes = [name for name, _ in every.done]

    def chosen(self) -> Iterator[int]:
        """The writes to fail, from 1: of many that are alike, as of fifty files or of all that is synced, only some."""
        count = len(self.writes)
        for at, name in enumerate(self.writes, 1):
            is_one_of_many = self.writes[max(at - 3, 0) : at + 1] == [name] * 4
            if not is_one_of_many and (count < 150 or not 15 < at < count - 35 or at % 17 == 0):
                yield at

    def begin(self) -> None:
        for path in self.home.root.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
        shutil.copytree(self.model, self.home.root, dirs_exist_ok=True)
        os.chdir(self.home.work)
        if not self.flow.is_fresh:
            self.home.status()  # has git note the times of the copied files

    def fail(self, writes: FailingWrites) -> None:
        """Try the flow on that disk, and then go on where nothing fails."""
        flow, home = self.flow, self.home
        self.begin()
        kernel = None if flow.starts else PlainKernel(home)
        flow.stir(home)
        head, status, before = committed(home), self.status(), everything(home)
        writes.root = home.root
        with writes.in_force():
            kernel = kernel or PlainKernel(home)
            flow.act(kernel)
        if not writes.failed:
            self.settle(kernel, set())
            return
        told = "\n".join(kernel.told)
        assert "perdure itself failed" not in told
        outcomes = [outcome for report in kernel.reports for outcome in report.outcomes]
        refused = [outcome for outcome in outcomes if isinstance(outcome, NotKept)]
        done = flow.is_done(home, head) and not refused
        if not done:
            assert not any(isinstance(outcome, Kept) for outcome in outcomes)
            if flow.commits:
                assert os.strerror(writes.code) in told, told
                assert "mend that" in told
            if not (writes.lasting and writes.code == errno.EROFS):
                assert {*self.status().splitlines()} <= {*status.splitlines()}
                assert not flow.is_one or not flow.commits or everything(home) == before
        else:
            assert not self.status() or os.strerror(writes.code) in told
        if any(path.name == "events.jsonl" for _, path in writes.failed):
            assert "not on record" in told
        self.go_on(kernel, writes, done=done)

    def go_on(self, kernel: PlainKernel, writes: FailingWrites, *, done: bool) -> None:
        """The disk works again: what was not done is done now."""
        flow = self.flow
        if not done or not flow.commits:
            if flow.starts:
                kernel = PlainKernel(self.home)
            (flow.again or flow.act)(kernel)
        self.settle(kernel, {path for _, path in writes.failed})

    def settle(self, kernel: PlainKernel, failed: Collection[Path]) -> None:
        """All is well, but for what could not be taken away, of which nobody needs anything."""
        flow, home = self.flow, self.home
        kernel.told.clear()
        report = kernel.run("def next_act():\n    return 1")
        assert [type(outcome) for outcome in report.outcomes] == [Kept], kernel.told
        assert self.status() == ""
        assert all(left in failed for left in leftovers(home))
        assert home.fsck() == ""
        later = PlainKernel(home)
        assert flow.check(later.namespace)
        assert gives("next_act", 1)(later.namespace)
        if not flow.is_fresh:
            assert {"area", "Circle", "RATE"} <= later.namespace.keys()
        later.run("pass")
        assert later.told == []

    def status(self) -> str:
        """What `git status` lists, which does not touch the index here."""
        if not (self.home.layer / ".git/HEAD").exists():
            return ""
        return self.home.git("--no-optional-locks", "status", "--porcelain", "--untracked-files=all")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home in which this process lives, in memory where that can be: it is made anew a hundred times."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        home = Home(Path(folder) / "home")
        for name, value in home.environ.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(home.work)
        monkeypatch.setattr(os, "fsync", lambda _: None)  # what it really does is not seen here
        monkeypatch.setattr(packing, "is_due", lambda _: False)
        monkeypatch.setattr(resting, "write_in_background", write_bundles)
        yield home
        os.chdir(tmp_path)


def write_bundles(cache: Path, bundlings: Iterable[Bundling]) -> None:
    """As the process beside the kernel does."""
    for each in bundlings:
        try:
            bundle(cache, as_plain(each), 0)
        except OSError:
            pass


@dataclass(frozen=True)
class Kind:
    """A way in which a disk fails."""

    code: int
    when: When = "before"
    lasting: bool = False
    counted: frozenset[str] = EVERY  # what fails at all

    def failing(self, writes: Sequence[str], at: int) -> FailingWrites | None:
        """A disk that fails at the `at`-th of `writes`, from 1; None where that cannot fail so."""
        if writes[at - 1] not in self.counted:
            return None
        return FailingWrites(
            sum(name in self.counted for name in writes[:at]), self.code, self.when, self.lasting, self.counted
        )


KINDS = {
    "broken": Kind(errno.EIO),
    "full": Kind(errno.ENOSPC, counted=SPACE),
    "read-only from there on": Kind(errno.EROFS, lasting=True),
    "broken, and half was written": Kind(errno.EIO, "half"),
    "full from there on": Kind(errno.ENOSPC, lasting=True, counted=SPACE),
    "read-only": Kind(errno.EROFS),
    "broken, and all was written": Kind(errno.EIO, "after"),
}


def tried(trials: Trials, at: int, kind: str) -> bool:
    """Have the `at`-th write fail in that way; False where it cannot."""
    if (writes := KINDS[kind].failing(trials.writes, at)) is None:
        return False
    try:
        trials.fail(writes)
    except BaseException as error:
        error.add_note(f"write {at} of {len(trials.writes)}, {kind}: {writes.failed[:1]}")
        raise
    return True


@pytest.mark.parametrize("name", FLOWS)
def test_any_write_fails(home: Home, name: str) -> None:
    """Each of them in one way, the ways in turn."""
    trials = Trials(FLOWS[name], home)
    assert len(trials.writes) >= 4  # or this test tests nothing
    ways = cycle(KINDS)
    for at in trials.chosen():
        while not tried(trials, at, next(ways)):
            pass


@pytest.mark.parametrize("kind", ["read-only from there on", "full from there on", "broken, and all was written"])
def test_any_write_of_a_keep_fails(home: Home, kind: str) -> None:
    trials = Trials(FLOWS["keep"], home)
    for at in trials.chosen():
        tried(trials, at, kind)
