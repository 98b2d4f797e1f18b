"""Layers that cannot be used, or that fail while a kernel runs: it starts, cells run, one notice says what and why."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import StartKernel
from .driver import Kernel
from .home import Home
from .test_lean_start import watch_for


def cells_run(kernel: Kernel) -> None:
    """Cells are as good as ever, and say nothing of the layer."""
    answer = kernel.run("def works():\n    return 'works'\nworks()")
    assert answer.value == "'works'"
    assert answer.notices == []
    assert answer.perdure["kept"] == []


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder, so that it can be seen that none was touched."""
    if folder.is_file():
        return {"": folder.read_text()}
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


# Folders that cannot serve.


def a_file(layer: Path) -> None:
    layer.write_text("a file of the user")


def a_file_above(layer: Path) -> None:
    layer.parent.mkdir(exist_ok=True)
    layer.write_text("in the way")


def other_things(layer: Path) -> None:
    layer.mkdir()
    (layer / "thesis.tex").write_text("years of work")


def other_python(layer: Path) -> None:
    (layer / "functions").mkdir(parents=True)
    (layer / "functions/mine.py").write_text("raise RuntimeError('this must never run')")


def another_repository(layer: Path) -> None:
    subprocess.run(["git", "init", "-q", str(layer)], check=True)


def a_link_to_nowhere(layer: Path) -> None:
    layer.symlink_to("not-mounted/layer")


def a_newer_format(layer: Path) -> None:
    subprocess.run(["git", "init", "-q", str(layer)], check=True)
    (layer / "pyproject.toml").write_text("[tool.perdure]\nformat = 999\n")


def no_format(layer: Path) -> None:
    subprocess.run(["git", "init", "-q", str(layer)], check=True)
    (layer / "pyproject.toml").write_text("<<<<<<< HEAD\n")


def no_git(layer: Path) -> None:
    layer.mkdir()
    (layer / "pyproject.toml").write_text("[tool.perdure]\nformat = 1\n")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_file, "{layer} is a file, not a folder; move it away, or set PERDURE_LAYER to another folder"),
        (other_things, "{layer} has other things in it and is no layer; move it away, or set PERDURE_LAYER"),
        (other_python, "{layer} has other things in it and is no layer; move it away, or set PERDURE_LAYER"),
        (another_repository, "{layer} is a git repository, but no layer; move it away, or set PERDURE_LAYER"),
        (a_link_to_nowhere, "{layer} is a link to not-mounted/layer, which is not there; mend or remove the link"),
        (
            a_newer_format,
            "{layer} was written by a newer perdure (its format is 999, this one knows 1); update perdure",
        ),
        (no_format, "{layer} has a pyproject.toml that cannot be read"),
        (no_git, "{layer} is a layer without its .git; put it back"),
    ],
)
def test_a_folder_that_cannot_serve_is_told_and_not_touched(
    home: Home, new_kernel: StartKernel, make: Callable[[Path], None], said: str
) -> None:
    make(home.layer)
    before = tree(home.layer)
    kernel = new_kernel().start()
    (told,) = kernel.hello
    assert told.startswith(f"[layer: nothing is kept or loaded; {said.format(layer=home.layer)}")
    cells_run(kernel)
    assert "perdure has no layer: " in kernel.request("kernel_info_request", {}).content["banner"]
    assert kernel.run("%cells").stdout.startswith("perdure has no layer: ")
    kernel.kill()
    assert tree(home.layer) == before


def test_a_file_above_the_layer_is_told(home: Home, new_kernel: StartKernel) -> None:
    (home.root / "file").write_text("in the way")
    kernel = new_kernel(PERDURE_LAYER=str(home.root / "file/deep/layer")).start()
    (told,) = kernel.hello
    assert f"{home.root / 'file'} is a file, not a folder" in told
    cells_run(kernel)


@pytest.mark.parametrize("path", ["~no_such_user_here/layer", "/dev/null/layer", "/proc/no_such_thing/layer"])
def test_a_path_that_no_folder_can_have_is_told(new_kernel: StartKernel, path: str) -> None:
    kernel = new_kernel(PERDURE_LAYER=path).start()
    (told,) = kernel.hello
    assert told.startswith("[layer: nothing is kept or loaded; ")
    cells_run(kernel)


