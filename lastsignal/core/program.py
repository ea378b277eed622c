"""All rules, compiled into one function per event type and status.

Most events concern few rules: what the type and the status already decide is decided while
compiling, cheap comparisons of local names come first, and a reset is not even looked at in a trace
where its rule has no group. With more rules the healthy event pays next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from lastsignal.core.conditions import Condition, part_by_operation, possible, specialise
from lastsignal.core.events import EVENT_TYPES, STATUSES, Event, metadata_value
from lastsignal.core.groups import Group, Mark, Signal
from lastsignal.core.predicates import Compiler, compile_predicate
from lastsignal.core.rules import Rule
from lastsignal.core.traces import TraceState, mark_of
from lastsignal.core.windows import Answer, SilenceWindow, StreakWindow, Tap

Step = Callable[[Event, TraceState], None]

SEPARATOR = "\x1f"
MAX_OPERATIONS = 4096
LATE_SECONDS = 5.0
"""How much earlier than its trace's latest event one may be: clocks of machines differ."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the compiled steps call back."""

    create: Callable[[Detector, str, Event, TraceState], Group]
    """Makes the group that a tap has not found."""
    signal: Callable[[Detector, str, Group, Signal, Event, TraceState], None]
    """Takes every answer of a window but QUIET."""
    settle: Callable[[Detector, Answer, Event, TraceState], None]
    """Puts an event to every group that a rule has in the trace."""
    shared: TraceState
    """Where the groups of rules across traces are."""


@dataclass(frozen=True, slots=True, eq=False)
class Detector:
    """One rule, ready to run."""

    rule: Rule
    bit: int
    """Its place in `TraceState.active`; 0 where nothing of it depends on having a group."""
    keep: int
    values: Callable[[Event], list[Any]]
    """The event's group: the values of `group_by` without the trace."""
    facts: Callable[[Event], dict[str, Any]]
    """What the texts may quote of the event."""
    silence: SilenceWindow | None
    ends_trace: bool
    """Whether the end of a trace on a failed call is enough for it, however few had failed."""
    watches: Callable[[Event], bool] | None
    """For `pair`: whether a call or a run is watched at all."""
    required: int
    """Bits in `TraceState.seen` of the fields without which it is not checked."""
    cells: frozenset[tuple[str, str]]
    """(event type, status) pairs that can concern it."""

    def mark(self, event: Event) -> Mark:
        """Return where an event is, with the facts that the texts may quote."""
        return mark_of(event, self.facts(event))

    def key(self, values: list[Any]) -> str:
        """Return the name of a group among all of a trace, as the compiled steps write it."""
        return SEPARATOR.join([self.rule.key, *map(str, values)])


