"""What commits are made of, once more in one file of the git folder: by its one sync a commit outlasts a power cut.

A commit is a dozen files, and to sync each in turn takes longer than all else about it. They are written, and before
the first of those that matter is, all that the commit comes to is added to this file and synced. After a power cut it
is done once more from here, as far as it was lost; by `settle`, at rest, everything is synced where it belongs and this
file emptied. A process that is killed loses nothing that it wrote, so nobody looks into it then.

Owns the form of the file, and whether the machine went down since. How it is done again is told in `git_redone`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path

from .definition import RelPath
from .disk import Disk
from .git_locks import REDO
from .git_objects import object_file
from .git_tree import Entry
from .journal import Journal, size_of, told_as_fault
from .slots import fact
from .store import CommitId

LIMIT = 1_000_000
"""Bytes from which on the next commit settles what is in it, where no rest came to do so."""

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@fact
class Redo:
    """One commit."""

    branch: str  # refs/heads/main
    old: CommitId | None
    new: CommitId
    files: Mapping[RelPath, Entry | None]  # of the working tree
    objects: Mapping[str, bytes]  # the files of its objects, as `git_objects.Objects.write` gives them
    lines: Mapping[Path, bytes] = field(default_factory=dict)  # to stand in files elsewhere; ASCII

    def to_bytes(self, machine: str) -> bytes:
        """A line that tells of it, and the objects after that."""
        body = b"".join(self.objects.values())
        said = {
            "machine": machine,
            "branch": self.branch,
            "old": self.old,
            "new": self.new,
            "files": {path: (entry.mode, entry.id) if entry else None for path, entry in self.files.items()},
            "lines": {str(path): data.decode("ascii") for path, data in self.lines.items()},
            "objects": {name: len(data) for name, data in self.objects.items()},
            "sum": zlib.crc32(body),
        }
        line = json.dumps(said).encode("ascii")
        return b"%s %d\n" % (line, zlib.crc32(line)) + body


def read(data: bytes) -> Iterator[tuple[str, Redo]]:
    """The commits in a file of these bytes, in order, and since when the machine was up that each was written on.

    What is torn was never promised to last.
    """
    at = 0
    while (end := data.find(b"\n", at)) >= 0:
        line, _, wanted = data[at:end].rpartition(b" ")
        at = end + 1
        try:
            if zlib.crc32(line) != int(wanted):
                return
        except ValueError:
            return
        said = json.loads(line)
        objects: dict[str, bytes] = {}
        begin = at
        for name, size in said["objects"].items():
            objects[name] = data[at : at + size]
            at += size
        if zlib.crc32(data[begin:at]) != said["sum"]:
            return
        files = {RelPath(path): Entry(*entry) if entry else None for path, entry in said["files"].items()}
        lines = {Path(path): text.encode() for path, text in said["lines"].items()}
        yield said["machine"], Redo(said["branch"], said["old"], said["new"], files, objects, lines)


@lru_cache(maxsize=1)
def machine() -> str:
    """What is another text each time the machine is started; empty where that cannot be told."""
    try:
        with open(_BOOT_ID) as file:
            return file.read().strip()
    except OSError:
        pass
    import subprocess  # here: where there is no such file

    try:
        words = ["sysctl", "-n", "kern.bootsessionuuid"]
        told = subprocess.run(words, check=False, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return told.stdout.strip()


class RedoLog:
    """The file of one layer. Who calls has the turn."""

    def __init__(self, layer: Path, disk: Disk) -> None:
        self.path = layer / ".git" / REDO
        self._layer = layer
        self._disk = disk
        self._objects = self.path.parent / "objects"
        self._is_young = False  # whether all in it is known to have been written since the machine was started
        self._seen = 0  # size of the file when it was last looked for what is to be synced
        self._synced: set[Path] = set()  # of that

    def add(self, redo: Redo, journal: Journal) -> None:
        """Have the commit on disk. Undoing takes it out again."""
        size = self.size
        data = redo.to_bytes(machine())
        journal.note(lambda: self._take_out(size))
        with told_as_fault(self.path):
            self._disk.append(self.path, data)

    def cut(self, size: int) -> None:
        """Take out what was added when the file was of this `size`."""
        with told_as_fault(self.path):
            self._take_out(size)

    @property
    def size(self) -> int:
        """Bytes of what is promised; zero where nothing is."""
        return size_of(self.path) or 0

    def is_due(self) -> bool:
        """Whether it has grown so that it is to be settled, rest or not."""
        return self.size > LIMIT

    def lost(self) -> list[Redo]:
        """What may have to be done again: the machine went down since it was written. Nearly always nothing."""
        with told_as_fault(self.path):
            if self._is_young or not self.size:
                return []
            found = [*read(self.path.read_bytes())]
            here = machine()
            self._is_young = bool(here) and all(there == here for there, _ in found)
            return [] if self._is_young else [redo for _, redo in found]

    def unsynced(self) -> list[Path]:
        """What is promised and not yet on disk where it belongs: files, and after them their folders."""
        size = self.size
        if size != self._seen:
            # Objects stay as they are; all else may have been written anew by what was added.
            self._synced = {path for path in self._synced if path.parent.parent == self._objects}
            self._seen = size
        files: dict[Path, None] = {}
        if size:
            git = self.path.parent
            for _, redo in read(self.path.read_bytes()):
                files.update(dict.fromkeys(object_file(self._objects, name) for name in redo.objects))
                files.update(dict.fromkeys(self._layer / path for path in redo.files))
                files.update(dict.fromkeys((git / redo.branch, git / "index", git / "logs" / redo.branch)))
                files.update(dict.fromkeys(redo.lines))
            files[git / "logs" / "HEAD"] = None
        folders = dict.fromkeys(above for file in files for above in self._folders(file))
        return [path for path in (*files, *folders) if path not in self._synced]

    def sync(self, paths: Iterable[Path]) -> None:
        """Have these of `unsynced` on disk."""
        for path in paths:
            with told_as_fault(path):
                self._disk.sync(path)
            self._synced.add(path)

    def settle(self) -> None:
        """Have on disk, where it belongs, all that is promised here; nothing is promised then.

        Raises:
            StoreFault: the disk refused; all is promised as before.
        """
        with told_as_fault(self.path):
            self.sync(self.unsynced())
            self.empty()

    def empty(self) -> None:
        """Promise nothing any more."""
        with told_as_fault(self.path):
            if self.size:
                self._disk.cut(self.path, 0, synced=True)
            self._is_young = True
            self._seen = 0
            self._synced.clear()

    def _folders(self, file: Path) -> Iterator[Path]:
        """The folders that had to be made for `file`, maybe, and the one that they are in."""
        if not file.is_relative_to(self._layer):
            yield file.parent
            return
        for folder in file.parents:
            yield folder
            if folder == self._layer:
                return

    def _take_out(self, size: int) -> None:
        if self.size > size:
            self._disk.cut(self.path, size, synced=True)
