"""Case K24 in all its forms: nothing of what is refused for looking like a secret is anywhere on disk.

One kernel runs what people put secrets into, another one starts on what it left. Then every file below the home is
searched, and every object of git, packed or not. IPython's own history, which stock IPython writes too, is left out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest

from tests.layer.made_up import MADE_UP

from .driver import Kernel
from .home import Home
from .starts import Starts

# Each word is in one place only, so that a leak names its cell.
_numbers = iter(range(100, 200))


def word() -> str:
    """A password that stands nowhere else."""
    return f"hunter{next(_numbers)}x"


def found(home: Home, secrets: dict[str, str]) -> dict[str, list[str]]:
    """Where each of `secrets` is, by what it was put into: files below the home, and git's objects."""
    places = {"git's objects": home.objects()}
    for path in home.root.rglob("*"):
        if path.is_file() and home.ipython not in path.parents:
            data = path.read_bytes()
            places[str(path.relative_to(home.root))] = data
            if len(path.name) == 38:  # a loose object, which git lists only while the repository is whole
                places[f"{path.name} inflated"] = zlib.decompress(data)
    told = {what: [place for place, data in places.items() if _forms(secret, data)] for what, secret in secrets.items()}
    return {what: where for what, where in told.items() if where}


def _forms(secret: str, data: bytes) -> bool:
    return secret.encode() in data or secret.encode("unicode_escape") in data


CELLS = {
    "a constant": "API_KEY = {0!r}",
    "a constant with an annotation": "API_KEY_2: str = {0!r}",
    "bytes": "SECRET_KEY = b'{0}'",
    "a dict": "CONFIG = {{'db': {{'password': {0!r}}}}}",
    "a body": "def in_body():\n    password = {0!r}\n    return password",
    "a call": "def in_call():\n    return connect(password={0!r})",
    "a default": "def in_default(user, password={0!r}):\n    return user",
    "a class": "class InClass:\n    api_key = {0!r}",
    "an f-string": "def in_f_string(host):\n    return f'https://bob:{0}@{{host}}/x'",
    "an f-string under a name": "AUTH_TOKEN = f'{{1}}{0}'",
    "a decorator": "def auth(token):\n    return lambda f: f\n@auth(token={0!r})\ndef decorated():\n    return 1",
    "a comment above": "# password = {0!r}\ndef below_comment():\n    return 1",
    "a comment inside": "def above_comment():\n    # the password is {0}\n    return 1",
    "a comment behind": "PORT = 8080  # password: {0}",
    "a docstring": 'def documented():\n    """Call it with api_key={0!r}."""\n    return 1',
    "a note that says it": "# The password is {0}\nimport os\ndef noted():\n    return 1",
    "a note of what the cell has": "# {0} is what Bob sent\nPASSWORD = {0!r}\ndef noted_too():\n    return 1",
    "a note before it is known": "# {0}, he says\ndef early():\n    return 1\nprint()\nPASSWORD = {0!r}",
    "beside what is good": "def good_beside():\n    return 1\nDB_PASSWORD = {0!r}\nGOOD = 3",
    "a variable pulled in": "p = {0!r}\nPASSWORD = p\ndef pulled(x=p):\n    return x",
    "a variable needed to load": "password = {0!r}\ndef loads(x=password):\n    return x",
    "what was refused, under no name": "TOKEN = {0!r}\ndef under_no_name():\n    return send({0!r})",
    "a lambda": "connect_with = lambda password={0!r}: password",
    "a method put on a class": "class Plain:\n    pass\ndef m(self, token={0!r}):\n    return token\nPlain.m = m",
    "a block": "if True:\n    def in_block(password={0!r}):\n        return password",
    "a timed cell": "%%time\nTIMED_TOKEN = {0!r}",
    "a shell command": "def in_shell():\n    !curl -u bob:{0} https://example.com\n    return 1",
    "an environment": "def in_environment():\n    import os\n    os.environ['API_KEY'] = {0!r}",
    "a cell that fails": "def before_error():\n    return 1\nFAILING_PASSWORD = {0!r}\n1 / 0",
    "%keep of another": "NEAR = {{'password': {0!r}}}\nRATE_NEAR = len(str(NEAR))\n%keep RATE_NEAR",
    "%keep that was not told of it": (
        "def conn(password):\n    return password\nq = {0!r}\nCONN = conn(password=q)\n%keep CONN"
    ),
    "%keep of a pair": "ONE_TOKEN, TWO = {0!r}, 2\n%keep TWO",
}


@pytest.fixture(scope="module")
def leaks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, list[str]]]:
    """What is found of the secrets in `CELLS` after two kernels."""
    home = Home(tmp_path_factory.mktemp("secrets"))
    kernel = Kernel(home).start()
    secrets = {what: word() for what in CELLS}
    try:
        for what, cell in CELLS.items():
            answer = kernel.run(cell.format(secrets[what]))
            said = [*answer.notices, str(answer.perdure)]
            assert secrets[what] not in "\n".join(said), what
        secrets |= {kind: token for kind, token in MADE_UP.items() if "\n" not in token}
        names = {kind: f"made_up_{number}" for number, kind in enumerate(MADE_UP)}
        for kind, name in names.items():
            kernel.run(
                f"# of {kind}\ndef {name}():\n    return {MADE_UP[kind]!r}\ndef {name}_user():\n    return {name}()"
            )
        kernel.restart()
        there = "[n for n in globals() if n.startswith('made_up') and not n.endswith('_user')]"
        assert kernel.run(there).value == "[]"
        assert kernel.run("sum(n.startswith('made_up') for n in globals())").value == str(len(names))
        assert kernel.run("noted(), good_beside(), GOOD, early(), before_error(), in_default").error is not None
        kernel.run("def another():\n    return 1")
        kernel.shutdown()
        assert home.status() == ""
        # Packed, all is searched once more.
        before = found(home, secrets)
        home.git("gc", "-q")
        yield before | found(home, secrets)
    finally:
        kernel.kill()


