"""What loading prints, caught at the streams and at the descriptors below them, and bounded: head and tail are kept.

The descriptors are where `os.write`, C code and other programs print. A thread reads them, so that a gigabyte takes no
memory; it goes on for a program that outlives the loading, and passes on what that prints then.
"""

from __future__ import annotations

import codecs
import io
import os
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout

_HEAD = 5_000  # characters
_TAIL = 5_000
_CHUNK = 65_536  # bytes
_PATIENCE = 1.0  # seconds


class BoundedText:
    """A text that only grows, of which head and tail are kept. Safe to use from several threads."""

    def __init__(self, head: int = _HEAD, tail: int = _TAIL) -> None:
        self._most = head, tail
        self._head = ""
        self._tail = ""
        self._left_out = 0
        self._lock = threading.Lock()

    def add(self, text: str) -> None:
        """Add `text` at the end."""
        head, tail = self._most
        with self._lock:
            room = head - len(self._head)
            self._head += text[:room] if room else ""
            size = len(self._tail) + max(len(text) - room, 0)
            self._tail = (self._tail + text[max(room, len(text) - tail) :])[-tail:]
            self._left_out += size - len(self._tail)

    def __str__(self) -> str:
        left_out = f"\n[… {self._left_out:,} characters …]\n" if self._left_out else ""
        return f"{self._head}{left_out}{self._tail}"


class _Stream(io.TextIOBase):
    """Stands for `sys.stdout` or `sys.stderr` while loading; whoever kept it prints to what is there later."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, name: str, text: BoundedText, descriptor: int | None) -> None:
        self._name = name
        self._text: BoundedText | None = text
        self._descriptor = descriptor

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._text is not None:
            self._text.add(text)
        elif (stream := getattr(sys, self._name)) is not None and stream is not self:
            stream.write(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        """Not for who was only lent it."""

    def fileno(self) -> int:
        if self._descriptor is None:
            raise io.UnsupportedOperation("fileno")
        return self._descriptor

    def let_go(self) -> None:
        self._text = None


@contextmanager
def printed() -> Iterator[BoundedText]:
    """Catch what the block prints; the text is whole when the block is over."""
    text = BoundedText()
    try:
        descriptors = _Descriptors(text)
    except OSError:  # a process without them, or out of them
        descriptors = None
    out = _Stream("stdout", text, 1 if descriptors else None)
    err = _Stream("stderr", text, 2 if descriptors else None)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield text
    finally:
        out.let_go()
        err.let_go()
        if descriptors is not None:
            descriptors.put_back()


class _Descriptors:
    """Descriptors 1 and 2 lead into a pipe until they are put back."""

    def __init__(self, text: BoundedText) -> None:
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream is not None:
                stream.flush()  # what was printed before belongs to whoever reads it now
        self._text = text
        self._saved = [os.dup(1)]
        try:
            self._saved.append(os.dup(2))
            self._source, write_end = os.pipe()
            self._wake, self._waker = os.pipe()
        except OSError:
            for descriptor in self._saved:
                os.close(descriptor)
            raise
        os.set_blocking(self._source, False)
        os.dup2(write_end, 1)
        os.dup2(write_end, 2)
        os.close(write_end)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, name="perdure-printed", daemon=True)
        self._thread.start()

    def put_back(self) -> None:
        """Lead the descriptors where they led, and wait until all that was printed is read."""
        if "ctypes" in sys.modules:  # then C code may have printed, and the C library holds it back
            ctypes = sys.modules["ctypes"]
            ctypes.CDLL(None).fflush(None)
        for number, saved in zip((1, 2), self._saved, strict=True):
            try:
                os.dup2(saved, number)
                os.close(saved)
            except OSError:  # a definition closed all there were
                pass
        try:
            os.write(self._waker, b"!")  # not closed alone: a process that was forked meanwhile has it open too
            os.close(self._waker)
        except OSError:
            pass
        self._is_over.wait(_PATIENCE)  # at most: a program that never stops printing is never read to its end
        self._is_over.set()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        poller = select.poll()
        for descriptor in (self._source, self._wake):
            poller.register(descriptor, select.POLLIN)
        try:
            while not self._is_over.is_set():
                if self._source in (ready := dict(poller.poll())):
                    if not (data := os.read(self._source, _CHUNK)):
                        break
                    self._text.add(decoder.decode(data))
                elif self._wake in ready:
                    break
            self._text.add(decoder.decode(b"", final=True))
            self._is_over.set()
            os.set_blocking(self._source, True)
            while data := os.read(self._source, _CHUNK):  # of a program that is still there
                os.write(1, data)
        except OSError:  # a definition closed a descriptor that is not its own
            pass
        finally:
            self._is_over.set()
            for descriptor in (self._source, self._wake):
                try:
                    os.close(descriptor)
                except OSError:
                    pass
