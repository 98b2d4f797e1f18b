"""Settings whose bad values cost a notice instead of the start.

traitlets ends the process for a value that a trait does not take. It may have been written months ago, in a file that
each start reads; so what is bad is left out, and the kernel says what it is and what is used.
"""

from __future__ import annotations

import os
from copy import deepcopy
from reprlib import Repr
from typing import Any

from traitlets import Bool, Enum, Float, List, TraitType, Unicode
from traitlets.config import Configurable
from traitlets.config.loader import DeferredConfig, LazyConfigValue

_BRIEF = Repr()
_BRIEF.maxstring = _BRIEF.maxother = 80  # characters of a value in a notice


class Settings(Configurable):
    """Something whose own settings may have any value in a config file and on the command line.

    Own are those of the classes that have this one for a base. A setting may be tagged with what to use instead of a
    bad value, as `otherwise`; the rest is as if it were not set.
    """

    def __init__(self, **kwargs: Any) -> None:
        self.bad_values: dict[str, str] = {}  # by setting, what is wrong with it and what is used: a clause
        super().__init__(**kwargs)

    def _find_my_config(self, cfg: Any) -> Any:
        """Overrides Configurable._find_my_config, which all config comes through, to leave out values that are bad."""
        config = super()._find_my_config(cfg)
        for name, trait in self.traits(config=True).items():
            if name in config and issubclass(trait.this_class or object, Settings):
                self.bad_values.pop(name, None)
                self._settle(config, name, trait)
        return config

    def _settle(self, config: Any, name: str, trait: TraitType[Any, Any]) -> None:
        said = config[name]
        try:
            config[name] = value = self._value(said, name, trait)
            if value == value:  # not so of NaN, which no limit tells
                trait._validate(self, deepcopy(value))
                return
        except Exception:  # a TraitError, or what a value raises that is asked for its like
            pass
        otherwise = trait.metadata.get("otherwise")
        if otherwise is None:
            del config[name]
        else:
            config[name] = otherwise
        used = getattr(self, name) if otherwise is None else otherwise
        shown = f"{used:g}" if type(used) is float else used
        instead = "that counts as not set" if used in ("", []) else f"{shown} is used"
        where = f"c.{type(self).__name__}.{name}"
        self.bad_values[name] = f"{where} is {_brief(said)}, not {_wanted(trait)}; {instead}"

    def _value(self, said: object, name: str, trait: TraitType[Any, Any]) -> object:
        """What a config says, as the trait is to take it."""
        if isinstance(said, LazyConfigValue):
            return said.get_value(getattr(self, name))
        if isinstance(said, DeferredConfig):
            return said.get_value(trait)
        if isinstance(said, os.PathLike) and isinstance(trait, Unicode):
            return os.fspath(said)
        return said


class AnyForm(List):  # type: ignore[type-arg]  # its values are looked at where they are used
    """A list of texts by the command line, by a config file whatever it says: each bad one in it costs itself alone."""

    def validate(self, _obj: Any, value: Any) -> Any:
        """Overrides List.validate, to take any value."""
        return value


def _wanted(trait: TraitType[Any, Any]) -> str:
    """What a setting may be, in words."""
    match trait:
        case Enum():
            return f"one of {', '.join(map(str, trait.values or ()))}"
        case Bool():
            return "True or False"
        case Float():
            return f"a number from {trait.min:g} to {trait.max:g}"
        case List():
            return "a list of texts"
    return "a text"


def _brief(said: object) -> str:
    if isinstance(said, DeferredConfig) and isinstance(said, list):
        said = [str(each) for each in said]
    elif isinstance(said, DeferredConfig):
        said = str(said)
    return " ".join(_BRIEF.repr(said).split())
