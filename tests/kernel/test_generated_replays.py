"""Random first cells after a replay and after a boot come to the same, though some do not wait for all to be known."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.kernel.wire import Notices, Request, RequestKind
from perdure.kernel.workspace import Workspace
from perdure.layer.boot_cache import bundle_file
from perdure.layer.bundling import as_plain, bundle
from perdure.layer.disk import RealDisk
from perdure.layer.opening import open_layer
from perdure.layer.place import Homes, Origin, Place
from perdure.layer.source import Source
from perdure.layer.store import Identity
from tests.layer.git_cli import put
from tests.layer.starts import all_known, differences, shape
from tests.layer.test_generated_deferral import CELLS, NAMES, PACKAGES, UNBOUNDED, layers
from tests.packages import Packages

from .home import Home
from .starts import restamp

AGENT = Request(RequestKind.AGENT, Notices.ALL)
_EACH = st.sampled_from(NAMES)
EXPRESSIONS = st.one_of(
    _EACH.map("exec('{0} = 5')".format),
    _EACH.map("{0}".format),
    _EACH.map(lambda name: f"globals().update([(''.join({[*name]}), 4)])"),
    _EACH.map(lambda name: f"globals().pop(''.join({[*name]}), None)"),
    _EACH.map(lambda name: f"exec('x = ' + ''.join({[*name]}))"),
    _EACH.map(lambda name: f"exec('def ' + ''.join({[*name]}) + '(d=1, later=0): return 9')"),
    _EACH.map(lambda name: f"globals()[''.join({[*name]})].append(7)"),
    st.sampled_from(["len([1])", "exec('x = 1')", "exec('UN' 'IT = 7')", "pass", "# nothing", "(x := 3)", "1 / 0"]),
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    with Packages(tmp_path_factory.mktemp("packages"), *PACKAGES).on_path() as made:
        yield made


def started(home: Home) -> Workspace:
    space = Workspace({"__name__": "__main__"}, ambient={}, environ=home.environ)
    space.boot()
    space.settle()
    return space


def told(space: Workspace, source: str) -> tuple[Any, ...]:
    """What a cell came to, run as the shell runs it."""
    cell, error, namespace = space.open_cell(AGENT, source, 1), "", space._namespace
    token = space.cell.set(cell)
    nodes = ast.parse(source).body
    touches = space.may_touch(nodes, source)
    if touches and (failure := space.waking.before_cell(nodes, source)) is not None:
        error = str(failure)
    cell.runs(source)
    cell.enter(len(nodes), scratch=False)
    for number, statement in enumerate([] if error else Source(source).statements(nodes), 1):
        if touches:
            cell.starting(statement.node)
        try:
            with space.waking.deleting(statement.node):
                exec(compile(ast.Module([statement.node], []), "<cell>", "exec"), namespace)  # type: ignore[arg-type]
        except Exception as raised:
            error = type(raised).__name__
            if isinstance(raised, NameError):
                space.waking.note(raised)
                error += str(getattr(raised, "__notes__", ""))
            cell.failed(number)
            break
        if touches:
            cell.completed(statement)
    cell.leave()
    space.cell.reset(token)
    return error, shape(namespace.get("x")), space.close_cell(cell, AGENT).lines(Notices.ALL)


@settings(UNBOUNDED, max_examples=25)
@given(files=layers(), sources=st.tuples(EXPRESSIONS, EXPRESSIONS | CELLS, EXPRESSIONS | CELLS, CELLS))
def test_the_same_comes_of_cells(packages: Packages, files: dict[str, str], sources: tuple[str, ...]) -> None:
    with TemporaryDirectory() as folder:
        home = Home(Path(folder).resolve())
        with patch.dict(os.environ, home.environ):
            place = Place(home.layer, "layer", Origin.ENVIRONMENT)
            open_layer(place, Homes.of_user(), author=Identity("Ada", "ada@example.org"), disk=RealDisk())
            for path, text in files.items():
                put(home.layer / path, text)
            home.git("add", "-A")
            home.git("commit", "-qm", "files")
            home.git("tag", "base")
            packages.clear()
            space = started(home)
            if space.layer is None or space.layer.report.skipped:
                return
            cache = home.root / "cache" / "perdure"
            for each in space.cells_folders.shipped.starting.to_write:
                bundle(cache, as_plain(each), 0)
            booted = come_of(space, home, sources)
            home.git("reset", "-q", "--hard", "base")
            home.git("clean", "-qfd")
            restamp(bundle_file(cache, home.layer), home.layer)
            packages.clear()
            space = started(home)
            assert space._untouched is not None
            replayed = come_of(space, home, sources)
    assert booted[0] == replayed[0]
    assert differences(booted[1], replayed[1]) == {}
    assert booted[2] == replayed[2]


def come_of(space: Workspace, home: Home, sources: Sequence[str]) -> tuple[list[Any], dict[str, Any], dict[str, str]]:
    """What is told of the cells, what is known after them, and the files that they leave."""
    come = [told(space, source) for source in sources]
    kernel: Any = SimpleNamespace(layer=space.layer, namespace=space._namespace)
    return come, all_known(kernel), home.files()
