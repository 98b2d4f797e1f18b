"""Which expressions may be evaluated again at every boot, and why others may not."""

from __future__ import annotations

import ast

import pytest

from perdure.layer.known import CALLED_BY, KEPT_FOR_LATER, PURE_CALLS
from perdure.layer.purity import why_impure
from perdure.layer.source import import_path

IMPORTS = {"np": "numpy", "re": "re", "os": "os", "environ": "os.environ", "sys": "sys", "dt": "datetime"}
IMPORTS |= {name: name for name in "math itertools operator functools json collections time random requests".split()}
IMPORTS |= {"pd": "pandas", "count": "itertools.count"}
IMPORTS |= {"Path": "pathlib.Path", "sleep": "time.sleep", "partial": "functools.partial"}
BUILTINS = (
    "map filter sorted max min list dict str len open print input object eval type abs set frozenset tuple enumerate "
    "zip sum range"
).split()


class Known:
    """KEPT and its like are kept: DATA as a value, Class and function as the user's own code."""

    def import_path(self, name: str) -> str | None:
        return f"builtins.{name}" if name in BUILTINS else IMPORTS.get(name)

    def readable(self, name: str) -> bool:
        return self.import_path(name) is not None or name in ("DATA", "SET", "Class", "function")

    def is_data(self, name: str) -> bool:
        return name in ("DATA", "SET")

    def is_set(self, name: str) -> bool:
        return name == "SET"


PURE = """
1; -1.5e3j; b"b"; "a" f"{DATA:>3}"; None; ...; "a" "b"
[1, (2, 3), {4, 5}, {"k": DATA}]; [*DATA, 1]; {**DATA}; DATA[0]["k"][1:2]
1 + 2 * 3 // 4 @ DATA; not DATA and DATA or 1; 1 < 2 < 3; 1 if DATA else 2; "%s" % DATA
[x * y for x in DATA if x for y in x]; {k: v for k, v in DATA}; (i for i in DATA); {i for i in DATA}
lambda: fetch(); lambda x, y=DATA: open(x); Class; function; Class.ATTRIBUTE
math.pi * np.pi; math.sqrt(2); np.array([1, 2]); np.float64(3); re.compile("a", re.IGNORECASE); os.sep; sys.maxsize
dt.datetime(2020, 1, 1); dt.timedelta(days=3).total_seconds(); Path("a") / "b"; Path("a").with_suffix(".b")
object(); dict(a=1); list(DATA); len("abc"); "a b".split(); " a ".strip().upper(); ",".join(DATA); DATA.get("k")
[x.strip() for x in DATA]; {"a": 1}.items(); json.loads("{}"); collections.Counter("abc").items()
map(abs, DATA); map(str.upper, DATA); sorted(DATA, key=len); sorted(DATA, key=lambda x: x[0]); max(DATA, default=0)
filter(None, DATA); map(lambda x: x + DATA, [1]); itertools.chain([1], DATA); sorted(DATA, key=operator.itemgetter(1))
(lambda x: x + 1)(2); itertools.accumulate([1], operator.add)
{"a", "b"}; set(DATA); frozenset(["a"]); SET | {"a"}; {*SET, "a"}; sorted(set(DATA)); sorted({"a"} - SET)
len(set(DATA))
sorted(list(set(DATA))); sum(x for x in SET); set(x for x in SET); sorted([x for x in SET]); max(SET); "a" in SET
list({1, 2}); list(set([1, 2])); tuple(sorted(SET)); {x: 1 for x in SET}; {x for x in SET}; ",".join(sorted(SET))
list(zip(DATA, itertools.count())); dict(zip(DATA, count(1))); list(itertools.islice(itertools.count(), 3)); DATA[0] - 1
pd.Timestamp("2020-01-01"); pd.Series(["now"]); pd.date_range("2020-01-01", periods=3); [SET for SET in DATA]
partial(Class, 1); partial(open, "a"); collections.defaultdict(list); collections.defaultdict(lambda: Class())
"""

