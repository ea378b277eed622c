"""Logs that hold no structured events, told by their first lines, and what to write instead.

Frameworks print such text for people to follow along: what failed is often not in it at all.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lastsignal.core.framing import as_written

_HEAD_BYTES = 16_384
_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,16}m")


class _Layout(NamedTuple):
    pattern: re.Pattern[str]
    advice: str


def _layout(pattern: str, what: str, instead: str) -> _Layout:
    text = f"{what} holds no structured events; instead, {instead}."
    return _Layout(re.compile(pattern, re.MULTILINE), text)


_LAYOUTS = (
    _layout(
        r"^\s*> Entering new \S.{0,100}? chain\.\.\.",
        "The text of LangChain's FileCallbackHandler",
        "write the events of `astream_events` as JSON lines, or export the runs from LangSmith",
    ),
    _layout(
        r"haystack\.tracing\.logging_tracer\b|^.{0,200}\bOperation: haystack\.\w+\.run\b",
        "The text of Haystack's LoggingTracer",
        "enable its OpenTelemetryTracer with an exporter that writes JSON",
    ),
    _layout(
        r"^\[\[ ## \w{1,100} ## \]\]|^.{0,200}\bdspy\.\w+(?:\.\w+)*: ",
        "The text that DSPy prints",
        "enable `mlflow.dspy.autolog()` and export its traces",
    ),
    _layout(
        r"^\[Exporter\] Export (?:trace_id=|span: )",
        "The text of the OpenAI Agents SDK's ConsoleSpanExporter",
        "add a tracing processor that writes `trace.export()` and `span.export()` as JSON lines",
    ),
    _layout(
        r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: task_name="',
        "The text of CrewAI's output_log_file",
        "name the file `….json`, or write the events of its event bus with `to_json()`",
    ),
    _layout(
        r"^# aider chat started at \d{4}-",
        "aider's chat history",
        "start it with `--analytics-log FILE`",
    ),
    _Layout(
        re.compile(r'\A\s*\{\s*"id":\s*"(?:msg|prt|ses)_'),
        "A file of OpenCode's storage holds one piece of a session; instead, write the whole of it"
        " with `opencode export SESSION > FILE`.",
    ),
    _layout(
        r"^\{'[^'\n]{1,100}': ",
        "What Python prints of its own objects",
        "write each with `json.dumps(…)` on a line of its own",
    ),
)


def advice_for(head: bytes) -> str | None:
    """Return what to write instead of a log that begins so; None for a layout not known here."""
    written = as_written(head[:_HEAD_BYTES])
    text = _ESCAPES.sub("", written.decode("utf-8", "replace"))
    return next((layout.advice for layout in _LAYOUTS if layout.pattern.search(text)), None)
