"""The log is read by people on a terminal and by machines elsewhere, and holds no secret."""

from __future__ import annotations

import io
import json
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from lastsignal.edges.logs import ALIKE_SECONDS, MASK, MAX_ALIKE, Damping, configure, own_file


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Leave the process's logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield
    root.handlers = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    logging.captureWarnings(False)


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return the JSON lines of a stream."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def configured(stream: io.StringIO | None = None, **options: Any) -> io.StringIO:
    """Configure logging to a stream that is given back."""
    stream = stream or io.StringIO()
    configure(stream=stream, environment={}, **options)
    return stream


# -- form ------------------------------------------------------------------------------------------


def test_elsewhere_than_on_a_terminal_each_line_is_one_json_object() -> None:
    stream = configured()
    structlog.get_logger("tailer").warning("file lost", path="/var/log/a\nb.jsonl", bytes=3)

    (line,) = written(stream)
    assert list(line) == ["timestamp", "level", "logger", "event", "path", "bytes"]
    assert line["level"] == "warning"
    assert line["logger"] == "tailer"
    assert (line["event"], line["path"], line["bytes"]) == ("file lost", "/var/log/a\nb.jsonl", 3)
    assert line["timestamp"].endswith("Z")


def test_on_a_terminal_a_line_is_for_people_and_in_colour() -> None:
    stream = configured(Terminal())
    structlog.get_logger().warning("file lost", path="/a")

    assert "file lost" in stream.getvalue()
    assert "\x1b[" in stream.getvalue()
    assert "{" not in stream.getvalue()


def test_no_color_and_files_have_no_colour() -> None:
    terminal, file = Terminal(), io.StringIO()
    configure(stream=terminal, environment={"NO_COLOR": "1"})
    structlog.get_logger().warning("x")
    configure(format_name="human", stream=file, environment={})
    structlog.get_logger().warning("x")

    assert "\x1b[" not in terminal.getvalue() + file.getvalue()


def test_json_can_be_asked_for_on_a_terminal() -> None:
    stream = configured(Terminal(), format_name="json")
    structlog.get_logger().warning("x")

    assert written(stream)[0]["event"] == "x"


def test_only_what_is_important_enough_is_written() -> None:
    stream = configured(level="warning")
    structlog.get_logger().info("quiet")
    structlog.get_logger().error("loud")
    logging.getLogger("any").info("quiet")

    assert [line["event"] for line in written(stream)] == ["loud"]


def test_what_libraries_log_goes_the_same_way() -> None:
    stream = configured()
    logging.getLogger("watchfiles").warning("sending to %s failed", "chat")
    logging.getLogger("watchfiles").info("too chatty")
    logging.getLogger("uvicorn.error").info("too chatty")

    (line,) = written(stream)
    assert (line["logger"], line["event"]) == ("watchfiles", "sending to chat failed")


def test_warnings_of_python_are_logged() -> None:
    stream = configured()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        logging.captureWarnings(False)

    assert "DeprecationWarning: old" in written(stream)[0]["event"]


@pytest.mark.parametrize("by_structlog", [True, False])
def test_an_exception_comes_with_its_traceback(by_structlog: bool) -> None:
    stream = configured()
    logger = structlog.get_logger() if by_structlog else logging.getLogger("any")
    try:
        raise ValueError("no good")
    except ValueError:
        logger.exception("it failed")

    (line,) = written(stream)
    assert line["event"] == "it failed"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: no good")


def test_a_trace_cannot_forge_lines_or_steer_a_terminal() -> None:
    stream = configured(Terminal())
    structlog.get_logger().warning("skipped\x1b[2J\nforged", excerpt="a\x1b]0;x\x07b\u202ec\r\n")

    text = stream.getvalue()
    assert text.count("\n") == 1
    assert "\x1b[2J" not in text
    assert "\x1b]0" not in text
    assert r"skipped\x1b[2J\nforged" in text
    assert r"\u202e" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_the_name_of_a_file_that_is_no_text_is_shown(terminal: bool) -> None:
    stream = configured(Terminal() if terminal else None)
    structlog.get_logger().warning("file lost", path=os.fsdecode(b"/a/b\xff.jsonl"))

    assert "/a/b\\xff.jsonl" in stream.getvalue().replace("\\\\", "\\")


