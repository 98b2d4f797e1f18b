"""Whether a module is loaded, and whether a package can be found, without importing anything."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from types import ModuleType

from .deferral import NeededImport


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
