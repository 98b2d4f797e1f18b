"""Definitions that wait for a package, over ZMQ: loaded when they are named, by whatever names them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.packages import Packages

from .conftest import StartKernel
from .driver import STOCK, Kernel, KernelDied
from .home import Home

AREA = "from slow import twice\n\n\ndef area(x):\n    'Twice x.'\n    return twice(x)\n"
CIRCLE = "from slow import Base\n\n\nclass Circle(Base):\n    def __init__(self, r):\n        self.r = r\n"
FILES = {
    "functions/a/area.py": AREA,
    "functions/_/_hidden.py": AREA.replace("area", "_hidden"),
    "classes/c/Circle.py": CIRCLE,
    "functions/p/plain.py": "def plain():\n    return 'plain'\n",
    "functions/u/use.py": "def use():\n    return area(1)\n",
    "methods/c/Circle.grow.py": "from other import UNIT\n\n\nCircle.grow = lambda self: self.r + UNIT\n",
}


DOCTESTED = "def shown():\n    '''\n    >>> area(1)\n    2\n    '''\n"
SUBPROCESS = "import subprocess\nsubprocess.run('echo area', shell=True)"


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages(tmp_path / "packages", "slow", "other")


Booted = Callable[..., Kernel]


@pytest.fixture
def booted(layer: Home, packages: Packages, new_kernel: StartKernel) -> Booted:
    """Starts kernels whose layer has the files."""

    def start(files: Mapping[str, str] = FILES, *arguments: str, **environ: str) -> Kernel:
        for path, text in files.items():
            (layer.layer / path).parent.mkdir(parents=True, exist_ok=True)
            (layer.layer / path).write_text(text, encoding="utf-8")
        layer.git("add", "-A")
        layer.git("commit", "-qm", "files")
        path = os.pathsep.join([str(packages.folder), os.environ.get("PYTHONPATH", "")])
        return new_kernel(PYTHONPATH=path, **environ).start(*arguments)

    return start


def test_nothing_is_imported_until_a_cell_names_it(booted: Booted, packages: Packages) -> None:
    kernel = booted()
    assert kernel.hello == []
    assert kernel.run("plain()").value == "'plain'"
    assert packages.imports == []
    assert "'area'" not in str(kernel.run("sorted(globals())").value)
    assert packages.imports == []
    answer = kernel.run("area(2)")
    assert (answer.value, answer.notices, packages.imports) == ("4", [], ["slow"])
    assert kernel.run("Circle(1).grow()").value == "6"
    assert packages.imports == ["slow", "other"]
    traceback = kernel.run("area()").content["traceback"]
    assert "TypeError" in traceback[-1]


def test_what_a_file_imports_is_there_when_a_cell_names_it(booted: Booted, packages: Packages) -> None:
    kernel = booted()
    assert kernel.run("twice(3)").value == "6"
    assert packages.imports == ["slow"]
    # What the cell imports itself loads nothing.
    kernel = booted(
        {"functions/a/area.py": AREA, "functions/o/o.py": "import other\n\n\ndef o():\n    return other.UNIT\n"}
    )
    before = list(packages.imports)
    assert kernel.run("import os as other\nother.sep").value == "'/'"
    assert packages.imports == before


@pytest.mark.parametrize(
    "cell",
    [
        "use()",
        "%time area(1)",
        "%%time\narea(1)",
        "%%time\n%%time\narea(1)",
        "%%capture\narea(1)",
        "%%timeit -n1 -r1\narea(1)",
        "%timeit -n1 -r1 area(1)",
        "x = 1\n!echo {area(1)}",
        "area?",
        "area??",
        "?area",
        "%pdoc area",
        "eval('area(1)')",
        "get_ipython().ev('area(1)')",
        "get_ipython().run_cell('area(1)')",
        "getattr(__import__('__main__'), 'area')",
        "from __main__ import area",
        "import __main__\n__main__.area(1)",
        "import sys\nsys.modules['__main__'].area(1)",
        "await __import__('asyncio').sleep(area(0))",
        "def later():\n    return area(1)",
        "%%scratch\narea(1)",
        "_hidden(1)",
        "import cProfile\ncProfile.run('area(1)')",
        "import cProfile\ncProfile.Profile().run('print(area)')",
        "from cProfile import Profile\nmine = Profile()\nmine.run('area(1)')",
        "from profile import run\nrun('area(1)')",
        "import cProfile\ncProfile.runctx('area(1)', globals(), {})",
        "import trace\ntrace.Trace(count=False, trace=False).run('area(1)')",
        DOCTESTED + "import doctest\nassert doctest.testmod().attempted",
        DOCTESTED + "get_ipython().run_cell('import doctest\\nassert doctest.testmod().attempted')",
        "%run -i s.py",
        "%run -i -p s.py",
    ],
)
def test_what_names_it(shared_layer: tuple[Kernel, Packages], cell: str) -> None:
    kernel, packages = shared_layer
    kernel.restart()
    packages.clear()
    answer = kernel.run(cell, notices="all")
    assert answer.status == "ok", answer.content
    assert packages.imports == ["slow"]
    assert not any("perdure itself" in line for line in answer.notices)


@pytest.fixture(scope="module")
def shared_layer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One layer for many kernels, one after another."""
    root = tmp_path_factory.mktemp("deferred")
    packages = Packages(root / "packages", "slow", "other")
    home = Home(root)
    path = os.pathsep.join([str(packages.folder), os.environ.get("PYTHONPATH", "")])
    kernel = Kernel(home, PYTHONPATH=path).start()
    kernel.run("import sys; from slow import *")
    for text in FILES.values():
        kernel.run(text)
    assert sorted(home.files()) == sorted(FILES)
    (home.work / "s.py").write_text("try:\n    area(1)\nexcept NameError:\n    print('area')\n", encoding="utf-8")
    kernel.restart()
    packages.clear()
    yield kernel, packages
    kernel.kill()


