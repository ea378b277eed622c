"""OpenHands before its SDK (V0): numbered actions and observations, each with its cause.

They come one a file, in one array, or as the `history` of an evaluation's output, one instance a
line. Metrics are sums over the conversation: what a call used is the difference.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.elements import elements_of
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import at, limit_of, mapping_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.openhands.conversation import Conversation, ConversationState
from lastsignal.core.aliases.openhands.observations import judge_observation
from lastsignal.core.aliases.provider_failures import is_of_provider
from lastsignal.core.aliases.session_runs import Run
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, Status

_ABSENT = msgspec.Raw(b"")
_SILENT = frozenset(
    {"agent_condensation", "change_agent_state", "condensation", "null", "recall", "system"}
)
_THOUGHTS = frozenset({"thought", "security_risk"})
_ENDS: dict[str, Status] = {
    "awaiting_user_input": "completed",
    "finished": "completed",
    "error": "failed",
    "rejected": "failed",
    "stopped": "aborted",
}


# What the controller raises when it stops the agent, wherever it is told.
_LIMITS = (
    ("step_limit", re.compile(r"Agent reached maximum iteration")),
    ("budget", re.compile(r"Agent reached maximum budget")),
    ("loop", re.compile(r"Agent got stuck in a loop")),
)
_LIMIT = re.compile(r"max(?:imum)? (?:iteration|budget): ?(\d{1,9}(?:\.\d{1,9})?)")


class _Record(msgspec.Struct, gc=False):
    id: Any = None
    timestamp: Any = msgspec.UNSET
    source: Any = None
    cause: Any = None
    action: Any = None
    args: msgspec.Raw = _ABSENT
    observation: Any = None
    content: Any = None
    extras: Any = None
    tool_call_metadata: Any = None
    llm_metrics: Any = None
    instance_id: Any = msgspec.UNSET
    history: msgspec.Raw = _ABSENT
    error: Any = None


_decode = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A numbered action or observation, or an instance with its history of them."""
    if not isinstance(value, dict):
        return False
    history = value.get("history")
    if "instance_id" in value and isinstance(history, list):
        first = at(history, 0)
        return _is_record(at(first, 0) if isinstance(first, list) else first)
    return _is_record(value)


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict) or not _is_number(value.get("id")) or "timestamp" not in value:
        return False
    if isinstance(value.get("action"), str):
        return isinstance(value.get("args"), dict)
    return isinstance(value.get("observation"), str) and isinstance(value.get("extras"), dict)


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class LegacyDecoder:
    """Decodes one record after another, or an instance's history at once."""

    def __init__(self, source: str, trace_id: str = "") -> None:
        self._source = source
        self._conversation = Conversation(source, trace_id)

    @property
    def state(self) -> ConversationState:
        """What must survive a restart."""
        return self._conversation.state

    @state.setter
    def state(self, state: ConversationState) -> None:
        self._conversation.state = state

    def decode(self, record: bytes) -> Decoded:
        """Return what the record tells; see `contract.Decoder`."""
        try:
            found = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if bytes(found.history)[:1] == b"[" and found.instance_id is not msgspec.UNSET:
            return self._instance(record, found)
        if not _is_number(found.id) or found.timestamp is msgspec.UNSET:
            raise NotThisDialect
        run = self._conversation.run_at(found.timestamp)
        if isinstance(found.action, str):
            if bytes(found.args)[:1] != b"{":
                raise NotThisDialect
            return self._action(run, found, found.action) or Drop(_reason(found.action))
        if isinstance(found.observation, str) and isinstance(found.extras, dict):
            told = self._observation(run, found, found.observation)
            return told or Drop(_reason(found.observation))
        raise NotThisDialect

    def _instance(self, record: bytes, instance: _Record) -> Decoded:
        """Tell an instance's run by a decoder of its own: the next line is another run."""
        trace_id = f"{self._source}#{text_of(instance.instance_id)}"
        decoder = LegacyDecoder("", trace_id)
        events: list[Event] = []
        records = _records_of(record, instance.history)
        if not records or not _is_record(value_of(records[0][1])):
            raise NotThisDialect
        for offset, data in records:
            try:
                told = decoder.decode(data)
            except (NotThisDialect, msgspec.DecodeError):
                continue
            for event in told if isinstance(told, list) else ():
                event.offset = offset
                events.append(event)
        return [*events, *decoder.give_up(text_of(instance.error), events)] or Drop(
            "empty_document"
        )

    def give_up(self, text: str | None, told: list[Event]) -> list[Event]:
        """Return how an instance's run failed by the word of the evaluation."""
        if text is None or not told:
            return []
        last = told[-1]
        error = unwrap_error(text)
        run = Run(last.trace_id, "turn", None, last.agent or "", last.timestamp)
        told = run.open(self.state.open)
        return [
            *told,
            self._failure(run, error, text),
            *self._conversation.close(run, "failed", error),
        ]

    def _failure(self, run: Run, error: ErrorFields, text: str) -> Event:
        """Tell of what ended the turn: a limit, a call of the model, or the process."""
        self.state.has_failed = True
        limit = next((name for name, pattern in _LIMITS if pattern.search(text)), None)
        if limit is not None:
            failure = run.event(event_type="audit", operation=limit)
            number = _LIMIT.search(text)
            name = "budget_limit" if limit == "budget" else "limit"
            failure.metadata = {name: limit_of(number[1])} if number else None
        elif is_of_provider(error, text):
            failure = run.event(event_type="model_call", operation="model")
        else:
            failure = run.event(event_type="process_error", operation="conversation")
        error.write(failure)
        return failure

    def _action(self, run: Run, record: _Record, action: str) -> list[Event]:
        if action in _SILENT:
            return []
        if record.source == "user":
            return self._conversation.begin(run) if action == "message" else []
        events = [*self._conversation.go_on(run), *self._model_call(run, record)]
        if action == "message":
            args = mapping_of(value_of(record.args))
            if args.get("wait_for_response") is True:
                events += self._conversation.close(run)
            return events
        if action == "finish":
            return events + self._conversation.close(run, finish_reason="finish")
        if action == "reject":
            error = ErrorFields("the agent rejected the task", None, "reject")
            return events + self._conversation.close(run, "failed", error)
        args = mapping_of(value_of(record.args))
        start = run.event(
            event_type="tool_call",
            status="started",
            operation=text_of(at(record.tool_call_metadata, "function_name")) or action or None,
            call_id=text_of(record.id),
            arguments_hash=hash_arguments({k: v for k, v in args.items() if k not in _THOUGHTS}),
        )
        return [*events, start]

    def _model_call(self, run: Run, record: _Record) -> list[Event]:
        """One answer may ask for several actions, each of which carries the whole response."""
        response = at(record.tool_call_metadata, "model_response")
        if not self._conversation.is_new(text_of(at(response, "id"))):
            return []
        model = text_of(at(response, "model"))
        event = run.event(
            event_type="model_call", status="completed", operation=model or "model", model=model
        )
        self._conversation.write_spending(event, record.llm_metrics)
        return [event]

    def _observation(self, run: Run, record: _Record, observation: str) -> list[Event]:
        extras = mapping_of(record.extras)
        if observation == "agent_state_changed":
            return self._state(run, text_of(extras.get("agent_state")), extras.get("reason"))
        if observation in _SILENT:
            return []
        begun = self._conversation.go_on(run)
        if observation == "error":
            error = unwrap_error(record.content)
            if record.cause is None:
                return [*begun, self._failure(run, error, text_of(record.content) or "")]
            return [*begun, self._result(run, record, "failed", error)]
        if observation == "user_rejected":
            said = unwrap_error(record.content)
            return [*begun, self._result(run, record, "aborted", said)]
        judged = judge_observation({**extras, "content": record.content})
        end = self._result(run, record, judged.status, judged.error)
        end.error_class = judged.error_class
        if judged.exit_code is not None:
            end.metadata = {"exit_code": judged.exit_code}
        return [*begun, end]

    @staticmethod
    def _result(run: Run, record: _Record, status: Status, error: ErrorFields) -> Event:
        end = run.event(event_type="tool_result", call_id=text_of(record.cause))
        error.write(end, status)
        return end

    def _state(self, run: Run, state: str | None, reason: object) -> list[Event]:
        if state == "rate_limited":
            retry = run.event(event_type="retry", operation="model")
            ErrorFields(text_of(reason) or "rate limited", 429, None).write(retry, "started")
            return [retry]
        status = _ENDS.get(state or "")
        if status is None:
            return []
        error = unwrap_error(reason) if status != "completed" else ErrorFields()
        if status == "failed" and error.message is None:
            error = ErrorFields(f"agent state {state}")
        ends = self._conversation.close(run, status, error)
        text = text_of(reason) or ""
        is_told = self.state.has_failed or not ends
        if state == "error" and not is_told and (_is_limit(text) or is_of_provider(error, text)):
            return [self._failure(run, error, text), *ends]
        return ends


def _is_limit(text: str) -> bool:
    return any(pattern.search(text) for _, pattern in _LIMITS)


def _records_of(record: bytes, history: msgspec.Raw) -> list[tuple[int, bytes]]:
    """Return the history's records; the first evaluations wrote (action, observation) pairs."""
    found: list[tuple[int, bytes]] = []
    for offset, data in elements_of(record, history):
        if data[:1] == b"[":
            found += [
                (offset + at_pair, part) for at_pair, part in elements_of(data, msgspec.Raw(data))
            ]
        else:
            found.append((offset, data))
    return found


def _reason(kind: str) -> str:
    return "internal_step" if kind in _SILENT else "message"


DIALECT = Dialect(
    name="openhands_legacy",
    framework="openhands",
    recognise=recognise,
    decoder=LegacyDecoder,
    is_unique=True,
    description="OpenHands V0: numbered actions with args, observations with extras; histories",
    written_by="OpenHands V0 with SAVE_TRAJECTORY_PATH; its download of a conversation",
)
