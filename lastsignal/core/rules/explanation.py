"""A rule in words: what `rules show` prints and the rule reference quotes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lastsignal.core.durations import show_duration
from lastsignal.core.rules.conditions import Condition, parse_condition
from lastsignal.core.rules.rule import Rule
from lastsignal.core.rules.windows.amounts import RatioWindow, SumWindow
from lastsignal.core.rules.windows.counting import (
    CountWindow,
    DistinctWindow,
    EventWindow,
    StreakWindow,
)
from lastsignal.core.rules.windows.learning import BaselineWindow, NewValueWindow
from lastsignal.core.rules.windows.repeat import RepeatWindow
from lastsignal.core.rules.windows.sequence import SequenceWindow
from lastsignal.core.rules.windows.silence import SilenceWindow
from lastsignal.core.rules.windows.trend import GrowthWindow, SpikeWindow

_COMPARISONS = {
    "gt": "above",
    "gte": "at least",
    "lt": "below",
    "lte": "at most",
    "contains": "contains",
    "startswith": "starts with",
    "endswith": "ends with",
    "re": "matches",
    "cidr": "lies in",
}


def explain_rule(rule: Rule) -> str:
    """Return the rule as a page of plain text."""
    text = rule.text
    lines = [
        f"{text.id}: {text.title}",
        f"{text.severity}, {text.status}, {text.category}",
        "",
        text.description,
        "",
        "Fires",
        f"  {sentence(rule)}",
        "",
        "Cause",
        f"  {' '.join(text.cause.split())}",
        "Remedy",
        f"  {' '.join(text.remedy.split())}",
        "False positives",
        *(f"  - {' '.join(one.split())}" for one in text.false_positives),
    ]
    if text.params:
        lines += ["Parameters", *(f"  {name} = {value}" for name, value in text.params.items())]
    if text.explains:
        lines += ["Explains", f"  {', '.join(text.explains)}"]
    if text.also:
        lines += ["Also known as", *(f"  {name}: {value}" for name, value in text.also.items())]
    lines += ["Tests", *(f"  - {case.name}" for case in text.tests), "File", f"  {rule.origin}"]
    return "\n".join(lines)


def sentence(rule: Rule) -> str:
    """Return one sentence that says when the rule fires."""
    names = [name for name in rule.window.group_by if name != "trace_id"]
    scope = "per " + ", ".join(["trace", *names] if rule.within_trace else names or ["everything"])
    what = describe(rule.where) or "any event"
    return f"{_SENTENCES[type(rule.window)](rule.window, what)}, {scope}."


def describe(condition: Condition) -> str:
    """Return a condition in words."""
    test = condition.test
    if test is not None:
        if test.modifier == "exists":
            return f"{test.field} is {'there' if test.values[0] else 'missing'}"
        values = " or ".join("nothing" if v is None else str(v) for v in test.values)
        return f"{test.field} {_COMPARISONS.get(test.modifier, 'is')} {values}"
    parts = [describe(part) for part in condition.parts]
    if condition.kind == "not":
        return f"not ({parts[0]})"
    glue = " and " if condition.kind == "all" else " or "
    joined = glue.join(part for part in parts if part)
    return f"({joined})" if condition.kind == "any" and len(parts) > 1 else joined


def _raw(condition: dict[str, Any] | None) -> str:
    return describe(parse_condition(condition or {}, "", lambda *_: None))


def _event(window: EventWindow, what: str) -> str:
    return f"on each event where {what}"


def _count(window: CountWindow, what: str) -> str:
    within = show_duration(window.within)
    return f"when {window.at_least} events come within {within} where {what}"


def _streak(window: StreakWindow, what: str) -> str:
    same = f" with the same {' and '.join(window.same)}" if window.same else ""
    said = (
        f"when {window.at_least} events{same} follow one another where {what},"
        f" with none between them where {_raw(window.reset)}"
    )
    if window.reset_all is not None:
        said += f", nor any of the trace where {_raw(window.reset_all)}"
    if window.or_before is not None:
        said += f"; or when fewer are followed by an end where {_raw(window.or_before)}"
    return said


def _distinct(window: DistinctWindow, what: str) -> str:
    within = show_duration(window.within)
    return f"when {window.at_least} different {window.field} come within {within} where {what}"


def _sum(window: SumWindow, what: str) -> str:
    within = f" within {show_duration(window.within)}" if window.within else ""
    fields = " and ".join(window.fields())
    if window.of == "trace":
        return f"when the trace's {fields} reach {window.at_least:g}, at an event where {what}"
    return f"when the sum of {fields} reaches {window.at_least:g}{within} where {what}"


def _ratio(window: RatioWindow, what: str) -> str:
    return (
        f"when {window.at_least:.0%} of at least {window.min_sample} events within"
        f" {show_duration(window.within)} where {what} have {_raw(window.of)}"
    )


def _spike(window: SpikeWindow, what: str) -> str:
    within = show_duration(window.within)
    return (
        f"when {window.at_least} or more events within {within} are {window.factor:g} times"
        f" those of the {within} before, where {what}"
    )


def _growth(window: GrowthWindow, what: str) -> str:
    return (
        f"when {window.field} grows {window.at_least} times in a row to"
        f" {window.factor:g} times its first value where {what}"
    )


def _sequence(window: SequenceWindow, what: str) -> str:
    steps = [("no event where " if step.absent else "") + _raw(step.where) for step in window.steps]
    order = ", then ".join(steps) if window.ordered else " and ".join(steps)
    same = f", all with the same {' and '.join(window.same)}" if window.same else ""
    return f"when within {show_duration(window.within)} there is {order}{same}"


def _silence(window: SilenceWindow, what: str) -> str:
    until = " or before the trace ends" if window.at_end else ""
    overdue = f", or before an event where {_raw(window.overdue_at)}" if window.overdue_at else ""
    after = f"within {show_duration(window.after)}{overdue}{until}"
    if window.pair == "run":
        return f"when a run that began where {what} records nothing more {after}, and no end"
    end = "its end" if window.pair else _raw(window.until) if window.until else "another"
    return f"when an event where {what} is not followed by {end} {after}"


def _repeat(window: RepeatWindow, what: str) -> str:
    key = " and ".join(window.key)
    if window.among is not None:
        return (
            f"when {window.at_least} of the latest {window.among} events where {what}"
            f" have the same {key}"
        )
    if window.max_period == 1:
        return f"when {window.at_least} events where {what} in a row have the same {key}"
    return (
        f"when a cycle of {window.min_period} to {window.max_period} events with the same"
        f" {key} comes {window.at_least} times where {what}"
    )


def _new_value(window: NewValueWindow, what: str) -> str:
    return f"when {window.field} takes a new value after {window.min_history} events where {what}"


def _baseline(window: BaselineWindow, what: str) -> str:
    return (
        f"when {window.field} lies {window.factor:g} times and {window.deviations:g}"
        f" deviations above its own past of {window.min_sample} events where {what}"
    )


_SENTENCES: dict[type, Callable[[Any, str], str]] = {
    EventWindow: _event,
    CountWindow: _count,
    StreakWindow: _streak,
    DistinctWindow: _distinct,
    SumWindow: _sum,
    RatioWindow: _ratio,
    SpikeWindow: _spike,
    GrowthWindow: _growth,
    SequenceWindow: _sequence,
    SilenceWindow: _silence,
    RepeatWindow: _repeat,
    NewValueWindow: _new_value,
    BaselineWindow: _baseline,
}
