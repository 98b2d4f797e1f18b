"""cases.md, "Keeping", through a real kernel: what each cell keeps, and what is there after a kill.

Everything before a `yield` happens in a first kernel, everything after it in a second one on the same layer, started
after the first got SIGKILL.
"""

from __future__ import annotations

from collections.abc import Iterator

from .driver import Kernel
from .lives import Cases

case = Cases()


@case
def test_k1_a_constant_needed_as_a_default_loads_first(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("BATCH = 64\ndef k1_size(x, n=BATCH):\n    return x * n")
    assert answer.perdure["kept"] == ["BATCH", "k1_size"]
    yield
    assert kernel.run("k1_size(2)").value == "128"


@case
def test_k2_a_plain_variable_needed_to_load_is_pulled_in(kernel: Kernel) -> Iterator[None]:
    kernel.run("k2_bs = 64")
    answer = kernel.run("def k2_size(x, n=k2_bs):\n    return x * n")
    assert answer.notices == ["[layer: kept k2_bs, k2_size]"]
    assert kernel.home.files()["values/k/k2_bs.py"] == "k2_bs = 64\n"
    yield
    assert kernel.run("k2_size(2), k2_bs").value == "(128, 64)"


@case
def test_k3_data_read_from_a_file_is_named_and_not_kept(kernel: Kernel) -> Iterator[None]:
    (kernel.home.work / "k3.csv").write_text("mass,wing\n1.0,4\n3.0,6\n")
    kernel.run("import pandas as pd\nk3_df = pd.read_csv('k3.csv')")
    answer = kernel.run("def k3_summary():\n    return float(k3_df.mass.mean())\nk3_summary()")
    assert answer.value == "2.0"
    assert answer.notices == ["[layer: kept k3_summary; needs k3_df (not kept)]"]
    assert answer.perdure["needs"] == [{"name": "k3_summary", "names": ["k3_df"]}]
    yield
    assert "unresolved: k3_summary needs k3_df" in kernel.run("%cells").stdout
    assert kernel.run("k3_summary()").error == "NameError: name 'k3_df' is not defined"
    kernel.run("import pandas as pd\nk3_df = pd.read_csv('k3.csv')")
    assert kernel.run("k3_summary()").value == "2.0"
    assert "unresolved: k3_summary" not in kernel.run("%cells").stdout


@case
def test_k4_an_alias_of_a_type_is_kept(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("K4State = str\ndef k4_show(s: K4State) -> K4State:\n    return s.upper()")
    assert answer.notices == ["[layer: kept K4State, k4_show]"]
    yield
    assert kernel.run("k4_show('a'), k4_show.__annotations__['s'] is str").value == "('A', True)"


@case
def test_k5_an_annotation_that_nothing_defines_loads_lazily_and_is_said(kernel: Kernel) -> Iterator[None]:
    kernel.run("def k5_make():\n    return type('Made', (), {})\nK5Client = [k5_make()][0]")
    answer = kernel.run("def k5_call(c: K5Client) -> int:\n    return 5")
    assert answer.perdure["kept"] == ["k5_call"]
    yield
    assert "[layer: k5_call loaded with its annotations as text; K5Client is not defined]" in kernel.hello
    assert kernel.run("k5_call(None), k5_call.__annotations__['c']").value == "(5, 'K5Client')"


@case
def test_k6_an_alias_that_holds_the_earlier_function_is_told(kernel: Kernel) -> Iterator[None]:
    kernel.run("def k6_hello():\n    return 'old'")
    assert kernel.run("k6_greet = k6_hello").perdure["kept"] == ["k6_greet"]
    answer = kernel.run("def k6_hello():\n    return 'new'\nk6_greet()")
    assert answer.value == "'old'"
    assert "[layer: k6_greet still is the earlier k6_hello; after a restart it is the new one]" in answer.notices
    yield
    assert kernel.run("k6_greet(), k6_greet is k6_hello").value == "('new', True)"


@case
def test_k7_a_wrap_is_a_stage_of_its_function(kernel: Kernel) -> Iterator[None]:
    kernel.run("import functools\ndef k7_twice(f):\n    return functools.wraps(f)(lambda x: f(f(x)))")
    kernel.run("def k7_add(x):\n    return x + 1")
    assert kernel.run("k7_add = k7_twice(k7_add)").notices == ["[layer: kept k7_add]"]
    wrapped = kernel.home.files()["functions/k/k7_add.py"]
    assert wrapped == "def k7_add(x):\n    return x + 1\n\n\nk7_add = k7_twice(k7_add)\n"
    assert kernel.run("k7_add = k7_twice(k7_add)").notices == []
    assert kernel.home.files()["functions/k/k7_add.py"] == wrapped
    kernel.run("def k7_cleared(x):\n    return x + 1\nk7_cleared = k7_twice(k7_cleared)")
    kernel.run("def k7_cleared(x):\n    return x + 10")
    assert kernel.home.files()["functions/k/k7_cleared.py"] == "def k7_cleared(x):\n    return x + 10\n"
    # All of it in one cell, run again, is a cell run again: the stage is not taken away in between.
    cell = "def k7_cell(x):\n    return x + 1\nk7_cell = k7_twice(k7_cell)"
    kernel.run(cell)
    before = len(kernel.home.log())
    again = kernel.run(cell)
    assert (again.notices, again.perdure["kept"], len(kernel.home.log())) == ([], [], before)
    yield
    assert kernel.run("k7_add(1), k7_cleared(1), k7_cell(1)").value == "(3, 11, 3)"


@case
def test_k8_classes_load_in_the_order_they_need(kernel: Kernel) -> Iterator[None]:
    kernel.run("class K8A:\n    size = 1\nclass K8B(K8A):\n    pass")
    kernel.run("def k8_size():\n    return 2")
    kernel.run("class K8A:\n    size = k8_size()")
    yield
    assert kernel.run("K8A.size, K8B.size, K8B.__mro__[1] is K8A").value == "(2, 2, True)"


@case
def test_k9_a_class_made_from_itself_is_stored_once(kernel: Kernel) -> Iterator[None]:
    kernel.run("class K9:\n    one = 1")
    more = "class K9(K9):\n    two = 2"
    assert kernel.run(more).notices == ["[layer: kept K9]"]
    assert kernel.run(more).notices == []
    assert kernel.home.files()["classes/k/K9.py"] == f"class K9:\n    one = 1\n\n\n{more}\n"
    yield
    assert kernel.run("K9.one, K9.two, len(K9.__mro__)").value == "(1, 2, 3)"


@case
def test_k10_registrations_live_side_by_side(kernel: Kernel) -> Iterator[None]:
    kernel.run("from functools import singledispatch\n@singledispatch\ndef k10_area(s):\n    return 0")
    kernel.run("class K10Square:\n    side = 3")
    answer = kernel.run(
        "@k10_area.register\ndef _(s: int):\n    return s\n"
        "@k10_area.register\ndef _(s: K10Square):\n    return s.side ** 2\n"
        "@k10_area.register(str)\ndef _(s):\n    return len(s)"
    )
    assert answer.notices == ["[layer: kept k10_area@int, k10_area@K10Square, k10_area@str]"]
    assert [path for path in kernel.home.files() if "k10_area@" in path] == [
        "methods/k/k10_area@K10Square.py",
        "methods/k/k10_area@int.py",
        "methods/k/k10_area@str.py",
    ]
    kernel.run("K10_AREA = 5")
    yield
    assert kernel.run("k10_area(2), k10_area(K10Square()), k10_area('abcd'), k10_area(1.5)").value == "(2, 9, 4, 0)"
    # `_` is the last value, as ever, and not the last function registered.
    assert kernel.run("_").value == "(2, 9, 4, 0)"


@case
def test_k11_an_import_that_came_by_a_detour_is_carried(kernel: Kernel) -> Iterator[None]:
    module = kernel.home.work / "k11_module.txt"
    module.write_text("def quiet():\n    return 'quiet'\n")
    kernel.run("import sys; sys.path.insert(0, '.')")
    kernel.run(
        "try:\n    import k11_module\nexcept ImportError:\n    !cp k11_module.txt k11_module.py\n    import k11_module"
    )
    kernel.run("def k11_use():\n    return k11_module.quiet()")
    assert kernel.home.files()["functions/k/k11_use.py"].startswith("import k11_module\n")
    yield
    assert kernel.run("k11_use()").value == "'quiet'"


@case
def test_k12_the_body_of_a_timed_cell_is_kept(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("%%time\ndef k12_slow():\n    return 12\nk12_slow()")
    assert answer.value == "12"
    assert answer.notices == ["[layer: kept k12_slow]"]
    kernel.run("%%timeit -n1 -r1\ndef k12_measured():\n    return 12")
    assert "functions/k/k12_measured.py" not in kernel.home.files()
    yield
    assert kernel.run("k12_slow(), 'k12_measured' in globals()").value == "(12, False)"


@case
def test_k13_a_star_import_becomes_the_names_that_are_used(kernel: Kernel) -> Iterator[None]:
    kernel.run("from math import *")
    kernel.run("def k13_root(x):\n    return sqrt(x)")
    assert kernel.home.files()["functions/k/k13_root.py"].startswith("from math import sqrt\n\n\n")
    yield
    assert kernel.run("k13_root(9)").value == "3.0"


@case
def test_k14_single_capitals_are_plain_variables(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("def k14_load():\n    return [14]\nX = k14_load()\nT = 0.5")
    assert answer.notices == ["[layer: kept k14_load]"]
    yield
    assert kernel.run("'X' in globals(), 'T' in globals(), k14_load()").value == "(False, False, [14])"


@case
def test_k15_what_completed_before_an_error_is_kept(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run("def k15_ok():\n    return 15\n1/0")
    assert answer.error == "ZeroDivisionError: division by zero"
    assert answer.perdure["kept"] == ["k15_ok"]
    assert answer.perdure["failed_form"] == 2
    assert "[error in form 2 of 2]" in answer.notices
    yield
    assert kernel.run("k15_ok()").value == "15"


@case
def test_k16_the_last_of_two_definitions_in_a_cell_stands(kernel: Kernel) -> Iterator[None]:
    first = "def k16_twice():\n    return 'first'\n"
    kernel.run(first + "def k16_twice():\n    return 'last'\n")
    assert [path for path in kernel.home.files() if "k16" in path] == ["functions/k/k16_twice.py"]
    assert kernel.run("k16_twice()").value == "'last'"
    answer = kernel.run(first + "k16_twice()")
    assert answer.value == "'first'"
    assert kernel.home.files()["functions/k/k16_twice.py"] == first
    yield
    assert kernel.run("k16_twice()").value == "'first'"


@case
def test_k17_a_cell_run_again_changes_nothing(kernel: Kernel) -> Iterator[None]:
    cell = "import math\n\nK17_RATE = 0.5\n\n# Half of it.\ndef k17_half(x):\n    return math.floor(x * K17_RATE)\n"
    kernel.run(cell)
    head, files = kernel.home.git("rev-parse", "HEAD"), kernel.home.files()
    answer = kernel.run(cell)
    assert answer.notices == []
    assert answer.perdure["kept"] == []
    assert kernel.home.git("rev-parse", "HEAD") == head
    assert kernel.home.files() == files
    yield
    assert kernel.run(cell).notices == []
    assert kernel.home.files()["functions/k/k17_half.py"] == files["functions/k/k17_half.py"]
    assert len(kernel.home.log("functions/k/k17_half.py")) == 1


@case
def test_k19_what_is_registered_with_an_abstract_class_stays_so(kernel: Kernel) -> Iterator[None]:
    kernel.run("from abc import ABC\nclass K19(ABC):\n    pass")
    assert kernel.run("K19.register(int)").notices == ["[layer: kept K19]"]
    assert kernel.run("K19.register(int)").notices == []
    yield
    assert kernel.run("isinstance(1, K19), isinstance('', K19)").value == "(True, False)"


@case
def test_k20_an_enum_works_and_one_broken_file_leaves_the_rest(kernel: Kernel) -> Iterator[None]:
    kernel.run("from enum import Enum\nclass K20Mood(Enum):\n    GOOD = 1\n    BAD = 2")
    kernel.run("def k20_mood(n):\n    return K20Mood(n)")
    kernel.run("def k20_broken():\n    return 1")
    file = kernel.home.layer / "functions/k/k20_broken.py"
    file.write_text("def k20_broken():\n    return 1\n\nif True print(1)\n")
    yield
    assert kernel.run("k20_mood(2), k20_mood(1) is K20Mood.GOOD").value == "(<K20Mood.BAD: 2>, True)"
    (told,) = (line for line in kernel.hello if "skipped functions/k/k20_broken.py" in line)
    assert "line 4" in told
    assert kernel.run("'k20_broken' in globals()").value == "False"
    answer = kernel.run("def k20_broken():\n    return 2")
    assert answer.perdure["kept"] == ["k20_broken"]
    assert file.read_text() == "def k20_broken():\n    return 2\n"


@case
def test_k21_a_syntax_error_leaves_the_old_function_live(kernel: Kernel) -> Iterator[None]:
    kernel.run("def k21_f():\n    return 'old'")
    answer = kernel.run("def k21_f(:\n    return 'broken'")
    assert answer.content["ename"] == "SyntaxError"
    assert answer.perdure["kept"] == []
    assert kernel.run("k21_f()").value == "'old'"
    assert kernel.run("def k21_f():\n    return 'new'\nk21_f()").value == "'new'"
    yield
    assert kernel.run("k21_f()").value == "'new'"


@case
def test_k22_a_definition_that_went_and_came_back_has_its_history(kernel: Kernel) -> Iterator[None]:
    for body in ("A", "B", "A"):
        kernel.run(f"def k22_f():\n    return {body!r}")
    assert kernel.home.files()["functions/k/k22_f.py"] == "def k22_f():\n    return 'A'\n"
    assert [commit.subject for commit in kernel.home.log("functions/k/k22_f.py")] == ["keep k22_f"] * 3
    yield
    assert kernel.run("k22_f()").value == "'A'"


# Written in pieces, so that no scanner takes this file for a leak.
TOKEN = "sk-" + "Q7zq0Wb3" * 4
WORD = "hunter2" + "hunter2"


@case
def test_k23_a_star_import_over_a_kept_name_is_told(kernel: Kernel) -> Iterator[None]:
    kernel.run("def k23_unused(x):\n    return x\ndef floor(x):\n    return 'mine'")
    answer = kernel.run("from math import *")
    assert [line for line in answer.notices if "floor" in line] == [
        (
            "[layer: floor is an import now; the layer still has the function, and a restart brings it back; "
            "`del floor` forgets it]"
        )
    ]
    yield
    assert kernel.run("floor(2.5)").value == "'mine'"


@case
def test_k24_secrets_are_told_and_never_written(kernel: Kernel) -> Iterator[None]:
    answer = kernel.run(f"K24_API_KEY = {TOKEN!r}")
    assert answer.notices == [
        "[layer: K24_API_KEY looks like a secret; not kept; %keep K24_API_KEY commits it to git all the same]"
    ]
    answer = kernel.run(f"# {TOKEN}\ndef k24_connect():\n    password = {WORD!r}\n    return password")
    (notice,) = answer.notices
    assert notice.startswith("[layer: k24_connect holds what looks like a secret (password); not kept")
    assert kernel.run("k24_connect()").value == repr(WORD)
    kernel.run(f"def k24_innocent(token={TOKEN!r}):\n    return 1")
    kernel.run(f"def k24_reader():\n    return K24_API_KEY\n# {TOKEN}\ndef k24_other():\n    return 24")
    yield
    home = kernel.home
    assert kernel.run("[n for n in ('K24_API_KEY', 'k24_connect', 'k24_innocent') if n in globals()]").value == "[]"
    for secret in (TOKEN.encode(), WORD.encode()):
        assert secret not in home.objects()
        written = [path for path in home.root.rglob("*") if path.is_file() and home.ipython not in path.parents]
        assert [str(path) for path in written if secret in path.read_bytes()] == []
