"""What waits in one kernel until it is named.

Holds the definitions that boot left for later, of the layer and of cells folders, and tells which of them a cell may
reach. Which files those are is decided in `deferral`, who reaches what in `reach`; `loading` loads them.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING

from .asked import unjournalled
from .binding import bound_names, changed_in_place
from .definition import Definition, Kind, RelPath
from .finding import Answers, Finder
from .given import owner_of
from .imports import ImportRecord
from .install import Image
from .reach import Reach, numbers_in
from .source import deleted_names, parse
from .waiting import NOTHING, Failed, Loading, Waiting
from .words import DOCTEST, in_examples, words

if TYPE_CHECKING:
    from .deferral import Decided
    from .facts import Facts
    from .finding import NeededImport
    from .loading import Asked, Loader
    from .order import Loadable, Waits


class Deferred:
    """What waits in one kernel. Safe to use from several threads; loading runs under `lock`."""

    def __init__(
        self,
        image: Image,
        imports: ImportRecord,
        modules: Mapping[str, ModuleType],
        *,
        active: bool = True,
        asked: Asked = unjournalled,
    ) -> None:
        """Unless `active`, nothing ever waits. `asked` is around what is loaded."""
        self.active = active
        self.lock = threading.RLock()
        self._image = image
        self._items: list[Waiting] = []  # in load order; their place is their number
        self._mentions: dict[str, frozenset[str]] = {}
        self._registered: set[str] = set()  # names that, as they load, register themselves with another
        self._parts: dict[str, list[str]] = {}  # owner → the names that are put on it
        self.files: dict[str, Loadable] = {}  # of what was loaded, by name, until boot is over
        self._imported: dict[str, str] = {}  # what the imports of those that wait bind → a name that they give
        self._reach = Reach({})
        self._finder = Finder(modules)
        self._loads_with = image, imports, modules, self._finder, asked
        self.names: dict[str, int] = {}  # what waits now: name → number of what will be live

    @cached_property
    def _loader(self) -> Loader:
        from .loading import Loader  # here, as what is imported below: most starts have nothing that waits

        return Loader(self, *self._loads_with)

    # At boot.

    def ask(self, needed: Iterable[NeededImport]) -> Answers:
        """What is to be told of these imports now, to decide by."""
        return self._finder.answers(needed)

    def tells_the_same(self, answers: Answers) -> bool:
        """Whether all would be answered now as it was then."""
        return self._finder.tells_the_same(answers)

    def decide(
        self, files: Sequence[Loadable], waits: Waits, facts: Mapping[RelPath, Facts], answers: Answers
    ) -> Decided:
        """What of `files` waits; `facts` are theirs, `answers` what was told of their imports."""
        from .deferral import Elsewhere, decide_deferral

        imports = {path: of_one.needed for path, of_one in facts.items() if of_one.needed}
        packages = {name: self._items[number].packages for name, number in self.names.items()}
        needed = {name: item.packages for item in self.waiting() for name in item.needs}
        needed |= {name: packages[name] for name in self._registered & packages.keys()}
        before = Elsewhere(self.files, packages, needed)
        decided = decide_deferral(files, waits, imports, answers.is_cheap, answers.is_there, before)
        for file in files:
            if file.path not in decided.missing:
                names = file.reads.all | facts[file.path].spoken
                for name in file.gives:
                    comes_over = name in file.reads.load or name in needed  # an earlier one, which is loaded too
                    earlier = self._mentions.get(name, frozenset()) if comes_over else frozenset()
                    self._mentions[name] = names | earlier
                    self.files[name] = file
        for file in files:
            for name in file.gives:
                if owner := owner_of(name):
                    self._mentions[owner] = self._mentions.get(owner, frozenset()) | {name}
                    self._parts.setdefault(owner, []).append(name)
        self._registered |= decided.registered
        for name, parts in decided.parts.items():
            self._mentions[name] = self._mentions.get(name, frozenset()) | parts
        return decided

    def packages_of(self, name: str) -> tuple[str, ...] | None:
        """What the definition that gives `name` waits for; None where none that waits does."""
        return self._items[self.names[name]].packages if name in self.names else None

    def hold(self, waiting: Sequence[Waiting], live: Iterable[Definition]) -> frozenset[str]:
        """Have these, in load order, wait; they are kept and live as any other but for their objects.

        `live` are those of the same folder that have been loaded: what they take the place of waits no more. Gives the
        names under which nothing earlier is to be had any more.
        """
        hidden: set[str] = set()
        for definition in live:
            for name in self.names.keys() & {*definition.gives}:
                self._overtake(self.names.pop(name))
        earlier = self.waiting()
        for item in waiting:
            number = len(self._items)
            self._items.append(item)
            needing = {name: [e for e in earlier if name in e.needs] for name in item.definition.gives}
            keeps = {name for name, others in needing.items() if others or name in item.reads}
            keeps |= self._registered & {*item.definition.gives}  # what the earlier one registers stays so
            hides = {*item.definition.gives} - keeps
            hidden |= hides
            self._image.defer(item.definition, hides)
            for name in item.definition.gives:
                before = self.names.get(name)
                self.names[name] = number
                if before is not None and name not in keeps:
                    self._overtake(before)
                made = frozenset(other for each in needing[name] for other in each.definition.gives)
                self._mentions[name] = self._mentions.get(name, frozenset()) | made
        from .import_lines import entries_in

        for item in sorted(waiting, key=lambda each: len(each.packages)):
            for entry in entries_in(item.definition.imports):
                self._imported.setdefault(entry.binding, item.definition.gives[0])
        given = ((item.definition.gives, item.needs) for item in self._items)
        settled = [n for n in range(len(self._items) - len(waiting)) if not self._reach.waiting >> n & 1]
        self._reach = Reach(self._mentions, given)
        self._reach.settle(settled)
        return frozenset(hidden)

    def failures(self) -> list[Failed]:
        """What waits still since it could not be loaded when it was named."""
        return [Failed(self._items[number], reason) for number, reason in self._loader.reasons()]

    def _overtake(self, number: int) -> None:
        """One of the names of this one has another definition: it is not loaded any more if that is true of all."""
        if all(self.names.get(name) != number for name in self._items[number].definition.gives):
            self.settled(number)

    def ready(self) -> None:
        """Boot is over: what is remembered for what may wait is let go where nothing does."""
        self.files.clear()
        if not self._reach.waiting:
            self._mentions.clear()

    # What a cell may reach.

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._reach.waiting)

    def reached_by(self, nodes: Sequence[ast.stmt], text: str) -> int:
        """The set of what has to be loaded before a cell of these statements runs; `text` is its text."""
        known, said = self._reach.names, words(text)
        examples: frozenset[str] = frozenset()
        if known and not DOCTEST.isdisjoint(said):
            examples = in_examples(text, tuple(self._image.namespace.values()))
        if not known or (not examples and known.isdisjoint(said) and self._imported.keys().isdisjoint(said)):
            return 0
        there = self._image.namespace
        deleting = [node for node in nodes if self.only_deleted(node)]
        if deleting:  # what is deleted need not be loaded for that, and may be what cannot be
            nodes = [node for node in nodes if node not in deleting]
        from .mentions import mentioned_by_cell

        names = mentioned_by_cell(nodes, text) | examples
        # What a file imports is there for all as soon as it is loaded.
        names |= {self._imported[name] for name in self._imported.keys() & names if name not in there}
        found = self._reach.of(names)
        touched = bound_names(nodes).union(*map(changed_in_place, nodes)) & known
        deleted = bound_names(deleting) & known
        if touched or deleted:
            # What was made with the value of now has to be made before that changes; a value is told from a function
            # only when it is there; a class gets its methods before another class takes its name; and what registers
            # itself is registered.
            more = self._reach.needing(touched | deleted)
            for name in touched:
                number = self.names.get(name)
                if number is not None and (name in self._registered or self._is_value(number)):
                    more |= 1 << number
                for part in self._parts.get(name, ()):
                    if part in self.names:
                        more |= 1 << self.names[part]
            given = (name for number in numbers_in(more) for name in self._items[number].definition.gives)
            found |= more | self._reach.of(given)
        return found

    def only_deleted(self, node: ast.stmt) -> frozenset[str]:
        """The names that wait and that `node`, a `del` of names, deletes; none where some come by imports."""
        if not isinstance(node, ast.Delete) or not all(isinstance(target, ast.Name) for target in node.targets):
            return frozenset()
        names, there = frozenset(deleted_names(node)), self._image.namespace
        if any(name in self._imported and name not in there for name in names):
            return frozenset()
        return frozenset(name for name in names & self.names.keys() if name not in there)

    @contextmanager
    def there_to_delete(self, nodes: Iterable[ast.stmt]) -> Iterator[None]:
        """While `nodes` run something is there under the names that wait and that they delete."""
        namespace, placeholder = self._image.namespace, object()
        names = {name for node in nodes for name in self.only_deleted(node)}
        namespace.update(dict.fromkeys(names, placeholder))
        try:
            yield
        finally:
            for name in names:
                if namespace.get(name) is placeholder:  # an earlier one of them was nowhere
                    del namespace[name]
                else:
                    self.taken_away([name])

    def _is_value(self, number: int) -> bool:
        return self._items[number].definition.kind is Kind.VALUE

    def mentioned_in(self, text: str) -> frozenset[str]:
        """The names in `text`, a piece of code, from which something that waits is reached."""
        return self._reach.names & words(text) if self else frozenset()

    def waiting(self) -> list[Waiting]:
        """What waits, in load order."""
        return [item for number, item in enumerate(self._items) if self._reach.waiting >> number & 1]

    # What became of it.

    def replaced(self, definition: Definition) -> None:
        """`definition` is live now by what a cell did."""
        for name in definition.gives:
            self.gone(name)

    def gone(self, name: str) -> None:
        """What waited under `name` is not to be loaded any more: it is defined anew, or forgotten."""
        number = self.names.pop(name, None)
        if number is not None:
            self._overtake(number)
        if self._reach.names:
            self._reach.redefined(name)

    def taken_away(self, names: Iterable[str]) -> None:
        """The namespace was cleared of `names`: what waits under them is gone as if it had been there."""
        wanted = {*names}
        for name in [*self.names]:
            if name in wanted or owner_of(name) in wanted:
                self.gone(name)
                self._image.lose(name)

    def set_otherwise(self, names: Iterable[str]) -> None:
        """A statement bound `names`: what waits under those that are another object now has been overtaken."""
        for name in self.names.keys() & {*names}:
            if self._image.is_other(name):
                self.gone(name)

    # Loading.

    def load(self, chosen: int, seconds: float | None = None) -> Loading:
        """Load the set `chosen`, in load order; what waits no more is passed over. With `seconds`, no longer than that.

        Raises KeyboardInterrupt alone; what was loaded until then stays.
        """
        if not chosen:
            return NOTHING
        with self.lock:
            items = {number: self._items[number] for number in numbers_in(chosen & self._reach.waiting)}
            return self._loader.load(items, seconds) if items else NOTHING

    def load_names(self, names: Iterable[str], seconds: float | None = None) -> Loading:
        """Load what `names` may reach."""
        return self.load(self._reach.of(names), seconds) if self else NOTHING

    def is_cheap(self, names: Iterable[str]) -> bool:
        """Whether what `names` may reach imports nothing any more that is not loaded."""
        from .deferral import needed_imports

        items = (self._items[number] for number in numbers_in(self._reach.of(names) & self._reach.waiting))
        return all(map(self._finder.is_cheap, (each for i in items for each in needed_imports(parse(i.text).body))))

    def giving(self, name: str) -> Waiting | None:
        """What waits to give `name`."""
        return self._items[self.names[name]] if name in self.names else None

    def load_all(self) -> Loading:
        """Load all that waits."""
        return self.load(self._reach.waiting)

    # As a Queue, for the loader.

    def own_names(self, item: Waiting) -> list[str]:
        """Those of its names that nothing has taken since."""
        return [name for name in item.definition.gives if name in self.names and not self._image.is_other(name)]

    def installed(self, item: Waiting) -> None:
        """Have what waits still come over `item`: `area = wrap(area)`, of a folder loaded later, and methods."""
        for name in item.definition.gives:
            for later in (name, *self._parts.get(name, ())):
                number = self.names.get(later)
                if number is not None and self._items[number] is not item:
                    self._image.defer(self._items[number].definition)

    def settled(self, number: int) -> None:
        """The one of this number is loaded, or never to be."""
        self._reach.settle([number])
        self._loader.forget(number)
        for name in self._items[number].definition.gives:
            if self.names.get(name) == number:
                del self.names[name]
