"""Letters → plain text and Markdown, within what a service takes, cut between lines."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

from lastsignal.edges.notify.letter import Letter, Line, Part
from lastsignal.edges.notify.wording import ELLIPSIS

WORTH_READING = 40  # characters of a first line; with less of it there is no room for a second
CUT = f"{ELLIPSIS} (cut here)"

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>~$])")


def as_text(letter: Letter, limit: int) -> str:
    """Return the body as plain text of at most `limit` characters."""
    return _fitted(letter, limit, _text_lines)


def as_markdown(letter: Letter, limit: int) -> str:
    """Return the body as Markdown of at most `limit` characters; nothing quoted becomes markup."""
    return _fitted(letter, limit, _markdown_lines)


def _fitted(letter: Letter, limit: int, lines_of: Callable[[Part], Iterator[str]]) -> str:
    *first, last = letter.parts
    head: list[str] = []
    for part in first:
        head += [*lines_of(part), ""]
    tail = list(lines_of(last))
    whole = head + tail
    if _size(whole) <= limit:
        return "\n".join(whole)
    room = limit - _size([CUT, "", *tail])
    kept: list[str] = []
    for line in head:
        room -= _size([line]) + 1
        if room < 0:
            break
        kept.append(line)
    if kept:
        while not kept[-1]:
            kept.pop()
        return "\n".join([*kept, CUT, "", *tail])
    room = limit - _size(["", "", *tail])
    if room >= WORTH_READING:
        return "\n".join([_squeezed(head[0], room), "", *tail])
    return _squeezed(head[0], limit)


def _squeezed(line: str, limit: int) -> str:
    """Return the beginning of a line."""
    if _size([line]) <= limit:
        return line
    kept = line[: limit - 1]
    while kept and _size([kept + ELLIPSIS]) > limit:
        kept = kept[:-1]
    return kept + ELLIPSIS


def _size(lines: list[str]) -> int:
    """Return the length as it is at most: some services get it as HTML."""
    return sum(len(html.escape(line, quote=False)) for line in lines) + max(0, len(lines) - 1)


def _text_lines(part: Part) -> Iterator[str]:
    texts = [" ".join(filter(None, (one.prose, one.place, one.quote))) for one in part.lines]
    return _laid_out(part, texts, f"{part.label}:", "  ")


def _markdown_lines(part: Part) -> Iterator[str]:
    return _laid_out(part, list(map(_markdown, part.lines)), f"**{part.label}:**", "- ")


def _laid_out(part: Part, texts: list[str], label: str, indent: str) -> Iterator[str]:
    if not part.label:
        yield from texts
    elif len(texts) == 1 and not part.listed:
        yield f"{label} {texts[0]}"
    else:
        yield label
        if indent == "- ":
            yield ""  # a list needs a blank line before it
        yield from (indent + text for text in texts)


def _markdown(line: Line) -> str:
    parts = (_SPECIAL.sub(r"\\\1", line.prose), _verbatim(line.place), _verbatim(line.quote))
    return " ".join(filter(None, parts))


def _verbatim(text: str) -> str:
    """Return the text as a code span, whatever backticks it holds."""
    if not text:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"
