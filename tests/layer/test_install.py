"""How a definition goes live."""

from __future__ import annotations

import inspect
import linecache
from pathlib import Path

import pytest

from perdure.layer.definition import Definition, Key, Kind
from perdure.layer.fileformat import render
from perdure.layer.install import FromText, Image, InPlace


def image(**names: object) -> Image:
    return Image({"__name__": "__main__", **names})


def installed(into: Image, definition: Definition, *, lazy: bool = False, filename: str = "<file>") -> None:
    into.install(definition, FromText(render(definition).decode(), filename, lazy_annotations=lazy))


def function(name: str, text: str, *imports: str) -> Definition:
    return Definition(Key(name), Kind.FUNCTION, text, imports)


def test_in_place_records_and_runs_nothing() -> None:
    live = image()
    live.install(function("f", "1/0"), InPlace())
    assert list(live.live) == ["f"]
    assert "f" not in live.namespace


def test_from_text_runs_it_as_the_code_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "f.py"
    definition = function("f", "# why\ndef f():\n    return sqrt(4)", "from math import sqrt")
    file.write_bytes(render(definition))
    live = image()
    installed(live, definition, filename=str(file))
    linecache.checkcache()
    function_made = live.namespace["f"]
    assert callable(function_made)
    assert function_made() == 2
    assert inspect.getsource(function_made) == "def f():\n    return sqrt(4)\n"
    assert function_made.__module__ == "__main__"
    assert live.live["f"] is definition


def test_what_raises_leaves_the_record_as_it_was() -> None:
    live = image()
    first = function("f", "def f(): return 1")
    installed(live, first)
    with pytest.raises(ZeroDivisionError):
        installed(live, function("f", "@(1/0)\ndef f(): return 2"))
    assert live.live["f"] is first
    assert live.namespace["f"]() == 1  # type: ignore[operator]


def test_names_that_others_give_stay_theirs() -> None:
    live = image()
    installed(live, Definition(Key("A"), Kind.VALUE, "A = 5"))
    installed(live, Definition(Key("B"), Kind.VALUE, "A, B, C = 1, 2, 3", names=("B",)))
    assert {name: live.namespace.get(name) for name in "ABC"} == {"A": 5, "B": 2, "C": None}


def test_an_import_does_not_replace_what_is_kept_under_its_name() -> None:
    live = image()
    installed(live, function("sqrt", "def sqrt(x): return 'mine'"))
    installed(live, function("f", "def f(): return sqrt(4), pi", "from math import pi, sqrt"))
    assert live.namespace["f"]()[0] == "mine"  # type: ignore[operator]
    with pytest.raises(ZeroDivisionError):
        installed(live, function("g", "def g(x=1/0): pass", "from math import sqrt"))
    assert live.namespace["sqrt"](4) == "mine"  # type: ignore[operator]
    # What is loaded with the import still has it while it loads.
    installed(live, function("h", "def h(x=sqrt(4)): return x", "from math import sqrt"))
    assert live.namespace["h"]() == 2  # type: ignore[operator]


def test_a_helper_that_was_added_to_a_file_by_hand_stays() -> None:
    live = image()
    live.install(function("f", "def f(): pass"), FromText("def helper(): return 1\ndef f(): return helper()", "<file>"))
    assert live.namespace["f"]() == 1  # type: ignore[operator]


def test_lazy_annotations_are_not_evaluated() -> None:
    live = image()
    definition = function("f", "def f(x: Nothing): pass")
    with pytest.raises(NameError):
        installed(live, definition)
    installed(live, definition, lazy=True)
    assert live.namespace["f"].__annotations__ == {"x": "Nothing"}


def test_features_of_this_package_are_not_inherited() -> None:
    live = image()
    installed(live, function("f", "def f(x: int): pass"))
    assert live.namespace["f"].__annotations__ == {"x": int}
    installed(live, function("f", "def f(x: int): pass", "from __future__ import annotations"))
    assert live.namespace["f"].__annotations__ == {"x": "int"}


def test_it_warns_of_nothing_that_its_cell_warned_of() -> None:
    installed(image(), function("f", "def f(): return '\\d'"))


def test_a_forgotten_name_keeps_its_object() -> None:
    live = image()
    installed(live, function("f", "def f(): return 1"))
    live.forget("f")
    live.forget("f")
    assert not live.live
    assert live.namespace["f"]() == 1  # type: ignore[operator]
