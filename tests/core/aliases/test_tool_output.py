"""What an output says against its record: a failure's shape counts, a text's content does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastsignal.core.aliases.tool_output import failure_in_output
from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]

LOG = 'Traceback (most recent call last):\n  File "sync.py", line 3\nRateLimitError: slow down'
OBJECT = '{"error": "no such ledger"}'


@pytest.mark.parametrize(
    ("output", "alone", "said_ok"),
    [
        (LOG, "RateLimitError: slow down", None),
        ("openai.RateLimitError: slow down", "openai.RateLimitError: slow down", None),
        ("TimeoutError('slow')", "slow", None),
        ("Error: no such ledger", "Error: no such ledger", "Error: no such ledger"),
        ("Exit code 2\nls: x", "Exit code 2", "Exit code 2"),
        (OBJECT, "no such ledger", "no such ledger"),
        ({"isError": True, "message": "denied"}, "denied", "denied"),
        ({"exit_code": 1, "reason": "denied"}, "denied", "denied"),
        ("a page about a TimeoutError: it was slow", None, None),
        (["Error: no"], None, None),
    ],
)
def test_an_explicit_success_stands_against_what_is_only_text(
    output: object, alone: str | None, said_ok: str | None
) -> None:
    found = failure_in_output(output), failure_in_output(output, is_said_ok=True)

    assert tuple(one and one.message for one in found) == (alone, said_ok)


def autogen(output: str, is_ok: bool) -> list[dict[str, Any]]:
    flag = {"is_error": False} if is_ok else {}
    answer = {"content": output, "name": "ledger", "call_id": "c7", **flag}
    about = {"source": "clerk", "models_usage": None, "metadata": {}}
    return [
        {**about, "content": [{"id": "c7", "arguments": "{}", "name": "ledger"}],
         "type": "ToolCallRequestEvent"},
        {**about, "content": [answer], "type": "ToolCallExecutionEvent"},
    ]  # fmt: skip


def strands(output: str, is_ok: bool) -> list[dict[str, Any]]:
    flag = {"status": "success"} if is_ok else {}
    use = {"toolUse": {"toolUseId": "c7", "name": "ledger", "input": {}}}
    answer = {"toolResult": {"toolUseId": "c7", "content": [{"text": output}], **flag}}
    return [
        {"message": {"role": role, "content": [block]}, "message_id": number,
         "redact_message": None, "created_at": f"2026-05-28T20:26:4{number}+00:00"}
        for number, (role, block) in enumerate((("assistant", use), ("user", answer)))
    ]  # fmt: skip


def langchain(output: str, is_ok: bool) -> list[dict[str, Any]]:
    flag = {"status": "success"} if is_ok else {}
    run = "019a0000-0000-7000-8000-00000000000a"
    about = {"name": "ledger", "run_id": run, "parent_ids": [], "tags": [], "metadata": {}}
    message = {"content": output, "type": "tool", "tool_call_id": "c7", **flag}
    return [
        {**about, "event": "on_tool_start", "data": {"input": {}}},
        {**about, "event": "on_tool_end", "data": {"output": message}},
    ]


def langsmith(output: str, is_ok: bool) -> list[dict[str, Any]]:
    flag = {"status": "success"} if is_ok else {}
    run = "019a0000-0000-7000-8000-00000000000b"
    return [
        {"id": run, "trace_id": run, "parent_run_id": None, "run_type": "tool", "name": "ledger",
         "start_time": "2026-05-28T20:26:40", "end_time": "2026-05-28T20:26:41", "error": None,
         "inputs": {}, "outputs": {"output": output}, "extra": {}, "tags": [],
         "dotted_order": f"20260528T202640000000Z{run}", **flag},
    ]  # fmt: skip


@pytest.mark.parametrize("layout", [autogen, strands, langchain, langsmith])
@pytest.mark.parametrize(
    ("output", "is_ok", "status"),
    [
        (LOG, False, "failed"),
        (LOG, True, "completed"),
        (OBJECT, True, "failed"),
        ("Error: no such ledger", True, "failed"),
    ],
)
def test_every_layout_honours_its_own_word_for_a_call_that_went_well(
    read: Read,
    layout: Callable[[str, bool], list[dict[str, Any]]],
    output: str,
    is_ok: bool,
    status: str,
) -> None:
    events, _ = read(*layout(output, is_ok))

    assert [event.status for event in events if event.event_type == "tool_result"] == [status]
