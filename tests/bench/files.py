"""`diagnose` over a folder of files, and over one large file: with all processors, against one.

    python tests/bench/files.py [--files 120]

By the clock, for that is what is won; on a machine that does other work there is nothing to win.
Frameworks' own layouts take longer to read than our own schema, and gain more.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))
from corpus.healthy import HEALTHY
from corpus.layouts import LAYOUTS
from corpus.story import Story

MEASURED = ("claude_transcript", "otlp", "langchain", "native")
RUNS_A_FILE = 120


def write(folder: Path, layout: str, files: int) -> int:
    """Write healthy runs, each file's of its own; return the bytes."""
    chance, encode, began, size = random.Random(7), msgspec.json.Encoder().encode, 1.77e9, 0
    for number in range(files):
        lines = []
        for run in range(RUNS_A_FILE):
            story = Story(f"run-{number}-{run}", random.Random(chance.random()), began)
            began += 300.0
            told = HEALTHY[chance.choice(list(HEALTHY))](story)
            lines += [encode(line) for _, line in LAYOUTS[layout].write(told)]
        data = b"\n".join(lines) + b"\n"
        (folder / f"{number:04}.jsonl").write_bytes(data)
        size += len(data)
    return size


def seconds(path: Path, jobs: int) -> float:
    """Return how long `diagnose` takes by the clock."""
    command = [sys.executable, "-m", "lastsignal", "diagnose", str(path), "--jobs", str(jobs)]
    began = time.monotonic()
    subprocess.run([*command, "--fail-on", "never"], check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def compare(title: str, path: Path, size: int, rounds: int) -> None:
    """Print how much sooner all processors are done with a path than one."""
    jobs = len(os.sched_getaffinity(0))
    rows = [(seconds(path, 1), seconds(path, jobs)) for _ in range(rounds)]
    alone, shared = (min(column) for column in zip(*rows, strict=True))
    print(
        f"{title}, {size / 1e6:.0f} MB: {alone:.1f} s with one process,"
        f" {shared:.1f} s with {jobs} processors: {alone / shared:.2f} times as fast",
        flush=True,
    )


def main() -> None:
    """Generate the inputs, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=120)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for layout in MEASURED:
        with tempfile.TemporaryDirectory() as name:
            folder, whole = Path(name, "many"), Path(name, "one.jsonl")
            folder.mkdir()
            size = write(folder, layout, options.files)
            with whole.open("wb") as file:
                file.writelines(path.read_bytes() for path in sorted(folder.iterdir()))
            compare(f"{layout}: {options.files} files", folder, size, options.rounds)
            compare(f"{layout}: one file", whole, size, options.rounds)


if __name__ == "__main__":
    main()
