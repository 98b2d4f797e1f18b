"""The keep rule of DESIGN §3, row by row: the cells of a session → what becomes of their statements."""

from __future__ import annotations

import ast
import sys

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.given import defines

from .cells import Cells, said
from .made_up import MADE_UP

BIG = "#" * (1 << 20)

ROWS: dict[str, tuple[list[str], list[str]]] = {
    # def, async def, class, decorated or not
    "def": (["def f(): pass"], ["keep f"]),
    "async def": (["async def f(): pass"], ["keep f"]),
    "class": (["class A: pass"], ["keep A"]),
    "generator, nested, lambda default": (["def f(x=lambda: 1):\n def g(): yield x\n return g"], ["keep f"]),
    "decorated": (["import functools\n@functools.cache\ndef f(): pass"], ["keep f"]),
    "decorated by what is kept": (["def d(g): return g", "@d\ndef f(): pass"], ["keep d", "keep f"]),
    "decorated to None": (["def d(g): pass\n@d\ndef f(): pass"], ["keep d", "keep f"]),
    "leading underscore": (["def _helper(): pass"], ["keep _helper"]),
    "a name as outputs have": (["def _(): pass", "def __(): pass", "def _3(): pass", "class _i: pass"], []),
    "builtin shadow": (
        ["def sum(x): pass", "def sum(y): pass"],
        ["keep sum; sum hides the builtin; del sum brings it back", "keep sum"],
    ),
    "two in one cell": (["def f(): return 1\ndef f(): return 2"], ["keep f", "keep f"]),
    "statement before an error": (["def ok(): pass\n1/0\ndef no(): pass"], ["keep ok"]),
    # type makers and aliases
    "TypeVar": (["from typing import TypeVar\nT = TypeVar('T')"], ["keep T"]),
    "NewType by module": (["import typing as t\nUserId = t.NewType('UserId', int)"], ["keep UserId"]),
    "namedtuple": (["from collections import namedtuple\nPoint = namedtuple('Point', 'x y')"], ["keep Point"]),
    "Enum call": (["from enum import Enum\nColor = Enum('Color', 'RED BLUE')"], ["keep Color"]),
    "type with three arguments": (["Made = type('Made', (), {})"], ["keep Made"]),
    "type with one argument": (["kind = type(1)"], []),
    "alias of a type (K4)": (["State = str", "def g(s: State): pass"], ["keep State", "keep g"]),
    "alias of a generic": (["Rows = list[dict[str, int]]"], ["keep Rows"]),
    "alias of a union": (["Maybe = int | None"], ["keep Maybe"]),
    "alias of a typing object": (["from typing import Callable\nFn = Callable[[int], str]"], ["keep Fn"]),
    "alias of Any": (["from typing import Any\nJson = Any"], ["keep Json"]),
    "TypeAlias of text": (["from typing import TypeAlias\nTree: TypeAlias = 'list[Tree]'"], ["keep Tree"]),
    "a variable that holds a type": (["kinds = [int]", "kind = kinds[0]"], ["keep kind with kinds"]),
    "a variable that holds a variable's type": (["xs = iter('ab')", "kind = xs.__class__"], []),
    "alias of a kept class": (["class A: pass", "B = A"], ["keep A", "keep B"]),
    # function aliases
    "alias of a function (K6)": (
        ["def hello(): return 1", "greet = hello", "def hello(): return 2"],
        ["keep hello", "keep greet", "keep hello; greet still is the earlier hello; after a restart it is the new one"],
    ),
    "alias of an imported function": (["import json", "dump = json.dumps"], ["keep dump"]),
    "alias of a kept cached function": (
        ["import functools\n@functools.cache\ndef f(): pass", "g = f"],
        ["keep f", "keep g"],
    ),
    "alias of a variable's method": (["xs = []", "add = xs.append"], []),
    # constants
    "constant": (["RATE = 0.2"], ["keep RATE"]),
    "constant by literals": (["TABLE = {'a': [1, (2, None)], 'b': {3, -4j}}"], ["keep TABLE"]),
    "constant by operators": (["A1 = 2", "B1 = A1 ** 2 + 1 if A1 else 0"], ["keep A1", "keep B1"]),
    "constant by a pure call": (["import re\nWORD = re.compile(r'\\w+')"], ["keep WORD"]),
    "constant by a comprehension": (["SQUARES = [i * i for i in range(3)]"], ["keep SQUARES"]),
    "constant by value methods": (["NAMES = 'a b'.split()"], ["keep NAMES"]),
    "single capital (K14)": (["T = 0.5", "X = open"], ["keep X"]),
    "unknown call": (["import time\nNOW = time.time()"], ["not NOW: it calls time.time()"]),
    "own function": (["def f(): return 1", "ONE = f()"], ["keep f", "not ONE: it calls f()"]),
    "input": (["import os\nHOME = os.environ['HOME']"], ["not HOME: it reads os.environ"]),
    "input by name": (["from os import environ\nHOME = environ['HOME']"], ["not HOME: it reads environ"]),
    "constant by a variable": (["bs = 64", "SIZE = bs * 2"], ["keep SIZE with bs"]),
    "constant by what is not kept": (
        ["bs = next(iter([3]))", "SIZE = bs * 2"],
        ["not SIZE: it reads bs, which is not kept"],
    ),
    "awaited constant": (["import asyncio", "async def f(): pass"], ["keep f"]),
    "annotated constant": (["RATE: float = 0.2"], ["keep RATE"]),
    "declared constant": (["RATE: float"], []),
    "Final": (["from typing import Final\nrate: Final = 0.2"], ["keep rate"]),
    "Final of a type, by module": (["import typing as t\nrate: t.Final[float] = 0.2"], ["keep rate"]),
    "Final with an unknown call": (
        ["import time\nfrom typing import Final\nnow: Final = time.time()"],
        ["not now: it calls time.time()"],
    ),
    "several targets": (["LOW, HIGH = 0, 9"], ["keep LOW, HIGH"]),
    "several names of one value": (["LOW = BOTTOM = 0"], ["keep LOW, BOTTOM"]),
    "several targets, one of them plain": (["LOW, high = 0, 9"], []),
    "constant set inside another": (
        ["TABLE = {}", "TABLE['a'] = 1", "if 1: del TABLE['a']"],
        ["keep TABLE", "not TABLE: it was changed in place; the layer has it as it was set"],
    ),
    "constant with an attribute set": (
        ["from types import SimpleNamespace as S\nCFG = S(x=1)\nclass A: pass", "CFG.x, A.y = 2, 3"],
        ["keep CFG", "keep A", "not CFG: it was changed in place; the layer has it as it was set"],
    ),
    "target that is no name": (
        ["TABLE = {}", "LIMIT = TABLE['a'] = 1"],
        ["keep TABLE", "not TABLE: it was changed in place; the layer has it as it was set"],
    ),
    # imports are not kept alone
    "import": (["import json\nfrom os import path as p\nfrom math import *"], []),
    # pull-in
    "constant of a default (K1)": (["BATCH = 64\ndef f(x, n=BATCH): pass"], ["keep BATCH", "keep f"]),
    "variable of a default (K2)": (["bs = 64", "def f(x, n=bs): pass"], ["keep f with bs"]),
    "variables of a variable": (["a = 1", "b = a + 1", "def f(n=b): pass"], ["keep f with a, b"]),
    "variable of a decorator": (
        ["n = 3", "def d(k): return lambda g: g", "@d(n)\ndef f(): pass"],
        [
            "keep d",
            "keep f with n",
        ],
    ),
    "variable of a base and a body": (
        ["base = object", "field = 1", "class A(base):\n x = field"],
        ["keep base", "keep A with field"],
    ),
    "default whose own inputs are others now": (
        [
            "a = 2",
            "b = a * 3",
            "a = 2",
            "c = a * 4",
            "def f(x=b): pass",
            "a = 5",
            "def g(x=b): pass",
            "def h(x=c): pass",
        ],
        ["keep f with a, b", "keep g", "not h: it needs c to load"],
    ),
    "default whose input is an import now": (
        ["n = 2", "m = n * 3", "import json as n", "def f(x=m): pass"],
        ["not f: it needs m to load"],
    ),
    "lambda for a default": (["key = lambda x: -x", "def f(k=key): pass"], ["keep key", "keep f"]),
    "variable that cannot be kept": (
        ["app = iter('ab')", "@app.__class__\ndef home(): pass", "def about(x=app): pass"],
        ["not about: it needs app to load"],
    ),
    "list that has been filled since": (
        ["xs = []", "xs.append(1)", "def f(n=xs): pass"],
        ["not f: it needs xs to load"],
    ),
    "array that may have been changed since": (
        ["import numpy as np\nwts = np.zeros(3)", "wts[0] = 5", "def f(w=wts): pass"],
        ["not f: it needs wts to load"],
    ),
    "what a call made and a function may have changed": (
        ["d = dict(a=1)\ndef g(): d['a'] = 2", "g()\ndef f(x=d): pass"],
        ["keep g needs d", "not f: it needs d to load"],
    ),
    "what a call made, not mentioned since": (
        ["d = dict(a=1)", "e = 1; print(e)", "def f(x=d): pass", "def g(x=d): pass"],
        ["keep f with d", "keep g"],
    ),
    "what a call made that cannot change": (
        ["from pathlib import Path\nroot = Path('a')", "print(root)", "def f(x=root): pass"],
        ["keep f with root"],
    ),
    "loop variable": (["for i in [1]: pass", "def f(n=i): pass"], ["not f: it needs i to load"]),
    "annotation only (K5)": (["c = iter('ab')", "def h(x: c): pass"], ["keep h"]),
    # what is called while loading
    "default that calls what needs a variable": (
        ["app = iter('ab')", "g = lambda: app", "def home(x=g()): pass"],
        ["keep g needs app", "not home: it needs app to load"],
    ),
    "default that calls what needs a pure variable": (
        ["limit = 3", "def g(): return limit", "def home(x=g()): pass"],
        ["keep g needs limit", "keep home with limit"],
    ),
    "decorator whose inner function needs a variable": (
        ["app = iter('ab')", "def d(f):\n def inner(): return app\n return inner", "@d\ndef home(): pass"],
        ["keep d needs app", "keep home"],
    ),
    "decorator with arguments that needs a variable": (
        [
            "app = iter('ab')",
            "def route(path):\n def d(f):\n  app.__class__\n  return f\n return d",
            "@route('/')\ndef home(): pass",
        ],
        ["keep route needs app", "not home: it needs app to load"],
    ),
    "constructor that needs a variable": (
        [
            "app = iter('ab')",
            "class Base:\n def __init__(self): self.app = app\nclass A(Base): pass",
            "def home(x=A()): pass",
        ],
        ["keep Base needs app", "keep A", "not home: it needs app to load"],
    ),
    "base whose subclasses need a variable": (
        ["seen = iter('ab')", "class P:\n def __init_subclass__(cls): seen", "class Q(P): pass"],
        ["keep P needs seen", "not Q: it needs seen to load"],
    ),
    "loading that goes round": (
        ["def f(n): return n and g(n - 1)\ndef g(n): return n and f(n - 1)", "def h(x=f(3)): pass"],
        [
            "keep f",
            "keep g",
            "keep h",
        ],
    ),
    # needs
    "variable read when called (K3)": (["df = iter('ab')", "def f(): return df"], ["keep f needs df"]),
    "literal read when called": (["df = [1]", "def f(): return df"], ["keep f needs df"]),
    "nothing of the name yet": (["def f(): return later"], ["keep f"]),
    "builtins are no needs": (["def f(): return len(__name__), print"], ["keep f"]),
    # unchanged
    "unchanged (K17)": (["def f(): pass", "def f(): pass"], ["keep f", "same f"]),
    "other layout": (["def f(): pass", "def f():  pass"], ["keep f", "keep f"]),
    "other comment": (["def f(): pass", "# why\ndef f(): pass"], ["keep f", "keep f"]),
    "back again (K22)": (["X1 = 1", "X1 = 2", "X1 = 1"], ["keep X1", "keep X1", "keep X1"]),
    "def, then class": (["def area(): pass", "class area: pass"], ["keep area", "keep area"]),
    # a definition that replaces what it reads
    "subclass of an import of its name": (["from pathlib import Path", "class Path(Path): pass"], ["keep Path"]),
    "subclass of a builtin of its name": (
        ["class dict(dict): pass"],
        ["keep dict; dict hides the builtin; del dict brings it back"],
    ),
    "subclass of its kept self (K9)": (
        ["class A: pass", "class A(A): x = 1", "class A(A): x = 1"],
        ["keep A", "keep A", "same A"],
    ),
    "subclass of an import, run again": (
        ["from pathlib import Path", "class Path(Path): pass", "class Path(Path): pass"],
        ["keep Path", "same Path"],
    ),
    "default that reads its own variable": (
        ["f = 3", "def f(x=f): pass"],
        ["not f: its load reads the earlier f, which it replaces"],
    ),
    # del, and plain reassignment
    "del": (["def f(): pass", "del f"], ["keep f", "forget f"]),
    "del of several": (["A1 = 1\nB1 = 2\nc = 3", "del (A1, c), B1"], ["keep A1", "keep B1", "forget A1", "forget B1"]),
    "del of an item": (
        ["TABLE = {1: 2}", "del TABLE[1]"],
        ["keep TABLE", "not TABLE: it was changed in place; the layer has it as it was set"],
    ),
    "del inside a compound statement": (["def f(): pass", "if 1: del f"], ["keep f", "forget f: it was deleted"]),
    "set in a block": (
        [
            "def a(): pass\ndef b(): pass\ndef c(): pass\nclass d: pass\nEE = 1",
            "if True:\n def a(): pass",
            "try:\n b = 1\nfinally: pass",
            "for c in [1]: pass",
            "with open('/dev/null') as d: pass",
            "match 2:\n case EE: pass",
        ],
        [
            *("keep a", "keep b", "keep c", "keep d", "keep EE"),
            *("same a", "forget b: it is a plain variable now"),
            *(f"forget {name}: it was set in a block" for name in "c d EE".split()),
        ],
    ),
    "set twice by a loop": (
        ["def f(): pass", "for i in range(2):\n def f(): return i"],
        ["keep f", "forget f: it was set in a block"],
    ),
    "set by a walrus": (
        ["def f(): pass", "(f := 3)", "def g(): pass\nx = (g := 3)"],
        ["keep f", "forget f: it is a plain variable now", "keep g", "forget g: it is a plain variable now"],
    ),
    "set by an except": (
        ["def f(): pass", "try:\n 1/0\nexcept ZeroDivisionError as f: pass"],
        ["keep f", "forget f: it was deleted"],
    ),
    "a branch that did not run": (
        [
            "def f(): pass\nclass A: pass\nROWS = []\nRATE = 0.5",
            "if False:\n f = 1; A = 1; ROWS = 1; RATE = 1",
            "ROWS.append(1)",
            "for f in []: pass\nif 0: del f, A, ROWS\ntry: RATE = 0.5\nexcept OSError as f: pass",
        ],
        ["keep f", "keep A", "keep ROWS", "keep RATE", "same RATE"],
    ),
    "a branch that did not run, after a wrapper": (
        ["def d(g): return lambda: g\ndef f(): pass", "f = d(f)", "if False: f = 1"],
        ["keep d", "keep f", "keep f"],
    ),
    "kept list that a method changed": (
        [
            "ROWS = [1]",
            "ROWS.index(1)",
            "ROWS.append(2)",
            "ROWS.append(3)",
            "def f(): ROWS.append(4)",
            "ROWS = [5]",
            "ROWS.pop()",
        ],
        [
            "keep ROWS",
            "not ROWS: it was changed in place; the layer has it as it was set",
            "keep f",
            "keep ROWS",
            "not ROWS: it was changed in place; the layer has it as it was set",
        ],
    ),
    "pulled variable set by a loop": (["bs = 64", "def f(n=bs): pass", "for bs in [1]: pass"], ["keep f with bs"]),
    # imports over what is kept
    "import of a kept name": (
        ["def json(): pass", "import json", "def g(): return json", "del json"],
        ["keep json", "hidden json", "keep g", "forget json"],
    ),
    "import from, of a kept name": (
        ["def hypot(): pass\ndef sin(): pass", "from math import hypot", "if 1: from math import sin"],
        ["keep hypot", "keep sin", "hidden hypot", "hidden sin"],
    ),
    "star import of a kept name": (["def hypot(): pass", "from math import *"], ["keep hypot", "hidden hypot"]),
    "import of what is kept under the name": (
        ["from json import dumps", "dump = dumps", "from json import dumps as dump"],
        ["keep dump"],
    ),
    "del and def in one cell": (["def f(): pass", "del f\ndef f(): return 1"], ["keep f", "forget f", "keep f"]),
    "plain assignment": (["def f(): pass", "f = 3"], ["keep f", "forget f: it is a plain variable now"]),
    "plain assignment with others": (
        ["def f(): pass", "f, g = 3, 4"],
        ["keep f", "forget f: it is a plain variable now"],
    ),
    "constant to a plain value": (
        ["RATE = 1", "import time\nRATE = time.time()"],
        ["keep RATE", "not RATE: it calls time.time()", "forget RATE: it calls time.time()"],
    ),
    "augmented": (["RATE = 1", "RATE += 1"], ["keep RATE", "forget RATE: it is a plain variable now"]),
    "constant made from what it was": (
        ["NUM = 1", "NUM = NUM + 1", "NUM = NUM + 1"],
        [
            "keep NUM",
            "forget NUM: it is made from what it was; %keep NUM keeps it as it is now",
            "not NUM: it is made from what it was",
        ],
    ),
    "constants that change places": (
        ["SW1 = 1\nSW2 = 2", "SW1, SW2 = SW2, SW1"],
        [
            *("keep SW1", "keep SW2"),
            *(f"forget {n}: it is made from what it was; %keep {n} keeps it as it is now" for n in ("SW1", "SW2")),
        ],
    ),
    "constant made from what it was, for which another has it": (
        ["NUM = 1\ndef f(n=NUM): pass", "NUM = NUM + 1"],
        ["keep NUM", "keep f", "not NUM: it is made from what it was; the layer still has the earlier one"],
    ),
    "not kept in place of what is": (
        ["s = iter('ab')\ndef f(): pass\nKEY_ID = 1", "def f(x=s): pass", "def f(): login(password='hunter22')"],
        [
            *("keep f", "keep KEY_ID"),
            "not f: it needs s to load; the layer still has the earlier one",
            "not f: holds what looks like a secret (password); the layer still has the earlier one",
        ],
    ),
    "not kept, run again": (
        ["def f(): pass", "import time\ndef f(x=time.time()): pass", "def f(x=time.time()): pass"],
        ["keep f", "keep f", "same f"],
    ),
    "one of several": (["LOW, HIGH = 0, 9", "LOW = 1"], ["keep LOW, HIGH", "keep LOW"]),
    "pulled variable that is set again": (["bs = 64", "def f(n=bs): pass", "bs = 8", "bs += 1"], ["keep f with bs"]),
    "pulled variable among others": (["bs = 64", "def f(n=bs): pass", "bs, lr = 8, 1"], ["keep f with bs"]),
    "constant that a definition was made with": (
        ["BATCH = 64\ndef f(n=BATCH): pass", "BATCH = next(iter([1]))"],
        ["keep BATCH", "keep f", "not BATCH: it calls next(); the layer still has the earlier one"],
    ),
    "function that a definition was made with": (
        ["def d(g): return g\n@d\ndef f(): pass", "d = 3"],
        ["keep d", "keep f", "forget d: it is a plain variable now; f needs it to load"],
    ),
    # not kept, and unsaid
    "other compound statements": (
        ["for f in []: pass\nwith open('/dev/null') as g: pass\ntry: pass\nfinally: pass"],
        [],
    ),
    "plain variable": (["x = 1", "x, y = 1, 2", "x.real", "x: int = 3"], []),
    # bounds
    "1 MB": (
        [f"def f(): pass  {BIG}"],
        ["not f: it has 1,048,591 bytes and a definition at most 1,048,576; move its data to a file"],
    ),
    "less than 1 MB": ([f"def f(): pass  {BIG[20:]}"], ["keep f"]),
    # secrets
    "secret by name (K24)": (["API_KEY = 'abcd1234'"], ["not API_KEY: looks like a secret"]),
    "secret in a function": (
        ["def f(): login(password='hunter22')"],
        ["not f: holds what looks like a secret (password)"],
    ),
    "secret among targets": (
        ["USER, PASSWORD = 'bob', 'hunter22'"],
        ["not USER: holds what looks like a secret (PASSWORD)"],
    ),
    "token anywhere": (
        [f"def f(): # {MADE_UP['GitHub']}\n pass"],
        ["not f: holds what looks like a secret (a token)"],
    ),
    "secret that would be pulled in": (
        ["password = 'hunter22'", "def f(p=password): pass"],
        ["not f: it needs password, which looks like a secret, to load"],
    ),
    "secret in a plain variable": (["password = 'hunter22'"], []),
    "secret by another name": (["p = 'hunter22secret'", "PASSWORD = p"], ["not PASSWORD: looks like a secret"]),
    "secret by another name in a default": (
        ["p = 'hunter22secret'", "def f(password=p): pass"],
        ["not f: holds what looks like a secret (password)"],
    ),
    "function that another uses": (
        ["def h(): pass\ndef f(): return h()", "del h"],
        ["keep h", "keep f", "forget h: f uses it, and will not load without it"],
    ),
    "function that wraps its earlier self": (
        ["import functools\ndef f(): pass", "f = functools.lru_cache(f)", "f = functools.lru_cache(f)"],
        ["keep f", "keep f", "same f"],
    ),
    "name for a method of a built-in type": (["upper = str.upper"], ["keep upper"]),
}
LOSING = {"function that a definition was made with", "function that another uses"}  # and so one file is skipped


