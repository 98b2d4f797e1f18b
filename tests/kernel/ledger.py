"""What writers were told is kept, and whether a layer has it: by its files, its record and the git command line alone.

An attempt stands whole or not at all. One that was acknowledged stands; of one whose writer died before that, either is
right, and the next look at the layer tells which it was.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .home import Home

_OBJECT = r"[0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]+\.(pack|idx|rev|bitmap)|info/[\w-]+(/.*)?"
_LEFT = r".*\.(lock|tmp|spare)|tmp_.*|next-index-.*"


@dataclass(frozen=True, slots=True)
class Attempt:
    """Something that somebody tries: what becomes of each file by it, None where it goes."""

    what: str
    changes: Mapping[str, str | None]
    by_cell: bool = True  # whether it is to be on record

    @property
    def kept(self) -> dict[str, str]:
        """Names that are kept by it, and their files."""
        return {Path(path).stem: path for path, text in self.changes.items() if text is not None}

    @property
    def forgot(self) -> set[str]:
        return {Path(path).stem for path, text in self.changes.items() if text is None} - self.kept.keys()


@dataclass(slots=True)
class Ledger:
    """What one layer is to have."""

    home: Home
    standing: dict[str, str] = field(default_factory=dict)  # file → text
    pending: list[Attempt] = field(default_factory=list)  # begun, and not acknowledged
    commits: set[str] = field(default_factory=set)  # that somebody was told of
    names: set[str] = field(default_factory=set)  # that were ever given
    acknowledged: int = 0
    _unchecked: list[Attempt] = field(default_factory=list)  # acknowledged since the last look
    _read: int = 0  # bytes of the record
    _events: list[dict[str, Any]] = field(default_factory=list)  # that no acknowledged attempt was found for yet

    def begin(self, attempt: Attempt) -> None:
        self.pending.append(attempt)
        self.names |= attempt.kept.keys()

    def acknowledge(self, attempt: Attempt) -> bool:
        """Its writer was told that it stands; whether anything is otherwise by it."""
        self.pending.remove(attempt)
        news = {path: text for path, text in attempt.changes.items() if self.standing.get(path) != text}
        self._take(attempt)
        self.acknowledged += attempt.by_cell
        self._unchecked.append(replace(attempt, changes=news))
        return bool(news)

    def refuse(self, attempt: Attempt) -> None:
        """Its writer was told that it does not stand."""
        self.pending.remove(attempt)

    def values(self) -> dict[str, int | None]:
        """What each name ever given is to come to in a kernel that has just loaded the layer."""
        there = {Path(path).stem: token_of(text) for path, text in self.standing.items()}
        return {name: there.get(name) for name in self.names}

    def look(self, *, torn: bool = False) -> list[str]:
        """What is not as it has to be, now that a kernel has started after the last death, and rests.

        `torn`: whether a writer died with half a line of the record written.
        """
        files = self.home.files()
        wrong: list[str] = []
        try:
            wrong += self._of_files(files)
            wrong += self._of_git(files)
            wrong += self._of_record(torn)
        except AssertionError as failure:  # of a git command
            wrong.append(str(failure))
        return [*wrong, *(f"left behind: {path}" for path in leftovers(self.home.layer))]

    def _take(self, attempt: Attempt) -> None:
        for path, text in attempt.changes.items():
            if text is None:
                self.standing.pop(path, None)
            else:
                self.standing[path] = text

    def _of_files(self, files: Mapping[str, str]) -> Iterator[str]:
        for attempt in self.pending:
            said = {p for p, text in attempt.changes.items() if files.get(p) == text != self.standing.get(p)}
            other = {p for p, text in attempt.changes.items() if files.get(p) == self.standing.get(p) != text}
            if said and other:
                yield f"half done: {attempt.what!r}: {sorted(said)} is so, {sorted(other)} is not"
            if said:
                self._take(attempt)
        self.pending.clear()
        for path in sorted(self.standing.keys() | files.keys()):
            if files.get(path) != self.standing.get(path):
                yield f"{path} is {_short(files.get(path))}, and has to be {_short(self.standing.get(path))}"

    def _of_git(self, files: Mapping[str, str]) -> Iterator[str]:
        git = self.home.git
        if status := self.home.status():
            yield f"git status: {status}"
        try:
            said = git("fsck", "--full", "--strict", "--no-progress").splitlines()
        except AssertionError as failure:
            said = [str(failure)]
        if bad := [line for line in said if not line.startswith("dangling ")]:
            yield f"git fsck: {bad}"
        listed = (line.split(maxsplit=3) for line in git("ls-tree", "-r", "-z", "HEAD").split("\0")[:-1])
        head = {path: blob for _, _, blob, path in listed}
        for path, text in files.items():
            if head.get(path) != blob_of(text):
                yield f"{path} is not in HEAD as it is in its file"
        history = set(git("rev-list", "HEAD").split())
        if lost := self.commits - history:
            yield f"commits that are not in the history any more: {sorted(lost)}"

    def _of_record(self, torn: bool) -> Iterator[str]:
        for file in self.home.state.rglob("events.jsonl"):
            data = file.read_bytes()
            new, self._read = data[self._read :], len(data)
            for line in new.splitlines():
                try:
                    event = json.loads(line)
                except ValueError:
                    if not torn:
                        yield f"a torn line on record: {line!r}"
                    continue
                if "commit" in event:
                    self._events.append(event)
                    self.commits.add(event["commit"])
            if not torn and not data.endswith(b"\n"):
                yield "the record ends in a torn line"
        attempts, self._unchecked = self._unchecked, []
        recorded = {(e["key"], e.get("path"), e["event"]): e["commit"] for e in self._events}
        wanted = []
        for attempt in attempts:
            if not attempt.by_cell:
                continue
            wanted += [(path, attempt.changes[path]) for path in attempt.kept.values()]
            for name in attempt.forgot:
                if (name, None, "definition_forgotten") not in recorded:
                    yield f"not on record: that {name} was forgotten, by {attempt.what!r}"
        versions = self._versions()
        for path, text in wanted:
            if (path, blob_of(text or "")) not in versions:
                yield f"not on record, or in another commit: {path} as {_short(text)}"
        self._events.clear()

    def _versions(self) -> set[tuple[str, str]]:
        """Each file that the events tell to have been kept, and its blob in the commit that they name."""
        told = [(event["commit"], event["path"]) for event in self._events if "path" in event]
        asked = "".join(f"{commit}:{path}\n" for commit, path in told)
        answers = self.home.git("cat-file", "--batch-check", said=asked).splitlines()
        return {(path, answer.split()[0]) for (_, path), answer in zip(told, answers, strict=True)}


def stands(attempt: Attempt, answer: Mapping[str, list[str]] | str) -> bool:
    """Whether a kernel's answer to a cell, or what it said of an undo, acknowledges the attempt."""
    if isinstance(answer, str):
        return answer.startswith("Took back")
    named = {*answer["kept"], *answer["unchanged"], *answer["forgot"]}
    meant = {*attempt.kept, *attempt.forgot}
    assert meant <= named or meant.isdisjoint(named), f"half acknowledged: {attempt.what}: {answer}"
    return meant <= named


def token_of(text: str) -> int:
    """The value that a definition is known by: the last number in its text."""
    return int(re.findall(r"\d+", text)[-1])


def blob_of(text: str) -> str:
    """The id that git gives a file."""
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def leftovers(layer: Path) -> Iterator[str]:
    """Locks and temporary files in the layer that nobody has open any more."""
    objects = layer / ".git" / "objects"
    for file in layer.rglob("*"):
        is_odd = re.fullmatch(_LEFT, file.name) is not None and file.name != "perdure.lock"
        if file.is_relative_to(objects) and file.is_file():
            is_odd = is_odd or re.fullmatch(_OBJECT, file.relative_to(objects).as_posix()) is None
        if is_odd:
            yield str(file)


def _short(text: str | None) -> str:
    if text is None:
        return "not there"
    return repr(text) if len(text) < 200 else f"{text[:80]!r} … {text[-80:]!r}"
