"""The layer as a package: in plain Python, isolated, without perdure; as a script's definitions; installed by pip."""

from __future__ import annotations

import importlib.util
import itertools
import os
import pickle
import subprocess
import sys
import textwrap
import tomllib
import venv
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.layer.boot import Boot
from perdure.layer.definition import RelPath
from perdure.layer.generated import FORMAT, GENERATED, generated_files
from perdure.layer.imports import ImportRecord
from perdure.layer.install import Image

# The interpreter itself, not that of the environment the tests run in.
PLAIN = getattr(sys, "_base_executable", sys.executable)

GOOD = {
    "functions/a/area.py": """\
        # perdure: needs df
        import math


        def area(c: Circle, k=RATE):
            return math.pi * c.r**2 * k
        """,
    "functions/b/boom.py": """\
        def boom():
            raise LookupError
        """,
    "classes/c/Circle.py": """\
        @register
        class Circle:
            class Part:
                pass

            def __init__(self, r):
                self.r = r
        """,
    "functions/r/register.py": """\
        def register(c):
            SEEN.append(c.__name__)
            return c
        """,
    "values/r/RATE.py": "RATE = 2",
    "values/s/SEEN.py": "SEEN = []",
}


class Layer:
    """A layer's folder, written by hand."""

    def __init__(self, parent: Path, files: Mapping[str, str], name: str = "ada") -> None:
        self.path = parent / f"layer_{name}"
        for generated, data in generated_files(name).items():
            self.write(generated, data.decode())
        for path, text in files.items():
            self.write(path, textwrap.dedent(text))

    def write(self, path: str, text: str) -> None:
        (self.path / path).parent.mkdir(parents=True, exist_ok=True)
        (self.path / path).write_text(text, encoding="utf-8")

    def python(self, code: str, *options: str, check: bool = True) -> str:
        """What a plain, isolated Python prints that has imported the layer as `layer`."""
        start = f"import sys; sys.path.insert(0, {str(self.path.parent)!r}); import {self.path.name} as layer\n"
        return run([PLAIN, "-I", *options, "-c", start + textwrap.dedent(code)], check=check)

    def script(self, text: str, *arguments: str, check: bool = True) -> str:
        """What `python -m layer_ada script.py` prints, in the folder above it."""
        script = self.path.parent / "scripts" / "script.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(textwrap.dedent(text))
        return run([PLAIN, "-m", self.path.name, str(script), *arguments], cwd=self.path.parent, check=check)


def run(command: list[str], *, cwd: Path | None = None, check: bool = True) -> str:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode == 0) is check, done.stdout + done.stderr
    return (done.stdout + done.stderr).strip()


_names = itertools.count()


