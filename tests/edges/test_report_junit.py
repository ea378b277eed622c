"""junit: XML that parses whatever the traces say, and fails what the caller calls a failure."""

from __future__ import annotations

from types import ModuleType
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from lastsignal.core.diagnosis.report import Report
from lastsignal.core.rules import Severity
from lastsignal.edges.report import Options, render

# attributes that the readers of Jenkins and GitLab know
KNOWN = {
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "testcase": {"classname", "name", "time", "file"},
    "failure": {"type", "message"},
    "error": {"message"},
    "skipped": {"message"},
    "system-err": set(),
    "system-out": set(),
}


def suites(report: Report, fail_on: Severity | None = "warning") -> Element:
    return ElementTree.fromstring(render(report, "junit", Options(fail_on=fail_on)))


def cases(report: Report, fail_on: Severity | None = "warning") -> list[Element]:
    return suites(report, fail_on).findall("testsuite/testcase")


def text_of(element: Element, path: str) -> str:
    found = element.find(path)
    assert found is not None
    return found.text or ""


def test_a_failed_trace_is_one_failed_case_with_all_its_findings(samples: ModuleType) -> None:
    (case,) = cases(samples.demo())
    failure = case.find("failure")

    assert case.attrib == {
        "classname": "native",
        "name": "ls_demo_881",
        "time": "3.700",
        "file": "examples/sample_failure_trace.jsonl",
    }
    assert failure is not None
    assert failure.get("type") == "rate_limit_exhausted"
    assert str(failure.get("message")).startswith(
        "Provider quota exhausted: `web_search` was rate-"
    )
    told = failure.text or ""
    for part in (
        "critical: Provider quota exhausted: ",
        "Cause: `web_search` was refused",
        "Remedy: 1. Look at the provider's quota",
        "examples/sample_failure_trace.jsonl:3  {",
        "warning: Retry storm: ",
        "critical: Run crashed: ",
    ):
        assert part in told
    assert text_of(case, "system-out").startswith("failed: 3.7 s · 2 calls · 2 failures")
    assert "not checked is not clean" in text_of(case, "system-out")


@pytest.mark.parametrize(
    ("fail_on", "failing"), [("info", 3), ("warning", 2), ("critical", 1), (None, 0)]
)
def test_the_caller_says_which_severity_fails(
    samples: ModuleType, fail_on: Severity | None, failing: int
) -> None:
    report = samples.report(
        *(
            samples.trace(cause=samples.finding(severity=severity), symptoms=[])
            for severity in ("info", "warning", "critical")
        )
    )
    found = cases(report, fail_on)

    assert sum(case.find("failure") is not None for case in found) == failing
    assert suites(report, fail_on).get("failures") == str(failing)
    for case in found:  # what does not fail is told beside
        beside = text_of(case, "system-out")
        assert ("Provider quota" in beside) is (case.find("failure") is None)


def test_the_totals_are_those_of_the_cases(samples: ModuleType) -> None:
    root = suites(samples.busy())
    suite = root.find("testsuite")

    assert suite is not None
    assert suite.attrib == {
        "name": "lastsignal diagnose",
        "tests": "6",
        "failures": "2",
        "errors": "0",
        "skipped": "1",
        "time": f"{3.7 + 3784 + 3.7 + 42 + 43:.3f}",
        "timestamp": "2024-10-31T22:05:00",
    }
    assert root.get("tests") == "6"


def test_an_input_without_events_is_skipped_and_an_error_where_nothing_was_read(
    samples: ModuleType,
) -> None:
    unread = samples.source("notes.txt", format=[], events=0, advice="give a trace")
    beside = cases(samples.report(samples.trace(), inputs=[samples.source(), unread]))
    alone = cases(samples.report(inputs=[unread]))

    assert beside[1].find("skipped[@message='give a trace']") is not None
    assert alone[0].find("error[@message='give a trace']") is not None


@pytest.mark.parametrize("name", ["demo", "busy", "hostile"])
def test_only_known_elements_and_attributes_are_written(samples: ModuleType, name: str) -> None:
    for element in suites(getattr(samples, name)()).iter():
        assert set(element.attrib) <= KNOWN[element.tag]


def test_hostile_text_is_text_and_holds_no_character_that_xml_forbids(samples: ModuleType) -> None:
    xml = render(samples.hostile(), "junit")
    case = suites(samples.hostile()).find("testsuite/testcase")

    assert xml.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ')
    assert not set(xml) & {*map(chr, range(9)), "\x0b", "\x0c", *map(chr, range(14, 32)), "\udcff"}
    assert case is not None
    assert "<script>alert('x')</script> &amp; ]]> |" in text_of(case, "failure")
    assert r"\x1b[31mred" in str(case.get("name"))
    assert len(xml) < 20_000


def test_what_was_odd_or_given_up_is_told_beside_the_cases(samples: ModuleType) -> None:
    odd = samples.source(mended={"duplicate_key": 1}, first_mended={"duplicate_key": 7})
    suite = suites(samples.report(samples.trace(), inputs=[odd], evicted_traces=2))[0]

    assert [element.tag for element in suite] == ["testcase", "system-err"]
    first, second = (suite[1].text or "").splitlines()
    assert first.startswith("1 record holds a key twice (in examples/sample_failure_trace.jsonl:7)")
    assert second.startswith("2 traces given up")


def test_times_that_are_unknown_or_no_number_are_zero(samples: ModuleType) -> None:
    runs = [samples.trace(duration_seconds=seconds) for seconds in (None, -1.0, float("nan"))]

    assert [case.get("time") for case in cases(samples.report(*runs))] == ["0.000"] * 3
    assert suites(samples.report(samples.trace(started_at=None))).find("testsuite[@timestamp]") is (
        None
    )


def test_a_report_of_nothing_is_an_empty_suite(samples: ModuleType) -> None:
    assert suites(samples.report(inputs=[])).find("testsuite[@tests='0']") is not None
