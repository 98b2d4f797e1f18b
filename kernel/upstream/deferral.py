"""Names that wait, where IPython and Python look names up beside cells: the user's module, completion, %who."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.magic import line_magic, magics_class
from IPython.core.magics.namespace import NamespaceMagics

import perdure
from perdure.kernel.waking import Waking

_HOUSE = os.path.join(os.path.dirname(perdure.__file__), "")
_ATTRIBUTE_OF = r"(?<![\w.])([^\W\d]\w*)(?:\([^()]*\))?(?:\.\w*)+$"
_ATTRIBUTE = r"(?<![\w.])([^\W\d]\w*)(?:\([^()]*\))?\.(\w*)$"
_IMPORTING = r"\s*(?:from|import)\s"
_PLAIN = r"(?<![\w.])[^\W\d]\w*$"


def attach(shell: Any, waking: Waking) -> None:
    """Let `shell` know what waits. Called once, before anything is loaded."""
    give_attributes(shell.user_module, waking)
    shell.Completer.custom_matchers.append(matcher(waking))
    shell.register_magics(DeferredNames(shell, waking))


def give_attributes(module: ModuleType, waking: Waking) -> None:
    """Have getattr on `module` load what waits: so `from __main__ import f`, pickle and debuggers find it.

    By a class of its own, since a `__getattr__` in the module would be a name of the user's.
    """
    base = type(module)

    class Main(base):  # type: ignore[valid-type, misc]  # IPython may have made it of a class of its own
        """The user's module, which loads what waits when it is asked for it."""

        def __getattr__(self, name: str) -> Any:
            if waking.is_waiting(name):
                waking.attribute(name)
                if name in vars(self):
                    return vars(self)[name]
            inherited = getattr(super(), "__getattr__", None)
            return inherited(name) if inherited is not None else super().__getattribute__(name)  # which raises

    Main.__name__, Main.__qualname__, Main.__module__ = base.__name__, base.__qualname__, base.__module__
    module.__class__ = Main


def without_own_frames(error: BaseException) -> None:
    """Take out of the traceback of `error`, and of those before it, how the user's module looked for an attribute.

    Of an interrupt, which may come anywhere, all frames of perdure's.
    """
    seen: set[int] = set()
    while error.__traceback__ is not None and id(error) not in seen:
        seen.add(id(error))
        last, is_inside = error.__traceback__, isinstance(error, KeyboardInterrupt)
        while (following := last.tb_next) is not None:
            code = following.tb_frame.f_code
            is_inside = is_inside or (code.co_filename, code.co_name) == (__file__, "__getattr__")
            if is_inside and code.co_filename.startswith(_HOUSE):
                last.tb_next = following.tb_next
            else:
                last = following
        error = error.__cause__ or error.__context__ or error


def load_for_completion(code: str, waking: Waking) -> None:
    """Load the name whose attributes are asked for at the end of `code`, if that costs nothing: `f.` needs f."""
    found = re.search(_ATTRIBUTE_OF, code)
    if found is not None and waking.is_waiting(found[1]):
        waking.glance(found[1])


def matcher(waking: Waking) -> Any:
    """A matcher for both of IPython's completers that offers names and attributes without loading anything."""

    @context_matcher()  # type: ignore[untyped-decorator]
    def perdure_deferred(context: CompletionContext) -> SimpleMatcherResult:
        if (found := re.search(_ATTRIBUTE, context.text_until_cursor)) is not None:
            given = waking.attributes(found[1]) if waking.is_waiting(found[1]) else {}
            start = found[2]
            fitting = (name for name in sorted(given) if name.startswith(start) and (start or name[0] != "_"))
            completions = [SimpleCompletion(name, type=given[name]) for name in fitting]
            return SimpleMatcherResult(completions=completions, matched_fragment=start)
        found = re.search(_PLAIN, context.text_until_cursor)
        start = found[0] if found is not None and context.token.endswith(found[0]) else None
        if start is None or re.match(_IMPORTING, context.text_until_cursor):
            return SimpleMatcherResult(completions=[])
        types = {name: "class" if kind == "type" else kind for name, kind, _ in waking.listed()}
        names = [name for name in types if name.startswith(start)]
        completions = [SimpleCompletion(name, type=types[name] or "instance") for name in names]
        return SimpleMatcherResult(completions=completions, matched_fragment=start)

    return perdure_deferred


@magics_class
class DeferredNames(NamespaceMagics):
    """%who, %who_ls, %whos and what takes names away, with what waits among the names."""

    def __init__(self, shell: Any, waking: Waking) -> None:
        super().__init__(shell)
        self._waking = waking

    @line_magic
    def who_ls(self, parameter_s: str = "") -> list[str]:
        """Overrides NamespaceMagics.who_ls: a sorted list of interactive variable names, deferred ones among them."""
        return sorted({*super().who_ls(parameter_s), *(name for name, *_ in self._waiting(parameter_s))})

    @line_magic
    def who(self, parameter_s: str = "") -> None:
        """Overrides NamespaceMagics.who, which asks who_ls: print all interactive variables."""
        super().who(parameter_s)

    @line_magic
    def whos(self, parameter_s: str = "") -> None:
        """Overrides NamespaceMagics.whos, which looks at each value: like %who, with more about each variable."""
        stock = NamespaceMagics(self.shell)
        waiting = self._waiting(parameter_s)
        if not waiting or stock.who_ls(parameter_s):
            stock.whos(parameter_s)
        width = max((len(name) for name, *_ in waiting), default=0)
        for name, kind, packages in waiting:
            print(f"{name:{width}}   {kind or 'value':8}   deferred; it is loaded when named ({', '.join(packages)})")

    @line_magic
    def reset(self, parameter_s: str = "") -> None:  # type: ignore[override]  # decorated, it has the class in its type
        """Overrides NamespaceMagics.reset, whose soft way asks who_ls: resets the namespace by removing all names."""
        taking: Any = _Taking(self.shell, self._waking, lambda _: True)
        taking.reset(parameter_s)

    @line_magic
    def reset_selective(self, parameter_s: str = "") -> None:  # type: ignore[override]  # decorated, it has the class in its type
        """Overrides NamespaceMagics.reset_selective, which asks who_ls: removes the names that match a pattern."""
        _, pattern = self.parse_options(parameter_s, "f")
        taking: Any = _Taking(self.shell, self._waking, lambda name: bool(re.search(pattern, name)))
        taking.reset_selective(parameter_s)

    def _waiting(self, parameter_s: str) -> list[tuple[str, str, tuple[str, ...]]]:
        wanted = parameter_s.split()
        listed = (each for each in self._waking.listed() if not each[0].startswith("_"))
        return [each for each in listed if not wanted or each[1] in wanted]


for _magic in ("who", "whos", "who_ls", "reset", "reset_selective"):  # what `%who?` shows is for who uses it
    getattr(DeferredNames, _magic).__doc__ = getattr(NamespaceMagics, _magic).__doc__


class _Taking(NamespaceMagics):
    """The stock magics that ask who_ls for names, to take those away that are `chosen`."""

    def __init__(self, shell: Any, waking: Waking, chosen: Callable[[str], bool]) -> None:
        super().__init__(shell)
        self._waking = waking
        self._chosen = chosen

    def who_ls(self, parameter_s: str = "") -> list[str]:
        """Overrides NamespaceMagics.who_ls, for who takes all it tells away: what waits goes at once."""
        there = super().who_ls(parameter_s)
        names = (name for name in (*there, *self._waking.names()) if not name.startswith("_"))
        self._waking.taken_away([name for name in names if self._chosen(name)])
        return there
