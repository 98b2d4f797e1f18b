"""No change to what a stock cell does: the same cells in ipykernel and in perdure, every message compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .compare import Pair
from .driver import Kernel


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Both kernels, for all tests of the module: they stay in step."""
    both = Pair(tmp_path_factory.mktemp("pair"))
    try:
        both.start()
        yield both
    finally:
        both.kill()


def same(*cells: str) -> tuple[str, ...]:
    """Cells that run one after another."""
    return cells


CELLS = {
    "a value": same("1 + 1"),
    "no value": same("None", "x = 1", "pass", "", "   ", "# only a comment"),
    "only the last value": same("1\n2\n'three'"),
    "outputs by name": same("10", "_ * 2", "_, __, ___", "sorted(Out)[-3:], _oh[sorted(Out)[-1]]"),
    "a value of an error's cell is no output": same("'before'", "5\n1/0", "_"),
    "inputs by name": same("a = 1\nb = 2", "_i, _ii, In[-1], len(In)"),
    "underscore of the user": same("_ = 'mine'", "5", "_", "del _", "6", "_"),
    "quiet": same("5;", "5; # c", "5\n6;", "';'", "x = 5;", "5 ; ", "_"),
    "several statements on a line": same("a = 1; b = a + 1; b", "a; b", "def f(): return 3; x = 1", "if a: b"),
    "streams": same("print('out')\nimport sys\nprint('err', file=sys.stderr)", "print('a', end='')\nprint('b')"),
    "values in blocks": same("for i in range(2):\n    i", "if True:\n    5", "with open('/dev/null'):\n    6\n7"),
    "definitions": same(
        "def area(w, h):\n    '''Doc.'''\n    return w * h\narea(2, 3)",
        "class Circle:\n    n: int = 1\n    def grow(self):\n        return self.n\nCircle().grow()",
        "RATE = 0.5\nRATE",
        "area.__doc__, area.__module__, area.__qualname__, Circle.__annotations__",
        "import inspect\nprint(inspect.getsource(area))",
        "area.__code__.co_firstlineno, area.__code__.co_name",
    ),
    "an error": same("1/0", "a = 1\n\nb = 2\n1/0\nc = 3", "'c' in globals()"),
    "an error below functions": same(
        "def low(n):\n    return 1 / n\n", "def high(n):\n    # comment\n    return low(n)\n", "x = 1\nhigh(0)"
    ),
    "an error in a long statement": same("x = [\n  1,\n  2 / 0,\n]", "foo(\n)"),
    "chained errors": same(
        "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('then') from e",
        "try:\n    1/0\nexcept ZeroDivisionError:\n    {}['k']",
        "raise ExceptionGroup('many', [ValueError(1), KeyError('a')])",
    ),
    "errors that fail to show": same(
        "class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError('no')\n",
        "class Quiet(Exception):\n    def _render_traceback_(self):\n        return ['own traceback']\nraise Quiet()",
    ),
    "syntax errors": same("1 +", "x = (", "def f(:\n    pass", "'abc", "a = 1\nb ==== 2\n", "f(**k, *a)", "x = 5 5"),
    "indentation errors": same("  x = 1\n y = 2", "if True:\nx = 1", "def f():\n\tx = 1\n        y = 2"),
    "naked statements": same("return 5", "yield 5", "break", "continue", "x = 1\nreturn x", "nonlocal q"),
    "system exit": same("raise SystemExit", "raise SystemExit(3)", "import sys\nsys.exit('bye')", "'alive'"),
    "keyboard interrupt": same("raise KeyboardInterrupt", "raise KeyboardInterrupt('why')"),
    "warnings": same(
        "import warnings\nwarnings.warn('once')\nwarnings.warn('twice')",
        "def warner():\n    warnings.warn('from a function', DeprecationWarning)\nwarner()\nwarner()",
        "filters = warnings.filters[:]\nwarnings.simplefilter('always')",
        "def escaper():\n    return '\\d'\nescaper()",
        "ESCAPED = '\\d'",
        "%%time\nESCAPED_TOO = '\\w'",
        "ESC_A, ESC_B = '\\s', 'b'",
        "def quoted(x: 'list[\"\\q\"]'):\n    pass",
        "1 is 1",
        "warnings.filters[:] = filters",
    ),
    "await": same(
        "import asyncio\nawait asyncio.sleep(0, 'slept')",
        "async def two():\n    await asyncio.sleep(0)\n    return 2\nx = await two()\nx",
        "async def each():\n    for n in range(3):\n        yield n\nasync for n in each():\n    print(n)",
        "[n async for n in each()]",
        "class Door:\n    async def __aenter__(self):\n        return 'in'\n    async def __aexit__(self, *a):\n"
        "        print('out')\nasync with Door() as d:\n    print(d)",
        "async def bad():\n    await asyncio.sleep(0)\n    1/0\nawait bad()",
        "a = 1\nawait asyncio.sleep(0)\nb = 2\na, b",
        "await 5",
        "asyncio.get_running_loop() is not None",
        "from concurrent.futures import Future\nawait asyncio.gather(two(), two())",
    ),
    "line magics": same(
        "%precision 3\n3.14159", "%precision\n3.14159", "x = %pwd\ntype(x).__name__", "%env PERDURE_TEST=1",
        "%alias_magic tt time", "%xmode Plain", "1/0", "%xmode Context", "%nothing_like_it", "%cd -q ..", "%cd -q work",
        "%time 1 + 1", "%timeit -n1 -r1 pass", "%pdb off", "%logstate", "%macro mine 1", "%system echo hi",
    ),
    "cell magics": same(
        "%%time\na = 1\na + 1", "%%time\n1/0", "%%time\n", "%%time pass", "%%timeit -n1 -r1\npass", "%%prun -q\na = 1",
        "%%capture got\nprint('x')\n5", "got.stdout, [o.data for o in got.outputs]", "%%capture\n1/0", "got.show()",
        "%%writefile written.py\nprint('run')\ny = 7\ny", "%run written.py", "y", "%run -i written.py", "%run missing",
        "%%bash\necho from bash\necho err >&2", "%%bash\nexit 3", "%%script cat\nfed", "%%html\n<b>bold</b>",
        "%%nothing_like_it\nx", "%%sx\necho a", "%%writefile written.py\n1/0", "%run written.py",
    ),
    "shell commands": same(
        "!echo hello", "x = !echo a; echo b\nx", "!exit 3", "_exit_code", "name = 'v'\n!echo $name {1+1}",
    ),
    "help": same("def helped(a):\n    '''Helps.'''\n", "helped?", "helped??", "len?", "nothing_there?", "%time?"),
    "display": same(
        "from IPython.display import display, HTML, Markdown, clear_output\ndisplay('shown', 5)",
        "HTML('<b>b</b>')",
        "h = display('first', display_id='slot')\nh.update('second')",
        "h2 = display('anonymous', display_id=True)\nh2.update('later')",
        "print('a')\nclear_output(wait=True)\nprint('b')",
        "class Rich:\n    def _repr_html_(self):\n        return '<i>r</i>'\n"
        "    def __repr__(self):\n        return 'r'\nRich()",
        "class Broken:\n    def __repr__(self):\n        raise ValueError('no repr')\nBroken()",
        "class Half:\n    def _repr_html_(self):\n        raise ValueError('no html')\nHalf()",
        "class Own:\n    def _ipython_display_(self):\n        print('own')\nOwn()",
        "print(1)\ndisplay(2)\nprint(3)\n4",
    ),
    "comms": same(
        "from comm import create_comm\nc = create_comm(target_name='nobody', data={'a': 1})\nc.send({'b': [2]})",
        "c.close()",
    ),
    "interactivity all": same(
        "get_ipython().ast_node_interactivity = 'all'", "1\n2\nx = 3\nx", "1\n2;", "for i in range(2):\n    i\n5",
        "get_ipython().ast_node_interactivity = 'last_expr'", "1\n2",
    ),
    "interactivity last": same(
        "%config InteractiveShell.ast_node_interactivity = 'last'", "1\n2", "1\nfor i in range(2):\n    i", "1\nx = 2",
        "if True:\n    5", "%config InteractiveShell.ast_node_interactivity = 'last_expr'",
    ),
    "interactivity none": same(
        "get_ipython().ast_node_interactivity = 'none'", "1\n2", "print('p')\n3", "1/0",
        "get_ipython().ast_node_interactivity = 'last_expr'",
    ),
    "interactivity last_expr_or_assign": same(
        "get_ipython().ast_node_interactivity = 'last_expr_or_assign'", "x = 5", "1\nx = y = 6", "x += 1", "z: int = 4",
        "5", "x = 7;", "a, b = 1, 2", "def f():\n    return 1", "RATE = 2", "for i in range(2):\n    x = i",
        "import math", "x.real = 1", "get_ipython().ast_node_interactivity = 'last_expr'",
    ),
    "transformers of the user": same(
        "import ast\nclass Doubler(ast.NodeTransformer):\n    def visit_Constant(self, node):\n"
        "        new = ast.Constant(node.value * 2) if isinstance(node.value, int) else node\n"
        "        return ast.copy_location(new, node)\n"
        "doubler = Doubler()\nget_ipython().ast_transformers.append(doubler)",
        "3\n4",
        "def doubled():\n    return 5\ndoubled()",
        "get_ipython().ast_transformers.remove(doubler)",
        "class Raiser(ast.NodeTransformer):\n"
        "    def visit_Constant(self, node):\n        raise ValueError('unregistered')\n"
        "get_ipython().ast_transformers.append(Raiser())",
        "6",
        "7",
    ),
    "input transformers of the user": same(
        "def shout(lines):\n    return [line.replace('plus', '+') for line in lines]\n"
        "get_ipython().input_transformers_post.append(shout)",
        "1 plus 2",
        "def plused():\n    return 1 plus 1\nplused()",
        "get_ipython().input_transformers_post.remove(shout)",
        "def refuse(lines):\n    if 'bad word' in lines[0]:\n        raise SyntaxError('refused')\n    return lines\n"
        "get_ipython().input_transformers_cleanup.append(refuse)",
        "1 + 1  # bad word",
        "1 + 1",
        "get_ipython().input_transformers_cleanup.remove(refuse)",
    ),
    "events": same(
        "def before(info):\n    print('before', info.raw_cell, info.store_history, info.silent)\n"
        "def after(result):\n    print('after', result.success, result.result, result.execution_count,\n"
        "          type(result.error_in_exec).__name__, type(result.error_before_exec).__name__)\n"
        "get_ipython().events.register('pre_run_cell', before)\nget_ipython().events.register('post_run_cell', after)\n"
        "pre = lambda: print('pre_execute')\nget_ipython().events.register('pre_execute', pre)",
        "1\n2", "x = 1", "1\n1/0\n2", "1 +", "await asyncio.sleep(0, 3)", "return",
        "get_ipython().events.unregister('pre_run_cell', before)\n"
        "get_ipython().events.unregister('post_run_cell', after)\n"
        "get_ipython().events.unregister('pre_execute', pre)",
    ),
    "handlers of the user": same(
        "def handle(shell, kind, value, tb, tb_offset=None):\n    print('handled', kind.__name__, tb_offset)\n"
        "get_ipython().set_custom_exc((ValueError,), handle)",
        "raise ValueError('mine')",
        "1/0",
        "get_ipython().set_custom_exc((), None)",
        "raise ValueError('stock')",
    ),
    "odd newlines": same(
        "a = 1\r\nb = 2\r\na + b", "def tabbed():\n\treturn 'tab'\ntabbed()", "x = 1\n\x0c\ny = 2\nx + y",
        "'''a\r\nb'''", "x = '\\\n'\nx", "5\n\n\n", "\n\n\n6", "def f():\r\n    return 1\r\nf()",
        "# é ü 漢\n'π'", "\ufeff7",
    ),
    "cells in cells": same(
        "r = get_ipython().run_cell('inner = 5\\ninner + 1')\nr.result, r.success, r.execution_count",
        "r = get_ipython().run_cell('1/0')\ntype(r.error_in_exec).__name__",
        "get_ipython().run_cell('inner_kept = 1', store_history=True).execution_count - 0 > 0",
        "get_ipython().run_line_magic('time', '1')",
        "get_ipython().run_cell_magic('capture', 'c', '8')",
        "exec('executed = 1')\nexecuted",
        "eval('executed + 1')",
    ),
    "threads": same(
        "import threading\nt = threading.Thread(target=print, args=('from a thread',))\nt.start()\nt.join()",
        "results = []\ndef work():\n    results.append(get_ipython().run_cell('in_thread = 5\\nin_thread').result)\n"
        "t = threading.Thread(target=work)\nt.start()\nt.join()\nresults, in_thread",
    ),
    "main": same("__name__", "import __main__\n__main__.__dict__ is globals()", "import sys\nsys.argv[1:2] == ['-f']"),
    "pickles": same(
        "import pickle\nclass Pickled:\n    pass\n",
        "type(pickle.loads(pickle.dumps(Pickled()))) is Pickled, Pickled.__module__",
    ),
    "interpreter's state": same(
        "import sys\nsys.getrecursionlimit()", "import signal\nsignal.getsignal(signal.SIGINT)", "sys.flags.optimize",
        "type(sys.stdout).__module__, type(sys.displayhook).__name__",
        "import threading\nthreading.current_thread().name",
    ),
    "payloads": same("%load written.py", "get_ipython().set_next_input('next', replace=False)"),
    "reset": same("kept_x = 5", "%reset -f", "'kept_x' in globals()", "def again():\n    return 1\nagain()", "_"),
    "future features": same(
        "from __future__ import annotations", "def noted(x: Nowhere):\n    return 1\nnoted.__annotations__",
        "class Noted:\n    y: Also\nNoted.__annotations__",
    ),
}  # fmt: skip


