"""The bundle of a folder: when it is believed, and that what is damaged or not this user's own never is."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.layer import boot_cache, bundling
from perdure.layer.boot_cache import YOUNG, Bundle, Damaged
from perdure.layer.definition import Kind
from perdure.layer.git_files import definition_files, definition_stamps, is_as_seen, seen

from .starts import Starts, complete, is_replayed

FILES = {
    "functions/a/area.py": "def area(r):\n    return RATE * r\n",
    "functions/r/ring.py": "from math import sqrt\n\n\ndef ring(r):\n    return sqrt(area(r))\n",
    "values/r/RATE.py": "RATE = 3\n",
}


@pytest.fixture
def starts(tmp_path: Path) -> Starts:
    made = Starts(tmp_path, FILES)
    made.prepare()
    return made


# What it holds.


def test_a_bundle_comes_back_as_it_was_written(starts: Starts) -> None:
    bundle = Bundle.read(starts.bundle)
    assert bundle is not None
    listing = bundle.listing
    assert listing.paths == tuple(sorted(FILES))
    assert bundle.files() == definition_files(starts.root)
    assert dict(zip(listing.paths, listing.stamps, strict=True)) == definition_stamps(starts.root)
    assert {listing.paths[number] for number in listing.loaded} == {*FILES}
    assert {"area", "ring", "RATE", "sqrt"} <= listing.names
    names = [str(starts.root / listing.paths[number]) for number in listing.loaded]
    assert [code.co_filename for code in bundle.codes()] == names


def test_nobody_else_may_read_what_lies_in_the_cache(starts: Starts) -> None:
    for path in (starts.cache, *starts.cache.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_nothing_is_written_beside_the_cache(tmp_path: Path) -> None:
    starts = Starts(tmp_path / "home", FILES)
    kernel = complete(starts.start())
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "home").rglob("*")}
    assert starts.write(kernel) == 1
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "home").rglob("*")}
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {starts.bundle.parent, starts.bundle}


# What is not believed.


def parts(file: Path) -> list[object]:
    """What can be read of the bundle, part by part; None for what is not believed."""
    bundle, found = Bundle.read(file), []
    for name in ("plan", "turns", "listing", "codes", "facts"):
        try:
            part = getattr(bundle, name, None)
            found.append([*part()] if callable(part) else part)
        except Damaged:
            found.append(None)
    return found


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_damage_is_believed(starts: Starts, data: st.DataObject) -> None:
    whole, parts_of_it = starts.bundle.read_bytes(), parts(starts.bundle)
    if data.draw(st.booleans()):
        damaged = bytearray(whole)
        for at in data.draw(st.sets(st.integers(0, len(whole) - 1), min_size=1, max_size=8)):
            damaged[at] ^= data.draw(st.integers(1, 255))
    else:
        damaged = bytearray(whole[: data.draw(st.integers(0, len(whole) - 1))])
        damaged += data.draw(st.binary(max_size=20))
    try:
        starts.bundle.write_bytes(damaged)
        for part, as_written in zip(parts(starts.bundle), parts_of_it, strict=True):
            assert part is None or part == as_written
    finally:
        starts.bundle.write_bytes(whole)


@pytest.mark.parametrize("damage", [b"", b"\0", b"garbage" * 100, None], ids=["empty", "zero", "garbage", "half"])
def test_a_start_from_what_is_damaged_is_one_from_nothing(starts: Starts, damage: bytes | None) -> None:
    starts.bundle.write_bytes(starts.bundle.read_bytes()[:200] if damage is None else damage)
    kernel = starts.start()
    assert not is_replayed(kernel)
    assert kernel.namespace["area"](2) == 6
    starts.write(kernel)
    assert starts.replayed().namespace["area"](2) == 6


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o622, 0o666])
def test_what_others_may_write_is_not_believed(starts: Starts, mode: int) -> None:
    starts.bundle.chmod(mode)
    assert Bundle.read(starts.bundle) is None
    starts.bundle.chmod(0o644)
    assert Bundle.read(starts.bundle) is not None


def test_what_is_anothers_is_not_believed(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    assert Bundle.read(starts.bundle) is None


def test_what_is_no_file_is_not_believed_and_not_waited_for(starts: Starts) -> None:
    starts.bundle.unlink()
    assert Bundle.read(starts.bundle) is None
    os.mkfifo(starts.bundle, 0o600)
    assert Bundle.read(starts.bundle) is None
    starts.bundle.unlink()
    starts.bundle.mkdir()
    assert Bundle.read(starts.bundle) is None
    kernel = starts.start()
    assert kernel.namespace["area"](2) == 6


@pytest.mark.parametrize("what", ["FORMAT", "importlib.util.MAGIC_NUMBER"])
def test_another_edition_is_not_believed(starts: Starts, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(f"{boot_cache.__name__}.{what}", 77)
    assert Bundle.read(starts.bundle) is None
    starts.prepare()
    assert is_replayed(starts.start())


# How it is written.


def test_a_bundle_of_files_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES)
    kernel = complete(starts.start())
    starts.put("values/r/RATE.py", "RATE = 4\n")
    starts.write(kernel)
    assert not starts.bundle.exists()
    assert starts.prepare().namespace["area"](1) == 4


class Clock:
    """Stands for `time` in the writer: a sleep takes no time and is only noted."""

    def __init__(self) -> None:
        self.slept = 0.0

    def time(self) -> float:
        return time.time() + self.slept

    def time_ns(self) -> int:
        return time.time_ns() + int(self.slept * 1e9)

    def sleep(self, seconds: float) -> None:
        self.slept += seconds


def test_the_writer_waits_until_the_next_change_has_another_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts, clock = Starts(tmp_path, FILES, young=YOUNG), Clock()
    monkeypatch.setattr(bundling, "time", clock)
    starts.prepare()
    assert 0 < clock.slept <= YOUNG / 1e9
    bundle = Bundle.read(starts.bundle)
    assert bundle is not None
    assert bundle.listing.young == ()


def test_for_a_file_of_the_future_nobody_waits_and_its_bytes_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts, clock = Starts(tmp_path, FILES, young=YOUNG), Clock()
    monkeypatch.setattr(bundling, "time", clock)
    later = time.time() + 10_000
    os.utime(starts.root / "values/r/RATE.py", (later, later))
    starts.prepare()
    assert clock.slept == 0
    bundle = Bundle.read(starts.bundle)
    assert bundle is not None
    assert "values/r/RATE.py" in {bundle.listing.paths[number] for number in bundle.listing.young}
    assert is_replayed(starts.start())


def test_a_full_disk_leaves_what_was_there(starts: Starts, monkeypatch: pytest.MonkeyPatch) -> None:
    starts.put("values/r/RATE.py", "RATE = 4\n")
    kernel = complete(starts.start())
    before = starts.bundle.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("perdure.layer.disk._write_all", full)
    monkeypatch.setattr(os, "nice", lambda _: None)
    monkeypatch.setattr(bundling, "time", Clock())
    told = [*map(bundling.as_plain, kernel.layer.shipped.starting.to_write)]
    bundling.main({"cache": str(starts.cache), "bundles": told})
    assert starts.bundle.read_bytes() == before
    assert not [*starts.cache.rglob("*.tmp")]
    monkeypatch.undo()
    bundling.bundle(starts.cache, told[0], 0)
    assert is_replayed(starts.start())


def test_what_a_killed_writer_left_is_taken_away_after_a_while(tmp_path: Path) -> None:
    starts = Starts(tmp_path, FILES)
    kernel = complete(starts.start())
    old, new, other = (starts.bundle.parent / name for name in (f".{'a' * 16}.tmp", f".{'b' * 16}.tmp", ".mine"))
    for path in (old, new, other):
        path.write_bytes(b"")
    os.utime(old, (0, 0))
    os.utime(other, (0, 0))
    starts.write(kernel)
    assert [path.exists() for path in (old, new, other)] == [False, True, True]


def test_an_earlier_bundle_serves_what_has_the_same_text_and_not_the_same_mark(
    starts: Starts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two texts may have the same checksum."""

    def same(path: str, data: bytes) -> str:
        return path

    monkeypatch.setattr(bundling, "mark_of", same)
    starts.put("values/r/RATE.py", "RATE = 4\n")
    kernel = complete(starts.start())
    for each in kernel.layer.shipped.starting.to_write:
        told: dict[str, Any] = bundling.as_plain(each)
        bundling.bundle(starts.cache, told | {"marks": {path: path for path in told["marks"]}}, 0)
    bundle = Bundle.read(starts.bundle)
    assert bundle is not None
    code = dict(zip(bundle.listing.loaded, bundle.codes(), strict=True))[bundle.listing.paths.index("values/r/RATE.py")]
    assert 4 in code.co_consts


