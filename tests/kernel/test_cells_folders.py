"""Kernels with cells folders: a team's definitions, a colleague's layer, and what the layer makes of them."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from perdure.layer.disk import RealDisk
from perdure.layer.trust import TrustRecord

from .conftest import StartKernel
from .driver import Kernel
from .home import Home

AREA = "def area(r):\n    return 3 * r * r"
ALONE = "if it stands by itself now, remove `overrides` from its first line"
TEAM = {"functions/a/area.py": f"{AREA}\n", "values/r/RATE.py": "RATE = 2\n"}


def folder(home: Home, name: str, files: dict[str, str], *, trusted: bool = True) -> Path:
    """A cells folder, accepted unless told otherwise."""
    path = home.root.resolve() / name
    for file, text in files.items():
        (path / file).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (path / file).write_text(text, encoding="utf-8")
    path.chmod(0o700)
    if trusted:
        TrustRecord(home.state / "perdure", RealDisk()).accept(path)
    return path


def naming(*paths: Path | str) -> str:
    return os.pathsep.join(map(str, paths))


def snapshot(path: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below `path`, with its content and when it was written."""
    files = (file for file in path.rglob("*") if file.is_file())
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


# What is loaded.


def test_folders_are_loaded_in_order_before_the_layer(home: Home, new_kernel: StartKernel) -> None:
    one = folder(home, "one", TEAM)
    two = folder(home, "two", {"values/u/UNIT.py": "UNIT = area(RATE)\n"})
    kernel = new_kernel(PERDURE_CELLS=naming(one, two)).start()
    assert kernel.hello == []
    assert kernel.run("UNIT").value == "12"
    assert kernel.run("def ring(r, inner=UNIT):\n    return area(r) - inner").notices == ["[layer: kept ring]"]
    kernel.run("import perdure")
    assert kernel.run("print(perdure.definition_text('area'))").stdout == f"{AREA}\n"
    assert kernel.run("print(perdure.definition_location('area').path)").stdout == f"{one}/functions/a/area.py\n"
    assert kernel.restart().run("ring(3)").value == "15"
    assert list(home.files()) == ["functions/r/ring.py"]
    banner = kernel.request("kernel_info_request", {}).content["banner"]
    assert banner.endswith(f"perdure layer {home.layer}: 1 definition, 2 cells folders; %cells lists them\n")


def test_the_config_names_folders_and_the_environment_wins(home: Home, new_kernel: StartKernel) -> None:
    folder(home, "home/one", {"values/o/ONE.py": "ONE = 1\n"})
    folder(home, "work/two", {"values/t/TWO.py": "TWO = 2\n"})
    arguments = ("--PerdureKernel.cells=~/one", "--PerdureKernel.cells=two")
    kernel = new_kernel().start(*arguments)
    assert kernel.run("ONE + TWO").value == "3"
    kernel = new_kernel(PERDURE_CELLS="two").start(*arguments)
    assert kernel.run("'ONE' in globals(), TWO").value == "(False, 2)"


