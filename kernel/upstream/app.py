"""The application that runs the kernel."""

from __future__ import annotations

from typing import Any

from ipykernel.kernelapp import IPKernelApp
from traitlets import Type

from .kernel import PerdureKernel


class PerdureApp(IPKernelApp):
    """ipykernel's application with perdure's kernel in it. It keeps the name, and so the config files and flags."""

    kernel_class: Any = Type(PerdureKernel, klass="ipykernel.kernelbase.Kernel").tag(config=True)
    classes = [*IPKernelApp.classes, PerdureKernel]  # noqa: RUF012  # as the base class has it

    def initialize(self, argv: Any = None) -> None:
        """Overrides IPKernelApp.initialize, to load the layer last: after startup files, extensions and exec_lines."""
        super().initialize(argv)
        if self.subapp is None:
            self.kernel.boot()


def main(argv: list[str] | None = None) -> None:
    """Run a kernel as the command line says, until it is shut down."""
    PerdureApp.launch_instance(argv)
