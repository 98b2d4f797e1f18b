"""What commits are made of, once more in one file of the git folder: by its one sync a commit outlasts a power cut.

A commit is a dozen files, and to sync each in turn takes longer than all else about it. They are written, and before
the first of those that matter is, all that the commit comes to is added to this file and synced. After a power cut it
is done once more from here, as far as it was lost; by `settle`, at rest, everything is synced where it belongs and this
file emptied. A process that is killed loses nothing that it wrote, so nobody looks into it then.

Owns the form of the file, and whether the machine went down since. How it is done again is told in `git_redone`.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any

from .definition import RelPath
from .disk import Disk
from .git_locks import REDO
from .git_objects import OBJECT_MODE, object_file
from .git_tree import Entry
from .journal import Journal, size_of, told_as_fault
from .slots import fact
from .store import CommitId, parts

LIMIT = 1_000_000
"""Bytes from which on the next commit settles what is in it, where no rest came to do so."""

_BEGIN = b'{"machine": '
_ID = re.compile("[0-9a-f]{40}")
_OBJECT = re.compile(f"{_ID.pattern}|pack/pack-{_ID.pattern}\\.(pack|idx)")
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@fact
class Redo:
    """One commit."""

    branch: str  # refs/heads/main
    old: CommitId | None
    new: CommitId
    files: Mapping[RelPath, Entry | None]  # of the working tree
    objects: Mapping[str, bytes]  # the files of its objects, as `git_objects.Objects.files` gives them
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

    What is torn was never promised to last, and what is damaged is passed over.
    """
    at = 0
    while (at := data.find(_BEGIN, at)) >= 0:
        end = data.find(b"\n", at)
        if end < 0:
            return
        line, _, wanted = data[at:end].rpartition(b" ")
        at += 1
        if not wanted.isdigit() or zlib.crc32(line) != int(wanted):
            continue
        try:
            said = json.loads(line)
            body = data[end + 1 : end + 1 + sum(said["objects"].values())]
            if zlib.crc32(body) != said["sum"]:
                continue
            redo, there = _as_told(said, body), str(said["machine"])
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            continue  # in a form that this perdure does not know
        at = end + 1 + len(body)
        if redo is not None:
            yield there, redo


