"""Times that are none: counted in every layout that writes times, once a record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.framing import Framer

FIXTURES = Path(__file__).parent / "fixtures"
_TIMES = re.compile(
    rb'"(timestamp|ts|time|created_at|start_time|startTime|started_at|startTimeUnixNano'
    rb"|start_time_unix_nano|processed_at|created|completed_at|start|end_time|ended_at|endTime"
    rb'|endTimeUnixNano|end_time_unix_nano|completed|end)"(\s*:\s*)("[^"]*"|[\d.]+)'
)
# They take a time from whichever of several places tells one, and know no place that must.
_FROM_ANYWHERE = {
    "gemini_telemetry",
    "harbor_trial",
    "litellm_app_log",
    "opencode_bus",
    "opencode_saved",
    "weave_calls",
}
LAYOUTS = sorted(path.parent.name for path in FIXTURES.glob("*/healthy.*"))


def read(data: bytes) -> Reader:
    reader, framer = Reader("trace.jsonl", LADDER, 0.0), Framer()
    reader.read(framer.feed(data) + framer.finish())
    reader.finish()
    return reader


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_time_that_is_none_is_counted_in_every_layout(layout: str) -> None:
    (path,) = FIXTURES.glob(f"{layout}/healthy.*")
    data = path.read_bytes()
    assert read(data).mended == {}

    damaged = _TIMES.sub(rb'"\1"\2"yesterday"', data)
    is_told = damaged != data and layout not in _FROM_ANYWHERE
    reader = read(damaged)
    assert set(reader.mended) == ({"unusable_time"} if is_told else set())
    assert reader.mended.get("unusable_time", 0) <= reader.records


def claude(timestamp: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}
    message = {"id": "m1", "role": "assistant", "model": "s", "content": [call]}
    return {
        "type": "assistant", "sessionId": "s1", "uuid": "u1", "parentUuid": None,
        "timestamp": timestamp, "message": message,
    }  # fmt: skip


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@pytest.mark.parametrize(
    "value", ["yesterday", "2026-13-41", -5, 12, "9999-12-31T00:00:00Z", 253402300800, True, {}]
)
def test_a_record_that_gives_several_events_is_counted_once(value: Any) -> None:
    reader = read(lines(claude("2026-03-04T05:06:07Z"), claude(value) | {"sessionId": "s2"}))
    assert reader.events > reader.records == 2
    assert (reader.mended, reader.first_mended) == ({"unusable_time": 1}, {"unusable_time": 2})


@pytest.mark.parametrize("value", [None, "", 0, "<stripped>"])
def test_a_time_that_is_left_out_is_no_damage(value: Any) -> None:
    assert read(lines(claude("2026-03-04T05:06:07Z"), claude(value))).mended == {}


def test_a_record_far_ahead_is_counted_once_whatever_it_gives() -> None:
    reader, framer = Reader("trace.jsonl", LADDER, 0.0), Framer()
    reader.now = 1_772_600_900.0
    ahead = claude("2031-03-04T05:06:07Z") | {"sessionId": "s2"}
    reader.read(framer.feed(lines(claude("2026-03-04T05:06:07Z"), ahead)))
    assert reader.mended == {"unusable_time": 1}
