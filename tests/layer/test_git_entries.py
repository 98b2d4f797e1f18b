"""The entries of an index, against git itself: what is packed here git reads, and what git writes is read here."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.layer.git_entries import CHECKSUM_SIZE, HEAD_SIZE, Entries, Staged, Stat, cut_out, is_conflicted, pack
from perdure.layer.git_index import read_index
from perdure.layer.git_tree import Entry

ASSUMED, SKIPPED, INTENDED = 0x8000, 0x4000, 0x2000  # the last two among the extended flags
FEW = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# `git ls-files --stage --debug`
TOLD = re.compile(
    rb"(?P<mode>\d+) (?P<id>[0-9a-f]{40}) (?P<stage>\d)\t(?P<path>[^\0]+)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: (\d+)\tino: (\d+)\n  uid: (\d+)\tgid: (\d+)\n"
    rb"  size: (\d+)\tflags: (?P<flags>[0-9a-f]+)\n"
)

pytestmark = pytest.mark.usefixtures("no_git_configuration")

_WORDS = st.integers(0, 0xFFFFFFFF)
_IDS = st.binary(min_size=20, max_size=20).map(bytes.hex).filter(lambda name: name != "0" * 40)
_MODES = st.sampled_from([0o100644, 0o100755, 0o120000])
_STATS = st.builds(Stat, *[_WORDS] * 9)
_STAGED = st.builds(
    Staged,
    st.builds(Entry, _MODES, _IDS),
    _STATS,
    st.sampled_from([0, ASSUMED]),
    st.sampled_from([0, 0, SKIPPED, INTENDED, SKIPPED | INTENDED]),
)


def paths(letters: str, longest: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Paths in at most two folders; no folder has the name of a file."""
    names = st.text(st.sampled_from(letters), max_size=12).map(lambda text: text.encode("utf-8", "surrogateescape"))
    folders = st.lists(names.map(lambda name: b"n" + name + b"f/"), max_size=2).map(b"".join)
    return st.tuples(folders, names.map(lambda name: b"n" + name + b"z")).map(b"".join) | longest


# The length is told up to 4,095.
_PATHS = paths("ab_π\n\\ %~\udc80.0", st.integers(4_070, 4_120).map(lambda size: b"l" * size + b"z"))
_ENTRIES = st.dictionaries(_PATHS, _STAGED, max_size=12)


