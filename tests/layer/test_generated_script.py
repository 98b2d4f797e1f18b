"""`python -m layer_ada script.py`: a script with the definitions of a layer in its `__main__`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .plain_layer import GOOD, PLAIN, Layer, run


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
