"""The port to where a layer is stored: what is asked of a store, and nothing of how.

`git.GitStore` is the real one, `memory.MemoryStore` the one for tests and for `PERDURE_MODE=readonly` previews;
tests/layer/test_store_contract.py holds both to the same promises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NewType, Protocol, TypeAlias

from .definition import RelPath

CommitId = NewType("CommitId", str)
"""40 lower-case hex digits."""


@dataclass(frozen=True, slots=True)
class Write:
    """Put `data` at `path`, whether or not something is there."""

    path: RelPath
    data: bytes


@dataclass(frozen=True, slots=True)
class Remove:
    """Take `path` away; one that is not there is no fault."""

    path: RelPath


Change: TypeAlias = Write | Remove


@dataclass(frozen=True, slots=True)
class Message:
    """A commit message: subject line, body (may be empty), trailers as (name, value)."""

    subject: str
    body: str = ""
    trailers: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """The message as git has it, ending in one newline."""
        parts = [self.subject]
        if self.body:
            parts.append(self.body)
        if self.trailers:
            parts.append("\n".join(f"{name}: {value}" for name, value in self.trailers))
        return "\n\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class Dirt:
    """Where the working tree differs from the last commit."""

    changed: tuple[RelPath, ...] = field(default=())  # edited, deleted or staged since
    unknown: tuple[RelPath, ...] = field(default=())  # not in git and not ignored

    def __bool__(self) -> bool:
        return bool(self.changed or self.unknown)


class Store(Protocol):
    """A place that holds the files of one layer and their history.

    Every method raises `StoreFault` where the disk fails and `StoreBusy` where a lock is not let go.
    """

    def files(self) -> Mapping[RelPath, bytes]:
        """Every definition file as it stands now (hand edits included), sorted by path."""
        ...

    def commit(self, changes: Sequence[Change], message: Message) -> CommitId | None:
        """Write all of `changes` and commit them, or do nothing and raise.

        Returns None where the changes leave everything as it is: then there is no commit. On return files, index and
        ref are on disk and `dirt` is as it was before. Paths that `changes` does not name stay as they are, staged or
        not.
        """
        ...

    def head(self) -> CommitId | None:
        """The last commit, None before the first."""
        ...

    def dirt(self) -> Dirt:
        """What `git status` would list."""
        ...
