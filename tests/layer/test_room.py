"""A layer at work in one namespace, on a store in memory: offered, flushed, kept, booted, and when the store fails."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from perdure.layer.definition import Key, RelPath
from perdure.layer.errors import StoreFault, UnknownDefinition
from perdure.layer.memory import MemoryStore
from perdure.layer.room import Location
from perdure.layer.session import Context
from perdure.layer.source import Source, parse
from perdure.layer.store import Change, CommitId, Message, Promised, Write

from .cells import Cells, Events, said


class FullStore(MemoryStore):
    """A store whose disk is full as long as `full` is set."""

    full = False

    def commit(self, changes: Sequence[Change], message: Message, promised: Promised | None = None) -> CommitId | None:
        if self.full:
            raise StoreFault(Path("/layer/x"), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        return super().commit(changes, message, promised)


class DeafEvents(Events):
    def add(self, path: Path, data: bytes, *, synced: bool = True) -> None:
        raise StoreFault(Path("/state/events.jsonl"), OSError(errno.EROFS, os.strerror(errno.EROFS)))


def subjects(cells: Cells) -> list[str]:
    return [entry.subject for entry in reversed(cells.store.log())]


def test_a_run_of_defining_statements_is_one_commit() -> None:
    cells = Cells()
    cells.run("# Shapes\nimport math\nRATE = 2\ndef area(): pass\nprint\nclass Circle: pass")
    assert subjects(cells) == ["keep RATE, area", "keep Circle"]
    entry = cells.store.log(1)[0]
    assert (entry.body, entry.trailers) == ("Shapes", (("Session", "s-test"), ("Cell", "In[1]")))


def test_nothing_is_committed_where_nothing_changed() -> None:
    cells = Cells()
    cells.run("def f(): pass")
    cells.run("def f(): pass\n1 + 1")
    assert subjects(cells) == ["keep f"]


def test_history() -> None:
    """K22: a definition that comes back is three commits, and the file as it was first."""
    cells = Cells()
    for text in ("def f(): return 1", "def f(): return 2", "def f(): return 1"):
        cells.run(text)
        assert cells.files == {"functions/f/f.py": text + "\n"}
    assert subjects(cells) == ["keep f"] * 3


def test_kept_and_forgotten_in_one_run_was_never_there() -> None:
    cells = Cells()
    assert said(cells.run("def f(): pass\ndel f")) == ["keep f", "forget f"]
    assert subjects(cells) == []
    assert not cells.files
    assert not cells.layer.image.live


def test_statements_of_a_run_see_what_those_before_it_kept() -> None:
    cells = Cells()
    assert said(
        cells.run("n = 3\ndef f(x=n): pass\ndef g(x=n): return f\ndef h(): return later\ndef later(): pass")
    ) == [
        "keep f with n",
        "keep g",
        "keep h",
        "keep later",
    ]
    assert cells.kept("h").needs == ()


def test_events() -> None:
    cells = Cells()
    assert isinstance(cells.events, Events)
    cells.run("RATE = 1\ndef f(): pass")
    cells.run("del f")
    commits = [entry.id for entry in reversed(cells.store.log())]
    assert cells.events.recorded == [
        ("definition_recorded", {"key": "RATE", "path": "values/r/RATE.py", "commit": commits[0]}),
        ("definition_recorded", {"key": "f", "path": "functions/f/f.py", "commit": commits[0]}),
        ("definition_forgotten", {"key": "f", "commit": commits[1]}),
    ]


def test_a_record_that_cannot_be_written_is_told_and_the_definition_kept() -> None:
    cells = Cells(events=DeafEvents())
    assert said(cells.run("def f(): pass")) == ["keep f"]
    assert "events.jsonl" in " ".join(cells.warnings)
    assert cells.names == {"f"}


def test_a_store_that_fails_leaves_everything_as_it_was_and_says_what_to_do() -> None:
    store = FullStore()
    cells = Cells(store)
    cells.run("n = 1\ndef f(): return 1\ndef g(): pass")
    table, live = cells.layer.table, dict(cells.layer.image.live)
    store.full = True
    outcomes = cells.run("def f(x=n): return 2\ndel g\nBIG = 1\nAPI_KEY = 'abcd1234'")
    full = "No space left on device at /layer/x; mend that"
    why = f"{full} and run the cell again"
    assert said(outcomes) == [
        f"not f: {why}",
        f"not g: still in the layer: {full}, and %forget g takes it out",
        f"not BIG: {why}",
        "not API_KEY: looks like a secret",
    ]
    assert cells.layer.table is table
    assert cells.layer.image.live == live
    assert cells.files.keys() == {"functions/f/f.py", "functions/g/g.py"}
    assert isinstance(cells.events, Events)
    assert len(cells.events.recorded) == 2
    store.full = False
    assert said(cells.forget("g")) == ["forget g"]
    assert said(cells.run("def f(x=n): return 2\nBIG = 1")) == ["keep f with n", "keep BIG"]


def test_other_faults_than_the_layers_are_not_swallowed() -> None:
    class Broken(MemoryStore):
        def commit(
            self, changes: Sequence[Change], message: Message, promised: Promised | None = None
        ) -> CommitId | None:
            if changes:
                raise RuntimeError("a mistake of ours")
            return None

    cells = Cells(Broken())
    with pytest.raises(RuntimeError):
        cells.run("def f(): pass")
    assert not cells.names


def test_boot_gives_back_what_was_kept() -> None:
    cells = Cells()
    cells.run("import math\nLIMIT = 3\ndef f(x=LIMIT): return math.floor(x)\nclass A:\n  def m(self): return f(1.5)")
    after = cells.restarted()
    assert after.namespace["A"]().m() == 1
    assert after.names == cells.names == {"LIMIT", "f", "A"}
    assert said(after.run("def f(x=LIMIT): return math.floor(x)")) == ["same f"]
    assert after.files == cells.files


def test_what_was_made_with_a_builtin_that_is_hidden_since_has_the_builtin_after_a_restart() -> None:
    cells = Cells()
    cells.run("_print0 = print\ndef wrapr(a=max(1, 2)): return a\nTOTAL9 = sum([1, 2])")
    cells.run("def print(*a): return 'mine', _print0\ndef max(*a): return 'mine'\ndef sum(x): return 'mine'")
    cells.run("def again(a=max(1, 2)): return a")
    cells.run("def print(*a): return 'new', _print0")
    for space in (cells.namespace, cells.restarted().namespace, cells.restarted().restarted().namespace):
        assert space["print"]() == ("new", print)
        assert (space["wrapr"](), space["TOTAL9"], space["again"]()) == (2, 3, "mine")


@pytest.mark.parametrize("text", ["def total(x=sum([1])): return x", "def total(x=sum([2])): return x"])
def test_what_is_made_again_with_what_hides_a_builtin_has_that_after_a_restart(text: str) -> None:
    cells = Cells()
    cells.run("def total(x=sum([1])): return x\nMORE9 = sum([1])\ndef sum(x): return 'mine'")
    assert cells.kept("sum").after == ("MORE9", "total")
    assert said(cells.run(text)) == ["keep total; sum is what total reads now"]
    assert cells.kept("sum").after == ("MORE9",)
    assert said(cells.run(text)) == ["same total"]
    cells = cells.restarted()
    assert (cells.namespace["total"](), cells.namespace["MORE9"]) == ("mine", 1)


# What ran first, what after it, what f gives then, the imports of f, what comes after what
REBOUND = {
    "read when called": (
        "from math import sqrt, pi\ndef f(): return sqrt(4), pi > 3",
        "from cmath import sqrt\ndef a(): return sqrt",
        ["keep a; sqrt is by `from cmath import sqrt` now, for f too"],
        ("from cmath import sqrt", "from math import pi"),
        (),
    ),
    "a module and what is in it": (
        "import datetime\ndef f(): return datetime",
        "from datetime import datetime\ndef a(): return datetime",
        ["keep a; datetime is by `from datetime import datetime` now, for f too"],
        ("from datetime import datetime",),
        (),
    ),
    "read to load": (
        "import datetime\ndef f(d: datetime.datetime = datetime.datetime(1, 1, 1)): return d, datetime",
        "from datetime import datetime\ndef a(): return datetime",
        ["keep a; datetime is by `from datetime import datetime` now, for f too"],
        ("import datetime",),
        ("f",),
    ),
    "the same by another statement": (
        "import os.path as path, os\ndef f(): return path, os",
        "from os import path\nimport os.path\ndef a(): return path, os.path",
        ["keep a"],
        ("import os", "import os.path as path"),
        (),
    ),
}


@pytest.mark.parametrize(("first", "then", "outcomes", "imports", "after"), REBOUND.values(), ids=REBOUND)
def test_an_import_means_the_newest_for_all_after_a_restart_too(
    first: str, then: str, outcomes: list[str], imports: tuple[str, ...], after: tuple[str, ...]
) -> None:
    cells = Cells()
    cells.run(first)
    assert said(cells.run(then)) == outcomes
    assert (cells.kept("f").imports, cells.kept("a").after) == (imports, after)
    assert subjects(cells) == ["keep f", "keep a"]
    restarted = cells.restarted()
    assert not restarted.layer.report.skipped
    assert restarted.namespace["f"]() == cells.namespace["f"]()
    # The first again: it is the newest then.
    cells.run(first.replace("return", "return 1,"))
    assert cells.restarted().namespace["a"]() == cells.namespace["a"]()
    assert cells.restarted().namespace["f"]() == cells.namespace["f"]()


def test_of_two_that_load_with_different_imports_of_a_name_the_newer_loads_last() -> None:
    cells = Cells()
    cells.run("from math import sqrt\ndef f(x=sqrt(4)): return x, sqrt")
    cells.run("from cmath import sqrt\ndef a(x=sqrt(4)): return x, sqrt")
    assert cells.restarted().namespace["f"]() == cells.namespace["f"]() == (2, cells.namespace["sqrt"])
    cells.run("from math import sqrt\ndef f(x=sqrt(9)): return x, sqrt")
    assert (cells.kept("f").after, cells.kept("a").after) == (("a",), ())
    assert cells.restarted().namespace["a"]() == cells.namespace["a"]() == (2 + 0j, cells.namespace["sqrt"])


def test_files_that_disagree_on_an_import_agree_with_what_is_kept_next() -> None:
    """As those of a layer whose branches were merged."""
    cells = Cells()
    files = {
        RelPath(f"functions/{name}/{name}.py"): f"from {module} import sqrt\n\n\ndef {name}(): return sqrt\n".encode()
        for name, module in (("f", "math"), ("g", "cmath"))
    }
    cells.store.commit([Write(path, text) for path, text in files.items()], Message("merged"))
    cells.boot()
    assert said(cells.run("def h(): return sqrt")) == ["keep h; sqrt is by `from cmath import sqrt` now, for f too"]
    assert cells.kept("f").imports == cells.kept("h").imports == ("from cmath import sqrt",)


def test_imports_that_a_hand_wrote_are_left_alone() -> None:
    path, text = RelPath("functions/f/f.py"), b"from math import (sqrt,)\n\n\ndef f(): return sqrt\n"
    cells = Cells()
    cells.store.commit([Write(path, text)], Message("by hand"))
    cells.boot()
    assert said(cells.run("from cmath import sqrt\ndef a(): return sqrt")) == ["keep a"]
    assert cells.store.files()[path] == text


def test_skipped_files_are_recorded_and_replaced_by_a_new_definition() -> None:
    store = MemoryStore({RelPath("classes/f/f.py"): b"class f(gone): pass\n", RelPath("values/x/XX.py"): b"XX = 1\n"})
    cells = Cells(store)
    cells.boot()
    assert cells.names == {"XX"}
    cells.layer.record_skipped()
    assert isinstance(cells.events, Events)
    reason = "it needs gone to load, which nothing defines"
    assert cells.events.recorded == [("file_skipped", {"path": "classes/f/f.py", "reason": reason})]
    assert said(cells.run("f = 3\ndel f")) == []
    assert said(cells.run("def f(): pass")) == ["keep f"]
    assert cells.files.keys() == {"functions/f/f.py", "values/x/XX.py"}
    assert cells.names == {"f", "XX"}


def test_the_same_text_as_a_skipped_file_is_live_again_without_a_commit() -> None:
    cells = Cells(MemoryStore({RelPath("functions/f/f.py"): b"def f(x=gone): pass\n"}))
    cells.boot()
    before = cells.store.head()
    cells.run("gone = iter('ab')")
    cells.namespace["gone"] = 3
    cells.layer.variables.imports.note([])
    cells.run("gone = 3\ndef f(x=gone): pass")
    assert cells.names == {"f", "gone"}
    assert cells.layer.text("f") == "def f(x=gone): pass"
    assert cells.store.head() != before  # gone came along


def test_text_and_location() -> None:
    cells = Cells()
    cells.run("import math\n# why\ndef f(): return math\nLOW, HIGH = 0, 1")
    assert cells.layer.text("f") == "# why\ndef f(): return math"
    assert cells.layer.text("HIGH") == "LOW, HIGH = 0, 1"
    assert cells.layer.location("f") == Location(Path("/layer/functions/f/f.py"), 1)  # no such file here
    for name in ("g", "math"):
        with pytest.raises(UnknownDefinition):
            cells.layer.text(name)
        with pytest.raises(UnknownDefinition):
            cells.layer.location(name)


def test_location_is_the_line_of_the_text_in_its_file(tmp_path: Path) -> None:
    cells = Cells()
    cells.layer.root = tmp_path
    cells.run("import math\n# why\ndef f(): return math")
    path = tmp_path / "functions" / "f" / "f.py"
    path.parent.mkdir(parents=True)
    path.write_bytes(cells.store.files()[RelPath("functions/f/f.py")])
    assert cells.layer.location("f") == Location(path, 4)
    path.write_text("edited since")
    assert cells.layer.location("f") == Location(path, 1)


def test_unresolved() -> None:
    cells = Cells()
    cells.run("def f(): return df, model\ndef g(): pass")
    assert cells.layer.unresolved() == (("f", ("df", "model")),)
    cells.run("df = 1")
    assert cells.layer.unresolved() == (("f", ("model",)),)


def test_names_differing_in_case_both_come_back() -> None:
    """K25."""
    cells = Cells()
    for name in ("Foo", "foo", "ALPHA", "Alpha", "π", "größe", "x" * 300):
        cells.run(f"def {name}(): return {name!r}")
    after = cells.restarted()
    assert after.names == cells.names
    assert {name: after.namespace[name]() for name in after.names} == {name: name for name in after.names}
    assert len({path.lower() for path in after.files}) == 7


def test_threads_each_with_a_run_of_their_own_lose_nothing() -> None:
    cells = Cells()
    failed: list[BaseException] = []

    def define(number: int) -> None:
        try:
            for each in range(10):
                source = f"def f{number}_{each}(): return {each}"
                run = cells.layer.run()
                exec(source, cells.namespace)
                for statement in Source(source).statements(parse(source).body):
                    run.offer(statement)
                run.flush(Context("s-test"))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=define, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert cells.names == {f"f{number}_{each}" for number in range(8) for each in range(10)}
    assert cells.files.keys() == {cells.layer.table.entries[Key(name)].path for name in cells.names}


def test_a_value_is_not_held_on_to() -> None:
    """A kernel's data must be let go when its user lets it go."""
    import gc
    import weakref

    class Data:
        pass

    cells = Cells(ambient={"Data": Data})
    cells.run("data = Data()\ndef f(): return data")
    gone = weakref.ref(cells.namespace["data"])
    cells.run("del data")
    gc.collect()
    assert gone() is None


