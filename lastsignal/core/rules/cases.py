"""The events of a rule's inline tests: relative times made absolute, and their mistakes told.

An event of a case is a map of Event fields plus `at` (seconds or `1m30s` after the start, default:
one second after the one before), `like: n` (a copy of the nth event, 0-based, with changes), and
`repeat: n` with `every: 2s`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from lastsignal.core.durations import Duration, parse_duration
from lastsignal.core.events import Event, EventType, Status
from lastsignal.core.judging import judge
from lastsignal.core.rules.conditions import CLOSED_SETS, FIELDS, Complaint
from lastsignal.core.rules.shape import check_names, convert, fields_of, shown
from lastsignal.core.rules.text import RuleCase, Severity
from lastsignal.core.spelling import nearest

START = 1_700_000_000.0
SOURCE = "case"
_OWN_KEYS = frozenset({"at", "like", "repeat", "every"})
_PLACED = frozenset({"identity", "timestamp", "source", "line", "offset"})

CaseEvent = msgspec.defstruct(
    "CaseEvent",
    [
        *((f.name, f.type, None) for f in msgspec.structs.fields(Event) if f.name not in _PLACED),
        ("event_type", EventType | None, None),
        ("status", Status | None, None),
        ("metadata", dict[str, Any] | None, None),
        ("at", Duration | None, None),
        ("like", int | None, None),
        ("repeat", int | None, None),
        ("every", Duration | None, None),
    ],
    forbid_unknown_fields=True,
)


class Expectation(msgspec.Struct, forbid_unknown_fields=True):
    """What a finding can be asked for, besides the fields of its group."""

    at: Duration | None = None
    count: int | None = None
    severity: Severity | None = None
    healed: bool | None = None
    lines: list[int] | None = None
    summary: str | None = None
    cause: str | None = None
    remedy: str | None = None


def case_events(case: RuleCase) -> list[Event]:
    """Return the events of a case with absolute times; `check_cases` has found no mistake in it."""
    written: list[dict[str, Any]] = []
    events: list[Event] = []
    now = START - 1.0
    for entry in case.events:
        raw = dict(entry)
        if "like" in raw:
            raw = {**written[raw["like"]], **{k: v for k, v in raw.items() if k != "like"}}
        written.append({k: v for k, v in raw.items() if k not in ("at", "repeat", "every")})
        every = parse_duration(raw.get("every", 1.0))
        now = START + parse_duration(raw["at"]) if "at" in raw else now + 1.0
        for index in range(raw.get("repeat", 1)):
            now += every if index else 0.0
            events.append(_event(raw, now, len(events) + 1))
    return events


def _event(raw: Mapping[str, Any], timestamp: float, line: int) -> Event:
    values = {k: v for k, v in raw.items() if k not in _OWN_KEYS and k not in _PLACED}
    event = Event(
        **{"trace_id": "t", **values},
        timestamp=timestamp,
        source=SOURCE,
        line=line,
        offset=line * 100,
    )
    judge(event)
    return event


def check_cases(cases: Iterable[RuleCase], group_by: Iterable[str], complain: Complaint) -> None:
    """Tell of every mistake in the events and the expectations of inline tests."""
    shown_fields = frozenset(group_by)
    for index, case in enumerate(cases):
        place = f"tests[{index}]"
        if not case.events:
            complain(place, "the test has no events", "write `events: [{event_type: …}, …]`")
        _check_events(case.events, f"{place}.events", complain)
        for at, one in enumerate(case.expect):
            _check_expectation(one, shown_fields, f"{place}.expect[{at}]", complain)


def _check_events(events: list[dict[str, Any]], place: str, complain: Complaint) -> None:
    for index, raw in enumerate(events):
        here = f"{place}[{index}]"
        if not _fits(raw, CaseEvent):
            check_names(raw, CaseEvent, here, "an event", complain)
            _check_fields(raw, CaseEvent, here, complain)
        like = raw.get("like")
        if isinstance(like, int) and not 0 <= like < index:
            most = f"0 to {index - 1}" if index > 1 else "0"
            fix = f"events count from 0: write {most}" if index else "write the event out"
            complain(f"{here}.like", f"`like: {like}` names no event before it", fix)
        elif like is None and "event_type" not in raw:
            complain(here, "an event needs `event_type`", "add `event_type:`, or `like: 0`")
        if raw.get("error_class", "unknown") not in CLOSED_SETS["error_class"]:
            fix = nearest(raw["error_class"], CLOSED_SETS["error_class"], "it is one of")
            message = f"`error_class` is never {shown(raw['error_class'])}"
            complain(f"{here}.error_class", message, fix)


def _check_expectation(
    raw: dict[str, Any], group: frozenset[str], place: str, complain: Complaint
) -> None:
    asked = {key: value for key, value in raw.items() if key not in group}
    if _fits(asked, Expectation):
        return
    known = [*Expectation.__struct_fields__, *sorted(group)]
    for key in asked:
        if key in FIELDS:
            message = f"`{key}` is no field of the finding's group"
            complain(f"{place}.{key}", message, f"add it to group_by, or expect {', '.join(known)}")
        elif key not in Expectation.__struct_fields__:
            complain(f"{place}.{key}", f"a finding has no `{key}`", nearest(key, known, "it has"))
    _check_fields(asked, Expectation, place, complain)


def _check_fields(
    raw: Mapping[str, Any], kind: type[msgspec.Struct], place: str, complain: Complaint
) -> None:
    for field in fields_of(kind):
        if field.name in raw:
            convert(raw[field.name], field.type, f"{place}.{field.name}", complain)


def _fits(raw: dict[str, Any], kind: type[msgspec.Struct]) -> bool:
    return convert(raw, kind, "", lambda *_: None) is not None