def test_each_folder_is_listed_by_itself(home: Home, new_kernel: StartKernel) -> None:
    one = folder(
        home,
        "one",
        TEAM
        | {
            "functions/b/broken.py": "def broken(:\n",
            "functions/r/raises.py": "1 / 0\n\n\ndef raises(): ...\n",
            "functions/u/uses.py": "# perdure: needs data\ndef uses():\n    return data\n",
        },
    )
    two = folder(home, "two", {"values/r/RATE.py": "RATE = 5\n"})
    nowhere = home.root.resolve() / "nowhere"
    kernel = new_kernel(PERDURE_CELLS=naming(one, nowhere, two)).start()
    absent = f"cells folder {nowhere} is not there; make it, or take it out of PERDURE_CELLS or the config"
    raised = "it raised ZeroDivisionError: division by zero at line 1"
    assert kernel.hello[:-2] == [f"[layer: {absent}]"]
    assert kernel.hello[-2].startswith(f"[layer: skipped {one}/functions/b/broken.py: line 1: ")
    assert kernel.hello[-1] == f"[layer: failed {one}/functions/r/raises.py: {raised}]"
    kernel.run("def area(r):\n    return r\ndef own():\n    return 1")
    listed = kernel.run("%cells").stdout.splitlines()
    syntax = next(line for line in listed if "broken" in line)
    assert syntax.startswith("  skipped functions/b/broken.py: line 1: ")
    assert [line for line in listed if line != syntax] == [
        f"cells folder {one}: 3 definitions",
        "  functions: area, uses",
        "  values: RATE",
        "  overridden by the layer: area",
        f"  collision: RATE is in {two} too; that one wins",
        f"  failed functions/r/raises.py: {raised}",
        "  unresolved: uses needs data",
        f"cells folder {two}: 1 definition",
        "  values: RATE",
        f"  collision: RATE is in {one} too; this one wins",
        absent,
        f"perdure layer {home.layer}: 2 definitions, 2 cells folders (1 not loaded)",
        "  functions: area, own",
        f"  overrides: area (of {one})",
    ]
    assert kernel.run("RATE").value == "5"
    events = [event for event in home.events() if event["event"] == "file_skipped"]
    assert [(event["folder"], event["path"]) for event in events] == [
        (str(one), "functions/b/broken.py"),
        (str(one), "functions/r/raises.py"),
    ]


def test_what_cannot_be_loaded_is_said_and_the_rest_is_loaded(home: Home, new_kernel: StartKernel) -> None:
    team = folder(home, "team", TEAM)
    newer = folder(home, "newer", {"pyproject.toml": "[tool.perdure]\nformat = 99\n", **TEAM})
    file = home.root.resolve() / "file"
    file.write_text("")
    named = naming(team, file, newer, home.layer, team, f"{team}@main")
    kernel = new_kernel(PERDURE_CELLS=named).start()
    take_out = "take it out of PERDURE_CELLS or the config"
    assert kernel.hello == [
        f"[layer: cells folder {file} is a file, not a folder; name the folder that holds the definitions]",
        (
            f"[layer: cells folder {newer} was written by a newer perdure (its format is 99, this one knows 1); "
            "update perdure]"
        ),
        (
            f"[layer: cells folder {home.layer.resolve()} is the layer itself, which is loaded after all "
            f"cells folders; {take_out}]"
        ),
        f"[layer: cells folder {team} is named twice and loaded where it is named first; {take_out}]",
        (
            f"[layer: cells folder {team} is to be pinned to 'main', which is no commit id; "
            "write at least 7 hex digits after the @]"
        ),
    ]
    assert kernel.run("area(1)").value == "3"
    assert kernel.run("def own():\n    return 1").notices == ["[layer: kept own]"]


def test_nothing_is_written_to_a_folder(home: Home, new_kernel: StartKernel) -> None:
    team = folder(home, "team", TEAM)
    before = snapshot(team)
    kernel = new_kernel(PERDURE_CELLS=naming(team)).start()
    kernel.run("def area(r):\n    return r\nRATE = 3")
    kernel.run("del area, RATE")
    kernel.restart()
    assert snapshot(team) == before


# Overrides.


@pytest.fixture
def team(home: Home) -> Path:
    shape = "class Circle:\n    sides = 0\n"
    return folder(home, "team", {**TEAM, "classes/c/Circle.py": shape})


@pytest.fixture
def kernel(new_kernel: StartKernel, team: Path) -> Kernel:
    """A running kernel with the cells folder `team`."""
    return new_kernel(PERDURE_CELLS=naming(team)).start()


def test_an_override_lasts(kernel: Kernel, home: Home) -> None:
    assert kernel.run("def area(r):\n    return 4 * r * r").notices == [
        "[layer: kept area]",
        f"[layer: area replaces that of {home.root / 'team'}]",
    ]
    assert home.files()["functions/a/area.py"].startswith("# perdure: overrides sha256:")
    assert kernel.restart().hello == []
    assert kernel.run("area(1)").value == "4"


def test_the_same_text_again_is_no_override(kernel: Kernel, home: Home) -> None:
    assert kernel.run(f"{AREA}\nRATE = 2").notices == []
    assert home.files() == {}


