"""Real traces beside the checkout: each recognised, and each telling what it is known to show.

They are not part of the project: `LASTSIGNAL_SAMPLES` names their folder, which holds INDEX.tsv
(layout, file, source, what it shows, lines) and a folder for each layout. Skipped where it is not
there. Findings are pinned by rule, by the least severity and by lines that their evidence must
hold; a rule's words may change. `make samples` prints all that is found.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from kit.samples import Sample, folder, samples

from lastsignal.app import diagnose
from lastsignal.core.aliases.reading.recognition import REFUSALS
from lastsignal.core.diagnosis.diagnosis import WELL
from lastsignal.core.diagnosis.findings import Finding
from lastsignal.core.diagnosis.report import Report
from lastsignal.core.rules import SEVERITIES, Rule
from lastsignal.edges.inputs import open_sources
from lastsignal.edges.rulefiles import load_rules


@cache
def _rules() -> list[Rule]:
    return load_rules()


@cache
def report_on(sample: Sample) -> Report:
    """Return what `diagnose` says of a sample."""
    return diagnose(open_sources([str(sample.path)]), _rules())


def counted(report: Report) -> list[tuple[str, str, list[int]]]:
    """Return (rule, severity, lines) of each finding, the gravest first."""

    def row(finding: Finding) -> tuple[str, str, list[int]]:
        return finding.rule, finding.severity, [one.line for one in finding.evidence]

    found = sorted(map(row, report.findings()))
    return sorted(found, key=lambda one: -SEVERITIES.index(one[1]))  # type: ignore[arg-type]  # one of them


def table() -> list[list[str]]:
    """Return a row for each sample: file, layouts, events, outcomes, findings."""
    rows = []
    for sample in samples():
        report = report_on(sample)
        layouts = dict.fromkeys(name for one in report.inputs for name in one.format)
        outcomes = Counter(trace.outcome for trace in report.traces)
        findings = [
            f"{rule} ({severity}) at {','.join(map(str, lines))}"
            for rule, severity, lines in counted(report)
        ]
        rows.append(
            [
                sample.name,
                "+".join(layouts) or (report.inputs[0].advice or "nothing")[:60],
                str(report.events()),
                ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()) or "-",
                "; ".join(findings) or "-",
            ]
        )
    return rows


pytestmark = pytest.mark.skipif(not samples(), reason=f"no samples in {folder()}")

Expected = list[tuple[str, str, list[int]]]

LAYOUTS: dict[str, str] = {
    "agentrx-labelled": "magentic_chat tau_bench",
    "agentrx-magentic": "magentic_chat who_and_when",
    "anthropic-managed-agents": "managed_agents",
    "atif-harbor": "atif",
    "autogen-magentic-log": "autogen_magentic_one",
    "autogen02-filelogger": "autogen_file_logger",
    "autogen04-event-log": "autogen_agentchat autogen_core_events",
    "claude-code": "claude_transcript",
    "claude-code-web": "claude_transcript",
    "codex-rollout": "codex_rollout",
    "crewai-event-bus": "crewai_event_bus",
    "crewai-output-log": "crewai_output_log",
    "gemini-antigravity": "antigravity",
    "google-adk-events": "google_adk",
    "haystack-logging-tracer": "",
    "inspect-eval": "inspect_log",
    "langchain-astream-events": "langchain_events",
    "langchain-filecallback": "",
    "langchain-tracer-run": "langsmith_runs",
    "langfuse-trace": "langfuse_trace",
    "langfuse-trace-v3": "langfuse_trace",
    "langgraph-stream-debug": "langgraph_debug",
    "langsmith-run": "langsmith_runs",
    "langsmith-run-ops": "langsmith_runs",
    "litellm-standard-payload": "litellm_payload",
    "llamaindex-instrumentation": "llamaindex_events",
    "maslab-obsevent": "maslab_events",
    "maslab-otel": "otel_sdk",
    "mini-swe-agent": "mini_swe_agent mini_swe_agent_messages",
    "mlflow-trace": "mlflow_trace",
    "openai-agents-sdk": "openai_agents",
    "openai-swarm-chatlog": "chat_log",
    "openclaw-session": "pi_session openclaw_trajectory",
    "openclaw-telemetry": "openclaw_telemetry",
    "opencode-events": "opencode_bus",
    "openhands-llm-log": "openhands_llm_log",
    "openhands-sdk-events": "openhands_events",
    "openinference": "otel_sdk",
    "openllmetry": "otel_sdk",
    "otel-agents-bridge": "otel_span_export openai_agents_export",
    "otel-jaeger-tempo": "jaeger",
    "otel-sdk-generated": "otel_sdk otlp",
    "otlp-json": "otlp",
    "pi-session": "pi_session",
    "pydantic-ai": "otel_sdk",
    "smolagents-memory": "smolagents_memory",
    "strands": "strands_session otel_sdk",
    "swe-agent-traj": "swe_agent",
    "tau-bench": "tau_bench",
    "who-and-when": "who_and_when",
}
"""Folder → the dialects that its files may be; none for text that is refused with advice."""

ADVICE: dict[str, str] = {
    "tau_ground_truth.json": "no record tells of a run or a call (failure_label)",
    "sample-context-session.json": "no record tells of a run or a call (prompt, side_car, meta",
    "tracer.log": "enable its OpenTelemetryTracer",
    "file_callback.txt": "write the events of `astream_events` as JSON lines",
    "session_20240422-141344.json": "no record tells of a run or a call (user_input)",
    "fx_demo__cfabe24d-8b34-4031-a393-689524b2028f.trajectory.jsonl": "no record tells of a run",
    "base_state.json": "no record tells of a run or a call (conversation_state)",
    "open-agent-traces_test-traces.json": "no record tells of a run or a call (structural_span)",
}
"""Files that hold no event, and what is said of each."""

FINDINGS: dict[str, Expected] = {
    # reasoning mistakes: the run's own end says that it failed, where it does
    "magentic-one__trajectories__intent_not_supported.json": [
        ("turn_limit", "critical", [486]),
        ("loop_reported", "warning", [74, 466, 482]),
    ],
    "magentic-one__trajectories__intent_plan_misalignment.json": [
        ("run_time_limit", "critical", [66])
    ],
    "magentic-one__trajectories__intent_plan_misalignment_1.json": [
        ("content_filter_blocked", "warning", [234]),
        ("loop_reported", "warning", [62, 230, 234]),
        ("run_failed", "warning", [234]),
    ],
    "magentic-one__trajectories__plan_adherence_failure.json": [
        ("turn_limit", "critical", [514]),
        ("loop_reported", "info", [114, 482]),
    ],
    "tau-retail__hallucination_doubt.json": [("run_failed", "warning", [338])],
    "tau-retail__instruction_adherence_failure.json": [("run_failed", "warning", [340])],
    "tau-retail__intent_plan_misalignment.json": [("run_failed", "warning", [430])],
    "tau-retail__invalid_invocation.json": [("run_failed", "warning", [398])],
    "tau-retail__misinterpretation_tool_output.json": [("run_failed", "warning", [698])],
    "56137764-b4e0-45b8-9c52-1866420c3df5.json": [
        ("content_filter_blocked", "warning", [18]),
        ("run_failed", "warning", [18]),
    ],
    "alg_3.json": [("run_failed", "warning", [43])],
    "hand_14.json": [("run_failed", "warning", [127])],
    # a run that has no end on record
    "genai_crew_execution_log.json": [("run_vanished", "warning", [2])],
    "debug_recursion.jsonl": [
        ("run_vanished", "warning", [13]),
        ("repeated_failing_call", "warning", [4, 8, 12]),
        ("tool_timeout", "warning", [4, 8, 12]),
    ],
    "agentchat_messages.jsonl": [
        ("run_vanished", "warning", [11]),
        ("tool_timeout", "warning", [3, 6, 9]),
    ],
    "astream_v2.jsonl": [
        ("run_vanished", "warning", [19]),
        ("rate_limit_exhausted", "info", [11, 13]),
    ],
    # a limit of the provider
    "events_raw.jsonl": [
        ("rate_limit_exhausted", "critical", [58]),
        ("model_keeps_failing", "warning", [46]),
        ("tool_timeout", "warning", [12, 24, 38]),
        ("run_failed", "warning", [46]),
    ],
    "crewai-event-bus/events.jsonl": [
        ("rate_limit_exhausted", "critical", [41, 46]),
        ("tool_timeout", "info", [8, 9, 12, 16, 18, 20, 24, 26, 28]),
    ],
    "events_raise.jsonl": [("rate_limit_exhausted", "critical", [1])],
    "debug_429.jsonl": [("rate_limit_exhausted", "critical", [2])],
    "standard_logging_payload.jsonl": [
        ("rate_limit_exhausted", "critical", [2, 6]),
        ("context_overflow", "critical", [3]),
        ("service_errors", "warning", [4]),
        ("model_timeout", "warning", [5]),
    ],
    "llamaindex-instrumentation/events.jsonl": [("rate_limit_exhausted", "critical", [2])],
    "artifact_traces.json": [
        ("rate_limit_exhausted", "critical", [1]),
        ("tool_timeout", "warning", [1]),
    ],
    "trace_to_json.json": [
        ("rate_limit_exhausted", "critical", [65, 96, 127]),
        ("tool_timeout", "warning", [158]),
    ],
    "spans_processor.jsonl": [
        ("rate_limit_exhausted", "critical", [2]),
        ("turn_limit", "critical", [15]),
        ("repeated_failing_call", "warning", [7, 9, 11, 13]),
        ("tool_timeout", "warning", [24]),
    ],
    "openinference/spans_compact.jsonl": [
        ("rate_limit_exhausted", "critical", [26]),
        ("turn_limit", "critical", [19]),
        ("tool_timeout", "warning", [4, 9, 14]),
        ("tool_timeout", "warning", [23]),
    ],
    "openllmetry/spans_compact.jsonl": [
        ("rate_limit_exhausted", "critical", [28]),
        ("turn_limit", "critical", [19]),
        ("tool_timeout", "warning", [4, 9, 14]),
        ("tool_timeout", "warning", [24]),
    ],
    "console_exporter_compact.jsonl": [
        ("tool_timeout", "warning", [5]),
        ("run_failed", "warning", [7]),
        ("rate_limit_exhausted", "critical", [1, 2, 3, 4]),
    ],
    "otlp_spec_hexids.jsonl": [
        ("tool_timeout", "warning", [5]),
        ("run_failed", "warning", [7]),
        ("rate_limit_exhausted", "critical", [1, 2, 3, 4]),
    ],
    "strands/otel_spans_compact.jsonl": [
        ("rate_limit_exhausted", "critical", [10, 11, 12]),
        ("tool_timeout", "info", [2, 5]),
    ],
    # a crash, a service, a model, a tool, a limit of the harness
    "base_tracer_runs.jsonl": [
        ("context_overflow", "critical", [8]),
        ("rate_limit_exhausted", "info", [5, 6]),
    ],
    "gen_cmd_timeout.traj.json": [
        ("turn_limit", "critical", [227]),
        ("tool_timeout", "warning", [190, 215]),
    ],
    "gen_step_limit.traj.json": [
        ("turn_limit", "critical", [246]),
        ("repeated_failing_call", "warning", [190, 213, 236]),
    ],
    "pvlib__pvlib-python-1072.traj.json": [("service_errors", "warning", [1395])],
    "pvlib__pvlib-python-1707.traj.json": [("service_errors", "warning", [1485])],
    "pvlib__pvlib-python-1854.traj.json": [("service_errors", "warning", [71])],
    "pylint-dev__astroid-1196.traj.json": [("model_timeout", "warning", [71])],
    "pylint-dev__astroid-1978.traj.json": [("model_timeout", "warning", [71])],
    "pydantic-ai/otel_spans_compact.jsonl": [
        ("tool_timeout", "warning", [2]),
        ("tool_keeps_failing", "warning", [4]),
    ],
    "airline_task0_trial3.json": [("run_failed", "warning", [1])],
    "airline_task3_trial0.json": [
        ("run_failed", "warning", [1]),
        ("repeated_failing_operation", "info", [1]),
    ],
    "airline_task11_trial2.json": [("repeated_failing_call", "warning", [1])],
    "airline_task13_trial0.json": [("repeated_failing_call", "warning", [1])],
    # runs that went on: what failed is told, and is no alarm
    "antigravity_steps_1480-1560.jsonl": [("error_cascade", "info", [9, 11, 13])],
    "events_tool.jsonl": [("repeated_failing_call", "info", [2, 4, 6])],
    # against the index: see DEVIATIONS
    "magentic_log.jsonl": [("run_vanished", "warning", [49])],
    "memory_429.json": [("model_keeps_failing", "warning", [6])],
    "memory_429.jsonl": [("model_keeps_failing", "warning", [2])],
    "messages_throttle.json": [("run_vanished", "warning", [2])],
}
"""File (with its folder where two have one name) → findings that it must give.