IMPURE = {
    "fetch": "it reads fetch, which is not kept",
    "fetch()": "it calls fetch()",
    "Class()": "it calls Class()",
    "Class.get('k')": "it calls Class.get()",
    "function()": "it calls function()",
    "time.time()": "it calls time.time()",
    "sleep(1)": "it calls sleep()",
    "open('a').read()": "it calls open(…).read()",
    "random.random()": "it calls random.random()",
    "np.random.rand(3)": "it calls np.random.rand()",
    "np.load('a')": "it calls np.load()",
    "requests.get('u')": "it calls requests.get()",
    "requests.get('u').json()": "it calls requests.get(…).json()",
    "Path.home()": "it calls Path.home()",
    "Path('a').read_text()": "it calls Path(…).read_text()",
    "dt.datetime.now()": "it calls dt.datetime.now()",
    "os.environ": "it reads os.environ",
    "os.environ['A']": "it reads os.environ",
    "os.environ.get('A')": "it calls os.environ.get()",
    "environ['A']": "it reads environ",
    "sys.argv[1:]": "it reads sys.argv",
    "input()": "it calls input()",
    "print(1)": "it calls print()",
    "eval('1')": "it calls eval()",
    "[function(x) for x in DATA]": "it calls function()",
    "[x for x in open('a')]": "it calls open()",
    "[x for x in DATA if x in later]": "it reads later, which is not kept",
    "{'a': [1, (2, input())]}": "it calls input()",
    "1 + 2 + input() + 3": "it calls input()",
    "f'{input()}'": "it calls input()",
    "lambda x=input(): x": "it calls input()",
    "dict(a=input())": "it calls input()",
    "'a'.join(open('a'))": "it calls open()",
    "list(map(open, DATA))": "it calls open()",
    "list(map(function, DATA))": "it calls function()",
    "sorted(DATA, key=function)": "it calls function()",
    "sorted(DATA, key=Class.key)": "it calls Class.key()",
    "max(DATA, key=lambda x: open(x))": "it calls open()",
    "list(map(lambda x: open(x), DATA))": "it calls open()",
    "filter(function, DATA)": "it calls function()",
    "itertools.accumulate([1], function)": "it calls function()",
    "itertools.groupby(DATA, key=function)": "it calls function()",
    "operator.setitem(DATA, 0, 1)": "it calls operator.setitem()",
    "operator.call(function)": "it calls operator.call()",
    "math._private()": "it calls math._private()",
    "(lambda: open('a'))()": "it calls open()",
    "(x := 1)": "it sets x on the way",
    "DATA.append(1)": "it calls DATA.append()",
    "connect('hunter22')(1)": "it calls connect(…)()",
    "'hunter22'.frob()": "it calls (…).frob()",
    "{'k': open}['hunter22']('a')": "it calls (…)[…]()",
    "(open if DATA == 'hunter22' else print)('a')": "it calls (…)()",
    **dict.fromkeys(
        (
            "list(set(['a','b'])) tuple({'a',*DATA}) list(SET) [x~for~x~in~SET] [x~for~x~in~{'a'}] enumerate(SET) "
            "list(SET|{'a'}) list(SET.union(DATA)) list(x~for~x~in~SET) tuple(map(str,SET)) ','.join(SET) [*SET] "
            "(1,*set(DATA)) dict(zip(SET,DATA)) str(SET) f'{SET}' itertools.chain(SET) collections.deque(SET) "
            "sorted(SET,key=len) sorted(enumerate(SET)) list(DATA.keys()&SET) sorted([[*SET]]) list(list(SET))"
        ).split(),
        "it puts a set in an order, which is another after a restart",
    ),
    "itertools.count()": "it calls itertools.count()",
    "count(1)": "it calls count()",
    "[count()]": "it calls count()",
    "pd.Timestamp('now')": "it calls pd.Timestamp() for the time now",
    "pd.Timestamp('Today', tz='UTC')": "it calls pd.Timestamp() for the time now",
    "pd.to_datetime(['today'])": "it calls pd.to_datetime() for the time now",
    "pd.date_range(end='today', periods=3)": "it calls pd.date_range() for the time now",
    "np.datetime64('now')": "it calls np.datetime64() for the time now",
    "DATA[0].pop()": "it calls DATA[…].pop()",
}


@pytest.mark.parametrize("source", [part.strip() for line in PURE.strip().split("\n") for part in line.split("; ")])
def test_pure(source: str) -> None:
    assert why_impure(ast.parse(source, mode="eval").body, Known()) is None


@pytest.mark.parametrize(("source", "why"), IMPURE.items())
def test_impure(source: str, why: str) -> None:
    assert why_impure(ast.parse(source.replace("~", " "), mode="eval").body, Known()) == why


def test_awaiting_is_impure() -> None:
    node = ast.parse("async def f(): x = await g()").body[0].body[0]  # type: ignore[attr-defined]
    assert why_impure(node.value, Known()) == "it awaits or yields"


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("np", "numpy"),
        ("np.linalg.norm", "numpy.linalg.norm"),
        ("len", "builtins.len"),
        ("DATA.x", None),
        ("f()", None),
    ],
)
def test_import_path(source: str, path: str | None) -> None:
    assert import_path(ast.parse(source, mode="eval").body, Known().import_path) == path


def test_what_is_known_of_a_call_is_known_of_a_pure_one() -> None:
    assert {path for path in CALLED_BY if not path.startswith("itertools.")} <= PURE_CALLS
    assert KEPT_FOR_LATER <= PURE_CALLS


def test_a_long_sum_is_not_too_deep() -> None:
    node: ast.expr = ast.Constant(1)
    for _ in range(5000):
        node = ast.BinOp(node, ast.Add(), ast.Constant(1))
    assert why_impure(node, Known()) is None
