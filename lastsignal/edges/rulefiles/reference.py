"""The reference of the rule language and of the detectors, in Markdown, read from what runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from lastsignal.core.durations import Duration, show_duration
from lastsignal.core.events import Event
from lastsignal.core.rules import Rule
from lastsignal.core.rules.cases import CaseEvent, Expectation
from lastsignal.core.rules.conditions import CLOSED_SETS, FIELDS
from lastsignal.core.rules.explanation import sentence
from lastsignal.core.rules.templates import COMPUTED
from lastsignal.core.rules.text import RuleCase, RuleText
from lastsignal.core.rules.windows import WINDOW_KINDS
from lastsignal.edges.rulefiles.fielddocs import attribute_docs, first_sentence
from lastsignal.edges.rulefiles.word_tables import (
    EXAMPLES,
    MEANINGS,
    MODIFIER_WORDS,
    OWN_KEYS,
)

_EVENT_DOCS = attribute_docs(Event)
_TAKES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "Duration": "a duration",
}


def language() -> str:
    """Return the reference of the language."""
    parts = [
        *_section("The keys of a rule", _struct_table(RuleText)),
        *_section("`where`: which events count", [*_conditions(), *_modifiers()]),
        *_section("Event fields", _fields()),
        *_section("`window`: how many make a finding", _windows()),
        *_section("Placeholders of the texts", _placeholders()),
        *_section("`tests`", _tests()),
    ]
    return "\n".join(parts)


def detectors(rules: Iterable[Rule]) -> str:
    """Return the reference of all detectors."""
    lines = ["## The detectors", ""]
    for rule in sorted(rules, key=lambda rule: rule.id):
        lines += _detector(rule)
    return "\n".join(lines).rstrip() + "\n"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *lines, ""]


def _conditions() -> list[str]:
    return [
        "A map holds when every key of it does; a list of values means any of them. `null` is a",
        "field that is not there. `any: [{…}, {…}]`, `all: […]` and `not: {…}` combine conditions,",
        "and `unless_<name>: {…}` is an exception with a name. Plain equality is exact, modifiers",
        "that compare text ignore case.",
        "",
    ]


def _modifiers() -> list[str]:
    rows = [f"| `field\\|{name}` | {words} |" for name, words in MODIFIER_WORDS.items()]
    return ["| modifier | holds when the field |", "|---|---|", *rows]


def _fields() -> list[str]:
    docs = _EVENT_DOCS
    types = {field.name: field.type for field in msgspec.structs.fields(Event)}
    lines = ["| field | type | what it is |", "|---|---|---|"]
    for name in (name for name in Event.__struct_fields__ if name in FIELDS):
        known = CLOSED_SETS.get(name)
        takes = f"one of {', '.join(f'`{one}`' for one in known)}" if known else _takes(types[name])
        lines.append(f"| `{name}` | {takes} | {_meaning(docs, name)} |")
    rest = "whatever else the record says, by its path"
    return [*lines, f"| `metadata.<key>` | any | {rest} |"]


def _windows() -> list[str]:
    lines = ["Every kind also takes `group_by`, the fields that part events into groups (default:"]
    lines += ["`[trace_id]`); a group without `trace_id` spans traces.", ""]
    for kind, struct in WINDOW_KINDS.items():
        lines += [f"### {kind}", "", first_sentence(struct.__doc__ or ""), ""]
        table = _struct_table(struct, leave_out="group_by")
        lines += [*table, ""] if len(table) > 2 else []
        lines += ["```yaml", EXAMPLES[kind].strip(), "```", ""]
    return lines[:-1]


def _placeholders() -> list[str]:
    rows = [f"| `{{{name}}}` | {words} |" for name, words in COMPUTED.items()]
    return [
        "| placeholder | stands for |",
        "|---|---|",
        "| `{<field>}` | the latest match's field, or the group's |",
        "| `{first.<field>}`, `{last.<field>}` | the first or the last match's field |",
        "| `{<parameter>}` | the value of a parameter |",
        '| `{a\\|b\\|"text"}` | the first of these that is known |',
        *rows,
    ]


def _tests() -> list[str]:
    own = [f"| `{name}` | {words} |" for name, words in OWN_KEYS.items()]
    names = ", ".join(f"`{name}`" for name in Expectation.__struct_fields__)
    missing = set(OWN_KEYS) - set(CaseEvent.__struct_fields__)
    assert not missing, missing
    return [
        *_struct_table(RuleCase),
        "",
        "An event is a map of the fields above, and of:",
        "",
        "| key | meaning |",
        "|---|---|",
        *own,
        "",
        f"An expectation names what a finding must show: {names} (of a text a part is enough),",
        "and the fields of its group. Every finding must be expected, so `expect: []` asserts",
        "silence.",
    ]


def _detector(rule: Rule) -> list[str]:
    text = rule.text
    also = "".join(f", {name.upper()}: {value}" for name, value in text.also.items())
    lines = [
        f"### {text.id}",
        "",
        f"**{_plain(text.title)}** · {text.severity} · {text.status} · {text.category}{also}",
        "",
        _plain(text.description),
        "",
        f"Fires {_plain(sentence(rule))}",
        "",
    ]
    if text.params:
        shown = ", ".join(f"`{name}` = {value}" for name, value in text.params.items())
        lines += [f"Parameters: {shown}.", ""]
    lines += [f"Remedy: {_plain(text.remedy)}", ""]
    lines += ["False positives:", "", *(f"- {_plain(one)}" for one in text.false_positives), ""]
    if text.explains:
        lines += ["Explains: " + ", ".join(f"`{name}`" for name in text.explains) + ".", ""]
    return lines


def _struct_table(kind: type[msgspec.Struct], leave_out: str = "") -> list[str]:
    docs = attribute_docs(kind)
    lines = ["| key | takes | default | meaning |", "|---|---|---|---|"]
    for field in msgspec.structs.fields(kind):
        if field.name != leave_out:
            name, meaning = field.name, _meaning(docs, field.name)
            takes, default = _takes(field.type), _default(field)
            lines.append(f"| `{name}` | {takes} | {default} | {meaning} |")
    return lines


def _meaning(docs: Mapping[str, str], name: str) -> str:
    """Return what a key means; a text for readers of the code gives way to one for authors."""
    for_authors = name in MEANINGS and (name not in docs or docs is _EVENT_DOCS)
    return _cell(MEANINGS[name] if for_authors else docs.get(name, ""))


def _takes(kind: Any) -> str:
    shown = str(kind)
    if "WindowKind" in shown or "Window" in shown:
        return "a map, see below"
    if "Literal" in shown:
        values = shown.partition("Literal[")[2].partition("]")[0].replace("'", "").split(", ")
        return "one of " + ", ".join(f"`{value}`" for value in values)
    if "list" in shown and "dict" not in shown and "RuleCase" not in shown:
        return "a list" if "str | list" not in shown else "text, or a list"
    if "list" in shown:
        return "a list of maps"
    if "dict" in shown:
        return "a map"
    for name, words in _TAKES.items():
        if name in shown:
            return words
    return "any"


def _default(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default
    if value is msgspec.NODEFAULT or value is None:
        return ""
    if isinstance(value, Duration):
        return show_duration(value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    return (
        " ".join(text.split()).replace("<", "&lt;") if "`" not in text else " ".join(text.split())
    )
