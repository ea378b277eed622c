"""Plain TOML values → frozen structs; every mistake is told, none stops the search for others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import inspect

from lastsignal.core.addresses import Address, parse_address
from lastsignal.core.durations import Duration, parse_duration
from lastsignal.core.places import Place, show_place
from lastsignal.core.spelling import did_you_mean, meant
from lastsignal.edges.config.kinds import describe, fields_of, is_table, kind_of
from lastsignal.edges.config.places import Places, RawTable
from lastsignal.edges.config.secrets import read_secret
from lastsignal.edges.config.values import (
    Interval,
    Pattern,
    Secret,
    Size,
    WebAddress,
    parse_interval,
    parse_size,
    parse_web_address,
)
from lastsignal.errors import Problem


class _Wrong:
    """Stands for a value whose mistake has been told."""


WRONG: Final = _Wrong()


@dataclass(slots=True)
class Decoding:
    """One pass over a configuration.

    Args:
        places: where what was written.
        environment: where secrets may be read from.
        known: every key of every table, for hints.
    """

    places: Places
    environment: Mapping[str, str]
    known: Mapping[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def complain(self, place: Place, message: str, fix: str = "", severity: str = "error") -> None:
        """Note what is wrong at a place."""
        self.problems.append(self.places.problem(place, message, fix, severity))

    def struct(self, raw: object, kind: type[msgspec.Struct], place: Place) -> Any:
        """Return the table as a struct, or `WRONG`."""
        if not isinstance(raw, dict):
            self._complain_of_kind(raw, "a table", place)
            return WRONG
        fields = fields_of(kind)
        complete = True
        for key in raw:
            if key not in fields:
                self.complain((*place, key), *self._unknown(key, list(fields), place))
                complete = False
        values: dict[str, Any] = {}
        for name, one in fields.items():
            if name in raw:
                values[name] = self.value(raw[name], one.type, (*place, name))
            elif one.required:
                self.complain(place, f"{_called(place)} needs `{name}`", f"add {name} = …")
                complete = False
        if not complete or any(value is WRONG for value in values.values()):
            return WRONG
        return kind(**values)

    def value(self, raw: object, kind: inspect.Type, place: Place) -> Any:
        """Return the value as its type has it, or `WRONG`."""
        kind = kind_of(kind)
        match kind:
            case inspect.StructType(cls=cls):
                return self.struct(raw, cls, place)
            case inspect.VarTupleType(item_type=item):
                return self._list(raw, item, place)
            case inspect.DictType(value_type=value):
                return self._dict(raw, value, place)
            case inspect.CustomType(cls=cls):
                return self._custom(raw, cls, place)
            case inspect.FloatType():  # of core structs: nothing but lengths of time
                return self._custom(raw, Duration, place)
        if _fits(raw, kind):
            return raw
        self._complain_of_kind(raw, describe(kind), place, _near(raw, kind))
        return WRONG

    def _list(self, raw: object, item: inspect.Type, place: Place) -> Any:
        if not isinstance(raw, list):
            if is_table(item) and isinstance(raw, dict):
                name = show_place(place)
                self.complain(
                    place, f"`{name}` is a list of tables", f"write [[{name}]] for each of them"
                )
            else:
                self._complain_of_kind(raw, describe(inspect.VarTupleType(item)), place)
            return WRONG
        found = [self.value(one, item, (*place, i)) for i, one in enumerate(raw)]
        return WRONG if any(one is WRONG for one in found) else tuple(found)

    def _dict(self, raw: object, value: inspect.Type, place: Place) -> Any:
        if not isinstance(raw, dict):
            self._complain_of_kind(raw, describe(inspect.DictType(inspect.StrType(), value)), place)
            return WRONG
        found = {key: self.value(one, value, (*place, key)) for key, one in raw.items()}
        return WRONG if any(one is WRONG for one in found.values()) else found

    def _custom(self, raw: object, cls: type, place: Place) -> Any:
        try:
            return _PARSERS[cls](self, raw, place)
        except ValueError as error:
            message, _, fix = str(error).partition("; ")
            self.complain(place, f"`{show_place(place)}`: {message}", fix)
        except TypeError:
            self._complain_of_kind(raw, describe(inspect.CustomType(cls)), place)
        return WRONG

    def _complain_of_kind(self, raw: object, wanted: str, place: Place, hint: str = "") -> None:
        fix = f"it takes {wanted}" + (f"; did you mean `{hint}`?" if hint else "")
        self.complain(place, f"`{show_place(place)}` is {_shown(raw)}", fix)

    def _unknown(self, key: str, names: list[str], place: Place) -> tuple[str, str]:
        where = f" in [{show_place(place)}]" if place else ""
        elsewhere = meant(key, self.known)
        otherwise = f"it takes {', '.join(names)}"
        if elsewhere is not None:
            otherwise = f"did you mean `{self.known[elsewhere]}`?"
        return f"unknown key `{key}`{where}", did_you_mean(key, names, otherwise)


def _called(place: Place) -> str:
    return f"`{show_place(place)}`" if place else "the configuration"


def _shown(raw: object) -> str:
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, str):
        return f'"{raw}"' if len(raw) <= 60 else f'"{raw[:59]}…"'
    if isinstance(raw, dict):
        return "a table"
    return "a list" if isinstance(raw, list) else str(raw)


def _near(raw: object, kind: inspect.Type) -> str:
    if not isinstance(kind, inspect.LiteralType) or not isinstance(raw, str):
        return ""
    return meant(raw.lower(), map(str, kind.values)) or ""


def _fits(raw: object, kind: inspect.Type) -> bool:
    match kind:
        case inspect.BoolType():
            return isinstance(raw, bool)
        case inspect.IntType(ge=least):
            if not isinstance(raw, int) or isinstance(raw, bool):
                return False
            return least is None or raw >= least
        case inspect.StrType(pattern=pattern):
            return isinstance(raw, str) and (not pattern or re.search(pattern, raw) is not None)
        case inspect.LiteralType(values=values):
            return isinstance(raw, str) and raw in values
        case _:  # the scalars of rule parameters
            return isinstance(raw, str | int | float | bool)


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        raise TypeError
    return raw


def _plain(raw: object) -> str | int | float:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise TypeError
    return raw


def _path(decoding: Decoding, raw: object, place: Place) -> Path:
    text = _text(raw)
    if not text or "\0" in text:
        raise ValueError("no path; write e.g. /etc/lastsignal/rules")
    return decoding.places.folder(place) / Path(text).expanduser()


def _raw_table(decoding: Decoding, raw: object, place: Place) -> RawTable:
    if not isinstance(raw, dict):
        raise TypeError
    depth = len(place)
    lines = {
        way[depth:]: line for way, line in decoding.places.lines.items() if way[:depth] == place
    }
    return RawTable(raw, str(decoding.places.path or "configuration"), lines)


def _secret(decoding: Decoding, raw: object, place: Place) -> Secret:
    def warn(message: str, fix: str) -> None:
        decoding.complain(place, f"`{show_place(place)}` {message}", fix, "warning")

    source = decoding.places.source(place)
    folder = decoding.places.folder(place)
    return read_secret(raw, decoding.environment, folder, source, warn)


_PARSERS: Mapping[type, Callable[[Decoding, object, Place], Any]] = MappingProxyType(
    {
        Duration: lambda _, raw, __: parse_duration(_plain(raw)),
        Interval: lambda _, raw, __: parse_interval(_plain(raw)),
        Size: lambda _, raw, __: parse_size(_plain(raw)),
        Address: lambda _, raw, __: parse_address(_text(raw)),
        WebAddress: lambda _, raw, __: parse_web_address(_text(raw)),
        Path: _path,
        Pattern: lambda decoding, raw, place: Pattern(_path(decoding, raw, place)),
        RawTable: _raw_table,
        Secret: _secret,
    }
)
