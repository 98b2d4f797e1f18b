"""What cells take from definitions that they did not make, and in which order these load."""

from __future__ import annotations

import ast
import math
import os
import sys
import xml.dom.minidom  # noqa: F401  # for what it adds to xml.dom

import pytest

from perdure.layer.definition import Definition, RelPath
from perdure.layer.fileformat import read
from perdure.layer.imports import ImportEntry, ImportRecord, entries_of
from perdure.layer.taken import imports_taken, in_load_order, taken

FILES = {
    "functions/d/doubled.py": "def doubled(f):\n    return lambda *a: 2 * f(*a)\n",
    "functions/a/area.py": "import math\n\n\n@doubled\ndef area(r):\n    return math.pi * r**2 * SCALE\n",
    "values/s/SCALE.py": "SCALE = 1\n",
    "classes/c/Circle.py": "class Circle:\n    def area(self):\n        return area(1)\n",
    "methods/c/Circle.grow.py": "Circle.grow = lambda self: grown(self)\n",
    "functions/g/grown.py": "def grown(circle):\n    return circle\n",
    "functions/o/other.py": "def other():\n    return area(2)\n",
    "values/l/LEFT.py": "LEFT, RIGHT = 1, 2\n",
}


@pytest.fixture
def given() -> dict[str, Definition]:
    made = [read(RelPath(path), text.encode()) for path, text in FILES.items()]
    return {name: definition for definition in made for name in definition.gives}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([], []),
        (["x = 1"], []),
        (["area(2)"], ["doubled", "SCALE", "area"]),
        (["def mine(): return other()"], ["doubled", "SCALE", "area", "other"]),
        (["RIGHT"], ["LEFT"]),
        # With a class comes what was put on it: `c.grow()` names neither.
        (["Circle()"], ["doubled", "SCALE", "area", "grown", "Circle", "Circle.grow"]),
        # What the cells set before they read it is their own.
        (["SCALE = 3", "SCALE"], []),
        (["SCALE", "SCALE = 3"], ["SCALE"]),
        (["SCALE = 3\ndef doubled(f): return f", "area(1)"], ["doubled", "area"]),
        (["del SCALE", "x = 1"], []),
        # A magic's text.
        (["get_ipython().run_line_magic('timeit', '-n 1 grown(1)')"], ["grown"]),
        (["get_ipython().run_cell_magic('time', '', 'grown(1)')"], ["grown"]),
        (["get_ipython().run_line_magic('layer', 'show grown')"], []),
        (["def grown(): pass", "get_ipython().run_line_magic('timeit', 'grown(1)')"], []),
        (["'grown'", "print 1"], []),
    ],
)
def test_taken(cells: list[str], expected: list[str], given: dict[str, Definition]) -> None:
    found = [definition.key for definition in taken(cells, given)]
    assert sorted(found) == sorted(expected)
    loaded = {str(name): number for number, name in enumerate(found)}
    for before, after in (("doubled", "area"), ("Circle", "Circle.grow")):
        assert before not in loaded or after not in loaded or loaded[before] < loaded[after]


def test_the_order_is_that_of_loading(given: dict[str, Definition]) -> None:
    made = {str(definition.key): definition for definition in given.values()}
    order = [definition.key for definition in in_load_order(made.values())]
    assert sorted(order) == sorted(made)
    assert order.index(made["doubled"].key) < order.index(made["area"].key)
    assert order == [definition.key for definition in in_load_order([*made.values()][::-1])]


WITH_IMPORTS = {
    "functions/r/rms.py": (
        "import xml.dom\nimport json as js\nfrom math import sqrt\n\n\ndef rms(x):\n    return sqrt(x)\n"
    ),
    "functions/p/pole.py": "from cmath import *\n\n\ndef pole(x):\n    return polar(x)\n",
    "functions/s/sqrt_of.py": "def sqrt_of(x):\n    return x\n",
}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["sqrt(2), js.dumps(1)"], ["import json as js", "from math import sqrt"]),
        (["def f(): return sqrt"], ["from math import sqrt"]),
        (["xml.dom.minidom"], ["import xml.dom.minidom"]),
        (["xml"], ["import xml.dom"]),
        (["polar(1)"], ["from cmath import polar"]),
        (["get_ipython().run_line_magic('timeit', 'sqrt(2)')"], ["from math import sqrt"]),
        # What a cell bound, in whatever way and whenever a function reads it, is the cells' own.
        (["from math import sqrt", "sqrt(2)"], []),
        (["def f(): return sqrt", "from math import *"], []),
        (["sqrt = 1", "sqrt"], []),
        # Neither a file's import nor there.
        (["os", "print", "tau_of", "sqrt_of(1)"], []),
    ],
)
def test_imports_taken(cells: list[str], expected: list[str]) -> None:
    namespace: dict[str, object] = {"os": os}
    record, given = ImportRecord(), {}
    for path, text in WITH_IMPORTS.items():
        exec(text, namespace)
        made = read(RelPath(path), text.encode())
        given[str(made.key)] = made
        for node in ast.parse(text).body:
            record.note(entries_of(node, sys.modules))
    record.note([ImportEntry("os", "os", None)])  # of a startup file
    namespace["sqrt"] = math.sqrt
    record.note([ImportEntry("sqrt", "math", "sqrt")])
    found = imports_taken(cells, given, record, namespace, sys.modules)
    assert [entry.statement for entry in found] == expected
