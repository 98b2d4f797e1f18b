"""Methods, blocks of definitions, %forget and %pylab through a real kernel, and what is there after a kill."""

from __future__ import annotations

from collections.abc import Iterator

from .driver import Kernel
from .lives import Cases

case = Cases()


@case
def test_a_method_put_on_a_kept_class_comes_back(kernel: Kernel) -> Iterator[None]:
    kernel.run("class MCircle:\n    def __init__(self, r):\n        self.r = r")
    answer = kernel.run("def m_grow(self, by):\n    self.r += by\n    return self.r\nMCircle.grow = m_grow")
    assert answer.notices == ["[layer: kept m_grow, MCircle.grow]"]
    assert kernel.home.files()["methods/m/MCircle.grow.py"] == "MCircle.grow = m_grow\n"
    kernel.run("def m_add_to(cls):\n    def put(f):\n        setattr(cls, f.__name__, f)\n    return put")
    answer = kernel.run("@m_add_to(MCircle)\ndef area(self):\n    return 3 * self.r ** 2")
    assert answer.notices == ["[layer: kept MCircle.area]"]
    yield
    assert kernel.run("c = MCircle(1)\nc.grow(1), c.area()").value == "(2, 12)"
    assert "MCircle.area, MCircle.grow" in kernel.run("%cells").stdout


@case
def test_del_of_a_method_forgets_it(kernel: Kernel) -> Iterator[None]:
    kernel.run("class DelOne:\n    pass\nDelOne.m = lambda self: 1\nDelOne.n = lambda self: 2")
    assert kernel.run("del DelOne.m").notices == ["[layer: forgot DelOne.m]"]
    yield
    assert kernel.run("hasattr(DelOne, 'm'), DelOne().n()").value == "(False, 2)"


@case
def test_definitions_in_a_try_are_kept_as_if_written_plainly(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run(
        "try:\n    import json as b_json\n    B_FAST = True\n\n    # The fast one.\n    def b_dump(x):\n"
        "        return b_json.dumps(x)\nexcept ImportError:\n    B_FAST = False\n\n    def b_dump(x):\n"
        "        return repr(x)"
    )
    assert answer.notices == ["[layer: kept B_FAST, b_dump]"]
    expected = "import json as b_json\n\n\n# The fast one.\ndef b_dump(x):\n    return b_json.dumps(x)\n"
    assert kernel.home.files()["functions/b/b_dump.py"] == expected
    answer = kernel.run(
        "if __name__ == '__main__':\n    def b_main(): pass\nif B_FAST:\n    def b_loud(): pass\n    print('x')"
    )
    assert answer.notices == []
    yield
    assert kernel.run("b_dump({}), B_FAST").value == "('{}', True)"
    assert kernel.run("b_main").error == "NameError: name 'b_main' is not defined"


@case
def test_forget_takes_what_del_cannot_name(kernel: Kernel) -> Iterator[None]:
    kernel.run("from functools import singledispatch\n@singledispatch\ndef f_area(s):\n    return 0")
    kernel.run(
        "@f_area.register\ndef _(s: int):\n    return s\n"
        "@f_area.register(dict[str, int].__origin__)\ndef _(s):\n    return 1"
    )
    answer = kernel.run("%forget f_area@int")
    assert answer.notices == ["[layer: forgot f_area@int; it stays registered until this kernel ends]"]
    kernel.run("class FOne:\n    pass\nFOne.m = lambda self: 1\nF_CONSTANT = 3\ndef f_user():\n    return F_CONSTANT")
    assert kernel.run("%forget FOne.m", kind="notebook").notices == ["[layer: forgot FOne.m]"]
    assert kernel.run("hasattr(FOne, 'm')").value == "False"
    answer = kernel.run("%forget F_CONSTANT")
    assert answer.notices == ["[layer: forgot F_CONSTANT; f_user uses it, and will not load without it]"]
    assert kernel.run("F_CONSTANT").error == "NameError: name 'F_CONSTANT' is not defined"
    answer = kernel.run("%forget f_nothing")
    assert answer.stdout == "The layer has nothing to forget of the name f_nothing; %cells lists what it has.\n"
    yield
    assert kernel.run("f_area(3), f_area({})").value == "(0, 1)"
    # What was skipped at boot is not there for `del`.
    assert kernel.run("%forget f_user").notices == ["[layer: forgot f_user]"]
    assert "f_user" not in kernel.run("%cells").stdout
    assert kernel.home.status() == ""


@case
def test_what_pylab_brought_is_imported_by_what_uses_it(kernel: Kernel) -> Iterator[None]:
    kernel.run("%pylab inline\ndef p_wave(n):\n    return sin(arange(n)), np.pi, plt.figure, randint")
    assert kernel.home.files()["functions/p/p_wave.py"].startswith(
        "import matplotlib.pyplot as plt\nimport numpy as np\nfrom numpy import arange, sin\n"
        "from numpy.random import randint\n\n\n"
    )
    yield
    assert kernel.run("p_wave(2)[0][0] == 0").value == "np.True_"
