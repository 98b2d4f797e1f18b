"""Loads what waits when a cell, a front end or a piece of the user's code names it, and tells of it.

Knows no IPython: `upstream` says when something is named. What waits and what reaches it stands in layer.deferred.
"""

from __future__ import annotations

import ast
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar

from perdure.layer.binding import bound_names
from perdure.layer.deferred import Deferred
from perdure.layer.definition import Kind
from perdure.layer.errors import NotLoaded
from perdure.layer.waiting import Loading

from .cell import Cell

_log = logging.getLogger(__name__)

_LONG = 1.0  # seconds of loading from which on it is told
_PATIENCE = 2.0  # seconds that who must not wait for ever waits for something to be loaded
_TYPES = {Kind.FUNCTION: "function", Kind.CLASS: "type"}


class Waking:
    """What waits in one kernel, as those see it who name it."""

    def __init__(
        self,
        deferred: Deferred,
        cell: ContextVar[Cell | None],
        tell: Callable[[str], None],
        complete: Callable[[], None],
    ) -> None:
        """`tell` takes a line for the next cell that shows all notices, for what is loaded while none runs.

        `complete` is called before `deferred` is asked: until then it may not know yet what waits.
        """
        self._asked = deferred
        self._complete = complete
        self._cell = cell
        self._tell = tell
        self._too_slow: frozenset[str] | set[str] = set()  # names that could not be loaded in passing

    @property
    def _deferred(self) -> Deferred:
        self._complete()
        return self._asked

    def before_cell(self, nodes: Sequence[ast.stmt], text: str) -> NotLoaded | None:
        """Load what the cell of these statements may reach; the fault if what it names itself cannot be loaded.

        Raises KeyboardInterrupt alone: where this itself fails, the cell runs without it.
        """
        if not self._deferred:
            return None
        try:
            loading = self._deferred.load(self._deferred.reached_by(nodes, text))
            if not loading.failed:
                self._told(loading)
                return None
            from perdure.layer.mentions import mentioned_by_cell  # here: seldom, and never by a start

            named = mentioned_by_cell([node for node in nodes if not self._deferred.only_deleted(node)], text)
            failed = loading.failure_of(named)
            self._told(loading, but=bound_names(nodes) | named)
        except Exception:  # a mistake of ours costs the cell nothing but what it would have loaded
            _log.exception("perdure could not look up what a cell needs")
            return None
        return NotLoaded(failed.waiting.definition.gives, failed.waiting.file, failed.reason) if failed else None

    def deleting(self, *nodes: ast.stmt) -> AbstractContextManager[None]:
        """What is around statements: one that deletes what waits finds it there, and it is not loaded for that."""
        deletes = any(isinstance(node, ast.Delete) for node in nodes) and self._deferred
        return self._deferred.there_to_delete(nodes) if deletes else nullcontext()

    def names(self) -> list[str]:
        """The top-level names that are loaded when they are named, sorted."""
        return sorted(name for name in tuple(self._deferred.names) if name.isidentifier())

    def is_waiting(self, name: str) -> bool:
        """Whether `name` is loaded when it is named."""
        return name in self._deferred.names

    def listed(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Each of `names`, the type that it will have if that is known, and the packages that it waits for."""
        given = {name: item for item in self._deferred.waiting() for name in item.definition.gives}
        return [(n, _TYPES.get(given[n].definition.kind, ""), given[n].packages) for n in self.names() if n in given]

    def taken_away(self, names: Iterable[str]) -> None:
        """The user has had `names` taken out of the namespace, as `%reset` does: they wait no more in this kernel."""
        with self._deferred.lock:
            self._deferred.taken_away(names)

    def load(self, *names: str) -> Loading:
        """Load `names` and what they reach."""
        loading = self._deferred.load_names(names)
        self._told(loading)
        return loading

    def load_for_code(self, code: str, *, patient: bool = True) -> None:
        """Load what the words of `code` reach, an expression that somebody is about to evaluate beside the cells."""
        if not (names := self._deferred.mentioned_in(code)):
            return
        if self._deferred.lock.acquire(timeout=-1 if patient else _PATIENCE):
            try:
                self._told(self._deferred.load_names(names))
            finally:
                self._deferred.lock.release()

    def glance(self, code: str) -> None:
        """Load what the words of `code` reach, for who looks in passing: nothing that imports, and not for long."""
        names = self._deferred.mentioned_in(code) - self._too_slow
        if not names or not self._deferred.is_cheap(names) or not self._deferred.lock.acquire(timeout=_PATIENCE):
            return
        try:
            self._told(self._deferred.load_names(names, _PATIENCE))
        except KeyboardInterrupt:  # nobody waits for it any more
            pass
        finally:
            self._too_slow |= {name for name in names if self.is_waiting(name)}
            self._deferred.lock.release()

    def described(self, name: str, *, source: bool) -> str | None:
        """What the text of a definition that waits tells of `name`; None where nothing of the kind waits."""
        item = self._deferred.giving(name) or self._deferred.giving(name.partition(".")[0])
        if item is None:
            return None
        from .glance import described

        return described(item.definition, name, str(item.file), item.packages, source=source)

    def attributes(self, name: str) -> dict[str, str]:
        """The attributes of the class `name`, which waits, as far as texts tell, with their types."""
        from .glance import attributes

        item = self._deferred.giving(name)
        found = dict(attributes(item.definition, name)) if item is not None else {}
        put_on = (other.partition(".") for other in tuple(self._deferred.names))
        return found | {attribute: "function" for owner, dot, attribute in put_on if dot and owner == name}

    def attribute(self, name: str) -> None:
        """Load `name`, which is asked for as an attribute of the user's module.

        Raises:
            AttributeError: it cannot be loaded.
        """
        failed = self.load(name).failure_of([name])
        if failed is not None:
            raise AttributeError(f"{failed.told}")

    def note(self, error: BaseException) -> None:
        """Where `error` misses a name that waits, which nothing told before: load it and say so in a note."""
        if not isinstance(error, NameError) or not error.name or not self.is_waiting(error.name):
            return
        name = error.name
        try:
            failed = self.load(name).failure_of([name])
        except KeyboardInterrupt as interrupt:  # the cell is at its end in any case
            for note in interrupt.__notes__:
                error.add_note(note)
            return
        if failed is not None:
            error.add_note(f"perdure: {failed.told}")
        else:
            error.add_note(f"perdure: {name} was deferred and is loaded now; run the cell again")

    def shown(self, error: BaseException) -> None:
        """`error` is about to be shown: what it tells of a failure is told in no notice of the cell too."""
        if (cell := self._cell.get()) is not None and cell.report.told:
            said = "\n".join([str(error), *getattr(error, "__notes__", ())])
            cell.report.told = tuple(line for line in cell.report.told if line[len("[layer: ") : -1] not in said)

    def load_all(self) -> str:
        """`%layer load`: what came of it, as sentences."""
        loading = self._deferred.load_all()
        names = _names(loading)
        told = [f"Loaded {', '.join(names)}{_packages(loading)}." if names else "Nothing was deferred."]
        if loading.failed:
            told = told if names else []
            told += [f"{failed.told}." for failed in loading.failed]
        if output := loading.output.rstrip():
            told.append(f"Loading printed:\n{output}")
        return "\n".join(told)

    def lines(self) -> list[str]:
        """The lines of `%cells` on what waits."""
        waiting = self._deferred.waiting()
        names = sorted(name for item in waiting for name in item.definition.gives)
        packages = sorted({package for item in waiting for package in item.packages})
        lines = [f"  deferred: {', '.join(names)} (wait for {', '.join(packages)})"] if names else []
        return lines + [f"  deferred and not to be loaded: {failed.told}" for failed in self._deferred.failures()]

    def _told(self, loading: Loading, but: Iterable[str] = ()) -> None:
        """Hand on what is to be told of a loading; not of the failures of names in `but`."""
        cell = self._cell.get()
        news = [*_news(loading)]
        hidden = {*but}
        failures = [f"[layer: {f.told}]" for f in loading.failed if hidden.isdisjoint(f.waiting.definition.gives)]
        if cell is None:
            for line in (*news, *failures):
                self._tell(line)
        else:
            cell.report.news += news
            cell.report.told = tuple(dict.fromkeys((*cell.report.told, *failures)))


def _news(loading: Loading) -> Iterable[str]:
    if loading.seconds >= _LONG and loading.loaded:
        yield f"[layer: loaded {', '.join(_names(loading))} in {loading.seconds:.1f} s{_packages(loading)}]"
    for item, name in loading.lazy:
        yield f"[layer: {item.definition.key} loaded with its annotations as text; {name} is not defined]"
    if output := loading.output.rstrip():
        yield f"[layer: loading printed:\n{output}]"


def _names(loading: Loading) -> list[str]:
    return [name for item in loading.loaded for name in item.definition.gives]


def _packages(loading: Loading) -> str:
    packages = sorted({package for item in loading.loaded for package in item.packages})
    return f" ({', '.join(packages)})" if packages else ""
