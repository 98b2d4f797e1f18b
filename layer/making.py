"""Making a folder into a layer, whole or not at all.

Owns what is made, in which order, and how a making that broke off is told and taken up again. Looks only at folders
that hold nothing of the user's; all others are `opening`'s.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .disk import FOLDER_MODE, Disk, is_temporary
from .errors import LayerUnusable, StoreBusy
from .generated import GENERATED, generated_files
from .git import GitStore
from .journal import told_as_fault
from .place import Place
from .store import Identity, Message
from .trust import TrustRecord, why_foreign, why_not_owned

MARKER = ".perdure-making"
"""Stands in the folder from before the first file of the layer until after its last one, and trust, are on disk."""

_WAIT = 10.0  # seconds for another kernel that makes the same layer; its work takes well under one
_LOOK = 0.02  # seconds between looks


def is_blank(path: Path) -> bool:
    """Whether `path` is missing, an empty folder, or one in which a making broke off.

    Only names that a making gives may be in the last: the user keeps nothing in a layer before it is whole, so what is
    there can be made anew.

    Raises:
        OSError: the folder cannot be looked at.
    """
    try:
        names = {name for name in os.listdir(path) if not is_temporary(name)}
    except FileNotFoundError:
        return True
    return not names or (MARKER in names and names <= {MARKER, ".git", *GENERATED})


def make_layer(place: Place, trust: TrustRecord, *, author: Identity | None, disk: Disk) -> bool:
    """Make the blank folder of `place` a layer of mode 0700, trusted; False where another kernel just has.

    Raises:
        LayerUnusable: the folder is another user's, or its file system keeps no modes.
        StoreFault: the disk refused; what was made is removed again.
        StoreBusy: another kernel is making it and does not come to an end.
    """
    path = place.path
    missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    try:
        with told_as_fault(path):
            disk.make_folder(path, synced=True)
        with _alone_in(path):
            if not is_blank(path):
                return False
            _fill(place, trust, author, disk)
    except BaseException:
        for folder in missing:
            try:
                folder.rmdir()
            except OSError:  # something is in it, or it was never made
                break
        raise
    return True


def _fill(place: Place, trust: TrustRecord, author: Identity | None, disk: Disk) -> None:
    path = place.path
    with told_as_fault(path):
        if foreign := why_foreign(path):
            raise LayerUnusable(path, foreign.why, foreign.advice)
        mode = stat.S_IMODE(path.stat().st_mode)
    try:
        with told_as_fault(path):
            _clear(path)
            path.chmod(FOLDER_MODE)
            if loose := why_not_owned(path):
                raise LayerUnusable(path, loose.why, "choose a folder on a file system that keeps file modes")
            disk.write(path / MARKER, b"")
        store = GitStore.create(path, generated_files(place.name), Message("new layer"), author=author, disk=disk)
        # By these files the folder is told to be a layer, before anybody asks what was promised: after a power cut they
        # must be there for what is promised to be found.
        while store.settle():
            pass
        # Trust comes after the files and before the marker goes. The other way round a crash could leave a path
        # trusted where a stranger's folder may come to stand, or a layer that is whole and asks the user to trust what
        # they never made by hand. As it is, whatever the marker still stands over is made again, and trusted again.
        trust.accept(path)
        with told_as_fault(path):
            disk.remove(path / MARKER)
    except BaseException:
        _clear(path)
        try:
            path.chmod(mode)
        except OSError:
            pass  # the first fault is the one to tell
        raise


def _clear(path: Path) -> None:
    """Take out what a making puts in, the marker last; what cannot be removed is left for the next one.

    Not through the port: after a fault of it this must still be tried.
    """
    for name in [".git", *GENERATED]:
        part = path / name
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part, ignore_errors=True)
        else:
            _unlink(part)
    try:
        leftovers = [name for name in os.listdir(path) if is_temporary(name)]
    except OSError:
        leftovers = []
    for name in [*leftovers, MARKER]:
        _unlink(path / name)


def _unlink(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        pass


@contextmanager
def _alone_in(path: Path) -> Iterator[None]:
    """Hold the folder against other kernels that would make it; the lock ends with the process, however that ends."""
    with told_as_fault(path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + _WAIT
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreBusy(path, _WAIT) from None
                time.sleep(_LOOK)
            except OSError:
                break  # a file system without locks for folders: two kernels in the same second are rare
        yield
    finally:
        os.close(fd)
