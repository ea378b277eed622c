"""What a run may die of, as each layout writes it: one failure, nothing told of it before.

A layout has its own harness, its own words around the error, and its own place for it; what the
error *is* does not depend on them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Records = list[dict[str, Any]]


@dataclass(frozen=True)
class Killer:
    """An exception that ends a run.

    Attributes:
        type: of the exception, as Python names it.
        text: `str()` of it.
        mark: words of the text that no other record has.
        rule: the one that must be named as the cause.
        client: the library in whose frames it was raised; empty for the agent's own code.
    """

    type: str
    text: str
    mark: str
    rule: str
    client: str = ""

    @property
    def line(self) -> str:
        """The last line of its traceback."""
        return f"{self.type}: {self.text}"

    @property
    def repr(self) -> str:
        """`repr()` of it."""
        return f"{self.type.rpartition('.')[2]}({self.text!r})"

    @property
    def said(self) -> str:
        """What a harness that catches everything writes: `str()`, or with the type before it."""
        return self.text if self.client else self.line

    @property
    def traceback(self) -> str:
        """The whole of it."""
        inner = f"/venv/lib/site-packages/{self.client}/_base.py" if self.client else "/app/plan.py"
        return (
            "Traceback (most recent call last):\n"
            '  File "/app/run.py", line 9, in main\n    agent.run()\n'
            f'  File "{inner}", line 70, in step\n    raise\n'
            f"{self.line}"
        )


def _refused(code: int, kind: str, text: str) -> str:
    return f"Error code: {code} - {{'error': {{'message': '{text}', 'type': '{kind}'}}}}"


KILLERS = {
    "429": Killer(
        "openai.RateLimitError",
        _refused(429, "rate_limit_exceeded", "Rate limit reached for model-x in org-7"),
        "org-7",
        "rate_limit_exhausted",
        "openai",
    ),
    "529": Killer(
        "anthropic.OverloadedError",
        _refused(529, "overloaded_error", "Overloaded"),
        "Overloaded",
        "provider_overloaded",
        "anthropic",
    ),
    "timeout": Killer(
        "openai.APITimeoutError", "Request timed out.", "timed out", "model_timeout", "openai"
    ),
    "401": Killer(
        "openai.AuthenticationError",
        _refused(401, "invalid_request_error", "Incorrect API key provided: sk-*****9"),
        "sk-*****9",
        "model_auth_failed",
        "openai",
    ),
    "context length": Killer(
        "openai.BadRequestError",
        _refused(
            400,
            "invalid_request_error",
            "This model supports a maximum context length of 8192 tokens; you sent 9000",
        ),
        "8192",
        "context_overflow",
        "openai",
    ),
    "bad request": Killer(
        "openai.BadRequestError",
        _refused(400, "invalid_request_error", "Unsupported value: temperature"),
        "temperature",
        "model_request_invalid",
        "openai",
    ),
    "ValueError": Killer("ValueError", "no plan for step 3", "step 3", "run_crashed"),
    "KeyError": Killer("KeyError", "'answer'", "answer", "run_crashed"),
}

TRACE, ROOT = "trace_01", "aaaa0000-0000-4000-8000-000000000000"
DAY = "2026-03-04T05:06:"


def _openai_agents(killer: Killer) -> Records:
    error = {"message": "Error in agent run", "data": {"error": killer.text}}
    return [
        {"object": "trace", "id": TRACE, "workflow_name": "Support", "group_id": None},
        {
            "object": "trace.span", "id": "a", "trace_id": TRACE, "parent_id": None,
            "started_at": f"{DAY}01+00:00", "ended_at": f"{DAY}09+00:00", "error": error,
            "span_data": {"type": "agent", "name": "Helper", "tools": []},
        },
    ]  # fmt: skip


def _openai_agents_wrapper(killer: Killer) -> Records:
    """The error that only the SDK's own wrapper around the turn notes."""
    error = {"message": "Error in agent run", "data": {"error": killer.text}}
    wraps = {"sdk_span_type": "turn", "name": "turn", "usage": {}}
    agent, *_ = _openai_agents(killer)[1:]
    turn = {
        **agent, "id": "t", "parent_id": "a", "error": error,
        "span_data": {"type": "custom", "name": "turn", "data": wraps},
    }  # fmt: skip
    return [_openai_agents(killer)[0], turn, agent]


