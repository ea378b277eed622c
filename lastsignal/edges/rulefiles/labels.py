"""Labels of traces, one JSON object a line: `{"trace_id": "a", "rule": "retry_storm"}`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from lastsignal.core.backtest import Label
from lastsignal.errors import InputError, Problem, RuleError

_decode = msgspec.json.Decoder(Label).decode


def read_labels(path: Path, traces: Collection[str], rules: Sequence[str]) -> list[Label]:
    """Return the labels of a file.

    Args:
        path: the file.
        traces: those that were read: a label of another one is a mistake.
        rules: ids of the rules that are tested; labels of others are left out.

    Raises:
        InputError: the file cannot be read.
        RuleError: with every line that is no label.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    labels: list[Label] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            label = _decode(line)
        except (msgspec.MsgspecError, UnicodeError):
            fix = 'write {"trace_id": "…", "rule": "…"}, without a rule for a healthy trace'
            problems.append(Problem(str(path), number, "the line is no label", fix))
            continue
        if label.trace_id not in traces:
            message = f"there is no trace `{label.trace_id}` in the input"
            problems.append(Problem(str(path), number, message, _known(traces)))
        labels.append(label)
    if problems:
        raise RuleError(problems)
    return [label for label in labels if label.rule is None or label.rule in rules]


def _known(traces: Collection[str]) -> str:
    shown = sorted(traces)[:5]
    return f"it has {', '.join(shown)}{' …' if len(traces) > len(shown) else ''}"
