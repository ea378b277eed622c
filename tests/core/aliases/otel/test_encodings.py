"""One run, whatever encoding carries it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from kit.otel_encodings import ENCODINGS, gathered, key_values, request, sdk_compact

from lastsignal.core.aliases.contract import Drop, NotThisDialect
from lastsignal.core.aliases.otel import jaeger, otlp, sdk, span_export
from lastsignal.core.aliases.otel.spans import normalise_id, span_status, span_time
from lastsignal.core.events import Event


def failing_run(span: Any) -> list[dict[str, Any]]:
    """Two rate-limited calls, a tool that times out, a call that works, an agent that gives up."""
    common = {"gen_ai__provider__name": "openai", "gen_ai__request__model": "gpt-5-mini"}
    chats = [
        span(
            "chat gpt-5-mini",
            10 + attempt,
            1,
            at=(attempt + 0.25, attempt + 0.75),
            status="ERROR",
            says="RateLimitError: slow down",
            raised=("openai.RateLimitError", "slow down"),
            gen_ai__operation__name="chat",
            http__request__resend_count=attempt,
            error__type="429",
            http__response__status_code=429,
            **common,
        )
        for attempt in range(2)
    ]
    tool = span(
        "execute_tool lookup",
        20,
        1,
        at=(2.0, 3.5),
        status="ERROR",
        raised=("TimeoutError", "lookup timed out"),
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="lookup",
        gen_ai__tool__call__arguments='{"id": 7}',
    )
    answer = span(
        "chat gpt-5-mini",
        30,
        1,
        at=(3.6, 4.1),
        gen_ai__operation__name="chat",
        gen_ai__usage__input_tokens=120,
        gen_ai__usage__output_tokens=8,
        gen_ai__response__finish_reasons=["stop"],
        **common,
    )
    agent = span(
        "invoke_agent triage",
        1,
        at=(0.0, 4.2),
        status="ERROR",
        says="gave up",
        gen_ai__operation__name="invoke_agent",
        gen_ai__agent__name="triage",
    )
    return [*chats, tool, answer, agent]


def comparable(events: list[Event]) -> list[dict[str, Any]]:
    found = [msgspec.structs.asdict(event) for event in events]
    for event in found:
        for place in ("line", "offset", "framework"):
            del event[place]
    return found


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_one_run_gives_the_same_events(
    encoding: str, span: Any, read_records: Any
) -> None:
    run = failing_run(span)
    expected, _ = read_records(sdk.DIALECT, sdk_compact(run))
    dialect, encode = ENCODINGS[encoding]
    found, skipped = read_records(dialect, encode(run))
    assert comparable(found) == comparable(expected)
    assert skipped == {}


def test_a_failing_run_becomes_calls_retries_and_one_verdict(span: Any, read: Any) -> None:
    events = read(*failing_run(span))
    assert [(e.event_type, e.status, e.operation, e.attempt) for e in events] == [
        ("agent_start", "started", "triage", None),
        ("model_call", "started", "gpt-5-mini", None),
        ("model_call", "failed", "gpt-5-mini", None),
        ("retry", "started", "gpt-5-mini", 1),
        ("model_call", "started", "gpt-5-mini", None),
        ("model_call", "failed", "gpt-5-mini", None),
        ("tool_call", "started", "lookup", None),
        ("tool_result", "failed", "lookup", None),
        ("model_call", "started", "gpt-5-mini", None),
        ("model_call", "completed", "gpt-5-mini", None),
        ("agent_end", "failed", "triage", None),
    ]
    limited, again, tool, answer, end = (events[place] for place in (2, 3, 7, 9, 10))
    assert (limited.http_status, limited.error_type, limited.error_class) == (
        429,
        "RateLimitError",
        "rate_limit",
    )
    assert (again.error_message, again.http_status) == ("slow down", 429)
    assert (tool.error_message, tool.error_class, tool.duration_seconds) == (
        "lookup timed out",
        "timeout",
        1.5,
    )
    assert (answer.input_tokens, answer.output_tokens, answer.finish_reason) == (120, 8, "stop")
    assert (end.error_message, end.parent_id, end.metadata) == (
        "gave up",
        None,
        {"cause_below": True},
    )
    assert events[6].arguments_hash is not None
    assert {event.call_id for event in events[1:3]} == {"000000000000000a"}


def test_events_of_a_document_point_at_their_span(span: Any, read_records: Any) -> None:
    (document,) = gathered(failing_run(span))
    events, _ = read_records(span_export.DIALECT, [document])
    tool = next(event for event in events if event.event_type == "tool_result")
    assert document[tool.offset :].startswith(b'{\n          "name": "execute_tool lookup"')
    assert document.count(b"\n", 0, tool.offset) + 1 == tool.line


def jaeger_document(span_list: list[dict[str, Any]]) -> bytes:
    trace = {"traceID": "9f", "spans": span_list, "processes": {"p1": {"serviceName": "triage"}}}
    return json.dumps({"data": [trace], "total": 0}).encode()


def jaeger_span(
    number: str, name: str, start: int, parent: str = "", **tags: Any
) -> dict[str, Any]:
    return {
        "traceID": "9f",
        "spanID": number,
        "operationName": name,
        "references": [{"refType": "CHILD_OF", "spanID": parent}] if parent else [],
        "startTime": 1_760_000_000_000_000 + start,
        "duration": 500_000,
        "tags": [
            {"key": key.replace("__", "."), "type": "string", "value": value}
            for key, value in tags.items()
        ],
        "logs": [],
    }


def test_jaeger_spans_are_read_with_tags_references_and_logs(read_records: Any) -> None:
    tool = jaeger_span(
        "b2",
        "execute_tool lookup",
        10,
        "a1",
        gen_ai__operation__name="execute_tool",
        gen_ai__tool__name="lookup",
        otel__status_code="ERROR",
    )
    tool["logs"] = [
        {
            "timestamp": 1_760_000_000_100_000,
            "fields": [
                {"key": "event", "type": "string", "value": "exception"},
                {"key": "exception.type", "type": "string", "value": "ConnectionError"},
                {"key": "exception.message", "type": "string", "value": "connection refused"},
            ],
        }
    ]
    agent = jaeger_span("a1", "invoke_agent triage", 0, gen_ai__operation__name="invoke_agent")
    events, _ = read_records(jaeger.DIALECT, [jaeger_document([agent, tool])])
    assert [(e.event_type, e.status, e.call_id, e.parent_id) for e in events] == [
        ("agent_start", "started", "a1", None),
        ("tool_call", "started", "b2", "a1"),
        ("agent_end", "completed", "a1", None),
        ("tool_result", "failed", "b2", "a1"),
    ]
    failed = events[-1]
    assert (failed.timestamp, failed.duration_seconds) == (1_760_000_000.50001, 0.5)
    assert (failed.error_message, failed.error_class) == ("connection refused", "connection")


def test_http_errors_and_noted_exceptions_are_no_failures(read_records: Any) -> None:
    probe = jaeger_span(
        "c3", "GET", 5, "a1", error="true", otel__status_code="ERROR", span__kind="client"
    )
    queue = jaeger_span("d4", "dequeue", 6, "a1")
    queue["logs"] = [
        {
            "fields": [
                {"key": "event", "value": "exception"},
                {"key": "exception.type", "value": "asyncio.CancelledError"},
            ]
        }
    ]
    agent = jaeger_span(
        "a1", "invoke_agent triage", 0, "e5", gen_ai__operation__name="invoke_agent"
    )
    server = jaeger_span("e5", "POST /", 0, span__kind="server")
    events, _ = read_records(jaeger.DIALECT, [jaeger_document([probe, queue, server, agent])])
    assert [(e.event_type, e.status, e.parent_id) for e in events] == [
        ("agent_start", "started", None),
        ("agent_end", "completed", None),
    ]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"resourceLogs": []}, "otlp_logs"),
        ({"resource_metrics": [{}]}, "otlp_metrics"),
        ({"resourceSpans": []}, "empty_document"),
        ({"resourceSpans": [{"scopeSpans": [5, {"spans": "none"}]}]}, "empty_document"),
    ],
)
def test_exports_without_spans_are_dropped_for_a_named_reason(document: Any, reason: str) -> None:
    decoder = otlp.DIALECT.decoder("source")
    assert decoder.decode(json.dumps(document).encode()) == Drop(reason)


@pytest.mark.parametrize("dialect", [otlp, sdk, span_export, jaeger])
@pytest.mark.parametrize("value", [None, 5, [], {}, {"data": 3}, {"traces": [7]}, {"name": "x"}])
def test_other_records_are_refused(dialect: Any, value: Any) -> None:
    assert not dialect.DIALECT.recognise(value)
    with pytest.raises(NotThisDialect):
        dialect.DIALECT.decoder("source").decode(json.dumps(value).encode())


def test_hostile_types_lose_only_themselves(span: Any, read: Any) -> None:
    odd = span("execute_tool lookup", 2, at=(0.0, 1.0), gen_ai__operation__name="execute_tool")
    odd |= {"status": "nonsense", "events": {"a": 1}, "parent_id": ["x"], "kind": {}}
    events = read(odd)
    assert [(e.event_type, e.status, e.operation) for e in events] == [
        ("tool_call", "started", "lookup"),
        ("tool_result", "completed", "lookup"),
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("0xAB01", "ab01"),
        ("q80BAAAAAAA=", "abcd010000000000"),
        ("AAAAAAAAAAA=", ""),
        ("0000000000000000", ""),
        ("invoke-1", "invoke-1"),
        (255, "ff"),
        (None, ""),
        (True, ""),
    ],
)
def test_ids_become_bare_hex(written: object, expected: str) -> None:
    assert normalise_id(written) == expected


def test_statuses_are_known_as_number_digit_word_and_enum_name() -> None:
    written = [2, "2", "ERROR", "STATUS_CODE_ERROR", "StatusCode.ERROR", 1, "OK", 0, None, {}]
    assert [span_status(code) for code in written] == ["error"] * 5 + ["ok"] * 2 + ["unset"] * 3


def test_nanoseconds_round_like_the_iso_text_of_the_same_instant() -> None:
    assert span_time("1760000000123456789") == span_time("2025-10-09T08:53:20.123457Z")
    assert span_time(1_760_000_000_123_456_000) == 1_760_000_000.123456
    assert span_time("0") is None


@pytest.mark.parametrize("beyond", [10**19, 2**64, 10**400])
def test_a_number_beyond_all_nanoseconds_is_no_time(beyond: int) -> None:
    assert span_time(beyond) is None


def test_an_unfinished_span_is_a_start_alone(span: Any, read: Any) -> None:
    going_on = span("execute_tool lookup", 2, gen_ai__operation__name="execute_tool")
    going_on["end_time"] = None
    assert [(e.event_type, e.status) for e in read(going_on)] == [("tool_call", "started")]


def test_a_span_exported_while_it_runs_and_again_when_it_ends_is_one_call(
    span: Any, read_records: Any
) -> None:
    ended = span("chat", 1, gen_ai__operation__name="chat", gen_ai__request__model="m")
    running = {**ended, "end_time": None}
    told = sdk_compact([running, running, ended, running, ended])
    events, skipped = read_records(sdk.DIALECT, told)

    assert [(one.event_type, one.status) for one in events] == [
        ("model_call", "started"),
        ("model_call", "completed"),
    ]
    assert skipped == {"duplicate_span": 3}


def test_a_span_exported_twice_counts_once(span: Any, read_records: Any) -> None:
    chat = span("chat m", 2, gen_ai__operation__name="chat", gen_ai__usage__input_tokens=9)
    events, skipped = read_records(sdk.DIALECT, sdk_compact([chat, chat]))
    assert [event.input_tokens for event in events] == [None, 9]
    assert skipped == {"duplicate_span": 1}


def test_a_span_without_ids_still_pairs_its_start_and_end(read_records: Any) -> None:
    one = {
        "name": "ToolCall",
        "startTimeUnixNano": "1760000000000000000",
        "endTimeUnixNano": "1760000006000000000",
        "attributes": key_values({"mas.agent.id": "planner", "mas.tool.name": "book"}),
    }
    events, _ = read_records(otlp.DIALECT, [request([one])])
    assert [(e.event_type, e.status, e.operation, e.duration_seconds) for e in events] == [
        ("tool_call", "started", "book", None),
        ("tool_result", "completed", "book", 6.0),
    ]
    assert events[0].call_id == events[1].call_id
    assert events[0].call_id
    assert events[0].trace_id == "trace.jsonl"