def test_a_state_folder_that_cannot_be_written_is_told(home: Home, new_kernel: StartKernel) -> None:
    (home.root / "no-folder").write_text("")
    kernel = new_kernel(XDG_STATE_HOME=str(home.root / "no-folder"), HOME=str(home.root / "no-folder")).start()
    (told,) = kernel.hello
    assert told.startswith("[layer: nothing is kept or loaded; ")
    assert "no-folder" in told
    cells_run(kernel)
    assert not home.layer.exists()


def test_storage_without_locks_is_told_once_and_read_only(home: Home, new_kernel: StartKernel) -> None:
    new_kernel().start().run("def area(r):\n    return r * r")
    site = home.root / "site"
    site.mkdir()
    (site / "usercustomize.py").write_text("")
    (site / "sitecustomize.py").write_text(
        "import errno, fcntl, os\n\n"
        "def flock(fd, operation):\n    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))\n\n"
        "fcntl.flock = flock\n"
    )
    path = os.pathsep.join([str(site), *filter(None, [home.environ.get("PYTHONPATH")])])
    edit(home, "functions/a/area.py", "def area(r):\n    return 'by hand'\n")
    head, status = home.git("rev-parse", "HEAD"), home.status()
    for first in ("def other():\n    return 1", "while get_ipython().workspace.rest():\n    pass\n1"):
        kernel = new_kernel(PYTHONPATH=path).start()
        told = [*kernel.hello, *kernel.run(first).notices, *kernel.run("def another():\n    return area(2)").notices]
        (said,) = told
        assert f"{home.layer} is on storage without file locks (No locks available)" in said
        assert "move it to another disk, or set PERDURE_LAYER to a folder on one" in said
        assert kernel.run("another()").value == "'by hand'"
        assert "nothing is kept (read-only)" in kernel.request("kernel_info_request", {}).content["banner"]
        kernel.kill()
    assert (home.git("rev-parse", "HEAD"), home.status()) == (head, status)


# Who the user is.


def test_without_a_git_identity_the_author_is_told_once(tmp_path: Path) -> None:
    home = Home(tmp_path, identity=False)
    kernel = Kernel(home)
    try:
        kernel.start()
        told = [*kernel.hello, *kernel.run("def first():\n    return 1").notices]
        assert len([line for line in told if "perdure <perdure@localhost>" in line]) == 1
        assert "`git config --global user.name`" in "".join(told)
        assert home.log()[0].author == "perdure <perdure@localhost>"
        kernel.restart()
        assert kernel.hello == []
        assert kernel.run("def second():\n    return 2").notices == ["[layer: kept second]"]
    finally:
        kernel.kill()


# Changes by hand.


def edit(layer: Home, path: str, text: str | None) -> None:
    """Write a file by hand, or take it away."""
    file = layer.layer / path
    if text is None:
        file.unlink()
        return
    file.parent.mkdir(exist_ok=True, parents=True)
    file.write_text(text)


@pytest.fixture
def edited(layer: Home, new_kernel: StartKernel) -> Kernel:
    """A kernel that was killed, and a layer that a hand was at since."""
    kernel = new_kernel().start()
    kernel.run("def edited():\n    return 'kept'\ndef removed():\n    return 1\ndef half():\n    return 'whole'")
    kernel.kill()
    edit(layer, "functions/e/edited.py", "def edited():\n    return 'by hand'\n")
    edit(layer, "functions/r/removed.py", None)
    edit(layer, "functions/n/new.py", "def new():\n    return 'new'\n")
    edit(layer, "functions/h/half.py", "def half():\n    return (")
    edit(layer, "notes.txt", "mine")
    return kernel


TORN = (
    "[layer: functions/h/half.py could not be read (line 2: '(' was never closed); "
    "it is as the last commit has it again, "
    "and what was there is in DRAFTS/functions/h/half.py; %layer refresh loads it]"
)
LEFT = (
    "[layer: changed outside perdure and not committed: notes.txt; the files are loaded as they are; "
    "`git status` in LAYER tells what is left to do]"
)
HANDWORK = [
    "[layer: adopted edited, new, changed by hand]",
    "[layer: forgot removed, whose file is gone; %layer undo brings back what was there]",
    TORN,
    LEFT,
]


