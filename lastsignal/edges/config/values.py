"""The kinds of value that the configuration knows besides TOML's own."""

from __future__ import annotations

import hmac
import re

from lastsignal.core.durations import Duration, parse_duration

MASK = "********"

_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)?")
_FACTORS = {None: 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


class Interval(Duration):
    """A length of time, in seconds, that is not nothing."""

    __slots__ = ()


class Size(int):
    """A number of bytes."""

    __slots__ = ()


class Pattern(str):
    """A file, a folder or a glob; absolute once it is read."""

    __slots__ = ()


class WebAddress(str):
    """An http:// or https:// URL that holds no secret."""

    __slots__ = ()


class Secret:
    """Text that shows only to who asks for it by `reveal`: no log, message or traceback holds it.

    Args:
        text: the secret.
        reference: what the configuration says instead of it: `("file", path)` or `("env", name)`;
            None where it stood in the open.
    """

    __slots__ = ("_text", "reference")

    def __init__(self, text: str, reference: tuple[str, str] | None = None) -> None:
        self._text = text
        self.reference = reference

    def reveal(self) -> str:
        """Return the text itself."""
        return self._text

    def __repr__(self) -> str:
        return f"Secret({' '.join(self.reference) if self.reference else MASK})"

    def __str__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")


def parse_interval(value: object) -> Interval:
    """Return the length of time.

    Raises:
        ValueError: it is none, or nothing.
    """
    length = parse_duration(value)
    if length <= 0:
        raise ValueError(f"`{value}` is no time at all; write e.g. 1s")
    return Interval(length)


def parse_size(value: object) -> Size:
    """Return the number of bytes of a whole number, or of text such as `16MiB`.

    Raises:
        ValueError: it is neither.
    """
    found = None if isinstance(value, bool) else _SIZE.fullmatch(str(value).strip())
    if found is None:
        raise ValueError(f"`{value}` is no size; write e.g. 65536, 512KiB or 16MiB")
    return Size(int(found[1]) * _FACTORS[found[2]])


def parse_web_address(value: object) -> WebAddress:
    """Return the URL without a slash at its end.

    Raises:
        ValueError: it is none, or it holds a password.
    """
    text = str(value).strip()
    found = re.fullmatch(r"https?://([^/\s?#]+)(/[^\s?#]*)?", text)
    if found is None:
        raise ValueError(f"`{shown_without_password(text)}` is no URL; write http://… or https://…")
    if "@" in found[1]:
        raise ValueError(
            f"`{shown_without_password(text)}` holds a password, which would show in logs;"
            " write it into `token` or `password`"
        )
    return WebAddress(text.rstrip("/"))


def shown_without_password(text: str) -> str:
    """Return a URL as it may be shown."""
    return re.sub(r"//[^/@]*@", f"//{MASK}@", text)
