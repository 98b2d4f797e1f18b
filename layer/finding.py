"""Whether a module is loaded, and whether a package can be found, without importing anything."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import ModuleType

from .slots import fact


@fact
class NeededImport:
    """A module that loading a file imports."""

    module: str
    attribute: str | None  # `from module import attribute`, which may be a submodule
    guarded: bool  # inside an `if` or `try`: where it is not to be had, that may be no fault

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


@fact
class Answers:
    """What was told of imports and packages, for who asks the same again."""

    cheap: Mapping[tuple[str, str | None], bool] = field(default_factory=dict)  # by module and attribute
    there: Mapping[str, bool] = field(default_factory=dict)  # by package

    def is_cheap(self, needed: NeededImport) -> bool:
        return needed.package in sys.stdlib_module_names or self.cheap[needed.module, needed.attribute]

    def is_there(self, package: str) -> bool:
        return self.there[package]


class Finder:
    """What this interpreter has and can find."""

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._modules = modules
        self._there: dict[str, bool] = {}

    def is_cheap(self, needed: NeededImport) -> bool:
        """Whether the import costs nothing: of the standard library, or of what is loaded already."""
        if needed.package in sys.stdlib_module_names:
            return True
        module = self._modules.get(needed.module)
        if module is None:
            return False
        attribute = needed.attribute
        if attribute in (None, "*") or attribute in vars(module) or "__path__" not in vars(module):
            return True
        return f"{needed.module}.{attribute}" in self._modules

    def answers(self, needed: Iterable[NeededImport]) -> Answers:
        """What is to be told of these imports now."""
        each = {(one.module, one.attribute): one for one in needed if one.package not in sys.stdlib_module_names}
        cheap = {key: self.is_cheap(one) for key, one in each.items()}
        packages = {one.package for key, one in each.items() if not cheap[key]}
        return Answers(cheap, {package: self.is_there(package) for package in packages})

    def tells_the_same(self, answers: Answers) -> bool:
        """Whether all would be answered now as it was then."""
        return all(
            self.is_cheap(NeededImport(module, attribute, False)) == cheap
            for (module, attribute), cheap in answers.cheap.items()
        ) and all(self.is_there(package) == there for package, there in answers.there.items())

    def is_there(self, package: str) -> bool:
        if package not in self._there:
            self._there[package] = self.is_there_now(package)
        return self._there[package]

    def is_there_now(self, package: str) -> bool:
        """Whether `package`, the first name of a path, can be found, without importing it."""
        if package in self._modules:
            return True
        try:
            return importlib.util.find_spec(package) is not None
        except Exception:  # what finders of others raise says nothing of the package
            return True
