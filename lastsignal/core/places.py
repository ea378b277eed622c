"""Where in a document of tables and lists a value stands."""

from __future__ import annotations

import re

Place = tuple[str | int, ...]
"""Keys and indices, from the outermost inwards."""


def show_place(place: Place) -> str:
    """Return the way as a person writes it: `targets[0].url`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step if re.fullmatch(r"[\w-]+", step) else f'"{step}"'
            text += f".{name}" if text else name
    return text
