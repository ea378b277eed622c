"""LangChain astream_events: root runs, calls, retries, failures, and streams that just stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastsignal.core.aliases.langchain.events import time_of_run
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
ROOT = "019b0000-0000-7000-8000-000000000001"
MODEL = "019b0000-03e8-7000-8000-000000000002"
TOOL = "019b0000-07d0-7000-8000-000000000003"
AGAIN = "019b0000-0bb8-7000-8000-000000000004"
START = 0x019B00000000 / 1000


def on(
    event: str, run_id: str, name: str, parents: list[str] | None = None, **fields: Any
) -> dict[str, Any]:
    return {
        "event": event, "run_id": run_id, "name": name, "tags": fields.pop("tags", []),
        "metadata": fields.pop("metadata", {}), "data": fields, "parent_ids": parents or [],
    }  # fmt: skip


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


NAMED = {"ls_model_name": "model-x", "ls_provider": "acme", "langgraph_node": "plan"}
ANSWER = {
    "type": "ai",
    "content": "Error: 429 is what the user asked about",
    "usage_metadata": {"input_tokens": 12, "output_tokens": 3},
    "response_metadata": {"finish_reason": "stop", "model_name": "model-x-2026"},
}


def test_a_healthy_run_tells_its_root_its_model_and_its_tool(read: Read) -> None:
    events, reader = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_chain_start", AGAIN, "RunnableSequence", [ROOT]),
        on("on_chat_model_start", MODEL, "ChatAcme", [ROOT, AGAIN], metadata=NAMED),
        on("on_chat_model_stream", MODEL, "ChatAcme", [ROOT, AGAIN], chunk="x"),
        on("on_chat_model_end", MODEL, "ChatAcme", [ROOT, AGAIN], metadata=NAMED, output=ANSWER),
        on("on_tool_start", TOOL, "search", [ROOT], input={"q": "x"}),
        on("on_tool_end", TOOL, "search", [ROOT], input={"q": "x"}, output="found"),
        on("on_custom_event", TOOL, "progress", [ROOT]),
        on("on_chain_end", AGAIN, "RunnableSequence", [ROOT], output="x"),
        on("on_chain_end", ROOT, "Agent", output="x"),
    )
    assert shape(events) == [
        ("agent_start", "Agent", "started"),
        ("model_call", "model-x", "started"),
        ("model_call", "model-x", "completed"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("agent_end", "Agent", "completed"),
    ]
    answer = events[2]
    assert (answer.input_tokens, answer.output_tokens) == (12, 3)
    assert (answer.model, answer.finish_reason) == ("model-x-2026", "stop")
    assert answer.metadata == {"node": "plan", "provider": "acme"}
    assert {event.trace_id for event in events} == {ROOT}
    assert [event.parent_id for event in events] == [None, ROOT, ROOT, ROOT, ROOT, None]
    assert events[3].arguments_hash is not None
    assert reader.skipped == {"structural_span": 2, "stream_chunk": 1, "custom_event": 1}


def test_the_time_of_a_start_is_in_its_run_id_and_an_end_inherits(read: Read) -> None:
    events, _ = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_tool_start", TOOL, "search", [ROOT], input={}),
        on("on_tool_end", TOOL, "search", [ROOT], output="ok"),
    )
    assert [event.timestamp for event in events] == [START, START + 2, START + 2]
    assert [event.timestamp_source for event in events] == ["record", "record", "inherited"]
    assert time_of_run("3f0a1c52-7f1e-4c8e-9a60-1f2d3c4b5a69") is None


def test_an_attempt_is_in_a_tag_and_makes_a_retry(read: Read) -> None:
    events, _ = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_tool_start", TOOL, "fetch", [ROOT], input={"u": 1}),
        on("on_tool_error", TOOL, "fetch", [ROOT], error="Error code: 429 - slow down"),
        on("on_tool_start", AGAIN, "fetch", [ROOT], input={"u": 1}, tags=["retry:attempt:2"]),
        on("on_tool_end", AGAIN, "fetch", [ROOT], output="ok", tags=["retry:attempt:2"]),
    )
    assert shape(events)[1:] == [
        ("tool_call", "fetch", "started"),
        ("tool_result", "fetch", "failed"),
        ("retry", "fetch", "started"),
        ("tool_call", "fetch", "started"),
        ("tool_result", "fetch", "completed"),
    ]
    failed, retry, again = events[2], events[3], events[4]
    assert (failed.http_status, failed.error_class) == (429, "rate_limit")
    assert (retry.attempt, again.attempt) == (1, 2)
    assert retry.call_id == again.call_id == AGAIN
    assert retry.arguments_hash == again.arguments_hash


def test_a_retry_says_which_failure_it_answers(read: Read) -> None:
    step = "019b0000-0001-7000-8000-000000000009"
    events, _ = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_chain_start", step, "fetch", [ROOT]),
        on("on_tool_start", TOOL, "fetch", [ROOT, step]),
        on("on_tool_error", TOOL, "fetch", [ROOT, step], error="Error code: 503 - busy"),
        on("on_tool_start", AGAIN, "fetch", [ROOT, step], tags=["retry:attempt:2"]),
    )
    retry = next(event for event in events if event.event_type == "retry")
    assert (retry.error_message, retry.error_class) == ("Error code: 503 - busy", "overloaded")


def test_a_retried_step_is_told_although_the_step_is_not(read: Read) -> None:
    events, _ = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_chain_start", AGAIN, "plan", [ROOT], tags=["retry:attempt:3"]),
    )
    assert shape(events)[1:] == [("retry", "plan", "started")]
    assert events[1].attempt == 2


def test_a_crash_is_a_root_that_never_ends(read: Read) -> None:
    events, _ = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_chat_model_start", MODEL, "ChatAcme", [ROOT]),
    )
    assert shape(events) == [
        ("agent_start", "Agent", "started"),
        ("model_call", "ChatAcme", "started"),
    ]
    assert [event.call_id for event in events] == [ROOT, MODEL]


def test_the_repr_of_an_error_gives_its_type(read: Read) -> None:
    events, _ = read(
        on("on_tool_start", TOOL, "fetch", [ROOT]),
        on("on_tool_error", TOOL, "fetch", [ROOT], error="TimeoutError('read took 30s')"),
    )
    assert (events[1].error_type, events[1].error_message) == ("TimeoutError", "read took 30s")


def test_a_tool_message_may_say_that_the_call_failed(read: Read) -> None:
    message = {"type": "tool", "tool_call_id": "c1", "status": "error", "name": "fetch"}
    texts = {
        "Error: ValueError('no such city')\n Please fix your mistakes.": ("failed", "no such city"),
        "Error invoking tool 'fetch' with kwargs {} with error:\n bad city\n": (
            "failed",
            "bad city",
        ),
        "User rejected the tool call for `fetch` with id c1": (
            "aborted",
            "User rejected the tool call for `fetch` with id c1",
        ),
    }
    for text, (status, said) in texts.items():
        events, _ = read(
            on("on_tool_start", TOOL, "fetch", [ROOT]),
            on("on_tool_end", TOOL, "fetch", [ROOT], output={**message, "content": text}),
        )
        assert (events[1].status, events[1].error_message) == (status, said)


def test_an_interrupt_is_no_failure(read: Read) -> None:
    events, _ = read(
        on("on_tool_start", TOOL, "ask", [ROOT]),
        on("on_tool_error", TOOL, "ask", [ROOT], error="GraphInterrupt((Interrupt(value='?'),))"),
        on("on_tool_error", AGAIN, "hand_over", [ROOT], error="ParentCommand(Command(goto='b'))"),
    )
    assert [event.status for event in events] == ["started", "aborted", "completed"]


def test_a_root_that_says_its_error_failed_by_itself_or_by_what_is_inside(read: Read) -> None:
    own, _ = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_chain_error", ROOT, "Agent", error="RuntimeError('no plan')"),
    )
    assert shape(own)[1:] == [
        ("process_error", "Agent", "failed"),
        ("agent_end", "Agent", "failed"),
    ]
    passed_on, _ = read(
        on("on_chain_start", ROOT, "Agent"),
        on("on_tool_start", TOOL, "fetch", [ROOT]),
        on("on_tool_error", TOOL, "fetch", [ROOT], error="RuntimeError('gone')"),
        on("on_chain_error", ROOT, "Agent", error="RuntimeError('gone')"),
    )
    assert shape(passed_on)[2:] == [
        ("tool_result", "fetch", "failed"),
        ("agent_end", "Agent", "failed"),
    ]


def test_a_root_that_does_not_say_its_error_has_only_failed(read: Read) -> None:
    events, _ = read(
        on("on_chain_start", ROOT, "Agent"), on("on_chain_error", ROOT, "Agent", output="x")
    )
    assert shape(events)[1:] == [("agent_end", "Agent", "failed")]


def test_version_one_has_no_parents_and_old_run_ids_no_time(read: Read) -> None:
    root, chain, tool = "3f0a1c52-7f1e-4c8e-9a60-00000000000a", "b", "c"
    old = [
        on("on_chain_start", root, "Agent"),
        on("on_chain_start", chain, "RunnableSequence"),
        on("on_tool_start", tool, "search", input={"q": "x"}),
        on("on_tool_end", tool, "search", output="ok"),
        on("on_chain_end", chain, "RunnableSequence"),
        on("on_chain_end", root, "Agent"),
    ]
    for record in old:
        del record["parent_ids"]
    events, reader = read(*old)
    assert shape(events) == [
        ("agent_start", "Agent", "started"),
        ("tool_call", "search", "started"),
        ("tool_result", "search", "completed"),
        ("agent_end", "Agent", "completed"),
    ]
    assert {event.trace_id for event in events} == {root}
    assert {event.timestamp_source for event in events} == {"ingest"}
    assert reader.skipped == {"structural_span": 2}
