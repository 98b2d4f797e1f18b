"""What a cell came to: its outcomes, for `metadata.perdure` and as notices. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from perdure.layer.definition import Definition, Kind
from perdure.layer.outcome import Forgotten, Hidden, Kept, NotKept, Outcome, Returns, Unchanged
from perdure.layer.shipped import folder_told
from perdure.layer.slots import state

from . import others
from .wire import VERSION, Notices

if TYPE_CHECKING:
    from perdure.layer.others import Others

_MOST = 4  # lines of a kind
_SHOWN = 60  # characters of a value's text in a notice


@state
class Report:
    """Filled while a cell runs, read when it has ended."""

    outcomes: list[Outcome] = field(default_factory=list)
    asked: list[Outcome] = field(default_factory=list)  # those of `outcomes` that `%keep` asked for
    faults: list[str] = field(default_factory=list)  # what went wrong in keeping, as clauses
    told: tuple[str, ...] = ()  # notices that waited for a cell to show them: what happened at boot
    others: Others | None = None  # what others did to the layer, for who is shown all
    news: list[str] = field(default_factory=list)  # lines for who is shown all: what was loaded, and took long
    unloadable: list[str] = field(default_factory=list)  # what will not load after a restart, for `metadata.perdure`
    forms: int = 0  # top-level statements of the cell
    failed_form: int | None = None  # counted from 1

    def lines(self, notices: Notices) -> list[str]:
        """The notices to show."""
        anything = self.outcomes or self.told or self.others or self.news or self.faults or self.failed_form
        if notices is Notices.NONE or not anything:
            return []
        everything = notices is Notices.ALL
        lines = [*_successes(self.outcomes if everything else self.asked, repeat=not everything), *self.told]
        if everything:
            lines += [f"[layer: {others.told(self.others)}]"] if self.others is not None else []
            lines += [_already(outcome.definition) for outcome in self.asked if isinstance(outcome, Unchanged)]
        lines += _problems(self.outcomes, repeat=not everything)
        lines += [f"[layer: {fault}]" for fault in dict.fromkeys(self.faults)]
        if everything:
            lines += self.news
            # What an outcome warns of hangs on what the kernel had before, so a notebook would not show it each time.
            lines += [f"[layer: {said}]" for said in some(self._warnings(), "more warnings like these")]
            if self.failed_form is not None and self.forms > 1:
                lines.append(f"[error in form {self.failed_form} of {self.forms}]")
        return lines

    def metadata(self, session: str) -> dict[str, object]:
        """The value of `metadata.perdure` in the reply (DESIGN §8); strict JSON."""
        kept = [outcome for outcome in self.outcomes if isinstance(outcome, Kept)]
        return {
            "v": VERSION,
            "session": session,
            "state": "done",
            "failed_form": self.failed_form,
            "kept": list(_kept_names(kept)),
            "forgot": list(dict.fromkeys(o.name for o in self.outcomes if isinstance(o, Forgotten))),
            "not_kept": [{"name": o.name, "reason": o.reason} for o in self.outcomes if isinstance(o, NotKept)],
            "needs": [
                {"name": outcome.definition.key, "names": list(outcome.needs)} for outcome in kept if outcome.needs
            ],
            "warnings": [*self._warnings(), *self.unloadable, *dict.fromkeys(self.faults)],
        }

    def _warnings(self) -> list[str]:
        said: list[str] = []
        for number, outcome in enumerate(self.outcomes):
            if isinstance(outcome, Kept):
                said += outcome.warnings
            elif isinstance(outcome, Hidden) and not _is_settled(outcome.name, self.outcomes[number:]):
                said.append(_hidden(outcome))
            elif isinstance(outcome, Returns) and not _is_settled(outcome.name, self.outcomes[number:]):
                said.append(f"the next start brings {outcome.name} back, from {folder_told(outcome.folder)}")
        return list(dict.fromkeys(said))


def some(told: list[str], rest: str) -> list[str]:
    """The first few of `told`, and how many more there are: nobody reads hundreds."""
    return told if len(told) <= _MOST else [*told[:_MOST], f"{len(told) - _MOST} {rest}"]


def _successes(outcomes: Sequence[Outcome], *, repeat: bool) -> Iterable[str]:
    """`repeat`: as in `_problems`."""
    kinds = Kept | Unchanged if repeat else Kept
    whole = [outcome for outcome in outcomes if isinstance(outcome, kinds) and not outcome.needs]
    if names := list(_kept_names(whole, with_pulled=not repeat)):
        yield f"[layer: kept {', '.join(names)}]"
    forgotten = (o.name for o in outcomes if isinstance(o, Forgotten) and not o.reason)
    if gone := list(dict.fromkeys(forgotten)):
        yield f"[layer: forgot {', '.join(gone)}]"


def _problems(outcomes: Sequence[Outcome], *, repeat: bool) -> Iterable[str]:
    """What a user should know even in a notebook.

    `repeat`: also of definitions that did not change, since a notebook run again shows what it showed before; and so
    nothing of what is pulled in, which is there already then.
    """
    seen: set[str] = set()
    for outcome in outcomes:
        line = _problem(outcome, repeat)
        if line is not None and line not in seen:
            seen.add(line)
            yield line


def _problem(outcome: Outcome, repeat: bool) -> str | None:
    match outcome:
        case Kept(needs=needs) | Unchanged(needs=needs) if needs and (repeat or isinstance(outcome, Kept)):
            names = _kept_names([outcome], with_pulled=not repeat)
            return f"[layer: kept {', '.join(names)}; needs {', '.join(needs)} (not kept)]"
        case NotKept(name, reason, forceable, is_secret):
            one = name.partition(",")[0]
            if is_secret:
                what, *rest = reason.split("; ", 1)
                advice = [f"%keep {one} commits it to git all the same"] if forceable else []
                told = "; ".join([f"{name} {what}", "not kept", *rest, *advice])
                return f"[layer: {told}]"
            return f"[layer: {name} not kept; {reason}{f'; %keep {one} keeps it' if forceable else ''}]"
        case Forgotten(name, reason) if reason:
            return f"[layer: forgot {name}; {reason}]"
    return None


def _hidden(outcome: Hidden) -> str:
    name, what = outcome.name, outcome.definition.kind.name.lower()
    still = f"the layer still has the {what}, and a restart brings it back"
    return f"{name} is an import now; {still}; `del {name}` forgets it"


def _is_settled(name: str, later: Iterable[Outcome]) -> bool:
    """Whether the definition `name` was run again or forgotten in the same cell: then there is nothing to warn of."""
    return any(
        name in outcome.definition.gives if isinstance(outcome, Kept | Unchanged) else name == outcome.name
        for outcome in later
        if isinstance(outcome, Kept | Unchanged | Forgotten)
    )


def _already(definition: Definition) -> str:
    lines = [line for line in definition.text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    what = lines[0] if lines and definition.kind is Kind.VALUE and not _is_secret(definition) else ""
    shown = f", as {what[:_SHOWN]}{'…' if len(what) > _SHOWN or lines[1:] else ''}" if what else ""
    return f"[layer: {', '.join(definition.gives)} is kept already{shown}]"


def _is_secret(definition: Definition) -> bool:
    """Whether its text belongs in no notice: what a notebook shows is saved with it."""
    from perdure.layer.secret import suspect  # here, as below: few cells ask for what is kept already
    from perdure.layer.source import parse

    return suspect(definition.text, parse(definition.text)) is not None


def _kept_names(kept: Iterable[Kept | Unchanged], *, with_pulled: bool = True) -> Iterable[str]:
    found: dict[str, None] = {}
    for outcome in kept:
        pulled = outcome.pulled if isinstance(outcome, Kept) and with_pulled else ()
        found |= dict.fromkeys(name for definition in (*pulled, outcome.definition) for name in definition.gives)
    return found
