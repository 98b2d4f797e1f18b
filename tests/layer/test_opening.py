"""What a place becomes: a layer that is opened, made, not trusted, absent, or a fault; and that none is half made."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from perdure.layer import making
from perdure.layer.definition import RelPath
from perdure.layer.disk import Disk, RealDisk
from perdure.layer.errors import LayerUnusable, StoreBusy, StoreFault
from perdure.layer.generated import GENERATED, generated_files
from perdure.layer.opening import Absent, Opening, Ready, Untrusted, open_layer
from perdure.layer.place import Homes, Origin, Place
from perdure.layer.store import Identity, Message, Write
from perdure.layer.trust import TrustRecord

from .failing_disk import WRITES, FailingDisk, When
from .power_cut import Volatile, forgetful

pytestmark = pytest.mark.usefixtures("no_git_configuration")

ADA = Identity("Ada Lovelace", "ada@example.org")
AREA = RelPath("functions/a/area.py")


@dataclass
class House:
    """A user's folders in one of their own, and the layer `ada` in it."""

    root: Path
    disk: Disk = field(default_factory=RealDisk)

    @property
    def homes(self) -> Homes:
        return Homes(self.root / "data", self.root / "state", self.root / "cache")

    @property
    def path(self) -> Path:
        return self.homes.data / "layer_ada"

    def open(self, path: Path | None = None, *, make: bool = True) -> Opening:
        place = Place(path or self.path, "ada", Origin.PERSONAL)
        return open_layer(place, self.homes, author=ADA, disk=self.disk, make=make)

    def ready(self, path: Path | None = None) -> Ready:
        opening = self.open(path)
        assert isinstance(opening, Ready)
        return opening

    def unusable(self, path: Path | None = None) -> str:
        """The message of the fault, without the path it must begin with."""
        with pytest.raises(LayerUnusable) as fault:
            self.open(path)
        begin = f"{fault.value.path} "
        assert str(fault.value).startswith(begin)
        return str(fault.value).removeprefix(begin)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(Path(os.path.realpath(tmp_path)))


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout


def everything_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# Made, and opened again.


def test_a_missing_path_is_made_into_a_layer(house: House) -> None:
    opening = house.ready()
    assert opening.made
    assert opening.place.path == house.path
    assert opening.store.files() == {}
    assert git(house.path, "status", "--porcelain", "--ignored") == ""
    assert git(house.path, "log", "--format=%an <%ae> %s").splitlines() == [f"{ADA.name} <{ADA.email}> new layer"]
    assert set(git(house.path, "ls-files").splitlines()) == GENERATED
    assert git(house.path, "fsck", "--strict") == ""
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (house.path, house.homes.data)} == {0o700}
    assert (house.path / "__init__.py").read_bytes() == generated_files("ada")[RelPath("__init__.py")]


def test_what_was_made_is_opened(house: House) -> None:
    store = house.ready().store
    store.commit([Write(AREA, b"def area(): ...\n")], Message("keep area"))
    again = house.ready()
    assert not again.made
    assert again.store.files() == {AREA: b"def area(): ...\n"}


def test_an_empty_folder_is_made_into_one_and_stays_the_same_folder(house: House) -> None:
    house.path.mkdir(parents=True)
    house.path.chmod(0o775)  # a loose umask is no reason to refuse what is empty
    before = house.path.stat().st_ino
    assert house.ready().made
    assert house.path.stat().st_ino == before  # somebody may be working in it
    assert stat.S_IMODE(house.path.stat().st_mode) == 0o700


def test_opening_what_exists_imports_no_dulwich(house: House) -> None:
    house.ready()
    code = (
        "import sys; from pathlib import Path; from perdure.layer.opening import *; from perdure.layer.disk import *\n"
        "from perdure.layer.place import *; from perdure.layer.store import *\n"
        f"homes = Homes(Path({str(house.homes.data)!r}), Path({str(house.homes.state)!r}), Path('/nowhere'))\n"
        f"place = Place(Path({str(house.path)!r}), 'ada', Origin.CONFIG)\n"
        "opening = open_layer(place, homes, author=Identity('a', 'b'), disk=RealDisk())\n"
        "assert isinstance(opening, Ready), opening\n"
        "print([name for name in sys.modules if name.partition('.')[0] in {'dulwich', 'platformdirs'}])"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=root)
    assert done.stdout.strip() == "[]"


