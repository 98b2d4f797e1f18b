"""The cells folders of one kernel: which were asked for, which are loaded, and what is to be said of the others.

Below a project's layer the personal one is loaded as the last of them.

Knows no IPython. What a folder is asked before it is loaded stands in layer.cells_folder, how it is loaded in
layer.shipped.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from types import ModuleType

from perdure.layer.cells_folder import Refused, open_folder
from perdure.layer.definition import Kind
from perdure.layer.errors import LayerUnusable
from perdure.layer.making import is_blank
from perdure.layer.place import CellsPlace, cells_entries, read_cells_entry
from perdure.layer.safe_boot import SafeBoot
from perdure.layer.shipped import PERSONAL, LoadedFolder, Shipped
from perdure.layer.table import Entry
from perdure.layer.trust import TrustRecord

from .report import some

_log = logging.getLogger(__name__)
_SHOWN = 10  # hex digits of a commit id


class CellsFolders:
    """The folders that the environment or the config names, in load order."""

    def __init__(
        self,
        namespace: MutableMapping[str, object],
        modules: Mapping[str, ModuleType],
        environ: Mapping[str, str],
        configured: object,
        safe: SafeBoot | None = None,
        *,
        defer: bool = False,
        cache: Callable[[], Path] | None = None,
    ) -> None:
        self.shipped = Shipped(namespace, modules, safe, defer=defer, cache=cache)
        self.refused: list[Refused] = []
        texts, odd = _texts_of(configured)
        self.refused += [Refused(Path(repr(o)), "is no path; c.PerdureKernel.cells is a list of texts") for o in odd]
        self._texts = cells_entries(environ, texts)
        self._cwd = Path.cwd()  # a definition may go elsewhere as it loads
        self.personal: Path | None = None  # the resolved path of the personal layer, if that is below a project's

    def __bool__(self) -> bool:
        """Whether any folder was asked for."""
        return bool(self._texts or self.refused)

    def load(self, trust: TrustRecord, layer: Path | None) -> None:
        """Load all that may be loaded; `layer` is where the layer is. Raises nothing: the rest is in `refused`."""
        taken: list[Path] = []
        for text in self._texts:
            try:
                place = read_cells_entry(text, self._cwd)
                opened = open_folder(place, trust, layer=layer, taken=taken)
                if isinstance(opened, Refused):
                    self.refused.append(opened)
                else:
                    taken.append(opened.path)
                    self.shipped.load(opened)
            except LayerUnusable as error:
                self.refused.append(Refused(error.path, f"{error.why}; {error.advice}"))
            except Exception as error:  # a mistake of ours must cost one folder at most
                _log.exception("perdure could not load the cells folder %s", text)
                self.refused.append(
                    Refused(
                        Path(text), f"made perdure itself fail ({type(error).__name__}: {error}); see the kernel's log"
                    )
                )

    def load_personal(self, path: Path, trust: TrustRecord, layer: Path) -> None:
        """Load the personal layer at `path`, below that at `layer`, if there is one. Raises nothing, as `load`."""
        try:
            if is_blank(path):
                return
            opened = open_folder(CellsPlace(path), trust, layer=layer, taken=())
            if opened.path == Path(os.path.realpath(layer)) or opened.path in self._paths():
                return  # it is loaded in any case
            self.personal = opened.path
            if isinstance(opened, Refused):
                self.refused.append(opened)
            else:
                self.shipped.load(opened, PERSONAL)
        except Exception as error:  # a mistake of ours must cost one folder at most
            _log.exception("perdure could not load the personal layer %s", path)
            self.refused.append(Refused(path, f"cannot be loaded ({type(error).__name__}: {error})"))

    def waiting(self, path: Path | None) -> list[Refused]:
        """The folders that wait to be trusted; that at the resolved `path` alone if one is given."""
        return [refused for refused in self.refused if refused.waits and path in (None, refused.path)]

    def accept(self, refused: Refused, trust: TrustRecord, layer: Path | None) -> tuple[str, LoadedFolder | None]:
        """Trust the folder and load it if that replaces nothing; what came of it as sentences, and what was loaded.

        Raises:
            LayerError: the acceptance could not be remembered.
        """
        trust.accept(refused.path)
        opened = open_folder(CellsPlace(refused.path, refused.pin), trust, layer=layer, taken=())
        if not isinstance(opened, Refused) and (name := self.shipped.would_replace(opened)):
            opened = Refused(
                opened.path, f"is trusted now; the next start loads it, since {name} is here already", opened.pin
            )
        if isinstance(opened, Refused):
            self.refused[self.refused.index(refused)] = opened
            return f"{self._named(opened.path).capitalize()} {opened.path} {opened.why}.", None
        self.refused.remove(refused)
        self.shipped.load(opened, PERSONAL if opened.path == self.personal else None)
        self.shipped.complete()
        loaded = self.shipped.folders[-1]
        count = len(loaded.report.live)
        what = self._named(opened.path).capitalize()
        told = [f"{what} {opened.path}: {count} definition{'s'[: count != 1]} loaded.", *self._skips(loaded)]
        if printed := loaded.report.output.rstrip():
            told.append(f"Loading printed:\n{printed}")
        return "\n".join(told), loaded

    def summary(self) -> str:
        """How many there are, as a part of the boot line; empty where none was asked for."""
        replayed = self.shipped.replayed
        loaded = sum(folder.path != self.personal for folder in self.shipped.folders)
        loaded += sum(folder.root != self.personal for folder in replayed)
        left = sum(refused.path != self.personal for refused in self.refused)
        below = [
            f"over {len(folder.report.live)} of the personal layer"
            for folder in self.shipped.folders
            if folder.path == self.personal
        ]
        below += [f"over {folder.count} of the personal layer" for folder in replayed if folder.root == self.personal]
        if loaded or left:
            count = f"{loaded} cells folder{'s'[: loaded != 1]}"
            below.append(f"{count} ({left} not loaded)" if left else count)
        return ", ".join(below)

    def problems(self) -> list[str]:
        """What the first cell is to say of the start."""
        told = [f"{self._named(refused.path)} {refused.path} {refused.why}" for refused in self.refused]
        skips = [line for loaded in self.shipped.folders for line in self._skips(loaded)]
        told += some(skips, "more files of cells folders are skipped; %cells lists them")
        lazy = [
            f"{item.definition.key} of {loaded.path} loaded with its annotations as text; {item.lazy} is not defined"
            for loaded in self.shipped.folders
            for item in loaded.report.loaded
            if item.lazy is not None
        ]
        return [*told, *some(lazy, "more loaded so; %cells lists them")]

    def printed(self) -> str:
        """What loading printed."""
        outputs = [loaded.report.output for loaded in self.shipped.folders]
        return "".join([*outputs, *(replayed.output for replayed in self.shipped.replayed)])

    def listed(self, layer: Sequence[Entry]) -> list[str]:
        """The lines of `%cells`, folder by folder; `layer` are the layer's definitions."""
        kept = {name for entry in layer for name in entry.definition.gives}
        lines = [line for loaded in self.shipped.folders for line in self._listed(loaded, kept)]
        return lines + [f"{self._named(refused.path)} {refused.path} {refused.why}" for refused in self.refused]

    def overrides(self, layer: Sequence[Entry]) -> list[str]:
        """Of the layer's definitions those that replace shipped ones, as `area (of /team)`."""
        origins = self.shipped.origins
        return [f"{n} (of {origins[n]})" for entry in layer for n in entry.definition.gives if n in origins]

    def _listed(self, loaded: LoadedFolder, kept: set[str]) -> list[str]:
        path, pin, report = loaded.path, loaded.pin, loaded.report
        live = [definition for definition, _ in report.live]
        count = len(live)
        head = f"{self._named(path)} {path}" + (f" at commit {pin[:_SHOWN]}" if pin else "")
        lines = [f"{head}: {count} definition{'s'[: count != 1]}"]
        definitions = sorted(live, key=lambda definition: definition.key)
        by_kind = ((kind, [name for made in definitions if made.kind is kind for name in made.gives]) for kind in Kind)
        lines += [f"  {kind.folder}: {', '.join(names)}" for kind, names in by_kind if names]
        if not live:
            lines.append("  no definitions")
        wins = {name: self.shipped.given[name].folder for made in definitions for name in made.gives}
        if replaced := [name for name, folder in wins.items() if name in kept and folder == path]:
            lines.append(f"  overridden by the layer: {', '.join(replaced)}")
        lines += [
            f"  collision: {collision.name} is in {collision.earlier} too; this one wins"
            for collision in loaded.collisions
            if wins[collision.name] == path
        ]
        lost = ((name, folder) for name, folder in wins.items() if folder != path)
        lines += [f"  collision: {name} is in {folder} too; that one wins" for name, folder in lost]
        lines += [f"  {_word(item.has_raised)} {item.path}: {item.reason}" for item in report.skipped]
        lines += [f"  unresolved: {key} needs {', '.join(names)}" for key, names in self.shipped.unresolved(loaded)]
        return lines + [
            f"  {item.definition.key} loaded with its annotations as text: {item.lazy} is not defined"
            for item in report.loaded
            if item.lazy is not None
        ]

    def _paths(self) -> set[Path]:
        """Of the folders that are loaded."""
        return {folder.path for folder in self.shipped.folders} | {folder.root for folder in self.shipped.replayed}

    def _named(self, path: Path) -> str:
        """What the folder at `path` is."""
        return "personal layer" if path == self.personal else "cells folder"

    def _skips(self, loaded: LoadedFolder) -> list[str]:
        skipped = loaded.report.skipped
        return [f"{_word(item.has_raised)} {loaded.path / item.path}: {item.reason}" for item in skipped]


def _word(has_raised: bool) -> str:
    return "failed" if has_raised else "skipped"


def _texts_of(configured: object) -> tuple[list[str], list[object]]:
    """What the config names, and what of it is no path."""
    if configured is None or isinstance(configured, str | os.PathLike):
        configured = [] if configured is None else [configured]
    if not isinstance(configured, Sequence):
        return [], [configured]
    paths = [each for each in configured if isinstance(each, str | os.PathLike)]
    return [str(os.fspath(path)) for path in paths], [each for each in configured if each not in paths]
