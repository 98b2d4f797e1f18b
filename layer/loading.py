"""Loading what waited: each file in turn, in the user's namespace, and what came of it.

Knows which files wait only as it is handed them. As at boot, one that misses a name waits for the others; a failure is
a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from functools import partial
from time import perf_counter
from types import ModuleType
from typing import Protocol, TypeAlias

from .alarm import Stop
from .asked import Round
from .binding import bound_names
from .finding import Finder
from .imports import ImportRecord, entries_of
from .install import FromText, Image
from .printed import printed
from .reasons import what_it_raised
from .slots import state
from .source import parse, unwarned
from .stages import reads_of_definition
from .view import MISSING
from .waiting import Failed, Loading, Waiting

Asked: TypeAlias = Callable[[float | None], AbstractContextManager[Round]]
"""Makes what is around the files of one loading, which may take so many seconds."""

_LONGEST = 300  # characters of an exception's message in a reason


class _TooSlow(Exception):
    """The time of a loading is over."""


@state
class _Failure:
    """Why a file failed when it was tried last."""

    error: BaseException
    reason: str


@state
class _Round:
    """One loading on its way."""

    items: Mapping[int, Waiting]
    asked: Round
    todo: dict[int, Exception | None]
    loaded: list[Waiting] = field(default_factory=list)
    failed: dict[int, Failed] = field(default_factory=dict)
    lazy: list[tuple[Waiting, str]] = field(default_factory=list)


class Queue(Protocol):
    """Who knows what waits."""

    def own_names(self, item: Waiting) -> list[str]:
        """Those of its names that are still to be set by `item`."""
        ...

    def installed(self, item: Waiting) -> None:
        """`item` has been loaded; this is called before `settled`."""
        ...

    def settled(self, number: int) -> None:
        """The one of this number waits no more."""
        ...


class AtOnce:
    """A `Queue` of what does not wait: each sets those of the names `wanted` that it gives."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted = wanted

    def own_names(self, item: Waiting) -> list[str]:
        return [name for name in item.definition.gives if name in self._wanted]

    def installed(self, item: Waiting) -> None:
        pass

    def settled(self, number: int) -> None:
        pass


