"""What kernel/upstream builds on in IPython and ipykernel is what it was when it was written.

A release that changes one of these may change what perdure does without an error anywhere. A failure here is a request
to read: look at what upstream changed, at the override named in the message, and whether the one still fits the other;
then put the new digest here. tests/kernel/test_interception.py tells whether a cell still does what it does in stock.
"""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from importlib.metadata import version

import pytest
from ipykernel import kernelbase
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
from ipykernel.zmqshell import ZMQInteractiveShell
from IPython.core.completer import IPCompleter
from IPython.core.inputtransformer2 import TransformerManager
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magics.execution import ExecutionMagics
from IPython.core.magics.namespace import NamespaceMagics
from traitlets.config import Configurable

from perdure.kernel import bodies
from perdure.kernel.upstream.app import PerdureApp
from perdure.kernel.upstream.deferral import DeferredNames
from perdure.kernel.upstream.kernel import PerdureKernel
from perdure.kernel.upstream.shell import _ONE_BY_ONE, PerdureShell
from perdure.kernel.upstream.traits import Settings

# (owner, name): (digest of its source, what of ours hangs on it)
PINNED = {
    (InteractiveShell, "run_ast_nodes"): (
        "85581297f279",
        (
            "PerdureShell.run_ast_nodes calls it once per statement: it must compile and run node by node, return True "
            "for a failure, and decide what is shown from `interactivity` and the last node alone"
        ),
    ),
    (InteractiveShell, "run_cell_async"): (
        "100e58f69781",
        "it is what calls run_ast_nodes, once for a cell, and gives it the result with the cell's info",
    ),
    (InteractiveShell, "run_code"): (
        "326438c7837c",
        "it fills result.error_in_exec, whose traceback tells how far a body came",
    ),
    (ZMQInteractiveShell, "init_magics"): ("306727927bc7", "PerdureShell.init_magics adds perdure's magics after it"),
    (TransformerManager, "transform_cell"): ("aea9db7aa298", "%%scratch is stripped by a cleanup transform"),
    (TransformerManager, "check_complete"): (
        "c5148e37de29",
        "it leaves out transforms that say has_side_effects, as %%scratch's",
    ),
    (ExecutionMagics, "time"): (
        "e3cecf1c90f0",
        "kernel/bodies.py tells by its file names which statements of a body completed",
    ),
    (ExecutionMagics, "prun"): (
        "37420bd4110c",
        "kernel/bodies.py tells by its file names which statements of a body completed",
    ),
    (IPythonKernel, "__init__"): ("372aa5597bd1", "PerdureKernel.__init__ adds to it"),
    (IPythonKernel, "start"): ("e16c2e6f535e", "PerdureKernel.start takes the loop that it sets to rest on it"),
    (IPythonKernel, "banner"): ("fef1f5522eea", "PerdureKernel.banner adds the boot line to it"),
    (IPythonKernel, "kernel_info"): ("f4e83c668435", "PerdureKernel.kernel_info notes that it was asked for"),
    (IPythonKernel, "do_execute"): (
        "e604982101a0",
        "PerdureKernel.do_execute opens a cell before it and shows notices after it",
    ),
    (IPythonKernel, "do_shutdown"): (
        "f4f04ef2e187",
        "PerdureKernel.do_shutdown has the main loop settle; it is called before that loop is stopped",
    ),
    (IPythonKernel, "finish_metadata"): ("bf12bdeabb4d", "PerdureKernel.finish_metadata adds metadata.perdure"),
    (IPythonKernel, "do_history"): (
        "40f69ed6c7e4",
        "PerdureKernel.do_history puts in the session's number where this answers 0; it may be right by itself now",
    ),
    (Kernel, "execute_request"): (
        "0c6970577b72",
        "it awaits do_execute and then calls finish_metadata in the same context, and fills cell_meta by its name",
    ),
    (IPythonKernel, "do_complete"): ("305f894cf4fa", "PerdureKernel.do_complete loads what waits before it"),
    (IPythonKernel, "do_inspect"): (
        "c0cef54b6255",
        "PerdureKernel.do_inspect answers for what waits in its place, by the same token_at_cursor",
    ),
    (IPythonKernel, "do_debug_request"): ("37022f6d8f70", "PerdureKernel.do_debug_request loads what waits before it"),
    (InteractiveShell, "user_expressions"): (
        "9e50b433370b",
        "PerdureShell.user_expressions loads what waits before it",
    ),
    (InteractiveShell, "showtraceback"): (
        "04c3ca84457a",
        "PerdureShell.showtraceback puts a note on a NameError first; every error of a cell has to come by",
    ),
    (IPCompleter, "matchers"): ("6c121472c4ea", "both completers ask custom_matchers, one of which offers what waits"),
    (NamespaceMagics, "who_ls"): ("98ad605bc80f", "DeferredNames.who_ls adds what waits"),
    (NamespaceMagics, "who"): ("a09679eb70ec", "it asks who_ls, which DeferredNames overrides"),
    (NamespaceMagics, "whos"): ("f30fd13bce6b", "DeferredNames.whos adds what waits behind its table"),
    (Configurable, "_load_config"): (
        "e1fb64a278ed",
        "it asks _find_my_config for all values, of config files and of the command line, and sets what that gives",
    ),
    (Configurable, "_find_my_config"): (
        "9323233d2290",
        "Settings._find_my_config leaves bad values out of what it gives",
    ),
    (NamespaceMagics, "reset"): (
        "adec52c12b68",
        "its hard way calls the shell's reset, its soft way asks who_ls for what goes",
    ),
    (NamespaceMagics, "reset_selective"): (
        "66a8bce40644",
        "it asks who_ls and searches each name, as DeferredNames does",
    ),
    (InteractiveShell, "reset"): ("2db85f0b6fa9", "PerdureShell.reset lets what waits go after it"),
    (InteractiveShell, "safe_execfile"): ("4101c2e3544b", "PerdureShell.safe_execfile loads what waits before it"),
    (ExecutionMagics, "run"): (
        "b1f467e27006",
        "with -i it has safe_execfile run the file in the user's namespace, in all its ways",
    ),
    (IPKernelApp, "initialize"): ("d8d6c36f9072", "PerdureApp.initialize boots the layer when this is done"),
}


