"""What the cells to come are to be told, each line by the next one that shows notices of its kind."""

from __future__ import annotations

from .wire import Notices


class Untold:
    """Lines that wait for a cell. Threads may add to them."""

    def __init__(self) -> None:
        self._problems: list[str] = []
        self._news: list[str] = []

    def problem(self, said: str) -> None:
        """Have the next cell that shows notices tell what is `said`."""
        self._problems.append(f"[layer: {said}]")

    def news(self, line: str) -> None:
        """Have the next cell that shows all notices tell the whole `line`."""
        if line not in self._news:  # of the list that is there then: each cell takes it away
            self._news.append(line)

    def take_back(self, said: str) -> None:
        """Nobody is to be told the problems with `said` any more."""
        self._problems = [line for line in self._problems if said not in line]

    def take_problems(self) -> list[str]:
        """The problems, for who tells them now."""
        problems, self._problems = self._problems, []
        return problems

    def take(self, shown: Notices) -> list[str]:
        """What a cell that shows these notices is to tell."""
        told = self.take_problems() if shown is not Notices.NONE else []
        if shown is Notices.ALL:
            told, self._news = [*self._news, *told], []
        return told
