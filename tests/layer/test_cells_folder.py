"""Whether a cells folder may be loaded at all, and what it would replace."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from perdure.layer.cells_folder import CellsFolder, Refused, open_folder
from perdure.layer.disk import RealDisk
from perdure.layer.place import CellsPlace
from perdure.layer.trust import TrustRecord

from .cells import Cells
from .git_cli import Git, put

AREA = "def area(r):\n    return 3 * r * r"


@dataclass
class Folders:
    """A user's cells folders below `root`, and which were accepted."""

    root: Path

    def __post_init__(self) -> None:
        self.trust = TrustRecord(self.root / "state", RealDisk())

    def made(self, name: str = "team", *, trusted: bool = True) -> Path:
        path = self.root / name
        put(path / "functions/a/area.py", AREA)
        if trusted:
            self.trust.accept(path)
        return path

    def open(self, path: Path, pin: str | None = None, taken: tuple[Path, ...] = ()) -> CellsFolder | Refused:
        return open_folder(CellsPlace(path, pin), self.trust, layer=self.root / "layer", taken=taken)

    def refused(self, path: Path, pin: str | None = None, taken: tuple[Path, ...] = ()) -> str:
        opened = self.open(path, pin, taken)
        assert isinstance(opened, Refused)
        assert opened.path == Path(os.path.realpath(path))
        return opened.why


@pytest.fixture
def folders(tmp_path: Path, no_git_configuration: Path) -> Folders:
    return Folders(Path(os.path.realpath(tmp_path)))


def test_a_folder_of_definitions_needs_no_git(folders: Folders) -> None:
    opened = folders.open(folders.made())
    assert isinstance(opened, CellsFolder)
    assert list(opened.files) == ["functions/a/area.py"]


def test_one_that_was_not_accepted_waits(folders: Folders) -> None:
    path = folders.made(trusted=False)
    opened = folders.open(path)
    assert isinstance(opened, Refused)
    assert opened.waits
    assert opened.why == f"has 1 definition and is not trusted; look at it, then %layer trust {path} loads it"


def test_what_cannot_be_loaded(folders: Folders) -> None:
    root = folders.root
    assert folders.refused(root / "nowhere").startswith("is not there; make it, or take it out of PERDURE_CELLS")
    put(root / "file", "text")
    assert folders.refused(root / "file") == "is a file, not a folder; name the folder that holds the definitions"
    assert folders.refused(root / "file/below").startswith("is not there")
    (root / "empty").mkdir()
    assert folders.refused(root / "empty").startswith("has none of functions/, classes/, values/, methods/ in it")
    assert folders.refused(folders.made("layer")).startswith("is the layer itself")
    team = folders.made()
    assert folders.refused(team, taken=(team,)).startswith("is named twice")
    (root / "link").symlink_to(root / "nowhere")
    opened = folders.open(root / "link")
    assert isinstance(opened, Refused)
    assert opened.why == f"is a link to {root / 'nowhere'}, which is not there; mend or remove the link"


def test_a_format_that_is_newer(folders: Folders) -> None:
    path = folders.made()
    put(path / "pyproject.toml", "[tool.perdure]\nformat = 2\n")
    assert folders.refused(path) == (
        "was written by a newer perdure (its format is 2, this one knows 1); update perdure"
    )
    put(path / "pyproject.toml", "[project]\nname = 'team'\n")
    assert isinstance(folders.open(path), CellsFolder)
    put(path / "pyproject.toml", "<<<<<<< HEAD\n")
    assert folders.refused(path).startswith("has a pyproject.toml that cannot be read")


def test_one_that_others_can_write_to(folders: Folders) -> None:
    path = folders.made()
    path.chmod(0o777)
    assert folders.refused(path).startswith("can be written by other users; run `chmod -R go-w ")
    path.chmod(0o700)
    (path / "functions/a").chmod(0o777)
    assert isinstance(folders.open(path), CellsFolder), "nobody else gets there"
    path.chmod(0o755)
    (path / "functions").chmod(0o755)
    assert folders.refused(path).startswith("has a functions/a that can be written by other users; run ")
    (path / "functions/a").chmod(0o755)
    put(path / "data/table.csv", "1\n")
    (path / "data").chmod(0o777)
    assert isinstance(folders.open(path), CellsFolder), "nothing of that runs"