def test_keep_writes_what_a_kept_value_is_now() -> None:
    cells = Cells()
    cells.run("COUNTS = {}\nCOUNTS['a'] = 1")
    assert said(cells.keep("COUNTS")) == ["keep COUNTS"]
    assert cells.kept("COUNTS").text == "COUNTS = {'a': 1}"
    assert said(cells.keep("COUNTS")) == ["same COUNTS"]


def test_keep_takes_a_definition_whose_need_is_met_now() -> None:
    cells = Cells()
    cells.run("def connect(): return 3\nserver = connect()")
    cells.run("def answer(server=server): return server")
    assert said(cells.keep("answer")) == ["not answer: it needs server to load"]
    assert said(cells.keep("server")) == ["keep server"]
    assert said(cells.keep("answer")) == ["keep answer"]
    assert cells.restarted().namespace["answer"]() == 3


def two_kernels(source: str) -> tuple[Cells, Cells]:
    """Two kernels of one layer, each with what `source` defines."""
    one = Cells()
    one.run(source)
    return one, one.restarted()


def test_what_another_kernel_kept_since_is_not_taken_for_this_ones() -> None:
    one, other = two_kernels("def f(): return 1\ndef g(): pass")
    one.run("def f(): return 2")
    another = "the layer had another f, which is not of this kernel"
    assert said(other.run("def f(): return 1")) == [f"keep f; {another}"]
    assert said(one.run("def f(): return 2")) == [f"keep f; {another}"]
    assert said(one.run("def f(): return 2\ndef g(): pass")) == ["same f", "same g"]
    assert one.restarted().namespace["f"]() == 2


