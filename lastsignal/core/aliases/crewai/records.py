"""The fields of CrewAI's events that are read, and what each type of event is."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.fields import mapping_of, text_of

ABSENT = msgspec.Raw(b"")


class Record(msgspec.Struct, gc=False):
    """One event of the bus; agents, tasks, prompts and outputs stay undecoded."""

    type: str
    source_fingerprint: Any = msgspec.UNSET
    timestamp: Any = None
    event_id: Any = None
    parent_event_id: Any = msgspec.UNSET
    started_event_id: Any = None
    emission_sequence: Any = msgspec.UNSET
    agent: msgspec.Raw = ABSENT
    agent_info: Any = None
    agent_role: Any = None
    crew_name: Any = None
    flow_name: Any = None
    method_name: Any = None
    task_name: Any = None
    tool_name: Any = None
    tool_args: msgspec.Raw = ABSENT
    run_attempts: Any = None
    from_cache: Any = None
    output: msgspec.Raw = ABSENT
    failure: Any = None
    error: Any = None
    error_type: Any = None
    call_id: Any = None
    model: Any = None
    usage: Any = None
    finish_reason: Any = None
    server_name: Any = None
    success: Any = None
    retry_count: Any = None
    guardrail_name: Any = None
    reason: Any = None
    iteration: Any = None
    repeated_tool: Any = None
    total_tokens: Any = None

    @property
    def is_of_bus(self) -> bool:
        """Whether it has what the bus gives every event: ids, or what older versions gave."""
        if self.event_id is not None:
            return not (self.emission_sequence is self.parent_event_id is msgspec.UNSET)
        return self.source_fingerprint is not msgspec.UNSET and self.timestamp is not None

    @property
    def role(self) -> str | None:
        """The agent that the event speaks of."""
        role = text_of(self.agent_role) or text_of(mapping_of(self.agent_info).get("role"))
        if role is None and bytes(self.agent):
            try:
                role = text_of(_decode_agent(self.agent).role)
            except (msgspec.MsgspecError, RecursionError, UnicodeError):
                return None
        return role


class _Agent(msgspec.Struct, gc=False):
    role: Any = None


_decode_agent = msgspec.json.Decoder(_Agent).decode

# What begins: (what it is, the name that it goes by).
STARTS: dict[str, str] = {
    "crew_kickoff_started": "crew",
    "flow_started": "flow",
    "agent_execution_started": "agent",
    "lite_agent_execution_started": "agent",
    "task_started": "task",
    "method_execution_started": "method",
    "llm_call_started": "model",
    "tool_usage_started": "tool",
    "mcp_tool_execution_started": "tool",
}

# What ends: (what it is, whether it failed).
ENDS: dict[str, tuple[str, bool]] = {
    "crew_kickoff_completed": ("crew", False),
    "crew_kickoff_failed": ("crew", True),
    "flow_finished": ("flow", False),
    "flow_failed": ("flow", True),
    "agent_execution_completed": ("agent", False),
    "agent_execution_error": ("agent", True),
    "lite_agent_execution_completed": ("agent", False),
    "lite_agent_execution_error": ("agent", True),
    "task_completed": ("task", False),
    "task_failed": ("task", True),
    "method_execution_finished": ("method", False),
    "method_execution_failed": ("method", True),
    "llm_call_completed": ("model", False),
    "llm_call_failed": ("model", True),
    "tool_usage_finished": ("tool", False),
    "tool_usage_error": ("tool", True),
    "mcp_tool_execution_completed": ("tool", False),
    "mcp_tool_execution_failed": ("tool", True),
}

# Failures of a tool call that have no start of their own, or repeat the one that had.
TOOL_FAILURES = frozenset(
    "tool_failure_detected tool_validate_input_error tool_selection_error "
    "tool_execution_error".split()
)

# Failures of what an agent uses beside its tools; their starts and successes say nothing.
SIDE_FAILURES: dict[str, str] = {
    "mcp_connection_failed": "mcp_connection",
    "memory_query_failed": "memory_query",
    "memory_save_failed": "memory_save",
    "memory_retrieval_failed": "memory_retrieval",
    "knowledge_query_failed": "knowledge_query",
    "knowledge_search_query_failed": "knowledge_query",
    "agent_reasoning_failed": "agent_reasoning",
}

SIGNALS = frozenset({"SIGTERM", "SIGINT", "SIGHUP"})
DROPPED: dict[str, str] = {
    "llm_stream_chunk": "stream_chunk",
    "llm_thinking_chunk": "stream_chunk",
    "agent_logs_started": "log_echo",
    "agent_logs_execution": "log_echo",
}
