"""Codex rollouts of all ages, forks, and `codex exec --json`."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from lastsignal.core.aliases.codex.outputs import judge_output
from lastsignal.core.aliases.codex.rollout import RolloutDecoder
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event, metadata_of

SESSION = "01aa-test-session"


def record(second: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-04-01T08:00:{second:02d}.000Z", "type": kind, "payload": payload}


def message(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return record(second, "event_msg", type=kind, **fields)


def item(second: int, kind: str, **fields: Any) -> dict[str, Any]:
    return record(second, "response_item", type=kind, **fields)


def usage(second: int, total: int, last: int, **limits: Any) -> dict[str, Any]:
    return message(
        second,
        "token_count",
        info={
            "total_token_usage": {"input_tokens": total, "output_tokens": 9, "total_tokens": total},
            "last_token_usage": {"input_tokens": last, "output_tokens": 5, "total_tokens": last},
            "model_context_window": 200000,
        },
        rate_limits=limits or None,
    )


META = record(0, "session_meta", id=SESSION, cli_version="0.150.0")
CONTEXT = record(1, "turn_context", model="gpt-test-codex", cwd="/tmp")
STARTED = message(1, "task_started", turn_id="t1")


def read(*records: dict[str, Any]) -> tuple[list[Event], Reader]:
    reader = Reader("rollout.jsonl", LADDER, 0.0)
    events: list[Event] = []
    for number, value in enumerate(records, 1):
        events += reader.read([(json.dumps(value).encode(), number * 1000, number)])
    return events + reader.finish(), reader


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_turn_that_says_its_start_and_end_is_a_run() -> None:
    events, reader = read(
        META,
        STARTED,
        CONTEXT,
        item(2, "message", role="user", content=[{"type": "input_text", "text": "429 timeout"}]),
        item(3, "function_call", name="shell", call_id="c1", arguments='{"command": ["ls"]}'),
        item(4, "function_call_output", call_id="c1", output="Exit code: 0\nOutput:\nError: x"),
        usage(5, 100, 100),
        usage(5, 100, 100, limit_id="other"),
        item(6, "message", role="assistant", content=[{"type": "output_text", "text": "done"}]),
        message(7, "task_complete", turn_id="t1", last_agent_message="done"),
    )
    assert shape(events) == [
        ("agent_start", "codex", "started"),
        ("tool_call", "shell", "started"),
        ("tool_result", "shell", "completed"),
        ("model_call", "gpt-test-codex", "completed"),
        ("agent_end", "codex", "completed"),
    ]
    assert {event.trace_id for event in events} == {SESSION}
    assert (events[3].input_tokens, events[3].output_tokens) == (100, 5)
    assert events[-1].duration_seconds == 6.0
    assert reader.skipped == {
        "session_header": 1, "turn_context": 1, "message": 2, "repeated_usage": 1,
    }  # fmt: skip


def test_a_turn_without_an_answer_at_a_used_up_limit_failed_for_it() -> None:
    limit = {"primary": {"used_percent": 100.0}, "rate_limit_reached_type": None}
    events, _ = read(
        META,
        STARTED,
        CONTEXT,
        message(3, "token_count", info=None, rate_limits=limit),
        message(4, "task_complete", last_agent_message=None),
    )
    assert shape(events) == [
        ("agent_start", "codex", "started"),
        ("model_call", "gpt-test-codex", "failed"),
        ("agent_end", "codex", "failed"),
    ]
    for failed in events[1:]:
        assert failed.error_class == "rate_limit"
        assert failed.error_message == "The rate limit of the plan is reached (primary 100 %)"


@pytest.mark.parametrize(
    ("kind", "error_class", "words"),
    [
        ("primary", "rate_limit", "The rate limit of the plan is reached (primary)"),
        ("rate_limit_reached", "rate_limit", "The rate limit of the plan is reached"),
        (
            {"type": "workspace_member_credits_depleted"},
            "quota",
            "The usage limit of the plan is reached (workspace_member_credits_depleted)",
        ),
    ],
)
def test_a_limit_that_is_reached_by_name_is_told_in_words_by_the_call_and_the_end(
    kind: object, error_class: str, words: str
) -> None:
    limit = {"rate_limit_reached_type": kind}
    events, _ = read(
        META,
        STARTED,
        message(3, "token_count", info=None, rate_limits=limit),
        message(4, "task_complete", last_agent_message=None),
    )
    assert [event.event_type for event in events[1:]] == ["model_call", "agent_end"]
    for failed in events[1:]:
        assert (failed.status, failed.error_class) == ("failed", error_class)
        assert failed.error_message == words


def test_where_only_sums_are_told_a_call_used_what_they_have_grown_by() -> None:
    def sums(second: int, asked: int, answered: int) -> dict[str, Any]:
        total = {"input_tokens": asked, "output_tokens": answered}
        return message(second, "token_count", info={"total_token_usage": total})

    events, reader = read(
        META, STARTED, sums(1, 100, 10), sums(2, 100, 10), sums(3, 250, 30), sums(4, 40, 5)
    )

    # the last one is less than before: the counter has begun anew
    used = [(e.input_tokens, e.output_tokens) for e in events if e.event_type == "model_call"]
    assert used == [(100, 10), (150, 20), (40, 5)]
    assert reader.skipped["repeated_usage"] == 1


def test_an_older_lost_stream_says_which_attempt_comes_and_why() -> None:
    said = "stream error: 429 Too Many Requests; retrying 2/5 in 387ms…"
    events, _ = read(META, STARTED, message(2, "stream_error", message=said))

    retry = events[-1]
    assert (retry.event_type, retry.attempt, retry.metadata) == ("retry", 2, {"max_attempts": 5})
    assert (retry.error_message, retry.error_class) == ("429 Too Many Requests", "rate_limit")


def test_a_full_limit_does_not_fail_a_turn_that_answers() -> None:
    events, _ = read(
        META,
        STARTED,
        usage(3, 50, 50, primary={"used_percent": 100}),
        message(4, "task_complete", last_agent_message="here"),
    )
    assert [event.status for event in events] == ["started", "completed", "completed"]


def test_an_error_written_at_the_turns_end_is_one_failed_call() -> None:
    error = {"message": "unexpected status 503 Service Unavailable", "codex_error_info": "other"}
    events, _ = read(META, STARTED, message(4, "task_complete", error=error, duration_ms=2500))
    assert shape(events)[1:] == [
        ("model_call", "codex", "failed"),
        ("agent_end", "codex", "failed"),
    ]
    assert (events[1].http_status, events[1].error_class) == (503, "overloaded")
    assert events[2].duration_seconds == 2.5


@pytest.mark.parametrize("error", ["RateLimitError: 429 Too Many Requests", {"message": "x"}])
def test_an_error_beside_the_turns_answer_fails_the_run_and_no_call(error: Any) -> None:
    last = message(4, "task_complete", error=error, last_agent_message="done")
    events, _ = read(META, STARTED, last)
    assert shape(events)[1:] == [("agent_end", "codex", "failed")]
    assert events[-1].error_message is not None
    assert events[-1].metadata == {"contradicted": True}


def test_older_error_events_count_once_with_the_end_of_their_turn() -> None:
    info = {"response_stream_connection_failed": {"http_status_code": 429}}
    error = {"message": "Too many requests", "codex_error_info": info}
    events, reader = read(
        META,
        STARTED,
        message(2, "stream_error", message="Reconnecting... 1/5", codex_error_info=info),
        message(3, "error", **error),
        message(4, "error", **error),
        message(4, "task_complete", error=error),
    )
    assert shape(events)[1:] == [
        ("retry", "codex", "started"),
        ("model_call", "codex", "failed"),
        ("agent_end", "codex", "failed"),
    ]
    assert (events[1].attempt, events[1].metadata) == (1, {"max_attempts": 5})
    assert (events[1].http_status, events[2].http_status) == (429, 429)
    assert reader.skipped["repeated_error"] == 1


def test_an_interrupted_turn_takes_its_open_call_down_as_aborted() -> None:
    events, _ = read(
        META,
        CONTEXT,
        item(3, "function_call", name="shell", call_id="c9", arguments="{}"),
        message(5, "turn_aborted", turn_id="t1", reason="interrupted"),
    )
    assert shape(events)[-2:] == [
        ("tool_result", "shell", "aborted"),
        ("agent_end", "codex", "aborted"),
    ]
    assert events[-2].call_id == "c9"


def test_a_spent_budget_is_a_policy_decision() -> None:
    events, _ = read(META, STARTED, message(5, "turn_aborted", reason="budget_limited"))
    assert shape(events)[1:] == [("audit", "budget", "failed"), ("agent_end", "codex", "failed")]


def test_without_turn_marks_a_final_answer_closes_the_turn() -> None:
    text = [{"type": "output_text", "text": "answer"}]
    events, _ = read(
        META,
        CONTEXT,
        item(2, "message", role="assistant", content=text, phase="commentary"),
        item(3, "function_call", name="shell", call_id="c1", arguments="{}"),
        item(4, "function_call_output", call_id="c1", output="Exit code: 1\nOutput:\nFAILED"),
        item(5, "message", role="assistant", content=text, phase="final_answer"),
        record(6, "compacted", message="summary"),
    )
    assert shape(events) == [
        ("agent_start", "codex", "started"),
        ("tool_call", "shell", "started"),
        ("tool_result", "shell", "failed"),
        ("agent_end", "codex", "completed"),
        ("audit", "compaction", "completed"),
    ]


def test_a_forks_copy_of_its_parent_is_left_out() -> None:
    events, reader = read(
        record(30, "session_meta", id="fork", forked_from_id="parent"),
        record(10, "session_meta", id="parent"),
        item(11, "function_call", name="shell", call_id="old", arguments="{}"),
        usage(12, 900, 900),
        item(31, "function_call", name="shell", call_id="new", arguments="{}"),
    )
    assert [event.call_id for event in events if event.event_type == "tool_call"] == ["new"]
    assert {event.trace_id for event in events} == {"fork"}
    assert reader.skipped == {"session_header": 1, "copied_from_fork": 3}


def stamped(seconds: float, value: dict[str, Any]) -> dict[str, Any]:
    """A record as a fork writes it: with the time of the copying."""
    return {**value, "timestamp": f"2026-04-01T09:00:{seconds:06.3f}Z"}


@pytest.mark.parametrize("says_so", [True, False])
def test_a_forks_copy_with_the_times_of_the_copying_is_left_out(says_so: bool) -> None:
    origin = {"forked_from_id": SESSION} if says_so else {}
    parent = [
        META,
        STARTED,
        CONTEXT,
        item(3, "function_call", name="shell", call_id="c1", arguments="{}"),
        item(4, "function_call_output", call_id="c1", output="Exit code: 1\nOutput:\nno"),
        usage(5, 100, 100),
        message(7, "task_complete", turn_id="t1", last_agent_message="done"),
    ]
    copied = [stamped(number * 0.01, value) for number, value in enumerate(parent, 1)]
    events, reader = read(
        stamped(0, record(0, "session_meta", id="fork", **origin)),
        *copied,
        stamped(6, STARTED),
        stamped(8, item(0, "function_call", name="shell", call_id="c2", arguments="{}")),
        stamped(8.1, item(0, "function_call_output", call_id="c2", output="Exit code: 0\n")),
        stamped(8.2, usage(0, 130, 30)),
        stamped(9, message(0, "task_complete", turn_id="t2", last_agent_message="done")),
    )
    assert shape(events) == [
        ("agent_start", "codex", "started"),
        ("tool_call", "shell", "started"),
        ("tool_result", "shell", "completed"),
        ("model_call", "gpt-test-codex", "completed"),
        ("agent_end", "codex", "completed"),
    ]
    assert {event.trace_id for event in events} == {"fork"}
    assert events[3].input_tokens == 30
    assert reader.skipped == {"session_header": 1, "copied_from_fork": 7}


def test_sums_go_on_from_those_of_the_parent() -> None:
    def total(second: float, tokens: int) -> dict[str, Any]:
        told = {"total_token_usage": {"input_tokens": tokens, "output_tokens": 5}}
        return stamped(second, message(0, "token_count", info=told))

    events, _ = read(
        stamped(0, record(0, "session_meta", id="fork", forked_from_id="parent")),
        total(0.01, 900),
        total(5, 930),
    )
    assert [event.input_tokens for event in events] == [30]


def test_what_a_fork_does_at_once_after_a_pause_is_its_own() -> None:
    events, _ = read(
        stamped(0, record(0, "session_meta", id="fork", forked_from_id="parent")),
        stamped(0.01, item(0, "function_call", name="shell", call_id="old", arguments="{}")),
        stamped(3, item(0, "function_call", name="shell", call_id="c1", arguments="{}")),
        stamped(3.01, item(0, "function_call", name="shell", call_id="c2", arguments="{}")),
    )
    assert [event.call_id for event in events if event.event_type == "tool_call"] == ["c1", "c2"]


def test_a_session_that_is_no_fork_begins_with_its_own() -> None:
    events, _ = read(
        stamped(0, record(0, "session_meta", id="plain")),
        stamped(0.01, item(0, "function_call", name="shell", call_id="c1", arguments="{}")),
    )
    assert [event.call_id for event in events if event.event_type == "tool_call"] == ["c1"]


def test_the_first_layout_with_bare_items_is_read() -> None:
    events, _ = read(
        {"id": "old-1", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": json.dumps(
                {"output": "no such file", "metadata": {"exit_code": 2, "duration_seconds": 0.5}}
            ),
        },
        {"type": "reasoning", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "sorry"}],
        },
    )
    assert shape(events) == [
        ("agent_start", "codex", "started"),
        ("tool_call", "shell", "started"),
        ("tool_result", "shell", "failed"),
        ("agent_end", "codex", "completed"),
    ]
    assert (events[2].metadata, events[2].duration_seconds) == ({"exit_code": 2}, 0.5)
    assert {event.trace_id for event in events} == {"old-1"}


def test_the_first_exec_envelope_is_read() -> None:
    events, _ = read(
        {"id": "0", "msg": {"type": "task_started"}},
        {"id": "0", "msg": {"type": "exec_command_begin", "call_id": "c", "command": ["ls"]}},
        {"id": "0", "msg": {"type": "exec_command_end", "call_id": "c", "exit_code": 127}},
        {"id": "0", "msg": {"type": "error", "message": "exceeded retry limit, last status: 429"}},
    )
    assert shape(events) == [
        ("agent_start", "codex", "started"),
        ("tool_call", "exec_command", "started"),
        ("tool_result", "exec_command", "failed"),
        ("model_call", "codex", "failed"),
    ]
    assert events[3].http_status == 429


@pytest.mark.parametrize(
    ("output", "status", "error"),
    [
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nExit code: 3", "completed", None),
        ("Chunk ID: a\nWall time: 2.5 seconds\nProcess exited with code 4\nOutput:\nx", "failed",
         "Process exited with code 4"),
        ("Wall time: 1 seconds\nProcess running with session ID 7\nOutput:\n", "completed", None),
        ("aborted by user after 3.1s", "aborted", "aborted by user after 3.1s"),
        ("exec command rejected by user", "aborted", "exec command rejected by user"),
        ("apply_patch verification failed: no match", "failed",
         "apply_patch verification failed: no match"),
        ("failed to parse function arguments: missing field `x`", "failed",
         "failed to parse function arguments: missing field `x`"),
        ("The log says: 429 Too Many Requests, timeout", "completed", None),
        ({"content": "denied", "success": False}, "failed", "denied"),
        ([{"type": "input_text", "text": "Exit code: 9\nOutput:\n"}], "failed", "Exit code: 9"),
        ('{"error": "server gone"}', "failed", "server gone"),
        (None, "completed", None),
    ],
)  # fmt: skip
def test_only_the_clients_own_header_decides_on_an_output(
    output: Any, status: str, error: str | None
) -> None:
    judged = judge_output(json.dumps(output).encode())
    assert (judged.status, judged.error.message) == (status, error)


def test_a_command_that_codex_stopped_timed_out() -> None:
    text = "Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 ms"
    judged = judge_output(json.dumps(text).encode())
    assert (judged.error_class, judged.exit_code, judged.seconds) == ("timeout", 124, 10.0)
    assert judged.error.message == "command timed out after 10000 ms"


def test_a_call_ended_by_an_event_is_not_ended_again_by_its_output() -> None:
    events, reader = read(
        META,
        item(2, "local_shell_call", call_id="c1", action={"command": ["x"]}, status="completed"),
        message(3, "exec_command_end", call_id="c1", exit_code=5),
        item(3, "function_call_output", call_id="c1", output="Exit code: 5"),
    )
    assert shape(events)[1:] == [
        ("tool_call", "local_shell", "started"),
        ("tool_result", "local_shell", "failed"),
    ]
    assert reader.skipped["repeated_result"] == 1


def test_the_state_of_a_session_survives_a_restart() -> None:
    first = RolloutDecoder("s")
    first.decode(json.dumps(META).encode())
    first.decode(json.dumps(usage(5, 100, 100)).encode())
    second = RolloutDecoder("s")
    second.state = msgspec.msgpack.decode(
        msgspec.msgpack.encode(first.state), type=type(second.state)
    )
    decoded = second.decode(json.dumps(usage(6, 130, 30)).encode())
    assert isinstance(decoded, list)
    assert (decoded[0].trace_id, decoded[0].input_tokens) == (SESSION, 30)


THREAD = {"type": "thread.started", "thread_id": "th-9"}
TURN = {"type": "turn.started"}


def test_exec_items_are_calls_and_the_turn_tells_the_tokens() -> None:
    command = {"id": "item_0", "type": "command_execution", "command": "make"}
    events, reader = read(
        THREAD,
        TURN,
        {"type": "item.started", "item": {**command, "status": "in_progress"}},
        {"type": "item.completed", "item": {**command, "status": "failed", "exit_code": 2}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "web_search", "query": "q"}},
        {
            "type": "item.completed",
            "item": {"id": "item_2", "type": "agent_message", "text": "429"},
        },
        {"type": "item.completed", "item": {"id": "item_3", "type": "error", "message": "notice"}},
        {"type": "turn.completed", "usage": {"input_tokens": 40, "output_tokens": 4}},
    )
    assert shape(events) == [
        ("agent_start", "codex", "started"),
        ("tool_call", "command_execution", "started"),
        ("tool_result", "command_execution", "failed"),
        ("tool_call", "web_search", "started"),
        ("tool_result", "web_search", "completed"),
        ("model_call", "codex", "completed"),
        ("agent_end", "codex", "completed"),
    ]
    assert events[2].metadata == {"exit_code": 2}
    assert (events[5].input_tokens, events[5].output_tokens) == (40, 4)
    assert {event.trace_id for event in events} == {"th-9"}
    assert reader.skipped == {"session_header": 1, "message": 1, "non_fatal_notice": 1}


def test_exec_reconnects_are_retries_and_the_failed_turn_is_told_once() -> None:
    text = "exceeded retry limit, last status: 429 Too Many Requests"
    events, _ = read(
        THREAD,
        TURN,
        {"type": "error", "message": "Reconnecting... 2/5 (unexpected status 429)"},
        {"type": "error", "message": text},
        {"type": "turn.failed", "error": {"message": text}},
    )
    assert shape(events)[1:] == [
        ("retry", "codex", "started"),
        ("model_call", "codex", "failed"),
        ("agent_end", "codex", "failed"),
    ]
    assert (events[1].attempt, events[1].http_status) == (2, 429)
    assert events[1].error_message == "unexpected status 429"
    assert (events[2].http_status, events[2].error_class) == (429, "rate_limit")
    assert events[3].error_message == text


def test_exec_declined_commands_are_aborted_and_tool_errors_named() -> None:
    declined = {"id": "i0", "type": "command_execution", "command": "rm", "status": "declined"}
    tool = {
        "id": "i1", "type": "mcp_tool_call", "server": "s", "tool": "query", "status": "failed",
        "error": {"message": "connection refused"},
    }  # fmt: skip
    events, _ = read(
        THREAD,
        TURN,
        {"type": "item.completed", "item": declined},
        {"type": "item.completed", "item": tool},
    )
    assert shape(events)[2] == ("tool_result", "command_execution", "aborted")
    assert shape(events)[4] == ("tool_result", "query", "failed")
    assert (events[4].error_message, events[4].error_class) == ("connection refused", "connection")


def turn(asked: int, answered: int, cached: int = 0) -> list[dict[str, Any]]:
    usage = {"input_tokens": asked, "cached_input_tokens": cached, "output_tokens": answered}
    return [TURN, {"type": "turn.completed", "usage": usage}]


def used(*records: dict[str, Any]) -> list[tuple[str, int | None, int | None, object]]:
    return [
        (
            event.trace_id,
            event.input_tokens,
            event.output_tokens,
            metadata_of(event).get("cache_read_tokens"),
        )
        for event in read(*records)[0]
        if event.event_type == "model_call"
    ]


def test_the_usage_of_an_exec_turn_is_by_how_much_the_sums_of_its_thread_have_grown() -> None:
    told = used(THREAD, *turn(70, 12, 30), *turn(190, 40, 110), *turn(190, 40, 110))
    assert told == [("th-9", 70, 12, 30), ("th-9", 120, 28, 80)]


def test_sums_of_an_exec_thread_that_are_smaller_have_begun_anew() -> None:
    assert used(THREAD, *turn(70, 12), *turn(50, 20)) == [
        ("th-9", 70, 12, None),
        ("th-9", 50, 20, None),
    ]


def test_each_exec_thread_of_a_file_has_its_own_sums_also_where_it_is_resumed_later() -> None:
    other = {**THREAD, "thread_id": "th-10"}
    told = used(THREAD, *turn(70, 12), other, *turn(80, 15), THREAD, *turn(100, 20))
    assert [tokens[:3] for tokens in told] == [
        ("th-9", 70, 12),
        ("th-10", 80, 15),
        ("th-9", 30, 8),
    ]
