"""Events of the OpenHands SDK (V1): `kind`, `source`, and what an agent did or was shown.

A conversation has no end, only turns: the user's message opens one; the agent's answer, its
`finish` or an error of the conversation closes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.error_text import ErrorFields, unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, mapping_of, status_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.openhands.conversation import (
    Conversation,
    ConversationState,
)
from lastsignal.core.aliases.openhands.llm_log import call_events
from lastsignal.core.aliases.openhands.observations import judge_observation
from lastsignal.core.aliases.openhands.records import (
    DROPPED,
    SdkEvent,
    class_of,
    decode_event,
    is_event,
)
from lastsignal.core.aliases.provider_failures import is_of_provider
from lastsignal.core.aliases.session_runs import Run
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import WITHIN_TRACE, Event

_WORK = frozenset(
    {"ActionEvent", "AgentErrorEvent", "ConversationErrorEvent", "ObservationEvent"}
    | {"ServerErrorEvent"}
)
_LIMITS = {"MaxIterationsReached": "step_limit", "MaxBudgetReached": "budget"}
_STATUS_KEYS = frozenset({"execution_status", "agent_status", "full_state"})


def recognise(value: Any) -> bool:
    """An event's kind and source, or the state of a conversation."""
    if not isinstance(value, dict):
        return False
    if "execution_status" in value and isinstance(value.get("agent"), dict):
        if "persistence_dir" in value:
            return True
    return is_event(value.get("kind"), value.get("source"))


