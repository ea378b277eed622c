"""The elements of an array inside a record, each with its exact byte offset.

One JSON document may hold thousands of spans. Decoding the array as `list[msgspec.Raw]` keeps each
element's own bytes, and siblings are parted by nothing but a comma and white space, so each one
is found by searching from the end of the one before: evidence then points at the span, not at
the document's first line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


def elements_of(container: bytes, array: msgspec.Raw) -> list[tuple[int, bytes]]:
    """Return (offset in the container, bytes) of each element of an undecoded array inside it.

    What is no array has no elements.
    """
    data = bytes(array)
    try:
        elements = _decode_array(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return []
    return list(locate(data, elements, max(container.find(data), 0)))


def locate(
    container: bytes, elements: Iterable[msgspec.Raw], base: int = 0
) -> Iterator[tuple[int, bytes]]:
    """Yield (offset, bytes) of each element; offsets count from `base` at `container`'s start.

    `elements` are the Raw values of one array of `container`, in order. For arrays in arrays,
    locate the outer element first and pass its bytes and offset on.
    """
    position = 0
    for element in elements:
        data = bytes(element)
        found = container.find(data, position)
        if found < 0:  # cannot be: Raw is a copy of the container's own bytes
            found = position
        position = found + len(data)
        yield base + found, data
