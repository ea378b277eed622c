"""What is too little to be a flat record, and too little to be a crash.

One word in one field makes a flat record. In a source that a framework writes too, the same word
may stand in a record of the framework's own which its layout does not know. And one word alone that
means a crash is a mistake as likely as a crash, of which a program tells something more: what it
was, how it ended, at which level it is logged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lastsignal.core.aliases.crashes import is_crash
from lastsignal.core.aliases.error_text import error_in_text
from lastsignal.core.aliases.flat_table import AliasTable
from lastsignal.core.aliases.flat_verdict import speaks_ill
from lastsignal.core.events import Event

_TELL_OF_A_STEP = (
    "operation", "status", "error_message", "error_type", "http_status", "call_id", "model",
    "attempt", "arguments", "output", "input_tokens", "output_tokens", "cost_usd",
    "duration_seconds", "duration_ms", "finish_reason",
)  # fmt: skip
_OF_A_CALL = (
    "call_id", "callId", "callID", "tool_call_id", "toolCallId", "tool_use_id", "tool_id", "toolId",
    "tool_use_result", "toolUseResult",
)  # fmt: skip
TEXTS = ("message", "msg", "reason", "detail", "details", "description", "text")
_PROOFS = (
    "traceback", "stack", "stack_trace", "stacktrace", "exc_info", "exit_code", "exitCode",
    "returncode", "signal",
)  # fmt: skip
_TROUBLE = re.compile(
    r"(?<!\bno )(?<!\b0 )(?<!without )\b(?:abort|crash|died|exception|fail|fatal|kill|out of memory"
    r"|panic|seg(?:mentation )?fault|terminated|unexpected|unhandled)",
    re.IGNORECASE,
)
"""Words of what has gone wrong."""


def looks_flat(record: Mapping[str, Any], table: AliasTable) -> bool:
    """Whether a record says what it says by names of flat records.

    One that only has a time and ids by such names, and the rest inside an object of another name,
    is of a layout that is not flat.
    """
    if any(table.find(record, field) is not None for field in _TELL_OF_A_STEP):
        return True
    return not any(
        isinstance(value, dict | list) and name not in table.mapped and name != "metadata"
        for name, value in record.items()
    )


def answers_call(record: Mapping[str, Any], table: AliasTable) -> bool:
    """Whether a record tells of one call of a tool: of what it came to, or by its id.

    Under a word for a crash it is a framework's result whose type has become another word: what has
    failed there is the call, and its run may well go on.
    """
    return any(name in record for name in _OF_A_CALL) or table.find(record, "output") is not None


def says_what_crashed(event: Event, record: Mapping[str, Any]) -> bool:
    """Whether a record that means a crash has more to say of it than the word and a status."""
    if event.error_message or event.error_type or event.http_status or event.error_class:
        return True
    if speaks_ill(record) or any(_is_said(record.get(name)) for name in _PROOFS):
        return True
    texts = (record.get(name) for name in TEXTS)  # anything may stand there, what was said too
    return any(isinstance(text, str) and _tells_of_crash(text) for text in texts)


def _tells_of_crash(text: str) -> bool:
    return is_crash(error_in_text(text), is_doubted=True) or bool(_TROUBLE.search(text, 0, 500))


def _is_said(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return isinstance(value, int) and value != 0 and value is not True