@pytest.mark.parametrize("cells", CELLS.values(), ids=CELLS.keys())
def test_cells_say_what_they_say_in_stock(pair: Pair, cells: tuple[str, ...]) -> None:
    told = [(cell, *pair.run(cell)) for cell in cells]  # all of them first, so that both stay in step
    for cell, ours, stock in told:
        assert ours == stock, cell


def test_an_endless_recursion_is_the_cells_own_error(pair: Pair) -> None:
    # How deep it got differs: the frames below a cell are perdure's as well as stock's.
    def deep(kernel: Kernel) -> str | None:
        return kernel.run("def deep():\n    return deep()\ndeep()", notices="none").error

    assert deep(pair.ours) == deep(pair.stock) == "RecursionError: maximum recursion depth exceeded"


def test_silent_requests(pair: Pair) -> None:
    for code in ("silent_x = 5\nprint(silent_x)\nsilent_x", "1/0", "silent_x + 1"):
        ours, stock = pair.run(code, silent=True)
        assert ours == stock
    ours, stock = pair.run("silent_x, _")
    assert ours == stock


def test_requests_that_stay_out_of_the_history(pair: Pair) -> None:
    for code in ("aside_x = 5\naside_x", "1/0", "aside_x; aside_x"):
        ours, stock = pair.run(code, store_history=False)
        assert ours == stock
    ours, stock = pair.run("aside_x, In[-2:], _")
    assert ours == stock