def handwork(kernel: Kernel, told: list[str]) -> list[str]:
    """What is `told` of it, without where it is."""
    (drafts,) = (kernel.home.state / "perdure").glob("*/drafts")
    return [line.replace(str(drafts), "DRAFTS").replace(str(kernel.home.layer), "LAYER") for line in told]


def test_what_a_hand_did_is_adopted_before_anything_is_kept(edited: Kernel) -> None:
    home = edited.home
    edited.start()
    assert edited.hello == [
        "[layer: skipped functions/h/half.py: line 2: '(' was never closed]",
        "[layer: mend a skipped file or run its definition again; all else is loaded]",
    ]
    looked = edited.run("edited(), new(), 'removed' in globals()")
    assert looked.value == "('by hand', 'new', False)"
    told = [*looked.notices, *edited.run("def other():\n    return 1").notices]
    told.remove("[layer: kept other]")
    assert handwork(edited, told) == HANDWORK
    assert [commit.subject for commit in home.log()][:2] == ["keep other", "adopt edited, new; forgot removed"]
    assert home.status() == "?? notes.txt\n"
    assert home.fsck() == ""
    assert edited.run("%layer refresh").stdout == "Loaded half.\n"
    assert edited.run("half()").value == "'whole'"
    (draft,) = (home.state / "perdure").glob("*/drafts/functions/h/half.py")
    assert draft.read_text() == "def half():\n    return ("
    assert [line for line in edited.restart().hello if "notes.txt" not in line] == []


def test_what_a_hand_did_is_adopted_when_nothing_is_to_be_done(edited: Kernel) -> None:
    edited.start()
    watch_for(edited, "get_ipython().workspace.untold._problems")
    assert handwork(edited, edited.run("1").notices) == HANDWORK
    assert edited.home.status() == "?? notes.txt\n"
    edited.restart()
    assert edited.hello == []


def test_a_readonly_kernel_adopts_nothing(edited: Kernel, new_kernel: StartKernel) -> None:
    status = edited.home.status()
    kernel = new_kernel(PERDURE_MODE="readonly").start()
    assert kernel.run("edited()").value == "'by hand'"
    assert kernel.run("while get_ipython().workspace.rest():\n    pass").status == "ok"
    assert edited.home.status() == status
    assert not [*edited.home.state.rglob("drafts")]


def test_a_merge_that_stopped_is_told_with_its_file_and_line(kernel: Kernel) -> None:
    home = kernel.home
    kernel.run("def fine():\n    return 1\n")
    kernel.run("def contested():\n    return 1")
    kernel.kill()
    home.git("switch", "-q", "-c", "other")
    file = home.layer / "functions/c/contested.py"
    file.write_text("def contested():\n    return 2\n")
    home.git("commit", "-q", "-a", "-m", "theirs")
    home.git("switch", "-q", "main")
    file.write_text("def contested():\n    return 3\n")
    home.git("commit", "-q", "-a", "-m", "ours")
    subprocess.run(["git", "merge", "-q", "other"], cwd=home.layer, env=home.environ, capture_output=True, check=False)
    kernel.start()
    assert "[layer: skipped functions/c/contested.py: line 2: it has merge conflict markers]" in kernel.hello
    fine, meanwhile = kernel.run("fine()"), kernel.run("def meanwhile():\n    return 1")
    assert fine.value == "1"
    left, told = [*fine.notices, *meanwhile.notices]
    assert told.startswith("[layer: meanwhile not kept; ")
    assert "merge" in told
    assert left.startswith("[layer: changed outside perdure and not committed: functions/c/contested.py; ")
    home.git("checkout", "-q", "--theirs", "functions/c/contested.py")
    home.git("commit", "-q", "-a", "--no-edit")
    assert kernel.run("def meanwhile():\n    return 1").notices == [
        "[layer: kept meanwhile]",
        "[layer: git kept contested; %layer refresh loads it]",
    ]
    assert home.status() == ""
    assert kernel.restart().hello == []
    assert kernel.run("contested()").value == "2"