def test_an_override_by_a_wrap_and_by_a_class_of_the_same_name(kernel: Kernel, home: Home) -> None:
    kernel.run("import functools\ndef twice(f):\n    return functools.wraps(f)(lambda r: 2 * f(r))")
    assert kernel.run("area = twice(area)").notices[:1] == ["[layer: kept area]"]
    assert kernel.run("class Circle(Circle):\n    colour = 'red'").notices[:1] == ["[layer: kept Circle]"]
    assert home.files()["values/a/area.py"].endswith("\narea = twice(area)\n")
    for _ in range(2):
        assert kernel.restart().hello == []
        assert kernel.run("area(1), Circle.sides, Circle.colour, len(Circle.__mro__)").value == "(6, 0, 'red', 3)"
    assert kernel.run("area = twice(area)\nclass Circle(Circle):\n    colour = 'red'").notices == []


def test_an_override_is_skipped_when_the_shipped_text_changed_or_is_gone(kernel: Kernel, team: Path) -> None:
    kernel.run("def area(r):\n    return 4 * r * r")
    (team / "functions/a/area.py").write_text("def area(r):\n    return 5 * r * r\n")
    assert kernel.restart().hello == [
        f"[layer: skipped functions/a/area.py: the text of area that it overrides changed in {team}]",
        "[layer: mend a skipped file or run its definition again; all else is loaded]",
    ]
    assert kernel.run("area(1)").value == "5"
    (team / "functions/a/area.py").unlink()
    assert kernel.restart().hello[:1] == [
        f"[layer: skipped functions/a/area.py: the area that it overrides is in no cells folder now; {ALONE}]"
    ]
    assert kernel.run("'area' in globals()").value == "False"
    assert kernel.run("def area(r):\n    return 4 * r * r").notices == ["[layer: kept area]"]
    assert kernel.restart().hello == []
    assert kernel.run("area(1)").value == "4"


def test_del_brings_the_shipped_one_back_at_the_next_start(kernel: Kernel, home: Home, team: Path) -> None:
    back = f"[layer: the next start brings area back, from the cells folder {team}]"
    kernel.run("def area(r):\n    return 4 * r * r")
    assert kernel.run("del area").notices == ["[layer: forgot area]", back]
    assert kernel.restart().run("area(1)").value == "3"
    commits = len(home.log())
    answer = kernel.run("del area")
    assert answer.notices == [back]
    assert answer.perdure["warnings"] == [back.removeprefix("[layer: ").removesuffix("]")]
    assert kernel.run(AREA).notices == []
    assert kernel.run("del area", kind="notebook").notices == []
    assert len(home.log()) == commits
    assert kernel.restart().run("area(1)").value == "3"


# Trust.


def test_a_folder_is_loaded_once_it_is_trusted(home: Home, new_kernel: StartKernel) -> None:
    team = folder(home, "the team", TEAM, trusted=False)
    other = folder(home, "other", {"values/o/OTHER.py": "OTHER = 1\n"}, trusted=False)
    kernel = new_kernel(PERDURE_CELLS=naming(team, other)).start()
    assert kernel.hello == [
        (
            f"[layer: cells folder {team} has 2 definitions and is not trusted; look at it, then %layer trust {team} "
            "loads it]"
        ),
        (
            f"[layer: cells folder {other} has 1 definition and is not trusted; look at it, then %layer trust {other} "
            "loads it]"
        ),
    ]
    assert kernel.run("'area' in globals()").value == "False"
    assert kernel.run("%layer trust /elsewhere").stdout.startswith("Nothing at /elsewhere waits for trust. ")
    assert kernel.run(f"%layer trust {team}").stdout == f"Cells folder {team}: 2 definitions loaded.\n"
    assert kernel.run("area(1)").value == "3"
    assert kernel.run(f"{AREA}").notices == []
    kernel.restart()
    assert kernel.run("area(1), 'OTHER' in globals()").value == "(3, False)"
    assert kernel.run("%layer trust").stdout == f"Cells folder {other}: 1 definition loaded.\n"
    assert kernel.run("%layer trust").stdout.startswith("No layer here waits for trust. ")
    assert kernel.restart().hello == []


