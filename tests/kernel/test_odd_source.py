"""Source as it seldom is, through a real kernel: kept to the byte or refused with a reason, and the kernel lives.

Every newline of a cell is made a bare one, as Python itself does; all else of a definition's text is as it was sent.
Each case has the first half of its life before a SIGKILL, and the second in the next kernel on the same layer.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from jupyter_client.jsonutil import json_default

from .conftest import StartKernel
from .driver import Kernel
from .home import Home
from .lives import Case, Cases, Lives

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")

case = Cases()


@dataclass(frozen=True, slots=True)
class Odd:
    """A cell, what of it is kept, and an expression that uses it."""

    cell: str
    texts: dict[str, str]  # name → text; in the order in which they stand in the cell
    use: str
    value: str
    before: str = ""  # a cell to run first, in the second life too; nothing of it is kept


def whole(name: str, cell: str, use: str, value: str, before: str = "") -> Odd:
    """A cell that is one definition from its first byte to its last newline."""
    return Odd(cell, {name: cell.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")}, use, value, before)


LINES = 10_000
LARGEST = 1 << 20

KEPT = {
    # Encodings. A cell is text, so that a cookie in it is a comment like any other.
    "cookie latin-1": whole(
        "o_latin", "# -*- coding: latin-1 -*-\ndef o_latin():\n    return 'é€'", "o_latin()", "'é€'"
    ),
    "cookie utf-16": whole("o_wide", "# coding: utf-16\nclass o_wide:\n    a = 'é'", "o_wide.a", "'é'"),
    "cookie of nothing known": whole("O_VIM", "# vim: set fileencoding=nonsense :\nO_VIM = 'é'", "O_VIM", "'é'"),
    "cookie in line 2": whole("o_two", "# of two\n# coding=ascii\ndef o_two():\n    return 'é'", "o_two()", "'é'"),
    "cookie with a header": whole(
        "o_header",
        "# coding: foo\ndef o_header(there=0):\n    return 'é' if there else o_missing",
        "o_header(1)",
        "'é'",
    ),
    "cookie with imports": Odd(
        "import math\n# coding: foo\ndef o_import():\n    return 'é', math.floor(1.5)",
        {"o_import": "# coding: foo\ndef o_import():\n    return 'é', math.floor(1.5)"},
        "o_import()",
        "('é', 1)",
    ),
    "cookie in a docstring": whole(
        "o_doc",
        "def o_doc():\n    '''é\n    coding: foo\n# coding: foo'''",
        "o_doc.__doc__[0], len(o_doc.__doc__)",
        "('é', 31)",
    ),
    "cookie in a string": whole("O_TEXT", "O_TEXT = '''\n# coding: foo\né'''", "O_TEXT", "'\\n# coding: foo\\né'"),
    "byte order mark in a string": whole("o_bom", "def o_bom():\n    return '\ufeff'", "o_bom()", "'\\ufeff'"),
    "escaped surrogate": whole("o_lone", "def o_lone():\n    return '\\ud800'", "o_lone()", "'\\ud800'"),
    # White space.
    "tabs": whole("o_tab", "def o_tab(a):\n\tif a:\n\t\treturn 'a\tb'\n\t# no\n\t# more", "o_tab(1)", "'a\\tb'"),
    "tabs and spaces": whole("o_mixed", "def o_mixed():\n\tif 1:\n\t        return 1", "o_mixed()", "1"),
    "CRLF": whole("o_crlf", "def o_crlf():\r\n    return '''a\r\nb'''\r\n", "o_crlf()", "'a\\nb'"),
    "CR": whole("o_cr", "def o_cr():\r    return '''a\rb'''\r", "o_cr()", "'a\\nb'"),
    "every newline": whole("o_all", "# c\r\ndef o_all():\r    return '''a\rb\r\nc'''\n", "o_all()", "'a\\nb\\nc'"),
    "form feeds between": Odd(
        "import functools\n\f\ndef o_page():\n    return 1\n\f\n\f@functools.cache\ndef o_cached():\n    return 2\n",
        {
            "o_page": "def o_page():\n    return 1",
            "o_cached": "@functools.cache\ndef o_cached():\n    return 2",
        },
        "o_page(), o_cached()",
        "(1, 2)",
    ),
    "form feeds within": whole(
        "o_feed",
        "# f\n\fdef o_feed():\f # g\n    x = 1\n\f\n    y = 'a\fb'\n\f    return\fx, y",
        "o_feed()",
        "(1, 'a\\x0cb')",
    ),
    "separators in a string": whole(
        "o_lines",
        "def o_lines():\n    return 'a\vb\u2028c\u2029d\x85e\x1cf\x1dg\x1eh'",
        "[*map(ord, o_lines()[1::2])]",
        "[11, 8232, 8233, 133, 28, 29, 30]",
    ),
    "what looks like magics in a string": whole(
        "o_magic", "def o_magic():\n    return '''\n%magic\n!ls\n\u2028?x\v%%time\n'''", "len(o_magic())", "23"
    ),
    "no newline": whole("o_bare", "def o_bare(): return 1", "o_bare()", "1"),
    "blank lines at the end": whole("o_blank", "def o_blank(): return 1\n\n\n", "o_blank()", "1"),
    "backslashes before": Odd(
        "o_x = 1; \\\nO_RATE = 2\n\\\n\\\ndef o_slash():\n    return 3",
        {"O_RATE": "O_RATE = 2", "o_slash": "def o_slash():\n    return 3"},
        "O_RATE, o_slash()",
        "(2, 3)",
    ),
    "backslashes within": whole(
        "o_long", "def o_long \\\n  (a, \\\n   b=2): \\\n    return a + \\\n  b", "o_long(1)", "3"
    ),
    # Strings.
    "quotes": whole(
        "o_quotes",
        "def o_quotes():\n    '''a\\'\\'\\'\"\"\"\n# b'''\n    return '''c\"\"\"\\'''', \"\"\"d'''\n\n\n# e\\\n\"\"\"",
        "o_quotes()",
        "('c\"\"\"\\'', \"d'''\\n\\n\\n# e\")",
    ),
    "backslashes in a docstring": whole(
        "o_regex",
        "def o_regex():\n    '''\\\\d \\\n    \\x41 \\N{BULLET}'''\n    return r'\\d\\w'",
        "o_regex(), o_regex.__doc__",
        "('\\\\d\\\\w', '\\\\d     A •')",
    ),
    "characters that are not seen": whole(
        "o_hidden", "def o_hidden():\n    return '\u200b\u200d\u202e\u00ad'", "len(o_hidden())", "4"
    ),
    # Forms (K26).
    "nested": whole(
        "O_Outer",
        "class O_Outer:\n    class Inner:\n        def f(self):\n            def g(x):\n                class H:\n"
        "                    a = x\n                return H\n            return g",
        "O_Outer.Inner().f()(5).a",
        "5",
    ),
    "lambda in a default": whole(
        "o_lambda", "def o_lambda(f=lambda x, *, y=2: (x, y)):\n    return f(1)", "o_lambda()", "(1, 2)"
    ),
    "walrus": Odd(
        "if (o_n := 3) > 2:\n    pass\ndef o_walrus(x):\n    return (y := x + 1), y\n",
        {"o_walrus": "def o_walrus(x):\n    return (y := x + 1), y"},
        "o_walrus(1)",
        "(2, 2)",
    ),
    "match": whole(
        "o_match",
        "def o_match(x):\n    match x:\n        case [1, *rest] if rest:\n            return rest\n        "
        "case {'a': a}:\n            return a"
        "\n        case _:\n            return None",
        "o_match([1, 2]), o_match({'a': 3}), o_match(4)",
        "([2], 3, None)",
    ),
    "async def": whole("o_async", "async def o_async(x):\n    return x", "await o_async(1)", "1"),
    "generator": whole("o_gen", "def o_gen():\n    x = yield 1\n    yield from [2, 3]", "[*o_gen()]", "[1, 2, 3]"),
    "async generator": whole(
        "o_agen", "async def o_agen():\n    yield 1\n    yield 2", "[x async for x in o_agen()]", "[1, 2]"
    ),
    "decorator over several lines": whole(
        "o_deco",
        "# Remembered.\n@functools.lru_cache(\n    maxsize=8,  # few\n    typed=(\n        True\n    ),\n)\n# and\n"
        "@ staticmethod\ndef o_deco(a, /, b=1, *c, d: 'int' = 2, **e) -> int:\n    return a + b + d",
        "o_deco(1)",
        "4",
        before="import functools",
    ),
    # Size.
    "ten thousand lines of a function": whole(
        "o_tall", "def o_tall():\n    n = 0\n" + "    n += 1  # π\n" * LINES + "    return n", "o_tall()", f"{LINES}"
    ),
    "ten thousand lines of a class": whole(
        "O_Tall",
        "class O_Tall:\n" + "".join(f"    def m{n}(self):\n        return {n}\n" for n in range(LINES // 2)),
        f"O_Tall().m{LINES // 2 - 1}()",
        f"{LINES // 2 - 1}",
    ),
    "ten thousand lines of a value": whole(
        "O_TABLE",
        "O_TABLE = {\n" + "".join(f"    'k{n}': {n},\n" for n in range(LINES)) + "}",
        "len(O_TABLE)",
        f"{LINES}",
    ),
    "as large as can be": whole(
        "O_LARGE", "O_LARGE = '" + "x" * (LARGEST - len("O_LARGE = ''")) + "'", "len(O_LARGE)", f"{LARGEST - 12}"
    ),
    "deep": whole("O_DEEP", "O_DEEP = " + "[" * 90 + "1" + "]" * 90, "str(O_DEEP).count('[')", "90"),
    # Names.
    "names that Python composes": Odd(
        "def \ufb01():\n    return 'NFKC'\nclass \u2167: pass",
        {"fi": "def \ufb01():\n    return 'NFKC'", "VIII": "class \u2167: pass"},
        "fi(), VIII.__name__",
        "('NFKC', 'VIII')",
    ),
    "outside the BMP": Odd(
        "def \U0001d518\U0001d52b\U0001d526(): return '😀'\n\U0001d518X = '😀'; O_NEXT = 'π'  # é",
        {
            "Uni": "def \U0001d518\U0001d52b\U0001d526(): return '😀'",
            "UX": "\U0001d518X = '😀'",
            "O_NEXT": "O_NEXT = 'π'  # é",
        },
        "Uni(), UX, O_NEXT",
        "('😀', '😀', 'π')",
    ),
    "as long as K25": whole(f"{'o' * 300}", f"def {'o' * 300}(): return 1", f"{'o' * 300}()", "1"),
    "longer and wide": whole(f"{'π' * 400}", f"class {'π' * 400}: a = 1", f"{'π' * 400}.a", "1"),
    "twins": Odd(
        "def o_twin(): return 1\nclass O_Twin: a = 2\ndef O_twin(): return 3\nO_TWIN = 4",
        {
            "o_twin": "def o_twin(): return 1",
            "O_Twin": "class O_Twin: a = 2",
            "O_twin": "def O_twin(): return 3",
            "O_TWIN": "O_TWIN = 4",
        },
        "o_twin(), O_Twin.a, O_twin(), O_TWIN",
        "(1, 2, 3, 4)",
    ),
    "match as a name": whole(
        "match",
        "def match(x):\n    match x:\n        case 1: return 'one'\n        case _: return x",
        "match(1), match(2)",
        "('one', 2)",
    ),
    "case as a name": whole(
        "case", "class case:\n    match = 1; type = 2; lazy = 3; _ = 4", "case.match, case._", "(1, 4)"
    ),
    "lazy as a name": whole("lazy", "def lazy(lazy=1): return lazy", "lazy()", "1"),
    "soft keywords as parameters": whole(
        "o_soft",
        "def o_soft(match, case=1, *type, _=4, lazy=5): return match, case, type, _, lazy",
        "o_soft(0)",
        "(0, 1, (), 4, 5)",
    ),
    "nearly keywords": Odd(
        "def async_(): return 1\nclass nonlocal_: a = 2\nclass True_: a = 3",
        {"async_": "def async_(): return 1", "nonlocal_": "class nonlocal_: a = 2", "True_": "class True_: a = 3"},
        "async_(), nonlocal_.a, True_.a",
        "(1, 2, 3)",
    ),
    # Last, since they hide what other cells may use.
    "print as a name": whole("print", "def print(*args): return args", "print(1)", "(1,)"),
    "exec as a name": whole("exec", "def exec(async_=1): return async_", "exec()", "1"),
    "type as a name": whole("type", "def type(type): return type", "type(1)", "1"),
}


def kept(odd: Odd) -> Case:
    """Kept exactly, not kept again, and back after a restart."""

    def live(kernel: Kernel) -> Iterator[None]:
        kernel.run(odd.before or "pass")
        assert kernel.run(odd.cell).perdure["kept"] == [*odd.texts]
        works(kernel, odd)
        files = {path: path.read_bytes() for path in locations(kernel, odd)}
        for data, text in zip(files.values(), odd.texts.values(), strict=True):
            assert (b"\n" + data).endswith(b"\n" + text.encode() + b"\n")
        is_unchanged_by(kernel, odd.cell)
        yield
        works(kernel, odd)
        kernel.run(odd.before or "pass")
        is_unchanged_by(kernel, odd.cell)
        assert {path: path.read_bytes() for path in files} == files

    return live


def works(kernel: Kernel, odd: Odd) -> None:
    """It does what it should, and has the text it should have."""
    assert kernel.run(odd.use).value == odd.value
    for name, text in odd.texts.items():
        assert told(kernel, f"__import__('perdure').definition_text({name!r})") == text


def locations(kernel: Kernel, odd: Odd) -> list[Path]:
    return [Path(told(kernel, f"str(__import__('perdure').definition_location({name!r}).path)")) for name in odd.texts]


def told(kernel: Kernel, expression: str) -> str:
    """The text that an expression gives."""
    value = kernel.run(expression).value
    assert value is not None
    return str(ast.literal_eval(value))


def is_unchanged_by(kernel: Kernel, cell: str) -> None:
    """The cell run again keeps nothing, says nothing, commits nothing and leaves every byte of the files."""
    home = kernel.home
    head, files = home.git("rev-parse", "HEAD"), home.files()
    again = kernel.run(cell)
    assert again.perdure["kept"] == []
    assert again.notices == []
    assert home.git("rev-parse", "HEAD") == head
    assert home.files() == files
    assert home.status() == ""


# What cannot run is answered as in stock; what cannot be kept runs, and it is said why not.

REFUSED = {
    "byte order mark": "\ufeffdef r_bom(): return 1",
    "null byte": "def r_null():\n    return '\0'",
    "null byte in a comment": "def r_null(): pass\n# \0",
    "tabs that disagree with spaces": "def r_tab():\n        if 1:\n\t    return 1",
    "vertical tab between words": "def r_vertical():\n    return\v1",
    "no-break space": "def r_space():\n    return\xa01",
    "line separator between statements": "r_x = 1\u2028def r_line(): pass",
    "keyword as a name": "def r_before(): pass\ndef class(): pass",
    "control character": "def r_control(): pass\n\x1a",
    "what a later Python may know": "def r_later(): pass\nfrozen def r_frozen(): pass",
}


def refused(cell: str) -> Case:
    def live(kernel: Kernel) -> Iterator[None]:
        with pytest.raises((SyntaxError, ValueError)) as stock:
            compile(cell, "cell", "exec")
        kernel.run("def r_there(): return 1")
        head = kernel.home.git("rev-parse", "HEAD")
        answer = kernel.run(cell)
        assert answer.content["ename"] == stock.type.__name__
        assert answer.perdure["kept"] == []
        assert answer.notices == []
        assert kernel.run("r_there()").value == "1"
        assert kernel.home.git("rev-parse", "HEAD") == head
        assert kernel.home.status() == ""
        yield
        assert kernel.run("[name for name in globals() if name.startswith('r_') and name != 'r_there']").value == "[]"

    return live


TOO_LARGE = {
    "value": ("T_VALUE", "T_VALUE = '" + "x" * LARGEST + "'"),
    "function": ("t_function", "def t_function():\n    return '" + "é" * (LARGEST // 2) + "'"),
    "class": ("T_Class", "class T_Class:\n" + "    a = 1  # why\n" * (LARGEST // 16)),
}


def too_large(name: str, cell: str) -> Case:
    def live(kernel: Kernel) -> Iterator[None]:
        size = len(cell.encode().rstrip())
        assert size > LARGEST
        answer = kernel.run(cell)
        assert answer.status == "ok"
        (notice,) = answer.notices
        assert notice == (
            f"[layer: {name} not kept; it has {size:,} bytes and a definition at most {LARGEST:,}; "
            "move its data to a file]"
        )
        assert kernel.run(f"{name!r} in globals()").value == "True"
        assert kernel.home.status() == ""
        yield
        assert kernel.run(f"{name!r} in globals()").value == "False"

    return live


# What is defined otherwise than by a statement.

HIDDEN = {
    "exec": "exec('def {}(x=0): return 7')",
    "exec of code": "exec(compile('def {}(x=0): return 7', 'made', 'exec'))",
    "exec in namespaces": "exec('def {}(x=0): return 7', globals())",
    "eval": "eval('globals()').update({}=lambda x=0: 7)",
    "globals": "globals()['{}'] = lambda x=0: 7",
    "locals": "locals().update({}=lambda x=0: 7)",
    "vars": "vars()['{}'] = lambda x=0: 7",
    "the module": "import sys\nsetattr(sys.modules['__main__'], '{}', lambda x=0: 7)",
    "the module's dict": "import __main__\n__main__.__dict__['{}'] = lambda x=0: 7",
    "the shell": "get_ipython().user_ns['{}'] = lambda x=0: 7",
    "pushed": "get_ipython().push({{'{}': lambda x=0: 7}})",
    "a function": "def h_definer_{0}():\n    global {0}\n    {0} = lambda x=0: 7\nh_definer_{0}()",
}


def hidden(name: str, cell: str) -> Case:
    """Not kept, and not spoken of but where something else needs it."""

    def live(kernel: Kernel) -> Iterator[None]:
        answer = kernel.run(cell)
        assert answer.status == "ok"
        assert name not in answer.perdure["kept"]
        assert not any("not kept" in line for line in answer.notices)
        assert kernel.run(f"{name}()").notices == []
        kernel.run("def h_plain(f): return f")
        caller = kernel.run(f"def {name}_caller():\n    return {name}()\n{name}_caller()")
        assert caller.value == "7"
        assert caller.notices == [f"[layer: kept {name}_caller; needs {name} (not kept)]"]
        for form in ("def {0}_made(x={0}): return x", "@{0}\ndef {0}_made(): pass", "class {0}_made:\n    a = {0}()"):
            answer = kernel.run(form.format(name))
            assert answer.notices == [f"[layer: {name}_made not kept; it needs {name} to load]"]
            assert answer.perdure["kept"] == []
        assert kernel.home.status() == ""
        yield
        assert kernel.run(f"{name!r} in globals(), '{name}_made' in globals()").value == "(False, False)"
        assert kernel.run(f"{name}_caller()").error == f"NameError: name '{name}' is not defined"
        assert f"unresolved: {name}_caller needs {name}" in kernel.run("%cells").stdout
        kernel.run(f"{name} = lambda: 7")
        assert kernel.run(f"{name}_caller()").value == "7"

    return live


# Lone surrogates: json may bring them, no Python compiles them, and Jupyter itself cannot echo such a cell.


@case
def test_lone_surrogates_cost_only_their_own_cell(kernel: Kernel) -> Iterator[None]:
    session = kernel.client.session
    pack = session.pack
    session.pack = lambda message: json.dumps(message, default=json_default).encode()
    kernel.send("def l_sent():\n    return '\ud800'")
    session.pack = pack
    answer = kernel.run("get_ipython().run_cell('def l_inner(): return \"\\ud800\"').success")
    assert answer.value == "False"
    assert answer.perdure["kept"] == []
    assert answer.notices == []
    assert kernel.run("def l_after(): return 1").notices == ["[layer: kept l_after]"]
    assert kernel.home.status() == ""
    yield
    assert kernel.run("[name for name in globals() if name.startswith('l_')]").value == "['l_after']"


@case
def test_a_cookie_does_not_make_pythons_tools_misread_the_file(kernel: Kernel) -> Iterator[None]:
    cell = "# coding: latin-1\ndef c_fails():\n    raise ValueError('é€')"
    kernel.run(cell)
    assert told(kernel, "__import__('inspect').getsource(c_fails)").rstrip() == cell.partition("\n")[2]
    yield
    assert told(kernel, "__import__('inspect').getsource(c_fails)").rstrip() == cell.partition("\n")[2]
    answer = kernel.run("c_fails()")
    assert answer.error == "ValueError: é€"
    assert "raise ValueError('é€')" in _COLOUR.sub("", "\n".join(answer.content["traceback"]))


def _add(name: str, life: Case) -> None:
    life.__name__ = name
    case.append(life)


for _name, _cell in REFUSED.items():
    _add(f"refused: {_name}", refused(_cell))
for _name, (_key, _cell) in TOO_LARGE.items():
    _add(f"too large: {_name}", too_large(_key, _cell))
for _name, _cell in HIDDEN.items():
    _key = "h_" + _name.replace(" ", "_").replace("'", "_")
    _add(f"hidden: {_name}", hidden(_key, _cell.format(_key)))
for _name, _odd in KEPT.items():
    _add(f"kept: {_name}", kept(_odd))

TABLED = [life for life in case if not life.__name__.startswith("test_")]


@pytest.mark.parametrize("life", TABLED, ids=[life.__name__ for life in TABLED])
def test_odd(lives: Lives, life: Case) -> None:
    lives.go_on(life)


def test_a_file_that_only_a_later_python_can_read_leaves_all_others(layer: Home, new_kernel: StartKernel) -> None:
    files: dict[str, str | bytes] = {
        "functions/e/early.py": "def early():\n    return late and 1\n",
        "functions/l/later.py": "import math\n\n\ndef later():\n    frozen def inner(): pass\n",
        "values/l/LATER.py": "LATER = <<1, 2>>\n",
        "values/l/late.py": "late = 1\n",
        "functions/b/bytes_.py": "def bytes_(): return '\xff'\n".encode("latin-1"),
        "functions/n/null.py": "def null(): return '\0'\n",
        "functions/w/wide.py": "def wide(): return 1\n".encode("utf-16"),
        "functions/m/mark.py": "\ufeffdef mark():\r\n\treturn 'é'\r\n",
    }
    for path, text in files.items():
        (layer.layer / path).parent.mkdir(parents=True, exist_ok=True)
        (layer.layer / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    layer.git("add", "-A")
    layer.git("commit", "-q", "-m", "by a later Python")
    kernel = new_kernel().start()
    listed = kernel.run("%cells").stdout
    for path, line in [("functions/l/later.py", 5), ("values/l/LATER.py", 1), ("functions/b/bytes_.py", 1)]:
        assert f"skipped {path}: line {line}: " in listed
    assert listed.count("skipped ") == 5, listed
    assert any("skipped functions/l/later.py: line 5: " in line for line in kernel.hello), kernel.hello
    assert kernel.run("early(), mark()").value == "(1, 'é')"
    assert kernel.run("def later():\n    return 2").notices == ["[layer: kept later]"]
    assert layer.status() == ""
    kernel.restart()
    assert kernel.run("early(), mark(), later()").value == "(1, 'é', 2)"
