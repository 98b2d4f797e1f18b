"""Definitions as one module: it runs, and ruff has nothing to say of what was not the user's own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from perdure.layer.definition import Definition, RelPath
from perdure.layer.fileformat import read
from perdure.layer.imports import ImportEntry
from perdure.layer.module import cell_of, in_ipython_only, module_of
from perdure.layer.taken import in_load_order

FILES = {
    "values/e/EARTH.py": "EARTH = 6371  # km\n",
    "values/b/BIG.py": "import os\nfrom math import pi\n\nBIG = pi * 2 + len(os.sep)\n",
    "functions/h/horizon.py": (
        "import os.path\nimport xml.dom.minidom as dom\nfrom collections import OrderedDict, abc\n"
        'from math import pi, sqrt\n\n\n# How far.\ndef horizon(height):\n    """Kilometres."""\n'
        "    return sqrt(2 * EARTH * height / 1000), os.path, dom, OrderedDict, abc, pi\n"
    ),
    "classes/c/Circle.py": "from math import sqrt as root\n\n\nclass Circle:\n    r = root(4)\n",
    "methods/c/Circle.grow.py": "Circle.grow = lambda self: self.r + 1\n",
    "functions/_/_hidden.py": "import json\n\n\ndef _hidden():\n    return json\n",
    "functions/s/shown.py": "def shown(x):\n    return display(x)\n",
}


def definitions(files: dict[str, str]) -> tuple[Definition, ...]:
    return in_load_order(read(RelPath(path), text.encode()) for path, text in files.items())


def module(files: dict[str, str] = FILES) -> str:
    return module_of(definitions(files), "The layer.", sys.stdlib_module_names)


def run(text: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec", dont_inherit=True), namespace)
    return namespace


def test_a_module() -> None:
    assert module() == (
        '''"""The layer."""

import json
import os
import os.path
import xml.dom.minidom as dom
from collections import OrderedDict, abc
from math import pi, sqrt
from math import sqrt as root

from IPython import display

__all__ = ["BIG", "EARTH", "Circle", "horizon", "shown"]


class Circle:
    r = root(4)


def _hidden():
    return json


# How far.
def horizon(height):
    """Kilometres."""
    return sqrt(2 * EARTH * height / 1000), os.path, dom, OrderedDict, abc, pi


def shown(x):
    return display(x)


Circle.grow = lambda self: self.r + 1
BIG = pi * 2 + len(os.sep)
EARTH = 6371  # km
'''
    )


def test_it_runs_by_itself() -> None:
    made = run(module({path: text for path, text in FILES.items() if "shown" not in path}))
    assert made["__all__"] == ["BIG", "EARTH", "Circle", "horizon"]
    assert made["Circle"]().grow() == 3
    assert made["horizon"](330)[0] > 60


@pytest.mark.skipif(shutil.which("ruff", path=str(Path(sys.executable).parent)) is None, reason="ruff is not here")
def test_ruff_has_nothing_to_say(tmp_path: Path) -> None:
    names = [f"name_{number}" for number in range(30)]
    body = "".join(f"        {name},\n" for name in [*names, "B", "CC", "a", "zlib"])
    many = (
        f"from package.part10 import {', '.join(names)}\nfrom package.part9 import B, CC, a\nimport zlib\n\n\n"
        f"def many():\n    return [\n{body}    ]\n"
    )
    files = FILES | {
        "functions/m/many.py": many,
        **{f"values/l/LONG_NAME_{n}.py": f"LONG_NAME_{n} = {n}\n" for n in (1, 2, 10, 11)},
    }
    file = tmp_path / "exported.py"
    file.write_text(module(files), "utf-8")
    ruff = Path(sys.executable).parent / "ruff"
    for arguments in (("check", "--select", "E,F,I,W,RUF022", "--ignore", "E731"), ("format", "--diff")):
        done = subprocess.run(
            (ruff, *arguments, "--isolated", "--no-cache", file), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_names_that_mean_two_things_are_imported_where_they_hold() -> None:
    files = {
        "values/a/AA.py": "from math import floor as cut\n\nAA = cut(1.5)\n",
        "values/b/BB.py": "from math import ceil as cut\n\nBB = cut(1.5)\n",
    }
    made = run(module(files))
    assert (made["AA"], made["BB"]) == (1, 2)
    assert "from math import ceil as cut  # noqa: E402, F811\n" in module(files)


def test_an_import_that_a_definition_replaced_is_left_out() -> None:
    files = {
        "functions/s/sqrt.py": "def sqrt(x):\n    return 7\n",
        "functions/u/user.py": "from math import sqrt\n\n\ndef user():\n    return sqrt(4)\n",
    }
    assert run(module(files))["user"]() == 7


def test_futures_and_lines_of_a_hand_come_along() -> None:
    files = {
        "functions/a/a.py": (
            "from __future__ import annotations\nfrom math import *\n\n\ndef a(x: Nowhere):\n    return pi\n"
        )
    }
    text = module(files)
    assert text.index("from __future__ import annotations") < text.index("from math import *")
    assert int(run(text)["a"](1)) == 3


def test_a_cell_has_no_frame() -> None:
    files = {"functions/a/a.py": "import math\n\n\ndef a():\n    return math.pi\n", "values/e/EE.py": "EE = 1\n"}
    assert cell_of(definitions(files), sys.stdlib_module_names) == (
        "import math\n\n\ndef a():\n    return math.pi\n\n\nEE = 1\n"
    )
    assert cell_of(definitions({"values/e/EE.py": "EE = 1\n"}), ()) == "EE = 1\n"


def test_a_cell_has_imports_for_the_cells_below() -> None:
    entries = [ImportEntry("js", "json", None, renamed=True), ImportEntry("sqrt", "cmath", "sqrt")]
    assert cell_of((), sys.stdlib_module_names, entries) == "import json as js\nfrom cmath import sqrt\n"
    text = "from math import sqrt\nimport json as js\n\n\ndef root(x):\n    return sqrt(x), js\n"
    made = cell_of(definitions({"functions/r/root.py": text}), sys.stdlib_module_names, entries)
    assert made == (
        "import json as js\n\n\nfrom math import sqrt  # noqa: E402, F811\n\n\n"
        "def root(x):\n    return sqrt(x), js\n\nfrom cmath import sqrt  # noqa: E402, F811\n"
    )


def test_what_runs_in_ipython_only() -> None:
    made = definitions({"functions/a/a.py": "def a():\n    return get_ipython().run_line_magic('pwd', '')\n"})
    assert in_ipython_only(made) == ("a",)
