"""Files that label the failures of other files' runs: no run of their own."""

from __future__ import annotations

from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect


class _Label(msgspec.Struct):
    failures: list[msgspec.Raw]
    root_cause: Any


_decode = msgspec.json.Decoder(_Label).decode


def recognise(value: Any) -> bool:
    """A label: a run's failures and which of them is the root cause."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("failures"), list)
        and "root_cause" in value
        and "event_type" not in value
    )


class LabelDecoder:
    """Drops labels: they were written by people, after the run."""

    state = None

    def __init__(self, source: str) -> None:
        pass

    def decode(self, record: bytes) -> Decoded:
        """Return why there is nothing to tell; see `contract.Decoder`."""
        try:
            _decode(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        return Drop("failure_label")


DIALECT = Dialect(
    name="failure_labels",
    framework="agentrx",
    recognise=recognise,
    decoder=LabelDecoder,
    description="Labels of failed runs: failures, root_cause",
)
