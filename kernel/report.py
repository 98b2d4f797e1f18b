"""What a cell came to: its outcomes, for `metadata.perdure` and as notices. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from perdure.layer.outcome import Forgotten, Kept, NotKept, Outcome, Unchanged

from .wire import VERSION, Notices


@dataclass(slots=True)
class Report:
    """Filled while a cell runs, read when it has ended."""

    outcomes: list[Outcome] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    told: tuple[str, ...] = ()  # notices that waited for a cell to show them: what happened at boot
    forms: int = 0  # top-level statements of the cell
    failed_form: int | None = None  # counted from 1

    def lines(self, notices: Notices) -> list[str]:
        """The notices to show."""
        if notices is Notices.NONE:
            return []
        everything = notices is Notices.ALL
        outcomes = _at_the_end(self.outcomes)
        lines = [*self.told, *_problems(outcomes, repeat=not everything)]
        lines += [f"[layer: {warning}]" for warning in self._all_warnings()]
        if everything:
            lines = [*_successes(outcomes), *lines]
            if self.failed_form is not None and self.forms > 1:
                lines.append(f"[error in form {self.failed_form} of {self.forms}]")
        return lines

    def metadata(self, session: str) -> dict[str, object]:
        """The value of `metadata.perdure` in the reply (DESIGN §8); strict JSON."""
        kept = [outcome for outcome in _at_the_end(self.outcomes) if isinstance(outcome, Kept)]
        return {
            "v": VERSION,
            "session": session,
            "state": "done",
            "failed_form": self.failed_form,
            "kept": list(_kept_names(kept)),
            "forgot": list(dict.fromkeys(o.name for o in self.outcomes if isinstance(o, Forgotten))),
            "not_kept": [{"name": o.name, "reason": o.reason} for o in self.outcomes if isinstance(o, NotKept)],
            "needs": [
                {"name": outcome.definition.key, "names": list(outcome.definition.needs)}
                for outcome in kept
                if outcome.definition.needs
            ],
            "warnings": self._all_warnings(),
        }

    def _all_warnings(self) -> list[str]:
        own = [warning for outcome in self.outcomes if isinstance(outcome, Kept) for warning in outcome.warnings]
        return [*own, *self.warnings]


def _at_the_end(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes without the needs that later statements of the cell met: functions may stand in any order."""
    there: set[str] = set()
    settled: list[Outcome] = []
    for outcome in reversed(outcomes):
        if isinstance(outcome, Kept | Unchanged):
            definition = outcome.definition
            needs = tuple(name for name in definition.needs if name not in there)
            outcome = replace(outcome, definition=replace(definition, needs=needs))
            there.update(definition.gives)
        settled.append(outcome)
    return settled[::-1]


def _successes(outcomes: Sequence[Outcome]) -> Iterable[str]:
    whole = [outcome for outcome in outcomes if isinstance(outcome, Kept) and not outcome.definition.needs]
    if names := list(_kept_names(whole)):
        yield f"[layer: kept {', '.join(names)}]"
    forgotten = (o.name for o in outcomes if isinstance(o, Forgotten) and not o.reason)
    if gone := list(dict.fromkeys(forgotten)):
        yield f"[layer: forgot {', '.join(gone)}]"


def _problems(outcomes: Sequence[Outcome], *, repeat: bool) -> Iterable[str]:
    """What a user should know even in a notebook.

    `repeat`: also of definitions that did not change, since a notebook run again shows what it showed before.
    """
    seen: set[str] = set()
    for outcome in outcomes:
        line = _problem(outcome, repeat)
        if line is not None and line not in seen:
            seen.add(line)
            yield line


def _problem(outcome: Outcome, repeat: bool) -> str | None:
    match outcome:
        case Kept(definition, pulled) if definition.needs:
            names = ", ".join([*(p.key for p in pulled), definition.key])
            return f"[layer: kept {names}; {_needs(definition.needs)}]"
        case Unchanged(definition) if definition.needs and repeat:
            return f"[layer: kept {definition.key}; {_needs(definition.needs)}]"
        case NotKept(name, reason, forceable):
            force = f"; %keep {name.partition(',')[0]} keeps it" if forceable else ""
            said = f"{name} {reason}; not kept" if reason.startswith("looks ") else f"{name} not kept; {reason}"
            return f"[layer: {said}{force}]"
        case Forgotten(name, reason) if reason:
            return f"[layer: forgot {name}; {reason}]"
    return None


def _needs(names: tuple[str, ...]) -> str:
    return f"needs {', '.join(names)} (not kept)"


def _kept_names(kept: Iterable[Kept]) -> Iterable[str]:
    return dict.fromkeys(d.key for outcome in kept for d in (*outcome.pulled, outcome.definition))
