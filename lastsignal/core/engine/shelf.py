"""All traces that are known; those that have been idle for longest are kept as bytes.

A trace that is worked on takes several kilobytes of Python objects; as bytes it is below one, and
below half of one when these are compressed, for most of them is names of fields and of files.
"""

from __future__ import annotations

import heapq
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from lastsignal.core.engine.traces import TraceState

MAX_KINDS = 10_000
MAX_LIVE = 4096
"""Traces kept as objects, by default."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(TraceState).decode


class _Packed(NamedTuple):
    """A trace as bytes."""

    data: bytes
    rules: tuple[str, ...]
    """Of its groups: what another set of rules asks first."""


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
        self._packed: dict[str, _Packed] = {}
        """The others, the idlest first."""
        self._kinds: dict[tuple[str, ...], tuple[str, ...]] = {}
        """Lists of rules that are met, each kept once: most traces have the same few."""
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
        return _encode(self.live[trace_id]) if packed is None else zlib.decompress(packed.data)

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
            trace = self.live.pop(trace_id)
            rules = tuple(group.rule for group in trace.groups.values())
            if len(self._kinds) > MAX_KINDS:
                self._kinds.clear()
            data = zlib.compress(_encode(trace), 1)
            self._packed[trace_id] = _Packed(data, self._kinds.setdefault(rules, rules))

    def adopt(self, former: Shelf, fits: Callable[[Sequence[str]], bool]) -> Iterator[TraceState]:
        """Take over a shelf, which is empty then; yield the traces that the caller must put in.

        Args:
            former: the other shelf.
            fits: whether a packed trace whose groups are of these rules stays as it is.
        """
        waiting, former._packed = former._packed, {}
        for trace_id, packed in waiting.items():
            if fits(packed.rules):
                self._packed[trace_id] = packed
            else:
                yield _decode(zlib.decompress(packed.data))
        while former.live:
            yield former.live.popitem()[1]

    def _unpacked(self, packed: _Packed) -> TraceState:
        trace = _decode(zlib.decompress(packed.data))
        self.on_unpack(trace)
        return trace

    def _idlest_live(self, count: int) -> list[str]:
        idle = heapq.nsmallest(count, self.live.values(), key=lambda trace: trace.last_at)
        return [trace.trace_id for trace in idle]
