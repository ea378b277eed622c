"""Lines in which a container runtime, journald or a log shipper has wrapped what a program wrote.

A wrapper is told by its own keys, and by nothing else beside them: a record of an agent that holds
JSON in a text is none. Where its keys alone do not tell it for certain, the text must be an object.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec

from lastsignal.core.framing import shippers
from lastsignal.core.framing.grammar import find_object
from lastsignal.core.framing.records import ProgramLine

_ABSENT = msgspec.Raw(b"")

_PREFIX_TIME_BYTES = 48
_LEAST_DOCKER_PART = 16_000
"""Bytes: it cuts at 16 KiB, and replaces what is no UTF-8."""

MAX_DEPTH = 3
"""Wrappers around one line: who ships the logs of a runtime wraps what that has wrapped."""

MAX_PLAIN_OBJECTS = 64
"""A source whose first objects nobody has wrapped holds none that are: to look costs each line."""

REFUSED = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What a decoder raises at a line that is not the wrapper's."""


class Wrapper(NamedTuple):
    """One way in which lines are wrapped."""

    name: str
    description: str
    """One line: whose, and what happens to a line that is too long for it."""
    told_by: str
    texts: tuple[str, ...]
    """Keys of the program's text, one of which is there; empty where the wrapper is no JSON."""
    read: Callable[[bytes], ProgramLine | None]
    """Returns what a line holds, None where it is not this wrapper's."""
    is_certain: bool = True
    """Whether its keys tell it, whatever the text is."""
    default_paths: tuple[str, ...] = ()


_match_cri = re.compile(
    rb"(\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) ([PF])(?::\S{0,64})? "
).match


def read_cri(piece: bytes) -> ProgramLine | None:
    """Read a line of a Kubernetes node's log."""
    header = _match_cri(piece)
    if header is None:
        return None
    start = header.end()
    written, stream, tag = header.groups()
    text = piece[start:] if tag == b"P" else piece[start:] + b"\n"
    return ProgramLine("cri", stream.decode(), text, written.decode(), start)


_find_last_time = re.compile(
    rb"(?:\A|\s|\x1b\[[\d;]{0,16}m)(\d{4}-\d\d-\d\dT\d\d:[\d:.]{5,16}(?:Z|[+-]\d\d:\d\d))\s+\Z"
).search

_match_first_time = re.compile(
    rb"\s*(?:\x1b\[[\d;]{0,16}m)?(?:[\w.-]{1,100} *\| )?(?:[A-Z]{4,8}[ :]{1,8})?[\[(]?"
    rb"(\d{4}([-/])\d\d\2\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?)"
    rb"(?![\d:.,])"
).match


def read_prefix(prefix: bytes) -> ProgramLine | None:
    """Read what stands before an object on its line, if that ends with a time and its zone, as a
    runtime puts it there, or begins with one, as a program's logger does."""
    found = _find_last_time(prefix[-_PREFIX_TIME_BYTES:])
    if found is not None:
        return ProgramLine("prefix", "", None, found[1].decode(), 0)
    found = _match_first_time(prefix)
    if found is None:
        return None
    written = found[1].decode().replace("/", "-").replace(" +", "+").replace(" -", "-")
    return ProgramLine("prefix", "", None, written.replace(" Z", "Z"), 0)


