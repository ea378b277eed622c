"""The daemon against a peer: `watch --once` with all built-in rules, and mtail with five patterns.

    python tests/bench/peer.py [--events 1000000] [--rounds 3]

Both read the same file from its start to its end on one core, in turn, as whole processes; what
counts is the ratio of their processor times. mtail (Debian's package, in Go) counts the lines that
five regular expressions match; `watch` decodes each record, runs every rule, keeps its state in a
file, and counts the same and more. The design asks for five times mtail's lines a second: that is
not reached, and this says by how much.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import corpus
from diagnose import measure

PROGRAM = r"""
counter events_total by event_type, status
counter failed_total by operation
counter rate_limited_total by operation
counter timeouts_total
counter tokens_total
/"event_type":"(?P<event_type>[a-z_]+)".*"status":"(?P<status>[a-z]+)"/ {
  events_total[$event_type][$status]++
}
/"operation":"(?P<operation>[^"]+)","status":"failed"/ {
  failed_total[$operation]++
}
/"operation":"(?P<operation>[^"]+)".*"error_message":"[^"]*429/ {
  rate_limited_total[$operation]++
}
/"error_message":"[^"]*[Tt]ime(d )?out/ {
  timeouts_total++
}
/"input_tokens":(?P<count>\d+)/ {
  tokens_total += $count
}
"""


def main() -> None:
    """Generate the input, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    peer = shutil.which("mtail")
    if peer is None:
        raise SystemExit("mtail is not installed; `apt-get install mtail`")
    with tempfile.TemporaryDirectory() as folder:
        traces, patterns = Path(folder, "traces.jsonl"), Path(folder, "five.mtail")
        corpus.write(traces, options.events)
        patterns.write_text(PROGRAM, encoding="utf-8")
        theirs = [peer, "--progs", str(patterns), "--logs", str(traces), "--one_shot"]
        rows = []
        for number in range(options.rounds):
            state = str(Path(folder, f"state{number}"))
            command = [sys.executable, "-m", "lastsignal", "watch", "--once", str(traces)]
            ours = measure([*command, "--state-dir", state])
            rows.append((ours.seconds, measure([*theirs, "--port", "0"]).seconds))
    ratios = sorted(peers / own for own, peers in rows)
    own, peers = (statistics.median(column) for column in zip(*rows, strict=True))
    print(
        f"{options.events:,} lines: watch {options.events / own:,.0f} a second of processor,"
        f" mtail {options.events / peers:,.0f}: {statistics.median(ratios):.2f} times as many"
        f" ({ratios[0]:.2f} to {ratios[-1]:.2f}; the design asks for 5)"
    )


if __name__ == "__main__":
    main()
