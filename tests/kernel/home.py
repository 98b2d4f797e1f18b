"""A user's folders, and what the git command line and the files say of the layer in them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Settings of whoever runs the tests that would reach into a kernel.
_FOREIGN = ("PERDURE_", "JUPYTER", "JPY_", "IPYTHON", "GIT_", "XDG_", "MPL", "EMAIL", "PYTEST", "PYTHONSTARTUP")


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a layer."""

    subject: str
    body: str
    trailers: dict[str, str]
    author: str


class Home:
    """A user's folders, all of them below one temporary folder, and the layer in them."""

    def __init__(self, root: Path, *, identity: bool = True) -> None:
        self.root = root
        self.work = root / "work"
        self.layer = root / "layer"
        self.state = root / "state"
        self.ipython = root / "ipython"
        for folder in (self.work, root / "home"):
            folder.mkdir(parents=True, exist_ok=True)
        config = root / "gitconfig"
        config.write_text("[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n" if identity else "")
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)} | {
            "HOME": str(root / "home"),
            "XDG_DATA_HOME": str(root / "data"),
            "XDG_STATE_HOME": str(self.state),
            "XDG_CACHE_HOME": str(root / "cache"),
            "XDG_CONFIG_HOME": str(root / "config"),
            "IPYTHONDIR": str(self.ipython),
            "JUPYTER_CONFIG_DIR": str(root / "jupyter-config"),
            "JUPYTER_DATA_DIR": str(root / "jupyter-data"),
            "JUPYTER_RUNTIME_DIR": str(root / "jupyter-runtime"),
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PERDURE_LAYER": str(self.layer),
        }

    def git(self, *words: str | Path, said: str = "") -> str:
        """What a git command says in the layer's folder; `said` is what it is told on its standard input."""
        done = subprocess.run(
            ["git", *words], cwd=self.layer, env=self.environ, text=True, capture_output=True, check=False, input=said
        )
        assert done.returncode == 0, f"git {' '.join(map(str, words))}: {done.stdout}{done.stderr}"
        return done.stdout

    def log(self, *paths: str) -> list[Commit]:
        """The layer's commits, newest first, without the one that made it; those of `paths` if any are given."""
        if not (self.layer / ".git").exists():
            return []
        shape = "%s%x1f%b%x1f%an <%ae>%x1e"
        commits = []
        for record in self.git("log", f"--format={shape}", "--", *paths).split("\x1e"):
            if not record.strip():
                continue
            subject, body, author = record.strip("\n").split("\x1f")
            lines = body.strip().split("\n\n")
            trailers = dict(line.split(": ", 1) for line in lines[-1].splitlines() if ": " in line)
            commits.append(Commit(subject, "\n\n".join(lines[:-1]), trailers, author))
        return [commit for commit in commits if commit.subject != "new layer"]

    def files(self) -> dict[str, str]:
        """Every definition file, path → text."""
        kinds = ("functions", "classes", "values", "methods")
        found = (path for kind in kinds for path in (self.layer / kind).rglob("*.py"))
        return {path.relative_to(self.layer).as_posix(): path.read_bytes().decode() for path in sorted(found)}

    def status(self) -> str:
        """What `git status` lists."""
        return self.git("status", "--porcelain", "--untracked-files=all")

    def fsck(self) -> str:
        """What git finds wrong with the repository."""
        return self.git("fsck", "--strict", "--no-progress", "--no-dangling")

    def objects(self) -> bytes:
        """All that git stores, one object after another: commits, trees and files, those nothing points to as well."""
        return subprocess.run(
            ["git", "cat-file", "--batch-all-objects", "--batch"],
            cwd=self.layer,
            env=self.environ,
            capture_output=True,
            check=True,
        ).stdout

    def events(self) -> list[dict[str, Any]]:
        """The record of the layer, oldest first."""
        lines = [line for file in self.root.rglob("events.jsonl") for line in file.read_text("utf-8").splitlines()]
        return [json.loads(line) for line in lines]
