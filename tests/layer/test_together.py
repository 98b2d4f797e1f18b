"""Files whose code runs as one: which these are, and that nobody can tell by what they define."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from perdure.layer.boot_cache import Bundle
from perdure.layer.boot_journal import TOGETHER, BootJournal
from perdure.layer.definition import RelPath
from perdure.layer.install import compile_file
from perdure.layer.safe_boot import FolderWatch
from perdure.layer.together import merged, runs, taken_by

from .starts import Starts, all_known, complete, differences, is_replayed

PLAIN = {
    "a function": "def area(r, *, scale=1.5, name='x', pair=(1, -2)):\n    return r * scale",
    "imports": "import json\nimport os.path as p\nfrom math import sqrt\n\n\ndef f():\n    return sqrt(p.sep)",
    "annotations": "from typing import Any\n\n\ndef f(x: int, *y: list[str] | None, z: Any = None) -> 'later': ...",
    "a coroutine": "async def f(): ...",
    "a class": "class Circle:\n    '''Round.'''\n\n    size = 3\n    __slots__ = ('a',)\n\n    def grow(self): ...",
    "properties": "class C:\n    @property\n    def a(self): ...\n\n    @a.setter\n    def a(self, value): ...",
    "a base": "from enum import Enum\n\n\nclass Color(Enum):\n    RED = 1",
    "an exception": "class Odd(ValueError):\n    pass",
    "literals": "RATES = {'a': [1, -2.5], 'b': {3}, None: (True, ...)}",
    "two names": "A = B = 1",
}
ODD = {
    "a docstring": '"""Of the file."""\n\n\ndef f(): ...',
    "a future": "from __future__ import annotations\n\n\ndef f(): ...",
    "a star": "from math import *\n\n\ndef f(): ...",
    "a package of others": "import numpy\n\n\ndef f(): ...",
    "a module that prints": "import this\n\n\ndef f(): ...",
    "a module that goes": "import cgi\n\n\ndef f(): ...",
    "a sibling": "from . import other\n\n\ndef f(): ...",
    "a decorator": "from functools import cache\n\n\n@cache\ndef f(): ...",
    "a decorator of a method": "class C:\n    @cache\n    def f(self): ...",
    "a call": "RATE = float('1')",
    "a default": "def f(r=RATE): ...",
    "a default that is called": "def f(r=len('a')): ...",
    "an annotation of one's own": "def f(c: Circle): ...",
    "an annotated name": "RATE: int = 3",
    "an annotated attribute": "class C:\n    rate: int = 3",
    "a base of one's own": "class C(B): ...",
    "a metaclass": "from abc import ABCMeta\n\n\nclass C(metaclass=ABCMeta): ...",
    "a body that does something": "class C:\n    print('made')",
    "an attribute": "Circle.grow = 3",
    "a condition": "if True:\n    def f(): ...",
    "a loop": "for i in range(3): ...",
    "a name of the module": "__all__ = ['f']",
    "the builtins": "__builtins__ = {}",
    "a lambda": "F = lambda: 1",
    "a sum": "A = 10 ** 100",
    "a deletion": "A = 1\ndel A",
}


@pytest.mark.parametrize("what", PLAIN)
def test_what_only_defines_is_plain(what: str) -> None:
    assert taken_by(ast.parse(PLAIN[what]).body) is not None


@pytest.mark.parametrize("what", ODD)
def test_what_may_do_something_is_not(what: str) -> None:
    assert taken_by(ast.parse(ODD[what]).body) is None


def test_it_is_told_which_names_are_taken_for_builtin_classes() -> None:
    text = "from typing import Any\n\n\ndef f(x: int, y: dict[str, Any]): ...\n\n\n"
    text += "class C(list):\n    @property\n    def g(self): ..."
    assert taken_by(ast.parse(text).body) == frozenset({"int", "dict", "str", "list", "property"})


# Runs.


def paths(*names: str) -> list[RelPath]:
    return [RelPath(f"functions/{name[0]}/{name}.py") for name in names]


def test_a_run_ends_before_a_file_that_is_not_plain() -> None:
    order = paths("a", "b", "odd", "c", "d")
    plain = {*order} - {*paths("odd")}
    assert [*runs(order, plain)] == [tuple(order[:2]), tuple(order[2:3]), tuple(order[3:])]
    assert [*runs([], set())] == []


def test_most_runs_stay_as_they_are_where_a_file_comes_or_goes() -> None:
    order = paths(*(f"name_{number}" for number in range(3000)))
    before = {*runs(order, {*order})}
    assert 4 <= len(before) <= 40
    for at in (0, 1500, 2999):
        assert len(before - {*runs(order[:at] + order[at + 1 :], {*order})}) <= 2


# Their code.


def made_of(texts: dict[str, str]) -> tuple[CodeType, dict[str, Any], dict[str, Any]]:
    """Files as one code object, the namespace that makes, and the one that they make one by one."""
    files = [(ast.parse(text), compile_file(text, path).code) for path, text in texts.items()]
    one = merged(files)
    assert one is not None
    together: dict[str, Any] = {"__name__": "__main__"}
    apart = together.copy()
    exec(one, together)
    for _, code in files:
        exec(code, apart)
    return one, together, apart


def test_functions_and_classes_are_as_their_files_make_them() -> None:
    texts = {f"/layer/{number}.py": f"\n{text}\n" for number, text in enumerate(PLAIN.values())}
    texts["/layer/same.py"] = "class Square:\n    '''Round.'''\n\n    size = 3\n\n    def grow(self): ..."
    _, together, apart = made_of(texts)
    assert together.keys() == apart.keys()
    for name, value in together.items():
        if isinstance(value, FunctionType):
            assert_alike(value, apart[name])
    for name in ("Circle", "Square"):
        assert_alike(together[name].grow, apart[name].grow)
        assert together[name].grow.__qualname__ == f"{name}.grow"
        assert together[name].__module__ == "__main__"


def assert_alike(one: FunctionType, other: FunctionType) -> None:
    assert one.__code__ == other.__code__
    assert one.__code__.co_filename == other.__code__.co_filename
    assert one.__code__.co_qualname == other.__code__.co_qualname
    assert [*one.__code__.co_positions()] == [*other.__code__.co_positions()]
    assert (one.__defaults__, one.__kwdefaults__) == (other.__defaults__, other.__kwdefaults__)
    assert one.__annotations__ == other.__annotations__


def test_an_import_that_binds_the_same_again_is_made_once() -> None:
    one, together, apart = made_of(
        {
            "a": "import json\nfrom math import pi\n\n\ndef a(): ...",
            "b": "import json\nfrom math import pi\n\n\ndef b(): ...",
            "c": "def json(): ...",
            "d": "import json\n\n\ndef d(): ...",
            "e": "pi = 3",
            "f": "from math import pi\n\n\ndef f(): ...",
        }
    )
    assert together["json"] is apart["json"]
    assert together["pi"] == apart["pi"] != 3
    assert one.co_names.count("json") == 1


def test_code_that_cannot_be_told_apart_is_not_merged() -> None:
    text = "def f(): ..."
    assert merged([(ast.parse(text), compile_file(text, path).code) for path in ("a", "b")]) is None


# Replays.

FILES = {
    **{
        f"functions/{name}/{name}.py": f"import math\n\n\ndef {name}(r):\n    return math.pi * r\n"
        for name in "abcdefg"
    },
    "functions/o/odd.py": "from functools import cache\n\n\n@cache\ndef odd():\n    raise ValueError('odd')\n",
    **{
        f"classes/{name.lower()}/{name}.py": f"class {name}:\n    def grow(self):\n        return {name}\n"
        for name in "XYZ"
    },
}


@pytest.fixture
def starts(tmp_path: Path) -> Starts:
    made = Starts(tmp_path, FILES)
    made.prepare()
    return made


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Which runs came to their end, in the starts from now on."""
    ended: list[bool] = []
    run = FolderWatch.run_together

    def noting(self: FolderWatch, act: Any) -> bool:
        ended.append(run(self, act))
        return ended[-1]

    monkeypatch.setattr(FolderWatch, "run_together", noting)
    return ended