@pytest.mark.parametrize(
    "cell",
    [
        SUBPROCESS,
        "%run s.py",
        DOCTESTED,
        "print('area')",
        "# area",
        "%cells",
        "%layer",
        "%who",
        "%whos",
        "dir()",
        "sorted(globals())\ndef noted():\n    'The area.'",
        "globals().get('other', 'area')",
        "%%bash\necho area",
    ],
)
def test_what_does_not_name_it(shared_layer: tuple[Kernel, Packages], cell: str) -> None:
    kernel, packages = shared_layer
    if packages.imports:
        kernel.restart()
        packages.clear()
    assert kernel.run(cell).status == "ok"
    assert packages.imports == []


def test_the_front_end_knows_the_names(booted: Booted, packages: Packages) -> None:
    kernel = booted()

    def complete(code: str) -> list[str]:
        matches: list[str] = kernel.request("complete_request", {"code": code, "cursor_pos": len(code)}).content[
            "matches"
        ]
        return matches

    for jedi in (True, False):
        kernel.run(f"%config IPCompleter.use_jedi = {jedi}")
        assert "area" in complete("ar")
        assert "area" in complete("x = 1\nprint(ar")
        assert "Circle" in complete("Cir")
        assert "_hidden" in complete("_hi")
        assert "area" not in complete("x.ar")
        assert "area" not in complete("from os import ar")
    kernel.run("%config IPCompleter.use_jedi = False")
    assert packages.imports == []
    assert kernel.run("%who_ls").value == "['Circle', 'area', 'plain', 'use']"
    assert kernel.run("%who_ls function").value == "['area', 'plain', 'use']"
    assert "area" in kernel.run("%who").stdout
    whos = kernel.run("%whos").stdout
    assert "Circle   type       deferred; it is loaded when named (other, slow)" in whos
    assert "plain" in whos
    # Who goes through all there is, as unittest.main() and variable inspectors do, loads nothing.
    assert kernel.run("'area' in dir(__import__('__main__'))").value == "False"
    assert packages.imports == []
    told = kernel.run("%reset?").content["payload"][0]["data"]["text/plain"]
    assert "Resets the namespace by removing all names defined by the user" in told
    # Attributes are those that texts tell until it costs nothing to have the others too.
    assert complete("Circle.")[-1].endswith("grow")
    assert any(match.endswith("grow") for match in complete("Circle(2).gr"))
    assert not any(match.endswith("size") for match in complete("Circle.si"))
    assert packages.imports == []
    kernel.run("import slow, other")
    assert any(match.endswith("size") for match in complete("Circle.si"))
    assert kernel.run("Circle in Circle.mro()").value == "True"


