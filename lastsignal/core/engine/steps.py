"""The text of the compiled steps: what one rule asks of one kind of event, as Python lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from lastsignal.core.engine.detectors import SEPARATOR, Detector
from lastsignal.core.engine.predicates import Compiler
from lastsignal.core.engine.traces import TraceState
from lastsignal.core.events import Event
from lastsignal.core.groups import Group, Signal
from lastsignal.core.rules.conditions import part_by_operation, specialise
from lastsignal.core.rules.windows import Answer, Tap

Step = Callable[[Event, TraceState], None]

MAX_OPERATIONS = 4096
FEW_VALUES = frozenset({"agent", "operation", "model", "error_class"})
"""Fields of text that take few values."""
LATE_SECONDS = 5.0
"""How much earlier than its trace's latest event one may be: clocks of machines differ."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the compiled steps call back."""

    create: Callable[[Detector, str, Event, TraceState], Group]
    """Makes the group that a tap has not found."""
    wake: Callable[[Detector, Group, TraceState], None]
    """Takes back into the trace's active groups one that rested."""
    signal: Callable[[Detector, str, Group, Signal, Event, TraceState], None]
    """Takes every answer of a window but QUIET."""
    settle: Callable[[Detector, Answer, Event, TraceState], None]
    """Puts an event to every group that a rule has in the trace."""
    sweep: Callable[[TraceState], int]
    """Gives up the groups of a trace in which nothing counts any more; returns what is active."""
    touched: Callable[[str], None] | None
    """Notes that a group across traces has changed; None where nobody wants to know."""
    shared: TraceState
    """Where the groups of rules across traces are."""

    def by_name(self) -> dict[str, Any]:
        """Return them by the names under which the steps know them."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(slots=True)
class Guarded:
    """Lines that concern only traces in which one of their rules has a group."""

    bits: int = 0
    body: list[str] = field(default_factory=list)

    def add(self, detector: Detector, written: list[str]) -> None:
        """Add what one of the rules does."""
        self.bits |= detector.bit
        self.body += written

    def lines(self) -> list[str]:
        """Return the lines behind their guard."""
        if not self.body:
            return []
        return behind(f"a & {self.bits}", self.body)


@dataclass(slots=True)
class Sections:
    """The lines of one step, by whom they concern."""

    waiting: Guarded = field(default_factory=Guarded)
    """Silences, apart from the rest: they wait in many a trace that is healthy."""
    begun: Guarded = field(default_factory=Guarded)
    """What goes on only where something has begun."""
    beginning: dict[str, list[str]] = field(default_factory=dict)
    """What any event may begin, by what is asked of its operation."""
    last: Guarded = field(default_factory=Guarded)
    """What looks at all groups of a rule, this event's among them."""

    def add(self, detector: Detector, tap: Tap, named: str, written: list[str]) -> None:
        """Add what one tap does."""
        if tap.every_group:
            self.last.add(detector, behind(named, written))
        elif tap.creates or not detector.rule.within_trace:
            self.beginning.setdefault(named, []).extend(written)
        elif detector.silence is not None:
            self.waiting.add(detector, behind(named, written))
        else:
            self.begun.add(detector, behind(named, written))

    def lines(self) -> list[str]:
        """Return all lines, each section behind its guard."""
        lines = []
        if going_on := self.waiting.lines() + self.begun.lines():
            lines = ["a = t.active", "if a and e.timestamp > t.sweep_at: a = sweep(t)"]
            lines += behind("a", going_on)
        for named in sorted(self.beginning):
            lines += behind(named, self.beginning[named])
        if self.last.body:
            lines += ["a = t.active", *self.last.lines()]
        return lines


