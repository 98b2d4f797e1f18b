"""Whose folder it is, and which were accepted."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from perdure.layer.disk import RealDisk
from perdure.layer.errors import StoreFault
from perdure.layer.trust import TrustRecord, why_foreign, why_not_owned

from .failing_disk import FailingDisk


@pytest.fixture
def layer(tmp_path: Path) -> Path:
    folder = tmp_path / "my layer"
    (folder / ".git").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / ".git").chmod(0o700)
    return folder


def record(tmp_path: Path) -> TrustRecord:
    return TrustRecord(tmp_path / "state", RealDisk())


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o500])
def test_own_and_closed(layer: Path, mode: int) -> None:
    layer.chmod(mode)
    assert why_not_owned(layer) is None
    assert why_foreign(layer) is None


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o720, 0o1777])
@pytest.mark.parametrize(("part", "why"), [("", "can be"), (".git", "has a .git that can be")])
def test_others_may_write(layer: Path, part: str, mode: int, why: str) -> None:
    (layer / part).chmod(mode)
    flaw = why_not_owned(layer)
    assert flaw is not None
    assert flaw.why == f"{why} written by other users"
    assert flaw.advice == f"run `chmod -R go-w '{layer}'`"
    assert os.system(flaw.advice.removeprefix("run ").strip("`")) == 0
    assert why_not_owned(layer) is None


@pytest.mark.parametrize(
    ("part", "mode"), [("values/x", 0o777), ("values/x/x.py", 0o666), (".git/hooks", 0o770), (".git/objects/ab", 0o777)]
)
def test_others_may_write_below(layer: Path, part: str, mode: int) -> None:
    for folder in (".git/hooks", ".git/objects/ab", "values/x"):
        (layer / folder).mkdir(parents=True, mode=0o755)
    (layer / "values/x/x.py").touch(mode=0o600)
    (layer / "values/link").symlink_to("nowhere")  # whose own mode is 0777, and means nothing
    for folder in ("", ".git"):
        (layer / folder).chmod(0o755)
    assert why_not_owned(layer) is None
    (layer / part).chmod(mode)
    flaw = why_not_owned(layer)
    assert flaw is not None
    assert flaw.why == f"has a {part} that can be written by other users"
    assert os.system(flaw.advice.removeprefix("run ").strip("`")) == 0
    assert why_not_owned(layer) is None
    (layer / part).chmod(mode)
    layer.chmod(0o700)  # now nobody gets as far as that
    assert why_not_owned(layer) is None


def test_somebody_elses(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: layer.stat().st_uid + 1)
    flaw = why_not_owned(layer)
    assert flaw is not None
    assert flaw.why == "is owned by another user"
    assert str(layer) in flaw.advice
    assert why_foreign(layer) == flaw


def test_a_git_that_is_somebody_elses(layer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.stat

    def told(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = real(path, follow_symlinks=follow_symlinks)
        return os.stat_result((*found[:4], found.st_uid + 1, *found[5:])) if path.name == ".git" else found

    monkeypatch.setattr(Path, "stat", told)
    flaw = why_not_owned(layer)
    assert flaw is not None
    assert flaw.why == "has a .git that is owned by another user"


def test_links_are_followed(layer: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(layer)
    layer.chmod(0o777)
    assert why_not_owned(link) is not None


def test_accepted_once_for_ever(tmp_path: Path, layer: Path) -> None:
    assert not record(tmp_path).accepts(layer)
    record(tmp_path).accept(layer)
    record(tmp_path).accept(layer)
    assert record(tmp_path).accepts(layer)
    (file,) = (tmp_path / "state").iterdir()
    assert len(file.read_text().splitlines()) == 1
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_by_resolved_path(tmp_path: Path, layer: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(layer)
    record(tmp_path).accept(link)
    assert record(tmp_path).accepts(layer)
    assert record(tmp_path).accepts(layer / ".git" / "..")


def test_a_moved_folder_is_a_new_one(tmp_path: Path, layer: Path) -> None:
    record(tmp_path).accept(layer)
    moved = layer.rename(tmp_path / "moved")
    assert not record(tmp_path).accepts(moved)
    assert not record(tmp_path).accepts(tmp_path)


def test_a_path_that_is_no_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n\xe2\x80\xa8"))
    record(tmp_path).accept(folder)
    assert record(tmp_path).accepts(folder)


@pytest.mark.parametrize("torn", [b'{"pa', b'{"path": "/x"}', b"\xff\n", b'["path"]\n', b'{"path": 3}\n'])
def test_a_torn_end_takes_nothing_with_it(tmp_path: Path, layer: Path, torn: bytes) -> None:
    record(tmp_path).accept(layer)
    (file,) = (tmp_path / "state").iterdir()
    with file.open("ab") as end:
        end.write(torn)
    assert record(tmp_path).accepts(layer)
    record(tmp_path).accept(tmp_path / "other")
    assert record(tmp_path).accepts(layer)
    assert record(tmp_path).accepts(tmp_path / "other")


@pytest.mark.parametrize("at", [1, 2])
def test_a_disk_that_refuses(tmp_path: Path, layer: Path, at: int) -> None:
    disk = FailingDisk(at=at, code=errno.ENOSPC, when="half")
    with pytest.raises(StoreFault):
        TrustRecord(tmp_path / "state", disk).accept(layer)
    assert not record(tmp_path).accepts(layer)
    record(tmp_path).accept(layer)
    assert record(tmp_path).accepts(layer)
