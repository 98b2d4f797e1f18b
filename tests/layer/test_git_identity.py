"""Who git says the user is, and what GitStore does without."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from perdure.layer.git import GitStore
from perdure.layer.git_dulwich import git_identity
from perdure.layer.store import FALLBACK, Identity, Write

from .git_cli import KEEP, RATE, Git, created

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def test_no_git_identity() -> None:
    assert git_identity() is None
    assert Identity("perdure", "perdure@localhost") == FALLBACK


def test_git_identity(no_git_configuration: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    included = no_git_configuration.with_name("included")
    included.write_text("[user]\n\tname = Ada Ł\n")
    no_git_configuration.write_text(f"[include]\n\tpath = {included}\n")
    assert git_identity() == Identity("Ada Ł", FALLBACK.email)
    no_git_configuration.write_text("[user]\n\tname = Ada Ł\n\temail = ada@example.org\n")
    assert git_identity() == Identity("Ada Ł", "ada@example.org")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Grace")
    assert git_identity() == Identity("Grace", "ada@example.org")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "grace@example.org")
    assert git_identity() == Identity("Grace", "grace@example.org")


@pytest.mark.parametrize("text", ["[user\nname", "\0\0", "[user]\nname"])
def test_a_damaged_configuration_is_none(no_git_configuration: Path, text: str) -> None:
    no_git_configuration.write_text(text)
    assert git_identity() is None or git_identity() == Identity("true", FALLBACK.email)


def test_the_git_program_is_not_needed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        store = created(path)
        store.commit([Write(RATE, b"")], KEEP)
        assert not store.dirt()
        assert git_identity() is None
    Git(path).check()


def test_reading_files_and_head_imports_no_dulwich(store: GitStore, path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from perdure.layer.disk import RealDisk
        from perdure.layer.git import FALLBACK, GitStore
        store = GitStore.open(Path(sys.argv[1]), author=FALLBACK, disk=RealDisk())
        assert store.files() and store.head()
        assert not any(name.startswith("dulwich") for name in sys.modules)
        """
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, cwd=Path(__file__).parents[2])
