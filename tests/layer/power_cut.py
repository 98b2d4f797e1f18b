"""A power cut at the end of a process, as far as the Disk port tells: what was not synced is there, or not, or emptied.

Every file that was written past the last sync is noted with what the disk has of it for certain. `lose` then decides
for each, by lot, what of it was on disk. It stands for all that file systems may do, so it is harder than any of them;
of one mercy only: folders that were made are there.
"""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perdure.layer.disk import Disk, RealDisk


@dataclass(slots=True)
class Unsynced:
    """A file that a power cut may change."""

    before: bytes | None  # what the disk has under this name, None for no file
    mode: int
    inode: int  # of that
    between: list[bytes | None] = field(default_factory=list)  # what it was since, and may be on disk as well
    has_content: bool = False  # whether what is in the file now is on disk
    is_listed: bool = False  # whether its name is, as it is now


class Volatile:
    """What is not on disk yet of what one process did by the Disk port."""

    def __init__(self) -> None:
        self.files: dict[str, Unsynced] = {}

    @contextmanager
    def doing(self, name: str, *words: Any, synced: bool | None = None, **_: Any) -> Iterator[None]:
        """Around one call of the port."""
        paths = [os.fspath(word) for word in words if isinstance(word, Path)]
        changed = {"link": paths[1:], "sync": [], "make_folder": [], "remove_folder": []}.get(name, paths)
        for path in changed:
            self._begin(path)
        was_there = os.path.lexists(paths[0])
        yield
        in_place = name in ("append", "cut") and was_there
        # All but a cut is on disk when it returns, unless it need not be.
        is_synced = name == "rename" or (synced if synced is not None else name in ("write", "append", "remove"))
        for path in changed:
            state = self.files[path]
            state.is_listed = state.is_listed and in_place
            state.has_content = is_synced or name in ("link", "remove")
        if name == "sync" and not os.path.isdir(paths[0]):
            if paths[0] in self.files:
                self.files[paths[0]].has_content = True
        elif name == "sync" or (is_synced and not in_place):
            folder = paths[0] if name == "sync" else os.path.dirname(paths[-1])
            for path, state in self.files.items():
                state.is_listed = state.is_listed or os.path.dirname(path) == folder
        self.files = {path: each for path, each in self.files.items() if not (each.is_listed and each.has_content)}

    def _begin(self, path: str) -> None:
        now = _as_it_is(path)
        if path in self.files:
            self.files[path].between = [*self.files[path].between, now.before][-4:]
        else:
            now.is_listed = True
            self.files[path] = now

    def save(self, file: Path) -> None:
        file.write_bytes(pickle.dumps(self.files))


def _as_it_is(path: str) -> Unsynced:
    try:
        stat = os.stat(path)
        return Unsynced(Path(path).read_bytes(), stat.st_mode & 0o777, stat.st_ino)
    except OSError:
        return Unsynced(None, 0o600, 0)


def lose(file: Path, chance: random.Random) -> list[str]:
    """Have what `Volatile.save` wrote to `file` be lost, or some of it; tells what."""
    files: dict[str, Unsynced] = pickle.loads(file.read_bytes())
    there = {path: _as_it_is(path) for path in files}
    mood = chance.choice(["old", "old", "new", "emptied", "between", *["any"] * 4])
    told = []
    for path, state in sorted(files.items()):
        now = there[path].before
        fates: dict[str, bytes | None] = {"new": now}
        if not state.is_listed or not state.has_content:
            fates["old"] = state.before
        for each in state.between:
            fates["between"] = each
        if not state.has_content and now:
            fates["emptied"] = b"" if not state.is_listed else _half(state.before, now)
        fate = mood if mood in fates else chance.choice([*fates]) if mood == "any" else "new"
        if fate != "new":
            told.append(f"{path} is {fate}")
            Path(path).unlink(missing_ok=True)
            if (data := fates[fate]) is not None:
                _make(Path(path), data, state if fate == "old" else there[path], same=fate == "old")
    return told


def _half(before: bytes | None, now: bytes) -> bytes:
    """A file that was added to in part."""
    size = len(before or b"")
    return now[: (size + len(now)) // 2] if before is not None and now.startswith(before) else b""


def _make(path: Path, data: bytes, state: Unsynced, *, same: bool) -> None:
    """Make the file; where it was another name of one that is there still, so again."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if same and state.inode:
        for other in path.parent.iterdir():
            if other.is_file() and other.stat().st_ino == state.inode:
                os.link(other, path)
                return
    path.write_bytes(data)
    path.chmod(state.mode)


def forgetful(volatile: Volatile) -> Disk:
    """The real disk, of which `volatile` knows what a power cut may take."""

    def noted(name: str) -> Callable[..., Any]:
        real = getattr(RealDisk, name)

        def call(disk: RealDisk, *words: Any, **named: Any) -> Any:
            with volatile.doing(name, *words, **named):
                return real(disk, *words, **named)

        return call

    operations = {name: noted(name) for name in vars(Disk) if not name.startswith("_")}
    made: type[RealDisk] = type("ForgetfulDisk", (RealDisk,), operations)
    return made()
