"""Kernels in a project with a layer of its own: found, made, trusted, and loaded over the personal one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import StartKernel
from .driver import Kernel
from .home import Home

PERSONAL = "data/perdure/layer_ada_lovelace"


class Project:
    """A user's home without PERDURE_LAYER, and the project that the kernel starts in."""

    def __init__(self, home: Home, start: StartKernel) -> None:
        home.root = home.root.resolve()
        home.work = home.root / "work"
        del home.environ["PERDURE_LAYER"]
        self.home = home
        self.root = home.work
        self.layer = self.root / ".perdure"
        self.personal = home.root / PERSONAL
        self._start = start

    def kernel(self, *arguments: str, below: str = "", **environ: str) -> Kernel:
        """A kernel that was started in the project, or in a folder below."""
        self.home.work = self.root / below
        self.home.work.mkdir(parents=True, exist_ok=True)
        return self._start(**environ).start(*arguments)

    def kept(self, layer: Path) -> list[str]:
        self.home.layer = layer
        return [path.rpartition("/")[2].removesuffix(".py") for path in self.home.files()]

    def git(self, *words: str | Path, at: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=at or self.root, env=self.home.environ, check=True, capture_output=True, text=True
        )
        return done.stdout


@pytest.fixture
def project(home: Home, new_kernel: StartKernel) -> Project:
    return Project(home, new_kernel)


@pytest.fixture
def made(project: Project) -> Project:
    """With a personal `area` and a project's `ring`, which uses it."""
    kernel = project.kernel()
    kernel.run("RATE = 2\ndef area(r):\n    return 3 * r * r")
    kernel.run("%layer init")
    assert kernel.run("def ring(r):\n    return area(r) - RATE").notices == ["[layer: kept ring]"]
    kernel.kill()
    return project


# Made.


def test_init_makes_a_layer_that_this_kernel_keeps_to(project: Project) -> None:
    project.git("init", "-q")
    (project.root / "analysis.py").touch()
    kernel = project.kernel()
    assert kernel.hello == []
    kernel.run("def area(r):\n    return 3 * r * r")
    said = kernel.run("%layer init").stdout
    assert said == (
        f"Made the project layer {project.layer}, a git repository of its own, "
        f"which {project.root}/.git/info/exclude has the repository around it ignore. "
        "This kernel keeps to it from now on. "
        "What was kept before stays in the personal layer, which is loaded before it at each start.\n"
    )
    assert kernel.run("def ring(r):\n    return area(r) - 1").notices == ["[layer: kept ring]"]
    assert kernel.run("ring(1)").value == "2"
    assert kernel.run("def area(r):\n    return 3 * r * r").notices == []  # the text of the personal layer's
    assert (project.kept(project.personal), project.kept(project.layer)) == (["area"], ["ring"])
    assert project.git("status", "--porcelain") == "?? analysis.py\n"
    assert project.git("status", "--porcelain", at=project.layer) == ""
    assert project.layer.stat().st_mode & 0o777 == 0o700
    assert kernel.restart().hello == []
    assert kernel.run("ring(1)").value == "2"


def test_definitions_of_the_cell_that_makes_it_go_to_it_from_there_on(project: Project) -> None:
    kernel = project.kernel()
    answer = kernel.run("def before():\n    return 1\n%layer init\ndef behind():\n    return before()\nbehind()")
    assert answer.value == "1"
    assert answer.notices == ["[layer: kept before, behind]"]
    assert (project.kept(project.personal), project.kept(project.layer)) == (["before"], ["behind"])


def test_variables_and_imports_go_on_as_they_were(project: Project) -> None:
    kernel = project.kernel()
    kernel.run("import math\nscale = 2\ndef half(x):\n    return x / 2\nhalf = None\nRATE = 1")
    kernel.run("%layer init")
    answer = kernel.run("def turn(x, scale=scale):\n    return math.pi * x * scale * RATE")
    assert answer.notices == ["[layer: kept scale, turn]"]
    assert project.kept(project.layer) == ["turn", "scale"]
    assert kernel.run("half is None").value == "True"
    kernel.restart()
    assert kernel.run("turn(1) > 6, 'half' in globals()").value == "(True, False)"