@pytest.mark.parametrize(("cells", "outcomes"), ROWS.values(), ids=ROWS)
def test_row(cells: list[str], outcomes: list[str]) -> None:
    kernel = Cells()
    assert [line for cell in cells for line in said(kernel.run(cell))] == outcomes


@pytest.mark.parametrize("name", ROWS.keys() - LOSING)
def test_what_was_kept_is_there_after_a_restart(name: str) -> None:
    """All of it loads, unresolved or not; it is never kept in vain."""
    before = Cells()
    for cell in ROWS[name][0]:
        before.run(cell)
    after = before.restarted()
    assert not after.layer.report.skipped
    assert after.names == before.names <= after.namespace.keys()
    # Nothing that was not kept comes back.
    assert after.files == before.files


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type statements are syntax of Python 3.12")
def test_type_statement() -> None:
    kernel = Cells()
    assert said(kernel.run("type Rows[T] = list[T]\ntype Tree = dict[str, Tree]\ndef f[T](x: Rows[T]): pass")) == [
        "keep Rows",
        "keep Tree",
        "keep f",
    ]
    assert kernel.restarted().names == {"Rows", "Tree", "f"}


@pytest.mark.parametrize(
    ("cells", "name", "outcomes"),
    [
        (["import time", "NOW = time.time()"], "NOW", ["keep NOW"]),
        (["API_KEY = 'abcd1234'"], "API_KEY", ["keep API_KEY"]),
        (["def f(): login(password='hunter22')"], "f", ["keep f"]),
        (["x = 3"], "x", ["keep x"]),
        (["for x in [[1, 'a']]: pass"], "x", ["keep x"]),
        (["x = iter('ab')"], "x", ["keep x"]),
        (
            ["for x in [iter('ab')]: pass"],
            "x",
            ["not x: its value cannot be written as source; define it by a statement that can run again"],
        ),
        ([], "x", ["not x: there is no such name here"]),
        (["def f(): pass"], "f", ["same f"]),
        (
            ["import json"],
            "json",
            ["not json: its value cannot be written as source; define it by a statement that can run again"],
        ),
    ],
)
def test_forced(cells: list[str], name: str, outcomes: list[str]) -> None:
    kernel = Cells()
    for cell in cells:
        kernel.run(cell)
    assert said(kernel.keep(name)) == outcomes


