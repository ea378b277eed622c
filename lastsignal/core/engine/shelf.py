"""All traces that are known; those that have been idle for longest are kept as bytes.

A trace that is worked on takes several kilobytes of Python objects; as bytes it is below one, and a
hundred bytes or two when only what is not as in any other trace is kept of these.
"""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from lastsignal.core.engine.traces import TraceState
from lastsignal.core.packing import pack

MAX_KINDS = 10_000
MAX_LIVE = 4096
"""Traces kept as objects, by default."""

_decode = msgspec.msgpack.Decoder(TraceState).decode


_WINDOW, _MEMORY = 12, 5  # of the compressor: small, for it is set up anew for each trace
_NUMBER_BYTES = 2
_OTHERS = 0  # stands for the kinds beyond those that have a number


class _Press:
    """Turns traces into few bytes, by what they have in common with the first one that it packs.

    Which one that is is chance: a trace unlike it takes more bytes, and nothing else.
    """

    def __init__(self) -> None:
        self._sample = b""
        self._numbers: dict[tuple[str, ...], int] = {}
        self._kinds: list[tuple[str, ...] | None] = [None]

    def pack(self, trace: TraceState) -> bytes:
        """Return a trace as bytes: the number of its kind, and the rest compressed."""
        data = pack(trace)
        self._sample = self._sample or data[: 1 << _WINDOW]
        press = zlib.compressobj(
            1, zlib.DEFLATED, -_WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, self._sample
        )
        number = self._number(tuple(group.rule for group in trace.groups.values()))
        return number.to_bytes(_NUMBER_BYTES) + press.compress(data) + press.flush()

    def rules_of(self, packed: bytes) -> tuple[str, ...] | None:
        """Return the rules of a packed trace's groups; None where only the trace knows."""
        return self._kinds[int.from_bytes(packed[:_NUMBER_BYTES])]

    def state(self, packed: bytes) -> bytes:
        """Return a packed trace as MessagePack."""
        return zlib.decompressobj(-_WINDOW, self._sample).decompress(packed[_NUMBER_BYTES:])

    def _number(self, rules: tuple[str, ...]) -> int:
        number = self._numbers.get(rules)
        if number is None:
            if len(self._kinds) >= MAX_KINDS:
                return _OTHERS
            number = self._numbers[rules] = len(self._kinds)
            self._kinds.append(rules)
        return number


def _leave(trace: TraceState) -> None:
    """Leave a trace as it is."""


class Shelf(Mapping[str, TraceState]):
    """The traces by id.

    Whoever takes one out may change it until the next `tidy`, which packs what is too many.

    Args:
        max_live: traces kept as objects.
    """

    def __init__(self, max_live: int = MAX_LIVE) -> None:
        self.live: dict[str, TraceState] = {}
        """Those that are objects."""
        self._packed: dict[str, bytes] = {}
        """The others, the idlest first."""
        self._press = _Press()
        self._max_live = max_live
        self.on_unpack: Callable[[TraceState], None] = _leave
        """Told of each trace that is an object again."""

    def __getitem__(self, trace_id: str) -> TraceState:
        trace = self.live.get(trace_id)
        if trace is None:
            trace = self.live[trace_id] = self._unpacked(self._packed.pop(trace_id))
        return trace

    def __contains__(self, trace_id: object) -> bool:
        return trace_id in self.live or trace_id in self._packed

    def __iter__(self) -> Iterator[str]:
        return iter([*self._packed, *self.live])

    def __len__(self) -> int:
        return len(self.live) + len(self._packed)

    def add(self, trace: TraceState) -> None:
        """Put a new trace in, or one that takes the place of its elder self."""
        self._packed.pop(trace.trace_id, None)
        self.live[trace.trace_id] = trace

    def take(self, trace_id: str) -> TraceState:
        """Take a trace out for good.

        Raises:
            KeyError: it is not there.
        """
        trace = self.live.pop(trace_id, None)
        return self._unpacked(self._packed.pop(trace_id)) if trace is None else trace

    def take_any(self) -> TraceState:
        """Take some trace out for good.

        Raises:
            KeyError: there is none.
        """
        if self.live:
            return self.live.popitem()[1]
        return self._unpacked(self._packed.popitem()[1])

    def state(self, trace_id: str) -> bytes:
        """Return a trace as MessagePack.

        Raises:
            KeyError: it is not there.
        """
        packed = self._packed.get(trace_id)
        return pack(self.live[trace_id]) if packed is None else self._press.state(packed)

    def idlest(self, count: int) -> list[str]:
        """Return the ids of the traces that have been idle for longest."""
        packed = [trace_id for trace_id, _ in zip(self._packed, range(count), strict=False)]
        return packed + self._idlest_live(count - len(packed))

    def tidy(self) -> None:
        """Pack the idlest where more than allowed are objects: half, so that it is seldom done.

        Nobody may hold a trace across this.
        """
        if len(self.live) <= self._max_live:
            return
        for trace_id in self._idlest_live(len(self.live) - self._max_live // 2):
            self._packed[trace_id] = self._press.pack(self.live.pop(trace_id))

    def adopt(self, former: Shelf, fits: Callable[[Sequence[str]], bool]) -> Iterator[TraceState]:
        """Take over a shelf, which is empty then, while this one still is; yield the traces that
        the caller must put in.

        Args:
            former: the other shelf.
            fits: whether a packed trace whose groups are of these rules stays as it is.
        """
        waiting, former._packed = former._packed, {}
        self._press = former._press
        for trace_id, packed in waiting.items():
            rules = self._press.rules_of(packed)
            if rules is not None and fits(rules):
                self._packed[trace_id] = packed
            else:
                yield _decode(self._press.state(packed))
        while former.live:
            yield former.live.popitem()[1]

    def _unpacked(self, packed: bytes) -> TraceState:
        trace = _decode(self._press.state(packed))
        self.on_unpack(trace)
        return trace

    def _idlest_live(self, count: int) -> list[str]:
        idle = heapq.nsmallest(count, self.live.values(), key=lambda trace: trace.last_at)
        return [trace.trace_id for trace in idle]
