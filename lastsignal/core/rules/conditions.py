"""`where` clauses as a tree: parsed with every mistake told, and what is known of it beforehand.

A map is *and*, a list of values *any of*; `any:`, `all:`, `not:` combine; a key is a field with an
optional modifier (`duration_seconds|gt`); `unless_<name>` is a named exception: *and not*.
Comparisons of text by modifiers ignore case; plain equality is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

import re2

from lastsignal.core.error_classes import ERROR_CLASSES
from lastsignal.core.events import EVENT_TYPES, STATUSES, Event
from lastsignal.core.spelling import nearest

FIELDS: frozenset[str] = frozenset(Event.__struct_fields__) - {"metadata", "identity"}
NUMERIC_FIELDS: frozenset[str] = frozenset(
    {
        "timestamp", "attempt", "http_status", "input_tokens", "output_tokens", "cost_usd",
        "duration_seconds", "line", "offset", "sequence",
    }
)  # fmt: skip
CLOSED_SETS: dict[str, tuple[str, ...]] = {
    "event_type": EVENT_TYPES,
    "status": STATUSES,
    "error_class": ERROR_CLASSES,
}
MODIFIERS = ("contains", "startswith", "endswith", "re", "gt", "gte", "lt", "lte", "exists", "cidr")

Complaint = Callable[[str, str, str], None]
"""complain(path, message, fix): one mistake found, at a path such as `where.any[0].status`."""


@dataclass(frozen=True, slots=True)
class Test:
    """One field compared with one or more values."""

    field: str
    modifier: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """A tree of tests: `all` and `any` hold parts, `not` one, `test` a leaf."""

    kind: str
    parts: tuple[Condition, ...] = ()
    test: Test | None = None

    def tests(self) -> Iterator[Test]:
        """Yield every leaf."""
        if self.test is not None:
            yield self.test
        for part in self.parts:
            yield from part.tests()


ALWAYS = Condition("all")
NEVER = Condition("any")


def parse_condition(raw: object, path: str, complain: Complaint) -> Condition:
    """Parse a `where` tree; every mistake goes to `complain`, and parsing goes on."""
    if isinstance(raw, list):
        parts = [parse_condition(item, f"{path}[{i}]", complain) for i, item in enumerate(raw)]
        return Condition("any", tuple(parts))
    if not isinstance(raw, dict):
        complain(
            path,
            f"expected a map of field: value, got {_shown(raw)}",
            "write e.g. {status: failed}",
        )
        return ALWAYS
    parts = [_parse_entry(str(key), value, f"{path}.{key}", complain) for key, value in raw.items()]
    return parts[0] if len(parts) == 1 else Condition("all", tuple(parts))


def _parse_entry(key: str, value: object, path: str, complain: Complaint) -> Condition:
    if key in ("any", "all"):
        if not isinstance(value, list) or not value:
            complain(path, f"`{key}` takes a list of conditions", f"write `{key}: [{{…}}, {{…}}]`")
            return ALWAYS
        parts = [parse_condition(item, f"{path}[{i}]", complain) for i, item in enumerate(value)]
        return Condition(key, tuple(parts))
    if key == "not" or key.startswith("unless_"):
        return Condition("not", (parse_condition(value, path, complain),))
    return _parse_test(key, value, path, complain)


def _parse_test(key: str, value: object, path: str, complain: Complaint) -> Condition:
    name, _, modifier = key.partition("|")
    modifier = modifier or "eq"
    _check_field(name, path, complain)
    if modifier != "eq" and modifier not in MODIFIERS:
        complain(path, f"unknown modifier `{modifier}`", nearest(modifier, MODIFIERS, "use one of"))
        return ALWAYS
    values = tuple(value) if isinstance(value, list) else (value,)
    if not values:
        complain(path, "an empty list matches nothing", "give at least one value")
    for one in values:
        _check_value(name, modifier, one, path, complain)
    return Condition("test", test=Test(name, modifier, values))


def _check_field(name: str, path: str, complain: Complaint) -> None:
    if name in FIELDS or (name.startswith("metadata.") and len(name) > len("metadata.")):
        return
    if name == "metadata":
        complain(path, "`metadata` is a map", "name one of its keys: metadata.<key>")
        return
    complain(path, f"unknown field `{name}`", nearest(name, sorted(FIELDS), "fields are"))


def _check_value(name: str, modifier: str, value: object, path: str, complain: Complaint) -> None:
    if isinstance(value, dict | list):
        fix = "compare with text, a number or true/false"
        complain(path, f"a value must be plain, got {_shown(value)}", fix)
    elif modifier in _VALUE_CHECKS:
        wrong = _VALUE_CHECKS[modifier](name, modifier, value)
        if wrong is not None:
            complain(path, *wrong)


Wrong = tuple[str, str] | None
"""What is wrong with a value, and the fix."""


def _check_equal(name: str, modifier: str, value: object) -> Wrong:
    if name in CLOSED_SETS and value not in CLOSED_SETS[name]:
        fix = nearest(str(value), CLOSED_SETS[name], "it is one of")
        return f"`{name}` is never {_shown(value)}", fix
    if name in NUMERIC_FIELDS and not is_number(value):
        return f"`{name}` is a number, got {_shown(value)}", "write a number"
    return None


def _check_pattern(name: str, modifier: str, value: object) -> Wrong:
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(str(value), options)
    except re2.error as error:
        why = error.args[0] if error.args else "it does not parse"
        said = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        fix = "patterns run in linear time (RE2): no backreferences, no look-around"
        return f"the pattern cannot be used: {said}", fix
    return None


def _check_bound(name: str, modifier: str, value: object) -> Wrong:
    if not is_number(value):
        return f"`|{modifier}` compares numbers, got {_shown(value)}", "write a number"
    if name in FIELDS and name not in NUMERIC_FIELDS:
        return f"`{name}` is text; `|{modifier}` compares numbers", "compare a numeric field"
    return None


def _check_exists(name: str, modifier: str, value: object) -> Wrong:
    if isinstance(value, bool):
        return None
    return f"`|exists` takes true or false, got {_shown(value)}", "write true or false"


def _check_network(name: str, modifier: str, value: object) -> Wrong:
    try:
        ip_network(str(value), strict=False)
    except ValueError:
        return f"{_shown(value)} is no network", "write e.g. 10.0.0.0/8"
    return None


_VALUE_CHECKS: dict[str, Callable[[str, str, object], Wrong]] = {
    "eq": _check_equal,
    "re": _check_pattern,
    "gt": _check_bound,
    "gte": _check_bound,
    "lt": _check_bound,
    "lte": _check_bound,
    "exists": _check_exists,
    "cidr": _check_network,
}


def is_number(value: object) -> bool:
    """True for a number that can be compared; JSON's true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return f"`{value}`" if isinstance(value, str) else f"`{value!r}`"


