"""Files in, a namespace and a report out; one broken file never takes others with it (DESIGN §4, Boot)."""

from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.layer.boot import Boot
from perdure.layer.boot_report import BootReport
from perdure.layer.definition import RelPath
from perdure.layer.imports import ImportRecord
from perdure.layer.install import Image

GOOD: dict[str, str | bytes] = {"functions/g/good.py": "def good(): return 'good'\n"}


class Booted:
    """A boot that is over."""

    def __init__(self, files: dict[str, str | bytes], **names: object) -> None:
        self.namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, **names}
        self.image = Image(self.namespace)
        self.imports = ImportRecord()
        data = {RelPath(path): text.encode() if isinstance(text, str) else text for path, text in files.items()}
        self.report: BootReport = Boot(data, Path("/layer"), self.image, self.imports, sys.modules).run()

    @property
    def loaded(self) -> list[str]:
        return [item.path.rpartition("/")[2].removesuffix(".py") for item in self.report.loaded]

    @property
    def skipped(self) -> dict[str, str]:
        return {item.path: item.reason for item in self.report.skipped}


def test_nothing() -> None:
    assert Booted({}).report == BootReport()


def test_definitions_load_after_what_they_need_with_their_imports() -> None:
    booted = Booted(
        {
            "classes/a/A.py": "class A(B):\n    pass\n",
            "classes/b/B.py": "class B:\n    root = sqrt(LIMIT)\n",
            "values/l/LIMIT.py": "from math import sqrt\n\nLIMIT = 4\n",
            "functions/f/f.py": "import json as j\n\n\ndef f(x=A): return j.dumps([x.root])\n",
        }
    )
    assert booted.loaded == ["LIMIT", "B", "A", "f"]
    assert booted.namespace["f"]() == "[2.0]"
    assert booted.image.live.keys() == {"A", "B", "LIMIT", "f"}
    assert "j" in booted.imports
    assert not booted.skipped


