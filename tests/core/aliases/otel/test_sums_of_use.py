"""What agents and steps say of what they used: a sum that counts where no call tells its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lastsignal.core.aliases.otel import otlp, sdk
from lastsignal.core.events import Event

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
AGENT = {"gen_ai.operation.name": "invoke_agent"}


def use(asked: int, answered: int, prefix: str = "gen_ai.usage") -> dict[str, Any]:
    return {f"{prefix}.input_tokens": asked, f"{prefix}.output_tokens": answered}


def total(events: list[Event]) -> tuple[int, int]:
    return (
        sum(event.input_tokens or 0 for event in events),
        sum(event.output_tokens or 0 for event in events),
    )


def told(
    framing: str, span: Any, read_records: Any, *spans: tuple[int, int | None, dict[str, Any]]
) -> list[Event]:
    """Read spans, each by its number, its parent's and its attributes, children first."""
    made = [
        span(f"span {number}", number, parent, **attributes) for number, parent, attributes in spans
    ]
    if framing == "a line each":
        events: list[Event] = read_records(sdk.DIALECT, [json.dumps(o).encode() for o in made])[0]
        return events
    document = {
        "resourceSpans": [{"scopeSpans": [{"spans": [as_otlp(one) for one in made][::-1]}]}]
    }
    events = read_records(otlp.DIALECT, [json.dumps(document).encode()])[0]
    return events


def as_otlp(span: dict[str, Any]) -> dict[str, Any]:
    return {
        "traceId": span["context"]["trace_id"][2:],
        "spanId": span["context"]["span_id"][2:],
        "parentSpanId": (span["parent_id"] or "0x")[2:],
        "name": span["name"],
        "startTimeUnixNano": "1760000000000000000",
        "endTimeUnixNano": "1760000001000000000",
        "attributes": [
            {"key": key, "value": {"stringValue" if isinstance(value, str) else "intValue": value}}
            for key, value in span["attributes"].items()
        ],
    }


FRAMINGS = pytest.mark.parametrize("framing", ["a line each", "a document"])


@FRAMINGS
@pytest.mark.parametrize("prefix", ["gen_ai.usage", "gen_ai.aggregated_usage"])
def test_where_no_call_tells_its_own_the_agent_s_sum_counts(
    framing: str, prefix: str, span: Any, read_records: Any
) -> None:
    events = told(framing, span, read_records, (2, 1, CHAT), (1, None, AGENT | use(70, 8, prefix)))
    assert total(events) == (70, 8)
    (sum_told,) = [event for event in events if event.event_type == "audit"]
    assert (sum_told.operation, sum_told.status) == ("usage", "completed")
    assert events[-1].event_type == "agent_end"
    assert events[-1].input_tokens is None


@FRAMINGS
def test_where_calls_tell_their_own_the_sums_around_them_do_not_count(
    framing: str, span: Any, read_records: Any
) -> None:
    events = told(
        framing, span, read_records,
        (4, 3, CHAT | use(40, 5)), (3, 2, AGENT | use(45, 6)), (2, 1, {}),
        (1, None, AGENT | use(90, 9)),
    )  # fmt: skip
    assert total(events) == (40, 5)


@FRAMINGS
def test_of_agents_within_agents_each_counts_what_those_below_have_not_told(
    framing: str, span: Any, read_records: Any
) -> None:
    events = told(
        framing, span, read_records,
        (2, 1, AGENT | use(30, 3)), (3, 1, AGENT | use(20, 2)), (1, None, AGENT | use(60, 6)),
    )  # fmt: skip
    assert total(events) == (60, 6)


@FRAMINGS
def test_agents_beside_one_another_count_each(framing: str, span: Any, read_records: Any) -> None:
    events = told(
        framing, span, read_records,
        (2, 1, AGENT | use(30, 3)), (3, 1, AGENT | use(20, 2)), (1, None, AGENT),
    )  # fmt: skip
    assert total(events) == (50, 5)


def test_a_sum_whose_calls_hang_from_a_span_that_never_came_does_not_count(
    span: Any, read_records: Any
) -> None:
    events = told(
        "a line each", span, read_records,
        (9, 8, CHAT | use(40, 5)), (1, None, AGENT | use(40, 5)),
    )  # fmt: skip
    assert total(events) == (40, 5)


def test_a_cost_counts_by_itself_where_calls_tell_only_tokens(span: Any, read_records: Any) -> None:
    events = told(
        "a line each", span, read_records,
        (2, 1, CHAT | use(40, 5)), (1, None, AGENT | use(40, 5) | {"gen_ai.usage.cost": 0.25}),
    )  # fmt: skip
    assert total(events) == (40, 5)
    assert [event.cost_usd for event in events if event.cost_usd] == [0.25]
