"""What makes a rule useless without making it wrong: parts that can never matter, told beforehand.

Only what is certain is told: a condition that no event meets, a window that nothing fills, a word
that nothing reads. A count that no trace happens to reach is nobody's business here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from lastsignal.core.events import EVENT_TYPES, STATUSES
from lastsignal.core.rules.conditions import (
    CLOSED_SETS,
    Condition,
    certain,
    parse_condition,
    possible,
)
from lastsignal.core.rules.rule import Rule
from lastsignal.core.rules.windows.amounts import MAX_SAMPLES, RatioWindow
from lastsignal.core.rules.windows.counting import (
    MAX_DISTINCT,
    CountWindow,
    DistinctWindow,
    StreakWindow,
)
from lastsignal.core.rules.windows.learning import NewValueWindow
from lastsignal.core.rules.windows.sequence import SequenceWindow
from lastsignal.core.rules.windows.silence import SilenceWindow
from lastsignal.core.rules.windows.trend import MAX_TIMES, SpikeWindow
from lastsignal.core.spelling import nearest

Warned = tuple[str, str, str]
"""Place, message, fix."""
Cell = tuple[str, str]
"""Event type and status."""

_ONLY: dict[str, tuple[str, ...]] = {
    "agent_start": ("started",),
    "tool_call": ("started",),
    "process_error": ("failed",),
}
"""Event types that come with one status in every layout."""
_CELLS: tuple[Cell, ...] = tuple(
    cell for cell in product(EVENT_TYPES, STATUSES) if cell[1] in _ONLY.get(cell[0], STATUSES)
)
_TELLS_FAILURE = frozenset({"error_class", "error_message", "error_type", "http_status"})
_TELLS_ANSWER = frozenset({"finish_reason", "input_tokens", "output_tokens", "cost_usd"})
_STABLE_CASES = 3


def warnings_of(rule: Rule, raw: Mapping[Any, Any], frameworks: frozenset[str]) -> Iterator[Warned]:
    """Yield what can never matter in a rule.

    Args:
        rule: the rule.
        raw: its file's data, before parameters were filled in.
        frameworks: names that events can carry.
    """
    yield from _unused_parameters(rule, raw)
    yield from _status(rule)
    yield from _where(rule.where, frameworks)
    yield from _window(rule)
    if rule.text.explains and rule.text.severity == "info":
        message = "`explains` of an info rule is never used: information excuses nothing"
        yield "explains", message, "remove it, or raise the severity"
    for index, name in enumerate(rule.text.explains):
        if name in rule.text.explains[:index]:
            yield f"explains[{index}]", f"`{name}` is explained twice", "remove one"


def never_together(cause: Rule, symptom: Rule) -> str | None:
    """Return the field by which two rules' findings are always of different things."""
    for name in ("operation", "agent", "model"):
        if name in cause.window.group_by and name in symptom.window.group_by:
            mine, others = _values(cause.where, name), _values(symptom.where, name)
            if mine and others and not mine & others:
                return name
    return None


def _unused_parameters(rule: Rule, raw: Mapping[Any, Any]) -> Iterator[Warned]:
    used = set(_words({key: value for key, value in raw.items() if key not in ("params", "tests")}))
    for name in rule.text.params:
        if f"${name}" not in used and not any(f"{{{name}}}" in word for word in used):
            message = f"the parameter `{name}` is used nowhere"
            yield f"params.{name}", message, f"write ${name} where it belongs, or remove it"


