"""A file that was appended to itself says what it says once, in every layout that can tell."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from kit.samples import samples

from lastsignal.app import diagnose
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.diagnosis import Diagnosis
from lastsignal.core.diagnosis.report import Report
from lastsignal.core.rules import Rule
from lastsignal.edges.inputs import FileSource
from lastsignal.edges.rulefiles import load_rules

FIXTURES = Path(__file__).parent / "core" / "aliases" / "fixtures"
CANNOT_TELL = {
    "chat_log": "what is said in a chat has neither an id nor a time",
    "codex_exec": "items are numbered anew in each turn of a thread, and nothing has a time",
    "flat": "two equal calls at one time are two calls, where the schema asks for no id",
    "magentic_chat": "what is said in a chat has neither an id nor a time",
    "mini_swe_agent_messages": "what is said in a chat has neither an id nor a time",
    "native": "two equal calls at one time are two calls, where the schema asks for no id",
}
"""Layouts in which a record may truly come again, byte for byte."""
NAMELESS = {"autogen_agentchat/failing.jsonl": "a version that gave no message an id or a time"}
MAX_BYTES = 2_000_000


def files() -> list[Any]:
    """Return every fixture and every sample that is there, by name."""
    found = {
        f"{path.parent.name}/{path.name}": path
        for path in sorted(FIXTURES.glob("*/*"))
        if path.suffix in (".json", ".jsonl")
    }
    found |= {one.name: one.path for one in samples() if one.path.suffix in (".json", ".jsonl")}
    return [
        pytest.param(path, id=name)
        for name, path in found.items()
        if name not in NAMELESS and path.stat().st_size <= MAX_BYTES
    ]


@cache
def rules() -> list[Rule]:
    return load_rules()


def told(path: Path) -> Report:
    return diagnose([FileSource(path, "t")], rules())


def counted(one: Diagnosis) -> tuple[Any, ...]:
    """What a trace adds up to, and what was found in it."""
    found = sorted((it.rule, sorted(it.group.items()), it.count) for it in one.findings())
    used = one.events, one.calls, one.failures, one.input_tokens, one.output_tokens, one.cost_usd
    return one.trace_id, one.outcome, used, found


@pytest.mark.parametrize("path", files())
def test_a_file_behind_itself_counts_once(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes().rstrip(b"\n") + b"\n"
    (tmp_path / "once").write_bytes(data)
    (tmp_path / "twice").write_bytes(data + data)
    once, twice = told(tmp_path / "once"), told(tmp_path / "twice")
    if CANNOT_TELL.keys().isdisjoint(once.inputs[0].format):
        assert list(map(counted, twice.traces)) == list(map(counted, once.traces))
    else:
        assert "repeated_record" not in twice.inputs[0].skipped


def test_only_a_layout_without_names_is_left_out() -> None:
    layouts = {path.parent.name for path in FIXTURES.glob("*/*")}
    assert CANNOT_TELL.keys() <= layouts & {dialect.name for dialect in LADDER}
    unique = {dialect.name for dialect in LADDER if dialect.is_unique}
    assert CANNOT_TELL.keys().isdisjoint(unique)
