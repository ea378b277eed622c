"""Plain data → typed values, with every mistake of shape told in the words of who wrote the file.

The decoder stops at its first mistake and speaks of types; here each wrong value is named with its
place, what it is, what it should be, and what YAML may have made of it.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from lastsignal.core.durations import Duration, parse_duration
from lastsignal.core.rules.conditions import Complaint
from lastsignal.core.spelling import nearest

_YAML_BOOL = "YAML reads yes, no, on and off as true and false: put the word in quotes"
_QUOTE = "put it in quotes"

fields_of = cache(msgspec.structs.fields)
"""The fields of a struct; asking for them anew costs more than reading a rule."""

_SCALARS: dict[Any, tuple[str, str]] = {
    str: ("text", "write text"),
    int: ("a whole number", "write e.g. 3"),
    float: ("a number", "write e.g. 0.5"),
    bool: ("true or false", "write true or false"),
    Duration: ("a length of time", "write e.g. 30s, 5m or 1h30m"),
}


def convert(value: object, kind: Any, place: str, complain: Complaint) -> Any:
    """Return the value as this type, or None after every mistake in it went to `complain`."""
    try:
        return msgspec.convert(value, kind, dec_hook=_decode_special)
    except msgspec.ValidationError as error:
        told = 0

        def note(where: str, message: str, fix: str) -> None:
            nonlocal told
            told += 1
            complain(where, message, fix)

        _tell(value, kind, place, note)
        if not told:  # a mistake that we have no words for must not pass in silence
            complain(place, str(error), "compare with a rule that works: `lastsignal rules show`")
        return None


def convert_fields(
    raw: Mapping[Any, Any], kind: type[msgspec.Struct], complain: Complaint
) -> dict[str, Any]:
    """Return those fields of a struct that are there and right."""
    told: set[str] = set()

    def note(place: str, message: str, fix: str) -> None:
        told.add(place.partition(".")[0].partition("[")[0])
        complain(place, message, fix)

    values = {
        field.name: convert(raw[field.name], field.type, field.name, note)
        for field in fields_of(kind)
        if field.name in raw
    }
    return {name: value for name, value in values.items() if name not in told}


def check_names(
    raw: Mapping[Any, Any], kind: type[msgspec.Struct], place: str, noun: str, complain: Complaint
) -> None:
    """Tell of every unknown and every missing key of a map."""
    fields = fields_of(kind)
    names = [field.name for field in fields]
    tag = kind.__struct_config__.tag_field
    for key in raw:
        if key not in names and key != tag:
            inner = f"{place}.{key}" if place else str(key)
            complain(inner, f"{noun} has no `{key}`", nearest(key, names, "it takes"))
    for field in fields:
        if field.required and field.name not in raw:
            complain(place, f"{noun} needs `{field.name}`", f"add `{field.name}:`")


def _decode_special(kind: type, value: object) -> object:
    if kind is Duration:
        return parse_duration(value)
    raise NotImplementedError(kind)


def _tell(value: object, kind: Any, place: str, complain: Complaint) -> None:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        _tell_union(value, kind, place, complain)
    elif origin is Literal:
        if value not in get_args(kind):
            known = [str(one) for one in get_args(kind)]
            complain(place, f"`{_name(place)}` is {shown(value)}", nearest(value, known, "one of"))
    elif origin is list:
        if not isinstance(value, list):
            fix = f"write `{_name(place)}: [{_plain(value)}]`" if _is_plain(value) else "write [a]"
            complain(place, f"`{_name(place)}` is a list, got {shown(value)}", fix)
            return
        for index, item in enumerate(value):
            _tell(item, get_args(kind)[0], f"{place}[{index}]", complain)
    elif origin is dict:
        _tell_map(value, get_args(kind)[1], place, complain)
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        _tell_struct(value, kind, place, complain)
    elif kind in _SCALARS and not _fits(value, kind):
        _tell_scalar(value, kind, place, complain)


def _tell_union(value: object, kind: Any, place: str, complain: Complaint) -> None:
    kinds = [one for one in get_args(kind) if one is not types.NoneType]
    if _fits(value, kind):
        return
    tagged = [k for k in kinds if isinstance(k, type) and issubclass(k, msgspec.Struct)]
    if tagged:
        _tell_tagged(value, {str(k.__struct_config__.tag): k for k in tagged}, place, complain)
    elif len(kinds) == 1:
        _tell(value, kinds[0], place, complain)
    else:
        fix = "write text, a number or true/false" if bool in kinds else "write text, or a list"
        complain(place, f"`{_name(place)}` cannot be {shown(value)}", fix)


def _tell_tagged(
    value: object, kinds: Mapping[str, type[msgspec.Struct]], place: str, complain: Complaint
) -> None:
    if not isinstance(value, dict):
        complain(place, f"`{_name(place)}` is a map, got {shown(value)}", "write {kind: …, …}")
        return
    tag = value.get("kind")
    if tag is None:
        complain(place, f"`{_name(place)}` needs `kind`", f"one of {', '.join(kinds)}")
    elif str(tag) not in kinds:
        message = f"unknown {_name(place)} kind {shown(tag)}"
        complain(f"{place}.kind", message, nearest(tag, kinds, "one of"))
    else:
        kind = kinds[str(tag)]
        check_names(value, kind, place, f"a {tag} {_name(place)}", complain)
        _tell_fields(value, kind, place, complain)


def _tell_struct(
    value: object, kind: type[msgspec.Struct], place: str, complain: Complaint
) -> None:
    noun = {"RuleCase": "a test", "Step": "a step"}.get(kind.__name__, "it")
    if not isinstance(value, dict):
        keys = ", ".join(f"{field.name}: …" for field in fields_of(kind)[:2])
        complain(place, f"{noun} is a map, got {shown(value)}", f"write {{{keys}}}")
        return
    check_names(value, kind, place, noun, complain)
    _tell_fields(value, kind, place, complain)


def _tell_fields(
    value: Mapping[Any, Any], kind: type[msgspec.Struct], place: str, complain: Complaint
) -> None:
    for field in fields_of(kind):
        if field.name in value:
            _tell(value[field.name], field.type, f"{place}.{field.name}", complain)


def _tell_map(value: object, kind: Any, place: str, complain: Complaint) -> None:
    if not isinstance(value, dict):
        example = (
            "status: failed" if _name(place) in ("where", "of", "reset", "until") else "name: …"
        )
        fix = f"write e.g. {{{example}}}"
        complain(place, f"`{_name(place)}` is a map, got {shown(value)}", fix)
        return
    for key, one in value.items():
        if not isinstance(key, str):
            complain(place, f"a key of `{_name(place)}` is {shown(key)}", _YAML_BOOL)
        elif kind is not Any:
            _tell(one, kind, f"{place}.{key}", complain)


def _tell_scalar(value: object, kind: Any, place: str, complain: Complaint) -> None:
    wanted, fix = _SCALARS[kind]
    if kind is str:
        fix = _YAML_BOOL if isinstance(value, bool) else _QUOTE if _is_plain(value) else fix
    complain(place, f"`{_name(place)}` is {wanted}, got {shown(value)}", fix)


def _fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind, dec_hook=_decode_special)
    except msgspec.ValidationError:
        return False
    return True


def _is_plain(value: object) -> bool:
    return not isinstance(value, dict | list) and value is not None


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name(place: str) -> str:
    return place.rpartition(".")[2]


def shown(value: object) -> str:
    """Return a value of a file as a message names it."""
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, bool | int | float):
        return f"`{_plain(value)}`"
    return f"a {type(value).__name__}"  # YAML makes dates of what looks like one
