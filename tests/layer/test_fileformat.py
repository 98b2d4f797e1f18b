"""`Definition` ↔ file: what is written is read again; what cannot be read is said with its line."""

from __future__ import annotations

import ast
import linecache
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.layer.definition import Definition, Key, Kind, RelPath
from perdure.layer.errors import UnreadableFile
from perdure.layer.fileformat import read, render
from perdure.layer.source import Source

PATH = RelPath("functions/x/x.py")

EXAMPLES = {
    "bare": (Definition(Key("f"), Kind.FUNCTION, "def f(): pass"), "def f(): pass\n"),
    "imports": (
        Definition(Key("f"), Kind.FUNCTION, "# why\n@cache\ndef f(): pass", ("from functools import cache",)),
        "from functools import cache\n\n\n# why\n@cache\ndef f(): pass\n",
    ),
    "value": (
        Definition(Key("RATE"), Kind.VALUE, "RATE = math.pi", ("import math",)),
        "import math\n\nRATE = math.pi\n",
    ),
    "header": (
        Definition(
            Key("f"), Kind.FUNCTION, "def f(): pass", ("import a", "import b"), ("df", "größe"), (Key("g"), Key("h"))
        ),
        "# perdure: needs df, größe; after g, h\nimport a\nimport b\n\n\ndef f(): pass\n",
    ),
    "several names": (Definition(Key("A"), Kind.VALUE, "A, B = 1, 2", names=("A", "B")), "A, B = 1, 2\n"),
    "some of several names": (
        Definition(Key("B"), Kind.VALUE, "A, B = 1, 2", names=("B",)),
        "# perdure: name B\nA, B = 1, 2\n",
    ),
    "a comment like our header": (
        Definition(Key("f"), Kind.FUNCTION, "# perdure: needs x\ndef f(): pass"),
        "# perdure:\n# perdure: needs x\ndef f(): pass\n",
    ),
    "a comment like our header below imports": (
        Definition(Key("f"), Kind.FUNCTION, "# perdure: needs x\ndef f(): pass", ("import a",)),
        "import a\n\n\n# perdure: needs x\ndef f(): pass\n",
    ),
    "a comment like an encoding": (
        Definition(Key("f"), Kind.FUNCTION, "# coding: ascii\ndef f(): return 'é'"),
        "# perdure:\n\n# coding: ascii\ndef f(): return 'é'\n",
    ),
}


@pytest.mark.parametrize(("definition", "text"), EXAMPLES.values(), ids=EXAMPLES)
def test_a_file_reads_as_what_a_person_would_write(definition: Definition, text: str) -> None:
    assert render(definition).decode() == text
    assert read(PATH, text.encode()) == definition


@pytest.mark.parametrize(("definition", "text"), EXAMPLES.values(), ids=EXAMPLES)
def test_python_itself_reads_the_same_lines(definition: Definition, text: str, tmp_path: Path) -> None:
    """Tracebacks and `inspect` open the file by the rules of source files, which know encodings in comments."""
    file = tmp_path / "x.py"
    file.write_bytes(render(definition))
    assert "".join(linecache.getlines(str(file))) == text


_NAMES = st.sampled_from(["f", "größe", "_x", "A1", "π"])
_COMMENTS = st.lists(
    st.sampled_from(["# why", "# perdure: needs x", "# perdure:", "#", "#: é", "# -*- coding: latin-1 -*-", "# %"]),
    max_size=3,
)
_BODIES = st.sampled_from(
    [
        "def {}():\n    '''a\n\n\n# perdure: x\n    '''\n    return 1",
        "def {}(): pass  # behind",
        "def {}():\n    pass\n\n    # end",
        "@d(\n    1,\n)\nclass {}:\n\tx = '\u2028 \x0c'",
        "async def {}():\n    import a\n    return a",
        "{} = [\n    1,\n\n]  # end",
        "{}: int = '''\n'''",
        "{} = 1 + \\\n    2",
    ]
)
_IMPORTS = st.lists(
    st.sampled_from(["import a", "from b import c, d as e", "import f.g", "from __future__ import annotations"]),
    max_size=3,
    unique=True,
).map(lambda lines: tuple(sorted(lines, key=lambda line: "__future__" not in line)))


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    key = Key(draw(_NAMES))
    text = "\n".join([*draw(_COMMENTS), draw(_BODIES).replace("{}", key)])
    statement = ast.parse(text).body[0]
    kind = {ast.ClassDef: Kind.CLASS, ast.Assign: Kind.VALUE, ast.AnnAssign: Kind.VALUE}.get(type(statement))
    return Definition(
        key=key,
        kind=kind or Kind.FUNCTION,
        text=next(Source(text).statements([statement])).text,
        imports=draw(_IMPORTS),
        needs=tuple(draw(st.lists(_NAMES, max_size=2, unique=True))),
        after=tuple(Key(name) for name in draw(st.lists(_NAMES, max_size=2, unique=True))),
    )