def test_init_where_one_is_says_so(made: Project) -> None:
    kernel = made.kernel()
    assert kernel.run("%layer init").stdout == f"{made.layer} is a project layer already.\n"
    below = made.kernel(below="notebooks")
    assert below.run("%layer init").stdout == (
        f"The project layer of this folder is {made.layer}; `%layer init .` makes another one here all the same.\n"
    )
    said = below.run("%layer init .").stdout
    assert said.endswith(f" Kernels that start here keep to it; this one goes on with {made.layer}.\n")
    below.run("INNER = 1")
    assert made.kept(made.layer) == ["ring", "INNER"]
    below.restart().run("INNERMOST = 1")
    assert made.kept(made.root / "notebooks" / ".perdure") == ["INNERMOST"]
    assert below.run("%layer init /tmp").stdout.startswith("%layer init makes a project layer in the working folder")


@pytest.mark.parametrize("mode", ["off", "readonly"])
def test_nothing_is_made_where_nothing_is_kept(project: Project, mode: str) -> None:
    kernel = project.kernel(PERDURE_MODE=mode)
    assert kernel.run("%layer init").stdout.startswith("Nothing is made here: ")
    assert not project.layer.exists()


def test_a_layer_that_was_named_wins(made: Project) -> None:
    named = made.home.root / "named"
    kernel = made.kernel(PERDURE_LAYER=str(named))
    kernel.run("NAMED = 1")
    assert kernel.run("[name for name in ('ring', 'area') if name in globals()]").value == "[]"
    shutil.rmtree(made.layer)
    assert kernel.run("%layer init").stdout.endswith(
        f"As long as PERDURE_LAYER names {named}, definitions are kept there all the same.\n"
    )
    kernel = made.kernel(f"--PerdureKernel.layer={named}")
    assert kernel.run("NAMED").value == "1"


def test_init_in_a_worktree_and_with_something_in_the_way(project: Project) -> None:
    outer = project.home.root / "outer"
    outer.mkdir()
    project.git("init", "-q", at=outer)
    project.git("commit", "-q", "--allow-empty", "-m", "one", at=outer)
    project.git("worktree", "add", "-q", project.root / "tree", at=outer)
    kernel = project.kernel(below="tree")
    kernel.run("%layer init")
    assert project.git("status", "--porcelain", at=project.root / "tree") == ""
    kernel.run("import os\nos.makedirs('other/.perdure/things')\n%cd -q other")
    said = kernel.run("%layer init").stdout
    assert said.startswith(f"Nothing was made: {project.root}/tree/other/.perdure has other things in it and is no")


# Found.


def test_the_personal_layer_is_loaded_before_it(made: Project) -> None:
    kernel = made.kernel(below="notebooks/deep")
    assert kernel.hello == []
    assert kernel.run("ring(1)").value == "1"
    head = f"perdure project layer {made.layer}: 1 definition, over 2 of the personal layer"
    banner = kernel.request("kernel_info_request", {}).content["banner"]
    assert banner.endswith(f"{head}; %cells lists them\n")
    assert kernel.run("%layer").stdout.startswith(f"{head}\n")
    path = f"{made.layer}\nThe personal layer {made.personal} is loaded before it.\n"
    assert kernel.run("%layer path").stdout == path
    assert kernel.run("%cells").stdout.splitlines() == [
        f"personal layer {made.personal}: 2 definitions",
        "  functions: area",
        "  values: RATE",
        head,
        "  functions: ring",
    ]


