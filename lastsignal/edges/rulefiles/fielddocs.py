"""What is written below the attributes of a struct: the one place where a key is explained."""

from __future__ import annotations

import ast
import inspect
import textwrap
from itertools import pairwise

import msgspec


def attribute_docs(kind: type[msgspec.Struct]) -> dict[str, str]:
    """Return the text below each attribute of a struct and of those that it builds on."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if one is not msgspec.Struct and issubclass(one, msgspec.Struct):
            found |= _own_docs(one)
    return found


def first_sentence(text: str) -> str:
    """Return a text's first paragraph on one line."""
    return " ".join(inspect.cleandoc(text).split("\n\n")[0].split())


def _own_docs(kind: type[msgspec.Struct]) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError):  # made while running: there is no text
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found = {}
    for attribute, below in pairwise(body):
        if (
            isinstance(attribute, ast.AnnAssign)
            and isinstance(attribute.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            found[attribute.target.id] = first_sentence(str(below.value.value))
    return found
