"""Modules of definitions, generated: what a kernel has of them is what the next has, and plain Python.

One kernel gets hundreds of modules, as in a long life. Where a module fails there, the tests without a kernel, which
take one at a time and shrink it, most often fail too and show the few lines that matter.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from perdure.layer.generated import generated_files
from perdure.layer.outcome import NotKept
from tests.layer.cells import Cells

from .driver import Kernel
from .modules import FORMS, Module, modules

_EACH = 3  # modules with each form
_SETTINGS = settings(derandomize=True, database=None, deadline=None, suppress_health_check=[*HealthCheck])
_LAZY = "from __future__ import annotations"  # in force for all later cells
_PLAIN = getattr(sys, "_base_executable", sys.executable)  # not that of the environment the tests run in
_NAME = re.compile(r"_?[mM]\d+_")


def answers(names: list[str], samples: list[str], space: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What a Python says of `names`, and what `samples` are worth in it. Its source is run in every one of them."""
    import inspect
    import re

    def finish(coroutine: Any) -> Any:
        try:
            while True:
                coroutine.send(None)
        except StopIteration as end:
            return end.value

    def signature(name: str) -> str:
        try:
            return str(inspect.signature(eval(name, space)))
        except Exception as error:  # of a constant, of a class in C
            return type(error).__name__

    def value(sample: str) -> str:
        try:
            return repr(eval(sample, space, {"finish": finish}))
        except Exception as error:
            return f"{type(error).__name__} was raised: {error}"

    said = {"signatures": {name: signature(name) for name in names}, "samples": {each: value(each) for each in samples}}
    return {
        kind: {key: re.sub(" at 0x[0-9a-f]+", "", text) for key, text in part.items()} for kind, part in said.items()
    }


_ANSWERS = inspect.getsource(answers)


def _own_names(space: Iterable[str]) -> set[str]:
    return {name for name in space if _NAME.match(name)}


