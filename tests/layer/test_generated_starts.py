"""Whether a start is a replay of the one before makes no difference to what a kernel knows: on generated layers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.layer.boot_files import BootFiles
from perdure.layer.definition import RelPath
from perdure.layer.facts import facts_of, from_plain, to_plain
from tests.packages import Packages

from .cells import Cells
from .starts import Starts, all_known, complete, differences
from .test_generated_deferral import CELLS, PACKAGES, UNBOUNDED, layers, told


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Packages]:
    with Packages(tmp_path_factory.mktemp("packages"), *PACKAGES).on_path() as made:
        yield made


def left_out(kernel: Cells) -> bool:
    reports = [kernel.layer.report, *(folder.report for folder in kernel.layer.shipped.folders)]
    return any(report.skipped for report in reports)


def compare(
    packages: Packages,
    files: dict[str, str],
    folders: list[dict[str, str]],
    sources: list[str],
    *,
    defer: bool,
    changed: dict[str, str] | None = None,
) -> None:
    """A start from nothing, and one that goes its way; where files `changed` between them, as far as it can."""
    with TemporaryDirectory() as home:
        starts = Starts(Path(home), files, *folders, defer=defer)
        packages.clear()
        first = starts.prepare()
        if left_out(first):
            return
        for path, text in (changed or {}).items():
            starts.put(path, text)
        if changed:
            packages.clear()
            cache, starts.cache = starts.cache, Path(home) / "other"
            first = complete(starts.start())
            starts.cache = cache
        before = all_known(first), [told(first, source) for source in sources], first.files
        packages.clear()
        again = starts.start() if changed else starts.replayed()
        assert differences(before[0], all_known(complete(again))) == {}
        assert [told(again, source) for source in sources] == before[1]
        assert again.files == before[2]


@settings(UNBOUNDED, max_examples=40)
@given(files=layers(), sources=st.lists(CELLS, min_size=1, max_size=5), defer=st.booleans())
def test_a_replay_and_a_boot_tell_the_same(
    packages: Packages, files: dict[str, str], sources: list[str], defer: bool
) -> None:
    compare(packages, files, [], sources, defer=defer)


@settings(UNBOUNDED, max_examples=40)
@given(
    folder=layers(),
    files=layers(),
    data=st.data(),
    sources=st.lists(CELLS, min_size=1, max_size=5),
    defer=st.booleans(),
)
def test_over_a_cells_folder_too(
    packages: Packages,
    folder: dict[str, str],
    files: dict[str, str],
    data: st.DataObject,
    sources: list[str],
    defer: bool,
) -> None:
    over = data.draw(st.sets(st.sampled_from(sorted({*files} - {"functions/x/REG.py", "functions/x/register.py"}))))
    own = {path: text for path, text in files.items() if path in over}
    compare(packages, own, [folder], sources, defer=defer)


@settings(UNBOUNDED, max_examples=40)
@given(files=layers(), later=layers(), data=st.data(), sources=st.lists(CELLS, min_size=1, max_size=5))
def test_where_some_files_changed_the_boot_is_as_from_nothing(
    packages: Packages, files: dict[str, str], later: dict[str, str], data: st.DataObject, sources: list[str]
) -> None:
    some = data.draw(st.sets(st.sampled_from(sorted(later)), min_size=1, max_size=4))
    changed = {path: later[path] for path in some if files.get(path) != later[path]}
    if changed:
        compare(packages, files, [], sources, defer=data.draw(st.booleans()), changed=changed)


@settings(UNBOUNDED, max_examples=40)
@given(layers())
def test_facts_come_back_as_they_were(files: dict[str, str]) -> None:
    data = {RelPath(path): text.encode() for path, text in files.items()}
    for file in BootFiles(data, {}):
        facts, _ = facts_of(file.path, data[file.path])
        assert from_plain(to_plain(facts), facts.text) == facts