def _langsmith(killer: Killer) -> Records:
    return [
        {
            "id": ROOT, "name": "Agent", "run_type": "chain", "trace_id": ROOT,
            "dotted_order": f"20260304T050601000000Z{ROOT}", "start_time": f"{DAY}01+00:00",
            "end_time": f"{DAY}09+00:00", "error": killer.repr + killer.traceback, "tags": [],
            "inputs": {}, "outputs": None,
        },
    ]  # fmt: skip


def _langchain_event(event: str, **data: Any) -> dict[str, Any]:
    return {
        "event": event, "run_id": ROOT, "name": "Agent", "tags": [], "metadata": {}, "data": data,
        "parent_ids": [],
    }  # fmt: skip


def _langchain_events(killer: Killer) -> Records:
    return [
        _langchain_event("on_chain_start", input={}),
        _langchain_event("on_chain_error", error=killer.repr),
    ]


def _langgraph_debug(killer: Killer) -> Records:
    def record(kind: str, second: int, **payload: Any) -> dict[str, Any]:
        time = f"{DAY}{second:02d}+00:00"
        return {"step": 1, "timestamp": time, "type": kind, "payload": payload}

    task = {"id": "t1", "name": "agent"}
    return [
        record("task", 1, **task, input={}, triggers=[]),
        record("task_result", 2, **task, error=killer.repr, interrupts=[], result=[]),
    ]


def _magentic_chat(killer: Killer) -> Records:
    head, frames = killer.traceback.split("\n", 1)
    own = '  File "/venv/autogen_core/_runtime.py", line 3, in _process\n    await run()\n'
    failed = f"\nError processing publish message for Orchestrator\n{head}\n{own}{frames}\n"
    return [
        {"role": "human", "content": "Find a fare"},
        {"role": "Orchestrator (thought)", "content": "Initial plan: " + failed},
    ]


def _claude(**fields: Any) -> Records:
    session = {"session_id": "5b1f"}
    return [
        {"type": "system", "subtype": "init", **session, "model": "model-x", "tools": []},
        {
            "type": "result", **session, "is_error": True, "num_turns": 1, "duration_ms": 90,
            "usage": {}, "permission_denials": [], **fields,
        },
    ]  # fmt: skip


def _claude_errors(killer: Killer) -> Records:
    return _claude(subtype="error_during_execution", errors=[killer.said])


def _maslab(killer: Killer, kind: str, **fields: Any) -> Records:
    def line(kind: str, second: int, **fields: Any) -> dict[str, Any]:
        run = {"agent_id": "planner", "run_id": "f00d"}
        return {"kind": kind, **run, "timestamp": 1_780_000_000.0 + second, **fields}

    end = [] if kind == "execution_end" else [line("execution_end", 9, status="error")]
    return [line("execution_start", 1), line(kind, 8, **fields), *end]


def _maslab_end(killer: Killer) -> Records:
    return _maslab(killer, "execution_end", status="error", error=killer.line)


def _maslab_boundary(killer: Killer) -> Records:
    return _maslab(killer, "boundary_error", recoverable=False, message=killer.line)


def _maslab_response(killer: Killer) -> Records:
    return _maslab(killer, "user_response", message_type="error", content=killer.line)


def _inspect_sample(**fields: Any) -> dict[str, Any]:
    return {
        "id": 7, "epoch": 1, "uuid": "u7", "input": "say it", "target": "", "events": [],
        "started_at": f"{DAY}01+00:00", "completed_at": f"{DAY}09+00:00", **fields,
    }  # fmt: skip


def _inspect_error(killer: Killer) -> dict[str, Any]:
    return {"message": killer.repr, "traceback": killer.traceback}


def _inspect(killer: Killer) -> Records:
    return [_inspect_sample(error=_inspect_error(killer))]


def _inspect_event(killer: Killer) -> Records:
    error = _inspect_error(killer)
    told = {"event": "error", "timestamp": f"{DAY}08+00:00", "error": error}
    return [_inspect_sample(events=[told], error=error)]