def imported(layer: Layer) -> Any:
    """The layer imported here, under a name of its own."""
    name = f"layer_of_test_{next(_names)}"
    spec = importlib.util.spec_from_file_location(name, layer.path / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def forget_imported() -> Iterator[None]:
    yield
    for name in [name for name in sys.modules if name.startswith("layer_of_test_")]:
        del sys.modules[name]


def names_in(module: ModuleType) -> set[str]:
    return {name for name in vars(module) if not name.startswith("__")}


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


def test_only_definitions_are_in_it(tmp_path: Path) -> None:
    module = imported(Layer(tmp_path, GOOD))
    assert names_in(module) == {"area", "boom", "Circle", "register", "RATE", "SEEN", "math"}
    space: dict[str, object] = {}
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
        "functions/e/ends.py": "import sys\n\nsys.exit(3)\n",
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


def test_an_interrupt_is_the_users(tmp_path: Path) -> None:
    layer = Layer(tmp_path, {"values/a/A.py": "raise KeyboardInterrupt"})
    with pytest.raises(KeyboardInterrupt):
        imported(layer)


def test_two_files_of_one_name(tmp_path: Path) -> None:
    files = {"classes/a/area.py": "class area: ...", "functions/a/area.py": "def area(): ..."}
    module = imported(Layer(tmp_path, files))
    assert isinstance(module.area, type)
    assert module.skipped == {
        "functions/a/area.py": "area is defined in classes/a/area.py too; remove one of the files"
    }


def test_a_name_that_comes_only_when_called(tmp_path: Path) -> None:
    """The order cannot see that making A calls helper: it is tried again."""
    files = {
        "values/a/A.py": "A = make()",
        "functions/m/make.py": "def make():\n    return helper()\n",
        "functions/z/helper.py": "@late\ndef helper():\n    return 3\n",
        "functions/z/late.py": "def late(f):\n    return f\n",
        "classes/a/Aa.py": "class Aa(A.__class__): ...",
    }
    module = imported(Layer(tmp_path, files))
    assert module.A == 3
    assert module.Aa.__mro__[1] is int
    assert module.skipped == {}


def test_what_fails_for_a_registry_not_filled_yet_is_tried_again(tmp_path: Path) -> None:
    files = {
        "classes/u/User.py": "class User:\n    handler = REG['a']\n",
        "functions/h/handler.py": "@register('a')\ndef handler(): ...\n",
        "functions/r/register.py": "def register(key):\n    return lambda f: REG.setdefault(key, f)\n",
        "values/r/REG.py": "REG = {}",
    }
    module = imported(Layer(tmp_path, files))
    assert module.skipped == {}
    assert module.User.handler is module.handler


def test_each_file_runs_once(tmp_path: Path) -> None:
    count = "import builtins\nbuiltins._count = getattr(builtins, '_count', 0) + 1\n"
    files = {"values/a/A.py": count + "A = B", "values/b/B.py": count + "B = 1", "values/c/C.py": count + "C = 1 / 0"}
    assert Layer(tmp_path, files).python("import builtins; print(layer.A, builtins._count)") == "1 3"


def test_a_circle(tmp_path: Path) -> None:
    files = {
        "classes/a/A.py": "class A:\n    def b(self) -> B: ...\n",
        "classes/b/B.py": "class B:\n    def a(self) -> A: ...\n",
        "values/x/X.py": "X = Y",
        "values/y/Y.py": "Y = X",
    }
    module = imported(Layer(tmp_path, files))
    assert {"A", "B"} <= names_in(module)
    assert list(module.skipped) == ["values/x/X.py", "values/y/Y.py"]


def test_annotations_that_nothing_defines(tmp_path: Path) -> None:
    files = {
        "functions/f/f.py": "def f(x: Nowhere): ...\n",
        "functions/g/g.py": "@f\ndef g(x: Nowhere): ...\n",
        "functions/h/h.py": "def h(x: int): ...\n",
        "values/a/A.py": "A = f(Gone)",
    }
    module = imported(Layer(tmp_path, files))
    assert names_in(module) == {"f", "g", "h"}
    assert module.skipped == {"values/a/A.py": "NameError: name 'Gone' is not defined"}
    assert module.f.__annotations__ == {"x": "Nowhere"} or sys.version_info >= (3, 14)
    assert module.h.__annotations__ == {"x": int}  # lazy is only what must be


def test_the_future_is_each_files_own(tmp_path: Path) -> None:
    files = {
        "functions/f/f.py": "from __future__ import annotations\n\n\ndef f(x: int): ...\n",
        "functions/g/g.py": "def g(x: int): ...\n",
    }
    module = imported(Layer(tmp_path, files))
    assert module.f.__annotations__ == {"x": "int"}
    assert module.g.__annotations__ == {"x": int}


def test_the_header(tmp_path: Path) -> None:
    files = {
        "values/a/A.py": "# perdure: needs df; after Z, nothing; unknown x; name A, B\nexec('A = B = len(Z_LOG)')",
        "values/z/Z.py": "Z = Z_LOG.append(1)",
        "values/z/Z_LOG.py": "Z_LOG = []",
        "values/b/C.py": "C = B + 1",
    }
    module = imported(Layer(tmp_path, files))
    assert module.skipped == {}
    assert (module.A, module.C) == (1, 2)


def test_what_was_made_with_a_builtin_that_is_hidden_since(tmp_path: Path) -> None:
    files = {
        "functions/s/sum.py": "# perdure: after TOTAL, _sum\ndef sum(x):\n    return ('mine', _sum(x))\n",
        "functions/a/again.py": "def again(x=sum([1])):\n    return x\n",
        "values/t/TOTAL.py": "TOTAL = sum([1, 2])",
        "values/_/_sum.py": "_sum = sum",
    }
    module = imported(Layer(tmp_path, files))
    assert (module.TOTAL, module.sum([4]), module.again()) == (3, ("mine", 4), ("mine", 1))


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


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """Names, and for each those it needs to load: never a circle."""
    names = draw(st.lists(st.from_regex(r"[A-Z][a-z]{0,2}", fullmatch=True), unique=True, max_size=8))
    return {name: tuple(draw(st.sets(st.sampled_from(names[:i])))) if i else () for i, name in enumerate(names)}


@given(graphs(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_any_graph_loads_as_the_kernel_loads_it(
    tmp_path_factory: pytest.TempPathFactory, graph: dict[str, tuple[str, ...]], random: Any
) -> None:
    files = {}
    for name, needs in graph.items():
        form = random.choice(["{name} = [{sum}]", "class {name}:\n    v = [{sum}]", "def {name}(v=[{sum}]): ..."])
        kind = {"c": "classes", "d": "functions"}.get(form[0], "values")
        files[f"{kind}/x/{name}.py"] = form.format(name=name, sum=", ".join(needs)) + "\n"
    layer = Layer(tmp_path_factory.mktemp("graph"), files)
    module = imported(layer)
    space: dict[str, object] = {}
    texts = {RelPath(path): text.encode() for path, text in files.items()}
    report = Boot(texts, layer.path, Image(space), ImportRecord(), sys.modules).run()
    assert module.skipped == {}
    assert not report.skipped
    assert names_in(module) == set(graph) == space.keys() - {"__builtins__"}


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


# Scripts.


def test_a_script_has_the_definitions_in_main(tmp_path: Path) -> None:
    said = Layer(tmp_path, GOOD).script(
        """
        '''What it does.'''
        import os, pickle, sys
        print(__name__, __doc__, os.path.basename(__file__), sys.argv[1:], os.path.basename(sys.path[0]))
        print(Circle, round(area(Circle(1))), SEEN, pickle.dumps(Circle(1))[:30].count(b'__main__'))
        RATE = 4
        print(sorted(name for name in globals() if not name.startswith('__')))
        """,
        "a",
        "-b",
    )
    assert said.splitlines() == [
        "__main__ What it does. script.py ['a', '-b'] scripts",
        "<class '__main__.Circle'> 6 ['Circle'] 1",
        "['Circle', 'RATE', 'SEEN', 'area', 'boom', 'math', 'os', 'pickle', 'register', 'sys']",
    ]


def test_a_script_loads_each_definition_once_and_may_import_the_layer(tmp_path: Path) -> None:
    files = {"values/a/A.py": "A = print('loading')"}
    layer = Layer(tmp_path, files)
    assert layer.script("print('script')") == "loading\nscript"
    assert layer.script("import layer_ada\nprint(layer_ada.A)") == "loading\nloading\nNone"


def test_a_module_that_names_the_layer_gets_it(tmp_path: Path) -> None:
    """`python -m other layer_ada`, where other imports the layer, looks almost like a script's run."""
    layer = Layer(tmp_path, GOOD)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/__init__.py").write_text("import layer_ada\nfrom layer_ada import RATE\n")
    (tmp_path / "other/__main__.py").write_text("import other\nprint(other.RATE, other.layer_ada.SEEN)\n")
    assert run([PLAIN, "-m", "other", layer.path.name], cwd=tmp_path) == "2 ['Circle']"


def test_what_a_script_lacks_is_said(tmp_path: Path) -> None:
    layer = Layer(tmp_path, {"functions/f/f.py": "def !"})
    assert layer.script("") == "layer_ada: skipped functions/f/f.py: SyntaxError: invalid syntax (line 1)"


@pytest.mark.parametrize("text", ["raise SystemExit(7)", "1 / 0", "def ("])
def test_a_script_that_fails(tmp_path: Path, text: str) -> None:
    said = Layer(tmp_path, GOOD).script(text, check=False)
    assert ("script.py" in said) is (text != "raise SystemExit(7)")


def test_no_script(tmp_path: Path) -> None:
    command = [PLAIN, "-m", Layer(tmp_path, GOOD).path.name]
    assert run(command, cwd=tmp_path, check=False) == "usage: python -m layer_ada script.py [args]"
    said = run([*command, "nowhere.py"], cwd=tmp_path, check=False)
    assert said == "layer_ada: cannot read nowhere.py: No such file or directory"


def test_the_runner_imported_as_a_module_runs_nothing(tmp_path: Path) -> None:
    assert Layer(tmp_path, GOOD).python("import layer_ada.__main__; print('fine')") == "fine"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_processes_of_a_script_have_the_definitions(tmp_path: Path, method: str) -> None:
    said = Layer(tmp_path, GOOD).script(
        f"""
        import multiprocessing, sys

        def double(circle):
            return Circle(circle.r * 2), sys.argv[1:]

        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(1) as pool:
                for circle, arguments in pool.map(double, [Circle(1), Circle(2)]):
                    print(type(circle) is Circle, circle.r, arguments)
        """,
        "a",
    )
    assert said.splitlines() == ["True 2 ['a']", "True 4 ['a']"]


# Installed.


@pytest.fixture(scope="module")
def bare_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    return folder / "bin" / "python"


def pip(*arguments: str) -> None:
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments])


def install(layer: Layer, python: Path) -> None:
    """As `pip install <folder>` does: a wheel is built from the folder, and installed. In two steps, since the bare
    environment has no setuptools."""
    wheels = layer.path.parent / "wheels"
    pip("wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(layer.path))
    (wheel,) = wheels.iterdir()
    pip("--python", str(python), "install", "-q", "--no-index", "--no-deps", "--force-reinstall", str(wheel))
    wheel.unlink()


def test_pip_installs_it(tmp_path: Path, bare_venv: Path) -> None:
    layer = Layer(tmp_path, GOOD | {"functions/x/%CF%80~1.py": "def π(): ...\n", "methods/c/Circle.grow.py": "G = 1"})
    install(layer, bare_venv)
    code = "import layer_ada as l; print(round(l.area(l.Circle(1))), l.π.__name__, l.G, l.__file__)"
    said = run([str(bare_venv), "-I", "-c", code], cwd=tmp_path)
    assert said.startswith("6 π 1 ")
    assert str(bare_venv.parents[1]) in said
    (tmp_path / "s.py").write_text("print(Circle)")
    assert run([str(bare_venv), "-I", "-m", "layer_ada", str(tmp_path / "s.py")]) == "<class '__main__.Circle'>"


def test_pip_leaves_the_folder_as_it_is_and_forgets_what_was_forgotten(tmp_path: Path, bare_venv: Path) -> None:
    layer = Layer(tmp_path, GOOD)
    before = set(layer.path.rglob("*"))
    install(layer, bare_venv)
    assert set(layer.path.rglob("*")) == before
    (layer.path / "functions/b/boom.py").unlink()
    install(layer, bare_venv)
    assert run([str(bare_venv), "-I", "-c", "import layer_ada; print(hasattr(layer_ada, 'boom'))"]) == "False"
