"""mas-lab's `events.jsonl`: one ObsEvent a line, most of them about the runtime itself.

The run id is often empty, the same call may be told by several agents, and lines come up to some
milliseconds out of order. The first version of the schema has no call ids.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.crashes import contradict
from lastsignal.core.aliases.error_text import unwrap_error
from lastsignal.core.aliases.fields import amount_of, at, count_of, mapping_of, status_of, text_of
from lastsignal.core.aliases.json_values import value_of
from lastsignal.core.aliases.maslab.decisions import (
    audit,
    governance,
    human_gate,
    kernel_error,
    payload_of,
)
from lastsignal.core.aliases.maslab.outcomes import TIMEOUT, AgentFailure, judge_agent, judge_end
from lastsignal.core.aliases.maslab.records import ObsEvent, RunState, has_no_order, id_of, parts_of
from lastsignal.core.aliases.provider_failures import leaf_type
from lastsignal.core.aliases.session_runs import replace
from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event
from lastsignal.core.timestamps import time_of

_AGENTS = frozenset({"execution", "mas_call"})
_TOOLS = frozenset(
    "tool_call rag_query memory_retrieve memory_store memory_call skill_execution".split()
)
_NOISE = (
    "obs_wrap_", "observability_", "context_", "processing_", "contract_call_", "boundary_",
    "governance_authorize_", "governance_validate_", "state_update_", "wait_state_",
    "parallel_group_",
)  # fmt: skip
_SINGLE = frozenset(
    "audit boundary_error governance_decision governance_checked hitl_gate hitl_resolve "
    "user_response user_input client_response routing infrastructure_info".split()
)
_decode = msgspec.json.Decoder(ObsEvent).decode


def recognise(value: Any) -> bool:
    """An object with kind and agent_id whose kind is one of mas-lab's."""
    if not isinstance(value, dict) or "agent_id" not in value:
        return False
    kind = value.get("kind")
    if not isinstance(kind, str):
        return False
    base, moment = parts_of(kind)
    known = kind in _SINGLE or kind.startswith(_NOISE)
    return known or (bool(moment) and (base == "llm_call" or base in _AGENTS or base in _TOOLS))


