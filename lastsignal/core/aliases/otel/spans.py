"""Span: the one shape that every encoding of OpenTelemetry becomes, and how its parts are read."""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping
from hashlib import blake2b
from math import modf
from typing import Any, Literal

import msgspec

from lastsignal.core.events import UNTIMED
from lastsignal.core.timestamps import UNREADABLE, parse_timestamp, time_of

SpanStatus = Literal["unset", "ok", "error"]

_EARLIEST_NANOSECONDS = 10**17  # 1973: no count of microseconds reaches it before the year 5138
_END_OF_NANOSECONDS = 10**19  # 2286; what is greater is no time, and may be more than a float holds
_STATUS_PREFIXES = ("STATUSCODE.", "STATUS_CODE_")
_STATUS_WORDS: dict[str, SpanStatus] = {"ERROR": "error", "2": "error", "OK": "ok", "1": "ok"}
_USUAL_ID = re.compile(r"(?:0x)?([0-9a-f]{16}|[0-9a-f]{32})").fullmatch
_KIND_NUMBERS = {1: "INTERNAL", 2: "SERVER", 3: "CLIENT", 4: "PRODUCER", 5: "CONSUMER"}
_KIND_NAMES = {
    prefix + kind: kind for kind in _KIND_NUMBERS.values() for prefix in ("SpanKind.", "SPAN_KIND_")
}


class SpanEvent(msgspec.Struct, frozen=True):
    """A point in time inside a span, e.g. a recorded exception."""

    name: str
    attributes: Mapping[str, Any]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """One finished (or still open) unit of work, whatever the encoding."""

    name: str
    trace_id: str = ""
    """Bare lower-case hex; empty where the record has none."""
    span_id: str
    """Made from the span's bytes where the record has none, so that start and end still pair."""
    parent_id: str | None = None
    kind: str = ""
    """INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER or empty."""
    has_remote_parent: bool = False
    """Whether its encoding says that its parent is another program's."""
    start: float | None = None
    end: float | None = None
    untimed: float = UNTIMED
    """What stands for the time that it lacks: UNTIMED or UNREADABLE."""
    status: SpanStatus = "unset"
    status_message: str | None = None
    attributes: Mapping[str, Any] = {}
    """Only those that some reader of attributes names: prompts and bodies stay undecoded."""
    events: tuple[SpanEvent, ...] = ()
    scope: str = ""
    """The instrumentation library's name."""
    offset: int = 0
    """Of the span's first byte, relative to its record."""

    @property
    def is_open(self) -> bool:
        """Has it begun and not ended?"""
        return self.end is None and self.start is not None

    @property
    def is_outermost(self) -> bool:
        """Does no other span of its program enclose it?"""
        is_remote = self.has_remote_parent or self.kind in ("SERVER", "CONSUMER")
        return self.parent_id is None or is_remote

    @property
    def duration(self) -> float | None:
        """Seconds from start to end, exact to the microsecond; None where clocks disagree."""
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return round(self.end - self.start, 6)


def normalise_id(value: object) -> str:
    """Return a trace or span id as bare lower-case hex; empty for an absent or all-zero one.

    Protobuf's own JSON mapping writes ids in base64, the OTLP specification wants hex, the Python
    SDK puts `0x` before it. An id of another shape stays as it is written.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return format(value, "x") if value > 0 else ""
    if not isinstance(value, str):
        return ""
    usual = _USUAL_ID(value)
    if usual is not None:
        return usual[1] if usual[1].strip("0") else ""
    text = value.strip()
    if text[:2] in ("0x", "0X"):
        text = text[2:]
    elif len(text) in (12, 24) and text.endswith("="):  # 8 or 16 bytes in base64
        try:
            text = binascii.a2b_base64(text.encode(), strict_mode=True).hex()
        except (binascii.Error, ValueError):
            pass
    if not text.strip("0"):
        return ""
    try:
        int(text, 16)
    except ValueError:
        return text
    return text.lower()


def anonymous_id(data: bytes) -> str:
    """Return an id for a span that carries none, so that its start and its end pair."""
    return blake2b(data, digest_size=8).hexdigest()


def span_time(value: object) -> float | None:
    """Return epoch seconds exact to the microsecond, the finest that every encoding keeps.

    Nanoseconds are rounded as Python rounds them when it writes ISO-8601, so that the same span has
    the same time in both.
    """
    if isinstance(value, str) and value.isdecimal() and len(value) <= 19:
        value = int(value)
    if isinstance(value, int) and _EARLIEST_NANOSECONDS <= value < _END_OF_NANOSECONDS:
        fraction, seconds = modf(value / 1e9)
        return parse_timestamp(int(seconds) * 1_000_000 + round(fraction * 1e6))
    return parse_timestamp(value)


def untimed_by(*told: tuple[float | None, object]) -> float:
    """Return what stands for the times that a span lacks, see `Span.untimed`.

    Args:
        told: each time as it was read, and as it is written.
    """
    is_damaged = any(read is None and time_of(raw) is UNREADABLE for read, raw in told)
    return UNREADABLE if is_damaged else UNTIMED


def span_status(code: object) -> SpanStatus:
    """Return what a status code means, written as number, digit, word or enum name."""
    if code is None or isinstance(code, bool):
        return "unset"
    text = str(code).upper() if isinstance(code, str | int) else ""
    for prefix in _STATUS_PREFIXES:
        text = text.removeprefix(prefix)
    return _STATUS_WORDS.get(text, "unset")


def span_kind(value: object) -> str:
    """Return the bare kind from `SpanKind.CLIENT`, `SPAN_KIND_CLIENT`, `client` or its number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _KIND_NUMBERS.get(value, "")
    if not isinstance(value, str):
        return ""
    known = _KIND_NAMES.get(value)
    if known is not None:
        return known
    return value.upper().removeprefix("SPANKIND.").removeprefix("SPAN_KIND_")
