"""At which commit the git repository is that holds a folder, told by its files. Standard library only; writes nothing.

Unlike a layer, a cells folder may lie anywhere in a repository, and that may be a worktree or a submodule.
"""

from __future__ import annotations

from pathlib import Path

from .disk import RealDisk
from .git_refs import Refs
from .store import CommitId


def commit_at(folder: Path) -> CommitId | None:
    """The commit that HEAD names in the repository of `folder`; None where there is no repository or no commit.

    Raises:
        LayerUnusable: HEAD or its branch is damaged.
        OSError: the repository cannot be read.
    """
    git = next((found for above in (folder, *folder.parents) if (found := git_folder(above))), None)
    if git is None:
        return None
    head = Refs(git, RealDisk(), 0).head()
    if head.commit is None and head.branch is not None and (common := shared_folder(git)) is not None:
        return Refs(common, RealDisk(), 0).read(head.branch)
    return head.commit


def git_folder(folder: Path) -> Path | None:
    """The git folder of the repository whose working tree begins at `folder`; None where none does.

    Raises:
        OSError: it cannot be read.
    """
    git = folder / ".git"
    if git.is_file():
        # A worktree or a submodule: `gitdir: <path>`, from the folder that the file is in.
        said = git.read_text(encoding="utf-8", errors="surrogateescape").strip()
        git = folder / said.removeprefix("gitdir:").strip()
    return git if (git / "HEAD").is_file() else None


def shared_folder(git: Path) -> Path | None:
    """What the git folder `git` of a worktree shares with the others of its repository; None for any other's.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return git / (git / "commondir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except FileNotFoundError:
        return None
