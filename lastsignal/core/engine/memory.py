"""What outlives an engine: its state in pieces, each bounded, and how another one takes it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from lastsignal.core.engine.program import Program
from lastsignal.core.engine.state import State, rules_of
from lastsignal.core.engine.traces import TraceState
from lastsignal.core.groups import Group
from lastsignal.core.packing import pack
from lastsignal.core.rules import Rule

LAYOUT = 2
"""Of what windows keep in a group: what another one has written is left out as if the rule had
changed."""


class SharedGroup(msgspec.Struct, array_like=True):
    """A group of a rule across traces, as it is written."""

    key: str
    group: Group


class Header(msgspec.Struct):
    """What an engine remembers besides its traces and its groups across traces."""

    shared: TraceState
    """Without its groups: each is written by itself."""
    ended: list[str]
    clocks: dict[str, float]
    fingerprints: dict[str, str]
    """By rule: its memory holds only while this is the same."""
    field_bits: dict[str, int]
    """What the bits of `TraceState.seen` stand for."""
    evicted_traces: int


_decode_header = msgspec.msgpack.Decoder(Header).decode
_decode_trace = msgspec.msgpack.Decoder(TraceState).decode
_decode_group = msgspec.msgpack.Decoder(SharedGroup).decode


class Memory:
    """The state of one engine, for a store and for the engine that comes after.

    What rules that have changed remember is left out when it is taken back.

    Args:
        rules: the engine's.
        program: made of these.
        state: the engine's.
    """

    def __init__(self, rules: Sequence[Rule], program: Program, state: State) -> None:
        self._program = program
        self._state = state
        self._fingerprints = {rule.key: f"{LAYOUT}:{rule.fingerprint}" for rule in rules}
        state.traces.on_unpack = self._awaken

    def header(self) -> bytes:
        """Return what is remembered besides the other pieces, as MessagePack."""
        return pack(self._header())

    def trace(self, trace_id: str) -> bytes:
        """Return what is remembered of one trace, as MessagePack.

        Raises:
            KeyError: it is not known.
        """
        return self._state.traces.state(trace_id)

    def group(self, key: str) -> bytes:
        """Return what is remembered of one group across traces, as MessagePack.

        Raises:
            KeyError: there is none of this key.
        """
        return pack(SharedGroup(key, self._state.shared.groups[key]))

    def restore(self, header: bytes, traces: Iterable[bytes], groups: Iterable[bytes]) -> None:
        """Take back what was written.

        Raises:
            msgspec.MsgspecError: it is no state of ours.
        """
        state, saved = self._state, _decode_header(header)
        same = self._same(saved)
        for trace in map(_decode_trace, traces):
            self._fit(trace, same, saved.field_bits)
            state.tally.update(rules_of(trace))
            state.copies.adopt(trace)
            state.traces.add(trace)
            state.traces.tidy()
            state.deadlines.restore(trace)
        saved.shared.groups.update((one.key, one.group) for one in map(_decode_group, groups))
        state.deadlines.restore(saved.shared)
        self._take(saved, same)
        state.tally.update(rules_of(state.shared))

    def take_over(self, former: Memory) -> None:
        """Go on where an engine with other rules stood, which is used up by that.

        As `restore`, but little is copied: there may be hundreds of thousands of traces.
        """
        state, before, saved = self._state, former._state, former._header()
        same = self._same(saved)
        state.dirty, state.gone = before.dirty, before.gone
        state.dirty_groups.update(before.dirty_groups)
        state.deadlines = before.deadlines
        state.copies.take_over(before.copies)
        state.tally.update({rule: count for rule, count in before.tally.items() if rule in same})
        has_same_bits = saved.field_bits == self._program.field_bits

        def fits(rules: Sequence[str]) -> bool:
            return has_same_bits and same.issuperset(rules)

        for trace in state.traces.adopt(before.traces, fits):
            if self._fit(trace, same, saved.field_bits):
                state.dirty.add(trace.trace_id)
            state.traces.add(trace)
            state.traces.tidy()
        saved.shared.groups = before.shared.groups
        self._take(saved, same)
        state.dirty_groups.update(set(before.shared.groups) - set(state.shared.groups))

    def _header(self) -> Header:
        state = self._state
        return Header(
            shared=replace(state.shared, groups={}),
            ended=list(state.ended),
            clocks=state.clocks,
            fingerprints=self._fingerprints,
            field_bits=self._program.field_bits,
            evicted_traces=state.evicted_traces,
        )

    def _same(self, saved: Header) -> set[str]:
        """Return the rules that have not changed since."""
        was = saved.fingerprints
        return {key for key, one in self._fingerprints.items() if was.get(key) == one}

    def _take(self, saved: Header, same: set[str]) -> None:
        state = self._state
        self._fit(saved.shared, same, saved.field_bits)
        for name in saved.shared.__struct_fields__:  # in place: the compiled steps hold it
            setattr(state.shared, name, getattr(saved.shared, name))
        state.ended = dict.fromkeys(one for one in saved.ended if one in state.traces)
        state.clocks.update(saved.clocks)
        state.evicted_traces = saved.evicted_traces

    def _fit(self, trace: TraceState, same: set[str], field_bits: dict[str, int]) -> bool:
        """Keep only what these rules remember, and put its bits at their places in this program.

        Returns:
            Whether what is to be written of the trace has changed by that.
        """
        groups, before = trace.groups, trace.seen
        trace.groups = {key: group for key, group in groups.items() if group.rule in same}
        self._awaken(trace)
        here = self._program.field_bits
        if here != field_bits:
            seen = [name for name, bit in field_bits.items() if trace.seen & bit]
            trace.seen = sum(here.get(name, 0) for name in seen)
        return len(groups) != len(trace.groups) or trace.seen != before

    def _awaken(self, trace: TraceState) -> None:
        """Find out anew which rules are active in a trace: their bits are those of one program."""
        trace.active, trace.awake = 0, {}
        for group in trace.groups.values():
            detector = self._program.by_rule[group.rule]
            if detector.bit and not group.rests:
                self._state.wake(detector, group, trace)
