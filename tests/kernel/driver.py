"""Kernels as a front end has them: real processes, real sockets, and every message of a request collected.

A request is over when its reply and its idle status are both there. Both are matched by parent id, so that what another
request left behind never counts. Nothing sleeps: each wait is for a message or for an exit, and when patience runs out
the failure says what was seen until then.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient

from .answer import Answer, Message
from .home import Home

PERDURE = ("-m", "perdure_launcher")
STOCK = ("-m", "ipykernel_launcher")

PATIENCE = 90.0  # seconds; only a kernel that hangs makes a test wait that long
_LOOK = 0.2  # seconds between looks at whether the kernel still lives


class KernelDied(AssertionError):
    """The kernel's process ended while it was waited for."""


_numbers = itertools.count(1)


class Kernel:
    """One kernel at a time on one home; after `kill`, `start` starts the next."""

    def __init__(self, home: Home, program: Sequence[str] = PERDURE, **environ: str) -> None:
        self.home = home
        self.kind = "agent"
        self.hello: list[str] = []  # the notices of the first cell: what the kernel tells of its start
        self._command = [sys.executable, "-Xfrozen_modules=off", *program]
        self._environ = environ
        self._number = next(_numbers)
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._client: BlockingKernelClient | None = None
        self._iopub: dict[str, list[Message]] = {}
        self._replies: dict[str, Message] = {}
        self._prompts: dict[str, list[str]] = {}
        self._inputs: list[str] = []

    # The process.

    def start(self, *arguments: str) -> Kernel:
        """Start a kernel and wait until both its shell and its iopub are heard."""
        self.launch(*arguments).hear()
        self.hello = self.run("pass").notices
        return self

    def launch(self, *arguments: str) -> Kernel:
        """Start a kernel that has taken its ports, and ask it for nothing."""
        self._starts += 1
        file = self._log_file.with_suffix(".json")
        # JPY_PARENT_PID: the kernel ends by itself when the tests are killed.
        environ = self.home.environ | {"JPY_PARENT_PID": str(os.getpid())} | self._environ
        with self._log_file.open("wb") as log:
            self._process = subprocess.Popen(
                [*self._command, "-f", file, *arguments],
                cwd=self.home.work,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_for_ports(file)
        self._client = BlockingKernelClient(connection_file=str(file))
        self._client.load_connection_file()
        self._client.start_channels(shell=True, iopub=True, stdin=True, hb=False, control=True)
        return self

    def hear(self) -> Kernel:
        """Wait for a reply, and then for a status too: a subscription takes a moment to be in force."""
        patience = PATIENCE
        while True:
            asked = self.ask("kernel_info_request", {})
            self._wait(lambda asked=asked: asked in self._replies, "the kernel's first reply")  # type: ignore[misc]
            if self._wait_quietly(lambda asked=asked: self._is_idle(asked), 1.0):  # type: ignore[misc]
                return self
            patience -= 1.0
            assert patience > 0, f"no status was heard\n{self.log}"

    def kill(self) -> None:
        """SIGKILL, as a power cut would end it."""
        if self._process is not None:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)  # with what it started
            self._process.wait(PATIENCE)
            self._process = None
        if self._client is not None:
            self._client.stop_channels()
            self._client = None

    def restart(self) -> Kernel:
        """Kill this kernel and start another on the same layer."""
        self.kill()
        return self.start()

    def shutdown(self) -> int:
        """Ask the kernel to end, as a front end does; gives its exit status."""
        self.request("shutdown_request", {"restart": False}, channel="control")
        assert self._process is not None
        code = self._process.wait(PATIENCE)
        self.kill()
        return code

    def wait_for_exit(self) -> int:
        """Wait until the kernel has ended by itself; gives its exit status."""
        assert self._process is not None
        return self._process.wait(PATIENCE)

    @property
    def pid(self) -> int:
        """The kernel's process."""
        assert self._process is not None
        return self._process.pid

    @property
    def client(self) -> BlockingKernelClient:
        """The channels, for who measures and must not pay for what is collected here."""
        return self._alive()

    @property
    def log(self) -> str:
        """What the kernel's process wrote past Jupyter."""
        return self._log_file.read_text("utf-8", "replace")

    # Requests.

    def run(
        self,
        code: str,
        *,
        kind: str | None = "",
        notices: str | None = None,
        notebook: str | None = None,
        metadata: Mapping[str, object] | None = None,
        inputs: Sequence[str] = (),
        allow_stdin: bool | None = None,
        subshell: str | None = None,
        **content: object,
    ) -> Answer:
        """Run a cell to its end. `kind` is the kernel's usual one unless given; None leaves it to be guessed."""
        self._inputs = list(inputs)
        return self.finish(
            self.send(
                code,
                kind=self.kind if kind == "" else kind,
                notices=notices,
                notebook=notebook,
                metadata=metadata,
                allow_stdin=bool(inputs) if allow_stdin is None else allow_stdin,
                subshell=subshell,
                **content,
            )
        )

    def send(
        self,
        code: str,
        *,
        kind: str | None = "agent",
        notices: str | None = None,
        notebook: str | None = None,
        metadata: Mapping[str, object] | None = None,
        subshell: str | None = None,
        **content: object,
    ) -> str:
        """Send a cell and do not wait; gives the id to `finish` it by."""
        said = {"kind": kind, "notices": notices, "notebook": notebook}
        ours = {name: value for name, value in said.items() if value is not None}
        request: dict[str, object] = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        return self.ask(
            "execute_request",
            request | content,
            metadata={**({"perdure": ours} if ours else {}), **(metadata or {})},
            header={"subshell_id": subshell} if subshell else {},
        )

    def request(self, kind: str, content: Mapping[str, object], *, channel: str = "shell") -> Answer:
        """Any other request, to its end."""
        return self.finish(self.ask(kind, content, channel=channel))

    def ask(
        self,
        kind: str,
        content: Mapping[str, object],
        *,
        channel: str = "shell",
        metadata: Mapping[str, object] | None = None,
        header: Mapping[str, object] | None = None,
    ) -> str:
        client = self._alive()
        message = client.session.msg(kind, dict(content), metadata=dict(metadata or {}))
        message["header"].update(header or {})
        identity: str = message["header"]["msg_id"]
        self._iopub.setdefault(identity, [])
        getattr(client, f"{channel}_channel").send(message)
        return identity

    def finish(self, identity: str) -> Answer:
        """Wait for the reply and the idle status of a request."""
        self._wait(lambda: identity in self._replies and self._is_idle(identity), f"request {identity}")
        return Answer(
            self._replies.pop(identity), tuple(self._iopub.pop(identity)), tuple(self._prompts.pop(identity, ()))
        )

    def hear_reply(self, identity: str) -> Message:
        """Wait for the reply of a request alone, for who may not hear the kernel's iopub."""
        self._wait(lambda: identity in self._replies, f"the reply to {identity}")
        return self._replies.pop(identity)

    def finish_interrupting(self, identity: str) -> Answer:
        """Interrupt again and again until the request is over."""
        for _ in range(int(PATIENCE / _LOOK)):
            if self._wait_quietly(lambda: identity in self._replies and self._is_idle(identity), _LOOK):
                break
            self.interrupt()
        return self.finish(identity)

    def wait_for_output(self, identity: str, text: str) -> None:
        """Wait until a running cell has printed `text`."""

        def printed() -> bool:
            streams = (m for m in self._iopub[identity] if m["msg_type"] == "stream")
            if text in "".join(message["content"]["text"] for message in streams):
                return True
            assert not self._is_idle(identity), f"the cell ended without printing {text!r}: {self._iopub[identity]}"
            return False

        self._wait(printed, f"output {text!r}")

    def wait_for_message(self, kind: str, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a message on iopub, of any request, and take it; gives its content."""

        def found() -> Iterator[tuple[list[Message], Message]]:
            for messages in self._iopub.values():
                for message in messages:
                    if message["msg_type"] == kind and fits(message["content"]):
                        yield messages, message

        self._wait(lambda: any(found()), f"a {kind}")
        messages, message = next(found())
        messages.remove(message)
        content: dict[str, Any] = message["content"]
        return content

    def interrupt(self) -> None:
        """Interrupt what runs, as the ■ button does."""
        self.request("interrupt_request", {}, channel="control")

    # Inside.

    @property
    def _log_file(self) -> Path:
        return self.home.root / f"kernel-{self._number}-{self._starts}.log"

    def _wait_for_ports(self, file: Path) -> None:
        """Wait for the connection file, which the kernel writes itself.

        Front ends write it and name ports that are free; until the kernel takes them another may. Tests start too many
        kernels for that, so here the kernel chooses.
        """
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if json.loads(file.read_bytes()):
                    return
            except (FileNotFoundError, ValueError):  # not there, or half of it
                pass
            try:
                code = self._process.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
            raise KernelDied(f"the kernel ended with {code}\n{self.log}")
        raise AssertionError(f"the kernel took no ports in {PATIENCE:g} s\n{self.log}")

    def _alive(self) -> BlockingKernelClient:
        assert self._client is not None, "the kernel was not started"
        return self._client

    def _is_idle(self, identity: str) -> bool:
        return any(
            message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"
            for message in self._iopub.get(identity, ())
        )

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        if not self._wait_quietly(done, PATIENCE):
            seen = [(m["msg_type"], m["content"]) for messages in self._iopub.values() for m in messages]
            raise AssertionError(f"{what} did not come in {PATIENCE:g} s; seen: {seen}\n{self.log}")

    def _wait_quietly(self, done: Callable[[], bool], seconds: float) -> bool:
        client = self._alive()
        channels = (client.shell_channel, client.control_channel, client.stdin_channel, client.iopub_channel)
        poller = zmq.Poller()
        for channel in channels:
            poller.register(channel.socket, zmq.POLLIN)
        deadline = time.monotonic() + seconds
        while not done():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            ready = dict(poller.poll(int(min(left, _LOOK) * 1000) + 1))
            for channel in channels:
                if channel.socket in ready:
                    self._take(client, channel)
            if not ready and self._process is not None and (code := self._process.poll()) is not None:
                raise KernelDied(f"the kernel ended with {code}\n{self.log}")
        return True

    def _take(self, client: BlockingKernelClient, channel: Any) -> None:
        message = channel.get_msg(timeout=0)
        parent = message["parent_header"].get("msg_id", "")
        if channel is client.iopub_channel:
            self._iopub.setdefault(parent, []).append(message)
        elif channel is client.stdin_channel:
            self._prompts.setdefault(parent, []).append(message["content"]["prompt"])
            client.input(self._inputs.pop(0))
        else:
            self._replies[parent] = message
