"""Taking in what a hand did to definition files: it is committed, put back, or left to the user, as `handwork` judges.

Owns the order, in which nothing that was written is ever lost. Imported when there is a commit to make, or at rest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from .definition import Key, RelPath
from .disk import RealDisk
from .drafts import Drafts
from .errors import LayerError, StoreFault
from .handwork import Handwork, Judged, Restored, Torn, judge, names_of
from .naming import name_told_by
from .plan import subject_of
from .record import Record
from .store import CommitId, Message, NotRead, Store, Write, holds_definition, is_same
from .tracked import Tracked

_BODY = "Changed by hand."


class Reconciling:
    """What one kernel does with the handwork in its layer. Who asks holds the layer's lock."""

    def __init__(self, store: Store, tracked: Tracked, record: Record, drafts: Path) -> None:
        """`drafts` is the folder for texts that cannot stay in the layer."""
        self._store = store
        self._tracked = tracked
        self._record = record
        self._drafts = Drafts(drafts, RealDisk())
        self._fault = ""  # why the record does not have what was adopted last, a clause
        self._told = Handwork()  # by the last run
        self.is_done = True

    def run(self) -> Handwork:
        """Take all of it in, and tell what was not told yet.

        It `is_done` but where another program is at work in the repository, or the disk refuses.

        Raises:
            LayerError: the folder cannot be read.
        """
        self.is_done = self._store.heal()
        if not self.is_done:
            return Handwork()
        dirt, known = self._tracked.dirt(), self._tracked.files
        if not dirt:
            return Handwork()
        # What cannot be read is skipped, which is told.
        mine = [path for path in (*dirt.changed, *dirt.unknown) if not isinstance(known.get(path), NotRead)]
        found: dict[RelPath, bytes | None] = {}
        for path in mine:
            if holds_definition(path) and path not in dirt.staged:
                with suppress(StoreFault):  # of that file, which is left then
                    data = self._store.file(path)
                    if not isinstance(data, NotRead):
                        found[path] = data
        head = self._store.head()
        judged = self._judged(found, head)
        done = self._settle(judged, head)
        others = (path for path in mine if path not in found)
        done = replace(done, left=tuple(sorted((*done.left, *others))))
        self.is_done, before, self._told = not done.failed, self._told, done
        return _without(done, before)

    def save(self, paths: Collection[RelPath]) -> list[str]:
        """Save what a hand made of the files `paths`, which this kernel is about to replace: it would be in no commit.

        Gives what is to be told of it, as clauses.

        Raises:
            LayerError: it could not be written.
        """
        head = self._store.head()
        found = {path: data for path in paths if (data := self._store.file(path)) and not isinstance(data, NotRead)}
        found = {path: data for path, data in found.items() if not is_same(data, self._committed(path, head))}
        judged = self._judged(found, head)
        told = [
            f"what a hand had made of {path} is in {self._drafts.keep(path, data)}"
            for path, data in found.items()
            if path not in judged.adopt
        ]
        if judged.adopt and (commit := self._adopted(judged.adopt, names_of(judged.adopt, found.get), ())):
            self._tracked.made(commit)
        self._tracked.saved(paths)
        return [*told, *([self._fault] if self._fault else [])]

    def _settle(self, judged: Judged, head: CommitId | None) -> Handwork:
        """Do what was judged, as far as it can be done."""
        done = Handwork(secrets=judged.secrets, left=judged.left)
        undone = [*judged.adopt, *judged.restore]
        try:
            names, lost = self._adopt(judged.adopt, head)
            done, undone = replace(done, adopted=names, forgot=lost, fault=self._fault), [*judged.restore]
            for path, torn in judged.restore.items():
                done = replace(done, restored=(*done.restored, self._restore(path, torn)))
                undone.remove(path)
        except StoreFault as fault:
            return replace(done, failed=tuple(sorted(undone)), trouble=fault.why)
        except LayerError:  # as where a merge is under way: for the user to settle
            return replace(done, left=(*done.left, *undone))
        return done

    def _adopt(
        self, files: Mapping[RelPath, bytes | None], head: CommitId | None
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Commit `files` as they are; the names that they give, and those that are gone with them."""
        names = names_of([path for path, data in files.items() if data is not None], files.get)
        gone = [path for path, data in files.items() if data is None]
        lost = names_of(gone, lambda path: self._committed(path, head))
        lost = tuple(name for name in lost if name not in names)  # where a file was only moved nothing is lost
        if files and (commit := self._adopted(files, names, lost)):
            self._tracked.adopted(commit, files, head)
        return names, lost

    def _adopted(
        self, files: Mapping[RelPath, bytes | None], names: tuple[str, ...], lost: tuple[str, ...]
    ) -> CommitId | None:
        subject, all_of_them = subject_of({"adopt": names, "forgot": lost})
        body = "\n\n".join(part for part in (all_of_them, _BODY) if part)
        commit, self._fault = self._store.adopt(files, Message(subject or "moved", body)), ""
        if commit is not None:
            stay = [path for path, data in files.items() if data is not None]
            try:
                self._record.adopted(commit, {Key(names_of([path], files.get)[0]): path for path in stay}, lost)
            except StoreFault as fault:
                self._fault = f"adopted, but not on record: {fault.why}; mend that"
        return commit

    def _restore(self, path: RelPath, torn: Torn) -> Restored:
        # First, for whatever comes in between.
        draft = self._drafts.keep(path, torn.found) if torn.found.strip() else None
        self._store.commit([Write(path, torn.committed)], Message(f"restore {name_told_by(path)}"))
        return Restored(path, torn.why, draft)

    def _judged(self, found: Mapping[RelPath, bytes | None], head: CommitId | None) -> Judged:
        return judge(found, lambda path: self._committed(path, head))

    def _committed(self, path: RelPath, head: CommitId | None) -> bytes | None:
        return self._store.show(head, path) if head is not None else None


def _without(done: Handwork, told: Handwork) -> Handwork:
    """What was `done`, without what was `told` of the same files the last time it was tried."""
    if done.failed == told.failed:
        done = replace(done, failed=(), trouble="")
    left = tuple(path for path in done.left if path not in told.left)
    return replace(done, left=left, secrets={p: what for p, what in done.secrets.items() if p not in told.secrets})
