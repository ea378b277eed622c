"""The JSON Schema (draft 2020-12) of rule files, made from the structs that read them."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from lastsignal.core.durations import Duration
from lastsignal.core.rules.cases import CaseEvent, Expectation
from lastsignal.core.rules.conditions import CLOSED_SETS, FIELDS, MODIFIERS
from lastsignal.core.rules.text import RuleCase, RuleText
from lastsignal.core.rules.windows import WINDOW_KINDS
from lastsignal.edges.rulefiles.fielddocs import attribute_docs, first_sentence

Schema = dict[str, Any]

_CONDITIONS = frozenset({"where", "of", "reset", "until", "or_before", "reset_all", "overdue_at"})
_FIELD_LISTS = frozenset({"group_by", "key", "same", "field"})
_TEXT: Schema = {"type": ["string", "number", "boolean"]}
_NUMBER: Schema = {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/parameter"}]}
_FLAG: Schema = {"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/parameter"}]}
_COMPARED: dict[str, Schema] = {
    **dict.fromkeys(MODIFIERS, _TEXT),
    **dict.fromkeys(("gt", "gte", "lt", "lte"), _NUMBER),
    "exists": _FLAG,
}
_DURATION = r"^\s*(\d+(\.\d+)?(ms|s|m|h|d))+\s*$"
_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Duration: {"$ref": "#/$defs/duration"},
    types.NoneType: {"type": "null"},
    Any: {},
}


def schema_text() -> str:
    """Return the schema as the file that is shipped holds it."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=2).decode() + "\n"


def schema() -> Schema:
    """Return the schema of a rule file: a rule, or an override of one."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A rule of Last Signal, or an override of one",
        "type": "object",
        "if": {"required": ["override"]},
        "then": {"$ref": "#/$defs/override"},
        "else": {"$ref": "#/$defs/rule"},
        "$defs": {
            "rule": _rule(),
            "override": _override(),
            "window": {"oneOf": [{"$ref": f"#/$defs/window_{kind}"} for kind in WINDOW_KINDS]},
            **{f"window_{kind}": _window(kind) for kind in WINDOW_KINDS},
            "condition": _condition(),
            "conditions": _listed({"$ref": "#/$defs/condition"}),
            "case": _case(),
            "event": _object(CaseEvent),
            "field": {
                "anyOf": [{"enum": sorted(FIELDS)}, {"type": "string", "pattern": r"^metadata\..+"}]
            },
            "duration": {
                "description": "Seconds, or text such as 30s, 5m or 1h30m.",
                "anyOf": [
                    {"type": "number", "minimum": 0},
                    {"type": "string", "pattern": _DURATION},
                ],
            },
            "parameter": {
                "description": "The value of a parameter.",
                "type": "string",
                "pattern": r"^\$\w+$",
            },
        },
    }


def _rule() -> Schema:
    rule = _object(RuleText)
    rule["properties"] |= {
        "id": {**rule["properties"]["id"], "pattern": "^[a-z][a-z0-9_]{2,69}$"},
        "window": {"$ref": "#/$defs/window"},
        "tests": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/case"}},
        "false_positives": {**rule["properties"]["false_positives"], "minItems": 1},
    }
    return rule


def _override() -> Schema:
    return {
        "type": "object",
        "description": "Changes a rule of another file.",
        "properties": {
            "override": {"type": "string", "description": "The rule that is changed."},
            "params": {"type": "object", "description": "Other values of its parameters."},
            "enabled": {"type": "boolean", "description": "false switches the rule off."},
        },
        "required": ["override"],
        "additionalProperties": False,
    }


def _case() -> Schema:
    case = _object(RuleCase)
    expectation = _object(Expectation)
    expectation["additionalProperties"] = True  # the fields of the finding's group
    case["properties"] |= {
        "events": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/event"}},
        "expect": {"type": "array", "items": expectation},
    }
    return case


def _window(kind: str) -> Schema:
    struct = WINDOW_KINDS[kind]
    window = _object(struct, may_be_parameters=True)
    window["description"] = first_sentence(struct.__doc__ or "")
    window["properties"] = {"kind": {"const": kind}, **window["properties"]}
    window["required"] = ["kind", *window["required"]]
    return window


def _object(kind: type[msgspec.Struct], may_be_parameters: bool = False) -> Schema:
    docs, properties = attribute_docs(kind), {}
    for field in msgspec.structs.fields(kind):
        one = _of_field(field.name, field.type)
        if may_be_parameters and field.name not in _CONDITIONS:
            one = {"anyOf": [one, {"$ref": "#/$defs/parameter"}]}
        properties[field.name] = (
            {"description": docs[field.name], **one} if field.name in docs else one
        )
    return {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in msgspec.structs.fields(kind) if field.required],
        "additionalProperties": False,
    }


def _of_field(name: str, kind: Any) -> Schema:
    if name in _CONDITIONS and "dict" in str(kind):
        return {"$ref": "#/$defs/condition"}
    if name in _FIELD_LISTS:
        one: Schema = {"$ref": "#/$defs/field"}
        many: Schema = {"type": "array", "items": one}
        if get_origin(kind) is list:
            return many
        return {"anyOf": [one, many]} if "list" in str(kind) else one
    if name == "error_class":
        return {"enum": [*CLOSED_SETS[name]]}
    return _of_type(kind)


def _of_type(kind: Any) -> Schema:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of_type(one) for one in inner if one is not types.NoneType]}
    if origin is Literal:
        return {"enum": list(inner)}
    if origin is list:
        return {"type": "array", "items": _of_type(inner[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _of_type(inner[1]) or True}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _object(kind)
    return dict(_PLAIN[kind])


def _listed(one: Schema) -> Schema:
    """Return the schema of a value, or of a list of such values."""
    return {"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]}


def _condition() -> Schema:
    value: Schema = {"type": ["string", "number", "boolean", "null"]}
    values = _listed(value)
    nested = {"$ref": "#/$defs/conditions"}
    many = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/condition"}}
    properties: Schema = dict.fromkeys(sorted(FIELDS), values)
    for name, known in CLOSED_SETS.items():
        one = {"anyOf": [{"enum": list(known)}, {"$ref": "#/$defs/parameter"}]}
        properties[name] = _listed(one)
    return {
        "description": "Fields and what they must be: all of them; of a list of values any.",
        "type": "object",
        "properties": {**properties, "any": many, "all": many, "not": nested},
        "patternProperties": {
            r"^unless_": nested,
            **{
                rf"^({'|'.join(sorted(FIELDS))}|metadata\..+)\|{name}$": _listed(_COMPARED[name])
                for name in MODIFIERS
            },
            r"^metadata\.[^|]+$": values,
        },
        "additionalProperties": False,
    }
