"""What gives a secret away: telling names, and how text puts values under them. Data."""

from __future__ import annotations

import re

# No name tells and no text says a secret without one of these; most definitions have none, and need no second look.
WORDS = "passw passp pwd pw secret token credential auth bearer curl".split()
PARTS = re.compile(r"[a-z0-9_-]keys?(?![a-z])|[a-z0-9_\"']pass|pass(?!\s*(?:\Z|\n))")  # no keyword, and no statement
END = r"(?:_?(?:value|str|text|\d+))?$"
TELLING = re.compile(
    r"(?:^|_)(?:passwords?|passwd|passphrase|passcode|pwd|pw|secrets?|token|bearer|api_?keys?|access_?key|secret_?key|auth_?key"
    r"|private_?key|client_?secret|credentials?|authorization|secret_[a-z0-9_]*key"
    r"|(?:db|database|sql|mysql|pg|postgres|redis|mongo|user|admin|root|login|smtp|imap|e?mail|ftp|ssh|proxy)_?pass"
    r"|(?:openai|anthropic|aws|azure|google|gcp|gemini|mistral|cohere|groq|stripe|github|sendgrid|twilio)_?key)" + END
)
HINTING = re.compile(r"(?:^|_)(?:tokens|pass|auth|(?<=_)keys?)" + END)
PLAIN_KEY = re.compile(
    r"(?:^|_)(?:sort|primary|foreign|partition|public|unique|dict|json|map|cache|hash|index|group|order|range|lookup"
    r"|join|row|col|column|item|file|object|data|model|layer|metric|feature|label|target|hot|state)_keys?" + END
)
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
PLACEHOLDER = re.compile(
    r"[<{\[].*[>}\]]|\$\w+|your[-_ ].*|x+|change-?me|none|null|todo|true|false", re.IGNORECASE | re.DOTALL
)
MIXED = re.compile(r"(?=[0-9]*[A-Za-z])(?=[A-Za-z]*[0-9])[A-Za-z0-9]{8}")
NO_SECRET = re.compile(r"[\s\\{}<>()\[\]%]|/.*\.|\.\w{1,4}$")  # prose, patterns, paths

# Calls that give back what they are given first, in other clothes or a box.
PASSING = frozenset(
    "str bytes bytearray fromhex unhexlify b64decode urlsafe_b64decode list tuple set frozenset sorted reversed iter "
    "SecretStr SecretBytes Secret field Field".split()
)
# Calls whose text is a name, a question, a path or an encoding.
ASKING = re.compile(r"get|read|load|fetch|find|lookup|open|ask|prompt|input|(?:pop|path|encode|decode)$", re.IGNORECASE)
SETTING = frozenset("setdefault putenv setenv setattr __setitem__ add_argument add_option option".split())

COMMENT = re.compile(r"#[^\n]*")
# `name = value` and `name: value` as prose, commented code, shell and HTTP have them; possessive, to stay linear.
SAID = re.compile(
    r"""
    (?<![\w-])(?P<flag>--?)?(?P<name>[A-Za-z_][\w-]*+)["'\]]*+
    (?P<sign> [ \t]*+ (?: :[ ]*[\w.\[\]|]+[ ]*=(?!=) | =(?!=) | : ) [ \t]*+ | (?(flag)[ ]+|(?!)) )
    (?= (?P<lead>[\w.]{0,60}[(\[]{0,4})["'](?P<quoted>[^"'\n]{1,200}) | (?P<bare>[^\s"'`,;)\]}&|]{1,200}) )
    """,
    re.VERBOSE,
)
PROSE = re.compile(
    r"\b(?P<name>password|passwd|passphrase|passcode|pwd|pw|token|secret|api[ _-]?key)[ ]+is[ ]+"
    r"[\"'`]?(?P<said>[^\s\"'`]{4,})",
    re.IGNORECASE,
)
HEADER = re.compile(
    r"(?P<known>authorization\W{1,6})?\b(?:bearer|basic|token)[ ]+(?P<said>[\w+/=.~-]{4,})", re.IGNORECASE
)
CURL_USER = re.compile(r"\bcurl\b.*?\s(?:-u|--user)[ =]*[\"']?[^\s:\"'$]+:(?P<said>[^\s\"'$]{4,})")
