"""A source that holds its records twice tells of each once, in every layout that names records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.reading.repeats import MAX_KNOWN
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event, as_plain
from lastsignal.core.framing import Framer

_FIXTURES = Path(__file__).parent / "fixtures"
_UNIQUE = [dialect.name for dialect in LADDER if dialect.is_unique]
_NAMELESS = {"autogen_agentchat/failing"}
"""Versions before gave no record an id or a time."""
_FILES = [
    path
    for name in _UNIQUE
    for path in sorted((_FIXTURES / name).iterdir())
    if path.suffix in (".json", ".jsonl") and path.parent.name + "/" + path.stem not in _NAMELESS
]
_TELEMETRY = {"type": "tool.start", "sessionKey": "k", "toolName": "exec"}


def told(reader: Reader, *pieces: bytes) -> list[dict[str, object]]:
    framer, events = Framer(), list[Event]()
    for piece in pieces:
        events += reader.read(framer.feed(piece))
    events += reader.read(framer.finish()) + reader.finish()
    return [as_plain(event) for event in events]


def calls(count: int) -> bytes:
    return b"".join(
        json.dumps({**_TELEMETRY, "ts": 1_780_000_000_000 + n, "seq": n, "toolCallId": f"c{n}"})
        .encode() + b"\n"
        for n in range(count)
    )  # fmt: skip


def test_every_such_layout_has_a_fixture() -> None:
    assert {path.parent.name for path in _FILES} == set(_UNIQUE)


@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_behind_itself_tells_nothing_twice(path: Path) -> None:
    data = path.read_bytes().rstrip(b"\n") + b"\n"
    once, twice = Reader("t", LADDER, 0.0), Reader("t", LADDER, 0.0)
    assert told(twice, data, data) == told(once, data)
    assert twice.records == 2 * once.records


def test_what_has_come_is_still_known_after_a_restart() -> None:
    data = calls(3)
    before, after = Reader("t", LADDER, 0.0), Reader("t", LADDER, 0.0)
    assert len(told(before, data)) == 3
    after.restore(before.save())
    assert told(after, data) == []
    assert after.skipped == {"repeated_record": 3}


def test_what_is_remembered_is_bounded() -> None:
    reader = Reader("t", LADDER, 0.0)
    told(reader, calls(MAX_KNOWN + 10))
    assert len(reader.save()) < 2_000_000
    assert told(reader, calls(5)) != []  # too long ago
    assert told(reader, calls(MAX_KNOWN + 10)[-500:].split(b"\n", 1)[1]) == []


def bus(kind: str, **properties: Any) -> bytes:
    return json.dumps(["event", {"event": {"type": kind, "properties": properties}}]).encode()


def busy_for(user: str, second: int) -> list[bytes]:
    """A session works on a prompt, and fails in the same words as ever."""
    made = {"created": 1_780_000_000_000 + 1000 * second}
    info = {"id": user, "sessionID": "s", "role": "user", "time": made}
    error = {"name": "UnknownError", "data": {"message": "boom"}}
    return [
        bus("message.updated", sessionID="s", info=info),
        bus("session.status", sessionID="s", status={"type": "busy"}),
        bus("session.error", sessionID="s", error=error),
        bus("session.status", sessionID="s", status={"type": "idle"}),
    ]


def test_a_record_without_a_name_is_known_by_the_one_that_it_follows() -> None:
    first, second = busy_for("u1", 1), busy_for("u2", 5)
    once, again = Reader("t", LADDER, 0.0), Reader("t", LADDER, 0.0)
    events = told(once, b"\n".join([*first, *second]))
    assert [event["event_type"] for event in events] == [
        "agent_start", "model_call", "agent_end"
    ] * 2  # fmt: skip
    sent = [*first, *first, *second, *second, *first]
    kinds = [(event["event_type"], event["timestamp"]) for event in events]
    events = told(again, b"\n".join(sent))
    assert [(event["event_type"], event["timestamp"]) for event in events] == kinds
    assert again.skipped["repeated_record"] == 12


def test_a_record_that_comes_again_does_not_hide_what_is_new_behind_it() -> None:
    first, (user, *rest) = busy_for("u1", 1), busy_for("u2", 5)
    events = told(Reader("t", LADDER, 0.0), b"\n".join([*first, first[0], user, *rest]))
    assert [event["event_type"] for event in events].count("model_call") == 2


def test_what_a_record_without_a_name_follows_is_still_known_after_a_restart() -> None:
    sent = busy_for("u1", 1)
    before, after = Reader("t", LADDER, 0.0), Reader("t", LADDER, 0.0)
    assert len(told(before, b"\n".join([*sent, sent[0]]))) == 3
    after.restore(before.save())
    assert told(after, b"\n".join(sent[1:])) == []


def test_records_without_an_id_of_their_own_may_well_be_equal() -> None:
    line = b'{"event_type":"tool_call","operation":"search","status":"started"}\n'
    assert len(told(Reader("t", LADDER, 0.0), line, line)) == 2
