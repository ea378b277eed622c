"""`lastsignal diagnose` as people and CI call it: what it names, in each format, and exit codes."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from lastsignal.cli import run

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "docs" / "examples" / "quota.jsonl"
PROGRAM = [sys.executable, "-m", "lastsignal", "diagnose"]

START = {"timestamp": 1760000000, "trace_id": "r1", "event_type": "agent_start"}
END = {"timestamp": 1760000009, "trace_id": "r1", "event_type": "agent_end", "status": "completed"}


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, *records: dict[str, Any], mode: str = "plain") -> str:
    data = b"".join(json.dumps(one).encode() + b"\n" for one in records)
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(data) if mode == "gz" else data)
    return name


def diagnosed(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code and the traces of the JSON report."""
    code = run(["diagnose", *arguments, "--format", "json", "--output", "report.json"])
    traces: list[dict[str, Any]] = json.loads(Path("report.json").read_text())["traces"]
    return code, traces


def demo_records(trace_id: str = "ls_demo_881") -> list[dict[str, Any]]:
    return [{**json.loads(line), "trace_id": trace_id} for line in DEMO.read_bytes().splitlines()]


def told(trace: dict[str, Any]) -> tuple[str, list[int], list[str]]:
    """Return the cause, its lines and what it led to."""
    cause = trace["cause"]
    return (
        cause["rule"],
        [one["line"] for one in cause["evidence"]],
        [one["rule"] for one in trace["symptoms"]],
    )


class TestCauses:
    def test_the_shipped_trace_died_of_its_quota(self) -> None:
        code, (trace,) = diagnosed(str(DEMO))

        assert code == 1
        assert trace["outcome"] == "failed"
        assert told(trace) == (
            "rate_limit_exhausted",
            [3, 5],
            ["retry_without_backoff", "run_crashed"],
        )
        assert [one["line"] for one in trace["symptoms"][0]["evidence"]] == [3, 4]
        assert [one["line"] for one in trace["symptoms"][1]["evidence"]] == [6]
        assert trace["cause"]["group"]["operation"] == "web_search"
        assert "quota" in trace["cause"]["remedy"]
        assert "backoff" in trace["cause"]["remedy"]

    def test_a_budget_gate_tells_what_was_spent_against_which_limit(self) -> None:
        payload = {"event": "budget_gate_triggered", "total_cost_usd": 73.5, "budget_limit": 60.0}
        audit = {
            "kind": "audit",
            "agent_id": "moderator",
            "timestamp": 1760000000.5,
            "run_id": "f5",
        }
        code, (trace,) = diagnosed(write("events.jsonl", {**audit, "payload": payload}))

        assert (code, trace["cause"]["rule"]) == (1, "budget_gate")
        assert "73.5 against a limit of 60.0" in trace["cause"]["cause"]

    def test_a_printed_record_with_a_comment_in_it_is_read_as_it_is_meant(self) -> None:
        Path("events.json").write_text(
            '{\n  "kind": "audit",\n  "agent_id": "clerk",\n  "timestamp": 1760000000.5,\n\n'
            '  // what the plugin says\n  "payload": {"event": "budget_gate_triggered",\n'
            '    "total_cost_usd": 73.5,\n    "budget_limit": 60.0\n  }\n}\n'
        )
        code, (trace,) = diagnosed("events.json")

        assert (code, trace["cause"]["rule"]) == (1, "budget_gate")
        assert "73.5 against a limit of 60.0" in trace["cause"]["cause"]

    def test_two_traces_in_one_file_are_two_diagnoses(self) -> None:
        pairs = zip(demo_records("one"), demo_records("two"), strict=True)
        _, traces = diagnosed(write("both.jsonl", *(one for pair in pairs for one in pair)))

        assert [(one["trace_id"], told(one)[:2]) for one in traces] == [
            ("one", ("rate_limit_exhausted", [5, 9])),
            ("two", ("rate_limit_exhausted", [6, 10])),
        ]

    @pytest.mark.parametrize("arguments", [("a", "b"), ("b", "a"), ("runs",), ("runs/*",)])
    def test_one_trace_over_two_files_is_one_diagnosis(self, arguments: tuple[str, ...]) -> None:
        names = {
            "b": write("runs/b.jsonl", *demo_records()[:3]),
            "a": write("runs/a.jsonl.gz", *demo_records()[3:], mode="gz"),
        }
        _, (trace,) = diagnosed(*(names.get(one, one) for one in arguments))

        assert told(trace) == (
            "rate_limit_exhausted",
            [3, 2],
            ["retry_without_backoff", "run_crashed"],
        )
        assert [one["source"] for one in trace["cause"]["evidence"]] == [names["b"], names["a"]]
        assert all("429" in one["excerpt"] for one in trace["cause"]["evidence"])

    def test_a_stream_is_read_and_its_lines_are_shown(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(DEMO.read_bytes())))
        code, (trace,) = diagnosed("-")

        assert (code, told(trace)[1]) == (1, [3, 5])
        assert "429" in trace["cause"]["evidence"][0]["excerpt"]

    def test_a_run_begins_where_it_began_though_that_is_told_at_its_end(self) -> None:
        spans = [
            {
                "name": name,
                "context": {"trace_id": "0x" + "1" * 32, "span_id": "0x" + span * 16},
                "parent_id": parent and "0x" + parent * 16,
                "start_time": f"2026-05-28T20:00:{start:02}.000000Z",
                "end_time": f"2026-05-28T20:00:{end:02}.000000Z",
                "status": {"status_code": "UNSET"},
                "attributes": {"gen_ai.operation.name": name.split()[0], **attributes},
            }
            for name, span, parent, start, end, attributes in [
                ("execute_tool a", "2", "1", 10, 20, {"gen_ai.tool.name": "a"}),
                ("execute_tool b", "3", "1", 30, 50, {"gen_ai.tool.name": "b"}),
                ("invoke_agent lead", "1", None, 5, 55, {"gen_ai.agent.name": "lead"}),
            ]
        ]
        Path("whole.json").write_text(json.dumps({"spans": spans}))

        _, (lines,) = diagnosed(write("lines.jsonl", *spans))
        _, (whole,) = diagnosed("whole.json")

        assert lines["duration_seconds"] == whole["duration_seconds"] == 50.0
        assert lines["started_at"] == whole["started_at"]


