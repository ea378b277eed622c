"""A rule: what one YAML file says, as frozen structs; an invalid rule cannot exist.

`parse_rule` takes the plain data of a file and returns the rule or every mistake in it, each at
a path such as `where.any[0].status`, which the edge that read the file turns into a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import msgspec

from lastsignal.core.events import EVENT_TYPES, STATUSES
from lastsignal.core.rules.cases import check_cases
from lastsignal.core.rules.conditions import (
    ALWAYS,
    FIELDS,
    NUMERIC_FIELDS,
    Complaint,
    Condition,
    Test,
    parse_condition,
    possible,
)
from lastsignal.core.rules.shape import check_names, convert_fields, shown
from lastsignal.core.rules.templates import Template
from lastsignal.core.rules.text import SEVERITIES, RuleCase, RuleText, Scalar, Severity
from lastsignal.core.rules.windows import AnyWindow, SequenceWindow
from lastsignal.core.spelling import nearest

__all__ = [
    "SEVERITIES",
    "Rule",
    "RuleCase",
    "RuleText",
    "Scalar",
    "Severity",
    "parse_rule",
    "shared_out",
]


CONDITIONS = ("of", "or_before", "overdue_at", "reset", "reset_all", "until")
"""The keys of windows that hold a `where` of their own."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that can run."""

    text: RuleText
    where: Condition
    summary: Template
    cause: Template
    remedy: Template
    fingerprint: str
    """Changes when the logic changes: state of a rule outlives a reload only while it is equal."""
    origin: str = ""
    """The file it came from, for messages."""
    variant: str = ""
    """Which events it is for, where several rules of one id share them out: see `shared_out`."""

    @property
    def key(self) -> str:
        """Under which its memory is kept: each variant remembers for itself."""
        return f"{self.id}@{self.variant}" if self.variant else self.id

    @property
    def id(self) -> str:
        """Lower_snake, stable for ever."""
        return self.text.id

    @property
    def window(self) -> AnyWindow:
        """The rule's window."""
        return self.text.window

    @property
    def within_trace(self) -> bool:
        """Whether the rule looks at one trace at a time."""
        return "trace_id" in self.text.window.group_by

    def template_fields(self) -> set[str]:
        """Return the event fields that the texts quote."""
        return set(self.summary.fields | self.cause.fields | self.remedy.fields)

    def required_fields(self) -> set[str]:
        """Return the fields without which the rule can say nothing of a trace."""
        fields = set(self.window.fields()) | _tested_always(self.where)
        return fields - {
            "trace_id",
            "event_type",
            "status",
            "error_class",
            "error_message",
            "timestamp",
            "timestamp_source",
            "framework",
        }


def shared_out(rule: Rule, field: str, value: str | None, values: Sequence[str]) -> Rule:
    """Return the rule for the events of one value of a field, or of none of these values.

    So several rules of one id, each with parameters of its own, share out the events among them.
    """
    if not values:
        return rule
    if value is None:
        named = Condition("test", test=Test(field, "eq", tuple(values)))
        condition = Condition("not", (named,))
    else:
        condition = Condition("test", test=Test(field, "eq", (value,)))
    variant = f"{rule.variant},{field}={'*' if value is None else value}".lstrip(",")
    return replace(rule, where=Condition("all", (rule.where, condition)), variant=variant)


def _tested_always(condition: Condition) -> set[str]:
    """Return the fields that every match must carry."""
    test = condition.test
    if test is not None:
        absent_is_fine = (
            test.values == (False,) if test.modifier == "exists" else None in test.values
        )
        return set() if absent_is_fine else {test.field}
    if condition.kind == "all":
        return {name for part in condition.parts for name in _tested_always(part)}
    if condition.kind == "any" and condition.parts:
        first, *others = (_tested_always(part) for part in condition.parts)
        return first.intersection(*others)
    return set()


def parse_rule(
    raw: object, complain: Complaint, overrides: Mapping[str, Scalar] | None = None
) -> Rule | None:
    """Return the rule, or None after every mistake went to `complain`."""
    if not isinstance(raw, dict):
        fix = "a rule is a map: id, title, where, window, …"
        complain("", f"the file holds {shown(raw)}, no rule", fix)
        return None
    wrong: set[str] = set()

    def note(path: str, message: str, fix: str) -> None:
        if path not in unknown:  # an unknown parameter is no value to judge
            wrong.add(path)
            complain(path, message, fix)

    unknown: set[str] = set()

    given = raw.get("params")
    params = {**(given if isinstance(given, dict) else {}), **(overrides or {})}
    filled = {
        key: value if key == "tests" else _fill(value, params, str(key), note)
        for key, value in raw.items()
    }
    unknown.update(wrong)
    check_names(raw, RuleText, "", "a rule", note)
    parts = convert_fields(filled, RuleText, note)
    where = parse_condition(parts["where"], "where", note) if parts.get("where") else ALWAYS
    if not any(path.startswith("where") for path in wrong):
        _check_where(where, parts.get("window"), note)
    if "window" in parts:
        _check_window(parts["window"], note)
    elif isinstance(filled.get("window"), dict):
        _check_ruined_window(filled["window"], note)
    _check_tests(parts, note)
    templates = _parse_templates(parts, params, note)
    if wrong:
        return None
    text = RuleText(**parts)
    logic = msgspec.json.encode((filled.get("where"), filled.get("window")), order="sorted")
    fingerprint = blake2b(logic, digest_size=8).hexdigest()
    return Rule(text, where, *templates, fingerprint=fingerprint)


