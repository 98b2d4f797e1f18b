"""Builds the package once, from a copy of the tree, and installs the wheel once into an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_SOURCE = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", "build", "dist", "*.egg-info")


def run(*command: str | Path, cwd: Path, check: bool = True, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the environment that a new user has, with `extra` added to it."""
    # Among them what a `make test` that runs these tests hands down.
    settings = ("PYTHON", "PIP_", "JUPYTER_", "MAKE", "MFLAGS", "VENV", "VIRTUAL_ENV", "ARGS")
    env = {name: value for name, value in os.environ.items() if not name.startswith(settings)}
    done = subprocess.run(command, cwd=cwd, env=env | extra, text=True, capture_output=True, check=False)
    if check and done.returncode:
        pytest.fail(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done


@dataclass(frozen=True, slots=True)
class Tree:
    """A copy of the sources that a test may change and build."""

    path: Path

    def build(self, *what: str) -> Sequence[Path]:
        """Build the `--wheel`, or by default the source archive and from that the wheel; gives the files by name."""
        done = run(sys.executable, "-m", "build", "--no-isolation", *what, ".", cwd=self.path)
        assert "Deprecat" not in done.stdout + done.stderr, done.stdout + done.stderr
        return sorted((self.path / "dist").iterdir())

    def package_files(self) -> set[str]:
        """Every file below perdure/, links followed, with the names that a wheel would give them."""
        return {
            Path(folder, name).relative_to(self.path).as_posix()
            for folder, _, names in os.walk(self.path / "perdure", followlinks=True)
            for name in names
        }


def copy_tree(target: Path) -> Tree:
    shutil.copytree(ROOT, target, symlinks=True, ignore=NOT_SOURCE)
    return Tree(target)


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return copy_tree(tmp_path_factory.mktemp("packaging") / "tree")


@pytest.fixture(scope="session")
def wheel(tree: Tree) -> Path:
    """The wheel built straight from the tree."""
    (built,) = tree.build("--wheel")
    return built


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment in which the wheel, and not the tree, is installed."""

    prefix: Path

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    @property
    def perdure(self) -> Path:
        return self.prefix / "bin" / "perdure"


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    prefix = tmp_path_factory.mktemp("installed") / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", prefix, cwd=prefix.parent)
    environment = Environment(prefix)
    # What perdure depends on is taken from the environment of the tests. Through a .pth file, the folder is searched
    # after the new one, and its own .pth files, which would bring in the tree, are not read.
    paths = sysconfig.get_paths(vars={"base": str(prefix), "platbase": str(prefix)})
    Path(paths["purelib"], "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--python", environment.python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed", wheel, cwd=prefix.parent)
    return environment
