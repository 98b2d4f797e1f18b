"""What is kept (DESIGN §3) through a real kernel, beside the cases of cases.md: each is looked at after a kill too."""

from __future__ import annotations

from collections.abc import Iterator

from .driver import Kernel
from .lives import Cases

case = Cases()


# What a definition needs.


@case
def test_a_name_needed_only_when_called_is_named(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("need_data = [n for n in range(3)][:]\ndef need_total():\n    return sum(need_data)")
    assert answer.notices == ["[layer: kept need_total; needs need_data (not kept)]"]
    assert kernel.home.files()["functions/n/need_total.py"].startswith("# perdure: needs need_data\n")
    yield
    assert "need_data" in str(kernel.run("need_total()").error)
    assert kernel.run("need_data = [1, 2]\nneed_total()").value == "3"


@case
def test_functions_of_one_cell_that_call_each_other_need_nothing_else(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run(
        "def pair_even(n):\n    return n == 0 or pair_odd(n - 1)\n\n"
        "def pair_odd(n):\n    return n != 0 and pair_even(n - 1)\n"
    )
    assert answer.notices == ["[layer: kept pair_even, pair_odd]"]
    yield
    assert kernel.run("pair_even(10), pair_odd(10)").value == "(True, False)"


@case
def test_pulled_in_variables_bring_their_own(kernel: Kernel) -> Iterator[None]:
    kernel.run("pull_a = 2\npull_b = pull_a * 3\npull_c = [pull_b, pull_a]")
    assert kernel.run("def pull_all(x=pull_c):\n    return x").perdure["kept"] == [
        "pull_a",
        "pull_b",
        "pull_c",
        "pull_all",
    ]
    yield
    assert kernel.run("pull_all()").value == "[6, 2]"


@case
def test_a_pulled_in_variable_stays_what_its_definition_was_made_with(kernel: Kernel) -> Iterator[None]:
    kernel.run("follow_n = 1\ndef follow(x=follow_n):\n    return x")
    assert kernel.run("follow_n = 2\nfollow()").value == "1"
    yield
    assert kernel.run("follow()").value == "1"


@case
def test_a_variable_that_changed_since_is_not_pulled_in(kernel: Kernel) -> Iterator[None]:
    kernel.run("grown = [1]\ngrown.append(2)")
    answer = kernel.run("def grown_default(x=grown):\n    return x")
    assert answer.notices == ["[layer: grown_default not kept; it needs grown to load]"]
    yield
    assert kernel.run("'grown_default' in globals()").value == "False"


@case
def test_a_decorator_that_is_no_definition_is_named(kernel: Kernel) -> Iterator[None]:
    kernel.run(
        "class App:\n"
        "    def __init__(self):\n        self.routes = {}\n"
        "    def route(self, path):\n"
        "        def add(function):\n            self.routes[path] = function\n            return function\n"
        "        return add\n"
        "def app_make():\n    return App()\n"
        "app = app_make()"
    )
    answer = kernel.run("@app.route('/')\ndef app_home():\n    return 'home'")
    assert answer.notices == ["[layer: app_home not kept; it needs app to load]"]
    assert answer.perdure["not_kept"] == [{"name": "app_home", "reason": "it needs app to load"}]
    assert kernel.run("app.routes['/']()").value == "'home'"
    yield
    assert kernel.run("'app_home' in globals(), App().routes").value == "(False, {})"


@case
def test_a_base_that_is_no_definition_is_named(kernel: Kernel) -> Iterator[None]:
    kernel.run("for base_live in [type('base_live', (), {})]: pass")
    answer = kernel.run("class BaseUser(base_live):\n    pass")
    assert answer.notices == ["[layer: BaseUser not kept; it needs base_live to load]"]
    yield
    assert kernel.run("'BaseUser' in globals()").value == "False"


# Values.


@case
def test_constants_that_can_be_evaluated_again_are_kept(kernel: Kernel) -> Iterator[None]:
    kernel.run("import re\nfrom pathlib import Path\nfrom datetime import timedelta")
    answer = kernel.run(
        "PURE_A = 60 * 60\nPURE_B = {'a': [1, 2], 'b': (PURE_A,)}\nPURE_C = re.compile(r'\\d+')\n"
        "PURE_D = Path('data') / 'x.csv'\nPURE_E = timedelta(days=2)\nPURE_F = [n ** 2 for n in range(4)]\n"
        "PURE_G = 'a b'.split()\n_PURE_H = -1.5e3\n"
    )
    assert answer.perdure["kept"] == [f"PURE_{letter}" for letter in "ABCDEFG"] + ["_PURE_H"]
    yield
    answer = kernel.run("PURE_B['b'], PURE_C.findall('1 22'), str(PURE_D), PURE_E.days, PURE_F, PURE_G, _PURE_H")
    assert answer.value == "((3600,), ['1', '22'], 'data/x.csv', 2, [0, 1, 4, 9], ['a', 'b'], -1500.0)"


@case
def test_a_constant_of_unknown_or_outer_input_is_not_kept_and_says_why(kernel: Kernel) -> Iterator[None]:
    kernel.run("import os, random\ndef outer_load():\n    return 1")
    answer = kernel.run("OUTER_A = outer_load()\nOUTER_B = os.environ['HOME']\nOUTER_C = random.random()")
    assert answer.perdure["kept"] == []
    assert answer.notices == [
        "[layer: OUTER_A not kept; it calls outer_load(); %keep OUTER_A keeps it]",
        "[layer: OUTER_B not kept; it reads os.environ; %keep OUTER_B keeps it]",
        "[layer: OUTER_C not kept; it calls random.random(); %keep OUTER_C keeps it]",
    ]
    yield
    assert kernel.run("[n for n in globals() if n.startswith('OUTER_')]").value == "[]"


@case
def test_constants_of_one_statement_share_a_file(kernel: Kernel) -> Iterator[None]:
    assert kernel.run("MULTI_LOW, MULTI_HIGH = 1, 9").perdure["kept"] == ["MULTI_LOW", "MULTI_HIGH"]
    assert kernel.home.files()["values/m/MULTI_LOW.py"] == "MULTI_LOW, MULTI_HIGH = 1, 9\n"
    kernel.run("MULTI_HIGH = 10")
    yield
    assert kernel.run("MULTI_LOW, MULTI_HIGH").value == "(1, 10)"


@case
def test_a_final_variable_is_a_constant(kernel: Kernel) -> Iterator[None]:
    kernel.run("from typing import Final\nimport typing as t")
    answer = kernel.run("final_a: Final = 3\nfinal_b: t.Final[int] = 4\nfinal_c: int = 5")
    assert answer.perdure["kept"] == ["final_a", "final_b"]
    yield
    assert kernel.run("final_a, final_b, 'final_c' in globals()").value == "(3, 4, False)"


@case
def test_types_made_by_calls_and_classes_are_kept(kernel: Kernel) -> Iterator[None]:
    kernel.run(
        "import enum\nfrom collections import namedtuple\nfrom dataclasses import dataclass, field\n"
        "from typing import NamedTuple, NewType, TypeVar"
    )
    answer = kernel.run(
        "MadeT = TypeVar('MadeT')\nMadeId = NewType('MadeId', int)\nMadePair = namedtuple('MadePair', 'a b')\n"
        "MadeColour = enum.Enum('MadeColour', 'RED BLUE')\nMadeNumber = int | float\nMadeList = list[MadeId]\n"
        "@dataclass(frozen=True)\nclass MadePoint:\n    x: int\n    tags: list = field(default_factory=list)\n"
        "class MadeRow(NamedTuple):\n    n: MadeNumber\n"
    )
    made = ["MadeT", "MadeId", "MadePair", "MadeColour", "MadeNumber", "MadeList", "MadePoint", "MadeRow"]
    assert answer.perdure["kept"] == made
    assert answer.perdure["warnings"] == []
    yield
    answer = kernel.run("MadePair(1, 2).b, MadeColour.BLUE.value, MadeNumber, MadePoint(1), MadeRow(2).n, MadeId(3)")
    assert answer.value == "(2, 2, int | float, MadePoint(x=1, tags=[]), 2, 3)"


@case
def test_functions_that_await_and_yield_are_kept(kernel: Kernel) -> Iterator[None]:
    kernel.run(
        "import asyncio, contextlib, functools\n"
        "async def nature_wait(n):\n    await asyncio.sleep(0)\n    return n\n"
        "async def nature_each():\n    for n in range(2):\n        yield await nature_wait(n)\n"
        "def nature_count():\n    yield from range(3)\n"
        "@contextlib.contextmanager\ndef nature_frame():\n    yield 'framed'\n"
        "@functools.lru_cache(\n    maxsize=8,\n)\ndef nature_cached(n):\n    return n * 2\n"
    )
    yield
    answer = kernel.run(
        "with nature_frame() as f:\n    r = [n async for n in nature_each()]\nr, f, list(nature_count())"
    )
    assert answer.value == "([0, 1], 'framed', [0, 1, 2])"
    assert kernel.run("nature_cached(4), nature_cached.cache_parameters()['maxsize']").value == "(8, 8)"


# Imports.


@case
def test_a_definition_carries_the_imports_it_needs_as_they_were_written(kernel: Kernel) -> Iterator[None]:
    kernel.run(
        "import xml.dom.minidom\nimport collections.abc as cabc\nfrom os.path import join as glue\n"
        "import json, string\ntry:\n    import tomllib as toml\nexcept ImportError:\n    toml = None\n"
    )
    kernel.run(
        "def carry_all(x: cabc.Iterable):\n"
        "    doc = xml.dom.minidom.parseString('<a/>')\n"
        "    return doc.firstChild.tagName, glue('a', 'b'), toml.loads('n = 1'), json.dumps(1)\n"
    )
    head, _, _ = kernel.home.files()["functions/c/carry_all.py"].partition("\n\n\n")
    assert head.splitlines() == [
        "import collections.abc as cabc",
        "import json",
        "import tomllib as toml",
        "import xml.dom.minidom",
        "from os.path import join as glue",
    ]
    yield
    assert kernel.run("carry_all([])").value == "('a', 'a/b', {'n': 1}, '1')"


@case
def test_an_import_that_was_replaced_is_not_carried(kernel: Kernel) -> Iterator[None]:
    kernel.run("import base64 as swapped\nswapped = [3][0]\ndef swapped_user():\n    return swapped")
    assert kernel.home.files()["functions/s/swapped_user.py"].startswith("# perdure: needs swapped\n")
    yield
    assert kernel.run("swapped = 4\nswapped_user()").value == "4"


# One key per name, and what leaves.


@case
def test_a_name_that_becomes_a_class_moves_its_file_in_one_commit(kernel: Kernel) -> Iterator[None]:
    kernel.run("def move_area():\n    return 1")
    kernel.run("class move_area:\n    n = 2")
    assert [path for path in kernel.home.files() if "move_area" in path] == ["classes/m/move_area.py"]
    changed = kernel.home.git("show", "--format=", "--name-status", "--no-renames", "HEAD").split()
    assert changed == ["A", "classes/m/move_area.py", "D", "functions/m/move_area.py"]
    yield
    assert kernel.run("move_area.n").value == "2"


@case
def test_del_forgets(kernel: Kernel) -> Iterator[None]:
    kernel.run("def gone_f():\n    return 1\nGONE_RATE = 1")
    answer = kernel.run("del gone_f, GONE_RATE")
    assert answer.notices == ["[layer: forgot gone_f, GONE_RATE]"]
    assert answer.perdure["forgot"] == ["gone_f", "GONE_RATE"]
    assert kernel.home.log()[0].subject == "forgot gone_f, GONE_RATE"
    assert not (kernel.home.layer / "functions/g").exists()
    yield
    assert kernel.run("'gone_f' in globals(), 'GONE_RATE' in globals()").value == "(False, False)"


@case
def test_a_definition_that_comes_back_in_the_cell_of_its_del_is_kept(kernel: Kernel) -> Iterator[None]:
    kernel.run("def back_f():\n    return 1")
    kernel.run("del back_f\ndef back_f():\n    return 2")
    kernel.run("def brief_f():\n    return 1\ndel brief_f")
    yield
    assert kernel.run("back_f(), 'brief_f' in globals()").value == "(2, False)"


@case
def test_a_plain_value_under_a_kept_name_takes_it_out_of_the_layer(kernel: Kernel) -> Iterator[None]:
    kernel.run("def plain_f():\n    return 1")
    answer = kernel.run("plain_f = 3")
    assert answer.notices == ["[layer: forgot plain_f; it is a plain variable now]"]
    yield
    assert kernel.run("'plain_f' in globals()").value == "False"


@case
def test_a_changed_comment_is_committed(kernel: Kernel) -> Iterator[None]:
    kernel.run("def comment_f():\n    return 1")
    answer = kernel.run("# Says one.\ndef comment_f():\n    return 1  # one")
    assert answer.perdure["kept"] == ["comment_f"]
    yield
    assert kernel.home.files()["functions/c/comment_f.py"] == "# Says one.\ndef comment_f():\n    return 1  # one\n"


# What is never kept, and what is by force.


@case
def test_a_scratch_cell_keeps_nothing(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("%%scratch\ndef scratch_f():\n    return 5\nSCRATCH_RATE = 2\nscratch_f()")
    assert answer.value == "5"
    assert answer.notices == []
    assert kernel.run("scratch_f() * SCRATCH_RATE").value == "10"
    assert kernel.run("def after_scratch():\n    return 1").perdure["kept"] == ["after_scratch"]
    yield
    assert kernel.run("'scratch_f' in globals(), 'SCRATCH_RATE' in globals()").value == "(False, False)"


@case
def test_bodies_of_cell_magics_are_kept_as_if_written_plainly(kernel: Kernel) -> Iterator[None]:
    assert kernel.run("%%capture got\ndef magic_capture():\n    return 1\nprint('x')").perdure["kept"] == [
        "magic_capture"
    ]
    assert kernel.run("%%prun -q\ndef magic_prun():\n    return 2").perdure["kept"] == ["magic_prun"]
    assert kernel.run("%%time\nimport wave\ndef magic_time():\n    return wave.__name__").perdure["kept"] == [
        "magic_time"
    ]
    yield
    assert kernel.run("magic_capture(), magic_prun(), magic_time()").value == "(1, 2, 'wave')"


@case
def test_a_timed_body_that_raises_keeps_what_completed(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("%%time\ndef midway_before():\n    return 1\n1/0\ndef midway_after():\n    return 2")
    assert answer.error == "ZeroDivisionError: division by zero"
    assert answer.perdure["kept"] == ["midway_before"]
    yield
    assert kernel.run("midway_before(), 'midway_after' in globals()").value == "(1, False)"


@case
def test_cells_that_are_not_python_here_are_left_alone(kernel: Kernel) -> Iterator[None]:
    kernel.run("%%writefile opaque.py\ndef opaque_written():\n    return 1")
    kernel.run("%%bash\nopaque_shell() { echo 1; }")
    assert kernel.run("%%timeit -n1 -r1\ndef opaque_timed():\n    return 1").perdure["kept"] == []
    yield
    assert [path for path in kernel.home.files() if "opaque" in path] == []


@case
def test_output_names_are_never_kept_and_helpers_are(kernel: Kernel) -> Iterator[None]:
    kernel.run("def _():\n    return 1\ndef _3():\n    return 1\n__ = int")
    assert kernel.run("def _helper():\n    return 7").perdure["kept"] == ["_helper"]
    yield
    assert [path for path in kernel.home.files() if path.startswith("functions/_/")] == ["functions/_/_helper.py"]
    assert kernel.run("_helper()").value == "7"


@case
def test_definitions_inside_compound_statements_of_other_kinds_are_not_kept(kernel: Kernel) -> Iterator[None]:
    kernel.run(
        "for compound_n in range(2):\n    def compound_f():\n        return compound_n\n"
        "if __name__ == '__main__':\n    def compound_main():\n        return 1\n"
    )
    yield
    assert kernel.run("'compound_f' in globals(), 'compound_main' in globals()").value == "(False, False)"


@case
def test_a_definition_has_at_most_a_megabyte(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run(f"BIG_TEXT = '{'a b ' * 300_000}'")
    (notice,) = answer.notices
    assert notice == (
        "[layer: BIG_TEXT not kept; it has 1,200,013 bytes and a definition at most 1,048,576; move its data to a file]"
    )
    assert kernel.run(f"FITTING_TEXT = '{'a b ' * 250_000}'").perdure["kept"] == ["FITTING_TEXT"]
    yield
    assert kernel.run("'BIG_TEXT' in globals(), len(FITTING_TEXT)").value == "(False, 1000000)"


@case
def test_keep_forces_what_the_rule_refuses(kernel: Kernel) -> Iterator[None]:
    kernel.run("def forced_load():\n    return [1, 2]\nFORCED_DATA = forced_load()\nforced_table = {'a': 1}")
    answer = kernel.run("%keep FORCED_DATA forced_table")
    assert answer.notices == ["[layer: kept FORCED_DATA, forced_table]"]
    assert kernel.home.files()["values/f/FORCED_DATA.py"] == "FORCED_DATA = [1, 2]\n"
    answer = kernel.run("%keep forced_nowhere")
    assert answer.notices == ["[layer: forced_nowhere not kept; there is no such name here]"]
    answer = kernel.run("for forced_live in [object()]:\n    pass\n%keep forced_live")
    (notice,) = answer.notices
    assert notice.startswith("[layer: forced_live not kept; its value cannot be written as source")
    yield
    assert kernel.run("FORCED_DATA, forced_table").value == "([1, 2], {'a': 1})"


# All of it together.


@case
def test_the_repository_is_clean_and_whole_after_all_this(kernel: Kernel) -> Iterator[None]:
    assert kernel.home.status() == ""
    assert kernel.home.fsck() == ""
    yield
    assert kernel.home.status() == ""
    assert kernel.home.fsck() == ""
    assert [line for line in kernel.hello if "skipped" in line] == []


@case
def test_a_cell_that_cannot_run_again_says_nothing_of_the_layer(kernel: Kernel) -> Iterator[None]:
    assert kernel.run("1 +").notices == []
    assert kernel.run("x_plain = 3\nx_plain").notices == []
    yield
    assert kernel.run("'x_plain' in globals()").value == "False"


def test_future_features_travel_with_their_definitions_and_no_further(kernel: Kernel) -> None:
    kernel.run("from __future__ import annotations")
    kernel.run("from dataclasses import dataclass\n@dataclass\nclass Row:\n    n: int = 0")
    kernel.run("def on(x: Nowhere) -> int:\n    return 1")
    kernel.restart()
    assert (
        kernel.run("Row.__annotations__, on.__annotations__").value
        == "({'n': 'int'}, {'x': 'Nowhere', 'return': 'int'})"
    )
    assert kernel.run("def off(x: int):\n    return 1\noff.__annotations__").value == "{'x': int}"
