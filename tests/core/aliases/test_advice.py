"""Advice for logs that hold no structured events."""

from __future__ import annotations

import pytest

from lastsignal.core.aliases.advice import advice_for


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\n\n\x1b[1m> Entering new AgentExecutor chain...\x1b[0m\n", "FileCallbackHandler"),
        (b"2026-03-01 DEBUG haystack.tracing.logging_tracer Operation: x\n", "OpenTelemetryTracer"),
        (b"System message:\n\n[[ ## question ## ]]\n{question}\n", "mlflow.dspy.autolog()"),
        (b"[Exporter] Export trace_id=trace_1, name=Agent\n", "tracing processor"),
        (b'2026-03-01 10:00:00: task_name="a", task="b", status="started"\n', "event bus"),
        (b"\n# aider chat started at 2026-03-01 10:00:00\n\n> Model: x\n", "--analytics-log"),
        (b"{'object': 'trace.span', 'error': None}\n", "json.dumps"),
    ],
)
def test_a_known_text_log_is_told_what_to_write_instead(head: bytes, words: str) -> None:
    advice = advice_for(head)
    assert advice is not None
    assert "holds no structured events" in advice
    assert words in advice


def test_a_text_log_is_known_within_the_lines_that_wrap_it() -> None:
    wrapped = b'{"log":"> Entering new Agent chain...\\n","stream":"stdout","time":"2026-03-01"}\n'
    for head in (wrapped, b"2026-03-01T10:00:00.5Z stdout F > Entering new Agent chain...\n"):
        assert "FileCallbackHandler" in (advice_for(head) or "")


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b'{"log":"text\\n","stream":"stdout","time":"2026-03-01"}',
        b'{"event_type": "tool_call"}\n',
        b"\xff\xfe\x00\x01",
        b"some other log\nof a program\n",
    ],
)
def test_whatever_else_gets_no_advice(head: bytes) -> None:
    assert advice_for(head) is None


@pytest.mark.parametrize("identity", ["msg_1", "prt_1", "ses_1"])
def test_a_piece_of_a_session_of_opencode_is_told_how_to_write_the_whole(identity: str) -> None:
    piece = f'{{\n  "id": "{identity}",\n  "sessionID": "ses_1"\n}}'.encode()
    assert "`opencode export SESSION > FILE`" in (advice_for(piece) or "")
    assert advice_for(b'{"type": "text", "part": ' + piece + b"}") is None
