"""The tour of perdure: `make demo`.

A notebook is run, its kernel is killed, and two more kernels work with what outlived it. Each step is told in words,
its result is printed and checked; the first that is not as told ends the tour with exit status 1. All of it happens in
a temporary home folder with a layer of its own: the user's layer and Jupyter are not touched.
"""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from nbformat import NotebookNode

NOTEBOOK = Path(__file__).with_name("penguins.ipynb")
LAYER = "layer_tour"
KERNEL_LOG = "kernels.log"
SECONDS = 120  # for anything that a kernel or git is asked

# What cells of the notebook show, by the id of the cell.
SHOWN = {
    "load": "(344, 8)",
    "clean": "333",
    "typical": "{'Adelie': 3.71, 'Chinstrap': 3.73, 'Gentoo': 5.09}",
    "heaviest": "[layer: kept heaviest; needs penguins (not kept)]",
    "fit": "4.16",
    "fit-each": "{'Adelie': 33, 'Chinstrap': 35, 'Gentoo': 54}",
    "summary": "Gentoo       119     5.09       4.16",
}
KEPT = """
    classes/l/Line.py functions/c/clean.py functions/f/fit.py functions/f/fit_each.py functions/f/for_enough_birds.py
    functions/h/heaviest.py functions/l/load.py functions/s/summary.py functions/t/typical_mass.py
    values/d/digits.py values/g/GRAMS_PER_KG.py values/m/MEASURES.py values/m/Masses.py
""".split()

MEDIAN = '''
# A few heavy birds pull the mean up; the median stays.
def typical_mass(table: pd.DataFrame, by: str = "species", digits: int = digits) -> Masses:
    """The median mass in kilograms of each group."""
    return table.groupby(by)["mass_kg"].median().round(digits).to_dict()
'''.strip()
MEDIANS = "{'Adelie': 3.7, 'Chinstrap': 3.7, 'Gentoo': 5.05}"


class NotAsTold(Exception):
    """A step came out otherwise than the tour says."""

    def __init__(self, what: str, expected: str, came: str) -> None:
        super().__init__(f"{what}\n  expected:\n{indented(expected)}\n  came:\n{indented(came or '(nothing)')}")


def main() -> int:
    """Give the tour; returns the exit status."""
    parser = argparse.ArgumentParser(description="The tour of perdure: what outlives a killed kernel.")
    parser.add_argument("--mode", help="PERDURE_MODE of the tour's kernels; with off or readonly the tour has to fail")
    options = parser.parse_args()
    if shutil.which("git") is None:
        print("The tour shows a git history: install git and call it again.", file=sys.stderr)
        return 1
    home = Path(tempfile.mkdtemp(prefix="perdure-tour-")).resolve()
    try:
        move_into(home, options.mode)
        tour(home)
    except KeyboardInterrupt:
        logging.getLogger("asyncio").disabled = True  # it would tell of the cell that the interrupt left behind
        print("\nThe tour was interrupted; nothing of it is left.", file=sys.stderr)
        return 130
    except Exception as error:
        failed(error, home)
        return 1
    finally:
        shutil.rmtree(home, ignore_errors=True)
    say("""
        Everything was as told, and the folder of the tour is removed again. From here:

          make console    the kernel in a terminal, with a layer of your own
          make lab        the same in JupyterLab
          README.md       how to install it, what is kept, and where
    """)
    return 0


def tour(home: Path) -> None:
    """The steps, one after the other."""
    layer = home / LAYER
    say(f"""
        The tour of perdure, a Jupyter kernel for Python whose definitions last.
        It happens in {home}; your own layer is not touched.

        1. A notebook runs: docs/tour/penguins.ipynb, on the measurements of 344 penguins.
           It is an ordinary notebook, without a word about perdure in it.
    """)
    with Kernel(home) as first:
        summary = run_notebook(first)
        say("""
            2. Each definition is kept: one file in a git repository, the layer, committed unasked.
               A file reads as a person would write it, with the imports that its definition needs.
        """)
        look_at(layer)
        say("""
            3. The kernel is killed with SIGKILL: no warning, no goodbye, as when memory runs out.
        """)
        first.kill()
    left = git(layer, "fsck", "--strict") + git(layer, "status", "--porcelain")
    expect("Nothing is half written: git fsck and git status have nothing to say.", "''", repr(left))
    say("""
        4. A second kernel starts. The notebook is not run again.
    """)
    with Kernel(home) as second:
        use_what_is_left(second, summary)
        say("""
            5. Still in the second kernel, typical_mass is defined anew. Then this kernel is killed, too.
        """)
        redefine(second)
        second.kill()
    say("""
        6. A third kernel has the new text, and git has the history of this one definition.
    """)
    with Kernel(home) as third:
        expect("It is the median that was loaded.", MEDIANS, third.show("typical_mass(clean(load()))"))
    look_at_history(layer, "functions/t/typical_mass.py")


