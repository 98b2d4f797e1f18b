"""GitStore beside other processes, threads and signals."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.layer import git as git_module
from perdure.layer import git_commit
from perdure.layer.definition import RelPath
from perdure.layer.disk import RealDisk
from perdure.layer.errors import StoreBusy
from perdure.layer.git import GitStore
from perdure.layer.store import Change, Remove, Write

from .git_cli import ADA, AREA, KEEP, RATE, Git, opened, put

pytestmark = pytest.mark.usefixtures("no_git_configuration")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_commit, "WAIT", 0.05)
    monkeypatch.setattr(git_module, "WAIT", 0.05)


def test_a_lock_of_git_is_respected(path: Path, store: GitStore, git: Git, impatient: None) -> None:
    store, lock = opened(path), path / ".git/refs/heads/main.lock"
    put(lock, "somebody's")
    before = (path / ".git/index").read_bytes()
    with pytest.raises(StoreBusy, match=r"refs/heads/main\.lock"):
        store.commit([Write(RATE, b"")], KEEP)
    assert lock.read_text() == "somebody's"
    assert not (path / RATE).exists()
    assert (path / ".git/index").read_bytes() == before
    lock.unlink()
    git.check()
    store.commit([Write(RATE, b"")], KEEP)
    git.check()


def test_another_kernel_that_does_not_let_go(store: GitStore, git: Git, path: Path, impatient: None) -> None:
    with open(path / ".git/perdure.lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreBusy, match=r"perdure.lock has been held by another program for 0.05 s"):
            store.commit([Write(RATE, b"")], KEEP)
    store.commit([Write(RATE, b"")], KEEP)
    git.check()


def test_a_lock_that_is_let_go_is_waited_for(store: GitStore, git: Git, path: Path) -> None:
    lock = path / ".git/index.lock"
    lock.touch()
    timer = threading.Timer(0.05, lock.unlink)
    timer.start()
    assert store.commit([Write(RATE, b"")], KEEP)
    timer.join()
    git.check()


WRITER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from perdure.layer.definition import RelPath
    from perdure.layer.disk import RealDisk
    from perdure.layer.git import GitStore
    from perdure.layer.store import Identity, Message, Write

    path, who, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    store = GitStore.open(path, author=Identity(who, who), disk=RealDisk())
    for i in range(count):
        change = Write(RelPath(f"functions/{who}/{who}{i}.py"), b"%d" % i)
        print(store.commit([change], Message(f"{who} {i}")), flush=True)
    """
)


def test_two_processes_and_the_command_line_lose_nothing(store: GitStore, git: Git, path: Path) -> None:
    count = 25
    here = Path(__file__).parents[2]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), who, str(count)], stdout=subprocess.PIPE, text=True, cwd=here
        )
        for who in ("p", "q")
    ]
    by_hand = 0
    while any(writer.poll() is None for writer in writers):
        put(path / f"hand{by_hand}.txt", "")
        git("add", f"hand{by_hand}.txt", ok=False)  # the lock may be taken: git does not wait
        git("commit", "-qm", f"hand {by_hand}", ok=False)
        by_hand += 1
    told = [line.strip() for writer in writers for line in writer.communicate()[0].splitlines()]
    assert len(told) == 2 * count
    assert [writer.returncode for writer in writers] == [0, 0]
    history = git("log", "--format=%H").split()
    assert set(told) <= set(history)
    # `git commit` can overwrite the index with an older one, and its next commit then leaves a file out (which
    # `_stage_again` narrows); the file itself is there, and comes back with the next `git add`.
    assert store.files().keys() == {AREA} | {f"functions/{who}/{who}{i}.py" for who in "pq" for i in range(count)}
    git("add", ".")
    git("commit", "-qm", "the rest", ok=False)
    git.check()
    assert by_hand > 3


class Meanwhile(RealDisk):
    """Does something once, before a lock is taken: when another process might."""

    def __init__(self, lock: str, work: Callable[[], object]) -> None:
        self.lock = lock
        self.work = [work]

    def link(self, source: Path, target: Path) -> None:
        if target.name == self.lock and self.work:
            self.work.pop()()
        super().link(source, target)


