"""One word is no flat record where a framework writes too, and nowhere a crash by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kit.criticals import critical_findings
from kit.strategies import FIXTURES, records_of_file

from lastsignal.core.aliases.custom import UserAliases, extended
from lastsignal.core.aliases.flat_words import EVENT_WORDS
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

FRAMEWORK = records_of_file(FIXTURES / "claude_transcript" / "healthy.jsonl")
FLAT = records_of_file(FIXTURES / "flat" / "healthy.jsonl")
CHAT = records_of_file(FIXTURES / "chat_log" / "healthy.jsonl")
CRASHES = sorted(word for word, (kind, _) in EVENT_WORDS.items() if kind == "process_error")


def read(*records: bytes | dict[str, Any], restart_at: int = -1) -> tuple[list[Event], Reader]:
    """Return what a reader makes of the records, also where it is saved and restored before one."""
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() for one in records]
    reader, events = Reader("f.jsonl", LADDER, 0.0), []
    for number, line in enumerate(lines):
        if number == restart_at:
            saved, reader = reader.save(), Reader("f.jsonl", LADDER, 0.0)
            reader.restore(saved)
        events += reader.read([(line, 0, number + 1)])
    return [*events, *reader.finish()], reader


def called(word: str) -> dict[str, Any]:
    """Return a framework's record whose type has become another word."""
    return json.loads(FRAMEWORK[0]) | {"type": word}


@pytest.mark.parametrize(
    ("word", "place"),
    [
        *((word, place) for word in CRASHES for place in range(len(FRAMEWORK) + 1)),
        # of what comes first in a file no more is known: only a crash is doubted there
        *((word, 1) for word in ("run_failed", "tool_error", "llm_error", "run_aborted")),
    ],
)
def test_a_frameworks_record_with_a_flat_word_for_its_type_is_no_flat_record(
    word: str, place: int
) -> None:
    records = [*FRAMEWORK[:place], called(word), *FRAMEWORK[place:]]
    expected, alone = read(*FRAMEWORK)

    for restart_at in (-1, place, place + 1):
        events, reader = read(*records, restart_at=restart_at)

        assert len(events) == len(expected)
        assert sum(reader.skipped.values()) == sum(alone.skipped.values()) + 1
        assert critical_findings(events) == []


@pytest.mark.parametrize(
    "said",
    [
        {"error": "OOM"},
        {"message": "MemoryError: worker lost"},
        {"exit_code": 137},
        {"status": "failed"},
        {"status_code": 503},
        {"traceback": "ValueError: x"},
        {"message": "the worker died"},
        {"reason": "killed by the kernel"},
        {"level": "ERROR"},
        {"success": False},
    ],
)
@pytest.mark.parametrize("is_alone", [True, False])
def test_a_crash_that_says_what_crashed_is_one_in_whatever_file(
    said: dict[str, Any], is_alone: bool
) -> None:
    before = () if is_alone else FRAMEWORK
    events, _ = read(*before, {"event": "crash", "run_id": "mine", "ts": 1780000000, **said})

    assert (events[-1].event_type, events[-1].status) == ("process_error", "failed")
    assert critical_findings(events) == ["run_crashed"]


@pytest.mark.parametrize("before", [(), FRAMEWORK, CHAT, FLAT[:-1]])
@pytest.mark.parametrize("word", CRASHES)
@pytest.mark.parametrize(
    "said",
    [
        {},
        {"message": "429 is what the user asked about"},
        {"message": "3 files, no exceptions"},
        {"level": "info", "status": "completed"},
        {"status": "running"},
    ],
)
def test_one_word_for_a_crash_only_ends_the_run(
    before: tuple[bytes, ...], word: str, said: dict[str, Any]
) -> None:
    events, _ = read(*before, {"event": word, "run_id": "mine", "ts": 1780000000, **said})

    assert (events[-1].event_type, events[-1].status) == ("agent_end", "failed")
    assert (events[-1].trace_id, critical_findings(events)) == ("mine", [])


