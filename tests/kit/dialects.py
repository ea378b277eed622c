"""What every dialect keeps, checked with a few records of its layout.

    def test_my_layout_keeps_the_contract() -> None:
        check_dialect(my_layout.DIALECT, FIXTURE.splitlines())

Each check says what is wrong with which record. What a layout's records mean is for its own tests.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from unittest import mock

import msgspec
from kit.mutations import encode, odd_records, shape_of, torn_records

from lastsignal.core.aliases import session_runs
from lastsignal.core.aliases.contract import Decoder, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.otel import surroundings
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.reading.recognition import REFUSALS
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import EVENT_TYPES, STATUSES, Event, metadata_of
from lastsignal.core.timestamps import EARLIEST, LATEST

SOURCE = "fixture.jsonl"
ALLOWED = (NotThisDialect, msgspec.DecodeError)
"""All that a decoder may raise."""

_MAY_SAY_WHY = frozenset({"failed", "aborted", None})
_LOWERED_BOUND = 60
_MANY = 1500
_MOST_ITEMS = 1200

_POISON = "Error: HTTP 429 Too Many Requests. TimeoutError: timed out. fatal: crashed, exit code 1"
_BODIES = frozenset(
    "prompt prompts system_prompt system_instruction instructions thinking thought thoughts"
    " reasoning input_messages user_prompt".split()
)
_SPEAKERS = frozenset({"user", "system", "developer", "human"})
_ID = re.compile(r"(?:^|_|\b)(?:id|uuid|key)s?$|I[dD]s?$|Uuid$|uuid$")

Line = bytes | str | Mapping[str, Any]


def check_dialect(
    dialect: Dialect, lines: Iterable[Line], *, has_starts: bool = True, reads_users: bool = False
) -> list[Event]:
    """Check all that can be checked of a dialect with records of its layout; return their events.

    Args:
        dialect: the dialect.
        lines: records in the order of a file; each one whole.
        has_starts: whether the layout tells when a call starts, so that each end has its start.
        reads_users: whether the layout passes the output of tools off as what the user says.
    """
    records = records_of(lines)
    events = check_reading(dialect, records)
    if has_starts:
        check_pairs(events)
    check_restart(dialect, records)
    check_hostile(dialect, records)
    check_bodies_unread(dialect, records, _SPEAKERS - {"user"} if reads_users else _SPEAKERS)
    check_bounded(dialect, records)
    return events


def records_of(lines: Iterable[Line]) -> list[bytes]:
    """Return lines as the bytes of records."""
    records = []
    for line in lines:
        if isinstance(line, Mapping):
            line = json.dumps(line)
        records.append(line.encode() if isinstance(line, str) else line)
    return [record for record in records if record.strip()]


def check_reading(dialect: Dialect, records: Sequence[bytes]) -> list[Event]:
    """Each record is mapped, or dropped for a reason with a name; nothing that is said is odd."""
    decoder = dialect.decoder(SOURCE)
    for number, record in enumerate(records, 1):
        decoded = decoder.decode(record)  # a record of the layout: nothing may be raised
        if isinstance(decoded, Drop):
            assert re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", decoded.reason), f"{number}: {decoded}"
            assert decoded.reason not in REFUSALS, f"{number}: {decoded.reason} is the reader's"
        else:
            assert decoded, f"record {number}: no event and no reason; return a Drop"
            for event in decoded:
                check_event(event, record)
    for ladder in [(dialect,), *([LADDER] if dialect in LADDER else [])]:
        reader, _ = read(records, ladder)
        refused = REFUSALS & reader.skipped.keys()
        assert not refused, f"{refused}: is each record of this layout recognised?"
        assert list(reader.formats) == [dialect.name], f"taken for {list(reader.formats)}"
        assert not reader.faults
    return read(records, (dialect,))[1]


def read(records: Sequence[bytes], ladder: tuple[Dialect, ...]) -> tuple[Reader, list[Event]]:
    """Read records as those of a source, one a line."""
    reader = Reader(SOURCE, ladder, 0.0)
    events, offset = [], 0
    for line, record in enumerate(records, 1):
        events += reader.read([(record, offset, line)])
        offset += len(record) + 1
    return reader, events + reader.finish()


def check_event(event: Event, record: bytes = b"") -> None:
    """An event says nothing that cannot be: its types, its words, its times and numbers."""
    said = repr(event)
    checked = {name: getattr(event, name) for name in event.__struct_fields__ if name != "metadata"}
    msgspec.convert(checked, Event, strict=True)  # each field of its type
    assert event.event_type in EVENT_TYPES, f"event_type is none of ours: {said}"
    assert event.status is None or event.status in STATUSES, f"status is none of ours: {said}"
    is_timed = math.isnan(event.timestamp) or EARLIEST <= event.timestamp <= LATEST
    assert is_timed, f"timestamp is not between 1990 and 2100: {said}"
    assert not record or 0 <= event.offset < len(record), f"offset is outside its record: {said}"
    for name in ("input_tokens", "output_tokens", "cost_usd", "duration_seconds"):
        value = getattr(event, name)
        assert value is None or 0 <= value < 1e18, f"{name} is less than 0 or has no end: {said}"
    assert event.attempt is None or event.attempt >= 1, f"attempt counts from 1: {said}"
    if event.error_message is not None and event.framework != "native":  # which is as written
        assert event.error_message.strip(), f"error_message is empty: write None: {said}"
        assert len(event.error_message) <= 500, f"error_message is over 500 characters: {said}"
        may_fail = event.event_type in ("retry", "audit") or event.status in _MAY_SAY_WHY
        assert may_fail, f"an error, but {event.status}: {said}"
    for name in ("call_id", "operation", "agent", "model", "parent_id", "error_type"):
        assert getattr(event, name) != "", f"{name} is empty: write None: {said}"
    metadata = metadata_of(event)
    assert all(isinstance(name, str) for name in metadata), f"a name in metadata is no text: {said}"
    assert len(msgspec.json.encode(metadata)) <= max(4096, len(record) * 2), f"a payload: {said}"


def check_pairs(events: Sequence[Event]) -> None:
    """The end of a call comes after its start, under one id; a run's end after its start."""
    open_calls, open_runs = set(), set()
    for event in events:
        place = f"line {event.line}: {event}"
        if event.event_type == "agent_start":
            open_runs.add(event.call_id)
        elif event.event_type == "agent_end":
            assert event.call_id in open_runs, f"a run ends that has not started: {place}"
        elif event.event_type in ("tool_call", "model_call") and event.status == "started":
            open_calls.add(event.call_id)
        elif event.event_type == "tool_result" and event.call_id is not None:
            assert event.call_id in open_calls, f"a call ends that has not started: {place}"


