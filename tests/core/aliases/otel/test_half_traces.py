"""Traces whose outermost span has not come: it still runs, or its exporter was cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.otel_encodings import ENCODINGS, otlp_hex, request, sdk_compact

from lastsignal.app import diagnose
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.edges.inputs import FileSource
from lastsignal.edges.rulefiles import load_rules

Span = dict[str, Any]
CHAT = {"gen_ai__operation__name": "chat", "gen_ai__request__model": "gpt-5-mini"}
SEARCH = {"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": "search"}


def calls(span: Any) -> list[Span]:
    return [span("chat", 2, 1, at=(1, 2), **CHAT), span("search", 3, 1, at=(2, 3), **SEARCH)]


def root(span: Any, **given: Any) -> Span:
    agent = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "main"}
    made: Span = span("invoke_agent", 1, at=(0, 5), **agent, **given)
    return made


def diagnosed(folder: Path, *files: list[bytes]) -> Diagnosis:
    sources = []
    for number, records in enumerate(files):
        path = folder / f"{number}.jsonl"
        path.write_bytes(b"".join(record + b"\n" for record in records))
        sources.append(FileSource(path, path.name))
    (trace,) = diagnose(sources, load_rules()).traces
    return trace


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_calls_within_a_span_that_never_came_are_no_success(
    encoding: str, span: Any, tmp_path: Path
) -> None:
    _, encode = ENCODINGS[encoding]
    half = diagnosed(tmp_path, encode(calls(span)))
    assert (half.outcome, half.cause, half.other) == ("unfinished", None, [])
    whole = diagnosed(tmp_path, encode([*calls(span), root(span)]))
    assert whole.outcome == "succeeded"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_call_that_failed_last_within_it_has_not_failed_the_run(
    encoding: str, span: Any, tmp_path: Path
) -> None:
    failed = span("search", 4, 1, at=(3, 4), status="ERROR", says="timed out", **SEARCH)
    half = diagnosed(tmp_path, ENCODINGS[encoding][1]([*calls(span), failed]))
    assert half.outcome == "unfinished"
    assert half.cause is not None
    assert (half.cause.rule, half.cause.severity) == ("tool_timeout", "warning")


def test_an_agent_within_it_that_ended_well_is_not_the_run(span: Any, tmp_path: Path) -> None:
    inner = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "helper"}
    helper = [span("chat", 3, 2, at=(1, 2), **CHAT), span("invoke_agent", 2, 1, **inner)]
    assert diagnosed(tmp_path, sdk_compact(helper)).outcome == "unfinished"


def test_what_is_called_by_another_program_is_the_outermost_of_its_own(
    span: Any, tmp_path: Path
) -> None:
    server = root(span) | {"parent_id": "0x00000000000000aa", "kind": "SpanKind.SERVER"}
    assert diagnosed(tmp_path, sdk_compact([*calls(span), server])).outcome == "succeeded"
    told = json.loads(otlp_hex([server | {"kind": "SpanKind.INTERNAL"}])[0])
    (one,) = told["resourceSpans"][0]["scopeSpans"][0]["spans"]
    for flags, outcome in ((0x301, "succeeded"), ("769", "succeeded"), (0x101, "unfinished")):
        spans = [*otlp_hex(calls(span)), request([{**one, "flags": flags}])]
        assert diagnosed(tmp_path, spans).outcome == outcome


def test_the_outermost_span_may_stand_in_another_file(span: Any, tmp_path: Path) -> None:
    files = sdk_compact(calls(span)), sdk_compact([root(span)])
    assert diagnosed(tmp_path, *files).outcome == "succeeded"
    assert diagnosed(tmp_path, *reversed(files)).outcome == "succeeded"


def test_a_crash_within_it_is_a_failure(span: Any, tmp_path: Path) -> None:
    agent = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "helper"}
    died = span("invoke_agent", 2, 1, status="ERROR", raised=("KeyError", "'answer'"), **agent)
    assert diagnosed(tmp_path, sdk_compact([died])).outcome == "failed"
