"""The texts of findings: what stands for a placeholder, and what where nothing is known."""

from __future__ import annotations

from typing import Any

import pytest

from lastsignal.core.rules.templates import Template


def filled(source: str, **values: Any) -> str:
    template = Template.parse(source, frozenset(values))
    assert not template.mistakes
    return template.render({name.replace("__", "."): value for name, value in values.items()})


def test_what_the_trace_says_stands_in_the_quotes_of_the_text() -> None:
    assert filled('`{operation}` said "{error_message}"', operation="ls", error_message="no") == (
        '`ls` said "no"'
    )


def test_a_stand_in_is_no_quotation() -> None:
    source = '`{operation|"The agent"}` ended: "{error_message|"no reason recorded"}".'

    assert filled(source) == "The agent ended: no reason recorded."
    assert filled(source, operation="clerk") == "`clerk` ended: no reason recorded."


def test_what_is_not_known_at_all_reads_unknown_without_quotes() -> None:
    assert filled('`{operation}` ("{error_message}")') == "unknown (unknown)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3, "3"), (111845313, "111,845,313"), (20.0, "20"), (0.25, "0.25"), (1234.5, "1,234")],
)
def test_numbers_of_the_rule_are_written_for_people(value: float, shown: str) -> None:
    assert filled("{value} of {limit}", value=value, limit=value) == f"{shown} of {shown}"


def test_numbers_of_the_trace_are_shown_as_it_wrote_them() -> None:
    values = {"metadata.limit": 1200.0, "line": 152176, "http_status": 429}
    template = Template.parse("{metadata.limit} {line} {http_status}", frozenset())

    assert template.render(values) == "1200.0 152176 429"


@pytest.mark.parametrize(("within", "shown"), [("1h30m", "1 h 30 min"), (600, "10 min")])
def test_a_length_of_time_that_is_a_parameter_is_shown_as_one(within: object, shown: str) -> None:
    assert filled("within {within}", within=within) == f"within {shown}"


def test_a_parameter_of_that_name_that_is_none_is_shown_as_it_is() -> None:
    assert filled("within {within}", within="reach") == "within reach"


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_number_that_is_none_does_no_harm(value: float) -> None:
    assert filled("{value}", value=value) == str(value)
