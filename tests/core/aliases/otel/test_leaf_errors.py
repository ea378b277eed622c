"""One cause, many error records: what counts as a failure, and what only passes it on."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.otel import sdk
from lastsignal.core.aliases.otel.surroundings import MAX_NOTES, Surroundings

RATE_LIMITED = ("openai.RateLimitError", "Error code: 429 - slow down")
TIMED_OUT = ("TimeoutError", "lookup timed out")


def chat(span: Any, number: int, parent: int | None, **more: Any) -> Any:
    return span("chat m", number, parent, gen_ai__operation__name="chat", **more)


def tool(span: Any, number: int, parent: int | None, name: str = "lookup", **more: Any) -> Any:
    return span(
        f"execute_tool {name}",
        number,
        parent,
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name=name,
        **more,
    )


def agent(
    span: Any, number: int, parent: int | None = None, name: str = "triage", **more: Any
) -> Any:
    return span(
        f"invoke_agent {name}",
        number,
        parent,
        gen_ai__operation__name="invoke_agent",
        gen_ai__agent__name=name,
        **more,
    )


def step(span: Any, number: int, parent: int | None, **more: Any) -> Any:
    return span("execute_task plan", number, parent, gen_ai__operation__name="execute_task", **more)


def test_the_error_of_ancestors_is_the_verdict_and_no_second_failure(
    span: Any, read: Any, failures: Any
) -> None:
    failed: Any = {"status": "ERROR", "raised": RATE_LIMITED}
    events = read(chat(span, 3, 2, **failed), step(span, 2, 1, **failed), agent(span, 1, **failed))
    assert failures(events) == [
        ("model_call", "m", "rate_limit"),
        ("agent_end", "triage", "rate_limit"),
    ]


def test_a_handled_tool_error_leaves_the_run_completed(span: Any, read: Any, failures: Any) -> None:
    events = read(tool(span, 2, 1, status="ERROR", raised=TIMED_OUT), agent(span, 1, status="OK"))
    assert failures(events) == [("tool_result", "lookup", "timeout")]
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "completed")


def test_a_crash_of_the_agent_itself_is_a_process_error(
    span: Any, read: Any, failures: Any
) -> None:
    events = read(
        tool(span, 3, 2, status="ERROR", raised=TIMED_OUT),
        step(span, 2, 1, status="OK"),
        agent(span, 1, status="ERROR", raised=("KeyError", "'answer'")),
    )
    assert failures(events) == [
        ("tool_result", "lookup", "timeout"),
        ("process_error", "triage", "crash"),
        ("agent_end", "triage", "crash"),
    ]
    assert events[-2].parent_id == events[-1].call_id


def test_an_agent_that_only_says_that_it_failed_has_no_crash_beside_its_end(
    span: Any, read: Any, failures: Any
) -> None:
    for more in ({}, {"error__type": "_OTHER"}):
        events = read(agent(span, 1, status="ERROR", **more))
        assert failures(events) == [("agent_end", "triage", "unknown")]
    (step_failed, *_) = failures(read(step(span, 2, 1, status="ERROR"), agent(span, 1)))
    assert step_failed[0] == "tool_result"


@pytest.mark.parametrize(
    ("kind", "message", "operation", "limit"),
    [
        ("GraphRecursionError", "Recursion limit of 7 reached", "recursion_limit", 7),
        ("MaxTurnsExceeded", "Max turns (10) exceeded", "turn_limit", 10),
        ("UsageLimitExceeded", "would exceed the request_limit of 50", "step_limit", 50),
        ("BudgetExceeded", "Budget has been exceeded: limit 1.5", "budget", 1.5),
        ("InputGuardrailTripwireTriggered", "tripwire", "guardrail", None),
    ],
)
def test_a_limit_is_an_audit_even_after_failures_below(
    span: Any, read: Any, kind: str, message: str, operation: str, limit: float | None
) -> None:
    events = read(
        tool(span, 2, 1, status="ERROR", raised=TIMED_OUT),
        agent(span, 1, status="ERROR", raised=(f"library.errors.{kind}", message)),
    )
    audit = next(event for event in events if event.event_type == "audit")
    assert (audit.operation, audit.status, audit.error_type) == (operation, "failed", kind)
    assert audit.metadata == ({} if limit is None else {"limit": limit})
    assert events[-1].error_message == message


def test_a_rate_limit_is_no_limit_of_the_agent(span: Any, read: Any, failures: Any) -> None:
    events = read(agent(span, 1, status="ERROR", raised=("RateLimitExceeded", "429")))
    assert [name for name, _, _ in failures(events)] == ["model_call", "agent_end"]


def test_a_limit_told_by_an_inner_wrapper_is_not_told_again(span: Any, read: Any) -> None:
    reached: Any = {"status": "ERROR", "raised": ("GraphRecursionError", "Recursion limit of 7")}
    events = read(step(span, 2, 1, **reached), agent(span, 1, **reached))
    assert [(e.event_type, e.status) for e in events] == [
        ("agent_start", "started"),
        ("audit", "failed"),
        ("agent_end", "failed"),
    ]


def test_a_tool_whose_inner_agent_failed_was_cut_short(span: Any, read: Any, failures: Any) -> None:
    failed: Any = {"status": "ERROR", "raised": RATE_LIMITED}
    events = read(
        chat(span, 4, 3, **failed),
        agent(span, 3, 2, "helper", **failed),
        tool(span, 2, 1, "delegate", **failed),
        agent(span, 1, **failed),
    )
    assert failures(events) == [
        ("model_call", "m", "rate_limit"),
        ("agent_end", "helper", "rate_limit"),
        ("agent_end", "triage", "rate_limit"),
    ]
    cut = next(event for event in events if event.event_type == "tool_result")
    assert (cut.status, cut.metadata) == ("aborted", {"cause_below": True})


def test_a_tool_that_fails_after_its_inner_call_recovered_fails_itself(
    span: Any, read: Any, failures: Any
) -> None:
    events = read(
        chat(span, 3, 2, at=(0.0, 0.2), status="ERROR", raised=RATE_LIMITED),
        chat(span, 4, 2, at=(0.3, 0.5)),
        tool(span, 2, 1, status="ERROR", raised=("ValueError", "bad row")),
    )
    assert failures(events)[-1] == ("tool_result", "lookup", "tool_error")


def test_a_model_call_told_by_two_libraries_counts_once(span: Any, read: Any) -> None:
    used: Any = {"gen_ai__usage__input_tokens": 50, "gen_ai__usage__output_tokens": 4}
    events = read(chat(span, 3, 2, **used), chat(span, 2, 1, **used), agent(span, 1))
    calls = [event for event in events if event.event_type == "model_call"]
    assert [(event.call_id, event.input_tokens) for event in calls] == [
        ("0000000000000003", None),
        ("0000000000000003", 50),
    ]


def test_an_outer_model_span_that_fails_alone_tells_its_failure_without_tokens(
    span: Any, read: Any
) -> None:
    used: Any = {"gen_ai__usage__input_tokens": 50}
    events = read(
        chat(span, 3, 2, **used),
        chat(span, 2, 1, status="ERROR", raised=("ValidationError", "no JSON"), **used),
    )
    assert [(e.status, e.input_tokens) for e in events if e.status != "started"] == [
        ("completed", 50),
        ("failed", None),
    ]


def test_a_tool_call_told_on_both_sides_counts_once(span: Any, read: Any) -> None:
    events = read(tool(span, 3, 2), tool(span, 2, 1))
    assert [(e.event_type, e.call_id) for e in events] == [
        ("tool_call", "0000000000000003"),
        ("tool_result", "0000000000000003"),
    ]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("asyncio.CancelledError", "aborted"),
        ("langgraph.errors.GraphInterrupt", "aborted"),
        ("langgraph.errors.ParentCommand", "completed"),
    ],
)
def test_stopped_work_and_control_flow_are_no_failures(
    span: Any, read: Any, kind: str, status: str
) -> None:
    events = read(tool(span, 2, 1, status="ERROR", raised=(kind, "")))
    assert events[-1].status == status


def test_an_exception_event_alone_is_no_failure(span: Any, read: Any, failures: Any) -> None:
    assert failures(read(tool(span, 2, 1, raised=TIMED_OUT))) == []


def test_error_type_on_a_call_without_status_is_a_failure(
    span: Any, read: Any, failures: Any
) -> None:
    assert failures(read(chat(span, 2, 1, error__type="timeout"))) == [
        ("model_call", "m", "timeout")
    ]


def test_a_failure_hidden_in_a_tools_output_is_found(span: Any, read: Any) -> None:
    hidden = [
        '{"error": "no such city"}',
        '{"result": {"result": {"status": "error", "message": "no such city"}}}',
        '{"content": [{"type": "text", "text": "no such city"}], "isError": true}',
        '"Error: no such city"',
    ]
    for number, output in enumerate(hidden):
        events = read(tool(span, number + 2, 1, gen_ai__tool__call__result=output))
        failed = next(event for event in events if event.status == "failed")
        assert (failed.error_message or "").endswith("no such city")


def test_a_tools_output_about_errors_is_content(span: Any, read: Any, failures: Any) -> None:
    for number, output in enumerate(
        [
            "The handbook says: Error: means a failure",
            '{"status": "ok", "data": {"error": null, "note": "timeout"}}',
            '[{"text": "all fine"}]',
        ]
    ):
        assert failures(read(tool(span, number + 2, 1, gen_ai__tool__call__result=output))) == []


def test_the_outermost_span_without_parent_is_the_run(span: Any, read: Any) -> None:
    events = read(chat(span, 3, 2), span("handle ticket", 2, 1), span("main", 1, at=(-1.0, 9.0)))
    assert [(e.event_type, e.operation, e.status) for e in (events[0], events[-1])] == [
        ("agent_start", "main", "started"),
        ("agent_end", "main", "completed"),
    ]


def test_a_servers_request_around_an_agent_is_not_another_run(span: Any, read: Any) -> None:
    request = span("POST /ask", 1)
    request["kind"] = "SpanKind.SERVER"
    events = read(agent(span, 2, 1), request)
    assert {event.operation for event in events} == {"triage"}


def test_a_servers_request_around_bare_calls_is_the_run(span: Any, read: Any) -> None:
    request = span("POST /ask", 1)
    request["kind"] = "SpanKind.SERVER"
    events = read(chat(span, 2, 1), request)
    assert [e.operation for e in events if e.event_type == "agent_end"] == ["POST /ask"]


def test_spans_without_any_call_say_nothing(span: Any, read_records: Any) -> None:
    record = msgspec.json.encode(span("test_span", 1, status="ERROR"))
    events, skipped = read_records(sdk.DIALECT, [record])
    assert (events, skipped) == ([], {"structural_span": 1})


def test_what_is_remembered_survives_a_restart(span: Any, failures: Any) -> None:
    failed: Any = {"status": "ERROR", "raised": RATE_LIMITED}
    before, after = sdk.DIALECT.decoder("s"), sdk.DIALECT.decoder("s")
    before.decode(msgspec.json.encode(chat(span, 2, 1, **failed)))
    saved = msgspec.msgpack.encode(before.state)
    after.state = msgspec.msgpack.decode(saved, type=type(before.state))
    events = after.decode(msgspec.json.encode(agent(span, 1, **failed)))
    assert isinstance(events, list)
    assert [(e.event_type, e.status) for e in events] == [
        ("agent_start", "started"),
        ("agent_end", "failed"),
    ]


def test_memory_of_spans_is_bounded() -> None:
    state = Surroundings()
    for number in range(MAX_NOTES + 50):
        state.is_new(f"t/{number}")
        state.for_parent(f"t/{number}", "t")
        state.add_cause(f"t{number}", "went wrong")
        state.note_outermost(f"t{number}")
    known = (state.seen, state.below, state.causes, state.whole)
    assert [len(one) for one in known] == [MAX_NOTES] * 4
    assert not state.is_new(f"t/{MAX_NOTES + 49}")
    assert state.is_new("t/0")
