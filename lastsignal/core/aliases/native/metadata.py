"""What the metadata of exact native records may say, by the type of event that they are of.

One decoder a type: it reads what such an event can have, and refuses a record in whose metadata
`flat` would find something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from lastsignal.core.aliases.flat_words import ALIASES
from lastsignal.core.aliases.reading.long_names import MAX_NAME

NONE = msgspec.Raw(b"")
"""Stands for what is not there."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME)]
Count = Annotated[int, msgspec.Meta(ge=0, lt=10**15)]
Amount = Annotated[float, msgspec.Meta(ge=0, lt=1e15)]
HttpError = Annotated[int, msgspec.Meta(ge=400, le=599)]
_NoHttpError = Annotated[int, msgspec.Meta(lt=400)]


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None


def _metadata_decoder(*passed_over: str, **told: Any) -> Callable[[msgspec.Raw], Any]:
    """Return what decodes the metadata of an event.

    Args:
        passed_over: names that say nothing of such an event; each one fewer is time saved.
        told: the names that are read, with their types. Where any other that `flat` reads says
            something, the record is left to it.
    """
    paths = (path for names in ALIASES.values() for path in names)
    known = {path.split(".")[1] for path in paths if path.startswith("metadata.")}
    unread = dict.fromkeys(sorted(known - {"output", "result", *passed_over}), None)
    fields = [
        (name, kind, NONE if kind is msgspec.Raw else None)
        for name, kind in {**unread, **told}.items()
    ]
    metadata = msgspec.defstruct("Metadata", fields, gc=False)
    return msgspec.json.Decoder(metadata | None).decode


_WHO: dict[str, Any] = {"call_id": Name | None, "agent": Name | None}
_TIME: dict[str, Any] = dict.fromkeys(
    ("duration_seconds", "duration_ms", "latency_ms"), Amount | None
)
_GOOD: dict[str, Any] = dict.fromkeys(("http_status", "status_code"), _NoHttpError | None)
_BAD: dict[str, Any] = {
    **dict.fromkeys(("http_status", "status_code"), HttpError | None),
    "error_type": Name | None,
}
_USED: dict[str, Any] = {
    "model": Name | None,
    **dict.fromkeys(_Usage.__struct_fields__, Count | None),
    "usage": _Usage | None,
    **dict.fromkeys(("cost_usd", "cost"), Amount | None),
    "finish_reason": Name | None,
}
_ARGUMENTS: dict[str, Any] = dict.fromkeys(("arguments", "args", "input", "parameters"), Any)
_OF_AN_END = (*_TIME, *_BAD, *_USED, "tokens", "error")

decode_other = _metadata_decoder(**_WHO)
decode_call = _metadata_decoder(*_OF_AN_END, **_WHO, **_ARGUMENTS)
decode_called = _metadata_decoder(**_WHO, **_ARGUMENTS)
decode_result = _metadata_decoder(
    *_USED,
    "tokens",
    **_WHO,
    **_TIME,
    **_GOOD,
    **dict.fromkeys(("output", "result"), msgspec.Raw),
)
decode_asked = _metadata_decoder(*_OF_AN_END, *_ARGUMENTS, **_WHO, model=Name | None)
decode_answered = _metadata_decoder(**_WHO, **_TIME, **_GOOD, **_USED)
decode_failed = _metadata_decoder(**_WHO, **_TIME, **_BAD, **_USED)