def possible(condition: Condition, known: Mapping[str, str]) -> bool:
    """Could an event with these field values satisfy the condition? False only when surely not."""
    test = condition.test
    if test is not None:
        decided = test.modifier == "eq" and test.field in known
        return not decided or known[test.field] in test.values
    if condition.kind == "any":
        return any(possible(part, known) for part in condition.parts)
    if condition.kind == "not":
        return not certain(condition.parts[0], known)
    return all(possible(part, known) for part in condition.parts)


def certain(condition: Condition, known: Mapping[str, str]) -> bool:
    """Do these field values alone make the condition true?"""
    test = condition.test
    if test is not None:
        return test.modifier == "eq" and test.field in known and known[test.field] in test.values
    if condition.kind == "any":
        return any(certain(part, known) for part in condition.parts)
    if condition.kind == "not":
        return not possible(condition.parts[0], known)
    return all(certain(part, known) for part in condition.parts)


def specialise(condition: Condition, known: Mapping[str, str]) -> Condition:
    """Return the condition with the parts that the known fields already decide taken out."""
    if certain(condition, known):
        return ALWAYS
    if not possible(condition, known):
        return NEVER
    if condition.test is not None:
        return condition
    parts = tuple(specialise(part, known) for part in condition.parts)
    if condition.kind == "any":
        parts = tuple(part for part in parts if part != NEVER)
    elif condition.kind == "all":
        parts = tuple(part for part in parts if part != ALWAYS)
    if len(parts) == 1 and condition.kind != "not":
        return parts[0]
    return Condition(condition.kind, parts)


def part_by_operation(condition: Condition) -> tuple[Condition, Condition | None]:
    """Split a condition into the rest and the part that reads nothing but the operation."""
    parts = condition.parts if condition.kind == "all" else (condition,)
    named = tuple(p for p in parts if p != ALWAYS and {t.field for t in p.tests()} == {"operation"})
    if not named:
        return condition, None
    rest = tuple(part for part in parts if part not in named)
    return Condition("all", rest), Condition("all", named)
