"""The process that writes a bundle for the next start, at low priority, and how it is told to.

It reads the files anew, and writes only what is still as the kernel loaded it, and no secret of a file that no commit
has. Nothing of them is run here.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

from .aside import HOUSE, leave
from .boot_cache import YOUNG, Bundle, Plan, bundle_file, edition, write
from .boot_files import Known
from .boot_journal import mark_of
from .definition import RelPath
from .disk import RealDisk, is_temporary
from .errors import LayerError, UnreadableFile
from .facts import Facts, facts_of, to_plain
from .fileformat import decode
from .git_files import definition_files, definition_stamps
from .given import owner_of
from .install import compile_file
from .secret import suspect
from .starting import Bundling
from .store import Stamp

# It needs nothing of the kernel's path but us, and what lies on that may have names of the standard library, or ours.
_PROGRAM = (
    "import os, sys; data = sys.stdin.buffer.read(); os.fork() and os._exit(0); import marshal; "
    f"job = marshal.loads(data); sys.path.append({HOUSE!r}); from perdure.layer.bundling import main; main(job)"
)
_NICE = 19
_ABANDONED = 3600  # seconds: what was not written to its end by then never is


def write_in_background(cache: Path, bundlings: list[Bundling]) -> None:
    """Have the bundles written by another process. Raises nothing: without them the next start is slower."""
    job = marshal.dumps({"cache": str(cache), "bundles": [*map(as_plain, bundlings)]})
    leave([sys.executable, "-P", *["-O"] * sys.flags.optimize, "-c", _PROGRAM], data=job)


def as_plain(bundling: Bundling) -> dict[str, Any]:
    """What the other process has to be told of it, as values that `marshal` writes."""
    recipe = bundling.recipe
    return {
        "root": str(bundling.root),
        "name": bundling.name,
        "before": bundling.before,
        "defers": bundling.defers,
        "marks": dict(bundling.marks),
        "loaded": recipe.loaded,
        "foreign": dict(recipe.foreign),
        "waiting": dict(recipe.waiting),
        "hidden": recipe.hidden,
        "ambient": recipe.ambient,
        "cheap": dict(recipe.answers.cheap),
        "there": dict(recipe.answers.there),
        "is_whole": recipe.is_whole,
    }


def main(job: Mapping[str, Any]) -> None:
    """Write the bundles of the job; runs in the process that nobody waits for."""
    os.nice(_NICE)
    for told in job["bundles"]:
        with suppress(LayerError, OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            bundle(Path(job["cache"]), told)


def bundle(cache: Path, told: Mapping[str, Any], young: int = YOUNG) -> None:
    """Write one bundle, unless files are no more as they were loaded. `young`: as `YOUNG`.

    Raises:
        LayerError, OSError: files cannot be read, or the bundle not be written.
        SyntaxError, ValueError, RecursionError, MemoryError: a file cannot be compiled.
    """
    root, marks = Path(told["root"]), told["marks"]
    _let_age(definition_stamps(root), young)
    now, stamps = time.time_ns(), definition_stamps(root)
    files = definition_files(root)
    if {path: mark_of(path, data) for path, data in files.items()} != marks or stamps != definition_stamps(root):
        return
    file = bundle_file(cache, root)
    known = _known(Bundle.read(file), root, files)
    facts: dict[RelPath, tuple[bytes, tuple[Any, ...]]] = {}
    names: set[str] = set()
    committed = _Committed(root)
    for path, data in files.items():
        try:
            found = known[path].facts if path in known else _facts(path, data, committed)
        except (UnreadableFile, RecursionError):
            found = None
        if found is None:
            continue  # read anew by each start
        facts[path] = (data, to_plain(found))
        names |= found.bound | {*found.definition.gives}
        names |= {owner for name in found.definition.gives if (owner := owner_of(name))}
    paths = tuple(facts)
    number_of = {path: number for number, path in enumerate(paths)}
    codes: list[CodeType] = []
    loaded = [path for path in told["loaded"] if path in facts]
    for path in loaded:
        code = known[path].code if path in known else None
        codes.append(code or compile_file(decode(path, files[path]), str(root / path)).code)
    plan = Plan(
        edition=edition(),
        root=told["root"],
        name=told["name"],
        before=tuple(told["before"]),
        defers=told["defers"],
        paths=paths,
        stamps=tuple(stamps[path] for path in paths),
        young=tuple(number for number, path in enumerate(paths) if max(stamps[path][2:]) > now - young),
        marks=tuple(marks[path] for path in paths),
        loaded=tuple(number_of[path] for path in loaded),
        foreign={number_of[path]: names for path, names in told["foreign"].items() if path in facts},
        waiting={number_of[path]: packages for path, packages in told["waiting"].items() if path in facts},
        hidden=told["hidden"],
        ambient=told["ambient"],
        cheap=told["cheap"],
        there=told["there"],
        is_whole=told["is_whole"],
        names=frozenset(names),
    )
    _clear(file.parent)
    write(file, RealDisk(), plan, codes, [*facts.values()])


class _Committed:
    """What the last commit of the folder's repository has; asked of few files, if of any."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, path: RelPath, data: bytes) -> bool:
        """Whether the file at `path` stands there as `data`; so it does where there is no repository to tell."""
        if not (self._root / ".git").exists():
            return True
        from .git import GitStore

        store = GitStore(self._root, None, RealDisk())
        head = store.head()
        return head is not None and store.show(head, path) == data


def _facts(path: RelPath, data: bytes, committed: _Committed) -> Facts | None:
    """What a bundle has of the file; None where that would be a secret that somebody wrote there by hand.

    Raises:
        UnreadableFile, RecursionError: as `facts_of`.
    """
    facts, tree = facts_of(path, data)
    try:
        return None if suspect(facts.text, tree) and not committed.has(path, data) else facts
    except LayerError:  # nobody knows
        return None


def _clear(folder: Path) -> None:
    """Take away what those left behind that were killed as they wrote."""
    for path in folder.glob(".*"):
        with suppress(OSError):
            if is_temporary(path.name) and path.stat().st_mtime < time.time() - _ABANDONED:
                path.unlink()


def _known(earlier: Bundle | None, root: Path, files: Mapping[RelPath, bytes]) -> Mapping[RelPath, Known]:
    """What need not be read again."""
    if earlier is None:
        return {}
    kept = earlier.files()  # a mark is no proof that two texts are the same
    same = {number for number, path in enumerate(earlier.plan.paths) if kept[path] == files.get(path)}
    return earlier.known(same, with_code=earlier.plan.root == str(root))


def _let_age(stamps: Mapping[RelPath, Stamp], young: int) -> None:
    """Wait until the youngest file is so old that its next change has another stamp, if it is young at all."""
    newest = max((max(stamp[2:]) for stamp in stamps.values()), default=0)
    left = newest + young - time.time_ns()
    if 0 < left <= young:
        time.sleep(left / 1e9)