@pytest.mark.parametrize("word", CRASHES)
@pytest.mark.parametrize("layout", ["gemini_stream", "claude_stream", "opencode_run"])
def test_no_record_of_a_call_is_a_crash_because_of_its_type(layout: str, word: str) -> None:
    failed = {"status": "error", "error": {"type": "NOT_FOUND", "message": "no such file"}}
    result = {"timestamp": "2026-06-07T08:09:05Z", "tool_id": "r9", "output": "no such file"}
    records = records_of_file(FIXTURES / layout / "healthy.jsonl")
    expected, _ = read(*records)

    events, reader = read(records[0], result | failed | {"type": word}, *records[1:])

    assert len(events) == len(expected)
    assert reader.skipped["unrecognised_record"] == 1
    assert critical_findings(events) == []


@pytest.mark.parametrize("restart_at", range(-1, len(FLAT)))
@pytest.mark.parametrize("word", CRASHES)
def test_among_flat_records_too_a_crash_says_more_than_that_it_is_one(
    word: str, restart_at: int
) -> None:
    end = {"ts": "2026-06-07T08:09:05Z", "run_id": "r-1", "event": word}
    events, _ = read(*FLAT[:-1], end, restart_at=restart_at)
    borne_out, _ = read(*FLAT[:-1], end | {"level": "error"}, restart_at=restart_at)

    assert (events[-1].event_type, events[-1].status) == ("agent_end", "failed")
    assert critical_findings(borne_out) == ["run_crashed"]


def test_the_event_type_of_our_own_schema_is_enough_anywhere() -> None:
    crash = {"event_type": "process_error", "trace_id": "t", "timestamp": 1780000000}

    for before in ((), FRAMEWORK):
        events, _ = read(*before, crash)
        assert events[-1].event_type == "process_error"


@pytest.mark.parametrize("name", ["event_type", "event", "type"])
@pytest.mark.parametrize(
    ("said", "kind"),
    [({}, "agent_end"), ({"error": "x died"}, "process_error"), ({"signal": 9}, "process_error")],
)
def test_a_crash_that_is_said_to_have_gone_well_must_say_what_crashed(
    name: str, said: dict[str, Any], kind: str
) -> None:
    record = {name: "process_error", "run_id": "r-1", "status": "completed", **said}
    events, _ = read(*FLAT[:-1], record)

    assert (events[-1].event_type, events[-1].status) == (kind, "failed")


@pytest.mark.parametrize("before", [(), FRAMEWORK])
def test_a_word_that_a_user_has_given_is_believed_in_whatever_file(
    before: tuple[bytes, ...],
) -> None:
    ladder = extended(LADDER, UserAliases(events={"died": ("process_error", None)}))
    record = {"type": "died", "run_id": "mine", "ts": 1780000000, "payload": {"x": 1}}
    reader = Reader("f.jsonl", ladder, 0.0)

    events = reader.read([(one, 0, 1) for one in (*before, json.dumps(record).encode())])

    assert critical_findings(events) == ["run_crashed"]


def test_flat_records_of_the_users_own_in_a_frameworks_file_are_read() -> None:
    own = [
        {"event": "run_start", "run_id": "mine", "ts": 1780000000},
        {"event": "tool_call", "tool": "search", "ts": 1780000001, "context": {"team": "x"}},
        {"event": "tool_error", "tool": "search", "ts": 1780000002, "error": {"message": "no"}},
        {"event": "run_failed", "run_id": "mine", "ts": 1780000003},
    ]
    mixed = [record for pair in zip(FRAMEWORK, own, strict=True) for record in pair]

    events, reader = read(*mixed)

    expected, alone = read(*FRAMEWORK)
    assert len(events) == len(expected) + len(own)
    assert reader.skipped == alone.skipped