def test_nothing_is_made_where_nothing_may_be(house: House) -> None:
    assert house.open(make=False) == Absent(Place(house.path, "ada", Origin.PERSONAL))
    assert everything_in(house.root) == set()
    house.path.mkdir(parents=True)
    assert isinstance(house.open(make=False), Absent)
    assert everything_in(house.path) == set()


def test_an_existing_layer_is_opened_where_nothing_may_be_made(house: House) -> None:
    house.ready()
    opening = house.open(make=False)
    assert isinstance(opening, Ready)
    assert not opening.made


# Links.


def test_a_link_to_a_folder_is_resolved(house: House) -> None:
    real = house.root / "real"
    real.mkdir()
    house.homes.data.mkdir()
    house.path.symlink_to(real)
    opening = house.ready()
    assert opening.place.path == real
    assert not house.ready(real).made


def test_a_broken_link(house: House) -> None:
    house.homes.data.mkdir()
    house.path.symlink_to(house.root / "unplugged")
    assert house.unusable() == f"is a link to {house.root}/unplugged, which is not there; mend or remove the link"
    assert everything_in(house.root) == {"data", "data/layer_ada"}


def test_a_broken_link_on_the_way(house: House) -> None:
    house.homes.data.symlink_to(house.root / "unplugged")
    assert "which is not there" in house.unusable()
    assert not (house.root / "unplugged").exists()


def test_a_link_to_itself(house: House) -> None:
    house.homes.data.mkdir()
    house.path.symlink_to(house.path)
    assert "link" in house.unusable()


# Not a layer, and not touched.


def test_a_file_in_its_place(house: House) -> None:
    house.homes.data.mkdir()
    house.path.write_text("mine")
    assert house.unusable() == "is a file, not a folder; move it away, or set PERDURE_LAYER to another folder"
    assert house.path.read_text() == "mine"


def test_a_file_on_the_way(house: House) -> None:
    house.homes.data.write_text("mine")
    assert house.unusable().startswith("is a file, not a folder")


def test_a_fifo_in_its_place(house: House) -> None:
    house.homes.data.mkdir()
    os.mkfifo(house.path)
    assert house.unusable().startswith("is a file, not a folder")


@pytest.mark.parametrize(
    "names",
    [["thesis.tex"], [".hidden"], ["functions/a/area.py"], ["pyproject.toml"], [".perdure-making", "thesis.tex"]],
)
def test_a_folder_with_other_things(house: House, names: list[str]) -> None:
    for name in names:
        (house.path / name).parent.mkdir(parents=True, exist_ok=True)
        (house.path / name).touch()
    before = everything_in(house.root)
    assert house.unusable().startswith("has other things in it and is no layer; move it away")
    assert everything_in(house.root) == before


def test_another_repository(house: House) -> None:
    house.path.mkdir(parents=True)
    git(house.path, "init", "-q")
    assert house.unusable().startswith("is a git repository, but no layer; ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tool.perdure]\nformat = 2", "was written by a newer perdure (its format is 2, this one knows 1); update"),
        ("[tool.perdure]\nformat = '1'", "says format = '1' in pyproject.toml; make it 1"),
        ("[tool.perdure]\nformat = true", "says format = True in pyproject.toml; make it 1"),
        ("[tool.perdure]\nformat = 0", "says format = 0 in pyproject.toml; make it 1"),
        ("<<<<<<< HEAD\n", "has a pyproject.toml that cannot be read ("),
        ("x = " + "[" * 100_000, "has a pyproject.toml that cannot be read ("),
        ("[tool.other]", "is a git repository, but no layer"),
        ("tool = 3", "is a git repository, but no layer"),
        ("[tool]\nperdure = 3", "is a git repository, but no layer"),
    ],
)
def test_what_pyproject_says(house: House, text: str, message: str) -> None:
    house.ready()
    (house.path / "pyproject.toml").write_text(text)
    assert house.unusable().startswith(message)


