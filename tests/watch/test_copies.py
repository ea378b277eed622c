"""A session that goes on in a new file, under another id: what is copied counts once, live too."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from test_copied_records import goes_on_as, turn
from watch.harness import incidents
from watch.kit import Watch, wait_for

from lastsignal.app import diagnose, in_order_of_time
from lastsignal.edges.inputs import open_sources
from lastsignal.edges.rulefiles import load_rules

OLD = [*turn("s-old", 1), *turn("s-old", 2)]
NEW = [*goes_on_as("s-new", OLD), *turn("s-new", 3)]


def write(path: Path, records: Sequence[dict[str, Any]], age: float = 0.0) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    os.utime(path, (1_775_000_000 - age, 1_775_000_000 - age))


def told(daemon: Watch) -> list[tuple[str, str, int]]:
    return sorted((one.rule, one.trace_id, one.count) for one in incidents(daemon.state))


def figures(daemon: Watch) -> dict[str, float]:
    return {
        "tokens": daemon.metric("tokens_total"),
        "failures": daemon.metric("failed_events_total"),
        "copies": daemon.metric('skipped_total{reason="copied_record"}'),
    }


def test_copies_count_once_over_a_restart_and_are_told(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    write(daemon.traces / "z.jsonl", OLD)
    daemon.start().ready()
    wait_for(lambda: figures(daemon) == {"tokens": 168, "failures": 2, "copies": 0}, "the first")
    assert daemon.stop() == 0
    write(daemon.traces / "a.jsonl", NEW)
    daemon.start().ready()
    wait_for(lambda: daemon.metric("read_lines_total") == len(NEW), "the second")
    wait_for(lambda: figures(daemon) == {"tokens": 84, "failures": 1, "copies": 6}, "its own")
    assert daemon.stop() == 0
    assert told(daemon) == [("fails", "s-new", 1), ("fails", "s-old", 2)]


def test_the_daemon_finds_in_both_what_diagnose_finds(tmp_path: Path) -> None:
    daemon = Watch(tmp_path)
    write(daemon.traces / "z.jsonl", OLD, age=100)
    write(daemon.traces / "a.jsonl", NEW)
    daemon.once()
    sources = in_order_of_time(open_sources([str(daemon.traces)]))
    report = diagnose(sources, load_rules((daemon.rules,), builtin=False))
    found = [(one.rule, one.trace_id, one.count) for one in report.findings()]
    assert told(daemon) == sorted(found)
    assert {one.source[-7:]: one.skipped.get("copied_record", 0) for one in report.inputs} == {
        "z.jsonl": 0, "a.jsonl": 6
    }  # fmt: skip
