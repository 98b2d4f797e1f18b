"""Ten thousand definitions under names of real code, and some under the oddest names there are: all come back."""

from __future__ import annotations

import ast
import subprocess
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.layer.plain_layer import PLAIN

from .driver import Kernel
from .many import definitions, made, more

COUNT = 10_000
PATIENT = "--PerdureKernel.boot_seconds=280"
LONG, WIDE = "l" * 300, "größe中π" * 50

# Each with what is to be true of it then, in a kernel and in plain Python. No builtin is named: real code has those
# names for its own.
ODD = {
    f"def {LONG}():\n    return 300": f"{LONG}() == 300",
    f"def {LONG}2():\n    return 301": f"{LONG}2() == 301",
    f"class {WIDE}:\n    size = 350": f"{WIDE}.size == 350",
    "def größe():\n    return 1": "größe() == 1",
    "class Größe:\n    size = 2": "Größe.size == 2",
    "def CON():\n    return 'CON'": "CON() == 'CON'",
    "def con():\n    return 'con'": "con() == 'con'",
    "def Con():\n    return 'Con'": "Con() == 'Con'",
    "class aux:\n    pass\nclass NUL:\n    git = '.git'": "(aux, NUL.git)[1] == '.git'",
    "def git():\n    return '.git'\ndef _git():\n    return 1\nGIT = 2": "(git(), _git(), GIT) == ('.git', 1, 2)",
    "def __git__():\n    return 3": "__git__() == 3",
    "π = lambda: 3": "π() == 3",
    "def ﬁ():\n    return 'a ligature'": "fi() == 'a ligature'",  # as Python composes the names that it reads
    "class Dotted:\n    class Inner:\n        pass": "Dotted.Inner.__qualname__ == 'Dotted.Inner'",
    "def grown(self):\n    return '~'\nDotted.grow = grown\nDotted.Grow = grown": "Dotted().grow() == Dotted().Grow()",
    "import functools\n@functools.singledispatch\ndef told(x):\n    return 'it'": "told(None) == 'it'",
    "@told.register\ndef _(x: Dotted | Größe):\n    return 'a/b'": "told(Dotted()) == told(Größe()) == 'a/b'",
    "@told.register(Dotted.Inner)\ndef _(x):\n    return '../..'": "told(Dotted.Inner()) == '../..'",
}


def names_of(text: str) -> list[str]:
    """What the file of a definition defines."""
    node = ast.parse(text).body[-1]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    assert isinstance(node, ast.Assign)
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def short(text: str) -> str:
    """A definition of the same name that is compiled in no time."""
    node = ast.parse(text).body[-1]
    if isinstance(node, ast.FunctionDef):
        return f"def {node.name}():\n    return 1\n"
    return f"class {node.name}:\n    size = 1\n" if isinstance(node, ast.ClassDef) else text


@pytest.fixture
def there() -> dict[str, str]:
    return {path: short(text) for path, text in definitions(COUNT).items()}


@pytest.fixture
def kernel(tmp_path: Path, there: dict[str, str]) -> Iterator[Kernel]:
    kernel = Kernel(made(tmp_path, there))
    yield kernel
    kernel.kill()


def test_ten_thousand_and_the_oddest_names(kernel: Kernel, there: dict[str, str]) -> None:
    home, sample = kernel.home, more(there, 40)
    names = {name for text in (*there.values(), *sample.values()) for name in names_of(text)}
    kernel.start(PATIENT)
    assert kernel.hello == []
    for number, text in enumerate(sample.values()):
        if number < 20:
            assert kernel.run(text).notices == [f"[layer: kept {', '.join(names_of(text))}]"]
    rest = "\n".join([*sample.values()][20:])
    assert set(kernel.run(rest).perdure["kept"]) == {
        name for each in [*sample.values()][20:] for name in names_of(each)
    }
    for code in ODD:
        answer = kernel.run(code)
        assert answer.status == "ok", (code, answer.content)
        assert answer.perdure["kept"], (code, answer.notices)
        assert not answer.perdure["not_kept"]
    kernel.kill()

    kernel.start(PATIENT)
    assert kernel.hello == []
    assert kernel.run(f"{names!r} - get_ipython().user_ns.keys()").value == "set()"
    for check in ODD.values():
        assert kernel.run(check).value == "True", check
    assert kernel.run("%layer skipped").stdout.count("\n") <= 1
    assert (home.status(), home.fsck()) == ("", "")

    files = home.files()
    new, alike = [path for path in files if path not in there], Counter(map(str.lower, files))
    assert [path for path in new if alike[path.lower()] > 1] == []  # on a disk that is blind to case
    assert all(len(path.rpartition("/")[2]) <= 200 for path in new)
    program = f"""
        import sys
        sys.path.insert(0, {str(home.layer.parent)!r})
        import layer
        print(layer.skipped, [name for name in {names!r} if not hasattr(layer, name)], 'perdure' in sys.modules)
        print([check for check in {[*ODD.values()]!r} if not eval(check, vars(layer))])
        """
    done = subprocess.run(
        [PLAIN, "-I", "-"], cwd=home.work, input=textwrap.dedent(program), capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("{} [] False\n[]\n", "")
