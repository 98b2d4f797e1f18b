"""Modules of definitions as people write them, drawn by hypothesis, with what is to be left of each after a restart.

A module is made of forms, which stand below forms/ much as they are typed. What differs from one to the next is drawn:

    $f, $Kind, $LIMIT       a name of the module's own, the same throughout the form; `$plain…` are plain variables
    <function>, <class>     what an earlier form offered; `<own function>` is still free to be changed, since nothing
                            was made with it, `<spare function>` to be deleted too; `<function f>`: the same each time
    <number>, <pure>, <n>   an int: for any place that is read as it loads, for one that must be pure, and from n
    <hint>, <decorator>, <parameters>, <doc>
    <functools.wraps>       imported, by one of the forms an import has

Statements are apart by an empty line. Behind them, `->` says what they are to others and to the test:

    -> function $f          it is offered: takes an int and gives one
    -> class $K             K() can be made and inherited from; its method value(n) gives an int
    -> number, pure, hint, decorator …   an expression to be drawn in these places
    -> sample …             an expression whose repr is to be the same in any process
    -> keeps $K.grow        what is kept beside the names that the statements set
    -> gone, anew $f        it is no longer kept, or another: samples so far do not hold
    -> meanwhile            here others may stand
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from textwrap import dedent
from typing import TypeVar

from hypothesis import strategies as st

from .forms.changes import CHANGES
from .forms.classes import CLASSES
from .forms.constants import CONSTANTS
from .forms.functions import FUNCTIONS
from .forms.texts import TEXTS

_T = TypeVar("_T")

FORMS = {name: dedent(text).strip() for name, text in (FUNCTIONS | CLASSES | CONSTANTS | CHANGES | TEXTS).items()}

_PLACE = re.compile(r"<((?:own |spare )?(?:function|class)(?: \w)?|[a-z_]+(?:\.\w+)*)>")
_APART = "# Apart.\n"  # by an empty line: no part of the definition
_COMMENTS = ["# Above.", "# Above,\n#\n#   and more: λ → é", _APART]


@dataclass(frozen=True, slots=True)
class Module:
    """Cells, and what is to be left of them; their names begin with m0_ and M0_ until they are numbered."""

    cells: tuple[str, ...]
    kept: tuple[str, ...]
    gone: tuple[str, ...]
    samples: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]  # a kept name and what is to be found in the text of its definition

    def numbered(self, number: int) -> Module:
        """The same with names of its own among others."""

        def renamed(text: str) -> str:
            return text.replace("m0_", f"m{number}_").replace("M0_", f"M{number}_")

        cells, kept, gone, samples = (
            tuple(map(renamed, part)) for part in (self.cells, self.kept, self.gone, self.samples)
        )
        return Module(cells, kept, gone, samples, tuple((renamed(name), renamed(text)) for name, text in self.texts))

    def __str__(self) -> str:
        return "\n# %%\n".join(self.cells)


@dataclass(slots=True)
class _Offer:
    """An expression that others may use, and the names it is of."""

    text: str
    names: frozenset[str]


@dataclass(slots=True)
class _Writer:
    """Writes one module, form by form."""

    draw: st.DrawFn
    imports_first: bool
    statements: list[str] = field(default_factory=list)
    kept: dict[str, str | None] = field(default_factory=dict)  # name → what is in its text, if that can be told
    gone: list[str] = field(default_factory=list)
    samples: list[str] = field(default_factory=list)
    offers: dict[str, list[_Offer]] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)  # what a name reads when it is called
    fixed: set[str] = field(default_factory=set)  # names that others were made with
    used: set[str] = field(default_factory=set)
    changing: frozenset[str] = frozenset()  # what the form that is being written gives another meaning
    imports: set[str] = field(default_factory=set)
    count: int = 0

    def one_of(self, choices: list[_T]) -> _T:
        return self.draw(st.sampled_from(choices))

    def chance(self) -> bool:
        return self.one_of([False, True])

    def add(self, form: str, depth: int = 0) -> None:
        """Write a form."""
        number, self.count = self.count, self.count + 1
        chosen: dict[str, str] = {}
        others_changing = self.changing
        reads: set[str] = set()

        def name(match: re.Match[str]) -> str:
            return f"{'M' if match[1][0].isupper() else 'm'}0_{number}_{match[1]}"

        def place(match: re.Match[str]) -> str:
            what = match[1]
            if what not in chosen:
                text = self.filled(what, reads)
                if " " not in what:
                    return text
                chosen[what] = text
            return chosen[what]

        text = _PLACE.sub(place, re.sub(r"\$(\w+)", name, FORMS[form]))
        self.changing = others_changing
        own: set[str] = set()
        for block, directive in _parts(text):
            for statement in _statements(block):
                own |= self.state(statement)
            match directive.split(" ", 1):
                case ["meanwhile"] if depth < 2 and self.chance():
                    self.add(self.one_of([*FORMS]), depth + 1)
                case ["keeps", key]:
                    self.kept[key] = None
                    owner, _, registered = key.partition("@")
                    self.used.add(owner.partition(".")[0])
                    if registered:
                        self.fix(frozenset({owner}))
                case ["gone", key]:
                    self.anew(key)
                    self.kept.pop(key)
                    self.gone.append(key)
                case ["anew", key]:
                    self.anew(key)
                case ["sample", sample]:
                    self.samples.append(sample)
                case [kind, expression] if kind in ("function", "class", "number", "pure", "hint", "decorator"):
                    self.offer(kind, expression)
        for each in own:
            self.calls.setdefault(each, set()).update(reads)
        for key, what in chosen.items():
            if key.startswith("own"):
                self.offers[key.split()[1]].append(_Offer(what, frozenset({what})))

    def state(self, statement: str) -> set[str]:
        """Write a statement, perhaps with comments; gives the names it sets."""
        if not statement.startswith("del ") and self.one_of([False, False, True]):
            comment = self.one_of(_COMMENTS)
            statement = f"{comment}\n{statement}"
        tree = ast.parse(statement).body
        if len(tree) == 1 and not statement.rpartition("\n")[2].lstrip().startswith("#") and self.chance():
            statement += "  # behind"
        self.statements.append(statement)
        names = {name for node in tree for name in _set_by(node)}
        # What stands in a block or beside another on its line is written in another way.
        exact = len(tree) == 1 and not isinstance(tree[0], ast.If | ast.Try)
        for name in names:
            self.kept[name] = statement.removeprefix(_APART).lstrip() if exact else None
        return names

    def offer(self, kind: str, expression: str) -> None:
        names = frozenset(re.findall(r"_?[mM]0_\w+", expression))
        self.offers.setdefault(kind, []).append(_Offer(expression, names))
        if kind == "function":
            self.samples.append(f"{expression}(3)")
            self.offers.setdefault("number", []).append(_Offer(f"{expression}(2)", names))

    def anew(self, name: str) -> None:
        """What was said of `name` is so no longer."""
        self.samples = [sample for sample in self.samples if name not in sample]
        for kind, offers in self.offers.items():
            self.offers[kind] = [offer for offer in offers if name not in offer.names]

    def fix(self, names: frozenset[str]) -> None:
        """`names` are read as something loads, and with them whatever they call: from now on they stay as they are."""
        called = self.called_by(names)
        self.fixed |= called
        self.used |= called

    # What stands in the places.

    def filled(self, what: str, reads: set[str]) -> str:
        """The text for the place `what`; the names that are read when it is called are added to `reads`."""
        match what.split():
            case ["own" | "spare" as how, kind, _]:
                return self.free(kind, with_used=how == "own")
            case [kind, *_] if kind in ("function", "class"):
                return self.taken(kind) or self.made(kind)
            case ["number"]:
                return (self.chance() and self.taken("number")) or self.taken("pure") or self.literal()
            case ["pure"]:
                return (self.chance() and self.taken("pure")) or self.literal()
            case ["n"]:
                return self.called(reads)
            case ["hint"]:
                taken = self.taken("hint") if self.chance() else ""
                return (repr(taken) if self.chance() else taken) if taken else self.one_of(_HINTS)
            case ["decorator"]:
                taken = self.taken("decorator") if self.chance() else ""
                return taken or self.imported("functools", self.one_of(["lru_cache", "cache"]))
            case ["parameters"]:
                return self.parameters()
            case ["doc"]:
                return self.one_of(_DOCS)
        module, _, attribute = what.rpartition(".")
        return self.imported(module, attribute)

    def literal(self) -> str:
        return str(self.draw(st.integers(0, 9)))

    def taken(self, kind: str) -> str:
        """An offer of this kind, which stays as it is from now on; empty where there is none."""
        offers = self.offered(kind)
        if not offers:
            return ""
        offer = self.one_of(offers)
        self.fix(offer.names)
        return offer.text

    def offered(self, kind: str) -> list[_Offer]:
        """What is offered and does not call what is being changed: it would go round and round."""
        return [offer for offer in self.offers.get(kind, ()) if self.changing.isdisjoint(self.called_by(offer.names))]

    def called_by(self, names: frozenset[str]) -> set[str]:
        """`names` and whatever they call."""
        found: set[str] = set()
        todo = [*names]
        while todo:
            name = todo.pop()
            if name not in found:
                found.add(name)
                todo += self.calls.get(name, ())
        return found

    def made(self, kind: str) -> str:
        self.add(kind)
        return self.taken(kind)

    def free(self, kind: str, *, with_used: bool) -> str:
        """A name that can still be changed; not on offer until the form is written."""
        taken = self.fixed if with_used else self.used
        offers = [offer for offer in self.offers.get(kind, ()) if offer.names.isdisjoint(taken)]
        if not offers:
            self.add(kind)
            offers = self.offers[kind][-1:]
        offer = self.one_of(offers)
        for key, others in self.offers.items():
            self.offers[key] = [other for other in others if other.names.isdisjoint(offer.names)]
        self.changing |= offer.names
        return offer.text

    def called(self, reads: set[str]) -> str:
        """An int from n, made when it is called."""
        text = "n"
        for _ in range(self.one_of([0, 1, 2])):
            functions, classes = self.offered("function"), self.offered("class")
            offers = [*functions, *classes, *self.offered("pure")]
            if not offers:
                return f"{text} + {self.literal()}"
            offer = self.one_of(offers)
            reads |= offer.names
            self.used |= offer.names
            if offer in functions:
                text = f"{offer.text}({text})"
            elif offer in classes:
                text = f"{offer.text}().value({text})"
            else:
                text = f"({text} + {offer.text})"
        return text

    def parameters(self) -> str:
        hint = f": {self.filled('hint', set())}" if self.chance() else ""
        parts = [f"n{hint}"]
        if self.chance():
            parts.append("/")
        if self.chance():
            parts.append(f"by{hint}{' = ' if hint else '='}{self.filled('number', set())}")
        star = self.one_of(["", "*rest", "*"])
        parts += [star] if star else []
        if star == "*" or self.chance():
            parts.append(f"key={self.filled('number', set())}")
        if self.chance():
            parts.append("**options")
        return ", ".join(parts)

    def imported(self, module: str, attribute: str) -> str:
        """The expression by which `attribute` of `module` is read, imported in one of several ways."""
        package, _, last = module.rpartition(".")
        ways = [
            (f"import {module}", f"{module}.{attribute}"),
            (f"import {module} as m0_{last}", f"m0_{last}.{attribute}"),
            (f"from {module} import {attribute}", attribute),
            (f"from {module} import {attribute} as m0_{attribute}", f"m0_{attribute}"),
        ]
        if package:
            ways.append((f"from {package} import {last}", f"{last}.{attribute}"))
        statement, expression = self.one_of(ways)
        if statement not in self.imports:
            self.imports.add(statement)
            if self.imports_first:
                self.statements.insert(0, statement)
            else:
                self.statements.append(statement)
        return expression


_HINTS = ["int", '"int"', "object", "int | None", "list[int]", "'dict[str, int]'", "tuple[int, ...]"]
_DOCS = [
    "...",
    '"""Says so."""',
    "'''Two lines: \\\\d,\n    a \"quote\" and \\u00e9 é.\n\n    '''",
    'r"""Raw: \\d \\N."""',
    "# only a comment\n    pass",
]


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The statements of a form up to each directive, and that."""
    block: list[str] = []
    for line in text.splitlines():
        if line.startswith("-> "):
            yield "\n".join(block), line.removeprefix("-> ")
            block = []
        else:
            block.append(line)
    yield "\n".join(block), ""