def inspect(kernel: Kernel, name: str, detail: int = 0) -> str | None:
    content = {"code": f"{name}(", "cursor_pos": len(name), "detail_level": detail}
    told = kernel.request("inspect_request", content).content
    return re.sub("\x1b\\[[0-9;]*m", "", told["data"]["text/plain"]) if told["found"] else None


def test_inspection_imports_nothing(booted: Booted, packages: Packages, layer: Home) -> None:
    kernel = booted()
    deferred = "Deferred:  it is loaded when a cell names it"
    file = f"File:      {layer.layer}/functions/a/area.py"
    head = "Signature: area(x)\nDocstring: Twice x.\n"
    assert inspect(kernel, "area") == f"{head}{file}\nType:      function\n{deferred} (slow)"
    source = "Source:    \ndef area(x):\n    'Twice x.'\n    return twice(x)"
    assert inspect(kernel, "area", 1) == f"{head}{source}\n{file}\nType:      function\n{deferred} (slow)"
    assert str(inspect(kernel, "Circle")).startswith("Signature: Circle(r)\n")
    assert "Type:      function\n" in str(inspect(kernel, "Circle.__init__"))
    assert f"{deferred} (other, slow)" in str(inspect(kernel, "Circle.grow"))
    assert inspect(kernel, "Circle.nosuch") is None
    assert inspect(kernel, "plain")
    assert packages.imports == []
    kernel.run("import slow")
    assert deferred not in str(inspect(kernel, "area"))
    assert "Docstring: Twice x." in str(inspect(kernel, "area"))


def test_what_hangs_hangs_no_help_and_no_completion(booted: Booted, packages: Packages) -> None:
    packages.make("endless", before="while True: pass")
    kernel = booted(
        {
            "functions/l/long.py": "import endless\n\n\ndef long(x): ...\n",
            "classes/h/Hangs.py": "import slow\n\nwhile True:\n    pass\n\n\nclass Hangs:\n    def go(self): ...\n",
        }
    )
    kernel.run("import slow")
    for _ in range(2):
        assert str(inspect(kernel, "long")).startswith("Signature: long(x)\n")
        assert str(inspect(kernel, "Hangs.go")).startswith("Signature: go(self)\n")
        told = kernel.request("complete_request", {"code": "Hangs.", "cursor_pos": 6}).content
        assert told["matches"][0].endswith("go")
    assert kernel.run("1").notices == []


def test_unpickling(booted: Booted, packages: Packages, layer: Home) -> None:
    kernel = booted()
    kernel.run("import pickle; from pathlib import Path\nPath('c').write_bytes(pickle.dumps(Circle(2)))")
    kernel.restart()
    packages.clear()
    kernel.run("import pickle; from pathlib import Path\nc = pickle.loads(Path('c').read_bytes())")
    assert packages.imports == ["slow", "other"]
    assert kernel.run("c.grow()").value == "7"


def test_a_name_that_was_not_seen(booted: Booted, packages: Packages) -> None:
    kernel = booted()
    answer = kernel.run("name = 'ar' + 'ea'\neval(name)(3)")
    assert answer.error == "NameError: name 'area' is not defined"
    assert "perdure: area was deferred and is loaded now; run the cell again" in "\n".join(answer.content["traceback"])
    assert packages.imports == ["slow"]
    assert kernel.run("eval(name)(3)").value == "6"
    other = kernel.run("nowhere").content["traceback"]
    assert "perdure" not in "\n".join(other)


def test_an_attribute_that_nothing_has(booted: Booted, new_kernel: StartKernel) -> None:
    kernels = booted(), new_kernel(STOCK).start()
    for cell in (
        "import __main__\n__main__.nosuch",
        "try:\n    __main__.nosuch\nexcept AttributeError as error:\n    raise KeyError from error",
        "def __getattr__(name):\n    raise AttributeError('its own words')\n__main__.nosuch",
    ):
        ours, stock = ("\n".join(kernel.run(cell).content["traceback"]) for kernel in kernels)
        assert ours == stock


def test_user_expressions(booted: Booted) -> None:
    answer = booted().run("1", user_expressions={"x": "area(4)"})
    assert answer.content["user_expressions"]["x"]["data"]["text/plain"] == "8"


