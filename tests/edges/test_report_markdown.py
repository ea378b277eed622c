"""markdown: renders as meant, and nothing out of a trace renders as anything but itself."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from types import ModuleType

import pytest
from markdown_it import MarkdownIt

from lastsignal.core.diagnosis.report import Report
from lastsignal.edges.report import render
from lastsignal.edges.report.markdown import MAX_CHARACTERS, code, escape, prose

GITHUB_LIMIT = 65_536

OWN_TAGS = {"h2", "h3", "p", "ul", "ol", "li", "strong", "code", "details", "summary"}


def markdown(report: Report) -> str:
    return render(report, "markdown")


def rendered(text: str) -> str:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    made: str = parser.render(text)
    return made


def shown(made: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", made)).replace("\u200b", "")


@pytest.mark.parametrize("name", ["demo", "busy"])
def test_the_markdown_is_the_one_that_was_looked_at(
    samples: ModuleType, golden: Callable[[str, str], None], name: str
) -> None:
    golden(f"{name}.md", markdown(getattr(samples, name)()))


@pytest.mark.parametrize("name", ["demo", "busy", "hostile"])
def test_only_tags_of_our_own_come_out_of_it(samples: ModuleType, name: str) -> None:
    made = rendered(markdown(getattr(samples, name)()))

    assert set(re.findall(r"</?([a-z0-9]+)", made)) <= OWN_TAGS
    assert not re.search(r"<[a-z0-9]+ ", made), "an attribute"
    assert made.count("<details>") == made.count("</details>")


def test_hostile_text_is_shown_as_it_is(samples: ModuleType) -> None:
    seen = shown(rendered(markdown(samples.hostile())))

    assert "<script>alert('x')</script> &amp; ]]> | pipe `tick` ```fence``` **bold**" in seen
    assert "![img](http://evil.example/x.png) [a](javascript:b) @everyone #1 {0}" in seen


@pytest.mark.parametrize(
    "text",
    [
        "a | b", "*b* **b** _b_ __b__ ~~b~~", "`c` ``c``", "<b>&lt;</b>", "[a](b) ![a](b) [a]",
        "# no", "- no", "web_search_v2", "a\\b", "$x$ $$y$$", "| a |\n|---|\n| b |", "```\nno\n```",
        "&#60;script&#62;", "<!-- no -->", "a_b_ c", "https://e.example/a_b_c?x=1&y=2",
    ],
)  # fmt: skip
def test_escaped_text_renders_as_itself(text: str) -> None:
    made = rendered(f"x {escape(text)} x")

    assert set(re.findall(r"</?([a-z0-9]+)", made)) == {"p"}
    assert shown(made).strip() == f"x {' '.join(text.split())} x"


@pytest.mark.parametrize("text", ["a", "`", "``", "`a`", "a``b`c", " ` ", "|", "<b>", "\\", "a\nb"])
def test_a_code_span_holds_any_text(text: str) -> None:
    made = rendered(f"- {code(text)}")

    assert made.count("<code>") == 1
    assert shown(made).strip() == " ".join(text.split())


def test_what_a_rule_quotes_in_backticks_is_code_and_nothing_more() -> None:
    made = rendered(prose("`web_search` said `<b>` and ``x` *no*"))

    assert made.startswith("<p><code>web_search</code> said <code>&lt;b&gt;</code> and ")
    assert set(re.findall(r"</?([a-z0-9]+)", made)) == {"p", "code"}


def test_numbered_steps_of_a_remedy_are_a_list(samples: ModuleType) -> None:
    found = markdown(samples.demo())

    assert "**Remedy**\n\n1. Look at the provider's quota page" in found
    assert "\n2. Give the client exponential backoff" in found


def test_nobody_is_mentioned_nothing_is_referred_to_and_no_address_becomes_a_link() -> None:
    found = escape("@everyone #12 !34 &56 https://evil.example www.evil.example a@b.example")

    assert not re.search(r"@\w|[#!&]\d|https?://|www\.", found)


def test_names_are_left_readable_in_the_source() -> None:
    assert escape("web_search failed after 3 (of 5) tries!") == (
        "web_search failed after 3 (of 5) tries!"
    )


def test_many_failed_runs_still_fit_into_a_comment(samples: ModuleType) -> None:
    many = samples.report(*[samples.hostile().traces[0] for _ in range(300)])
    found = markdown(many)

    assert len(found) < GITHUB_LIMIT
    assert MAX_CHARACTERS < GITHUB_LIMIT
    assert re.search(r"\n…and \d+ more in trouble\n", found)
    assert "300 traces: 300 failed" in found


def test_what_many_runs_died_of_is_summed_up_first(samples: ModuleType) -> None:
    crash = samples.finding(title="It *crashed*")
    found = markdown(
        samples.report(*[samples.trace() for _ in range(5)], samples.trace(cause=crash))
    )
    few = markdown(samples.report(*[samples.trace() for _ in range(5)]))

    assert "\n\n- 5 runs: Provider quota exhausted\n- 1 run: It \\*crashed\\*\n\n### " in found
    assert "- 5 runs: " not in few


def test_findings_that_are_alike_are_told_once_and_the_worst_first(samples: ModuleType) -> None:
    storms = [samples.retry_storm(group={"operation": f"tool_{n % 2}"}) for n in range(9)]
    late = samples.retry_storm(rule="late", title="Disk full", severity="critical")
    found = markdown(samples.report(samples.trace(symptoms=[], other=[*storms, late])))

    assert "11 findings: 2 critical, 9 warning" in found
    assert found.index("**Disk full** (critical)") < found.index("**Retry storm** (warning)")
    assert found.count("**Retry storm**") == 1
    assert "; 8 more like it: `tool\\_1`" not in found
    assert "; 8 more like it: `tool_1` (4), `tool_0` (4)\n" in found


def test_one_run_is_told_however_much_it_has_to_say(samples: ModuleType) -> None:
    bad = samples.hostile().traces[0]
    full = samples.trace(
        cause=bad.cause, symptoms=[bad.cause] * 50, other=[bad.cause] * 50,
        timeline=bad.timeline * 40, not_checked=bad.not_checked * 50,
    )  # fmt: skip
    found = markdown(samples.report(full, inputs=samples.hostile().inputs * 50))

    assert "### ✗ Failed" in found
    assert len(found) < GITHUB_LIMIT


def test_many_healthy_runs_are_summed_up(samples: ModuleType) -> None:
    runs = [samples.healthy(n, not_checked=["budget_gate"]) for n in range(40)]
    found = markdown(samples.report(*runs))

    assert "✓ 40 healthy traces: 40 succeeded." in found
    assert "**Unchecked.** budget_gate (40 traces): the records carry too little" in found


def test_nothing_given_and_nothing_found_read_well(samples: ModuleType) -> None:
    unread = samples.source("notes.txt", format=[], records=0, events=0)

    assert markdown(samples.report(inputs=[])).startswith("## Nothing was read\n")
    assert markdown(samples.report(inputs=[unread])).startswith(
        "## No traces found\n\n- ⚠ `notes.txt`: no event could be read from it\n"
    )
    assert "2 traces given up" in markdown(samples.report(evicted_traces=2))