@pytest.mark.parametrize("what", CELLS)
def test_k24_nothing_of_it_is_written(leaks: dict[str, list[str]], what: str) -> None:
    assert leaks.get(what, []) == []


def test_k24_no_token_of_a_known_form_is_written(leaks: dict[str, list[str]]) -> None:
    assert {kind: where for kind, where in leaks.items() if kind in MADE_UP} == {}


def test_what_stands_beside_a_secret_is_kept(kernel: Kernel) -> None:
    answer = kernel.run(f"# On the way to the sea\ndef sea():\n    return 1\nSEA_TOKEN = {word()!r}\nSEAS = 3")
    assert answer.perdure["kept"] == ["sea", "SEAS"]
    assert [each["name"] for each in answer.perdure["not_kept"]] == ["SEA_TOKEN"]
    assert kernel.home.log()[0].body == "On the way to the sea"


def test_a_definition_that_got_a_secret_stays_as_it_was(kernel: Kernel) -> None:
    secret = word()
    kernel.run("def area(r):\n    return r")
    answer = kernel.run(f"def area(r, password={secret!r}):\n    return password")
    (notice,) = answer.notices
    assert notice == (
        "[layer: area holds what looks like a secret (password); not kept; the layer still has the earlier one; "
        "%keep area commits it to git all the same]"
    )
    assert kernel.run("area(1)").value == repr(secret)
    kernel.restart()
    assert kernel.run("area(1)").value == "1"
    assert found(kernel.home, {"": secret}) == {}


def test_what_was_asked_for_is_kept_and_no_event_has_its_text(kernel: Kernel) -> None:
    secret, home = word(), kernel.home
    cell = f"FORCED_TOKEN = {secret!r}"
    kernel.run(cell)
    assert kernel.run("%keep FORCED_TOKEN").notices == ["[layer: kept FORCED_TOKEN]"]
    # Who asked for it is not told again.
    assert kernel.run(cell).notices == []
    assert kernel.run("%keep FORCED_TOKEN").notices == ["[layer: FORCED_TOKEN is kept already]"]
    kernel.run("del FORCED_TOKEN")
    kernel.run("%layer undo")
    kernel.restart()
    assert kernel.run("FORCED_TOKEN").value == repr(secret)
    recorded = [(e["event"], e.get("forced")) for e in home.events() if e.get("key") == "FORCED_TOKEN"]
    assert recorded == [("definition_recorded", True), ("definition_forgotten", None), ("definition_recorded", True)]
    (events,) = home.root.rglob("events.jsonl")
    assert secret.encode() not in events.read_bytes()


def test_what_only_looks_random_is_kept_with_a_warning(kernel: Kernel) -> None:
    odd = MADE_UP["Perplexity"].partition("-")[2]
    warning = "salted holds 48 random characters; if they are a secret, revoke it: git's history has it now"
    cell = f"def salted(x):\n    return made(x + {odd!r})"
    answer = kernel.run(cell)
    assert answer.notices == ["[layer: kept salted]", f"[layer: {warning}]"]
    assert answer.perdure["warnings"] == [warning]
    assert kernel.run(cell).notices == []
    answer = kernel.run(cell.replace("salted", "salted_in_notebook"), kind="notebook")
    assert answer.notices == []
    assert answer.perdure["warnings"] == [warning.replace("salted", "salted_in_notebook")]


def test_a_secret_that_a_hand_wrote_is_loaded_and_goes_into_no_commit_and_no_cache(layer: Home) -> None:
    home, secret = layer, word()
    for path, text in {"values/d/DB_TOKEN.py": f"DB_TOKEN = {secret!r}\n", "values/o/OTHER.py": "OTHER = 1\n"}.items():
        (home.layer / path).parent.mkdir(parents=True)
        (home.layer / path).write_text(text, "utf-8")
    starts = Starts(home)
    try:
        starts.write()
        kernel = starts.start()
        assert kernel.run("DB_TOKEN, OTHER").value == f"({secret!r}, 1)"
        (notice,) = [line for line in kernel.run("def more():\n    return 2").notices if "by hand" in line]
        assert notice.startswith(
            "[layer: values/d/DB_TOKEN.py was changed by hand and is not committed: DB_TOKEN looks"
        )
        assert home.status() == "?? values/d/DB_TOKEN.py\n"
        starts.write()
        assert found(home, {"": secret}) == {"": ["layer/values/d/DB_TOKEN.py"]}
        assert starts.start().run("DB_TOKEN, OTHER, more()").value == f"({secret!r}, 1, 2)"
        recorded = [(e["event"], e["key"], e.get("by_hand")) for e in home.events()]
        assert recorded == [("definition_recorded", "OTHER", True), ("definition_recorded", "more", None)]
        # Committed by who wrote it, it is like any other.
        home.git("add", "-A")
        home.git("commit", "-qm", "mine")
        starts.write()
        assert secret.encode() in starts.bundle().read_bytes()
    finally:
        starts.kernel.kill()
