"""Perdure: a Jupyter kernel for Python whose definitions last.

The rooms of the package lie beside this folder (layer/, kernel/, client/); docs/ARCHITECTURE.md is the map. This file
is imported before a kernel has put its path in order, so it imports nothing.
"""

__version__ = "0.1.0"