def check_restart(dialect: Dialect, records: Sequence[bytes]) -> None:
    """Whoever goes on with what was saved says just what he says who was never interrupted."""
    placed = [(record, number * 1_000_000, number) for number, record in enumerate(records, 1)]
    whole = Reader(SOURCE, (dialect,), 0.0)
    expected = _words(whole.read(placed) + whole.finish())
    for at in range(1, len(placed)):
        first, second = Reader(SOURCE, (dialect,), 0.0), Reader(SOURCE, (dialect,), 0.0)
        before = _words(first.read(placed[:at]))
        second.restore(first.save())
        after = _words(second.read(placed[at:]) + second.finish())
        assert before + after == expected, f"a restart after record {at} changes what is said"


def restarted(dialect: Dialect, decoder: Decoder) -> Decoder:
    """Return a new decoder that goes on with what a store has kept of another."""
    new = dialect.decoder(SOURCE)
    if decoder.state is not None:
        saved = msgspec.msgpack.decode(
            msgspec.msgpack.encode(decoder.state), type=type(decoder.state)
        )
        for field in saved.__struct_fields__:
            setattr(new.state, field, getattr(saved, field))
    return new


def _words(events: Iterable[Event]) -> list[str]:
    return [repr(msgspec.structs.replace(event, metadata=metadata_of(event))) for event in events]