def _as_told(said: dict[str, Any], body: bytes) -> Redo | None:
    """The commit of a line and what follows it; None for one that no kernel wrote: it would reach out of its layer."""
    files = {RelPath(path): Entry(*entry) if entry else None for path, entry in said["files"].items()}
    lines = {Path(path): text.encode() for path, text in said["lines"].items()}
    names = [said["new"], *(entry.id for entry in files.values() if entry)]
    objects: dict[str, bytes] = {}
    at = 0
    for name, size in said["objects"].items():
        objects[name] = body[at : at + size]
        at += size
    try:
        for path in (said["branch"], *files):
            parts(path)
    except ValueError:
        return None
    if not said["branch"].startswith("refs/heads/"):
        return None
    if not all(map(_ID.fullmatch, names)) or not all(map(_OBJECT.fullmatch, said["objects"])):
        return None
    if not all(file.is_absolute() and file.suffix == ".jsonl" for file in lines):
        return None
    return Redo(said["branch"], said["old"], said["new"], files, objects, lines)


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
    """The file of one layer. Who calls has the turn, except for `sync`."""

    def __init__(self, layer: Path, disk: Disk) -> None:
        self.path = layer / ".git" / REDO
        self._layer = layer
        self._disk = disk
        self._objects = self.path.parent / "objects"
        self._is_ours = False  # whether the file is known to be one that a kernel of this user made
        self._is_young = False  # whether all in it is known to have been written since the machine was started
        self._seen: object = None  # what the file was like when `look` was called last
        self._left: dict[Path, None] = {}  # what is promised by that and was not synced since
        self._synced: set[Path] = set()  # objects, which stay as they are

    def add(self, redo: Redo, journal: Journal) -> None:
        """Have the commit on disk. Undoing takes it out again."""
        with told_as_fault(self.path):
            self._refuse_foreign()
            size = self.size
            journal.note(lambda: self.cut(size))
            self._disk.append(self.path, redo.to_bytes(machine()))

    def cut(self, size: int) -> None:
        """Take out what was added when the file was of this `size`, and has been taken back.

        Of what was written for it everything is there to stay then, or gone: an object that is emptied by a power cut
        is in git's way.
        """
        with told_as_fault(self.path):
            if self.size > size:
                taken = [redo for _, redo in read(self.path.read_bytes()[size:])]
                for path in self._written(taken):
                    self._disk.sync(path)
                self._disk.cut(self.path, size, synced=True)

    @property
    def size(self) -> int:
        """Bytes of what is promised; zero where nothing is."""
        return size_of(self.path) or 0

    @property
    def is_long(self) -> bool:
        """Whether it is to be settled before more is added, though there was no rest."""
        return self.size > LIMIT

    @property
    def lasts(self) -> bool:
        """Whether a promise is known after a power cut for one from before; else each commit is settled at once."""
        return machine() != ""

    def lost(self) -> list[Redo] | None:
        """What may have to be done again: the machine went down since it was written. Nearly always None."""
        with told_as_fault(self.path):
            if self._is_young or not self.size:
                return None
            self._refuse_foreign()
            found = [*read(self.path.read_bytes())] if self.size else []
            here = machine()
            self._is_young = bool(here and found) and all(there == here for there, _ in found)
            return None if self._is_young else [redo for _, redo in found]

    def disown(self) -> None:
        """Promise nothing from before the machine was started: it came with the folder, and is for nobody to do."""
        if self.lost() is not None:
            with told_as_fault(self.path):
                self._disk.remove(self.path)

    def has_grown(self) -> bool:
        """Whether there may be more in it than `look` has seen. Needs no turn."""
        return self._mark() != self._seen

    def look(self) -> None:
        """Find out what is to be synced. Nobody is in the middle of writing it now, since the caller has the turn."""
        with told_as_fault(self.path):
            self._seen = self._mark()
            promised = [redo for _, redo in read(self.path.read_bytes())] if self.size else []
            self._left = {path: None for path in self._written(promised) if path not in self._synced}

    @property
    def left(self) -> list[Path]:
        """What is not yet on disk where it belongs of what `look` has seen: files, and after them their folders."""
        return [*self._left]

    def sync(self, paths: Iterable[Path]) -> None:
        """Have these of `left` on disk. Needs no turn."""
        for path in paths:
            with told_as_fault(path):
                self._disk.sync(path)
            self._left.pop(path, None)
            if path.parent.parent == self._objects:
                self._synced.add(path)

    def restore(self, is_known: Callable[[str], bool]) -> None:
        """Write the loose objects again that are gone and that git has nowhere else.

        A `git gc --prune=now` takes what no ref names yet, of a commit that was being made just then.
        """
        with told_as_fault(self.path):
            for _, redo in read(self.path.read_bytes()) if self.size else ():
                for name, data in redo.objects.items():
                    file = object_file(self._objects, name)
                    if "/" not in name and not file.exists() and not is_known(name):
                        self._disk.make_folder(file.parent, synced=True)
                        self._disk.write(file, data, mode=OBJECT_MODE)

    def settle(self) -> None:
        """Have on disk, where it belongs, all that is promised here; nothing is promised then.

        Raises:
            StoreFault: the disk refused; all is promised as before.
        """
        self.look()
        self.sync(self.left)
        self.empty()

    def empty(self) -> None:
        """Promise nothing any more."""
        with told_as_fault(self.path):
            if self.size:
                self._disk.cut(self.path, 0, synced=True)
            self._is_young = True
            self._seen = self._mark()
            self._left.clear()
            self._synced.clear()

    def _mark(self) -> object:
        """Another value after each time that something was added, even where all before it was taken out."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return None
        return found.st_size, found.st_mtime_ns

    def _written(self, commits: Iterable[Redo]) -> dict[Path, None]:
        """What these commits wrote, or took away: files, and after them the folders that they are in."""
        git = self.path.parent
        files: dict[Path, None] = {}
        for redo in commits:
            files.update(dict.fromkeys(object_file(self._objects, name) for name in redo.objects))
            files.update(dict.fromkeys(self._layer / path for path in redo.files))
            files.update(dict.fromkeys((git / redo.branch, git / "logs" / redo.branch)))
            files.update(dict.fromkeys(redo.lines))
        if files:
            files.update(dict.fromkeys((git / "index", git / "logs" / "HEAD")))
        return {**files, **dict.fromkeys(above for file in files for above in self._folders(file))}

    def _folders(self, file: Path) -> Iterator[Path]:
        """The folders that had to be made for `file`, maybe, and the one that they are in."""
        if not file.is_relative_to(self._layer):
            yield file.parent
            return
        for folder in file.parents:
            yield folder
            if folder == self._layer:
                return

    def _refuse_foreign(self) -> None:
        """Do away with what no kernel of this user wrote: it is nobody's promise, and to open a pipe is to wait."""
        if self._is_ours:
            return
        try:
            found = os.lstat(self.path)
        except FileNotFoundError:
            pass
        else:
            if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode) or found.st_mode & 0o022:
                self._disk.remove(self.path)
        self._is_ours = True
