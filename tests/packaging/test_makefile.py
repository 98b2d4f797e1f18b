"""What the Makefile claims, as far as it can be seen without setting up an environment."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from .conftest import ROOT, run

MAKE = shutil.which("make") or "make"


def dry_run(*arguments: str) -> str:
    return run(MAKE, "-n", *arguments, cwd=ROOT).stdout


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """An environment that looks set up, for everything."""
    for stamp in (".made", ".has-demo", ".has-test", ".has-dev", ".has-console", ".has-lab"):
        (tmp_path / stamp).touch()
    return tmp_path


def test_help_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony is not None
    listed = re.findall(r"^  make (\S+)", run(MAKE, cwd=ROOT).stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony[1].split())


def test_second_call_goes_straight_to_work(ready: Path) -> None:
    assert dry_run("demo", f"VENV={ready}").splitlines() == [f"{ready}/bin/python docs/tour/tour.py"]
    assert dry_run("test", f"VENV={ready}", "ARGS=-k naming").splitlines() == [f"{ready}/bin/pytest -k naming"]


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_are_installed(ready: Path, changed: str) -> None:
    # -W: as if the file had just been changed.
    assert "pip install" in dry_run("-W", changed, "test", f"VENV={ready}")


def test_check_runs_every_checker_whatever_fails(ready: Path) -> None:
    commands = {"ruff": "exit 1", "mypy": "exit 0", "lint-imports": "exit 1"}
    (ready / "bin").mkdir()
    for name, what in commands.items():
        (ready / "bin" / name).write_text(f"#!/bin/sh\n{what}\n", encoding="utf-8")
        (ready / "bin" / name).chmod(0o755)
    done = run(MAKE, "check", f"VENV={ready}", cwd=ROOT, check=False)
    assert done.returncode != 0
    assert done.stdout.splitlines()[:4] == ["== ruff check .", "== ruff format --check .", "== mypy", "== lint-imports"]
    assert "== failed: [ruff check .] [ruff format --check .] [lint-imports]" in done.stderr


def test_no_python_is_said_clearly(tmp_path: Path) -> None:
    nothing = tmp_path / "bin"
    nothing.mkdir()
    done = run(MAKE, "demo", f"VENV={tmp_path / 'venv'}", cwd=ROOT, check=False, PATH=str(nothing))
    assert done.returncode != 0
    assert "perdure needs CPython 3.11 or later" in done.stderr
    assert not (tmp_path / "venv").exists()
