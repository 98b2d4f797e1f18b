"""perdure's magics as IPython has them; what they say is made in perdure.kernel.magics."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import Magics, cell_magic, line_magic, magics_class

from perdure.kernel import magics
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
        """Tell which layer this kernel has; `%layer path` its folder, `%layer trust [PATH]` accepts untrusted ones.

        `%layer load` loads all that is deferred.
        """
        print(magics.layer(self._workspace, line))

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
