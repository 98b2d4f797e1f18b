"""Which starts are replays of the one before, what forbids that, and what becomes of a replay that does not go well."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from perdure.layer.boot_journal import BootJournal, folder_in, mark_of
from perdure.layer.bounds import Bounds
from perdure.layer.definition import RelPath
from perdure.layer.facts import facts_of
from perdure.layer.safe_boot import SafeBoot
from perdure.layer.store import Stamp
from tests.packages import Packages

from . import cells as cells_module
from .cells import Cells
from .starts import FolderStore, Starts, all_known, complete, differences, is_replayed

AREA, RATE, SLOW = "functions/a/area.py", "values/r/RATE.py", "functions/s/slow.py"
FILES = {
    AREA: "def area(r):\n    return RATE * r\n",
    RATE: "RATE = 3\n",
    "classes/c/Circle.py": "class Circle:\n    size = RATE\n",
    "methods/c/Circle.grow.py": "Circle.grow = lambda self: area(self.size)\n",
    SLOW: "import slow_one\n\n\ndef slow():\n    return slow_one.UNIT\n",
}


@pytest.fixture
def packages(tmp_path: Path) -> Iterator[Packages]:
    with Packages(tmp_path / "packages", "slow_one").on_path() as made:
        yield made


@pytest.fixture
def starts(tmp_path: Path, packages: Packages) -> Starts:
    made = Starts(tmp_path / "home", FILES)
    made.prepare()
    return made


def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that starts parse from now on."""
    read: list[str] = []

    def noting(path: RelPath, data: bytes) -> object:
        read.append(path)
        return facts_of(path, data)

    monkeypatch.setattr("perdure.layer.boot_files.facts_of", noting)
    return read


# Nothing changed.


