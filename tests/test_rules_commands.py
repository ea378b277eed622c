"""The commands for rule authors: new, lint, test, backtest, schema, docs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from lastsignal.cli import run
from lastsignal.edges.rulefiles import builtin_rules, read_rules
from lastsignal.edges.rulefiles.skeleton import skeleton

Lint = Callable[..., list[str]]


def mine(folder: Path, **changes: Any) -> Path:
    """Write a rule with some keys changed."""
    raw = yaml.safe_load(skeleton("mine", "mine.yaml")) | changes
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    return path


@pytest.fixture
def warned(tmp_path: Path) -> Lint:
    """Return the warnings of a rule with some keys changed."""

    def lint(**changes: Any) -> list[str]:
        found = read_rules([mine(tmp_path, **changes)], warn=True)
        assert found.errors == []
        assert all(problem.line and problem.fix for problem in found.problems)
        return [problem.message for problem in found.problems]

    return lint


# -- new -----------------------------------------------------------------------------------------


def test_a_new_rule_lints_without_a_warning_and_passes_its_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rules", "new", "search_fails", "-d", str(tmp_path / "rules")]) == 0
    path = tmp_path / "rules" / "search_fails.yaml"

    assert path.is_file()
    assert run(["rules", "lint", "--strict", str(path)]) == 0
    assert run(["rules", "test", str(path)]) == 0
    assert "1 rules, 3 cases: 3 passed, 0 failed" in capsys.readouterr().err
    assert "#" in path.read_text(encoding="utf-8")


def test_a_new_rule_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "search_fails.yaml").write_text("precious", encoding="utf-8")

    assert run(["rules", "new", "search_fails", "-d", str(tmp_path)]) == 3
    assert (tmp_path / "search_fails.yaml").read_text(encoding="utf-8") == "precious"
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../evil", "Search", "x", "retry_storm"])
def test_a_new_rule_needs_an_id_of_its_own(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["rules", "new", name, "-d", str(tmp_path)]) == 3
    assert list(tmp_path.iterdir()) == []
    assert f"`{name}`" in capsys.readouterr().err


# -- lint: what can never matter ---------------------------------------------------------------


def test_a_rule_without_fault_has_no_warning(warned: Lint) -> None:
    assert warned() == []


def test_a_parameter_that_nothing_uses(warned: Lint) -> None:
    assert warned(params={"at_least": 2, "within": "5m"}) == [
        "the parameter `within` is used nowhere"
    ]


def test_a_parameter_that_only_a_text_quotes_is_used(warned: Lint) -> None:
    assert warned(params={"at_least": 2, "owner": "b"}, remedy="Call {owner}.") == []


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            {"event_type": "tool_call", "status": "failed"},
            "no layout writes an event of this type with this status",
        ),
        (
            {"event_type": "tool_result", "status": "completed", "error_class": "timeout"},
            "`error_class` is only there where something failed",
        ),
        (
            {"event_type": "model_call", "status": "started", "finish_reason": "length"},
            "`finish_reason` is known when a call ends",
        ),
        (
            {"event_type": "tool_result", "status": "failed", "framework": "claude-cod"},
            "no layout is called `claude-cod`",
        ),
    ],
)
def test_a_condition_that_no_layout_fills(
    warned: Lint, where: dict[str, Any], message: str
) -> None:
    assert message in warned(where=where)


@pytest.mark.parametrize(
    ("window", "message"),
    [
        (
            {"kind": "count", "at_least": 3, "within": 60, "reset": {"status": "failed"}},
            "every event that counts also resets: the count never passes 1",
        ),
        (
            {"kind": "distinct", "field": "operation", "group_by": ["trace_id", "operation"],
             "at_least": 2, "within": 60},
            "each group has one `operation`, for it is in group_by",
        ),
        (
            {"kind": "distinct", "field": "status", "at_least": 3, "within": 60},
            "`status` has 1 values here, fewer than 3",
        ),
        (
            {"kind": "ratio", "of": {"status": "completed"}, "at_least": 0.5, "within": 60},
            "nothing that meets `where` can be part of it",
        ),
        (
            {"kind": "ratio", "of": {"operation": "a"}, "at_least": 0.5, "within": 60,
             "min_sample": 9999},
            "`min_sample` is 9999, and a group remembers 4096",
        ),
        (
            {"kind": "sequence", "within": 60, "steps": [
                {"where": {"operation": "a"}}, {"where": {"event_type": "retry"}}]},
            "no event meets this step and the rule's `where`",
        ),
        (
            {"kind": "silence", "after": 60, "pair": "call"},
            "`pair: call` waits for the end of a tool_call or model_call",
        ),
    ],
)  # fmt: skip
def test_a_window_that_can_never_be_reached(
    warned: Lint, window: dict[str, Any], message: str
) -> None:
    case = {"event_type": "tool_result"}
    tests = [
        {"name": "fires", "events": [case], "expect": [{"count": 1}]},
        {"name": "stays quiet", "events": [case]},
    ]
    assert message in warned(window=window, params={}, tests=tests)


def test_relations_that_never_hold(warned: Lint) -> None:
    assert warned(explains=["run_failed", "run_failed"]) == ["`run_failed` is explained twice"]
    assert warned(severity="info") == [
        "`explains` of an info rule is never used: information excuses nothing"
    ]
    only_search = {"event_type": "tool_result", "status": "failed", "operation": "search"}
    assert warned(where=only_search, explains=["heartbeat_lost"]) == [
        "`heartbeat_lost` is never of the same operation as this rule"
    ]


def test_the_end_of_a_rule_s_life(warned: Lint) -> None:
    assert warned(status="deprecated") == ["the rule is deprecated and names no successor"]
    assert warned(status="deprecated", superseded_by="retry_storm") == []
    assert warned(superseded_by="retry_storm") == ["the rule has a successor but is not deprecated"]
    assert warned(status="stable") == [
        "a stable rule has at least three tests that fire and three that stay quiet"
    ]


def test_warnings_are_errors_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(mine(tmp_path, status="deprecated"))

    assert run(["rules", "lint", path]) == 0
    assert run(["rules", "lint", "--strict", path]) == 2
    printed = capsys.readouterr()
    assert f"{path}:3: warning: the rule is deprecated" in printed.out
    assert "0 errors, 1 warnings" in printed.err


def test_the_built_in_rules_have_no_warning() -> None:
    assert [str(problem) for problem in read_rules(warn=True).problems] == []


# -- test ----------------------------------------------------------------------------------------


def test_a_failing_case_shows_what_differs_and_when_things_happened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = {"event_type": "tool_result", "operation": "search", "status": "failed"}
    tests = [
        {
            "name": "two failures",
            "events": [{"at": "2s", **failed, "error_message": "HTTP 503"}, {"like": 0}],
            "expect": [{"at": "9s", "count": 2}],
        },
        {"name": "one failure", "events": [failed]},
    ]
    junit = tmp_path / "results.xml"

    assert run(["rules", "test", str(mine(tmp_path, tests=tests)), "--junit", str(junit)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "FAILED mine: two failures"
    assert lines[1].startswith("    at: expected 9s, found 3s (in {at: 3s, count: 2, ")
    assert lines[2:] == [
        "    events",
        "           2s  line 1: tool_result search failed HTTP 503 [overloaded]",
        "           3s  line 2: tool_result search failed HTTP 503 [overloaded]",
    ]
    suites = ElementTree.parse(junit).getroot()
    assert (suites.get("tests"), suites.get("failures")) == ("2", "1")
    failure = suites.find("testsuite/testcase/failure")
    assert failure is not None
    assert "expected 9s, found 3s" in (failure.get("message") or "")


# -- schema and docs -------------------------------------------------------------------------------


def test_schema_and_docs_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "schema"]) == 0
    assert run(["rules", "docs"]) == 0
    assert builtin_rules().is_dir()
