"""How fast the daemon is and what it costs: `watch.py [idle] [latency] [speed] [traces]`."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # not this folder: here `watch` is this file
from watch.kit import Receiver, Watch, failure, record, wait_for, watching, webhook, write  # noqa: E402

_TICKS = os.sysconf("SC_CLK_TCK")


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


def latency(root: Path) -> None:
    """Written line → notification at a local target."""
    receiver = Receiver()
    config = "[incidents]\nstorm_limit = 100000\n"
    taken = []
    with watching(root, config + webhook("hook", receiver, min_interval="10ms")) as daemon:
        for number in range(120):
            time.sleep(0.12 + number % 7 / 50)
            began = time.monotonic()
            write(daemon.traces / "a.jsonl", failure(f"r{number}"))
            wait_for(lambda n=number: len(receiver.messages) > n)
            taken.append(1000 * (receiver.messages[-1].at - began))
    receiver.close()
    taken = sorted(taken[10:])
    p99 = taken[int(len(taken) * 0.99)]
    print(f"latency: p50 {statistics.median(taken):.0f} ms, p99 {p99:.0f} ms, max {taken[-1]:.0f}")


def idle(root: Path) -> None:
    """A thousand files that nobody writes to."""
    with watching(root) as daemon:
        for number in range(1000):
            write(
                daemon.traces / f"{number}.jsonl", record(f"r{number}", "tool_call", "x", "started")
            )
        wait_for(lambda: daemon.metric("events_total") == 1000)
        time.sleep(10)
        before, began = cpu_seconds(daemon), time.monotonic()
        time.sleep(30)
        share = (cpu_seconds(daemon) - before) / (time.monotonic() - began)
        print(f"idle: 1,000 files take {share:.2%} of a core and {memory_mb(daemon):.0f} MB")


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
    """Lines a second, from file to counted metric, with all built-in rules."""
    count = 200_000
    daemon = Watch(root, rules="")
    daemon.configure("", builtin=True)
    daemon.start().ready()
    lines = calm_lines(count)
    before = cpu_seconds(daemon)
    began = time.monotonic()
    write(daemon.traces / "a.jsonl", *lines)
    wait_for(lambda: daemon.metric("read_lines_total") == count, seconds=600)
    seconds, used = time.monotonic() - began, cpu_seconds(daemon) - before
    print(
        f"speed: {count / seconds:,.0f} lines/s by the clock, {count / used:,.0f} lines/s of"
        f" processor, {memory_mb(daemon):.0f} MB"
    )
    daemon.kill()


def traces(root: Path) -> None:
    """More open traces than are kept."""
    daemon = Watch(root, rules="")
    daemon.configure("[limits]\nmax_traces = 200000\n", builtin=True)
    daemon.start().ready()
    before, began = memory_mb(daemon), time.monotonic()
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
    seconds = time.monotonic() - began
    time.sleep(3)
    print(
        f"traces: {daemon.metric('open_traces'):,.0f} open,"
        f" {daemon.metric('evicted_traces_total'):,.0f} evicted, {memory_mb(daemon):.0f} MB"
        f" (peak {memory_mb(daemon, 'VmHWM'):.0f}, {before:.0f} before), {seconds:.0f} s,"
        f" state {daemon.metric('store_size_bytes') / 1e6:.0f} MB,"
        f" longest commits {slowest_commits(daemon)}"
    )
    daemon.kill()


def slowest_commits(daemon: Watch) -> str:
    """Return how long commits took, by the metric."""
    total = daemon.metric("commit_duration_seconds_sum")
    number = daemon.metric("commit_duration_seconds_count")
    return f"{number:.0f} of {total / max(1, number):.2f} s on average"


MEASURES: dict[str, Callable[[Path], None]] = {
    "latency": latency,
    "idle": idle,
    "speed": speed,
    "traces": traces,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or MEASURES:
        with tempfile.TemporaryDirectory() as root:
            MEASURES[name](Path(root))
