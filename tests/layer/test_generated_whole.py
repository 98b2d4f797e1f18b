"""A layer with every kind of definition: the same in perdure, imported, installed by pip, and under a script."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from perdure.layer.definition import Definition, Key, Kind
from perdure.layer.fileformat import render
from perdure.layer.table import Table

from .plain_layer import GOOD, PLAIN, Layer, booted, run

LONG = "long_" + "x" * 200
GREEK = "λ" * 40


def defined(kind: Kind, key: str, text: str, *imports: str, **more: Any) -> Definition:
    return Definition(Key(key), kind, text, imports, **more)


DEFINITIONS = [
    # Functions.
    defined(
        Kind.FUNCTION,
        "area",
        "@singledispatch\ndef area(s):\n    return 'any'",
        "from functools import singledispatch",
        overrides="ab" * 32,
    ),
    defined(Kind.FUNCTION, "load", "def load():\n    return 'lower'"),
    defined(Kind.FUNCTION, "Load", "def Load():\n    return 'upper'"),
    defined(Kind.FUNCTION, "LOAD", "def LOAD():\n    return 'all upper'"),
    defined(Kind.FUNCTION, "größe", "# Größe\ndef größe(x: int) -> int:\n    return x", needs=("df", "modèle")),
    defined(Kind.FUNCTION, LONG, f"def {LONG}():\n    return 'long'"),
    defined(Kind.FUNCTION, GREEK, f"def {GREEK}():\n    return 'greek'"),
    defined(Kind.FUNCTION, "_helper", "async def _helper():\n    return 'awaited'"),
    defined(
        Kind.FUNCTION,
        "awaited",
        "def awaited():\n    return asyncio.run(_helper())",
        "import asyncio",
    ),
    defined(
        Kind.FUNCTION,
        "add_to",
        "def add_to(c):\n    def add(f):\n        setattr(c, f.__name__, f)\n        return f\n    return add",
    ),
    defined(Kind.FUNCTION, "doubled", "def doubled(f):\n    return lambda x: 2 * f(x)"),
    defined(Kind.FUNCTION, "twice", "def twice(x):\n    return x\ntwice = doubled(twice)"),
    defined(
        Kind.FUNCTION,
        "over",
        "@overload\ndef over(x: int) -> int: ...\n@overload\ndef over(x: str) -> str: ...\ndef over(x):\n    return x",
        "from typing import overload",
    ),
    defined(Kind.FUNCTION, "future", "def future(x: Nowhere): ...", "from __future__ import annotations"),
    defined(Kind.VALUE, "_print", "_print = print"),
    defined(Kind.FUNCTION, "print", "def print(*x):\n    return ('mine', _print)", after=(Key("_print"),)),
    # Classes.
    defined(Kind.CLASS, "Circle", "class Circle:\n    def __init__(self, r=1):\n        self.r = r"),
    defined(
        Kind.CLASS,
        "Square",
        "@dataclass\nclass Square(Circle):\n    r: int\n\n    @property\n    def side(self):\n        return self.r\n\n"
        "    @side.setter\n    def side(self, r):\n        self.r = r",
        "from dataclasses import dataclass",
    ),
    defined(Kind.CLASS, "Shape", "class Shape(ABC):\n    pass\nShape.register(Circle)", "from abc import ABC"),
    defined(Kind.CLASS, "Grown", "class Grown:\n    x = 1\nclass Grown(Grown):\n    y = Grown.x + 1"),
    defined(Kind.CLASS, "Colour", "class Colour(Enum):\n    RED = 1", "from enum import Enum"),
    defined(
        Kind.CLASS,
        "Readers",
        "class Readers(dict):\n    def register(self, key):\n        return lambda f: self.setdefault(key, f)",
    ),
    defined(Kind.CLASS, "Größe", "class Größe: ..."),
    # Values.
    defined(Kind.VALUE, "READERS", "READERS = Readers()"),
    defined(Kind.VALUE, "AREA", "AREA = area(3), area(Circle()), area(b'')"),
    defined(Kind.VALUE, "UNIT", "UNIT = Circle().grow()"),
    defined(Kind.VALUE, "LOW", "LOW, HIGH = 1, 2", names=("LOW", "HIGH")),
    defined(Kind.VALUE, "B", "A, B = 1, 2", names=("B",)),
    defined(Kind.VALUE, "A", "A = 'newer'", after=(Key("B"),)),
    defined(Kind.VALUE, "square", "square = lambda x: x * x"),
    defined(Kind.VALUE, "cube", "cube = partial(pow, exp=3)", "from functools import partial"),
    defined(Kind.VALUE, "also", "also = area"),
    defined(Kind.VALUE, "Pair", "Pair = namedtuple('Pair', 'a b')", "from collections import namedtuple"),
    defined(Kind.VALUE, "UserId", "UserId = NewType('UserId', int)", "from typing import NewType"),
    defined(Kind.VALUE, "Numbers", "Numbers: TypeAlias = list[int]", "from typing import TypeAlias"),
    defined(Kind.VALUE, "π", "π: Final = math.pi", "import math", "from typing import Final"),
    # Put on others.
    defined(Kind.METHOD, "area@int", "@area.register\ndef _(s: int):\n    return 'int'"),
    defined(Kind.METHOD, "area@Circle", "@area.register\ndef _(s: 'Circle'):\n    return 'circle'"),
    defined(
        Kind.METHOD,
        "area@bytes",
        "@area.register(bytes)\n@area.register(bytearray)\ndef _(s):\n    return 'bytes'",
        names=("area@bytearray", "area@bytes"),
    ),
    defined(Kind.METHOD, "READERS@list[int]", "@READERS.register(list[int])\ndef _(text):\n    return [int(text)]"),
    defined(Kind.METHOD, "READERS@dict[str, int]", "@READERS.register(dict[str, int])\ndef _(text):\n    return {}"),
    defined(Kind.METHOD, "Circle.grow", "Circle.grow = lambda self: Circle(self.r * 2)"),
    *(
        defined(
            Kind.METHOD,
            f"{owner}.shrink",
            f"@add_to({owner})\ndef shrink(self):\n    return '{owner}'",
            names=(f"{owner}.shrink",),
        )
        for owner in ("Circle", "Colour")
    ),
    defined(Kind.METHOD, "Größe.wächst", "Größe.wächst = property(lambda self: 'ja')"),
    defined(Kind.METHOD, "Circle.Grow", "Circle.Grow = lambda self: 'Grow'"),
    defined(Kind.METHOD, f"Circle.{LONG}", f"Circle.{LONG} = 'long'"),
]

VALUES = {
    "load(), Load(), LOAD()": "('lower', 'upper', 'all upper')",
    "größe(1), awaited(), twice(3), over(1)": "(1, 'awaited', 6, 1)",
    f"{LONG}(), {GREEK}(), Circle.{LONG}": "('long', 'greek', 'long')",
    "area(1), area(Square(1)), area(bytearray()), area(''), also is area": "('int', 'circle', 'bytes', 'any', True)",
    "AREA, UNIT.r, Circle(2).grow().r, Square(2).grow().r": "(('int', 'circle', 'bytes'), 2, 4, 4)",
    "Circle().shrink(), Colour.RED.shrink(), Größe().wächst, Circle().Grow()": "('Circle', 'Colour', 'ja', 'Grow')",
    "sorted(map(str, READERS)), READERS[list[int]]('1')": "(['dict[str, int]', 'list[int]'], [1])",
    "isinstance(Circle(), Shape), Grown.y, Square(3).side": "(True, 2, 3)",
    "A, B, LOW, HIGH, square(3), cube(2), Pair(1, 2), round(π, 2)": "('newer', 2, 1, 2, 9, 8, Pair(a=1, b=2), 3.14)",
    "UserId(3), Numbers, future.__annotations__['x']": "(3, list[int], 'Nowhere')",
    "print()": "('mine', <built-in function print>)",
}

if sys.version_info >= (3, 12):
    DEFINITIONS += [
        defined(Kind.FUNCTION, "first", "def first[T](x: list[T]) -> T:\n    return x[0]"),
        defined(Kind.CLASS, "Stack", "class Stack[T: Circle]:\n    def push(self, x: T): ..."),
        defined(Kind.VALUE, "Tree", "type Tree[T] = list[Tree[T]] | T"),
    ]
    VALUES["first([1]), Stack[int], Tree[int]"] = "(1, __main__.Stack[int], Tree[int])"

TELL = f"""
import sys as _sys
def _tell(space):
    for expression in {[*VALUES]!r}:
        _sys.stdout.write(repr(eval(expression, space)).replace("layer_ada.", "__main__.") + chr(10))
    names = [n for n in space if not n.startswith("__") and n not in ("_sys", "_tell", "layer_ada")]
    _sys.stdout.write(" ".join(sorted(names)))
