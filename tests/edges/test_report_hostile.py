"""Any text in any place: no format breaks, and none lets it act."""

from __future__ import annotations

import json
import re
from types import ModuleType
from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from lastsignal.core.diagnosis import Moment
from lastsignal.core.diagnosis.report import Report
from lastsignal.edges.report import Options, render

TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=[]),  # surrogates too: names of files
        st.sampled_from("`*_~[]()<>|\\!#&@$-+.:/{}\n\r\t\x1b\x9b\u2028\u202e\"'0aA"),
    ),
    max_size=60,
)


def everywhere(samples: ModuleType, text: str) -> Report:
    mark = samples.evidence(1, 1.0, source=text, excerpt=text, focus=text[:3])
    bad = samples.finding(
        title=text, summary=text, cause=text, remedy=text, category=text, rule=text,
        group={text: text}, evidence=[mark],
    )  # fmt: skip
    moment = Moment(
        at=mark, status="failed", operation=text, agent=text, error_class=text, error_message=text
    )
    failed = samples.trace(
        trace_id=text, framework=text, agents=[text], cause=bad, symptoms=[bad], other=[bad],
        not_checked=[text], timeline=[moment],
    )  # fmt: skip
    fine = samples.healthy(trace_id=text, framework=text, agents=[text], not_checked=[text])
    unread = samples.source(text, format=[text], events=0, skipped={text: 1}, advice=text)
    report: Report = samples.report(failed, fine, inputs=[unread])
    return report


@settings(deadline=None)
@given(text=TEXT)
def test_machines_can_read_whatever_a_trace_says(samples: ModuleType, text: str) -> None:
    report = everywhere(samples, text)
    found = json.loads(render(report, "json"))
    lines = render(report, "ndjson").splitlines()
    suite = ElementTree.fromstring(render(report, "junit"))
    log = json.loads(render(report, "sarif"))

    assert [json.loads(line)["trace_id"] for line in lines] == [
        one["trace_id"] for one in found["traces"]
    ]
    if text.isprintable():
        assert found["traces"][0]["cause"]["title"] == text
    assert len(suite.findall("testsuite/testcase")) == 3
    assert len(log["runs"][0]["results"]) == 3


@settings(deadline=None)
@given(text=TEXT)
def test_people_see_text_and_never_codes_or_markup(samples: ModuleType, text: str) -> None:
    report = everywhere(samples, text)
    terminal = render(report, "text", Options(width=80))
    made = MarkdownIt("commonmark", {"html": True}).render(render(report, "markdown"))

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", terminal)
    assert terminal.count("Remedy") <= 1 + 20 * ("R" in text)
    tags = set(re.findall(r"<(?!/)([a-z0-9]+)", made))
    assert tags <= {"h2", "h3", "p", "ul", "ol", "li", "strong", "code", "details", "summary"}
    assert not re.search(r"<[a-z0-9]+ [a-z]+=", made)
