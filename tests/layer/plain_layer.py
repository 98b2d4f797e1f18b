"""Layers written by hand, and plain Pythons that know nothing of perdure to load them."""

from __future__ import annotations

import importlib.util
import itertools
import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from perdure.layer.boot import Boot
from perdure.layer.boot_report import BootReport
from perdure.layer.definition import RelPath
from perdure.layer.generated import generated_files
from perdure.layer.imports import ImportRecord
from perdure.layer.install import Image

# The interpreter itself, not that of the environment the tests run in.
PLAIN = getattr(sys, "_base_executable", sys.executable)

GOOD = {
    "functions/a/area.py": """\
        # perdure: needs df
        import math


        def area(c: Circle, k=RATE):
            return math.pi * c.r**2 * k
        """,
    "functions/b/boom.py": """\
        def boom():
            raise LookupError
        """,
    "classes/c/Circle.py": """\
        @register
        class Circle:
            class Part:
                pass

            def __init__(self, r):
                self.r = r
        """,
    "functions/r/register.py": """\
        def register(c):
            SEEN.append(c.__name__)
            return c
        """,
    "values/r/RATE.py": "RATE = 2",
    "values/s/SEEN.py": "SEEN = []",
}


class Layer:
    """A layer's folder, written by hand."""

    def __init__(self, parent: Path, files: Mapping[str, str], name: str = "ada") -> None:
        self.path = parent / f"layer_{name}"
        for generated, data in generated_files(name).items():
            self.write(generated, data.decode())
        for path, text in files.items():
            self.write(path, textwrap.dedent(text))

    def write(self, path: str, text: str) -> None:
        (self.path / path).parent.mkdir(parents=True, exist_ok=True)
        (self.path / path).write_text(text, encoding="utf-8")

    def definition_files(self) -> list[RelPath]:
        return [RelPath(str(path.relative_to(self.path))) for path in sorted(self.path.glob("*/*/*.py"))]

    def python(self, code: str, *options: str, check: bool = True) -> str:
        """What a plain, isolated Python prints that has imported the layer as `layer`."""
        start = f"import sys; sys.path.insert(0, {str(self.path.parent)!r}); import {self.path.name} as layer\n"
        return run([PLAIN, "-I", *options, "-c", start + textwrap.dedent(code)], check=check)

    def script(self, text: str, *arguments: str, check: bool = True) -> str:
        """What `python -m layer_ada script.py` prints, in the folder above it."""
        script = self.path.parent / "scripts" / "script.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(textwrap.dedent(text), encoding="utf-8")
        return run([PLAIN, "-m", self.path.name, str(script), *arguments], cwd=self.path.parent, check=check)


def run(command: list[str], *, cwd: Path | None = None, check: bool = True) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode == 0) is check, done.stdout + done.stderr
    return (done.stdout + done.stderr).strip()


_names = itertools.count()


def imported(layer: Layer) -> Any:
    """The layer loaded in this process, under a name of its own that nothing can import."""
    name = f"layer_of_test_{next(_names)}"
    spec = importlib.util.spec_from_file_location(name, layer.path / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def names_in(module: ModuleType) -> set[str]:
    return {name for name in vars(module) if not name.startswith("__")}


def booted(layer: Layer, space: dict[str, Any], without: bytes = b"") -> BootReport:
    """The layer loaded by perdure into `space`; its files are `without` this text."""
    files = {path: (layer.path / path).read_bytes().replace(without, b"") for path in layer.definition_files()}
    return Boot(files, layer.path, Image(space), ImportRecord(), sys.modules).run()


class Both:
    """A layer loaded by its own package and by perdure, which leave out the same and give the same names."""

    def __init__(self, parent: Path, files: Mapping[str, str]) -> None:
        layer = Layer(parent, files)
        self.module = imported(layer)
        self.space: dict[str, Any] = {"__name__": "__main__"}
        report = booted(layer, self.space)
        self.skipped: dict[str, str] = self.module.__perdure__.skipped
        assert self.skipped.keys() == {item.path for item in report.skipped}, report.skipped
        assert names_in(self.module) == {name for name in self.space if not name.startswith("__")}

    def value(self, expression: str) -> Any:
        """What `expression` is worth, with either."""
        here, there = (eval(expression, space) for space in (vars(self.module), self.space))
        assert repr(here) == repr(there)
        return here
