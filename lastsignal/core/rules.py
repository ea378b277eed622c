"""A rule: what one YAML file says, as frozen structs; an invalid rule cannot exist.

`parse_rule` takes the plain data of a file and returns the rule or every mistake in it, each at
a path such as `where.any[0].status`, which the edge that read the file turns into a line.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from lastsignal.core.conditions import (
    ALWAYS,
    FIELDS,
    NUMERIC_FIELDS,
    Complaint,
    Condition,
    parse_condition,
    possible,
)
from lastsignal.core.durations import Duration, parse_duration
from lastsignal.core.events import EVENT_TYPES, STATUSES
from lastsignal.core.templates import Template, TemplateError
from lastsignal.core.windows import WINDOW_KINDS, AnyWindow, SequenceWindow

Severity = Literal["info", "warning", "critical"]
SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")

Scalar = str | int | float | bool


class RuleCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One inline test: events with relative times, and the findings that they must give."""

    name: str
    events: list[dict[str, Any]]
    expect: list[dict[str, Any]] = []
    ends: bool = True
    """Whether the trace ends after the last event (silence is then judged)."""
    advance: Duration | None = None
    """How far the source's clock goes on after the last event, before the end."""


class RuleText(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file as written, before its conditions and templates are compiled."""

    id: str
    title: str
    status: Literal["experimental", "stable", "deprecated"]
    severity: Severity
    category: str
    also: dict[str, str] = {}
    description: str
    summary: str | None = None
    cause: str
    remedy: str
    false_positives: list[str]
    references: list[str] = []
    params: dict[str, Scalar] = {}
    where: dict[str, Any] = {}
    window: AnyWindow
    explains: list[str] = []
    tests: list[RuleCase]


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
        }


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
        complain("", "the file holds no map", "a rule is a map: id, title, where, window, …")
        return None
    mistakes = 0

    def note(path: str, message: str, fix: str) -> None:
        nonlocal mistakes
        mistakes += 1
        complain(path, message, fix)

    _check_keys(raw, note)
    params = raw.get("params") if isinstance(raw.get("params"), dict) else {}
    assert isinstance(params, dict)
    for name in set(overrides or {}) - set(params):
        note(
            "params",
            f"the rule has no parameter `{name}`",
            f"it has: {', '.join(params) or 'none'}",
        )
    filled = _fill(
        {k: v for k, v in raw.items() if k != "tests"}, {**params, **(overrides or {})}, "", note
    )
    filled["tests"] = raw.get("tests", [])
    where = parse_condition(filled.get("where", {}), "where", note)
    text = _convert(filled, note)
    if text is None:
        return None
    text.window.check(note)
    _check_group_by(text, note)
    _check_reachable(text, where, note)
    _check_tests(text, note)
    templates = _parse_templates(text, note)
    if mistakes or templates is None:
        return None
    logic = msgspec.json.encode((filled.get("where"), filled.get("window")), order="sorted")
    fingerprint = blake2b(logic, digest_size=8).hexdigest()
    return Rule(text, where, *templates, fingerprint=fingerprint)


def _check_keys(raw: Mapping[Any, Any], complain: Complaint) -> None:
    """Name every unknown or missing key at once, with the nearest right one."""
    known = RuleText.__struct_fields__
    for key in raw:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            complain(
                str(key),
                f"unknown key `{key}`",
                f"did you mean `{close[0]}`?" if close else f"keys are {', '.join(known)}",
            )
    for field in msgspec.structs.fields(RuleText):
        if field.required and field.name not in raw:
            complain("", f"`{field.name}` is missing", f"add `{field.name}:`")
    window = raw.get("window")
    if isinstance(window, dict):
        _check_window_keys(window, complain)


def _check_window_keys(window: Mapping[Any, Any], complain: Complaint) -> None:
    kind = window.get("kind")
    kinds = tuple(WINDOW_KINDS)
    if kind is None:
        complain("window", "`kind` is missing", f"one of {', '.join(kinds)}")
        return
    if kind not in kinds:
        close = difflib.get_close_matches(str(kind), kinds, n=1)
        complain(
            "window.kind",
            f"unknown window kind `{kind}`",
            f"did you mean `{close[0]}`?" if close else f"one of {', '.join(kinds)}",
        )
        return
    fields = msgspec.structs.fields(WINDOW_KINDS[kind])
    names = [field.name for field in fields]
    for key in window:
        if key != "kind" and key not in names:
            close = difflib.get_close_matches(str(key), names, n=1)
            complain(
                f"window.{key}",
                f"a {kind} window has no `{key}`",
                f"did you mean `{close[0]}`?" if close else f"it takes {', '.join(names)}",
            )
    for field in fields:
        if field.required and field.name not in window:
            complain("window", f"a {kind} window needs `{field.name}`", f"add `{field.name}:`")


def _fill(value: Any, params: Mapping[str, Any], path: str, complain: Complaint) -> Any:
    """Put the parameters in the place of every `$name`."""
    if isinstance(value, dict):
        return {
            k: _fill(v, params, f"{path}.{k}" if path else str(k), complain)
            for k, v in value.items()
        }
    if isinstance(value, list):
        return [_fill(v, params, f"{path}[{i}]", complain) for i, v in enumerate(value)]
    if isinstance(value, str) and value.startswith("$"):
        name = value[1:]
        if name in params:
            return params[name]
        complain(path, f"unknown parameter `{value}`", f"params are: {', '.join(params) or 'none'}")
    return value


def _convert(filled: dict[str, Any], complain: Complaint) -> RuleText | None:
    try:
        return msgspec.convert(filled, RuleText, dec_hook=_decode_special)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        path = place.rstrip("`").lstrip(".").replace("[...]", "")
        if not _already_said(message):  # those have been told with their place and fix
            complain(path, message[:1].lower() + message[1:], "")
        return None


def _already_said(message: str) -> bool:
    return message.startswith(
        ("Object contains unknown field", "Object missing required field", "Invalid value 'kind'")
    )


def _decode_special(kind: type, value: object) -> object:
    if kind is Duration:
        return parse_duration(value)
    raise NotImplementedError(kind)


def _check_group_by(text: RuleText, complain: Complaint) -> None:
    window = text.window
    for name in [*window.group_by, *window.fields()]:
        if name not in FIELDS and not name.startswith("metadata."):
            close = difflib.get_close_matches(name, sorted(FIELDS), n=1)
            complain(
                "window.group_by" if name in window.group_by else "window",
                f"unknown field `{name}`",
                f"did you mean `{close[0]}`?"
                if close
                else f"fields are {', '.join(sorted(FIELDS))}",
            )
    if window.__struct_config__.tag in ("sum", "growth", "baseline"):
        for name in window.fields():
            if name in FIELDS - NUMERIC_FIELDS:
                complain("window.field", f"`{name}` is text", "name a numeric field")


def _check_reachable(text: RuleText, where: Condition, complain: Complaint) -> None:
    """A rule that no event can meet is a mistake, not a quiet rule."""
    if not any(possible(where, {"event_type": t}) for t in EVENT_TYPES):
        complain("where", "no event type can meet this condition", "the parts exclude each other")
    if not any(possible(where, {"status": s}) for s in STATUSES):
        complain("where", "no status can meet this condition", "the parts exclude each other")
    if where == ALWAYS and not isinstance(text.window, SequenceWindow):
        complain(
            "where", "the condition is empty: every event would match", "say which events count"
        )


def _check_tests(text: RuleText, complain: Complaint) -> None:
    if not any(case.expect for case in text.tests):
        complain("tests", "no test shows the rule firing", "add a case with `expect: [{…}]`")
    if not any(not case.expect for case in text.tests):
        complain(
            "tests", "no test shows a near miss that stays quiet", "add a case with `expect: []`"
        )
    if text.false_positives == []:
        complain("false_positives", "the list is empty", "name one, or write [Unlikely]")


def _parse_templates(
    text: RuleText, complain: Complaint
) -> tuple[Template, Template, Template] | None:
    default = text.title + (": {operation}" if "operation" in text.window.group_by else "")
    parsed = []
    for name, source in (
        ("summary", text.summary or default),
        ("cause", text.cause),
        ("remedy", text.remedy),
    ):
        try:
            parsed.append(Template.parse(source, frozenset(text.params)))
        except TemplateError as error:
            complain(name, str(error), error.fix)
    return (parsed[0], parsed[1], parsed[2]) if len(parsed) == 3 else None