def _words(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for one in value.values():
            yield from _words(one)
    elif isinstance(value, list):
        for one in value:
            yield from _words(one)
    elif isinstance(value, str):
        yield value


def _status(rule: Rule) -> Iterator[Warned]:
    text = rule.text
    if text.status == "deprecated" and text.superseded_by is None:
        fix = "add `superseded_by: <id>`, or delete the rule"
        yield "status", "the rule is deprecated and names no successor", fix
    if text.superseded_by is not None and text.status != "deprecated":
        yield "superseded_by", "the rule has a successor but is not deprecated", "set the status"
    if text.status == "stable":
        firing = sum(1 for case in text.tests if case.expect)
        if min(firing, len(text.tests) - firing) < _STABLE_CASES:
            message = "a stable rule has at least three tests that fire and three that stay quiet"
            yield "tests", message, "add cases, or set `status: experimental`"
    for name in ("summary", "cause", "remedy"):
        if re.sub(r"\{[^{}]*\}", "", getattr(text, name) or "").strip("\n").count("{"):
            yield name, "a brace that is no placeholder is shown as it is", "close it: {operation}"


def _cells(condition: Condition) -> list[Cell]:
    """Return the (event type, status) pairs that some layout writes and the condition may meet."""
    return [
        (event_type, status)
        for event_type, status in _CELLS
        if possible(condition, {"event_type": event_type, "status": status})
    ]


def _where(where: Condition, frameworks: frozenset[str]) -> Iterator[Warned]:
    cells = _cells(where)
    if not cells:
        fix = "; ".join(f"{kind} is always {status[0]}" for kind, status in _ONLY.items())
        yield "where", "no layout writes an event of this type with this status", fix
    elif any(name in _TELLS_FAILURE for name in _always(where)) and not any(
        status in ("failed", "aborted") or kind == "retry" for kind, status in cells
    ):
        name = sorted(_always(where) & _TELLS_FAILURE)[0]
        fix = "match `status: failed`, or leave the field out"
        yield "where", f"`{name}` is only there where something failed", fix
    elif _always(where) & _TELLS_ANSWER and all(status == "started" for _, status in cells):
        name = sorted(_always(where) & _TELLS_ANSWER)[0]
        yield "where", f"`{name}` is known when a call ends", "match `status: completed`"
    for test in where.tests():
        if test.field == "framework" and test.modifier == "eq":
            for value in test.values:
                fix = nearest(value, sorted(frameworks), "")
                if value is not None and value not in frameworks and fix.startswith("did you"):
                    yield "where.framework", f"no layout is called `{value}`", fix


def _always(condition: Condition) -> set[str]:
    """Return the fields that every match must carry with some value."""
    test = condition.test
    if test is not None:
        absent = (False,) if test.modifier == "exists" else (None,)
        return set() if any(value in test.values for value in absent) else {test.field}
    parts = [_always(part) for part in condition.parts]
    if condition.kind == "all":
        return set().union(*parts)
    return set.intersection(*parts) if condition.kind == "any" and parts else set()


def _values(condition: Condition, field: str) -> set[Any]:
    """Return the only values that a field may have, empty where it may have any."""
    test = condition.test
    if test is not None:
        return set(test.values) if test.field == field and test.modifier == "eq" else set()
    if condition.kind == "all":
        found = [values for part in condition.parts if (values := _values(part, field))]
        return set.intersection(*found) if found else set()
    if condition.kind == "any":
        found = [_values(part, field) for part in condition.parts]
        return set().union(*found) if found and all(found) else set()
    return set()


def _parsed(raw: Any) -> Condition:
    return parse_condition(raw or {}, "", lambda *_: None)


def _both(one: Condition, other: Condition) -> bool:
    return bool(_cells(Condition("all", (one, other))))


def _window(rule: Rule) -> Iterator[Warned]:
    window, where = rule.window, rule.where
    if isinstance(window, CountWindow | StreakWindow | DistinctWindow):
        if window.at_least > 1 and window.reset and _implied(where, _parsed(window.reset)):
            message = "every event that counts also resets: the count never passes 1"
            yield "window.reset", message, "reset on what ends the trouble: {status: completed}"
    if isinstance(window, DistinctWindow | NewValueWindow) and window.field in window.group_by:
        message = f"each group has one `{window.field}`, for it is in group_by"
        yield "window.field", message, "remove it from group_by"
    if isinstance(window, DistinctWindow):
        yield from _distinct(window, where)
    elif isinstance(window, RatioWindow):
        if not _both(where, _parsed(window.of)):
            yield (
                "window.of",
                "nothing that meets `where` can be part of it",
                "let `where` be wider",
            )
        yield from _held("min_sample", window.min_sample, MAX_SAMPLES)
    elif isinstance(window, SpikeWindow):
        yield from _held("at_least", window.at_least, MAX_TIMES)
    elif isinstance(window, SequenceWindow):
        for index, step in enumerate(window.steps):
            if not _both(where, _parsed(step.where)):
                message = "no event meets this step and the rule's `where`"
                yield f"window.steps[{index}].where", message, "the two exclude each other"
    elif isinstance(window, SilenceWindow):
        yield from _silence(window, where)


def _implied(condition: Condition, by: Condition) -> bool:
    """Whether all that meets a condition meets another, by type and status alone."""
    cells = _cells(condition)
    return bool(cells) and all(
        certain(by, {"event_type": kind, "status": status}) for kind, status in cells
    )


def _distinct(window: DistinctWindow, where: Condition) -> Iterator[Warned]:
    known = _values(where, window.field) or set(CLOSED_SETS.get(window.field, ()))
    if known and window.at_least > len(known):
        message = f"`{window.field}` has {len(known)} values here, fewer than {window.at_least}"
        yield "window.at_least", message, f"at most {len(known)} can be reached"
    yield from _held("at_least", window.at_least, MAX_DISTINCT)


def _held(name: str, wanted: float, most: int) -> Iterator[Warned]:
    if wanted > most:
        message = f"`{name}` is {wanted:g}, and a group remembers {most}"
        yield f"window.{name}", message, f"write at most {most}"


def _silence(window: SilenceWindow, where: Condition) -> Iterator[Warned]:
    if window.until is not None and not _cells(_parsed(window.until)):
        yield "window.until", "no event can end the wait", "the parts exclude each other"
    starts = {"call": ("tool_call", "model_call"), "run": ("agent_start",)}.get(window.pair or "")
    if starts and not any(kind in starts and s == "started" for kind, s in _cells(where)):
        message = f"`pair: {window.pair}` waits for the end of a {' or '.join(starts)}"
        yield "where", message, f"match `event_type: {starts[0]}`"
