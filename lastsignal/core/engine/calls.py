"""The call table: pairs the start of a call with its end, and counts what a trace used.

Pairing is by call id where there is one, else by operation, first started first ended. An end
learns from its start what it does not say itself: operation, arguments, duration.
"""

from __future__ import annotations

from collections.abc import Callable

from lastsignal.core.engine.traces import (
    MAX_AGENTS,
    MAX_OPEN_CALLS,
    OpenCall,
    TraceState,
    mark_of,
)
from lastsignal.core.events import GOES_ON, TOLD_LATE, USED_SO_FAR, Event, metadata_of

Account = Callable[[Event, TraceState], bool | None]
"""Takes an event; true for one that is a word about the trace and no part of it."""

STOPS = frozenset(
    {"budget", "token_limit", "time_limit", "turn_limit", "step_limit", "recursion_limit"}
)
"""Operations of the audits with which a harness ends a run."""


def start_call(event: Event, trace: TraceState) -> None:
    """A tool call begins."""
    trace.calls += 1
    _open(event, trace, False)


def model_call(event: Event, trace: TraceState) -> None:
    """A model call begins or ends, or is told in one record only."""
    if event.status == "started":
        trace.calls += 1
        _open(event, trace, False)
        trace.model_order[event.agent or ""] = trace.events
        return
    if not _close(event, trace):
        trace.calls += 1
        trace.model_order[event.agent or ""] = trace.events
    if event.input_tokens is not None:
        trace.input_tokens += event.input_tokens
    if event.output_tokens is not None:
        trace.output_tokens += event.output_tokens
    if event.cost_usd is not None:
        trace.cost_usd += event.cost_usd
        trace.is_priced = True
    trace.last_call_status = event.status
    if event.status != "completed":
        _note_trouble(event, trace)
    elif trace.failing:
        _note_success(event, trace)


def end_call(event: Event, trace: TraceState) -> None:
    """A tool call ends."""
    if not _close(event, trace):
        trace.calls += 1
    trace.last_call_status = event.status
    if event.status != "completed":
        _note_trouble(event, trace)
    elif trace.failing:
        _note_success(event, trace)


def retry(event: Event, trace: TraceState) -> None:
    """An operation is tried again: its next end belongs to this attempt."""
    operation = event.operation or ""
    if event.arguments_hash is None:
        event.arguments_hash = trace.last_arguments.get(operation)
    if (event.call_id or operation) not in trace.open_calls:
        _open(event, trace, True)
    trace.note(event)
    if trace.failing.pop(operation, False):
        event.error_class = None  # the failure that it answers has been told by a record of its own
    elif event.error_class is None:
        event.error_class = "unknown"  # of that failure, the retry is the only record


def start_agent(event: Event, trace: TraceState) -> None:
    """An agent begins: a run, a turn, or a sub-agent."""
    _open_agent(event, trace)
    metadata = metadata_of(event)
    if event.timestamp < trace.last_at and _has_worked(trace):
        metadata[TOLD_LATE] = True
    if metadata.get(GOES_ON) is True:
        _take_back_end(trace)
    else:
        trace.note(event)


def _has_worked(trace: TraceState) -> bool:
    return trace.calls > len(trace.open_calls) + trace.failures


def _take_back_end(trace: TraceState) -> None:
    trace.end = trace.end_status = None
    if trace.timeline and trace.timeline[-1].event_type == "agent_end":
        del trace.timeline[-1]


def end_agent(event: Event, trace: TraceState) -> None:
    """An agent ends; who ended last gives the trace its verdict."""
    if trace.open_agents.pop(_agent_key(event), None) is None and event.call_id is None:
        trace.open_agents.clear()  # an end without any name ends whatever runs
    if trace.end is None or event.timestamp >= trace.end.timestamp:
        trace.end, trace.end_status = mark_of(event), event.status
    if not trace.open_agents:
        _forget_calls(trace)
        if event.cost_usd is not None and not trace.is_priced:
            trace.cost_usd += event.cost_usd  # of the run as a whole: no call has told its own
    trace.note(event)


def process_error(event: Event, trace: TraceState) -> None:
    """The process dies, or an exception reaches its top."""
    trace.crash = mark_of(event)
    trace.failures += 1
    trace.open_agents.clear()
    _forget_calls(trace)
    trace.note(event)


def audit(event: Event, trace: TraceState) -> None:
    """A policy speaks: a limit, a budget, a guardrail; or a sum is told that no call has told."""
    if event.operation == USED_SO_FAR:
        trace.input_tokens = max(trace.input_tokens, event.input_tokens or 0)
        trace.output_tokens = max(trace.output_tokens, event.output_tokens or 0)
        trace.cost_usd = max(trace.cost_usd, event.cost_usd or 0.0)
        return
    trace.input_tokens += event.input_tokens or 0
    trace.output_tokens += event.output_tokens or 0
    trace.cost_usd += event.cost_usd or 0.0
    if event.status != "completed":
        trace.note(event)
        if event.operation in STOPS:
            trace.stop = mark_of(event)