def test_a_load_that_fails_is_the_cells_error(booted: Booted, packages: Packages, layer: Home) -> None:
    packages.make("broken", before="raise ImportError('libblas is missing')")
    kernel = booted(
        FILES
        | {
            "functions/b/bad.py": "import broken\n\n\ndef bad():\n    return broken\n",
            "functions/m/may.py": "def may(x):\n    return bad() if x else 0\n",
        }
    )
    for _ in range(2):
        answer = kernel.run("ran = 1\nbad()")
        assert answer.error == (
            f"NotLoaded: bad cannot be loaded, so this cell did not run; {layer.layer}/functions/b/bad.py: "
            "it raised ImportError: libblas is missing at line 1; mend that and run the cell again, "
            "or define bad anew; %forget takes it out of the layer"
        )
        traceback = "\n".join(answer.content["traceback"])
        assert "waking" not in traceback
        assert "shell.py" not in traceback
    assert packages.imports == ["broken"]
    assert kernel.run("ran").error == "NameError: name 'ran' is not defined"
    answer = kernel.run("may(0)", kind="notebook")
    assert answer.value == "0"  # what only may be called does not keep a cell from running
    told = (
        f"bad cannot be loaded; {layer.layer}/functions/b/bad.py: it raised ImportError: libblas is missing at line 1"
    )
    assert answer.notices == [f"[layer: {told}]"]
    assert f"deferred and not to be loaded: {told}" in kernel.run("%cells").stdout
    # What an error tells is told in no notice too; of one that was caught the notice is all there is.
    answer = kernel.run("may(1)", kind="notebook")
    assert (answer.error, answer.notices) == ("NameError: name 'bad' is not defined", [])
    assert f"perdure: {told}" in "\n".join(answer.content["traceback"])
    answer = kernel.run("getattr(__import__('__main__'), 'ba' + 'd')")
    assert (answer.error, answer.notices) == (f"AttributeError: {told}", [])
    assert "perdure" not in "\n".join(answer.content["traceback"]).replace(told, "")
    answer = kernel.run("print([getattr(__import__('__main__'), 'ba' + 'd', None) for _ in range(2)])")
    assert (answer.stdout, answer.notices) == ("[None, None]\n", [f"[layer: {told}]"])
    assert kernel.run("def bad():\n    return 3").notices == ["[layer: kept bad]"]
    assert kernel.run("may(1)").value == "3"


def test_a_package_that_is_nowhere_is_skipped_at_boot(booted: Booted, packages: Packages) -> None:
    kernel = booted(FILES | {"functions/f/fit.py": "import nowhere_at_all\n\n\ndef fit(): ...\n"})
    assert "[layer: skipped functions/f/fit.py: nowhere_at_all is found nowhere here; install it]" in kernel.hello
    assert packages.imports == []


def test_the_keep_rule_sees_it_as_any_other(booted: Booted, packages: Packages, layer: Home) -> None:
    kernel = booted(
        FILES | {"functions/b/b.py": AREA.replace("area", "b"), "functions/d/d.py": AREA.replace("area", "d")}
    )
    assert kernel.run("def more():\n    return area(1)").notices == ["[layer: kept more]"]
    assert kernel.run("def b():\n    return 3").notices == ["[layer: kept b]"]
    assert kernel.run("b()").value == "3"
    assert kernel.run("del d").notices == ["[layer: forgot d]"]
    assert kernel.run("%forget _hidden").notices == ["[layer: forgot _hidden]"]
    assert kernel.run("_hidden").error == "NameError: name '_hidden' is not defined"
    kernel.run("Circle = 3")
    assert {"functions/d/d.py", "functions/_/_hidden.py", "classes/c/Circle.py"}.isdisjoint(layer.files())
    assert "functions/a/area.py" in layer.files()
    assert layer.status() == ""