def _inspect_eval(killer: Killer) -> Records:
    return [
        {
            "eval": {"task": "t", "eval_id": "e1", "model": "model-x", "created": f"{DAY}01+00:00"},
            "plan": {}, "status": "error", "error": _inspect_error(killer), "samples": [],
            "stats": {"started_at": f"{DAY}01+00:00", "completed_at": f"{DAY}09+00:00"},
        },
    ]  # fmt: skip


def _crewai(killer: Killer, *, in_agent: bool) -> Records:
    def emit(number: int, kind: str, event: str, parent: str | None, **fields: Any) -> Any:
        return {
            "type": kind, "timestamp": f"{DAY}{number:02d}Z", "event_id": event,
            "parent_event_id": parent, "emission_sequence": number, **fields,
        }  # fmt: skip

    crew = emit(1, "crew_kickoff_started", "crew", None, crew_name="Trip crew")
    failed = {"error": killer.said}
    ended = emit(8, "crew_kickoff_failed", "z", None, started_event_id="crew", **failed)
    if not in_agent:
        return [crew, ended]
    call = {"model": "m", "call_id": "c"}
    return [
        crew,
        emit(2, "task_started", "task", "crew", task_name="fares"),
        emit(3, "agent_execution_started", "agent", "task", agent={"role": "Scout", "goal": "g"}),
        emit(4, "llm_call_started", "m1", "agent", **call),
        emit(5, "llm_call_completed", "m2", "agent", started_event_id="m1", **call),
        emit(6, "agent_execution_error", "x", "task", started_event_id="agent", **failed),
        emit(7, "task_failed", "y", "crew", started_event_id="task", **failed),
        ended,
    ]


def _autogen(killer: Killer) -> Records:
    team = "6f1f2c3d-0000-4000-8000-0000000000aa"
    error = {
        "error_type": killer.type.rpartition(".")[2], "error_message": killer.text,
        "traceback": killer.traceback,
    }  # fmt: skip

    def message(payload: Any, sender: str | None, receiver: str) -> dict[str, Any]:
        return {
            "payload": json.dumps(payload), "sender": sender, "receiver": receiver,
            "kind": "MessageKind.PUBLISH", "delivery_stage": "DeliveryStage.SEND",
            "type": "Message",
        }  # fmt: skip

    task = {"messages": [{"id": "m0", "source": "user", "content": "go", "type": "TextMessage"}]}
    manager = f"RoundRobinGroupChatManager_{team}/{team}"
    return [
        message(task, None, manager),
        message({"error": error}, f"worker_{team}/{team}", f"group_topic_{team}/{team}"),
    ]


def _otel(killer: Killer, *, in_step: bool) -> Records:
    def span(number: int, parent: int | None, name: str, **attributes: str) -> dict[str, Any]:
        exception = {
            "exception.type": killer.type, "exception.message": killer.text,
            "exception.stacktrace": killer.traceback,
        }  # fmt: skip
        return {
            "name": name,
            "kind": "SpanKind.INTERNAL",
            "attributes": attributes,
            "context": {
                "trace_id": "0x5be1f0c3a4d2978611e0bb3c7d49a602",
                "span_id": f"0x{number:016x}",
            },
            "parent_id": None if parent is None else f"0x{parent:016x}",
            "start_time": f"{DAY}01.000000Z",
            "end_time": f"{DAY}09.000000Z",
            "status": {"status_code": "ERROR", "description": killer.text},
            "events": [
                {"name": "exception", "timestamp": f"{DAY}09.000000Z", "attributes": exception}
            ],
            "links": [],
            "resource": {"attributes": {}, "schema_url": ""},
        }

    root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "triage"}
    step = {"gen_ai.operation.name": "execute_task"}
    steps = [span(2, 1, "execute_task plan", **step)] if in_step else []
    return [*steps, span(1, None, "invoke_agent triage", **root)]


def _llamaindex(killer: Killer) -> Records:
    def event(name: str, second: int, **fields: Any) -> dict[str, Any]:
        return {
            "class_name": name,
            "id_": f"id{second}",
            "timestamp": f"{DAY}{second:02d}",
            "span_id": "QueryEngine.query-0f0e0d0c-1111-2222-3333-444455556666",
            "tags": {},
            **fields,
        }

    return [
        event("QueryStartEvent", 1, query="why"),
        event("SpanDropEvent", 2, err_str=killer.said),
    ]


