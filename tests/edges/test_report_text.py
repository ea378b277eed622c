"""text: what an on-call engineer reads; nothing out of a trace may break it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import ModuleType

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from lastsignal.core.diagnosis.diagnosis import Moment
from lastsignal.core.diagnosis.report import Report
from lastsignal.edges.report import FORMATS, Options, render, wants_color
from lastsignal.errors import UsageError

CODES = re.compile(r"\x1b\[[0-9;]*m")


def text(report: Report, width: int = 100, *, color: bool = False) -> str:
    return render(report, "text", Options(width=width, color=color))


def lines(report: Report, width: int = 100) -> list[str]:
    return text(report, width).splitlines()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", ["demo", "busy"])
def test_the_text_is_the_one_that_was_looked_at(
    samples: ModuleType, golden: Callable[[str, str], None], name: str, width: int
) -> None:
    golden(f"{name}_{width}.txt", text(getattr(samples, name)(), width))


def test_a_failed_run_reads_from_its_headline_to_its_remedy(samples: ModuleType) -> None:
    found = text(samples.demo(), 120)
    told = [
        "✗ FAILED after 3.7 s: Provider quota exhausted",
        "trace ls_demo_881 · agent researcher · native · 2024-10-31 22:05:00 UTC",
        "`web_search` was refused for its rate limit twice in 1.1 s",
        "The provider's quota for this key",
        "rule rate_limit_exhausted · critical · seen 2 times",
        "examples/sample_failure_trace.jsonl:3  …",
        "examples/sample_failure_trace.jsonl:5  …",
        "Retry storm: `web_search` was tried again 600 ms after it had failed (line 4)",
        "Run crashed: RateLimitExhaustionError: Exceeded provider quota (line 6)",
        "> +1.8 s  line 3  web_search failed: HTTP 429 Too Many Requests",
        "3.7 s · 2 calls · 2 failures · 2,052 tokens · $0.0213",
        "of which after the cause had shown: 640 tokens · $0.0061",
        "1. Look at the provider's quota page",
        "2. Give the client exponential backoff",
        "budget_gate, context_overflow, model_call_timeout: the records carry too little to tell",
        "1 trace: 1 failed · findings: 2 critical, 1 warning",
        "1 input · 6 records · 6 events · native",
    ]
    places = [found.index(part) for part in told]

    assert places == sorted(places)
    assert "not checked is not clean" in " ".join(found.split())


@pytest.mark.parametrize(
    ("remedy", "steps"),
    [
        ("Wait.", ["Wait."]),
        (
            "1. Wait. 2. Retry in 3. minutes. 3. Stop.",
            ["1. Wait.", "2. Retry in 3. minutes.", "3. Stop."],
        ),
        ("1. Wait for 1.5 s.", ["1. Wait for 1.5 s."]),
        ("2. Wait. 3. Stop.", ["2. Wait. 3. Stop."]),
        ("", []),
    ],
)
def test_numbered_steps_of_a_remedy_stand_apart(
    samples: ModuleType, remedy: str, steps: list[str]
) -> None:
    report = samples.report(samples.trace(cause=samples.finding(remedy=remedy), not_checked=[]))
    rows = "\n".join(lines(report)).partition("  Remedy")[2].partition("\n\n")[0]

    assert [row.strip() for row in rows.splitlines()] == steps


def test_a_long_record_is_cut_around_what_matters(samples: ModuleType) -> None:
    excerpts = [line for line in lines(samples.demo(), 80) if line.strip().startswith(":")]

    assert len(excerpts) == 2
    assert all('"error_message":"HTTP 429 Too Many Requests"' in line for line in excerpts)


@pytest.mark.parametrize("width", [10, 60, 80, 120])
@pytest.mark.parametrize("name", ["demo", "busy", "hostile"])
def test_no_line_is_wider_than_the_terminal_except_a_path_to_copy(
    samples: ModuleType, name: str, width: int
) -> None:
    for line in lines(getattr(samples, name)(), width):
        path = line.removeprefix("  Evidence").strip()
        is_path = path.endswith(".jsonl") or path.startswith("bad\\x0aid")
        assert cell_len(line) <= max(width, 60) or is_path, line


def test_wide_characters_count_as_the_two_columns_they_take(samples: ModuleType) -> None:
    mark = samples.evidence(
        3, 1.0, source="トレース.jsonl", excerpt="検索に失敗しました" * 30, focus=""
    )
    trace = samples.trace(
        trace_id="検索🔍" * 30, agents=["調査員"], cause=samples.finding(evidence=[mark])
    )

    assert all(cell_len(line) <= 80 for line in lines(samples.report(trace), 80))


def test_no_line_ends_in_spaces(samples: ModuleType) -> None:
    assert not [line for line in lines(samples.busy()) if line != line.rstrip()]


def test_without_colour_there_is_no_code_whatever_the_environment_wants(
    samples: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = text(samples.busy(), 90)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("COLUMNS", "33")
    monkeypatch.setenv("TERM", "dumb")

    assert text(samples.busy(), 90) == plain
    assert "\x1b" not in plain


def test_colour_adds_codes_and_changes_nothing_else(
    samples: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")  # already judged by the caller, with `wants_color`
    coloured = text(samples.busy(), 90, color=True)

    assert "\x1b[1;31m✗ FAILED" in coloured
    assert CODES.sub("", coloured) == text(samples.busy(), 90)


@pytest.mark.parametrize(
    ("environ", "is_terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"TERM": "dumb"}, True, False),
        ({"TERM": "xterm-256color"}, True, True),
    ],
)
def test_colour_is_for_terminals_that_nobody_told_otherwise(
    environ: Mapping[str, str], is_terminal: bool, wanted: bool
) -> None:
    assert wants_color(environ, is_terminal) is wanted


def test_hostile_text_shows_its_control_characters_and_is_never_markup(
    samples: ModuleType,
) -> None:
    for color in (False, True):
        found = text(samples.hostile(), color=color)
        codes = set(CODES.findall(found))
        bare = CODES.sub("", found)

        assert r"\x1b[31mred\x1b[0m [bold red]markup[/]" in bare
        assert ":smile:" in bare
        assert r"\x9b2J \u202egnp" in " ".join(bare.split())
        assert not re.search(r"[^\n -~\u00a0-\u2027\u202f-\ud7ff\ue000-\U0010ffff]", bare)
        assert bool(codes) is color
        assert len(bare) < 10_000


@pytest.mark.parametrize(
    ("said", "headline"),
    [("interrupted by the user", "interrupted by the user"), (None, "no rule explains why")],
)
def test_a_run_that_was_stopped_says_what_its_end_says(
    samples: ModuleType, said: str | None, headline: str
) -> None:
    ends = [samples.moment(9, 3.7, "agent_end", "aborted", error_message=said)]
    trace = samples.trace(outcome="aborted", cause=None, symptoms=[], wasted=None, timeline=ends)

    assert f"■ ABORTED after 3.7 s: {headline}" in text(samples.report(trace))


def test_a_failure_that_no_rule_explains_says_so(samples: ModuleType) -> None:
    trace = samples.trace(cause=None, symptoms=[], wasted=None)
    found = text(samples.report(trace))

    assert "✗ FAILED after 3.7 s: no rule explains why" in found
    assert "Cause" not in found
    assert "Remedy" not in found
    assert "  Timeline   examples/sample_failure_trace.jsonl\n" in found


def test_of_a_document_on_one_line_only_the_records_of_the_cause_are_marked(
    samples: ModuleType,
) -> None:
    span, *failures = [
        samples.evidence(1, offset / 100, "tool_result", offset=offset)
        for offset in (900, 100, 500)
    ]
    told = [
        replace(span, event_type="agent_start"),
        *failures,
        replace(span, event_type="agent_end"),
    ]
    timeline = [Moment(at=one, status="failed", operation="run") for one in told]
    found = lines(
        samples.report(samples.trace(cause=samples.finding(evidence=failures), timeline=timeline))
    )

    rows = [line for line in found if re.search(r"line 1  (run|agent run) ", line)]
    assert [">" in row for row in rows] == [False, True, True, False]


def test_a_run_without_times_is_told_without_times(samples: ModuleType) -> None:
    trace = samples.trace(started_at=None, duration_seconds=None)
    found = text(samples.report(trace))

    assert "✗ FAILED: Provider quota exhausted" in found
    assert "> line 3  web_search failed" in found
    assert "UTC" not in found


@pytest.mark.parametrize("started_at", [-1e18, 1e18, float("nan"), 253402300800.0])
def test_a_time_that_no_calendar_holds_is_left_out(samples: ModuleType, started_at: float) -> None:
    trace = samples.trace(started_at=started_at, duration_seconds=float("inf"))
    found = text(samples.report(trace))

    assert "✗ FAILED: Provider quota exhausted" in found
    assert "UTC" not in found


def test_a_success_with_a_serious_finding_is_told_in_full(samples: ModuleType) -> None:
    found = text(samples.report(samples.trace(outcome="succeeded")))

    assert "✓ SUCCEEDED after 3.7 s, but: Provider quota exhausted" in found


def test_evidence_of_several_files_names_each_file(samples: ModuleType) -> None:
    marks = [samples.evidence(n, n, source=f"part-{n % 2}.jsonl") for n in range(1, 4)]
    found = text(samples.report(samples.trace(cause=samples.finding(evidence=marks))))

    for place in ("part-1.jsonl:1", "part-0.jsonl:2", "part-1.jsonl:3"):
        assert place in found


def test_evidence_without_an_excerpt_is_only_a_place(samples: ModuleType) -> None:
    marks = [samples.evidence(3, 1.8, excerpt="")]
    found = lines(samples.report(samples.trace(cause=samples.finding(evidence=marks))))

    assert "  Evidence   examples/sample_failure_trace.jsonl:3" in found


def test_long_lists_are_shortened_with_a_count(samples: ModuleType) -> None:
    marks = [samples.evidence(n, n) for n in range(1, 21)]
    storms = [samples.retry_storm(rule=f"rule_{n}") for n in range(20)]
    trace = samples.trace(
        cause=samples.finding(evidence=marks, count=500),
        symptoms=storms,
        other=storms,
        not_checked=[f"rule_{n}" for n in range(20)],
        timeline=[samples.moment(n, n, "tool_call", "started") for n in range(30)],
    )
    found = text(samples.report(trace))

    assert "… and 495 more" in found
    assert found.count("… and 14 more") == 1  # symptoms
    assert "… and 15 more" in found  # others
    assert "… and 22 more" in found  # the timeline
    assert "rule_19" in found  # what was not checked is named whole
    assert len(found.splitlines()) <= 62


def test_findings_that_are_alike_are_told_once_with_what_they_are_of(
    samples: ModuleType,
) -> None:
    names = ["fetch", "sql_query", "sql_query", "read_file", "grep", "sql_query", "ls", "ls"]
    storms = [samples.retry_storm(group={"operation": name}) for name in names]
    found = " ".join(text(samples.report(samples.trace(symptoms=[], other=storms))).split())

    assert found.count("Retry storm") == 1
    assert "; 7 more like it: `sql_query` (3), `ls` (2), `read_file` and 1 more" in found


def test_findings_alike_of_one_operation_are_only_counted(samples: ModuleType) -> None:
    storms = [samples.retry_storm(group={"operation": "fetch"}) for _ in range(3)]
    found = " ".join(text(samples.report(samples.trace(symptoms=storms))).split())

    assert "; 2 more like it Timeline" in found


def test_the_most_serious_findings_are_shown_first_and_never_hidden_by_others(
    samples: ModuleType,
) -> None:
    noise = [samples.retry_storm(rule=f"rule_{n}", severity="info") for n in range(9)]
    healed = samples.retry_storm(rule="h", title="Healed", severity="warning", healed=True)
    late = samples.retry_storm(rule="late", title="Disk full", severity="critical")
    others = text(samples.report(samples.trace(other=[*noise, healed, late])))
    symptoms = text(samples.report(samples.trace(symptoms=[*noise, healed, late])))

    assert "  Also       critical  Disk full" in others
    assert others.index("Disk full") < others.index("Healed") < others.index("info  Retry storm")
    assert "… and 6 more" in others
    assert symptoms.index("Retry storm") < symptoms.index("Healed") < symptoms.index("Disk full")
    assert "… and 5 more" in symptoms


def test_many_findings_are_counted_before_any_is_told(samples: ModuleType) -> None:
    few = [samples.retry_storm(rule=f"rule_{n}") for n in range(7)]
    more = [*few, samples.retry_storm(rule="more")]

    assert (
        "11 findings: 2 critical, 9 warning" in lines(samples.report(samples.trace(other=more)))[2]
    )
    assert not any(
        "10 findings" in line for line in lines(samples.report(samples.trace(other=few)))
    )


def test_a_healthy_run_takes_one_line(samples: ModuleType) -> None:
    runs = [samples.healthy(1, agents=["a"]), samples.healthy(22, agents=["a"])]
    found = lines(samples.report(*runs))

    assert found[:3] == [
        "✓ succeeded  run-0001  42 s · 12 calls · 2,052 tokens · $0.0213 · agent a · native",
        "✓ succeeded  run-0022  1 min 3 s · 12 calls · 2,052 tokens · $0.0213 · agent a · native",
        "",
    ]
    assert "2 traces: 2 succeeded · no findings" in found


def test_what_healed_is_mentioned_and_no_alarm(samples: ModuleType) -> None:
    healed = samples.finding(severity="info", healed=True)
    trace = samples.healthy(1, outcome="recovered", other=[healed], not_checked=["budget_gate"])
    found = text(samples.report(trace))

    assert found.startswith("↻ recovered  run-0001  noted: Provider quota exhausted · ")
    assert "Unchecked: budget_gate: the records carry too little to tell" in found


def test_many_healthy_runs_are_summed_up(samples: ModuleType) -> None:
    runs = [samples.healthy(n, not_checked=["budget_gate"] * (n % 2)) for n in range(40)]
    runs.append(samples.healthy(41, outcome="recovered"))
    found = lines(samples.report(*runs))

    assert found[0] == "✓ 41 healthy traces: 1 recovered, 40 succeeded"
    assert found[1].startswith("  Unchecked: budget_gate (20 traces): ")
    assert len(found) < 10


def test_many_failed_runs_are_no_wall_of_text(samples: ModuleType) -> None:
    runs = [samples.trace(trace_id=f"run-{n}") for n in range(100)]
    found = text(samples.report(*runs))

    assert found.splitlines()[:2] == [
        "100 traces: 100 failed · findings: 200 critical, 100 warning",
        "  100  Provider quota exhausted",
    ]
    assert found.count("Remedy") == 20
    assert found.count("✗ FAILED") == 50
    assert "… and 50 more; the json and ndjson formats hold all" in found
    assert "100 traces: 100 failed" in found


def test_the_runs_in_the_worst_trouble_come_first(samples: ModuleType) -> None:
    def named(name: str, outcome: str, *found: object) -> object:
        return samples.trace(
            trace_id=name, outcome=outcome, cause=None, symptoms=[], other=list(found)
        )

    warning = samples.retry_storm()
    runs = [
        named("stopped", "unfinished", warning),
        named("unexplained", "failed"),
        named("noted", "aborted", samples.retry_storm(severity="info")),
        named("worst", "unfinished", samples.finding()),
        named("warned", "failed", warning),
    ]
    names = [one.split()[1] for one in lines(samples.report(*runs)) if one.startswith("  trace ")]

    assert names == ["worst", "unexplained", "warned", "stopped", "noted"]


def test_what_many_runs_died_of_is_summed_up_first(samples: ModuleType) -> None:
    titles = [f"Trouble {n}" for n in range(10) for _ in range(10 - n)]
    causes = [samples.finding(title=title) for title in titles]
    found = lines(samples.report(*(samples.trace(cause=one) for one in causes)))
    few = lines(samples.report(*(samples.trace() for _ in range(5))))

    assert found[1:4] == ["  10  Trouble 0", "   9  Trouble 1", "   8  Trouble 2"]
    assert found[8:10] == ["   3  Trouble 7", "  … and 3 more"]
    assert few[0].startswith("✗ FAILED")


def test_nothing_given_and_nothing_found_read_well(samples: ModuleType) -> None:
    nothing = lines(samples.report(inputs=[]))
    unread = samples.source("notes.txt", format=[], records=0, events=0, skipped={"not_json": 7})
    empty = lines(samples.report(inputs=[unread]))

    assert nothing[1:] == ["Nothing was read", "0 inputs · 0 records · 0 events"]
    assert empty[0] == "! notes.txt: no event could be read from it"
    assert empty[3:] == [
        "No traces found",
        "1 input · 0 records · 0 events · 7 skipped (7 not_json)",
    ]


def test_inputs_that_gave_nothing_are_named_with_advice_and_shortened(samples: ModuleType) -> None:
    unread = [
        samples.source(f"n{n}.txt", format=[], events=0, advice="give a trace") for n in range(13)
    ]
    found = lines(samples.report(samples.healthy(), inputs=unread))

    assert "! n0.txt: give a trace" in found
    assert "… and 3 more that gave no event" in found


def test_traces_that_were_given_up_are_confessed(samples: ModuleType) -> None:
    found = lines(samples.report(samples.healthy(), evicted_traces=3))

    assert found[-1] == "! 3 traces given up for their number: their findings are incomplete"


def test_an_unknown_format_is_a_mistake_that_names_the_known_ones(samples: ModuleType) -> None:
    with pytest.raises(UsageError, match="unknown format `yaml`; choose one of text, json, ndjson"):
        render(samples.demo(), "yaml")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_ends_with_a_newline_and_can_be_encoded(
    samples: ModuleType, name: str
) -> None:
    for report in (samples.demo(), samples.busy(), samples.hostile()):
        found = render(report, name)
        assert found.endswith("\n")
        found.encode()


def test_headers_beside_the_runs_of_an_archive_need_no_advice(samples: ModuleType) -> None:
    header = {"format": ["inspect_log"], "events": 0, "skipped": {"eval_header": 1}}
    inputs = [
        samples.source("log.eval!samples/1.json"),
        samples.source("log.eval!header.json", **header, advice="known"),
        samples.source("log.eval!torn.json", format=[], events=0, advice="torn"),
        samples.source("other.eval!header.json", **header, advice="no run in it"),
    ]
    found = text(samples.report(samples.trace(), inputs=inputs))

    assert "known" not in found
    assert "torn" in found
    assert "no run in it" in found
