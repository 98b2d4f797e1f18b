"""The wheel, installed: Jupyter knows the kernel, and the command works."""

from __future__ import annotations

import json
from pathlib import Path

import perdure

from .conftest import Environment, run


def test_code_is_the_wheels(installed: Environment, tmp_path: Path) -> None:
    shown = run(installed.python, "-c", "import perdure.layer; print(perdure.layer.__file__)", cwd=tmp_path).stdout
    assert installed.prefix in Path(shown).parents


def test_jupyter_finds_the_kernel(installed: Environment, tmp_path: Path) -> None:
    listed = run(installed.python, "-m", "jupyter_client.kernelspecapp", "list", "--json", cwd=tmp_path).stdout
    found = json.loads(listed)["kernelspecs"]["perdure"]
    assert Path(found["resource_dir"]) == installed.prefix / "share" / "jupyter" / "kernels" / "perdure"
    assert found["spec"]["display_name"] == "Python 3 (perdure)"
    assert found["spec"]["interrupt_mode"] == "message"
    assert found["spec"]["metadata"]["debugger"] is True
    # Jupyter reads it as the Python that it runs in.
    assert found["spec"]["argv"][0] == "python"


def test_command_says_its_version(installed: Environment, tmp_path: Path) -> None:
    assert run(installed.perdure, "--version", cwd=tmp_path).stdout == f"perdure {perdure.__version__}\n"


def test_command_without_a_subcommand_shows_how_it_is_used(installed: Environment, tmp_path: Path) -> None:
    done = run(installed.perdure, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: perdure ")


def test_command_installs_the_kernelspec_elsewhere(installed: Environment, tmp_path: Path) -> None:
    done = run(installed.perdure, "install", "--prefix", tmp_path / "elsewhere", cwd=tmp_path)
    kernelspec = tmp_path / "elsewhere" / "share" / "jupyter" / "kernels" / "perdure"
    assert str(kernelspec) in done.stdout
    assert f"JUPYTER_PATH={tmp_path / 'elsewhere' / 'share' / 'jupyter'}" in done.stdout
    assert {path.name for path in kernelspec.iterdir()} == {
        "kernel.json",
        "logo-32x32.png",
        "logo-64x64.png",
        "logo-svg.svg",
    }
    assert json.loads((kernelspec / "kernel.json").read_bytes())["argv"][0] == str(installed.python)
