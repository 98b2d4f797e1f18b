"""jupyter_kernel_test, with every sample given: all 13 of its tests run, none is skipped."""

from __future__ import annotations

import inspect
import tempfile
from pathlib import Path
from typing import Any, ClassVar
from unittest import TestCase

import jupyter_kernel_test
import pytest

from perdure.kernel import spec

from .home import Home


class InAHome(TestCase):
    """Before a kernel is started, puts the kernelspec into a home of the tests' own."""

    environment: pytest.MonkeyPatch
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.environment = pytest.MonkeyPatch()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.addClassCleanup(cls.environment.undo)
        home = Home(Path(cls.folder.name))
        for name, value in home.environ.items():
            cls.environment.setenv(name, value)
        # In a virtual environment Jupyter would look there first, and find the kernelspec that make put there.
        cls.environment.setenv("JUPYTER_PREFER_ENV_PATH", "0")
        assert spec.install().found
        super().setUpClass()


class TestKernel(InAHome, jupyter_kernel_test.KernelTests):
    kernel_name = "perdure"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples: ClassVar[list[Any]] = [{"text": "zi", "matches": {"zip"}}]
    complete_code_samples: ClassVar[list[Any]] = [
        "1",
        "print('hello, world')",
        "def f(x):\n    return x * 2\n\n\n",
        "%%scratch\nx = 1\n\n",
    ]
    incomplete_code_samples: ClassVar[list[Any]] = ["print('''hello", "def f(x):\n    x * 2", "%%scratch\nx = 1"]
    invalid_code_samples: ClassVar[list[Any]] = ["import = 7q"]
    code_page_something = "zip?"
    code_generate_error = "raise"
    code_execute_result: ClassVar[list[Any]] = [
        {"code": "1 + 2 + 3", "result": "6"},
        {"code": "[n * n for n in range(1, 4)]", "result": "[1, 4, 9]"},
    ]
    code_display_data: ClassVar[list[Any]] = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))", "mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('\\\\frac{1}{2}'))", "mime": "text/latex"},
    ]
    code_history_pattern = "1 ? 2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class TestWelcome(InAHome, jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "perdure"
    support_iopub_welcome = True


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(TestKernel, jupyter_kernel_test.KernelTests), (TestWelcome, jupyter_kernel_test.IopubWelcomeTests)],
)
def test_every_sample_is_given(ours: type, theirs: type) -> None:
    """One that is missing would have its test skipped, quietly."""
    samples = {name for name, value in vars(theirs).items() if not name.startswith("_") and not callable(value)}
    samples = {name for name in samples if not isinstance(vars(theirs)[name], classmethod)}
    assert {name for name in samples if not vars(ours).get(name)} == set()


def test_there_are_thirteen() -> None:
    """A release with more of them may want more samples."""
    cases = (jupyter_kernel_test.KernelTests, jupyter_kernel_test.IopubWelcomeTests)
    names = [name for case in cases for name, _ in inspect.getmembers(case) if name.startswith("test_")]
    assert len(names) == 13
