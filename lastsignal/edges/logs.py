"""The log on standard error: for people on a terminal, else JSON; no secret is ever in it.

Loggers are structlog's: `structlog.get_logger("tailer").warning("file lost", path=path)`. What
libraries log by the standard library goes the same way.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Literal, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from lastsignal.core.file_names import shown

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["auto", "human", "json"]

MASK = "********"
MAX_ALIKE = 10  # lines of one kind in
ALIKE_SECONDS = 60.0
MAX_VALUE_CHARS = 4000  # of one value in a line: what a trace calls a name may be a megabyte
_SHORTEST_SECRET = 4  # characters; less would be masked in the middle of words

_SECRET_KEY = re.compile(r"(^|_)(token|password|passwd|secret|authorization|api_?key)$", re.I)
_PASSWORD_IN_URL = re.compile(r"(://[^\s/:@]*):[^\s/@]+@")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_CHATTY = ("apprise", "asyncio", "httpcore", "httpx", "markdown", "uvicorn", "watchfiles")
_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}
_FIRST = ("timestamp", "level", "logger", "event")


def configure(
    level: Level = "info",
    format_name: Format = "auto",
    *,
    secrets: Iterable[str] = (),
    stream: TextIO | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Set up all logging of the process.

    Args:
        level: the least that is written.
        format_name: `auto` is `human` on a terminal and `json` elsewhere.
        secrets: texts that are masked wherever they come up.
        stream: where lines go; None for standard error.
        environment: NO_COLOR, and JOURNAL_STREAM by which journald takes levels.
    """
    stream = stream or sys.stderr
    environment = os.environ if environment is None else environment
    for_people = format_name == "human" or (format_name == "auto" and stream.isatty())
    shared: list[Processor] = [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        Masking(secrets),
    ]
    _configure_structlog(shared)
    handler = _Handler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(for_people, stream, environment),
            ],
        )
    )
    _configure_library(handler, level)


def own_file(stream: TextIO | None = None) -> str | None:
    """Return the file that the log goes to, if it is one: it must never be tailed."""
    try:
        descriptor = (stream or sys.stderr).fileno()
        path = Path(f"/proc/self/fd/{descriptor}").resolve(strict=True)
    except (OSError, ValueError):
        return None
    return str(path) if path.is_file() else None


class Masking:
    """Masks secrets: by the names of values, in URLs, and wherever a known one comes up."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = sorted({one for one in secrets if len(one) >= _SHORTEST_SECRET}, key=len)
        self._known = re.compile("|".join(map(re.escape, reversed(known)))) if known else None

    def __call__(self, logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
        """Return the line without secrets."""
        return {
            key: MASK if _SECRET_KEY.search(key) and value else self._mask(value)
            for key, value in line.items()
        }

    def _mask(self, value: Any) -> Any:
        if isinstance(value, str):
            value = _PASSWORD_IN_URL.sub(rf"\1:{MASK}@", shown(value))
            value = self._known.sub(MASK, value) if self._known else value
            return value if len(value) <= MAX_VALUE_CHARS else _shortened(value)
        if isinstance(value, Mapping):
            return {
                key: MASK if _SECRET_KEY.search(str(key)) else self._mask(one)
                for key, one in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._mask(one) for one in value]
        if isinstance(value, bool | int | float | None):
            return value
        return value if isinstance(value, logging.LogRecord) else self._mask(str(value))


def _shortened(value: str) -> str:
    """Leave out the middle: a traceback says most at its end, all else at its beginning."""
    half = MAX_VALUE_CHARS // 2
    return f"{value[:half]} … {len(value) - 2 * half} characters … {value[-half:]}"


class Damping:
    """Lets through so many lines of one kind a minute; the next one says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = -ALIKE_SECONDS
        self._seen: dict[str, int] = {}
        self._left_out: dict[str, int] = {}

    def __call__(self, logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
        """Return the line, or drop it."""
        now = self._clock()
        if now - self._began >= ALIKE_SECONDS:
            self._left_out = {
                kind: count - MAX_ALIKE for kind, count in self._seen.items() if count > MAX_ALIKE
            }
            self._began, self._seen = now, {}
        kind = str(line.get("event"))
        self._seen[kind] = self._seen.get(kind, 0) + 1
        if self._seen[kind] > MAX_ALIKE:
            raise structlog.DropEvent
        if kind in self._left_out:
            line["left_out"] = self._left_out.pop(kind)
        return line


def _configure_structlog(shared: list[Processor]) -> None:
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            Damping(),
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _configure_library(handler: logging.Handler, level: Level) -> None:
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
    logging.captureWarnings(True)


def _rendering(for_people: bool, stream: TextIO, environment: Mapping[str, str]) -> list[Processor]:
    if for_people:
        colors = stream.isatty() and not environment.get("NO_COLOR")
        return [_visible, structlog.dev.ConsoleRenderer(colors=colors)]
    prefixed = _is_journal(stream, environment)
    return [_ordered, _JsonLine(prefixed)]


def _visible(logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
    """Show control characters instead of obeying them: a trace must not steer a terminal."""
    return {
        key: _CONTROL.sub(_escaped_in_traceback if key == "exception" else _escaped, value)
        if isinstance(value, str)
        else value
        for key, value in line.items()
    }


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _escaped_in_traceback(found: re.Match[str]) -> str:
    return found[0] if found[0] in "\n\t" else _escaped(found)


def _ordered(logger: WrappedLogger, method: str, line: EventDict) -> EventDict:
    first: MutableMapping[str, Any] = {name: line[name] for name in _FIRST if name in line}
    return {**first, **line}


class _JsonLine:
    """Writes a line as JSON, with the priority before it where journald reads that."""

    def __init__(self, prefixed: bool) -> None:
        self._prefixed = prefixed

    def __call__(self, logger: WrappedLogger, method: str, line: EventDict) -> str:
        text = msgspec.json.encode(line, enc_hook=str).decode()
        if not self._prefixed:
            return text
        return f"<{_PRIORITIES.get(str(line.get('level')), 6)}>{text}"


def _is_journal(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether lines go to journald, which says by JOURNAL_STREAM what its stream is."""
    try:
        facts = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return environment.get("JOURNAL_STREAM") == f"{facts.st_dev}:{facts.st_ino}"


class _Handler(logging.StreamHandler[TextIO]):
    """A line that cannot be written is lost: the daemon goes on."""

    def handleError(self, record: logging.LogRecord) -> None:  # logging's own name
        """Do nothing."""
