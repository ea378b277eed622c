"""The rule language: what a file may say, read with every mistake located, and put to the test.

`conditions` says which events a rule is about, `windows` how many of them are too many.
"""

from lastsignal.core.rules.rule import (
    SEVERITIES,
    Rule,
    RuleCase,
    Scalar,
    Severity,
    parse_rule,
    shared_out,
)

__all__ = ["SEVERITIES", "Rule", "RuleCase", "Scalar", "Severity", "parse_rule", "shared_out"]
