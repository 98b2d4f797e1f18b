"""What dulwich reads of a repository: objects (packs too), the history, ignore rules, git's configuration.

The only file that imports dulwich, and only when something is asked: a boot that finds its files as they were does not
pay for it. Knows no layer; what dulwich raises does not leave this file.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import LayerUnusable, UnknownCommit
from .store import FALLBACK, CommitId, Identity

if TYPE_CHECKING:
    from dulwich.objects import Commit, ObjectID
    from dulwich.repo import Repo

NEEDED = tuple(
    f"dulwich.{name}"
    for name in "file lru_cache objects refs protocol config pack midx object_store reflog worktree repo".split()
)
"""The modules that a commit, and whatever else is asked, has imported, from the inside out."""


class Reader:
    """Reads the repository at `path`. Not for two threads at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: Repo | None = None

    def check(self) -> None:
        """LayerUnusable where the repository is of a kind that is not written here."""
        self._repo()

    def _repo(self) -> Repo:
        if self._opened is None:
            from dulwich.repo import Repo

            with self._damage_told("its configuration"):
                repo = Repo(str(self._path))
                weakref.finalize(self, repo.close)
                for extension, usual in (("objectformat", b"sha1"), ("refstorage", b"files")):
                    try:
                        kind = repo.get_config().get(("extensions",), extension)
                    except KeyError:
                        continue
                    if kind != usual:
                        raise LayerUnusable(
                            self._path,
                            f"is a git repository with {extension} {kind.decode()}",
                            f"perdure writes {usual.decode()} only: clone it into one of that kind",
                        )
            self._opened = repo
        return self._opened

    def object(self, name: str) -> bytes:
        """The bytes of an object, wherever git keeps it."""
        store = self._repo().object_store
        with self._damage_told(name):
            return store.get_raw(_object_id(name))[1]

    def has(self, commit: CommitId) -> bool:
        return _object_id(commit) in self._repo().object_store

    def walk(self, head: CommitId, since: CommitId | None) -> Iterator[Commit]:
        """The commits behind `head`, in git's order; without what is behind `since`."""
        from dulwich.walk import Walker

        with self._damage_told(head):
            left_out = [_object_id(since)] if since is not None else None
            for step in Walker(self._repo().object_store, [_object_id(head)], exclude=left_out):
                yield step.commit

    def commit(self, name: CommitId) -> Commit:
        from dulwich.objects import Commit

        data = self.object(name)
        with self._damage_told(name):
            return Commit.from_string(data)

    def converts_newlines(self) -> bool:
        """Whether git takes CR LF for a bare newline: in a clone that has not the configuration of `create`."""
        try:
            said = self._repo().get_config_stack().get(("core",), "autocrlf")
        except KeyError:
            return False
        return said.lower() in (b"true", b"yes", b"on", b"1", b"input")

    def ignored(self, told: set[str]) -> Callable[[str], bool]:
        """Whether git ignores a path, by all of git's ignore files. A folder is asked for with a slash at its end.

        What those in the working tree alone have it ignore, which no other can overrule, is added to `told`.
        """
        from dulwich.ignore import IgnoreFilterManager

        rules = IgnoreFilterManager.from_repo(self._repo())
        own = IgnoreFilterManager(str(self._path), [], ignorecase=False)

        def does(manager: IgnoreFilterManager, path: str) -> bool:
            # After `docs/*` and `!docs/a` dulwich calls `docs/` ignored too, though git looks into it.
            return bool(manager.is_ignored(path)) and (not path.endswith("/") or manager.may_prune_directory(path))

        def ignored(path: str) -> bool:
            if does(own, path):
                told.add(path)
                return True
            return does(rules, path)

        return ignored

    @contextmanager
    def _damage_told(self, what: str) -> Iterator[None]:
        """Turn whatever dulwich raises while it reads into LayerUnusable; its exceptions have no base of their own."""
        try:
            yield
        except (OSError, LayerUnusable, UnknownCommit):
            raise
        except Exception as fault:
            raise LayerUnusable(
                self._path,
                f"is a git repository in which {what} cannot be read ({type(fault).__name__}: {fault})",
                "`git fsck` there tells what is damaged",
            ) from fault


def git_identity() -> Identity | None:
    """Who git says the user is, as `git commit` would find out outside any repository; None where it has no name."""
    from dulwich.config import StackedConfig

    try:
        config = StackedConfig.default()
    except (OSError, ValueError):
        config = StackedConfig([])

    def said(name: str) -> str:
        for section in ("author", "user"):
            try:
                return config.get((section,), name).decode("utf-8", "replace").strip()
            except KeyError:
                pass
        return ""

    name = os.environ.get("GIT_AUTHOR_NAME", "").strip() or said("name")
    email = os.environ.get("GIT_AUTHOR_EMAIL", "").strip() or said("email") or os.environ.get("EMAIL", "").strip()
    # Git would make an address up from the machine's name; ours says no more than is known.
    return Identity(name, email or FALLBACK.email) if name else None


def _object_id(name: str) -> ObjectID:
    from dulwich.objects import ObjectID

    return ObjectID(name.encode())
