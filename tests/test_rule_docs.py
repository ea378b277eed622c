"""The reference and the schema of the rule language are those of the code."""

from __future__ import annotations

import functools
import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from lastsignal.core.rules import parse_rule
from lastsignal.core.rules.conditions import FIELDS, MODIFIERS, parse_condition
from lastsignal.core.rules.text import RuleText
from lastsignal.core.rules.windows import WINDOW_KINDS
from lastsignal.edges.rulefiles import builtin_rules, load_rules
from lastsignal.edges.rulefiles.reference import detectors, language
from lastsignal.edges.rulefiles.schema import schema, schema_text
from lastsignal.edges.rulefiles.skeleton import skeleton
from lastsignal.edges.rulefiles.word_tables import EXAMPLES, MODIFIER_WORDS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "rules.md"
SCHEMA = builtin_rules() / "rules.schema.json"
UPDATE = bool(os.environ.get("LASTSIGNAL_UPDATE_GOLDEN"))
BAD = Path(__file__).parent / "data" / "bad_rules"
RULES = sorted(builtin_rules().glob("*.yaml"))
_PART = re.compile(r"(<!-- reference: begin [^\n]*-->\n)(.*)(<!-- reference: end -->)", re.DOTALL)


@functools.cache
def validator() -> Any:
    """Return the validator; making the schema reads the sources of the structs."""
    return jsonschema.Draft202012Validator(schema())


def test_the_page_holds_the_reference_of_the_language_and_of_every_detector() -> None:
    reference = f"\n{language()}\n{detectors(load_rules())}\n"
    if UPDATE:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(_PART.sub(lambda f: f[1] + reference + f[3], text), encoding="utf-8")
    found = _PART.search(PAGE.read_text(encoding="utf-8"))

    assert found is not None
    assert found[2] == reference


def test_nothing_is_without_a_meaning() -> None:
    rows = [line for line in language().splitlines() if line.startswith("| `")]

    assert rows
    assert [row for row in rows if row.rstrip(" |").endswith("|") or "|  |\n" in f"{row}\n"] == []


def test_the_reference_names_every_field_modifier_and_window() -> None:
    text = language()

    assert all(f"`{name}`" in text for name in FIELDS)
    assert all(f"### {kind}\n" in text for kind in WINDOW_KINDS)
    assert list(MODIFIER_WORDS) == list(MODIFIERS)
    assert list(EXAMPLES) == list(WINDOW_KINDS)


@pytest.mark.parametrize("kind", EXAMPLES)
def test_the_example_of_a_window_can_be_used(kind: str) -> None:
    raw = yaml.safe_load(skeleton("an_example", "an_example.yaml")) | yaml.safe_load(EXAMPLES[kind])
    raw |= {"params": {}}
    problems: list[str] = []

    rule = parse_rule(raw, lambda *told: problems.append(" ".join(told)))

    assert [one for one in problems if not one.startswith("tests")] == []
    assert rule is None or rule.window.__struct_config__.tag == kind
    assert parse_condition(raw["where"], "", lambda *told: problems.append(str(told)))


def test_the_shipped_schema_is_that_of_the_structs() -> None:
    if UPDATE:
        SCHEMA.write_text(schema_text(), encoding="utf-8")

    assert SCHEMA.read_text(encoding="utf-8") == schema_text()
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))
    assert list(schema()["$defs"]["rule"]["properties"]) == list(RuleText.__struct_fields__)
    assert "rules.schema.json" not in {path.name for path in RULES}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_the_schema_accepts_the_built_in_rule(path: Path) -> None:
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))

    assert [error.message for error in validator().iter_errors(raw)] == []


@pytest.mark.parametrize(
    "name",
    """a_list any_of_nothing bad_duration bad_time_in_a_test empty_false_positives
    gt_with_text impossible_error_class impossible_status key_of_no_rule missing_key
    missing_window_field nested_value unknown_event_field unknown_event_key unknown_group_field
    unknown_key unknown_key_of_a_step unknown_modifier unknown_severity unknown_window_field
    unknown_window_kind where_is_a_list wrong_type_list wrong_type_number wrong_type_text
    override_with_unknown_key override_enabled_in_words yaml_yes_as_text""".split(),
)
def test_the_schema_refuses_what_the_loader_refuses(name: str) -> None:
    raw = yaml.safe_load((BAD / f"{name}.yaml").read_text(encoding="utf-8"))

    assert list(validator().iter_errors(raw))


def test_the_schema_accepts_an_override_and_the_skeleton() -> None:
    override = {"override": "retry_storm", "params": {"at_least": 9}, "enabled": True}

    assert list(validator().iter_errors(override)) == []
    assert list(validator().iter_errors(yaml.safe_load(skeleton("mine", "mine.yaml")))) == []
