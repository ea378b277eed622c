"""What the reference says in words, and its examples: a test parses each of them."""

from __future__ import annotations

MODIFIER_WORDS: dict[str, str] = {
    "contains": "contains the text",
    "startswith": "starts with the text",
    "endswith": "ends with the text",
    "re": "matches the pattern somewhere; RE2 syntax, linear in the length of the text",
    "gt": "is greater than the number",
    "gte": "is the number or greater",
    "lt": "is less than the number",
    "lte": "is the number or less",
    "exists": "is there (`true`) or is not (`false`)",
    "cidr": "is an address in the network",
}

OWN_KEYS: dict[str, str] = {
    "at": "when it happens, from the start; 1 s after the one before if left out",
    "like": "a copy of the event of this number, from 0, with the other keys changed",
    "repeat": "how many times it happens",
    "every": "the time between repetitions, 1 s if left out",
}

EXAMPLES: dict[str, str] = {
    "event": """
where: {event_type: audit, operation: guardrail, status: failed}
window: {kind: event, group_by: [trace_id]}
""",
    "count": """
where: {event_type: tool_result, status: failed}
window: {kind: count, group_by: [trace_id, operation], at_least: 5, within: 1m}
""",
    "streak": """
where: {event_type: tool_result, status: failed}
window:
  kind: streak
  group_by: [trace_id, operation]
  at_least: 3
  reset: {event_type: tool_result, status: completed}
  or_before: {event_type: agent_end, status: failed}
""",
    "distinct": """
where: {event_type: tool_result, status: failed}
window: {kind: distinct, group_by: [trace_id], field: operation, at_least: 3, within: 5m}
""",
    "sum": """
where: {event_type: model_call, status: completed}
window: {kind: sum, group_by: [trace_id], field: cost_usd, at_least: 20, within: 10m}
""",
    "ratio": """
where: {event_type: tool_result}
window: {kind: ratio, group_by: [operation], of: {status: failed}, at_least: 0.5, within: 10m}
""",
    "spike": """
where: {event_type: tool_call}
window: {kind: spike, group_by: [operation], within: 1m, factor: 3, at_least: 20}
""",
    "growth": """
where: {event_type: model_call, status: completed}
window: {kind: growth, group_by: [trace_id], field: input_tokens, at_least: 10, factor: 3}
""",
    "sequence": """
where: {}
window:
  kind: sequence
  group_by: [trace_id]
  within: 10m
  steps:
    - where: {event_type: audit, operation: budget, status: failed}
    - where: {event_type: agent_start}
      absent: true
    - where: {event_type: model_call, status: completed}
""",
    "silence": """
where: {event_type: tool_call}
window: {kind: silence, group_by: [trace_id, operation], after: 10m, pair: call}
""",
    "repeat": """
where: {event_type: tool_call}
window: {kind: repeat, group_by: [trace_id], key: [operation, arguments_hash], at_least: 5}
""",
    "new_value": """
where: {event_type: tool_result, status: failed}
window: {kind: new_value, group_by: [operation], field: error_class, min_history: 50}
""",
    "baseline": """
where: {event_type: model_call, status: completed}
window: {kind: baseline, group_by: [operation], field: duration_seconds, factor: 5, minimum: 10}
""",
}

MEANINGS: dict[str, str] = {
    "at_least": "How many make a finding; of a ratio the share, of a sum the amount.",
    "within": "The time that the window looks back.",
    "field": "The event field that is looked at.",
    "factor": "How many times its reference it must be.",
    "key": "The fields that tell one thing from another.",
    "after": "How long the wait may last.",
    "of": "The condition of the part whose share is taken.",
    "until": "What ends the wait.",
    "pair": "Wait for the end of that very call, or for any sign of life of the run.",
    "steps": "Maps of `where`, and `absent: true` for what must not come in between.",
    "ordered": "Whether the steps must come in this order.",
    "min_period": "The shortest cycle that counts.",
    "max_period": "The longest cycle that counts.",
    "deviations": "How many standard deviations above its mean it must be.",
    "min_sample": "How many must have been seen before anything is said.",
    "forget_after": "When a value that did not come again is new once more.",
    "name": "What the case shows, as a sentence.",
    "events": "What happens, in order.",
    "expect": "What must be found; an empty list asserts silence.",
    "event_type": "What happened.",
    "status": "How it stands or ended.",
    "agent": "Who did it.",
    "http_status": "The status code of a failure.",
    "model": "The model of a model call.",
    "input_tokens": "What went into the model.",
    "output_tokens": "What the model answered.",
    "cost_usd": "What the call cost, where the record says so.",
    "duration_seconds": "How long the call took.",
    "finish_reason": "Why the model stopped.",
    "framework": "The layout that the record was read from; `lastsignal formats` lists them.",
    "source": "The file or stream.",
    "timestamp_source": "Where the time comes from: the record, who wrapped its line, the one"
    " before, or the reading.",
    "error_class": "What kind of failure it was, decided once from code, type and text.",
    "arguments_hash": "Equal for calls with equal arguments.",
    "offset": "Byte offset of the record in the (decompressed) source.",
}
"""Of keys that speak for themselves in the code, or for those who write it."""
