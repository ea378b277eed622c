"""What to do about an input that gave no event: nothing read is never the same as nothing wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lastsignal.core.aliases.advice import advice_for
from lastsignal.core.aliases.json_values import decode_leniently
from lastsignal.core.aliases.reading import Reader

HEAD_BYTES = 16_384
"""As much of an input's beginning as the advice looks at."""

_MAX_KEYS = 8
_NOT_TEXT = ("binary", "nul_block")
_NO_JSON = ("not_json", "not_an_object", "blank")
_DAMAGED = ("torn_line", "invalid_json")

_WITHOUT_SPANS = {"otlp_logs": "log records", "otlp_metrics": "metrics"}
_SESSIONS = {
    b"claude-code": "`~/.claude/projects/**/*.jsonl`",
    b"codex": "`~/.codex/sessions/**/rollout-*.jsonl`",
    b"gemini-cli": "`~/.gemini/tmp/*/chats/*`",
    b"qwen-code": "`~/.qwen/projects/*/chats/*.jsonl`",
}
"""The names of services whose agents keep sessions → where."""

_SEE_FORMATS = "`lastsignal formats` lists what is read and where it is written"


def advise(reader: Reader, head: bytes) -> str | None:
    """Return what to do, None for an input that gave events.

    Args:
        reader: after the input's end, with all that was skipped.
        head: the input's first bytes.
    """
    if reader.events:
        return None
    known = advice_for(head)
    if known is not None:
        return known
    if reader.faults:
        fault = reader.faults[0]
        return (
            f"a fault of Last Signal in its dialect {fault.dialect} ({fault.error}): please report"
            " it with a record that shows it"
        )
    if reader.formats:
        signals = _WITHOUT_SPANS.keys() & reader.skipped.keys()
        if signals:
            return _without_spans(min(signals), head)
        return _nothing_told(list(reader.formats), reader.skipped)
    if not reader.skipped and not reader.records:
        return "it is empty; does the agent write elsewhere, or only when its run ends?"
    return _by_reason(reader.skipped, reader.heads)


def _without_spans(signal: str, head: bytes) -> str:
    """Return where a run stands whose log records or metrics were exported."""
    own = next((at for name, at in _SESSIONS.items() if name in head), None)
    rest = f", or name the sessions that the agent keeps itself, {own}" if own else ""
    return (
        f"it holds OpenTelemetry's {_WITHOUT_SPANS[signal]}, and runs are read from its spans;"
        " export those, too (`OTEL_TRACES_EXPORTER=otlp`, and a collector's file exporter in a"
        f" pipeline of traces){rest}"
    )


def _nothing_told(formats: Sequence[str], skipped: Mapping[str, int]) -> str:
    reasons = ", ".join(sorted(skipped, key=lambda reason: -skipped[reason])[:3])
    return (
        f"it is {' and '.join(formats)}, but no record tells of a run or a call ({reasons});"
        " is it the right file of this agent?"
    )


def _by_reason(skipped: Mapping[str, int], heads: Sequence[bytes]) -> str:
    if "message_left_out" in skipped:
        return (
            "`journalctl` has left out what is longer than 4 KiB; print it with `journalctl -o json"
            " --all`"
        )
    reason = max(skipped, key=lambda one: skipped[one], default="")
    if reason == "unrecognised_record":
        return (
            f"its JSON is of no layout that is known{_keys_of(heads)}; name its fields in a"
            " [[aliases.dialects]] section and give it with --aliases (docs/adding-a-dialect.md),"
            f" or see what is: {_SEE_FORMATS}"
        )
    if reason in _NO_JSON:
        return (
            "it holds no JSON objects, and only structured traces can be read; switch the agent's"
            f" JSON or OpenTelemetry output on: {_SEE_FORMATS}"
        )
    if reason in _NOT_TEXT:
        return f"it is no text; name a trace file: {_SEE_FORMATS}"
    if reason in _DAMAGED:
        return "its JSON is damaged or cut off; was it still being written when it was copied?"
    if reason == "nested_too_deeply":
        return "its JSON is nested too deeply to be a trace; was it written by an agent at all?"
    if reason == "utf16":
        return "it is UTF-16, and JSON is UTF-8; convert it: `iconv -f UTF-16 -t UTF-8 FILE`"
    if reason == "record_too_long":
        return "its records are longer than what is read of one; split it, one object a line"
    return f"nothing in it could be used ({reason}); {_SEE_FORMATS}"


def _keys_of(heads: Sequence[bytes]) -> str:
    for head in heads:
        try:
            value = decode_leniently(head)[0]
        except ValueError:
            continue
        if isinstance(value, dict) and value:
            keys = ", ".join(f"`{key[:40]}`" for key in list(value)[:_MAX_KEYS])
            return f" (keys: {keys})"
    return ""