def tap_lines(
    compiler: Compiler, detector: Detector, tap: Tap, known: dict[str, str]
) -> tuple[str, list[str]]:
    """Write what one tap does: guard, find the group, ask the window, tell of its answer.

    What concerns only the operation is returned apart: many rules ask the same.
    """
    guards = [] if tap.creates else [f"a & {detector.bit}"]
    if not detector.rule.within_trace:
        guards.clear()
    rest, operation = part_by_operation(specialise(tap.condition, known))
    condition = compiler.expression(rest)
    guards += [] if condition == "True" else [condition]
    named = "" if operation is None else compiler.operation_guard(operation)
    guards += [f"{compiler.read(name)} is not None" for name in tap.needs]
    if tap.in_time:
        guards.insert(0, f"e.timestamp >= t.last_at - {LATE_SECONDS}")
    total = ""
    if tap.total is not None:
        total = " + ".join(f"t.{name}" for name in tap.total[0])
        guards.insert(0, f"{total} >= {tap.total[1]!r}")
    key = _key_expression(compiler, detector)
    groups = "t.groups" if detector.rule.within_trace else "shared.groups"
    name, answer = compiler.constant(detector), compiler.constant(tap.answer)
    if tap.every_group:
        return named, [f"if {' and '.join(guards)}: settle({name}, {answer}, e, t)"]
    lines = [f"k = {key}", f"g = {groups}.get(k)"]
    if tap.creates:
        lines.append(f"if g is None: g = create({name}, k, e, t)")
        if detector.bit:
            lines.append(f"elif g.rests: wake({name}, g, t)")
        lines.append(f"s = {answer}(g, e)")
        if total:
            lines.append(f"g.value = float({total})")
    else:
        lines.append(f"s = {answer}(g, e) if g is not None else 0")
    if not detector.rule.within_trace and compiler.names["touched"] is not None:
        lines.append("if g is not None: touched(k)")
    lines.append(f"if s: signal({name}, k, g, s, e, t)")
    return named, behind(" and ".join(guards), lines)


def behind(guard: str, lines: list[str]) -> list[str]:
    """Return the lines behind a guard; an empty one guards nothing."""
    return [f"if {guard}:", *(f"    {line}" for line in lines)] if guard else lines


class OperationMasks(dict[str | None, int]):
    """Operation → bit set of the tests that it passes; each name is judged once."""

    def __init__(self, tests: Iterable[Callable[[str | None], bool]]) -> None:
        super().__init__()
        self._tests = list(tests)

    def judge(self, operation: str | None) -> int:
        """Return the tests that a name passes, and remember them."""
        mask = sum(1 << index for index, test in enumerate(self._tests) if test(operation))
        if len(self) >= MAX_OPERATIONS:  # names of a hostile trace must not pile up
            self.clear()
        self[operation] = mask
        return mask


class Keys(dict[str | None, tuple[str, ...]]):
    """Value of a field → the names of its groups, of each rule that groups by nothing else.

    The names are made once for all steps, and are the same objects in every trace.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rules: list[str] = []

    def place(self, rule: str) -> int:
        """Return at which place the names of a rule's groups are."""
        if rule not in self._rules:
            self._rules.append(rule)
            self.clear()
        return self._rules.index(rule)

    def __missing__(self, value: str | None) -> tuple[str, ...]:
        if len(self) >= MAX_OPERATIONS:
            self.clear()
        keys = self[value] = tuple(f"{rule}{SEPARATOR}{value}" for rule in self._rules)
        return keys


def _key_expression(compiler: Compiler, detector: Detector) -> str:
    """Write the group's name; rules that group by the same fields share what is made of these."""
    group_by = [name for name in detector.rule.window.group_by if name != "trace_id"]
    if not group_by:
        return repr(detector.rule.key)
    shared = "_".join(name.replace(".", "_").replace("|", "_") for name in group_by)
    if len(group_by) == 1 and group_by[0] in FEW_VALUES:
        place = compiler.names[f"keys_{shared}"].place(detector.rule.key)
        compiler.shared.add(f"k_{shared}")
        made = f"keys_{shared}[{compiler.read(group_by[0])}]"
        return f"(k_{shared} or (k_{shared} := {made}))[{place}]"
    placeholders = "".join(f"{SEPARATOR}{{{compiler.read(name)}}}" for name in group_by)
    compiler.shared.add(f"s_{shared}")
    made = f'f"{placeholders}"'
    return f"{detector.rule.key!r} + (s_{shared} or (s_{shared} := {made}))"


def compile_step(compiler: Compiler, body: list[str]) -> Step:
    lines = [f"f_{name} = e.{name}" for name in sorted(compiler.fields_read)]
    lines += [f"{name} = None" for name in sorted(compiler.shared)]
    if compiler.operation_tests:
        masks = OperationMasks(compiler.operation_tests.values())
        compiler.names.update(judged=masks.get, judge=masks.judge)
        lines.append("o = judged(e.operation)")
        lines.append("if o is None: o = judge(e.operation)")
    lines += body
    source = "def step(e, t):\n" + "".join(f"    {line}\n" for line in lines)
    namespace: dict[str, Any] = dict(compiler.names)
    exec(source, namespace)  # our own generated text; see conditions.Compiler
    step: Step = namespace["step"]
    return step
