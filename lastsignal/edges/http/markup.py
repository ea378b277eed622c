"""HTML in which every text is escaped: what a trace says can never become markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

_VOID = frozenset({"link", "meta"})


class Markup(str):
    """Text that is HTML already; only `element` makes it."""

    __slots__ = ()


def element(tag: str, *children: str | Iterable[str], **attributes: str) -> Markup:
    """Return an element; text in it is escaped, elements stand as they are.

    Args:
        tag: its name.
        children: texts, elements, or lists of them.
        attributes: by name; `class_` is `class`.
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(text)}"'
        for name, text in attributes.items()
    )
    if tag in _VOID:
        return Markup(f"<{tag}{named}>")
    inner = "".join(map(_text, children))
    return Markup(f"<{tag}{named}>{inner}</{tag}>")


def style_sheet(rules: str) -> Markup:
    """Return a style sheet of ours: it is not escaped, and must hold no text of others."""
    return Markup(f"<style>{rules}</style>")


def _text(child: str | Iterable[str]) -> str:
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(child)
    return "".join(map(_text, child))
