"""A kernel that starts: what it loads, in which order, what it leaves out and what it says of that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import modes

from .conftest import StartKernel, make_layer
from .driver import Kernel
from .home import Home


def put(home: Home, path: str, text: str, *, commit: bool = True) -> None:
    """Write a definition file by hand and commit it."""
    file = home.layer / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    if commit:
        home.git("add", "--all")
        home.git("commit", "-q", "-m", f"by hand {path}")


# Order.


def test_what_is_needed_to_load_is_loaded_first(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "classes/a/Above.py", "class Above(Below):\n    pass\n")
    put(layer, "classes/b/Below.py", "class Below(zed()):\n    pass\n")
    put(layer, "functions/z/zed.py", "def zed(kind=TYPE):\n    return kind\n")
    put(layer, "values/t/TYPE.py", "TYPE = object\n")
    kernel = new_kernel().start()
    assert kernel.hello == []
    assert kernel.run("[c.__name__ for c in Above.__mro__]").value == "['Above', 'Below', 'object']"


def test_what_only_a_name_in_a_header_tells_comes_after(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "values/a/A_LAST.py", "# perdure: after Z_FIRST\nA_LAST = globals().get('Z_FIRST')\n")
    put(layer, "values/z/Z_FIRST.py", "Z_FIRST = 'first'\n")
    assert new_kernel().start().run("A_LAST").value == "'first'"


def test_two_that_need_each_other_to_load_are_both_skipped(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "values/p/PING.py", "PING = [PONG]\n")
    put(layer, "values/p/PONG.py", "PONG = [PING]\n")
    put(layer, "values/f/FINE.py", "FINE = 1\n")
    kernel = new_kernel().start()
    assert [line.partition(":")[2].partition(":")[0] for line in kernel.hello[:2]] == [
        " skipped values/p/PING.py",
        " skipped values/p/PONG.py",
    ]
    assert kernel.run("FINE").value == "1"


def test_definitions_come_after_what_startup_files_define(layer: Home, new_kernel: StartKernel) -> None:
    startup = layer.ipython / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "10-first.py").write_text("def started():\n    return 1\nSTARTED = started()\n")
    put(layer, "functions/o/on_top.py", "def on_top(n=STARTED):\n    return n + 1\n")
    kernel = new_kernel()
    kernel.start('--IPKernelApp.exec_lines=["def by_line(): return 5"]')
    assert kernel.run("on_top(), started(), by_line()").value == "(2, 1, 5)"
    assert list(layer.files()) == ["functions/o/on_top.py"]


# What is left out.

BROKEN = {
    "syntax_error": ("def syntax_error(:\n    pass\n", "line 1: "),
    "syntax_error_below": ("X = 1\n\ndef f():\n    return )\n", "line 4: "),
    "merge": (
        "def merge():\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n",
        "line 2: it has merge conflict markers",
    ),
    "raises": ("def raises():\n    return 1\n1/0\n", "it raised ZeroDivisionError: division by zero at line 3"),
    "package": (
        "import no_such_package.part\n\n\ndef package(): ...\n",
        "no_such_package is found nowhere here; install",
    ),
    "name": ("def name(x=NOBODY_HAS_THIS): ...\n", "it needs NOBODY_HAS_THIS to load, which nothing defines"),
    "leaves": ("raise SystemExit(3)\n\ndef leaves(): ...\n", "it raised SystemExit: 3 at line 1"),
    "interrupts": ("raise KeyboardInterrupt\n\ndef interrupts(): ...\n", "it raised KeyboardInterrupt"),
    "calls": ("def calls():\n    return gone_helper()\n", "it uses gone_helper, which nothing defines now"),
    "comment": ("# Only a comment.\n", "line 1: it defines nothing"),
    "empty": ("", "line 1: it defines nothing"),
    "null_byte": ("x = '\0'\n", "line 1: "),
    "nested": ("def nested():\n    return " + "(" * 300 + ")" * 300 + "\n", "line 2: too many nested parentheses"),
    "mute": (
        "class M(Exception):\n    def __str__(self):\n        1/0\nraise M()\nmute = 1\n",
        "it raised M at line 4",
    ),
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel on a layer with one good file among those of `BROKEN`."""
    home = Home(tmp_path_factory.mktemp("broken"))
    with pytest.MonkeyPatch.context() as environment:
        make_layer(home, environment)
    for name, (text, _) in BROKEN.items():
        put(home, f"functions/{name[0]}/{name}.py", text)
    put(home, "functions/f/fine.py", "def fine():\n    return 'fine'\n")
    kernel = Kernel(home).start()
    yield kernel
    kernel.kill()


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_does_not_load_is_skipped_and_said(broken: Kernel, name: str) -> None:
    path, (_, said) = f"functions/{name[0]}/{name}.py", BROKEN[name]
    assert f"  skipped {path}: {said}" in broken.run("%cells").stdout
    assert path in [event["path"] for event in broken.home.events() if event["event"] == "file_skipped"]


