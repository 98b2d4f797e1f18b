"""What the benchmarks share with the tests: layers of many definitions."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kernel.many import definitions, made, more

__all__ = ["ROOT", "definitions", "made", "more"]

ROOT = Path(__file__).parents[1]
