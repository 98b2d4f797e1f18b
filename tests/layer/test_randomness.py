"""Literals that look random: which are told, and what is left alone."""

from __future__ import annotations

import ast
import random
import string

import pytest

from perdure.layer.randomness import is_random, random_words

from .cells import Cells, said
from .made_up import HEX, URL, WORD, made_of

LETTERS = {
    "hex of 32": (HEX, 32, 0.98),
    "hex of 40": (HEX, 40, 0.98),
    "hex of 64": (HEX, 64, 0.98),
    "letters and digits, 24": (WORD, 24, 0.88),
    "letters and digits, 32": (WORD, 32, 0.92),
    "letters and digits, 64": (WORD, 64, 0.95),
    "base64": (WORD + "+/", 44, 0.92),
    "base64 for addresses": (URL, 43, 0.88),
    "small letters and digits": (string.ascii_lowercase + string.digits, 40, 0.7),
}


@pytest.mark.parametrize("kind", LETTERS)
def test_what_is_put_together_by_chance_is_told(kind: str) -> None:
    letters, length, least = LETTERS[kind]
    chance = random.Random(kind)
    found = [is_random(made_of(letters, length, chance=chance)) for _ in range(400)]
    assert sum(found) / len(found) >= least


ODD = made_of(WORD, 40, chance=random.Random(4))
SUM = made_of(HEX, 64, chance=random.Random(5))


@pytest.mark.parametrize(
    "source",
    [
        "X = {!r}",
        "def f():\n    return call({!r})",
        "def f(a, b={!r}): pass",
        "class A:\n    inner = {!r}",
        "CONFIG = {{'service': {!r}}}",
        "def f():\n    call('the one is {0}, and no other')",
    ],
)
@pytest.mark.parametrize("word", [ODD, SUM])
def test_where_it_may_stand(source: str, word: str) -> None:
    text = source.format(word)
    assert random_words(text, ast.parse) == [word]


PLAIN = f"""
SHA256 = {SUM!r}
CHECKSUM = {SUM!r}
DIGEST: str = {SUM!r}
COMMIT = {SUM[:40]!r}
GIT_SHA = {SUM[:40]!r}
FILE_ID = {ODD!r}
REGISTRY = {{'sha256': {SUM!r}}}
def f(): return fetch('a.csv', known_hash={SUM!r})
def f(): assert hashlib.md5(data).hexdigest() == {SUM[:32]!r}
def expected_digest(): return {SUM!r}
def f(): return 'sha256:{SUM}'
NAMESPACE = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'
LETTERS = '{string.ascii_letters}{string.digits}'
HEXES = '0123456789abcdef0123456789abcdef'
BASE = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
MIXED = 'Zkq3mXw8dRvL1tYcH9sJfB7gNpA5uEoI2bVxTnWhKyQ4rGzS6lDjMaP0'
def f(): return 'aVeryLongCamelCaseNameWith2Digits'
def f(): return 'a_very_long_name_of_something_2024_v3'
def f(): return PyUnicode_AsUTF8String + 'PyUnicode_AsLatin1String'
def f(): return 'https://example.com/a/{ODD}'
PIXEL = 'data:image/png;base64,{ODD}'
def f(): return '<img src="data:image/png;base64,{ODD}">'
def f(): return '/usr/lib/python3.11/site-packages/numpy/core/_multiarray_umath.so'
def f(): return '../data/2024-01-31/station_0042/raw/part-00017.parquet'
def f(): return 'iVBORw0KGgo{ODD}'
def f(): return 'dGhlIHNhbXBsZSBub25jZSBvZiB0aGUgdGV4dA=='
def f(): return 'Lorem ipsum dolor sit amet, consectetur adipiscing elit'
def f(): return 'ATGCGTACGTTAGCATCGATCGATCGGCTAAATCG'
def f(): return 'anthropic/claude-3-5-sonnet-20241022-v2'
def f(): return 'bert-base-uncased-finetuned-sst-2-english'
def f(): return datetime.strptime(x, '%Y-%m-%dT%H:%M:%S.%f%z')
def f(): return '2024-01-31T10:20:30.123456+00:00'
def f(): return r'[A-Za-z0-9+/=_~.-]{{20,}}'
def f(): return {[ODD[n:] + ODD[:n] for n in range(6)]!r}
def f(): return '{ODD * 8}'
"""


@pytest.mark.parametrize("source", PLAIN.strip().splitlines())
def test_what_is_left_alone(source: str) -> None:
    assert random_words(source, ast.parse) == []


def test_it_is_kept_with_a_warning_that_does_not_say_it() -> None:
    cells = Cells()
    warning = "f holds 40 random characters; if they are a secret, revoke it: git's history has it now"
    assert said(cells.run(f"def f():\n    return call({ODD!r})")) == [f"keep f; {warning}"]
    # What stays is told once.
    assert said(cells.run(f"def f():\n    return 2, call({ODD!r})")) == ["keep f"]


def test_a_variable_that_is_pulled_in_is_told_too() -> None:
    cells = Cells()
    cells.run(f"p = {ODD!r}")
    (told,) = said(cells.run("def f(x=p):\n    return x"))
    assert told.startswith("keep f with p; p holds 40 random characters; ")
