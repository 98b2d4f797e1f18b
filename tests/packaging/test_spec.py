"""Installing the kernelspec: what is written, what is said, and what is said when it cannot be."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager

from perdure.client import command
from perdure.kernel import __main__ as start
from perdure.kernel import spec

from .conftest import run


@pytest.fixture(autouse=True)
def own_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's Jupyter folder that is not the developer's."""
    folder = tmp_path / "jupyter"
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(folder))
    # In a virtual environment Jupyter would look there first, and find the kernelspec that make put there.
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "0")
    return folder


def test_kernelspec_is_for_this_python(own_jupyter: Path) -> None:
    installed = spec.install()
    assert installed == spec.Installed("perdure", "Python 3 (perdure)", own_jupyter / "kernels" / "perdure", found=True)
    written = json.loads((installed.path / "kernel.json").read_bytes())
    assert written == {
        "argv": [sys.executable, "-Xfrozen_modules=off", "-m", "perdure_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3 (perdure)",
        "language": "python",
        "interrupt_mode": "message",
        "kernel_protocol_version": "5.5",
        "metadata": {"debugger": True, "supported_encryption": ["curve"]},
    }


def test_jupyter_reads_it() -> None:
    spec.install()
    read = KernelSpecManager().get_kernel_spec("perdure")
    assert isinstance(read, KernelSpec)
    assert read.interrupt_mode == "message"
    assert read.argv[0] == sys.executable


def test_logos_come_along(own_jupyter: Path) -> None:
    spec.install()
    for name in ("logo-32x32.png", "logo-64x64.png", "logo-svg.svg"):
        source = spec.kernelspec_folder() / name
        assert (own_jupyter / "kernels" / "perdure" / name).read_bytes() == source.read_bytes()


def test_installing_again_replaces(own_jupyter: Path) -> None:
    spec.install(display_name="first")
    (own_jupyter / "kernels" / "perdure" / "leftover").touch()
    spec.install(display_name="second")
    assert KernelSpecManager().get_kernel_spec("perdure").display_name == "second"
    assert not (own_jupyter / "kernels" / "perdure" / "leftover").exists()


def test_another_name_is_shown(own_jupyter: Path) -> None:
    installed = spec.install(name="lab-7")
    assert installed.display_name == "Python 3 (lab-7)"
    assert installed.path == own_jupyter / "kernels" / "lab-7"


@pytest.mark.parametrize("command_line", [command.main, lambda argv: spec.main(argv[1:])])
def test_command_says_where_and_what_next(
    command_line: object, own_jupyter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(command_line)
    assert command_line(["install", "--user", "--name", "mine"]) == 0
    assert capsys.readouterr().out == (
        f"Installed the kernel 'mine' in {own_jupyter / 'kernels' / 'mine'}\n"
        'Next: choose "Python 3 (mine)" in JupyterLab, or run: jupyter console --kernel mine\n'
    )


def test_a_bad_name_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert spec.main(["--name", "my kernel"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("perdure: Invalid kernel name 'my kernel'.")
    assert told.endswith("Choose another with --name.\n")


def test_a_file_in_the_way_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert spec.main(["--prefix", str(tmp_path / "file")]) == 1
    told = capsys.readouterr().err
    assert str(tmp_path / "file") in told
    assert os.strerror(errno.ENOTDIR) in told
    assert "choose another place with --prefix" in told


YOURS = "Use --user, or --prefix with a folder that is yours."
MEND = "Mend that and try again, or choose another place with --prefix."


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (OSError(errno.EACCES, "Permission denied", "/opt/kernels"), f"/opt/kernels: Permission denied. {YOURS}"),
        (OSError(errno.EROFS, "Read-only files", "/opt/kernels"), f"/opt/kernels: Read-only files. {YOURS}"),
        # shutil.copytree tells its faults all together, without a number or a file name.
        (shutil.Error([("from", "/opt/kernels", "No space left")]), f"/opt/kernels: No space left. {MEND}"),
    ],
)
def test_a_fault_is_told(
    fault: OSError, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Raised by hand: tests are also run as root, whom no mode stops.
    def fail(*args: object, **options: object) -> str:
        raise fault

    monkeypatch.setattr(KernelSpecManager, "install_kernel_spec", fail)
    assert spec.main(["--prefix", "/opt"]) == 1
    assert capsys.readouterr().err == f"perdure: the kernelspec was not installed: {told}\n"


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    problem = spec.platform_problem("nt")
    assert problem is not None
    assert "Windows Subsystem for Linux" in problem
    monkeypatch.setattr(spec, "platform_problem", lambda: problem)
    assert spec.main(["--user"]) == 1
    assert capsys.readouterr().err == f"perdure: {problem}\n"


def test_the_kernel_does_not_start_where_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spec, "platform_problem", lambda: "not here")
    monkeypatch.setattr(sys, "argv", ["perdure.kernel", "-f", "connection.json"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit, match="perdure: not here"):
        start.main()


def test_files_in_the_working_folder_are_not_taken_for_pythons_own(tmp_path: Path) -> None:
    for name in ("argparse", "pathlib", "typing"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the decoy was imported')")
    done = run(sys.executable, "-m", "perdure.kernel", "install", "--help", cwd=tmp_path)
    assert done.stdout.startswith("usage: python -m perdure.kernel install")
