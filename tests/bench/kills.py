"""What `kill -9` at random points costs the daemon, held against an undisturbed `diagnose`.

    python tests/bench/kills.py [rename] [gzip] [copytruncate] [docker]

LASTSIGNAL_KILLS (300), LASTSIGNAL_KILL_LINES (50000) and LASTSIGNAL_KILL_SEED say how many and
which. Exits with 1 if a finding is missing, there twice, or changed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

sys.path[0] = str(Path(__file__).parents[1])  # not this folder: here `watch` is another file
from watch import harness  # noqa: E402

KILLS = int(os.environ.get("LASTSIGNAL_KILLS", "300"))
LINES = int(os.environ.get("LASTSIGNAL_KILL_LINES", "50000"))
SEED = int(os.environ.get("LASTSIGNAL_KILL_SEED", "1"))
LINES_A_FILE = 1200
AT_ONCE = 2  # daemons; more of them only slow each other down


class Outcome(NamedTuple):
    """What came of one kind of rotation."""

    how: str
    kills: int
    rotations: int
    findings: int
    missing: int
    twice: int
    changed: int
    minutes: float


def outcome_of(how: str) -> Outcome:
    """Treat a daemon badly; return how far its findings are from those of `diagnose`."""
    began = time.monotonic()

    def show(number: int) -> None:
        if number % 10 == 0:
            print(f"{how}: {number} of {KILLS} kills", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory(prefix="kills-") as root:
        folder, state = Path(root, "traces"), Path(root, "state")
        folder.mkdir()
        treatment = harness.Treatment(LINES, KILLS, SEED, how, LINES // LINES_A_FILE)
        killed = harness.treat_badly(folder, state, treatment, show)
        harness.watch_once(folder, state)
        wanted = Counter(harness.found_by_diagnose(folder))
        found = Counter(harness.found_by_watch(state))
        rotations = sum(1 for _ in folder.iterdir()) - 1
    for one in list(found - wanted)[:3] + list(wanted - found)[:3]:
        print(f"{how}: {'watch' if one in found else 'diagnose'} alone: {one}", file=sys.stderr)
    more, less = _by_trace(found - wanted), _by_trace(wanted - found)
    changed = more & less
    return Outcome(
        how,
        killed,
        rotations,
        wanted.total(),
        (less - changed).total(),
        (more - changed).total(),
        changed.total(),
        (time.monotonic() - began) / 60,
    )


def _by_trace(findings: Counter[harness.Found]) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for one, count in findings.items():
        counts[one.rule, one.trace_id] += count
    return counts


def main(kinds: list[str]) -> int:
    """Measure and print; return the exit code."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(outcome_of, kinds))
    print("rotation      kills  rotations  events  findings  missing  twice  changed  minutes")
    for one in outcomes:
        print(
            f"{one.how:12} {one.kills:6} {one.rotations:10} {LINES:7} {one.findings:9}"
            f" {one.missing:8} {one.twice:6} {one.changed:8} {one.minutes:8.1f}"
        )
    return 1 if any(one.missing or one.twice or one.changed for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["rename", "gzip", "copytruncate", "docker"]))