# Stamps.


def test_stamps_are_of_the_very_files_that_are_read(tmp_path: Path) -> None:
    root = tmp_path / "layer"
    tree = ["a/area.py", "deep/er/down.py", "x.py", ".hidden.py", ".h/a.py", "a/.h.py", "a/no.txt", "a/b.PY", "é/ü.py"]
    for kind in Kind:
        for name in tree:
            path = root / kind.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x = 1\n")
        (root / kind.folder / "folder.py").mkdir()
        (root / kind.folder / "linked.py").symlink_to(root / kind.folder / "x.py")
        (root / kind.folder / "dangling.py").symlink_to("nowhere")
        (root / kind.folder / "linked").symlink_to(root / kind.folder / "a")
        os.mkfifo(root / kind.folder / "pipe.py")
    (root / "functions").rename(tmp_path / "elsewhere")
    (root / "functions").symlink_to(tmp_path / "elsewhere")
    (root / "other").mkdir()
    (root / "other" / "x.py").write_text("")
    files = definition_files(root)
    assert list(definition_stamps(root)) == list(files)
    assert len(files) == (4 + 2) * (len(Kind) - 1)  # with the links, which are told of
    assert definition_stamps(tmp_path / "nowhere") == {} == definition_files(tmp_path / "nowhere")


