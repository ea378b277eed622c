"""How incidents live, and who hears of them when."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastsignal.core.diagnosis.findings import Evidence, Finding, finding_id
from lastsignal.core.incidents import (
    MAX_DIGEST_INCIDENTS,
    Incident,
    IncidentBook,
    IncidentPolicy,
    Notice,
    Silence,
    folded,
    labels_of,
    narrowed,
    shortened,
    standing_since,
)

T0 = 1_700_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


def finding(name: str = "a", rule: str = "quota", **changes: Any) -> Finding:
    """Return a finding of a trace."""
    group = {"trace_id": name, "operation": "search"}
    values: dict[str, Any] = {
        "id": finding_id(rule, group),
        "rule": rule,
        "severity": "critical",
        "category": "execution-error",
        "title": "Quota exhausted",
        "summary": "search failed twice",
        "cause": "the quota is used up",
        "remedy": "wait",
        "group": group,
        "trace_id": name,
        "count": 2,
        "first_seen": 10.0,
        "last_seen": 20.0,
        "opened_at": 20.0,
        "healed": False,
        "evidence": [Evidence("run.jsonl", 3, 120, "tool_result", 20.0)],
    }
    return Finding(**{**values, **changes})


def more(one: Finding, by: int = 1) -> Finding:
    """Return the finding after it has shown again."""
    replace = msgspec.structs.replace
    return replace(one, count=one.count + by, last_seen=one.last_seen + by)


def healed(one: Finding) -> Finding:
    """Return the finding after what it watched for has ended well."""
    return msgspec.structs.replace(one, healed=True, severity="info")


def book(*stored: Incident, **policy: Any) -> IncidentBook:
    """Return a book."""
    return IncidentBook(IncidentPolicy(**policy), stored)


def rebuilt(old: IncidentBook) -> IncidentBook:
    """Return the book that a new process makes of what the old one's store holds."""
    data = msgspec.msgpack.encode(list(old.incidents.values()))
    return IncidentBook(
        old.policy, msgspec.msgpack.decode(data, type=list[Incident]), old.silences.values()
    )


def kinds(notices: list[Notice]) -> list[str]:
    """Return what the notices are."""
    return [notice.kind for notice in notices]


