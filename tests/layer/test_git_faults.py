"""Every single write of a commit fails once, in every way; what stood before stands, and the next commit works."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.layer import disk as disk_module
from perdure.layer.definition import RelPath
from perdure.layer.disk import Disk, RealDisk
from perdure.layer.errors import StoreFault
from perdure.layer.git import GitStore
from perdure.layer.store import Change, Identity, Message, Remove, Write

from .failing_disk import TAKES_SPACE, WRITES, FailingDisk, FailingSystem, When

ADA = Identity("Ada Lovelace", "ada@example.org")
MESSAGE = Message("keep area, Circle", "A note.", (("Session", "s-1a2b3c4d"),))
CHANGES: list[Change] = [
    Write(RelPath("functions/a/area.py"), b"def area(r): ...\n"),
    Write(RelPath("classes/c/Circle.py"), b"class Circle: ...\n"),
    Remove(RelPath("values/r/RATE.py")),
]

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(autouse=True)
def _no_power_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the disk really syncs is not seen here, and takes nine tenths of the time."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A layer with two definitions, a file that is staged and one that git does not know."""
    path = tmp_path_factory.mktemp("model") / "layer"
    files = {"functions/a/area.py": b"def area(): ...\n", "values/r/RATE.py": b"RATE = 1\n", ".gitignore": b"*.pyc\n"}
    first = {RelPath(name): data for name, data in files.items()}
    GitStore.create(path, first, Message("start"), author=ADA, disk=RealDisk())
    (path / "staged.txt").write_text("staged")
    (path / "unknown.txt").write_text("unknown")
    git(path, "add", "staged.txt")
    return path


@pytest.fixture
def layer(model: Path, tmp_path: Path) -> Path:
    return copy(model, tmp_path / "layer")


def copy(model: Path, path: Path) -> Path:
    shutil.copytree(model, path)
    git(path, "status")  # has git note the times of the copied files
    return path


def state(path: Path) -> dict[str, object]:
    """Every file with its content, and every folder, but for objects, which are checked to be whole ones."""
    found: dict[str, object] = {}
    for file in sorted(path.rglob("*")):
        name = str(file.relative_to(path))
        if name.startswith(".git/objects/"):
            assert file.is_dir() or re.fullmatch(r"\.git/objects/../[0-9a-f]{38}", name), f"left behind: {name}"
        elif name != ".git/perdure.lock":
            found[name] = None if file.is_dir() else (file.read_bytes(), file.stat().st_mode)
    return found


def committed(path: Path) -> bool:
    return not (path / "values").exists() and (path / "classes/c/Circle.py").exists()


def commit_on(disk: Disk, path: Path) -> None:
    GitStore.open(path, author=ADA, disk=disk).commit(CHANGES, MESSAGE)


def fault_of_commit(disk: Disk, path: Path) -> StoreFault | None:
    try:
        commit_on(disk, path)
    except StoreFault as fault:
        return fault
    return None


def check_nothing_happened(path: Path, before: dict[str, object]) -> None:
    status = git(path, "--no-optional-locks", "status", "--porcelain")
    assert status == "A  staged.txt\n?? unknown.txt\n"
    assert state(path) == before
    commit_on(RealDisk(), path)
    assert committed(path)
    assert git(path, "status", "--porcelain") == "A  staged.txt\n?? unknown.txt\n"
    assert len((path / ".git/logs/HEAD").read_text().splitlines()) == 2
    git(path, "fsck", "--strict")


def every_write(model: Path, tmp_path: Path, failing: Callable[[int], FailingDisk]) -> None:
    """Commit on `failing(1)`, `failing(2)` … until one is left that has nothing to fail."""
    for at in range(1, 1000):
        path = copy(model, tmp_path / f"layer{at}")
        before = state(path)
        disk = failing(at)
        fault = fault_of_commit(disk, path)
        if fault:
            assert fault.cause.errno == disk.code
            assert not getattr(fault, "__notes__", None)
            check_nothing_happened(path, before)
        else:
            assert committed(path)
            if not disk.failed:
                assert at > 15  # the commit has at least that many writes, or this test tests nothing
                return
            # After the ref has moved the commit stands, and only tidying can fail.
            assert {name for name, _ in disk.failed} == {"remove"}
        shutil.rmtree(path)
    raise AssertionError("the commit never ends")


