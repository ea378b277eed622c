"""aider's analytics log: messages with and without an answer, and how its sessions end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]


def record(event: str, time: float, **properties: Any) -> dict[str, Any]:
    about = {"python_version": "3.12.4", "aider_version": "0.86.1"}
    return {"event": event, "properties": properties | about, "user_id": "u-1", "time": time}


def launched(time: float) -> dict[str, Any]:
    return record("launched", time)


def sent(time: float) -> dict[str, Any]:
    return record("message_send_starting", time)


def answered(time: float, **told: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930, "cost": 0.01}
    return record("message_send", time, main_model="small-1", **usage | told)


def ended(time: float, reason: str) -> dict[str, Any]:
    return record("exit", time, reason=reason)


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.status, event.call_id) for event in events]


T = 1780000000
RUN = f"u-1@{T}"


def test_a_message_is_a_run_and_costs_what_it_says_of_itself(read: Read) -> None:
    events, reader = read(
        launched(T),
        record("command_add", T + 1),
        sent(T + 2),
        answered(T + 5, total_cost=0.01),
        sent(T + 6),
        answered(T + 9, total_tokens=1860, total_cost=0.02),
        ended(T + 20, "Completed main CLI coder.run"),
    )

    assert shape(events) == [
        ("agent_start", "started", RUN),
        ("model_call", "started", "message-1"),
        ("model_call", "completed", "message-1"),
        ("agent_end", "completed", RUN),
        ("agent_start", "started", RUN),
        ("model_call", "started", "message-2"),
        ("model_call", "completed", "message-2"),
        ("agent_end", "completed", RUN),
    ]
    assert [event.cost_usd for event in events if event.cost_usd] == [0.01, 0.01]
    assert sum(event.input_tokens or 0 for event in events) == 1800
    assert reader.skipped == {"session_header": 1, "user_input": 1, "session_footer": 1}
    assert list(reader.formats) == ["aider_analytics"]


def test_an_exception_is_the_failure_of_its_message(read: Read) -> None:
    said = "litellm.APIConnectionError: Connection refused"
    events, _ = read(
        launched(T), sent(T + 1), record("message_send_exception", T + 2, exception=said)
    )

    assert shape(events)[2:] == [
        ("model_call", "failed", "message-1"),
        ("agent_end", "failed", RUN),
    ]
    assert (events[2].error_message, events[2].error_class) == (said, "connection")


@pytest.mark.parametrize(
    ("reason", "status"), [("Completed --message", "failed"), ("Control-C", "aborted")]
)
def test_a_message_without_an_answer_at_the_exit_has_failed_or_was_stopped(
    read: Read, reason: str, status: str
) -> None:
    events, _ = read(launched(T), sent(T + 1), ended(T + 60, reason))

    assert shape(events)[2:] == [("model_call", status, "message-1"), ("agent_end", status, RUN)]


def test_a_message_after_one_without_an_answer_leaves_that_one_open(read: Read) -> None:
    events, _ = read(launched(T), sent(T + 1), sent(T + 60), answered(T + 70))

    assert shape(events) == [
        ("agent_start", "started", RUN),
        ("model_call", "started", "message-1"),
        ("model_call", "started", "message-2"),
        ("model_call", "completed", "message-2"),
        ("agent_end", "completed", RUN),
    ]


def test_each_launch_is_a_trace_of_its_own_also_without_an_exit(read: Read) -> None:
    events, _ = read(launched(T), sent(T + 1), launched(T + 100), sent(T + 101), answered(T + 105))

    assert list(dict.fromkeys(event.trace_id for event in events)) == [RUN, f"u-1@{T + 100}"]
    assert shape(events)[-1] == ("agent_end", "completed", f"u-1@{T + 100}")


def test_a_launch_that_goes_nowhere_has_failed_with_its_reason(read: Read) -> None:
    events, _ = read(launched(T), ended(T + 1, "Unknown edit format"))

    assert shape(events) == [("agent_start", "started", RUN), ("agent_end", "failed", RUN)]
    assert events[1].error_message == "aider gave up: Unknown edit format"


def test_an_answer_whose_sending_stands_in_another_file_is_counted(read: Read) -> None:
    events, _ = read(answered(T), ended(T + 1, "Completed --message"))

    assert [event.event_type for event in events if event.status != "started"] == [
        "model_call",
        "agent_end",
    ]


def test_the_log_appended_to_itself_counts_once(read: Read) -> None:
    log = [launched(T), sent(T + 1), answered(T + 4), ended(T + 9, "Completed --message")]
    events, reader = read(*log, *log)

    assert len(events) == 4
    assert reader.skipped["repeated_record"] == len(log)


@pytest.mark.parametrize("odd", ["event", "extra", "properties"])
def test_records_of_other_programs_are_not_aiders(read: Read, odd: str) -> None:
    other = {
        "event": sent(T) | {"event": "page_view"},
        "extra": sent(T) | {"level": "info"},
        "properties": sent(T) | {"properties": "x"},
    }
    _, reader = read(other[odd])

    assert "aider_analytics" not in reader.formats
