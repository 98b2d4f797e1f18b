"""perdure's magics as IPython has them; what they say is made in perdure.kernel.magics."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class
from IPython.display import display

from perdure.kernel import layer_magic, magics
from perdure.kernel.wire import RequestKind
from perdure.kernel.workspace import Workspace


@magics_class
class PerdureMagics(Magics):
    """Magics about the layer."""

    @property
    def _workspace(self) -> Workspace:
        workspace: Workspace = self._shell.workspace
        return workspace

    @property
    def _shell(self) -> Any:  # a PerdureShell, which imports this file
        return self.shell

    @line_magic
    def cells(self, _line: str) -> None:
        """List what the cells folders and the layer hold, what was skipped at boot and why, and what is unresolved."""
        print(magics.cells(self._workspace))

    @line_magic
    def layer(self, line: str) -> None:
        answer = layer_magic.layer(self._workspace, line)
        cell = self._workspace.cell.get()
        if answer.html is not None and cell is not None and cell.kind is RequestKind.NOTEBOOK:
            display({"text/plain": answer.text, "text/html": answer.html}, raw=True)
        else:
            print(answer.text)
        if answer.next_cell is not None:
            if cell is not None and cell.kind is RequestKind.AGENT:
                print(f"\n{answer.next_cell}")  # an agent has no next cell to look into
            self._shell.set_next_input(answer.next_cell)

    layer.__doc__ = f"Tell of the layer, or change it; without a word, a summary.\n\n{layer_magic.layer_help()}"

    @line_magic
    def keep(self, line: str) -> None:
        """Keep NAME although the keep rule does not: `%keep NAME`. What is said of a name tells whether this helps."""
        if said := magics.keep(self._workspace, line):
            print(said)

    @line_magic
    def forget(self, line: str) -> None:
        """Forget NAME: `%forget NAME` takes it out of the layer and the namespace, also `Foo.m` and `f@Type`."""
        if said := magics.forget(self._workspace, line):
            print(said)

    @cell_magic
    def scratch(self, _line: str, cell: str) -> Any:
        """Run the cell and keep nothing of it."""
        # Only code that calls the magic comes here: of a cell that begins with it, the shell strips the line.
        return self._shell.run_cell(f"%%scratch\n{cell}").result
