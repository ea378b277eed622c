"""Which attributes mean what, convention by convention."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.core.arguments import hash_arguments
from lastsignal.core.events import Event, metadata_of


def shape(events: list[Event]) -> list[tuple[str, str | None, str | None]]:
    return [(event.event_type, event.status, event.operation) for event in events]


def test_old_and_new_genai_names_give_the_same_model_call(span: Any, read: Any) -> None:
    old = read(
        span(
            "openai.chat",
            2,
            1,
            gen_ai__system="openai",
            gen_ai__request__model="gpt-5-mini",
            gen_ai__usage__prompt_tokens=20,
            gen_ai__usage__completion_tokens=3,
            gen_ai__completion__0__finish_reason="stop",
            llm__request__type="chat",
        )
    )
    new = read(
        span(
            "chat gpt-5-mini",
            2,
            1,
            gen_ai__provider__name="openai",
            gen_ai__operation__name="chat",
            gen_ai__request__model="gpt-5-mini",
            gen_ai__usage__input_tokens=20,
            gen_ai__usage__output_tokens=3,
            gen_ai__response__finish_reasons='["stop"]',
        )
    )
    assert old == new
    end = new[1]
    assert (end.operation, end.model, end.input_tokens, end.output_tokens, end.finish_reason) == (
        "gpt-5-mini",
        "gpt-5-mini",
        20,
        3,
        "stop",
    )
    assert metadata_of(end) == {"provider": "openai"}


@pytest.mark.parametrize("kind", [{}, {"traceloop__span__kind": "llm"}])
@pytest.mark.parametrize("name", ["llm__request__model", "llm__response__model"])
def test_a_model_is_named_by_what_openllmetry_wrote_before(
    span: Any, read: Any, name: str, kind: dict[str, str]
) -> None:
    usage = {"llm__usage__prompt_tokens": 20, "llm__usage__completion_tokens": 3}
    end = read(
        span("openai.chat", 2, 1, llm__request__type="chat", **usage, **kind, **{name: "m-1"})
    )[1]
    assert (end.event_type, end.operation, end.model) == ("model_call", "m-1", "m-1")
    assert (end.input_tokens, end.output_tokens) == (20, 3)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("chat", "model_call"),
        ("text_completion", "model_call"),
        ("generate_content", "model_call"),
        ("embeddings", "model_call"),
        ("execute_tool", "tool_call"),
        ("retrieval", "tool_call"),
        ("invoke_agent", "agent_start"),
        ("create_agent", "agent_start"),
        ("invoke_workflow", "agent_start"),
    ],
)
def test_operation_names_decide_the_kind(
    span: Any, read: Any, operation: str, expected: str
) -> None:
    events = read(span(f"{operation} it", 2, 1, gen_ai__operation__name=operation))
    assert (events[0].event_type, events[0].operation, len(events)) == (expected, "it", 2)


def test_strands_attempts_under_one_cycle_are_retries(span: Any, read: Any, failures: Any) -> None:
    system: Any = {"gen_ai__system": "strands-agents"}
    throttled: Any = {
        "status": "ERROR",
        "raised": ("strands.types.exceptions.ModelThrottledException", "Rate exceeded"),
    }
    chats = [
        span("chat", n, 9, at=(n, n + 0.5), gen_ai__operation__name="chat", **system, **throttled)
        for n in (2, 3)
    ]
    cycle = span(
        "execute_event_loop_cycle",
        9,
        1,
        at=(1.0, 4.0),
        gen_ai__operation__name="execute_event_loop_cycle",
        event_loop__cycle_id="c1",
        **system,
        **throttled,
    )
    invoked: Any = {"gen_ai__operation__name": "invoke_agent", **system, **throttled}
    run = span("invoke_agent S", 1, at=(1.0, 4.0), **invoked)
    events = read(*chats, cycle, run)
    retries = [event for event in events if event.event_type == "retry"]
    assert [(e.attempt, e.operation, e.error_type) for e in retries] == [
        (1, "chat", "ModelThrottledException")
    ]
    assert failures(events) == [
        ("model_call", "chat", "rate_limit"),
        ("model_call", "chat", "rate_limit"),
        ("agent_end", "S", "rate_limit"),
    ]
    assert {event.framework for event in events} == {"strands"}


def test_strands_tells_a_tools_failure_by_a_flag_of_its_own(span: Any, read: Any) -> None:
    (start, end) = read(
        span(
            "execute_tool lookup",
            2,
            1,
            status="OK",
            gen_ai__operation__name="execute_tool",
            gen_ai__system="strands-agents",
            gen_ai__tool__name="lookup",
            gen_ai__tool__status="error",
            events=[
                {"name": "gen_ai.tool.message", "attributes": {"content": '{"q": 1}', "id": "t"}},
                {"name": "gen_ai.choice", "attributes": {"message": '[{"text": "no rows"}]'}},
            ],
        )
    )
    assert start.arguments_hash == hash_arguments({"q": 1})
    assert (end.status, end.error_message) == ("failed", "no rows")


def test_the_first_strands_spans_are_told_by_their_names(span: Any, read: Any) -> None:
    named: Any = {"gen_ai__system": "strands-agents", "gen_ai__agent__name": "Helper"}
    events = read(
        span("Model invoke", 3, 2, gen_ai__usage__prompt_tokens=5, **named),
        span("Tool: lookup", 4, 2, tool__name="lookup", tool__status="error", tool__result="gone"),
        span("Cycle 1", 2, 1, event_loop__cycle_id="1"),
        span("Helper", 1, **named),
    )
    ends = [event for event in events if event.status != "started"]
    assert sorted(shape(ends)) == [
        ("agent_end", "completed", "Helper"),
        ("model_call", "completed", "Model invoke"),
        ("tool_result", "failed", "lookup"),
    ]


def test_pydantic_ai_announces_a_retry_on_the_tool_that_failed(span: Any, read: Any) -> None:
    events = read(
        span(
            "execute_tool lookup",
            2,
            1,
            status="ERROR",
            raised=("pydantic_ai.exceptions.ToolRetryError", "try again"),
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="lookup",
            gen_ai__tool__call__arguments='{"q":"x"}',
            pydantic_ai__tool__retry__cause="model_retry",
            pydantic_ai__tool__retry__attempt=1,
            pydantic_ai__tool__retry__max_retries=2,
        )
    )
    assert shape(events) == [
        ("tool_call", "started", "lookup"),
        ("tool_result", "failed", "lookup"),
        ("retry", "started", "lookup"),
    ]
    retry = events[-1]
    assert (retry.attempt, retry.error_message, retry.call_id) == (1, "try again", None)
    assert metadata_of(retry) == {"retry_cause": "model_retry", "max_attempts": 2}
    assert retry.arguments_hash == events[0].arguments_hash == hash_arguments({"q": "x"})
    assert retry.framework == "pydantic_ai"


def test_the_first_pydantic_ai_spans_are_told_by_their_names(span: Any, read: Any) -> None:
    events = read(
        span(
            "running tool: lookup",
            2,
            1,
            gen_ai__tool__name="lookup",
            tool_arguments='{"q":1}',
            tool_response="Error: unreachable",
        ),
        span("agent run", 1, agent_name="helper", model_name="m"),
    )
    ends = [event for event in events if event.status != "started"]
    assert shape(ends) == [
        ("tool_result", "failed", "lookup"),
        ("agent_end", "completed", "helper"),
    ]


def node(step: int, name: str) -> str:
    return json.dumps({"thread_id": "th", "langgraph_step": step, "langgraph_node": name})


def test_openinference_graph_nodes_are_steps_and_its_root_is_the_run(
    span: Any, read: Any, failures: Any
) -> None:
    timed_out: Any = {
        "status": "ERROR",
        "says": "TimeoutError('too slow')Traceback (most recent call last):\n  File",
    }
    events = read(
        span(
            "ChatFake",
            4,
            3,
            openinference__span__kind="LLM",
            llm__model_name="fake-1",
            llm__token_count__prompt=10,
            llm__token_count__completion=2,
            llm__cost__total=0.25,
            llm__provider="fake",
            session__id="th",
            metadata=node(1, "agent"),
        ),
        span("agent", 3, 1, openinference__span__kind="AGENT", metadata=node(1, "agent")),
        span(
            "lookup",
            6,
            5,
            openinference__span__kind="TOOL",
            tool__name="lookup",
            input__value="x",
            metadata=node(2, "tools"),
            **timed_out,
        ),
        span("tools", 5, 1, openinference__span__kind="CHAIN", **timed_out),
        span("LangGraph", 1, openinference__span__kind="CHAIN", **timed_out),
    )
    assert failures(events) == [
        ("tool_result", "lookup", "timeout"),
        ("agent_end", "LangGraph", "timeout"),
    ]
    model = next(event for event in events if event.input_tokens is not None)
    assert (model.operation, model.input_tokens, model.output_tokens, model.cost_usd) == (
        "fake-1",
        10,
        2,
        0.25,
    )
    assert (model.framework, metadata_of(model)) == (
        "langgraph",
        {"provider": "fake", "session_id": "th", "node": "agent", "step": 1},
    )


def test_an_openinference_agent_elsewhere_is_an_agent(span: Any, read: Any) -> None:
    events = read(span("triage", 2, 1, openinference__span__kind="AGENT"))
    assert shape(events) == [
        ("agent_start", "started", "triage"),
        ("agent_end", "completed", "triage"),
    ]


def test_an_openinference_guardrail_speaks_only_when_it_stops_something(
    span: Any, read: Any
) -> None:
    assert read(span("no_secrets", 2, 1, openinference__span__kind="GUARDRAIL")) == []
    (audit,) = read(
        span(
            "no_secrets",
            3,
            1,
            status="ERROR",
            says="secret found",
            openinference__span__kind="GUARDRAIL",
        )
    )
    assert (audit.event_type, audit.operation, audit.status, audit.error_message) == (
        "audit",
        "guardrail",
        "failed",
        "secret found",
    )
    assert metadata_of(audit) == {"guardrail": "no_secrets"}


def test_what_a_retriever_finds_is_content(span: Any, read: Any) -> None:
    events = read(
        span("search", 2, 1, openinference__span__kind="RETRIEVER", output__value="Error: 404")
    )
    assert shape(events)[-1] == ("tool_result", "completed", "search")


def test_openllmetry_wraps_one_run_in_two_spans_and_counts_it_once(
    span: Any, read: Any, failures: Any
) -> None:
    properties = "traceloop__association__properties__"
    graph: Any = {
        properties + "langgraph_node": "tools",
        properties + "langgraph_step": 2,
        properties + "thread_id": "th",
    }
    failed: Any = {
        "status": "ERROR",
        "raised": ("TimeoutError", "too slow"),
        "gen_ai__task__status": "failure",
        "error__type": "TimeoutError",
    }
    events = read(
        span(
            "execute_tool lookup",
            4,
            3,
            traceloop__span__kind="tool",
            traceloop__entity__name="lookup",
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="lookup",
            gen_ai__tool__call__arguments=json.dumps(
                {"input_str": "{'q': 'x'}", "metadata": {"langgraph_step": 2}}
            ),
            **graph,
            **failed,
        ),
        span("execute_task tools", 3, 2, traceloop__span__kind="task", **graph, **failed),
        span(
            "Graph.workflow",
            2,
            1,
            traceloop__span__kind="workflow",
            traceloop__entity__name="Graph",
            gen_ai__operation__name="invoke_agent",
            gen_ai__agent__name="Graph",
            **failed,
        ),
        span("invoke_agent Graph", 1, gen_ai__operation__name="invoke_agent", **failed),
    )
    assert failures(events) == [
        ("tool_result", "lookup", "timeout"),
        ("agent_end", "Graph", "timeout"),
    ]
    assert events[0].arguments_hash == hash_arguments("{'q': 'x'}")
    assert metadata_of(events[0]) == {"session_id": "th", "node": "tools", "step": 2}


def test_openllmetry_without_an_outer_wrapper_has_the_workflow_as_its_run(
    span: Any, read: Any
) -> None:
    events = read(
        span("Fake.chat", 2, 1, gen_ai__operation__name="chat", traceloop__workflow__name="joke"),
        span("joke.workflow", 1, traceloop__span__kind="workflow", traceloop__entity__name="joke"),
    )
    assert shape(events) == [
        ("model_call", "started", "Fake"),
        ("agent_start", "started", "joke"),
        ("model_call", "completed", "Fake"),
        ("agent_end", "completed", "joke"),
    ]


def test_openllmetry_properties_on_an_http_span_make_it_no_agents(span: Any, read: Any) -> None:
    assert read(span("GET", 2, 1, status="ERROR", traceloop__workflow__name="joke")) == []


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        ("ToolCall", "tool_call"),
        ("LLMCall", "model_call"),
        ("AgentCall", "agent_start"),
        ("TaskCall", "agent_start"),
        ("MASCall", "agent_start"),
        ("RAGQuery", "tool_call"),
        ("MemoryCall", "tool_call"),
        ("ProcessingCall", None),
        ("ContextContribution", None),
    ],
)
@pytest.mark.parametrize("by_name", [True, False])
def test_mas_lab_boundaries_are_known_by_attribute_or_name(
    span: Any, read: Any, boundary: str, expected: str | None, by_name: bool
) -> None:
    attributes: Any = {"mas__agent__id": "planner"}
    if not by_name:
        attributes["mas__boundary"] = boundary
    events = read(span(boundary if by_name else "planner.x", 2, 1, **attributes))
    assert [event.event_type for event in events][:1] == ([expected] if expected else [])
    assert {event.agent for event in events} <= {"planner"}


def test_mas_lab_calls_are_one_by_call_id_and_their_run_is_the_session(
    span: Any, read: Any
) -> None:
    session = "1f0e9c52-77aa-4b1c-8d9e-0a1b2c3d4e5f"
    twice = [
        span(
            f"{agent}.chat",
            number,
            1,
            trace=f"{number:032x}",
            mas__boundary="LLMCall",
            mas__agent__id=agent,
            mas__llm__model="unknown",
            mas__call__id="call-1",
            mas__status="success",
            session__id=f"{agent}_{session}",
            metrics__token__input=38,
            metrics__token__output=8,
        )
        for number, agent in ((2, "planner"), (3, "planner_agent"))
    ]
    start, end = read(*twice)
    assert (start.trace_id, start.operation) == (session, "llm")
    assert (end.input_tokens, end.output_tokens, end.framework) == (38, 8, "mas_lab")


def test_mas_lab_says_failure_where_the_spans_status_is_silent(
    span: Any, read: Any, failures: Any
) -> None:
    events = read(
        span(
            "ToolCall",
            2,
            1,
            mas__tool__name="fares",
            mas__status="error",
            mas__failure__reason="fare service unreachable",
            mas__failure__category="NetworkError",
        )
    )
    assert failures(events) == [("tool_result", "fares", "connection")]
    assert events[-1].error_message == "fare service unreachable"


@pytest.mark.parametrize(
    ("kind", "decision", "operation", "status"),
    [
        ("budget_event", "deny", "budget", "failed"),
        ("policy_denial", "deny", "permission", "aborted"),
        ("governance_denied", "", "permission", "aborted"),
        ("policy_allow", "allow", None, None),
    ],
)
def test_mas_lab_decisions_are_audits_when_they_stop_something(
    span: Any, read: Any, kind: str, decision: str, operation: str | None, status: str | None
) -> None:
    events = read(
        span(
            "GovernanceEvent",
            2,
            1,
            mas__boundary="GovernanceEvent",
            mas__governance__kind=kind,
            mas__governance__decision_type=decision,
            mas__governance__reason="over the line",
        )
    )
    assert [(e.event_type, e.operation, e.status, e.error_message) for e in events] == (
        [("audit", operation, status, "over the line")] if operation else []
    )


def test_google_adk_tools_and_invocations(span: Any, read: Any, failures: Any) -> None:
    adk = "gcp__vertex__agent__"
    events = read(
        span(
            "execute_tool fares",
            3,
            2,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="fares",
            **{
                adk + "tool_call_args": '{"to": "Y"}',
                adk + "tool_response": '{"status": "error", "error_message": "no fare"}',
            },
        ),
        span("call_llm", 2, 1, gen_ai__request__model="gemini-x", **{adk + "event_id": "e"}),
        span("invocation", 1, **{adk + "invocation_id": "i"}),
    )
    assert failures(events) == [("tool_result", "fares", "tool_error")]
    assert [e.operation for e in events if e.event_type == "agent_end"] == ["invocation"]
    assert events[0].arguments_hash == hash_arguments({"to": "Y"})
    assert {event.framework for event in events} == {"google_adk"}


def test_google_adk_model_spans_that_wait_for_a_failing_tool_completed(
    span: Any, read: Any, failures: Any
) -> None:
    raised: Any = {"status": "ERROR", "raised": ("ValueError", "bad city")}
    events = read(
        span("execute_tool fares", 3, 2, gen_ai__operation__name="execute_tool", **raised),
        span("call_llm", 2, 1, gen_ai__request__model="m", **raised),
        span("agent_run [helper]", 1, gcp__vertex__agent__invocation_id="i", **raised),
    )
    assert failures(events) == [
        ("tool_result", "fares", "tool_error"),
        ("agent_end", "helper", "crash"),
    ]


def test_vercel_ai_attempts_are_retries_and_the_outer_call_is_the_run(
    span: Any, read: Any, failures: Any
) -> None:
    refused: Any = {"status": "ERROR", "raised": ("AI_APICallError", "Too Many Requests")}
    model: Any = {"ai__operationId": "ai.generateText.doGenerate", "ai__model__id": "gpt-5-mini"}
    events = read(
        span("ai.generateText.doGenerate", 2, 1, at=(0.0, 0.1), **model, **refused),
        span(
            "ai.generateText.doGenerate",
            3,
            1,
            at=(0.2, 0.3),
            ai__usage__promptTokens=7,
            ai__usage__completionTokens=2,
            ai__response__finishReason="tool-calls",
            **model,
        ),
        span(
            "ai.toolCall",
            4,
            1,
            at=(0.3, 0.4),
            ai__operationId="ai.toolCall",
            ai__toolCall__name="lookup",
            ai__toolCall__args='{"q":1}',
            ai__toolCall__result='{"rows": 3}',
        ),
        span(
            "ai.generateText",
            1,
            ai__operationId="ai.generateText",
            ai__telemetry__functionId="answer-ticket",
        ),
    )
    assert failures(events) == [("model_call", "gpt-5-mini", "rate_limit")]
    assert [(e.attempt, e.operation) for e in events if e.event_type == "retry"] == [
        (1, "gpt-5-mini")
    ]
    done = next(event for event in events if event.finish_reason)
    assert (done.input_tokens, done.output_tokens, done.finish_reason) == (7, 2, "tool-calls")
    assert shape(events)[-1] == ("agent_end", "completed", "answer-ticket")


def test_hand_made_spans_that_note_agent_events_are_agents(span: Any, read: Any) -> None:
    noted = [{"name": "Agent Start", "attributes": {"agent_name": "Finder"}}]
    assert shape(read(span("find", 2, 1, agent="Finder", events=noted)))[-1] == (
        "agent_end",
        "completed",
        "Finder",
    )
    assert read(span("fetch", 3, 1, agent="curl/8")) == []


def test_an_error_says_code_type_and_message_apart(span: Any, read: Any) -> None:
    end = read(
        span(
            "chat m",
            2,
            1,
            status="ERROR",
            says="",
            gen_ai__operation__name="chat",
            error__type="503",
        )
    )[-1]
    assert (end.http_status, end.error_type, end.error_class) == (503, None, "overloaded")


def test_a_call_that_ends_before_it_begins_is_one_call_all_the_same(span: Any, read: Any) -> None:
    events = read(
        span("execute_tool ls", 2, 1, at=(5.0, 4.9), gen_ai__operation__name="execute_tool",
             gen_ai__tool__name="ls", status="ERROR", says="gone"),
    )  # fmt: skip

    assert shape(events) == [("tool_call", "started", "ls"), ("tool_result", "failed", "ls")]
    assert events[0].timestamp == events[1].timestamp
    assert events[1].duration_seconds is None