class TestFormats:
    @pytest.fixture
    def mixed(self) -> str:
        write("runs/bad.jsonl", *demo_records("one"), *demo_records("two"))
        answer = {**END, "event_type": "model_call", "operation": "gpt-5", "timestamp": 1760000005}
        write("runs/good.jsonl", START, answer, END)
        write("runs/broken.eval")
        Path("runs/broken.eval").write_bytes(b"PK\x03\x04 and no more")
        return "runs"

    def output(self, folder: str, form: str) -> str:
        assert run(["diagnose", folder, "--format", form, "--output", "report"]) == 1
        return Path("report").read_text()

    def test_every_format_tells_of_the_same_findings(self, mixed: str) -> None:
        _, traces = diagnosed(mixed)
        rules = sorted(
            one["rule"]
            for trace in traces
            for one in [trace["cause"], *trace["symptoms"], *trace["other"]]
            if one
        )
        lines = [json.loads(line) for line in self.output(mixed, "ndjson").splitlines()]
        sarif = json.loads(self.output(mixed, "sarif"))["runs"][0]
        cases = list(ET.fromstring(self.output(mixed, "junit")).iter("testcase"))

        assert len(rules) == 6
        assert [{**one, "schema_version": None} for one in lines] == [
            {"schema_version": None, **one} for one in traces
        ]
        assert sorted(one["ruleId"] for one in sarif["results"]) == rules
        assert [case.get("name") for case in cases if case.find("failure") is not None] == [
            "one",
            "two",
        ]
        for form in ("text", "markdown"):
            report = self.output(mixed, form)
            assert report.count("Provider quota exhausted") == 2
            assert report.count("The run crashed") == 2

    @pytest.mark.parametrize("form", ["json", "ndjson", "text", "markdown", "junit", "sarif"])
    def test_every_format_says_what_was_not_checked(self, mixed: str, form: str) -> None:
        report = self.output(mixed, form)
        _, traces = diagnosed(mixed)
        names = {name for trace in traces for name in trace["not_checked"]}

        assert len(names) > 6
        missing = {name for name in names if name not in report}
        assert not missing or form == "text"
        assert "repeated_failing_call" in report

    @pytest.mark.parametrize("form", ["json", "text", "markdown", "junit", "sarif"])
    def test_every_format_says_what_could_not_be_read(self, mixed: str, form: str) -> None:
        report = self.output(mixed, form)

        assert "runs/broken.eval" in report
        assert "damaged" in report


