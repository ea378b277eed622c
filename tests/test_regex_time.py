"""A pattern of a user's rule runs in linear time, whatever pattern, whatever text.

Times are compared with one another, never with a clock: twice the text may take about twice the
time. A backtracking engine takes many times longer for two more characters, which is shown first.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from time import process_time

import pytest
import yaml

from lastsignal.core.engine import Engine
from lastsignal.core.events import Event
from lastsignal.core.rules import Rule, parse_rule
from lastsignal.edges.rulefiles.skeleton import skeleton

LENGTH = 100_000
ROUNDS = 5
MOST = 6.0
"""For twice the text: linear time takes 2, a noisy machine some more; exponential never ends."""

EXPONENTIAL = {
    r"^(a+)+$": "a",
    r"^(a+)+b": "a",
    r"^(a|aa)+$": "a",
    r"(x+x+)+y": "x",
    r"^(([a-z])+.)+[A-Z]([a-z])+$": "a",
    r"(.*a){12}b": "a",
}


def rule_of(pattern: str) -> Rule:
    """Return a rule that looks for a pattern in error messages, as a user would write it."""
    raw = yaml.safe_load(skeleton("hostile", "hostile.yaml"))
    raw["where"] = {"event_type": "tool_result", "error_message|re": pattern}
    problems: list[str] = []
    rule = parse_rule(raw, lambda *told: problems.append(" ".join(told)))
    assert rule is not None, problems
    return rule


def fastest(work: Callable[[], object]) -> float:
    """Return the least processor time of some rounds."""
    times = []
    for _ in range(ROUNDS):
        began = process_time()
        work()
        times.append(process_time() - began)
    return min(times)


def time_of(pattern: str, text: str) -> float:
    """Return how long it takes to judge events whose error messages all differ."""
    engine = Engine([rule_of(pattern)])
    endings = (f"!{number}" for number in itertools.count())  # equal texts are judged once

    def feed() -> None:
        engine.feed([event_of(text + next(endings)) for _ in range(3)])

    feed()  # compiles the step
    return fastest(feed)


def event_of(message: str, second: float = 0.0) -> Event:
    """Return a failed call."""
    return Event(
        timestamp=1_770_000_000.0 + second,
        trace_id="t",
        event_type="tool_result",
        operation="op",
        status="failed",
        error_class="unknown",
        error_message=message,
    )


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_twice_the_text_takes_about_twice_the_time(pattern: str) -> None:
    letter = EXPONENTIAL[pattern]
    once = time_of(pattern, letter * LENGTH)
    twice = time_of(pattern, letter * LENGTH * 2)

    assert twice <= MOST * once


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_the_pattern_still_finds_what_it_should(pattern: str) -> None:
    texts = ("aaaa", "xxy", "abA" + "bc", "aaaaaaaaaaaaab", "none of them: 7")
    for text in texts:
        assert _matches(rule_of(pattern), text) is (re.search(pattern, text) is not None)


def _matches(rule: Rule, text: str) -> bool:
    engine = Engine([rule])
    engine.feed([event_of(text), event_of(text, 1.0)])
    return any(group.is_open for group in engine.traces["t"].groups.values())


def test_a_backtracking_engine_would_take_exponential_time() -> None:
    pattern = re.compile(r"^(a+)+$")
    short = fastest(lambda: pattern.match("a" * 16 + "!"))
    long = fastest(lambda: pattern.match("a" * 20 + "!"))

    assert long > 6 * short  # four characters more: sixteen times the work
