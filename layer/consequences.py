"""What keeping a definition means for others, as sentences to warn with. Pure."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from .definition import Definition
from .dependents import made_from
from .given import owner_of
from .randomness import random_words
from .source import parse
from .stages import parts_of
from .view import View, value_of


def made_with_the_earlier(made: Definition, but: str, view: View) -> Iterator[str]:
    """Warnings for kept definitions, `but` one, that hold on to what `made` replaces (DESIGN §3, `g = f`)."""
    known = view.kept.get(made.key) or view.shipped.get(made.key)
    if known is None or known.text == made.text or _adds(known, made):
        return
    namespace = view.namespace
    attribute = made_from(made.key, view.kept.values()) if owner_of(made.key) else ()
    for other in attribute or view.dependents(made.key):
        if other.key == but:
            continue
        if attribute:
            yield f"{other.key} was made with the earlier {made.key}; after a restart it is made with another"
        elif other.text.partition("=")[2].strip() != made.key:
            yield f"{other.key} was made with the earlier {made.key}; after a restart it is made with the new one"
        elif value_of(other.key, namespace) is not value_of(made.key, namespace):
            yield f"{other.key} still is the earlier {made.key}; after a restart it is the new one"


def what_may_be_secret(made: Definition, view: View) -> Iterator[str]:
    """A warning where `made` brings what nothing but its looks gives away; what it had before was told then."""
    known = view.kept.get(made.key)
    before = known.text if known is not None else ""
    new = [word for word in random_words(made.text, parse) if word not in before]
    if new:
        # How long it is and not what: a notice may be kept, and a log of it too.
        what = f"{made.key} holds {len(new[0])} random characters"
        yield f"{what}; if they are a secret, revoke it: git's history has it now"


def what_it_hides(made: Definition, needs: Iterable[str], view: View) -> Iterator[str]:
    """What `made` takes the place of: builtins, a shipped definition; and what it will find in place of its `needs`."""
    for name in hidden_builtins(made.gives, view):
        yield f"{name} hides the builtin; del {name} brings it back"
    for name in needs:
        if name in view.kept:
            yield f"{name} is in the layer as others were made with it"
    if made.key in view.shipped and made.key not in view.kept:
        yield f"{made.key} replaces that of {view.origins.get(made.key, 'a cells folder')}"


def hidden_builtins(names: Iterable[str], view: View) -> list[str]:
    """Those of `names` by which a builtin is hidden that was to be seen until now."""
    return [name for name in names if hasattr(builtins, name) and name not in view.kept]


def _adds(known: Definition, made: Definition) -> bool:
    """Whether `made` is `known` and a statement that changes what is there, as `K.register(int)` does."""
    return made.text.startswith(known.text) and isinstance(parts_of(made.text)[-1].node, ast.Expr)