class _Docker(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    log: str
    stream: Literal["stdout", "stderr"]
    time: str
    attrs: dict[str, str] | None = None


_decode_docker = msgspec.json.Decoder(_Docker).decode


def read_docker(data: bytes) -> ProgramLine | None:
    """Read a line of Docker's json-file log."""
    try:
        found = _decode_docker(data)
    except REFUSED:
        return None
    return ProgramLine("docker", found.stream, found.log.encode(), found.time)


_match_docker = re.compile(rb'\{"log":("(?:[^"\\]|\\[^u]|\\u[\da-fA-F]{4})*)').match


def read_torn_docker(data: bytes) -> bytes:
    """Return what a program wrote, as far as a line of Docker's log goes that ends too early."""
    found = _match_docker(data)
    if found is None or b"\n" in data:
        return b""
    text = found[1].decode("utf-8", "ignore").encode()
    try:
        return msgspec.json.decode(text + b'"', type=str).encode()
    except REFUSED:
        return b""


class _Journal(msgspec.Struct, gc=False):
    message: Any = msgspec.field(name="MESSAGE")
    written: str = msgspec.field(name="__REALTIME_TIMESTAMP")
    stream: Any = msgspec.field(name="_STREAM_ID", default=None)
    line_break: Any = msgspec.field(name="_LINE_BREAK", default=None)
    container: Any = msgspec.field(name="CONTAINER_ID_FULL", default=None)
    is_part: Any = msgspec.field(name="CONTAINER_PARTIAL_MESSAGE", default=None)
    unit: Any = msgspec.field(name="_SYSTEMD_UNIT", default=None)
    pid: Any = msgspec.field(name="_PID", default=None)
    priority: Any = msgspec.field(name="PRIORITY", default=None)


_decode_journal = msgspec.json.Decoder(_Journal).decode


def read_journal(data: bytes) -> ProgramLine | None:
    """Read an entry as `journalctl -o json` prints it."""
    try:
        found = _decode_journal(data)
    except REFUSED:
        return None
    text = _message(found.message)
    if text is not None and found.line_break != "line-max" and found.is_part != "true":
        text += b"\n"
    stream = found.stream or [found.container, found.unit, found.pid, found.priority]
    return ProgramLine("journald", str(stream), text, found.written)


def _message(value: Any) -> bytes | None:
    """Return a journal's field: a text, its bytes one by one where it is no plain text, or the
    values of a field that an entry has several times."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, list):
        return None
    try:
        return bytes(value)
    except (TypeError, ValueError):
        are_texts = all(isinstance(one, str) for one in value)
        return "\n".join(value).encode() if are_texts else None


WRAPPERS: tuple[Wrapper, ...] = (
    Wrapper(
        "cri",
        "A Kubernetes node's log; it cuts lines at 16 KiB",
        "A time, stdout or stderr, and P or F stand before the text.",
        (),
        read_cri,
        default_paths=("/var/log/pods/*/*/*.log",),
    ),
    Wrapper(
        "prefix",
        "`docker logs -t`, `docker compose logs -t`, `kubectl logs --timestamps`; loggers",
        "A time with its zone stands right before an object, or any time at the line's beginning.",
        (),
        read_prefix,
    ),
    Wrapper(
        "docker",
        "Docker's json-file log; it cuts lines at 16 KiB",
        "An object of log, stream and time, perhaps attrs.",
        ("log",),
        read_docker,
        default_paths=("/var/lib/docker/containers/*/*-json.log",),
    ),
    Wrapper(
        "journald",
        "systemd's journal, from `journalctl -o json --all`; it cuts lines at 48 KiB",
        "An object with MESSAGE and __REALTIME_TIMESTAMP.",
        ("MESSAGE",),
        read_journal,
    ),
    *(
        Wrapper(one.name, one.description, one.told_by, one.texts, one.read, is_certain=False)
        for one in shippers.SHIPPERS
    ),
)
"""All that are known."""

_BY_NAME = {one.name: one for one in WRAPPERS}
_IN_JSON = tuple(one for one in WRAPPERS if one.texts)


_MAY_BEGIN_A_TEXT = (b'"', b"[", b"n")  # its bytes one by one; null where it was left out


class _Texts(msgspec.Struct, gc=False):
    log: msgspec.Raw = _ABSENT
    message: msgspec.Raw = _ABSENT
    msg: msgspec.Raw = _ABSENT
    MESSAGE: msgspec.Raw = _ABSENT
    line: msgspec.Raw = _ABSENT


_decode_texts = msgspec.json.Decoder(_Texts).decode


def read_wrapped(data: bytes, known: str) -> ProgramLine | None:
    """Return what an object holds if it wraps what a program wrote.

    Args:
        data: one record.
        known: the name of the wrapper that the source was found to have; empty before.
    """
    if known and (found := _BY_NAME[known].read(data)) is not None:
        return found
    try:
        texts = _decode_texts(data)
    except REFUSED:
        return None
    there = {
        key
        for key in texts.__struct_fields__
        if bytes(getattr(texts, key))[:1] in _MAY_BEGIN_A_TEXT
    }
    for wrapper in _IN_JSON if there else ():
        if there.intersection(wrapper.texts) and (found := wrapper.read(data)) is not None:
            return found
    return None


def is_told(line: ProgramLine, known: str) -> bool:
    """Tell whether a line is wrapped for certain, in a source that was found to have `known`."""
    if line.wrapper == known or _BY_NAME[line.wrapper].is_certain:
        return True
    text = (line.text or b"").strip()
    return is_object(text) if text[:1] == b"{" else read_cri(text) is not None


def is_whole(line: ProgramLine) -> bool:
    """Tell whether a line is no part of one, though it has no newline.

    Docker keeps newlines, and parts of lines have none; who ships its logs may take them all away.
    """
    text = line.text or b""
    if line.wrapper != "docker" or len(text) >= _LEAST_DOCKER_PART:
        return False
    found = find_object(text)
    return found is None or is_object(text[found.start() :].strip())


def is_object(text: bytes) -> bool:
    """Is it one whole JSON object?"""
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except REFUSED:
        return False
    return True


def as_written(head: bytes) -> bytes:
    """Return the lines that a source begins with as programs wrote them: for people to read."""
    return b"".join(_as_written(line + b"\n") for line in head.split(b"\n"))


def _as_written(line: bytes) -> bytes:
    for _ in range(MAX_DEPTH):
        found = read_cri(line.rstrip(b"\n")) or read_wrapped(line, "")
        if found is None:
            break
        line = found.text or b""
    return line