class EventDecoder:
    """Decodes one event after another."""

    def __init__(self, source: str) -> None:
        self._conversation = Conversation(source)

    @property
    def state(self) -> ConversationState:
        """What must survive a restart."""
        return self._conversation.state

    @state.setter
    def state(self, state: ConversationState) -> None:
        self._conversation.state = state

    def decode(self, record: bytes) -> Decoded:
        """Return what the event tells; see `contract.Decoder`."""
        try:
            event = decode_event(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        run = self._conversation.run_at(event.timestamp)
        if event.is_state:
            return self._status(run, event.execution_status) or Drop("conversation_state")
        if not is_event(event.kind, event.source):
            raise NotThisDialect
        tell = _TELL.get(event.kind)
        is_answer = event.kind == "MessageEvent" and event.source == "agent"
        begun = self._conversation.go_on(run) if is_answer or event.kind in _WORK else []
        found = [*begun, *(tell(self, run, event) if tell else ())]
        return found or Drop(DROPPED.get(event.kind, "other_event"))

    def _message(self, run: Run, event: SdkEvent) -> list[Event]:
        if event.source == "user":
            return self._conversation.begin(run)
        if event.source != "agent":
            return []
        return [*self._model_call(run, event), *self._conversation.close(run)]

    def _model_call(self, run: Run, event: SdkEvent) -> list[Event]:
        """One answer may ask for several calls, each an event that names the same response."""
        response = text_of(event.llm_response_id)
        if response is None or not self._conversation.is_new(response):
            return []
        return [
            run.event(
                event_type="model_call",
                status="completed",
                operation="model",
                identity=WITHIN_TRACE + response,
            )
        ]

    def _action(self, run: Run, event: SdkEvent) -> list[Event]:
        tool = text_of(event.tool_name)
        start = run.event(
            event_type="tool_call",
            status="started",
            operation=tool,
            call_id=text_of(event.tool_call_id),
            arguments_hash=hash_arguments(at(event.tool_call, "arguments") or event.action),
        )
        return [*self._model_call(run, event), start]

    def _observation(self, run: Run, event: SdkEvent) -> list[Event]:
        observation = mapping_of(value_of(event.observation))
        result = judge_observation(observation)
        end = self._result(run, event, result.error, result.status)
        end.error_class = result.error_class
        if result.exit_code is not None:
            end.metadata = {"exit_code": result.exit_code}
        if end.operation == "finish" and end.status == "completed":
            return [end, *self._conversation.close(run, finish_reason="finish")]
        return [end]

    def _rejection(self, run: Run, event: SdkEvent) -> list[Event]:
        return [self._result(run, event, unwrap_error(event.rejection_reason), "aborted")]

    def _agent_error(self, run: Run, event: SdkEvent) -> list[Event]:
        end = self._result(run, event, unwrap_error(event.error), "failed")
        end.error_class = class_of(event)
        return [end]

    @staticmethod
    def _result(run: Run, event: SdkEvent, error: ErrorFields, status: Any) -> Event:
        end = run.event(
            event_type="tool_result",
            operation=text_of(event.tool_name),
            call_id=text_of(event.tool_call_id),
        )
        error.write(end, status)
        return end

    def _conversation_error(self, run: Run, event: SdkEvent) -> list[Event]:
        if event.code is None and event.detail is None:  # such an event has both, always
            return self._conversation.close(run, "failed", ErrorFields("error"))
        code, detail = text_of(event.code) or "error", text_of(event.detail) or ""
        said = unwrap_error(detail)
        error = ErrorFields(said.message or code, said.http_status, code)
        fields: dict[str, Any] = {"event_type": "process_error", "operation": "conversation"}
        if code in _LIMITS:
            fields = {"event_type": "audit", "operation": _LIMITS[code]}
        elif code.startswith("LLM") or is_of_provider(error, detail):
            fields = {"event_type": "model_call", "operation": "model"}
        failure = run.event(**fields)
        error.write(failure)
        failure.error_class = class_of(event)
        ends = self._conversation.close(run, "failed", error)
        for end in ends:
            end.error_class = failure.error_class
        return [failure, *ends]

    def _interrupt(self, run: Run, event: SdkEvent) -> list[Event]:
        return self._conversation.close(run, "aborted", finish_reason="interrupt")

    def _state_update(self, run: Run, event: SdkEvent) -> list[Event]:
        value = value_of(event.value)
        if event.key == "stats":
            return self._spending(run, value)
        if not isinstance(event.key, str) or event.key not in _STATUS_KEYS:
            return []
        if event.key != "full_state":
            return self._status(run, value)
        spending = self._spending(run, at(value, "stats"))
        return [*spending, *self._status(run, at(value, "execution_status"))]

    def _spending(self, run: Run, stats: object) -> list[Event]:
        return [*self._conversation.spent(run, stats), *self._budget(run, mapping_of(stats))]

    def _status(self, run: Run, status: object) -> list[Event]:
        """Tell of a state that ends the turn; all but a stuck agent have a record of their own."""
        if status == "stuck":
            error = ErrorFields("the agent repeats itself: stuck", None, "stuck")
            audit = run.event(event_type="audit", operation="loop")
            error.write(audit)
            return [audit, *self._conversation.close(run, "failed", error)]
        if self._conversation.is_folder:
            return []
        if status == "error":
            return self._conversation.close(run, "failed", ErrorFields("execution_status error"))
        if status == "finished":
            return self._conversation.close(run, finish_reason="finished")
        return []

    def _budget(self, run: Run, stats: Mapping[str, Any]) -> list[Event]:
        """Tell of a budget that is used up."""
        for metrics in mapping_of(stats.get("usage_to_metrics")).values():
            limit = amount_of(at(metrics, "max_budget_per_task"))
            cost = amount_of(at(metrics, "accumulated_cost"))
            if limit and cost is not None and cost >= limit and self._conversation.is_new("budget"):
                audit = run.event(
                    event_type="audit", operation="budget", identity=WITHIN_TRACE + "budget"
                )
                ErrorFields(f"cost {cost:g} of {limit:g} US dollars", None, None).write(audit)
                audit.metadata = {"total_cost_usd": cost, "budget_limit": limit}
                return [audit]
        return []

    def _acp_call(self, run: Run, event: SdkEvent) -> list[Event]:
        """A call of an agent behind the ACP protocol, told again at each step that it takes."""
        call_id = text_of(event.tool_call_id)
        fields = {"operation": text_of(event.title), "call_id": call_id}
        events: list[Event] = []
        if self._conversation.is_new(f"{call_id}:start"):
            start = run.event(event_type="tool_call", status="started", **fields)
            start.arguments_hash = (
                hash_arguments(event.raw_input) if bytes(event.raw_input) else None
            )
            events.append(start)
        status = "failed" if event.is_error is True else status_of(event.status)
        if status in ("completed", "failed", "aborted"):
            if self._conversation.is_new(f"{call_id}:end"):
                end = run.event(event_type="tool_result", **fields)
                unwrap_error(event.raw_output if status != "completed" else None).write(end, status)
                events.append(end)
        return events

    def _condensation(self, run: Run, event: SdkEvent) -> list[Event]:
        return [run.event(event_type="audit", operation="compaction", status="completed")]

    def _hook(self, run: Run, event: SdkEvent) -> list[Event]:
        if event.blocked is not True:
            return []
        audit = run.event(event_type="audit", operation="permission")
        unwrap_error(event.reason or "blocked by a hook").write(audit, "aborted")
        return [audit]

    def _llm_log(self, run: Run, event: SdkEvent) -> list[Event]:
        if not isinstance(event.log_data, str):
            return []
        data = event.log_data.encode("utf-8", "replace")
        place = {"trace_id": run.trace_id, "parent_id": run.run_id, "agent": run.agent}
        try:
            calls = call_events(data, text_of(event.model_name), **place)
        except (msgspec.MsgspecError, RecursionError):
            return []
        self.state.logs_calls = True
        return calls if self._conversation.is_new(calls[-1].call_id) else []


_TELL = {
    "MessageEvent": EventDecoder._message,
    "ActionEvent": EventDecoder._action,
    "ObservationEvent": EventDecoder._observation,
    "UserRejectObservation": EventDecoder._rejection,
    "AgentErrorEvent": EventDecoder._agent_error,
    "ConversationErrorEvent": EventDecoder._conversation_error,
    "ServerErrorEvent": EventDecoder._conversation_error,
    "ConversationStateUpdateEvent": EventDecoder._state_update,
    "InterruptEvent": EventDecoder._interrupt,
    "ACPToolCallEvent": EventDecoder._acp_call,
    "Condensation": EventDecoder._condensation,
    "HookExecutionEvent": EventDecoder._hook,
    "LLMCompletionLogEvent": EventDecoder._llm_log,
}

DIALECT = Dialect(
    name="openhands_events",
    framework="openhands",
    recognise=recognise,
    decoder=EventDecoder,
    is_unique=True,
    description="OpenHands SDK events: kind …Event with source; the conversation's base_state",
    default_paths=("~/.openhands/conversations/*/events/*.json",),
)