def test_what_another_kernel_forgot_is_kept_again() -> None:
    one, other = two_kernels("def f(): pass\ndef g(): pass")
    one.run("del f")
    gone = "others took f out of the layer meanwhile"
    assert said(other.run("def g(): pass\ndef f(): pass")) == ["same g", f"keep f; {gone}"]
    assert other.restarted().names == {"f", "g"}


def test_a_definition_that_another_kernel_keeps_as_another_kind_is_moved() -> None:
    one = Cells()
    other = one.restarted()
    one.run("def area(): pass")
    another = "the layer had another area, which is not of this kernel"
    assert said(other.run("class area: pass")) == [f"keep area; {another}"]
    assert other.files == {RelPath("classes/a/area.py"): "class area: pass\n"}
    assert [d.definition.key for d in other.layer.definitions] == ["area"]


def test_a_file_taken_away_by_hand_is_written_again() -> None:
    cells = Cells()
    cells.run("def f(): pass\ndef g(): pass")
    cells.store.edit(RelPath("functions/f/f.py"), None)  # type: ignore[attr-defined]
    gone = "others took f out of the layer meanwhile"
    assert said(cells.run("def g(): return 1\ndef f(): pass")) == ["keep g", f"keep f; {gone}"]
    assert cells.restarted().names == {"f", "g"}


