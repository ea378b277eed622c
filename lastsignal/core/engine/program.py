"""All rules, compiled into one function per event type and status.

Most events concern few rules: what the type and the status already decide is decided while
compiling, cheap comparisons of local names come first, and a reset is not even looked at in a trace
where its rule has no group. With more rules the healthy event pays next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastsignal.core.engine.detectors import (
    Detector,
    cell_name,
    concerns,
    facts_reader,
    values_reader,
)
from lastsignal.core.engine.predicates import Compiler, compile_predicate
from lastsignal.core.engine.steps import (
    FEW_VALUES,
    Hooks,
    Keys,
    Sections,
    Step,
    compile_step,
    tap_lines,
)
from lastsignal.core.engine.traces import TraceState
from lastsignal.core.events import EVENT_TYPES, STATUSES
from lastsignal.core.groups import FEW_MARKS, MAX_MARKS
from lastsignal.core.rules import Rule
from lastsignal.core.rules.conditions import FIELDS
from lastsignal.core.rules.windows import SilenceWindow, StreakWindow

_CALLS = ("model_call", "tool_call")
_OF_ANY_CALL = frozenset({"parent_id"})
"""Fields that a trace carries if its calls do: an agent that is outermost has no parent."""


class Program:
    """Compiled rules: `cells[event_type][status]` is the step for such an event, or None."""

    def __init__(self, rules: Sequence[Rule], hooks: Hooks) -> None:
        self.field_bits: dict[str, int] = {}
        self._next_bit = 1
        self._keys = {f"keys_{name}": Keys() for name in FEW_VALUES}
        for event_type in EVENT_TYPES:
            for status in STATUSES:
                self._bits({cell_name(event_type, status)})
        self._bits(set(FIELDS))  # at the same places whatever the rules are
        self.detectors: list[Detector] = [self._detector(rule) for rule in rules]
        self.by_rule = {detector.rule.key: detector for detector in self.detectors}
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
            keep=window.keep(FEW_MARKS if rule.text.severity == "info" else MAX_MARKS),
            lasts=2 * window.lasts(),  # twice: an event may come later than one that is younger
            values=values_reader([name for name in window.group_by if name != "trace_id"]),
            facts=facts_reader(
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
                if concerns(rule.where, event_type, status)
            ),
        )

    def not_checked(self, trace: TraceState) -> list[str]:
        """Return the rules whose events came, but without the fields that they need."""
        blind = {
            detector.rule.id
            for detector in self.detectors
            if detector.required & ~trace.seen
            and any(
                trace.seen & self.field_bits.get(cell_name(*cell), 0) for cell in detector.cells
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
        compiler.names.update({**hooks.by_name(), **self._keys})
        sections = Sections()
        for detector in self.detectors:
            for tap in detector.rule.window.taps(detector.rule.where, detector.mark):
                if concerns(tap.condition, event_type, status):
                    sections.add(detector, tap, *tap_lines(compiler, detector, tap, known))
        lines = sections.lines()
        lines += self._seen_lines(compiler, event_type, status)
        return compile_step(compiler, lines) if lines else None

    def _seen_lines(self, compiler: Compiler, event_type: str, status: str) -> list[str]:
        """Write what notes the fields that a trace has carried, as long as one is missing."""
        fields = self._fields_of(event_type, status)
        if not fields:
            return []
        cell_bit = self.field_bits[cell_name(event_type, status)]
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
            fields = {f for f, bit in self.field_bits.items() if bit & detector.required}
            if (event_type, status) in detector.cells:
                wanted |= fields
            elif event_type in _CALLS:
                wanted |= fields & _OF_ANY_CALL
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
