"""Whether others moved a layer, told before each cell: a look at the refs, and only if these moved at the commits."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import LayerUnusable
from .store import CommitId, LogEntry, Store

_MOST = 1_000  # commits that are looked at, to be summed up


class Watch:
    """What one kernel has heard of the history of its layer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._mark: object = None  # of the store when it was looked at last
        self._heard: CommitId | None = None  # the head then
        self._mine: set[CommitId] = set()  # commits made by this kernel since

    def catch_up(self) -> None:
        """Take everything until now for heard.

        Raises:
            StoreFault: the repository cannot be read.
        """
        self._mark = self._store.mark()  # first: what moves meanwhile is seen at the next look
        self._heard = self._store.head()
        self._mine.clear()

    def committed(self, commit: CommitId, before: CommitId | None) -> None:
        """This kernel made `commit`, on the commit `before`."""
        if before == self._heard:
            self._heard = commit  # there was nothing else to hear
            self._mine.clear()
        else:
            self._mine.add(commit)

    @property
    def is_stirred(self) -> bool:
        """Whether the head may be another than at the last look; some microseconds."""
        return self._store.mark() != self._mark

    def look(self) -> Sequence[LogEntry] | None:
        """The commits of others since the last look, newest first; None where nothing moved but by one's own.

        Empty where the head went back, or to a history without what was heard of last.

        Raises:
            StoreFault: the repository cannot be read.
        """
        heard, mine = self._heard, self._mine.copy()
        self.catch_up()
        if self._heard == heard:
            return None
        try:
            commits = self._store.log(_MOST, since=heard)
        except LayerUnusable:
            commits = ()
        of_others = [commit for commit in commits if commit.id not in mine]
        return None if commits and not of_others else of_others
