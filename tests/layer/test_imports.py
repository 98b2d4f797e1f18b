"""The record of imports, and which of them a definition carries."""

from __future__ import annotations

import ast
import sys
from types import FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.import_lines import entries_in, rebound, statements
from perdure.layer.imports import ImportEntry, ImportRecord, entries_of, find

from .cells import Cells


def module(name: str, **attributes: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(attributes)
    return made


def after(*imports: str) -> Cells:
    """A kernel in which the statements ran."""
    cells = Cells()
    for source in imports:
        cells.run(source)
        assert cells.error is None
    return cells


# what ran, the definition, its imports
CARRIED: list[tuple[list[str], str, list[str]]] = [
    (["import json"], "def f(): return json", ["import json"]),
    (["import json as j"], "def f(): return j", ["import json as j"]),
    (["import json as json"], "def f(): return json", ["import json as json"]),
    (["import os.path"], "def f(): return os.path.join", ["import os.path"]),
    (["import os.path"], "def f(): return os.sep", ["import os.path"]),
    (["import os.path as p"], "def f(): return p", ["import os.path as p"]),
    (["import xml.dom, xml.sax"], "def f(): return xml.dom.Node", ["import xml.dom"]),
    (
        ["import xml.dom", "import xml.sax"],
        "def f(): return xml.sax.parse, xml.dom",
        ["import xml.dom", "import xml.sax"],
    ),
    (["import xml.dom\nimport xml.sax"], "def f(): return xml", ["import xml.dom", "import xml.sax"]),
    # Submodules that another import loaded.
    (
        ["import email", "import email.mime.text as t"],
        "def f(): return email.mime.text.MIMEText('x')",
        ["import email.mime.text"],
    ),
    (
        ["import xml", "from xml.dom import minidom"],
        "def f(): return xml.dom.minidom.parse, xml.dom.Node",
        ["import xml.dom.minidom"],
    ),
    (
        ["import xml.sax", "from xml.dom import minidom"],
        "def f(): return xml.dom.minidom, xml.sax.parse",
        ["import xml.dom.minidom", "import xml.sax"],
    ),
    (["import os"], "def f(): return os.path.join", ["import os"]),
    (["import email"], "def f(): return email.no_such.part", ["import email"]),
    (["from math import sqrt"], "def f(): return sqrt", ["from math import sqrt"]),
    (["from math import sqrt as r, pi"], "def f(): return r, pi", ["from math import pi, sqrt as r"]),
    (["from os import path"], "def f(): return path", ["from os import path"]),
    (["from math import *"], "def f(): return sqrt", ["from math import sqrt"]),
    (["from math import *"], "def f(): return 1", []),
    (["import math\nimport math"], "def f(): return math", ["import math"]),
    (["import json", "import math as json"], "def f(): return json", ["import math as json"]),
    (["try: import no_such as q\nexcept ImportError: import json as q"], "def f(): return q", ["import json as q"]),
    (["try: import json as q\nexcept ImportError: import math as q"], "def f(): return q", ["import json as q"]),
    (
        ["if 1:\n from math import sqrt\nelse:\n from cmath import sqrt"],
        "def f(): return sqrt",
        ["from math import sqrt"],
    ),
    (["if 0: import no_such as q\nelse: q = None"], "def f(): return q", []),
    (["try: from no_such import q\nexcept ImportError: q = None"], "def f(): return q", []),
    (["with open('/dev/null'): import json"], "def f(): return json", ["import json"]),
    (["for _ in [1]:\n while 1:\n  import json\n  break"], "def f(): return json", ["import json"]),
    (["import json", "json = 3"], "def f(): return json", []),
    (["import json", "def json(): pass"], "def f(): return json", []),
    (["import json", "json = json"], "def f(): return json", ["import json"]),
    (["import functools"], "@functools.cache\ndef f(): pass", ["import functools"]),
    (["import typing as t"], "def f(x: t.Any): pass", ["import typing as t"]),
    (["import typing as t"], "def f(x: 't.Any'): pass", ["import typing as t"]),
    (["import typing as t"], "def f():\n x: t.Any = 1", ["import typing as t"]),
    (["import json"], "def f(json): return json", []),
    (["import json"], "def f():\n import json\n return json", []),
    (["from collections import abc"], "class A(abc.Sized): pass", ["from collections import abc"]),
    (["import __main__"], "def f(): return __main__", ["import __main__"]),
]


@pytest.mark.parametrize(("imports", "source", "carried"), CARRIED)
def test_carried(imports: list[str], source: str, carried: list[str]) -> None:
    cells = after(*imports)
    cells.run(source)
    assert cells.error is None
    assert list(cells.kept(getattr(ast.parse(source).body[0], "name", "")).imports) == carried


def test_an_import_inside_a_function_is_its_own() -> None:
    assert entries_of(ast.parse("def f():\n import json").body[0], sys.modules) == ()


def test_a_relative_import_and_a_feature_bind_nothing_that_a_file_could_carry() -> None:
    tree = ast.parse("from . import a\nfrom .b import c\nfrom __future__ import annotations")
    assert [entries_of(node, sys.modules) for node in tree.body] == [(), (), ()]


def test_a_star_import_gives_what_the_module_says_or_what_is_public() -> None:
    node = ast.parse("from m import *").body[0]
    said = {"m": module("m", __all__=["a", "_b", 3], a=1, _b=2, c=3)}
    assert [entry.binding for entry in entries_of(node, said)] == ["a", "_b"]
    unsaid = {"m": module("m", a=1, _b=2, c=3)}
    assert [entry.binding for entry in entries_of(node, unsaid)] == ["a", "c"]
    assert entries_of(node, {}) == ()


def test_what_a_module_gives_now_decides() -> None:
    modules = {"m": module("m", f=len, part=3), "m.sub": module("m.sub")}
    assert ImportEntry("f", "m", "f").gives(len, modules)
    assert not ImportEntry("f", "m", "f").gives(abs, modules)
    assert not ImportEntry("f", "gone", "f").gives(len, modules)
    assert ImportEntry("sub", "m", "sub").gives(modules["m.sub"], modules)
    assert ImportEntry("m", "m.sub", None).gives(modules["m"], modules)
    assert not ImportEntry("m", "m.sub", None).gives(modules["m.sub"], modules)
    assert ImportEntry("s", "m.sub", None, renamed=True).gives(modules["m.sub"], modules)


def test_a_function_from_before_its_module_was_loaded_again_is_still_imported() -> None:
    def made() -> FunctionType:
        space: dict[str, Any] = {"__name__": "m"}
        exec("def f(): pass", space)
        function: FunctionType = space["f"]
        return function

    old, new = made(), made()
    entry = ImportEntry("f", "m", "f")
    assert entry.gives(old, {"m": module("m", f=new)}, or_newer=True)
    assert not entry.gives(old, {"m": module("m", f=new)})
    new.__qualname__ = "g"
    assert not entry.gives(old, {"m": module("m", f=new)}, or_newer=True)


def test_a_wrapper_of_the_users_own_is_no_reloaded_function() -> None:
    cells = after("from textwrap import dedent\nimport functools")
    cells.run("dedent = functools.wraps(dedent)(lambda text: text)")
    cells.run("def f(): return dedent")
    assert cells.kept("f").imports == ()
    assert cells.kept("f").needs == ("dedent",)


def test_a_module_whose_attributes_raise_gives_nothing() -> None:
    def broken(name: str) -> object:
        raise RuntimeError(name)

    assert not ImportEntry("x", "m", "x").gives(1, {"m": module("m", __getattr__=broken)})


def test_find_takes_the_shortest_public_path() -> None:
    def thing() -> None: ...

    modules = {
        "__main__": module("__main__", thing=thing),
        "_m": module("_m", thing=thing),
        "a.b": module("a.b", thing=thing),
        "long": module("long", thing=thing),
        "m": module("m", thing=thing),
        "k": module("k", thing=thing),
        "n": module("n", thing=len),
        "perdure.x": module("perdure.x", thing=thing),
    }
    assert find("thing", thing, modules) == ImportEntry("thing", "k", "thing")
    assert find("other", thing, modules) == ImportEntry("other", "k", "thing", renamed=True)
    assert find("b", modules["a.b"], modules) == ImportEntry("b", "a.b", None, renamed=True)
    assert find("m", modules["m"], modules) == ImportEntry("m", "m", None)
    assert find("thing", thing, {"__main__": modules["__main__"]}) is None
    assert find("x", 1, {"m": module("m", x=1)}) is None
    assert find("m", module("m"), modules) is None


def test_only_names_that_no_statement_set_are_looked_for() -> None:
    """A variable that happens to hold what some module has is the user's own; what was brought in is not."""
    cells = Cells()
    cells.namespace["ceiling"] = sys.modules["math"].ceil
    cells.run("from math import floor\nfor each in [floor]: pass")
    cells.run("def f(): return ceiling\ndef g(): return each")
    assert cells.kept("f").imports == ("from math import ceil as ceiling",)
    assert cells.kept("g").imports == ()
    assert cells.kept("g").needs == ("each",)


def test_statements_are_what_a_person_would_write() -> None:
    entries = [
        ImportEntry("sqrt", "math", "sqrt"),
        ImportEntry("np", "numpy", None, renamed=True),
        ImportEntry("os", "os.path", None),
        ImportEntry("f", "math", "floor", renamed=True),
        ImportEntry("sqrt", "math", "sqrt"),
    ]
    assert statements(entries, ["annotations"]) == (
        "from __future__ import annotations",
        "import numpy as np",
        "import os.path",
        "from math import floor as f, sqrt",
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("from __future__ import annotations", "import a.b", "import c as c", "from reimport import f as g, import_x"),
        ("from a import b", "from c import d"),
        (),
    ],
)
def test_written_imports_are_read_again(lines: tuple[str, ...]) -> None:
    entries = entries_in(lines)
    assert statements(entries, ["annotations"] if "__future__" in str(lines) else []) == lines
    assert rebound(lines, ()) == lines


@pytest.mark.parametrize("line", ["import a, b", "from a import (b)", "from b import *  # all", "from a import c, b"])
def test_imports_that_a_hand_wrote_say_nothing(line: str) -> None:
    assert entries_in((line,)) == ()


_NAMES = st.sampled_from(["a", "b", "c"])
_ENTRIES = st.builds(ImportEntry, _NAMES, st.sampled_from(["a", "a.b", "c"]), st.none() | _NAMES, st.booleans())


@given(st.lists(st.lists(_ENTRIES, max_size=4), max_size=4))
def test_what_is_carried_was_recorded_and_gives_the_value(runs: list[list[ImportEntry]]) -> None:
    record = ImportRecord()
    modules = {"a": module("a", a=len, b=abs, c=all), "a.b": module("a.b", a=any), "c": module("c", a=len)}
    for run in runs:
        record.note(run)
    for live in (len, abs, all, any, *modules.values()):
        for name in "abc":
            carried = record.carried(name, live, (), modules)
            assert all(entry.binding == name and entry.gives(live, modules) for entry in carried)
            assert set(carried) <= {entry for run in runs for entry in run}
