"""What a program wrote, as the logs of container runtimes and log shippers hold it."""

from __future__ import annotations

import json
from collections.abc import Iterable

TIME = "2026-09-01T08:00:00.123456789Z"


def docker_lines(line: bytes, size: int = 16_384, stream: str = "stdout") -> list[bytes]:
    """Return the lines of Docker's json-file log that hold one line: cut where it is longer."""
    text = line.decode()
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    return [_one_line(log=part, stream=stream, time=TIME) for part in parts]


def docker(lines: Iterable[bytes], size: int = 16_384) -> bytes:
    """Return Docker's json-file log of a program's lines."""
    return b"".join(part for line in lines for part in docker_lines(line, size))


def node(lines: Iterable[bytes]) -> bytes:
    """Return a Kubernetes node's log of a program's lines."""
    return b"".join(f"{TIME} stdout F ".encode() + line for line in lines)


def journal(lines: Iterable[bytes]) -> bytes:
    """Return what `journalctl -o json --all` prints of a service's lines."""
    common = {"__REALTIME_TIMESTAMP": "1788249600123456", "_SYSTEMD_UNIT": "agent.service"}
    return b"".join(_one_line(**common, MESSAGE=line.decode().rstrip("\n")) for line in lines)


def fluent_bit(lines: Iterable[bytes]) -> bytes:
    """Return what Fluent Bit writes of a pod's lines."""
    pod = {"pod_name": "agent-1", "namespace_name": "prod", "labels": {"app": "agent"}}
    return b"".join(
        _one_line(date=1788249600.5, log=line.decode(), stream="stdout", kubernetes=pod)
        for line in lines
    )


def filebeat(lines: Iterable[bytes]) -> bytes:
    """Return what Filebeat writes of a log, line by line."""
    common = {"@timestamp": TIME, "agent": {"type": "filebeat"}, "log": {"offset": 0}}
    return b"".join(_one_line(**common, message=line.decode().rstrip("\n")) for line in lines)


def vector(lines: Iterable[bytes]) -> bytes:
    """Return what Vector writes of a file's lines."""
    return b"".join(
        _one_line(
            file="/a.log",
            host="h",
            message=line.decode().rstrip("\n"),
            source_type="file",
            timestamp=TIME,
        )
        for line in lines
    )


def _one_line(**value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
