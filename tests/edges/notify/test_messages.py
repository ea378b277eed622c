"""What a message says, in which form, and what it never says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from lastsignal.core.diagnosis.findings import Evidence
from lastsignal.core.incidents import digest_of, folded, shortened
from lastsignal.edges.notify.compose import compose
from lastsignal.edges.notify.layout import as_markdown, as_text
from lastsignal.edges.notify.letter import trial_letter
from lastsignal.edges.notify.wording import clean

KEY = "sk-" + "ant-api03-" + "Zx7Qm2Kp9Rt4Lw1Bv8Ny3Hc6Jd5F"
ROOM = 32_768


def test_an_opened_incident_in_full(kit: Any) -> None:
    letter = compose(kit.notice("a"))

    assert letter.title == "CRITICAL: Provider quota exhausted (planner)"
    assert letter.severity == "critical"
    assert as_text(letter, ROOM) == "\n".join(
        [
            "search of a was refused twice",
            "",
            "Cause: The account has used up its quota.",
            "",
            "Remedy:",
            "  1. Raise the limit.",
            "  2. Wait until tomorrow.",
            "",
            "Evidence:",
            '  /traces/run.jsonl:3 {"error": "429"}',
            "",
            "Trace trace-a, crewai, seen 2 times, open since 2023-11-14 22:13:20 UTC,"
            " rule rate_limit_exhausted",
            "",
            "Look further: lastsignal incidents show ida",
        ]
    )


def test_the_same_in_markdown(kit: Any) -> None:
    assert as_markdown(compose(kit.notice("a")), ROOM) == "\n".join(
        [
            "search of a was refused twice",
            "",
            "**Cause:** The account has used up its quota.",
            "",
            "**Remedy:**",
            "",
            "- 1. Raise the limit.",
            "- 2. Wait until tomorrow.",
            "",
            "**Evidence:**",
            "",
            '- `/traces/run.jsonl:3` `{"error": "429"}`',
            "",
            "Trace trace-a, crewai, seen 2 times, open since 2023-11-14 22:13:20 UTC,"
            " rule rate\\_limit\\_exhausted",
            "",
            "**Look further:** `lastsignal incidents show ida`",
        ]
    )


def test_a_resolved_one_says_how_long_it_was_open(kit: Any) -> None:
    letter = compose(kit.notice("a", "resolved", state="resolved", resolved_at=kit.T0 + 305))

    assert letter.title == "Resolved: Provider quota exhausted (planner)"
    assert letter.over
    assert "open for 5 min 5 s" in as_text(letter, ROOM)
    assert "Evidence" not in as_text(letter, ROOM)


def test_a_repeated_one_says_that_it_is_still_open(kit: Any) -> None:
    letter = compose(kit.notice("a", "repeated", agents=[]))

    assert letter.title == "CRITICAL, still open: Provider quota exhausted (crewai)"


def test_a_title_keeps_the_severity_that_people_know(kit: Any) -> None:
    letter = compose(kit.notice("a", severity="info", told_severity="warning"))

    assert letter.title.startswith("WARNING: ")


def test_of_much_evidence_the_first_and_the_last_lines_are_shown(kit: Any) -> None:
    marks = [Evidence("run.jsonl", n, 0, "tool_result", 0.0, f"line {n}") for n in range(1, 21)]
    text = as_text(compose(kit.notice("a", evidence=marks)), ROOM)

    shown = [line.strip() for line in text.split("\n") if "run.jsonl" in line or "more" in line]
    assert shown == [
        "run.jsonl:1 line 1",
        "run.jsonl:2 line 2",
        "run.jsonl:3 line 3",
        "… 15 more lines …",
        "run.jsonl:19 line 19",
        "run.jsonl:20 line 20",
    ]


def test_a_long_record_is_cut_around_what_matters(kit: Any) -> None:
    excerpt = "before " * 500 + "quota exceeded for today" + " after" * 500
    mark = Evidence("run.jsonl", 1, 0, "tool_result", 0.0, excerpt, "quota exceeded")
    text = as_text(compose(kit.notice("a", evidence=[mark])), ROOM)

    (line,) = [line for line in text.split("\n") if "run.jsonl:1" in line]
    assert "quota exceeded for today" in line
    assert line.endswith("…") and len(line) < 350


class TestDigests:
    def test_it_counts_all_and_lists_the_worst(self, kit: Any) -> None:
        told = [
            ("opened", kit.incident(f"n{n}", rule="quota" if n % 3 else "crash"))
            for n in range(1200)
        ]
        told[700] = ("resolved", kit.incident("over", state="resolved", severity="warning"))
        letter = compose(shortened(digest_of(told, kit.T0)))

        assert letter.title == "1,200 incidents: 1,199 opened, 1 resolved"
        assert letter.severity == "critical"
        text = as_text(letter, ROOM).split("\n")
        assert text[0] == "More happened at once than is told one by one."
        assert text[2:5] == ["By rule:", "  quota: 799", "  crash: 400"]
        assert text.count("  CRITICAL Provider quota exhausted (trace trace-n0) idn0") == 1
        assert sum(line.startswith("  CRITICAL") for line in text) == 20
        assert text[-1] == "All of them: lastsignal incidents list"

    def test_one_of_ends_is_good_news(self, kit: Any) -> None:
        told = [("resolved", kit.incident(name, state="resolved")) for name in "ab"]

        letter = compose(digest_of(told, kit.T0))
        assert (letter.title, letter.over) == ("2 incidents: 2 resolved", True)

    def test_one_that_stands_for_messages_says_so(self, kit: Any) -> None:
        letter = compose(folded([kit.notice(name) for name in "abc"], kit.T0))

        assert as_text(letter, ROOM).startswith("3 messages waited for this target")

    def test_many_rules_are_summed_up(self, kit: Any) -> None:
        told = [("opened", kit.incident(f"n{n}", rule=f"rule{n:02}")) for n in range(15)]

        assert "  … 5 more rules: 5" in as_text(compose(digest_of(told, kit.T0)), ROOM)


class TestLimits:
    @pytest.mark.parametrize("limit", range(160, 900, 7))
    def test_bodies_are_cut_between_lines_and_say_where_to_look(self, kit: Any, limit: int) -> None:
        letter = compose(kit.notice("a"))
        whole = as_text(letter, ROOM)

        for body in (as_text(letter, limit), as_markdown(letter, limit)):
            assert len(body) <= limit
            assert "lastsignal incidents show ida" in body
        body = as_text(letter, limit)
        assert body == whole or "… (cut here)" in body
        assert all(line in [*whole.split("\n"), "… (cut here)"] for line in body.split("\n"))

    @pytest.mark.parametrize("limit", [1, 2, 10, 29, 60])
    def test_a_service_for_very_short_messages_gets_the_first_line(
        self, kit: Any, limit: int
    ) -> None:
        body = as_text(compose(kit.notice("a")), limit)

        assert 0 < len(body) <= limit
        assert "search of a was refused twice".startswith(body.rstrip("…"))

    def test_a_first_line_that_is_too_long_is_shortened(self, kit: Any) -> None:
        letter = compose(kit.notice("a", summary="word " * 70))

        for form in (as_text, as_markdown):
            body = form(letter, 160)
            assert len(body) <= 160
            assert body.startswith("word word word word word word")
            assert "lastsignal incidents show ida" in body

    def test_what_grows_as_html_still_fits(self, kit: Any) -> None:
        import html

        letter = compose(kit.notice("a", summary="<&>" * 200, cause="&" * 2000))
        for limit in (200, 500, 2000):
            assert len(html.escape(as_text(letter, limit), quote=False)) <= limit

    def test_nothing_is_longer_than_a_message(self, kit: Any) -> None:
        long = "word " * 50_000
        one = kit.notice(
            "a",
            title=long,
            summary=long,
            cause=long,
            remedy=long,
            trace_id=long,
            agents=[long] * 50,
            evidence=[Evidence(long, 1, 0, "x", 0.0, long, long)] * 20,
        )
        letter = compose(one)

        assert len(letter.title) < 400
        assert len(as_text(letter, ROOM)) < 8_000
        assert len(json.dumps(letter.document)) < 200_000


class TestRedaction:
    def test_no_secret_leaves_in_any_part_of_a_message(self, kit: Any) -> None:
        values = {
            name: f"{name} {KEY} of jane.doe@example.com password=hunter2222"
            for name in ("title", "summary", "cause", "remedy", "trace_id", "framework")
        }
        mark = Evidence(f"/home/{KEY}/run", 1, 0, "x", 0.0, f'{{"api_key": "{KEY}"}}', KEY)
        group = {"operation": KEY, "password": "hunter2222"}
        one = kit.notice("a", agents=[KEY], group=group, evidence=[mark], **values)
        letter = compose(one)

        everything = json.dumps(
            [letter.title, as_text(letter, ROOM), as_markdown(letter, ROOM), letter.document]
        )
        for secret in (KEY, "sk-" + "ant", "jane.doe", "hunter2222"):
            assert secret not in everything
        assert "[redacted:anthropic-key]" in everything

    def test_a_secret_is_redacted_before_anything_is_cut(self, kit: Any) -> None:
        for at in range(0, 60, 3):
            excerpt = "x" * (300 - at) + f' "key": "{KEY}" ' + "y" * 400
            mark = Evidence("r", 1, 0, "x", 0.0, excerpt, "y" * 5)
            text = as_text(compose(kit.notice("a", evidence=[mark])), ROOM)
            assert not any(KEY[n : n + 12] in text for n in range(len(KEY) - 12))

    def test_characters_that_nobody_sees_hide_no_secret(self) -> None:
        assert clean("\u200b".join(KEY), 500) == "[redacted:anthropic-key]"


class TestHostileText:
    def test_nobody_is_called_and_nothing_becomes_markup(self, kit: Any) -> None:
        evil = "@everyone <!channel> <@U123> **bold** [x](http://evil) `code` \x1b[31m\n# head"
        mark = Evidence("r`un", 1, 0, "x", 0.0, "a `` b ` c", "")
        letter = compose(kit.notice("a", summary=evil, evidence=[mark]))

        text, markdown = as_text(letter, ROOM), as_markdown(letter, ROOM)
        for body in (text, markdown):
            assert "@everyone" not in body
            assert "<!" not in body and "<@" not in body
            assert "\x1b" not in body
        assert "\\*\\*bold\\*\\* \\[x\\]\\(http://evil\\) \\`code\\`" in markdown
        assert "- ``r`un:1`` ```a `` b ` c```" in markdown
        assert len(text.split("\n")[0]) > 40  # all of it on one line

    def test_times_that_no_calendar_holds_are_left_out(self, kit: Any) -> None:
        assert as_text(compose(kit.notice("a", openings=[1e300])), ROOM)


def test_the_document_is_for_machines(kit: Any) -> None:
    document = compose(kit.notice("a")).document

    assert document["kind"] == "opened"
    (one,) = document["incidents"]
    assert one["id"] == "ida"
    assert one["group"] == {"trace_id": "trace-a", "operation": "search"}
    assert one["evidence"][0] == {
        "source": "/traces/run.jsonl",
        "line": 3,
        "offset": 120,
        "event_type": "tool_result",
        "timestamp": kit.T0 - 10,
        "excerpt": '{"error": "429"}',
    }
    msgspec.json.encode(document)


def test_the_test_message_says_what_it_is() -> None:
    assert as_text(trial_letter(), ROOM).startswith("This is a test")
