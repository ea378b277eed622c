"""Claude Code transcripts: turns, retries, final API errors, denials, sub-agents, documents."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.claude import transcript
from lastsignal.core.aliases.claude.transcript import TranscriptDecoder
from lastsignal.core.aliases.contract import Drop
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis, diagnose_trace
from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.edges.rulefiles import load_rules

SESSION = "0d9b7c52-aaaa-4bbb-8ccc-1234567890ab"


def line(kind: str, second: int, **fields: Any) -> dict[str, Any]:
    return {
        "parentUuid": None,
        "isSidechain": False,
        "sessionId": SESSION,
        "version": "2.1.200",
        "uuid": f"u-{kind}-{second}",
        "timestamp": f"2026-03-01T09:00:{second:02d}.000Z",
        "type": kind,
        **fields,
    }


def said(second: int, message_id: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {
        "id": message_id,
        "model": "claude-test-1",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": fields.pop("stop_reason", "end_turn"),
        "usage": {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 7},
    }
    return line("assistant", second, message=message, **fields)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(second: int, call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if "is_error" in fields:
        block["is_error"] = fields.pop("is_error")
    return line("user", second, message={"role": "user", "content": [block]}, **fields)


def prompt(second: int, words: str = "Please do the 429 thing") -> dict[str, Any]:
    return line("user", second, message={"role": "user", "content": words})


def read(*records: dict[str, Any]) -> tuple[list[Event], Reader]:
    reader = Reader("session.jsonl", LADDER, 0.0)
    events: list[Event] = []
    for number, record in enumerate(records, 1):
        events += reader.read([(json.dumps(record).encode(), number * 1000, number)])
    return events, reader


def diagnosed(*records: dict[str, Any]) -> Diagnosis:
    engine = Engine([])
    engine.feed(read(*records)[0])
    return diagnose_trace(engine, engine.traces[SESSION])


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_turn_is_a_run_from_the_first_answer_to_its_end() -> None:
    events, reader = read(
        prompt(1),
        said(2, "m1", text("Running it"), call("t1", command="ls"), stop_reason="tool_use"),
        result(4, "t1", "a.txt", is_error=False),
        said(6, "m2", text("Done, no timeout error seen")),
        line("system", 6, subtype="turn_duration", durationMs=5000),
    )
    assert shape(events) == [
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude-test-1", "completed"),
        ("tool_call", "Bash", "started"),
        ("tool_result", "Bash", "completed"),
        ("model_call", "claude-test-1", "completed"),
        ("agent_end", "claude-code", "completed"),
    ]
    assert {event.trace_id for event in events} == {SESSION}
    assert {event.framework for event in events} == {"claude-code"}
    assert events[0].call_id == events[-1].call_id == events[2].parent_id == SESSION
    assert events[0].parent_id is None
    assert events[2].call_id == events[3].call_id == "t1"
    assert events[2].arguments_hash is not None
    assert events[-1].duration_seconds == 4.0
    assert reader.skipped == {"prompt": 1, "turn_end": 1}


def test_a_message_in_several_lines_is_one_call_and_its_tokens_count_once() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": "s"}
    events, reader = read(
        said(1, "m1", thinking, stop_reason="end_turn"),
        said(2, "m1", text("first part")),
        said(3, "m1", text("second part")),
    )
    assert shape(events) == [
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude-test-1", "completed"),
        ("agent_end", "claude-code", "completed"),
    ]
    assert (events[1].input_tokens, events[1].output_tokens) == (43, 7)
    assert events[1].metadata == {"cache_read_tokens": 40}
    assert reader.skipped == {"further_block": 1}


def test_retries_and_the_final_api_error_fail_the_run_with_one_failed_call() -> None:
    wrapped = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    error = {"status": 529, "headers": {"x": "y"}, "error": {"error": wrapped["error"]}}
    events, _ = read(
        said(1, "m0", text("earlier"), stop_reason="tool_use"),
        line(
            "system", 2, subtype="api_error", level="error", error=error,
            retryInMs=1500, retryAttempt=1, maxRetries=10,
        ),
        line("system", 3, subtype="api_error", error=error, retryAttempt=2, maxRetries=10),
        line(
            "assistant", 5, isApiErrorMessage=True, error="overloaded", apiErrorStatus=529,
            message={
                "id": "x1", "model": "<synthetic>", "stop_reason": "stop_sequence",
                "content": [text("API Error: 529 " + json.dumps(wrapped))],
            },
        ),
    )  # fmt: skip
    assert shape(events)[2:] == [
        ("retry", "claude-test-1", "started"),
        ("retry", "claude-test-1", "started"),
        ("model_call", "claude-test-1", "failed"),
        ("agent_end", "claude-code", "failed"),
    ]
    first, _, failed, end = events[2:]
    assert (first.attempt, first.http_status, first.error_message) == (1, 529, "Overloaded")
    assert (first.error_type, first.error_class) == ("overloaded_error", "overloaded")
    assert first.metadata == {"delay_seconds": 1.5, "max_attempts": 10}
    assert (failed.error_message, failed.http_status) == ("Overloaded", 529)
    assert (failed.error_type, failed.error_class) == ("overloaded", "overloaded")
    assert (end.error_message, end.error_class) == ("Overloaded", "overloaded")


def test_a_session_that_goes_on_after_an_api_error_ends_well() -> None:
    events, _ = read(
        line(
            "assistant", 1, isApiErrorMessage=True, error="authentication_failed",
            message={"id": "x", "model": "<synthetic>", "content": [text("Please run /login")]},
        ),
        prompt(5, "again"),
        said(6, "m1", text("hello")),
    )  # fmt: skip
    assert shape(events) == [
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude", "failed"),
        ("agent_end", "claude-code", "failed"),
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude", "completed"),
        ("agent_end", "claude-code", "completed"),
    ]
    assert (events[1].error_class, events[1].error_message) == ("auth", "Please run /login")


def test_an_older_api_error_without_codes_takes_them_from_its_text() -> None:
    events, _ = read(
        line(
            "assistant", 1, isApiErrorMessage=True,
            message={
                "model": "<synthetic>",
                "content": [text("API Error: 500 due to tool use concurrency issues.")],
            },
        ),
    )  # fmt: skip
    assert events[1].http_status == 500
    assert events[1].error_class == "server_error"


def test_a_failed_tool_does_not_fail_the_run() -> None:
    events, _ = read(
        said(1, "m1", call("t1", command="node x.js"), stop_reason="tool_use"),
        result(2, "t1", "Exit code 1\n429 tests, TimeoutError in one", is_error=True),
        said(3, "m2", text("fixed")),
    )
    assert (events[3].status, events[3].error_message) == ("failed", "Exit code 1")
    assert (events[3].error_class, events[3].metadata) == ("tool_error", {"exit_code": 1})
    assert (events[-1].event_type, events[-1].status) == ("agent_end", "completed")


def test_the_tag_around_a_tool_error_is_not_part_of_the_message() -> None:
    wrapped = "<tool_use_error>String to replace not found in file.\nString: x</tool_use_error>"
    events, _ = read(
        said(1, "m1", call("t1", "Edit"), stop_reason="tool_use"),
        result(2, "t1", [text(wrapped)], is_error=True),
    )
    assert events[3].error_message == "String to replace not found in file."


def test_calls_that_were_not_carried_out_are_aborted() -> None:
    refusals = [
        result(2, "t1", "The user doesn't want to proceed with this tool use. STOP", is_error=True),
        result(3, "t2", "blocked", is_error=True, toolDenialKind="permission-rule"),
        result(
            4, "t3", "<tool_use_error>Sibling tool call errored</tool_use_error>", is_error=True
        ),
        result(5, "t4", "half", toolUseResult={"stdout": "half", "interrupted": True}),
    ]
    calls = [call(f"t{number}", command=str(number)) for number in range(1, 5)]
    events, _ = read(said(1, "m1", *calls, stop_reason="tool_use"), *refusals)
    results = [event for event in events if event.event_type == "tool_result"]
    assert [event.status for event in results] == ["aborted"] * 4
    assert results[1].error_type == "permission-rule"
    denied = [event for event in events if event.event_type == "audit"]
    assert [(event.operation, event.status, event.call_id) for event in denied] == [
        ("permission", "aborted", "t1"),
        ("permission", "aborted", "t2"),
    ]
    assert denied[0].metadata == {"tool_name": "Bash"}


def test_an_interrupted_turn_is_aborted() -> None:
    events, _ = read(
        said(1, "m1", text("let me see"), call("t1"), stop_reason="tool_use"),
        prompt(3, "[Request interrupted by user]"),
    )
    assert shape(events)[-1] == ("agent_end", "claude-code", "aborted")


def test_a_failure_hides_in_the_output_of_foreign_tools_only() -> None:
    broken = '{"error": "quota exceeded for project"}'
    events, _ = read(
        said(1, "m1", call("t1", "mcp__db__query"), call("t2", "Read"), stop_reason="tool_use"),
        result(2, "t1", [text(broken)]),
        result(3, "t2", broken),
    )
    first, second = (event for event in events if event.event_type == "tool_result")
    assert (first.status, first.error_message) == ("failed", "quota exceeded for project")
    assert second.status == "completed"


def test_a_failure_of_the_providers_own_tool_is_known_by_its_code() -> None:
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "tides"}}
    refused = {"type": "web_search_tool_result_error", "error_code": "too_many_requests"}
    answer = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": refused}
    events, _ = read(prompt(0), said(1, "m", use), said(2, "m", answer))

    (end,) = [event for event in events if event.event_type == "tool_result"]
    assert (end.status, end.error_message) == ("failed", "too_many_requests")
    assert (end.error_type, end.error_class) == ("too_many_requests", "rate_limit")


def test_compaction_and_model_switches_are_decisions_on_record() -> None:
    events, reader = read(
        line(
            "system", 1, subtype="compact_boundary",
            compactMetadata={"trigger": "auto", "preTokens": 170000, "postTokens": 8000},
        ),
        line("system", 2, subtype="model_fallback"),
        line("system", 3, subtype="away_summary", content="error error"),
    )  # fmt: skip
    assert shape(events) == [
        ("audit", "compaction", "completed"),
        ("audit", "model_fallback", "completed"),
    ]
    assert events[0].metadata == {
        "trigger": "auto",
        "tokens_before": 170000,
        "tokens_after": 8000,
    }
    assert reader.skipped == {"system_notice": 1}


@pytest.mark.parametrize(
    ("reason", "name", "rule"),
    [
        ("refusal", "content_filter", "content_filter_blocked"),
        ("model_context_window_exceeded", "context_length", "context_overflow"),
    ],
)
def test_an_answer_that_was_refused_fails_its_turn_and_is_told_once(
    reason: str, name: str, rule: str
) -> None:
    answer = said(1, "m1", text("I cannot"), stop_reason=reason)
    answer["message"]["usage"]["cache_read_input_tokens"] = 199_000
    events, _ = read(answer)
    assert shape(events) == [
        ("agent_start", "claude-code", "started"),
        ("model_call", "claude-test-1", "completed"),
        ("agent_end", "claude-code", "failed"),
    ]
    assert (events[1].finish_reason, events[2].error_class) == (reason, name)

    engine = Engine(load_rules())
    engine.feed(events)
    engine.finish()
    cause = diagnose_trace(engine, engine.traces[SESSION]).cause
    assert cause is not None
    assert (cause.rule, sorted({one.line for one in cause.evidence})) == (rule, [1])


def test_a_window_is_not_full_of_a_few_tokens() -> None:
    events, _ = read(said(1, "m1", text("done"), stop_reason="model_context_window_exceeded"))
    assert events[-1].error_class == "unknown"

    engine = Engine(load_rules())
    engine.feed(events)
    engine.finish()
    found = diagnose_trace(engine, engine.traces[SESSION]).findings()
    assert [(one.rule, one.severity) for one in found] == [("run_failed", "warning")]


def test_records_copied_by_a_fork_are_not_counted_again() -> None:
    copied = said(1, "m1", text("old"), forkedFrom={"sessionId": "other", "messageUuid": "u"})
    events, reader = read(copied)
    assert (events, reader.skipped) == ([], {"copied_from_fork": 1})


def test_side_cars_without_times_are_dropped_by_name() -> None:
    events, reader = read(
        {"type": "permission-mode", "permissionMode": "default", "sessionId": SESSION},
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "summary", "summary": "rate limit error work", "leafUuid": "u"},
        {"type": "a-type-of-tomorrow", "sessionId": SESSION},
    )
    assert (events, reader.skipped) == ([], {"side_car": 4})


def test_a_sub_agent_in_the_same_file_is_nested_in_the_session() -> None:
    events, _ = read(
        said(1, "m1", call("t1", "Agent"), stop_reason="tool_use"),
        said(2, "s1", text("found"), isSidechain=True, agentId="a1"),
    )
    start = next(event for event in events[1:] if event.event_type == "agent_start")
    assert (start.call_id, start.parent_id) == (f"{SESSION}/a1", SESSION)
    assert (start.trace_id, start.agent) == (SESSION, "a1")


def test_a_sub_agents_own_file_is_a_trace_of_its_own() -> None:
    fields = {"isSidechain": True, "agentId": "a7", "attributionAgent": "Explore"}
    events, _ = read(
        line("user", 1, message={"role": "user", "content": "look"}, **fields),
        said(2, "s1", call("t1", "Grep"), stop_reason="tool_use", **fields),
        result(3, "t1", "none", **fields),
        said(4, "s2", text("nothing"), **fields),
    )
    assert shape(events)[0] == ("agent_start", "Explore", "started")
    assert shape(events)[-1] == ("agent_end", "Explore", "completed")
    assert {event.trace_id for event in events} == {f"{SESSION}/a7"}
    assert events[0].parent_id is None


def test_a_web_document_yields_events_that_point_at_their_elements() -> None:
    document = {
        "loglines": [
            {"type": "user", "timestamp": "2026-03-01T10:00:00Z", "message": {"content": "go"}},
            {
                "type": "assistant",
                "timestamp": "2026-03-01T10:00:05Z",
                "message": {"role": "assistant", "content": [call("t1", command="pytest")]},
            },
            {
                "type": "user",
                "timestamp": "2026-03-01T10:00:09Z",
                "message": {
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "t1",
                            "content": "Exit code 2",
                            "is_error": True,
                        }
                    ]
                },
            },
            {
                "type": "assistant",
                "timestamp": "2026-03-01T10:00:15Z",
                "message": {"role": "assistant", "content": [text("It failed")]},
            },
        ]
    }
    data = json.dumps(document, indent=1).encode()
    reader = Reader("web.json", LADDER, 0.0)
    events = reader.read([(data, 0, 1)])
    assert [(event.event_type, event.status) for event in events] == [
        ("agent_start", "started"),
        ("model_call", "completed"),
        ("tool_call", "started"),
        ("tool_result", "failed"),
        ("model_call", "completed"),
        ("agent_end", "completed"),
    ]
    failed = events[3]
    assert data[failed.offset :].startswith(b"{")
    assert b"10:00:09Z" in data[failed.offset : failed.offset + 80]
    assert failed.line == data.count(b"\n", 0, failed.offset) + 1
    assert failed.trace_id == "web.json"


def test_old_clients_that_write_no_stop_reason_still_close_their_turns() -> None:
    events, _ = read(said(1, "m1", text("answer"), stop_reason=None))
    assert shape(events)[-1] == ("agent_end", "claude-code", "completed")


def test_a_message_without_a_stop_reason_that_goes_on_in_another_line_has_no_end_before() -> None:
    begun = [
        said(1, "m1", text("I look"), stop_reason=None),
        said(2, "m1", call("t1"), stop_reason=None),
        result(3, "t1", "ok"),
        said(4, "m2", text("It fails"), stop_reason=None),
        said(5, "m2", call("t2"), stop_reason=None),
    ]
    cut = diagnosed(*begun)
    assert cut.outcome == "unfinished"
    assert [(one.at.event_type, one.at.line) for one in cut.timeline] == [("agent_start", 1)]

    failed = result(6, "t2", "Exit code 2", is_error=True)
    ended = diagnosed(*begun, failed, said(7, "m3", text("I give up"), stop_reason=None))
    assert ended.outcome == "recovered"
    assert ended.calls == 5


def test_the_state_survives_a_restart_between_two_lines_of_a_message() -> None:
    first = TranscriptDecoder("s")
    assert isinstance(first.decode(json.dumps(said(1, "m1", text("a"))).encode()), list)
    second = TranscriptDecoder("s")
    second.state = msgspec.msgpack.decode(
        msgspec.msgpack.encode(first.state), type=type(second.state)
    )
    again = second.decode(json.dumps(said(2, "m1", text("b"))).encode())
    assert again == Drop("further_block")


def test_a_record_of_another_agent_with_parts_is_not_recognised() -> None:
    other = line("user", 1, message={"role": "user", "parts": [{"text": "hi"}]})
    assert transcript.recognise(other) is False
    assert transcript.recognise(line("user", 1, message={"role": "user", "content": "hi"})) is True


def test_an_answer_that_was_cut_off_is_given_and_its_turn_is_what_failed() -> None:
    message = {"id": "m9", "model": "<synthetic>", "role": "assistant"}
    message["content"] = [text("API Error: the answer is longer than 32000 tokens")]  # type: ignore[assignment]  # a list
    events, _ = read(
        prompt(1),
        line("assistant", 9, message=message, isApiErrorMessage=True, error="max_output_tokens"),
    )

    call, end = events[-2:]
    assert (call.event_type, call.status, call.finish_reason) == (
        "model_call",
        "completed",
        "max_output_tokens",
    )
    assert (call.error_message, call.error_class) == (None, None)
    assert (end.status, end.error_type) == ("failed", "max_output_tokens")


def test_lines_that_a_resumed_session_repeats_are_counted_once() -> None:
    lines = (prompt(1), said(2, "m1", call("t1")), result(3, "t1", "ok"), said(4, "m2", text("x")))
    events, _ = read(*lines, *lines)

    counted = [one for one in events if not one.event_type.startswith("agent")]
    assert [(one.event_type, one.call_id) for one in counted] == [
        ("model_call", "m1"),
        ("tool_call", "t1"),
        ("tool_result", "t1"),
        ("model_call", "m2"),
    ]