def _mini_swe_agent(killer: Killer) -> Records:
    return [
        {
            "info": {
                "mini_version": "2.4.6",
                "config": {},
                "exit_status": killer.type.rpartition(".")[2],
                "exception_str": killer.text,
                "traceback": killer.traceback,
            },
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "do it"}],
            "trajectory_format": "mini-swe-agent-1.1",
            "instance_id": "task-1",
        }
    ]


def _openhands(killer: Killer) -> Records:
    def event(kind: str, second: int, source: str, **fields: Any) -> dict[str, Any]:
        return {
            "id": f"id{second}",
            "timestamp": f"{DAY}{second:02d}.000000",
            "source": source,
            "kind": kind,
            **fields,
        }

    return [
        event("MessageEvent", 1, "user", llm_message={"role": "user", "content": []}),
        event(
            "ConversationErrorEvent",
            2,
            "environment",
            code=killer.type.rpartition(".")[2],
            detail=killer.text,
        ),
        event(
            "ConversationStateUpdateEvent", 3, "environment", key="execution_status", value="error"
        ),
    ]


def _weave(killer: Killer) -> Records:
    return [
        {
            "id": "agent",
            "project_id": "p",
            "op_name": "weave:///team/project/op/agent:abc123",
            "trace_id": "t1",
            "parent_id": None,
            "started_at": f"{DAY}01Z",
            "attributes": {},
            "inputs": {},
            "ended_at": f"{DAY}09Z",
            "exception": killer.line,
            "output": None,
            "summary": {"status_counts": {"success": 0, "error": 1}},
        }
    ]


def _openclaw(killer: Killer) -> Records:
    def t(second: int, kind: str, **fields: Any) -> dict[str, Any]:
        return {
            "type": kind,
            "ts": 1780000000000 + second * 1000,
            "seq": second,
            "sessionKey": "k",
            "agentId": "main",
            **fields,
        }

    return [t(1, "agent.start"), t(2, "agent.end", success=False, error=killer.said)]


def _managed_agents(killer: Killer) -> Records:
    def event(second: int, kind: str, **fields: Any) -> dict[str, Any]:
        time = f"{DAY}{second:02d}Z"
        return {"id": f"sevt_{second}", "type": kind, "processed_at": time, **fields}

    error = {
        "type": "model_request_failed_error", "message": killer.text,
        "retry_status": {"type": "exhausted"},
    }  # fmt: skip
    return [
        event(1, "session.status_running"),
        event(2, "session.error", error=error),
        event(3, "session.status_idle", stop_reason={"type": "retries_exhausted"}),
    ]


LAYOUTS: dict[str, Callable[[Killer], Records]] = {
    "openai_agents": _openai_agents,
    "openai_agents, a turn": _openai_agents_wrapper,
    "langsmith_runs": _langsmith,
    "langchain_events": _langchain_events,
    "langgraph_debug": _langgraph_debug,
    "magentic_chat": _magentic_chat,
    "autogen_core_events": _autogen,
    "claude_stream": _claude_errors,
    "maslab_events, an end": _maslab_end,
    "maslab_events, the kernel": _maslab_boundary,
    "maslab_events, an answer": _maslab_response,
    "inspect_log, a sample": _inspect,
    "inspect_log, an event": _inspect_event,
    "inspect_log, an eval": _inspect_eval,
    "crewai_event_bus, an agent": lambda killer: _crewai(killer, in_agent=True),
    "crewai_event_bus, a crew": lambda killer: _crewai(killer, in_agent=False),
    "otel_sdk, a run": lambda killer: _otel(killer, in_step=False),
    "otel_sdk, a step": lambda killer: _otel(killer, in_step=True),
    "llamaindex_events": _llamaindex,
    "mini_swe_agent": _mini_swe_agent,
    "openhands_events": _openhands,
    "weave_calls": _weave,
    "openclaw_telemetry": _openclaw,
    "managed_agents": _managed_agents,
}

STEPS = frozenset({"langgraph_debug", "otel_sdk, a step"})
"""Layouts that tell the step which raised: its own exception is a step that failed, and not yet the
end of what encloses it."""

NO_CODE_OF_ITS_OWN = frozenset({"managed_agents"})
"""Layouts of agents that others run: nobody's own code can raise in them."""