class Program:
    """Compiled rules: `cells[event_type][status]` is the step for such an event, or None."""

    def __init__(self, rules: Sequence[Rule], hooks: Hooks) -> None:
        self.field_bits: dict[str, int] = {}
        self._next_bit = 1
        self.detectors: list[Detector] = [self._detector(rule) for rule in rules]
        self.by_rule = {detector.rule.key: detector for detector in self.detectors}
        for event_type in EVENT_TYPES:
            for status in STATUSES:
                self._bits({_cell_name(event_type, status)})
        self.cells: dict[str, dict[str | None, Step | None]] = {
            event_type: _Cells(self, event_type, hooks) for event_type in EVENT_TYPES
        }

    def _detector(self, rule: Rule) -> Detector:
        window = rule.window
        goes_on = any(not tap.creates for tap in window.taps(rule.where))
        bit = self._next_bit if goes_on and rule.within_trace else 0
        self._next_bit <<= bool(bit)
        silence = window if isinstance(window, SilenceWindow) else None
        paired = silence is not None and silence.pair is not None
        return Detector(
            rule=rule,
            bit=bit,
            keep=window.keep(),
            values=_values_reader([name for name in window.group_by if name != "trace_id"]),
            facts=_facts_reader(
                sorted(rule.template_fields() | set(window.group_by) - {"trace_id"})
            ),
            silence=silence,
            ends_trace=isinstance(window, StreakWindow) and window.or_before is not None,
            watches=compile_predicate(rule.where) if paired else None,
            required=self._bits(rule.required_fields()),
            cells=frozenset(
                (event_type, status)
                for event_type in EVENT_TYPES
                for status in STATUSES
                if _concerns(rule.where, event_type, status)
            ),
        )

    def not_checked(self, trace: TraceState) -> list[str]:
        """Return the rules whose events came, but without the fields that they need."""
        blind = {
            detector.rule.id
            for detector in self.detectors
            if detector.required & ~trace.seen
            and any(
                trace.seen & self.field_bits.get(_cell_name(*cell), 0) for cell in detector.cells
            )
        }
        return sorted(blind)

    def _bits(self, fields: set[str]) -> int:
        bits = 0
        for name in sorted(fields):
            bits |= self.field_bits.setdefault(name, 1 << len(self.field_bits))
        return bits

    def cell(self, event_type: str, status: str, hooks: Hooks) -> Step | None:
        """Write and compile the step of one (event type, status)."""
        known = {"event_type": event_type, "status": status}
        compiler = Compiler()
        compiler.names.update(
            create=hooks.create, signal=hooks.signal, settle=hooks.settle, shared=hooks.shared
        )
        begun, lines, last = _Guarded(), [], _Guarded()
        waiting = _Guarded()  # silences, apart: they wait in many a trace that is healthy
        for detector in self.detectors:
            for tap in detector.rule.window.taps(detector.rule.where, detector.mark):
                if not _concerns(tap.condition, event_type, status):
                    continue
                written = _tap_lines(compiler, detector, tap, known)
                if tap.every_group:
                    last.add(detector, written)
                elif tap.creates or not detector.rule.within_trace:
                    lines += written
                elif detector.silence is not None:
                    waiting.add(detector, written)
                else:
                    begun.add(detector, written)
        going_on = waiting.lines() + begun.lines()
        if going_on:
            lines = ["a = t.active", "if a:", *(f"    {line}" for line in going_on), *lines]
        if last.body:
            lines += ["a = t.active", *last.lines()]
        lines += self._seen_lines(compiler, event_type, status)
        return _compile(compiler, lines) if lines else None

    def _seen_lines(self, compiler: Compiler, event_type: str, status: str) -> list[str]:
        """Write what notes the fields that a trace has carried, as long as one is missing."""
        fields = self._fields_of(event_type, status)
        if not fields:
            return []
        cell_bit = self.field_bits[_cell_name(event_type, status)]
        lines = [
            f"m = {sum(fields.values()) | cell_bit} & ~t.seen",
            "if m:",
            f"    if m & {cell_bit}: t.seen |= {cell_bit}",
        ]
        for name, bit in fields.items():
            read = compiler.read(name)
            lines.append(f"    if m & {bit} and {read} is not None: t.seen |= {bit}")
        return lines

    def _fields_of(self, event_type: str, status: str) -> dict[str, int]:
        """Return the fields whose presence in such an event decides what is checked."""
        wanted: set[str] = set()
        for detector in self.detectors:
            if (event_type, status) in detector.cells:
                wanted |= {f for f, bit in self.field_bits.items() if bit & detector.required}
        return {name: self.field_bits[name] for name in sorted(wanted)}


class _Cells(dict[str | None, "Step | None"]):
    """The steps of one event type by status, each compiled when the first such event comes."""

    def __init__(self, program: Program, event_type: str, hooks: Hooks) -> None:
        super().__init__()
        self._program = program
        self._event_type = event_type
        self._hooks = hooks

    def __missing__(self, status: str) -> Step | None:
        step = self[status] = self._program.cell(self._event_type, status, self._hooks)
        return step


def _cell_name(event_type: str, status: str) -> str:
    """Name the bit that says that a trace has had such an event."""
    return f"{event_type}/{status}"


def _concerns(condition: Condition, event_type: str, status: str) -> bool:
    return possible(condition, {"event_type": event_type, "status": status})


@dataclass(slots=True)
class _Guarded:
    """Lines that concern only traces in which one of their rules has a group."""

    bits: int = 0
    body: list[str] = field(default_factory=list)

    def add(self, detector: Detector, written: list[str]) -> None:
        self.bits |= detector.bit
        self.body += written

    def lines(self) -> list[str]:
        if not self.body:
            return []
        return [f"if a & {self.bits}:", *(f"    {line}" for line in self.body)]


