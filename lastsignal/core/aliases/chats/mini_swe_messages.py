"""mini-swe-agent's trajectories of version 0: a bare list of messages, without a word of the run.

The harness's protocol in the first message is all that tells them from other chats: the word with
which the agent submits its work.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from lastsignal.core.aliases.chats.chat_log import ChatLogDecoder
from lastsignal.core.aliases.contract import Decoded, Dialect, NotThisDialect
from lastsignal.core.aliases.trajectories import Trajectory

_SUBMIT = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def recognise(value: Any) -> bool:
    """The system's message that tells the agent how to submit."""
    return (
        isinstance(value, dict)
        and value.get("role") == "system"
        and isinstance(value.get("content"), str)
        and _SUBMIT in value["content"]
    )


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant"]
    content: str


_decode = msgspec.json.Decoder(_Message).decode


class MiniSweMessagesDecoder:
    """Decodes one message after another, as those of any chat."""

    state = None

    def __init__(self, source: str) -> None:
        self._chat = ChatLogDecoder(source)

    def decode(self, record: bytes) -> Decoded:
        """Return the calls that a message tells of; see `contract.Decoder`."""
        try:
            message = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if message.role == "system" and _SUBMIT in message.content:
            run = Trajectory("assistant")
            run.seek(0, None)
            run.open()
            return run.events
        return self._chat.decode(record)


DIALECT = Dialect(
    name="mini_swe_agent_messages",
    framework="mini_swe_agent",
    recognise=recognise,
    decoder=MiniSweMessagesDecoder,
    description="mini-swe-agent 0 .traj.json: a list of messages; the first one says how to submit",
    written_by="mini-swe-agent 0, with `--output FILE`",
)
