"""What frameworks really wrote: `watch` finds in each file what `diagnose` finds in it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from kit.samples import folder
from watch.harness import incidents
from watch.kit import Watch, wait_for

from lastsignal.app import diagnose
from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.framing import Framer
from lastsignal.core.rules import Rule
from lastsignal.edges.inputs import open_sources
from lastsignal.edges.rulefiles import load_rules

SAMPLES = folder()
SIZE_LIMIT = 4 << 20

Seen = tuple[str, str, int, tuple[int, ...]]
"""Rule, trace, count, and the lines that show it."""


def is_line_framed(data: bytes) -> bool:
    """Whether every record is a line of its own."""
    framer = Framer()
    records = framer.feed(data) + framer.finish()
    return bool(records) and all(
        b"\n" not in record and (offset == 0 or data[offset - 1 : offset] == b"\n")
        for record, offset, _ in records
    )


def sample_files() -> list[Path]:
    files = [path for path in SAMPLES.rglob("*") if path.is_file()]
    return sorted(
        path
        for path in files
        if path.stat().st_size < SIZE_LIMIT and is_line_framed(path.read_bytes())
    )


def seen(rule: str, trace_id: str, count: int, evidence: Sequence[Evidence]) -> Seen:
    return rule, Path(trace_id).name, count, tuple(mark.line for mark in evidence)


def by_diagnose(path: Path, rules: Sequence[Rule]) -> tuple[set[str], list[Seen]]:
    """Return the traces of a file and what is found in them."""
    report = diagnose(open_sources([str(path)]), rules)
    traces = {trace.trace_id for trace in report.traces}
    found = [one for trace in report.traces for one in trace.findings()]
    return traces, [seen(one.rule, one.trace_id, one.count, one.evidence) for one in found]


def batches(traces_of: dict[Path, set[str]]) -> list[list[Path]]:
    """Part the files so that no two of a batch tell of the same trace."""
    parts: list[tuple[set[str], list[Path]]] = []
    for path, traces in traces_of.items():
        part = next((one for one in parts if not one[0] & traces), None)
        if part is None:
            part = (set(), [])
            parts.append(part)
        part[0].update(traces)
        part[1].append(path)
    return [files for _, files in parts]


def write_in_pieces(contents: dict[Path, bytes], chance: random.Random) -> None:
    """Write files piece by piece, all of them at the same time."""
    left = {path: data for path, data in contents.items() if data}
    while left:
        path = chance.choice(list(left))
        cut = chance.randint(1, max(1, len(left[path]) // 2, 2000))
        with path.open("ab") as file:
            file.write(left[path][:cut])
        left[path] = left[path][cut:]
        if not left[path]:
            del left[path]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"no samples in {SAMPLES}")
@pytest.mark.timeout(240)
def test_samples_written_in_random_pieces_give_what_diagnose_finds(tmp_path: Path) -> None:
    rules = [rule for rule in load_rules(()) if rule.within_trace]
    others = [rule.id for rule in load_rules(()) if not rule.within_trace]
    copies = tmp_path / "copies"
    copies.mkdir()
    expected: dict[Path, list[Seen]] = {}
    traces: dict[Path, set[str]] = {}
    for number, path in enumerate(sample_files()):
        copy = copies / f"{number:03d}-{path.name}"
        copy.write_bytes(path.read_bytes())
        traces[copy], expected[copy] = by_diagnose(copy, rules)
    assert len(expected) > 30
    for number, files in enumerate(batches(traces)):
        root = tmp_path / f"batch-{number}"
        root.mkdir()
        daemon = Watch(root, rules="")
        text = daemon.config.read_text().replace("builtin = false", "builtin = true")
        daemon.config.write_text(text.replace("[rules]", f"[rules]\ndisabled = {others}"))
        daemon.start().ready()
        contents = {daemon.traces / path.name: path.read_bytes() for path in files}
        write_in_pieces(contents, random.Random(number))
        size = sum(map(len, contents.values()))
        wait_for(lambda d=daemon, n=size: d.metric("read_bytes_total") == n, "all bytes")
        assert daemon.stop() == 0
        daemon.once()
        found = [
            seen(one.rule, one.trace_id, one.count, one.evidence) for one in incidents(daemon.state)
        ]
        wanted = [one for path in files for one in expected[path]]
        assert sorted(found) == sorted(wanted)