"""
ALONE = "import importlib.util\nassert importlib.util.find_spec('perdure') is None\n"


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    layer = Layer(tmp_path_factory.mktemp("whole"), {})
    table = Table()
    for definition in DEFINITIONS:
        table.put(definition)
    for entry in table.entries.values():
        layer.write(entry.path, render(entry.definition).decode())
    return layer


@pytest.fixture(scope="module")
def told(layer: Layer) -> str:
    """What the definitions are in perdure."""
    space: dict[str, Any] = {"__name__": "__main__"}
    # What it overrides is in a cells folder, which the package knows nothing of, and which is not here.
    assert not booted(layer, space, without=f"overrides sha256:{'ab' * 32}".encode()).skipped
    for expression, value in VALUES.items():
        assert repr(eval(expression, space)) == value
    return "\n".join([*VALUES.values(), " ".join(sorted(name for name in space if not name.startswith("__")))])


def test_its_paths_are_of_every_kind(layer: Layer) -> None:
    paths = layer.definition_files()
    assert len(paths) == len(DEFINITIONS)
    for part in ("%CF%80", "@list%5Bint%5D", "xxx~", "LOAD~", "methods/g/Gr%C3%B6%C3%9Fe.w", "_/_helper"):
        assert any(part in path for path in paths), part


@pytest.mark.parametrize("options", [[], ["-I"], ["-I", "-S"], ["-OO", "-Werror"]])
def test_imported(layer: Layer, told: str, options: list[str]) -> None:
    """With the layer's parent on the path, and nothing else of ours."""
    code = f"{ALONE}import sys\nsys.path.append({str(layer.path.parent)!r})\nimport layer_ada\n{TELL}"
    code += "assert not layer_ada.skipped\n_tell(vars(layer_ada))"
    assert run([PLAIN, *options, "-c", code], cwd=layer.path.parent) == told


