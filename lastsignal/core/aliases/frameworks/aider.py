"""aider's analytics log: what the program did, one object a line; never what was said.

A message is noted when it is sent, and once more when its answer has come. What a provider refuses
is shown to the user and noted nowhere: such a message stays without its end, and a session that
exits before anything else was sent has failed on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import amount_of, count_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.session_runs import NO_ERROR, Run
from lastsignal.core.events import Event, Status
from lastsignal.core.timestamps import time_of

_AGENT = "aider"
_KEYS = {"event", "properties", "user_id", "time"}
_NOTED = {
    "launched": "session_header",
    "cli session": "session_header",
    "gui session": "session_header",
    "copy-paste mode": "session_header",
    "repo": "session_setup",
    "no-repo": "session_setup",
    "auto_commits": "session_setup",
    "model warning": "notice",
    "ai-comments execute": "user_input",
    "ai-comments file-add": "user_input",
}
_COMMAND = "command_"
_EVENTS = {
    *_NOTED,
    "message_send_starting",
    "message_send",
    "message_send_exception",
    "exit",
}
_STOPPED = frozenset({"Control-C"})
_REFUSALS = frozenset(
    {
        "Directory with --no-git",
        "Failed to read apply content",
        "Invalid directory input",
        "Invalid lint command format",
        "Message file IO error",
        "Message file not found",
        "No test command provided",
        "Streamlit not installed",
        "Unknown edit format",
        "ValueError during coder creation",
    }
)
"""Why aider leaves before it has asked a model for anything."""


class _Record(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    event: str
    properties: msgspec.Raw
    user_id: Any
    time: Any


_decode = msgspec.json.Decoder(_Record).decode


class AiderState(msgspec.Struct):
    """What the next records of a session depend on."""

    session: str = ""
    """Its trace; empty between two sessions."""
    model: str | None = None
    sent: int = 0
    is_waiting: bool = False
    """Whether the last message has no answer yet."""
    open: dict[str, float] = {}


def recognise(value: Any) -> bool:
    """A record of just the log's four keys, and one of the program's own events."""
    return (
        isinstance(value, dict)
        and value.keys() == _KEYS
        and _is_known(value["event"])
        and isinstance(value["properties"], dict)
    )


def _is_known(name: Any) -> bool:
    return isinstance(name, str) and (name in _EVENTS or name.startswith(_COMMAND))


class AiderDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self.state = AiderState()

    def decode(self, record: bytes) -> Decoded:
        """Return what a record tells; see `contract.Decoder`."""
        try:
            found = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        properties = value_of(found.properties)
        if not _is_known(found.event) or not isinstance(properties, dict):
            raise NotThisDialect
        moment = time_of(found.time)
        self._continue(found, text_of(properties.get("main_model")), moment)
        run = Run(self.state.session, self.state.session, None, _AGENT, moment)
        match found.event:
            case "message_send_starting":
                return self._send(run)
            case "message_send":
                return self._answer(run, properties)
            case "message_send_exception":
                return self._break(run, unwrap_error(properties.get("exception")))
            case "exit":
                return self._exit(run, text_of(properties.get("reason")) or "unknown reason")
        return Drop(_NOTED.get(found.event, "user_input"))

    def _continue(self, found: _Record, model: str | None, moment: float) -> None:
        """Note the session that a record belongs to, and its model."""
        state = self.state
        if found.event == "launched" or not state.session:
            state.session = f"{text_of(found.user_id) or _AGENT}@{moment:.0f}"
            state.model, state.sent, state.is_waiting = None, 0, False
        if model is not None and model != "None":
            state.model = model

    def _call(self, run: Run, **fields: Any) -> Event:
        model = self.state.model
        return run.event(
            event_type="model_call",
            operation=model or "model",
            model=model,
            call_id=f"message-{self.state.sent}",
            **fields,
        )

    def _send(self, run: Run) -> list[Event]:
        self.state.sent += 1
        self.state.is_waiting = True
        return [*run.open(self.state.open), self._call(run, status="started")]

    def _answer(self, run: Run, told: Mapping[str, Any]) -> list[Event]:
        """The answer ends the turn: what the user says next is not noted."""
        begun = self._begin(run)
        call = self._call(
            run,
            status="completed",
            input_tokens=count_of(told.get("prompt_tokens")),
            output_tokens=count_of(told.get("completion_tokens")),
            cost_usd=amount_of(told.get("cost")),  # total_cost and total_tokens add up
        )
        return [*begun, call, *self._end(run)]

    def _break(self, run: Run, error: ErrorFields) -> list[Event]:
        begun = self._begin(run)
        call = self._call(run)
        error.write(call)
        return [*begun, call, *self._end(run, "failed", error)]

    def _exit(self, run: Run, reason: str) -> Decoded:
        state = self.state
        events: list[Event] = []
        if reason in _REFUSALS:
            begun = run.open(self.state.open)
            events = [*begun, *self._end(run, "failed", ErrorFields(f"aider gave up: {reason}"))]
        elif state.is_waiting:
            status: Status = "aborted" if reason in _STOPPED else "failed"
            error = NO_ERROR if status == "aborted" else ErrorFields(_unanswered(reason))
            call = self._call(run)
            error.write(call, status)
            events = [call, *self._end(run, status, error)]
        state.session = ""
        return events or Drop("session_footer")

    def _begin(self, run: Run) -> list[Event]:
        """Begin a message whose sending stands in a file before this one."""
        return [] if self.state.is_waiting else self._send(run)

    def _end(
        self, run: Run, status: Status = "completed", error: ErrorFields = NO_ERROR
    ) -> list[Event]:
        self.state.is_waiting = False
        return run.close(self.state.open, status, error)


def _unanswered(reason: str) -> str:
    return f"no answer to the last message was noted before aider exited ({reason})"


DIALECT = Dialect(
    name="aider_analytics",
    framework="aider",
    recognise=recognise,
    decoder=AiderDecoder,
    description="aider's --analytics-log: records of event, properties, user_id and time",
    written_by="`aider --analytics-log FILE`",
    is_unique=True,
)
