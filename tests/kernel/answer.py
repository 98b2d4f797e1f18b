"""What a kernel says to one request, as a test asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything a kernel said to one request."""

    reply: Message
    iopub: tuple[Message, ...]
    prompts: tuple[str, ...] = ()

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = self.reply["content"]
        return content

    @property
    def status(self) -> str:
        return str(self.content["status"])

    @property
    def perdure(self) -> dict[str, Any]:
        """`metadata.perdure` of the reply."""
        said: dict[str, Any] = self.reply["metadata"]["perdure"]
        return said

    @property
    def stdout(self) -> str:
        return self._stream("stdout")

    @property
    def stderr(self) -> str:
        return self._stream("stderr")

    @property
    def value(self) -> str | None:
        """The text of the cell's value, None where it has none."""
        results = self.of_type("execute_result")
        return str(results[-1]["content"]["data"]["text/plain"]) if results else None

    @property
    def error(self) -> str | None:
        """The exception as `NameError: …`, None where there is none."""
        if self.status != "error":
            return None
        return f"{self.content['ename']}: {self.content['evalue']}"

    @property
    def notices(self) -> list[str]:
        """The lines that perdure added."""
        shown = (message["content"]["metadata"].get("perdure") for message in self.of_type("display_data"))
        return [line for ours in shown if ours for line in ours["notices"]]

    def of_type(self, kind: str) -> list[Message]:
        """The messages of one type on iopub."""
        return [message for message in self.iopub if message["msg_type"] == kind]

    def _stream(self, name: str) -> str:
        return "".join(m["content"]["text"] for m in self.of_type("stream") if m["content"]["name"] == name)
