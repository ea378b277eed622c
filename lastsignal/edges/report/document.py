"""The JSON document, field by field: `schema-1.json` is made from these types and their texts.

Every field is always present; what is not known is null. Times are epoch seconds, as in the events.
Renaming or removing a field, or changing what one means, is a new major `SCHEMA_VERSION`.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from lastsignal.core.diagnosis import Outcome
from lastsignal.core.rules import Severity

Count = Annotated[int, Meta(ge=0)]
Version = Annotated[str, Meta(pattern=r"^1\.[0-9]+$", description="Of this schema.")]
Time = Annotated[
    float | None, Meta(description="Epoch seconds; null where the records carry no time.")
]
Plain = str | int | float | bool | None


class Input(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One input, and what became of it."""

    source: Annotated[str, Meta(description="As it was given: a path, or `-` for standard input.")]
    format: Annotated[
        str | None,
        Meta(description="Dialects met, in order, joined by `+`; null where none was recognised."),
    ]
    records: Annotated[Count, Meta(description="Records found in it.")]
    events: Annotated[Count, Meta(description="Events that the records gave.")]
    skipped: Annotated[
        dict[str, Count],
        Meta(description="Records and lines that gave no event, or none that counts, by reason."),
    ]
    mended: Annotated[
        dict[str, Count],
        Meta(
            description="Records that were read though something in them is not as it should be,"
            " by reason. For `duplicate_key` only some of many records are looked at."
        ),
    ]


class Tokens(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens that the model calls used, as far as the records say."""

    input: Annotated[Count, Meta(description="Prompt tokens, as the records count them.")]
    output: Annotated[Count, Meta(description="Completion tokens, as the records count them.")]


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One record that a finding rests on."""

    source: Annotated[str, Meta(description="The input that holds it.")]
    line: Annotated[int, Meta(description="1-based line at which the record begins.")]
    offset: Annotated[int, Meta(description="Bytes from the start of the (decompressed) source.")]
    event_type: Annotated[str, Meta(description="Of the event that the record became.")]
    timestamp: Time
    excerpt: Annotated[
        str, Meta(description="The record's text; empty where it could not be read again.")
    ]


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One problem, told once however often it shows."""

    id: Annotated[str, Meta(description="Stable: made of the rule and the group.")]
    rule: Annotated[str, Meta(description="Id of the rule.")]
    severity: Annotated[
        Severity, Meta(description="As the rule says, lowered where the run recovered.")
    ]
    category: Annotated[str, Meta(description="Failure category of the rule.")]
    title: Annotated[str, Meta(description="What is wrong, in a few words.")]
    summary: Annotated[str, Meta(description="What was seen, in a sentence.")]
    cause: Annotated[str, Meta(description="Why it happens.")]
    remedy: Annotated[str, Meta(description="What to do.")]
    group: Annotated[
        dict[str, Plain], Meta(description="The fields, with values, that the rule groups by.")
    ]
    count: Annotated[
        Count, Meta(description="Records that match; `evidence` may hold fewer of them.")
    ]
    first_seen: Time
    last_seen: Time
    healed: Annotated[bool, Meta(description="Whether what the rule watches for ended well since.")]
    evidence: Annotated[
        list[Evidence], Meta(description="The first and the latest matches, in order of time.")
    ]


class Moment(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One turning point of a run."""

    source: Annotated[str, Meta(description="The input that holds the record.")]
    line: Annotated[int, Meta(description="1-based line at which the record begins.")]
    offset: Annotated[int, Meta(description="Bytes from the start of the (decompressed) source.")]
    event_type: Annotated[str, Meta(description="Of the event.")]
    timestamp: Time
    status: Annotated[str | None, Meta(description="Of the event.")]
    operation: Annotated[str | None, Meta(description="The tool, action or model.")]
    agent: Annotated[str | None, Meta(description="Whose event it is.")]
    error_class: Annotated[str | None, Meta(description="Closed classification of the error.")]
    error_message: Annotated[str | None, Meta(description="The error as written.")]
    attempt: Annotated[int | None, Meta(description="1-based attempt.")]


class Wasted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was spent after the cause had shown itself."""

    events: Annotated[int, Meta(description="Events after it.")]
    calls: Annotated[int, Meta(description="Model and tool calls after it.")]
    tokens: Annotated[int, Meta(description="Input and output tokens after it.")]
    cost_usd: Annotated[float | None, Meta(description="US dollars after it.")]


class Trace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The diagnosis of one run."""

    trace_id: Annotated[str, Meta(description="As the records name the run.")]
    framework: Annotated[str | None, Meta(description="What wrote the records.")]
    agents: Annotated[list[str], Meta(description="Agents that took part.")]
    outcome: Annotated[Outcome, Meta(description="How the run ended.")]
    started_at: Time
    duration_seconds: Annotated[
        float | None, Meta(description="First to last event; null without times.")
    ]
    events: Annotated[Count, Meta(description="Events of the run.")]
    calls: Annotated[Count, Meta(description="Model and tool calls, each counted once.")]
    failures: Annotated[Count, Meta(description="Calls that failed.")]
    tokens: Tokens
    cost_usd: Annotated[
        float | None, Meta(description="US dollars that the records name; 0 where they name none.")
    ]
    cause: Annotated[Finding | None, Meta(description="The finding that no other one explains.")]
    symptoms: Annotated[list[Finding], Meta(description="What the cause explains, in order.")]
    other: Annotated[list[Finding], Meta(description="Findings independent of the cause.")]
    not_checked: Annotated[
        list[str],
        Meta(description="Rules that the records carry too little for. Not checked is not clean."),
    ]
    timeline: Annotated[list[Moment], Meta(description="Turning points, in order of time.")]
    wasted: Annotated[Wasted | None, Meta(description="Null where there is no cause.")]


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one `lastsignal diagnose` found."""

    schema_version: Version
    inputs: Annotated[list[Input], Meta(description="In the order read.")]
    traces: Annotated[list[Trace], Meta(description="One diagnosis a run.")]
    evicted_traces: Annotated[
        Count,
        Meta(description="Traces given up for their number: their findings are incomplete."),
    ]