def test_all_else_is_loaded_and_it_is_said_what_to_do(broken: Kernel) -> None:
    assert broken.run("fine()").value == "'fine'"
    assert broken.hello[-1] == "[layer: mend a skipped file or run its definition again; all else is loaded]"
    # The first few are named and the rest counted: nobody reads them all in a first cell.
    assert broken.hello[-2] == f"[layer: {len(BROKEN) - 4} more files are skipped; %cells lists them]"
    assert [line.startswith("[layer: skipped functions/") for line in broken.hello] == [*[True] * 4, False, False]
    assert "1 definition, 14 skipped; %cells lists them" in broken.request("kernel_info_request", {}).content["banner"]


def test_a_file_that_is_not_text_is_skipped(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/b/broken.py", "x = 1\n")
    (layer.layer / "functions/b/broken.py").write_bytes(b"x = '\xff\xfe'\n")
    kernel = new_kernel().start()
    assert kernel.hello[0] == "[layer: skipped functions/b/broken.py: line 1: it is not UTF-8 text]"


def test_what_needs_a_skipped_file_to_load_says_so(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "classes/b/Base.py", "class Base(:\n    pass\n")
    put(layer, "classes/c/Child.py", "class Child(Base):\n    pass\n")
    kernel = new_kernel().start()
    assert (
        "[layer: skipped classes/c/Child.py: it needs Base to load, and classes/b/Base.py is skipped]" in kernel.hello
    )


def test_what_calls_a_skipped_file_loads(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/h/helper.py", "def helper(:\n")
    put(layer, "functions/c/caller.py", "def caller():\n    return helper()\n")
    kernel = new_kernel().start()
    assert kernel.run("caller()").error == "NameError: name 'helper' is not defined"


def test_a_skipped_definition_that_is_run_again_takes_its_file_back(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/b/broken.py", "def broken(:\n")
    kernel = new_kernel().start()
    assert kernel.run("def broken():\n    return 1").notices == ["[layer: kept broken]"]
    assert kernel.restart().hello == []
    assert kernel.run("broken()").value == "1"


def test_a_name_defined_twice_is_loaded_once_and_told(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "classes/t/twice.py", "class twice:\n    pass\n")
    put(layer, "functions/t/twice.py", "def twice():\n    return 1\n")
    kernel = new_kernel().start()
    (told, _) = kernel.hello
    assert told == (
        "[layer: skipped functions/t/twice.py: twice is defined in classes/t/twice.py too; remove one of the files]"
    )


def test_what_loading_prints_is_told_once(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/l/loud.py", "import sys\n\nprint('hello from loading')\n\n\ndef loud():\n    return 1\n")
    kernel = new_kernel().start()
    assert kernel.hello == ["[layer: loading printed:\nhello from loading]"]
    assert kernel.run("loud()").stdout == ""


def test_invalid_escapes_are_no_news_at_each_boot(kernel: Kernel) -> None:
    kernel.run("def pattern():\n    return '\\d'")
    assert kernel.restart().hello == []


def test_a_file_that_cannot_be_read_costs_itself(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/a/area.py", "def area():\n    return 1\n")
    put(layer, "functions/b/bad.py", "def bad():\n    return area()\n")
    bad = layer.layer / "functions/b/bad.py"
    bad.chmod(0)
    startup = layer.ipython / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "modes.py").write_text(Path(modes.__file__).read_text("utf-8") + "\n\nbind()\n", "utf-8")
    kernel = new_kernel().start()
    assert kernel.hello == [
        "[layer: skipped functions/b/bad.py: line 1: it cannot be read: Permission denied]",
        "[layer: mend a skipped file or run its definition again; all else is loaded]",
    ]
    assert "  make it readable, as by `chmod u+r`, and restart;" in kernel.run("%layer skipped").stdout
    assert kernel.run("area()").value == "1"
    assert kernel.run("def other(): return 2").notices == ["[layer: kept other]"]
    assert kernel.run("def area(): return 2").notices == ["[layer: kept area]"]
    told = f"Permission denied at {bad}; mend that and run the cell again"  # what nobody can read is not overwritten
    assert kernel.run("def bad(): return 0").notices == [f"[layer: bad not kept; {told}]"]
    bad.chmod(0o600)
    for _ in range(2):
        kernel.restart()
        assert kernel.hello == []
        assert kernel.run("bad() + other()").value == "4"
    bad.chmod(0)
    for _ in range(2):
        kernel.restart()
        assert kernel.hello[0] == "[layer: skipped functions/b/bad.py: line 1: it cannot be read: Permission denied]"
        assert kernel.run("area() + other()").value == "4"


# What is loaded with a word.


def test_unresolved_names_are_listed(kernel: Kernel) -> None:
    kernel.run("later = [1][:]\ndef uses_later():\n    return later")
    kernel.restart()
    assert "  unresolved: uses_later needs later" in kernel.run("%cells").stdout
    kernel.run("later = 1")
    assert "unresolved: " not in kernel.run("%cells").stdout


def test_an_annotation_that_nothing_defines_is_told(kernel: Kernel) -> None:
    kernel.run("Local = [type('Made', (), {})][0]\ndef annotated(x: Local):\n    return 1")
    kernel.restart()
    said = "annotated loaded with its annotations as text; Local is not defined"
    assert kernel.hello == [f"[layer: {said}]"]
    assert "annotated loaded with its annotations as text: Local is not defined" in kernel.run("%cells").stdout


# Looking at the layer.


def test_the_banner_has_a_line_on_the_layer(kernel: Kernel) -> None:
    kernel.run("def one():\n    return 1\nTWO = 2")
    kernel.restart()
    content = kernel.request("kernel_info_request", {}).content
    assert content["implementation"] == "perdure"
    assert content["banner"].endswith(f"perdure layer {kernel.home.layer}: 2 definitions; %cells lists them\n")


def test_cells_lists_the_layer_by_kind(kernel: Kernel) -> None:
    assert "  no definitions yet\n" in kernel.run("%cells").stdout
    kernel.run("def b_one():\n    return 1\ndef a_two():\n    return 2\nTHREE = 3\nclass Four:\n    pass")
    assert kernel.run("%cells").stdout == (
        f"perdure layer {kernel.home.layer}: 4 definitions\n"
        "  functions: a_two, b_one\n"
        "  classes: Four\n"
        "  values: THREE\n"
    )


def test_the_text_and_place_of_a_definition(kernel: Kernel) -> None:
    text = "# Half.\ndef half(x):\n    return math.floor(x / 2)  # down"
    kernel.run(f"import math\n{text}")
    kernel.run("import perdure")
    for _ in range(2):
        assert kernel.run("print(perdure.definition_text('half'))").stdout == f"{text}\n"
        answer = kernel.run("place = perdure.definition_location('half')\nprint(place.path, place.line)")
        assert answer.stdout == f"{kernel.home.layer / 'functions/h/half.py'} 4\n"
        answer = kernel.run("perdure.definition_text('nobody')")
        assert answer.error == "UnknownDefinition: no definition 'nobody' is kept; %cells lists those that are"
        kernel.restart()
        kernel.run("import perdure")


def test_a_traceback_after_a_restart_names_the_layers_file(kernel: Kernel) -> None:
    kernel.run("import math\n\ndef fails(x):\n    return 1 / x")
    kernel.restart()
    answer = kernel.run("fails(0)")
    traceback = "\n".join(answer.content["traceback"])
    assert "functions/f/fails.py" in traceback
    assert kernel.run("import inspect\nprint(inspect.getsource(fails))").stdout == "def fails(x):\n    return 1 / x\n\n"


# Which layer, and how much of it.


def test_the_environment_names_the_layer(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(PERDURE_LAYER=str(home.root / "elsewhere")).start()
    kernel.run("def here():\n    return 1")
    assert (home.root / "elsewhere/functions/h/here.py").exists()
    assert not home.layer.exists()
    assert kernel.run("%layer path").stdout == f"{home.root / 'elsewhere'}\n"


def test_without_it_the_layer_is_the_persons(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(PERDURE_LAYER="").start()
    kernel.run("def mine():\n    return 1")
    (layer,) = home.root.rglob("layer_ada_lovelace")
    assert (layer / "functions/m/mine.py").exists()
    assert layer.stat().st_mode & 0o777 == 0o700


def test_a_changed_name_in_git_loses_nothing(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(PERDURE_LAYER="").start()
    kernel.run("def mine():\n    return 1")
    (home.root / "gitconfig").write_text("[user]\n\tname = Ada King\n\temail = ada@example.org\n")
    kernel.restart()
    assert kernel.run("mine()").value == "1"


def test_config_names_the_layer_and_the_environment_wins(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(PERDURE_LAYER="")
    kernel.start(f"--PerdureKernel.layer={home.root / 'configured'}")
    assert kernel.run("%layer path").stdout == f"{home.root / 'configured'}\n"
    kernel = new_kernel()
    kernel.start(f"--PerdureKernel.layer={home.root / 'configured'}")
    assert kernel.run("%layer path").stdout == f"{home.layer}\n"


def test_mode_off_neither_loads_nor_keeps(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/t/there.py", "def there():\n    return 1\n")
    kernel = new_kernel(PERDURE_MODE="off").start()
    assert kernel.hello == []
    assert kernel.run("'there' in globals()").value == "False"
    assert kernel.run("def unkept():\n    return 1\nunkept()").notices == []
    assert kernel.run("%cells").stdout == "perdure keeps and loads nothing (PERDURE_MODE=off)\n"
    assert list(layer.files()) == ["functions/t/there.py"]
    banner = kernel.request("kernel_info_request", {}).content["banner"]
    assert banner.endswith("perdure keeps and loads nothing (PERDURE_MODE=off)\n")


def test_mode_off_makes_no_layer(home: Home, new_kernel: StartKernel) -> None:
    new_kernel(PERDURE_MODE="off").start().run("def unkept():\n    return 1")
    assert not home.layer.exists()
    assert not home.state.exists()


def test_mode_readonly_loads_and_keeps_nothing(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/t/there.py", "def there():\n    return 1\n")
    head = layer.git("rev-parse", "HEAD")
    kernel = new_kernel(PERDURE_MODE="readonly").start()
    assert kernel.run("there()").value == "1"
    assert kernel.run("def there():\n    return 2\ndel there\ndef unkept():\n    return 1").notices == []
    assert kernel.run("%cells").stdout.startswith(
        f"perdure layer {layer.layer}: 1 definition, nothing is kept (read-only)"
    )
    assert layer.git("rev-parse", "HEAD") == head
    assert layer.status() == ""


def test_mode_readonly_makes_no_layer(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(PERDURE_MODE="readonly").start()
    assert kernel.run("def unkept():\n    return 1\nunkept()").value == "1"
    assert not home.layer.exists()


def test_mode_on_is_the_usual_one(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel(PERDURE_MODE=" On ").start()
    assert kernel.run("def kept():\n    return 1").notices == ["[layer: kept kept]"]


def test_an_unknown_mode_keeps_nothing_and_says_so(layer: Home, new_kernel: StartKernel) -> None:
    put(layer, "functions/t/there.py", "def there():\n    return 1\n")
    kernel = new_kernel(PERDURE_MODE="nonsense").start()
    (told,) = kernel.hello
    assert told == "[layer: PERDURE_MODE is 'nonsense', not one of off, readonly, on; nothing is kept until it is]"
    assert kernel.run("there()").value == "1"
    assert kernel.run("def unkept():\n    return 1").notices == []


def test_config_sets_the_mode_and_the_environment_wins(layer: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel()
    kernel.start("--PerdureKernel.mode=off")
    assert kernel.run("%cells").stdout.startswith("perdure keeps and loads nothing")
    kernel = new_kernel(PERDURE_MODE="on")
    kernel.start("--PerdureKernel.mode=off")
    assert kernel.run("def kept():\n    return 1").notices == ["[layer: kept kept]"]


def test_files_beside_a_notebook_do_not_stop_the_kernel(home: Home, new_kernel: StartKernel) -> None:
    for name in ("random", "typing", "layer", "kernel", "git", "ast"):
        (home.work / f"{name}.py").write_text("raise RuntimeError('a file of the user')\n")
    kernel = new_kernel().start()
    assert kernel.run("def kept():\n    return 1").notices == ["[layer: kept kept]"]


def test_a_working_folder_that_is_gone_does_not_stop_the_kernel(home: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    kernel.run("import os, shutil\nshutil.rmtree(os.getcwd())")
    assert kernel.run("def kept():\n    return 1").notices == ["[layer: kept kept]"]
    os.makedirs(home.work, exist_ok=True)


def test_a_name_that_is_not_kept_is_told_without_the_insides_of_perdure(broken: Kernel) -> None:
    answer = broken.run("import perdure\nperdure.definition_text('nowhere')")
    (error,) = answer.of_type("error")
    assert error["content"]["evalue"] == "no definition 'nowhere' is kept; %cells lists those that are"
    shown = "\n".join(error["content"]["traceback"])
    assert "room.py" not in shown
    assert "current.py" not in shown