def test_a_file_edited_by_hand_is_what_was_run_last(tmp_path: Path) -> None:
    cells = Cells(drafts=tmp_path)
    cells.run("def f(): return 1")
    cells.store.edit(RelPath("functions/f/f.py"), b"def f(): return 2\n")  # type: ignore[attr-defined]
    another = "the layer had another f, which is not of this kernel"
    assert said(cells.run("def f(): return 1")) == [f"keep f; {another}"]
    cells.store.edit(RelPath("functions/f/f.py"), b"def f() -> ...\n")  # type: ignore[attr-defined]
    assert said(cells.run("def f(): return 1")) == ["keep f"]
    assert cells.warnings == [f"what a hand had made of functions/f/f.py is in {tmp_path / 'functions/f/f.py'}"]
    assert cells.files == {RelPath("functions/f/f.py"): "def f(): return 1\n"}
    assert (tmp_path / "functions/f/f.py").read_text() == "def f() -> ...\n"
    assert [entry.subject for entry in cells.store.log(3)] == ["keep f", "adopt f", "keep f"]
    assert not cells.layer.report.skipped


def test_a_file_moved_by_hand_is_replaced() -> None:
    cells = Cells()
    cells.run("def f(): return 1")
    cells.store.edit(RelPath("functions/f/f.py"), None)  # type: ignore[attr-defined]
    cells.store.edit(RelPath("functions/old.py"), b"def f(): return 1\n")  # type: ignore[attr-defined]
    assert said(cells.run("def f(): return 2")) == ["keep f"]
    assert cells.files == {RelPath("functions/f/f.py"): "def f(): return 2\n"}


