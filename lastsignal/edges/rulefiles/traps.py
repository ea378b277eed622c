"""What YAML does in silence, and a rule author does not mean: told before anything is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

MAX_NODES = 50_000
"""Values that a file may expand to; aliases of aliases would make billions of a page."""
_COLON_NUMBER = re.compile(r"[-+]?\d+(?::[0-5]?\d)+(?:\.\d*)?$")
_OCTAL = re.compile(r"[-+]?0[0-7_]+$")

Trap = tuple[int, str, str]
"""Line, message, fix."""


def find_traps(root: yaml.Node) -> Iterator[Trap]:
    """Yield duplicate keys, and numbers that are read as others."""
    seen: set[int] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            yield from _duplicates(node)
            todo += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value
        else:
            yield from _misread(node)


def _duplicates(node: yaml.MappingNode) -> Iterator[Trap]:
    """YAML lets the last of two equal keys win."""
    first: dict[str, int] = {}
    for key, _ in node.value:
        name, line = str(key.value), key.start_mark.line + 1
        if name in first:
            fix = f"remove one; the first is on line {first[name]}"
            yield line, f"`{name}` stands twice in one map", fix
        first.setdefault(name, line)


def _misread(node: yaml.Node) -> Iterator[Trap]:
    text, tag = str(node.value), str(node.tag).rpartition(":")[2]
    line = node.start_mark.line + 1
    if tag in ("int", "float") and _COLON_NUMBER.match(text):
        seconds = 0.0
        for part in text.split(":"):
            seconds = seconds * 60 + float(part)
        fix = "write a duration as 1m30s, or put the text in quotes"
        yield line, f"YAML reads `{text}` as the number {seconds:g}", fix
    elif tag == "int" and _OCTAL.match(text):
        value = int(text.replace("_", ""), 8)
        fix = "leave out the zero, or put it in quotes"
        yield line, f"YAML reads `{text}` as the octal number {value}", fix


def is_small(root: yaml.Node) -> bool:
    """Whether a document can be walked to its end."""
    sizes: dict[int, int] = {}
    under_way: set[int] = set()

    def size(node: yaml.Node) -> int:
        if id(node) in under_way:
            return MAX_NODES + 1
        if id(node) not in sizes:
            under_way.add(id(node))
            parts: list[yaml.Node] = []
            if isinstance(node, yaml.MappingNode):
                parts = [part for pair in node.value for part in pair]
            elif isinstance(node, yaml.SequenceNode):
                parts = node.value
            sizes[id(node)] = min(1 + sum(map(size, parts)), MAX_NODES + 1)
            under_way.discard(id(node))
        return sizes[id(node)]

    return size(root) <= MAX_NODES
