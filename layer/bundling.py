"""The process that writes a bundle for the next start, at low priority, and how it is told to.

It reads the files anew, and writes only what is still as the kernel loaded it, and no secret of a file that no commit
has. Nothing of them is run here.
"""

from __future__ import annotations

import marshal
import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any

from .aside import HOUSE, leave
from .boot_cache import YOUNG, Bundle, Damaged, Listing, Plan, bundle_file, edition, write
from .boot_files import Known
from .boot_journal import BootJournal, mark_of
from .definition import RelPath
from .disk import RealDisk, is_temporary
from .errors import LayerError, UnreadableFile
from .facts import Facts, facts_of, shared, to_plain
from .fileformat import decode
from .git_files import definition_files, definition_stamps, is_as_seen, seen
from .given import owner_of
from .install import compile_file
from .secret import suspect
from .slots import fact
from .source import parse
from .starting import Bundling
from .store import Seen, Stamp
from .together import merged, runs

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
    now, stamps, looked = time.time_ns(), definition_stamps(root), seen(root)
    files = definition_files(root)
    if {path: mark_of(path, data) for path, data in files.items()} != marks or stamps != definition_stamps(root):
        return
    if looked is None or not is_as_seen(root, looked):
        looked = Seen((), b"")
    file = bundle_file(cache, root)
    earlier = Earlier.read(file, root, files)
    facts: dict[RelPath, tuple[bytes, tuple[Any, ...]]] = {}
    takes: dict[RelPath, frozenset[str]] = {}
    names: set[str] = set()
    same: dict[Any, Any] = {}
    committed = _Committed(root)
    for path, data in files.items():
        try:
            found = earlier.known[path].facts if path in earlier.known else _facts(path, data, committed)
        except (UnreadableFile, RecursionError):
            found = None
        if found is None:
            continue  # read anew by each start
        facts[path] = (data, shared(to_plain(found), same))
        if found.takes is not None and path not in told["foreign"]:
            takes[path] = found.takes
        names |= found.bound | {*found.definition.gives}
        names |= {owner for name in found.definition.gives if (owner := owner_of(name))}
    paths = tuple(facts)
    number_of = {path: number for number, path in enumerate(paths)}
    codes: dict[RelPath, CodeType] = {}
    loaded = [path for path in told["loaded"] if path in facts]
    for path in loaded:
        code = earlier.known[path].code if path in earlier.known else None
        codes[path] = code or compile_file(decode(path, files[path]), str(root / path)).code
    plain = {path for path in codes.keys() & takes.keys() if takes[path].isdisjoint(names)}
    turns = _turns(loaded, plain, codes, files, earlier)
    listing = Listing(
        paths=paths,
        stamps=tuple(stamps[path] for path in paths),
        young=tuple(number for number, path in enumerate(paths) if max(stamps[path][2:]) > now - young),
        marks=tuple(marks[path] for path in paths),
        loaded=tuple(number_of[path] for path in loaded),
        foreign={number_of[path]: names for path, names in told["foreign"].items() if path in facts},
        waiting={number_of[path]: packages for path, packages in told["waiting"].items() if path in facts},
        names=frozenset(names),
    )
    plan = Plan(
        edition=edition(),
        root=told["root"],
        name=told["name"],
        before=tuple(told["before"]),
        defers=told["defers"],
        is_whole=told["is_whole"],
        count=len(paths),
        folders=looked.folders,
        seen=b"" if listing.young or len(paths) < len(files) else looked.stamps,
        proven=BootJournal(cache, root).proves([marks[path] for path in loaded]),
        turns=(),
        facts=(),
        takes=frozenset().union(*(takes[path] for path in plain)),
        hidden=told["hidden"],
        ambient=told["ambient"],
        cheap=told["cheap"],
        there=told["there"],
    )
    _clear(file.parent)
    write(file, RealDisk(), plan, listing, turns, [*codes.values()], [*facts.values()])


def _turns(
    loaded: Sequence[RelPath],
    plain: Collection[RelPath],
    codes: Mapping[RelPath, CodeType],
    files: Mapping[RelPath, bytes],
    earlier: Earlier,
) -> list[tuple[int, list[CodeType]]]:
    """The turns of a plan, each with its code: one for many files, or one for each of less than none."""
    turns: list[tuple[int, list[CodeType]]] = []
    for run in runs(loaded, plain):
        one = None
        if len(run) > 1:
            one = earlier.runs.get(run) or merged([(parse(decode(path, files[path])), codes[path]) for path in run])
        elif run[0] in plain:
            one = codes[run[0]]
        if one is not None:
            turns.append((len(run), [one]))
        elif turns and turns[-1][0] < 0:
            count, before = turns.pop()
            before += (codes[path] for path in run)
            turns.append((count - len(run), before))
        else:
            turns.append((-len(run), [codes[path] for path in run]))
    return turns


@fact
class Earlier:
    """What the bundle that is there already has of files that are as they were."""

    known: Mapping[RelPath, Known]
    runs: Mapping[tuple[RelPath, ...], CodeType]  # the files that run as one

    @classmethod
    def read(cls, file: Path, root: Path, files: Mapping[RelPath, bytes]) -> Earlier:
        """What is to be had of these files from the bundle at `file`."""
        earlier = Bundle.read(file)
        try:
            if earlier is None:
                return cls({}, {})
            listing, kept = earlier.listing, earlier.files()  # a mark is no proof that two texts are the same
            same = {number for number, path in enumerate(listing.paths) if kept[path] == files.get(path)}
            is_here = earlier.plan.root == str(root)
            found = earlier.known(same, with_code=is_here)
            return cls(found, _runs_of(earlier, same) if is_here else {})
        except Damaged:
            return cls({}, {})


def _runs_of(bundle: Bundle, same: Collection[int]) -> Mapping[tuple[RelPath, ...], CodeType]:
    """The runs of a bundle all of whose files are among those of the numbers `same`."""
    found: dict[tuple[RelPath, ...], CodeType] = {}
    listing, begin = bundle.listing, 0
    for (turn, _, _), codes in zip(bundle.plan.turns, bundle.turns(), strict=True):
        numbers = listing.loaded[begin : begin + abs(turn)]
        begin += abs(turn)
        if turn > 0 and all(number in same for number in numbers):
            found[tuple(listing.paths[number] for number in numbers)] = codes[0]
    return found


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


def _let_age(stamps: Mapping[RelPath, Stamp], young: int) -> None:
    """Wait until the youngest file is so old that its next change has another stamp, if it is young at all."""
    newest = max((max(stamp[2:]) for stamp in stamps.values()), default=0)
    left = newest + young - time.time_ns()
    if 0 < left <= young:
        time.sleep(left / 1e9)
