"""The configuration in force as TOML: what `lastsignal config show` prints, secrets masked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import msgspec

from lastsignal.core.addresses import Address
from lastsignal.core.durations import Duration
from lastsignal.core.places import Place
from lastsignal.edges.config.kinds import fields_of, is_table, kind_of
from lastsignal.edges.config.loading import LoadedConfig
from lastsignal.edges.config.places import Places, RawTable
from lastsignal.edges.config.values import MASK, Secret, Size

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))
_SIZES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def show(loaded: LoadedConfig) -> str:
    """Return the effective configuration as TOML; secrets are masked, or shown as references."""
    path = loaded.path
    origin = f"from {path}" if path is not None else "no configuration file: the defaults"
    lines = [f"# {origin}", *_table(loaded.config, (), loaded.places)]
    return "\n".join(lines) + "\n"


def _table(struct: msgspec.Struct, place: Place, places: Places) -> Iterator[str]:
    """Yield the scalar keys of a table and then, under headers of their own, the tables in it."""
    inner: list[tuple[str, Any]] = []
    for name, one in fields_of(type(struct)).items():
        value = getattr(struct, name)
        if isinstance(value, float):  # lengths of time of core structs
            value = Duration(value)
        if is_table(kind_of(one.type)):
            inner.append((name, value))
        elif value is not None:
            yield f"{name} = {write(value)}{_remark(value, (*place, name), places)}"
    for name, value in inner:
        yield from _under_header(value, (*place, name), places)


def _under_header(value: Any, place: Place, places: Places) -> Iterator[str]:
    name = ".".join(_key(str(step)) for step in place if not isinstance(step, int))
    if isinstance(value, tuple):
        for index, one in enumerate(value):
            yield from ("", f"[[{name}]]")
            yield from _body(one, (*place, index), places)
    elif isinstance(value, msgspec.Struct) and not isinstance(value, RawTable):
        lines = [*_body(value, place, places)]
        if lines and lines[0]:  # else there are only tables in it, with headers of their own
            yield from ("", f"[{name}]")
        yield from lines
    else:
        raw = value.values if isinstance(value, RawTable) else value
        if raw and all(isinstance(one, dict) for one in raw.values()):
            for key, one in raw.items():
                yield from _under_header(one, (*place, key), places)
        elif raw:
            yield from ("", f"[{name}]")
            yield from _pairs(raw)


def _body(value: Any, place: Place, places: Places) -> Iterator[str]:
    if isinstance(value, RawTable):
        yield from _pairs(value.values)
    else:
        yield from _table(value, place, places)


def _pairs(raw: dict[str, Any]) -> Iterator[str]:
    for key, value in raw.items():
        yield f"{_key(key)} = {write(value)}"


def _remark(value: object, place: Place, places: Places) -> str:
    if isinstance(value, Secret) and value.reference is None:
        return "  # in plain text, not shown"
    source = places.others.get(place)
    return f"  # from {source}" if source else ""


def write(value: object) -> str:
    """Return a value as TOML has it."""
    match value:
        case bool():
            return str(value).lower()
        case Secret(reference=None):
            return _quoted(MASK)
        case Secret(reference=(kind, name)):
            return f"{{ {kind} = {_quoted(name)} }}"
        case Duration():
            return _quoted(write_duration(value))
        case float():
            return repr(value)
        case Size():
            return _write_size(value)
        case int():
            return str(value)
        case str() | Path() | Address():
            return _quoted(str(value))
        case datetime() | date() | time():
            return value.isoformat()
        case tuple() | list():
            return f"[{', '.join(write(one) for one in value)}]"
        case dict():
            return f"{{ {', '.join(f'{_key(k)} = {write(v)}' for k, v in value.items())} }}"
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def write_duration(seconds: float) -> str:
    """Return a length of time as `parse_duration` reads it."""
    rest, text = round(seconds * 1000), ""
    for unit, length in _UNITS:
        count, rest = divmod(rest, length)
        if count:
            text += f"{count}{unit}"
    return text or "0s"


def _write_size(size: int) -> str:
    for unit, factor in _SIZES:
        if size and size % factor == 0:
            return _quoted(f"{size // factor}{unit}")
    return str(int(size))


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return a basic string: TOML's escapes are those of JSON, but for DEL."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