def turns(starts: Starts) -> list[int]:
    bundle = Bundle.read(starts.bundle)
    assert bundle is not None
    return [count for count, _, _ in bundle.plan.turns]


def test_a_replay_runs_together_what_only_defines(starts: Starts, together: list[bool]) -> None:
    assert min(map(abs, turns(starts))) == 1
    assert sum(map(abs, turns(starts))) == len(FILES)
    kernel = starts.replayed()
    assert together
    assert all(together)
    function = kernel.namespace["c"]
    assert function.__code__.co_filename == str(starts.root / "functions/c/c.py")
    linecache.clearcache()
    assert inspect.getsource(function) == "def c(r):\n    return math.pi * r\n"
    assert kernel.namespace["X"]().grow() is kernel.namespace["X"]
    other = Starts.__new__(Starts)
    other.__dict__ |= starts.__dict__ | {"cache": starts.cache.with_name("other")}
    assert differences(all_known(other.prepare()), all_known(complete(kernel))) == {}


def test_after_one_file_changed_the_other_runs_are_taken_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"functions/n/n{i}.py": f"def n{i}():\n    return {i}\n" for i in range(1200)}
    starts = Starts(tmp_path, files)
    starts.prepare()
    count = len(turns(starts))
    assert count > 2
    compiled: list[int] = []

    def noting(files: Sequence[tuple[ast.Module, CodeType]]) -> CodeType | None:
        compiled.append(len(files))
        return merged(files)

    monkeypatch.setattr("perdure.layer.bundling.merged", noting)
    starts.put("functions/n/n600.py", "def n600():\n    return -1\n")
    starts.write(complete(starts.start()))
    assert len(compiled) == 1
    assert starts.replayed().namespace["n600"]() == -1


