"""YAML documents that know the line of everything in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lastsignal.errors import InputError, Problem

_MAX_BYTES = 1 << 20
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Document:
    path: str
    raw: Any
    root: yaml.Node

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
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.suffix in (".yaml", ".yml") and p.is_file())
    if path.is_file():
        return [path]
    raise InputError(f"{path}: no such file or directory; give a rule file or a directory of them")


def read_document(path: Path, problems: list[Problem]) -> Document | None:
    name = str(path)
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise InputError(
            f"{name}: cannot be read: {error.strerror}; check its permissions"
        ) from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        problems.append(Problem(name, line, "the file is not UTF-8", "save it as UTF-8"))
        return None
    if len(data) > _MAX_BYTES:
        problems.append(Problem(name, 0, "the file is over 1 MiB", "a rule is a page of text"))
        return None
    try:
        root, raw = _parse(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problems.append(
            Problem(
                name,
                mark.line + 1 if mark else 0,
                f"not valid YAML: {error.problem}",
                "check indentation, quotes and colons",
            )
        )
        return None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problems.append(Problem(name, 0, f"not valid YAML: {error}", "check special characters"))
        return None
    if root is None:
        problems.append(
            Problem(name, 0, "the file is empty", "write a rule, see `lastsignal rules show`")
        )
        return None
    document = Document(name, raw, root)
    _check_duplicates(document, root, problems, set())
    return document


def _parse(text: str) -> tuple[yaml.Node | None, Any]:
    """Return a document's nodes, which know their lines, and its data, from one parse."""
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        return root, None if root is None else loader.construct_document(root)
    finally:
        loader.dispose()


def _check_duplicates(
    document: Document, node: yaml.Node, problems: list[Problem], visited: set[int]
) -> None:
    """YAML lets the last of two equal keys win in silence; here it is an error."""
    if id(node) in visited:
        return
    visited.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value)
            if name in seen:
                problems.append(
                    Problem(
                        document.path,
                        key.start_mark.line + 1,
                        f"`{name}` stands twice in one map",
                        f"remove one; the first is on line {seen[name]}",
                    )
                )
            seen.setdefault(name, key.start_mark.line + 1)
            _check_duplicates(document, value, problems, visited)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_duplicates(document, item, problems, visited)
