"""The working files of a layer: what lies there, without git. Standard library only, so that a boot is quick.

Knows which files hold definitions, and nothing of what is in them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from .definition import Kind, RelPath
from .errors import StoreFault
from .journal import told_as_fault
from .store import NotRead, Stamp, holds_definition, is_hidden, parts

EXECUTABLE = 0o100
_LINK = NotRead(b"it is a symbolic link")


def definition_stamps(root: Path) -> dict[RelPath, Stamp]:
    """The stamps of every file that holds a definition, sorted by path: nothing is read.

    Raises:
        StoreFault: a folder cannot be listed.
    """
    found: dict[RelPath, Stamp] = {}
    for kind in Kind:
        _take_stamps(os.path.join(root, kind.folder), kind.folder, found)
    return dict(sorted(found.items()))


def _take_stamps(folder: str, prefix: str, found: dict[RelPath, Stamp]) -> None:
    # As `_files`, and plain: with ten thousand files all that a start does is this.
    if prefix.count("/") == 0 and os.path.islink(folder):
        return
    with told_as_fault(Path(folder)):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if not is_hidden(name):
                            _take_stamps(entry.path, f"{prefix}/{name}", found)
                    elif (
                        name.endswith(".py")
                        and not is_hidden(name)
                        and (entry.is_file(follow_symlinks=False) or entry.is_symlink())
                    ):
                        try:
                            told = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue  # gone since the folder was listed
                        found[RelPath(f"{prefix}/{name}")] = (
                            told.st_ino,
                            told.st_size,
                            told.st_mtime_ns,
                            told.st_ctime_ns,
                        )
        except (FileNotFoundError, NotADirectoryError):
            pass


def definition_files(root: Path) -> Mapping[RelPath, bytes]:
    """Every file that holds a definition, sorted by path; `NotRead` for one that cannot be read, or is a link."""
    found: dict[RelPath, bytes] = {}
    for kind in Kind:
        for path, is_link in _files(root / kind.folder, kind.folder):
            if holds_definition(path) and is_link:
                found[path] = _LINK
            elif holds_definition(path):
                with told_as_fault(root / path):
                    try:
                        found[path] = (root / path).read_bytes()
                    except FileNotFoundError:
                        pass  # gone since the folder was listed
                    except PermissionError as fault:
                        found[path] = NotRead(str(fault.strerror).encode())
    return dict(sorted(found.items()))


def one_file(root: Path, path: RelPath) -> bytes | None:
    """The regular file at `path`; None where there is none, `NotRead` where a link stands there or above it.

    Raises:
        StoreFault: it cannot be read.
    """
    file = root / path
    with told_as_fault(file):
        try:
            mode = file.lstat().st_mode
            if stat.S_ISLNK(mode) or _link_above(root, path):
                return _LINK
            return file.read_bytes() if stat.S_ISREG(mode) else None
        except (FileNotFoundError, NotADirectoryError):
            return None


def _files(folder: Path, prefix: str) -> Iterator[tuple[RelPath, bool]]:
    """The regular files below `folder`, and the links, which are not followed, and for which True is said.

    Nothing where there is no folder, or where it is a link itself.
    """
    if folder.is_symlink():
        return
    for name, entry in _entries(folder):
        path = f"{prefix}/{name}"
        if entry.is_dir(follow_symlinks=False):
            if not is_hidden(name):
                yield from _files(folder / name, path)
        elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
            yield RelPath(path), entry.is_symlink()


def unknown_files(root: Path, known: Callable[[str], bool], ignored: Callable[[str], bool]) -> Iterator[RelPath]:
    """What lies in the working tree and is neither known to git nor ignored.

    `ignored` is asked with a slash at the end of a folder. Another repository is one entry, as in `git status`.
    """
    yield from _unknown(root, "", known, ignored)


def _unknown(
    folder: Path, prefix: str, known: Callable[[str], bool], ignored: Callable[[str], bool]
) -> Iterator[RelPath]:
    for name, entry in _entries(folder):
        path = prefix + name
        if name == ".git" or known(path):
            continue
        if not entry.is_dir(follow_symlinks=False):
            if not ignored(path):
                yield RelPath(path)
        elif not ignored(path + "/"):
            if os.path.lexists(folder / name / ".git"):
                yield RelPath(path + "/")
            else:
                yield from _unknown(folder / name, path + "/", known, ignored)


def _entries(folder: Path) -> list[tuple[str, os.DirEntry[str]]]:
    with told_as_fault(folder):
        try:
            with os.scandir(folder) as entries:
                return [(entry.name, entry) for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []


def refuse_link_above(root: Path, path: RelPath) -> None:
    """StoreFault where a folder of `path` is a symbolic link: writing through it would leave the layer."""
    if folder := _link_above(root, path):
        raise StoreFault(folder, OSError(errno.ELOOP, os.strerror(errno.ELOOP)))


def _link_above(root: Path, path: RelPath) -> Path | None:
    """The folder of `path` that is a symbolic link, if one is."""
    folder = root
    for name in parts(path)[:-1]:
        folder = folder / name
        if folder.is_symlink():
            return folder
    return None


def holds(path: Path, data: bytes, *, executable: bool) -> bool:
    """Whether a regular file at `path` has just this content and this executable bit."""
    try:
        found = path.lstat()
        return (
            stat.S_ISREG(found.st_mode)
            and bool(found.st_mode & EXECUTABLE) == executable
            and found.st_size == len(data)
            and path.read_bytes() == data
        )
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_executable(path: Path) -> bool:
    """Whether git would take the file at `path` for executable; False where there is none."""
    try:
        return bool(path.lstat().st_mode & EXECUTABLE)
    except OSError:
        return False


def drop_empty_folders(root: Path, path: RelPath, remove: Callable[[Path], None]) -> None:
    """Take away the folders above `path` that have become empty; the first that has not ends it."""
    for folder in Path(path).parents:
        if folder == Path():
            return
        try:
            remove(root / folder)
        except FileNotFoundError:
            pass
        except OSError:
            return