# What was seen of a folder.


@pytest.mark.parametrize("name", ["a/area.py", "deep/er/down.py", "x.py", "a/no.txt", "linked.py"])
def test_a_folder_is_as_seen_until_any_file_in_it_changes(tmp_path: Path, name: str) -> None:
    root = tmp_path / "layer"
    for kind in [*Kind][:-1]:
        for each in ("a/area.py", "deep/er/down.py", "x.py", "a/no.txt"):
            path = root / kind.folder / each
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x = 1\n")
        (root / kind.folder / "linked.py").symlink_to(tmp_path)
    looked = seen(root)
    assert looked is not None
    assert is_as_seen(root, looked)
    path = root / Kind.VALUE.folder / name
    if path.is_symlink():
        path.unlink()
        path.symlink_to(root)
    else:
        before = path.stat()
        path.write_text("y = 1\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_as_seen(root, looked)
    assert is_as_seen(root, seen(root) or looked)


def _add(root: Path) -> None:
    (root / "functions/a/new.py").write_text("")


def _add_folder(root: Path) -> None:
    (root / "functions/b").mkdir()
    (root / "functions/b/new.py").write_text("")


def _remove(root: Path) -> None:
    (root / "functions/a/area.py").unlink()


def _rename(root: Path) -> None:
    (root / "functions/a/area.py").rename(root / "functions/a/bread.py")


def _move_folder(root: Path) -> None:
    (root / "functions/a").rename(root / "elsewhere")
    (root / "functions/a").symlink_to(root / "elsewhere")


def _another_folder(root: Path) -> None:
    (root / "functions/a").rename(root / "functions/.a")


def _file_for_a_folder(root: Path) -> None:
    (root / "functions/a").rename(root / "elsewhere")
    (root / "functions/a").write_text("")


def _folder_for_a_file(root: Path) -> None:
    (root / "functions/a/area.py").unlink()
    (root / "functions/a/area.py").mkdir()


def _first_of_a_kind(root: Path) -> None:
    (root / "values").mkdir()


def _kind_of_links(root: Path) -> None:
    (root / "functions").rename(root / "elsewhere")
    (root / "functions").symlink_to(root / "elsewhere")


CHANGES = [
    *(_add, _add_folder, _remove, _rename, _move_folder, _another_folder, _file_for_a_folder, _folder_for_a_file),
    *(_first_of_a_kind, _kind_of_links),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_is_not_as_seen_when_files_come_and_go(tmp_path: Path, change: Callable[[Path], None]) -> None:
    (tmp_path / "functions/a").mkdir(parents=True)
    (tmp_path / "functions/a/area.py").write_text("x = 1\n")
    looked = seen(tmp_path)
    assert looked is not None
    assert is_as_seen(tmp_path, looked)
    change(tmp_path)
    assert not is_as_seen(tmp_path, looked)


def test_of_a_time_that_cannot_be_written_down_nothing_is_seen(tmp_path: Path) -> None:
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions/a.py").write_text("")
    os.utime(tmp_path / "functions/a.py", (-1, -1))
    assert seen(tmp_path) is None


def test_where_only_the_look_differs_the_next_start_looks_the_quick_way_again(starts: Starts) -> None:
    (starts.root / "functions/a/notes.txt").write_text("")
    kernel = starts.replayed()
    assert starts.write(complete(kernel)) == 1
    assert starts.write(complete(starts.replayed())) == 0


# A part of it that is damaged.


def damage(starts: Starts, part: int) -> None:
    bundle = Bundle.read(starts.bundle)
    assert bundle is not None
    at, size, _ = bundle._parts[part]
    data = bytearray(starts.bundle.read_bytes())
    data[at + size // 2] ^= 1
    starts.bundle.write_bytes(data)


@pytest.mark.parametrize("part", range(1, 5))
def test_a_part_that_is_damaged_costs_time_alone(starts: Starts, part: int) -> None:
    damage(starts, part)
    kernel = complete(starts.start())
    assert {definition.key for definition, _ in kernel.layer.report.live} == {"area", "ring", "RATE"}
    assert kernel.namespace["ring"](4) == (3 * 4) ** 0.5
    assert kernel.run("x = ring(4)") == []


@pytest.mark.parametrize("part", range(1, 5))
def test_what_was_loaded_is_not_loaded_again_for_want_of_a_part(tmp_path: Path, part: int) -> None:
    hides = "# perdure: after K\ndef property(f):\n    return 'another'\n"
    file = "class K:\n    @property\n    def p(self):\n        return 1\n"
    starts = Starts(tmp_path, {"classes/k/K.py": file, "functions/p/property.py": hides})
    starts.prepare()
    damage(starts, part)
    kernel = complete(starts.start())
    assert kernel.namespace["K"]().p == 1
    assert kernel.namespace["property"](None) == "another"
