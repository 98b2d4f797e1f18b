"""One start after another of the same folders, with the cache that they share, and what a kernel knows after each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from perdure.layer.boot_cache import bundle_file
from perdure.layer.bundling import as_plain, bundle
from perdure.layer.definition import RelPath
from perdure.layer.git_files import definition_files, definition_stamps, is_as_seen
from perdure.layer.memory import MemoryStore
from perdure.layer.source import parse
from perdure.layer.starting import Replayed
from perdure.layer.store import Seen, Stamp

from .cells import Cells
from .git_cli import put


class FolderStore(MemoryStore):
    """The files of a folder as they are when it is made; their stamps are the folder's."""

    def __init__(self, root: Path) -> None:
        super().__init__(definition_files(root))
        self._root = root

    def stamps(self) -> Mapping[RelPath, Stamp]:  # type: ignore[override]
        return definition_stamps(self._root)

    def is_as(self, seen: Seen, /) -> bool:
        return is_as_seen(self._root, seen)


class Starts:
    """The folders of one layer and of the cells folders below it, in `home`, and the cache."""

    def __init__(
        self, home: Path, files: Mapping[str, str], *folders: Mapping[str, str], defer: bool = True, young: int = 0
    ) -> None:
        """`young`: as `boot_cache.YOUNG`; with 0 files that were just written are told by their stamps."""
        self.root = home / "layer"
        self.folders = [home / f"team{number}" for number in range(len(folders))]
        self.cache = home / "cache"
        self.defer = defer
        self.young = young
        self.root.mkdir(parents=True)
        for root, texts in zip((self.root, *self.folders), (files, *folders), strict=True):
            for path, text in texts.items():
                put(root / path, text)

    def start(self, ambient: Mapping[str, object] | None = None) -> Cells:
        """A kernel that has started, of which it is not yet found out what is to be known."""
        folders: dict[str, dict[str, str]] = {
            str(root): {str(path): data.decode() for path, data in definition_files(root).items()}
            for root in self.folders
        }
        store = FolderStore(self.root)
        made = Cells(store, root=self.root, folders=folders, defer=self.defer, cache=self.cache, ambient=ambient)
        made.layer.boot()
        assert made.safe is not None
        made.safe.settle()
        return made

    def replayed(self, ambient: Mapping[str, object] | None = None) -> Cells:
        """As `start`, where the layer has to be replayed."""
        made = self.start(ambient)
        assert is_replayed(made), made.layer.report
        return made

    def write(self, kernel: Cells) -> int:
        """Write the bundles that the start left to be written; how many these are."""
        bundlings, kernel.layer.shipped.starting.to_write = kernel.layer.shipped.starting.to_write, []
        for each in bundlings:
            bundle(self.cache, as_plain(each), self.young)
        return len(bundlings)

    def prepare(self, ambient: Mapping[str, object] | None = None) -> Cells:
        """An ordinary start whose bundles are written."""
        kernel = complete(self.start(ambient))
        self.write(kernel)
        return kernel

    @property
    def bundle(self) -> Path:
        return bundle_file(self.cache, self.root)

    def put(self, path: str, text: str) -> None:
        put(self.root / path, text)


def is_replayed(kernel: Cells) -> bool:
    """Whether the layer was, and it is still to be found out what is to be known of it."""
    return isinstance(kernel.layer.replayed, Replayed)


def complete(kernel: Cells) -> Cells:
    """Find out what is to be known, as the kernel does."""
    kernel.layer.shipped.complete()
    kernel.layer.complete()
    kernel.layer.deferred.ready()
    return kernel


# What is known after a start.


def shape(value: object, depth: int = 5) -> object:
    """A value so that it can be compared with that of another kernel."""
    if not depth:
        return "…"
    if isinstance(value, list | tuple | set | frozenset):
        return type(value).__name__, [shape(each, depth - 1) for each in value]
    if isinstance(value, dict):
        return [(key, shape(each, depth - 1)) for key, each in value.items()]
    if isinstance(value, ModuleType):
        return "module", value.__name__
    if isinstance(value, FunctionType):
        code = value.__code__
        where = code.co_filename, code.co_firstlineno, tuple(code.co_positions())
        return value.__qualname__, where, shape(value.__defaults__, depth - 1), shape(value.__dict__, depth - 1)
    if isinstance(value, type):
        own = {name: shape(each, depth - 1) for name, each in vars(value).items() if not name.startswith("__")}
        return value.__qualname__, [base.__qualname__ for base in value.__mro__], own
    return value if isinstance(value, int | str | float | None) else type(value).__qualname__


def all_known(kernel: Cells) -> dict[str, Any]:
    """What a kernel knows of its definitions, part by part."""
    layer, shipped, image, deferred = kernel.layer, kernel.layer.shipped, kernel.layer.image, kernel.layer.deferred
    names = sorted({*image.live, *deferred.names})
    reports = [(folder.path, folder.report) for folder in shipped.folders] + [(layer.root, layer.report)]

    def reached(text: str) -> list[RelPath]:
        chosen = deferred.reached_by(parse(text).body, text)
        return [item.path for number, item in enumerate(deferred._items) if chosen >> number & 1]

    return {
        "namespace": {name: shape(value) for name, value in kernel.namespace.items() if name != "__builtins__"},
        "loaded": [(root, sorted(report.loaded, key=lambda item: item.path)) for root, report in reports],
        "skipped": [(root, report.skipped) for root, report in reports],
        "output": [(root, report.output) for root, report in reports],
        "deferred": [(root, report.deferred) for root, report in reports],
        "table": dict(layer.table.entries),
        "files": dict(layer.tracked.files),
        "waiting": (dict(deferred.names), deferred.waiting()),
        "reached": {name: reached(name) for name in names if name.isidentifier()},
        "touched": {name: reached(f"{name} = 1") for name in names if name.isidentifier()},
        "live": dict(image.live),
        "from files": dict(image.loaded),
        "functions": set(image.functions),
        "other": {name for name in image.live if image.is_other(name)},
        "imports": dict(layer.variables.imports._entries),
        "given": dict(shipped.given),
        "asleep": dict(shipped.asleep),
        "origins": dict(shipped.origins),
        "collisions": [folder.collisions for folder in shipped.folders],
        "unresolved": (layer.unresolved(), [shipped.unresolved(folder) for folder in shipped.folders]),
        "needs": layer.unkept_needs(),
    }


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Which parts differ, and how."""
    return {part: (one[part], other[part]) for part in one if one[part] != other[part]}