def _tap_lines(
    compiler: Compiler, detector: Detector, tap: Tap, known: dict[str, str]
) -> list[str]:
    """Write what one tap does: guard, find the group, ask the window, tell of its answer."""
    guards = [] if tap.creates else [f"a & {detector.bit}"]
    if not detector.rule.within_trace:
        guards.clear()
    rest, operation = part_by_operation(specialise(tap.condition, known))
    condition = compiler.expression(rest)
    guards += [] if condition == "True" else [condition]
    guards += [] if operation is None else [compiler.operation_guard(operation)]
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
        return [f"if {' and '.join(guards)}: settle({name}, {answer}, e, t)"]
    lines = [f"k = {key}", f"g = {groups}.get(k)"]
    if tap.creates:
        lines.append(f"if g is None: g = create({name}, k, e, t)")
        lines.append(f"s = {answer}(g, e)")
        if total:
            lines.append(f"g.value = float({total})")
    else:
        lines.append(f"s = {answer}(g, e) if g is not None else 0")
    lines.append(f"if s: signal({name}, k, g, s, e, t)")
    if guards:
        return [f"if {' and '.join(guards)}:", *(f"    {line}" for line in lines)]
    return lines


class OperationMasks(dict[str | None, int]):
    """Operation → bit set of the tests that it passes; each name is judged once."""

    def __init__(self, tests: Sequence[Callable[[str | None], bool]]) -> None:
        super().__init__()
        self._tests = list(tests)

    def judge(self, operation: str | None) -> int:
        """Return the tests that a name passes, and remember them."""
        mask = sum(1 << index for index, test in enumerate(self._tests) if test(operation))
        if len(self) >= MAX_OPERATIONS:  # names of a hostile trace must not pile up
            self.clear()
        self[operation] = mask
        return mask


def _key_expression(compiler: Compiler, detector: Detector) -> str:
    """Write the group's name; rules that group by the same fields share the text made of these."""
    group_by = [name for name in detector.rule.window.group_by if name != "trace_id"]
    if not group_by:
        return repr(detector.rule.key)
    suffix = "s_" + "_".join(name.replace(".", "_").replace("|", "_") for name in group_by)
    placeholders = "".join(f"{SEPARATOR}{{{compiler.read(name)}}}" for name in group_by)
    compiler.suffixes[suffix] = f'f"{placeholders}"'
    return f"{detector.rule.key!r} + ({suffix} or ({suffix} := {compiler.suffixes[suffix]}))"


def _compile(compiler: Compiler, body: list[str]) -> Step:
    lines = [f"f_{name} = e.{name}" for name in sorted(compiler.fields_read)]
    lines += [f"{suffix} = None" for suffix in sorted(compiler.suffixes)]
    if compiler.operation_tests:
        masks = OperationMasks(compiler.operation_tests)
        compiler.names.update(judged=masks.get, judge=masks.judge)
        lines.append("o = judged(e.operation)")
        lines.append("if o is None: o = judge(e.operation)")
    lines += body
    source = "def step(e, t):\n" + "".join(f"    {line}\n" for line in lines)
    namespace: dict[str, Any] = dict(compiler.names)
    exec(source, namespace)  # our own generated text; see conditions.Compiler
    step: Step = namespace["step"]
    return step


def _values_reader(names: list[str]) -> Callable[[Event], list[Any]]:
    if not names:
        return lambda event: []
    if len(names) == 1 and not names[0].startswith("metadata."):
        name = names[0]
        return lambda event: [getattr(event, name)]
    return lambda event: [_read(event, name) for name in names]


def _facts_reader(names: list[str]) -> Callable[[Event], dict[str, Any]]:
    plain = [name for name in names if not name.startswith("metadata.")]
    if len(plain) < 2 or plain != names:
        return lambda event: {
            name: value for name in names if (value := _read(event, name)) is not None
        }
    read = attrgetter(*plain)
    return lambda event: {
        name: value for name, value in zip(plain, read(event), strict=True) if value is not None
    }


def _read(event: Event, name: str) -> Any:
    if name.startswith("metadata."):
        return metadata_value(event, name.removeprefix("metadata."))
    return getattr(event, name)
