"""Who needs a definition, and what it needs."""

from __future__ import annotations

from perdure.layer.definition import Definition, RelPath
from perdure.layer.fileformat import read
from perdure.layer.uses import Uses, uses_of

FILES = {
    "functions/d/doubled.py": "def doubled(f):\n    return f\n",
    "functions/a/area.py": (
        "# perdure: needs units\nimport math\n\n\n@doubled\ndef area(r: Length):\n"
        "    return print(math.pi, SCALE, units, nowhere, r)\n"
    ),
    "values/s/SCALE.py": "SCALE = 1\n",
    "values/l/Length.py": "Length = float\n",
    "classes/c/Circle.py": "class Circle:\n    def area(self):\n        return area(1)\n",
    "methods/c/Circle.grow.py": "Circle.grow = lambda self: self\n",
    "values/o/old.py": "old = Circle.grow\n",
    "functions/o/other.py": "from elsewhere import area\n\n\ndef other():\n    return area(2)\n",
}
KNOWN: dict[str, Definition] = {}
for _path, _text in FILES.items():
    _made = read(RelPath(_path), _text.encode())
    KNOWN |= dict.fromkeys(_made.gives, _made)


def uses(name: str) -> Uses:
    return uses_of(name, KNOWN, {"units"}.__contains__, {"print", "float"}.__contains__)


def test_what_a_function_needs() -> None:
    found = uses("area")
    assert (found.needs, found.uses) == (("doubled",), ("Length", "SCALE"))
    assert found.imports == ("import math",)
    assert (found.variables, found.missing) == (("units",), ("nowhere",))


def test_who_needs_it() -> None:
    assert uses("doubled").needed_by == ("area",)
    # `other` means another area, that of its import.
    assert (uses("area").needed_by, uses("area").used_by) == ((), ("Circle",))
    assert uses("Circle").needed_by == ("Circle.grow", "old")
    assert uses("Circle").put_on_it == ("Circle.grow",)
    assert uses("Circle.grow").needed_by == ("old",)
    assert uses("Circle.grow").needs == ("Circle",)