@pytest.mark.parametrize("before", ["pass", "%layer load"], ids=["waiting", "loaded"])
@pytest.mark.parametrize(
    ("cell", "gone", "left"),
    [
        ("%reset -f", ["area", "Circle", "_hidden", "plain"], []),
        ("%reset -f -s", ["area", "Circle", "plain"], ["_hidden"]),
        ("%reset_selective -f ^ar", ["area"], ["Circle", "_hidden", "plain"]),
        ("%reset -f in", [], ["area", "Circle", "_hidden", "plain"]),
    ],
)
def test_what_is_reset_waits_no_more(
    booted: Booted, layer: Home, packages: Packages, before: str, cell: str, gone: list[str], left: list[str]
) -> None:
    files = {path: text for path, text in FILES.items() if "use" not in path}
    kernel = booted(files)
    kernel.run(before)
    loaded = [*packages.imports]
    assert kernel.run(cell).notices == []
    for name in gone:
        answer = kernel.run(name)
        assert answer.error == f"NameError: name '{name}' is not defined"
        assert "perdure" not in "\n".join(answer.content["traceback"])
    assert packages.imports == loaded
    assert kernel.run("def more():\n    return area(1)").notices == ["[layer: kept more]"]
    for name in left:
        assert kernel.run(name).status == "ok"
    assert layer.files() == files | {"functions/m/more.py": "def more():\n    return area(1)\n"}
    assert kernel.restart().run("area(2), Circle(1).grow(), plain(), more()").value == "(4, 6, 'plain', 2)"


def test_what_is_deleted_is_not_loaded_for_that(booted: Booted, packages: Packages, layer: Home) -> None:
    packages.make("broken", before="raise ImportError('libblas is missing')")
    kernel = booted(
        FILES
        | {
            "functions/b/bad.py": "import broken\n\n\ndef bad():\n    return broken\n",
            "functions/m/more.py": "more = area\n",
            "functions/d/d.py": AREA.replace("area", "d"),
            "values/v/VALUE.py": "from slow import UNIT\n\nVALUE = UNIT\n",
        }
    )
    assert kernel.run("del bad").notices == ["[layer: forgot bad]"]
    assert kernel.run("bad").error == "NameError: name 'bad' is not defined"
    assert kernel.run("del VALUE, d").notices == ["[layer: forgot VALUE, d]"]
    assert packages.imports == []
    answer = kernel.run("del nowhere, _hidden")
    assert answer.error == "NameError: name 'nowhere' is not defined"
    assert kernel.run("'_hid' + 'den' in globals()").value == "False"
    assert kernel.run("1 / 0\ndel _hidden").status == "error"
    assert packages.imports == []
    assert kernel.run("_hidden(1)\ndel _hidden").notices == ["[layer: forgot _hidden]"]
    assert packages.imports == ["slow"]
    # What was made with it is made before it is gone.
    told = kernel.run("del area").notices
    assert told == ["[layer: forgot area; more needs it to load; use uses it, and will not load without it]"]
    assert kernel.run("more(1)").value == "2"
    assert {"bad", "VALUE", "d", "_hidden", "area"}.isdisjoint(Path(path).stem for path in layer.files())
    assert layer.status() == ""


def test_what_is_deleted_where_nothing_is_kept(booted: Booted, packages: Packages) -> None:
    kernel = booted(FILES, PERDURE_MODE="readonly")
    assert kernel.run("del area").status == "ok"
    assert kernel.run("area").error == "NameError: name 'area' is not defined"
    assert kernel.run("del area").error == "NameError: name 'area' is not defined"
    assert kernel.run("if True:\n    del _hidden").status == "ok"
    assert kernel.run("_hidden").error == "NameError: name '_hidden' is not defined"
    assert packages.imports == ["slow"]  # in a block that may not run


def test_keep_of_what_waits(booted: Booted, packages: Packages) -> None:
    kernel = booted()
    assert kernel.run("%keep area").notices == ["[layer: area is kept already]"]
    assert packages.imports == []


def test_loading_all(booted: Booted, packages: Packages) -> None:
    kernel = booted(FILES | {"functions/l/loud.py": f"print('hello')\n{AREA.replace('area', 'loud')}"})
    listed = kernel.run("%cells").stdout
    assert "  deferred: Circle, Circle.grow, _hidden, area, loud (wait for other, slow)\n" in listed
    told = kernel.run("%layer load").stdout.rstrip()
    assert told.startswith("Loaded ")
    assert told.endswith("(other, slow).\nLoading printed:\nhello")
    assert sorted(packages.imports) == ["other", "slow"]
    assert "deferred" not in kernel.run("%cells").stdout
    assert kernel.run("%layer load").stdout == "Nothing was deferred.\n"


