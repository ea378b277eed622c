"""Small reports for the tests of the report formats."""

from __future__ import annotations

from typing import Any

from lastsignal.core.diagnosis import Diagnosis, Moment
from lastsignal.core.diagnosis.findings import Evidence, Finding
from lastsignal.core.diagnosis.report import InputSummary, Report
from lastsignal.core.groups import Progress

START = 1730412300.1

LINES = {
    1: '{"timestamp":1730412300.1,"trace_id":"ls_demo_881","event_type":"agent_start"}',
    3: '{"timestamp":1730412301.9,"trace_id":"ls_demo_881","event_type":"tool_result",'
    '"operation":"web_search","status":"failed","error_message":"HTTP 429 Too Many Requests"}',
    4: '{"timestamp":1730412302.5,"trace_id":"ls_demo_881","event_type":"retry",'
    '"operation":"web_search","attempt":1}',
    5: '{"timestamp":1730412303,"trace_id":"ls_demo_881","event_type":"tool_result",'
    '"operation":"web_search","status":"failed","error_message":"HTTP 429 Too Many Requests"}',
    6: '{"timestamp":1730412303.8,"trace_id":"ls_demo_881","event_type":"process_error",'
    '"error_message":"RateLimitExhaustionError: Exceeded provider quota"}',
}

HOSTILE = (
    "bad\nid\r\n\x1b[31mred\x1b[0m [bold red]markup[/] :smile: <script>alert('x')</script> &amp; "
    "]]> | pipe `tick` ```fence``` **bold** ![img](http://evil.example/x.png) [a](javascript:b) "
    "@everyone #1 {0} \x00\x07\x9b2J \u202egnp \u2028 \udcff " + "A" * 10_000
)


def evidence(line: int, seconds: float, kind: str = "tool_result", **fields: Any) -> Evidence:
    values: dict[str, Any] = {
        "source": "examples/sample_failure_trace.jsonl",
        "offset": line * 160,
        "excerpt": LINES.get(line, ""),
        "focus": "HTTP 429 Too Many Requests" if line in (3, 5) else "",
    }
    return Evidence(line=line, event_type=kind, timestamp=START + seconds, **{**values, **fields})


def finding(**fields: Any) -> Finding:
    marks = fields.pop("evidence", [evidence(3, 1.8), evidence(5, 2.9)])
    values: dict[str, Any] = {
        "id": "3f6c0a91d2be",
        "rule": "rate_limit_exhausted",
        "severity": "critical",
        "category": "execution-error-category-rate-limiting",
        "title": "Provider quota exhausted",
        "summary": "`web_search` was rate-limited twice without one success in between",
        "cause": "`web_search` was refused for its rate limit twice in 1.1 s, with no success in "
        'between: "HTTP 429 Too Many Requests". The provider\'s quota for this key, model or '
        "tenant is used up, or too many workers share it.",
        "remedy": "1. Look at the provider's quota page for the key that `web_search` uses: raise "
        "the quota, or wait until it resets. 2. Give the client exponential backoff with jitter "
        "and a small number of attempts. Then start the run again.",
        "group": {"trace_id": "ls_demo_881", "operation": "web_search"},
        "trace_id": "ls_demo_881",
        "count": len(marks),
        "first_seen": marks[0].timestamp if marks else START,
        "last_seen": marks[-1].timestamp if marks else START,
        "opened_at": marks[-1].timestamp if marks else START,
        "healed": False,
        "evidence": marks,
    }
    return Finding(**{**values, **fields})


def retry_storm(**fields: Any) -> Finding:
    values: dict[str, Any] = {
        "id": "9a01b2c3d4e5",
        "rule": "retry_storm",
        "severity": "warning",
        "category": "execution-error-retry",
        "title": "Retry storm",
        "summary": "`web_search` was tried again 600 ms after it had failed",
        "cause": "The agent repeats a call that has just failed.",
        "remedy": "Wait longer between attempts.",
        "evidence": [evidence(4, 2.4, "retry")],
    }
    return finding(**{**values, **fields})


def run_crashed(**fields: Any) -> Finding:
    values: dict[str, Any] = {
        "id": "77aa88bb99cc",
        "rule": "run_crashed",
        "title": "Run crashed",
        "summary": "Run crashed: RateLimitExhaustionError: Exceeded provider quota",
        "category": "execution-error-crash",
        "evidence": [evidence(6, 3.7, "process_error")],
    }
    return finding(**{**values, **fields})


def moment(line: int, seconds: float, kind: str, status: str, **facts: Any) -> Moment:
    where = {"source": facts.pop("source")} if "source" in facts else {}
    return Moment(at=evidence(line, seconds, kind, **where), status=status, **facts)


def demo_timeline() -> list[Moment]:
    refused = {"operation": "web_search", "error_class": "rate_limit"}
    return [
        moment(1, 0, "agent_start", "started"),
        moment(
            3, 1.8, "tool_result", "failed", error_message="HTTP 429 Too Many Requests", **refused
        ),
        moment(4, 2.4, "retry", "started", operation="web_search", attempt=1),
        moment(
            5, 2.9, "tool_result", "failed", error_message="HTTP 429 Too Many Requests", **refused
        ),
        moment(
            6,
            3.7,
            "process_error",
            "failed",
            error_class="rate_limit",
            error_message="RateLimitExhaustionError: Exceeded provider quota",
        ),
    ]


