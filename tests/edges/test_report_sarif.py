"""sarif: what SARIF 2.1.0 and code scanning ask for.

No package ships the official schema in a way that works offline, so the part of it that the report
uses is written down here; a log was checked against the official one when this was written.
"""

from __future__ import annotations

import json
import re
from types import ModuleType
from typing import Any

import jsonschema
import pytest

from lastsignal.core.diagnosis.report import Report
from lastsignal.edges.report import Options, render
from lastsignal.edges.report.sarif import uri_of

MESSAGE = {"$ref": "#/$defs/message"}
LOCATION = {"$ref": "#/$defs/location"}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def exactly(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


def some(kind: dict[str, Any], **limits: Any) -> dict[str, Any]:
    return {"type": "array", "items": kind, **limits}


ARTIFACT = exactly({"uri": {"type": "string", "pattern": r"^[!-~]*$"}})
REGION = exactly({"startLine": {"type": "integer", "minimum": 1}}, snippet=MESSAGE)
RULE = exactly(
    {
        "id": {"type": "string", "minLength": 1},
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "help": MESSAGE,
        "properties": {"type": "object"},
    }
)
RESULT = exactly(
    {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": some(LOCATION, maxItems=1),
        "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}},
        "properties": {"type": "object"},
    },
    relatedLocations=some(LOCATION, minItems=1, uniqueItems=True),
)
NOTIFICATION = exactly({"level": LEVEL, "message": MESSAGE}, locations=some(LOCATION))
INVOCATION = exactly(
    {"executionSuccessful": {"const": True}, "toolExecutionNotifications": some(NOTIFICATION)}
)
DRIVER = exactly({"name": {"const": "Last Signal"}, "version": {}, "rules": some(RULE)})
LOG = exactly(
    {
        "$schema": {"const": "https://json.schemastore.org/sarif-2.1.0.json"},
        "version": {"const": "2.1.0"},
        "runs": some(
            exactly(
                {
                    "tool": exactly({"driver": DRIVER}),
                    "invocations": some(INVOCATION, minItems=1),
                    "results": some(RESULT),
                }
            ),
            minItems=1,
            maxItems=1,
        ),
    }
)
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {
        "message": exactly({"text": {"type": "string", "minLength": 1}}),
        "location": exactly(
            {"physicalLocation": exactly({"artifactLocation": ARTIFACT}, region=REGION)},
            id={"type": "integer", "minimum": 0},
            message=MESSAGE,
        ),
    },
    **LOG,
}


def run(report: Report, base: str | None = None) -> dict[str, Any]:
    log = json.loads(render(report, "sarif", Options(base=base)))
    jsonschema.Draft202012Validator(SCHEMA).validate(log)
    found: dict[str, Any] = log["runs"][0]
    return found


def texts(found: object) -> list[str]:
    """Every message: a snippet is content, which no viewer interprets."""
    if isinstance(found, dict):
        own = [found["text"]] if isinstance(found.get("text"), str) else []
        inner = [value for name, value in found.items() if name != "snippet"]
        return own + [text for value in inner for text in texts(value)]
    if isinstance(found, list):
        return [text for value in found for text in texts(value)]
    return []


@pytest.mark.parametrize("name", ["demo", "busy", "hostile"])
def test_every_log_has_the_structure_of_sarif(samples: ModuleType, name: str) -> None:
    run(getattr(samples, name)(), base="/home/alice")


def test_an_empty_report_is_a_log_of_no_results(samples: ModuleType) -> None:
    found = run(samples.report(inputs=[]))

    assert found["results"] == []
    assert found["tool"]["driver"]["rules"] == []


