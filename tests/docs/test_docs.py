"""README and the pages of docs/: what they say to run runs, and shows what they say it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kernel.driver import Kernel
from tests.kernel.home import Home

from .blocks import Block, Unclear, agrees, blocks_of

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# `make` is only asked whether it would: what it does is run elsewhere (tests/tour; .ci/run calls `make test`).
# pip installs into a folder of the test's own.
PREAMBLE = """
make() { command make -n "$@" >/dev/null; }
pip() { command python -m pip --quiet "$@" --no-deps --no-index --no-build-isolation --target "$HOME/site"; }
"""


class Reader:
    """Ada Lovelace, who does what a page says, in a clone of the repository."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        environ = self.home.environ
        for name in ("PERDURE_LAYER", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
            del environ[name]  # she has everything where the system has it by default
        environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environ["PATH"]))
        environ["JUPYTER_PREFER_ENV_PATH"] = "0"
        self._clone = root / "clone"
        self._kernel: Kernel | None = None

    def does(self, block: Block) -> str:
        """What `block` shows."""
        shown = self._shell(block.text) if block.language == "sh" else self._cell(block)
        return shown.replace(self.home.environ["HOME"], "/home/ada")

    def leaves(self) -> None:
        if self._kernel is not None:
            self._kernel.kill()

    def _cell(self, block: Block) -> str:
        if self._kernel is None:
            self._kernel = Kernel(self.home).start()
        elif block.restarted:
            self._kernel.restart()
        answer = self._kernel.run(block.text, kind="console")
        said = (answer.stdout, answer.stderr, answer.value, answer.error, *answer.notices)
        return "\n".join(part.strip("\n") for part in said if part)

    def _shell(self, script: str) -> str:
        if not self._clone.exists():
            listed = subprocess.run(
                ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for name in filter(None, listed.split("\0")):
                (self._clone / name).parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).exists():
                    shutil.copy(ROOT / name, self._clone / name, follow_symlinks=False)
        done = subprocess.run(
            ("sh", "-euc", PREAMBLE + script),
            cwd=self._clone,
            env=self.home.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    reader = Reader(tmp_path)
    yield reader
    reader.leaves()


@pytest.mark.skipif(sys.platform != "linux", reason="the pages show the paths of Linux")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_says_to_run_shows_what_it_says(page: Path, reader: Reader) -> None:
    for block in blocks_of(page):
        shown = reader.does(block)
        # Of commands whose output the page leaves out, only success is asked.
        if block.language == "python" or block.shows:
            assert agrees(shown, block.shows), f"{page.name}, line {block.line} shows:\n{shown}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(there), f"{page.name}: {target}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    named = {*re.findall(r"`make ([a-z-]+)", text)}
    for block in re.findall(r"^```.*?^```$", text, re.MULTILINE | re.DOTALL):
        named.update(re.findall(r"(?:^|  )make ([a-z-]+)", block, re.MULTILINE))
    assert named <= targets


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_readme_begins_with_what_it_is_and_how_to_see_it() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40])
    assert "<!-- restart -->" in first_screen
    assert "make demo\nmake test" in first_screen


# The reading of pages itself.


def page_of(folder: Path, text: str) -> Path:
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    return page


def test_a_text_belongs_to_the_block_right_before_it(tmp_path: Path) -> None:
    page = page_of(tmp_path, "```python\n1\n```\n```text\n1\n```\n\n<!-- restart -->\n```sh\nls\n```\n")
    assert list(blocks_of(page)) == [
        Block("python", "1", "1\n", 1, restarted=False),
        Block("sh", "ls", "", 9, restarted=True),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("```text\n1\n```\n", "output of nothing"),
        ("```python\n1\n```\n\n```text\n1\n```\n", "output of nothing"),
        ("```console\n$ ls\n```\n", "'console'"),
        ("```python\n1\n", "not closed"),
    ],
)
def test_what_no_rule_covers_is_refused(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(Unclear, match=why):
        list(blocks_of(page_of(tmp_path, text)))


def test_an_ellipsis_stands_for_anything_on_its_line() -> None:
    assert agrees("commit 12ab\n\n  keep f\n", "commit …\n\n  keep f")
    assert not agrees("commit 12ab\nkeep f", "commit …")
    assert not agrees("", "1")


def test_a_page_that_is_wrong_is_noticed(tmp_path: Path) -> None:
    reader = Reader(tmp_path / "home")
    try:
        page = page_of(tmp_path, "```python\ndef area(r): return 3 * r * r\n```\n```text\n[layer: kept volume]\n```\n")
        (block,) = blocks_of(page)
        shown = reader.does(block)
        assert shown == "[layer: kept area]"
        assert not agrees(shown, block.shows)
        with pytest.raises(AssertionError, match="no-such-command"):
            reader.does(Block("sh", "no-such-command", "", 1, restarted=False))
    finally:
        reader.leaves()
