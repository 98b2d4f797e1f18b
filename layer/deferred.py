"""What waits in one kernel until it is named, and loading it.

Holds the definitions that boot left for later, of the layer and of cells folders, and tells which of them a cell may
reach. Which files those are is decided in `deferral`, who reaches what in `reach`.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import ModuleType

from .binding import bound_names, changed_in_place
from .deferral import Decided, Elsewhere, NeededImport, decide_deferral, needed_imports
from .definition import Definition, Kind, RelPath
from .given import owner_of
from .imports import ImportRecord, entries_of
from .install import FromText, Image
from .mentions import mentioned_by_cell, spoken, words
from .order import Loadable, Waits
from .reach import Reach, numbers_in
from .source import parse, unwarned
from .stages import reads_of_definition

_LONGEST = 300  # characters of an exception's message in a reason


@dataclass(frozen=True, slots=True)
class Waiting:
    """A definition that is kept and not loaded yet."""

    definition: Definition
    path: RelPath
    root: Path  # of the layer or cells folder
    text: str  # the whole file
    packages: tuple[str, ...]  # that it waits for
    needs: frozenset[str]  # names of the definitions that loading it reads

    @property
    def file(self) -> Path:
        return self.root / self.path


@dataclass(frozen=True, slots=True)
class Failed:
    """A definition that was to be loaded and could not be; `reason` is a clause."""

    waiting: Waiting
    reason: str

    @property
    def told(self) -> str:
        return f"{', '.join(self.waiting.definition.gives)} cannot be loaded; {self.waiting.file}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Loading:
    """What came of loading some that waited."""

    loaded: tuple[Waiting, ...] = ()
    failed: tuple[Failed, ...] = ()
    lazy: tuple[tuple[Waiting, str], ...] = ()  # of `loaded`, with the name in an annotation that nothing defines
    output: str = ""  # what loading printed
    seconds: float = 0.0

    def failure_of(self, names: Iterable[str]) -> Failed | None:
        """The first of those that failed which gives one of `names`."""
        wanted = {*names}
        return next((each for each in self.failed if not wanted.isdisjoint(each.waiting.definition.gives)), None)


NOTHING = Loading()


@dataclass(slots=True)
class _Failure:
    """Why a file failed when it was tried last."""

    error: BaseException
    reason: str


@dataclass(slots=True)
class _Round:
    """One loading on its way."""

    todo: dict[int, Exception | None]
    loaded: list[Waiting] = field(default_factory=list)
    failed: dict[int, Failed] = field(default_factory=dict)
    lazy: list[tuple[Waiting, str]] = field(default_factory=list)


class Deferred:
    """What waits in one kernel. Safe to use from several threads; loading runs under `lock`."""

    def __init__(
        self, image: Image, imports: ImportRecord, modules: Mapping[str, ModuleType], *, active: bool = True
    ) -> None:
        """Unless `active`, nothing ever waits."""
        self.active = active
        self.lock = threading.RLock()
        self._image = image
        self._imports = imports
        self._modules = modules
        self._items: list[Waiting] = []  # in load order; their place is their number
        self._mentions: dict[str, frozenset[str]] = {}
        self._attached: set[str] = set()  # names that come with another, with which they register themselves
        self._parts: dict[str, list[str]] = {}  # owner → the names that are put on it
        self.nodes: dict[str, ast.stmt] = {}  # the defining statements of what was loaded, until boot is over
        self._reach = Reach({})
        self._failures: dict[int, _Failure] = {}
        self._there: dict[str, bool] = {}
        self.names: dict[str, int] = {}  # what waits now: name → number of what will be live

    # At boot.

    def decide(
        self, files: Sequence[Loadable], waits: Waits, bodies: Mapping[RelPath, tuple[Sequence[ast.stmt], str]]
    ) -> Decided:
        """What of `files` waits; `bodies` are their statements and texts."""
        imports = {path: needed_imports(body) for path, (body, text) in bodies.items() if "import" in text}
        packages = {name: self._items[number].packages for name, number in self.names.items()}
        needed = {name: item.packages for item in self.waiting() for name in item.needs}
        needed |= {name: packages[name] for name in self._attached & packages.keys()}
        before = Elsewhere(self.nodes, packages, needed)
        decided = decide_deferral(files, waits, imports, self._is_cheap, self._is_there, before)
        for file in files:
            if file.path not in decided.missing:
                names = file.reads.all | spoken(*bodies[file.path])
                for name in file.gives:
                    earlier = self._mentions.get(name, frozenset()) if name in file.reads.load else frozenset()
                    self._mentions[name] = names | earlier
                    self.nodes[name] = file.node
        for file in files:
            for name in file.gives:
                if owner := owner_of(name):
                    self._mentions[owner] = self._mentions.get(owner, frozenset()) | {name}
                    self._parts.setdefault(owner, []).append(name)
        for name, parts in decided.parts.items():
            self._mentions[name] = self._mentions.get(name, frozenset()) | parts
            self._attached |= parts
        return decided

    def packages_of(self, name: str) -> tuple[str, ...] | None:
        """What the definition that gives `name` waits for; None where none that waits does."""
        return self._items[self.names[name]].packages if name in self.names else None

    def hold(self, waiting: Sequence[Waiting], live: Iterable[Definition]) -> None:
        """Have these, in load order, wait; they are kept and live as any other but for their objects.

        `live` are those of the same folder that have been loaded: what they take the place of waits no more.
        """
        for definition in live:
            for name in self.names.keys() & {*definition.gives}:
                self._overtake(self.names.pop(name))
        earlier = self.waiting()
        for item in waiting:
            number = len(self._items)
            self._items.append(item)
            needing = {name: [e for e in earlier if name in e.needs] for name in item.definition.gives}
            keeps = {name for name, others in needing.items() if others or _reads(item.text, name)}
            keeps |= self._attached & {*item.definition.gives}  # what the earlier one registers stays so
            self._image.defer(item.definition, {*item.definition.gives} - keeps)
            for name in item.definition.gives:
                before = self.names.get(name)
                self.names[name] = number
                if before is not None and name not in keeps:
                    self._overtake(before)
                made = frozenset(other for each in needing[name] for other in each.definition.gives)
                self._mentions[name] = self._mentions.get(name, frozenset()) | made
        given = ((item.definition.gives, item.needs) for item in self._items)
        settled = [n for n in range(len(self._items) - len(waiting)) if not self._reach.waiting >> n & 1]
        self._reach = Reach(self._mentions, given)
        self._reach.settle(settled)

    def failures(self) -> list[Failed]:
        """What waits still since it could not be loaded when it was named."""
        return [Failed(self._items[number], failure.reason) for number, failure in sorted(self._failures.items())]

    def _overtake(self, number: int) -> None:
        """One of the names of this one has another definition: it is not loaded any more if that is true of all."""
        if all(self.names.get(name) != number for name in self._items[number].definition.gives):
            self._settle(number)

    def ready(self) -> None:
        """Boot is over: what is remembered for what may wait is let go where nothing does."""
        self.nodes.clear()
        if not self._reach.waiting:
            self._mentions.clear()

    # What a cell may reach.

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._reach.waiting)

    def reached_by(self, nodes: Sequence[ast.stmt], text: str) -> int:
        """The set of what has to be loaded before a cell of these statements runs; `text` is its text."""
        known = self._reach.names
        if not known or known.isdisjoint(words(text)):
            return 0
        found = self._reach.of(mentioned_by_cell(nodes, text))
        touched = bound_names(nodes).union(*map(changed_in_place, nodes)) & known
        if touched:
            # What was made with the value of now has to be made before that changes; a value is told from a function
            # only when it is there; a class gets its methods before another class takes its name.
            more = self._reach.needing(touched)
            for name in touched:
                number = self.names.get(name)
                if number is not None and self._items[number].definition.kind is Kind.VALUE:
                    more |= 1 << number
                for part in self._parts.get(name, ()):
                    if part in self.names:
                        more |= 1 << self.names[part]
            given = (name for number in numbers_in(more) for name in self._items[number].definition.gives)
            found |= more | self._reach.of(given)
        return found

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

    def set_otherwise(self, names: Iterable[str]) -> None:
        """A statement bound `names`: what waits under those that are another object now has been overtaken."""
        for name in self.names.keys() & {*names}:
            if self._image.is_other(name):
                self.gone(name)

    def _settle(self, number: int) -> None:
        self._reach.settle([number])
        self._failures.pop(number, None)
        for name in self._items[number].definition.gives:
            if self.names.get(name) == number:
                del self.names[name]

    # Loading.

    def load(self, chosen: int) -> Loading:
        """Load the set `chosen`, in load order; what waits no more is passed over.

        Raises KeyboardInterrupt alone; what was loaded until then stays.
        """
        if not chosen:
            return NOTHING
        with self.lock:
            left = [*numbers_in(chosen & self._reach.waiting)]
            if not left:
                return NOTHING
            start, printed = perf_counter(), io.StringIO()
            made = _Round(dict.fromkeys(left))
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                self._load(made)
            return Loading(
                tuple(made.loaded),
                tuple(failed for _, failed in sorted(made.failed.items())),
                tuple(made.lazy),
                printed.getvalue(),
                perf_counter() - start,
            )

    def load_names(self, names: Iterable[str]) -> Loading:
        """Load what `names` may reach."""
        return self.load(self._reach.of(names)) if self else NOTHING

    def load_all(self) -> Loading:
        """Load all that waits."""
        return self.load(self._reach.waiting)

    def _load(self, made: _Round) -> None:
        """Try each in turn, and again as long as any moves: as at boot, what one misses another may bring."""
        while made.todo:
            before = len(made.todo)
            for number in list(made.todo):
                self._try(number, made)
            if len(made.todo) < before:
                continue
            for number, error in list(made.todo.items()):
                if (lazy := self._name_in_annotation(number, error)) is not None:
                    self._try(number, made, lazy=lazy)
                    break
            if len(made.todo) == before:
                for number, error in list(made.todo.items()):
                    self._fail(number, error or NameError(), made)

    def _try(self, number: int, made: _Round, lazy: str | None = None) -> None:
        item = self._items[number]
        own = [name for name in item.definition.gives if name in self.names and not self._image.is_other(name)]
        known = self._failures.get(number)
        if not own:
            del made.todo[number]
            self._settle(number)
        elif known is not None and self._is_final(known.error):
            del made.todo[number]
            made.failed[number] = Failed(item, known.reason)
        else:
            try:
                self._install(item, own, lazy is not None)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # SystemExit too: a definition must not end the kernel
                self._put_off(number, error, made, lazy)
            else:
                del made.todo[number]
                made.loaded.append(item)
                if lazy is not None:
                    made.lazy.append((item, lazy))
                self._settle(number)

    def _put_off(self, number: int, error: BaseException, made: _Round, lazy: str | None) -> None:
        """Leave a file that raised for another try where another may bring what it missed."""
        if not isinstance(error, Exception) or isinstance(error, ImportError | SyntaxError):
            self._fail(number, error, made)
            return
        cause = error.__cause__ if type(error) is RuntimeError else None  # 3.11 wraps what a `__set_name__` raises
        error = cause if isinstance(cause, NameError) else error
        made.todo[number] = error
        if not isinstance(error, NameError):
            return
        others = (self._items[other].definition.gives for other in made.todo if other != number)
        if any(error.name in gives for gives in others):
            return
        name = self._name_in_annotation(number, error)
        if lazy is None and name is not None:
            self._try(number, made, lazy=name)
        else:
            self._fail(number, error, made)

    def _install(self, item: Waiting, own: Sequence[str], lazy: bool) -> None:
        """Run the file; what cells have set since boot under names that it sets too stays theirs."""
        namespace = self._image.namespace
        with unwarned():
            body = parse(item.text).body
        theirs = {name: namespace[name] for name in bound_names(body) - {*own} if name in namespace}
        try:
            self._image.install(item.definition, FromText(item.text, str(item.file), lazy_annotations=lazy))
        finally:
            namespace.update(theirs)
        for name in item.definition.gives:
            # What waits still is to come over this: `area = wrap(area)`, of a folder loaded later, and methods.
            for later in (name, *self._parts.get(name, ())):
                number = self.names.get(later)
                if number is not None and self._items[number] is not item:
                    self._image.defer(self._items[number].definition)
        for node in body:
            entries = entries_of(node, self._modules)
            self._imports.note(entry for entry in entries if entry.binding not in theirs)

    def _name_in_annotation(self, number: int, error: BaseException | None) -> str | None:
        """The name that `error` misses, where the file reads it in annotations alone."""
        if not isinstance(error, NameError):
            return None
        reads = reads_of_definition(*parse(self._items[number].text).body)
        return error.name if error.name in reads.annotation - reads.load else None

    def _fail(self, number: int, error: BaseException, made: _Round) -> None:
        item = self._items[number]
        made.todo.pop(number, None)
        name = error.name if isinstance(error, NameError) else None
        cause = next((each for each in made.failed.values() if name in each.waiting.definition.gives), None)
        if cause is not None:
            reason = f"it needs {name} to load; {cause.waiting.file}: {cause.reason}"
        else:
            reason = _reason(error, str(item.file), self._there_now)
        if cause is None:
            self._failures[number] = _Failure(error, reason)
        made.failed[number] = Failed(item, reason)

    def _is_final(self, error: BaseException) -> bool:
        """Whether trying again is in vain: a package that failed half way fails otherwise, and misleadingly, then."""
        if isinstance(error, ModuleNotFoundError) and error.name:
            return not self._there_now(error.name.partition(".")[0])
        return isinstance(error, ImportError)

    # Modules.

    def _is_cheap(self, needed: NeededImport) -> bool:
        """Whether the import costs nothing: of the standard library, or of what is loaded already."""
        if needed.package in sys.stdlib_module_names:
            return True
        module = self._modules.get(needed.module)
        if module is None:
            return False
        attribute = needed.attribute
        if attribute in (None, "*") or attribute in vars(module) or "__path__" not in vars(module):
            return True
        return f"{needed.module}.{attribute}" in self._modules

    def _is_there(self, package: str) -> bool:
        if package not in self._there:
            self._there[package] = self._there_now(package)
        return self._there[package]

    def _there_now(self, package: str) -> bool:
        """Whether `package`, the first name of a path, can be found, without importing it."""
        if package in self._modules:
            return True
        try:
            return importlib.util.find_spec(package) is not None
        except Exception:  # what finders of others raise says nothing of the package
            return True


def _reason(error: BaseException, filename: str, is_there: Callable[[str], bool]) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, _, inner = error.name.partition(".")
        if not inner and not is_there(package):
            return f"{package} is found nowhere here; install it"
    try:
        said = " ".join(str(error).split())
    except Exception:  # an exception of the user's may fail to print itself
        said = ""
    said = f": {said[:_LONGEST]}{'…' if len(said) > _LONGEST else ''}" if said else ""
    lines = [*_lines_in(error, filename)]
    where = f" at line {lines[-1]}" if lines else ""
    return f"it raised {type(error).__name__}{said}{where}"


def _reads(text: str, name: str) -> bool:
    return name in reads_of_definition(*parse(text).body).load


def _lines_in(error: BaseException, filename: str) -> Iterator[int]:
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == filename:
            yield line