def run_notebook(kernel: Kernel) -> str:
    """Run the notebook, show its cells and check them; what the last one showed."""
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    shown = ""
    for cell, shown in kernel.run_notebook(notebook):
        show_cell(cell.execution_count, cell.source, shown)
        if cell.id in SHOWN and SHOWN[cell.id] not in shown:
            raise NotAsTold(f"The cell {cell.id!r} shows its result.", SHOWN[cell.id], shown)
    expect("The notebook ran as anywhere; only what will be missing is said, once.", SHOWN["summary"], shown)
    return shown


def look_at(layer: Path) -> None:
    """Show the layer's files, one of them in full, and the history."""
    files = "\n".join(path for path in git(layer, "ls-files").split() if "/" in path)
    show("git ls-files", files)
    expect("Every definition of the notebook is kept.", "\n".join(KEPT), files)
    name = "functions/f/fit.py"
    text = (layer / name).read_text(encoding="utf-8")
    show(name, text)
    expect("It has its import and its decorator.", "import pandas as pd\n\n\n@for_enough_birds\ndef fit(", text)
    log = git(layer, "log", "--oneline")
    show("git log --oneline", log)
    expect("A commit holds what was defined in one go.", "keep for_enough_birds, fit", log)
    expect("The variable that a default value needs came along.", "keep digits, typical_mass", log)


def use_what_is_left(kernel: Kernel, summary: str) -> None:
    """Work in `kernel` with the definitions of the one before."""
    line = kernel.banner.strip().splitlines()[-1]
    show("The last line of its banner:", line)
    expect("It has loaded all of them.", f"{len(KEPT)} definitions", line)
    shown = kernel.show("penguins = clean(load())\nsummary(penguins)")
    expect("This is the table of the first kernel. Nothing had to be imported.", summary, shown)
    shown = kernel.show("heaviest()")
    expect("What was missing a variable works as soon as there is one.", "[6.3, 6.05, 6.0]", shown)
    expect("%cells lists what there is.", "classes: Line", kernel.show("%cells"))


def redefine(kernel: Kernel) -> None:
    """Give one function another text, and run it."""
    expect("The new text is kept.", "[layer: kept typical_mass]", kernel.show(MEDIAN))
    expect("It is the one that runs.", MEDIANS, kernel.show("typical_mass(penguins)"))


def look_at_history(layer: Path, path: str) -> None:
    """Show the commits of one definition, and what the last one changed."""
    log = git(layer, "log", "--format=%h %s%n%n%w(0,4,4)%b", "--", path).replace("    \n", "\n")
    show(f"git log {path}", log)
    expect("The comment that opened a cell is in its commit.", "the median stays.", log)
    expect("Each commit names its cell.", "2 cells", f"{log.count('Cell: In[')} cells")
    diff = git(layer, "diff", "--unified=0", "HEAD~1", "--", path).splitlines()
    changed = "\n".join(line for line in diff if line[:1] in "+-" and line[:3] not in ("+++", "---"))
    show("git diff HEAD~1", changed)
    expect("The last one is the step from mean to median.", ".median().round(digits)", changed)