class Repository:
    """A repository of which only the index is looked at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.index = path / ".git/index"
        subprocess.run(["git", "init", "-q", str(path)], check=True)

    def git(self, *words: str, given: bytes = b"") -> bytes:
        done = subprocess.run(["git", *words], cwd=self.path, input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def told(self) -> dict[bytes, tuple[Staged, int]]:
        """By path what git reads in the index, and in which stage of a merge it is."""
        told = self.git("ls-files", "--stage", "--debug", "-z")
        found = {}
        end = 0
        for match in TOLD.finditer(told):
            assert match.start() == end
            end = match.end()
            flags = int(match["flags"], 16)
            numbers = (int(number) for number in match.groups()[4:13])
            entry = Entry(int(match["mode"], 8), match["id"].decode())
            staged = Staged(entry, Stat(*numbers), flags & ASSUMED, flags >> 16 & (SKIPPED | INTENDED))
            found[match["path"]] = (staged, int(match["stage"]))
        assert end == len(told)
        return found

    def write(self, entries: Entries) -> None:
        data = entries.to_bytes()
        self.index.write_bytes(data + hashlib.sha1(data, usedforsecurity=False).digest())


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("repository"))


def flags_of(staged: Staged) -> Staged:
    """Without the flag that says whether there are extended ones."""
    return Staged(staged.entry, staged.stat, staged.flags & ~SKIPPED, staged.extended)


def made(entries: Mapping[bytes, Staged]) -> Entries:
    made = Entries()
    made.update(entries)
    return made


@given(_ENTRIES)
@FEW
def test_git_reads_what_is_packed_here(repository: Repository, entries: Mapping[bytes, Staged]) -> None:
    repository.write(made(entries))
    assert repository.told() == {path: (staged, 0) for path, staged in sorted(entries.items())}


@given(_ENTRIES)
@FEW
def test_what_is_packed_is_unpacked(entries: Mapping[bytes, Staged]) -> None:
    ours = made(entries)
    assert list(ours) == sorted(entries)
    assert {path: flags_of(staged) for path, staged in ours.items()} == entries
    at = HEAD_SIZE
    data = ours.to_bytes()
    (count,) = struct.unpack_from(">I", data, 8)
    for expected in sorted(entries):
        path, packed, at = cut_out(data, at, b"", 3)
        assert (path, packed) == (expected, pack(path, entries[path]))
        assert not is_conflicted(packed)
    assert (at, count) == (len(data), len(entries))


_STEPS = st.lists(st.tuples(_PATHS, _STAGED | st.none()), max_size=20)


@given(_ENTRIES, _STEPS)
@FEW
def test_a_mapping_that_keeps_the_bytes_is_as_any_mapping(
    entries: Mapping[bytes, Staged], steps: list[tuple[bytes, Staged | None]]
) -> None:
    ours, plain = made(entries), dict(entries)
    for path, staged in steps:
        if staged is None:
            assert (ours.pop(path, None) is None) == (plain.pop(path, None) is None)
        else:
            ours[path] = plain[path] = staged
    assert ours.to_bytes() == made(plain).to_bytes()
    assert {path: flags_of(staged) for path, staged in ours.items()} == plain
    for folder in {path.partition(b"/")[0] for path in plain}:
        assert ours.below(folder) == sorted(path for path in plain if path.startswith(folder + b"/"))
    for seconds in (-1, 0, 5, 0xFFFFFFFF, 0x100000000, *(staged.stat.mtime for staged in plain.values())):
        assert ours.since(seconds) == sorted(path for path, staged in plain.items() if staged.stat.mtime >= seconds)


# Git refuses some paths as it takes them, and none as it reads them.
_TAKEN = paths("abπ ~%-", st.integers(1, 300).map(lambda size: (b"l" * 254 + b"f/") * 16 + b"l" * size + b"z"))


@pytest.mark.parametrize("version", [2, 3, 4])
@given(
    entries=st.dictionaries(_TAKEN, st.tuples(_MODES, _IDS), min_size=1, max_size=12),
    flagged=st.lists(st.tuples(st.integers(0, 11), st.sampled_from(["--assume-unchanged", "--skip-worktree"]))),
)
@FEW
def test_what_git_writes_is_read_here(
    repository: Repository,
    version: int,
    entries: Mapping[bytes, tuple[int, str]],
    flagged: list[tuple[int, str]],
) -> None:
    repository.index.unlink(missing_ok=True)
    info = b"".join(f"{mode:o} {name}\t".encode() + path + b"\0" for path, (mode, name) in entries.items())
    repository.git("update-index", "-z", "--index-info", given=info)
    if version == 3:  # git writes it where an entry needs it
        flagged = [*flagged, (0, "--skip-worktree")]
    for word in {word for _, word in flagged}:
        chosen = {sorted(entries)[number % len(entries)] for number, each in flagged if each == word}
        repository.git("update-index", word, "-z", "--stdin", given=b"".join(path + b"\0" for path in chosen))
    if version == 4:
        repository.git("update-index", "--index-version", "4")
    data = repository.index.read_bytes()
    assert data[7] == version or (version == 2 and "--skip-worktree" in dict(flagged).values()) or data[7] == 3
    index = read_index(data, 0)
    told = repository.told()
    assert {path: (flags_of(staged), 0) for path, staged in index.staged.items()} == told
    if version != 4:  # the very bytes
        entries_end = len(index.staged.to_bytes())
        assert index.staged.to_bytes() == data[:entries_end]
    repository.write(index.staged)
    assert repository.told() == told
    assert len(data) > CHECKSUM_SIZE


def test_entries_of_a_merge_are_told_apart(repository: Repository) -> None:
    repository.index.unlink(missing_ok=True)
    lines = [f"100644 {'12' * 20} {stage}\tfunctions/a/area.py" for stage in (1, 2, 3)]
    lines.append(f"100644 {'34' * 20} 0\tvalues/r/RATE.py")
    repository.git("update-index", "--index-info", given="".join(f"{line}\n" for line in lines).encode())
    index = read_index(repository.index.read_bytes(), 0)
    assert index.conflicted == {b"functions/a/area.py"}
    assert list(index.staged) == [b"values/r/RATE.py"]


@pytest.mark.parametrize("size", range(62 + len("area.py") + 1))
def test_a_part_of_an_entry_is_none(size: int) -> None:
    packed = pack(b"area.py", Staged(Entry(0o100644, "12" * 20), Stat(*[0] * 9)))
    with pytest.raises((IndexError, ValueError, struct.error)):
        cut_out(packed[:size], 0, b"", 2)