@pytest.mark.parametrize(
    ("source", "defines_something"),
    [
        ("def f(): pass", True),
        ("class A: pass", True),
        ("del f", True),
        ("X = 1", True),
        ("X = [y for y in z]", True),
        ("X = f()", False),
        ("x = [f() for y in z]", False),
        ("import a", False),
        ("x += 1", False),
        ("f()", False),
        ("for x in y: pass", False),
    ],
)
def test_defines_is_told_before_the_statement_runs(source: str, defines_something: bool) -> None:
    assert defines(ast.parse(source).body[0]) is defines_something


def test_future_features_go_into_the_file() -> None:
    """K18: a dataclass of a later cell has the annotations that it had."""
    before = Cells()
    before.run("from __future__ import annotations")
    before.run("import dataclasses\n@dataclasses.dataclass\nclass A:\n  x: Later")
    after = before.restarted()
    assert after.files[RelPath("classes/a/A.py")].startswith(
        "from __future__ import annotations\nimport dataclasses\n\n\n"
    )
    assert after.namespace["A"].__annotations__ == before.namespace["A"].__annotations__ == {"x": "Later"}
    after.run("def f(x: int): pass")
    assert after.namespace["f"].__annotations__ == {"x": int}


def test_imports_go_into_the_file_as_they_were_written() -> None:
    kernel = Cells()
    kernel.run(
        "import os.path, json as j\nfrom math import *\ntry: import no_such_thing\nexcept ImportError: import heapq"
    )
    kernel.run("def f(x): return sqrt(x), j.dumps(x), os.path.join(x), heapq")
    assert kernel.files[RelPath("functions/f/f.py")] == (
        "import heapq\nimport json as j\nimport os.path\nfrom math import sqrt\n\n\n"
        "def f(x): return sqrt(x), j.dumps(x), os.path.join(x), heapq\n"
    )
    assert kernel.restarted().namespace["f"]


def test_a_new_need_is_written_down_for_an_unchanged_text() -> None:
    kernel = Cells()
    kernel.run("def g(): pass\ndef f(): return g")
    kernel.run("g = iter('ab')")
    assert said(kernel.run("def f(): return g")) == ["keep f needs g"]
    assert kernel.kept("f").needs == ("g",)


def test_source_too_deep_to_be_read_is_not_kept_and_said_so() -> None:
    assert said(Cells().run("DEEP = " + "lambda: " * 400 + "1")) == ["not DEEP: it is nested too deeply to be read"]
