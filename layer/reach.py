"""What each name may reach of the definitions that wait, through any number of others. Pure.

A set of waiting definitions is a number, a bit for each: what a cell may reach is looked up before the cell runs, and
has to cost next to nothing however many definitions there are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping


class Reach:
    """Names, the names that these mention, and which waiting definitions come of it.

    Whoever defines a name anew mentions only what has been loaded by then, so its new text reaches nothing that waits:
    a name is forgotten here as it is kept again.
    """

    def __init__(
        self,
        mentions: Mapping[str, Collection[str]],
        waiting: Iterable[tuple[Collection[str], Collection[str]]] = (),
    ) -> None:
        """`mentions`: name → the names its definition mentions.

        `waiting`: for each waiting definition the names it gives, and those of the definitions it needs to load.
        """
        self._mentions = dict(mentions)
        self._own: dict[str, int] = {}
        self._needing: dict[str, int] = {}
        self.waiting = 0  # those that wait still
        for number, (names, needs) in enumerate(waiting):
            self.waiting |= 1 << number
            for name in names:
                self._own[name] = self._own.get(name, 0) | 1 << number
            for name in needs:
                self._needing[name] = self._needing.get(name, 0) | 1 << number
        self._of: dict[str, int] = {}
        self.names: frozenset[str] = frozenset()  # those that reach, or are needed by, anything that waits
        self._find_all()

    def of(self, names: Iterable[str]) -> int:
        """The set of waiting definitions that `names` may reach."""
        found, known = 0, self._of
        for name in self.names.intersection(names):
            found |= known.get(name, 0)
        return found & self.waiting

    def needing(self, names: Iterable[str]) -> int:
        """The set of waiting definitions that need any of `names` to load."""
        found, known = 0, self._needing
        for name in known.keys() & {*names}:
            found |= known[name]
        return found & self.waiting

    def settle(self, numbers: Iterable[int]) -> None:
        """The definitions of these numbers wait no more: loaded, or replaced."""
        left = self.waiting
        for number in numbers:
            left &= ~(1 << number)
        if left != self.waiting:
            self.waiting = left
            self._look()

    def redefined(self, name: str) -> None:
        """`name` has been defined anew, or is gone: through it nothing that waits is reached any more."""
        reached = self._of.get(name, 0) & self.waiting
        self._mentions.pop(name, None)
        self._own.pop(name, None)
        if reached:
            self._find_all()

    def _find_all(self) -> None:
        """Find what each name reaches: of names that mention each other in a circle all reach the same.

        Tarjan's algorithm, without recursion; a circle is complete only when all it mentions is.
        """
        mentions, own, waiting = self._mentions, self._own, self.waiting
        of: dict[str, int] = {}
        index: dict[str, int] = {}
        low: dict[str, int] = {}
        stack: list[str] = []
        for root in (*mentions, *(name for name in own if name not in mentions)):
            if root in index:
                continue
            index[root] = low[root] = len(index)
            stack.append(root)
            path = [(root, iter(mentions.get(root, ())))]
            while path:
                name, rest = path[-1]
                for other in rest:
                    if other not in index:
                        if other not in mentions and other not in own:
                            continue  # no definition
                        index[other] = low[other] = len(index)
                        stack.append(other)
                        path.append((other, iter(mentions.get(other, ()))))
                        break
                    if other not in of:  # on the stack
                        low[name] = min(low[name], index[other])
                else:
                    path.pop()
                    if path:
                        above = path[-1][0]
                        low[above] = min(low[above], low[name])
                    if low[name] == index[name]:
                        self._close(name, stack, of)
        self._of = {name: bits for name, bits in of.items() if bits & waiting}
        self._look()

    def _close(self, name: str, stack: list[str], of: dict[str, int]) -> None:
        at = len(stack) - 1
        while stack[at] != name:
            at -= 1
        circle = stack[at:]
        del stack[at:]
        bits = 0
        for each in circle:
            bits |= self._own.get(each, 0)
            for other in self._mentions.get(each, ()):
                bits |= of.get(other, 0)
        of.update(dict.fromkeys(circle, bits))

    def _look(self) -> None:
        waiting = self.waiting
        known = (self._of, self._needing) if waiting else ()
        self.names = frozenset(name for each in known for name, bits in each.items() if bits & waiting)


def numbers_in(bits: int) -> Iterator[int]:
    """The numbers of the definitions in a set, ascending."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