def test_what_is_trusted_late_replaces_nothing(home: Home, new_kernel: StartKernel) -> None:
    team = folder(home, "team", TEAM, trusted=False)
    kernel = new_kernel(PERDURE_CELLS=naming(team)).start()
    kernel.run("RATE = 7")
    later = f"Cells folder {team} is trusted now; the next start loads it, since RATE is here already."
    assert kernel.run("%layer trust").stdout == f"{later}\n"
    assert kernel.run("RATE, 'area' in globals()").value == "(7, False)"
    assert kernel.restart().hello == []
    assert kernel.run("RATE, area(1)").value == "(7, 3)"


def test_an_override_that_was_copied_into_the_folder_says_what_mends_it(home: Home, kernel: Kernel, team: Path) -> None:
    kernel.run("def area(r):\n    return 4 * r * r")
    copy, text = team / "functions/a/area.py", (home.layer / "functions/a/area.py").read_text()
    copy.write_text(text)
    told = f"[layer: skipped {copy}: the area that it overrides is in no cells folder now; {ALONE}]"
    assert told in kernel.restart().hello
    assert f"  {copy}\n  edit the file and restart, or " in kernel.run("%layer skipped").stdout
    copy.write_text(re.sub("overrides [^;\n]*", "", text))
    kernel.run("%forget area")
    kernel.restart()
    assert kernel.hello == []
    assert kernel.run("area(1)").value == "4"


def test_an_override_of_what_is_trusted_late_is_loaded_at_the_next_start(kernel: Kernel, team: Path) -> None:
    kernel.run("def area(r):\n    return 4 * r * r")
    moved = team.rename(team.with_name("moved"))
    team.symlink_to(moved)
    assert kernel.restart().hello[1].endswith(f"the area that it overrides is in no cells folder now; {ALONE}]")
    assert kernel.run("%layer trust").stdout.splitlines() == [
        f"Cells folder {moved}: 3 definitions loaded.",
        "What the layer skipped for want of it is loaded at the next start.",
    ]
    assert kernel.run("area(1)").value == "3"
    assert kernel.restart().hello == []
    assert kernel.run("area(1)").value == "4"


def test_the_layer_and_the_folders_can_be_trusted_at_once(home: Home, new_kernel: StartKernel) -> None:
    team = folder(home, "team", TEAM, trusted=False)
    kernel = new_kernel().start()
    kernel.run("def own():\n    return area(2)")
    kernel.kill()
    home.layer.rename(home.root / "moved")
    moved = (home.root / "moved").resolve()
    kernel = new_kernel(PERDURE_CELLS=naming(team), PERDURE_LAYER=str(moved)).start()
    said = kernel.run("%layer trust").stdout.splitlines()
    assert said == [
        f"Cells folder {team}: 2 definitions loaded.",
        f"perdure layer {moved}: 1 definition, 1 cells folder; %cells lists them.",
    ]
    assert kernel.run("own()").value == "12"


