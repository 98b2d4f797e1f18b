"""The layer as a package: in plain Python, isolated, without perdure; what it leaves out, and what it unpickles."""

from __future__ import annotations

import pickle
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

from perdure.layer.definition import RelPath
from perdure.layer.generated import FORMAT, GENERATED, generated_files, is_as_generated

from .plain_layer import GOOD, Both, Layer, imported, names_in

# The files.


def test_the_files() -> None:
    files = generated_files("ada")
    assert set(files) == GENERATED == {"__init__.py", "__main__.py", "pyproject.toml", "setup.py", ".gitignore"}
    settings_ = tomllib.loads(files[RelPath("pyproject.toml")].decode())
    assert settings_["tool"]["perdure"]["format"] == FORMAT
    assert settings_["project"]["name"] == "layer_ada"
    assert not [path for path, data in files.items() if b"perdure.layer" in data or b"import perdure" in data]
    assert all(len(line) <= 120 for data in files.values() for line in data.decode().splitlines())


@pytest.mark.parametrize("name", ["you", "ada_lovelace", "ada_", "3d", "x__y", "_" + "9" * 99])
def test_a_projects_name_is_one(name: str) -> None:
    data = generated_files(name)[RelPath("pyproject.toml")]
    project = tomllib.loads(data.decode())["project"]["name"]
    assert project[0].isalnum()
    assert project[-1].isalnum()


# Imported.


def test_in_plain_python(tmp_path: Path) -> None:
    layer = Layer(tmp_path, GOOD)
    said = layer.python("""
        print(round(layer.area(layer.Circle(1))), layer.SEEN, layer.skipped, layer.Circle.__module__)
        print('perdure' in sys.modules)
        """)
    assert said == "6 ['Circle'] {} layer_ada\nFalse"


def test_warnings_as_errors_and_optimised(tmp_path: Path) -> None:
    files = {"functions/f/f.py": 'def f():\n    "\\d"\n    assert False\n'}
    assert Layer(tmp_path, files).python("print(layer.f(), layer.skipped)", "-OO", "-Werror") == "None {}"


def test_only_definitions_are_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = imported(Layer(tmp_path, GOOD))
    assert names_in(module) == {"area", "boom", "Circle", "register", "RATE", "SEEN", "math"}
    space: dict[str, object] = {}
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(f"from {module.__name__} import *", space)
    assert space.keys() - {"__builtins__"} == names_in(module)


HOSTILE = [
    "sorted", "open", "compile", "exec", "vars", "ast", "os", "sys", "io", "load", "loads", "skipped", "run", "File",
    "Unpickler", "package", "root", "print", "isinstance", "type", "globals", "set", "dict", "getattr", "name", "offer",
    "__import__", "pickle", "list", "functions",
]  # fmt: skip


def test_a_definition_may_have_any_name_of_the_loaders(tmp_path: Path) -> None:
    files = {f"functions/x/{name}.py": f"def {name}(*a, **k):\n    return 'mine'\n" for name in HOSTILE}
    layer = Layer(tmp_path, files | GOOD | {"functions/z/bad.py": "def ("})
    said = layer.python(f"""
        assert all(vars(layer)[name]() == 'mine' for name in {HOSTILE!r})
        assert layer.loads() == layer.skipped() == 'mine'
        assert list(layer.__perdure__.skipped) == ['functions/z/bad.py']
        assert layer.__perdure__.loads(b'c__main__\\nCircle\\n.') is layer.Circle
        import importlib
        assert importlib.reload(layer) is layer
        print(layer.sorted(), round(layer.area(layer.Circle(1))))
        """)
    assert said == "mine 6"


def test_a_name_that_the_loader_has_is_not_there_for_definitions(tmp_path: Path) -> None:
    """What nothing defines is a NameError, as in the kernel, also if the loader has it."""
    files = {
        f"values/x/X{i}.py": f"X{i} = {name}" for i, name in enumerate(["ast", "loads", "skipped", "root", "File"])
    }
    module = imported(Layer(tmp_path, files))
    assert module.skipped.keys() == files.keys()
    assert all(why.startswith("NameError: name ") for why in module.skipped.values())


def test_tracebacks_and_inspect_show_the_file(tmp_path: Path) -> None:
    said = Layer(tmp_path, GOOD).python("""
        import inspect, traceback
        print(inspect.getsource(layer.area))
        try: layer.boom()
        except LookupError: traceback.print_exc()
        """)
    assert "def area(c: Circle, k=RATE):\n    return math.pi" in said
    assert f'File "{tmp_path}/layer_ada/functions/b/boom.py", line 2, in boom' in said


