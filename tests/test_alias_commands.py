"""`normalize`, `formats` and `--aliases`: what a user sees of the alias layer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastsignal.cli import run
from lastsignal.commands.formats import told_by
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.framing.wrappers import WRAPPERS

FIXTURES = Path(__file__).parent / "core" / "aliases" / "fixtures"

ALIASES = """
[aliases.fields]
operation = ["my_tool"]

[[aliases.dialects]]
name = "acme"
recognise = {keys = ["acme"], equals = {kind = "trace"}}
timestamp_unit = "ms"

[aliases.dialects.fields]
event_type = "acme.what"
operation = "acme.with"
error_message = "acme.oops"

[aliases.dialects.events]
begun = {event_type = "tool_call", status = "started"}
over = "tool_result"
"""


@pytest.fixture
def aliases(tmp_path: Path) -> Path:
    """Return a file with aliases."""
    path = tmp_path / "aliases.toml"
    path.write_text(ALIASES, encoding="utf-8")
    return path


@pytest.fixture
def acme(tmp_path: Path) -> Path:
    """Return a trace that only those aliases can read: a tool that times out again and again."""
    lines = []
    for _ in range(4):
        for what, oops in (("begun", None), ("over", "TimeoutError: no answer")):
            record = {"what": what, "with": "search", "oops": oops}
            at = 1_780_000_000_000 + len(lines) * 1000
            lines.append(json.dumps({"kind": "trace", "ts": at, "run_id": "r", "acme": record}))
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_diagnose_reads_a_layout_that_a_file_describes(
    acme: Path, aliases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", str(acme)]) == 3
    assert "no layout that is known (keys: `kind`, `ts`, `run_id`, `acme`)" in (
        capsys.readouterr().err
    )

    assert run(["diagnose", str(acme), "--aliases", str(aliases), "-f", "json"]) == 1
    report = json.loads(capsys.readouterr().out)

    assert report["inputs"][0]["format"] == "acme"
    assert report["traces"][0]["cause"]["rule"] == "tool_timeout"


def test_normalize_prints_events_and_what_was_skipped(
    acme: Path, aliases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["normalize", str(acme), "--aliases", str(aliases)]) == 0

    shown = capsys.readouterr()
    events = [json.loads(line) for line in shown.out.splitlines()]
    assert [one["event_type"] for one in events] == ["tool_call", "tool_result"] * 4
    assert events[1]["timestamp"] == 1_780_000_001.0
    assert shown.err == f"{acme}: acme, 8 records, 8 events\n"


def test_normalize_explains_each_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_bytes(
        (FIXTURES / "langchain_events" / "healthy.jsonl").read_bytes().splitlines(True)[0]
        + b"Starting up \x1b[31mred\n"
        + b'{"event": "on_llm_stream", "run_id": "r", "name": "m", "parent_ids": [], "data": {}}\n'
        + b'{"event": "on_llm_stream", "run_id": "r", "name": "m", "parent_ids": [], "data": {}}\n'
        + b'{"foo": 1}\n'
    )

    assert run(["normalize", str(path), "--explain", "--quiet"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "1: langchain_events: 1 event",
        "    agent_start started Agent agent=Agent call=019b0000-0000-7000-8000-000000000001",
        "    used: event, run_id, name",
        "2: no record: not_json: Starting up \\x1b[31mred",
        "3 to 4: langchain_events: dropped: stream_chunk (2 records)",
        "5: no dialect takes it: unrecognised_record",
        "    keys: foo",
    ]


@pytest.mark.parametrize("command", ["normalize", "diagnose"])
def test_a_file_that_cannot_be_read_says_what_to_do(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "chain.log"
    path.write_text("> Entering new Agent chain...\n", encoding="utf-8")

    assert run([command, str(path)]) == 3

    error = capsys.readouterr().err
    assert "lastsignal: no event could be read from the input\n" in error
    assert f"  {path}: The text of LangChain's FileCallbackHandler holds no" in error


def test_formats_checks_a_file_of_aliases(
    aliases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["formats", "--check", str(aliases)]) == 0
    assert capsys.readouterr().out == (
        f"{aliases}: all right: 1 names of fields, 0 words for events, layouts: acme\n"
    )

    aliases.write_text(ALIASES.replace('"tool_result"', '"tool_resul"'), encoding="utf-8")
    assert run(["formats", "--check", str(aliases)]) == 3
    assert capsys.readouterr().err == (
        f"lastsignal: {aliases}:17: `aliases.dialects[0].events.over.event_type` cannot be"
        " `tool_resul`; did you mean `tool_result`?\n"
    )


def test_watch_reads_the_layouts_of_its_configuration(
    acme: Path, aliases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = tmp_path / "state"
    command = ["watch", str(acme), "--once", "--config", str(aliases), "--state-dir", str(state)]

    assert run(command) == 0
    assert run(["incidents", "list", "--json", "--state-dir", str(state)]) == 0
    assert "tool_timeout" in capsys.readouterr().out


def test_a_mistake_in_the_aliases_of_the_configuration_is_told_with_its_line(
    aliases: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aliases.write_text(
        ALIASES.replace('"tool_result"', '"tool_resul"').replace("operation =", "oprtion ="),
        encoding="utf-8",
    )
    command = ["watch", "x", "--once", "--config", str(aliases), "--state-dir", str(tmp_path)]

    assert run(command) == 3

    error = capsys.readouterr().err
    assert f"{aliases}:3: `oprtion` is no field of an event; did you mean `operation`?" in error
    way = "aliases.dialects[0].events.over.event_type"
    assert f"{aliases}:17: `{way}` cannot be `tool_resul`;" in error


def test_a_file_without_aliases_is_told_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("[log]\n", encoding="utf-8")

    assert run(["formats", "--check", str(path)]) == 3
    assert "there is no section [aliases]" in capsys.readouterr().err


def test_formats_lists_a_layout_of_the_users_own_first(
    aliases: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["formats", "--json", "--aliases", str(aliases)]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert rows[0] == {
        "name": "acme",
        "framework": "acme",
        "description": "Yours: has acme; kind is trace",
        "told_by": "",
        "default_paths": [],
        "written_by": None,
    }
    assert len(rows) == 1 + len(LADDER) + len(WRAPPERS)


def test_formats_tells_machines_of_wrappers_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formats", "docker", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == [
        {
            "name": "docker",
            "framework": None,
            "description": "Docker's json-file log; it cuts lines at 16 KiB",
            "told_by": "An object of log, stream and time, perhaps attrs.",
            "default_paths": ["/var/lib/docker/containers/*/*-json.log"],
            "written_by": None,
        }
    ]


def test_formats_shows_how_one_is_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formats", "codex"]) == 0
    shown = " ".join(capsys.readouterr().out.split())

    assert "told by: A wrapped record, a header or bare item" in shown
    assert "~/.codex/sessions/**/rollout-*.jsonl" in shown
    assert "written by `codex exec --json … > FILE`" in shown
    assert "opencode" not in shown

    assert run(["formats", "codx"]) == 3
    assert "codx: no such format; did you mean `codex`?" in capsys.readouterr().err


def test_every_format_says_where_it_is_or_how_it_comes_to_be_written() -> None:
    nowhere = [one.name for one in LADDER if not one.default_paths and not one.written_by]

    assert nowhere == []


def test_every_format_says_what_it_is_and_how_it_is_told() -> None:
    silent = [one.name for one in LADDER if not one.description or not told_by(one)]

    assert silent == []
