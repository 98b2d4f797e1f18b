"""The two secret rules: what is refused before it reaches any file, and what is left alone."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

from perdure.layer.secret import is_telling, says_secret, secrets_in, suspect
from perdure.layer.tokens import token_in

from .made_up import MADE_UP

NO_TOKENS = [
    "sk-estimator-doc-link-label",
    "sk-toggleable__control",
    "AKIA",
    "task-0123456789abcdefghij",
    "https://example.com:8080/a@b",
    "https://user:password@example.com",
    "https://{user}:{password}@host",
    "postgres://user:***@host",
    "mailto:bob@example.com",
    "ghp_short",
    "-----BEGIN CERTIFICATE-----",
    # Code that reads keys has the first line alone.
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY-----",
    "pypi-simple-index-of-all-packages-there-are",
    "dop_v1_",
    "global-interpreter-lock-of-python",
    "path-of-the-folder-with-all-of-the-files",
    "get_secret_of_the_given_name_and_version",
    "key-value-store-of-all-configuration",
    "hooks.slack.com",
    "https://discord.com/api/webhooks/{number}/{key}",
    "ghs_installation_token_of_an_app",
    "tvly-search-tool-for-language-models",
]


@pytest.mark.parametrize("kind", MADE_UP)
def test_known_forms_of_tokens(kind: str) -> None:
    token = MADE_UP[kind]
    assert token_in(f"x = f({token!r})") == token_in(token) is not None
    assert suspect(f"def f():\n    # {token!r}\n    pass", ast.parse("def f(): pass")) is not None
    for source in (f"x = f({token!r})", f"x = f({token.encode()!r})", f"x = f'{{a}} {repr(token)[1:-1]}'"):
        assert suspect(source, ast.parse(source)) is not None, source


@pytest.mark.parametrize("text", NO_TOKENS)
def test_what_only_looks_like_a_token(text: str) -> None:
    assert token_in(f"x = f({text!r})") is None


@pytest.mark.parametrize(
    "name",
    "password PASSWORD db_password dbPassword token authToken X-Auth-Token api_key apikey apiKey APIKey API_KEY APIKEY "
    "secret client_secret clientSecret SECRET_KEY aws_secret_access_key privateKey credentials accessKey password2 "
    "token_str passphrase Authorization pwd passwords DB_PASS user_pass OPENAI_KEY BEARER SECRET_TOKEN_KEY "
    "MY_TOKEN".split(),
)
def test_telling_names(name: str) -> None:
    assert is_telling(name)


@pytest.mark.parametrize(
    "name",
    "tokens token_type tokenizer max_tokens secretary key keyboard api author passwordless hotkey api_key_name "
    "TOKEN_URL compass monkey_patch MAX_TOKENS KEY_COLUMN passenger bypass sort_key primary_key pass tokenizer_name "
    "first_pass forbearer keys TOKENS".split(),
)
def test_names_that_tell_nothing(name: str) -> None:
    assert not is_telling(name)


SECRET = {
    "PASSWORD = 'hunter22'": "PASSWORD",
    "PASSWORD: str = 'hunter22'": "PASSWORD",
    "PASSWORD = b'hunter22'": "PASSWORD",
    "PASSWORD = 'hunter22'.encode()": "PASSWORD",
    "PASSWORD = 'hun' + 'ter22'": "PASSWORD",
    "PASSWORD = x or 'hunter22'": "PASSWORD",
    "USER, PASSWORD = 'bob', 'hunter22'": "PASSWORD",
    "[USER, (A, PASSWORD)] = 'bob', (1, 'hunter22')": "PASSWORD",
    "USER, *TOKEN = 'bob', 'x', 'hunter22'": "TOKEN",
    "A = PASSWORD = 'hunter22'": "PASSWORD",
    "CREDENTIALS = ('bob', 'hunter22')": "CREDENTIALS",
    "CREDENTIALS = {'user': 'bobby'}": "CREDENTIALS",
    "CONFIG = {'db': {'password': 'hunter22'}}": "password",
    "HEADERS = {'Authorization': 'Bearer hunter22'}": "Authorization",
    "HEADERS = {'X-Api-Key': 'hunter22'}": "X-Api-Key",
    "os.environ['API_KEY'] = 'hunter22'": "API_KEY",
    "self.password = 'hunter22'": "password",
    "connect(password='hunter22')": "password",
    "def f(user, password='hunter22'): pass": "password",
    "def f(*, password='hunter22'): pass": "password",
    "def f(a, /, b, authToken='hunter22'): pass": "authToken",
    "class A:\n  class B:\n    secret = 'hunter22'": "secret",
    "lambda token='hunter22': 1": "token",
    "if (password := 'hunter22'): pass": "password",
    "def login(p): return password == 'hunter22'": "password",
    "TOKEN = '12345678'": "TOKEN",
    # put together from literals
    "PASSWORD = f'hunter22'": "PASSWORD",
    "PASSWORD = f'hunter{22}'": "PASSWORD",
    "PASSWORD = f'hunter22{x}'": "PASSWORD",
    "PASSWORD = str('hunter-two')": "PASSWORD",
    "PASSWORD = ''.join(['hun', 'ter'])": "PASSWORD",
    "PASSWORD = ''.join(reversed('owt-retnuh'))": "PASSWORD",
    "PASSWORD = ''.join(c for c in 'hunter-two')": "PASSWORD",
    "PASSWORD = 'hunter-two'[::1]": "PASSWORD",
    "PASSWORD = 'hun' + 'ter'": "PASSWORD",
    "PASSWORD = 'hunter%d' % 22": "PASSWORD",
    "PASSWORD = '{}{}'.format('hunter', 22)": "PASSWORD",
    "PASSWORD = 'hunter-two'.replace('-', '').upper()": "PASSWORD",
    "PASSWORD = bytes.fromhex('68756e746572')": "PASSWORD",
    "PASSWORD = bytes.fromhex('aa') + b'hunter'": "PASSWORD",
    "PASSWORD = base64.b64decode('aHVudGVy').decode('ascii')": "PASSWORD",
    "PASSWORD = (x := 'hunter-two')": "PASSWORD",
    "PASSWORD = hashed('hunter22')": "PASSWORD",
    "PASSWORD += 'hunter-two'": "PASSWORD",
    "get_password = lambda: 'hunter-two'": "get_password",
    "PASSWORD = os.environ.get('PASSWORD', 'hunter22')": "PASSWORD",
    "class A:\n  api_key: str = field(default='hunter-two')": "api_key",
    "class A:\n  api_key: str = Field('hunter-two', description='the key')": "api_key",
    "class A:\n  api_key: str = field(default_factory=lambda: 'hunter-two')": "api_key",
    "SECRETS = {'hunter22': 'bob'}": "SECRETS",
    # names
    "TOKENS = ['hunter22']": "TOKENS",
    "DB_PASS = 'hunter-two'": "DB_PASS",
    "DB = {'pass': 'hunter22'}": "pass",
    "OPENAI_KEY = 'hunter-two'": "OPENAI_KEY",
    "MAPS_KEY = 'hunter22'": "MAPS_KEY",
    "BEARER = 'hunter-two'": "BEARER",
    "SECRET_TOKEN_KEY = 'hunter-two'": "SECRET_TOKEN_KEY",
    "connect(auth=('bob', 'hunter22'))": "auth",
    # names as texts
    "os.environ['MY_TOKEN'] = 'hunter-two'": "MY_TOKEN",
    "os.environ.setdefault('MY_TOKEN', 'hunter-two')": "MY_TOKEN",
    "os.putenv('MY_TOKEN', 'hunter-two')": "MY_TOKEN",
    "setattr(x, 'password', 'hunter-two')": "password",
    "parser.add_argument('--password', default='hunter-two')": "password",
    "dict([('password', 'hunter22')])": "password",
    "os.getenv('API_KEY', 'hunter22')": "API_KEY",
    "get_ipython().run_line_magic('env', 'MY_TOKEN=hunter-two')": "MY_TOKEN",
    "get_ipython().run_line_magic('env', 'MY_TOKEN hunter-two')": "MY_TOKEN",
    "get_ipython().system('MY_TOKEN=hunter-two ./run')": "MY_TOKEN",
    "get_ipython().system('curl -H \"Authorization: Bearer hunter-two\" {url}')": "Authorization",
    "get_ipython().system('curl -H \"Authorization: Basic aHVudGVyOjI=\"')": "Authorization",
    "get_ipython().system('curl -u bob:hunter-two https://a.b')": "curl",
    "f'curl -H \"authorization: bearer hunter-two\" {url}'": "Authorization",
    "get('https://a.b/c?api_key=hunter22')": "api_key",
    "run('tool --password=hunter22')": "password",
    "run('tool --password hunter22')": "password",
    # comments
    "# password = 'hunter-two'\ndef f(): pass": "password",
    'def f():\n    # password: str = "hunter-two"\n    pass': "password",
    "def f():  # password = b'hunter-two'\n    pass": "password",
    "# PASSWORD = str('hunter-two')\ndef f(): pass": "PASSWORD",
    "# connect(user='bob1', password='hunter-two')\ndef f(): pass": "password",
    "# 'api_key': 'hunter-two',\ndef f(): pass": "api_key",
    "# os.environ['MY_TOKEN'] = 'hunter-two'\ndef f(): pass": "MY_TOKEN",
    "# password: hunter22\ndef f(): pass": "password",
    "# export MY_TOKEN=hunter-two\ndef f(): pass": "MY_TOKEN",
}

PLAIN = """
PASSWORD = ''; PASSWORD = 'abc'; PASSWORD = None; PASSWORD = 12345678; PASSWORD = '****'; PASSWORD = '<password>'
PASSWORD = '${PASSWORD}'; PASSWORD = '{password}'; PASSWORD = '$PASSWORD'; API_KEY = 'YOUR_API_KEY'; TOKEN = 'xxxxxxxx'
API_KEY = 'your-api-key-here'; PASSWORD = 'password'; API_KEY = 'api-key'; eos_token = '</s>'; sep_token = '[SEP]'
PASSWORD = getpass('Password: '); API_KEY = os.environ['API_KEY']; API_KEY = os.getenv('API_KEY', 'nothing')
HEADERS = {'Authorization': f'Bearer {token}'}; HEADERS = {'Authorization': 'Bearer ' + token}; MAX_TOKENS = 'many'
if token == 'else': pass; if self.token == 'while': pass; KEY = 'hunter22'; NAME = 'secretary'; f(tokens='a b c')
MAX_TOKENS = 'hunters'; KEY_COLUMN = 'hunter22'; token == 'else'; tokenizer = 'bert2345-base'; f(tokenizer_name='gpt2')
f(pad_token='<pad>'); {'token': 'NN'}; passenger = 'hunter22'; compass = 'hunter22'; bypass = 'hunter22'
keyboard = 'hunter22'; sorted(x, sort_key='name'); f(primary_key='id'); f(sort_key='column12')
f(api_key=os.environ['X'])
API_KEY = os.environ.get('MY_API_KEY', ''); API_KEY = config['api']['the_key']; API_KEY = os.getenv('X') or ''
TOKEN = load('secrets/token1234.json'); TOKEN = Path('token1234').read_text(); PASSWORD = input('Your password: ')
PASSWORD = keyring.get_password('system12', 'bobby123'); TOKEN = stream.next('NAME'); password = raw.decode('latin-1')
password = bytes(raw, 'iso-8859-15'); PASSWORD = f'{user}-{number}'
HEADERS = {'Authorization': 'Token {}'.format(token)}
tokens = 'a b c'.split(); {'pass': 'green', 'fail': 'red'}; tokens == ['hunter22']
token = re.search(r'[a-z]+\\d', text)
class A: api_key: str = field(default=''); class A: api_key: str = Field(..., description='The key')
first_pass = 'scan'
parser.add_argument('--token', help='the token to use'); text.replace('token', 'word'); os.getenv('TOKEN', 'nothing')
print('token:', token); print(f'token: {token}'); 'SELECT * FROM a WHERE password=?'; 'user=%s password=%s'
'Authorization: Bearer <token>'; 'Authorization: Bearer YOUR_TOKEN'; f'Authorization: Bearer {token}'
'the bearer of this'
'token: the token to use'; 'password : str, default None'; 'TOKEN=$TOKEN ./run'; 'PASSWORD=password'; 'API_KEY=True'
'--token TOKEN'; 'tool --password {password}'; 'curl -u $USER:$PASSWORD'; lambda token: 'nothing'
'primary_key=column12'; class Lexer: tokens = {'root': [('vec2', 'float32x4', 'words'), 'a', 'b']}
def f(): pass # the token is read here; def f(): pass # token: the next one; def f(): pass # token = stream.next()
def f(): pass # password = os.environ['PASSWORD']; def f(): pass # password = getpass('Password: ')
def f(): pass # api_key=key, name='bobby'; def f(): pass # token == 'else'; def f(): pass # key = 'hunter22'
def f(password, user='bobby'): pass; def f(token=None): pass; TOKENS = ['the', 'words']; def secret(): return 'nothing'
"""


@pytest.mark.parametrize(("source", "name"), SECRET.items())
def test_literals_under_telling_names(source: str, name: str) -> None:
    assert suspect(source, ast.parse(source)) == name


@pytest.mark.parametrize("source", [part.strip() for line in PLAIN.strip().split("\n") for part in line.split("; ")])
def test_what_is_no_secret(source: str) -> None:
    assert suspect(source, ast.parse(source)) is None


@pytest.mark.parametrize(
    "note",
    ["password = 'hunter-two'", "the API_KEY=hunter-two", "Authorization: Bearer hunter-two", MADE_UP["GitHub"]],
)
def test_notes_that_say_a_secret(note: str) -> None:
    assert says_secret(note)


@pytest.mark.parametrize("note", ["", "Count the tokens", "password: as typed", "token = next(tokens)", "The key"])
def test_notes_that_say_none(note: str) -> None:
    assert not says_secret(note)


def test_a_long_text_takes_no_longer_than_its_length() -> None:
    text = "token = [" + "'" + "a" * 300_000 + "', 'password " + "x-" * 100_000 + "']"
    began = time.perf_counter()
    suspect(text, ast.parse(text))
    assert time.perf_counter() - began < 1


HEAD, TAIL = MADE_UP["GitHub"][:14], MADE_UP["GitHub"][14:]


@pytest.mark.parametrize(
    "text",
    [
        f'x = f("{HEAD}" "{TAIL}")',
        f'x = "{HEAD}" + "{TAIL[:9]}" + "{TAIL[9:]}"',
        f'x = b"{HEAD}" + b"{TAIL[:9]}" + b"{TAIL[9:]}"',
        rf'x = "\x67{HEAD[1:]}{TAIL}"',
        rf'x = b"\x67{HEAD[1:]}{TAIL}"',
    ],
)
def test_a_token_written_in_parts_or_with_escapes(text: str) -> None:
    assert suspect(text, ast.parse(text)) == "a token"


def test_all_of_them_are_found_and_what_they_say() -> None:
    source = f"def f(password='hunter22'):\n    # token = 'hunter-two'\n    return {MADE_UP['GitHub']!r}"
    assert {found.what: found.said for found in secrets_in(source, ast.parse(source))} == {
        "password": "hunter22",
        "token": "hunter-two",
        "a token": MADE_UP["GitHub"],
    }


def test_a_long_sum_of_texts_is_no_token() -> None:
    text = "x = " + " + ".join(f"'sk- {n}'" for n in range(200))
    assert suspect(text, ast.parse(text)) is None


def test_prose_that_says_one() -> None:
    assert says_secret("the password is hunter22")
    assert not says_secret("the password is checked elsewhere")


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("room", ["tests", "docs", "layer", "kernel", "client", "bench"])
def test_this_tree_has_no_token_that_a_scanner_would_take_for_a_leak(room: str) -> None:
    texts = {
        path: path.read_text("utf-8") for kind in ("*.py", "*.md", "*.ipynb") for path in (ROOT / room).rglob(kind)
    }
    assert [path.name for path, text in texts.items() if token_in(text)] == []
