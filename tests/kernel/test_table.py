"""The table of the keep rule, row by row: what a console is told, which files there are, what is back after a kill.

Each row is run in a kernel with all the others, statement by statement in cells of its own, and looked at again in the
next kernel on the same layer. Every name in a row begins with the row's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from .driver import Kernel
from .lives import Case, Cases, Lives


@dataclass(frozen=True)
class Row:
    """One row: its cells, the notices of all of them, files that must be there, and what is true in the next kernel."""

    cells: tuple[str, ...]
    notices: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    back: str = "True"


def kept(*names: str) -> tuple[str, ...]:
    """The notices of cells that each keep one of `names`."""
    return tuple(f"[layer: kept {name}]" for name in names)


ROWS = {
    "def, async def, class, decorated or not": Row(
        (
            "def a_plain(x): return x + 1",
            "import functools\n@functools.lru_cache\ndef a_cached(x): return x + 2",
            "async def a_later(x): return x + 3",
            "class A_Plain:\n    size = 4",
            "import dataclasses\n@dataclasses.dataclass\nclass A_Data:\n    size: int = 5",
        ),
        kept("a_plain", "a_cached", "a_later", "A_Plain", "A_Data"),
        (
            "functions/a/a_plain.py",
            "classes/a/A_Data.py",
        ),
        "(a_plain(0), a_cached(0), await a_later(0), A_Plain.size, A_Data().size) == (1, 2, 3, 4, 5)",
    ),
    "TypeVar, NewType, namedtuple, Enum call, alias of a type": Row(
        (
            "from typing import TypeVar, NewType\nfrom collections import namedtuple\nfrom enum import Enum",
            "b_T = TypeVar('b_T')",
            "b_Id = NewType('b_Id', int)",
            "b_Point = namedtuple('b_Point', 'x y')",
            "b_Color = Enum('b_Color', 'RED BLUE')",
            "b_Rows = list[dict[str, int]]",
            "b_Maybe = int | None",
        ),
        kept("b_T", "b_Id", "b_Point", "b_Color", "b_Rows", "b_Maybe"),
        ("values/b/b_Point.py",),
        "b_Point(1, 2).y == 2 and b_Color.BLUE.value == 2 and b_Rows == list[dict[str, int]] and b_Id(3) == 3",
    ),
    "lambda, partial, jit(g): callable, inputs kept": Row(
        (
            "c_square = lambda x: x * x",
            "from functools import partial\ndef c_power(x, n): return x ** n",
            "c_cube = partial(c_power, n=3)",
            "def c_jit(f): return lambda *a: f(*a)",
            "c_fast = c_jit(c_power)",
            "c_handle = open('/dev/null')\nc_reader = partial(c_power, c_handle)",
        ),
        (
            *kept("c_square", "c_power", "c_cube", "c_jit", "c_fast"),
            "[layer: c_reader not kept; it reads c_handle, which is not kept; %keep c_reader keeps it]",
        ),
        ("values/c/c_square.py", "values/c/c_cube.py", "values/c/c_fast.py"),
        "(c_square(3), c_cube(2), c_fast(2, 4)) == (9, 8, 16) and 'c_reader' not in globals()",
    ),
    "g = f": Row(
        (
            "def d_hello(): return 'one'",
            "d_greet = d_hello",
            "def d_hello(): return 'two'",
            "assert d_greet() == 'one'",
        ),
        (
            *kept("d_hello", "d_greet", "d_hello"),
            "[layer: d_greet still is the earlier d_hello; after a restart it is the new one]",
        ),
        ("values/d/d_greet.py",),
        "d_greet() == 'two'",
    ),
    "f = wrap(f)": Row(
        (
            "def e_wrap(f): return lambda: f() + 1",
            "def e(): return 1",
            "e = e_wrap(e)",
            "e = e_wrap(e)",
            "assert e() == 3",
        ),
        kept("e_wrap", "e", "e"),
        ("functions/e/e.py",),
        "e() == 2",
    ),
    "UPPER_CASE or Final: literal, pure expression, known-pure call": Row(
        (
            "F_ONE = 1",
            "F_TWO = F_ONE + len('ab')",
            "import math\nF_ROOT = math.sqrt(16)",
            "from typing import Final\nf_limit: Final = 5",
            "F_A, F_B = 6, 7",
            "F_C = F_D = 8",
            "(F_WALRUS := 9)",
        ),
        kept("F_ONE", "F_TWO", "F_ROOT", "f_limit", "F_A, F_B", "F_C, F_D", "F_WALRUS"),
        ("values/f/F_A.py",),
        "(F_ONE, F_TWO, F_ROOT, f_limit, F_A, F_B, F_C, F_D, F_WALRUS) == (1, 3, 4.0, 5, 6, 7, 8, 8, 9)",
    ),
    "class A(A), a def whose load reads its old self": Row(
        (
            "class G:\n    one = 1",
            "class G(G):\n    two = 2",
            "class G(G):\n    two = 2",
            "def g_old(): return 1",
            "def g_old(earlier=g_old): return earlier() + 1",
        ),
        kept("G", "G", "g_old", "g_old"),
        ("classes/g/G.py",),
        "(G.one, G.two, len(G.__mro__), g_old()) == (1, 2, 3, 2)",
    ),
    "K.register(…)": Row(
        ("from abc import ABC\nclass H(ABC): pass", "H.register(int)", "H.register(int)"),
        kept("H", "H"),
        ("classes/h/H.py",),
        "isinstance(1, H)",
    ),
    "UPPER_CASE with an unknown call or I/O": Row(
        ("import os\nI_PID = os.getpid()", "I_TEXT = open('/dev/null').read()", "%keep I_TEXT"),
        (
            "[layer: I_PID not kept; it calls os.getpid(); %keep I_PID keeps it]",
            "[layer: I_TEXT not kept; it calls open(…).read(); %keep I_TEXT keeps it]",
            "[layer: kept I_TEXT]",
        ),
        ("values/i/I_TEXT.py",),
        "'I_PID' not in globals() and I_TEXT == ''",
    ),
    "import": Row(
        ("import colorsys as j_colors", "def j_hue(): return j_colors.rgb_to_hsv(1, 0, 0)[0]"),
        kept("j_hue"),
        ("functions/j/j_hue.py",),
        "j_hue() == 0.0 and j_colors.__name__ == 'colorsys'",
    ),
    "Foo.m = f, @add_to(Foo)": Row(
        (
            "class K: pass",
            "K.one = lambda self: 1",
            "def k_add_to(c):\n    def put(f): setattr(c, f.__name__, f)\n    return put",
            "@k_add_to(K)\ndef two(self): return 2",
        ),
        kept("K", "K.one", "k_add_to", "K.two"),
        ("methods/k/K.one.py", "methods/k/K.two.py"),
        "(K().one(), K().two()) == (1, 2)",
    ),
    "@f.register": Row(
        (
            "from functools import singledispatch\n@singledispatch\ndef l_area(s): return 0",
            "@l_area.register\ndef _(s: int): return 1",
            "@l_area.register(list)\ndef _(s): return 2",
        ),
        kept("l_area", "l_area@int", "l_area@list"),
        ("methods/l/l_area@int.py", "methods/l/l_area@list.py"),
        "(l_area(''), l_area(1), l_area([])) == (0, 1, 2)",
    ),
    "property setters, overloads": Row(
        (
            "@property\ndef m_size(self): return self._size\n@m_size.setter\ndef m_size(self, v): self._size = v * 2",
            (
                "from typing import overload\n@overload\ndef m_show(x: int) -> int: ...\n"
                "@overload\ndef m_show(x: str) -> str: ...\ndef m_show(x): return x"
            ),
            "class M:\n    size = m_size",
            "m = M(); m.size = 4; assert m.size == 8",
        ),
        kept("m_size", "m_show", "M"),
        ("functions/m/m_size.py", "functions/m/m_show.py"),
        "type(m_size).fset is not None and m_size.fset is not None and m_show(3) == 3",
    ),
    "top-level if/try of definitions, imports, literals": Row(
        (
            (
                "try:\n    import n_missing\n    def n_load(): return 'fast'\nexcept ImportError:\n    N_FAST = False\n"
                "    def n_load(): return 'slow'"
            ),
            "if not N_FAST:\n    class N:\n        pace = 'slow'",
        ),
        kept("N_FAST, n_load", "N"),
        ("functions/n/n_load.py", "values/n/N_FAST.py", "classes/n/N.py"),
        "(n_load(), N.pace, N_FAST) == ('slow', 'slow', False)",
    ),
    "other compound statements": Row(
        (
            "for o_i in range(2):\n    def o_loop(): return o_i",
            "if __name__ == '__main__':\n    def o_main(): pass",
            "with open('/dev/null'):\n    def o_with(): pass",
            "if True:\n    def o_printing(): pass\n    print('x')",
        ),
        back="not any(name.startswith('o_') for name in globals())",
    ),
    "del f": Row(
        ("def p(): pass", "def p_other(): return p()", "del p", "del p_other"),
        (
            *kept("p", "p_other"),
            "[layer: forgot p; p_other uses it, and will not load without it]",
            "[layer: forgot p_other]",
        ),
        back="'p' not in globals() and 'p_other' not in globals()",
    ),
    "any other assignment": Row(
        ("q = 1", "q_data = [1, 2]", "q_data[0] = 5", "q_x, q_y = 1, 2"),
        back="not any(name == 'q' or name.startswith('q_') for name in globals())",
    ),
    "%%time, %%capture, %%prun; %%timeit, %%writefile, %%bash": Row(
        (
            "%%time\ndef r_timed(): return 1",
            "%%capture r_out\ndef r_captured(): return 2",
            "%%prun -q\ndef r_profiled(): return 3",
            "%%timeit -n1 -r1\ndef r_never(): return 4",
            "%%writefile r_file.py\ndef r_file(): return 5",
            "%%bash\nr_shell() { true; }",
        ),
        kept("r_timed", "r_captured", "r_profiled"),
        ("functions/r/r_timed.py",),
        "(r_timed(), r_captured(), r_profiled()) == (1, 2, 3) and not {'r_never', 'r_file', 'r_shell'} & {*globals()}",
    ),
}

case = Cases()


def _case(title: str, row: Row) -> Case:
    def begun(kernel: Kernel) -> Iterator[None]:
        answers = [kernel.run(cell) for cell in row.cells]
        assert [answer.error for answer in answers if answer.error] == []
        assert tuple(notice for answer in answers for notice in answer.notices) == row.notices
        files = kernel.home.files()
        assert [path for path in row.files if path not in files] == []
        yield
        assert kernel.run(row.back).value == "True"

    begun.__name__ = title
    return begun


for _title, _row in ROWS.items():
    case.append(_case(_title, _row))


@pytest.mark.parametrize("title", ROWS)
def test_row(lives: Lives, title: str) -> None:
    lives.go_on(next(each for each in case if each.__name__ == title))
