"""What becomes of what a hand did to definition files: the judgement, and it done in a real repository."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.drafts import Drafts
from perdure.layer.errors import StoreFault
from perdure.layer.git import GitStore
from perdure.layer.handwork import Handwork, Judged, Torn, judge
from perdure.layer.opening import Ready, open_layer
from perdure.layer.place import Homes, Origin, Place
from perdure.layer.store import Write

from .cells import Cells, Events
from .git_cli import ADA, AREA, KEEP, RATE, Git, opened, put
from .made_up import MADE_UP
from .test_git_others import conflict

GOOD = b"def area(r):\n    return r\n"
SECRET = f"API_KEY = {MADE_UP['Anthropic']!r}\n".encode()
HALF = b"def area(r:\n    ret"


@pytest.mark.parametrize(
    ("found", "committed", "judged"),
    [
        (GOOD, None, Judged(adopt={AREA: GOOD})),
        (GOOD, HALF, Judged(adopt={AREA: GOOD})),
        (None, GOOD, Judged(adopt={AREA: None})),
        (b"", GOOD, Judged(restore={AREA: Torn(b"", GOOD, "was empty")})),
        (b" \n", GOOD, Judged(restore={AREA: Torn(b" \n", GOOD, "was empty")})),
        (
            HALF,
            GOOD,
            Judged(restore={AREA: Torn(HALF, GOOD, "could not be read (line 1: '(' was never closed)")}),
        ),
        (
            b"\xff = 1\n",
            GOOD,
            Judged(restore={AREA: Torn(b"\xff = 1\n", GOOD, "could not be read (line 1: it is not UTF-8 text)")}),
        ),
        (
            b"<<<<<<< HEAD\nA = 1\n=======\nA = 2\n>>>>>>> x\n",
            GOOD,
            Judged(
                restore={
                    AREA: Torn(
                        b"<<<<<<< HEAD\nA = 1\n=======\nA = 2\n>>>>>>> x\n",
                        GOOD,
                        "could not be read (line 1: it has merge conflict markers)",
                    )
                }
            ),
        ),
        (HALF, None, Judged(left=(AREA,))),
        (b"", None, Judged(left=(AREA,))),
        (b"", HALF, Judged(left=(AREA,))),
        (SECRET, GOOD, Judged(secrets={AREA: "API_KEY"})),
        (SECRET, None, Judged(secrets={AREA: "API_KEY"})),
        (SECRET + b"# more\n", SECRET, Judged(adopt={AREA: SECRET + b"# more\n"})),
    ],
)
def test_judge(found: bytes | None, committed: bytes | None, judged: Judged) -> None:
    assert judge({AREA: found}, lambda _: committed) == judged


def test_a_copied_layer_is_left_to_its_user() -> None:
    files: dict[RelPath, bytes | None] = {RelPath(f"values/v/V{n}.py"): b"V = 1\n" for n in range(3)}
    assert judge(files, lambda _: None, most=2) == Judged(left=tuple(files))


def test_drafts_lose_nothing(tmp_path: Path) -> None:
    drafts = Drafts(tmp_path / "drafts", RealDisk())
    one, two = drafts.keep(AREA, b"one"), drafts.keep(AREA, b"two")
    assert [drafts.keep(AREA, b"one"), drafts.keep(AREA, b"two")] == [one, two]
    assert (one.read_bytes(), two.read_bytes()) == (b"one", b"two")
    assert (one.name, two.name) == ("area.py", "area.2.py")


# In a repository.


def objects(path: Path) -> bytes:
    """All that git stores."""
    words = ["git", "cat-file", "--batch-all-objects", "--batch"]
    return subprocess.run(words, cwd=path, capture_output=True, check=True).stdout


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    return tmp_path / "drafts"


@pytest.fixture
def boot(path: Path, store: GitStore, drafts: Path) -> Callable[[], Cells]:
    """Starts kernels on the layer of `store`, where AREA and RATE are."""
    store.commit([Write(AREA, GOOD), Write(RATE, b"RATE = 1\n")], KEEP)

    def start() -> Cells:
        cells = Cells(opened(path), root=path, drafts=drafts)
        cells.boot()
        return cells

    return start


def reconciled(cells: Cells) -> Handwork:
    cells.layer.reconcile()
    done, cells.layer.handwork = cells.layer.handwork, None
    return done or Handwork()


def test_hand_edits_are_adopted_in_one_commit(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    put(path / AREA, GOOD + b"# by hand\n")
    (path / RATE).unlink()
    put(path / "functions/n/new.py", "def new(): return 'new'\n")
    put(path / "notes.txt", "mine")
    cells = boot()
    done = reconciled(cells)
    assert done == Handwork(adopted=("area", "new"), forgot=("RATE",), left=(RelPath("notes.txt"),))
    git.check("?? notes.txt\n")
    assert git("log", "-1", "--format=%B") == "adopt area, new; forgot RATE\n\nChanged by hand.\n\n"
    assert git("show", "--format=", "--name-status", "HEAD").split() == [
        *("M", AREA, "A", "functions/n/new.py", "D", RATE)
    ]
    assert cells.namespace["new"]() == "new"
    # It is no news to the kernel that did it, which goes on as if it had always been so.
    assert cells.layer.news() is None
    assert not cells.layer.has_moved()
    assert reconciled(cells) == Handwork()
    assert reconciled(boot()) == Handwork(left=(RelPath("notes.txt"),))


def test_once_and_before_anything_is_kept(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    put(path / AREA, GOOD + b"# by hand\n")
    cells = boot()
    cells.run("RATE = 2")
    assert git("log", "--format=%s", "-2") == "keep RATE\nadopt area\n"
    assert cells.layer.handwork == Handwork(adopted=("area",))
    put(path / AREA, GOOD + b"# and again\n")
    cells.run("RATE = 3")
    assert git.dirt().changed == (AREA,)


def test_what_cannot_be_read_is_put_back_and_nothing_is_lost(
    boot: Callable[[], Cells], path: Path, git: Git, drafts: Path
) -> None:
    head = git("rev-parse", "HEAD")
    put(path / AREA, HALF)
    put(path / RATE, "")
    cells = boot()
    assert [skipped.path for skipped in cells.layer.report.skipped] == [AREA, RATE]
    first, second = reconciled(cells).restored
    assert (first.path, second.path, second.why, second.draft) == (AREA, RATE, "was empty", None)
    assert first.draft == drafts / AREA
    assert (drafts / AREA).read_bytes() == HALF
    git.check()
    assert git("rev-parse", "HEAD") == head
    assert ((path / AREA).read_bytes(), (path / RATE).read_bytes()) == (GOOD, b"RATE = 1\n")
    assert cells.layer.refresh().loaded == ("area", "RATE")
    assert cells.namespace["area"](2) == 2
    assert not cells.layer.report.skipped


def test_a_secret_is_not_committed(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    put(path / "values/a/API_KEY.py", SECRET)
    put(path / RATE, SECRET)
    cells = boot()
    assert reconciled(cells).secrets == {RelPath("values/a/API_KEY.py"): "API_KEY", RATE: "API_KEY"}
    assert b"sk-ant" not in objects(path)
    git.check(f" M {RATE}\n?? values/a/API_KEY.py\n")
    # Nor on the way out, when a cell replaces it: it goes where no git is.
    cells.run("RATE = 5")
    git.check("?? values/a/API_KEY.py\n")
    assert b"sk-ant" not in objects(path)
    assert (path.parent / "drafts" / RATE).read_bytes() == SECRET


def test_what_somebody_staged_is_left_alone(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    put(path / AREA, GOOD + b"# staged\n")
    git("add", AREA)
    put(path / RATE, "RATE = 2\n")
    put(path / "values/s/SOON.py", "SOON = 1\n")
    git("add", "-N", "values/s/SOON.py")
    assert reconciled(boot()) == Handwork(adopted=("RATE",), left=(AREA, RelPath("values/s/SOON.py")))
    git.check(f"M  {AREA}\n A values/s/SOON.py\n")


@pytest.mark.parametrize("how", ["merge", "rebase", "cherry-pick"])
def test_in_the_middle_of_a_merge_all_is_left_alone(boot: Callable[[], Cells], path: Path, git: Git, how: str) -> None:
    conflict(git, how)
    put(path / RATE, "")
    status = git("status", "--porcelain")
    assert reconciled(boot()) == Handwork(left=(AREA, RATE))
    assert git("status", "--porcelain") == status
    assert (path / RATE).read_bytes() == b""


def test_a_moved_file_is_one_commit_and_forgets_nothing(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    (path / "functions/z").mkdir()
    (path / AREA).rename(path / "functions/z/area.py")
    assert reconciled(boot()) == Handwork(adopted=("area",))
    git.check()
    assert git("log", "-1", "--format=%s") == "adopt area\n"


def test_an_executable_bit_is_a_change_like_any_other(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    (path / AREA).chmod(0o755)
    assert reconciled(boot()) == Handwork(adopted=("area",))
    git.check()
    assert git("ls-tree", "HEAD", AREA).startswith("100755")


def test_an_edit_after_the_start_is_adopted_and_is_news(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    cells = boot()
    put(path / AREA, GOOD + b"# later\n")
    assert reconciled(cells) == Handwork(adopted=("area",))
    news = cells.layer.news()
    assert news is not None
    assert (news.who, news.kept) == (("git",), ("area",))
    git.check()


def test_a_program_at_work_is_waited_for(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    put(path / AREA, GOOD + b"# by hand\n")
    put(path / ".git/index.lock", "somebody's")
    cells = boot()
    assert reconciled(cells) == Handwork()
    (path / ".git/index.lock").unlink()
    assert reconciled(cells) == Handwork(adopted=("area",))
    git.check()


def test_a_link_is_neither_followed_nor_adopted(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    outside = path.with_name("outside.py")
    put(outside, "def area(): return 'outside'\n")
    (path / AREA).unlink()
    (path / AREA).symlink_to(outside)
    cells = boot()
    (skipped,) = cells.layer.report.skipped
    assert (skipped.path, skipped.reason) == (AREA, "line 1: it cannot be read: it is a symbolic link")
    assert reconciled(cells) == Handwork()
    assert "area" not in cells.namespace
    assert b"outside'" not in objects(path)
    git.check(f" T {AREA}\n")
    # A cell that defines it anew takes the place of the link, and what is outside stays.
    cells.run("def area(): return 'here'")
    git.check()
    assert outside.read_text() == "def area(): return 'outside'\n"
    assert (path / AREA).read_text() == "def area(): return 'here'\n"


def test_a_folder_that_is_a_link_is_left_to_its_user(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    elsewhere = path.with_name("elsewhere")
    (path / "functions/a").rename(elsewhere)
    (path / "functions/a").symlink_to(elsewhere)
    put(path / RATE, "RATE = 2\n")
    cells = boot()
    assert "area" not in cells.namespace
    done = reconciled(cells)
    assert (done.adopted, done.left) == (("RATE",), (RelPath("functions/a"),))
    git.check(f" D {AREA}\n?? functions/a\n")
    cells.run("def area(): return 'here'")
    assert cells.error is None
    assert (elsewhere / "area.py").read_bytes() == GOOD


def test_what_git_by_hand_writes_is_for_no_one_else_either(
    path: Path, git: Git, no_git_configuration: Path, tmp_path: Path
) -> None:
    """With the usual umask git makes files that others may read; nobody gets through the folder above to them."""
    place = Place(tmp_path / "made", "made", Origin.ENVIRONMENT)
    homes = Homes(tmp_path / "data", tmp_path / "state", tmp_path / "cache")

    def ready() -> Ready:
        opening = open_layer(place, homes, author=ADA, disk=RealDisk())
        assert isinstance(opening, Ready)
        return opening

    before = os.umask(0o022)
    try:
        store = ready().store
        store.commit([Write(AREA, GOOD)], KEEP)
        store.commit([Write(AREA, GOOD + b"# more\n"), Write(RATE, b"RATE = 1\n")], KEEP)
        made = Git(place.path)
        made("revert", "--no-edit", "HEAD")
        made("gc", "-q")
    finally:
        os.umask(before)
    assert ready().store.files() == {AREA: GOOD}
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o700
    objects = [file for file in (place.path / ".git/objects").rglob("*") if file.is_file()]
    assert objects
    assert not [file for file in objects if file.stat().st_mode & 0o077]


def test_another_name_of_a_file_keeps_what_it_has(boot: Callable[[], Cells], path: Path, git: Git) -> None:
    """A hard link to a definition is a copy from the next keep on, whoever made it."""
    other = path.with_name("other.py")
    os.link(path / AREA, other)
    boot().run("def area(): return 'new'")
    assert other.read_bytes() == GOOD
    assert (path / AREA).stat().st_nlink == 1
    git.check()


def test_what_was_adopted_is_on_record_as_done_by_hand(boot: Callable[[], Cells], path: Path) -> None:
    put(path / AREA, GOOD + b"# by hand\n")
    (path / RATE).unlink()
    cells = boot()
    reconciled(cells)
    assert isinstance(cells.events, Events)
    head = cells.store.head()
    assert cells.events.recorded == [
        ("definition_recorded", {"key": "area", "path": AREA, "commit": head, "by_hand": True}),
        ("definition_forgotten", {"key": "RATE", "commit": head, "by_hand": True}),
    ]
    # Also what is adopted because a cell is about to replace it.
    put(path / AREA, GOOD + b"# again\n")
    cells.layer.reread()
    cells.run("def area(): ...")
    told = [(name, fields["key"], fields.get("by_hand")) for name, fields in cells.events.recorded[2:]]
    assert told == [("definition_recorded", "area", True), ("definition_recorded", "area", None)]


def test_an_adoption_that_cannot_be_recorded_is_told(
    boot: Callable[[], Cells], path: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object, **__: object) -> None:
        raise StoreFault(path, OSError(errno.ENOSPC, "No space left on device"))

    put(path / AREA, GOOD + b"# by hand\n")
    cells = boot()
    monkeypatch.setattr(cells.events, "add", refuses)
    done = reconciled(cells)
    assert done.adopted == ("area",)
    assert done.fault.startswith("adopted, but not on record: ")
    git.check()
