"""Nothing is written or read outside the layer or in its `.git`, whatever the path, and no commit that git refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.layer.definition import Kind, RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.errors import StoreFault
from perdure.layer.git import GitStore
from perdure.layer.git_files import definition_files, definition_stamps
from perdure.layer.store import Change, Remove, Write, holds_definition, parts

from .git_cli import AREA, KEEP, Git, created, put

pytestmark = pytest.mark.usefixtures("no_git_configuration")

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

_PARTS = st.sampled_from(
    [
        *("", ".", "..", "...", ".git", ".GIT", ".git ", "a", "a.py", "functions", "~", "-", "CON", "%2e%2e"),
        *("a\\..\\..\\b", "a\0b", "\n", "\udc80", "\ud800", "x" * 300, "π", ".."),
    ]
) | st.text(max_size=4)
_PATHS = st.lists(_PARTS, min_size=1, max_size=5).map("/".join)


@pytest.fixture(scope="module")
def around(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a layer in it, and nothing else."""
    folder = tmp_path_factory.mktemp("around")
    created(folder / "layer")
    return folder


def seen(around: Path) -> dict[str, bytes]:
    """All that is outside the layer, and what git goes by."""
    outside = {
        str(path): path.read_bytes() for path in around.rglob("*") if path.is_file() and "/layer/" not in str(path)
    }
    return outside | {name: (around / "layer/.git" / name).read_bytes() for name in ("config", "HEAD")}


@given(_PATHS, st.booleans())
@FEW
def test_a_path_given_to_the_store_stays_inside(around: Path, path: str, removes: bool) -> None:
    layer, rel = around / "layer", RelPath(path)
    store, before = GitStore.open(layer, author=None, disk=RealDisk()), seen(around)
    change: Change = Remove(rel) if removes else Write(rel, b"1")
    try:
        store.commit([change], KEEP)
    except ValueError:
        assert seen(around) == before
        with pytest.raises(ValueError, match=r"no path inside a layer|can't encode"):
            store.adopt({rel: b"1"}, KEEP)
    except StoreFault:  # a name that is too long, a file where a folder is to be
        assert seen(around) == before
    else:
        assert parts(rel) == tuple(path.split("/"))
        assert removes or store.file(rel) == b"1"
        assert seen(around) == before
        if not removes:
            store.commit([Remove(rel)], KEEP)
    assert store.files() == {AREA: b"def area(): ...\n"}


REFUSED = ["git~1", "GIT~1", "git~1.", "git~1 .", "git~1::$INDEX", "\u200c.git", ".g\u200cit", ".git", ".GIT"]
TAKEN = ["git", "git~2", "git~10", "git~1a", "a.git", "gi\u200ct", "GIT.py"]


@pytest.mark.parametrize("name", REFUSED + TAKEN)
def test_what_git_does_not_take_is_no_definition(store: GitStore, path: Path, git: Git, name: str) -> None:
    there = {RelPath(f"{kind.folder}/{name}/x.py") for kind in (Kind.FUNCTION, Kind.VALUE)}
    for each in there:
        put(path / each, "X = 1\n")
    assert {each for each in there if holds_definition(each)} == (there if name in TAKEN else set())
    assert store.files().keys() == {AREA, *(there if name in TAKEN else ())}
    assert definition_stamps(path).keys() == definition_files(path).keys()
    if name in TAKEN:
        assert store.adopt(dict.fromkeys(there, b"X = 1\n"), KEEP)
        git.check()
        git("clone", "-q", ".", "../clone")
