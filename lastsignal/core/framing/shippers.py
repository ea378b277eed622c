"""Log shippers that write what they have gathered as JSON lines, the program's line as a text.

What stands beside the text is theirs and nothing else: one key that they do not write, and a line
is taken for the agent's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from lastsignal.core.framing.records import ProgramLine

_decode = msgspec.json.Decoder().decode

_IDENTITY = (
    "stream", "source", "container_id", "container_name", "file", "filename", "filepath", "path",
    "log_path", "tag", "host", "hostname",
)  # fmt: skip
"""Keys that tell one program's stream from another's."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Shipper:
    """One of them."""

    name: str
    description: str
    told_by: str
    text: str
    """The key of the program's text."""
    keys: frozenset[str]
    """All that may stand beside it."""
    times: tuple[str, ...]
    """Keys of its time, the best one first."""
    is_marked: Callable[[Mapping[str, Any]], bool]
    """Does what only it writes stand there?"""

    def read(self, data: bytes) -> ProgramLine | None:
        """Return what a line holds, None where it is not this shipper's."""
        try:
            value = _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        if not isinstance(value, dict) or not isinstance(text := value.get(self.text), str):
            return None
        if not self.keys.issuperset(value) or not self.is_marked(value):
            return None
        written = next((value[key] for key in self.times if key in value), None)
        line = text.encode()
        if not (line.endswith(b"\n") or _is_part(value)):
            line += b"\n"
        return ProgramLine(self.name, _stream_of(value), line, written)


def _is_part(value: Mapping[str, Any]) -> bool:
    """Is more of the program's line to come?"""
    if value.get("partial_message") in ("true", True):
        return value.get("partial_last") not in ("true", True)
    return value.get("_p") == "P" or value.get("logtag") == "P" or value.get("_partial") is True


def _stream_of(value: Mapping[str, Any]) -> str:
    pod = value.get("kubernetes")
    names = ("namespace_name", "pod_namespace", "pod_name", "container_name", "namespace", "pod")
    within = [pod.get(name) for name in names] if isinstance(pod, dict) else []
    return str([value.get(key) for key in _IDENTITY] + within + [value.get("labels")])


def _is_fluent(value: Mapping[str, Any]) -> bool:
    if value.get("stream", "stdout") not in ("stdout", "stderr"):
        return False
    marks = ("date", "stream", "_p", "logtag", "container_id", "partial_id")
    return _names_a_pod(value) or any(mark in value for mark in marks)


def _is_fluent_message(value: Mapping[str, Any]) -> bool:
    is_tagged = value.get("logtag") in ("F", "P") and "stream" in value
    return _is_fluent(value) and (is_tagged or _names_a_pod(value))


def _names_a_pod(value: Mapping[str, Any]) -> bool:
    pod = value.get("kubernetes")
    return isinstance(pod, dict) and "pod_name" in pod


def _is_vector(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("source_type"), str) and "timestamp" in value


def _is_beat(value: Mapping[str, Any]) -> bool:
    agent, own = value.get("agent"), value.get("@metadata")
    by = agent.get("type") if isinstance(agent, dict) else None
    by = by or (own.get("beat") if isinstance(own, dict) else None)
    return isinstance(by, str) and by.endswith("beat") and "@timestamp" in value


def _is_loki(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("labels"), dict) and isinstance(value.get("timestamp"), str)


_FLUENT_KEYS = _words(
    "_p container_id container_name date docker file filename filepath fluentd_tag host hostname"
    " kubernetes log_path logtag offset partial_id partial_last partial_message partial_ordinal"
    " path source stream tag time timestamp @timestamp"
)
_FLUENT_TIMES = ("time", "@timestamp", "timestamp", "date")

SHIPPERS: tuple[Shipper, ...] = (
    Shipper(
        "fluent",
        "Fluent Bit or Fluentd, the text under `log`",
        "Beside log only keys of theirs, one of them date, stream, _p, logtag, container_id,"
        " partial_id or kubernetes; the text is an object.",
        "log",
        _FLUENT_KEYS | {"log"},
        _FLUENT_TIMES,
        _is_fluent,
    ),
    Shipper(
        "fluent_message",
        "Fluent Bit or Fluentd, the text under `message`",
        "Beside message only keys of theirs, with kubernetes, or with stream and logtag; the text"
        " is an object.",
        "message",
        _FLUENT_KEYS | {"message"},
        _FLUENT_TIMES,
        _is_fluent_message,
    ),
    Shipper(
        "vector",
        "Vector",
        "Beside message only keys of its sources, with source_type and timestamp; the text is an"
        " object.",
        "message",
        _words(
            "_partial container_created_at container_id container_name file host image kubernetes"
            " label message offset pid source_type stream timestamp timestamp_end"
        ),
        ("timestamp",),
        _is_vector,
    ),
    Shipper(
        "beats",
        "Filebeat",
        "Beside message only keys of a Beat, with @timestamp and the Beat's name; the text is an"
        " object.",
        "message",
        _words(
            "@metadata @timestamp @version agent cloud container data_stream docker ecs event"
            " fields host input kubernetes log message orchestrator stream tags"
        ),
        ("@timestamp",),
        _is_beat,
    ),
    Shipper(
        "loki",
        "Loki, from `logcli query -o jsonl`",
        "An object of labels, line and timestamp; the text is an object.",
        "line",
        _words("labels line timestamp"),
        ("timestamp",),
        _is_loki,
    ),
)
