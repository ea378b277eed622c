"""How fast the daemon is and what it costs, with all built-in rules.

    python tests/bench/watch.py [latency] [idle] [apprise] [speed] [traces] [storm]

The bounds are the design's. A machine that is shared moves every figure but memory: its load stands
beside each.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # not this folder: here `watch` is this file
from watch.harness import incidents  # noqa: E402
from watch.kit import (  # noqa: E402
    FAILS,
    Message,
    Receiver,
    Watch,
    failure,
    record,
    wait_for,
    webhook,
    write,
)

_TICKS = os.sysconf("SC_CLK_TCK")


def started(root: Path, config: str = "", *, rules: str = "") -> Watch:
    """Return a running daemon with all built-in rules, and these."""
    daemon = Watch(root, rules=rules)
    daemon.configure(config, builtin=True)
    atexit.register(lambda: daemon.ended() or daemon.kill())  # also where a measure fails
    return daemon.start().ready()


def cpu_seconds(daemon: Watch) -> float:
    """Return the processor time that a daemon has used."""
    assert daemon.process is not None
    fields = Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(daemon: Watch, which: str = "VmRSS") -> float:
    """Return the memory of a daemon."""
    assert daemon.process is not None
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    return int(next(one for one in lines if one.startswith(which)).split()[1]) / 1024


def say(what: str, text: str) -> None:
    """Print a figure with the load of the machine."""
    print(f"{what}: {text}  (load {os.getloadavg()[0]:.1f})", flush=True)


def told_of(receiver: Receiver, trace_id: str) -> Message | None:
    """Return the message that tells of a run's first incident."""
    for message in receiver.messages[-5:]:
        one = message.body["incidents"][0]
        if (one["trace_id"], one["rule"]) == (trace_id, "fails"):
            return message
    return None


def latency(root: Path) -> None:
    """Written line → notification at a local target: p99 of at most 150 ms when idle."""
    receiver = Receiver()
    config = "[incidents]\nstorm_limit = 100000\n"
    taken = []
    daemon = started(root, config + webhook("hook", receiver, min_interval="10ms"), rules=FAILS)
    for number in range(320):
        time.sleep(0.12 + number % 7 / 50)
        began = time.monotonic()
        write(daemon.traces / "a.jsonl", failure(f"r{number}"))
        message = wait_for(lambda n=number: told_of(receiver, f"r{n}"), f"message {number}")
        taken.append(1000 * (message.at - began))
    daemon.kill()
    receiver.close()
    taken = sorted(taken[20:])
    shares = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
    parts = [f"p{round(100 * one)} {taken[int(len(taken) * one)]:.0f}" for one in shares]
    say("latency", f"{', '.join(parts)}, max {taken[-1]:.0f} ms (bound: p99 150)")


def idle(root: Path, config: str = "", name: str = "idle") -> None:
    """A thousand files that nobody writes to: under 1 % of a core and 80 MB."""
    daemon = started(root, config)
    for number in range(1000):
        write(daemon.traces / f"{number}.jsonl", record(f"r{number}", "tool_call", "x", "started"))
    wait_for(lambda: daemon.metric("events_total") == 1000)
    time.sleep(10)
    before, began = cpu_seconds(daemon), time.monotonic()
    time.sleep(60)
    share = (cpu_seconds(daemon) - before) / (time.monotonic() - began)
    memory = f"{memory_mb(daemon):.0f} MB (bound 80)"
    say(name, f"1,000 files take {share:.2%} of a core (bound 1 %) and {memory}")
    daemon.kill()


def apprise(root: Path) -> None:
    """The same with a target of Apprise, a library that takes much memory by itself."""
    target = '[[targets]]\nname = "chat"\nurl = "json://127.0.0.1:9/"\n'
    idle(root, target, "idle with an Apprise target")


