"""The two secret rules: what is refused before it reaches any file, and what is left alone."""

from __future__ import annotations

import ast

import pytest

from perdure.layer.secret import has_token, is_telling, suspect

TOKENS = [
    "sk-proj-abcdefghij0123456789",
    "sk-ant-api03-AbCdEfGhIjKlMnOp",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijklmnop",
    "glpat-abcdefghijklmnopqrst",
    "xoxb-1234567890-abcdefghijk",
    "AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    "pypi-AgEIcHlwaS5vcmcCJGFiY2RlZmdoaWprbG1ub3A",
    "sk_live_abcdefghijklmnop1234",
    "SG.abcdefghijklmnopqrst.abcdefghijklmnopqrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc",
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----",
    "postgres://bob:hunter22@db.example.com/x",
]
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
]


@pytest.mark.parametrize("token", TOKENS)
def test_known_forms_of_tokens(token: str) -> None:
    assert has_token(f"x = f({token!r})")
    assert suspect(f"def f():\n    # {token}\n    pass", ast.parse("def f(): pass")) == "a token"


@pytest.mark.parametrize("text", NO_TOKENS)
def test_what_only_looks_like_a_token(text: str) -> None:
    assert not has_token(f"x = f({text!r})")


@pytest.mark.parametrize(
    "name",
    "password PASSWORD db_password dbPassword token authToken X-Auth-Token api_key apikey apiKey APIKey API_KEY APIKEY "
    "secret client_secret clientSecret SECRET_KEY aws_secret_access_key privateKey credentials accessKey password2 "
    "token_str passphrase Authorization pwd passwords".split(),
)
def test_telling_names(name: str) -> None:
    assert is_telling(name)


@pytest.mark.parametrize(
    "name",
    "tokens token_type tokenizer max_tokens secretary key keyboard api author passwordless hotkey api_key_name "
    "TOKEN_URL compass monkey_patch".split(),
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
}

PLAIN = """
PASSWORD = ''; PASSWORD = 'abc'; PASSWORD = None; PASSWORD = 12345678; PASSWORD = '****'; PASSWORD = '<password>'
PASSWORD = '${PASSWORD}'; PASSWORD = '{password}'; PASSWORD = '$PASSWORD'; API_KEY = 'YOUR_API_KEY'; TOKEN = 'xxxxxxxx'
API_KEY = 'your-api-key-here'; PASSWORD = 'password'; API_KEY = 'api-key'; eos_token = '</s>'; sep_token = '[SEP]'
PASSWORD = getpass('Password: '); API_KEY = os.environ['API_KEY']; API_KEY = os.getenv('API_KEY', 'nothing')
HEADERS = {'Authorization': f'Bearer {token}'}; HEADERS = {'Authorization': 'Bearer ' + token}; MAX_TOKENS = 'many'
if token == 'else': pass; if self.token == 'while': pass; KEY = 'hunter22'; NAME = 'secretary'; f(tokens='a b c')
def f(password, user='bobby'): pass; def f(token=None): pass; TOKENS = ['the', 'words']; def secret(): return 'nothing'
"""


@pytest.mark.parametrize(("source", "name"), SECRET.items())
def test_literals_under_telling_names(source: str, name: str) -> None:
    assert suspect(source, ast.parse(source)) == name


@pytest.mark.parametrize("source", [part.strip() for line in PLAIN.strip().split("\n") for part in line.split("; ")])
def test_what_is_no_secret(source: str) -> None:
    assert suspect(source, ast.parse(source)) is None
