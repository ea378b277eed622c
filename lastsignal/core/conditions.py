"""`where` clauses → one Python expression a rule, compiled once.

A map is *and*, a list of values *any of*; `any:`, `all:`, `not:` combine; a key is a field with an
optional modifier (`duration_seconds|gt`); `unless_<name>` is a named exception: *and not*.
Comparisons of text by modifiers ignore case; plain equality is exact.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

import re2

from lastsignal.core.error_classes import ERROR_CLASSES
from lastsignal.core.events import EVENT_TYPES, STATUSES, Event, metadata_of

FIELDS: frozenset[str] = frozenset(Event.__struct_fields__) - {"metadata"}
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
        complain(
            path, f"unknown modifier `{modifier}`", _nearest(modifier, MODIFIERS, "use one of")
        )
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
    complain(path, f"unknown field `{name}`", _nearest(name, sorted(FIELDS), "fields are"))


def _check_value(name: str, modifier: str, value: object, path: str, complain: Complaint) -> None:
    if isinstance(value, dict | list):
        complain(
            path,
            f"a value must be plain, got {_shown(value)}",
            "compare with text, a number or true/false",
        )
    elif modifier == "re":
        try:
            re2.compile(str(value))
        except re2.error as error:
            complain(
                path,
                f"pattern is not usable: {error}",
                "linear-time (RE2) syntax: no backreferences, no look-around",
            )
    elif modifier in ("gt", "gte", "lt", "lte"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            complain(path, f"`|{modifier}` compares numbers, got {_shown(value)}", "write a number")
        elif name in FIELDS and name not in NUMERIC_FIELDS:
            complain(
                path, f"`{name}` is text; `|{modifier}` compares numbers", "compare a numeric field"
            )
    elif modifier == "exists":
        if not isinstance(value, bool):
            complain(
                path, f"`|exists` takes true or false, got {_shown(value)}", "write true or false"
            )
    elif modifier == "cidr":
        try:
            ip_network(str(value), strict=False)
        except ValueError:
            complain(path, f"{_shown(value)} is no network", "write e.g. 10.0.0.0/8")
    elif modifier == "eq" and name in CLOSED_SETS and value not in CLOSED_SETS[name]:
        complain(
            path,
            f"`{name}` is never {_shown(value)}",
            _nearest(str(value), CLOSED_SETS[name], "it is one of"),
        )
    elif (
        modifier == "eq"
        and name in NUMERIC_FIELDS
        and (isinstance(value, bool) or not isinstance(value, int | float))
    ):
        complain(path, f"`{name}` is a number, got {_shown(value)}", "write a number")


def _nearest(word: str, known: tuple[str, ...] | list[str], otherwise: str) -> str:
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else f"{otherwise} {', '.join(known)}"


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    return f"`{value}`" if isinstance(value, str) else f"`{value!r}`"


# -- evaluation --------------------------------------------------------------------------------


@dataclass(slots=True)
class Compiler:
    """Writes conditions as Python expressions over local names; constants go to `names`."""

    names: dict[str, Any] = field(
        default_factory=lambda: {"_metadata": metadata_value, "_isnum": is_number}
    )
    fields_read: set[str] = field(default_factory=set)
    """Event fields that the expressions expect as local names `f_<field>`."""

    def constant(self, value: object) -> str:
        """Bind a value and return its name."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def read(self, name: str) -> str:
        """Return the expression that reads a field."""
        if name.startswith("metadata."):
            return f"_metadata(e, {name[len('metadata.') :]!r})"
        self.fields_read.add(name)
        return f"f_{name}"

    def expression(self, condition: Condition) -> str:
        """Return the condition as a Python expression; 'True' where it always holds."""
        if condition.test is not None:
            return self._test(condition.test)
        parts = [self.expression(part) for part in condition.parts]
        if condition.kind == "not":
            return f"(not {parts[0]})"
        if condition.kind == "any":
            return "(" + " or ".join(parts) + ")" if parts else "False"
        parts = [part for part in parts if part != "True"]
        return "(" + " and ".join(parts) + ")" if parts else "True"

    def _test(self, test: Test) -> str:
        read = self.read(test.field)
        if test.modifier == "eq":
            return self._equality(read, test.values)
        if test.modifier == "exists":
            return f"({read} is {'not ' if test.values[0] else ''}None)"
        if test.modifier in ("gt", "gte", "lt", "lte"):
            sign = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[test.modifier]
            bound = max(test.values) if test.modifier in ("lt", "lte") else min(test.values)
            checked = self._local(read)
            return f"(_isnum({checked[0]}) and {checked[1]} {sign} {bound!r})"
        matcher = self.constant(_text_matcher(test.modifier, test.values))
        return f"{matcher}({read})"

    @staticmethod
    def _local(read: str) -> tuple[str, str]:
        if read.startswith("f_"):
            return read, read
        return f"(v := {read})", "v"

    def _equality(self, read: str, values: tuple[Any, ...]) -> str:
        if len(values) == 1:
            if values[0] is None:
                return f"({read} is None)"
            return f"({read} == {values[0]!r})"
        return f"({read} in {self.constant(frozenset(values))})"


