"""A Magentic-One team's conversation, alone and in Who&When's documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lastsignal.core.events import Event

Read = Callable[..., tuple[list[Event], Any]]
ORCHESTRATOR = "Orchestrator"


def says(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def ledger(**answers: bool) -> dict[str, Any]:
    told = {name: {"reason": "Error", "answer": answer} for name, answer in answers.items()}
    return says("Orchestrator (thought)", f"Updated Ledger:\n{json.dumps(told)}")


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.operation, event.status) for event in events]


def test_a_conversation_is_a_run_from_the_human_to_its_termination(read: Read) -> None:
    events, reader = read(
        says("human", "Error: find it"),
        says("Orchestrator (thought)", "Initial plan:\n…"),
        says("Orchestrator (-> WebSurfer)", "Look it up"),
        says("WebSurfer", "Error 404 said the page"),
        says("ComputerTerminal", "The script ran, then exited with Unix exit code: 2\nIts output"),
        says("ComputerTerminal", "No code block detected"),
        says("Orchestrator (termination condition)", "No agent selected.\nFINAL ANSWER: 5"),
    )
    assert shape(events) == [
        ("agent_start", ORCHESTRATOR, "started"),
        ("model_call", ORCHESTRATOR, "completed"),
        ("model_call", "WebSurfer", "completed"),
        ("tool_result", "code_execution", "failed"),
        ("agent_end", ORCHESTRATOR, "completed"),
    ]
    assert (events[3].agent, events[3].metadata) == ("ComputerTerminal", {"exit_code": 2})
    assert events[4].finish_reason == "No agent selected."
    assert reader.skipped == {"message": 2}
    assert list(reader.formats) == ["magentic_chat"]


def test_loops_and_limits_are_audits(read: Read) -> None:
    events, _ = read(
        says("human", "find it"),
        ledger(is_in_loop=True),
        says("Orchestrator (termination condition)", "Max rounds (30) reached."),
    )
    assert shape(events)[1:] == [
        ("model_call", ORCHESTRATOR, "completed"),
        ("audit", "loop", "failed"),
        ("audit", "turn_limit", "failed"),
        ("agent_end", ORCHESTRATOR, "failed"),
    ]
    assert events[3].metadata == {"limit": 30}


PRINTED = """Error processing publish message
Traceback (most recent call last):
  File "/venv/autogen_core/_runtime.py", line 4, in _process_publish
    await asyncio.gather(*responses)
  File "/venv/magentic/agents/orchestrator.py", line 9, in update_ledger
    answer = await self._model_client.create(
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
openai.BadRequestError: Error code: 400 - {'code': 'content_filter', 'message': 'filtered'}
  response = await client.create(messages)
RUN DONE
"""
"""What the program prints when a handler raises, and what it prints afterwards."""


def test_a_traceback_printed_behind_the_last_message_ends_the_run(read: Read) -> None:
    events, _ = read(says("human", "find it"), says("WebSurfer", f"I looked\n{PRINTED}"))
    assert shape(events) == [
        ("agent_start", ORCHESTRATOR, "started"),
        ("model_call", "WebSurfer", "completed"),
        ("model_call", ORCHESTRATOR, "failed"),
        ("agent_end", ORCHESTRATOR, "failed"),
    ]
    failed = events[2]
    assert (failed.error_class, failed.http_status) == ("content_filter", 400)
    assert (failed.error_type, failed.error_message) == ("content_filter", "filtered")


def test_what_raises_outside_of_the_model_is_a_crash_of_its_agent(read: Read) -> None:
    chained = """Error processing publish message for Coder/default
Traceback (most recent call last):
  File "/venv/autogen_core/_runtime.py", line 4, in _process_publish
    await handler(message)
KeyError: 'plan'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/venv/magentic/agents/coder.py", line 9, in handle
    raise RuntimeError("no plan")
RuntimeError: no plan"""
    events, _ = read(says("human", "find it"), says("Coder", chained))
    assert shape(events)[-2:] == [
        ("process_error", "Coder", "failed"),
        ("agent_end", ORCHESTRATOR, "failed"),
    ]
    assert (events[-1].error_message, events[-1].error_type) == (
        "RuntimeError: no plan",
        "RuntimeError",
    )


def test_a_traceback_that_an_agent_speaks_of_is_no_crash(read: Read) -> None:
    page = PRINTED.replace("Error processing publish message\n", "The page says:\n")
    elsewhere = PRINTED.replace("autogen_core", "django")
    events, _ = read(
        says("human", "find it"), says("WebSurfer", page), says("WebSurfer", elsewhere)
    )
    assert {event.status for event in events} == {"started", "completed"}


def test_a_document_s_verdict_is_its_run_s(read: Read) -> None:
    history = [says("human", "find it"), says("WebSurfer", "…")]
    document = {
        "history": history,
        "mistake_agent": "WebSurfer",
        "mistake_step": "1",
        "is_corrected": False,
    }
    data = json.dumps(document, indent=1).encode()
    events, reader = read(data)
    assert shape(events) == [
        ("agent_start", ORCHESTRATOR, "started"),
        ("model_call", "WebSurfer", "completed"),
        ("agent_end", ORCHESTRATOR, "failed"),
    ]
    assert events[-1].error_message == "the answer was judged wrong"
    assert '"role": "WebSurfer"' in data.decode().splitlines()[events[1].line]
    assert list(reader.formats) == ["who_and_when"]


def test_a_document_of_named_experts_has_a_terminal_among_them(read: Read) -> None:
    history = [
        {"role": "assistant", "name": "Expert", "content": "Error: I think"},
        {"role": "user", "name": "Computer_terminal", "content": "exitcode: 1 (execution failed)"},
    ]
    document = {
        "history": history,
        "mistake_agent": "Expert",
        "mistake_step": "0",
        "is_correct": True,
    }
    events, _ = read(document)
    assert shape(events) == [
        ("agent_start", "team", "started"),
        ("model_call", "Expert", "completed"),
        ("tool_result", "code_execution", "failed"),
        ("agent_end", "team", "completed"),
    ]
