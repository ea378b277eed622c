"""The configuration read again while the daemon runs."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from watch.kit import FAILS, Receiver, Watch, failure, record, wait_for, watching, webhook, write
from watch.test_reload import by_request, by_signal

OTHER = FAILS.replace("id: fails", "id: aborts").replace("status: failed}", "status: aborted}")
QUICK = "[incidents]\nstorm_limit = 1000\n"


def edit(daemon: Watch, old: str, new: str) -> None:
    text = daemon.config.read_text()
    assert old in text
    daemon.config.write_text(text.replace(old, new))


@pytest.mark.parametrize("ask", [by_signal, by_request])
def test_rules_that_are_switched_off_are_gone(tmp_path: Path, ask: Callable[[Watch], None]) -> None:
    daemon = Watch(tmp_path)
    daemon.rule(OTHER)
    try:
        daemon.start().ready()
        wait_for(lambda: daemon.metric("rules") == 2, "two rules")
        edit(daemon, "[rules]", '[rules]\ndisabled = ["fails"]')
        ask(daemon)
        wait_for(lambda: daemon.metric("rules") == 1, "one rule")
        write(daemon.traces / "a.jsonl", failure("r"), record("r", "tool_result", "x", "aborted"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "the finding of the other one")
        assert daemon.metric('findings_total{rule="fails"}') == 0
    finally:
        daemon.kill()


@pytest.mark.parametrize("ask", ["signal", "request"])
def test_a_broken_configuration_changes_nothing_and_says_so(tmp_path: Path, ask: str) -> None:
    with watching(tmp_path) as daemon:
        wait_for(lambda: daemon.metric("config_last_reload_successful") == 1, "the start")
        good = daemon.config.read_text()
        daemon.config.write_text(good + "[limtis]\nmax_traces = 7\n")
        line = good.count("\n") + 1
        if ask == "signal":
            by_signal(daemon)
        else:
            status, text = daemon.get("/-/reload", "POST")
            assert status == 500
            assert f"{daemon.config}:{line}: unknown key `limtis`" in text
        wait_for(lambda: daemon.metric("config_last_reload_successful") == 0, "the metric")
        status, text = daemon.get("/-/ready")
        assert status == 503
        assert f"{daemon.config}:{line}: unknown key `limtis`; did you mean `limits`?" in text
        assert "limtis" in daemon.lines("config_not_reloaded")[0]["error"]
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: daemon.metric("findings_total") == 1, "it goes on")
        daemon.config.write_text(good)
        by_signal(daemon)
        wait_for(lambda: daemon.get("/-/ready")[0] == 200, "ready again")
        assert daemon.metric("config_last_reload_successful") == 1


def test_other_targets_are_told_after_a_reload_and_nothing_waits_for_ever(
    tmp_path: Path, receiver: Receiver
) -> None:
    receiver.answers["/old"] = lambda n: (200, {}) if n == 0 else (500, {})
    slow = {"retry_min": "60s", "min_interval": "10ms"}
    with watching(tmp_path, QUICK + webhook("old", receiver, **slow)) as daemon:
        path = daemon.traces / "a.jsonl"
        write(path, failure("one"))
        wait_for(lambda: receiver.told("/old") == [("opened", "one")], "the old one")
        write(path, failure("two"))
        wait_for(lambda: receiver.at("/old", 500), "a refusal")
        daemon.configure(QUICK + webhook("new", receiver, min_interval="10ms"))
        by_request(daemon)
        write(path, failure("three"))
        wait_for(lambda: receiver.told("/new") == [("opened", "three")], "the new one")
        dead = 'notification_dead_letters{target="old"}'
        wait_for(lambda: daemon.metric(dead) == 1, "what waited for the old one")
        assert daemon.metric('notification_queue_messages{target="old"}') == 0
        assert daemon.says("notifications_without_target")
        assert len(receiver.at("/old", 500)) == 1


def test_what_waits_for_a_target_that_stays_is_sent_once(
    tmp_path: Path, receiver: Receiver
) -> None:
    receiver.answers["/hook"] = lambda n: (500, {}) if n == 0 else (200, {})
    hook = webhook("hook", receiver, retry_min="1s", min_interval="10ms")
    with watching(tmp_path, QUICK + hook) as daemon:
        write(daemon.traces / "a.jsonl", *(failure(f"r{n}") for n in range(5)))
        wait_for(lambda: receiver.at("/hook", 500), "a refusal")
        daemon.configure(QUICK + hook + webhook("more", receiver))
        by_request(daemon)
        wait_for(lambda: len(receiver.told("/hook")) == 5, "all five")
        waiting = 'notification_queue_messages{target="hook"}'
        wait_for(lambda: daemon.metric(waiting) == 0, "an empty queue")
        assert sorted(receiver.told("/hook")) == [("opened", f"r{n}") for n in range(5)]
        assert not receiver.at("/more")


def test_when_somebody_is_told_may_change(tmp_path: Path, receiver: Receiver) -> None:
    with watching(tmp_path, webhook("hook", receiver, min_interval="10ms")) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: receiver.told("/hook") == [("opened", "r")], "the message")
        daemon.configure(
            "[incidents]\nresolve_after = 1\n" + webhook("hook", receiver, min_interval="10ms")
        )
        by_request(daemon)
        wait_for(lambda: ("resolved", "r") in receiver.told("/hook"), "its end")


def test_what_only_a_restart_takes_is_said(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        edit(daemon, "[inputs]\n", '[inputs]\nexclude = ["*.tmp"]\n')
        by_request(daemon)
        assert daemon.lines("config_waits_for_restart")[0]["changed"] == ["inputs"]
        assert daemon.get("/-/ready")[0] == 200
        facts = json.loads(daemon.get("/api/v1/status")[1])["facts"]
        assert facts["configured, and taken by a restart only"] == "inputs"


def test_a_storm_of_signals_is_a_few_readings(tmp_path: Path) -> None:
    with watching(tmp_path) as daemon:
        assert daemon.process is not None
        for number in range(300):
            daemon.process.send_signal(signal.SIGHUP)
            write(daemon.traces / "a.jsonl", failure(f"r{number}"))
        daemon.rule(OTHER)
        by_signal(daemon)
        wait_for(lambda: daemon.metric("rules") == 2, "the rule of the last one")
        wait_for(lambda: daemon.metric("findings_total") == 300, "every finding")
        readings = len(daemon.lines("config_reloaded"))
        assert daemon.stop() == 0
    assert 1 <= readings < 10
