"""One kernel after another on one home, and what each leaves for the next: for tests of starts."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from perdure.layer.boot_cache import Bundle, bundle_file, write
from perdure.layer.disk import RealDisk
from perdure.layer.git_files import definition_stamps, seen

from .driver import PATIENCE, Kernel
from .home import Home

_WITHOUT_REST = (
    "from perdure.kernel.upstream.rest import Rest; Rest._guarded = lambda *_: False; "
    "from perdure.kernel.__main__ import main; main()"
)
# A kernel that leaves no bundle, and finds out what a replay left to be found out when a cell makes that necessary.
RESTLESS = ("-c", _WITHOUT_REST)
_NAMES = "__import__('perdure.kernel.current').kernel.current._workspace._cells.shipped.starting._names"


class Starts:
    """Kernels on one home, one after the other."""

    def __init__(self, home: Home, **environ: str) -> None:
        self.home = home
        self.environ = environ
        self.kernel = Kernel(home)

    def bundle(self, root: Path | None = None) -> Path:
        return bundle_file(self.home.root / "cache" / "perdure", root or self.home.layer)

    def start(self, program: tuple[str, ...] | None = RESTLESS, **environ: str) -> Kernel:
        self.kernel.kill()
        self.kernel = Kernel(self.home, *([program] if program else []), **self.environ | environ)
        return self.kernel.start()

    def is_replayed(self, root: Path | None = None) -> bool:
        """Whether the running kernel replayed the folder: then the bundle that is there is what it went by."""
        bundle = Bundle.read(self.bundle(root))
        return bundle is not None and repr(bundle.plan.name) in str(self.kernel.run(_NAMES).value)

    def write(self, root: Path | None = None) -> None:
        """Start a kernel that rests, and wait for the bundle that it leaves."""
        file = self.bundle(root)
        file.unlink(missing_ok=True)
        self.start(None)
        wait_for(file)
        self.kernel.run("pass")  # it lives, so that what it has loaded does no harm
        self.kernel.kill()

    def boot(self) -> Kernel:
        """A start from nothing."""
        aside, file = self.home.root / "aside", self.bundle()
        file.rename(aside)
        try:
            return self.start()
        finally:
            aside.rename(file)

    def put_back(self) -> None:
        """Have the layer be as when its bundle was written, and the bundle know the stamps that its files have now."""
        self.kernel.kill()
        self.home.git("reset", "-q", "--hard", "base")
        self.home.git("clean", "-qfd")
        restamp(self.bundle(), self.home.layer)


def restamp(file: Path, root: Path) -> None:
    """Have the bundle in `file` know the stamps that the files in `root` have now, which hold what they did."""
    bundle = Bundle.read(file)
    assert bundle is not None
    stamps, looked = definition_stamps(root), seen(root)
    assert looked is not None
    assert tuple(stamps) == bundle.listing.paths
    listing = replace(bundle.listing, stamps=tuple(stamps.values()), young=())
    plan = replace(bundle.plan, folders=looked.folders, seen=looked.stamps)
    turns = [(count, codes) for (count, _, _), codes in zip(plan.turns, bundle.turns(), strict=True)]
    write(file, RealDisk(), plan, listing, turns, bundle.codes(), [(data, plain) for _, data, plain in bundle.facts()])


def wait_for(file: Path) -> None:
    """Wait until the file is there, which another process writes."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if file.exists():
            return
        pause.wait(0.05)
    raise AssertionError(f"{file} was not written: {[*file.parent.parent.rglob('*')]}")
