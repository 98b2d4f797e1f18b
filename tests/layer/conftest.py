"""Fixtures for the tests of the layer."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from perdure.layer.git import GitStore

from .cells import Cells, begun
from .git_cli import Git, created


@pytest.fixture
def no_git_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have git find no configuration but an empty file, which is given, so that nobody's own settings matter."""
    home = tmp_path_factory.mktemp("home")
    config = home / "gitconfig"
    config.touch()
    for name in ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL", "DIR", "WORK_TREE", "INDEX_FILE"):
        monkeypatch.delenv(f"GIT_{name}", raising=False)
    monkeypatch.delenv("EMAIL", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return config


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, though whoever started the tests may have had it ignored, as by a `&`."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


@pytest.fixture
def cells() -> Cells:
    """A kernel on a layer without definitions."""
    return begun()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the layer of `store` is, or is to be."""
    return tmp_path / "layer"


@pytest.fixture
def store(path: Path, no_git_configuration: Path) -> GitStore:
    return created(path)


@pytest.fixture
def git(path: Path, store: GitStore) -> Git:
    """The command line in the layer of `store`."""
    return Git(path)
