"""Results of rules as JUnit XML: a test suite a rule, a test case a case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from lastsignal.core.ruletest import CaseResult

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


class Outcome(NamedTuple):
    """One test case: which rule, what was tried, and what is wrong (nothing where it passed)."""

    rule: str
    name: str
    wrong: Sequence[str]


def junit_of_cases(results: Iterable[CaseResult]) -> str:
    """Return the XML document of inline tests."""
    return junit("lastsignal rules test", [Outcome(r.rule, r.case, r.mismatches) for r in results])


def junit(name: str, outcomes: Sequence[Outcome]) -> str:
    """Return the XML document; nothing in it is a control character."""
    suites = Element("testsuites", name=name)
    _count(suites, outcomes)
    for rule in dict.fromkeys(outcome.rule for outcome in outcomes):
        mine = [outcome for outcome in outcomes if outcome.rule == rule]
        suite = SubElement(suites, "testsuite", name=_clean(rule))
        _count(suite, mine)
        for outcome in mine:
            case = SubElement(suite, "testcase", classname=_clean(rule), name=_clean(outcome.name))
            if outcome.wrong:
                failure = SubElement(case, "failure", message=_clean(outcome.wrong[0]))
                failure.text = _clean("\n".join(outcome.wrong))
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _count(element: Element, outcomes: Sequence[Outcome]) -> None:
    element.set("tests", str(len(outcomes)))
    element.set("failures", str(sum(bool(outcome.wrong) for outcome in outcomes)))


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)
