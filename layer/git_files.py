"""The working files of a layer: what lies there, without git. Standard library only, so that a boot is quick.

Knows which files hold definitions, and nothing of what is in them.
"""

from __future__ import annotations

import errno
import os
import stat
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path

from .definition import Kind, RelPath
from .errors import StoreFault
from .journal import told_as_fault
from .store import NotRead, Seen, Stamp, holds_definition, is_hidden, parts

EXECUTABLE = 0o100
_LINK = NotRead(b"it is a symbolic link")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_STAMP = attrgetter("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
_APART = "\0"  # in no file's name


def seen(root: Path) -> Seen | None:
    """All that stands in the folders of definitions, and the stamps of what is no folder; None where that cannot be.

    Nothing is left out that a file may be, or become, a definition by, so that who finds it the same need not look
    closer. It is the whole of what most starts do with ten thousand files: every step here is one for all of a folder.
    """
    folders: list[tuple[str, str, tuple[str, ...]]] = []
    for kind in Kind:
        _see(os.path.join(root, kind.folder), kind.folder, folders)
    found = Seen(tuple(folders), b"")
    stamps = _stamps_if_as(root, found)
    return None if stamps is None else Seen(found.folders, stamps)


def is_as_seen(root: Path, before: Seen) -> bool:
    """Whether all is as it was `seen`. Where it says no, it may be so all the same, in another order."""
    return bool(before.folders) and _stamps_if_as(root, before) == before.stamps


def _see(folder: str, path: str, found: list[tuple[str, str, tuple[str, ...]]]) -> None:
    """Add what the folder lists, and the folders below it."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError:
        found.append((path, _APART, ()))  # what is no folder lists what no folder does
        return
    try:
        names = os.listdir(descriptor)
        inner = tuple(
            name for name in names if stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode)
        )
    finally:
        os.close(descriptor)
    found.append((path, _APART.join(names), inner))
    for name in inner:
        if not is_hidden(name):
            _see(os.path.join(folder, name), f"{path}/{name}", found)


def _opened(path: str, above: int) -> int | None:
    """A descriptor of the folder; None where there is none."""
    try:
        return os.open(path, _FOLDER, dir_fd=above)
    except OSError:
        return None


def _stamps_if_as(root: Path, before: Seen) -> bytes | None:
    """The stamps of all files in the folders, one after the other; None where a folder lists something else."""
    stamps = array("Q")
    look = partial(os.stat, follow_symlinks=False)
    try:
        top = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for path, listed, inner in before.folders:
                folder = _opened(path, top)
                if folder is None:
                    if listed == _APART:
                        continue
                    return None
                try:
                    names = os.listdir(folder)
                    if _APART.join(names) != listed:
                        return None
                    if inner:
                        names = [name for name in names if name not in inner]
                    stamps.extend(chain.from_iterable(map(_STAMP, map(partial(look, dir_fd=folder), names))))
                finally:
                    os.close(folder)
        finally:
            os.close(top)
        return stamps.tobytes()
    except (OSError, OverflowError):  # a time before 1970
        return None


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