class ObsEventDecoder:
    """Decodes one record after another; see `contract.Decoder`."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.state: RunState = RunState()
        self._singles: dict[str, Callable[[ObsEvent, Any], Event | None]] = {
            "audit": lambda record, make: audit(payload_of(record), make),
            "boundary_error": self._kernel_error,
            "governance_decision": lambda record, make: governance(record, self.state, make),
            "governance_checked": lambda record, make: governance(record, self.state, make),
            "hitl_gate": human_gate,
            "hitl_resolve": human_gate,
        }

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        kind = line.kind
        if not isinstance(kind, str) or line.agent_id is None:
            raise NotThisDialect
        self.state.trace_id = id_of(line.run_id) or id_of(line.session_id) or self.state.trace_id
        base, moment = parts_of(kind)
        if kind in self._singles:
            event = self._singles[kind](line, self._maker(line))
            return Drop("allowed") if event is None else [event]
        if kind == "user_response":
            return self._response(line)
        if base in _AGENTS and moment:
            return self._agent(line, base, moment)
        if (base == "llm_call" or base in _TOOLS) and moment:
            return self._call(line, base, moment)
        return Drop("runtime_internal")

    def _agent(self, line: ObsEvent, base: str, moment: str) -> Decoded:
        agent = text_of(line.agent_id)
        run_id = id_of(line.call_id)
        if not self._is_new(line, base, moment):
            return Drop("repeated_call")
        parent = id_of(line.parent_call_id)
        parent = None if parent == run_id else parent
        if moment == "start":
            self.state.ended_well = None
            if has_no_order(line):
                return Drop("start_without_order")
            if base == "mas_call" and parent is None:
                self._begin_run(line)
            parent = parent or self.state.delegating_call(agent or "") or self.state.run_of(None)
            run_id = run_id or self.state.begin_unnamed(f"{base}/{agent}")
            replace(self.state.open_agents, run_id, agent or "")
            replace(self.state.begun_in, run_id, self.state.trace_id)
            if parent:
                replace(self.state.parents, run_id, parent)
            make = self._maker(line)
            return [
                make(
                    event_type="agent_start",
                    status="started",
                    operation=agent,
                    call_id=run_id,
                    parent_id=parent,
                )
            ]
        run_id = run_id or self.state.end_unnamed(f"{base}/{agent}")
        self.state.open_agents.pop(run_id or "", None)
        self.state.begun_in.pop(run_id or "", None)
        parent = self.state.parents.get(run_id or "") or parent or self.state.run_of(None)
        return self._agent_end(line, run_id, parent)

    def _agent_end(self, line: ObsEvent, run_id: str | None, parent: str | None) -> list[Event]:
        make = self._maker(line)
        status = status_of(text_of(line.status)) or "completed"
        error, events = unwrap_error(line.error), list[Event]()
        is_contradicted = False
        if status == "failed":
            has_answered = self.state.ended_well == self.state.trace_id
            judged = judge_agent(line, has_answered or has_no_order(line))
            error, is_contradicted = judged.error, judged.is_contradicted
            if judged.has_died and not self.state.leaf_failed:
                events.append(self._agent_error(line, judged))
                self.state.leaf_failed = True
            if parent:
                replace(self.state.failed_below, parent, True)
        end: Event = make(
            event_type="agent_end",
            status=status,
            operation=text_of(line.agent_id),
            call_id=run_id,
            parent_id=parent,
            error_message=error.message if status != "completed" else None,
            error_type=error.type if status != "completed" else None,
            http_status=error.http_status if status != "completed" else None,
        )
        self.state.ended_well = self.state.trace_id if status == "completed" else None
        return [*events, contradict(end) if is_contradicted else end]

    def _agent_error(self, line: ObsEvent, failure: AgentFailure) -> Event:
        """The failure that no call before has told: the agent's own."""
        word, error = text_of(line.status), failure.error
        timed_out = word == TIMEOUT
        event: Event = self._maker(line)(
            event_type="audit" if timed_out else leaf_type(error, failure.said),
            operation="time_limit" if timed_out else text_of(line.agent_id),
            status="failed",
            error_message=error.message or word,
            error_type=error.type or (word if timed_out else None),
            http_status=error.http_status,
            error_class="timeout" if timed_out else None,
        )
        return event

    def _call(self, line: ObsEvent, base: str, moment: str) -> Decoded:
        if line.activity == "contract_call":
            return Drop("wrapper_span")
        call_id = id_of(line.call_id)
        if not self._is_new(line, base, moment):
            return Drop("repeated_call")
        self.state.ended_well = None
        response = value_of(line.response)
        model = text_of(line.model) or text_of(at(response, "model"))
        is_model = base == "llm_call"
        name = model if is_model else text_of(line.tool_name) or text_of(line.skill_name)
        name = name or ("llm" if is_model else None if base == "tool_call" else base)
        key = f"{base}/{text_of(line.agent_id)}/{'' if is_model else name}"
        if moment == "start":
            if has_no_order(line):
                return Drop("start_without_order")
            call_id = call_id or self.state.begin_unnamed(key)
            replace(self.state.names, call_id, name or "")
            return [self._start(line, is_model, name, model, call_id)]
        call_id = call_id or self.state.end_unnamed(key)
        started = self.state.names.get(call_id or "")
        name = started or name
        event = self._end(line, is_model, name, call_id, response)
        if event.status == "failed" and call_id in self.state.failed_below:
            event.status = "aborted"  # the agent that it waited for has told its failure
        elif event.status != "aborted":
            self.state.leaf_failed = event.status == "failed"
        return [event]

    def _start(
        self, line: ObsEvent, is_model: bool, name: str | None, model: str | None, call_id: str
    ) -> Event:
        arguments = line.arguments if bytes(line.arguments) else line.args
        event: Event = self._maker(line)(
            event_type="model_call" if is_model else "tool_call",
            status="started",
            operation=name,
            call_id=call_id,
            parent_id=self._parent(line, call_id),
            model=model,
            arguments_hash=None if is_model else hash_arguments(arguments),
        )
        return event

    def _end(
        self, line: ObsEvent, is_model: bool, name: str | None, call_id: str | None, response: Any
    ) -> Event:
        output = value_of(line.output if bytes(line.output) else line.result)
        status, error = judge_end(line, is_model, output if not is_model or output else response)
        usage = mapping_of(at(response, "usage") or line.usage)
        milliseconds = amount_of(line.latency_ms)
        event: Event = self._maker(line)(
            event_type="model_call" if is_model else "tool_result",
            status=status,
            operation=name,
            call_id=call_id,
            parent_id=self._parent(line, call_id),
            error_message=error.message,
            error_type=error.type,
            http_status=error.http_status,
            duration_seconds=None if milliseconds is None else milliseconds / 1000.0,
        )
        if is_model:
            event.model = text_of(line.model) or text_of(at(response, "model"))
            event.input_tokens = count_of(usage.get("prompt_tokens", usage.get("input_tokens")))
            event.output_tokens = count_of(
                usage.get("completion_tokens", usage.get("output_tokens"))
            )
            event.finish_reason = text_of(line.finish_reason) or text_of(line.next_step)
        return event

    def _response(self, line: ObsEvent) -> Decoded:
        """An answer that the entry agent itself calls an error, where nothing has told it yet."""
        if line.message_type != "error" or self.state.leaf_failed:
            return Drop("user_response")
        self.state.leaf_failed = True
        said = value_of(line.content)
        error = unwrap_error(said)
        return [
            self._maker(line)(
                event_type=leaf_type(error, said),
                operation=text_of(line.agent_id),
                status="failed",
                error_message=error.message,
                error_type=error.type or "user_response",
                http_status=error.http_status,
            )
        ]

    def _kernel_error(self, line: ObsEvent, make: Any) -> Event:
        self.state.leaf_failed = True
        return kernel_error(line, self.state, make)

    def _is_new(self, line: ObsEvent, base: str, moment: str) -> bool:
        """Is this a call's first start or end? Run ids of agents may come back in the next run."""
        scope = "" if base == "mas_call" else self.state.trace_id
        return self.state.is_new(f"{scope}/{base}_{moment}", id_of(line.call_id))

    def _parent(self, line: ObsEvent, call_id: str | None) -> str | None:
        parent = id_of(line.parent_call_id)
        return parent if parent and parent != call_id else self.state.run_of(text_of(line.agent_id))

    def _begin_run(self, line: ObsEvent) -> None:
        """A new run in a file whose runs have no id: only the marker parts them."""
        self.state.open_agents.clear()
        self.state.leaf_failed = False
        if id_of(line.run_id) is None and id_of(line.session_id) is None:
            self.state.runs += 1
            self.state.trace_id = f"{self._source}#{self.state.runs}" if self.state.runs > 1 else ""

    def _maker(self, line: ObsEvent) -> Callable[..., Event]:
        moment = time_of(line.timestamp)
        return partial(
            Event,
            timestamp=moment,
            trace_id=self.state.trace_id,
            agent=text_of(line.agent_id),
        )


DIALECT = Dialect(
    name="maslab_events",
    framework="mas-lab",
    recognise=recognise,
    decoder=ObsEventDecoder,
    disorder_seconds=1.0,
    is_unique=True,
    description="mas-lab ObsEvents: kind and agent_id, from traces/events.jsonl",
    default_paths=("~/.local/share/mas/runs/**/traces/events.jsonl",),
)