def test_user_expressions(pair: Pair) -> None:
    expressions = {"sum": "expressed + 1", "bad": "1/0", "text": "'é'", "syntax": "1 +"}
    ours, stock = pair.run("expressed = 1\nexpressed", user_expressions=expressions)
    assert ours == stock
    ours, stock = pair.run("1/0", user_expressions=expressions)
    assert ours == stock


def test_an_error_aborts_the_cells_that_wait(pair: Pair) -> None:
    def queued(kernel: Kernel, stop: bool) -> list[str]:
        first = kernel.send("import time\nprint('first')\ntime.sleep(0.3)\n1/0", notices="none", stop_on_error=stop)
        kernel.wait_for_output(first, "first")
        rest = [kernel.send(f"'queued {n}'", notices="none") for n in range(3)]
        return [kernel.finish(one).status for one in (first, *rest)]

    assert queued(pair.ours, True) == queued(pair.stock, True) == ["error", "aborted", "aborted", "aborted"]
    assert queued(pair.ours, False) == queued(pair.stock, False) == ["error", "ok", "ok", "ok"]
    ours, stock = pair.run("'after'")
    assert ours == stock


@pytest.mark.parametrize(
    "code",
    [
        "import time\nprint('on', flush=True)\ntime.sleep(600)\nprint('never')",
        "print('on', flush=True)\nwhile True:\n    pass",
        "%%time\nprint('on', flush=True)\ntime.sleep(600)",
        "import subprocess\nprint('on', flush=True)\nsubprocess.run(['sleep', '600'])",
    ],
    ids=["sleeping", "busy", "timed", "waiting for a process"],
)
def test_interrupts(pair: Pair, code: str) -> None:
    def interrupted(kernel: Kernel) -> tuple[str | None, list[str]]:
        running = kernel.send(code, notices="none")
        kernel.wait_for_output(running, "on")
        kernel.interrupt()
        answer = kernel.finish(running)
        # Which line it hit is a matter of time; that there is one traceback, and nothing else, is not.
        return answer.error, [m["msg_type"] for m in answer.iopub if m["msg_type"] != "stream"]

    told = interrupted(pair.ours)
    assert told == interrupted(pair.stock)
    assert told[0] == "KeyboardInterrupt: "
    ours, stock = pair.run("'alive'")
    assert ours == stock


