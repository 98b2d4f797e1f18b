"""Packages that a test makes: each puts a line into a file whenever it is really imported, so that imports can be
counted, and not only timed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Packages:
    """A folder of packages, to be put on a module path."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder = folder
        self._log = folder / "imports.log"
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            self.make(name)

    def make(self, name: str, body: str = "", *, before: str = "") -> None:
        """A package `name` with a function `twice`, a class `Base`, a value `UNIT`, and a submodule `inner`.

        `before` runs first, and `body` last.
        """
        package = self.folder / name
        package.mkdir(exist_ok=True)
        note = f"with open({str(self._log)!r}, 'a') as log:\n    log.write({name!r} + '\\n')\n"
        text = "def twice(x):\n    return 2 * x\n\n\nclass Base:\n    size = 3\n\n\nUNIT = 5\n"
        (package / "__init__.py").write_text(f"{note}{before}\n{text}{body}\n", encoding="utf-8")
        (package / "inner.py").write_text("DEPTH = 7\n", encoding="utf-8")

    @property
    def imports(self) -> list[str]:
        """The packages imported so far, in the order in which that happened, in whatever process."""
        return self._log.read_text("utf-8").split() if self._log.exists() else []

    def clear(self) -> None:
        """Forget what was imported, here and by this process."""
        self._log.unlink(missing_ok=True)
        there = {path.name for path in self.folder.iterdir()}
        for name in [name for name in sys.modules if name.partition(".")[0] in there]:
            del sys.modules[name]

    @contextmanager
    def on_path(self) -> Iterator[Packages]:
        """Let this process import them; afterwards none of them was ever imported."""
        sys.path.insert(0, str(self.folder))
        try:
            self.clear()
            yield self
        finally:
            self.clear()
            sys.path.remove(str(self.folder))
            sys.path_importer_cache.pop(str(self.folder), None)
