"""`rules backtest`: firings, traces, and how right they are where the traces are labelled."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from lastsignal.cli import run
from lastsignal.edges.rulefiles.skeleton import skeleton


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Two runs: one in which a tool fails twice in a row, one that goes well."""
    lines = []
    for trace, outcomes in (("bad", ("failed", "failed")), ("good", ("failed", "completed"))):
        for second, status in enumerate(outcomes):
            record = {"timestamp": 1_770_000_000 + second, "trace_id": trace, "status": status}
            record |= {"event_type": "tool_result", "operation": "search"}
            lines.append(record | ({"error_message": "gone"} if status == "failed" else {}))
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def backtest(traces: Path, *options: str) -> int:
    path = traces.parent / "mine.yaml"
    path.write_text(skeleton("mine", "mine.yaml"), encoding="utf-8")
    return run(["rules", "backtest", str(traces), "--rules", str(path), *options])


def test_a_backtest_tells_firings_and_traces(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert backtest(traces, "--format", "json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["rule"], found["firings"], found["traces"]) == ("mine", 1, ["bad"])
    assert "precision" not in found

    assert backtest(traces) == 0
    printed = capsys.readouterr()
    assert "mine" in printed.out
    assert printed.err == "1 rules over 2 traces, 0 rules silent\n"


@pytest.mark.parametrize(
    ("labels", "code", "precision", "recall"),
    [
        ([{"trace_id": "bad", "rule": "mine"}, {"trace_id": "good"}], 0, 1.0, 1.0),
        ([{"trace_id": "good", "rule": "mine"}], 2, 0.0, 0.0),
        ([{"trace_id": "good"}], 2, 0.0, None),
    ],
)
def test_labels_measure_a_rule(
    traces: Path,
    labels: list[dict[str, str]],
    code: int,
    precision: float,
    recall: float | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = traces.parent / "labels.jsonl"
    path.write_text("\n".join(map(json.dumps, labels)), encoding="utf-8")

    assert backtest(traces, "--labels", str(path), "--format", "json") == code
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["precision"], found["recall"]) == (precision, recall)

    assert backtest(traces, "--labels", str(path), "--format", "junit") == code
    suites = ElementTree.fromstring(capsys.readouterr().out)
    assert (suites.get("failures") != "0") is (code == 2)


def test_wrong_labels_are_told_with_their_line(
    traces: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = traces.parent / "labels.jsonl"
    path.write_text('{"trace_id": "nobody", "rule": "mine"}\n{"rule": 1}\n', encoding="utf-8")

    assert backtest(traces, "--labels", str(path)) == 2
    told = capsys.readouterr().err
    assert f"{path}:1: there is no trace `nobody` in the input; it has bad, good" in told
    assert f"{path}:2: the line is no label" in told


def test_a_backtest_over_nothing_is_not_a_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")

    assert backtest(empty) == 3
    assert "no event" in capsys.readouterr().err