def test_a_pyproject_that_is_no_text(house: House) -> None:
    house.ready()
    (house.path / "pyproject.toml").write_bytes(b"\xff")
    assert house.unusable().startswith("has a pyproject.toml that cannot be read (")


def test_a_layer_without_its_git(house: House) -> None:
    house.ready()
    shutil.rmtree(house.path / ".git")
    assert house.unusable().startswith("is a layer without its .git; put it back")


def test_a_layer_that_is_a_worktree(house: House) -> None:
    house.ready()
    git(house.path, "worktree", "add", "-q", str(house.root / "tree"))
    (house.root / "tree").chmod(0o700)
    assert house.unusable(house.root / "tree").startswith("is a worktree or submodule")


# Whose.


@pytest.mark.parametrize("part", ["", ".git"])
def test_others_may_write(house: House, part: str) -> None:
    house.ready()
    (house.path / part).chmod(0o770)
    assert house.unusable().endswith(f"can be written by other users; run `chmod -R go-w {house.path}`")


@pytest.mark.parametrize("made", [True, False])
def test_another_users(house: House, monkeypatch: pytest.MonkeyPatch, made: bool) -> None:
    if made:
        house.ready()
    else:
        house.path.mkdir(parents=True)
    before = everything_in(house.root)
    monkeypatch.setattr(os, "getuid", lambda: house.path.stat().st_uid + 1)
    assert house.unusable().startswith("is owned by another user; ")
    assert everything_in(house.root) == before


def test_a_file_system_without_modes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.path.mkdir(parents=True)
    house.path.chmod(0o777)
    monkeypatch.setattr(Path, "chmod", lambda *_: None)
    assert "a file system that keeps file modes" in house.unusable()
    assert everything_in(house.path) == set()


# Trust.


def test_a_copy_is_not_trusted_until_it_is_accepted(house: House) -> None:
    house.ready().store.commit([Write(AREA, b"raise SystemExit\n")], Message("keep area"))
    copy = house.root / "copy"
    shutil.copytree(house.path, copy)
    (copy / "functions" / "link.py").symlink_to("/etc/passwd-of-nobody")
    assert house.open(copy) == Untrusted(Place(copy, "ada", Origin.PERSONAL), (AREA,))
    TrustRecord(house.homes.state, RealDisk()).accept(copy)
    assert not house.ready(copy).made


def test_a_moved_layer_is_not_trusted(house: House) -> None:
    house.ready()
    moved = house.path.rename(house.root / "moved")
    assert isinstance(house.open(moved), Untrusted)


def test_a_trust_record_that_was_lost(house: House) -> None:
    house.ready()
    shutil.rmtree(house.homes.state)
    assert isinstance(house.open(), Untrusted)


# After a kill.


class KilledAtTheRef(RealDisk):
    """Ends its process when the files of a commit are written and its ref is not."""

    def link(self, source: Path, target: Path) -> None:
        super().link(source, target)
        if target.name == "main.lock":
            os._exit(9)


def commit_and_die(root: Path) -> None:
    House(root, KilledAtTheRef()).ready().store.commit([Write(AREA, b"")], Message("keep area"))


def test_what_a_killed_kernel_left_is_taken_back(house: House) -> None:
    house.ready()
    child = multiprocessing.get_context("fork").Process(target=commit_and_die, args=(house.root,))
    child.start()
    child.join()
    assert child.exitcode == 9

    left = everything_in(house.path)
    opening = house.open(make=False)  # nothing may be written
    assert isinstance(opening, Ready)
    assert everything_in(house.path) == left

    full = House(house.root, FailingDisk(at=1, code=errno.EROFS, lasting=True, counted=WRITES))
    assert list(full.ready().store.files()) == [AREA]  # a disk that refuses is no reason not to load

    store = house.ready().store
    assert store.files() == {}
    assert not store.dirt()
    assert git(house.path, "status", "--porcelain") == ""


# Faults.


def test_a_path_that_cannot_be(house: House) -> None:
    with pytest.raises(StoreFault, match="too long"):
        house.open(house.root / ("x" * 300))
    assert everything_in(house.root) == set()