def test_a_value_of_a_megabyte_is_shortened_in_its_middle() -> None:
    stream = configured()
    structlog.get_logger().warning("x", summary="a" * 500_000 + "b" * 500_000)

    (line,) = written(stream)
    assert len(line["summary"]) < 4100
    assert line["summary"].startswith("aaa")
    assert "996000 characters" in line["summary"]
    assert line["summary"].endswith("bbb")


def test_what_json_does_not_know_is_written_as_text() -> None:
    stream = configured()
    structlog.get_logger().warning("x", path=Path("/a"), both=(Path("/b"), {1: Path("/c")}))

    (line,) = written(stream)
    assert (line["path"], line["both"]) == ("/a", ["/b", {"1": "/c"}])


def test_a_line_that_cannot_be_written_stops_nothing() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    configured(Full())
    structlog.get_logger().warning("x")


# -- secrets ---------------------------------------------------------------------------------------


def test_known_secrets_are_masked_wherever_they_come_up() -> None:
    stream = configured(secrets=["hunter2", "hunter2 and more", "x", ""])
    structlog.get_logger().warning(
        "posting to slack://hunter2", detail=["a hunter2 and more", {"hunter": ("hunter2",)}]
    )
    logging.getLogger("watchfiles").warning("failed: %s", "slack://hunter2")
    try:
        raise ValueError("hunter2")
    except ValueError:
        structlog.get_logger().exception("x")

    assert "hunter2" not in stream.getvalue()
    first, second, _ = written(stream)
    assert first["event"] == f"posting to slack://{MASK}"
    assert first["detail"] == [f"a {MASK}", {"hunter": [MASK]}]
    assert second["event"] == f"failed: slack://{MASK}"


def test_values_with_the_name_of_a_secret_are_masked() -> None:
    stream = configured()
    structlog.get_logger().warning(
        "x", token="abc", api_key="abc", inner={"Password": "abc"}, input_tokens=3
    )

    assert "abc" not in stream.getvalue()
    assert written(stream)[0]["input_tokens"] == 3


def test_a_password_in_a_url_is_masked() -> None:
    stream = configured()
    structlog.get_logger().warning("x", url="https://me:abc@example.org/a:b@c")

    assert written(stream)[0]["url"] == f"https://me:{MASK}@example.org/a:b@c"


def test_an_object_is_shown_as_it_shows_itself() -> None:
    class Secret:
        def __str__(self) -> str:
            return MASK

    stream = configured()
    structlog.get_logger().warning("x", given=Secret())

    assert written(stream)[0]["given"] == MASK


# -- floods ----------------------------------------------------------------------------------------


def test_a_flood_of_lines_of_one_kind_is_damped_and_counted() -> None:
    now = 0.0
    damping = Damping(lambda: now)

    def passes(event: str) -> dict[str, Any] | None:
        try:
            return dict(damping(None, "warning", {"event": event}))
        except structlog.DropEvent:
            return None

    assert sum(passes("skipped") is not None for _ in range(1000)) == MAX_ALIKE
    assert passes("another kind") == {"event": "another kind"}
    now = ALIKE_SECONDS
    assert passes("skipped") == {"event": "skipped", "left_out": 1000 - MAX_ALIKE}
    assert passes("skipped") == {"event": "skipped"}


# -- where it goes ---------------------------------------------------------------------------------


def test_the_file_that_the_log_goes_to_is_known(tmp_path: Path) -> None:
    path = tmp_path / "own.log"
    with path.open("w") as stream:
        assert own_file(stream) == str(path)


def test_a_pipe_or_nothing_is_no_file() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as stream:
        assert own_file(stream) is None
    assert own_file(io.StringIO()) is None


def test_journald_gets_the_priority_of_each_line(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with path.open("w") as stream:
        facts = os.fstat(stream.fileno())
        journal = {"JOURNAL_STREAM": f"{facts.st_dev}:{facts.st_ino}"}
        configure(stream=stream, environment=journal)
        structlog.get_logger().warning("x")
        structlog.get_logger().error("y")
        configure(stream=stream, environment={"JOURNAL_STREAM": "1:2"})
        structlog.get_logger().error("z")

    lines = path.read_text().splitlines()
    assert [line[:4] for line in lines] == ["<4>{", "<3>{", '{"ti']
