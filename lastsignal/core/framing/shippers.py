"""Log shippers that write what they have gathered as JSON lines, the program's line as a text; and
loggers through which a program itself writes its records.

What stands beside the text is theirs and nothing else: one key that they do not write, and a line
is taken for the agent's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import msgspec

from lastsignal.core.framing.records import ProgramLine

_decode = msgspec.json.Decoder().decode

_match_field = re.compile(r"[A-Z0-9_]+\Z").match
"""As the fields of a journal's entry are called."""

_IDENTITY = (
    "stream", "source", "container_id", "container_name", "file", "filename", "filepath", "path",
    "log_path", "tag", "host", "hostname", "_STREAM_ID", "_SYSTEMD_UNIT", "_PID",
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
    texts: tuple[str, ...]
    """Keys of the program's text, one of which is there."""
    keys: frozenset[str]
    """All that may stand beside it."""
    times: tuple[str, ...]
    """Keys of its time, the best one first."""
    is_marked: Callable[[Mapping[str, Any], str], bool]
    """Does what only it writes stand beside the text of this key?"""
    gathers_journals: bool = False
    """Whether a journal's own fields may stand beside it, too."""

    def read(self, data: bytes) -> ProgramLine | None:
        """Return what a line holds, None where it is not this shipper's."""
        try:
            value = _decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        key = next((one for one in self.texts if one in value), "") if value else ""
        if not isinstance(value, dict) or not isinstance(text := value.get(key), str):
            return None
        if not (self._are_its_own(value.keys() - {key}) and self.is_marked(value, key)):
            return None
        written = next((value[one] for one in self.times if one in value), None)
        line = text.encode()
        if not (line.endswith(b"\n") or _is_part(value)):
            line += b"\n"
        return ProgramLine(self.name, _stream_of(value), line, written)

    def _are_its_own(self, keys: Set[str]) -> bool:
        foreign = keys - self.keys
        return not foreign or (self.gathers_journals and all(map(_match_field, foreign)))


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


def _is_fluent(value: Mapping[str, Any], text: str) -> bool:
    if value.get("stream", "stdout") not in ("stdout", "stderr"):
        return False
    pod = value.get("kubernetes")
    if isinstance(pod, dict) and "pod_name" in pod:
        return True
    if text == "log":
        marks = ("date", "stream", "_p", "logtag", "container_id", "partial_id")
        return any(mark in value for mark in marks)
    if text == "message":
        return value.get("logtag") in ("F", "P") and "stream" in value
    return "_BOOT_ID" in value or "_SYSTEMD_UNIT" in value


def _is_vector(value: Mapping[str, Any], text: str) -> bool:
    return isinstance(value.get("source_type"), str) and "timestamp" in value


def _is_beat(value: Mapping[str, Any], text: str) -> bool:
    agent, own = value.get("agent"), value.get("@metadata")
    by = agent.get("type") if isinstance(agent, dict) else None
    by = by or (own.get("beat") if isinstance(own, dict) else None)
    return isinstance(by, str) and by.endswith("beat") and "@timestamp" in value


def _is_loki(value: Mapping[str, Any], text: str) -> bool:
    return isinstance(value.get("labels"), dict) and isinstance(value.get("timestamp"), str)


_LEVELS = _words("level levelname severity lvl")
_LOGGED_AT = ("time", "ts", "timestamp", "@timestamp", "asctime", "created")


_LITELLM = {"message", "level", "timestamp"}
"""Keys of its log, whose messages are read as they stand."""


def _is_logger(value: Mapping[str, Any], text: str) -> bool:
    if value.keys() == _LITELLM:
        return False
    return not _LEVELS.isdisjoint(value) and any(key in value for key in _LOGGED_AT)


SHIPPERS: tuple[Shipper, ...] = (
    Shipper(
        "fluent",
        "Fluent Bit or Fluentd",
        "A text under log, message or MESSAGE that is an object, beside it only keys of theirs: a"
        " pod; or stream, date, _p, container_id beside log; logtag beside message; fields of the"
        " journal beside MESSAGE.",
        ("log", "message", "MESSAGE"),
        _words(
            "_p container_id container_name date docker file filename filepath fluentd_tag host"
            " hostname kubernetes log_path logtag offset partial_id partial_last partial_message"
            " partial_ordinal path source stream tag time timestamp @timestamp"
        ),
        ("time", "@timestamp", "timestamp", "date"),
        _is_fluent,
        gathers_journals=True,
    ),
    Shipper(
        "vector",
        "Vector",
        "A text under message that is an object, beside it only keys of Vector's sources, with"
        " source_type and timestamp.",
        ("message",),
        _words(
            "_partial container_created_at container_id container_name file host image kubernetes"
            " label offset pid source_type stream timestamp timestamp_end"
        ),
        ("timestamp",),
        _is_vector,
        gathers_journals=True,
    ),
    Shipper(
        "beats",
        "Filebeat",
        "A text under message that is an object, beside it only keys of a Beat, with @timestamp and"
        " the Beat's name.",
        ("message",),
        _words(
            "@metadata @timestamp @version agent cloud container data_stream docker ecs event"
            " fields host input kubernetes log orchestrator stream tags"
        ),
        ("@timestamp",),
        _is_beat,
    ),
    Shipper(
        "loki",
        "Loki, from `logcli query -o jsonl`",
        "An object of labels, line and timestamp; the line is an object.",
        ("line",),
        _words("labels timestamp"),
        ("timestamp",),
        _is_loki,
    ),
    Shipper(
        "logger",
        "The program's own JSON logger, as slog, zap, zerolog, pino, bunyan or python-json-logger",
        "A text under msg or message that is an object, beside it a level, a time, and only what"
        " such loggers say of where a line was logged; more than the three keys of litellm's log.",
        ("msg", "message"),
        _LEVELS
        | _words(
            "@timestamp @version asctime caller created file filename func funcName function host"
            " hostname line lineno logger logger_name module msecs name pathname pid process"
            " processName source thread threadName time timestamp ts v"
        ),
        _LOGGED_AT,
        _is_logger,
    ),
)
