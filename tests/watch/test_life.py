"""How the daemon starts, reads, and ends."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from watch.harness import incidents
from watch.kit import Receiver, Watch, failure, record, wait_for, watching, webhook, write
from watch.test_reload import STREAK

HANGS = """
id: hangs
title: A call hangs
status: stable
severity: warning
category: test
description: Detects a call without an end.
summary: "`{operation}` hangs"
cause: "`{operation}` has no end."
remedy: 1. Look.
false_positives: [none]
where: {event_type: tool_call}
window: {kind: silence, group_by: [trace_id, operation], after: 3s, pair: call}
tests:
  - name: hangs
    events: [{at: 0s, event_type: tool_call, operation: a}]
    advance: 1m
    ends: false
    expect: [{operation: a}]
  - name: ends
    events:
      - {at: 0s, event_type: tool_call, operation: a}
      - {at: 1s, event_type: tool_result, operation: a, status: completed}
    expect: []
"""


def test_a_stop_reads_to_the_last_byte(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        path = daemon.traces / "a.jsonl"
        write(path, *(record("r", "tool_call", "search", "started") for _ in range(20_000)))
        write(path, failure("last"))
        assert daemon.stop() == 0
    assert [one.trace_id for one in incidents(daemon.state)] == ["last"]
    assert "stopped" in daemon.log()


def test_a_stop_takes_a_whole_last_line_without_its_newline(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        write(daemon.traces / "a.jsonl", failure("one"), failure("two").rstrip(b"\n"))
        assert daemon.stop() == 0
        assert sorted(one.trace_id for one in incidents(daemon.state)) == ["one", "two"]
        write(daemon.traces / "a.jsonl", b"\n", failure("three"))
        daemon.once()
    found = {one.trace_id: one for one in incidents(daemon.state)}
    assert {name: one.count for name, one in found.items()} == {"one": 1, "two": 1, "three": 1}
    assert found["three"].evidence[0].line == 3


def test_a_torn_last_line_waits_for_its_rest_over_a_stop(tmp_path: Path) -> None:
    line = failure("torn")
    with watching(tmp_path) as daemon:
        write(daemon.traces / "a.jsonl", failure("one"), line[:30])
        wait_for(lambda: daemon.metric("findings_total"), "the first finding")
        assert daemon.stop() == 0
        write(daemon.traces / "a.jsonl", line[30:])
        daemon.once()
    assert sorted(one.trace_id for one in incidents(daemon.state)) == ["one", "torn"]


def test_a_document_without_a_newline_is_judged_once_it_stands_still(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        write(daemon.traces / "a.json", failure("alone").rstrip(b"\n"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")


def test_a_second_signal_ends_at_once(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers["/slow"] = lambda _: (0, {})
    with watching(tmp_path, webhook("slow", receiver)) as daemon:
        write(daemon.traces / "a.jsonl", failure("a"))
        wait_for(lambda: receiver.messages, "the message that hangs")
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGTERM)
        wait_for(lambda: daemon.says("draining"), "draining")
        before = time.monotonic()
        assert daemon.stop() == 0
        assert time.monotonic() - before < 3


def test_once_reads_judges_tells_and_stops(tmp_path: Path, receiver: Receiver) -> None:
    daemon = Watch(tmp_path, webhook("hook", receiver), rules=HANGS)
    write(daemon.traces / "a.jsonl", record("r", "tool_call", "search", "started"))
    daemon.once()
    assert receiver.told("/hook") == [("opened", "r")]
    daemon.once()
    assert len(receiver.messages) == 1


def test_without_any_file_it_waits_for_one(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        wait_for(lambda: daemon.get("/-/ready")[0] == 200, "ready")
        write(daemon.traces / "late.jsonl", failure("late"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")


def test_a_folder_that_appears_later_is_followed(tmp_path: Path) -> None:
    missing = tmp_path / "later" / "traces"
    config = f'[inputs]\npaths = ["{missing}"]\nscan_interval = "200ms"\n'
    with watching(tmp_path, config) as daemon:
        missing.mkdir(parents=True)
        write(missing / "a.jsonl", failure("late"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")


def test_the_log_of_the_daemon_is_never_a_trace(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    daemon.log_path = daemon.traces / "own.jsonl"
    try:
        daemon.start().ready()
        write(daemon.traces / "a.jsonl", failure("a"))
        wait_for(lambda: daemon.says("incident"), "the incident in the log")
        wait_for(lambda: daemon.metric("tail_files") == 1, "the one file")
        assert daemon.metric("read_lines_total") == 1
    finally:
        daemon.kill()


def test_a_live_call_that_hangs_is_found_when_its_time_is_over(tmp_path: Path) -> None:
    with watching(tmp_path, rules=HANGS) as daemon:
        write(daemon.traces / "a.jsonl", record("r", "tool_call", "search", "started"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")
        found = incidents(daemon.state)
        assert [one.summary for one in found] == ["`search` hangs"]


def test_a_live_call_that_hangs_over_a_restart_is_found(tmp_path: Path) -> None:
    with watching(tmp_path, rules=HANGS.replace("3s", "6s")) as daemon:
        write(daemon.traces / "a.jsonl", record("r", "tool_call", "search", "started"))
        began = time.monotonic()
        wait_for(lambda: daemon.metric("events_total") == 1, "the event")
        daemon.kill()
        daemon.start().ready()
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding")
        assert time.monotonic() - began < 12


def test_a_hang_is_found_while_another_file_never_rests(tmp_path: Path) -> None:
    with watching(tmp_path, rules=HANGS) as daemon:
        write(daemon.traces / "a.jsonl", record("r", "tool_call", "search", "started"))

        def found() -> bool:
            write(daemon.traces / "busy.jsonl", record("b", "model_call", "m", "completed"))
            return bool(incidents(daemon.state))

        wait_for(found, "the finding")


@pytest.mark.parametrize("how", ["long ago", "copied just now"])
def test_old_files_read_from_the_start_raise_no_false_silence(tmp_path: Path, how: str) -> None:
    daemon = Watch(tmp_path, rules=HANGS)
    path = daemon.traces / "old.jsonl"
    old = time.time() - 30 * 86400
    write(path, record("r", "tool_call", "search", "started", timestamp=old))
    if how == "long ago":
        os.utime(path, (old, old))
    try:
        daemon.start().ready()
        wait_for(lambda: daemon.metric("events_total") == 1, "the event")
        live = daemon.traces / "live.jsonl"
        write(live, record("l", "tool_call", "search", "started"))
        wait_for(lambda: daemon.metric("findings_total") > 0, "the finding of the live one")
        assert [one.trace_id for one in incidents(daemon.state)] == ["l"]
    finally:
        daemon.kill()


def test_an_empty_file_that_follows_a_rotated_one_moves_no_clock(tmp_path: Path) -> None:
    with watching(tmp_path, rules=HANGS) as daemon:
        path = daemon.traces / "a.jsonl"
        old = time.time() - 30 * 86400
        write(path, record("r", "tool_call", "search", "started", timestamp=old))
        wait_for(lambda: daemon.metric("events_total") == 1, "the event")
        path.rename(daemon.traces / "a.jsonl.1")
        path.touch()
        write(daemon.traces / "b.jsonl", record("l", "tool_call", "search", "started"))
        wait_for(lambda: daemon.metric("findings_total") > 0, "the finding of the live one")
        assert [one.trace_id for one in incidents(daemon.state)] == ["l"]


def test_from_start_reads_again_and_counts_nothing_twice(
    tmp_path: Path, receiver: Receiver
) -> None:
    daemon = Watch(tmp_path, webhook("hook", receiver), rules=STREAK)
    path = daemon.traces / "a.jsonl"
    write(path, failure("calm"), failure("calm"), *(failure("r") for _ in range(5)))
    daemon.once()
    assert receiver.told("/hook") == [("opened", "r")]
    for _ in range(2):
        daemon.once("--from", "start")
    assert [(one.trace_id, one.count) for one in incidents(daemon.state)] == [("r", 5)]
    assert len(receiver.messages) == 1


def test_from_end_leaves_out_what_is_there_for_good(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        path = daemon.traces / "a.jsonl"
        write(path, failure("first"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the first finding")
        assert daemon.stop() == 0
        write(path, failure("missed"))
        daemon.start("--from", "end").ready()
        wait_for(lambda: daemon.metric("tail_files") == 1, "the file")
        write(path, failure("seen"))
        write(daemon.traces / "b.jsonl", failure("new"))
        wait_for(lambda: daemon.metric("findings_total") == 2, "what came then")
        assert daemon.stop() == 0
        daemon.start("--from", "checkpoint").ready()
        write(path, failure("last"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "nothing but the last one")
        assert daemon.stop() == 0
    found = {one.trace_id: (one.count, one.evidence[0].line) for one in incidents(daemon.state)}
    assert found == {"first": (1, 1), "seen": (1, 3), "new": (1, 1), "last": (1, 4)}


def test_a_file_that_was_at_its_end_is_not_read_from_its_start_later(
    tmp_path: Path, receiver: Receiver
) -> None:
    daemon = Watch(tmp_path, webhook("hook", receiver))
    path = daemon.traces / "a.jsonl"
    write(path, *(failure(f"old-{number}") for number in range(3)))
    try:
        for options in (("--from", "end"), ()):
            daemon.start(*options).ready()
            wait_for(lambda: daemon.metric("tail_files") == 1, "the file")
            assert daemon.stop() == 0
        daemon.start().ready()
        write(path, failure("new"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the one finding")
        wait_for(lambda: receiver.told("/hook") == [("opened", "new")], "the one message")
    finally:
        daemon.kill()
    shown = receiver.at("/hook")[0].body["incidents"][0]["evidence"][0]
    assert shown["line"] == 4
    assert '"new"' in shown["excerpt"]
