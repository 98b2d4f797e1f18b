"""Who needs a definition, and what it needs itself. Pure: told by the texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from .binding import bound_names
from .definition import Definition
from .dependents import callers, dependents, made_from, reads_of_kept
from .given import owner_of
from .slots import fact
from .source import parse


@fact
class Uses:
    """Names, each sorted, but for the imports, which are whole lines."""

    needed_by: tuple[str, ...]  # definitions that read it as they load
    used_by: tuple[str, ...]  # definitions that read it only when they are called
    put_on_it: tuple[str, ...]  # methods and registrations
    needs: tuple[str, ...]  # definitions that it reads as it loads
    uses: tuple[str, ...]  # definitions that it reads only when called, or in annotations
    imports: tuple[str, ...]
    variables: tuple[str, ...]  # other names that it reads and that are there: plain variables
    missing: tuple[str, ...]  # other names that it reads, and nothing has


def uses_of(
    name: str, known: Mapping[str, Definition], is_there: Callable[[str], bool], is_ambient: Callable[[str], bool]
) -> Uses:
    """The uses of the definition `name`, which `known` has, among those of `known`, by every name they give.

    `is_there` tells whether the namespace has a name, `is_ambient` whether any kernel has it, as the builtins.
    """
    definition, every = known[name], tuple(known.values())
    reads = reads_of_kept(definition)
    imported = bound_names(node for line in definition.imports for node in parse(line).body)
    others = {other for other in known if other not in definition.gives}
    plain = {read for read in reads.all - imported - known.keys() if not is_ambient(read)}
    load, later = reads.load & others, (reads.annotation | reads.call) & others
    needed_by = made_from(name, every) if owner_of(name) else dependents(name, every)
    return Uses(
        needed_by=_keys(needed_by),
        used_by=() if owner_of(name) else _keys(callers(name, every)),
        put_on_it=tuple(sorted(part for part in known if owner_of(part) == name)),
        needs=tuple(sorted(load)),
        uses=tuple(sorted(later - load)),
        imports=definition.imports,
        variables=tuple(sorted(filter(is_there, plain))),
        missing=tuple(sorted(read for read in plain if not is_there(read))),
    )


def _keys(definitions: Iterable[Definition]) -> tuple[str, ...]:
    return tuple(definition.key for definition in definitions)