class Kernel:
    """A perdure kernel, started by `with` and gone after it; `home` is where the tour takes place."""

    def __init__(self, home: Path) -> None:
        import zmq
        from jupyter_client.kernelspec import KernelSpecManager
        from jupyter_client.manager import KernelManager

        # The tour's own kernelspec, which is for this very Python, and no other that the machine may have.
        specs = KernelSpecManager(kernel_dirs=[str(home / "share" / "jupyter" / "kernels")])
        self._manager = KernelManager(
            kernel_name="perdure",
            kernel_spec_manager=specs,
            transport_encryption="auto" if zmq.has("curve") else "disabled",
        )
        self._log = home / KERNEL_LOG
        self.banner = ""

    def __enter__(self) -> Self:
        # A kernel's own log would mix with the words of the tour; it is shown where a step fails.
        with self._log.open("ab") as log:
            self._manager.start_kernel(stdout=log, stderr=log)
        try:
            self._client = self._manager.client()
            self._client.start_channels()
            self._client.wait_for_ready(timeout=SECONDS)
            self.banner = self._client.kernel_info(reply=True, timeout=SECONDS)["content"]["banner"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def kill(self) -> None:
        """End the process in the way that nothing can resist, and see that it ended so."""
        process: Any = self._manager.provisioner
        process = process.process
        process.send_signal(signal.SIGKILL)
        status = process.wait(SECONDS)
        expect("The process ended by the signal.", f"exit status {-signal.SIGKILL}", f"exit status {status}")

    def run_notebook(self, notebook: NotebookNode) -> Iterator[tuple[NotebookNode, str]]:
        """Run the code cells one by one through nbclient; each with what it showed."""
        from jupyter_client.asynchronous.client import AsyncKernelClient
        from nbclient import NotebookClient

        runner = NotebookClient(notebook, km=self._manager, timeout=SECONDS)
        self._manager.client_factory = AsyncKernelClient
        with runner.setup_kernel(cleanup_kc=False):
            try:
                for index, cell in enumerate(notebook.cells):
                    if cell.cell_type == "code":
                        runner.execute_cell(cell, index)
                        yield cell, "".join(map(text_of, cell.outputs)).rstrip()
            finally:
                if runner.kc is not None:
                    runner.kc.stop_channels()

    def show(self, code: str) -> str:
        """Run `code` as somebody at a console does, print it and what it showed, and return this."""
        outputs: list[dict[str, Any]] = []

        def take(message: dict[str, Any]) -> None:
            if message["msg_type"] in ("stream", "execute_result", "display_data", "error"):
                outputs.append(message["content"])

        # What may ask its user is a console: it is told of everything that is kept.
        reply = self._client.execute_interactive(code, allow_stdin=True, timeout=SECONDS, output_hook=take)
        shown = "".join(map(text_of, outputs)).rstrip()
        show_cell(reply["content"].get("execution_count", 0), code, shown)
        return shown


def text_of(output: Mapping[str, Any]) -> str:
    """An output of a cell as a terminal shows it."""
    if "ename" in output:
        return f"{output['ename']}: {output['evalue']}\n"
    said: str = output["text"] if "text" in output else output["data"]["text/plain"] + "\n"
    return said


def move_into(home: Path, mode: str | None) -> None:
    """Make `home` the home folder of this process and of all it starts, with perdure known to Jupyter there."""
    ours = ("GIT_", "IPYTHON", "JPY_", "JUPYTER", "PERDURE_", "XDG_")
    for name in [name for name in os.environ if name.startswith(ours) and not name.startswith("GIT_AUTHOR_")]:
        del os.environ[name]
    os.environ |= {"HOME": str(home), "PERDURE_LAYER": str(home / LAYER), "NO_COLOR": "1"}
    if mode is not None:
        os.environ["PERDURE_MODE"] = mode
    from perdure.kernel import spec

    spec.install(prefix=home)


def git(layer: Path, *arguments: str) -> str:
    """What a git command in the layer says."""
    done = subprocess.run(
        ("git", "-C", layer, "--no-pager", *arguments), capture_output=True, text=True, check=False, timeout=SECONDS
    )
    if done.returncode:
        raise NotAsTold(f"git {' '.join(arguments)} works.", "exit status 0", done.stderr.strip())
    return done.stdout.strip("\n")


def expect(what: str, expected: str, came: str) -> None:
    """Print `what` as a step that came out as told.

    Raises:
        NotAsTold: `expected` is not in what came.
    """
    if expected not in came:
        raise NotAsTold(what, expected, came)
    print(f"   ok: {what}", flush=True)


def failed(error: Exception, home: Path) -> None:
    """Tell the failure, and what the kernels logged."""
    sys.stdout.flush()
    kind = "" if isinstance(error, NotAsTold) else f"{type(error).__name__}: "
    print(f"\nNOT AS TOLD: {kind}{error}", file=sys.stderr)
    log = home / KERNEL_LOG
    if log.is_file() and (said := log.read_text(encoding="utf-8", errors="replace").strip()):
        print(f"\nThe kernels' log:\n{indented(said)}", file=sys.stderr)


def say(text: str) -> None:
    """Print words of the tour."""
    print(f"\n{textwrap.dedent(text).strip()}", flush=True)


def show_cell(number: int, code: str, shown: str) -> None:
    """Print a cell and what it showed."""
    print(f"\n   In [{number}]: {indented(code, 11).lstrip()}", flush=True)
    if shown:
        print(f"\n{indented(shown, 11)}", flush=True)


def show(what: str, text: str) -> None:
    """Print `text` under a line that says what it is."""
    print(f"\n   {what}\n\n{indented(text.rstrip())}", flush=True)


def indented(text: str, columns: int = 7) -> str:
    return textwrap.indent(text, " " * columns)


if __name__ == "__main__":
    sys.exit(main())
