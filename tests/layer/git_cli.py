"""The git command line, to look at a layer with, and what the tests of GitStore share."""

from __future__ import annotations

import subprocess
from pathlib import Path

from perdure.layer.definition import RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.git import GitStore
from perdure.layer.store import Dirt, Identity, Message

ADA = Identity("Ada Lovelace", "ada@example.org")
AREA = RelPath("functions/a/area.py")
RATE = RelPath("values/r/RATE.py")
KEEP = Message("keep area")
FILES = {RelPath(".gitignore"): b"__pycache__/\n*.pyc\n", RelPath("__init__.py"): b"", AREA: b"def area(): ...\n"}


class Git:
    """The command line in one folder, as a user with a name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *words: str, ok: bool = True) -> str:
        who = ["-c", "user.name=Bob", "-c", "user.email=bob@example.org"]
        done = subprocess.run(["git", *who, *words], cwd=self.path, capture_output=True, text=True, check=False)
        assert done.returncode == 0 or not ok, done.stderr
        return done.stdout

    def check(self, status: str = "") -> None:
        """The repository is sound, and `git status` lists just this."""
        assert self("status", "--porcelain", "-uall") == status
        assert "dangling" not in self("fsck", "--strict", "--no-dangling")

    def dirt(self) -> Dirt:
        """What `git status` lists."""
        lines = self("status", "--porcelain", "-uall", "-z", "--no-renames").split("\0")[:-1]
        unknown = [RelPath(line[3:]) for line in lines if line.startswith("??")]
        changed = [RelPath(line[3:]) for line in lines if not line.startswith("??")]
        staged = [RelPath(line[3:]) for line in lines if line[0] not in " ?" or line.startswith(" A")]
        return Dirt(tuple(sorted(changed)), tuple(sorted(unknown)), tuple(sorted(staged)))


def put(path: Path, data: bytes | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def opened(path: Path) -> GitStore:
    return GitStore.open(path, author=ADA, disk=RealDisk())


def created(path: Path) -> GitStore:
    return GitStore.create(path, FILES, Message("start"), author=ADA, disk=RealDisk())


def settled(store: GitStore) -> GitStore:
    """The store, after a moment of rest."""
    while store.settle():
        pass
    return store