# Whose code it is.


@pytest.fixture
def clone(layer: Home) -> Home:
    """A home whose layer is a clone, with a definition that leaves a trace where it runs."""
    trap = layer.layer / "functions/t/trap.py"
    trap.parent.mkdir(parents=True)
    trap.write_text("open('trapped', 'w').close()\n\n\ndef trap():\n    return 'ran'\n")
    layer.git("add", "--all")
    layer.git("commit", "-q", "-m", "theirs")
    layer.git("clone", "-q", layer.layer, layer.root / "clone")
    layer.layer = layer.root / "clone"
    layer.environ["PERDURE_LAYER"] = str(layer.layer)
    for part in (layer.layer, layer.layer / ".git"):
        part.chmod(0o700)
    return layer


def test_a_clone_is_not_run_until_it_is_trusted(clone: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    (told,) = kernel.hello
    assert told == (
        f"[layer: nothing is kept or loaded; {clone.layer} with 1 definition is not trusted; "
        "look at it, then %layer trust loads it]"
    )
    assert not (clone.work / "trapped").exists()
    cells_run(kernel)
    answer = kernel.run("%layer trust")
    assert answer.stdout.startswith(f"perdure layer {clone.layer}: 1 definition")
    assert (clone.work / "trapped").exists()
    assert kernel.run("trap()").value == "'ran'"
    assert kernel.run("def mine():\n    return 1").notices == ["[layer: kept mine]"]
    assert kernel.restart().hello == []
    assert kernel.run("mine(), trap()").value == "(1, 'ran')"


def test_trust_takes_back_the_notice_that_it_has_just_dealt_with(clone: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().launch().hear()
    assert kernel.run("%layer trust", kind="notebook").notices == []
    assert kernel.run("1").notices == []
    (clone.state / "perdure/trusted.jsonl").unlink()
    kernel.kill()
    kernel.launch().hear()
    assert kernel.run("%layer trust", notices="none").notices == []
    assert kernel.run("1").notices == []


def test_trust_is_of_one_path(clone: Home, new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    kernel.run("%layer trust")
    kernel.kill()
    moved = clone.root / "moved"
    shutil.copytree(clone.layer, moved)
    other = new_kernel(PERDURE_LAYER=str(moved)).start()
    assert "is not trusted" in other.hello[0]


def test_what_cannot_be_trusted_is_said(new_kernel: StartKernel) -> None:
    kernel = new_kernel().start()
    assert kernel.run("%layer trust").stdout.startswith("No layer here waits for trust. perdure layer ")
    assert kernel.run("%layer nonsense").stdout.startswith("%layer knows no 'nonsense'. ")


@pytest.mark.parametrize("part", ["", ".git"])
def test_a_folder_that_others_can_write_is_not_run(layer: Home, new_kernel: StartKernel, part: str) -> None:
    (layer.layer / part).chmod(0o777)
    kernel = new_kernel().start()
    (told,) = kernel.hello
    assert "can be written by other users; run `chmod -R go-w " in told
    cells_run(kernel)


# Faults while a kernel runs.


def refused(kernel: Kernel, name: str) -> str:
    """The one notice of a definition that cannot be kept; it is live all the same."""
    answer = kernel.run(f"def {name}():\n    return 'live'\n{name}()")
    assert answer.value == "'live'"
    assert answer.perdure["kept"] == []
    (told,) = answer.notices
    assert told.startswith(f"[layer: {name} not kept; ")
    return told


def test_a_layer_that_is_deleted_meanwhile(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    aside = kernel.home.root / "aside"
    kernel.home.layer.rename(aside)
    assert str(kernel.home.layer) in refused(kernel, "while_gone")
    assert kernel.run("%layer").stdout.startswith("%layer: No such file or directory at ")
    assert not kernel.home.layer.exists()
    aside.rename(kernel.home.layer)
    assert kernel.run("def while_gone():\n    return 1").notices == ["[layer: kept while_gone]"]
    assert kernel.home.status() == ""


def test_a_layer_that_becomes_a_file_meanwhile(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    shutil.rmtree(kernel.home.layer)
    kernel.home.layer.write_text("a file")
    refused(kernel, "while_file")
    assert kernel.home.layer.read_text() == "a file"


def test_a_layer_that_becomes_another_folder_meanwhile(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    shutil.rmtree(kernel.home.layer)
    kernel.home.layer.mkdir()
    (kernel.home.layer / "thesis.tex").write_text("years of work")
    refused(kernel, "while_other")
    assert tree(kernel.home.layer) == {"thesis.tex": "years of work"}


def test_an_index_that_another_program_holds_costs_nothing_and_is_told(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    lock = kernel.home.layer / ".git/index.lock"
    lock.touch()
    kept, told = kernel.run("def while_locked():\n    return 1").notices
    assert kept == "[layer: kept while_locked]"
    assert f"another program holds {lock}; until that is gone `git status` lists what is kept as removed" in told
    assert kernel.run("def still_locked():\n    return 1").notices == ["[layer: kept still_locked]"]
    assert lock.exists()
    lock.unlink()
    watch_for(kernel, "not get_ipython().workspace.layer._store.is_behind")
    assert kernel.home.status() == ""
    assert [commit.subject for commit in kernel.home.log()] == ["keep still_locked", "keep while_locked", "keep before"]


def test_a_lock_that_another_program_holds_is_told(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    lock = kernel.home.layer / ".git/refs/heads/main.lock"
    lock.touch()
    told = refused(kernel, "while_locked")
    assert f"{lock} has been held by another program for " in told
    lock.unlink()
    assert kernel.run("def while_locked():\n    return 1").notices == ["[layer: kept while_locked]"]
    assert kernel.home.status() == ""


def test_a_lock_that_is_let_go_is_waited_for(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    lock = kernel.home.layer / ".git/index.lock"
    lock.touch()
    running = kernel.send("print('on', flush=True)\ndef waits():\n    return 1")
    kernel.wait_for_output(running, "on")
    lock.unlink()
    assert kernel.finish(running).notices == ["[layer: kept waits]"]


def test_a_file_where_a_folder_of_the_layer_should_be(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    (kernel.home.layer / "classes").write_text("in the way")
    answer = kernel.run("class InTheWay:\n    pass")
    assert answer.notices[0].startswith("[layer: InTheWay not kept; ")
    assert kernel.run("def function():\n    return 1").notices == ["[layer: kept function]"]
    assert kernel.home.fsck() == ""


def test_a_fault_of_one_cell_leaves_the_layer_as_it_was(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    files, log = kernel.home.files(), kernel.home.log()
    lock = kernel.home.layer / ".git/refs/heads/main.lock"
    lock.touch()
    kernel.run("def before():\n    return 2\ndel before\nNEW = 1")
    lock.unlink()
    assert kernel.home.files() == files
    assert kernel.home.log() == log
    assert kernel.home.status() == ""
    assert kernel.home.fsck() == ""


def test_a_record_that_cannot_be_written_is_told_and_the_definition_kept(kernel: Kernel) -> None:
    kernel.run("def before():\n    return 1")
    (events,) = kernel.home.root.rglob("events.jsonl")
    events.unlink()
    os.mkdir(events)
    (told, *more) = kernel.run("def unrecorded():\n    return 1").notices
    assert told == "[layer: kept unrecorded]"
    assert len(more) == 1
    assert "not on record" in more[0]
    assert kernel.home.log()[0].subject == "keep unrecorded"


def test_a_mistake_of_perdures_own_costs_a_notice_and_not_the_cell(kernel: Kernel) -> None:
    kernel.run("from perdure.layer.run import Run\nreal = Run.offer\nRun.offer = None")
    (told,) = kernel.run("def unlucky():\n    return 5").notices
    assert told.startswith("[layer: unlucky not kept; perdure itself failed (TypeError: ")
    assert kernel.run("unlucky()").value == "5"
    kernel.run("Run.offer = real")
    assert kernel.run("def unlucky():\n    return 5").notices == ["[layer: kept unlucky]"]
