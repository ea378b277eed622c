"""DSPy's history of a language model, dumped: one entry a call.

Nothing is written by default, and a call that raised leaves no entry.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.chat_messages import write_usage
from lastsignal.core.aliases.contract import Decoded, Dialect, NotThisDialect
from lastsignal.core.aliases.fields import amount_of, text_of
from lastsignal.core.events import UNTIMED, Event
from lastsignal.core.timestamps import parse_timestamp

_KEYS = frozenset({"model", "outputs", "timestamp", "usage", "uuid"})


class _Entry(msgspec.Struct, gc=False):
    model: Any
    timestamp: Any
    usage: Any
    uuid: Any
    outputs: msgspec.Raw
    cost: Any = None


_decode = msgspec.json.Decoder(_Entry).decode


def recognise(value: Any) -> bool:
    """An entry: the model, what it used, and the entry's own id."""
    return isinstance(value, dict) and value.keys() >= _KEYS and isinstance(value["uuid"], str)


class HistoryDecoder:
    """Decodes one entry after another."""

    state = None

    def __init__(self, source: str) -> None:
        pass

    def decode(self, record: bytes) -> Decoded:
        """Return the call's end; see `contract.Decoder`."""
        try:
            entry = _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        if not isinstance(entry.uuid, str):
            raise NotThisDialect
        moment, model = parse_timestamp(entry.timestamp), text_of(entry.model)
        event = Event(
            timestamp=UNTIMED if moment is None else moment,
            event_type="model_call",
            operation=model or "model",
            status="completed",
            call_id=entry.uuid,
            model=model,
            cost_usd=amount_of(entry.cost),
        )
        write_usage(event, entry.usage)
        return [event]


DIALECT = Dialect(
    name="dspy_history",
    framework="dspy",
    recognise=recognise,
    decoder=HistoryDecoder,
    description="Entries of a DSPy language model's history: model, uuid, usage, outputs",
)