def test_imported_by_pythonpath(layer: Layer, told: str, tmp_path: Path) -> None:
    code = f"{ALONE}{TELL}import layer_ada\n_tell(vars(layer_ada))"
    environ = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(layer.path.parent), "PYTHONUTF8": "1"}
    done = subprocess.run([PLAIN, "-c", code], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == told


def test_under_a_script(layer: Layer, told: str) -> None:
    assert layer.script(f"{ALONE}del importlib\n{TELL}_tell(globals())") == told


def test_pickled_under_main_and_unpickled_by_the_package(layer: Layer) -> None:
    made = "[Circle(3), Square(4), Colour.RED, Pair(1, 2), area]"
    data = layer.script(f"import pickle\n_print(pickle.dumps({made}).hex())")
    said = layer.python(f"""
        circle, square, colour, pair, area = layer.loads(bytes.fromhex({data!r}))
        assert type(circle) is layer.Circle and type(square) is layer.Square and area is layer.area
        print(circle.grow().r, square.side, colour.shrink(), pair, area(circle))
        """)
    assert said == "6 4 Colour Pair(a=1, b=2) circle"


# Installed.


@pytest.fixture(scope="module")
def installing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has setuptools and nothing else."""
    setuptools = pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    here = Path(setuptools.__file__).parents[1]
    for part in [*here.glob("setuptools*"), here / "_distutils_hack"]:
        (site / part.name).symlink_to(part)
    return folder / "bin" / "python"


def pip_install(layer: Layer, python: Path) -> None:
    """As a user does it, but for options that keep pip from looking for setuptools elsewhere."""
    options = ["-q", "--no-index", "--no-build-isolation", "--force-reinstall"]
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]
    run([*pip, "install", *options, str(layer.path)])


def test_installed(layer: Layer, told: str, installing: Path, tmp_path: Path) -> None:
    pip_install(layer, installing)
    code = f"{ALONE}{TELL}import layer_ada\nassert not layer_ada.skipped\n_tell(vars(layer_ada))"
    assert run([str(installing), "-I", "-c", code], cwd=tmp_path) == told
    said = run([str(installing), "-I", "-c", "import layer_ada; print(layer_ada.__file__)"])
    assert said.startswith(str(installing.parents[1]))
    (tmp_path / "s.py").write_text(f"{TELL}_tell(globals())", encoding="utf-8")
    assert run([str(installing), "-I", "-m", "layer_ada", str(tmp_path / "s.py")], cwd=tmp_path) == told


def test_pip_leaves_the_folder_as_it_is_and_forgets_what_was_forgotten(tmp_path: Path, installing: Path) -> None:
    layer = Layer(tmp_path, GOOD)
    before = set(layer.path.rglob("*"))
    pip_install(layer, installing)
    assert set(layer.path.rglob("*")) == before
    (layer.path / "functions/b/boom.py").unlink()
    pip_install(layer, installing)
    assert run([str(installing), "-I", "-c", "import layer_ada; print(hasattr(layer_ada, 'boom'))"]) == "False"


def test_one_broken_file(layer: Layer, tmp_path: Path) -> None:
    """Everything else loads, from the same layer."""
    files = {path: (layer.path / path).read_text(encoding="utf-8") for path in layer.definition_files()}
    copy = Layer(tmp_path, files | {"functions/b/broken.py": "def broken(:\n"})
    said = copy.python("print(len(layer.skipped), layer.skipped['functions/b/broken.py'], layer.area(1))")
    assert said == "1 SyntaxError: invalid syntax (line 1) int"
