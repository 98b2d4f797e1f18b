"""What people do to a layer past the kernels, edits and git commands, and what becomes of the files by each."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

from .ledger import Attempt, Ledger, token_of
from .random_cells import Author


class Hand:
    """One person at random. Works while no kernel does, but for `git gc`, and commits beside kernels with `add`."""

    def __init__(self, ledger: Ledger, chance: random.Random, author: Author) -> None:
        self._ledger = ledger
        self._home = ledger.home
        self._chance = chance
        self._author = author
        self._gc: subprocess.Popen[bytes] | None = None
        self._count = 0
        self.torn: set[str] = set()  # names of files that were left in half

    def act(self, *, alone: bool) -> str:
        """Do something; gives what. `alone`: no kernel lives."""
        acts: list[Callable[[], object]] = [self.edit, self.add, self.remove, self.commit_all, self.revert, self.gc]
        act = self._chance.choice([*acts, self.tear] if alone else acts)
        act()
        return act.__name__

    def edit(self) -> None:
        """Write another text into a file and leave it."""
        if (path := self._some()) is not None:
            text = self._ledger.standing[path]
            token = token_of(text)
            self.put(path, text.replace(str(token), str(token + 500_000 + self._next())))

    def add(self) -> None:
        """Write a new file and leave it."""
        name, path, text = self._author.definition()
        kinds = {p for p in self._ledger.standing if Path(p).stem == name}
        if kinds <= {path}:
            self.put(path, text)

    def remove(self) -> None:
        """Take a file away."""
        if (path := self._some()) is not None:
            self.take_away(path)

    def tear(self) -> None:
        """Leave half of a committed file, as an editor does that is killed; it is to be as it was."""
        if not self._home.status() and (path := self._some()) is not None:
            (self._home.layer / path).write_text("" if self._chance.random() < 0.5 else "def half(:\n    retu")
            self.torn.add(Path(path).stem)

    def commit_all(self) -> None:
        """Edit and `git commit -am`."""
        self.edit()
        if any(not line.startswith("??") for line in self._home.status().splitlines()):
            self._committed("commit", "-qam", f"by hand {self._next()}")

    def revert(self) -> None:
        """`git revert` of the last commit, where git would do it."""
        attempt = self.taking_back("git revert")
        if attempt is None or self._home.status():
            return
        self._ledger.begin(attempt)
        if self._committed("revert", "--no-edit", "HEAD"):
            self._ledger.acknowledge(attempt)
        else:
            self._ledger.refuse(attempt)

    def gc(self) -> None:
        """`git gc`, which goes on while kernels work."""
        if self._gc is None:
            # It tells of each object that it finds half written.
            folder, environ = self._home.layer, self._home.environ
            self._gc = subprocess.Popen(["git", "gc", "-q"], cwd=folder, env=environ, stderr=subprocess.DEVNULL)

    def let_go(self) -> None:
        """Wait for the end of what goes on."""
        if self._gc is not None:
            self._gc.wait()
            self._gc = None

    def taking_back(self, what: str, *, by_cell: bool = False) -> Attempt | None:
        """What becomes of the files if the last commit is taken back; None where it made the layer."""
        git = self._home.git
        if git("rev-list", "--count", "HEAD").strip() == "1":
            return None
        parts = git("diff-tree", "-r", "--no-renames", "--name-status", "-z", "HEAD~1", "HEAD").split("\0")[:-1]
        changes: dict[str, str | None] = {}
        for status, path in zip(parts[::2], parts[1::2], strict=True):
            changes[path] = None if status == "A" else git("show", f"HEAD~1:{path}")
        return Attempt(what, changes, by_cell)

    def _committed(self, *words: str) -> bool:
        """Have git commit; False where a kernel that was killed has left its lock, which the next one takes away."""
        try:
            self._home.git(*words)
        except AssertionError as failure:
            if ".lock': File exists" not in str(failure):
                raise
            return False
        self._ledger.commits.add(self._home.git("rev-parse", "HEAD").strip())
        return True

    def _some(self) -> str | None:
        standing = sorted(self._ledger.standing)
        return self._chance.choice(standing) if standing else None

    def put(self, path: str, text: str) -> None:
        """Write the file and leave it."""
        file, aside = self._home.layer / path, self._home.root / "aside"
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside.write_text(text)
        aside.chmod(0o600)
        aside.replace(file)
        self._done(f"write {path}", {path: text})

    def take_away(self, path: str) -> None:
        (self._home.layer / path).unlink()
        self._done(f"rm {path}", {path: None})

    def _done(self, what: str, changes: dict[str, str | None]) -> None:
        attempt = Attempt(what, changes, by_cell=False)
        self._ledger.begin(attempt)
        self._ledger.acknowledge(attempt)

    def _next(self) -> int:
        self._count += 1
        return self._count