# Every reason to leave a file out; the others load.
REASONS: dict[str, tuple[dict[str, str | bytes], dict[str, str]]] = {
    "syntax error": ({"functions/b/bad.py": "def bad(:\n"}, {"functions/b/bad.py": "line 1: invalid syntax"}),
    "an error that only the compiler finds": (
        {"functions/b/bad.py": "def bad():\n    nonlocal x\n"},
        {"functions/b/bad.py": "line 2: no binding for nonlocal 'x' found"},
    ),
    "top-level await": (
        {"values/b/BAD.py": "BAD = await good()\n"},
        {"values/b/BAD.py": "line 1: 'await' outside function"},
    ),
    "merge markers": (
        {"functions/b/bad.py": "<<<<<<< HEAD\ndef bad(): pass\n=======\n>>>>>>> x\n"},
        {"functions/b/bad.py": "line 1: it has merge conflict markers"},
    ),
    "not UTF-8": ({"functions/b/bad.py": b"# \xff\n"}, {"functions/b/bad.py": "line 1: it is not UTF-8 text"}),
    "half a file": ({"functions/b/bad.py": ""}, {"functions/b/bad.py": "line 1: it defines nothing"}),
    "raises": (
        {"functions/b/bad.py": "# x\n@(1/0)\ndef bad(): pass\n"},
        {"functions/b/bad.py": "it raised ZeroDivisionError: division by zero at line 2"},
    ),
    "raises in what it calls": (
        {"values/b/BAD.py": "import json\n\nBAD = json.loads('{')\n"},
        {
            "values/b/BAD.py": "it raised JSONDecodeError: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1) at line 3"
        },
    ),
    "ends the process": (
        {"values/b/BAD.py": "import sys\n\nBAD = sys.exit(3)\n"},
        {"values/b/BAD.py": "it raised SystemExit: 3 at line 3"},
    ),
    "is interrupted": (
        {"classes/b/Bad.py": "class Bad:\n    raise KeyboardInterrupt\n"},
        {"classes/b/Bad.py": "it raised KeyboardInterrupt at line 2"},
    ),
    "an exception that cannot print itself": (
        {"classes/b/Bad.py": "class Bad:\n    def s(self): 1/0\n    raise type('E', (Exception,), dict(__str__=s))\n"},
        {"classes/b/Bad.py": "it raised E at line 3"},
    ),
    "a long message of several lines": (
        {"classes/b/Bad.py": "class Bad:\n    raise ValueError('a\\n b' * 1000)\n"},
        {"classes/b/Bad.py": f"it raised ValueError: {('a b' * 1000)[:200]}… at line 2"},
    ),
    "package missing": (
        {"functions/b/bad.py": "import no_such_package.part as p\n\n\ndef bad(): return p\n"},
        {"functions/b/bad.py": "no_such_package is found nowhere here; install it"},
    ),
    "module missing": (
        {"functions/b/bad.py": "import json.no_such_part\n\n\ndef bad(): return json\n"},
        {"functions/b/bad.py": "json.no_such_part is no module of json here"},
    ),
    "name missing in a module": (
        {"functions/b/bad.py": "from math import no_such_name\n\n\ndef bad(): return no_such_name\n"},
        {"functions/b/bad.py": "it raised ImportError: cannot import name 'no_such_name' from 'math'"},
    ),
    "needs what nothing defines": (
        {"functions/b/bad.py": "def bad(x=nothing): pass\n"},
        {"functions/b/bad.py": "it needs nothing to load, which nothing defines"},
    ),
    "needs what is skipped": (
        {"functions/b/bad.py": "def bad(x=other): pass\n", "functions/o/other.py": "def other(:\n"},
        {
            "functions/b/bad.py": "it needs other to load, and functions/o/other.py is skipped",
            "functions/o/other.py": "line 1: invalid syntax",
        },
    ),
    "calls what needs what nothing defines": (
        {
            "functions/b/bad.py": "def bad(x=other()): pass\n",
            "functions/o/other.py": "# perdure: needs app\ndef other(): return app\n",
        },
        {"functions/b/bad.py": "it raised NameError: name 'app' is not defined at line 1"},
    ),
    "calls what was a definition": (
        {"functions/b/bad.py": "def bad(): return gone()\n", "functions/c/caller.py": "def caller(): return bad()\n"},
        {"functions/b/bad.py": "it uses gone, which nothing defines now"},
    ),
    "given twice": (
        {"classes/b/bad.py": "class bad: pass\n", "functions/b/bad.py": "def bad(): pass\n"},
        {"functions/b/bad.py": "bad is defined in classes/b/bad.py too; remove one of the files"},
    ),
    "a circle": (
        {"values/a/A.py": "A = B\n", "values/b/B.py": "B = A\n"},
        {
            "values/a/A.py": "it needs B to load, and values/b/B.py is skipped",
            "values/b/B.py": "it needs A to load, and values/a/A.py is skipped",
        },
    ),
    "a header that does not fit": (
        {"functions/b/bad.py": "# perdure: name other\ndef bad(): pass\n"},
        {"functions/b/bad.py": "line 1: its first line names other, which it does not define"},
    ),
}


@pytest.mark.parametrize(("files", "skipped"), REASONS.values(), ids=REASONS)
def test_a_failing_file_is_left_out_with_its_reason(
    files: dict[str, str | bytes], skipped: dict[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    booted = Booted(files | GOOD)
    said = {
        path: reason.partition(" (/")[0].partition(" (unknown location")[0] for path, reason in booted.skipped.items()
    }
    assert said.keys() == skipped.keys()
    for path, reason in skipped.items():
        # Python words what it complains of anew in each version.
        assert said[path].startswith(reason.partition(" (")[0]), said
    assert "good" in booted.loaded
    assert {*booted.loaded} == {*booted.image.live}
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("files", "skipped"), REASONS.values(), ids=REASONS)
def test_what_is_skipped_says_what_it_would_have_given(files: dict[str, str | bytes], skipped: dict[str, str]) -> None:
    for item in Booted(files).report.skipped:
        assert [name.lower() for name in item.names] == [item.path.rpartition("/")[2].removesuffix(".py").lower()]
        if item.definition is not None:
            assert item.definition.gives == item.names


def test_unreadable_names_are_those_of_the_path() -> None:
    booted = Booted({"functions/~/%CF%80.py": "def", "classes/f/Foo~1cbec7.py": "class"})
    assert [item.names for item in booted.report.skipped] == [("Foo",), ("π",)]


def test_callers_of_what_cannot_be_read_load() -> None:
    booted = Booted({"functions/a/a.py": "def a(): return b()\n", "functions/b/b.py": "def b(:\n"})
    assert booted.loaded == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        "print(__file__, __name__, __spec__)",
        "return later",
        "return from_another_file",
        "return given",
        "import os\n    return os",
        "global made\n    made = 1",
    ],
)
def test_what_is_no_reason_to_skip(body: str) -> None:
    files = {
        "functions/f/f.py": f"# perdure: needs later\ndef f():\n    {body}\n",
        "functions/o/o.py": "import json as from_another_file\n\n\ndef o(): return from_another_file\n",
    }
    assert "f" in Booted({**files}, given=1).loaded


