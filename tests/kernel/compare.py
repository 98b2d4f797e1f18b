"""Two kernels side by side, given the same cells: what a front end gets from both, made comparable."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .answer import Answer, Message
from .driver import STOCK, Kernel
from .home import Home

# What differs between two runs of one kernel, too.
_VOLATILE = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"ipykernel_\d+/\d+"), "ipykernel_PID/HASH"),
    (re.compile(r"(CPU times: )[^\n]*|(Wall time: )[^\n]*"), "TIMES"),
    (re.compile(r"[\d.]+ (?:ns|µs|μs|us|ms|s) ± [^\n]*"), "LOOPS"),
    (re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"), "UUID"),
    (re.compile(r"Thread-\d+"), "Thread-N"),
    # How deep a recursion gets: the frames below a cell are perdure's as well as stock's.
    (re.compile(r"\(\d{4} times\)"), "(MANY times)"),
)
_REPLY_METADATA = ("started", "engine", "perdure")


class Pair:
    """A stock kernel and perdure's, each in a home of its own, in lockstep."""

    def __init__(self, root: Path) -> None:
        self.stock = Kernel(Home(root / "stock"), STOCK)
        self.ours = Kernel(Home(root / "ours"))

    def start(self) -> None:
        self.stock.start()
        self.ours.start()

    def kill(self) -> None:
        self.stock.kill()
        self.ours.kill()

    def both(self, ask: Callable[[Kernel], Answer]) -> tuple[list[Any], list[Any]]:
        """What `ask` gets from both, first ours and then stock's: equal if nothing is changed."""
        return plain(ask(self.ours), self.ours.home), plain(ask(self.stock), self.stock.home)

    def run(self, code: str, **options: Any) -> tuple[list[Any], list[Any]]:
        """What both say to a cell, without perdure's notices."""
        return self.both(lambda kernel: kernel.run(code, kind="console", notices="none", **options))


def plain(answer: Answer, home: Home) -> list[Any]:
    """Every message of an answer, the reply last, without what differs between any two runs."""
    messages = [_plain(message) for message in _joined(answer.iopub)]
    reply = _plain(answer.reply)
    reply["metadata"] = {name: value for name, value in reply["metadata"].items() if name not in _REPLY_METADATA}
    reply["content"].pop("engine_info", None)
    root = str(home.root)
    return [_settled(part, root) for part in (*messages, {"prompts": list(answer.prompts)}, reply)]


def _settled(value: Any, root: str) -> Any:
    if isinstance(value, dict):
        return {name: _settled(part, root) for name, part in value.items()}
    if isinstance(value, list):
        return [_settled(part, root) for part in value]
    if isinstance(value, str):
        value = value.replace(root, "HOME")
        for pattern, name in _VOLATILE:
            value = pattern.sub(name, value)
    return value


def _plain(message: Message) -> dict[str, Any]:
    return {name: message[name] for name in ("msg_type", "content", "metadata", "buffers")}


def _joined(messages: tuple[Message, ...]) -> list[Message]:
    """The messages with the pieces of each stream joined that lie between two others.

    Where a stream is cut, and which of two comes first, is a matter of time. Everything else flushes both before it.
    """
    joined: list[Message] = []
    for is_stream, group in itertools.groupby(messages, lambda message: message["msg_type"] == "stream"):
        pieces = list(group)
        if not is_stream:
            joined += pieces
            continue
        for name in sorted({piece["content"]["name"] for piece in pieces}):
            said = [piece for piece in pieces if piece["content"]["name"] == name]
            text = "".join(piece["content"]["text"] for piece in said)
            joined.append({**said[0], "content": {"name": name, "text": text}})
    return joined