def test_of_two_files_for_a_name_that_came_from_elsewhere_one_is_left() -> None:
    one, other = two_kernels("def f(): return 1")
    one.store.commit([Write(RelPath("functions/a.py"), b"def f(): return 0\n")], Message("by hand"))
    another = "the layer had another f, which is not of this kernel"
    assert said(other.run("def f(): return 1")) == [f"keep f; {another}"]
    assert other.files == {RelPath("functions/f/f.py"): "def f(): return 1\n"}


def test_what_another_kernel_has_is_no_definition_here() -> None:
    one, other = two_kernels("def f(): pass")
    one.run("def g(): return 1")
    assert said(other.run("def h(): return g()\ndef f(): return 1")) == ["keep h", "keep f"]
    assert other.kept("h").needs == ("g",)
    assert other.names == {"f", "h"}


def test_a_layer_that_cannot_be_looked_at_is_told() -> None:
    class Gone(MemoryStore):
        gone = False

        def file(self, path: RelPath) -> bytes | None:
            if self.gone:
                raise StoreFault(Path("/layer/x"), OSError(errno.EIO, os.strerror(errno.EIO)))
            return super().file(path)

    store = Gone()
    cells = Cells(store)
    cells.run("def f(): pass")
    store.gone = True
    assert "Input/output error at /layer/x" in said(cells.run("def f(): pass"))[0]


