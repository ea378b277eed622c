"""The telemetry outfile of Gemini CLI, and of its fork Qwen Code: OpenTelemetry log records.

Each API call, tool call and retry has a record of its own. A session's end has none, so the last
call gives the verdict. The metrics in the same file say nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from lastsignal.core.aliases.contract import Decoded, Dialect, Drop, NotThisDialect
from lastsignal.core.aliases.fields import at, mapping_of, number_of, text_of
from lastsignal.core.aliases.gemini.telemetry_events import READERS, Moment
from lastsignal.core.events import UNTIMED
from lastsignal.core.timestamps import parse_timestamp

_FRAMEWORKS = {"gemini_cli": "gemini-cli", "qwen-code": "qwen-code"}
# Events whose own field of the name replaced the full one.
_UNPREFIXED = frozenset(
    "loop_detected loop_detection_disabled llm_loop_check end_session next_speaker_check "
    "slash_command chat_compression malformed_json_response flash_fallback".split()
)


class _Record(msgspec.Struct, gc=False):
    attributes: Any = None
    resource: Any = None
    scopeMetrics: Any = None
    hrTime: Any = None
    timestamp: Any = None


_decode_record = msgspec.json.Decoder(_Record).decode


def recognise(value: Any) -> bool:
    """A log record whose event name is the client's own, or the metrics beside it."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("scopeMetrics"), list):
        return "resource" in value
    return _framework_of(mapping_of(value.get("attributes"))) is not None


def _framework_of(attributes: Mapping[str, Any]) -> str | None:
    name = attributes.get("event.name")
    if not isinstance(name, str):
        return None
    if name in _UNPREFIXED and "event.timestamp" in attributes and "session.id" in attributes:
        return "gemini-cli"
    prefix, _, rest = name.partition(".")
    return _FRAMEWORKS.get(prefix) if rest else None


class TelemetryDecoder:
    """Decodes one record after another; see `contract.Decoder`. It need remember nothing."""

    def __init__(self, source: str) -> None:
        self.state: msgspec.Struct | None = None

    def decode(self, record: bytes) -> Decoded:
        """Return the record's events; see `contract.Decoder`."""
        try:
            line = _decode_record(record)
        except msgspec.ValidationError:
            raise NotThisDialect from None
        attributes = mapping_of(line.attributes)
        framework = _framework_of(attributes)
        if framework is None:
            if isinstance(line.scopeMetrics, list):
                return Drop("metrics")
            raise NotThisDialect
        resource = at(line.resource, "attributes", "session.id")
        session = text_of(attributes.get("session.id")) or text_of(resource) or ""
        moment = parse_timestamp(attributes.get("event.timestamp"))
        if moment is None:
            moment = _high_resolution(line.hrTime)
        prefix, _, rest = str(attributes["event.name"]).partition(".")
        reader = READERS.get(rest or prefix)
        if reader is None:
            return Drop("telemetry_detail")
        told = Moment(attributes, session, framework, UNTIMED if moment is None else moment)
        return reader(told) or Drop("telemetry_detail")


def _high_resolution(value: Any) -> float | None:
    """Read the SDK's pair of seconds and nanoseconds."""
    seconds, nanoseconds = number_of(at(value, 0)), number_of(at(value, 1))
    if seconds is None:
        return None
    return parse_timestamp(seconds + (nanoseconds or 0.0) / 1e9)


DIALECT = Dialect(
    name="gemini_telemetry",
    framework="gemini-cli",
    recognise=recognise,
    decoder=TelemetryDecoder,
    disorder_seconds=5.0,
    is_unique=True,
    description="Telemetry outfile of Gemini CLI or Qwen Code: log records with an event.name",
    written_by="Gemini CLI or Qwen Code with `telemetry.outfile` in their settings",
)