def test_a_folder_that_cannot_be_looked_at(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    house.ready()

    def refuse(path: object) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(StoreFault, match=f"Permission denied at {house.path}"):
        house.open()


def operations_of_making(root: Path) -> int:
    disk = FailingDisk()
    House(root / "count", disk).ready()
    return len(disk.done)


@pytest.mark.parametrize("empty", [True, False])
@pytest.mark.parametrize(
    ("code", "when", "lasting"),
    [(errno.ENOSPC, "before", True), (errno.EROFS, "before", False), (errno.EIO, "after", False)],
)
def test_a_disk_that_refuses_leaves_nothing(house: House, code: int, when: When, lasting: bool, empty: bool) -> None:
    last = operations_of_making(house.root)
    for at in range(1, last + 1):
        disk = FailingDisk(at=at, code=code, when=when, lasting=lasting)
        tried = House(house.root / f"at{at}", disk)
        tried.root.mkdir()
        if empty:
            tried.path.mkdir(parents=True, mode=0o755)
        try:
            tried.open()
        except StoreFault:
            left = everything_in(tried.root) - {"state", "state/trusted.jsonl"}
            assert left == ({"data", "data/layer_ada"} if empty else set())
            if empty:
                assert stat.S_IMODE(tried.path.stat().st_mode) == 0o755
        else:
            # Only where the layer stands all the same: what failed was tidying up after its commit. Or nothing did:
            # objects whose ids begin alike are in one folder, which is synced once.
            assert {name for name, _ in disk.failed[:1]} <= {"remove", "remove_folder"}
        tried.disk = RealDisk()
        assert not tried.ready().store.dirt()


class DeadlyDisk(FailingDisk):
    """Ends the process where the other raises: nothing is cleaned up."""

    def _do(self, name: str, path: Path, act: Callable[[], object], half: object = None) -> object:  # type: ignore[override]
        try:
            return super()._do(name, path, act)
        except OSError:
            os._exit(9)


def make_and_die(root: Path, at: int, when: When) -> None:
    House(root, DeadlyDisk(at=at, when=when)).open()


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_making_is_taken_up_again(house: House, when: When) -> None:
    fork = multiprocessing.get_context("fork")
    for at in range(1, operations_of_making(house.root) + 1):
        tried = House(house.root / f"at{at}")
        child = fork.Process(target=make_and_die, args=(tried.root, at, when))
        child.start()
        child.join()
        assert child.exitcode == 9
        store = tried.ready().store
        assert not (tried.path / making.MARKER).exists()
        assert not store.dirt()
        assert [entry.subject for entry in store.log()] == ["new layer"]
        git(tried.path, "fsck", "--strict")


@pytest.mark.parametrize("leftover", [".0123456789abcdef.tmp", making.MARKER])
def test_what_a_kill_leaves_before_the_first_file(house: House, leftover: str) -> None:
    house.path.mkdir(parents=True)
    (house.path / leftover).touch()
    assert house.ready().made
    assert git(house.path, "status", "--porcelain", "--ignored") == ""


def open_together(root: Path, start: object, answers: object) -> None:
    start.wait()  # type: ignore[attr-defined]
    answers.put(House(root).ready().made)  # type: ignore[attr-defined]


def test_kernels_that_start_together_make_one_layer(house: House) -> None:
    fork = multiprocessing.get_context("fork")
    for round_ in range(5):
        root = house.root / str(round_)
        start, answers = fork.Event(), fork.Queue()
        kernels = [fork.Process(target=open_together, args=(root, start, answers)) for _ in range(6)]
        for kernel in kernels:
            kernel.start()
        start.set()
        made = [answers.get(timeout=60) for _ in kernels]
        for kernel in kernels:
            kernel.join()
        assert sorted(made) == [False] * 5 + [True]
        assert git(House(root).path, "log", "--format=%s") == "new layer\n"


def test_a_kernel_that_makes_it_for_ever(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_WAIT", 0.0)
    house.path.mkdir(parents=True)
    fd = os.open(house.path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with pytest.raises(StoreBusy):
            house.open()
    finally:
        os.close(fd)
    assert house.ready().made


def test_a_new_layer_outlasts_a_power_cut(house: House) -> None:
    volatile = Volatile()
    house.disk = forgetful(volatile)
    house.ready()
    assert {path for path in volatile.files if not path.endswith((".lock", ".spare"))} == set()