def test_input(pair: Pair) -> None:
    for code, inputs in (
        ("name = input('who? ')\nname", ["Ada"]),
        ("import getpass\ngetpass.getpass('word: ')", ["hidden"]),
        ("input(), input('second ')", ["1", "2"]),
        ("%%time\ninput('timed ')", ["3"]),
    ):
        ours, stock = pair.run(code, inputs=inputs)
        assert ours == stock
    ours, stock = pair.run("input('nobody is there')", allow_stdin=False)
    assert ours == stock


def test_a_comm_that_the_front_end_opens(pair: Pair) -> None:
    cell = (
        "def opened(comm, message):\n"
        "    def heard(message):\n        print('heard', message['content']['data'])\n"
        "        comm.send({'back': message['content']['data']})\n"
        "    comm.on_msg(heard)\n    comm.send({'hello': 1})\n"
        "get_ipython().kernel.comm_manager.register_target('greeter', opened)"
    )
    ours, stock = pair.run(cell)
    assert ours == stock

    def talk(kernel: Kernel) -> list[str]:
        kernel.ask("comm_open", {"comm_id": "c1", "target_name": "greeter", "data": {}})
        said = kernel.ask("comm_msg", {"comm_id": "c1", "data": {"n": 5}})
        kernel.wait_for_output(said, "heard {'n': 5}")
        kernel.ask("comm_close", {"comm_id": "c1", "data": {}})
        return list(kernel.request("comm_info_request", {"target_name": "greeter"}).content["comms"])

    assert talk(pair.ours) == talk(pair.stock) == []


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("complete_request", {"code": "str.isal", "cursor_pos": 8}),
        ("complete_request", {"code": "import o", "cursor_pos": 8}),
        ("complete_request", {"code": "asked_na", "cursor_pos": 8}),
        ("inspect_request", {"code": "asked_name", "cursor_pos": 5, "detail_level": 0}),
        ("inspect_request", {"code": "asked_name", "cursor_pos": 5, "detail_level": 1}),
        ("inspect_request", {"code": "nothing_there", "cursor_pos": 5, "detail_level": 0}),
        ("is_complete_request", {"code": "for x in y:"}),
        ("is_complete_request", {"code": "1 + 1"}),
        ("is_complete_request", {"code": "%%scratch"}),
        ("is_complete_request", {"code": "%%scratch\ndef f():"}),
        ("is_complete_request", {"code": "%%scratch\ndef f():\n    pass\n\n"}),
        ("is_complete_request", {"code": "x = = 1"}),
        ("comm_info_request", {}),
        ("history_request", {"hist_access_type": "tail", "n": 4, "raw": True, "output": False}),
        ("history_request", {"hist_access_type": "tail", "n": 4, "raw": False, "output": True}),
        ("history_request", {"hist_access_type": "search", "pattern": "def asked*", "raw": True, "output": False}),
        ("connect_request", {}),
    ],
)
def test_other_requests(pair: Pair, kind: str, content: dict[str, object]) -> None:
    pair.run('def asked_name(a, b=2):\n    """Asked for."""\n')
    ours, stock = pair.both(lambda kernel: kernel.request(kind, content))
    if kind == "connect_request":  # ports of its own
        assert ours[-1]["content"].keys() == stock[-1]["content"].keys()
    else:
        assert ours == stock


