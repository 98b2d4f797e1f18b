"""Where the texts go that a hand wrote into a definition file and that cannot stay there: nothing written is lost.

A folder in the user's state folder, outside the layer, so that `git status` stays clean.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

from .definition import RelPath
from .disk import Disk
from .journal import told_as_fault
from .store import parts


class Drafts:
    """The folder `folder`, made when there is something to put into it."""

    def __init__(self, folder: Path, disk: Disk) -> None:
        self._folder = folder
        self._disk = disk

    def keep(self, path: RelPath, data: bytes) -> Path:
        """Put the text of the file at `path` there, on disk when this returns; gives where it is.

        What was put there before under the same path stays, under the same name and a number.

        Raises:
            StoreFault: it could not be written.
        """
        first = self._folder.joinpath(*parts(path))
        with told_as_fault(first):
            for number in count(1):
                file = first if number == 1 else first.with_name(f"{first.stem}.{number}{first.suffix}")
                try:
                    if file.read_bytes() == data:
                        return file
                except FileNotFoundError:
                    self._disk.make_folder(file.parent)
                    self._disk.write(file, data)
                    return file
        raise AssertionError("numbers do not end")
