"""What a run of outcomes means for the table of what is kept, and for the files: the commit. Pure."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import field, replace

from .definition import Definition, Key
from .fileformat import render
from .import_lines import entries_in
from .outcome import Forgotten, Kept, Outcome, Unchanged
from .secret import says_secret
from .session import Context
from .slots import fact
from .store import Change, Message, Remove, Write
from .table import Table

LONGEST_SUBJECT = 72  # characters, git's own custom
_LONGEST_NOTE = 4_000  # characters: a note is prose; a page of code that was commented out belongs in no history


def apply(edit: Kept | Forgotten, table: Table) -> None:
    """Make `edit` in `table`."""
    for definition in definitions_of(edit):
        table.put(definition)
    if isinstance(edit, Forgotten):
        table.drop(edit.name)


def definitions_of(edit: Kept | Forgotten) -> tuple[Definition, ...]:
    """What `edit` keeps: the variables pulled in first."""
    return (*edit.pulled, edit.definition) if isinstance(edit, Kept) else ()


def with_rebound(edit: Kept, table: Table) -> Kept:
    """`edit` with a warning for each import of which definitions in `table` have meant another thing."""
    told: dict[str, None] = {}
    for definition in definitions_of(edit):
        others = table.differing(definition)
        for entry in entries_in(definition.imports):
            if keys := tuple(key for key, bindings in others.items() if entry.binding in bindings):
                told[f"{entry.binding} is by `{entry.statement}` now, for {_some(keys)} too"] = None
    return replace(edit, warnings=(*edit.warnings, *told)) if told else edit


def settled(outcome: Outcome, table: Table, restored: Collection[Definition]) -> Outcome:
    """`outcome` without the needs that later statements of the same run brought into `table`.

    `restored` are definitions that the run changed and left as they had been: `def f`, `f = wrap(f)`, run again.
    """
    if not isinstance(outcome, Kept):
        return outcome
    for definition in restored:
        if definition.key == outcome.definition.key:
            return Unchanged(definition, outcome.needs)

    def without(definition: Definition) -> Definition:
        needs = tuple(name for name in definition.needs if name not in table.by_name)
        return replace(definition, needs=needs) if needs != definition.needs else definition

    return replace(outcome, definition=without(outcome.definition), pulled=tuple(map(without, outcome.pulled)))


@fact
class Step:
    """One commit: its changes, its message, and which keys it kept and forgot."""

    changes: tuple[Change, ...]
    message: Message
    kept: tuple[Key, ...] = ()
    forgot: tuple[Key, ...] = field(default=())


def step(
    before: Table,
    after: Table,
    kept: Iterable[Key],
    forgot: Iterable[Key],
    context: Context,
    unread: Container[str] = (),
) -> Step:
    """The commit that leads from `before` to `after`; `kept` and `forgot` are what its subject names, in order.

    `unread` are names of files that no table has, since they could not be read.
    """
    stands = {path: definition for path in after.touched if (definition := after.at(path)) is not None}
    changes: list[Change] = [
        Write(path, render(definition)) for path, definition in sorted(stands.items()) if before.at(path) != definition
    ]
    changes += [Remove(path) for path in sorted(after.touched - stands.keys()) if before.at(path) is not None]
    kept = tuple(dict.fromkeys(kept))
    # What was kept and forgotten within one run was never there.
    forgot = tuple(
        key for key in dict.fromkeys(forgot) if (before.giver(key) or key in unread) and not after.giver(key)
    )
    subject, left_out = subject_of({"keep": kept, "forgot": forgot})
    note = "" if says_secret(context.note) else context.note
    if len(note) > _LONGEST_NOTE:
        note = note[:_LONGEST_NOTE] + "…"
    body = "\n\n".join(part for part in (left_out, note) if part)
    return Step(tuple(changes), Message(subject, body, trailers(context)), kept, forgot)


def subject_of(verbs: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """The subject line, and where it cannot hold all names the full list for the body."""
    full = "; ".join(f"{verb} {', '.join(keys)}" for verb, keys in verbs.items() if keys)
    if len(full) <= LONGEST_SUBJECT:
        return full, ""
    short = "; ".join(f"{verb} {_some(keys)}" for verb, keys in verbs.items() if keys)
    return short, full


def _some(keys: Sequence[str]) -> str:
    shown: list[str] = []
    for key in keys:
        if shown and len(", ".join([*shown, key])) > LONGEST_SUBJECT // 2:
            return f"{', '.join(shown)} and {len(keys) - len(shown)} more"
        shown.append(key)
    return ", ".join(shown)


def trailers(context: Context) -> tuple[tuple[str, str], ...]:
    """What a commit says of where it comes from."""
    said = {
        "Session": context.session,
        "Cell": f"In[{context.cell}]" if context.cell is not None else None,
        "Notebook": None if context.notebook and says_secret(context.notebook) else context.notebook,
    }
    return tuple((name, " ".join(value.split())) for name, value in said.items() if value)
