"""The repository that GitStore makes and the commits in it, as the git command line finds them."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.layer.definition import RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.errors import LayerUnusable, StoreFault
from perdure.layer.git import GitStore
from perdure.layer.git_commit import _in_turn
from perdure.layer.git_tree import FILE, Entry
from perdure.layer.store import Dirt, Identity, Message, NotRead, Remove, Write
from tests.modes import binding

from .git_cli import ADA, AREA, FILES, KEEP, RATE, Git, created, opened, put

pytestmark = pytest.mark.usefixtures("no_git_configuration")


def test_a_new_layer(store: GitStore, git: Git) -> None:
    git.check()
    assert git("symbolic-ref", "HEAD") == "refs/heads/main\n"
    assert git("log", "--format=%an <%ae> %cn <%ce> %s") == "Ada Lovelace <ada@example.org> " * 2 + "start\n"
    assert git("config", "gc.auto") == "0\n"
    assert store.head() == git("rev-parse", "HEAD").strip()


def test_only_the_user_can_read_it(store: GitStore, git: Git, path: Path) -> None:
    store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    # What the command line adds is for the user only, too; below 0700 the modes of files it checks out do not matter.
    git("commit", "--allow-empty", "-m", "by hand")
    open_to_others = [file.name for file in (path, *path.rglob("*")) if file.stat().st_mode & 0o077]
    assert open_to_others == ["COMMIT_EDITMSG"]
    assert stat.S_IMODE((path / AREA).stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_an_existing_empty_folder_becomes_a_layer(path: Path) -> None:
    path.mkdir()
    created(path)
    Git(path).check()


def test_one_that_was_not_finished_is_completed(path: Path) -> None:
    GitStore.create(path, {}, Message("start"), author=ADA, disk=RealDisk())
    (path / ".git" / "HEAD").unlink()  # the last of the files that make a repository
    put(path / "__init__.py", "")
    with pytest.raises(LayerUnusable, match="no git repository"):
        opened(path)
    store = created(path)
    assert len(store.log()) == 1
    Git(path).check()


def test_the_first_commit_of_a_repository_made_by_git(tmp_path: Path) -> None:
    git = Git(tmp_path)
    git("init", "-q", "-b", "trunk")
    store = opened(tmp_path)
    assert (store.head(), store.log(), store.dirt(), store.files()) == (None, (), Dirt(), {})
    assert store.commit([Remove(AREA)], KEEP) is None
    store.commit([Write(AREA, b"")], KEEP)
    git.check()
    assert git("log", "--format=%s", "trunk") == "keep area\n"
    assert "commit (initial): keep area" in git("reflog")


def test_a_folder_without_a_repository(tmp_path: Path) -> None:
    with pytest.raises(LayerUnusable, match=r"is no git repository of its own; .*git init"):
        opened(tmp_path)


def test_message_and_trailers_are_as_git_reads_them(store: GitStore, git: Git) -> None:
    trailers = (("Session", "s-1a2b3c4d"), ("Cell", "In[12]"), ("Notebook", "analysis é.ipynb"))
    store.commit(
        [Write(RATE, b"")], Message("keep RATE", "The yearly rate.\n\nNote: not a trailer, for it is above.", trailers)
    )
    expected = "".join(f"{name}: {value}\n" for name, value in trailers)
    assert git("log", "-1", "--format=%(trailers)") == expected + "\n"
    message = git("log", "-1", "--format=%B")
    parsed = subprocess.run(
        ["git", "interpret-trailers", "--parse"], input=message, capture_output=True, text=True, check=True
    )
    assert parsed.stdout == expected
    assert git("log", "-1", "--format=%s|%b").startswith("keep RATE|The yearly rate.\n\nNote: not a trailer")


def test_time_and_reflog(store: GitStore, git: Git) -> None:
    before = int(time.time())
    first = store.head()
    commit = store.commit([Write(RATE, b"")], KEEP)
    when, offset = git("log", "-1", "--format=%ad", "--date=raw").split()
    assert before <= int(when) <= time.time()
    assert offset == time.strftime("%z")
    assert store.log(1)[0].time.timestamp() == int(when)
    for log in ("HEAD", "refs/heads/main"):
        last = (git.path / ".git/logs" / log).read_text().splitlines()[-1]
        assert last == f"{first} {commit} Ada Lovelace <ada@example.org> {when} {offset}\tcommit: keep area"
    assert git("rev-parse", "HEAD@{1}").strip() == first


@pytest.mark.parametrize(
    ("zone", "offset"),
    [("UTC+24", "+0000"), ("XXX-25:17", "+0000"), ("XXX-1:02:03", "+0000"), ("XXX-5:45", "+0545")],
)
def test_any_time_zone(store: GitStore, git: Git, monkeypatch: pytest.MonkeyPatch, zone: str, offset: str) -> None:
    try:
        with monkeypatch.context() as patch:
            patch.setenv("TZ", zone)
            time.tzset()
            store.commit([Write(RATE, b"")], KEEP)
    finally:
        time.tzset()
    git.check()
    assert git("log", "-1", "--format=%ad", "--date=raw").split()[1] == offset
    assert abs(store.log(1)[0].time.timestamp() - time.time()) < 60


def test_a_commit_of_a_time_zone_that_python_does_not_know(store: GitStore, git: Git) -> None:
    git("commit", "--allow-empty", "-qm", "by hand", "--date=1700000000 +2500")
    assert store.log(1)[0].time == datetime.fromtimestamp(1_700_000_000, UTC)


@pytest.mark.parametrize("name", ["<Ada>\n", " Ada. ", "", "Ada\0", "Åda Ł", "tree 123"])
def test_any_name_gives_a_sound_commit(tmp_path: Path, name: str) -> None:
    who = Identity(name, "a<b>@c\n")
    GitStore.create(tmp_path, FILES, Message("start"), author=who, disk=RealDisk())
    Git(tmp_path).check()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.text(), st.text(), st.lists(st.tuples(st.from_regex(r"[A-Za-z]+", fullmatch=True), st.text("ab :")), max_size=2)
)
def test_any_message_is_read_as_git_reads_it(
    tmp_path_factory: pytest.TempPathFactory, subject: str, body: str, trailers: Sequence[tuple[str, str]]
) -> None:
    path = tmp_path_factory.mktemp("layer")
    store = GitStore.create(path, FILES, Message(subject, body, tuple(trailers)), author=ADA, disk=RealDisk())
    git = Git(path)
    git("fsck", "--strict")
    assert store.log()[0].id == git("rev-parse", "HEAD").strip()


def test_a_removal_takes_empty_folders_along(store: GitStore, git: Git, path: Path) -> None:
    deep = RelPath("functions/b/c/d.py")
    store.commit([Write(deep, b""), Write(RATE, b"")], KEEP)
    store.commit([Remove(deep), Remove(RATE)], KEEP)
    git.check()
    assert not (path / "values").exists()
    assert [folder.name for folder in (path / "functions").iterdir()] == ["a"]


def test_everything_removed_and_nothing_removed_again(store: GitStore, git: Git) -> None:
    store.commit([Remove(path) for path in FILES], KEEP)
    git.check()
    assert store.commit([Remove(path) for path in FILES], KEEP) is None
    store.commit([Write(AREA, b"")], KEEP)
    git.check()


def test_names_that_sort_oddly(store: GitStore, git: Git) -> None:
    # Git sorts the folder `a` as `a/`, that is after `a.py` and `a-b`.
    names = ["values/a/x.py", "values/a.py", "values/a-b/x.py", "values/a0.py", "values/é.py", "values/a/b/c/d/e.py"]
    store.commit([Write(RelPath(name), name.encode()) for name in names], KEEP)
    git.check()
    store.commit([Remove(RelPath("values/a.py")), Write(RelPath("values/a/y.py"), b"")], KEEP)
    git.check()


def test_a_file_that_gave_way_to_a_folder(store: GitStore, git: Git, path: Path) -> None:
    put(path / "values/a", "")
    git("add", "values")
    git("commit", "-m", "a file")
    (path / "values/a").unlink()
    store.commit([Write(RelPath("values/a/x.py"), b"")], KEEP)
    git.check()
    os.rename(path / "values/a", path / "elsewhere")
    store.commit([Write(RelPath("values/a"), b"")], KEEP)
    git.check("?? elsewhere/x.py\n")


def test_long_names_and_many_files(store: GitStore, git: Git) -> None:
    names = [f"functions/{chr(97 + i % 26)}/{'n' * (i % 180)}{i}.py" for i in range(700)]
    store.commit([Write(RelPath(name), name.encode()) for name in names], KEEP)
    git.check()
    assert not store.dirt()


def test_other_settings_of_git_change_no_byte(store: GitStore, git: Git, no_git_configuration: Path) -> None:
    no_git_configuration.write_text("[core]\n\tautocrlf = true\n\tsafecrlf = true\n[commit]\n\tgpgsign = true\n")
    data = b"RATE = 1\r\nSTEP = '\n'\n"
    store.commit([Write(RATE, data)], KEEP)
    git.check()
    assert git("cat-file", "blob", f"HEAD:{RATE}").encode() == data.replace(b"\r\n", b"\n")  # text mode of the test
    git("checkout", "--", ".")
    assert store.files()[RATE] == data


def test_on_a_file_system_blind_to_case_nothing_written_is_removed_again() -> None:
    entry = Entry(FILE, "0" * 40)
    moved = {RelPath("c/f/foo.py"): entry, RelPath("c/f/Foo.py"): None, RelPath("c/f/Foo~1.py"): entry}
    order = _in_turn({**moved, RelPath("c/f/old.py"): None})
    assert order.index(RelPath("c/f/Foo.py")) < order.index(RelPath("c/f/foo.py"))
    assert order[-1] == "c/f/old.py"


def test_a_file_that_cannot_be_read_is_said_so_alone(store: GitStore, git: Git, path: Path) -> None:
    store.commit([Write(RATE, b"RATE = 1\n")], KEEP)
    (path / AREA).chmod(0)
    with binding():
        assert store.files() == {AREA: b"Permission denied", RATE: b"RATE = 1\n"}
        assert isinstance(store.files()[AREA], NotRead)
        assert store.dirt() == Dirt(changed=(AREA,))  # as for git
        with pytest.raises(StoreFault, match="Permission denied"):
            store.file(AREA)
        store.commit([Write(RATE, b"RATE = 2\n")], KEEP)
    (path / AREA).chmod(0o600)
    git.check()


def test_a_look_at_head_moves_no_mark(store: GitStore, path: Path) -> None:
    another = opened(path)
    mark = another.mark()
    another.head()
    assert another.mark() == mark
    store.commit([Write(AREA, b"2")], KEEP)
    assert another.mark() != mark