def test_one_of_the_personal_layer_is_overridden(made: Project) -> None:
    kernel = made.kernel()
    assert kernel.run("def area(r):\n    return 4 * r * r").notices == [
        "[layer: kept area]",
        "[layer: area replaces that of the personal layer]",
    ]
    assert made.kept(made.layer) == ["area", "ring"]
    kernel.restart()
    assert kernel.run("ring(1)").value == "2"
    listed = kernel.run("%cells").stdout
    assert "  overridden by the layer: area\n" in listed
    assert "  overrides: area (of the personal layer)\n" in listed
    assert kernel.run("del area").notices == [
        "[layer: forgot area]",
        "[layer: the next start brings area back, from the personal layer]",
    ]
    assert kernel.restart().run("ring(1)").value == "1"
    assert kernel.run("%keep RATE").notices == ["[layer: RATE not kept; the personal layer gives it at each start]"]
    assert made.kept(made.personal) == ["area", "RATE"]


def test_an_undo_brings_one_of_the_personal_layer_back(made: Project) -> None:
    kernel = made.kernel()
    kernel.run("def area(r):\n    return 4 * r * r")
    assert kernel.run("ring(1)").value == "2"
    assert kernel.run("%layer undo").stdout.splitlines()[1:] == ["area is that of the personal layer again."]
    assert kernel.run("ring(1)").value == "1"
    assert str(made.personal) in kernel.run("print(area.__code__.co_filename)").stdout
    assert kernel.restart().run("ring(1)").value == "1"


def test_cells_folders_come_first(made: Project) -> None:
    team = made.home.root / "team"
    (team / "values").mkdir(parents=True, mode=0o700)
    team.chmod(0o700)
    (team / "values" / "RATE.py").write_text("RATE = 5\n")
    kernel = made.kernel(PERDURE_CELLS=str(team))
    kernel.run(f"%layer trust {team}")
    kernel.restart()
    assert kernel.run("RATE").value == "2"
    listed = kernel.run("%cells").stdout.splitlines()
    assert f"  collision: RATE is in {team} too; this one wins" in listed
    assert f"perdure project layer {made.layer}: 1 definition, over 2 of the personal layer, 1 cells folder" in listed
    kernel = made.kernel(PERDURE_CELLS=str(made.layer))
    assert kernel.hello == [
        (
            f"[layer: cells folder {made.layer} is the layer itself, which is loaded after all cells folders; "
            "take it out of PERDURE_CELLS or the config]"
        )
    ]


def test_a_personal_layer_that_cannot_be_loaded_costs_itself_only(made: Project) -> None:
    made.personal.chmod(0o777)
    kernel = made.kernel()
    assert kernel.hello[0] == (
        f"[layer: personal layer {made.personal} can be written by other users; run `chmod -R go-w {made.personal}`]"
    )
    assert "skipped functions/r/ring.py: it uses RATE, which nothing defines now" in kernel.hello[1]
    kernel.run("ALONE = 1")
    assert made.kept(made.layer) == ["ring", "ALONE"]


def test_without_a_personal_layer_none_is_made(project: Project) -> None:
    kernel = project.kernel(PERDURE_LAYER=str(project.home.root / "else"))
    kernel.run("%layer init")
    kernel = project.kernel()
    assert kernel.hello == []
    assert kernel.run("%layer path").stdout == f"{project.layer}\n"
    assert not project.personal.exists()


@pytest.mark.parametrize("kind", ["a file", "a link", "other things", "not its own"])
def test_what_cannot_serve_is_told_and_the_personal_layer_serves(project: Project, kind: str) -> None:
    path = project.layer
    if kind == "a file":
        path.touch()
        why = "is a file, not a folder; move it away, or set PERDURE_LAYER to another folder"
    elif kind == "a link":
        path.symlink_to("nowhere")
        why = "is a link to nowhere, which is not there; mend or remove the link"
    elif kind == "other things":
        (path / "values").mkdir(parents=True)
        (path / "values" / "EVIL.py").write_text("print('run')\nEVIL = 1\n")
        why = "has other things in it and is no layer; move it away, or set PERDURE_LAYER to another folder"
    else:
        project.kernel().run("%layer init")
        path.chmod(0o777)
        why = f"can be written by other users; run `chmod -R go-w {path}`"
    kernel = project.kernel()
    assert kernel.hello == [f"[layer: {path} {why}; until then the personal layer serves instead]"]
    assert kernel.run("'EVIL' in globals()").value == "False"
    kernel.run("MINE = 1")
    assert project.kept(project.personal) == ["MINE"]