class TestLife:
    def test_a_finding_opens_one_incident_and_is_told_once(self) -> None:
        incidents = book()

        assert incidents.observe(finding(), T0) == "opened"
        assert kinds(incidents.take_notices(T0)) == ["opened"]
        assert incidents.observe(finding(), T0 + 1) is None
        assert incidents.take_notices(T0 + 1) == []

    def test_what_it_says_is_brought_up_to_date_without_a_word(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.observe(
            more(finding(summary="search failed 3 times")), T0 + 5, agents=["planner"]
        )

        (incident,) = incidents.incidents.values()
        assert (incident.count, incident.summary) == (3, "search failed 3 times")
        assert (incident.opened_at, incident.updated_at) == (T0, T0 + 5)
        assert incident.agents == ["planner"]
        assert incidents.take_notices(T0 + 5) == []

    def test_only_what_changed_is_to_be_written(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        assert incidents.changed == {finding().id}

        incidents.changed.clear()
        incidents.observe(finding(), T0 + 1)
        incidents.take_notices(T0 + 1)
        assert incidents.changed == set()

    def test_healing_resolves_and_keeps_how_bad_it_was(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)

        assert incidents.observe(healed(finding()), T0 + 9) == "resolved"
        (notice,) = incidents.take_notices(T0 + 9)
        assert notice.kind == "resolved"
        assert notice.incidents[0].resolved_at == T0 + 9
        assert notice.incidents[0].severity == "critical"
        assert incidents.take_notices(T0 + 10) == []

    def test_what_had_healed_when_it_was_first_seen_is_history_that_nobody_is_told_of(self) -> None:
        incidents = book()

        incidents.observe(healed(finding()), T0)

        (kept,) = incidents.incidents.values()
        assert (kept.state, kept.told) == ("resolved", None)
        assert incidents.take_notices(T0) == []

    def test_what_healed_before_anybody_was_told_is_not_told_at_all(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.observe(healed(finding()), T0)

        assert incidents.take_notices(T0) == []

    def test_silence_of_a_finding_resolves_it_after_a_while(self) -> None:
        incidents = book(resolve_after=600)
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.observe(more(finding()), T0 + 300)
        incidents.observe(more(finding()), T0 + 899)  # adds nothing

        assert incidents.take_notices(T0 + 899.9) == []
        assert kinds(incidents.take_notices(T0 + 900)) == ["resolved"]
        assert incidents.transitions == {("opened", "quota"): 1, ("resolved", "quota"): 1}

    def test_more_of_the_same_opens_it_again_and_an_old_state_does_not(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.acknowledge(finding().id, T0)
        incidents.observe(healed(finding()), T0 + 1)
        incidents.take_notices(T0 + 1)

        assert incidents.observe(finding(), T0 + 2) is None  # as after a replay
        assert incidents.observe(more(finding()), T0 + 3) == "reopened"
        (notice,) = incidents.take_notices(T0 + 3)
        assert notice.kind == "opened"
        assert notice.incidents[0].acknowledged_at is None
        assert notice.incidents[0].openings == [T0, T0 + 3]

    def test_a_count_that_began_anew_is_more_of_the_same_too(self) -> None:
        incidents = book()
        incidents.observe(finding(count=50), T0)
        incidents.observe(healed(finding(count=50)), T0 + 1)

        again = finding(count=2, last_seen=99.0)  # the rule's memory of the group was given up
        assert incidents.observe(again, T0 + 2) == "reopened"

    def test_the_same_finding_of_another_process_is_the_same_incident(self) -> None:
        first = book()
        first.observe(finding(), T0)
        first.take_notices(T0)
        second = rebuilt(first)

        assert second.observe(finding(), T0 + 60) is None
        assert second.take_notices(T0 + 60) == []
        assert len(second.incidents) == 1

    def test_the_history_forgets_by_age(self) -> None:
        incidents = book(keep_resolved=DAY)
        incidents.observe(finding(), T0)
        incidents.observe(healed(finding()), T0)
        incidents.take_notices(T0)
        incidents.changed.clear()

        incidents.take_notices(T0 + DAY - 1)
        assert incidents.incidents
        incidents.take_notices(T0 + DAY)
        assert incidents.incidents == {}
        assert incidents.changed == {finding().id}  # to be deleted

    def test_the_history_forgets_by_number_but_never_who_must_still_be_told(self) -> None:
        incidents = book(max_resolved=2, storm_limit=1)
        for name in "abcd":
            incidents.observe(finding(name), T0)
        incidents.take_notices(T0)  # one digest: the window has no more room
        for at, name in enumerate("abcd"):
            incidents.observe(healed(finding(name)), T0 + at)

        incidents.take_notices(T0 + 5)
        assert len(incidents.incidents) == 4
        incidents.take_notices(T0 + 61)
        assert {one.trace_id for one in incidents.incidents.values()} == {"c", "d"}


class TestRepeating:
    def test_an_open_incident_is_told_again_after_the_interval(self) -> None:
        incidents = book(repeat_interval=HOUR, resolve_after=DAY)
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)

        assert incidents.take_notices(T0 + HOUR - 1) == []
        assert kinds(incidents.take_notices(T0 + HOUR)) == ["repeated"]
        assert incidents.take_notices(T0 + HOUR + 1) == []
        assert kinds(incidents.take_notices(T0 + 2 * HOUR)) == ["repeated"]

    def test_who_has_taken_it_is_not_told_again(self) -> None:
        incidents = book(repeat_interval=HOUR, resolve_after=DAY)
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.acknowledge(finding().id, T0 + 60)

        assert incidents.take_notices(T0 + 5 * HOUR) == []
        incidents.observe(healed(finding()), T0 + 6 * HOUR)
        assert kinds(incidents.take_notices(T0 + 6 * HOUR)) == ["resolved"]

    def test_nobody_takes_what_is_unknown(self) -> None:
        with pytest.raises(KeyError):
            book().acknowledge("nothing", T0)

    def test_what_gets_worse_is_told_at_once(self) -> None:
        incidents = book()
        incidents.observe(finding(severity="warning"), T0)
        incidents.take_notices(T0)

        incidents.observe(finding(severity="critical"), T0 + 1)
        (notice,) = incidents.take_notices(T0 + 1)
        assert (notice.kind, notice.incidents[0].severity) == ("opened", "critical")
        incidents.observe(finding(severity="warning"), T0 + 2)
        assert incidents.take_notices(T0 + 2) == []
        assert incidents.incidents[finding().id].told_severity == "critical"

    def test_what_is_below_the_severity_is_kept_and_not_told(self) -> None:
        incidents = book(notify_from="critical")
        incidents.observe(finding(severity="warning"), T0)

        assert incidents.take_notices(T0) == []
        assert len(incidents.incidents) == 1

    def test_where_ends_are_not_told_the_next_opening_still_is(self) -> None:
        incidents = book(send_resolved=False)
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.observe(healed(finding()), T0 + 1)
        assert incidents.take_notices(T0 + 1) == []

        incidents.observe(more(finding()), T0 + HOUR)
        assert kinds(incidents.take_notices(T0 + HOUR)) == ["opened"]


class TestCauses:
    def test_a_symptom_of_an_open_incident_is_not_told(self) -> None:
        incidents = book()
        cause, symptom = finding(), finding(rule="retry_storm")
        incidents.observe(symptom, T0, explained_by=cause.id)
        incidents.observe(cause, T0)

        (notice,) = incidents.take_notices(T0)
        assert notice.incidents[0].rule == "quota"
        assert incidents.is_inhibited(incidents.incidents[symptom.id])

    def test_a_symptom_stands_for_itself_once_its_cause_has_ended(self) -> None:
        incidents = book()
        cause, symptom = finding(), finding(rule="retry_storm")
        incidents.observe(cause, T0)
        incidents.observe(symptom, T0, explained_by=cause.id)
        incidents.take_notices(T0)

        incidents.observe(healed(cause), T0 + 1)
        told = incidents.take_notices(T0 + 1)
        assert sorted((n.kind, n.incidents[0].rule) for n in told) == [
            ("opened", "retry_storm"),
            ("resolved", "quota"),
        ]

    def test_a_cause_does_not_end_before_its_last_symptom(self) -> None:
        """Else half an hour after a crash its symptoms would be told as if they were new."""
        incidents = book(resolve_after=600)
        cause, symptom = finding(), finding(rule="retry_storm")
        incidents.observe(cause, T0)
        incidents.observe(symptom, T0, explained_by=cause.id)
        incidents.take_notices(T0)
        incidents.observe(more(symptom), T0 + 100, explained_by=cause.id)

        assert incidents.take_notices(T0 + 650) == []
        assert kinds(incidents.take_notices(T0 + 700)) == ["resolved"]
        assert {one.state for one in incidents.incidents.values()} == {"resolved"}

    def test_a_symptom_that_was_told_before_its_cause_is_not_told_again_and_ends_aloud(
        self,
    ) -> None:
        incidents = book(repeat_interval=HOUR, resolve_after=DAY)
        cause, symptom = finding(), finding(rule="retry_storm")
        incidents.observe(symptom, T0)
        incidents.take_notices(T0)
        incidents.observe(cause, T0 + 1)
        incidents.observe(symptom, T0 + 1, explained_by=cause.id)
        assert [n.incidents[0].rule for n in incidents.take_notices(T0 + 1)] == ["quota"]

        repeated = incidents.take_notices(T0 + 2 * HOUR)
        assert [n.incidents[0].rule for n in repeated] == ["quota"]
        incidents.observe(healed(symptom), T0 + 2 * HOUR, explained_by=cause.id)
        assert kinds(incidents.take_notices(T0 + 2 * HOUR)) == ["resolved"]

    def test_a_cause_that_nobody_is_told_of_hides_no_symptom(self) -> None:
        incidents = book()
        cause, symptom = finding(severity="info"), finding(rule="retry_storm")
        incidents.observe(cause, T0)
        incidents.observe(symptom, T0, explained_by=cause.id)

        assert [n.incidents[0].rule for n in incidents.take_notices(T0)] == ["retry_storm"]

    @pytest.mark.parametrize("rules", [("a",), ("a", "b"), ("a", "b", "c")])
    def test_incidents_that_explain_one_another_are_told(self, rules: tuple[str, ...]) -> None:
        incidents = book()
        found = [finding(rule=rule) for rule in rules]
        for one, other in zip(found, [*found[1:], found[0]], strict=True):
            incidents.observe(one, T0, explained_by=other.id)

        assert kinds(incidents.take_notices(T0)) == ["opened"] * len(rules)

    def test_what_goes_on_after_its_cause_has_ended_keeps_that_one_ended(self) -> None:
        incidents = book()
        cause, symptom = finding(), finding(rule="retry_storm")
        incidents.observe(cause, T0)
        incidents.observe(symptom, T0, explained_by=cause.id)
        incidents.observe(healed(cause), T0 + 1)
        incidents.observe(more(symptom), T0 + 2, explained_by=cause.id)

        assert incidents.incidents[cause.id].updated_at == T0
        assert incidents.incidents[symptom.id].updated_at == T0 + 2

    def test_a_symptom_may_turn_out_to_have_another_cause_or_none(self) -> None:
        incidents = book()
        causes, symptom = [finding(), finding(rule="crash")], finding(rule="retry_storm")
        for cause in causes:
            incidents.observe(cause, T0)
            incidents.observe(symptom, T0, explained_by=cause.id)
        incidents.take_notices(T0)

        incidents.observe(healed(causes[0]), T0 + 1)
        assert [n.incidents[0].rule for n in incidents.take_notices(T0 + 1)] == ["quota"]
        incidents.observe(symptom, T0 + 2)
        assert [n.incidents[0].rule for n in incidents.take_notices(T0 + 2)] == ["retry_storm"]

    def test_forgotten_symptoms_leave_nothing_behind(self) -> None:
        incidents = book(keep_resolved=60)
        cause, symptoms = finding(), [finding(rule=rule) for rule in ("one", "two")]
        incidents.observe(cause, T0)
        for symptom in symptoms:
            incidents.observe(symptom, T0, explained_by=cause.id)
        for one in (cause, *symptoms):
            incidents.observe(healed(one), T0, explained_by=cause.id if one != cause else None)
        incidents.take_notices(T0 + 60)

        assert incidents.incidents == {}
        assert incidents._causes._symptoms == {}

    def test_a_restart_keeps_symptoms_quiet(self) -> None:
        first = book()
        cause, symptom = finding(), finding(rule="retry_storm")
        first.observe(cause, T0)
        first.observe(symptom, T0, explained_by=cause.id)
        first.take_notices(T0)
        second = rebuilt(first)

        assert second.take_notices(T0 + 1) == []
        second.observe(healed(cause), T0 + 2)
        assert sorted(kinds(second.take_notices(T0 + 2))) == ["opened", "resolved"]


class TestFlapping:
    def open_and_heal(self, incidents: IncidentBook, one: Finding, at: float) -> list[str]:
        incidents.observe(one, at)
        told = kinds(incidents.take_notices(at))
        incidents.observe(healed(one), at + 1)
        return told + kinds(incidents.take_notices(at + 1))

    def test_what_opens_too_often_is_told_once_it_has_calmed(self) -> None:
        incidents = book(flap_limit=3, flap_window=900, resolve_after=DAY)
        told = [self.open_and_heal(incidents, more(finding(), n), T0 + n * 60) for n in range(6)]
        assert told == [["opened", "resolved"]] * 3 + [[]] * 3

        incidents.observe(more(finding(), 7), T0 + 420)
        assert incidents.take_notices(T0 + 420) == []
        # four openings within the window, until the earliest of them is older than it
        assert incidents.take_notices(T0 + 3 * 60 + 899) == []
        assert kinds(incidents.take_notices(T0 + 3 * 60 + 900)) == ["opened"]

    def test_it_goes_on_across_a_restart(self) -> None:
        incidents = book(flap_limit=1)
        for n in range(4):
            self.open_and_heal(incidents, more(finding(), n), T0 + n * 60)
            incidents = rebuilt(incidents)

        incidents.observe(more(finding(), 9), T0 + 300)
        assert incidents.take_notices(T0 + 300) == []

    def test_openings_are_bounded(self) -> None:
        incidents = book(flap_limit=2)
        for n in range(500):
            self.open_and_heal(incidents, more(finding(), n), T0 + n / 10)

        assert len(incidents.incidents[finding().id].openings) == 3


class TestStorm:
    def storm(self, size: int = 10_000, **policy: Any) -> IncidentBook:
        incidents = book(**policy)
        for n in range(size):
            rule = "quota" if n % 4 else "crash"
            severity = "critical" if n == size - 1 else "warning"
            incidents.observe(finding(f"t{n}", rule, severity=severity), T0)
        return incidents

    def test_ten_thousand_at_once_are_ten_messages_the_worst_first(self) -> None:
        incidents = self.storm()

        told = incidents.take_notices(T0)
        assert kinds(told) == ["opened"] * 9 + ["digest"]
        assert told[0].incidents[0].severity == "critical"
        digest = told[-1]
        assert digest.total == len(digest.incidents) == 9_991
        assert digest.by_kind == {"opened": 9_991}
        assert sum(digest.by_rule.values()) == 9_991
        assert list(digest.by_rule) == ["quota", "crash"]
        assert len(shortened(digest).incidents) == MAX_DIGEST_INCIDENTS
        assert shortened(digest).total == 9_991

    def test_what_comes_after_waits_for_the_digest_of_the_next_window(self) -> None:
        incidents = self.storm(100)
        incidents.take_notices(T0)
        for n in range(1_000):
            incidents.observe(finding(f"late {n}"), T0 + 1 + n / 100)
            assert incidents.take_notices(T0 + 1 + n / 100) == []

        assert incidents.take_notices(T0 + 59.9) == []
        told = incidents.take_notices(T0 + 60)
        assert kinds(told) == ["opened"] * 9 + ["digest"]
        assert told[-1].total == 991

    def test_nothing_is_lost_when_the_book_is_rebuilt_in_between(self) -> None:
        incidents = rebuilt(self.storm())
        told = incidents.take_notices(T0)
        incidents = rebuilt(incidents)
        for n in range(50):
            incidents.observe(finding(f"late {n}"), T0 + 1)
        incidents = rebuilt(incidents)
        assert incidents.take_notices(T0 + 30) == []  # the limit holds across restarts too
        incidents = rebuilt(incidents)
        told += incidents.take_notices(T0 + 60)

        named = Counter(one.id for notice in told for one in notice.incidents)
        assert len(told) == 20
        assert set(named) == set(incidents.incidents)
        assert set(named.values()) == {1}

    def test_repeats_and_ends_keep_to_the_limit_as_well(self) -> None:
        incidents = self.storm(1_000, repeat_interval=HOUR, resolve_after=HOUR + 600)
        incidents.take_notices(T0)

        repeated = incidents.take_notices(T0 + HOUR)
        assert kinds(repeated) == ["repeated"] * 9 + ["digest"]
        assert repeated[-1].by_kind == {"repeated": 991}
        ended = incidents.take_notices(T0 + HOUR + 600)
        assert kinds(ended) == ["resolved"] * 9 + ["digest"]
        assert ended[-1].by_kind == {"resolved": 991}

    def test_what_opens_goes_before_what_ended(self) -> None:
        incidents = book(storm_limit=3)
        for name in "abcd":
            incidents.observe(finding(name), T0)
        incidents.take_notices(T0)
        for name in "abcd":
            incidents.observe(healed(finding(name)), T0 + 60)
        incidents.observe(finding("new", severity="warning"), T0 + 60)

        told = incidents.take_notices(T0 + 60)
        assert kinds(told) == ["opened", "resolved", "digest"]
        assert told[-1].by_kind == {"resolved": 3}

    def test_what_ended_while_it_waited_is_not_told(self) -> None:
        incidents = self.storm(100)
        incidents.take_notices(T0)
        incidents.observe(finding("late"), T0 + 1)
        incidents.take_notices(T0 + 1)
        incidents.observe(healed(finding("late")), T0 + 2)
        incidents.take_notices(T0 + 2)

        assert incidents.take_notices(T0 + 60) == []

    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["open", "heal", "restart", "wait", "ack"]), st.integers(0, 30)
            ),
            max_size=60,
        )
    )
    def test_no_window_ever_holds_more_messages_than_the_limit(
        self, steps: list[tuple[str, int]]
    ) -> None:
        incidents = book(storm_limit=2, storm_window=10, resolve_after=50, repeat_interval=20)
        now, seen, sent = T0, 0, []
        for action, number in steps:
            seen += 1
            one = finding(f"t{number % 7}", last_seen=20.0 + seen)
            if action == "open":
                incidents.observe(one, now)
            elif action == "heal":
                incidents.observe(healed(one), now)
            elif action == "restart":
                incidents = rebuilt(incidents)
            elif action == "ack" and one.id in incidents.incidents:
                incidents.acknowledge(one.id, now)
            else:
                now += number
            sent += [now] * len(incidents.take_notices(now))

        assert all(b - a >= 10 for a, b in zip(sent, sent[2:], strict=False))