@given(definitions())
def test_what_is_written_is_read_again(definition: Definition) -> None:
    assert read(PATH, render(definition)) == definition
    assert render(read(PATH, render(definition))) == render(definition)


@given(definitions())
def test_line_ends_and_a_byte_order_mark_of_other_editors_change_nothing(definition: Definition) -> None:
    data = render(definition)
    assert read(PATH, b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")) == definition


UNREADABLE = {
    "not UTF-8": (b"x = 1\ny = '\xff'\n", 2, "it is not UTF-8 text"),
    "merge markers": (b"<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> b\n", 1, "it has merge conflict markers"),
    "merge markers further down": (b"x = 1\n<<<<<<< HEAD\n", 2, "it has merge conflict markers"),
    "syntax error": (b"def f():\n    return )\n", 2, "unmatched ')'"),
    "empty": (b"", 1, "it defines nothing"),
    "comments": (b"# perdure: needs x\n# nothing\n", 1, "it defines nothing"),
    "imports": (b"import a\nimport b\n", 1, "it defines nothing"),
    "expressions": (b"import a\n\nprint(a)\n", 3, "it defines nothing"),
    "a name that is not there": (
        b"# perdure: name g\ndef f(): pass\n",
        1,
        "its first line names g, which it does not define",
    ),
    "null bytes": (b"x = 1\0\n", 1, "null bytes"),
    "half a file": (b"def f():\n    x = (1,\n", 2, "was never closed"),
}


@pytest.mark.parametrize(("data", "line", "why"), UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable(data: bytes, line: int, why: str) -> None:
    with pytest.raises(UnreadableFile) as caught:
        read(PATH, data)
    assert caught.value.line in (line, 1)
    assert why in caught.value.why
    assert caught.value.path == PATH


def test_deep_source_is_unreadable_not_a_crash() -> None:
    deep = b"x = " + b"-" * 100_000 + b"1\n"
    if sys.version_info >= (3, 12):
        deep = b"x = " + b"(" * 150 + b"1" + b")" * 150 + b"\n" + b"y = " + b"-" * 50_000 + b"1\n"
    with pytest.raises(UnreadableFile):
        read(PATH, deep)


_JUNK = st.binary(max_size=200) | st.lists(
    st.sampled_from(
        [b"\n", b"# perdure: name f; needs", b"import a", b"; ", b"def f(): pass", b"x = 1", b"    ", b"'''"]
    ),
    max_size=12,
).map(b"".join)


@settings(max_examples=300)
@given(_JUNK)
def test_any_bytes_are_a_definition_or_unreadable(data: bytes) -> None:
    try:
        definition = read(PATH, data)
    except UnreadableFile as error:
        line = error.line
    else:
        line = 1
        # Taken over once, it stays as it is.
        once = read(PATH, render(definition))
        assert read(PATH, render(once)) == once
        assert (once.key, once.kind, once.gives) == (definition.key, definition.kind, definition.gives)
    assert 0 < line <= data.count(b"\n") + data.count(b"\r") + 1


@pytest.mark.parametrize(
    ("text", "definition"),
    [
        (
            "import a  # why\n\n\n\ndef f(): pass\n\n\n",
            Definition(Key("f"), Kind.FUNCTION, "def f(): pass", ("import a",)),
        ),
        ("import a; import b\nX = 1", Definition(Key("X"), Kind.VALUE, "X = 1", ("import a", "import b"))),
        ("import a; X = 1", Definition(Key("X"), Kind.VALUE, "import a; X = 1")),
        (
            "from a import (\n    b,\n    c,\n)\nX = 1",
            Definition(Key("X"), Kind.VALUE, "X = 1", ("from a import (\n    b,\n    c,\n)",)),
        ),
        (
            "def g(): pass\n\n\ndef f(): return g\n",
            Definition(Key("f"), Kind.FUNCTION, "def g(): pass\n\n\ndef f(): return g", names=("f", "g")),
        ),
        ("def f(): pass\nprint('hand')\n", Definition(Key("f"), Kind.FUNCTION, "def f(): pass\nprint('hand')")),
        (
            "# perdure: later fields; needs a; after b\nX = 1",
            Definition(Key("X"), Kind.VALUE, "X = 1", needs=("a",), after=(Key("b"),)),
        ),
        ("# licence\n\nimport a\n\nX = 1", Definition(Key("X"), Kind.VALUE, "X = 1", ("import a",))),
        ("# licence\n\nX = 1", Definition(Key("X"), Kind.VALUE, "# licence\n\nX = 1")),
    ],
)
def test_files_edited_by_hand(text: str, definition: Definition) -> None:
    assert read(PATH, text.encode()) == definition
