"""The built-in detectors: each loads, passes its own cases, and keeps its promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastsignal.core.rules import Rule
from lastsignal.core.ruletest import run_cases
from lastsignal.edges.rulefiles import builtin_rules, load_rules, read_rules

RULES = load_rules()
BY_ID = {rule.id: rule for rule in RULES}


def test_every_rule_file_is_without_a_problem() -> None:
    assert [str(problem) for problem in read_rules().problems] == []
    assert len(RULES) == len(list(builtin_rules().glob("*.yaml")))


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_the_inline_cases_give_what_they_say(rule: Rule) -> None:
    failed = {result.case: result.mismatches for result in run_cases(rule) if not result.passed}
    assert failed == {}


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_a_rule_shows_itself_firing_and_staying_quiet(rule: Rule) -> None:
    least = 3 if rule.text.status == "stable" else 1
    firing = [case.name for case in rule.text.tests if case.expect]
    quiet = [case.name for case in rule.text.tests if not case.expect]
    assert len(firing) >= least
    assert len(quiet) >= least
    assert len({case.name for case in rule.text.tests}) == len(rule.text.tests)


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_a_rule_is_in_the_file_of_its_name(rule: Rule) -> None:
    assert Path(rule.origin).name == f"{rule.id}.yaml"


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_what_a_rule_explains_is_known_and_never_its_own_cause(rule: Rule) -> None:
    reached: set[str] = set()
    todo = list(rule.text.explains)
    while todo:
        name = todo.pop()
        assert name in BY_ID
        if name not in reached:
            reached.add(name)
            todo += BY_ID[name].text.explains
    assert rule.id not in reached


@pytest.mark.parametrize("rule", RULES, ids=[rule.id for rule in RULES])
def test_the_texts_can_be_acted_on(rule: Rule) -> None:
    text = rule.text
    assert text.description.startswith("Detects ")
    assert text.description.endswith(".")
    assert len(text.remedy.split()) >= 20
    assert len(text.title) <= 60
    assert text.false_positives
