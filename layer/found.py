"""What a start finds of a folder beside what its bundle says: which files are as they were, and what of them is known.

A part of a bundle that is damaged is as good as no bundle at all, and that may show late: it is read when it is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .boot_cache import Bundle, Damaged, as_seen
from .boot_journal import Mark, mark_of
from .definition import RelPath
from .errors import LayerError

if TYPE_CHECKING:
    from .boot_files import Known
    from .boot_report import BootReport
    from .store import Seen, Stamp


class Source(Protocol):
    """Where the files of a folder come from; a `Store` is one."""

    def stamps(self) -> Mapping[RelPath, Stamp] | None:
        """As `Store.stamps`."""
        ...

    def is_as(self, seen: Seen, /) -> bool:
        """As `Store.is_as`."""
        ...

    def files(self) -> Mapping[RelPath, bytes]:
        """As `Store.files`."""
        ...

    def file(self, path: RelPath) -> bytes | None:
        """As `Store.file`."""
        ...


class Found:
    """The files of one folder at one start."""

    def __init__(self, bundle: Bundle | None, source: Source) -> None:
        """Raises StoreFault where the folder cannot be read."""
        self.bundle = bundle
        self.is_whole = False  # whether all files are as in the bundle, and there is no other
        self.is_slow = False  # whether it took each file's stamp to tell that, though none need be looked at closer
        self._source = source
        self._same: Collection[int] = ()  # the numbers of the bundle's files that are as they were
        self._files: Mapping[RelPath, bytes] | None = None  # until somebody asks, if all are
        self._marks: Mapping[RelPath, Mark] | None = None
        if bundle is None:
            self._files = source.files()
            return
        seen = as_seen(bundle.plan)
        if seen is not None and source.is_as(seen):
            self._same, self.is_whole = range(bundle.plan.count), True
            return
        try:
            self._same, self._files = _compared(bundle, source)
            self.is_whole = self._files is None
            self.is_slow = self.is_whole and seen is not None and source.stamps() is not None
        except Damaged:
            self._is_damaged()
        except LayerError:  # of one file; which one is told by who reads all
            self._files = source.files()

    def marks(self) -> Mapping[RelPath, Mark]:
        """The marks of all files."""
        if self._marks is None:
            if self.is_whole and self.bundle is not None:
                try:
                    listing = self.bundle.listing
                    self._marks = dict(zip(listing.paths, map(Mark, listing.marks), strict=True))
                    return self._marks
                except Damaged:
                    self._is_damaged()
            self._marks = {path: mark_of(path, data) for path, data in self.files().items()}
        return self._marks

    def files(self) -> Mapping[RelPath, bytes]:
        """The bytes of all files."""
        if self._files is None and self.bundle is not None:
            try:
                self._files = self.bundle.files()
            except Damaged:
                self._is_damaged()
        if self._files is None:
            self._files = self._source.files()
        return self._files

    def known(self, root: Path) -> Mapping[RelPath, Known]:
        """What is known from before of those that are as they were, by the path that the folder has now."""
        if self.bundle is None or not self._same:
            return {}
        try:
            # Code tells of its file by the path that the folder had then.
            return self.bundle.known(self._same, with_code=self.bundle.plan.root == str(root))
        except Damaged:
            self._is_damaged()
            return {}

    def is_all_known(self, report: BootReport) -> bool:
        """Whether the bundle has all that can be read of the files: what was left out may load at the next start."""
        if self.bundle is None:
            return False
        unread = {skipped.path for skipped in report.skipped if skipped.definition is None}
        try:
            paths = self.bundle.listing.paths
        except Damaged:
            return False
        return len(self._same) == len(paths) and {*self.files()} - {*paths} <= unread

    def _is_damaged(self) -> None:
        self.bundle, self.is_whole, self._same = None, False, ()
        if self._files is None:
            self._files = self._source.files()


def _compared(bundle: Bundle, source: Source) -> tuple[Collection[int], Mapping[RelPath, bytes] | None]:
    """The numbers of the bundle's files that are as they were, and all files there are; None for these if all are."""
    listing, stamps = bundle.listing, source.stamps()
    if stamps is None:
        files = source.files()
        kept = bundle.files()
        same = {number for number, path in enumerate(listing.paths) if files.get(path) == kept[path]}
        return same, None if len(same) == len(listing.paths) == len(files) else files
    young: set[int] = set()
    if listing.young:
        kept = bundle.files()
        young = {n for n in listing.young if source.file(listing.paths[n]) != kept[listing.paths[n]]}
    if not young and listing.stamps == tuple(stamps.values()) and listing.paths == tuple(stamps):
        return range(len(listing.paths)), None
    numbers = {path: number for number, path in enumerate(listing.paths)}
    same = {n for path, stamp in stamps.items() if (n := numbers.get(path)) is not None and listing.stamps[n] == stamp}
    same -= young
    kept = bundle.files()
    found: dict[RelPath, bytes] = {}
    for path in stamps:
        number = numbers.get(path)
        data = kept[path] if number in same else source.file(path)
        if data is not None:
            found[path] = data
    return same, found