def test_each_finding_is_a_result_at_the_line_that_shows_it(samples: ModuleType) -> None:
    results = run(samples.demo())["results"]
    cause = results[0]

    assert [result["ruleId"] for result in results] == [
        "rate_limit_exhausted",
        "retry_storm",
        "run_crashed",
    ]
    assert [result["level"] for result in results] == ["error", "warning", "error"]
    assert [result["properties"]["role"] for result in results] == ["cause", "symptom", "symptom"]
    place = cause["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "examples/sample_failure_trace.jsonl"
    assert place["region"]["startLine"] == 3
    assert "HTTP 429" in place["region"]["snippet"]["text"]
    (other,) = cause["relatedLocations"]
    assert other["physicalLocation"]["region"]["startLine"] == 5
    assert cause["partialFingerprints"]["findingId/v1"] == "3f6c0a91d2be"
    assert cause["properties"]["traceId"] == "ls_demo_881"
    assert cause["message"]["text"].startswith("Provider quota exhausted: `web_search` was rate-")
    assert "\nRemedy: 1. Look at the provider's quota" in cause["message"]["text"]


def test_an_info_finding_is_a_note(samples: ModuleType) -> None:
    trace = samples.healthy(other=[samples.finding(severity="info", healed=True)])

    assert run(samples.report(trace))["results"][0]["level"] == "note"


def test_each_rule_is_described_once_and_results_point_at_it(samples: ModuleType) -> None:
    found = run(samples.report(samples.trace(), samples.trace(trace_id="other")))
    rules = found["tool"]["driver"]["rules"]

    assert [rule["id"] for rule in rules] == ["rate_limit_exhausted", "retry_storm", "run_crashed"]
    for result in found["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_related_locations_are_numbered_apart(samples: ModuleType) -> None:
    for result in run(samples.busy())["results"]:
        numbers = [one["id"] for one in result.get("relatedLocations", [])]
        assert numbers == list(range(1, len(numbers) + 1))


def test_a_finding_without_evidence_has_no_place_and_line_zero_counts_as_the_first(
    samples: ModuleType,
) -> None:
    nowhere = samples.finding(evidence=[])
    start = samples.finding(evidence=[samples.evidence(0, 0.0)])
    first, second = run(samples.report(samples.trace(cause=nowhere, symptoms=[start])))["results"]

    assert first["locations"] == []
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 1


@pytest.mark.parametrize(
    ("source", "base", "uri"),
    [
        ("runs/a.jsonl", None, "runs/a.jsonl"),
        ("runs/a b#1?.jsonl", None, "runs/a%20b%231%3F.jsonl"),
        ("c:d.jsonl", None, "c%3Ad.jsonl"),
        ("50%.jsonl", None, "50%25.jsonl"),
        ("検索.jsonl", None, "%E6%A4%9C%E7%B4%A2.jsonl"),
        ("odd\udcff.jsonl", None, "odd%FF.jsonl"),
        ("odd\ud800.jsonl", None, "odd%ED%A0%80.jsonl"),
        ("/work/repo/runs/a.jsonl", "/work/repo", "runs/a.jsonl"),
        ("/work/repository/a.jsonl", "/work/repo", "file:///work/repository/a.jsonl"),
        ("/var/log/a.jsonl", None, "file:///var/log/a.jsonl"),
        ("../a.jsonl", "/work/repo", "../a.jsonl"),
        ("-", None, "-"),
    ],
)
def test_addresses_are_relative_where_they_can_be_and_percent_encoded(
    source: str, base: str | None, uri: str
) -> None:
    assert uri_of(source, base) == uri


def test_inputs_that_gave_nothing_and_lost_traces_are_notifications(samples: ModuleType) -> None:
    unread = samples.source("notes.txt", format=[], events=0, advice="give a trace")
    found = run(samples.report(inputs=[unread], evicted_traces=2))
    told = found["invocations"][0]["toolExecutionNotifications"]

    assert [one["message"]["text"] for one in told] == [
        "notes.txt: give a trace",
        "2 traces given up for their number: their findings are incomplete",
    ]


def test_what_was_odd_and_is_used_is_a_note(samples: ModuleType) -> None:
    odd = samples.source(mended={"unusable_time": 2}, first_mended={"unusable_time": 7})
    (note,) = run(samples.report(inputs=[odd]))["invocations"][0]["toolExecutionNotifications"]

    assert note["level"] == "note"
    assert note["message"]["text"].startswith("2 records have a time that cannot be (the first in")


def test_what_was_not_checked_is_a_note(samples: ModuleType) -> None:
    (note,) = run(samples.demo())["invocations"][0]["toolExecutionNotifications"]

    assert note["level"] == "note"
    assert note["message"]["text"].startswith("Unchecked: budget_gate, context_overflow, model_")


def test_hostile_text_makes_no_placeholder_no_link_and_no_control_character(
    samples: ModuleType,
) -> None:
    found = texts(run(samples.hostile()))

    assert any("{{0}}" in text for text in found)
    for text in found:
        assert not re.search(r"(?<!\{)\{\d+\}", text)
        assert "](" not in text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", text)
        assert len(text) < 3000
