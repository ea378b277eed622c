"""Speed and memory of `diagnose`, against the floor: a bare loop that decodes the same lines.

Run it with `make bench`. Both commands run as whole processes on one core, in turn; the ratio of
their processor times is what counts, for the times themselves are noise on a shared machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
import corpus

BARE_LOOP = """
import sys, msgspec
with open(sys.argv[1], "rb") as file:
    for line in file:
        msgspec.json.Decoder().decode(line)
"""
BARE_LOOP_REUSED = """
import sys, msgspec
decode = msgspec.json.Decoder().decode
with open(sys.argv[1], "rb") as file:
    for line in file:
        decode(line)
"""


class Usage(NamedTuple):
    """What one process took."""

    seconds: float
    peak_mib: float


def measure(command: Sequence[str]) -> Usage:
    """Run a command on the first core; return its processor time and peak memory."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},  # as installed
        preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}),
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} exited with {process.returncode}")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def compare(title: str, path: Path, rounds: int, events: int) -> None:
    """Print the ratios of one input."""
    ours = [sys.executable, "-m", "lastsignal", "diagnose", str(path), "--fail-on", "never"]
    bare = [sys.executable, "-c", BARE_LOOP, str(path)]
    reused = [sys.executable, "-c", BARE_LOOP_REUSED, str(path)]
    rows = [(measure(ours), measure(bare), measure(reused)) for _ in range(rounds)]
    against_bare = [one[0].seconds / one[1].seconds for one in rows]
    against_reused = [one[0].seconds / one[2].seconds for one in rows]
    seconds = statistics.median(one[0].seconds for one in rows)
    print(
        f"{title}: {events:,} events, {path.stat().st_size / 1e6:,.0f} MB,"
        f" {events / seconds:,.0f} events/s, peak {max(one[0].peak_mib for one in rows):.0f} MiB"
    )
    print(f"  ratio to the bare decode loop:         {_spread(against_bare)}   (bound 4.00)")
    print(f"  ratio to the loop with one Decoder:    {_spread(against_reused)}")


def _spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    """Generate the inputs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain, heavy, long = (Path(folder, f"{name}.jsonl") for name in ("plain", "heavy", "long"))
        corpus.write(plain, options.events)
        compare("small lines", plain, options.rounds, options.events)
        corpus.write(heavy, options.events // 20, payload_bytes=20_000)
        compare("20 KB payloads", heavy, options.rounds, options.events // 20)
        ours = [sys.executable, "-m", "lastsignal", "diagnose", str(long), "--fail-on", "never"]
        corpus.write(long, options.events * 4)
        print(f"four times as long: peak {measure(ours).peak_mib:.0f} MiB (bound 150)")
        corpus.write(long, options.events * 4, fresh=True)
        traces = options.events * 4 // corpus.EVENTS_A_RUN
        print(f"the same of {traces:,} traces: peak {measure(ours).peak_mib:.0f} MiB (no bound)")


if __name__ == "__main__":
    main()