def test_unresolved() -> None:
    booted = Booted({"functions/f/f.py": "# perdure: needs df, len, model\ndef f(): return df, model\n"}, model=1)
    assert [item.unresolved for item in booted.report.loaded] == [("df",)]


# Annotations that cannot be evaluated.
def test_a_name_in_an_annotation_that_nothing_defines() -> None:
    booted = Booted({"functions/f/f.py": "def f(x: Client) -> 'Other': return 1\n", **GOOD})
    assert {item.path: item.lazy for item in booted.report.loaded} == {
        "functions/f/f.py": "Client",
        "functions/g/good.py": None,
    }
    assert booted.namespace["f"].__annotations__ == {"x": "Client", "return": "'Other'"}


def test_annotations_in_a_circle_are_lazy_for_one() -> None:
    booted = Booted(
        {"classes/a/A.py": "class A:\n    def f(self, b: B): pass\n", "classes/b/B.py": "class B:\n    a: A\n"}
    )
    assert {item.path: item.lazy for item in booted.report.loaded} == {"classes/a/A.py": "B", "classes/b/B.py": None}
    assert booted.namespace["B"].__annotations__ == {"a": booted.namespace["A"]}


def test_a_name_in_an_annotation_of_what_is_skipped() -> None:
    booted = Booted({"classes/b/B.py": "class B:\n    1/0\n", "functions/f/f.py": "def f(x: B): pass\n"})
    assert [(item.path, item.lazy) for item in booted.report.loaded] == [("functions/f/f.py", "B")]


def test_a_name_needed_to_load_is_no_reason_for_lazy_annotations() -> None:
    booted = Booted({"functions/f/f.py": "def f(x: Client = Client): pass\n"})
    assert booted.skipped == {"functions/f/f.py": "it needs Client to load, which nothing defines"}


def test_circles_that_only_calls_close() -> None:
    booted = Booted(
        {
            "functions/a/a.py": "def a(n=1): return n and b(n - 1)\n",
            "functions/b/b.py": "def b(n, x=LIMIT): return n and a(n - 1)\n",
            "values/l/LIMIT.py": "LIMIT = 1\n",
            "functions/d/d.py": "@deco\ndef d(): return a()\n",
            "functions/d/deco.py": "def deco(f): return a and f\n",
        }
    )
    assert not booted.skipped
    assert booted.namespace["d"]() == 0


def test_what_the_order_cannot_see_is_tried_again() -> None:
    """A base whose metaclass is found through an object calls a helper."""
    booted = Booted(
        {
            "classes/a/A.py": "class A(BASES[0]): pass\n",
            "classes/m/M.py": "class M(type):\n    def __new__(m, *a): return type.__new__(m, *helper(a))\n",
            "functions/z/helper.py": "def helper(a): return a\n",
            "values/b/BASES.py": "BASES = [type('Base', (), {}), 1][:1]\n",
        }
    )
    assert not booted.skipped


