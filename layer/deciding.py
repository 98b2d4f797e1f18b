"""What the statements of one run come to until it is committed: they are decided on, and committed together.

Owns what is decided and not yet written, and looks whether others moved the layer meanwhile. `run` hands on what may
concern the layer at all.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from .binding import bound_names
from .blocks import taken
from .compose import looks_secret, with_values
from .decide import decide
from .definition import Definition
from .errors import LayerError, StoreFault
from .given import given_by
from .interrupts import interrupts_deferred
from .leaving import forgotten
from .outcome import Forgotten, Kept, NotKept, Outcome, Unchanged
from .plan import apply, settled, with_rebound
from .secret import Secret, secrets_in, secrets_of, suspect
from .session import Context
from .shipped import folder_told
from .source import Statement
from .table import Table
from .view import InLayer
from .wanted import wanting

if TYPE_CHECKING:
    from .room import Layer


class Deciding:
    """The decisions on the statements of one run (`run.Run`)."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._outcomes: list[Outcome] = []
        self._edits: list[Kept | Forgotten] = []
        self._ahead: Table | None = None  # the layer's table as it will be after the commit
        self._looked = False  # whether it was asked since the last commit if others moved the layer

    def look_through(self, texts: Iterable[str]) -> None:
        """Know what looks like a secret in these texts of the cell before any of it is written."""
        for text in texts:
            self._layer.variables.secrets.learn((), secrets_of(text))

    def offer(
        self, statement: Statement, names: frozenset[str], changed: frozenset[str], called: frozenset[str]
    ) -> None:
        """Take in a statement that has just completed; nothing is written yet.

        It bound `names`, may have changed the values of `changed` in place, and called methods of those of `called`.
        """
        layer = self._layer
        with layer.lock, interrupts_deferred():
            fresh = frozenset(name for name in names if self._is_fresh(name))
            names = layer.variables.see(statement, names, self.kept)
            before = len(self._outcomes)
            inside = taken(statement, layer.image.namespace, fresh.__contains__) or ()
            for each in inside:  # of an `if` or `try`: as if written plainly
                layer.variables.see(each, bound_names([each.node]), self.kept)
                self._decide(each, bound=bound_names([each.node]))
            rest = names - bound_names(each.node for each in inside)
            self._decide(statement, bound=rest, called=called)
            layer.shipped.settle(names, self._outcomes[before:])
            layer.deferred.set_otherwise(names)
            for name in names:
                layer.image.mark(name)
            told = {outcome.name for outcome in self._outcomes[before:] if isinstance(outcome, NotKept)}
            layer.variables.changed |= (changed | called) & told & self.kept.keys()
            layer.variables.touch(statement, self.kept)

    def keep(self, name: str) -> None:
        """Keep `name` all the same, as `%keep` asks: what was refused, or a variable whose value can be written."""
        layer = self._layer
        with layer.lock, interrupts_deferred():
            self._look()
            kept = self.kept
            origin = layer.view(layer.table.by_name).origin(name)
            if name not in kept and isinstance(origin, InLayer):
                giver = folder_told(layer.shipped.origins[name])
                self._outcomes.append(NotKept(name, f"{giver} gives it at each start"))
                return
            if name in kept and name in layer.deferred.names:
                self._outcomes.append(Unchanged(kept[name]))
                return
            statement = layer.variables.setting(name, kept, origin)
            if statement is None:
                self._outcomes.append(Unchanged(kept[name]))
                return
            if isinstance(statement, NotKept):
                self._outcomes.append(statement)
                return
            # A secret is kept only by who was told that it is one; the second time it is asked for, they were.
            secrets = layer.variables.secrets
            if name in layer.variables.refused:  # its value may have what it was made with
                secrets.learn((), self._secrets_of(layer.variables.refused[name]))
            found = suspect(statement.text, statement.node) or secrets.found_in(statement.text)
            if found and name not in secrets.names:
                self._take(looks_secret(name, found), statement)
                return
            self._decide(statement, forced=True)
            if name in self.kept:
                layer.variables.changed.discard(name)  # it is written as it is now

    def knows(self, name: str) -> bool:
        """Whether the layer has anything of the name `name`, live or not."""
        layer = self._layer
        with layer.lock:
            self._look()
            return (self._ahead or layer.table).giver(name) is not None or name in layer.skipped_names()

    def forget(self, name: str) -> None:
        """Take `name` out of the layer and the namespace, as `%forget` asks; a file that was skipped goes too."""
        layer = self._layer
        with layer.lock, interrupts_deferred():
            self._look((Forgotten(name),))
            gone = forgotten(layer.view(self.kept), (name,), "")
            is_kept = any(isinstance(outcome, Forgotten) for outcome in gone)
            if not is_kept and (name in layer.skipped_names() or (self._ahead or layer.table).giver(name)):
                gone = (Forgotten(name), *gone)
            elif not is_kept:
                self._outcomes.append(NotKept(name, "the layer has nothing of that name to forget"))
            for outcome in gone:
                if isinstance(outcome, Forgotten):
                    still = "it stays registered until this kernel ends" if "@" in outcome.name else ""
                    reason = "; ".join(part for part in (outcome.reason, still) if part)
                    outcome = replace(outcome, reason=reason, asked=True)
                    self._edit(outcome)
                self._outcomes.append(outcome)
            layer.shipped.settle((outcome.name for outcome in gone if isinstance(outcome, Forgotten)), ())

    @property
    def is_empty(self) -> bool:
        """Whether nothing came of what was offered."""
        return not self._outcomes

    @property
    def waits(self) -> bool:
        """Whether there is something to write before what may take long starts.

        What only takes stages away is not: `def f`, run again, lost its `f = wrap(f)`, and may be getting it back.
        """
        return not all(map(self._takes_stages_away, self._edits))

    def flush(self, context: Context) -> tuple[list[Outcome], list[str]]:
        """Commit what was offered since the last flush: its outcomes, and sentences to warn with.

        A commit that fails makes each definition a `NotKept`; nothing of it is written then.
        """
        outcomes, edits, ahead = self._outcomes, self._edits, self._ahead
        self._outcomes, self._edits, self._ahead, self._looked = [], [], None, False
        if ahead is None:
            return outcomes, []
        restored = self._restored(edits, ahead)
        outcomes = [settled(outcome, ahead, restored) for outcome in outcomes]
        outcomes = [self._told_of_notebook(outcome, context) for outcome in outcomes]
        made = {name for outcome in outcomes if isinstance(outcome, Kept) for name in outcome.definition.gives}
        outcomes = [self._told_of_skipped(outcome, made) for outcome in outcomes]
        back = {name for definition in restored for name in definition.gives}
        edits = [
            outcome
            for outcome in outcomes
            if isinstance(outcome, Kept) or (isinstance(outcome, Forgotten) and outcome.name not in back)
        ]
        try:
            warnings = self._layer.commit(edits, context)
        except LayerError as fault:
            failed = [_failed(outcome, fault) if outcome in edits else outcome for outcome in outcomes]
            return failed, []
        return outcomes, warnings

    def _is_fresh(self, name: str) -> bool:
        """Whether the statement that has just run bound `name` to another object than it had."""
        layer = self._layer
        if name in self.kept:
            return layer.image.is_other(name)
        known = layer.variables.plain.get(name)
        return known is None or known.identity != id(layer.image.namespace.get(name))

    def _restored(self, edits: Iterable[Kept | Forgotten], ahead: Table) -> list[Definition]:
        """What was changed by one of `edits`, as by losing its stages, and is by others what it was."""
        before = self._layer.table.by_name
        made = (edit.definition for edit in edits if isinstance(edit, Kept) and not edit.pulled)
        keys = {each.key for each in made if each.key in before and before[each.key].text != each.text}
        return [before[key] for key in sorted(keys) if before[key] == ahead.by_name.get(key)]

    def _takes_stages_away(self, edit: Kept | Forgotten) -> bool:
        if not isinstance(edit, Kept) or edit.pulled:
            return False
        known = self._layer.table.by_name.get(edit.definition.key)
        return known is not None and known.text.startswith(f"{edit.definition.text}\n")

    @property
    def kept(self) -> Mapping[str, Definition]:
        """What is kept once what waits is committed, by every name it gives."""
        return self._ahead.by_name if self._ahead else self._layer.table.by_name

    def _decide(
        self,
        statement: Statement,
        *,
        forced: bool = False,
        bound: Iterable[str] = (),
        called: frozenset[str] = frozenset(),
    ) -> None:
        layer = self._layer
        outcomes = decide(statement, layer.view(self.kept, bound, called), forced=forced)
        if any(isinstance(outcome, Kept | Unchanged | Forgotten) for outcome in outcomes):
            try:
                if self._look(outcomes):
                    outcomes = decide(statement, layer.view(self.kept, bound, called), forced=forced)
            except LayerError as fault:
                outcomes = tuple(_failed(outcome, fault) for outcome in outcomes)
        for outcome in outcomes:
            self._take(self._told_of_others(outcome), statement)

    def _told_of_others(self, outcome: Outcome) -> Outcome:
        """`outcome`, which says so where it takes the place of a text that this kernel neither wrote nor loaded."""
        if not isinstance(outcome, Kept):
            return outcome
        key, table, live = outcome.definition.key, self._layer.table, self._layer.image.live
        there = table.giver(key)
        is_shipped = key in live and live[key] is self._layer.shipped.definitions.get(key)
        if there is None and key in live and not is_shipped and key not in self._layer.skipped_names():
            return replace(outcome, warnings=(*outcome.warnings, f"others took {key} out of the layer meanwhile"))
        if there is None or (key in live and live[key].text == there.definition.text):
            return outcome
        if there.path in {skipped.path for skipped in self._layer.report.skipped}:
            return outcome
        return replace(
            outcome, warnings=(*outcome.warnings, f"the layer had another {key}, which is not of this kernel")
        )

    def _told_of_notebook(self, outcome: Outcome, context: Context) -> Outcome:
        """`outcome`, which says so where it replaces what another notebook kept."""
        if not isinstance(outcome, Kept) or (key := outcome.definition.key) not in self._layer.table.entries:
            return outcome
        if (other := self._layer.record.replaced(key, context)) is None:
            return outcome
        return replace(outcome, warnings=(*outcome.warnings, f"{key} was kept by {other}; this replaces it"))

    def _told_of_skipped(self, outcome: Outcome, made: Collection[str]) -> Outcome:
        """`outcome`, which says so where the start skipped something for want of it; `made` is kept with it."""
        if not (skipped := self._layer.report.skipped) or not isinstance(outcome, Kept):
            return outcome
        there = self._layer.table.entries.get(outcome.definition.key)
        found = wanting(skipped, outcome.definition.gives) if there is None or not there.awake else ()
        if not (names := [name for each in found for name in each.names if name not in made]):
            return outcome
        was, them = ("was", "it") if len(names) == 1 else ("were", "them")
        said = f"{', '.join(names)} {was} skipped for want of {outcome.definition.key}; the next start loads {them}"
        return replace(outcome, warnings=(*outcome.warnings, said))

    def _look(self, outcomes: Iterable[Outcome] = ()) -> bool:
        """Whether others changed what `outcomes` were decided on; then it has been read anew."""
        layer = self._layer
        moved = not self._looked and layer.has_moved()
        self._looked = True
        names = [
            name for outcome in outcomes if isinstance(outcome, Kept | Unchanged) for name in outcome.definition.gives
        ]
        names += [outcome.name for outcome in outcomes if isinstance(outcome, Forgotten)]
        if moved or layer.has_changed(names):
            layer.reread()
            if self._ahead is not None:
                self._ahead = layer.table.copy()
                for edit in self._edits:
                    apply(edit, self._ahead)
            return True
        return False

    def _take(self, outcome: Outcome, statement: Statement) -> None:
        if isinstance(outcome, Kept):
            outcome = with_rebound(outcome, self._ahead or self._layer.table)
        self._outcomes.append(outcome)
        if isinstance(outcome, NotKept):
            if outcome.is_secret:
                self._layer.variables.secrets.learn(outcome.name.split(", "), self._secrets_of(statement))
            for name in given_by(statement.node):
                self._layer.variables.refused[name] = statement
        elif isinstance(outcome, Kept | Forgotten):
            self._edit(outcome)

    def _secrets_of(self, statement: Statement) -> list[Secret]:
        """What looks like a secret in it, or in what it is with the values of the variables that it reads."""
        if found := [*secrets_in(statement.text, statement.node)]:
            return found
        plain = self._layer.variables.plain
        settings = {name: setting.node for name, known in plain.items() if (setting := known.statement) is not None}
        whole = with_values(statement.node, settings)
        return [*secrets_in(ast.unparse(whole), whole)]

    def _edit(self, edit: Kept | Forgotten) -> None:
        self._edits.append(edit)
        self._ahead = self._ahead or self._layer.table.copy()
        apply(edit, self._ahead)


def _failed(outcome: Outcome, fault: LayerError) -> Outcome:
    if isinstance(outcome, Kept | Unchanged):
        return NotKept(outcome.definition.key, str(fault))
    if isinstance(outcome, Forgotten):
        told = str(fault)
        if isinstance(fault, StoreFault) and not outcome.reason:  # a `del` cannot be run again: the name is gone
            told = f"{fault.why}; mend that, and %forget {outcome.name} takes it out"
        return NotKept(outcome.name, f"still in the layer: {told}")
    return outcome