def test_show_tells_that_it_waits(booted: Booted, packages: Packages) -> None:
    packages.make("broken", before="raise ImportError('libblas is missing')")
    kernel = booted(FILES | {"functions/b/bad.py": "import broken\n\n\ndef bad():\n    return broken\n"})
    waits = "\nwaits:   for {}; it is loaded when a cell names it\n"
    assert waits.format("slow") in kernel.run("%layer show area").stdout
    assert waits.format("other, slow") in kernel.run("%layer show Circle.grow").stdout
    assert waits.format("broken") in kernel.run("%layer show bad").stdout
    assert "waits:" not in kernel.run("%layer show plain").stdout
    assert packages.imports == []
    kernel.run("area, Circle")
    assert "waits:" not in kernel.run("%layer show area").stdout
    kernel.run("bad")
    assert "failed:  it raised ImportError: libblas is missing at line 1\n" in kernel.run("%layer show bad").stdout


@pytest.mark.parametrize("how", ["undo", "refresh"])
def test_what_cannot_be_made_before_a_change_is_told(booted: Booted, packages: Packages, layer: Home, how: str) -> None:
    packages.make("broken", before="raise ImportError('libblas is missing')")
    more = "import broken\n\nmore = broken.wrap(area)\n"
    kernel = booted({"functions/a/area.py": "def area(x):\n    return x\n", "functions/m/more.py": more})
    kernel.run("def area(x):\n    return 2 * x")
    if how == "refresh":
        kernel.restart()
        (layer.layer / "functions/a/area.py").write_text("def area(x):\n    return 3 * x\n")
        layer.git("commit", "-qam", "by hand")
    else:
        kernel.restart()
    told = kernel.run(f"%layer {how}").stdout
    file = layer.layer / "functions/m/more.py"
    assert f"more cannot be loaded; {file}: it raised ImportError: libblas is missing at line 1." in told
    assert kernel.run("area(1)").value == ("3" if how == "refresh" else "1")


def test_output_and_long_loading_are_notices(booted: Booted, packages: Packages) -> None:
    packages.make("long", before="import time\ntime.sleep(1.1)")
    kernel = booted({"functions/l/loud.py": "import long\n\nprint('hello')\n\n\ndef loud():\n    return long.UNIT\n"})
    kernel.run("eval('loud')", kind="notebook")
    kernel.restart()
    answer = kernel.run("loud()")
    assert answer.stdout == ""
    first, second = answer.notices
    assert first.startswith("[layer: loaded loud in 1.")
    assert first.endswith(" s (long)]")
    assert second == "[layer: loading printed:\nhello]"


@pytest.mark.parametrize("cell", ["long()", "eval('lo' + 'ng')()", "import __main__\n__main__.long()", "%layer load"])
@pytest.mark.parametrize("catching", ["try: time.sleep(0.05)\n    except BaseException: pass", "time.sleep(0.05)"])
def test_an_interrupt_while_loading_ends_the_cell(
    booted: Booted, packages: Packages, layer: Home, tmp_path: Path, catching: str, cell: str
) -> None:
    begun, over = tmp_path / "begun", tmp_path / "over"
    endless = f"while not pathlib.Path({str(over)!r}).exists():\n    {catching}"
    packages.make("endless", before=f"import pathlib, time\nopen({str(begun)!r}, 'w').close()\n{endless}")
    kernel = booted({"functions/l/long.py": "import endless\n\n\ndef long():\n    return 3\n"})
    running = kernel.send(cell)
    while not begun.exists():
        pass
    content = kernel.finish_interrupting(running).content
    assert content["ename"] in ("KeyboardInterrupt", "NameError")
    told = f"perdure: long was being loaded, {layer.layer}/functions/l/long.py; it waits until it is named again"
    traceback = "\n".join(content["traceback"])
    assert told in traceback
    assert "loading.py" not in traceback
    assert kernel.run("1").value == "1"
    over.touch()
    assert kernel.run("long()").value == "3"