def _statements(block: str) -> list[str]:
    return [part for part in re.split(r"\n\n(?=\S)", block.strip("\n")) if part]


def _set_by(node: ast.stmt) -> Iterator[str]:
    """The names that `node` defines at top level."""
    targets: list[ast.expr] = []
    if type(node).__name__ == "TypeAlias":  # of Python 3.12
        yield node.name.id  # type: ignore[attr-defined]
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if "0_" in name:
                yield name
        case ast.Assign(targets=found):
            targets = found
        case ast.AnnAssign(target=found) | ast.Expr(value=ast.NamedExpr(target=found)):
            targets = [found]
        case ast.If(body=body) | ast.Try(body=body):
            for inner in body:
                yield from _set_by(inner)
            for handler in getattr(node, "handlers", ()):
                for inner in handler.body:
                    yield from _set_by(inner)
    while targets:
        match targets.pop():
            case ast.Name(id=name) if "0_" in name and "_plain" not in name:
                yield name
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                targets += elements
            case ast.Starred(value=target):
                targets.append(target)


@st.composite
def modules(draw: st.DrawFn, last: str | None = None) -> Module:
    """A module of up to four forms, the last one given or not, and those that they need."""
    writer = _Writer(draw, draw(st.booleans()))
    for form in draw(st.lists(st.sampled_from([*FORMS]), max_size=3)):
        writer.add(form)
    writer.add(last or draw(st.sampled_from([*FORMS])))
    cells: list[list[str]] = [[]]
    for statement in writer.statements:
        if cells[-1] and draw(st.sampled_from([False, False, False, True])):
            cells.append([])
        cells[-1].append(statement)
    space = draw(st.sampled_from(["\n", "\n\n\n"]))
    return Module(
        tuple(space.join(cell) for cell in cells),
        tuple(unicodedata.normalize("NFKC", name) for name in writer.kept),
        tuple(writer.gone),
        tuple(dict.fromkeys(writer.samples)),
        tuple((name, text) for name, text in writer.kept.items() if text is not None),
    )
