"""What cells take from definitions that they did not make, and in which order these load."""

from __future__ import annotations

import pytest

from perdure.layer.definition import Definition, RelPath
from perdure.layer.fileformat import read
from perdure.layer.taken import in_load_order, taken

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