def test_a_start_is_a_replay_of_the_one_before(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    read = reads(monkeypatch)
    for _ in range(2):
        kernel = starts.replayed()
        assert kernel.namespace["area"](2) == 6
        assert kernel.namespace["Circle"]().grow() == 9
        assert "slow" not in kernel.namespace
        assert "slow_one" not in sys.modules
        assert kernel.layer.shipped.starting.to_write == []
        complete(kernel)
        assert kernel.run("x = slow()") == []
        assert kernel.namespace["x"] == 5
        del sys.modules["slow_one"]
    assert read == []


def test_a_replay_knows_what_the_boot_before_it_knew(tmp_path: Path, packages: Packages) -> None:
    starts = Starts(tmp_path / "home", FILES)
    before = all_known(starts.prepare())
    assert differences(before, all_known(complete(starts.replayed()))) == {}


def test_completing_twice_is_completing_once(starts: Starts) -> None:
    kernel = complete(starts.replayed())
    before = all_known(kernel)
    assert differences(before, all_known(complete(kernel))) == {}


def test_an_empty_layer_is_replayed_too(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {})
    starts.prepare()
    assert complete(starts.replayed()).names == set()


def test_without_a_cache_nothing_is_remembered(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES)
    kernel = Cells(FolderStore(starts.root), root=starts.root)
    kernel.boot()
    assert kernel.layer.shipped.starting.to_write == []


def test_where_the_cache_cannot_be_written_every_start_is_the_first(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {AREA: FILES[AREA], RATE: FILES[RATE]})
    starts.cache.write_bytes(b"")  # a file where the folder would be
    for _ in range(2):
        kernel = starts.start()
        assert not is_replayed(kernel)
        with pytest.raises(OSError, match="cache"):
            starts.write(complete(kernel))
        assert kernel.run("x = area(1)") == []


# Files changed.


def stamped(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_atime_ns, found.st_mtime_ns


def edit(starts: Starts) -> None:
    starts.put(RATE, "RATE = 12\n")


def edit_secretly(starts: Starts) -> None:
    """The size is the same, and so is the time."""
    path = starts.root / RATE
    before = stamped(path)
    with path.open("r+b") as file:
        file.write(b"RATE = 4\n")
    os.utime(path, ns=before)
    assert stamped(path) == before


def add(starts: Starts) -> None:
    starts.put("values/u/UNIT.py", "UNIT = 1\n")


def remove(starts: Starts) -> None:
    (starts.root / "methods/c/Circle.grow.py").unlink()


def rename(starts: Starts) -> None:
    (starts.root / AREA).rename(starts.root / "functions/a/other.py")


def replace(starts: Starts) -> None:
    """By a file of the same content, as an editor does."""
    (starts.root / "new").write_text(FILES[RATE])
    (starts.root / "new").replace(starts.root / RATE)


def link(starts: Starts) -> None:
    """A link is no definition file."""
    (starts.root / RATE).rename(starts.root / "elsewhere")
    (starts.root / RATE).symlink_to(starts.root / "elsewhere")


@pytest.mark.parametrize("change", [edit, edit_secretly, add, remove, rename, replace, link])
def test_where_files_changed_those_alone_are_read(
    starts: Starts, change: Callable[[Starts], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(starts)
    read = reads(monkeypatch)
    kernel = complete(starts.start())
    changed = {edit: RATE, edit_secretly: RATE, add: "values/u/UNIT.py", rename: "functions/a/other.py", replace: RATE}
    assert read == [changed[change]] if change in changed else read == []
    starts.cache = starts.cache.with_name("other")
    assert differences(all_known(starts.prepare()), all_known(kernel)) == {}


@pytest.mark.parametrize("change", [edit, edit_secretly, add, remove, rename, replace])
def test_the_next_start_but_one_goes_the_new_way(starts: Starts, change: Callable[[Starts], None]) -> None:
    change(starts)
    kernel = complete(starts.start())
    assert starts.write(kernel) == 1
    again = starts.replayed()
    assert differences(all_known(kernel), all_known(complete(again))) == {}


class Coarse(FolderStore):
    """A folder on a file system whose stamps tell nothing."""

    known: Mapping[RelPath, Stamp] = {}

    def stamps(self) -> Mapping[RelPath, Stamp]:  # type: ignore[override]
        return self.known


def test_of_a_young_file_the_bytes_are_compared(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    starts.cache = starts.cache.with_name("other")
    ahead = 10**10
    os.utime(starts.root / RATE, (ahead, ahead))
    starts.prepare()
    monkeypatch.setattr(Coarse, "known", FolderStore(starts.root).stamps())
    monkeypatch.setattr(f"{Starts.__module__}.FolderStore", Coarse)
    assert is_replayed(starts.start())
    starts.put(RATE, "RATE = 4\n")
    kernel = starts.start()
    assert not is_replayed(kernel)
    assert kernel.namespace["area"](1) == 4


def test_a_file_that_cannot_be_read_any_more_is_told_of(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    starts.put(RATE, "RATE = (\n")
    kernel = complete(starts.start())
    assert [(s.path, s.reason) for s in kernel.layer.report.skipped][-1][0] == RATE
    assert kernel.layer.shipped.starting.to_write == []
    starts.put(RATE, FILES[RATE])
    assert complete(starts.start()).namespace["area"](1) == 3


# Something else is not as it was.


def test_another_way_to_the_folder_is_another_start(starts: Starts) -> None:
    """Tracebacks tell the path by which the folder is known."""
    real, starts.root = starts.root, starts.root.with_name("link")
    starts.root.symlink_to(real)
    for _ in range(2):
        kernel = complete(starts.start())
        assert kernel.namespace["area"].__code__.co_filename == str(starts.root / AREA)
        starts.write(kernel)
    assert is_replayed(starts.start())
    starts.root = real
    kernel = starts.start()
    assert not is_replayed(kernel)
    assert kernel.namespace["area"].__code__.co_filename == str(real / AREA)


def test_another_edition_is_a_start_from_nothing(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.layer.boot_cache.FORMAT", 77)
    assert not is_replayed(starts.start())


def test_a_layer_over_other_folders_is_another(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES | {SLOW: "def slow(): ...\n"}, {"values/t/TEAM.py": "TEAM = 1\n"})
    starts.prepare()
    team = starts.folders
    kernel = starts.replayed()
    assert [each.root for each in kernel.layer.shipped.replayed] == team
    starts.folders = []
    assert not is_replayed(starts.start())
    starts.folders = team
    (team[0] / "values/t/TEAM.py").write_text("TEAM = 2\n")
    kernel = complete(starts.start())
    assert kernel.namespace["TEAM"] == 2
    assert starts.write(kernel) == 2
    starts.replayed()


def test_where_the_layer_changed_its_folders_are_replayed_and_known_at_once(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {RATE: "RATE = TEAM\n"}, {"values/t/TEAM.py": "TEAM = 1\n"})
    starts.prepare()
    starts.put(RATE, "RATE = TEAM + 1\n")
    kernel = starts.start()
    assert kernel.layer.shipped.replayed == []
    assert kernel.namespace["RATE"] == 2
    assert [folder.path for folder in kernel.layer.shipped.folders] == starts.folders
    assert starts.write(kernel) == 1
    starts.replayed()


def test_packages_that_come_and_go_forbid_it(
    starts: Starts, packages: Packages, monkeypatch: pytest.MonkeyPatch
) -> None:
    __import__("slow_one")
    kernel = complete(starts.start())  # it need not wait any more
    assert "slow" in kernel.namespace
    packages.clear()
    assert is_replayed(starts.start())
    (packages.folder / "slow_one").rename(packages.folder / "gone")
    sys.path_importer_cache.clear()
    kernel = complete(starts.start())
    assert [s.path for s in kernel.layer.report.skipped] == [SLOW]
    (packages.folder / "gone").rename(packages.folder / "slow_one")
    sys.path_importer_cache.clear()
    assert is_replayed(starts.start())


def test_what_only_the_namespace_had_has_to_be_there(tmp_path: Path) -> None:
    starts = Starts(tmp_path, {AREA: "def area(r):\n    return helper(r)\n"})
    ambient = {"helper": abs}
    starts.prepare(ambient)
    assert starts.replayed(ambient).namespace["area"](-1) == 1
    kernel = complete(starts.start())
    assert [skipped.reason for skipped in kernel.layer.report.skipped] == ["it uses helper, which nothing defines now"]


def test_deferral_on_and_off_are_two_ways(starts: Starts) -> None:
    starts.defer = False
    kernel = complete(starts.start())
    assert "slow" in kernel.namespace
    sys.modules.pop("slow_one")
    starts.write(kernel)
    assert "slow" in starts.replayed().namespace
    sys.modules.pop("slow_one")
    starts.defer = True
    kernel = starts.start()
    assert not is_replayed(kernel)
    assert "slow" not in kernel.namespace


def journal(starts: Starts) -> BootJournal:
    made = BootJournal(starts.cache, starts.root)
    made.begin()
    return made


def test_a_death_at_the_last_start_forbids_it(starts: Starts) -> None:
    made = journal(starts)
    made.enters(mark_of(RelPath(AREA), FILES[AREA].encode()))
    kernel = complete(starts.start())
    assert [skipped.path for skipped in kernel.layer.report.skipped if "killed" in skipped.reason] == [AREA]
    made.end()
    assert is_replayed(starts.start())  # tried by itself it did no harm


@pytest.mark.parametrize("fact", ["slow", "died"])
def test_what_is_known_against_a_file_forbids_it(starts: Starts, fact: str) -> None:
    mark = mark_of(RelPath(AREA), FILES[AREA].encode())
    made = journal(starts)
    made.note({"slow": [mark]} if fact == "slow" else {"died": mark, "why": "it killed the kernel"})
    made.end()
    assert not is_replayed(starts.start())


def test_only_what_was_loaded_to_its_end_is_replayed(starts: Starts) -> None:
    (folder_in(starts.cache, starts.root) / "known.jsonl").unlink()
    assert not is_replayed(starts.start())
    assert is_replayed(starts.start())


def test_what_is_loaded_when_cells_ran_already_is_no_start(starts: Starts) -> None:
    kernel = Cells(FolderStore(starts.root), root=starts.root, cache=starts.cache, defer=True)
    kernel.layer.shipped.starting.is_on = False
    kernel.layer.boot()
    assert not is_replayed(kernel)
    assert kernel.names >= {"area", "RATE"}
    assert kernel.layer.shipped.starting.to_write == []


def test_a_boot_that_left_something_out_is_nothing_to_go_by(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES | {SLOW: "def slow(r=nothing):\n    ...\n"})
    assert starts.write(complete(starts.start())) == 0


# A replay that does not go as the boot before it.


def odd(statement: str, name: str = "odd") -> str:
    """A definition that does something as it loads where the environment says so."""
    return (
        f"import os\n\nif os.environ.get('ODD') == {name!r}:\n    {statement}\n\n\ndef {name}():\n    return {name!r}\n"
    )


def with_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, **files: str) -> Starts:
    """A layer of which a file does something odd from now on."""
    rest = {f"functions/x/{name}.py": text for name, text in files.items()}
    starts = Starts(tmp_path, {**FILES, SLOW: odd("1", "slow"), "functions/o/odd.py": odd(statement), **rest})
    starts.prepare()
    assert is_replayed(starts.start())
    monkeypatch.setenv("ODD", "odd")
    return starts


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("raise ValueError('not today')", "it raised ValueError: not today"),
        ("raise SystemExit(3)", "it raised SystemExit: 3"),
        ("raise KeyboardInterrupt", "it raised KeyboardInterrupt"),
        ("import nowhere_at_all", "nowhere_at_all is found nowhere here; install it"),
    ],
)
def test_a_file_that_raises_now_is_left_out_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str, why: str
) -> None:
    starts = with_odd(tmp_path, monkeypatch, statement)
    kernel = starts.start()
    assert not is_replayed(kernel)
    skipped = kernel.layer.report.skipped
    assert [each.path for each in skipped] == ["functions/o/odd.py"]
    assert skipped[0].reason.startswith(why)
    assert kernel.namespace["slow"]() == "slow"
    assert starts.write(kernel) == 0
    monkeypatch.delenv("ODD")
    assert is_replayed(starts.start())


def test_what_was_replayed_before_it_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    note = f"with open({str(log)!r}, 'a') as file:\n    file.write('a')\n\n\ndef a_first(): ...\n"
    starts = with_odd(tmp_path / "home", monkeypatch, "raise ValueError", a_first=note, zed=note.replace("a_f", "z_f"))
    log.unlink()
    starts.start()
    assert log.read_text() == "aa"


def test_a_file_that_raised_once_takes_nothing_from_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was put back after a file, and what it wants of the namespace, is known after it was replayed too."""
    files = {
        "functions/s/sqrt.py": "def sqrt(x):\n    return 'mine'\n",
        "functions/t/taking.py": "from math import sqrt\n\n\ndef taking():\n    return helper(sqrt)\n",
        "functions/z/odd.py": odd("os.environ['ODD'] = ''; raise ValueError"),
    }
    ambient = {"helper": abs}
    starts = Starts(tmp_path, files)
    starts.prepare(ambient)
    assert starts.replayed(ambient).namespace["sqrt"](1) == "mine"
    monkeypatch.setenv("ODD", "odd")
    kernel = starts.start(ambient)
    assert not is_replayed(kernel)
    assert kernel.layer.report.skipped == ()
    assert starts.write(kernel) == 1
    again = starts.replayed(ambient)
    assert again.namespace["sqrt"](1) == "mine"
    assert differences(all_known(kernel), all_known(complete(again))) == {}
    assert not is_replayed(starts.start())


def bounded(monkeypatch: pytest.MonkeyPatch, file: float, boot: float = 30) -> None:
    def safe(cache: Callable[[], Path], _: Bounds) -> SafeBoot:
        return SafeBoot(cache, Bounds(file, boot))

    monkeypatch.setattr(cells_module, "SafeBoot", safe)


def test_a_file_that_hangs_now_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = with_odd(tmp_path, monkeypatch, "import threading; threading.Event().wait()")
    bounded(monkeypatch, 0.3)
    kernel = starts.start()
    assert [(s.path, s.reason) for s in kernel.layer.report.skipped] == [
        ("functions/o/odd.py", "it took over 0.3 s to load")
    ]
    assert kernel.namespace["slow"]() == "slow"


def test_each_file_has_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = "import threading\n\nthreading.Event().wait(0.2)\n\n\ndef {0}(): ...\n"
    starts = Starts(tmp_path, {f"functions/b/{name}.py": busy.format(name) for name in ("b1", "b2", "b3", "b4")})
    starts.prepare()
    bounded(monkeypatch, 0.6)
    starts.replayed()


def test_an_interrupt_skips_the_one_that_is_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = "import signal, threading; os.kill(os.getpid(), signal.SIGINT); threading.Event().wait()"
    starts = with_odd(tmp_path, monkeypatch, me)
    before = signal.getsignal(signal.SIGINT)
    kernel = starts.start()
    assert [(s.path, s.reason) for s in kernel.layer.report.skipped] == [("functions/o/odd.py", "it was interrupted")]
    assert kernel.namespace["slow"]() == "slow"
    assert "odd" not in kernel.namespace
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.delenv("ODD")
    assert is_replayed(starts.start())


def test_who_takes_an_interrupt_for_itself_costs_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = (
        "import signal\n    try:\n        os.kill(os.getpid(), signal.SIGINT)\n        while True: pass\n"
        "    except BaseException: pass"
    )
    wait = "import threading\n\nthreading.Event().wait(0.2)\n\n\ndef {0}(): ...\n"
    starts = with_odd(tmp_path, monkeypatch, me, zed=wait.format("zed"), yes=wait.format("yes"))
    kernel = complete(starts.start())
    assert {s.path for s in kernel.layer.report.skipped} <= {"functions/o/odd.py"}


def test_a_file_that_forks_leaves_no_second_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    starts = with_odd(tmp_path / "home", monkeypatch, f"os.fork() and os.wait() or open({str(here)!r}, 'a').close()")
    kernel = starts.replayed()
    assert here.exists()
    assert kernel.namespace["slow"]() == "slow"


def test_what_files_print_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = with_odd(tmp_path, monkeypatch, "print('here')")
    kernel = starts.replayed()
    assert kernel.layer.replayed is not None
    assert kernel.layer.replayed.output == "here\n"
    assert complete(kernel).layer.report.output == "here\n"
    monkeypatch.delenv("ODD")
    starts = with_odd(tmp_path / "two", monkeypatch, "print('here'); raise ValueError")
    assert {*starts.start().layer.report.output.splitlines()} == {"here"}


def test_where_the_kernel_works_and_whom_signals_reach_is_as_in_any_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = with_odd(tmp_path, monkeypatch, "import signal; os.chdir('/'); signal.signal(signal.SIGALRM, print)")
    before, handler = os.getcwd(), signal.getsignal(signal.SIGALRM)
    try:
        starts.replayed()
        assert os.getcwd() == before
        assert signal.getsignal(signal.SIGALRM) is print
    finally:
        signal.signal(signal.SIGALRM, handler)


@pytest.mark.parametrize("statement", ["gc.disable()", "gc.enable()", "gc.set_threshold(77, 7, 7)", "pass"])
def test_what_a_file_asks_of_the_garbage_collector_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    was, threshold = gc.isenabled(), gc.get_threshold()
    try:
        starts = with_odd(tmp_path, monkeypatch, f"import gc; {statement}")
        starts.replayed()
        assert gc.isenabled() == (statement != "gc.disable()")
        assert gc.get_threshold() == ((77, 7, 7) if "77" in statement else threshold)
    finally:
        gc.set_threshold(*threshold)
        (gc.enable if was else gc.disable)()


def test_what_a_file_does_to_others_is_known_in_the_same_way(tmp_path: Path) -> None:
    """Whether a definition is what was loaded is asked of what it was when all was loaded."""
    files = {
        "values/c/COUNT.py": "COUNT = 0\n",
        "functions/c/count.py": "def count(f):\n    global COUNT\n    COUNT += 1\n    return f\n",
        "functions/z/zed.py": "@count\ndef zed():\n    return COUNT\n",
        "functions/w/wrapper.py": "globals()['count'] = lambda f, old=count: old(f)\n\n\ndef wrapper(): ...\n",
    }
    starts = Starts(tmp_path, files)
    first = starts.prepare()
    again = complete(starts.replayed())
    assert differences(all_known(first), all_known(again)) == {}
    for source in ("if False:\n    COUNT = 5", "count = count", "COUNT = 7", "if False:\n    zed = 1"):
        assert [str(each) for each in first.run(source)] == [str(each) for each in again.run(source)]


def test_what_a_cell_changed_before_all_was_known_is_known_to_be_changed(starts: Starts) -> None:
    kernel = starts.replayed()
    kernel.namespace["area"] = 3  # exec("ar" "ea = 3")
    kernel.namespace.pop("RATE")
    complete(kernel)
    assert kernel.layer.image.is_other("area")
    assert kernel.layer.image.is_other("RATE")
    assert not kernel.layer.image.is_other("Circle")
    assert (kernel.namespace["area"], "RATE" in kernel.namespace) == (3, False)
