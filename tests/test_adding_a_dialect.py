"""The guide for contributors is true: its example keeps the contract and says what it shows."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from kit.dialects import check_dialect, read

from lastsignal.app import diagnoses
from lastsignal.core.aliases.custom import extended
from lastsignal.core.aliases.custom_reading import parse_aliases
from lastsignal.core.aliases.flat_words import ALIASES
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.engine import Engine
from lastsignal.edges.rulefiles import load_rules

TEXT = (Path(__file__).parents[1] / "docs" / "adding-a-dialect.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


HEALTHY, FAILING = (block.splitlines() for block in blocks("jsonl"))
MODULE, TEST = blocks("python")


@pytest.fixture
def ferry(tmp_path: Path) -> Iterator[ModuleType]:
    """Return the module of the guide, where its own test imports it from."""
    name = "lastsignal.core.aliases.ferry"
    path = tmp_path / "ferry.py"
    path.write_text(MODULE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    sys.modules["lastsignal.core.aliases"].ferry = module  # type: ignore[attr-defined]  # as if it lay there
    yield module
    del sys.modules[name], sys.modules["lastsignal.core.aliases"].ferry  # type: ignore[attr-defined]  # as above


def test_the_example_keeps_the_contract(ferry: ModuleType) -> None:
    events = check_dialect(ferry.DIALECT, HEALTHY)

    assert [(one.event_type, one.status, one.operation) for one in events] == [
        ("agent_start", "started", "planner"),
        ("model_call", "started", "small-1"),
        ("model_call", "completed", None),
        ("tool_call", "started", "charts"),
        ("tool_result", "completed", None),
        ("agent_end", "completed", "planner"),
    ]
    assert (events[2].input_tokens, events[2].output_tokens) == (20, 4)
    assert events[0].timestamp == 1_780_000_000.0


def test_the_example_s_own_test_passes(ferry: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / "fixtures" / "ferry_log"
    folder.mkdir(parents=True)
    (folder / "failing.jsonl").write_text("\n".join(FAILING), encoding="utf-8")
    names: dict[str, Any] = {"__file__": str(tmp_path / "test_ferry.py")}
    exec(compile(TEST, "the guide", "exec"), names)

    names["test_a_storm_is_told_once_by_its_leg"]()


@pytest.mark.parametrize(("lines", "causes"), [(HEALTHY, []), (FAILING, ["rate_limit_exhausted"])])
def test_the_example_is_diagnosed(ferry: ModuleType, lines: list[str], causes: list[str]) -> None:
    engine = Engine(load_rules())
    reader, events = read([line.encode() for line in lines], (ferry.DIALECT, *LADDER))
    engine.feed(events)
    engine.finish()

    found = [trace.cause.rule for trace in diagnoses(engine) if trace.cause is not None]
    assert found == causes
    assert list(reader.formats) == ["ferry_log"]


def test_the_example_needs_its_place_in_the_ladder() -> None:
    reader, events = read([line.encode() for line in HEALTHY], LADDER)

    assert events == []
    assert reader.skipped == {"unrecognised_record": len(HEALTHY)}


def test_the_aliases_of_the_guide_read_what_they_describe() -> None:
    (toml,) = blocks("toml")
    problems: list[str] = []
    aliases = parse_aliases(
        tomllib.loads(toml)["aliases"], lambda place, message, fix: problems.append(message)
    )
    records: list[dict[str, Any]] = [
        {"kind": "span", "at": 1_780_000_000_000, "acme": {"step": "begin", "tool": "search"}},
        {"kind": "trace", "at": 1_780_000_001_000, "status": "KO", "acme": {"step": "end"}},
        {"kind": "trace", "at": 1_780_000_002_000, "acme": {"step": "nap"}},
        {"event": "toolDone", "call": {"tool": "other"}},
    ]

    _, events = read([json.dumps(one).encode() for one in records], extended(LADDER, aliases))

    assert problems == []
    assert [(one.event_type, one.status, one.operation) for one in events] == [
        ("tool_call", "started", "search"),
        ("tool_result", "failed", None),
        ("audit", "completed", None),
        ("tool_result", "completed", "other"),
    ]
    assert events[1].timestamp == 1_780_000_001.0


def test_the_guide_names_every_field_that_a_layout_may_map() -> None:
    listed = TEXT[TEXT.index("The\nfields are those") : TEXT.index("Code is needed")]

    assert set(re.findall(r"`(\w+)`", listed)) == set(ALIASES)
