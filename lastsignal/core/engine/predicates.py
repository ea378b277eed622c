"""Conditions → Python expressions over local names, compiled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import Any

import re2

from lastsignal.core.events import Event, metadata_value
from lastsignal.core.rules.conditions import Condition, Test, is_number


@dataclass(slots=True)
class Compiler:
    """Writes conditions as Python expressions over local names; constants go to `names`."""

    names: dict[str, Any] = field(
        default_factory=lambda: {"_metadata": metadata_value, "_isnum": is_number}
    )
    fields_read: set[str] = field(default_factory=set)
    """Event fields that the expressions expect as local names `f_<field>`."""

    operation_tests: dict[Condition, Callable[[str | None], bool]] = field(default_factory=dict)
    """Tests of nothing but the operation: judged once per name, for all rules together."""
    shared: set[str] = field(default_factory=set)
    """Local names of what several expressions share; each made when first needed."""

    def constant(self, value: object) -> str:
        """Bind a value and return its name."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def operation_guard(self, condition: Condition) -> str:
        """Return the expression of a condition that reads nothing but the operation."""
        if condition not in self.operation_tests:
            inner = Compiler()
            expression = inner.expression(condition)
            namespace: dict[str, Any] = dict(inner.names)
            exec(f"def judge(f_operation):\n    return bool({expression})\n", namespace)  # our text
            self.operation_tests[condition] = namespace["judge"]
        return f"o & {1 << list(self.operation_tests).index(condition)}"

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
            if read.startswith("f_"):  # an Event's own numbers are numbers
                return f"({read} is not None and {read} {sign} {bound!r})"
            return f"(_isnum(v := {read}) and v {sign} {bound!r})"
        matcher = _text_matcher(test.modifier, test.values)
        if read.startswith("f_"):  # the same few names come again and again
            matcher = lru_cache(maxsize=1024)(matcher)
        return f"{self.constant(matcher)}({read})"

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
