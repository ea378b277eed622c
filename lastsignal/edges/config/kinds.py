"""Kinds of values in words: for messages and for the reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import inspect

from lastsignal.core.addresses import Address
from lastsignal.core.durations import Duration
from lastsignal.edges.config.places import RawTable
from lastsignal.edges.config.values import Interval, Pattern, Secret, Size, WebAddress

CUSTOM: Mapping[type, str] = MappingProxyType(
    {
        Duration: "a duration, e.g. 30s, 5m or 1h30m",
        Interval: "a duration, e.g. 30s, 5m or 1h30m",
        Size: "a size, e.g. 65536, 512KiB or 16MiB",
        Secret: 'text, { file = "…" } or { env = "…" }',
        Path: "a path",
        Pattern: "a path or glob",
        Address: "host:port",
        WebAddress: "an http:// or https:// URL",
        RawTable: "a table",
    }
)


def fields_of(kind: type[msgspec.Struct]) -> dict[str, inspect.Field]:
    """Return the keys of a table."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType)
    return {field.encode_name: field for field in described.fields}


def kind_of(kind: inspect.Type) -> inspect.Type:
    """Return the type of what is written, where it is: TOML has no null; ours are one value."""
    if isinstance(kind, inspect.UnionType) and kind.includes_none:
        rest = tuple(one for one in kind.types if not isinstance(one, inspect.NoneType))
        return kind_of(rest[0]) if len(rest) == 1 else inspect.UnionType(rest)
    cls: type = getattr(kind, "cls", object)
    return inspect.CustomType(cls) if cls in CUSTOM else kind


def is_table(kind: inspect.Type) -> bool:
    """Whether a value is written under a header of its own."""
    kind = kind_of(kind)
    return (
        isinstance(kind, inspect.StructType | inspect.DictType)
        or (isinstance(kind, inspect.VarTupleType) and is_table(kind.item_type))
        or (isinstance(kind, inspect.CustomType) and kind.cls is RawTable)
    )


def describe(kind: inspect.Type) -> str:
    """Return what a value may be, in words."""
    kind = kind_of(kind)
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(ge=least):
            return "a whole number" + (f", at least {least}" if least is not None else "")
        case inspect.FloatType():
            return CUSTOM[Duration]
        case inspect.StrType(pattern=None):
            return "text"
        case inspect.StrType():
            return "a name of a-z, 0-9, _ and -, a letter first"
        case inspect.LiteralType(values=values):
            return " or ".join(f'"{value}"' for value in values)
        case inspect.VarTupleType(item_type=item):
            return f"a list of {_plural(item)}"
        case inspect.DictType(value_type=value):
            return "a table of tables" if is_table(value) else f"a table of {_plural(value)}"
        case inspect.CustomType(cls=cls):
            return CUSTOM[cls]
        case inspect.StructType():
            return "a table"
        case _:
            return "text, a number, true or false"


def _plural(kind: inspect.Type) -> str:
    kind = kind_of(kind)
    match kind:
        case inspect.StrType():
            return "text"
        case inspect.CustomType(cls=cls) if cls is Path:
            return "paths"
        case inspect.CustomType(cls=cls) if cls is Pattern:
            return "paths or globs"
        case _:
            return "tables" if is_table(kind) else describe(kind)
