"""Wrapped logs as an engineer on call finds them: the same cause on the same lines as plain."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from kit import wrapping

from lastsignal import app
from lastsignal.cli import run

DEMO = Path(__file__).parents[1] / "docs" / "examples" / "quota.jsonl"
LINES = DEMO.read_bytes().splitlines(keepends=True)
NOISE = b"Traceback (most recent call last):\n", b'  File "agent.py", line 3\n', b"KeyError: {a}\n"

Wrap = Callable[[Iterable[bytes]], bytes]


def diagnosed(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the JSON report of one input."""
    run(["diagnose", str(path), "--format", "json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return report


def told(report: dict[str, Any]) -> dict[str, Any]:
    """Return what a report says, without where its evidence stands."""
    (trace,) = report["traces"]
    findings = [trace["cause"], *trace["symptoms"], *trace["other"]]
    texts = [[one["excerpt"] for one in finding["evidence"]] for finding in findings]
    for finding in findings:
        del finding["evidence"], finding["id"]
    return {**{key: trace[key] for key in trace if key != "timeline"}, "texts": texts}


def lines_of(report: dict[str, Any]) -> list[int]:
    """Return the lines on which the cause rests."""
    return [one["line"] for one in report["traces"][0]["cause"]["evidence"]]


@pytest.mark.parametrize(
    "wrap",
    [
        wrapping.docker, wrapping.node, wrapping.journal, wrapping.fluent_bit, wrapping.vector,
        lambda lines: wrapping.filebeat(wrapping.docker(lines).splitlines()),
        lambda lines: wrapping.node(wrapping.fluent_bit(lines).splitlines(keepends=True)),
        lambda lines: b"".join(b"\x1b[36magent-1  | \x1b[0m" + line for line in lines),
        lambda lines: b"".join(b"agent-1  | 2026-09-01T08:00:00.5Z " + line for line in lines),
        lambda lines: b"".join(b"[pod/agent-5d9/agent] " + line for line in lines),
        lambda lines: b"".join(b"[pod/agent-5d9/agent] 2026-09-01T08:00:00Z " + x for x in lines),
        lambda lines: b"".join(b"2026-09-01T08:00:00.123456789Z " + line for line in lines),
    ],
    ids=[
        "docker", "node", "journald", "fluent bit", "vector",
        "Filebeat of Docker", "Fluent Bit on a node", "compose", "compose with times",
        "kubectl --prefix", "kubectl --prefix --timestamps", "--timestamps",
    ],
)  # fmt: skip
def test_the_demo_has_the_same_cause_on_the_same_lines_however_it_is_wrapped(
    tmp_path: Path, wrap: Wrap, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "agent.log"
    path.write_bytes(wrap(LINES))
    plain, wrapped = diagnosed(DEMO, capsys), diagnosed(path, capsys)

    assert lines_of(wrapped) == lines_of(plain) == [3, 5]
    assert wrapped["inputs"][0]["skipped"] == {}
    assert told(wrapped) == told(plain)


def test_cut_lines_and_a_traceback_between_them_change_only_where_the_lines_stand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, first_lines = b"", []
    for line in LINES:
        first_lines.append(1 + log.count(b"\n"))
        start, *rest = wrapping.docker_lines(line, size=60)
        noise = [part for text in NOISE for part in wrapping.docker_lines(text, stream="stderr")]
        log += b"".join([start, *noise, *rest])
    path = tmp_path / "c0ffee-json.log"
    path.write_bytes(log)
    plain, wrapped = diagnosed(DEMO, capsys), diagnosed(path, capsys)

    assert lines_of(wrapped) == [first_lines[2], first_lines[4]]
    assert wrapped["inputs"][0]["skipped"] == {"not_json": 3 * len(LINES)}
    assert told(wrapped) == told(plain)


def test_the_folder_of_docker_s_containers_is_read_as_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("c0ffee", "decade"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.v2.json").write_text('{"State":{"Running":true},"ID":"c0ffee"}')
        (folder / "hostconfig.json").write_text('{"Binds":null}')
    rotated, current = tmp_path / "c0ffee/c0ffee-json.log.1", tmp_path / "c0ffee/c0ffee-json.log"
    rotated.write_bytes(wrapping.docker(LINES[:4]))
    current.write_bytes(wrapping.docker(LINES[4:]))
    (tmp_path / "decade/decade-json.log").write_bytes(wrapping.docker([b"GET / 200\n"]))

    report = diagnosed(tmp_path, capsys)

    assert {Path(one["source"]).name: one["events"] for one in report["inputs"]} == {
        "c0ffee-json.log.1": 4,
        "c0ffee-json.log": 2,
        "decade-json.log": 0,
    }
    cause = report["traces"][0]["cause"]
    assert cause["rule"] == "rate_limit_exhausted"
    assert [(Path(one["source"]).name, one["line"]) for one in cause["evidence"]] == [
        ("c0ffee-json.log.1", 3),
        ("c0ffee-json.log", 1),
    ]


def test_several_services_in_one_export_of_the_journal_keep_their_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = [line.replace(b"ls_demo_881", b"ls_demo_882") for line in LINES]
    path = tmp_path / "journal.json"
    path.write_bytes(
        wrapping.journal(line for pair in zip(LINES, other, strict=True) for line in pair)
    )

    report = diagnosed(path, capsys)

    assert sorted(
        (
            trace["trace_id"],
            trace["cause"]["rule"],
            *(one["line"] for one in trace["cause"]["evidence"]),
        )
        for trace in report["traces"]
    ) == [
        ("ls_demo_881", "rate_limit_exhausted", 5, 9),
        ("ls_demo_882", "rate_limit_exhausted", 6, 10),
    ]


STREAM = [
    {"type": "system", "subtype": "init", "session_id": "s-1", "tools": [], "model": "m-1"},
    {"type": "result", "subtype": "error_during_execution", "is_error": True, "session_id": "s-1"},
]


def test_a_stream_without_times_has_those_at_which_it_was_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [json.dumps(one).encode() + b"\n" for one in STREAM]
    later = wrapping.docker(lines[1:]).replace(b"08:00:00", b"08:00:42")
    logs = {
        "plain": b"".join(lines),
        "c0ffee-json.log": wrapping.docker(lines[:1]) + later,
        "compose": b"a-1  | 2026-09-01T08:00:00Z %b" % lines[0]
        + b"a-1  | 2026-09-01T08:00:42Z %b" % lines[1],
    }
    durations = []
    for name, log in logs.items():
        path = tmp_path / name
        path.write_bytes(log)
        durations.append(diagnosed(path, capsys)["traces"][0]["duration_seconds"])

    assert durations == [None, 42.0, 42.0]


def test_normalize_explains_what_was_unwrapped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c0ffee-json.log"
    path.write_bytes(wrapping.docker([*LINES[:1], b"plain text\n", b'{"x": 1}\n']))

    assert run(["normalize", str(path), "--explain", "--quiet"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "1: unwrapped (docker): native: 1 event",
        "    agent_start started",
        "    used: timestamp, trace_id, event_type",
        "2: no record: not_json: plain text",
        "3: unwrapped (docker): no dialect takes it: unrecognised_record",
        "    keys: x",
    ]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_line_that_rotation_has_parted_is_one_record_however_its_files_are_read(
    tmp_path: Path, jobs: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "WORTH_BYTES", 0)
    parts = [part for line in LINES for part in wrapping.docker_lines(line, size=60)]
    third = len(parts) // 3
    assert b'\\n"' not in parts[third - 1] + parts[2 * third - 1]  # in the middle of lines
    for place, name in enumerate(("c0ffee-json.log.2", "c0ffee-json.log.1", "c0ffee-json.log")):
        here = parts[place * third :] if place == 2 else parts[place * third :][:third]
        (tmp_path / name).write_bytes(b"".join(here))
    run(["diagnose", str(tmp_path), "--format", "json", "--jobs", jobs])
    report = json.loads(capsys.readouterr().out)

    assert [one["skipped"] for one in report["inputs"]] == [{}, {}, {}]
    assert sum(one["events"] for one in report["inputs"]) == len(LINES)
    assert report["traces"][0]["cause"]["rule"] == "rate_limit_exhausted"