@pytest.mark.parametrize("lock", ["index.lock", "main.lock"])
def test_a_commit_on_a_head_that_moves(store: GitStore, git: Git, path: Path, lock: str) -> None:
    def by_hand() -> None:
        put(path / "functions/b/hand.py", "")
        git("add", "functions/b/hand.py")
        git("commit", "-qm", "by hand", "--", "functions/b/hand.py")

    ours = GitStore.open(path, author=ADA, disk=Meanwhile(lock, by_hand)).commit([Write(RATE, b"")], KEEP)
    git.check()
    assert git("log", "--format=%s") == "keep area\nby hand\nstart\n"
    assert git("rev-parse", "HEAD").strip() == ours
    assert git("show", "--format=", "--name-only") == f"{RATE}\n"


def test_a_commit_by_hand_that_takes_ours_along(store: GitStore, git: Git, path: Path) -> None:
    disk = Meanwhile("main.lock", lambda: git("commit", "-qm", "by hand"))
    ours = GitStore.open(path, author=ADA, disk=disk).commit([Write(RATE, b"")], KEEP)
    git.check()
    assert git("log", "--format=%s") == "by hand\nstart\n"
    assert git("rev-parse", "HEAD").strip() == ours


def test_a_branch_that_is_switched_meanwhile(store: GitStore, git: Git, path: Path) -> None:
    disk = Meanwhile("main.lock", lambda: git("switch", "-q", "-c", "other"))
    GitStore.open(path, author=ADA, disk=disk).commit([Write(RATE, b"")], KEEP)
    git.check()
    assert git("log", "--format=%s", "other") == "keep area\nstart\n"
    assert git("log", "--format=%s", "main") == "start\n"


def test_an_index_written_from_an_older_one_gets_our_entries_again(store: GitStore, git: Git, path: Path) -> None:
    """As `git commit` does, which reads the index before it takes the lock."""
    index, lock = path / ".git/index", path / ".git/index.lock"

    class Overwriting(RealDisk):
        def remove(self, path: Path, *, synced: bool = True) -> None:
            super().remove(path, synced=synced)
            if path == lock and older:
                put(path.with_name("another"), older.pop())
                os.rename(path.with_name("another"), index)

    put(path / "mine.txt", "")
    git("add", "mine.txt")
    older = [index.read_bytes()]
    changes: list[Change] = [Write(RATE, b""), Write(AREA, b"2"), Remove(RelPath("__init__.py"))]
    GitStore.open(path, author=ADA, disk=Overwriting()).commit(changes, KEEP)
    assert older == []
    git.check("A  mine.txt\n")


def test_processes_that_make_the_same_layer_at_once(path: Path, no_git_configuration: Path) -> None:
    script = "import sys; from pathlib import Path; from tests.layer.git_cli import created; created(Path(sys.argv[1]))"
    here = Path(__file__).parents[2]
    makers = [subprocess.Popen([sys.executable, "-c", script, str(path)], cwd=here) for _ in range(4)]
    assert [maker.wait() for maker in makers] == [0, 0, 0, 0]
    git = Git(path)
    git.check()
    assert git("log", "--format=%s") == "start\n"


def test_threads_take_turns(store: GitStore, git: Git) -> None:
    def work(who: int) -> None:
        for i in range(10):
            store.commit([Write(RelPath(f"values/{who}/v{i}.py"), b"")], KEEP)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.log()) == 41
    git.check()


def test_an_interrupt_waits_until_the_commit_is_whole(store: GitStore, git: Git, interruptible: None) -> None:
    class Interrupting(RealDisk):
        """Sends SIGINT at every write."""

        def write(
            self, path: Path, data: bytes, *, mode: int = 0o600, synced: bool = True, begun_in: Path | None = None
        ) -> os.stat_result:
            signal.raise_signal(signal.SIGINT)
            return super().write(path, data, mode=mode, synced=synced, begun_in=begun_in)

    interrupting = GitStore.open(store.path, author=ADA, disk=Interrupting())
    with pytest.raises(KeyboardInterrupt):
        interrupting.commit([Write(RATE, b"")], KEEP)
    git.check()
    assert git("log", "-1", "--format=%s") == "keep area\n"
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_folder_of_objects_that_git_takes_away_meanwhile(path: Path, store: GitStore, git: Git) -> None:
    class Clearing(RealDisk):
        left = 3

        def make_folder(self, path: Path, *, synced: bool = False) -> None:
            super().make_folder(path, synced=synced)
            if path.parent.name == "objects" and self.left and not os.listdir(path):
                self.left -= 1
                path.rmdir()

    disk = Clearing()
    assert GitStore.open(path, author=ADA, disk=disk).commit([Write(RATE, b"RATE = 2\n")], KEEP)
    git.check()
