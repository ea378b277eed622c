"""YAML documents that know the line of everything in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lastsignal.edges.rulefiles.traps import Trap, find_traps, is_small
from lastsignal.errors import InputError, Problem

_MAX_BYTES = 1 << 20
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Document:
    """One file: its data, and the nodes that know their lines."""

    path: str
    raw: Any
    root: yaml.Node

    @property
    def rule_id(self) -> str | None:
        """The id of the rule that it holds, also where the rule is wrong otherwise."""
        name = self.raw.get("id") if isinstance(self.raw, dict) else None
        return name if isinstance(name, str) else None

    def problem(self, place: str, message: str, fix: str) -> Problem:
        """Return a problem at a place of this file."""
        return Problem(self.path, self.line(place), message, fix)

    def line(self, place: str) -> int:
        """Return the 1-based line of a place such as `where.any[0].status`, or of its parent."""
        node: yaml.Node = self.root
        line = node.start_mark.line
        for step in re.findall(r"[^.\[\]]+(?:\|\w+)?", place):
            found = _child(node, step)
            if found is None:
                break
            line, node = found
        return line + 1


def _child(node: yaml.Node, step: str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            # a key may itself hold dots (metadata.a.b): the path is then walked by its first part
            if str(key.value) == step or str(key.value).startswith(f"{step}."):
                return key.start_mark.line, value
    if isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
        item = node.value[int(step)]
        return item.start_mark.line, item
    return None


def rule_files(path: Path) -> Iterable[Path]:
    """Return the rule files of a path.

    Raises:
        InputError: there is nothing at the path.
    """
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.suffix in (".yaml", ".yml") and p.is_file())
    if path.is_file():
        return [path]
    raise InputError(f"{path}: no such file or directory; give a rule file or a directory of them")


def read_document(path: Path, problems: list[Problem]) -> Document | None:
    """Return the document of a file, or None after what is wrong with it went to `problems`.

    Raises:
        InputError: the file cannot be read.
    """
    name = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{name}: cannot be read: {error.strerror}; check its permissions"
        ) from error
    parsed = _read(data)
    if isinstance(parsed[0], int):
        problems.append(Problem(name, *parsed))
        return None
    root, raw = parsed
    problems += [Problem(name, *trap) for trap in find_traps(root)]
    return Document(name, raw, root)


def _read(data: bytes) -> tuple[yaml.Node, Any] | Trap:
    """Return the nodes and the data of a file, or why there are none."""
    if len(data) > _MAX_BYTES:
        return 1, "the file is over 1 MiB", "a rule is a page of text"
    try:
        root, raw = _parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return _line_at(data, error.start), "the file is not UTF-8", "save it as UTF-8"
    except yaml.MarkedYAMLError as error:
        return _told(error)
    except yaml.reader.ReaderError as error:
        line = _line_at(data, error.position)
        return line, f"not valid YAML: {error.reason}", "remove the control character"
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return 1, f"not valid YAML: {error}", "check special characters"
    if root is None:
        return 1, "the file is empty", "write a rule: `lastsignal rules new <id>`"
    if not is_small(root):
        message = "the file refers to itself, or expands to too much"
        return 1, message, "write it out without aliases"
    return root, raw


def _told(error: yaml.MarkedYAMLError) -> Trap:
    mark, began = error.problem_mark or error.context_mark, error.context_mark
    what = str(error.problem)
    if what.startswith("but ") and error.context:
        what = f"{error.context}, {what}"
    elif mark and began and began.line != mark.line:
        what += f", {error.context} that begins on line {began.line + 1}"
    line = mark.line + 1 if mark else 1
    return line, f"not valid YAML: {what}", "check indentation, quotes and brackets"


def _line_at(data: bytes, position: int) -> int:
    return data[:position].count(b"\n") + 1


def _parse(text: str) -> tuple[yaml.Node | None, Any]:
    """Return a document's nodes, which know their lines, and its data, from one parse."""
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        return root, None if root is None else loader.construct_document(root)
    finally:
        loader.dispose()
