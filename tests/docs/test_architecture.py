"""docs/ARCHITECTURE.md is true: its code map is complete, its contracts exist, and what it says is absent is absent."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
ROOMS = ("perdure", "kernel", "kernel/upstream", "layer", "client")

PURE = """
    binding bounds compose decide deferral definition dependents fileformat imports known mentions module naming order
    others outcome plan proof_files purity randomness reach reasons reread running scope secret source taken telling
    tokens uses view
""".split()


def code_map() -> dict[str, set[str]]:
    """The files that the code map names, by room."""
    _, _, section = PAGE.partition("\n## Code map\n")
    section = section.partition("\n## ")[0]
    rooms = re.split(r"^### (\S+)/", section, flags=re.MULTILINE)[1:]
    return {room: set(re.findall(r"`(\w+\.py)`", text)) for room, text in zip(rooms[::2], rooms[1::2], strict=True)}


def sources(*rooms: str) -> Iterator[tuple[str, ast.Module]]:
    for room in rooms:
        for file in sorted((ROOT / room).glob("*.py")):
            yield f"{room}/{file.name}", ast.parse(file.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module or ""


@pytest.mark.parametrize("room", ROOMS)
def test_the_code_map_names_every_file_and_no_other(room: str) -> None:
    there = {file.name for file in (ROOT / room).glob("*.py") if file.read_bytes().strip()}
    told = code_map()[room]
    assert told - there == set(), "named, but not there or empty"
    assert there - told - {"__init__.py"} == set(), "there, but not named"


def test_every_room_is_on_the_map() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    rooms = {package.removeprefix("perdure.").replace(".", "/") for package in packages}
    assert rooms - set(ROOMS) == {"kernelspec"}


def test_the_contracts_it_names_exist() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = {contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]}
    told = [
        name for lines in re.findall(r"import-linter: (.*?)(?:\n- |\n\n|; )", PAGE, re.DOTALL) for name in quoted(lines)
    ]
    assert len(told) >= 5
    assert set(told) <= contracts


def quoted(text: str) -> list[str]:
    return [" ".join(name.split()).replace("\\_", "_") for name in re.findall(r'"([^"]+)"', text)]


def test_no_room_opens_a_connection() -> None:
    network = ("socket", "ssl", "http", "urllib.request", "ftplib", "smtplib", "requests", "httpx", "aiohttp")
    for name, tree in sources(*ROOMS):
        reached = [
            module for module in imported(tree) if any(module == n or module.startswith(f"{n}.") for n in network)
        ]
        assert reached == [], name


def test_user_code_is_executed_in_one_place() -> None:
    found = {
        name
        for name, tree in sources(*ROOMS)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("exec", "eval")
    }
    assert found == {"layer/install.py", "layer/slots.py"}  # the latter for the `__init__` of our own classes


def test_what_is_pure_reads_nothing_but_its_arguments() -> None:
    outside = {
        "os",
        "io",
        "pathlib",
        "shutil",
        "subprocess",
        "tempfile",
        "time",
        "datetime",
        "random",
        "sys",
        "threading",
    }
    for name, tree in sources("layer"):
        if name.removeprefix("layer/").removesuffix(".py") in PURE:
            assert outside & set(imported(tree)) == set(), name
            opens = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in ("open", "print", "input")]
            assert opens == [], name