# Trusted.


@pytest.fixture
def downloaded(made: Project) -> Project:
    """The project in another folder, where nobody accepted its layer."""
    there = made.home.root / "download"
    shutil.move(made.root, there)
    made.root, made.layer = there, there / ".perdure"
    return made


def test_a_downloaded_one_runs_nothing_until_it_is_trusted(downloaded: Project) -> None:
    kernel = downloaded.kernel()
    assert kernel.hello == ["[layer: .perdure here is not trusted; %layer trust shows and loads it]"]
    assert kernel.run("'ring' in globals(), area(1)").value == "(False, 3)"
    kernel.run("MINE = 1")
    assert downloaded.kept(downloaded.personal) == ["area", "MINE", "RATE"]
    assert f"; {downloaded.layer} is not trusted" not in kernel.run("%layer path").stdout
    assert kernel.run("%layer init").stdout == (
        f"{downloaded.layer} is a project layer already, and not trusted; %layer trust shows and loads it.\n"
    )
    said = kernel.run("%layer trust").stdout
    assert said.splitlines() == [
        f"Project layer {downloaded.layer}",
        "  functions: ring",
        f"perdure project layer {downloaded.layer}: 1 definition, over 3 of the personal layer; %cells lists them.",
    ]
    assert kernel.run("ring(1)").value == "1"
    kernel.run("SHARED = 2")
    assert downloaded.kept(downloaded.layer) == ["ring", "SHARED"]
    assert kernel.restart().hello == []
    assert kernel.run("SHARED, MINE").value == "(2, 1)"


def test_the_cell_that_trusts_it_does_not_tell_that_nobody_did(downloaded: Project) -> None:
    kernel = downloaded.kernel("--PerdureKernel.agent_notices=none")  # the first cell leaves it to the next one
    answer = kernel.run("%layer trust", notices="all")
    assert answer.stdout.startswith(f"Project layer {downloaded.layer}\n")
    assert answer.notices == []


def test_from_a_folder_below_it_is_said_where_it_is(downloaded: Project) -> None:
    kernel = downloaded.kernel(below="notebooks")
    assert kernel.hello == [f"[layer: .perdure in {downloaded.root} is not trusted; %layer trust shows and loads it]"]
    kernel.run(f"%layer trust {downloaded.layer}")
    assert kernel.run("ring(1)").value == "1"


def test_what_is_here_already_is_not_replaced_by_trusting(downloaded: Project) -> None:
    kernel = downloaded.kernel()
    kernel.run("ring = 'mine'")
    said = kernel.run("%layer trust").stdout.splitlines()
    assert said[-1] == "It is trusted now; the next start loads it, since ring is here already."
    assert kernel.run("ring").value == "'mine'"
    assert kernel.restart().run("ring(1)").value == "1"


def test_readonly_loads_what_it_trusts(downloaded: Project) -> None:
    kernel = downloaded.kernel(PERDURE_MODE="readonly")
    kernel.run("%layer trust")
    assert kernel.run("ring(1)").value == "1"
    kernel.run("NEW = 1")
    assert downloaded.kept(downloaded.layer) == ["ring"]


def test_an_empty_one_becomes_a_layer_where_anything_is_kept(project: Project) -> None:
    project.git("init", "-q")
    project.layer.mkdir()
    assert project.kernel(PERDURE_MODE="readonly").hello == []
    assert os.listdir(project.layer) == []
    kernel = project.kernel()
    kernel.run("HERE = 1")
    assert project.kept(project.layer) == ["HERE"]
    assert project.git("status", "--porcelain") == ""
