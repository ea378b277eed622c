"""Where reports go: a file, or standard output."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from lastsignal.errors import InputError


def write(text: str, output: Path | None) -> None:
    """Write a text to a file, or to standard output.

    Raises:
        InputError: the file cannot be written.
    """
    if output is None:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
        return
    try:
        output.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(
            f"{output}: cannot be written: {error.strerror}; choose another file"
        ) from error


def echo_json(value: object) -> None:
    """Print a value as JSON that a person can read, too."""
    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())