def trace(**fields: Any) -> Diagnosis:
    values: dict[str, Any] = {
        "trace_id": "ls_demo_881",
        "framework": "native",
        "agents": ["researcher"],
        "outcome": "failed",
        "started_at": START,
        "duration_seconds": 3.7,
        "events": 6,
        "calls": 2,
        "failures": 2,
        "input_tokens": 1840,
        "output_tokens": 212,
        "cost_usd": 0.0213,
        "cause": finding(),
        "symptoms": [retry_storm(), run_crashed()],
        "other": [],
        "not_checked": ["budget_gate", "context_overflow", "model_call_timeout"],
        "timeline": demo_timeline(),
        "wasted": Progress(events=1, calls=0, tokens=640, cost_usd=0.0061),
    }
    return Diagnosis(**{**values, **fields})


def healthy(number: int = 1, **fields: Any) -> Diagnosis:
    values: dict[str, Any] = {
        "trace_id": f"run-{number:04}",
        "outcome": "succeeded",
        "duration_seconds": 41.0 + number,
        "calls": 12,
        "failures": 0,
        "cause": None,
        "symptoms": [],
        "timeline": [],
        "wasted": None,
        "not_checked": [],
    }
    return trace(**{**values, **fields})


def source(name: str = "examples/sample_failure_trace.jsonl", **fields: Any) -> InputSummary:
    values: dict[str, Any] = {"format": ["native"], "records": 6, "events": 6, "skipped": {}}
    return InputSummary(source=name, **{**values, **fields})


def report(*traces: Diagnosis, **fields: Any) -> Report:
    values: dict[str, Any] = {"version": "0.1.0", "inputs": [source()], "traces": list(traces)}
    return Report(**{**values, **fields})


def demo() -> Report:
    """The product's sample: one failed run."""
    return report(trace())


def busy() -> Report:
    """A folder of all kinds: several families, every outcome, long paths, things left out."""
    path = (
        "/home/alice/.claude/projects/-home-alice-work-shop/0b1c9f52-7d1e-4c55-9d1c-51c0aa7d.jsonl"
    )
    marks = [
        evidence(100 + 7 * n, 10.0 * n, source=path, excerpt=f'{{"type":"user","n":{n}}}')
        for n in range(20)
    ]
    looping = trace(
        trace_id="0b1c9f52-7d1e-4c55-9d1c-51c0aa7d2f11",
        framework="claude_code",
        agents=["main", "explorer", "tester", "writer", "reviewer"],
        outcome="aborted",
        duration_seconds=3784.0,
        calls=1204,
        failures=141,
        input_tokens=1_840_221,
        output_tokens=91_022,
        cost_usd=14.2,
        cause=finding(
            rule="repeated_failing_call",
            severity="warning",
            title="The same failing call, again and again",
            summary="`Bash` failed 141 times with the same arguments",
            cause="`Bash` was called 141 times with exactly the same arguments and failed each "
            "time. The agent does not take the error as a reason to do something else.",
            remedy="Stop the run, then add the missing target or tell the agent which one to use.",
            count=141,
            evidence=marks,
        ),
        symptoms=[retry_storm(evidence=marks[:9])],
        other=[
            finding(
                rule="tool_timeout",
                severity="warning",
                title="Tool timed out",
                summary="Tool timed out: WebFetch",
                evidence=[evidence(12, 3)],
            ),
            finding(rule="rate_limit_exhausted", severity="info", healed=True),
        ],
        not_checked=[f"rule_{n}" for n in range(9)],
        timeline=[
            moment(
                10 * n,
                200.0 * n,
                "tool_result",
                "failed",
                operation="Bash",
                source=path,
                error_message="make: *** No rule to make target 'deploy-staging-eu-west-1'. Stop.",
            )
            for n in range(1, 19)
        ],
        wasted=Progress(events=900, calls=1011, tokens=1_500_000, cost_usd=11.05),
    )
    recovered = healthy(
        2,
        outcome="recovered",
        failures=1,
        other=[finding(severity="info", healed=True)],
        not_checked=["budget_gate"],
    )
    return report(
        trace(),
        looping,
        trace(
            trace_id="silent-3",
            outcome="unfinished",
            cause=None,
            symptoms=[],
            wasted=None,
            agents=[],
            timeline=demo_timeline()[:1],
            not_checked=[],
        ),
        healthy(1),
        recovered,
        inputs=[
            source(),
            source(
                "runs/otel.json",
                format=["otlp", "otel_sdk"],
                records=112,
                events=203,
                skipped={"not_json": 3, "torn_line": 1},
            ),
            source(
                "notes.txt",
                format=[],
                records=0,
                events=0,
                skipped={"not_json": 18},
                advice="no line of it is a trace record; `lastsignal normalize notes.txt` shows "
                "what became of each",
            ),
        ],
    )


def hostile() -> Report:
    """Everything that a trace can name, named by an attacker."""
    marks = [
        evidence(2, 1.0, source=HOSTILE, excerpt=HOSTILE),
        evidence(3, 2.0, source=HOSTILE, excerpt=HOSTILE),
    ]
    bad = finding(
        title=HOSTILE,
        summary=HOSTILE,
        cause=HOSTILE,
        remedy=HOSTILE,
        category=HOSTILE,
        rule=HOSTILE,
        group={HOSTILE: HOSTILE},
        evidence=marks,
    )
    return report(
        trace(
            trace_id=HOSTILE,
            framework=HOSTILE,
            agents=[HOSTILE, HOSTILE],
            cause=bad,
            symptoms=[bad],
            other=[bad],
            not_checked=[HOSTILE],
            timeline=[
                Moment(
                    at=marks[0],
                    status="failed",
                    operation=HOSTILE,
                    agent=HOSTILE,
                    error_class=HOSTILE,
                    error_message=HOSTILE,
                ),
            ],
        ),
        healthy(1, trace_id=HOSTILE, framework=HOSTILE, agents=[HOSTILE]),
        inputs=[source(HOSTILE, format=[HOSTILE], events=0, skipped={HOSTILE: 1}, advice=HOSTILE)],
    )