class Loader:
    """Loads for one queue, into one image. Remembers what failed."""

    def __init__(
        self,
        queue: Queue,
        image: Image,
        imports: ImportRecord,
        modules: Mapping[str, ModuleType],
        finder: Finder,
        asked: Asked,
    ) -> None:
        self._asked = asked
        self._queue = queue
        self._image = image
        self._imports = imports
        self._modules = modules
        self._finder = finder
        self._failures: dict[int, _Failure] = {}

    def load(self, items: Mapping[int, Waiting], seconds: float | None = None) -> Loading:
        """Load `items`, by their numbers, in that order; what is not done after so many seconds goes on waiting.

        Raises KeyboardInterrupt alone; what was loaded until then stays.
        """
        start = perf_counter()
        with printed() as output, self._asked(seconds) as asked:
            made = _Round(items, asked, dict.fromkeys(sorted(items)))
            try:
                self._load(made)
            except _TooSlow:
                pass
        return Loading(
            tuple(made.loaded),
            tuple(failed for _, failed in sorted(made.failed.items())),
            tuple(made.lazy),
            str(output),
            perf_counter() - start,
        )

    def reasons(self) -> list[tuple[int, str]]:
        """The numbers of those that failed when they were tried last, and why."""
        return [(number, failure.reason) for number, failure in sorted(self._failures.items())]

    def forget(self, number: int) -> None:
        """The one of this number is not to be tried any more."""
        self._failures.pop(number, None)

    def _load(self, made: _Round) -> None:
        """Try each in turn, and again as long as any moves: as at boot, what one misses another may bring."""
        while made.todo:
            before = len(made.todo)
            for number in list(made.todo):
                self._try(number, made)
            if len(made.todo) < before:
                continue
            for number, error in list(made.todo.items()):
                if (lazy := _name_in_annotation(made.items[number].text, error)) is not None:
                    self._try(number, made, lazy=lazy)
                    break
            if len(made.todo) == before:
                for number, error in list(made.todo.items()):
                    self._fail(number, error or NameError(), made)

    def _try(self, number: int, made: _Round, lazy: str | None = None) -> None:
        item = made.items[number]
        own = self._queue.own_names(item)
        known = self._failures.get(number)
        if not own:
            del made.todo[number]
            self._queue.settled(number)
        elif known is not None and self._is_final(known.error):
            del made.todo[number]
            made.failed[number] = Failed(item, known.reason)
        else:
            try:
                self._install(item, own, lazy is not None, made.asked)
                self._queue.installed(item)
            except _TooSlow:
                raise
            except KeyboardInterrupt as interrupt:
                names = ", ".join(item.definition.gives)
                interrupt.add_note(f"perdure: {names} was being loaded, {item.file}; it waits until it is named again")
                raise
            except BaseException as error:  # SystemExit too: a definition must not end the kernel
                self._put_off(number, error, made, lazy)
            else:
                del made.todo[number]
                made.loaded.append(item)
                if lazy is not None:
                    made.lazy.append((item, lazy))
                self._queue.settled(number)

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
        others = (made.items[other].definition.gives for other in made.todo if other != number)
        if any(error.name in gives for gives in others):
            return
        name = _name_in_annotation(made.items[number].text, error)
        if lazy is None and name is not None:
            self._try(number, made, lazy=name)
        else:
            self._fail(number, error, made)

    def _install(self, item: Waiting, own: Sequence[str], lazy: bool, asked: Round) -> None:
        """Run the file; what cells have set since boot under names that it sets too stays theirs."""
        namespace = self._image.namespace
        with unwarned():
            body = parse(item.text).body
        theirs = {name: namespace[name] for name in bound_names(body) - {*own} if name in namespace}
        before = {name: namespace.get(name, MISSING) for name in own}
        way, data = FromText(item.text, str(item.file), lazy_annotations=lazy), item.text.encode("utf-8", "replace")
        is_done = False
        try:
            act = partial(self._image.install, item.definition, way, own)
            stop = asked.run(item.root, item.path, data, act)
            if stop is not None:
                raise _TooSlow if stop is Stop.SLOW else KeyboardInterrupt
            is_done = True
        finally:
            namespace.update(theirs)
            if not is_done:  # it may have gone on to its end all the same, and it waits still
                self._image.put_back(item.definition, before)
        for node in body:
            entries = entries_of(node, self._modules)
            self._imports.note(entry for entry in entries if entry.binding not in theirs)

    def _fail(self, number: int, error: BaseException, made: _Round) -> None:
        item = made.items[number]
        made.todo.pop(number, None)
        name = error.name if isinstance(error, NameError) else None
        cause = next((each for each in made.failed.values() if name in each.waiting.definition.gives), None)
        if cause is not None:
            reason = f"it needs {name} to load; {cause.waiting.file}: {cause.reason}"
        else:
            reason = _reason(error, str(item.file), self._finder.is_there_now)
        if cause is None:
            self._failures[number] = _Failure(error, reason)
        made.failed[number] = Failed(item, reason)

    def _is_final(self, error: BaseException) -> bool:
        """Whether trying again is in vain: a package that failed half way fails otherwise, and misleadingly, then."""
        if isinstance(error, ModuleNotFoundError) and error.name:
            return not self._finder.is_there_now(error.name.partition(".")[0])
        return isinstance(error, ImportError)


def _name_in_annotation(text: str, error: BaseException | None) -> str | None:
    """The name that `error` misses, where the file reads it in annotations alone."""
    if not isinstance(error, NameError):
        return None
    reads = reads_of_definition(*parse(text).body)
    return error.name if error.name in reads.annotation - reads.load else None


def _reason(error: BaseException, filename: str, is_there: Callable[[str], bool]) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, _, inner = error.name.partition(".")
        if not inner and not is_there(package):
            return f"{package} is found nowhere here; install it"
    return what_it_raised(error, filename, _LONGEST)