def test_history_of_this_session_has_its_number(pair: Pair) -> None:
    """Where perdure is right and stock is not: stock answers 0 for the session's number."""
    asked = {"hist_access_type": "range", "session": 0, "start": 1, "stop": 3, "raw": True, "output": False}
    ours, stock = (kernel.request("history_request", asked).content["history"] for kernel in (pair.ours, pair.stock))
    assert [entry[1:] for entry in ours] == [entry[1:] for entry in stock]
    assert {entry[0] for entry in stock} == {0}
    assert {entry[0] for entry in ours} == {1}


def test_subshells(pair: Pair) -> None:
    """JEP 91: a subshell answers while the main shell is busy."""

    def through_subshell(kernel: Kernel) -> tuple[str | None, str | None, str, list[str]]:
        created = kernel.request("create_subshell_request", {}, channel="control").content["subshell_id"]
        running = kernel.send(
            "import time\nprint('on')\nwhile 'sub_done' not in globals():\n    time.sleep(0.01)\n'main'"
        )
        kernel.wait_for_output(running, "on")
        value = kernel.run("sub_value = 6\nsub_value * 7", subshell=created, notices="none").value
        error = kernel.run("1/0", subshell=created, notices="none").error
        kernel.run("sub_done = True", subshell=created, notices="none")
        main = str(kernel.finish(running).value)
        kernel.request("delete_subshell_request", {"subshell_id": created}, channel="control")
        left = kernel.request("list_subshell_request", {}, channel="control").content["subshell_id"]
        return value, error, main, left

    expected: tuple[str, str, str, list[str]] = ("42", "ZeroDivisionError: division by zero", "'main'", [])
    assert through_subshell(pair.ours) == through_subshell(pair.stock) == expected


def test_what_a_subshell_defines_is_kept(pair: Pair) -> None:
    kernel = pair.ours
    created = kernel.request("create_subshell_request", {}, channel="control").content["subshell_id"]
    answer = kernel.run("def from_subshell():\n    return 1", subshell=created)
    assert answer.notices == ["[layer: kept from_subshell]"]
    kernel.request("delete_subshell_request", {"subshell_id": created}, channel="control")


def test_what_was_kept_meanwhile_is_whole(pair: Pair) -> None:
    """The cells above defined, redefined, broke and removed: the layer took it all."""
    assert pair.ours.home.status() == ""
    assert pair.ours.home.fsck() == ""
    assert "functions/a/area.py" in pair.ours.home.files()