class TestSilences:
    def test_what_is_silenced_is_told_when_the_silence_ends(self) -> None:
        incidents = book(resolve_after=DAY)
        incidents.silence(Silence(id="s", matchers={"rule": "quota"}, until=T0 + HOUR))
        incidents.observe(finding(), T0)

        assert incidents.take_notices(T0) == []
        assert incidents.take_notices(T0 + HOUR - 1) == []
        assert kinds(incidents.take_notices(T0 + HOUR)) == ["opened"]

    def test_a_silence_ended_early_is_over_at_once(self) -> None:
        incidents = book()
        incidents.silence(Silence(id="s", matchers={}, until=T0 + HOUR))
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.unsilence("s")

        assert kinds(incidents.take_notices(T0 + 1)) == ["opened"]

    def test_an_end_under_a_silence_is_never_told_and_the_next_opening_is(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.silence(Silence(id="s", matchers={}, until=T0 + 60))
        incidents.observe(healed(finding()), T0 + 30)

        assert incidents.take_notices(T0 + 30) == []
        assert incidents.take_notices(T0 + 61) == []
        incidents.observe(more(finding()), T0 + 70)
        assert kinds(incidents.take_notices(T0 + 70)) == ["opened"]

    def test_it_survives_a_restart(self) -> None:
        incidents = book()
        incidents.silence(Silence(id="s", matchers={"rule": "quota"}, until=T0 + HOUR))
        incidents.observe(finding(), T0)
        incidents = rebuilt(incidents)

        assert incidents.take_notices(T0 + 1) == []

    @pytest.mark.parametrize(
        ("matchers", "matches"),
        [
            ({}, True),
            ({"rule": "quota", "severity": "critical"}, True),
            ({"rule": "quota", "severity": "warning"}, False),
            ({"agent": "planner"}, True),
            ({"agent": "writer"}, True),
            ({"agent": "other"}, False),
            ({"operation": "search"}, True),
            ({"trace_id": "a", "framework": "crewai"}, True),
            ({"nothing": "such"}, False),
        ],
    )
    def test_all_its_matchers_must_hold(self, matchers: dict[str, str], matches: bool) -> None:
        incidents = book()
        incidents.observe(finding(), T0, framework="crewai", agents=["planner", "writer"])
        (incident,) = incidents.incidents.values()

        assert Silence(id="s", matchers=matchers, until=T0).matches(incident) is matches

    def test_who_took_it_before_it_was_told_is_not_told(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.acknowledge(finding().id, T0)

        assert incidents.take_notices(T0 + 1) == []


class TestClock:
    def test_a_clock_set_back_delays_no_repeat(self) -> None:
        incidents = book(repeat_interval=HOUR, resolve_after=DAY)
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)

        assert incidents.take_notices(T0 - 5 * HOUR) == []
        assert incidents.take_notices(T0 - 4 * HOUR - 1) == []
        assert kinds(incidents.take_notices(T0 - 4 * HOUR)) == ["repeated"]

    @pytest.mark.parametrize("restarts", [False, True])
    def test_a_clock_set_back_keeps_the_storm_limit_no_longer_than_its_window(
        self, restarts: bool
    ) -> None:
        incidents = book(storm_limit=1)
        incidents.observe(finding("a"), T0)
        incidents.take_notices(T0)
        if restarts:
            incidents = rebuilt(incidents)

        back = T0 - HOUR
        incidents.observe(finding("b"), back)
        assert incidents.take_notices(back) == []
        assert kinds(incidents.take_notices(back + 60)) == ["opened"]

    def test_a_clock_set_back_lets_incidents_end_and_be_forgotten_in_time(self) -> None:
        incidents = book(resolve_after=600, keep_resolved=HOUR)
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        back = T0 - DAY
        incidents.take_notices(back)

        assert kinds(incidents.take_notices(back + 600)) == ["resolved"]
        incidents.take_notices(back + 601)
        incidents.take_notices(back + 600 + HOUR)
        assert incidents.incidents == {}

    def test_what_a_clock_that_was_set_back_leaves_alone(self) -> None:
        incidents = book(resolve_after=DAY)
        for name, at in (("old", T0), ("new", T0 + HOUR)):
            incidents.observe(finding(name), at)
            incidents.take_notices(at)
        incidents.changed.clear()
        incidents.take_notices(T0 + HOUR / 2)

        assert {incidents.incidents[name].trace_id for name in incidents.changed} == {"new"}

    def test_a_clock_that_trembles_changes_nothing(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.changed.clear()

        assert incidents.take_notices(T0 - 0.5) == []
        assert incidents.changed == set()


class TestCost:
    def test_nothing_is_looked_at_when_nothing_is_due(self, monkeypatch: Any) -> None:
        incidents = book()
        for n in range(500):
            incidents.observe(finding(f"t{n}"), T0)
        incidents.take_notices(T0)
        incidents.take_notices(T0 + 1)

        looked: list[str] = []
        monkeypatch.setattr(incidents, "_review", lambda one, now: looked.append(one.id))
        incidents.take_notices(T0 + 2)
        assert looked == []

    def test_what_waits_for_a_window_is_not_looked_at_until_it_comes(
        self, monkeypatch: Any
    ) -> None:
        incidents = book(storm_limit=1)
        for n in range(500):
            incidents.observe(finding(f"t{n}"), T0 + (n > 0))
            incidents.take_notices(T0 + (n > 0))

        asked: list[str] = []
        telling = incidents._telling
        due = telling.due
        monkeypatch.setattr(telling, "due", lambda one, now: asked.append(one.id) or due(one, now))
        incidents.take_notices(T0 + 30)
        assert asked == []
        assert kinds(incidents.take_notices(T0 + 60)) == ["digest"]


class TestStanding:
    def test_what_was_told_stands_and_its_end_is_known_for_a_while(self) -> None:
        incidents = book(notify_from="warning")
        incidents.observe(finding("told"), T0)
        incidents.observe(finding("quiet", severity="info"), T0)
        incidents.observe(finding("symptom"), T0, explained_by=finding("told").id)
        assert incidents.standing(T0) == []

        incidents.take_notices(T0)
        assert [one.trace_id for one in incidents.standing(T0)] == ["told"]
        incidents.observe(healed(finding("told")), T0 + 1)
        assert [one.state for one in rebuilt(incidents).standing(T0 + 600)] == ["resolved"]
        assert incidents.standing(T0 + 901) == []

    def test_what_is_silenced_does_not_stand(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        incidents.take_notices(T0)
        incidents.silence(Silence(id="s", matchers={}, until=T0 + 60))

        assert incidents.standing(T0 + 1) == []


class TestNarrowing:
    def storm(self) -> Notice:
        incidents = book(storm_limit=1)
        for n in range(30):
            incidents.observe(finding(f"t{n}", "quota" if n else "crash"), T0)
        (notice,) = incidents.take_notices(T0)
        return notice

    def test_who_hears_of_some_incidents_gets_a_digest_of_those(self) -> None:
        notice = narrowed(self.storm(), lambda kind, one: one.rule == "quota")

        assert notice is not None
        assert (notice.kind, notice.total, notice.by_rule) == ("digest", 29, {"quota": 29})
        assert len(shortened(notice).incidents) == MAX_DIGEST_INCIDENTS

    def test_who_hears_of_one_gets_the_notice_of_that_one_with_its_evidence(self) -> None:
        notice = narrowed(self.storm(), lambda kind, one: one.rule == "crash")

        assert notice is not None
        assert (notice.kind, notice.total, notice.by_rule) == ("opened", 1, {})
        assert notice.incidents[0].evidence

    def test_who_hears_of_all_or_of_none(self) -> None:
        storm = self.storm()

        assert narrowed(storm, lambda kind, one: kind == "opened") is storm
        assert narrowed(storm, lambda kind, one: kind == "resolved") is None
        assert not shortened(storm).incidents[0].evidence

    def test_a_notice_of_one_is_short_enough(self) -> None:
        incidents = book()
        incidents.observe(finding(), T0)
        (notice,) = incidents.take_notices(T0)

        assert shortened(notice) is notice


class TestFolding:
    def notices(self) -> list[Notice]:
        incidents = book(storm_limit=3)
        for name in "abcdef":
            incidents.observe(finding(name), T0)
        told = incidents.take_notices(T0)
        incidents.observe(healed(finding("a")), T0 + 60)
        return told + incidents.take_notices(T0 + 60)

    def test_several_notices_become_one_with_exact_counts(self) -> None:
        notices = self.notices()
        assert kinds(notices) == ["opened", "opened", "digest", "resolved"]

        one = folded(notices, T0 + 99)
        assert (one.kind, one.total, one.folded, one.created_at) == ("digest", 7, 4, T0)
        assert one.by_kind == {"opened": 6, "resolved": 1}
        assert one.by_rule == {"quota": 7}
        assert len(one.incidents) == 6
        assert one.incidents[-1].state == "resolved"  # as the latest of them knows it

    def test_folding_again_still_counts_every_message(self) -> None:
        notices = self.notices()
        one = folded([folded(notices[:2], T0), *notices[2:]], T0)

        assert (one.total, one.folded) == (7, 4)
        assert one.by_kind == {"opened": 6, "resolved": 1}


def test_an_incident_stands_since_it_opened_last() -> None:
    incidents = book()
    incidents.observe(finding(), T0)
    (incident,) = incidents.incidents.values()
    incident.openings = [T0, T0 + 5]
    assert standing_since(incident) == T0 + 5

    incident.openings = []  # as a store may hold it that is older than that
    assert standing_since(incident) == T0


def test_labels_name_what_matchers_and_routes_ask_for() -> None:
    incidents = book()
    incidents.observe(finding(), T0, framework="crewai", agents=["planner", "writer"])

    assert labels_of(incidents.incidents[finding().id]) == {
        "alertname": "quota",
        "rule": "quota",
        "severity": "critical",
        "category": "execution-error",
        "trace_id": "a",
        "operation": "search",
        "framework": "crewai",
        "agent": "planner",
    }
