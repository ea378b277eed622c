"""What custom loops call things: the names of fields, and the words for what happened.

The union of what is in use; data, so that a configuration may add to it.
"""

from __future__ import annotations

from lastsignal.core.events import EventType, Status


def _split(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(words.split()) for name, words in table.items()}


ALIASES: dict[str, tuple[str, ...]] = _split(
    {
        "event_type": """
            event_type type event kind eventType event_name action
        """,
        "timestamp": """
            timestamp ts time created_at createdAt @timestamp start_time
            startTime started_at processed_at datetime date current_time
            extra.timestamp asctime timeMillis
        """,
        "trace_id": """
            trace_id traceId traceID session_id sessionId sessionID sessionKey
            run_id runId thread_id conversation_id context.trace_id invocationId
            instance_id
        """,
        "operation": """
            operation tool tool_name toolName function function_name tool.name
            op name step node
        """,
        "model": """
            model model_name modelName metadata.model request.model
            llm.model_name
        """,
        "status": """
            status state outcome result_status level_status
        """,
        "error_message": """
            error_message error err errorMessage error_str err_str exception
            failure exception_str metadata.error statusMessage error.message
            exc_info exc_text thrown stack_trace stacktrace
        """,
        "attempt": """
            attempt attempt_number retryAttempt retry_count run_attempts
            metadata.attempt
        """,
        "agent": """
            agent agent_id agentId agent_name agent.name agent_role
            metadata.agent
        """,
        "call_id": """
            call_id callId callID tool_call_id toolCallId tool_use_id span_id
            spanId action_id metadata.call_id
        """,
        "parent_id": """
            parent_id parentId parent_span_id parentSpanId parent_call_id
            parent_run_id
        """,
        "http_status": """
            http_status status_code statusCode error_code errorCode error_status
            api_error_status apiErrorStatus
            metadata.status_code metadata.http_status error.status
            error.status_code error.code
        """,
        "error_type": """
            error_type errorType exception_type error_class_name error.type
            metadata.error_type
        """,
        "input_tokens": """
            input_tokens prompt_tokens usage.input_tokens usage.prompt_tokens
            tokens.input inputTokens promptTokens tokens_in tokensIn
            usage.input usage.prompt usage.inputTokens usage.promptTokens
            tokens.prompt tokens.in metadata.input_tokens metadata.prompt_tokens
            metadata.usage.input_tokens metadata.usage.prompt_tokens
            metadata.tokens.input
        """,
        "output_tokens": """
            output_tokens completion_tokens usage.output_tokens
            usage.completion_tokens tokens.output outputTokens
            completionTokens tokens_out tokensOut usage.output
            usage.completion usage.outputTokens usage.completionTokens
            tokens.completion tokens.out metadata.output_tokens
            metadata.completion_tokens metadata.usage.output_tokens
            metadata.usage.completion_tokens metadata.tokens.output
        """,
        "cost_usd": """
            cost_usd cost cost.total usage.cost total_cost_usd response_cost
            metadata.cost_usd metadata.cost costUsd total_cost totalCost
            cumulative_cost_usd cumulative_cost accumulated_cost
        """,
        "duration_seconds": """
            duration_seconds duration_s elapsed_seconds response_time
            metadata.duration_seconds
        """,
        "duration_ms": """
            duration_ms durationMs latency_ms elapsed_ms metadata.duration_ms
            metadata.latency_ms
        """,
        "finish_reason": """
            finish_reason stop_reason stopReason finishReason
            metadata.finish_reason
        """,
        "arguments": """
            arguments args tool_input toolInput tool_args input_args parameters
            params metadata.arguments metadata.args metadata.input
            metadata.parameters
        """,
        "output": """
            output result tool_output response metadata.output metadata.result
        """,
    }
)
"""Field → names; dotted ones walk into objects, the first that is there wins."""

RUNNING_TOTALS = frozenset(
    "total_cost_usd total_cost totalCost cumulative_cost_usd cumulative_cost "
    "accumulated_cost".split()
)
"""Names that say the cost of all calls so far as often as that of one."""

