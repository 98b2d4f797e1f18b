"""`%layer` and what stands behind it, through a real kernel; completion and help as front ends ask for them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .answer import Answer
from .conftest import StartKernel
from .driver import Kernel
from .home import Home
from .lives import Cases

case = Cases()
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d"
WORDS = "bake diff export init load log path proof refresh show skipped trust undo used uses".split()


def said(kernel: Kernel, line: str) -> list[str]:
    answer = kernel.run(line)
    assert answer.status == "ok", answer.error
    return answer.stdout.splitlines()


def completed(kernel: Kernel, code: str) -> list[str]:
    answer = kernel.request("complete_request", {"code": code, "cursor_pos": len(code)}).content
    return [code[: answer["cursor_start"]] + match + code[answer["cursor_end"] :] for match in answer["matches"]]


def next_cell(answer: Answer) -> str:
    (payload,) = (each for each in answer.content["payload"] if each["source"] == "set_next_input")
    text: str = payload["text"]
    return text


@case
def test_the_log_of_a_definition_that_became_a_class(kernel: Kernel) -> Iterator[None]:
    kernel.run("def log_area(): return 1", notebook="shapes.ipynb")
    kernel.run("LOG_OTHER = 1")
    kernel.run("class log_area: pass")
    header, *lines = said(kernel, "%layer log log_area")
    assert header.split() == ["commit", "when", "what", "where"]
    rows = [re.fullmatch(rf"([0-9a-f]{{7}})  {DATE}  (.*?)  +(.*)", line) for line in lines]
    assert [row and row[2] for row in rows] == ["keep log_area", "keep log_area"]
    assert rows[1] is not None
    assert re.fullmatch(r"In\[\d+\] shapes\.ipynb", rows[1][3])
    assert len(said(kernel, "%layer log log_area -n 1")) == 2
    assert len(said(kernel, "%layer log -n 3")) == 4
    assert said(kernel, f"%layer log -n {10**30}") == said(kernel, "%layer log -n 1000")
    assert said(kernel, "%layer log log_aera") == ["Nothing is kept under log_aera; near it: log_area."]
    yield
    assert said(kernel, "%layer log log_area")[1:] == lines


@case
def test_show(kernel: Kernel) -> Iterator[None]:
    kernel.run("import math\nshow_units = 3\ndef show_area(r):\n    return math.pi * r ** show_units")
    yield
    lines = said(kernel, "%layer show show_area")
    assert lines[0] == f"file:    {kernel.home.layer}/functions/s/show_area.py"
    assert re.match(
        rf"made:    {DATE} by Ada Lovelace: In\[\d+\], session s-\w+; commit \w{{7}} keep show_area", lines[1]
    )
    assert lines[2:] == [
        "imports: import math",
        "needs:   show_units (when called)",
        "",
        "def show_area(r):",
        "    return math.pi * r ** show_units",
    ]
    assert said(kernel, "%layer show SHOW_AREA") == ["Nothing is kept under SHOW_AREA; near it: show_area."]
    assert said(kernel, "%layer show xyzzy_plugh") == ["Nothing is kept under xyzzy_plugh; %cells lists what is."]


@case
def test_diff(kernel: Kernel) -> Iterator[None]:
    kernel.run("def diff_area(r):\n    return 1")
    assert said(kernel, "%layer diff diff_area")[0].startswith("diff_area has no earlier version")
    kernel.run("def diff_area(r):\n    return 2")
    first = kernel.home.git("rev-parse", "HEAD~1").strip()
    kernel.run("def diff_area(r):\n    return 3")
    assert said(kernel, "%layer diff diff_area")[2:] == [
        "@@ -1,2 +1,2 @@",
        " def diff_area(r):",
        "-    return 2",
        "+    return 3",
    ]
    assert said(kernel, f"%layer diff diff_area {first[:8]}")[-2:] == ["-    return 1", "+    return 3"]
    assert said(kernel, "%layer diff diff_area HEAD") == [f"diff_area is the same as at {head(kernel)}."]
    assert said(kernel, "%layer diff diff_area nonsense") == [
        "%layer diff: nonsense is no commit; %layer log lists them"
    ]
    assert said(kernel, "%layer diff")[0].startswith("%layer diff NAME [REV] shows")
    yield
    assert said(kernel, "%layer diff diff_area HEAD~9999") == ["%layer diff: HEAD~9999 reaches behind the first commit"]
    (kernel.home.layer / "functions" / "d" / "diff_area.py").unlink()
    assert said(kernel, "%layer diff diff_area")[1:] == [
        "+++ /dev/null",
        "@@ -1,2 +0,0 @@",
        "-def diff_area(r):",
        "-    return 3",
    ]
    kernel.home.git("checkout", "--quiet", "HEAD", "functions/d/diff_area.py")


def head(kernel: Kernel) -> str:
    return kernel.home.git("rev-parse", "--short=7", "HEAD").strip()


@case
def test_undo_is_live_and_lasts(kernel: Kernel) -> Iterator[None]:
    kernel.run("def undo_area(): return 1")
    first = head(kernel)
    kernel.run("def undo_area(): return 2")
    undone = head(kernel)
    assert said(kernel, "%layer undo") == [f"Took back {undone} keep undo_area.", "undo_area is as it was."]
    assert kernel.run("undo_area()").value == "1"
    commit = kernel.home.log()[0]
    assert commit.subject == "undo: keep undo_area"
    assert commit.trailers.keys() == {"Session", "Cell"}
    said(kernel, "%layer undo")
    assert kernel.run("undo_area()").value == "2"
    # What the cell itself defined is committed, and then taken back.
    assert kernel.run("def undo_new(): pass\n%layer undo").stdout.splitlines()[1:] == ["undo_new is gone."]
    assert kernel.run("undo_new").error == "NameError: name 'undo_new' is not defined"
    assert "take that back first" in said(kernel, f"%layer undo {first}")[0]
    assert said(kernel, "%layer undo 1234567") == ["%layer undo: 1234567 is no commit of this layer"]
    assert said(kernel, "%%scratch\n%layer undo") == ["Nothing was undone: nothing of this cell is kept."]
    assert kernel.home.status() == ""
    yield
    assert kernel.run("undo_area()").value == "2"


@case
def test_undo_tells_who_has_the_earlier_one(kernel: Kernel) -> Iterator[None]:
    kernel.run("def u_base(): return 1")
    kernel.run("u_other = u_base")
    kernel.run("def u_base(): return 2")
    assert said(kernel, "%layer undo")[2:] == ["u_other still has the other u_base until a restart."]
    yield
    assert kernel.run("u_other()").value == "1"


@case
def test_uses(kernel: Kernel) -> Iterator[None]:
    kernel.run("import math\nuses_units = [1]\nUSES_PI = 3\ndef uses_twice(f): return f")
    kernel.run("@uses_twice\ndef uses_area(r): return math.pi, USES_PI, uses_units, print, uses_nowhere")
    kernel.run("class UsesShape:\n    def area(self): return uses_area(1)\nUsesShape.grow = lambda self: 1")
    assert said(kernel, "%layer uses uses_area") == [
        "used when called by  UsesShape",
        "needs to load        uses_twice",
        "uses when called     USES_PI",
        "plain variables      uses_units",
        "found nowhere        uses_nowhere",
        "imports              import math",
    ]
    assert said(kernel, "%layer uses uses_twice") == ["needed to load by  uses_area"]
    assert "put on it          UsesShape.grow" in said(kernel, "%layer uses UsesShape")
    yield
    assert said(kernel, "%layer uses USES_PI")[0] == "used when called by  uses_area"


@case
def test_used_and_bake(kernel: Kernel) -> Iterator[None]:
    kernel.run("import math\ndef used_twice(f): return f\n@used_twice\ndef used_area(r): return math.pi * r * USED_K")
    kernel.run("USED_K = 1\ndef used_other(): return used_area(1)\ndef used_mine(): return 1\nclass UsedC: pass")
    kernel.run("UsedC.m = lambda self: used_mine()")
    assert said(kernel, "%layer used") == ["The cells of this session took nothing from the layer."]
    assert said(kernel, "%layer bake")[0].startswith("There is nothing to bake")
    yield
    kernel.run("def used_mine(): return 2")
    kernel.run("%timeit -n 1 -r 1 used_other()")
    kernel.run("UsedC().m(), used_mine()")
    header, *lines = said(kernel, "%layer used")
    assert header.split() == ["name", "kind", "from"]
    names = [line.split()[0] for line in lines if line.split()[0].lower().startswith("used")]
    assert sorted(names) == ["USED_K", "UsedC", "UsedC.m", "used_area", "used_other", "used_twice"]
    assert names.index("used_twice") < names.index("used_area")
    answer = kernel.run("%layer bake", kind="notebook")
    assert answer.stdout.startswith("The next cell has ")
    baked = next_cell(answer)
    assert baked.startswith("import ")
    assert "used_mine" not in re.findall(r"^def (\w+)", baked, re.MULTILINE)
    before = kernel.home.git("rev-parse", "HEAD")
    assert kernel.run(baked).status == "ok"
    assert kernel.home.git("rev-parse", "HEAD") == before  # the same texts: nothing is kept anew


def test_used_and_bake_know_imports_that_came_with_definitions(home: Home, new_kernel: StartKernel) -> None:
    (home.work / "units.py").write_text("K = 2\n")
    kernel = new_kernel().start()
    kernel.run("import json\nimport units as u\nfrom collections import abc\nimport math")
    kernel.run("def packed(x): return json.dumps([x, math.pi])\ndef scaled(x): return u.K * x\ndef maps(): return abc")
    kernel.restart()
    cells = ["json.loads('[1]')", "u.K", "def is_map(x): return isinstance(x, abc.Mapping)", "import math\nmath.pi"]
    for cell in cells:
        assert kernel.run(cell).status == "ok"
    assert said(kernel, "%layer used") == [
        "name  kind    from",
        "abc   import  from collections import abc",
        "json  import  import json",
        "u     import  import units as u",
    ]
    answer = kernel.run("%layer bake", kind="notebook")
    assert answer.stdout == "The next cell has abc, json, u: run it before the others.\n"
    baked = next_cell(answer)
    assert baked == "import json\nfrom collections import abc\n\nimport units as u"
    kernel.kill()
    plain = new_kernel(PERDURE_MODE="off").start()
    for cell in [baked, *cells]:
        assert plain.run(cell).status == "ok"


def test_export_runs_in_plain_python(kernel: Kernel) -> None:
    kernel.run(
        "import math\nfrom os import path as p\nRATE = 2\ndef area(r): return math.pi * r * RATE, p.sep\nclass C: pass"
    )
    kernel.run("C.grow = lambda self: area(1)\nunits = []\ndef folder():\n    x = %pwd\n    return x, units")
    assert said(kernel, "%layer export shapes.py") == [
        "5 definitions in shapes.py.",
        "folder needs units, which is not kept.",
        "folder calls a magic, which only IPython has.",
    ]
    script = "import shapes; print(shapes.C().grow(), shapes.__all__)"
    done = subprocess.run(
        (sys.executable, "-c", script), cwd=kernel.home.work, capture_output=True, text=True, check=True
    )
    assert done.stdout == "((6.283185307179586, '/'), ['RATE', 'C', 'area', 'folder'])\n".replace("((", "(").replace(
        "), [", ") ["
    ).replace("])", "]")
    text = (kernel.home.work / "shapes.py").read_text("utf-8")
    assert text.startswith(
        '"""The definitions of the perdure layer layer, in the order in which they load."""\n\nimport math\n'
    )
    assert said(kernel, "%layer export shapes.py") == [
        "Nothing was written: shapes.py is there already; %layer export shapes.py -f overwrites it."
    ]
    kernel.run("del folder")
    assert said(kernel, "%layer export shapes.py -f") == ["4 definitions in shapes.py."]
    assert said(kernel, "%layer export no/such/folder.py") == [
        "Nothing was written to no/such/folder.py: No such file or directory."
    ]
    assert said(kernel, "%layer export")[0].startswith("%layer export PATH writes")
    assert kernel.home.status() == ""


def test_completion_by_both_completers(kernel: Kernel) -> None:
    kernel.run(
        "from functools import singledispatch\nclass Circle: pass\nCircle.grow = lambda self: 1\ndef area_of(x): pass"
    )
    kernel.run("@singledispatch\ndef f(x): pass\n@f.register\ndef _(x: int): pass\n@f.register\ndef _(x: str): pass")
    for plain in (False, True):
        kernel.run(f"get_ipython().kernel.use_experimental_completions = {not plain}")
        assert sorted(completed(kernel, "%layer ")) == [f"%layer {word}" for word in WORDS]
        assert sorted(completed(kernel, "%layer u")) == ["%layer undo", "%layer used", "%layer uses"]
        assert completed(kernel, "x = 1\n%layer sho") == ["x = 1\n%layer show"]
        names = ["Circle", "Circle.grow", "area_of", "f", "f@int", "f@str"]
        assert completed(kernel, "%layer show ") == [f"%layer show {name}" for name in names]
        assert completed(kernel, "%layer diff Circle.") == ["%layer diff Circle.grow"]
        assert completed(kernel, "%layer log f@i") == ["%layer log f@int"]
        assert completed(kernel, "layer uses are") == ["layer uses area_of"]
        assert completed(kernel, "%layer refresh Circle f@i") == ["%layer refresh Circle f@int"]


def test_help(kernel: Kernel) -> None:
    answer = kernel.run("%layer nonsense")
    first, *lines = answer.stdout.splitlines()
    assert first == "%layer knows no 'nonsense'. It knows these:"
    assert sorted(line.split()[1] for line in lines) == WORDS
    asked = kernel.request("inspect_request", {"code": "%layer", "cursor_pos": 6, "detail_level": 0}).content
    for line in lines:
        assert line.strip() in asked["data"]["text/plain"]
    payload = kernel.run("%layer?").content["payload"]
    assert "%layer undo [COMMIT]" in payload[0]["data"]["text/plain"]


def test_a_notebook_has_tables_as_html(kernel: Kernel) -> None:
    kernel.run("A_LT_B = '<&>'")
    answer = kernel.run("%layer log", kind="notebook")
    (shown,) = answer.of_type("display_data")
    data = shown["content"]["data"]
    assert data["text/plain"].splitlines()[0].split() == ["commit", "when", "what", "where"]
    assert data["text/html"].startswith("<pre ")
    assert "keep A_LT_B" in data["text/html"]
    assert answer.stdout == ""
    assert kernel.run("%layer show A_LT_B", kind="notebook").stdout.endswith("A_LT_B = '<&>'\n")


def test_the_summary(kernel: Kernel) -> None:
    lines = said(kernel, "%layer")
    assert lines[0] == f"perdure layer {kernel.home.layer}: 0 definitions"
    assert lines[1] == "last commits:"
    assert lines[2].split()[-2:] == ["new", "layer"] or "new layer" in lines[2]
    kernel.run("def area(): return units\nRATE = 1")
    kernel.run("class Circle: pass")
    kernel.restart()
    lines = said(kernel, "%layer")
    assert lines[:5] == [
        f"perdure layer {kernel.home.layer}: 3 definitions",
        "  functions  1",
        "  classes    1",
        "  values     1",
        "last commits:",
    ]
    assert "unresolved: area needs units" in lines
    assert lines[-1] == "%layer? lists what else %layer tells and does"


def test_skipped(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/b/bad.py", "def bad(:\n")
    put(layer, "functions/m/missing.py", "import no_such_module\n\n\ndef missing(): ...\n")
    put(layer, "values/r/RAISED.py", "RAISED = 1 / 0\n")
    put(layer, "values/n/NEEDY.py", "NEEDY = nothing_like_this\n")
    kernel = new_kernel().start()
    told = "\n".join(said(kernel, "%layer skipped")).split("\n\n")
    assert [each.splitlines()[0].split(":")[0] for each in told] == ["bad", "missing", "NEEDY", "RAISED"]
    assert told[0].splitlines()[1:] == [
        f"  {layer.layer}/functions/b/bad.py:1",
        "  edit the file and restart, or run the definition again in a cell; %forget bad drops it",
    ]
    assert "`%pip install no_such_module`, if that is the name of its package, and restart; %forget missing" in told[1]
    assert "define nothing_like_this and restart" in told[2]
    assert f"{layer.layer}/values/r/RAISED.py:1" in told[3]
    assert "skipped: it raised ZeroDivisionError" in kernel.run("%layer show RAISED").stdout
    kernel.run("%forget bad missing NEEDY RAISED")
    assert said(kernel, "%layer skipped") == ["Nothing is skipped."]


def put(home: Home, path: str, text: str) -> None:
    file: Path = home.layer / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    home.git("add", path)
    home.git("commit", "-qm", f"by hand {path}")


def test_a_layer_of_one_commit(kernel: Kernel) -> None:
    assert len(said(kernel, "%layer log")) == 2
    assert said(kernel, "%layer undo") == [f"Not undone: {head(kernel)} new layer made the layer."]
    assert said(kernel, "%layer export empty.py") == ["0 definitions in empty.py."]
    assert (kernel.home.work / "empty.py").read_text("utf-8").endswith("\n__all__ = []\n")


def test_a_read_only_layer(kernel: Kernel, new_kernel: StartKernel) -> None:
    kernel.run("def area(): return 1")
    kernel.run("def area(): return 2")
    kernel.kill()
    reader = new_kernel(PERDURE_MODE="readonly").start()
    assert said(reader, "%layer")[0].endswith("1 definition, nothing is kept (read-only)")
    assert len(said(reader, "%layer log area")) == 3
    assert said(reader, "%layer diff area")[-1] == "+def area(): return 2"
    assert said(reader, "%layer undo") == ["Nothing was undone: it is read-only."]
    reader.run("area()")
    assert said(reader, "%layer used")[1].split() == ["area", "function", "functions/a/area.py"]
    assert said(reader, "%layer skipped") == ["Nothing is skipped."]


@pytest.mark.parametrize("line", ["", "log", "diff x", "undo", "export x.py", "skipped"])
def test_no_layer(shared_without_layer: Kernel, line: str) -> None:
    assert said(shared_without_layer, f"%layer {line}") == [
        "There is no layer here: perdure keeps and loads nothing (PERDURE_MODE=off)"
    ]


@pytest.fixture(scope="module")
def shared_without_layer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    kernel = Kernel(Home(tmp_path_factory.mktemp("off")), PERDURE_MODE="off").start()
    yield kernel
    kernel.kill()


def test_no_layer_and_a_name(shared_without_layer: Kernel) -> None:
    assert said(shared_without_layer, "%layer show x") == ["Nothing is kept under x; %cells lists what is."]
    assert said(shared_without_layer, "%layer used") == ["The cells of this session took nothing from the layer."]


def test_what_layer_tells_is_imported_when_it_is_asked(kernel: Kernel) -> None:
    look = "import sys\nsorted(name for name in sys.modules if name.startswith('perdure.') and name.split('.')[-1] in"
    asked = f"{look} ('layer_views', 'layer_changes', 'shown', 'past', 'undo', 'module', 'git_history'))"
    assert kernel.run(asked).value == "[]"


def test_rich_is_imported_when_a_table_is_shown(kernel: Kernel) -> None:
    look = "import sys\n'rich' in sys.modules"
    kernel.run("def area(): return 1")
    kernel.run("%layer show area")
    assert kernel.run(look).value == "False"
    kernel.run("%layer log")
    assert kernel.run(look).value == "True"
