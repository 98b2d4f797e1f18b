"""The fenced blocks of a page, as what a reader would do with them.

The conventions: a `python` block is a cell, a `sh` block a piece of a shell session, and a `text` block right after
either of them is all that it shows, `…` standing for anything on its line. A block without a language is a picture: no
command, and nothing that anything would print. Between blocks, marks tell what a reader would know:

    <!-- restart -->              the kernel is killed
    <!-- in ~/peaks -->           from here on the shell is in this folder, and kernels start there
    <!-- notebook peaks.ipynb --> from here on cells are of this notebook, which is saved as soon as they have run
    <!-- console -->              from here on cells are of a console again
    <!-- next cell -->            the next block is what the kernel wrote into the next cell
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$\n?", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- *(.*?) *-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """Something to run; `shows` is what it shows, empty where nothing follows it."""

    language: str
    text: str
    shows: str
    line: int  # of its first line, from 1
    restarted: bool = False  # the kernel is killed before it
    folder: str = ""  # empty: wherever a reader begins
    notebook: str = ""  # empty: a console
    written: bool = False  # the kernel wrote it


class Unclear(ValueError):
    """A block of which the conventions do not say what it is."""


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks to run, in the order of the page.

    Raises:
        Unclear: a language or a mark that the conventions do not know, or a `text` that belongs to nothing.
    """
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    if text.count("```") != 2 * len(found):
        raise Unclear(f"{page.name}: a fence is not closed, or stands in the middle of a line")
    end, folder, notebook = 0, "", ""
    for number, match in enumerate(found):
        language, body = match.groups()
        line = text.count("\n", 0, match.start()) + 1
        before, follower = text[end : match.start()], found[number + 1] if number + 1 < len(found) else None
        restarted = written = False
        for mark in _MARK.findall(before):
            match mark.split():
                case ["restart"]:
                    restarted = True
                case ["in", folder]:
                    pass
                case ["notebook", notebook]:
                    pass
                case ["console"]:
                    notebook = ""
                case ["next", "cell"]:
                    written = True
                case _:
                    raise Unclear(f"{page.name}, line {line}: no rule says what {mark!r} is")
        if language in ("python", "sh"):
            shows = follower[2] if follower and follower[1] == "text" and match.end() == follower.start() else ""
            yield Block(language, body.rstrip("\n"), shows, line, restarted, folder, notebook, written)
        elif language == "text":
            if before or not number or found[number - 1][1] not in ("python", "sh"):
                raise Unclear(f"{page.name}, line {line}: it is the output of nothing")
        elif language:
            raise Unclear(f"{page.name}, line {line}: no rule says what {language!r} is")
        end = match.end()


def agrees(shown: str, told: str) -> bool:
    """Whether what was shown is what the page tells. Spaces at the ends of lines cannot be seen on either."""
    pattern = "\n".join(".*".join(map(re.escape, line.rstrip().split("…"))) for line in told.strip("\n").split("\n"))
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in shown.strip("\n").split("\n"))) is not None
