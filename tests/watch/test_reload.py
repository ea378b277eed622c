"""Rules read again while traces are being written."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from watch.harness import incidents
from watch.kit import FAILS, Watch, failure, record, wait_for, watching, write

OTHER = FAILS.replace("id: fails", "id: aborts").replace("status: failed}", "status: aborted}")

STREAK = (
    FAILS.replace("id: fails", "id: thrice")
    .replace("kind: event,", "kind: streak, at_least: 3, reset: {status: completed},")
    .split("tests:")[0]
    + """
tests:
  - name: thrice
    events:
      - {event_type: tool_result, operation: a, status: failed}
      - {event_type: tool_result, operation: a, status: failed}
      - {event_type: tool_result, operation: a, status: failed}
    expect: [{}]
  - {name: once, events: [{event_type: tool_result, operation: a, status: failed}], expect: []}
"""
)


def by_signal(daemon: Watch) -> None:
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGHUP)


def by_request(daemon: Watch) -> None:
    status, text = daemon.get("/-/reload", "POST")
    assert (status, text) == (200, "reloaded\n")


def by_change(daemon: Watch) -> None:
    """Do nothing: the file itself has changed."""


@pytest.mark.parametrize("ask", [by_signal, by_request, by_change])
def test_new_rules_are_taken(tmp_path: Path, ask: Callable[[Watch], None]) -> None:
    on_change = "reload_on_change = true" if ask is by_change else "reload_on_change = false"
    daemon = Watch(tmp_path)
    text = daemon.config.read_text().replace("[rules]", f"[rules]\n{on_change}")
    daemon.config.write_text(text)
    try:
        daemon.start().ready()
        wait_for(lambda: daemon.metric("rules") == 1, "one rule")
        daemon.rule(OTHER)
        ask(daemon)
        wait_for(lambda: daemon.metric("rules") == 2, "two rules")
        write(daemon.traces / "a.jsonl", record("r", "tool_result", "x", "aborted"))
        wait_for(lambda: daemon.metric('findings_total{rule="aborts"}') == 1, "its finding")
        assert daemon.metric("rules_last_reload_successful") == 1
    finally:
        daemon.kill()


def test_a_broken_rule_keeps_the_former_ones_and_says_so(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        wait_for(lambda: daemon.metric("rules_last_reload_successful") == 1, "the start")
        path = daemon.rule(OTHER)
        path.write_text(OTHER.replace("severity: critical", "severity: dreadful"))
        wait_for(lambda: daemon.metric("rules_last_reload_successful") == 0, "the metric")
        status, text = daemon.get("/-/ready")
        assert status == 503
        assert f"{path}:" in text
        said = daemon.lines("rules_not_reloaded")[0]
        assert "dreadful" in said["error"]
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: daemon.metric('findings_total{rule="fails"}') == 1, "the former rule")
        status, text = daemon.get("/-/reload", "POST")
        assert status == 500
        assert "dreadful" in text
        path.write_text(OTHER)
        wait_for(lambda: daemon.get("/-/ready")[0] == 200, "ready again")
        assert daemon.metric("rules_last_reload_successful") == 1


def test_a_streak_goes_on_over_a_reload_and_a_changed_rule_begins_anew(tmp_path: Path) -> None:
    changed = STREAK.replace("id: thrice", "id: altered")
    with watching(tmp_path, rules=STREAK) as daemon:
        daemon.rule(changed)
        by_request(daemon)
        path = daemon.traces / "a.jsonl"
        write(path, failure("r"), failure("r"))
        wait_for(lambda: daemon.metric("events_total") == 2, "two events")
        daemon.rule(changed.replace("at_least: 3", "at_least: 2"))
        daemon.rule(OTHER)
        by_request(daemon)
        write(path, failure("r"))
        wait_for(lambda: daemon.metric('findings_total{rule="thrice"}') == 1, "the streak")
        found = {one.rule: one.count for one in incidents(daemon.state)}
        assert found == {"thrice": 3}


def test_no_event_is_lost_while_rules_are_read_again_and_again(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        path = daemon.traces / "a.jsonl"
        for number in range(40):
            write(path, *(failure(f"r{number}-{n}") for n in range(50)))
            if number % 2:
                by_request(daemon)
            elif number % 3 == 0:
                daemon.rule(OTHER.replace("Mend it", f"Mend it {number}"))
        assert daemon.stop() == 0
    assert len(incidents(daemon.state)) == 2000