def check_hostile(dialect: Dialect, records: Sequence[bytes]) -> None:
    """No JSON value and no bytes make a dialect raise, or say what cannot be."""
    decoder = dialect.decoder(SOURCE)
    for value, record in kinds_of(records):
        for odd, data in odd_records(value):
            is_its_own = dialect.recognise(odd)
            assert isinstance(is_its_own, bool), f"recognise says {is_its_own!r} of {odd!r}"
            decode_safely(dialect, decoder, data)
        for data in torn_records(record):
            decode_safely(dialect, decoder, data)
        assert decoder.state is None or msgspec.msgpack.encode(decoder.state)
        decode_safely(dialect, decoder, record)


def kinds_of(records: Sequence[bytes]) -> list[tuple[Any, bytes]]:
    """Return one record of each kind, decoded and as it is."""
    found: dict[str, tuple[Any, bytes]] = {}
    for record in records:
        value = msgspec.json.decode(record)
        found.setdefault(shape_of(value), (value, record))
    return list(found.values())[:20]


def decode_safely(dialect: Dialect, decoder: Decoder, record: bytes) -> None:
    """Decode what may be anything; what is said of it must be sane all the same."""
    try:
        decoded = decoder.decode(record)
    except ALLOWED:
        return
    except Exception as error:
        raise AssertionError(f"{dialect.name} raises {error!r} on {record[:2000]!r}") from error
    for event in decoded if isinstance(decoded, list) else ():
        try:
            check_event(event, record)
        except (AssertionError, msgspec.ValidationError) as error:
            raise AssertionError(f"{dialect.name}: {error} of {record[:2000]!r}") from error


def check_bodies_unread(
    dialect: Dialect, records: Sequence[bytes], speakers: frozenset[str]
) -> None:
    """What people and models say to one another never makes a failure, whatever its words."""
    talked = [json.dumps(_poisoned(json.loads(record), speakers)).encode() for record in records]
    for before, after in zip(
        read(records, (dialect,))[1], read(talked, (dialect,))[1], strict=True
    ):
        for name in ("event_type", "status", "error_message", "error_type", "http_status"):
            assert getattr(before, name) == getattr(after, name), f"{name} is read from a message"


def _poisoned(value: Any, speakers: frozenset[str], is_body: bool = False) -> Any:
    if isinstance(value, str):
        return f"{value} {_POISON}" if is_body else value
    if isinstance(value, list):
        return [_poisoned(one, speakers, is_body) for one in value]
    if not isinstance(value, dict):
        return value
    role = value.get("role")
    is_talk = isinstance(role, str) and role in speakers
    return {
        key: _poisoned(one, speakers, is_body=_is_body(key, one, value, is_talk))
        for key, one in value.items()
    }


def _is_body(key: str, value: Any, owner: dict[str, Any], is_talk: bool) -> bool:
    if is_talk and key == "content":
        return isinstance(value, str)
    if owner.get("type") == "text" and key == "text":
        return is_talk
    return key in _BODIES and isinstance(value, str)


def check_bounded(dialect: Dialect, records: Sequence[bytes]) -> None:
    """However many records come, the state has a bound.

    The shared bounds are lowered meanwhile, so that what has none shows early.
    """
    with (
        mock.patch.object(session_runs, "MAX_REMEMBERED", _LOWERED_BOUND),
        mock.patch.object(surroundings, "MAX_NOTES", _LOWERED_BOUND),
    ):
        for value, record in kinds_of(records):
            numbered = _numbered(value)
            decoder = dialect.decoder(SOURCE)
            for number in range(_MANY if numbered else 0):
                try:
                    decoder.decode(numbered.replace(b"@@@@", b"%d" % number))
                except ALLOWED:
                    break
            items = _longest_in(msgspec.to_builtins(decoder.state))
            assert items < _MOST_ITEMS, f"{items} things are kept of {record[:500]!r} and its like"


def _numbered(record: Any) -> bytes:
    """Return the record with a place for a number in each id; nothing where it has no id."""

    def number(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {name: number(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [number(one, key) for one in value]
        return f"{value}@@@@" if isinstance(value, str) and value and _ID.search(key) else value

    numbered = encode(number(record, ""))
    return numbered if b"@@@@" in numbered else b""


def _longest_in(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return max(len(value), *map(_longest_in, inner), 0)
