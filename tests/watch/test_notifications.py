"""From written lines to messages at targets that answer, refuse, fail and hang."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from watch.harness import incidents
from watch.kit import LASTSIGNAL, Receiver, failure, record, wait_for, watching, webhook, write

STORM = int(os.environ.get("LASTSIGNAL_STORM", "10000"))
QUICK = "[incidents]\nstorm_limit = 1000\n"


def test_a_message_says_what_opened_and_shows_the_line(tmp_path: Path, receiver: Receiver) -> None:
    with watching(tmp_path, webhook("hook", receiver)) as daemon:
        write(daemon.traces / "a.jsonl", failure("r", key="sk-ant-REDACTED"))
        wait_for(lambda: receiver.messages, "the message")
        body = receiver.at("/hook")[0].body
    incident = body["incidents"][0]
    excerpt = incident["evidence"][0]["excerpt"]
    assert (body["kind"], incident["trace_id"], incident["evidence"][0]["line"]) == (
        "opened",
        "r",
        1,
    )
    assert '"error_message": "boom"' in excerpt
    assert "sk-ant" not in excerpt


def test_a_rotated_file_still_shows_its_lines(tmp_path: Path, receiver: Receiver) -> None:
    streak = record("other", "tool_call", "x", "started")
    with watching(tmp_path, QUICK + webhook("hook", receiver, min_interval="50ms")) as daemon:
        path = daemon.traces / "a.jsonl"
        write(path, failure("first", error_message_more="one"))
        wait_for(lambda: len(receiver.messages) == 1, "the first message")
        path.rename(daemon.traces / "a-1.jsonl")
        write(path, streak, failure("second", error_message_more="two"))
        wait_for(lambda: len(receiver.messages) == 2, "the second message")
    shown = [m.body["incidents"][0]["evidence"][0]["excerpt"] for m in receiver.at("/hook")]
    assert ["first" in shown[0], "second" in shown[1]] == [True, True]


def test_who_wants_it_is_told_of_the_end(tmp_path: Path, receiver: Receiver) -> None:
    config = "[incidents]\nresolve_after = 2\n"
    config += webhook("all", receiver) + webhook("open", receiver, send_resolved=False)
    with watching(tmp_path, config) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: len(receiver.told("/all")) == 2, "opened and resolved")
        assert receiver.told("/all") == [("opened", "r"), ("resolved", "r")]
        assert receiver.told("/open") == [("opened", "r")]
        wait_for(lambda: daemon.metric("incidents_resolved_total") == 1, "the metric")
        assert daemon.metric("open_incidents") == 0


def test_apprise_targets_are_told_too(tmp_path: Path, receiver: Receiver) -> None:
    config = f'[[targets]]\nname = "chat"\nurl = "json://127.0.0.1:{receiver.port}/chat"\n'
    with watching(tmp_path, config) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: receiver.at("/chat"), "the message")
        assert "A tool fails" in receiver.at("/chat")[0].body["title"]
        wait_for(lambda: daemon.metric('notifications_total{outcome="sent"}') == 1, "the metric")
    assert len(receiver.at("/chat")) == 1


def test_refusals_are_tried_again_as_configured(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers["/busy"] = lambda n: (429, {"Retry-After": "2"}) if n == 0 else (200, {})
    receiver.answers["/broken"] = lambda n: (500, {}) if n < 2 else (200, {})
    receiver.answers["/dead"] = lambda n: (500, {})
    patience = {"retry_min": "100ms", "retry_max": "200ms", "min_interval": "50ms"}
    config = webhook("busy", receiver, **patience) + webhook("broken", receiver, **patience)
    config += webhook("dead", receiver, max_attempts=3, **patience)
    with watching(tmp_path, config) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: receiver.at("/busy") and receiver.at("/broken"), "both at last")
        dead = 'notification_dead_letters{target="dead"}'
        wait_for(lambda: daemon.metric(dead) == 1, "the dead letter")
        listed = lastsignal("notify", "list", "--state-dir", str(daemon.state))
        assert re.search(r"dead +given up .* 3 +opened: `search` failed", listed)
        assert "500" in listed
    first, second = (one for one in receiver.messages if one.path == "/busy")
    assert second.at - first.at >= 1.95
    assert first.key == second.key != ""
    assert [m.answered for m in receiver.messages if m.path == "/broken"] == [500, 500, 200]
    assert len(receiver.at("/dead", 500)) == 3


def lastsignal(*arguments: str) -> str:
    """Return what a command prints."""
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(
        [*LASTSIGNAL, *arguments], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout


def test_a_target_that_hangs_delays_nobody(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers["/hangs"] = lambda _: (0, {})
    config = QUICK + webhook("hangs", receiver, timeout="60s")
    config += webhook("good", receiver, min_interval="50ms")
    with watching(tmp_path, config) as daemon:
        path = daemon.traces / "a.jsonl"
        for number in range(20):
            write(path, failure(f"r{number}"), *itertools.repeat(failure("more", "other"), 200))
            wait_for(lambda n=number: ("opened", f"r{n}") in receiver.told("/good"), "a message")
            assert daemon.metric("tail_lag_seconds") < 1.5
        wait_for(lambda: daemon.metric("tail_lag_bytes") == 0, "no lag")
        assert daemon.metric("tail_lag_seconds") == 0
        waiting = 'notification_queue_messages{target="hangs"}'
        wait_for(lambda: daemon.metric(waiting) >= 20, "the queue of the one that hangs")
        assert len(receiver.told("/good")) == len(set(receiver.told("/good"))) == 21


def test_a_name_that_does_not_resolve_is_told_and_tried_again(
    tmp_path: Path, receiver: Receiver
) -> None:
    lost = '[[targets]]\nname = "lost"\nkind = "webhook"\nurl = "http://no-such-host.invalid/x"\n'
    with watching(tmp_path, lost + webhook("good", receiver)) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: receiver.at("/good"), "the other target")
        wait_for(lambda: daemon.lines("notification_failed"), "the log")
        failed = daemon.lines("notification_failed")[0]
        assert failed["target"] == "lost"
        retried = 'notifications_total{target="lost",outcome="retried"}'
        wait_for(lambda: daemon.metric(retried) >= 1, "another attempt")
        assert daemon.get("/-/ready")[0] == 200


@pytest.mark.timeout(240)
def test_a_storm_is_a_few_messages_and_loses_nothing_over_a_kill(
    tmp_path: Path, receiver: Receiver
) -> None:
    # five messages, whatever happens: four single ones, and a digest of all others
    config = "[incidents]\nstorm_limit = 5\nstorm_window = 600\n" + webhook("hook", receiver)
    with watching(tmp_path, config) as daemon:
        path = daemon.traces / "a.jsonl"
        write(path, *(failure(f"r{number}") for number in range(STORM)))
        wait_for(lambda: receiver.messages, "the first message", 60)
        daemon.kill()
        daemon.start().ready()
        wait_for(lambda: len(incidents(daemon.state)) == STORM, "every incident", 120)
        sent = 'notification_queue_messages{target="hook"}'
        wait_for(lambda: receiver.at("/hook")[-1].body["kind"] == "digest", "the digest", 60)
        wait_for(lambda: daemon.metric(sent) == 0, "an empty queue")
        told = {one.id for one in incidents(daemon.state) if one.told == "open"}
    messages = receiver.at("/hook")
    keys = Counter(message.key for message in messages)
    unique = {message.key: message.body for message in messages}
    assert sum(keys.values()) - len(keys) <= 1  # the one in flight when it was killed
    assert len(unique) <= 5
    assert sum(body["total"] for body in unique.values()) == len(told) > 0
    gaps = [b.at - a.at for a, b in itertools.pairwise(messages) if a.key != b.key]
    assert min(gaps) > 0.7  # one a second, seen by a receiver that a busy machine may keep waiting


def test_after_a_kill_at_most_the_one_in_flight_is_sent_twice(
    tmp_path: Path, receiver: Receiver
) -> None:
    config = QUICK + webhook("hook", receiver, min_interval="20ms")
    with watching(tmp_path, config) as daemon:
        path = daemon.traces / "a.jsonl"
        for number in range(3):
            seen = len(receiver.messages)
            write(path, *(failure(f"r{number}-{n}") for n in range(15)))
            wait_for(lambda n=seen + number: len(receiver.messages) > n, "messages")
            daemon.kill()
            daemon.start().ready()
        wanted = {("opened", f"r{number}-{n}") for number in range(3) for n in range(15)}
        wait_for(lambda: wanted <= set(receiver.told("/hook")), "all messages")
        waiting = 'notification_queue_messages{target="hook"}'
        wait_for(lambda: daemon.metric(waiting) == 0, "an empty queue")
    counts = Counter(receiver.told("/hook"))
    assert set(counts) == wanted
    assert sum(counts.values()) - len(counts) <= 3


def test_what_waits_outlives_a_start_without_its_target(tmp_path: Path, receiver: Receiver) -> None:
    receiver.answers["/hook"] = lambda n: (500, {}) if n == 0 else (200, {})
    config = webhook("hook", receiver, retry_min="1s")
    with watching(tmp_path, config) as daemon:
        write(daemon.traces / "a.jsonl", failure("r"))
        wait_for(lambda: receiver.at("/hook", 500), "a refusal")
        daemon.kill()
        daemon.configure("")
        daemon.once()
        assert "hook" in lastsignal("notify", "list", "--state-dir", str(daemon.state))
        daemon.configure(config)
        daemon.start().ready()
        wait_for(lambda: receiver.told("/hook") == [("opened", "r")], "the message")