Where all of them are at info, and for every file that is not here, none may be at warning or above.
"""

ENDINGS: dict[str, str] = {
    "magentic-one__trajectories__intent_not_supported.json": "failed:loop_reported",
    "magentic-one__trajectories__intent_plan_misalignment.json": "failed:run_time_limit",
    "magentic-one__trajectories__intent_plan_misalignment_1.json": "failed:content_filter_blocked",
    "magentic-one__trajectories__plan_adherence_failure.json": "failed:turn_limit",
    "tau-retail__hallucination_doubt.json": "failed:run_failed",
    "tau-retail__instruction_adherence_failure.json": "failed:run_failed",
    "tau-retail__intent_plan_misalignment.json": "failed:run_failed",
    "tau-retail__invalid_invocation.json": "failed:tool_keeps_failing",
    "tau-retail__misinterpretation_tool_output.json": "failed:run_failed",
    "56137764-b4e0-45b8-9c52-1866420c3df5.json": "failed:content_filter_blocked",
    "magentic_log.jsonl": "unfinished:run_vanished",
    "agentchat_messages.jsonl": "failed:tool_timeout unfinished:run_vanished",
    "events_raw.jsonl": "failed:model_keeps_failing failed:rate_limit_exhausted",
    "ccl_edge_cases.jsonl": "unfinished:- unfinished:-",
    "ccl_todowrite_examples.jsonl": "unfinished:-",
    "rollout-2026-08-01T10-04-00-0199aaaa-0000-7000-8000-000000000005.jsonl": "aborted:-",
    "crewai-event-bus/events.jsonl": "failed:rate_limit_exhausted",
    "genai_crew_execution_log.json": "unfinished:run_vanished",
    "antigravity_steps_0001-0130.jsonl": "unfinished:-",
    "events_raise.jsonl": "failed:rate_limit_exhausted",
    "astream_v2.jsonl": "unfinished:run_vanished",
    "base_tracer_runs.jsonl": "failed:context_overflow",
    "debug_429.jsonl": "failed:rate_limit_exhausted",
    "debug_recursion.jsonl": "unfinished:tool_timeout",
    "standard_logging_payload.jsonl": "failed:rate_limit_exhausted",
    "llamaindex-instrumentation/events.jsonl": "failed:rate_limit_exhausted",
    "gen_cmd_timeout.traj.json": "failed:tool_timeout",
    "gen_step_limit.traj.json": "failed:repeated_failing_call",
    "pvlib__pvlib-python-1072.traj.json": "failed:service_errors",
    "pvlib__pvlib-python-1707.traj.json": "failed:service_errors",
    "pvlib__pvlib-python-1854.traj.json": "failed:service_errors",
    "pylint-dev__astroid-1196.traj.json": "failed:model_timeout",
    "pylint-dev__astroid-1978.traj.json": "failed:model_timeout",
    "artifact_traces.json": "failed:rate_limit_exhausted",
    "trace_to_json.json": "failed:rate_limit_exhausted",
    "spans_processor.jsonl": (
        "failed:rate_limit_exhausted failed:repeated_failing_call failed:tool_timeout"
    ),
    "openinference/spans_compact.jsonl": (
        "failed:tool_timeout failed:tool_timeout failed:rate_limit_exhausted"
    ),
    "openllmetry/spans_compact.jsonl": (
        "failed:tool_timeout failed:tool_timeout failed:rate_limit_exhausted"
    ),
    "console_exporter_compact.jsonl": "failed:rate_limit_exhausted",
    "otlp_spec_hexids.jsonl": "failed:rate_limit_exhausted",
    "sample_pi_session.jsonl": "unfinished:-",
    "pydantic-ai/otel_spans_compact.jsonl": "failed:tool_timeout",
    "memory_429.json": "failed:model_keeps_failing",
    "memory_429.jsonl": "failed:model_keeps_failing",
    "messages_throttle.json": "unfinished:run_vanished",
    "strands/otel_spans_compact.jsonl": "failed:rate_limit_exhausted",
    "airline_task0_trial3.json": "failed:non_retryable_retried",
    "airline_task11_trial2.json": "failed:repeated_failing_call",
    "airline_task13_trial0.json": "failed:repeated_failing_call",
    "airline_task3_trial0.json": "failed:run_failed",
    "alg_3.json": "failed:run_failed",
    "hand_14.json": "failed:run_failed",
}
"""File → outcome and cause of each run in it that did not go well, in order of time."""

DEVIATIONS: dict[str, str] = {
    "magentic_log.jsonl": (
        "called healthy, but its fourth run stops after one call of the model: line 49 begins it,"
        " and line 51 begins the next without a termination"
    ),
    "memory_429.json": "called healthy, but it is the failed run of memory_429.jsonl, printed",
    "memory_429.jsonl": (
        "called an AgentGenerationError 429, but `error` is null in its step (line 2): that the"
        " model's call raised can be told, why cannot"
    ),
    "messages_throttle.json": (
        "called healthy, but it holds only the prompt (line 2): the throttled answer never came"
    ),
    "file_callback.txt": "called healthy, but it is text without any record",
}
"""Where the index says something else than the file's own lines."""