def test_an_interrupt_while_refreshing_skips_the_file(
    booted: Booted, layer: Home, packages: Packages, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    endless = "while True:\n    try: time.sleep(0.05)\n    except BaseException: pass"
    packages.make("endless", before=f"import time\nopen({str(begun)!r}, 'w').close()\n{endless}")
    kernel = booted()
    (layer.layer / "functions/p/plain.py").write_text("import endless\n\n\ndef plain():\n    return 4\n")
    layer.git("commit", "-qam", "by hand")
    running = kernel.send("%layer refresh")
    while not begun.exists():
        pass
    answer = kernel.finish_interrupting(running)
    assert "Skipped functions/p/plain.py: it was interrupted." in answer.stdout
    assert kernel.run("plain()").value == "'plain'"


def test_what_ends_the_kernel_when_it_is_loaded_is_left_out_of_the_next_start(
    booted: Booted, packages: Packages, tmp_path: Path
) -> None:
    tame = tmp_path / "tame"
    packages.make("deadly", before=f"import os\nif not os.path.exists({str(tame)!r}): os.kill(os.getpid(), 9)")
    deadly = "import deadly\n\n\ndef die():\n    return 3\n"
    kernel = booted(FILES | {"functions/d/die.py": deadly})

    def told_after_a_death() -> str:
        with pytest.raises(KernelDied):
            kernel.run("die()")
        return kernel.restart().hello[0].removeprefix("[layer: skipped functions/d/die.py: ")

    # It may have been chance: somebody ends a kernel that is busy.
    by_chance = "the kernel ended while it was loaded ("
    told = told_after_a_death()
    assert told.startswith(by_chance)
    assert told.endswith("); the next start loads it again]")
    assert kernel.run("area(1)").value == "2"
    assert kernel.run("die()").error == "NameError: name 'die' is not defined"
    assert kernel.restart().hello == []
    # Loaded to its end, it is forgiven.
    tame.touch()
    assert kernel.run("die()").value == "3"
    tame.unlink()
    assert kernel.restart().hello == []
    assert told_after_a_death().startswith(by_chance)
    assert kernel.restart().hello == []
    told = told_after_a_death()
    assert told.startswith("it killed the kernel again when it was loaded (")
    assert kernel.restart().hello[0].endswith(told)
    # So it is when it is run again.
    tame.touch()
    kernel.run(deadly)
    assert kernel.restart().hello == []
    assert kernel.run("die()").value == "3"


def test_it_can_be_switched_off(booted: Booted, packages: Packages) -> None:
    kernel = booted(FILES, "--PerdureKernel.defer=False")
    assert sorted(packages.imports) == ["other", "slow"]
    assert "deferred" not in kernel.run("%cells").stdout
    assert kernel.run("area(1)").value == "2"


def test_cells_folders(booted: Booted, packages: Packages, tmp_path: Path, layer: Home) -> None:
    team = tmp_path / "team"
    (team / "functions" / "t").mkdir(parents=True)
    (team / "functions" / "t" / "team.py").write_text(AREA.replace("area", "team"))
    kernel = booted(FILES, PERDURE_CELLS=str(team))
    if "not trusted" in str(kernel.hello):
        kernel.run(f"%layer trust {team}")
    assert packages.imports == []
    listed = kernel.run("%cells").stdout
    assert "team" in listed
    assert "deferred: Circle, Circle.grow, _hidden, area, team (wait for" in listed
    assert kernel.run("team(4)").value == "8"
    assert packages.imports == ["slow"]


def test_readonly(booted: Booted, packages: Packages) -> None:
    kernel = booted(FILES, PERDURE_MODE="readonly")
    kernel.run("area = 3")
    assert kernel.run("area").value == "3"
    assert kernel.run("def use(): return 4").status == "ok"
    assert kernel.run("use()").value == "4"
    assert packages.imports == []
    assert kernel.run("Circle(1).grow()").value == "6"


def test_a_start_after_a_death_imports_nothing_either(layer: Home, booted: Booted, packages: Packages) -> None:
    kernel = booted()
    kernel.kill()
    for name in ("deadly", "lethal"):
        path = layer.layer / f"functions/{name[0]}/{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"import os\nos._exit(3)\n\n\ndef {name}(): ...\n", encoding="utf-8")
    with pytest.raises(KernelDied):
        kernel.start()
    kernel.kill()
    kernel.start()
    assert len([line for line in kernel.hello if " skipped " in line and "killed" in line]) == 2
    assert packages.imports == []
    assert kernel.run("area(2)").value == "4"
    assert packages.imports == ["slow"]