def test_a_layer_that_another_users_kernel_made_asks_first(
    home: Home, new_kernel: StartKernel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bob = Home(tmp_path_factory.mktemp("bob"))
    theirs = Kernel(bob)
    try:
        theirs.start().run("def greet():\n    return 'hello'")
    finally:
        theirs.kill()
    path = bob.layer.resolve()
    before = snapshot(path)
    kernel = new_kernel(PERDURE_CELLS=naming(path)).start()
    (told,) = kernel.hello
    assert told.startswith(f"[layer: cells folder {path} has 1 definition and is not trusted; ")
    kernel.run(f"%layer trust {path}")
    assert kernel.run("greet()").value == "'hello'"
    assert kernel.restart().run("greet()").value == "'hello'"
    assert snapshot(path) == before


def test_a_folder_that_others_can_write_to_is_not_loaded(home: Home, new_kernel: StartKernel) -> None:
    team = folder(home, "team", TEAM)
    team.chmod(0o777)
    kernel = new_kernel(PERDURE_CELLS=naming(team)).start()
    assert kernel.hello == [f"[layer: cells folder {team} can be written by other users; run `chmod -R go-w {team}`]"]
    assert kernel.run("%layer trust").stdout.startswith("No layer here waits for trust. ")


# Pins.


def test_a_pinned_folder_is_loaded_at_its_commit_only(home: Home, new_kernel: StartKernel) -> None:
    team = folder(home, "repository/team", TEAM)

    def git(*words: str) -> str:
        done = subprocess.run(
            ("git", *words), cwd=team.parent, env=home.environ, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", "--all")
    git("commit", "-q", "-m", "one")
    pin = git("rev-parse", "HEAD")[:8]
    kernel = new_kernel(PERDURE_CELLS=f"{team}@{pin}").start()
    assert kernel.hello == []
    assert kernel.run("area(1)").value == "3"
    assert kernel.run("%cells").stdout.startswith(f"cells folder {team} at commit {pin}: 2 definitions\n")
    git("commit", "-q", "--allow-empty", "-m", "two")
    head = git("rev-parse", "HEAD")[:10]
    why = f"is pinned to commit {pin} but at {head}; `git checkout {pin}` there, or name the other commit"
    assert kernel.restart().hello == [f"[layer: cells folder {team} {why}]"]
    assert kernel.run("'area' in globals()").value == "False"
    unversioned = folder(home, "unversioned@team", TEAM)
    kernel = new_kernel(PERDURE_CELLS=naming(f"{unversioned}@{pin}")).start()
    assert kernel.hello == [
        (
            f"[layer: cells folder {unversioned} is pinned to commit {pin} but in no git repository that has one; "
            "clone it there]"
        )
    ]
    kernel = new_kernel(PERDURE_CELLS=naming(unversioned)).start()
    assert kernel.run("area(1)").value == "3"


# Modes.


def test_readonly_loads_folders_and_makes_no_layer(home: Home, new_kernel: StartKernel, team: Path) -> None:
    kernel = new_kernel(PERDURE_CELLS=naming(team), PERDURE_MODE="readonly").start()
    assert kernel.hello == []
    assert kernel.run("area(1)").value == "3"
    assert kernel.run("def area(r):\n    return r\ndel area").notices == []
    assert kernel.run("import perdure\nprint(perdure.definition_text('RATE'))").stdout == "RATE = 2\n"
    assert kernel.run("%cells").stdout.splitlines()[:2] == [
        f"cells folder {team}: 3 definitions",
        "  functions: area",
    ]
    assert not home.layer.exists()


def test_off_loads_none(new_kernel: StartKernel, team: Path) -> None:
    kernel = new_kernel(PERDURE_CELLS=naming(team, "/nowhere"), PERDURE_MODE="off").start()
    assert kernel.hello == []
    assert kernel.run("'area' in globals()").value == "False"
    assert kernel.run("%cells").stdout == "perdure keeps and loads nothing (PERDURE_MODE=off)\n"


def test_folders_are_loaded_though_the_layer_cannot_be(home: Home, new_kernel: StartKernel, team: Path) -> None:
    home.layer.write_text("in the way")
    kernel = new_kernel(PERDURE_CELLS=naming(team)).start()
    assert len(kernel.hello) == 1
    assert kernel.run("area(1)").value == "3"
    assert kernel.run("%cells").stdout.splitlines()[-1].endswith("; 1 cells folder")


def test_a_config_that_names_no_folders_costs_a_notice(home: Home, new_kernel: StartKernel) -> None:
    one = folder(home, "one", {"values/o/ONE.py": "ONE = 1\n"})
    config = home.ipython / "profile_default" / "ipython_kernel_config.py"
    config.parent.mkdir(parents=True)
    config.write_text(f"from pathlib import Path\nc.PerdureKernel.cells = [Path({str(one)!r}), 5]\n")
    kernel = new_kernel().start()
    assert kernel.hello == ["[layer: cells folder 5 is no path; c.PerdureKernel.cells is a list of texts]"]
    assert kernel.run("ONE").value == "1"