class TestExitCodes:
    @pytest.mark.parametrize(
        ("least", "code"), [("info", 1), ("warning", 1), ("critical", 1), ("never", 0)]
    )
    def test_findings_count_from_the_severity_that_was_asked_for(
        self, least: str, code: int
    ) -> None:
        assert diagnosed(str(DEMO), "--fail-on", least)[0] == code

    def test_a_warning_is_no_critical_finding(self) -> None:
        vanished = write("vanished.jsonl", START)

        assert diagnosed(vanished)[0] == 1
        assert diagnosed(vanished, "--fail-on", "critical")[0] == 0

    def test_a_healthy_run_is_clean(self) -> None:
        assert diagnosed(write("good.jsonl", START, END), "--fail-on", "info")[0] == 0

    @pytest.mark.parametrize(
        ("data", "advice"),
        [
            (b"", "it is empty"),
            (b"\0\1\2" * 500, "it is no text"),
            (b"Traceback (most recent call last):\n", "it holds no JSON objects"),
            (b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"\n", "nested too deeply"),
            (b'{"a": 1}\n', "of no layout that is known"),
            ('{"a": 1}\n'.encode("utf-16"), "it is UTF-16"),
        ],
    )
    def test_what_cannot_be_read_is_never_healthy(
        self, data: bytes, advice: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("some.jsonl").write_bytes(data)

        assert run(["diagnose", "some.jsonl", "--output", "report.txt"]) == 3
        assert advice in capsys.readouterr().err

    def test_a_folder_of_which_nothing_could_be_read_is_never_healthy(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        write("runs/broken.eval")
        Path("runs/broken.eval").write_bytes(b"PK\x03\x04 and no more")

        assert run(["diagnose", "runs"]) == 3
        assert "runs/broken.eval: damaged archive" in capsys.readouterr().err

    def test_a_report_that_finds_no_room_is_no_fault_of_the_program(self) -> None:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*PROGRAM, DEMO], stdout=full, stderr=subprocess.PIPE, check=False
            )

        assert done.returncode == 3
        assert done.stderr == b"lastsignal: cannot write: No space left on device; make room\n"

    def test_a_reader_that_leaves_is_no_finding(self) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([*PROGRAM, DEMO], stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)

        assert (done.returncode, done.stderr) == (0, b"")

    def test_an_interrupt_is_told_apart(self) -> None:
        with subprocess.Popen(
            [*PROGRAM, "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            # a pipe holds 64 KiB: with more than that written, the other side is reading
            process.stdin.write(b"\n" * 300_000)
            process.stdin.flush()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=20)

        assert (process.returncode, said.strip()) == (130, b"lastsignal: interrupted")


class TestConfiguration:
    CONFIG = """
[rules]
disabled = ["run_vanished"]
[rules.agents.careful.retry_storm]
at_least = 2
[rules.operations.flaky.retry_storm]
at_least = 7
"""

    def storms(self, agent: str, operation: str, *arguments: str) -> list[str]:
        run = {"trace_id": "r1", "agent": agent}
        call = {**run, "event_type": "tool_result", "operation": operation, "status": "failed"}
        failed = [
            {**call, "timestamp": 1760000001 + n, "error_message": f"HTTP 503: no {n}"}
            for n in range(3)
        ]
        name = write("trace.jsonl", {**START, **run}, *failed)
        _, (trace,) = diagnosed(name, *arguments)
        found = [trace["cause"], *trace["symptoms"], *trace["other"]]
        return [one["rule"] for one in found if one]

    def test_it_judges_as_the_daemon_does_under_the_same_configuration(self) -> None:
        Path("lastsignal.toml").write_text(self.CONFIG)
        config = ("--config", "lastsignal.toml")

        assert "retry_storm" in self.storms("careful", "fetch", *config)
        assert "retry_storm" not in self.storms("other", "fetch", *config)
        assert "retry_storm" not in self.storms("careful", "flaky", *config)
        assert "run_vanished" not in self.storms("other", "fetch", *config)

    def test_a_configuration_counts_only_when_it_is_named(self) -> None:
        Path("lastsignal.toml").write_text(self.CONFIG)

        assert "run_vanished" in self.storms("other", "fetch")

    def test_rules_beside_the_configuration_run_too(self) -> None:
        Path("lastsignal.toml").write_text(self.CONFIG)
        Path("rules").mkdir()
        Path("rules/retry_storm.yaml").write_text("override: retry_storm\nparams: {at_least: 3}\n")
        given = ("--config", "lastsignal.toml", "--rules", "rules")

        assert "retry_storm" in self.storms("other", "fetch", *given)

    def test_a_mistake_in_it_is_told_with_its_line(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("lastsignal.toml").write_text("[rules]\ndisabled = ['retry_strom']\n")

        assert run(["diagnose", str(DEMO), "--config", "lastsignal.toml"]) == 3
        assert "lastsignal.toml:2: " in capsys.readouterr().err


def test_one_record_dated_far_ahead_makes_no_other_call_hang() -> None:
    calls = [
        {**START, "timestamp": 1760000001 + number, "event_type": kind, "operation": "search"}
        for number, kind in enumerate(("tool_call", "tool_call", "tool_result"))
    ]
    calls[1] |= {"trace_id": "r2", "timestamp": 4000000000}
    calls[2] |= {"status": "completed"}

    code, traces = diagnosed(write("t.jsonl", START, *calls, END))

    assert (code, [trace["outcome"] for trace in traces if trace["trace_id"] == "r1"]) == (
        1,
        ["succeeded"],
    )
    assert [trace["cause"] for trace in traces if trace["trace_id"] == "r1"] == [None]


def test_a_record_without_a_time_moves_no_beginning() -> None:
    untimed = {**START, "event_type": "audit", "status": "completed"}
    del untimed["timestamp"]

    _, (trace,) = diagnosed(write("a.jsonl", START, END), write("b.jsonl", untimed))

    assert (trace["started_at"], trace["duration_seconds"]) == (1760000000.0, 9.0)


GATEWAY_FAILURE = {
    "litellm_call_id": "c-7", "trace_id": "g1", "call_type": "acompletion", "status": "failure",
    "startTime": 1760000000.5, "endTime": 1760000004.0, "model": "m-7",
    "error_str": "litellm.RateLimitError: slow down LiteLLM Retried: 3 times",
    "error_information": {"error_code": "429", "error_class": "RateLimitError"},
}  # fmt: skip


def test_a_record_that_tells_of_several_attempts_stands_once_in_the_evidence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = write("gateway.jsonl", GATEWAY_FAILURE)

    _, (trace,) = diagnosed(name)
    assert told(trace)[:2] == ("rate_limit_exhausted", [1])
    assert trace["cause"]["count"] == 4

    run(["diagnose", name, "--format", "text"])
    text = capsys.readouterr().out
    assert "refused for its rate limit 4 times in 3.5 s" in text
    assert "and 3 more" not in text


def _run_that_got_over_a_refusal(error_type: str) -> list[dict[str, Any]]:
    def call(second: float, **fields: Any) -> dict[str, Any]:
        model = {"event_type": "model_call", "operation": "m-7", "call_id": f"c{second}"}
        return {"timestamp": 1760000000 + second, "trace_id": "r1", **model, **fields}

    refused = {"status": "failed", "http_status": 429, "error_message": "slow down"}
    hung = {"event_type": "tool_result", "operation": "fetch", "status": "failed"}
    return [
        START,
        call(1, **refused),
        call(3, **refused),
        call(5, status="completed"),
        call(6, **hung, error_message="timed out after 1 s"),
        {**END, "status": "failed", "error_type": error_type, "error_message": "gave up"},
    ]


def test_a_run_that_ends_of_what_it_had_got_over_has_that_for_its_cause() -> None:
    _, (trace,) = diagnosed(write("t.jsonl", *_run_that_got_over_a_refusal("RateLimitError")))

    assert told(trace)[:2] == ("rate_limit_exhausted", [2, 3])
    assert (trace["cause"]["severity"], trace["cause"]["healed"]) == ("critical", False)
    assert [one["rule"] for one in trace["other"]] == ["tool_timeout"]


@pytest.mark.parametrize("error_type", ["RuntimeError", "TimeoutError"])
def test_a_run_that_ends_of_something_else_has_got_over_it(error_type: str) -> None:
    _, (trace,) = diagnosed(write("t.jsonl", *_run_that_got_over_a_refusal(error_type)))

    assert told(trace)[:2] == ("tool_timeout", [5])
    (healed,) = [one for one in trace["other"] if one["rule"] == "rate_limit_exhausted"]
    assert (healed["severity"], healed["healed"]) == ("info", True)