def _plain(layer: Path, samples: list[str]) -> dict[str, Any]:
    """What a Python without perdure finds in the layer's folder."""
    code = f"""
import json, sys
from typing import Any
sys.path.insert(0, {str(layer.parent)!r})
import {layer.name} as layer
{_ANSWERS}
said = answers([], json.load(sys.stdin), vars(layer))["samples"]
assert "perdure" not in sys.modules
json.dump({{"names": sorted(vars(layer)), "skipped": layer.__perdure__.skipped, "samples": said}}, sys.stdout)
"""
    done = subprocess.run([_PLAIN, "-I", "-c", code], input=json.dumps(samples), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _differing(here: Mapping[str, object], there: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    return {
        key: (here.get(key), there.get(key)) for key in here.keys() | there.keys() if here.get(key) != there.get(key)
    }


def _say_what_they_should(module: Module, texts: Mapping[str, str | None], samples: Mapping[str, str]) -> None:
    """What is kept of `module`, whose names have these `texts`, is what is to be, and works."""
    lost = [name for name in module.kept if texts[name] is None]
    assert not lost, f"of\n{module}"
    left = [name for name in module.gone if texts[name] is not None]
    assert not left, f"of\n{module}"
    for name, part in module.texts:
        assert part in (texts[name] or ""), name
    raised = [said for said in samples.values() if "was raised: " in said]
    assert not raised, f"by\n{module}"


# One at a time, without a kernel.


class _Life:
    """A kernel as test_cells has them, asked what it has of a module."""

    def __init__(self, cells: Cells, module: Module) -> None:
        names = [*module.kept, *module.gone]
        said = answers([name for name in module.kept if "@" not in name], [*module.samples], cells.namespace)
        self.signatures, self.samples = said["signatures"], said["samples"]
        self.texts = {name: cells.layer.text(name) if name in cells.names else None for name in names}
        self.kept = _own_names(cells.names)


def _run(cells: Cells, module: Module) -> None:
    """Run the cells of `module`; all that they define is kept."""
    for cell in module.cells:
        outcomes = cells.run(cell)
        assert cells.error is None
        assert not [outcome for outcome in outcomes if isinstance(outcome, NotKept)]


def _is_well(cells: Cells, module: Module) -> None:
    """What is kept of `module` is what is to be, and the next kernel and plain Python have it as it is here."""
    before = _Life(cells, module)
    _say_what_they_should(module, before.texts, before.samples)

    again = cells.restarted()
    assert again.layer.report.skipped == ()
    after = _Life(again, module)
    assert not _differing(before.texts, after.texts)
    assert not _differing(before.signatures, after.signatures)
    assert not _differing(before.samples, after.samples)
    assert before.kept == after.kept

    with tempfile.TemporaryDirectory() as folder:
        layer = Path(folder) / "layer"
        for path, data in {**generated_files("layer"), **cells.store.files()}.items():
            (layer / path).parent.mkdir(parents=True, exist_ok=True)
            (layer / path).write_bytes(data)
        plain = _imported(layer)
    assert plain.__perdure__.skipped == {}
    assert _own_names(vars(plain)) == _own_names(again.namespace)
    assert not _differing(before.samples, answers([], [*module.samples], vars(plain))["samples"])


def _imported(layer: Path) -> Any:
    """The package in the folder `layer`, loaded in this process."""
    spec = importlib.util.spec_from_file_location("layer_of_a_module", layer / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
    return module


@pytest.mark.filterwarnings("ignore")  # what the cells say of themselves
@settings(_SETTINGS, max_examples=150)
@given(modules(), st.booleans())
def test_a_module_is_kept(module: Module, lazy: bool) -> None:
    cells = Cells()
    if lazy:
        cells.run(_LAZY)
    _run(cells, module)
    _is_well(cells, module)


@pytest.mark.filterwarnings("ignore")
@settings(_SETTINGS, max_examples=50)
@given(modules())
def test_a_module_that_is_run_again_after_a_restart_is_kept(module: Module) -> None:
    first = Cells()
    _run(first, module)
    second = first.restarted()
    _run(second, module)
    _is_well(second, module)


# All of them in one kernel.


def _drawn() -> list[Module]:
    """Some modules with each form, the same in every run, each with names of its own."""
    found = dict.fromkeys(module for form in FORMS for module in _drawn_with(form))
    return [module.numbered(number) for number, module in enumerate(found)]


def _drawn_with(form: str) -> list[Module]:
    found: dict[Module, None] = {}

    @settings(_SETTINGS, max_examples=_EACH * 3, phases=[Phase.generate])
    @given(modules(form))
    def collect(module: Module) -> None:
        found[module] = None

    collect()
    return [*found][-_EACH:]  # the first ones are plain


def _asked(kernel: Kernel, names: list[str], samples: list[str]) -> dict[str, dict[str, Any]]:
    """What a kernel has of `names`: their signatures and texts, what it has besides, and what `samples` are worth."""
    code = f"""%%scratch
from typing import Any
import json
import perdure
{_ANSWERS}
def text(name):
    try:
        return perdure.definition_text(name)
    except LookupError:
        return None
names, samples = json.loads({json.dumps([names, samples])!r})
said = answers([name for name in names if "@" not in name], samples, globals())
said["texts"] = {{name: text(name) for name in [*names, *(n for n in globals() if n not in names)]}}
said["live"] = {{name: True for name in globals()}}
print(json.dumps(said))
"""
    answer = kernel.run(code)
    assert answer.status == "ok", answer.error
    said: dict[str, dict[str, Any]] = json.loads(answer.stdout)
    return said


def _kept(said: Mapping[str, Mapping[str, str | None]]) -> set[str]:
    """The top-level names that have a definition."""
    return _own_names(name for name in said["live"] if said["texts"].get(name) is not None)


def _which(differing: Iterable[str], drawn: list[Module]) -> str:
    """The modules whose names occur in `differing`."""
    numbers = sorted({int(found) for text in differing for found in re.findall(r"[mM](\d+)_", text)})
    return "\n\n".join(["of", *(str(drawn[number]) for number in numbers)])


def test_hundreds_of_modules_in_one_kernel(kernel: Kernel) -> None:
    drawn = _drawn()
    assert len(drawn) >= 200
    for number, module in enumerate(drawn):
        if number == len(drawn) * 3 // 4:
            kernel.run(_LAZY)
        for cell in module.cells:
            answer = kernel.run(cell)
            assert answer.status == "ok", f"{answer.error} in\n{module}"
            assert answer.perdure["not_kept"] == [], f"in\n{module}"
    names = [name for module in drawn for name in (*module.kept, *module.gone)]
    samples = [sample for module in drawn for sample in module.samples]
    before = _asked(kernel, names, samples)
    for module in drawn:
        _say_what_they_should(module, before["texts"], {sample: before["samples"][sample] for sample in module.samples})
    home = kernel.home
    assert home.status() == ""
    assert home.fsck() == ""

    kernel.restart()
    assert kernel.hello == []
    after = _asked(kernel, names, samples)
    for kind, of in (("signatures", names), ("texts", names), ("samples", samples)):
        here, there = ({each: said[kind].get(each) for each in of} for said in (before, after))
        differing = _differing(here, there)
        assert not differing, _which(differing, drawn)
    assert _kept(before) == _kept(after)
    # Besides there are imports; no plain variable came in.
    imported = {name for module in drawn for name in re.findall(r"\bas (\w+)", str(module))}
    assert _own_names(after["live"]) - _kept(after) <= imported
    assert home.status() == ""

    plain = _plain(home.layer, samples)
    assert plain["skipped"] == {}
    assert _own_names(plain["names"]) == _own_names(after["live"])
    differing = _differing(before["samples"], plain["samples"])
    assert not differing, _which(differing, drawn)
