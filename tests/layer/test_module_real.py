"""Exported modules hold what the layer has: every kind of definition, and real code."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

from perdure.layer.module import cell_of, module_of
from perdure.layer.table import Table
from perdure.layer.taken import in_load_order, taken, with_what_they_need

from .cells import Cells
from .test_generated_whole import DEFINITIONS, VALUES
from .test_real_code import LOST, MODULES, kernels, same

__all__ = ["kernels"]  # the fixture


def run(text: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "exported.py", "exec", dont_inherit=True), namespace)
    return namespace


def test_every_kind_of_definition() -> None:
    table = Table()
    for definition in DEFINITIONS:
        table.put(definition)
    order = in_load_order(entry.definition for entry in table.entries.values())
    made = run(module_of(order, "Whole.", sys.stdlib_module_names))
    for expression, value in VALUES.items():
        assert repr(eval(expression, made)) == value
    names = {name for definition in order for name in definition.gives if name.isidentifier()}
    assert set(made["__all__"]) == {name for name in names if not name.startswith("_")}


# Its annotations go in a circle, which a boot breaks by making some of them texts.
CIRCULAR = {"typing"}


@pytest.mark.parametrize("kernels", sorted({*MODULES} - CIRCULAR), indirect=True)
def test_real_code_is_exported_as_it_is(kernels: tuple[Cells, Cells]) -> None:
    _, cells = kernels
    known = cells.layer.table.by_name
    order = in_load_order(with_what_they_need(known, known))
    assert {definition.key for definition in order} == {definition.key for definition in known.values()}
    made = run(module_of(order, "Real.", sys.stdlib_module_names))
    for name in sorted(cells.names - LOST):
        if name in cells.namespace and cells.namespace[name].__class__ is made[name].__class__:
            same(cells.namespace[name], made[name], name)


@pytest.mark.parametrize("name", "ArgumentParser nsmallest OrderedDict Fraction TestCase".split())
def test_what_one_name_takes_runs_alone(name: str) -> None:
    module = {"ArgumentParser": "argparse", "nsmallest": "heapq", "OrderedDict": "collections",
              "Fraction": "fractions", "TestCase": "unittest.case"}[name]  # fmt: skip
    cells = _restarted(module)
    found = taken([f"{name}"], cells.layer.image.loaded)
    assert found
    assert len(found) <= len(cells.names)
    assert name in run(cell_of(found, sys.stdlib_module_names))


def _restarted(module: str) -> Cells:
    import importlib
    import inspect

    source = importlib.import_module(module)
    before = Cells()
    before.namespace["__package__"], before.namespace["__file__"] = source.__package__, source.__file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before.run(inspect.getsource(source).replace('if __name__ == "__main__"', "if False"))
        return before.restarted()