def name_of(sample: Sample) -> str:
    """Return what a test is called by."""
    return sample.name


def expected_of(sample: Sample) -> Expected:
    """Return the findings that a file must give."""
    return FINDINGS.get(sample.name) or FINDINGS.get(sample.file) or []


@pytest.mark.parametrize("sample", samples(), ids=name_of)
def test_a_file_is_recognised_as_what_it_is_or_refused_with_advice(sample: Sample) -> None:
    report = report_on(sample)
    layouts = {name for one in report.inputs for name in one.format}

    assert layouts <= set(LAYOUTS[sample.layout].split())
    assert layouts or not LAYOUTS[sample.layout]
    if sample.file in ADVICE:
        assert not report.events()
        assert ADVICE[sample.file] in (report.inputs[0].advice or "")
    else:
        assert report.events()
        assert {one.advice for one in report.inputs if one.events} == {None}


@pytest.mark.parametrize("sample", samples(), ids=name_of)
def test_a_file_gives_the_findings_that_it_shows_and_no_others_that_count(sample: Sample) -> None:
    found = counted(report_on(sample))
    expected = expected_of(sample)

    for rule, severity, lines in expected:
        assert any(
            one == rule
            and SEVERITIES.index(grave) >= SEVERITIES.index(severity)  # type: ignore[arg-type]  # one of them
            and set(lines) <= set(evidence)
            for one, grave, evidence in found
        ), (rule, severity, lines, found)
    if all(severity == "info" for _, severity, _ in expected):
        assert [one for one in found if one[1] != "info"] == []


