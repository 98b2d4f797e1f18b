"""A session after a replay is one after a boot, in all that a user sees of it (ADR 15)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.packages import Packages

from .answer import Answer
from .home import Home
from .starts import Starts

KINDS = [
    "import math, functools\nfrom abc import ABC",
    "def area(r):\n    'Of a circle.'\n    return math.pi * r ** 2",
    "RATE = 2\nTABLE = {'a': [1, 2]}",
    "class Circle:\n    def __init__(self, r):\n        self.r = r\n\n    def area(self):\n        return area(self.r)",
    "Circle.grow = lambda self: Circle(self.r * RATE)",
    "def outer(x):\n    return inner(x)\n\n\ndef inner(x):\n    return 1 / x",
    "def traced(f):\n    @functools.wraps(f)\n    def inside(*a):\n        return ('traced', f(*a))\n    return inside",
    "def twofold(x):\n    return 2 * x",
    "twofold = traced(twofold)",
    "@functools.singledispatch\ndef show(x):\n    return 'any'",
    "@show.register\ndef _(x: int):\n    return 'int'",
    "double = lambda x: 2 * x",
    "class Shape(ABC):\n    pass",
    "Shape.register(Circle)",
    "from math import *",
    "def root(x):\n    return sqrt(x)",
    "other = area",
    "import slow\nfrom slow import twice, Base",
    "def far(x):\n    'Waits.'\n    return twice(x)",
    "class Far(Base):\n    pass",
    "UNIT = slow.UNIT",
    "def reads(x=RATE):\n    return x, missing",
    "from __future__ import annotations",
    "def noted(x: Unknown) -> Nothing:\n    return x",
]


@pytest.fixture(scope="module")
def starts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starts]:
    """Homes with definitions of all kinds, and a bundle of them."""
    home = Home(tmp_path_factory.mktemp("starts"))
    packages = Packages(home.root / "packages", "slow")
    made = Starts(home, PYTHONPATH=os.pathsep.join([str(packages.folder), os.environ.get("PYTHONPATH", "")]))
    kernel = made.start(None)
    for cell in KINDS:
        answer = kernel.run(cell)
        assert answer.error is None, answer.content
    kernel.kill()
    home.git("tag", "base")
    made.write()
    yield made
    made.kernel.kill()


# What a user sees.


def plain(text: str) -> str:
    """Without what differs from kernel to kernel."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    text = re.sub(r"0x[0-9a-f]+", "0x…", text)
    text = re.sub(r"ipykernel_\d+", "ipykernel_…", text)
    text = re.sub(r"s-[0-9a-f]{8}", "s-…", text)
    text = re.sub(r"\b[0-9a-f]{7,40}\b", "…", text)
    return re.sub(r"\d+(\.\d+)?(e\+\d+)? (ns|μs|µs|ms|s)\b|\d\d:\d\d|\d+ (second|minute)s? ago", "…", text)


def seen(answer: Answer) -> dict[str, Any]:
    """What a user sees of a cell."""
    ours = {key: value for key, value in answer.perdure.items() if key not in {"session", "eval_id"}}
    return {
        "status": answer.status,
        "stdout": plain(answer.stdout),
        "stderr": plain(answer.stderr),
        "value": plain(answer.value or ""),
        "traceback": plain("\n".join(answer.content.get("traceback", ()))),
        "notices": [plain(line) for line in answer.notices],
        "payload": plain(repr(answer.content.get("payload"))),
        "metadata": plain(repr(ours)),
    }


def left(home: Home) -> tuple[object, ...]:
    commits = [(commit.subject, plain(commit.body)) for commit in home.log()]
    return commits, home.files(), home.status()