@pytest.mark.parametrize("where", ["ambient", "layer"])
def test_where_a_builtin_class_is_another_each_file_runs_by_itself(
    tmp_path: Path, together: list[bool], where: str
) -> None:
    """`int` in an annotation is what the namespace has."""
    files = {f"functions/{name}/{name}.py": f"def {name}(x: int): ...\n" for name in "abc"}
    if where == "layer":
        files["classes/i/int.py"] = "class int: ...\n"
    starts = Starts(tmp_path, files)
    starts.prepare()
    ambient = {"int": "mine"} if where == "ambient" else None
    kernel = starts.replayed(ambient)
    assert together == ([] if where == "ambient" else [True] * len(together))
    assert kernel.namespace["a"].__annotations__ == {"x": kernel.namespace["int"]}


def test_what_fails_together_is_told_as_it_fails_by_itself(
    starts: Starts, together: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    import math
    import sys

    monkeypatch.setitem(sys.modules, "math", None)
    kernel = complete(starts.start())
    assert not all(together)
    skipped = {item.path: item.reason for item in kernel.layer.report.skipped}
    assert {*skipped} == {path for path in FILES if "math" in FILES[path]}
    assert all("math" in reason for reason in skipped.values())
    assert kernel.namespace["X"]().grow() is kernel.namespace["X"]
    monkeypatch.setitem(sys.modules, "math", math)
    assert complete(starts.start()).namespace["a"](1) == math.pi


def test_after_a_death_among_many_each_file_runs_by_itself(starts: Starts, together: list[bool]) -> None:
    """The journal tells of it that many ran; the next death is that of one of them."""
    journal = BootJournal(starts.cache, starts.root)
    journal.begin()
    journal.enters(TOGETHER)
    assert is_replayed(starts.start())
    assert together == []
    journal.end()
    assert is_replayed(starts.start())
    assert all(together)
    assert together


def test_where_the_record_says_more_a_replay_goes_one_by_one_and_the_next_does_not(
    starts: Starts, together: list[bool]
) -> None:
    journal = BootJournal(starts.cache, starts.root)
    journal.note({"proven": ["another"]})
    kernel = starts.replayed()
    assert together == []
    assert starts.write(complete(kernel)) == 1
    starts.replayed()
    assert together
    assert starts.write(complete(starts.start())) == 0
