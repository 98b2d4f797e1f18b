"""Disks that fail on purpose: by the operation of the Disk port, and by the system call below it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from perdure.layer.disk import FILE_MODE, Disk, RealDisk

T = TypeVar("T")

TAKES_SPACE = frozenset({"make_folder", "write", "append"})
WRITES = TAKES_SPACE | {"link", "rename", "remove", "sync"}

When = Literal["before", "after", "half"]
"""Nothing was done; all was done but for the last fsync; a half was done (of an append, else as before)."""


@dataclass
class FailingDisk:
    """The real disk, whose `at`-th operation (from 1) among `counted` fails with `code`; never if `at` is 0.

    With `lasting` every counted operation after it fails too, as on a disk that is full.
    """

    at: int = 0
    code: int = errno.EIO
    when: When = "before"
    lasting: bool = False
    counted: frozenset[str] = WRITES
    done: list[tuple[str, Path]] = field(default_factory=list)
    failed: list[tuple[str, Path]] = field(default_factory=list)
    disk: Disk = field(default_factory=RealDisk)

    def make_folder(self, path: Path, *, synced: bool = False) -> None:
        self._do("make_folder", path, lambda: self.disk.make_folder(path, synced=synced))

    def write(
        self, path: Path, data: bytes, *, mode: int = FILE_MODE, synced: bool = True, begun_in: Path | None = None
    ) -> os.stat_result:
        whole = partial(self.disk.write, path, data, mode=mode, synced=synced, begun_in=begun_in)
        return self._do("write", path, whole)

    def append(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        def act(data: bytes) -> None:
            self.disk.append(path, data, synced=synced)

        self._do("append", path, lambda: act(data), lambda: act(data[::2]))

    def cut(self, path: Path, size: int, *, synced: bool = False) -> None:
        self._do("cut", path, lambda: self.disk.cut(path, size, synced=synced))

    def link(self, source: Path, target: Path) -> None:
        self._do("link", target, lambda: self.disk.link(source, target))

    def remove(self, path: Path, *, synced: bool = True) -> None:
        self._do("remove", path, lambda: self.disk.remove(path, synced=synced))

    def sync(self, path: Path) -> None:
        self._do("sync", path, lambda: self.disk.sync(path))

    def remove_folder(self, path: Path) -> None:
        self._do("remove_folder", path, lambda: self.disk.remove_folder(path))

    def rename(self, source: Path, target: Path) -> None:
        self._do("rename", target, lambda: self.disk.rename(source, target))

    def _do(self, name: str, path: Path, act: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        if name not in self.counted:
            return act()
        self.done.append((name, path))
        count = len(self.done)
        if self.at and (count == self.at or (self.lasting and count > self.at)):
            self.failed.append((name, path))
            # A link is not synced, so it cannot fail after it was done.
            if self.when == "after" and name != "link":
                act()
            elif self.when == "half" and half:
                half()
            raise OSError(self.code, os.strerror(self.code), str(path))
        return act()


class FailingSystem:
    """Stands in for the module `os` in layer/disk.py, and has the `at`-th call (from 1) that writes fail.

    After it those named in `lasting` fail too. A write that fails has written one byte.
    """

    COUNTED = frozenset({"open", "write", "fsync", "replace", "link", "truncate"})

    def __init__(self, at: int, code: int, *, lasting: frozenset[str] = frozenset()) -> None:
        self.at = at
        self.code = code
        self.lasting = lasting
        self.count = 0
        self.failed: list[str] = []

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in self.COUNTED:
            return real

        def call(*args: Any, **named: Any) -> Any:
            self.count += 1
            full = self.at and self.count > self.at and name in self.lasting
            if self.count == self.at or full:
                self.failed.append(name)
                if name == "write":
                    os.write(args[0], args[1][:1])
                raise OSError(self.code, os.strerror(self.code))
            return real(*args, **named)

        return call
