"""The reference of all keys in Markdown, read from the structs and what is written below them."""

from __future__ import annotations

import ast
import inspect as source_of
import re
import textwrap
from collections.abc import Iterator

import msgspec
from msgspec import inspect

from lastsignal.core.durations import Duration
from lastsignal.core.places import Place, show_place
from lastsignal.edges.config.kinds import describe, fields_of, kind_of
from lastsignal.edges.config.rendering import write
from lastsignal.edges.config.schema import Config

DEFAULTS_IN_WORDS = {
    ("state_dir",): "`$STATE_DIRECTORY` of systemd, else `$XDG_STATE_HOME/lastsignal`, else "
    "`~/.local/state/lastsignal`",
}

MEANINGS = {
    "send_resolved": "Tell also that an incident is over.",
    "flap_window": "The time in which openings count as flapping.",
    "storm_window": "The time in which messages count as a storm.",
}
"""Of attributes that speak for themselves in the code."""


def reference() -> str:
    """Return every table with every key: its type, default, variable and meaning."""
    lines: list[str] = []
    for title, kind, place in _tables(Config, ()):
        lines += [f"## {title}", "", _first_sentence(kind.__doc__ or ""), ""]
        lines += ["| key | takes | default | meaning |", "|---|---|---|---|"]
        lines += [_row(kind, name, (*place, name)) for name in _keys(kind)]
        lines.append("")
    return "\n".join(lines)


def _tables(
    kind: type[msgspec.Struct], place: Place
) -> Iterator[tuple[str, type[msgspec.Struct], Place]]:
    """Yield every table that is a struct, with its title."""
    name = show_place(place)
    yield (f"`[{name}]`" if place else "Top of the file"), kind, place
    for key, one in fields_of(kind).items():
        inner, here = kind_of(one.type), (*place, key)
        if isinstance(inner, inspect.StructType):
            yield from _tables(inner.cls, here)
        elif isinstance(inner, inspect.VarTupleType):
            item = kind_of(inner.item_type)
            if isinstance(item, inspect.StructType):
                for _, struct, way in _tables(item.cls, here):
                    yield f"`[[{show_place(way)}]]`", struct, way


def _keys(kind: type[msgspec.Struct]) -> list[str]:
    """Return the keys that are no table of their own."""
    keys = []
    for name, one in fields_of(kind).items():
        inner = kind_of(one.type)
        if isinstance(inner, inspect.VarTupleType):
            inner = kind_of(inner.item_type)
        if not isinstance(inner, inspect.StructType):
            keys.append(name)
    return keys


def _row(kind: type[msgspec.Struct], name: str, place: Place) -> str:
    one = fields_of(kind)[name]
    meaning = meanings(kind).get(name) or MEANINGS[name]
    takes = describe(one.type).partition(", e.g. ")[0]
    cells = [f"`{name}`", takes, _default(one, place), meaning]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _default(one: inspect.Field, place: Place) -> str:
    if place in DEFAULTS_IN_WORDS:
        return DEFAULTS_IN_WORDS[place]
    if one.required:
        return "required"
    value = one.default
    if one.default_factory is not msgspec.NODEFAULT:
        value = one.default_factory()
    if value is None or value in ("", (), {}) or isinstance(value, msgspec.Struct):
        return "none"
    return f"`{write(Duration(value) if isinstance(value, float) else value)}`"


def meanings(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return what is written below each attribute of a struct."""
    (tree,) = ast.parse(textwrap.dedent(source_of.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found, last = {}, ""
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            last = node.target.id
        elif last and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[last] = _prose(str(node.value.value))
    return found


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", text.strip(), maxsplit=1)[0]


def _prose(text: str) -> str:
    return " ".join(text.split())
