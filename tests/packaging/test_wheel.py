"""What is in the tree is in the wheel, by whichever way it is built.

A subpackage that pyproject.toml does not list works in an editable install and is missing from the wheel.
"""

from __future__ import annotations

import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import perdure

from .conftest import ROOT, Tree, copy_tree


def package_files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.startswith("perdure/")}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_wheel_has_what_the_tree_has(tree: Tree, wheel: Path) -> None:
    assert package_files(wheel) == tree.package_files()


def test_wheel_from_the_source_archive_has_it_too(tree: Tree, tmp_path: Path) -> None:
    wheel, archive = copy_tree(tmp_path / "tree").build()
    assert (wheel.suffix, archive.suffix) == (".whl", ".gz")
    assert package_files(wheel) == tree.package_files()


def test_a_subpackage_that_is_not_listed_is_noticed(tmp_path: Path) -> None:
    tree = copy_tree(tmp_path / "tree")
    stray = tree.path / "kernel" / "stray"
    stray.mkdir()
    (stray / "__init__.py").touch()
    (wheel,) = tree.build("--wheel")
    assert tree.package_files() - package_files(wheel) == {"perdure/kernel/stray/__init__.py"}


def test_kernelspec_travels_as_data_files(wheel: Path) -> None:
    data = f"perdure-{perdure.__version__}.data/data/share/jupyter/kernels/perdure/"
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name.removeprefix(data): archive.read(name) for name in archive.namelist() if name.startswith(data)}
    assert shipped == {path.name: path.read_bytes() for path in (ROOT / "kernelspec").iterdir()}


def test_metadata(wheel: Path) -> None:
    facts = metadata(wheel)
    assert facts["Version"] == perdure.__version__
    assert facts["Requires-Python"] == ">=3.11"
    assert facts["License-Expression"] == "BSD-3-Clause"
    assert any(requirement.startswith("ipykernel") for requirement in facts.get_all("Requires-Dist", []))
