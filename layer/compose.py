"""A statement that is to be kept → its `Definition`: imports carried, variables pulled in, needs named. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .definition import Definition, Key, Kind
from .imports import ImportEntry, statements
from .outcome import Kept, NotKept, Unchanged
from .purity import why_impure
from .scope import Reads, reads_of
from .secret import suspect
from .source import Statement, bound_targets
from .view import Imported, Nowhere, Variable, View

LARGEST = 1 << 20  # bytes of one definition's text


class Composer:
    """Makes definitions in one view of the kernel; pulled-in variables are made once."""

    def __init__(self, view: View, forced: bool = False) -> None:
        self._view = view
        self._forced = forced
        self._pulled: dict[str, Definition] = {}
        self._pulling: set[str] = set()

    def compose(self, statement: Statement, kind: Kind, names: tuple[str, ...]) -> Kept | Unchanged | NotKept:
        """The definition of `names` by `statement`, or why it cannot be kept."""
        name = names[0]
        if why := self._refused(statement, name):
            return why
        made = self._make(statement, kind, names)
        if isinstance(made, NotKept):
            return made
        known = self._view.kept.get(name)
        if known is not None and _is_same(known, made) and not self._pulled:
            return Unchanged(made, self._variables(made.needs))
        pulled = tuple(self._pulled.values())
        needs = self._variables(name for definition in (made, *pulled) for name in definition.needs)
        warnings = [said for new in (*pulled, made) for said in self._made_with_the_earlier(new, name)]
        return Kept(made, pulled, needs, tuple(warnings))

    def readable(self, name: str) -> bool:
        """Whether `name` will be there when the layer loads, pulled in if need be."""
        origin = self._view.origin(name)
        return not isinstance(origin, Variable | Nowhere) or self._pull(name) is not None

    def _refused(self, statement: Statement, name: str) -> NotKept | None:
        size = len(statement.text.encode("utf-8", "replace"))
        if size > LARGEST:
            return NotKept(name, f"it has {size:,} bytes and a definition at most {LARGEST:,}; move its data to a file")
        if not self._is_encodable(statement.text):
            return NotKept(name, "it has lone surrogates, which no UTF-8 file can hold; write them as escapes")
        if not self._forced and (found := suspect(statement.text, statement.node)):
            what = "" if found == name else f" ({found})"
            return NotKept(name, f"looks like a secret{what}", forceable=True)
        return None

    @staticmethod
    def _is_encodable(text: str) -> bool:
        try:
            text.encode()
        except UnicodeEncodeError:
            return False
        return True

    def _make(self, statement: Statement, kind: Kind, names: tuple[str, ...]) -> Definition | NotKept:
        reads = reads_of(statement.node)
        carried, missing = self._carried(reads, frozenset(names))
        if missing:
            return NotKept(names[0], f"it needs {', '.join(missing)} to load", forceable=False)
        if own := sorted(reads.load & frozenset(names) & self._view.kept.keys()):
            return NotKept(names[0], f"its load reads the earlier {own[0]}, which it replaces")
        return Definition(
            key=Key(names[0]),
            kind=kind,
            text=statement.text,
            imports=statements(carried, statement.futures),
            needs=self._needs(reads, frozenset(names)),
            names=names if len(names) > 1 else (),
        )

    def _carried(self, reads: Reads, own: frozenset[str]) -> tuple[list[ImportEntry], list[str]]:
        """The imports that the definition carries, and the names without which it cannot load."""
        entries: list[ImportEntry] = []
        missing: list[str] = []
        for name in sorted(reads.all - own):
            chains = [chain for chain in reads.dotted if chain.startswith(f"{name}.")]
            origin = self._view.origin(name, chains)
            if isinstance(origin, Imported):
                entries.extend(origin.entries)
            elif isinstance(origin, Variable) and name in reads.load and self._pull(name) is None:
                missing.append(name)
        return entries, missing

    def _needs(self, reads: Reads, own: frozenset[str]) -> tuple[str, ...]:
        """Names read only when called that nothing kept gives now."""
        names = sorted(reads.call - own - self._pulled.keys())
        return tuple(name for name in names if isinstance(self._view.origin(name), Variable | Nowhere))

    def _variables(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted({name for name in names if isinstance(self._view.origin(name), Variable)}))

    def _pull(self, name: str) -> Definition | None:
        """The definition by which the plain variable `name` can be kept too; None if it cannot."""
        if name in self._pulled:
            return self._pulled[name]
        origin = self._view.origin(name)
        if not isinstance(origin, Variable) or origin.plain is None or name in self._pulling:
            return None
        statement = origin.plain.statement
        value = getattr(statement.node, "value", None)
        if value is None or bound_targets(statement.node) != (name,):
            return None
        self._pulling.add(name)
        try:
            if why_impure(value, self._view.import_path, self.readable) or self._refused(statement, name):
                return None
            made = self._make(statement, Kind.VALUE, (name,))
        finally:
            self._pulling.discard(name)
        if isinstance(made, NotKept):
            return None
        self._pulled[name] = made
        return made

    def _made_with_the_earlier(self, made: Definition, but: str) -> Iterator[str]:
        """Warnings for kept definitions, `but` one, that hold on to what `made` replaces (DESIGN §3, `g = f`)."""
        known = self._view.kept.get(made.key)
        if known is None or known.text == made.text:
            return
        namespace = self._view.namespace
        for other in self._view.dependents(made.key):
            if other.key == but:
                continue
            if other.text.partition("=")[2].strip() != made.key:
                yield f"{other.key} was made with the earlier {made.key}; after a restart it is made with the new one"
            elif namespace.get(other.key) is not namespace.get(made.key):
                yield f"{other.key} still is the earlier {made.key}; after a restart it is the new one"


def _is_same(known: Definition, made: Definition) -> bool:
    """Whether writing `made` would change nothing that matters when `known` loads."""
    return (
        known.text == made.text
        and known.kind is made.kind
        and known.names == made.names
        and set(known.imports) == set(made.imports)
        # A need that went away stays in the header, harmlessly; a new one has to be written down.
        and set(made.needs) <= set(known.needs)
    )
