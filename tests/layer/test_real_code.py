"""Real code as cells: what was kept comes back the same, by name, signature, text and byte code."""

from __future__ import annotations

import ast
import dis
import importlib
import inspect
import warnings
from types import CodeType, FunctionType
from typing import Any

import pytest

from perdure.layer.outcome import Forgotten, NotKept

from .cells import Cells

MODULES = (
    "argparse calendar collections configparser contextlib copy csv dataclasses datetime difflib email.utils enum "
    "fractions functools graphlib heapq http.cookies inspect ipaddress json.decoder json.encoder logging "
    "numbers pickle plistlib pprint random reprlib sched selectors shlex shutil socketserver stat statistics "
    "string tempfile textwrap threading timeit tokenize traceback types typing unittest.case unittest.mock "
    "urllib.parse uuid weakref xmlrpc.client zipfile"
).split()


@pytest.fixture(params=MODULES)
def kernels(request: pytest.FixtureRequest) -> tuple[Cells, Cells]:
    """One kernel in which the module's source ran as a cell, and one started after it."""
    module = importlib.import_module(request.param)
    source = inspect.getsource(module)
    tests = [n for n in ast.parse(source).body if isinstance(n, ast.If) and "'__name__'" in ast.dump(n.test)]
    lines = source.split("\n")[: tests[-1].lineno - 1] if tests else source.split("\n")
    before = Cells()
    before.namespace["__package__"] = module.__package__
    before.namespace["__file__"] = module.__file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outcomes = before.run("\n".join(lines))
        assert before.error is None
        after = before.restarted()
    # Nothing is lost without a word.
    told = (outcome for outcome in outcomes if isinstance(outcome, NotKept | Forgotten))
    refused = {name for outcome in told for name in outcome.name.split(", ")}
    defined = {
        node.name
        for node in ast.parse("\n".join(lines)).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name in before.namespace
    }
    assert defined <= before.names | refused
    return before, after


# What its own module, datetime, makes unloadable by deleting what it needs, which the notices of that tell: an alias
# of a class, and classes that it then imports from C.
LOST = set("_IsoCalendarDate date datetime time timedelta timezone".split())


def test_what_was_kept_comes_back_as_it_was(kernels: tuple[Cells, Cells]) -> None:
    before, after = kernels
    assert {name for item in after.layer.report.skipped for name in item.names} <= LOST
    assert after.names == before.names - LOST
    assert after.files == before.files
    for name in sorted(after.names):
        assert after.layer.text(name) == before.layer.text(name)
        # A module may end with `from _heapq import heapify`: the layer has the function, and a kernel both, in turn.
        if name in before.namespace and before.namespace[name].__class__ is after.namespace[name].__class__:
            same(before.namespace[name], after.namespace[name], name)


def same(one: Any, other: Any, where: str) -> None:
    """Compare what a definition gave before and gives now; values by what can be compared of them."""
    assert type(one).__qualname__ == type(other).__qualname__, where
    if isinstance(one, FunctionType):
        assert signature(one) == signature(other), where
        same_code(one.__code__, other.__code__, where)
        assert (one.__doc__, one.__module__) == (other.__doc__, other.__module__), where
        if hasattr(one, "__wrapped__"):
            same(one.__wrapped__, other.__wrapped__, where)
    elif isinstance(one, type) and one.__module__ == "__main__":
        assert [base.__qualname__ for base in one.__mro__] == [base.__qualname__ for base in other.__mro__], where
        # What a module gives its classes later, `Foo.m = f`, is a statement of its own.
        assert vars(one).keys() >= vars(other).keys() - {"__annotations__"}, where
        for attribute, value in vars(one).items():
            if attribute not in vars(other):
                continue
            function = getattr(value, "__func__", value)
            if isinstance(function, FunctionType):
                again = vars(other)[attribute]
                same(function, getattr(again, "__func__", again), f"{where}.{attribute}")
    elif isinstance(one, int | float | str | bytes | tuple | frozenset):
        assert comparable(one) == comparable(other), where


def comparable(value: object) -> object:
    return (
        tuple(map(comparable, value))
        if isinstance(value, tuple)
        else getattr(value, "__qualname__", None) or repr(value)
    )


def signature(function: FunctionType) -> list[tuple[str, object, str]]:
    """Names, kinds and the types of defaults: of objects without a text of their own no more can be compared."""
    found = inspect.signature(function).parameters.values()
    return [(each.name, each.kind, type(each.default).__qualname__) for each in found]


def same_code(one: CodeType, other: CodeType, where: str) -> None:
    assert instructions(one) == instructions(other), where
    assert one.co_names == other.co_names, where
    assert one.co_varnames == other.co_varnames, where
    assert one.co_flags & LOW_FLAGS == other.co_flags & LOW_FLAGS, where
    inner = zip(functions_in(one), functions_in(other), strict=True)
    for first, second in inner:
        same_code(first, second, f"{where} in {first.co_name}")


LOW_FLAGS = 0xFFFF  # the kind of code; above are the __future__ features, which lazy annotations add to


def functions_in(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def instructions(code: CodeType) -> list[tuple[str, object]]:
    """What the code does, constants included. How a method is looked up hangs on the imports of the same file."""
    is_class_body = not code.co_flags & inspect.CO_OPTIMIZED  # where 3.13 has the line number as a constant

    def target(value: object) -> object:
        if isinstance(value, CodeType) or (is_class_body and isinstance(value, int)):
            return None
        return repr(sorted(value, key=repr) if isinstance(value, frozenset) else value)

    return [
        (
            "" if each.opname in ("LOAD_METHOD", "LOAD_ATTR") else each.opname,
            "JUMP" in each.opname or target(each.argval),
        )
        for each in dis.get_instructions(code)
        if each.opname not in ("PUSH_NULL", "EXTENDED_ARG", "PRECALL", "CALL", "FOR_ITER", "SEND")
    ]