# Each is two kernels; what need not be the first cell shares one.
SESSIONS = {
    "asks": [
        "area(1), RATE, TABLE, Circle(2).grow().area(), twofold(2), show(1), show('a'), double(3), root(4)",
        "isinstance(Circle(1), Shape)",
        "show.registry.keys()",
        "other is area, noted.__annotations__",
        "outer(0)",
        "import inspect\nprint(inspect.getsource(outer), inspect.getsourcefile(far))",
        "reads()",
        "noted.missing",
        "missing",
        *("%cells", "%layer", "%layer uses area", "%layer used", "%layer skipped", "%layer show area", "%layer bake"),
        *("%who", "%who_ls function", "%whos", "area?", "far??", "%pinfo Circle", "help(area)", "%layer load"),
        *("area(", "1 + 1", "_", "In[1:], Out", "%history", "!echo area", "x = !echo $RATE", "x"),
    ],
    "defines": [
        "def area(r):\n    return r",
        *("area(3)", "%layer log area", "%layer undo", "area(0)"),
        "def area(r):\n    'Of a circle.'\n    return math.pi * r ** 2",
        "def fresh():\n    return area(0)",
        "class Ring(Circle): pass",
        "Ring(1).area() > 3",
        "Circle.shrink = lambda self: self.r - 1",
        *("Circle(2).shrink()", "del Circle.grow", "twofold = traced(twofold)", "twofold(1)"),
        "@show.register\ndef _(x: str):\n    return 'str'",
        *("show('a')", "TABLE['b'] = 3", "TABLE.update(c=4)", "TABLE", "if False:\n    area = 3", "area(0)"),
        "def f():\n    global RATE\n    RATE = 9",
        *("f()", "RATE", "reads()", "y = 3", "%keep y", "%forget area", "%keep area"),
        "%%capture out\nprint(area(0))",
        "out.stdout",
        "%%scratch\ndef nothing(): ...",
        "nothing",
        "# why\ndef area(r):\n    return r",
        *("from slow import *", "twice(1), UNIT", "%cells"),
    ],
    "deferred": ["far(2)", "Far.size", "UNIT", "%cells"],
    "magic": ["%cells", "%layer used", "area(1)", "%layer used"],
    "a name of an import": ["twice(3)", "sqrt(9)", "slow.UNIT"],
    "getattr": ["getattr(__import__('__main__'), 'f' + 'ar')(1)", "getattr(__import__('__main__'), 'ar' + 'ea')(0)"],
    "globals": ["sorted(n for n in globals() if not n.startswith('_'))", "globals()['ar' + 'ea'](0)", "dir()"],
    "unpickled": [r"__import__('pickle').loads(b'c__main__\nfar\n.')(4)"],
    "missing": ["missing", "noted.missing", "outer(0)"],
    "deleted": ["del area", "Circle(1).area()", "del far", "far"],
    "set to values": ["x = 3; area = 4", "area", "far = 3"],
    "exec": ["exec('area = 3')", "area", "def use(): return area", "use()"],
    "exec unseen": ["exec('ar' + 'ea = 3')", "area", "def use(): return area", "%cells"],
    "exec of what waits": ["exec('f' + 'ar = 3')", "far", "def use(): return far", "%cells"],
    "set unseen": ['exec("import __main__; __main__.new = 1")', "new", "def use(x=new): return x", "%cells"],
    "taken unseen": ["globals().pop('ar' + 'ea') and None", "area", "def use(): return area", "%cells"],
    "walrus": ["(area := 3)", "area", "%cells"],
    "awaited": ["await __import__('asyncio').sleep(0.01, 5)", "area(0)", "await asyncio.sleep(0, area(0))", "%cells"],
    "run": ["%run script.py", "made", "%cells"],
    "run inside": ["%run -i script.py", "made()"],
    "timed": ["%%time\ndef timed():\n    return area(0)", "timed()"],
    "reset": ["%reset -f", "area", "far", "%cells"],
    "in place": ["TABLE.update(c=4)", "TABLE", "def table(t=TABLE):\n    return t"],
    "import": ["from math import pi as area", "area"],
    "perdure": ["__import__('perdure').definition_text('area')", "__import__('perdure').definition_location('far')"],
    "nothing": ["", "# nothing", "pass", "1", "area(", "%cells"],
    "thread": [
        "__import__('threading').Thread(target=lambda: print(globals()['ar' + 'ea'](0))).start()",
        "import threading\nt = threading.Thread(target=lambda: print(far(1)))\nt.start()\nt.join()",
    ],
    "nested": ["get_ipython().run_cell('def area(r): return 5')", "area(0)"],
}


@pytest.mark.parametrize("name", SESSIONS)
def test_a_session_after_a_replay_is_one_after_a_boot(starts: Starts, name: str) -> None:
    (starts.home.work / "script.py").write_text("def made():\n    return 'made'\n\nx = 3\n")
    told = []
    for start in (starts.boot, starts.start):
        kernel = start()
        told.append([*map(seen, map(kernel.run, SESSIONS[name])), kernel.hello, left(starts.home)])
        assert starts.is_replayed() == (start == starts.start)
        starts.put_back()
    assert told[0] == told[1]


REQUESTS = {
    "complete": ("complete_request", {"code": "fa", "cursor_pos": 2}),
    "complete an attribute": ("complete_request", {"code": "Far.si", "cursor_pos": 6}),
    "inspect": ("inspect_request", {"code": "far", "cursor_pos": 3, "detail_level": 1}),
    "expressions": (
        "execute_request",
        {"code": "", "silent": True, "user_expressions": {"x": "far(1)", "y": "area(0)"}, "store_history": False},
    ),
    "silent": ("execute_request", {"code": "exec('area = 3')", "silent": True}),
    "history": ("history_request", {"output": False, "raw": True, "hist_access_type": "tail", "n": 3}),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_other_requests_than_cells_come_first(starts: Starts, name: str) -> None:
    told = []
    for start in (starts.boot, starts.start):
        kernel = start()
        content = {k: v for k, v in kernel.request(*REQUESTS[name]).content.items() if k != "history"}
        told.append([plain(repr(content)), seen(kernel.run("area(0)")), seen(kernel.run("%cells"))])
        assert starts.is_replayed() == (start == starts.start)
        starts.put_back()
    assert told[0] == told[1]