def function_of(owner: type, name: str) -> Callable[..., object]:
    found = inspect.getattr_static(owner, name)
    function = found.fget if isinstance(found, property) else found
    assert callable(function), f"{owner.__name__}.{name} is no function any more"
    unwrapped: Callable[..., object] = inspect.unwrap(function)
    return unwrapped


def digest(function: Callable[..., object]) -> str:
    """Of the source without comments and empty lines."""
    lines = textwrap.dedent(inspect.getsource(function)).splitlines()
    told = [line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:12]


def described(owner: type, name: str) -> str:
    package = owner.__module__.partition(".")[0].lower()
    return f"{owner.__module__}.{owner.__qualname__}.{name} of {package} {version(package)}"


@pytest.mark.parametrize(("owner", "name"), PINNED, ids=lambda part: getattr(part, "__name__", part))
def test_what_is_built_on_is_as_it_was(owner: type, name: str) -> None:
    known, why = PINNED[owner, name]
    now = digest(function_of(owner, name))
    assert now == known, f"{described(owner, name)} has changed (digest {now}). Read it: {why}."


def overrides(ours: type, theirs: type) -> Iterator[str]:
    for name, value in vars(ours).items():
        plain = inspect.isfunction(value) or isinstance(value, property)
        if plain and inspect.getattr_static(theirs, name, None) is not None:
            yield name


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (PerdureShell, ZMQInteractiveShell),
        (PerdureKernel, IPythonKernel),
        (PerdureApp, IPKernelApp),
        (Settings, Configurable),
        (DeferredNames, NamespaceMagics),
    ],
)
def test_every_override_is_pinned(ours: type, theirs: type) -> None:
    pinned = {name for _, name in PINNED}
    assert {name for name in overrides(ours, theirs) if name not in pinned} == set()


@pytest.mark.parametrize(
    ("ours", "theirs", "name"),
    [
        (PerdureShell, ZMQInteractiveShell, "run_ast_nodes"),
        (PerdureKernel, IPythonKernel, "do_execute"),
        (PerdureKernel, IPythonKernel, "finish_metadata"),
        (PerdureApp, IPKernelApp, "initialize"),
    ],
)
def test_overrides_take_what_they_override_takes(ours: type, theirs: type, name: str) -> None:
    def shape(owner: type) -> list[tuple[str, object, object]]:
        parameters = inspect.signature(inspect.getattr_static(owner, name)).parameters.values()
        return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]

    assert shape(ours) == shape(theirs), f"{described(theirs, name)} takes other arguments now"


def test_every_interactivity_is_known() -> None:
    """An unknown one is left to stock as a whole, and then nothing of the cell is kept."""
    assert set(InteractiveShell.ast_node_interactivity.values or ()) <= set(_ONE_BY_ONE)


def test_names_of_timed_code_are_those_that_bodies_looks_for() -> None:
    source = inspect.getsource(ExecutionMagics.time)
    assert {name for name in bodies._BODY_FILES if name in source} == {"<timed exec>", "<timed eval>"}


def test_upstream_calls_our_do_execute_with_the_cells_metadata() -> None:
    """ipykernel looks at the names of do_execute's parameters to decide what to fill in."""
    accepts: Callable[..., object] = kernelbase._accepts_parameters
    assert accepts(PerdureKernel.do_execute, ["cell_meta", "cell_id"]) == {
        "cell_meta": True,
        "cell_id": True,
    }
