"""json and ndjson: the published shape, the published schema, and bytes that never differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import msgspec
import pytest

import lastsignal.edges.report as formats
from lastsignal.core.diagnosis.report import SCHEMA_VERSION, Report
from lastsignal.edges.report import document

SCHEMA_PATH = Path(formats.__file__).with_name("schema-1.json")
SAMPLES = ["demo", "busy", "hostile"]


def read(report: Report) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(formats.render(report, "json"))
    return parsed


def lines(report: Report) -> list[str]:
    text = formats.render(report, "ndjson")
    assert text.endswith("\n") or not text
    return text.removesuffix("\n").split("\n") if text else []


def schema() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    return parsed


def schema_of_types() -> dict[str, Any]:
    """The schema as the types say it; a line of ndjson is a trace with the version before it."""
    _, parts = msgspec.json.schema_components([document.Document], ref_template="#/$defs/{name}")
    whole, trace = parts.pop("Document"), parts["Trace"]
    version = {"schema_version": whole["properties"]["schema_version"]}
    parts["TraceLine"] = {
        **trace,
        "title": "TraceLine",
        "description": "One line of the ndjson format.",
        "properties": {**version, **trace["properties"]},
        "required": ["schema_version", *trace["required"]],
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:lastsignal:report:1",
        **whole,
        "title": "Last Signal report",
        "$defs": dict(sorted(parts.items())),
    }


def validator(part: str | None = None) -> jsonschema.Draft202012Validator:
    whole = schema()
    if part is not None:
        whole = {"$schema": whole["$schema"], "$ref": f"#/$defs/{part}", "$defs": whole["$defs"]}
    return jsonschema.Draft202012Validator(whole)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_document_is_valid_under_the_published_schema(samples: ModuleType, name: str) -> None:
    validator().validate(read(getattr(samples, name)()))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_line_of_ndjson_is_valid_under_the_published_schema(
    samples: ModuleType, name: str
) -> None:
    report = getattr(samples, name)()
    found = lines(report)

    assert len(found) == len(report.traces)
    for line in found:
        validator("TraceLine").validate(json.loads(line))


def test_the_published_schema_is_what_the_types_say(
    golden: Callable[[Path | str, str], None],
) -> None:
    golden(SCHEMA_PATH, json.dumps(schema_of_types(), indent=2) + "\n")


def test_the_published_schema_is_itself_valid_and_of_the_version_that_is_written() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())

    assert SCHEMA_PATH.name == f"schema-{SCHEMA_VERSION.split('.')[0]}.json"


def test_the_schema_describes_every_field_of_its_own_and_allows_no_other() -> None:
    for name, part in schema()["$defs"].items():
        assert part["additionalProperties"] is False, name
        assert part["required"] == list(part["properties"]), name
        assert part["description"], name
        for field, kind in part["properties"].items():
            assert kind.get("description") or "$ref" in kind, f"{name}.{field}"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda found: found.pop("inputs"),
        lambda found: found.update(extra=1),
        lambda found: found["traces"][0].update(outcome="fine"),
        lambda found: found["traces"][0]["cause"].update(severity="high"),
        lambda found: found["traces"][0]["cause"]["evidence"][0].pop("line"),
        lambda found: found["traces"][0]["tokens"].update(input=-1),
    ],
)
def test_the_schema_refuses_what_is_not_the_format(
    samples: ModuleType, spoil: Callable[[dict[str, Any]], None]
) -> None:
    found = read(samples.demo())
    spoil(found)

    assert not validator().is_valid(found)


def test_the_document_has_the_published_shape_in_its_order(samples: ModuleType) -> None:
    found = read(samples.demo())
    trace = found["traces"][0]

    assert list(found) == ["schema_version", "inputs", "traces", "evicted_traces"]
    assert found["inputs"] == [
        {
            "source": "examples/sample_failure_trace.jsonl",
            "format": "native",
            "records": 6,
            "events": 6,
            "skipped": {},
            "mended": {},
        }
    ]
    assert list(trace) == [
        "trace_id", "framework", "agents", "outcome", "started_at", "duration_seconds", "events",
        "calls", "failures", "tokens", "cost_usd", "cause", "symptoms", "other", "not_checked",
        "timeline", "wasted",
    ]  # fmt: skip
    assert list(trace["cause"]) == [
        "id", "rule", "severity", "category", "title", "summary", "cause", "remedy", "group",
        "count", "first_seen", "last_seen", "healed", "evidence",
    ]  # fmt: skip
    assert [one["line"] for one in trace["cause"]["evidence"]] == [3, 5]
    assert list(trace["cause"]["evidence"][0]) == [
        "source", "line", "offset", "event_type", "timestamp", "excerpt",
    ]  # fmt: skip
    assert trace["tokens"] == {"input": 1840, "output": 212}


def test_formats_met_in_one_input_are_joined_and_none_is_null(samples: ModuleType) -> None:
    found = read(samples.busy())["inputs"]

    assert [one["format"] for one in found] == ["native", "otlp+otel_sdk", None]


def test_a_trace_without_times_has_null_for_every_moment(samples: ModuleType) -> None:
    trace = samples.trace(started_at=None, duration_seconds=None)
    found = read(samples.report(trace))["traces"][0]

    assert found["started_at"] is None
    assert found["duration_seconds"] is None
    assert found["cause"]["first_seen"] is None
    assert found["cause"]["evidence"][0]["timestamp"] is None
    assert found["timeline"][0]["timestamp"] is None
    validator().validate(read(samples.report(trace)))


def test_numbers_that_json_cannot_say_become_null(samples: ModuleType) -> None:
    odd = samples.finding(group={"value": float("nan"), "list": [1], "on": True, "no": None})
    report = samples.report(samples.trace(cost_usd=float("inf"), cause=odd))
    found = read(report)["traces"][0]

    assert found["cost_usd"] is None
    assert found["cause"]["group"] == {"value": None, "list": "[1]", "on": True, "no": None}
    validator().validate(read(report))


@pytest.mark.parametrize("format_name", ["json", "ndjson"])
def test_the_same_report_gives_the_same_bytes(samples: ModuleType, format_name: str) -> None:
    first = samples.report(samples.trace(), inputs=[samples.source(skipped={"b": 1, "a": 2})])
    second = samples.report(samples.trace(), inputs=[samples.source(skipped={"a": 2, "b": 1})])

    assert formats.render(first, format_name) == formats.render(second, format_name)


def test_a_line_of_ndjson_begins_with_the_version_of_its_schema(samples: ModuleType) -> None:
    assert lines(samples.demo())[0].startswith('{"schema_version":"1.1","trace_id":"ls_demo_881",')


def test_no_traces_are_an_empty_list_and_no_lines(samples: ModuleType) -> None:
    assert read(samples.report(inputs=[]))["traces"] == []
    assert lines(samples.report()) == []


def test_hostile_text_stays_data_and_never_splits_a_line(samples: ModuleType) -> None:
    report = samples.hostile()

    for text in (formats.render(report, "json"), formats.render(report, "ndjson")):
        text.encode()  # a file name that is no UTF-8 can be written out
        assert not any(ord(character) < 0x20 for character in text.replace("\n", ""))
        assert not set(text) & {"\x7f", "\x9b", "\u2028"}
    assert len(formats.render(report, "ndjson").splitlines()) == len(report.traces)
    trace_id = read(report)["traces"][0]["trace_id"]
    assert trace_id == samples.HOSTILE.replace("\udcff", "\\xff")


def test_text_of_other_scripts_is_kept_readable(samples: ModuleType) -> None:
    assert "检索🔍" in formats.render(samples.report(samples.trace(trace_id="检索🔍")), "ndjson")
