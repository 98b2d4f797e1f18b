"""The notebooks are run by test_notebooks.py alone: on layers of its own, in an order, and more than once."""

from __future__ import annotations

collect_ignore_glob = ["*.ipynb"]  # pytest with --nbval would run them on the layer of whoever runs the tests