def compile_predicate(condition: Condition) -> Callable[[Event], bool]:
    """Return the condition as a function of one event (the engine fuses many into one instead)."""
    compiler = Compiler()
    expression = compiler.expression(condition)
    loads = "".join(f"    f_{name} = e.{name}\n" for name in sorted(compiler.fields_read))
    source = f"def predicate(e):\n{loads}    return bool({expression})\n"
    namespace: dict[str, Any] = dict(compiler.names)
    exec(
        source, namespace
    )  # our own generated text: values are bound by name or by repr of plain scalars
    predicate: Callable[[Event], bool] = namespace["predicate"]
    return predicate


def metadata_value(event: Event, path: str) -> Any:
    """Return a metadata value by dotted path, None where there is none."""
    value: Any = metadata_of(event)
    if path in value:
        return value[path]
    for step in path.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def is_number(value: object) -> bool:
    """True for a number that can be compared; JSON's true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text_matcher(modifier: str, values: tuple[Any, ...]) -> Callable[[Any], bool]:
    if modifier == "re":
        patterns = [re2.compile(str(value)) for value in values]
        return lambda text: (
            text is not None and any(p.search(str(text)) is not None for p in patterns)
        )
    if modifier == "cidr":
        networks = [ip_network(str(value), strict=False) for value in values]
        return lambda text: _in_networks(text, networks)
    wanted = tuple(str(value).lower() for value in values)
    if modifier == "startswith":
        return lambda text: text is not None and str(text).lower().startswith(wanted)
    if modifier == "endswith":
        return lambda text: text is not None and str(text).lower().endswith(wanted)
    return lambda text: text is not None and any(one in str(text).lower() for one in wanted)


def _in_networks(text: object, networks: list[Any]) -> bool:
    try:
        address = ip_address(str(text))
    except ValueError:
        return False
    return any(address.version == network.version and address in network for network in networks)


# -- static knowledge --------------------------------------------------------------------------


def possible(condition: Condition, name: str, value: str) -> bool:
    """Could an event whose field `name` is `value` satisfy the condition? False only when surely not."""
    test = condition.test
    if test is not None:
        return not (test.field == name and test.modifier == "eq" and value not in test.values)
    if condition.kind == "any":
        return any(possible(part, name, value) for part in condition.parts)
    if condition.kind == "not":
        return not certain(condition.parts[0], name, value)
    return all(possible(part, name, value) for part in condition.parts)


def certain(condition: Condition, name: str, value: str) -> bool:
    """Does the field `name` being `value` alone make the condition true?"""
    test = condition.test
    if test is not None:
        return test.field == name and test.modifier == "eq" and value in test.values
    if condition.kind == "any":
        return any(certain(part, name, value) for part in condition.parts)
    if condition.kind == "not":
        return not possible(condition.parts[0], name, value)
    return all(certain(part, name, value) for part in condition.parts)


def specialise(condition: Condition, known: dict[str, str]) -> Condition:
    """Return the condition with the parts that the known fields already decide taken out."""
    if condition.test is not None or condition.kind == "not":
        for name, value in known.items():
            if certain(condition, name, value):
                return ALWAYS
        return condition
    parts = tuple(specialise(part, known) for part in condition.parts)
    if condition.kind == "all":
        parts = tuple(part for part in parts if part != ALWAYS)
        return parts[0] if len(parts) == 1 else Condition("all", parts)
    return ALWAYS if ALWAYS in parts else Condition("any", parts)
