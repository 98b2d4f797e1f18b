"""What is told of a definition from its text alone."""

from __future__ import annotations

import pytest

from perdure.kernel.glance import attributes, described
from perdure.layer.definition import Definition, Key, Kind


def told(text: str, name: str = "f", *, names: tuple[str, ...] = (), source: bool = False) -> str | None:
    key = Key(names[0] if names else name.partition(".")[0])
    definition = Definition(key, Kind.FUNCTION, text, names=names)
    said = described(definition, name, "f.py", ["slow"], source=source)
    end = "\nDeferred:  it is loaded when a cell names it (slow)"
    assert said is None or said.endswith(end)
    return said.removesuffix(end) if said is not None else None


def test_a_function() -> None:
    text = (
        "@slow.jit\nasync def f(a, /, b: int = 1, *rest, key=None, **more) -> str:\n    '''One.\n\n    Two.\n    '''\n"
    )
    assert told(text) == (
        "Signature: f(a, /, b: int=1, *rest, key=None, **more) -> str\n"
        "Docstring: \nOne.\n\nTwo.\nFile:      f.py\nType:      function"
    )
    assert f"Source:    \n{text}\nFile" in str(told(text, source=True))


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("class f:\n    def __init__(self): ...", "f()"),
        ("class f:\n    def __init__(self, a, /, b=1): ...", "f(a, /, b=1)"),
        ("class f:\n    def __init__(self, /, *, b): ...", "f(*, b)"),
        ("class f:\n    def __init__(*args): ...", "f(*args)"),
        ("class f:\n    __init__ = other", None),
        ("class f(slow.Base): ...", None),
    ],
)
def test_a_class(text: str, signature: str | None) -> None:
    head = f"Signature: {signature}\n" if signature is not None else ""
    assert told(text) == f"{head}File:      f.py\nType:      type"


def test_a_value() -> None:
    assert told("f = slow.UNIT") == "File:      f.py\nType:      value"
    assert told("A, f = slow.UNIT", names=("A", "f")) == "File:      f.py\nType:      value"


def test_attributes_of_a_class() -> None:
    text = "class f:\n    x: int = 1; y = z = 1\n    def go(self): ...\n    class In: ...\n    def go(self, a): 'Goes.'"
    assert told(text, "f.go") == "Signature: go(self, a)\nDocstring: Goes.\nFile:      f.py\nType:      function"
    assert told(text, "f.nowhere") is None
    assert told("def f(): ...", "f.go") is None
    definition = Definition(Key("f"), Kind.CLASS, text)
    assert dict(attributes(definition, "f")) == {
        "x": "instance",
        "y": "instance",
        "z": "instance",
        "go": "function",
        "In": "class",
    }
    assert not [*attributes(Definition(Key("f"), Kind.VALUE, "f = 1"), "f")]