def calm_lines(count: int) -> list[bytes]:
    """Return the lines of runs in which one call of a hundred fails."""
    lines = []
    for number in range(count // 2):
        run = f"r{number // 2000 * 20 + number % 20}"
        call = f"c{number}"
        at = 1_790_000_000 + number / 10
        status = "failed" if number % 100 == 0 else "completed"
        lines.append(record(run, "tool_call", "search", "started", call_id=call, timestamp=at))
        lines.append(
            record(run, "tool_result", "search", status, call_id=call, timestamp=at + 0.05)
        )
    return lines


def speed(root: Path) -> None:
    """Lines a second, from file to counted metric."""
    count = 200_000
    daemon = started(root)
    lines = calm_lines(count)
    before = cpu_seconds(daemon)
    began = time.monotonic()
    write(daemon.traces / "a.jsonl", *lines)
    wait_for(lambda: daemon.metric("read_lines_total") == count, seconds=600)
    seconds, used = time.monotonic() - began, cpu_seconds(daemon) - before
    say(
        "speed",
        f"{count / seconds:,.0f} lines/s by the clock, {count / used:,.0f} lines/s of processor,"
        f" {memory_mb(daemon):.0f} MB",
    )
    daemon.kill()


def traces(root: Path) -> None:
    """More open traces than are kept: memory is bounded by `max_traces`, and evictions count."""
    daemon = started(root, "[limits]\nmax_traces = 200000\n")
    before, used, began = memory_mb(daemon), cpu_seconds(daemon), time.monotonic()
    for start in range(0, 250_000, 10_000):
        write(
            daemon.traces / "a.jsonl",
            *(
                line
                for n in range(start, start + 10_000)
                for line in (
                    record(f"r{n}", "agent_start", "agent", "started"),
                    record(f"r{n}", "tool_call", "search", "started"),
                )
            ),
        )
    wait_for(lambda: daemon.metric("read_lines_total") == 500_000, seconds=900)
    wait_for(lambda: daemon.metric("evicted_traces_total") == 50_000)
    seconds, used = time.monotonic() - began, cpu_seconds(daemon) - used
    say(
        "traces",
        f"{daemon.metric('open_traces'):,.0f} open,"
        f" {daemon.metric('evicted_traces_total'):,.0f} evicted, {memory_mb(daemon):.0f} MB"
        f" (peak {memory_mb(daemon, 'VmHWM'):.0f}, {before:.0f} before),"
        f" {seconds:.0f} s by the clock, {used:.0f} of processor,"
        f" state {daemon.metric('store_size_bytes') / 1e6:.0f} MB,"
        f" {slowest_commits(daemon)}",
    )
    time.sleep(8)  # until the last commit is over
    daemon.rule(FAILS)
    used, began = cpu_seconds(daemon), time.monotonic()
    assert daemon.get("/-/reload", "POST")[0] == 200
    say(
        "reload",
        f"a rule more with 200,000 open traces takes {time.monotonic() - began:.1f} s by the clock,"
        f" {cpu_seconds(daemon) - used:.1f} of processor, {memory_mb(daemon):.0f} MB",
    )
    daemon.kill()


def slowest_commits(daemon: Watch) -> str:
    """Return how long commits took, by the metric."""
    total = daemon.metric("commit_duration_seconds_sum")
    number = daemon.metric("commit_duration_seconds_count")
    return f"{number:.0f} commits of {total / max(1, number):.2f} s on average"


def storm(root: Path) -> None:
    """10,000 incidents at once, and a kill: one message a second at most, nothing lost."""
    receiver, count = Receiver(), 10_000
    daemon = started(root, webhook("hook", receiver), rules=FAILS)
    used, began = cpu_seconds(daemon), time.monotonic()
    write(daemon.traces / "a.jsonl", *(failure(f"r{number}") for number in range(count)))
    wait_for(lambda: receiver.messages, "the first message", 60)
    first, lag = receiver.messages[0].at - began, daemon.metric("tail_lag_seconds")
    used = cpu_seconds(daemon) - used
    daemon.kill()
    daemon.start().ready()
    waiting = 'notification_queue_messages{target="hook"}'

    def is_told() -> bool:
        found = [one for one in incidents(daemon.state) if one.rule == "fails"]
        told = sum(one.told == "open" for one in found)
        return len(found) == told == count and daemon.metric(waiting) == 0

    wait_for(is_told, "all are told", 300)
    messages = {one.key: one for one in receiver.messages}
    totals = sum(one.body["total"] for one in messages.values())
    gaps = [b.at - a.at for a, b in itertools.pairwise(receiver.messages)]
    kinds = [one.body["kind"] for one in messages.values()]
    with sqlite3.connect(daemon.state / "state.sqlite3") as database:
        told = database.execute("SELECT count(*) FROM incidents").fetchone()[0]
    database.close()
    say(
        "storm",
        f"{told:,} incidents in {len(messages)} messages ({kinds.count('digest')} digests) that"
        f" tell of {totals:,}; {len(receiver.messages) - len(messages)} sent twice; the first after"
        f" {first:.1f} s, {used:.1f} s of processor, lag then {lag:.1f} s; the smallest gap"
        f" {min(gaps):.2f} s, the longest {max(gaps):.0f}; {memory_mb(daemon, 'VmHWM'):.0f} MB",
    )
    daemon.kill()
    receiver.close()


MEASURES: dict[str, Callable[[Path], None]] = {
    "latency": latency,
    "idle": idle,
    "apprise": apprise,
    "speed": speed,
    "traces": traces,
    "storm": storm,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or MEASURES:
        with tempfile.TemporaryDirectory() as root:
            MEASURES[name](Path(root))