ACCOUNTS: dict[str, Account] = {
    "agent_start": start_agent,
    "model_call": model_call,
    "tool_call": start_call,
    "tool_result": end_call,
    "retry": retry,
    "agent_end": end_agent,
    "process_error": process_error,
    "audit": audit,
}


def _note_trouble(event: Event, trace: TraceState) -> None:
    """A call has not ended well: a turning point of the run."""
    trace.note(event)
    if event.status == "failed":
        trace.failures += 1
        if len(trace.failing) < MAX_OPEN_CALLS:
            trace.failing[event.operation or ""] = True


def _note_success(event: Event, trace: TraceState) -> None:
    """A call has ended well in a run in which one has failed."""
    trace.failing.pop(event.operation or "", None)
    moment = (event.timestamp, event.offset)
    trace.worked[event.event_type] = max(moment, trace.worked.get(event.event_type, moment))


def _open_agent(event: Event, trace: TraceState) -> None:
    key = _agent_key(event)
    if not trace.open_agents:
        trace.root = key
    if len(trace.open_agents) < MAX_AGENTS:
        trace.open_agents[key] = mark_of(event)
    name = event.agent or event.operation
    if name and name not in trace.agents and len(trace.agents) < MAX_AGENTS:
        trace.agents.append(name)


def _key_of(event: Event) -> str:
    """Under which name a call is open."""
    kind = "model_call" if event.event_type == "model_call" else "tool_call"
    return event.call_id or event.operation or kind


def _agent_key(event: Event) -> str:
    return event.call_id or event.agent or event.operation or ""


def follow(event: Event, trace: TraceState) -> None:
    """Open or close what a copy of another trace's event does: it is counted there."""
    match event.event_type, event.status:
        case ("tool_call", _) | ("model_call", "started"):
            _open(event, trace, True)
            trace.open_calls[_key_of(event)].is_copied = True
        case "tool_result" | "model_call", _:
            trace.open_calls.pop(_key_of(event), None)
        case "agent_start", _:
            _open_agent(event, trace)
        case "agent_end", _:
            trace.open_agents.pop(_agent_key(event), None)
        case "process_error", _:
            trace.open_agents.clear()
            _forget_calls(trace)


def _open(event: Event, trace: TraceState, implied: bool) -> None:
    key = event.call_id or event.operation or event.event_type
    call = OpenCall(
        event.timestamp,
        event.source,
        event.line,
        event.offset,
        event.event_type,
        event.operation,
        event.arguments_hash,
        event.agent,
        event.call_id,
        event.attempt,
        trace.events,
        implied,
    )
    open_calls = trace.open_calls
    before = open_calls.get(key)
    if before is not None and before.implied and not implied:
        call.later = before.later  # the retry has announced this very call
        if call.attempt is None:
            call.attempt = before.attempt
        open_calls[key] = call
    elif before is None:
        if len(open_calls) >= MAX_OPEN_CALLS:
            del open_calls[next(iter(open_calls))]
            trace.evicted += 1
        open_calls[key] = call
    elif event.call_id is not None:
        open_calls[key] = call  # the same call told again
    elif before.later is None:
        before.later = [call]
    elif len(before.later) < MAX_OPEN_CALLS:
        before.later.append(call)
    else:
        trace.evicted += 1


def _close(event: Event, trace: TraceState) -> bool:
    """Take the start of this end out of the table; False where there is none."""
    open_calls = trace.open_calls
    key = _key_of(event)
    call = open_calls.pop(key, None)
    if call is None and event.call_id is not None and event.operation is not None:
        call = _adopt(event, open_calls)
    if call is None:
        return False
    if call.implied and not call.is_copied:
        trace.calls += 1  # the retry that announced it is no call, and nothing else has told of it
    if call.later:
        following = call.later.pop(0)
        following.later = call.later
        open_calls[key] = following
    # of what neither says nothing is set: that would cost more than all the looking
    if event.operation is None:
        event.operation = call.operation
    if call.arguments_hash is not None and event.arguments_hash is None:
        event.arguments_hash = call.arguments_hash
    if call.agent is not None and event.agent is None:
        event.agent = call.agent
    if call.attempt is not None and event.attempt is None:
        event.attempt = call.attempt
    if event.duration_seconds is None and event.timestamp >= call.timestamp:
        event.duration_seconds = event.timestamp - call.timestamp
    if event.arguments_hash is not None and event.status == "failed" and event.operation:
        trace.last_arguments[event.operation] = event.arguments_hash
        if len(trace.last_arguments) > MAX_AGENTS:
            del trace.last_arguments[next(iter(trace.last_arguments))]
    return True


def _adopt(event: Event, open_calls: dict[str, OpenCall]) -> OpenCall | None:
    """An end with an id whose start carried none: the open call of the same operation."""
    call = open_calls.get(event.operation or "")
    if call is not None and call.call_id is None:
        return open_calls.pop(event.operation or "")
    return None


def _forget_calls(trace: TraceState) -> None:
    """Nothing is waited for once the run has ended: its open calls are part of that story."""
    trace.open_calls.clear()