def test_an_unknown_name(tmp_path: Path) -> None:
    module = imported(Layer(tmp_path, {"functions/f/f.py": "import nowhere_to_be_found\n\n\ndef f(): ...\n"}))
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = module.nothing
    with pytest.raises(AttributeError, match=r"'f'; functions/f/f\.py was skipped: ModuleNotFoundError: No module"):
        _ = module.f
    assert not hasattr(module, "f")


# In order, and without what fails.


def test_a_failing_file_is_left_out_alone(tmp_path: Path) -> None:
    bad = {
        "functions/b/bytes.py": "",
        "functions/c/conflict.py": "<<<<<<< HEAD\ndef conflict(): ...\n",
        "functions/e/ends.py": "import sys\n\nENDS = sys.exit(3)\n",
        "functions/l/lacks.py": "@nowhere\ndef lacks(): ...\n",
        "functions/m/missing.py": "import nowhere_to_be_found\n\n\ndef missing(): ...\n",
        "functions/n/null.py": "def null(): ...\0",
        "functions/r/raises.py": "def raises(x=1 / 0): ...\n",
        "hooks/a/area.timing.py": "def timing(next): ...\n",
        "overrides/pandas/concat.py": "def concat(): ...\n",
        "values/d/DEEP.py": "DEEP = " + "(" * 5000,
        "values/h/HALF.py": "import json\nHALF = 1\nraise LookupError('a\\nb')\n",
    }
    layer = Layer(tmp_path, GOOD | bad)
    (layer.path / "functions/b/bytes.py").write_bytes(b"\xff")
    module = imported(layer)
    assert {path: why.split(":")[0] for path, why in module.skipped.items()} == {
        "functions/b/bytes.py": "UnicodeDecodeError",
        "functions/c/conflict.py": "SyntaxError",
        "functions/e/ends.py": "SystemExit",
        "functions/l/lacks.py": "NameError",
        "functions/m/missing.py": "ModuleNotFoundError",
        "functions/n/null.py": "SyntaxError",
        "functions/r/raises.py": "ZeroDivisionError",
        "hooks/a/area.timing.py": "it needs perdure",
        "overrides/pandas/concat.py": "it needs perdure",
        "values/d/DEEP.py": "SyntaxError",
        "values/h/HALF.py": "LookupError",
    }
    assert "(line 1)" in module.skipped["functions/c/conflict.py"]
    assert module.skipped["values/h/HALF.py"] == "LookupError: a\nb"
    # Nothing of a file that failed stays, not even its imports.
    assert names_in(module) == {"area", "boom", "Circle", "register", "RATE", "SEEN", "math"}


def test_a_failing_file_leaves_what_was_there(tmp_path: Path) -> None:
    files = {"values/a/A.py": "A = 1", "values/b/B.py": "import json as A\nimport math\nB = 1 / 0\n"}
    module = imported(Layer(tmp_path, files))
    assert module.A == 1
    assert names_in(module) == {"A"}


def test_what_calls_a_definition_that_is_gone(tmp_path: Path) -> None:
    gone = {
        "classes/c/Cc.py": "class Cc:\n    def m(self):\n        return [gone(x) for x in self]\n",
        "functions/a/async_.py": "async def async_():\n    def inner():\n        return gone\n    return inner\n",
        "functions/b/bad.py": "def bad(gone_too=0):\n    return gone_too + gone\n",
        "functions/d/deco.py": "# perdure: needs df\ndef deco():\n    df\n    gone()\n",
        "values/l/LAMBDA.py": "LAMBDA = lambda x: gone(x)",
    }
    fine = {
        "functions/c/calls.py": "def calls():\n    return bad(), broken, twice, self_made, math, calls, Cc\n",
        "functions/g/globe.py": "def globe():\n    global made\n    made = 1\n    return [n for n in ()]\n",
        "functions/m/module.py": "def module():\n    return __file__, __spec__, __builtins__, print(__name__)\n",
        "functions/n/needs.py": "# perdure: needs df, x\ndef needs(y):\n    z = y\n    return df, x, lambda q: q, z\n",
        "functions/m/math_.py": "import math\n\n\ndef math_():\n    return super\n",
        "functions/t/twice.py": "def twice(): ...\n",
        "values/s/self_made.py": "for self_made in range(3): pass\nself_made = [k for k in 'abc']",
        "classes/s/Super.py": "class Super:\n    a = b = 1\n    def m(self):\n        return super().m(), __class__\n",
    }
    broken = {"functions/b/broken.py": "def (", "values/t/twice.py": "twice = 1"}
    both = Both(tmp_path, gone | fine | broken)
    assert both.skipped == dict.fromkeys(gone, "it uses gone, which nothing defines now") | {
        "functions/b/broken.py": "SyntaxError: invalid syntax (line 1)",
        "values/t/twice.py": "twice is defined in functions/t/twice.py too; remove one of the files",
    }
    with pytest.raises(AttributeError, match=r"'bad'; functions/b/bad\.py was skipped: it uses gone, which"):
        _ = both.module.bad
    with pytest.raises(AttributeError, match=r"'broken'; functions/b/broken\.py was skipped: SyntaxError"):
        _ = both.module.broken