REGISTRY: dict[str, str | bytes] = {
    "values/h/REG.py": "REG = {}\n",
    "functions/r/register.py": "def register(key):\n    return lambda f: REG.setdefault(key, f)\n",
    "functions/h/handler.py": "@register('a')\ndef handler(): pass\n",
    "classes/u/User.py": "class User:\n    handler = REG['a']\n",
    "classes/d/Derived.py": "class Derived(User): pass\n",
}


def test_what_fails_for_a_registry_not_filled_yet_is_tried_again() -> None:
    booted = Booted(REGISTRY)
    assert not booted.skipped
    assert booted.namespace["Derived"].handler is booted.namespace["handler"]


def test_what_fails_again_is_skipped_with_its_own_reason() -> None:
    booted = Booted({**REGISTRY, "functions/h/handler.py": "@register('b')\ndef handler(): pass\n"})
    assert booted.skipped == {
        "classes/d/Derived.py": "it needs User to load, and classes/u/User.py is skipped",
        "classes/u/User.py": "it raised KeyError: 'a' at line 2",
    }


def test_what_failed_is_not_tried_again_where_nothing_came_since() -> None:
    booted = Booted(
        {
            **GOOD,
            "values/z/Z.py": "Z = print('tried') or 1 / 0\n",
            "functions/z/end.py": "import sys\nsys.exit()\ndef end(): pass\n",
        }
    )
    assert booted.report.output == "tried\n"


def test_what_set_name_needs_comes_first_or_is_tried_again() -> None:
    """Python 3.11 wraps what it raises."""
    files: dict[str, str | bytes] = {
        "classes/d/Desc.py": "class Desc:\n    def __set_name__(self, owner, name): LOG.append(name)\n",
        "classes/u/User.py": "class User:\n    a = Desc()\n",
    }
    booted = Booted({**files, "values/l/LOG.py": "LOG = []\n"})
    assert booted.loaded == ["Desc", "LOG", "User"]
    files["classes/d/Desc.py"] = "# perdure: needs LOG\n" + str(files["classes/d/Desc.py"])
    # The wrapped exception of 3.11 does not know the line of the class.
    (reason,) = Booted(files).skipped.values()
    assert reason.removesuffix(" at line 1") == "it raised NameError: name 'LOG' is not defined"


def test_output_of_loading_is_captured() -> None:
    booted = Booted(
        {"classes/a/A.py": "import sys\n\n\nclass A:\n    print('out')\n    print('err', file=sys.stderr)\n"}
    )
    assert booted.report.output == "out\nerr\n"


def test_a_text_that_warns_warns_of_nothing() -> None:
    booted = Booted({"functions/f/f.py": "def f(): return '\\d'\n"})
    assert booted.loaded == ["f"]
    assert booted.report.output == ""


def test_a_kept_function_wins_over_an_import_of_another_file() -> None:
    """Whichever is loaded first: the function was the newer one, or else the file would call what it imports."""
    for name in ("a", "z"):
        booted = Booted(
            {
                f"functions/{name}/{name}.py": f"from math import sqrt\n\n\ndef {name}(): return sqrt(4)\n",
                "functions/s/sqrt.py": "def sqrt(x): return 'mine'\n",
            }
        )
        assert booted.namespace[name]() == "mine"


_LINES = st.lists(
    st.sampled_from(
        [
            "def f(): pass",
            "class A(B): pass",
            "x = y",
            "import math",
            "1/0",
            "raise SystemExit",
            "# perdure: name f",
            ")",
            "",
        ]
    ),
    max_size=4,
).map(lambda lines: "\n".join(lines).encode())


@given(st.dictionaries(st.sampled_from(["f", "A", "x", "y", "B"]), _LINES | st.binary(max_size=30)))
def test_whatever_the_files_hold_the_good_one_loads_and_each_is_told_of(files: dict[str, bytes]) -> None:
    paths = {f"functions/a/{name}.py": data for name, data in files.items()}
    booted = Booted({**paths, **GOOD})
    assert booted.namespace["good"]() == "good"
    told = [item.path for item in booted.report.loaded] + [*booted.skipped]
    assert sorted(told) == sorted([*paths, *GOOD])
