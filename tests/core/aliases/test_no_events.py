"""Advice for an input that gave no event."""

from __future__ import annotations

import pytest

from lastsignal.core.aliases.contract import Dialect
from lastsignal.core.aliases.no_events import advise
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.framing import Framer


def read(data: bytes, ladder: tuple[Dialect, ...] = LADDER) -> Reader:
    """Read a whole input."""
    framer, reader = Framer(), Reader("x", ladder, 0.0)
    reader.read(framer.feed(data))
    reader.read(framer.finish())
    reader.finish()
    for reason, count in framer.skipped.items():
        reader.skip(reason, count)
    return reader


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "it is empty"),
        (b"\n\n  \n", "it is empty"),
        (b"hello\nworld\n", "holds no JSON objects"),
        (b"42\n[1, 2]\n", "holds no JSON objects"),
        (b'{"log":"hi\\n","stream":"stdout","time":"2026-03-01"}\n', "holds no JSON objects"),
        (b'{"__REALTIME_TIMESTAMP":"1","MESSAGE":null}\n', "`journalctl -o json --all`"),
        (b"> Entering new Agent chain...\n", "FileCallbackHandler"),
        (b'{"foo": 1, "bar": 2}\n', "no layout that is known (keys: `foo`, `bar`)"),
        (b'{"foo": 1, "bar": 2}\n', "--aliases"),
        (b'{"foo": \n{"bar": \n{"baz": \n', "damaged or cut off"),
        (b"\x00\x01\x02\x03\xff" * 30 + b"\n", "it is no text"),
        (b'{"type":"thread.started","thread_id":"t"}\n', "it is codex_exec, but no record tells"),
        (
            b'{"resourceLogs":[{"scopeLogs":[]}]}\n',
            "OpenTelemetry's log records, and runs are read",
        ),
        (b'{"resourceLogs":[{"scopeLogs":[]}]}\n', "`OTEL_TRACES_EXPORTER=otlp`"),
        (b'{"resourceMetrics":[]}\n', "OpenTelemetry's metrics"),
        (
            b'{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":'
            b'{"stringValue":"claude-code"}}]}}]}\n',
            "`~/.claude/projects/**/*.jsonl`",
        ),
    ],
)
def test_an_input_without_events_is_told_what_to_do(data: bytes, words: str) -> None:
    advice = advise(read(data), data)

    assert advice is not None
    assert words in advice


def test_an_input_with_events_needs_no_advice() -> None:
    data = b'{"event": "tool_start", "tool": "a"}\nnoise\n'

    assert advise(read(data), data) is None


def test_a_fault_of_a_dialect_is_called_ours() -> None:
    def broken(value: object) -> bool:
        raise KeyError("x")

    dialect = Dialect("broken", "broken", broken, LADDER[0].decoder)

    advice = advise(read(b'{"a": 1}\n', (dialect,)), b'{"a": 1}\n')

    assert advice is not None
    assert advice.startswith("a fault of Last Signal in its dialect broken (KeyError: 'x')")