def test_one_of_another_user(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folders.made()
    monkeypatch.setattr(os, "getuid", lambda: path.stat().st_uid + 1)
    assert folders.refused(path).startswith("is owned by another user; copy it")


def test_one_that_cannot_be_read(folders: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folders.made()

    def denied(_: object) -> list[str]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("perdure.layer.cells_folder.os.listdir", denied)
    assert folders.refused(path) == (
        f"cannot be read: Permission denied at {path}; mend that and start the kernel again"
    )


# Pins.


@pytest.fixture
def repository(folders: Folders) -> Git:
    """A repository of two commits whose folder `team` holds definitions."""
    path = folders.root / "repository"
    put(path / "team/functions/a/area.py", AREA)
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    git = Git(path)
    git("add", "--all")
    git("commit", "-q", "-m", "one")
    git("commit", "-q", "--allow-empty", "-m", "two")
    folders.trust.accept(path / "team")
    return git


def test_a_pinned_folder_is_loaded_at_that_commit_only(folders: Folders, repository: Git) -> None:
    team = repository.path / "team"
    head, before = repository("rev-parse", "HEAD").strip(), repository("rev-parse", "HEAD~").strip()
    for pin in (head, head[:7]):
        assert isinstance(folders.open(team, pin), CellsFolder)
    why = f"is pinned to commit {before[:9]} but at {head[:10]}; `git checkout {before[:9]}` there"
    assert folders.refused(team, before[:9]).startswith(why)
    repository("checkout", "-q", before)
    assert isinstance(folders.open(team, before), CellsFolder)
    repository("checkout", "-q", "main")
    repository("pack-refs", "--all")
    assert isinstance(folders.open(team, head), CellsFolder)


def test_a_pinned_folder_in_a_worktree(folders: Folders, repository: Git) -> None:
    head = repository("rev-parse", "HEAD").strip()
    repository("worktree", "add", "-q", "-b", "side", str(folders.root / "side"))
    folders.trust.accept(folders.root / "side/team")
    assert isinstance(folders.open(folders.root / "side/team", head), CellsFolder)
    assert folders.refused(folders.root / "side/team", "0123456").startswith("is pinned to commit 0123456 but at")


def test_a_pin_needs_a_commit(folders: Folders) -> None:
    path = folders.made()
    assert folders.refused(path, "0123456").startswith("is pinned to commit 0123456 but in no git repository")
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    assert folders.refused(path, "0123456").startswith("is pinned to commit 0123456 but in no git repository")
    put(path / ".git/HEAD", "nonsense\n")
    assert "damaged ref" in folders.refused(path, "0123456")
    shutil.rmtree(path / ".git")


# What comes later than the layer.


def test_a_folder_that_would_replace_a_name(folders: Folders) -> None:
    kernel = Cells()
    kernel.boot()
    kernel.run("import math\nnp = 3")
    shipped = kernel.layer.shipped
    path = folders.made()
    opened = folders.open(path)
    assert isinstance(opened, CellsFolder)
    assert shipped.would_replace(opened) is None
    put(path / "functions/t/tau.py", "import math\n\n\ndef tau():\n    return math.tau\n")
    assert shipped.would_replace(folders.open(path)) is None  # type: ignore[arg-type]
    put(path / "functions/o/ones.py", "import math as np\n\n\ndef ones():\n    return np.pi\n")
    assert shipped.would_replace(folders.open(path)) == "np"  # type: ignore[arg-type]
    kernel.run("def area():\n    return 1")
    assert shipped.would_replace(opened) == "area"


def test_a_folder_that_would_put_a_method_on_what_is_here(folders: Folders) -> None:
    kernel = Cells()
    kernel.boot()
    path = folders.made()
    put(path / "methods/s/Shape.grow.py", "def grow(self): ...\n\n\nShape.grow = grow\n")
    put(path / "methods/s/show@int.py", "@show.register\ndef _(x: int): ...\n")
    opened = folders.open(path)
    assert isinstance(opened, CellsFolder)
    kernel.namespace["_"] = 1
    assert kernel.layer.shipped.would_replace(opened) is None
    kernel.run("def show(x): ...")
    assert kernel.layer.shipped.would_replace(opened) == "show"
