"""Fixtures for tests that talk to real kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perdure.layer.disk import RealDisk
from perdure.layer.opening import open_layer
from perdure.layer.place import Homes, Origin, Place
from perdure.layer.store import Identity

from .driver import PERDURE, Kernel
from .home import Home
from .lives import Cases, Lives

StartKernel = Callable[..., Kernel]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of the test's own."""
    return Home(tmp_path)


def make_layer(home: Home, environment: pytest.MonkeyPatch) -> None:
    """Make the home's layer without a kernel, empty and trusted."""
    for name, value in home.environ.items():
        environment.setenv(name, value)
    place = Place(home.layer, "layer", Origin.ENVIRONMENT)
    open_layer(place, Homes.of_user(), author=Identity("Ada Lovelace", "ada@example.org"), disk=RealDisk())


@pytest.fixture
def layer(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with an empty layer, for the test to put files into by hand."""
    make_layer(home, monkeypatch)
    return home


@pytest.fixture
def new_kernel(home: Home) -> Iterator[StartKernel]:
    """Makes kernels on the test's home, not started yet; what still runs at the test's end is killed."""
    made: list[Kernel] = []

    def make(program: tuple[str, ...] = PERDURE, **environ: str) -> Kernel:
        made.append(Kernel(home, program, **environ))
        return made[-1]

    yield make
    for kernel in made:
        kernel.kill()


@pytest.fixture
def kernel(new_kernel: StartKernel) -> Kernel:
    """A running kernel of the test's own."""
    return new_kernel().start()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A running kernel for all tests of a module that need none of their own; each takes names that no other has."""
    kernel = Kernel(Home(tmp_path_factory.mktemp("shared"))).start()
    yield kernel
    kernel.kill()


@pytest.fixture(scope="module")
def lives(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """The two lives of the module's cases."""
    cases: Cases = request.module.case
    kernel = Kernel(Home(tmp_path_factory.mktemp("lives")))
    told = Lives(kernel)
    try:
        told.live(cases)
        yield told
    finally:
        kernel.kill()
