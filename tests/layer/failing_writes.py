"""Every write below one folder fails on purpose, whoever makes it: those of any RealDisk, and those that go past it."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest

from perdure.layer.disk import RealDisk

from .failing_disk import TAKES_SPACE, WRITES, FailingDisk

T = TypeVar("T")

PAST_SPACE = frozenset({"open", "put", "mkdir"})
"""What goes past the port and takes space; `put` is a write into an open file."""

PAST = PAST_SPACE | {"unlink", "rmdir", "rename", "replace", "truncate"}
EVERY = WRITES | {"cut", "remove_folder"} | PAST
SPACE = TAKES_SPACE | PAST_SPACE

_DISK = ("make_folder", "write", "append", "cut", "link", "remove", "sync", "remove_folder", "rename")


@dataclass
class FailingWrites(FailingDisk):
    """A FailingDisk that stands behind every RealDisk while it is `in_force`, and counts what goes past them too."""

    root: Path = Path("/")
    counted: frozenset[str] = EVERY
    _inside: bool = field(default=False, init=False)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Have the writes below `root` be counted, and fail, during the block."""
        real = {name: getattr(RealDisk, name) for name in _DISK}
        self.disk = type("Untouched", (), real)()
        with pytest.MonkeyPatch.context() as patch:
            for name in _DISK:
                patch.setattr(RealDisk, name, self._through_port(name, real[name]))
            for name in ("mkdir", "unlink", "rmdir", "rename", "replace", "truncate"):
                patch.setattr(os, name, self._past_port(name, getattr(os, name)))
            patch.setattr(os, "remove", self._past_port("unlink", os.remove))
            patch.setattr(os, "open", self._opening(os.open))
            for module in (builtins, io):
                patch.setattr(module, "open", self._opening_file(io.open))
            yield

    def _do(self, name: str, path: Path, act: Callable[[], T], half: Callable[[], object] | None = None) -> T:
        was, self._inside = self._inside, True
        try:
            return super()._do(name, path, act, half)
        finally:
            self._inside = was

    def _is_ours(self, path: object) -> bool:
        return (
            not self._inside
            and isinstance(path, str | os.PathLike)
            and os.path.abspath(path).startswith(f"{self.root}{os.sep}")
        )

    def _through_port(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        counting = getattr(FailingDisk, name)

        def call(disk: RealDisk, *paths: Any, **options: Any) -> Any:
            ours = self._is_ours(paths[-1] if name in ("link", "rename") else paths[0])
            return counting(self, *paths, **options) if ours else real(disk, *paths, **options)

        return call

    def _past_port(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *others: Any, **options: Any) -> Any:
            if options.get("dir_fd") is None and self._is_ours(path):
                return self._do(name, Path(path), lambda: real(path, *others, **options))
            return real(path, *others, **options)

        return call

    def _opening(self, real: Callable[..., int]) -> Callable[..., int]:
        def call(path: Any, flags: int, *others: Any, **options: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR) and self._is_ours(path):
                return self._do("open", Path(path), lambda: real(path, flags, *others, **options))
            return real(path, flags, *others, **options)

        return call

    def _opening_file(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, mode: str = "r", *others: Any, **options: Any) -> Any:
            if not set(mode) & set("wax+") or not self._is_ours(path):
                return real(path, mode, *others, **options)
            if options.get("opener") is None:  # else that is counted
                self._do("open", Path(path), lambda: None)
            return _Opened(real(path, mode, *others, **options), Path(path), self)

        return call


class _Opened:
    """A file that is open for writing."""

    def __init__(self, file: Any, path: Path, writes: FailingWrites) -> None:
        self._file, self._path, self._writes = file, path, writes

    def write(self, data: Any) -> Any:
        return self._writes._do("put", self._path, lambda: self._file.write(data))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