@pytest.mark.parametrize(
    ("cells", "name", "text"),
    [
        (["import random\nseed1 = random.randint(1, 10**9)"], "seed1", None),
        (["import os\nWORKERS = os.cpu_count()"], "WORKERS", None),
        (["q5 = [3]\nlast5 = q5.pop()"], "last5", "last5 = 3"),
        (["NUM = 1", "NUM = NUM + 1"], "NUM", "NUM = 2"),
        (["SW1 = 1\nSW2 = 2", "SW1, SW2 = SW2, SW1"], "SW2", "SW2 = 1"),
        (["LOW, HIGH = iter([1, 2])"], "HIGH", "LOW, HIGH = 1, 2"),
        (["size = 0x10  # hex"], "size", "size = 0x10  # hex"),
        (["xs = [1]", "xs.append(2)"], "xs", "xs = [1, 2]"),
    ],
)
def test_keep_writes_the_value_itself(cells: list[str], name: str, text: str | None) -> None:
    kernel = Cells()
    for cell in cells:
        kernel.run(cell)
    value = kernel.namespace[name]
    assert said(kernel.keep(name))[0].startswith("keep ")
    assert kernel.kept(name).text == (text or f"{name} = {value}")
    assert kernel.restarted().namespace[name] == value


def test_keep_does_not_keep_a_call_whose_result_was_changed_since() -> None:
    cells = Cells()
    cells.run("import numpy as np\narr1 = np.zeros(3)\narr1[0] = 7")
    cells.run("from types import SimpleNamespace\nCFG = SimpleNamespace(x=1)")
    assert said(cells.run("CFG.x = 2")) == ["not CFG: it was changed in place; the layer has it as it was set"]
    for name in ("arr1", "CFG"):
        assert said(cells.keep(name))[0].startswith(f"not {name}: its value cannot be written as source")
    cells.run("arr2 = np.zeros(3)")
    assert said(cells.keep("arr2")) == ["keep arr2"]


def test_what_a_cell_deletes_and_defines_as_it_was_stays() -> None:
    cells = Cells()
    cell = "def f(n) -> int: return n\ndel f\ndef f(n): return n"
    cells.run(cell)
    again = cells.restarted()
    again.run(cell)
    assert again.kept("f").text == "def f(n): return n"
    assert len(again.store.log()) == 1
    again.run("def g(): pass")
    assert again.restarted().names == {"f", "g"}


def test_a_secret_that_was_asked_for_is_on_record_as_such() -> None:
    events = Events()
    cells = Cells(events=events)
    assert said(cells.run("API_KEY = 'abcd1234efgh'")) == ["not API_KEY: looks like a secret"]
    assert events.recorded == []
    assert said(cells.keep("API_KEY")) == ["keep API_KEY"]
    cells.run("RATE = 2")
    assert [(fields["key"], fields.get("forced")) for _, fields in events.recorded] == [
        ("API_KEY", True),
        ("RATE", None),
    ]


ODD = "hunter" + "1234x"


def test_a_secret_is_refused_wherever_it_stands() -> None:
    cells = Cells()
    # A comment says early what a later statement gives away.
    assert said(cells.run(f"# {ODD} is what Bob sent\ndef f(): pass\nprint()\nAPI_KEY = {ODD!r}")) == [
        "not f: holds what looks like a secret (API_KEY)",
        "not API_KEY: looks like a secret",
    ]
    assert said(cells.run(f"def g(): return send({ODD!r})")) == ["not g: holds what looks like a secret (API_KEY)"]
    cells.run(f"# again {ODD}\nimport os\ndef h(): return os")
    assert cells.store.log()[-1].body == ""
    assert cells.names == {"h"}


def test_a_word_under_a_telling_name_is_no_secret_elsewhere() -> None:
    cells = Cells()
    assert said(cells.run("AUTH_TOKEN = 'identifier'")) == ["not AUTH_TOKEN: looks like a secret"]
    assert said(cells.run("def identifier(): return 'identifier'")) == ["keep identifier"]


def test_a_plain_variable_makes_no_secret_of_what_is_asked_for_unless_that_was_told() -> None:
    cells = Cells()
    cells.run(f"def connect(password): return password\nq = {ODD!r}\nCONNECTION = connect(password=q)")
    told = "not CONNECTION: holds what looks like a secret (password)"
    assert said(cells.keep("CONNECTION")) == [told]
    assert said(cells.keep("CONNECTION")) == ["keep CONNECTION"]


def test_who_asked_for_a_secret_is_not_told_again() -> None:
    cells = Cells()
    cells.run(f"API_KEY = {ODD!r}")
    cells.keep("API_KEY")
    assert said(cells.run(f"API_KEY = {ODD!r}")) == ["same API_KEY"]