@pytest.mark.parametrize("sample", samples(), ids=name_of)
def test_a_file_s_runs_end_as_they_did_and_for_their_one_cause(sample: Sample) -> None:
    expected = ENDINGS.get(sample.name) or ENDINGS.get(sample.file) or ""
    found = [
        f"{trace.outcome}:{trace.cause.rule if trace.cause else '-'}"
        for trace in report_on(sample).traces
        if trace.outcome not in WELL
    ]

    assert " ".join(found) == expected


def test_nearly_every_record_is_mapped_or_dropped_for_a_reason_of_its_dialect() -> None:
    records, lost = 0, 0
    for sample in samples():
        if not LAYOUTS[sample.layout]:
            continue  # text: refused as a whole
        for one in report_on(sample).inputs:
            records += one.records
            lost += sum(count for why, count in one.skipped.items() if why in REFUSALS)
            assert "decoder_fault" not in one.skipped

    # bare numbers and texts among the lines of one file are no records of any layout
    assert (lost - 3) / records <= 0.001
    assert records > 1500


def test_every_folder_and_file_that_is_expected_is_there() -> None:
    there = {name for sample in samples() for name in (sample.name, sample.file)}

    assert {sample.layout for sample in samples()} == set(LAYOUTS)
    assert {*FINDINGS, *ENDINGS, *ADVICE, *DEVIATIONS} - there == set()


def test_one_command_prints_the_table() -> None:
    script = Path(__file__).parent / "samples_table.py"
    said = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    ).stdout

    for sample in samples():
        assert sample.layout in said
    assert "rate_limit_exhausted (critical)" in said