_LIMITS: dict[str, str] = {
    "budget": """
        budget_exceeded budget_exhausted budget_reached cost_limit_exceeded
        cost_limit_reached max_cost_exceeded max_cost_reached
    """,
    "token_limit": """
        token_limit_exceeded token_limit_reached token_budget_exceeded
    """,
    "turn_limit": """
        max_iterations_reached max_iterations_exceeded iteration_limit_reached
        iteration_limit_exceeded max_turns_reached max_turns_exceeded
        turn_limit_reached turn_limit_exceeded
    """,
    "step_limit": """
        max_steps_reached max_steps_exceeded step_limit_reached
        step_limit_exceeded
    """,
    "recursion_limit": """
        recursion_limit_reached recursion_limit_exceeded
    """,
    "time_limit": """
        time_limit_reached time_limit_exceeded max_time_reached max_time_exceeded
    """,
}

LIMIT_WORDS: dict[str, str] = {
    word: limit for limit, words in _LIMITS.items() for word in words.split()
}
"""Word → the limit that was met, which is the operation of its audit."""

_WORDS: tuple[tuple[EventType, Status | None, str], ...] = (
    (
        "agent_start",
        "started",
        """
        agent_start agent_started run_start run_started session_start
        session_started execution_start task_start task_started workflow_start
        workflow_started chain_start conversation_start
        """,
    ),
    (
        "agent_end",
        None,
        """
        agent_end agent_finish agent_finished run_end run_finished session_end
        session_ended execution_end task_end task_finished workflow_end
        workflow_finished chain_end conversation_end agent_complete run_complete
        task_complete session_complete workflow_complete
        """,
    ),
    (
        "agent_end",
        "completed",
        """
        run_completed agent_completed task_completed workflow_completed
        session_completed
        """,
    ),
    (
        "agent_end",
        "failed",
        """
        run_failed agent_failed task_failed workflow_failed session_failed
        agent_error run_error task_error workflow_error session_error
        """,
    ),
    (
        "agent_end",
        "aborted",
        """
        run_aborted run_cancelled agent_cancelled task_cancelled
        """,
    ),
    (
        "model_call",
        None,
        """
        model_call llm_call llm model_request llm_request chat_completion completion
        generation
        """,
    ),
    (
        "model_call",
        "started",
        """
        model_start llm_start llm_call_start llm_started model_call_started
        llm_call_started chat_model_start
        """,
    ),
    (
        "model_call",
        None,
        """
        model_end llm_end llm_call_end model_result model_response llm_response
        llm_result llm_call_completed model_call_completed chat_model_end
        """,
    ),
    (
        "model_call",
        "failed",
        """
        model_error llm_error llm_call_failed model_call_failed llm_failed
        """,
    ),
    (
        "tool_call",
        "started",
        """
        tool_call tool_use tool_start tool_started tool_call_start tool_call_started
        function_call tool_invocation tool_call_request action
        """,
    ),
    (
        "tool_result",
        None,
        """
        tool_result tool_end tool_finished tool_call_end tool_call_finished
        tool_output function_result function_call_output tool_response observation
        tool_call_result
        """,
    ),
    (
        "tool_result",
        "completed",
        """
        tool_completed tool_call_completed
        """,
    ),
    (
        "tool_result",
        "failed",
        """
        tool_error tool_failed tool_call_error tool_call_failed
        """,
    ),
    (
        "retry",
        "started",
        """
        retry retrying retry_attempt tool_retry tool_call_retry llm_retry
        llm_call_retry model_retry model_call_retry
        """,
    ),
    (
        "process_error",
        "failed",
        """
        process_error fatal fatal_error crash crashed uncaught_exception
        unhandled_exception panic exception process_exit_error
        """,
    ),
    (
        "audit",
        None,
        """
        audit budget_gate budget_gate_triggered guardrail guardrail_triggered
        guardrail_tripped guardrail_blocked
        policy_decision policy_violation
        """,
    ),
)

EVENT_WORDS: dict[str, tuple[EventType, Status | None]] = {
    **{
        word: (event_type, status) for event_type, status, words in _WORDS for word in words.split()
    },
    **dict.fromkeys(LIMIT_WORDS, ("audit", "failed")),
}
"""Word → event type, and the status that the word itself means."""