def _fill(value: Any, params: Mapping[str, Any], path: str, complain: Complaint) -> Any:
    """Put the parameters in the place of every `$name`."""
    if isinstance(value, dict):
        return {k: _fill(v, params, f"{path}.{k}", complain) for k, v in value.items()}
    if isinstance(value, list):
        return [_fill(v, params, f"{path}[{i}]", complain) for i, v in enumerate(value)]
    if isinstance(value, str) and value.startswith("$"):
        name = value[1:]
        if name in params:
            return params[name]
        complain(path, f"unknown parameter `{value}`", nearest(name, params, "params are:"))
    return value


def _check_window(window: AnyWindow, complain: Complaint) -> None:
    """Look at the fields that the window reads."""
    window.check(complain)
    for place, name in _fields_read(window):
        if name not in FIELDS and not name.startswith("metadata."):
            complain(place, f"unknown field `{name}`", nearest(name, sorted(FIELDS), "fields are"))
        elif window.__struct_config__.tag in ("sum", "growth", "baseline"):
            if not place.startswith("window.group_by") and name in FIELDS - NUMERIC_FIELDS:
                fix = f"name a numeric field: {', '.join(sorted(NUMERIC_FIELDS))}"
                complain(place, f"`{name}` is text", fix)


def _check_ruined_window(window: Mapping[Any, Any], complain: Complaint) -> None:
    """Look at the names in a window whose shape is wrong: all mistakes are told at once."""
    for place, name in _names_in(window.get):
        if name not in FIELDS and not name.startswith("metadata."):
            complain(place, f"unknown field `{name}`", nearest(name, sorted(FIELDS), "fields are"))
    conditions = {f"window.{key}": value for key, value in window.items() if key in CONDITIONS}
    steps = window.get("steps")
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        if isinstance(step, dict):
            conditions[f"window.steps[{index}].where"] = step.get("where")
    for place, raw in conditions.items():
        if isinstance(raw, dict):
            parse_condition(raw, place, complain)


def _check_where(where: Condition, window: AnyWindow | None, complain: Complaint) -> None:
    """A rule that no event can meet is a mistake, not a quiet rule."""
    if not any(possible(where, {"event_type": t}) for t in EVENT_TYPES):
        complain("where", "no event type can meet this condition", "the parts exclude each other")
    if not any(possible(where, {"status": s}) for s in STATUSES):
        complain("where", "no status can meet this condition", "the parts exclude each other")
    if where == ALWAYS and window is not None and not isinstance(window, SequenceWindow):
        message = "the condition is empty: every event would match"
        complain("where", message, "say which events count")


def _fields_read(window: AnyWindow) -> Iterable[tuple[str, str]]:
    """Return the event fields that a window names, each with its place."""
    return _names_in(lambda attribute: getattr(window, attribute, None))


def _names_in(get: Callable[[str], Any]) -> Iterable[tuple[str, str]]:
    for attribute in ("group_by", "field", "key", "same"):
        value = get(attribute)
        if isinstance(value, str):
            yield f"window.{attribute}", value
        for index, name in enumerate(value if isinstance(value, list) else ()):
            if isinstance(name, str):
                yield f"window.{attribute}[{index}]", name


def _check_tests(parts: Mapping[str, Any], complain: Complaint) -> None:
    tests: list[RuleCase] | None = parts.get("tests")
    if tests is not None:
        if not any(case.expect for case in tests):
            complain("tests", "no test shows the rule firing", "add a case with `expect: [{…}]`")
        if not any(not case.expect for case in tests):
            message = "no test shows a near miss that stays quiet"
            complain("tests", message, "add a case with `expect: []`")
        if "window" in parts:
            check_cases(tests, parts["window"].group_by, complain)
    if parts.get("false_positives") == []:
        complain("false_positives", "the list is empty", "name one, or write [Unlikely]")


def _parse_templates(
    parts: Mapping[str, Any], params: Mapping[str, Any], complain: Complaint
) -> tuple[Template, Template, Template]:
    """Return the texts; what a wrong one holds does not matter, for the rule is refused."""
    group_by = parts["window"].group_by if "window" in parts else ()
    default = f"{parts.get('title')}" + (": {operation}" if "operation" in group_by else "")

    def parse(name: str, source: str) -> Template:
        template = Template.parse(source, frozenset(params))
        for message, fix in template.mistakes:
            complain(name, message, fix)
        return template

    return (
        parse("summary", parts.get("summary") or default),
        parse("cause", parts.get("cause", "")),
        parse("remedy", parts.get("remedy", "")),
    )