def test_what_any_notebook_has_is_not_gone(tmp_path: Path) -> None:
    """A definition that shows something may be of use elsewhere too."""
    names = "display", "get_ipython", "In", "Out", "_", "_oh", "_dh", "exit", "quit"
    files = {f"functions/s/show_{name}.py": f"def show_{name}():\n    return {name}\n" for name in names}
    assert Layer(tmp_path, files).python("print(layer.skipped)", "-S") == "{}"


def test_an_interrupt_is_the_users(tmp_path: Path) -> None:
    layer = Layer(tmp_path, {"values/a/A.py": "A = 1\nraise KeyboardInterrupt"})
    with pytest.raises(KeyboardInterrupt):
        imported(layer)


def test_texts_as_editors_leave_them(tmp_path: Path) -> None:
    files = {
        "values/b/BOM.py": "\ufeffBOM = 1",
        "values/c/CRLF.py": "CRLF = '''a\r\nb'''\r\n",
        "values/c/COOKIE.py": "",
    }
    layer = Layer(tmp_path, files)
    (layer.path / "values/c/COOKIE.py").write_bytes("# coding: latin-1\nCOOKIE = 'größe'".encode())
    (layer.path / "values/c/CRLF.py").write_bytes(b"CRLF = '''a\r\nb'''\r\n")
    module = imported(layer)
    assert (module.BOM, module.CRLF, module.COOKIE) == (1, "a\nb", "größe")


def test_what_is_no_definition(tmp_path: Path) -> None:
    layer = Layer(tmp_path, GOOD)
    for path in (
        "functions/.x/x.py",
        "functions/x/.x.py",
        "functions/x/x.pyc",
        "functions/x/x.txt",
        "build/x.py",
        "x.py",
    ):
        layer.write(path, "raise SystemExit")
    (layer.path / "functions/x/link.py").symlink_to(layer.path / "x.py")
    assert imported(layer).skipped == {}


@pytest.mark.parametrize("text", ["-" * 100_000 + "1", "A" + ".a" * 100_000, "+".join("1" * 10_000)])
def test_a_text_too_deep_to_read(tmp_path: Path, text: str) -> None:
    """Whether Python can compile it is Python's matter; the others load."""
    said = Layer(tmp_path, GOOD | {"values/d/DEEP.py": f"DEEP = {text}"}).python("print(layer.RATE)")
    assert said == "2"


# Unpickling.


def test_loads_finds_what_kernels_pickled(tmp_path: Path) -> None:
    module = imported(Layer(tmp_path, GOOD))
    circle = b"\x80\x02c__main__\nCircle\n)\x81}X\x01\x00\x00\x00rK\x05sb."
    assert module.loads(circle).r == 5
    assert isinstance(module.loads(circle), module.Circle)
    assert module.loads(b"\x80\x04\x8c\x08__main__\x8c\x0bCircle.Part\x93.") is module.Circle.Part
    assert module.loads(b"c__mp_main__\nCircle\n.") is module.Circle
    assert module.loads(pickle.dumps([1, textwrap.dedent])) == [1, textwrap.dedent]
    with pytest.raises(AttributeError, match="Nowhere"):
        module.loads(b"c__main__\nNowhere\n.")


def test_loads_takes_the_options_of_pickle(tmp_path: Path) -> None:
    module = imported(Layer(tmp_path, GOOD))
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(pickle.PickleBuffer(bytearray(b"abc")), protocol=5, buffer_callback=buffers.append)
    assert bytes(module.loads(data, buffers=buffers)) == b"abc"


@pytest.mark.parametrize("name", ["ada", "ada_", "a1_b_", "_"])
def test_the_settings_of_a_layer_are_told_from_those_that_somebody_changed(name: str) -> None:
    text = generated_files(name)[RelPath("pyproject.toml")].decode()
    assert is_as_generated(text)
    assert tomllib.loads(text)["tool"]["perdure"]["format"] == FORMAT
    assert not any(
        is_as_generated(other)
        for other in (text.replace("format = 1", "format = 2"), f"{text}\n", text.replace("layer_", "Layer_", 1), "")
    )