@pytest.mark.parametrize(
    ("when", "code"),
    [
        ("before", errno.ENOSPC),
        ("before", errno.EROFS),
        ("before", errno.EIO),
        ("after", errno.EIO),
        ("half", errno.EIO),
    ],
)
def test_any_one_write_fails(model: Path, tmp_path: Path, when: When, code: int) -> None:
    every_write(model, tmp_path, lambda at: FailingDisk(at, code, when))


@pytest.mark.parametrize("when", ["before", "half"])
def test_the_disk_is_full_from_any_write_on(model: Path, tmp_path: Path, when: When) -> None:
    every_write(model, tmp_path, lambda at: FailingDisk(at, errno.ENOSPC, when, lasting=True, counted=TAKES_SPACE))


def test_read_only_from_the_start(layer: Path) -> None:
    before = state(layer)
    counted = WRITES | {"cut", "remove_folder"}
    with pytest.raises(StoreFault) as caught:
        commit_on(FailingDisk(1, errno.EROFS, lasting=True, counted=counted), layer)
    assert caught.value.cause.errno == errno.EROFS
    assert "Read-only file system" in str(caught.value)
    check_nothing_happened(layer, before)


def test_what_cannot_be_taken_back_is_told(layer: Path) -> None:
    recorded = FailingDisk()
    commit_on(recorded, copy(layer, layer.with_name("another")))
    at = 1 + max(i for i, (name, path) in enumerate(recorded.done, 1) if name == "write" and path.suffix == ".py")
    with pytest.raises(StoreFault) as caught:
        commit_on(FailingDisk(at, errno.EROFS, lasting=True, counted=WRITES | {"cut", "remove_folder"}), layer)
    assert any("area.py" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("code", "lasting"),
    [(errno.EIO, frozenset[str]()), (errno.ENOSPC, frozenset({"write"}))],
    ids=["one call fails", "the disk stays full"],
)
def test_any_one_system_call_fails(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, lasting: frozenset[str]
) -> None:
    for at in range(1, 1000):
        path = copy(model, tmp_path / f"layer{at}")
        before = state(path)
        with monkeypatch.context() as patch:
            system = FailingSystem(at, code, lasting=lasting)
            patch.setattr(disk_module, "os", system)
            fault = fault_of_commit(RealDisk(), path)
        if fault:
            assert fault.cause.errno == code
            check_nothing_happened(path, before)
        else:
            assert committed(path)
            if not system.failed:
                assert at > 40
                return
        shutil.rmtree(path)


def test_a_layer_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    files = {RelPath("__init__.py"): b"", RelPath("functions/a/area.py"): b"def area(): ...\n"}
    for at in range(1, 1000):
        path = tmp_path / str(at) / "above" / "layer"
        disk = FailingDisk(at, errno.ENOSPC, counted=WRITES - {"remove"})
        path.parent.parent.mkdir()
        try:
            GitStore.create(path, files, Message("start"), author=ADA, disk=disk)
        except StoreFault:
            assert list(path.parent.parent.iterdir()) == []
        else:
            assert not disk.failed
            assert at > 15
            return


def test_a_full_disk_leaves_an_empty_folder_empty(tmp_path: Path) -> None:
    disk = FailingDisk(12, errno.ENOSPC)
    with pytest.raises(StoreFault):
        GitStore.create(tmp_path, {RelPath("__init__.py"): b""}, Message("start"), author=ADA, disk=disk)
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_deleted_while_it_is_open(layer: Path) -> None:
    store = GitStore.open(layer, author=ADA, disk=RealDisk())
    store.commit(CHANGES, MESSAGE)
    shutil.rmtree(layer)
    for _ in range(2):
        with pytest.raises(StoreFault, match="No such file"):
            store.commit([Write(RelPath("values/r/RATE.py"), b"RATE = 2\n")], MESSAGE)
    with pytest.raises(StoreFault):
        store.head()
    assert store.files() == {}
    assert not layer.exists()


def test_a_file_that_cannot_be_read(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = GitStore.open(layer, author=ADA, disk=RealDisk())

    def unreadable(path: Path) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", unreadable)
        with pytest.raises(StoreFault) as caught:
            store.files()
    assert caught.value.path == layer / "functions/a/area.py"


def test_a_file_system_without_hard_links(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*args: object, **named: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    before = state(layer)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", no_links)
        recorded = FailingDisk()
        commit_on(recorded, copy(layer, layer.with_name("another")))
        with pytest.raises(StoreFault):
            commit_on(FailingDisk(max(i for i, (name, _) in enumerate(recorded.done, 1) if name == "write")), layer)
    check_nothing_happened(layer, before)
