"""What leaves the machine holds no secret: keys, passwords, addresses and cards become marks.

Why the patterns are our own: detect-secrets is made to find, not to replace: it reports hashes of
what it found in a line, needs a backtracking engine, and had no release since May 2024; the
bindings to Gitleaks' descendants and to Kingfisher are 15 to 30 MB of another runtime, and
CredSweeper brings ONNX. So `secret_shapes.py` is a table to which a shape is added by a line.
Everything here runs in linear time over bounded input; a mark is never redacted again.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from functools import partial
from re import Match
from typing import Any

import re2

from lastsignal.core.redaction.secret_shapes import (
    FILE_ENDINGS,
    KEY_SHAPES,
    PASSWORD_NAMES,
    PLACEHOLDERS,
    REFERENCES,
    SECRET_NAMES,
)

MAX_CHARACTERS = 65_536
"""What is beyond is left out: no message is that long, and no input takes forever."""
LEFT_OUT = "[left out]"

_MARK = "[redacted:"
_GLANCE = 64  # characters of a value that tell whether it may be none
_MIN_SECRET = 6  # characters; `token: abc` says nothing worth hiding
_MAX_COUNT_DIGITS = 9  # `token: 4096` is a number of tokens

_KEYS = re2.compile("|".join(f"(?P<k{n}>{shape})" for n, (_, shape) in enumerate(KEY_SHAPES)))

_URL_USER = re2.compile(r"""\b([A-Za-z][A-Za-z0-9+.-]{1,20}://)([^\s/"'<>\\]{1,400})@""")

_QUOTE = r"""(?:\\*["'])?"""
_HEADERS = re2.compile(
    rf"(?i)\b((?:proxy-)?authorization{_QUOTE}\s{{0,4}}[:=]\s{{0,4}}{_QUOTE})"
    r"""((?:(?:basic|bearer|token|digest|negotiate|apikey|aws4-hmac-sha256)\s+)?[^\s"'\\]{3,})"""
)
_COOKIES = re2.compile(
    rf"(?i)\b((?:set-)?cookie{_QUOTE}\s{{0,4}}[:=]\s{{0,4}}{_QUOTE})([^\n\"'\\]{{3,}})"
)
_SCHEMES = re2.compile(r"(?i)\b(basic|bearer)(\s+)([A-Za-z0-9._~+/=-]{8,})")

_PAIRS = re2.compile(
    rf"(?i)(?:({PASSWORD_NAMES})|{SECRET_NAMES})"
    rf"{_QUOTE}\s{{0,4}}(?:=>|:=|[:=]|%3[ad])\s{{0,4}}({_QUOTE})"
)
_OPTIONS = re2.compile(
    rf"(?i)--?[\w-]{{0,40}}(?:({PASSWORD_NAMES})|{SECRET_NAMES})\s{{1,4}}({_QUOTE})"
)
# Ends at a space; a comma or a bracket ends it too, unless it goes on right after.
_BARE_VALUE = re.compile(
    r"""[^\s"'\\,;&<>(){}[\]](?:[^\s"'\\,;&<>(){}]|[,(){}'][^\s"'\\,;&<>(){}])*"""
)
_ELEMENTS = re2.compile(
    rf"(?i)(<[\w:.-]{{0,40}}(?:{PASSWORD_NAMES}|{SECRET_NAMES})\s*>)([^<\s][^<]*)"
)
_QUERIES = re2.compile(
    r"(?i)([?&;](?:key|sig|signature|code|auth|x-(?:amz|goog)-(?:signature|security-token))=)"
    r"""([^&\s"'<>\\]{8,})"""
)
_SECRET_NAME = re2.compile(rf"(?i)(?:{PASSWORD_NAMES}|{SECRET_NAMES}|authorization|cookie)$")

_EMAILS = re2.compile(r"\b[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}([A-Za-z]{2,24})\b")
_CARDS = re2.compile(r"\d{4}(?:[ -]\d{4}){3}|\d{4}[ -]\d{6}[ -]\d{4,5}|\d{13,19}")
_JOINED_BEFORE = re.compile(r"[\w-]$|\d\.$")
_JOINED_AFTER = re.compile(r"[\w-]|\.\d")
_CARD_ISSUERS = re2.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|65\d\d|64[4-9]\d|62\d\d|35(?:2[89]|[3-8]\d))\d{12}"  # Discover, UnionPay, JCB
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners
)


def redact(text: str) -> str:
    """Return the text with a mark such as `[redacted:aws-access-key]` for each secret in it."""
    text = _bounded(_encodable(text))
    for step in _STEPS:
        text = step(text)
    return text


def redact_values(values: Mapping[str, str]) -> dict[str, str]:
    """Return the values redacted, also where only their name says that they are secret."""
    return {
        name: _mark("secret") if _SECRET_NAME.search(name) and value else redact(value)
        for name, value in values.items()
    }


def _mark(name: str) -> str:
    return f"{_MARK}{name}]"


def _encodable(text: str) -> str:
    """Replace halves of surrogate pairs, which JSON can carry and no encoding can."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _bounded(text: str) -> str:
    """Cut between words, so that no half of a secret stays without its other half."""
    if len(text) <= MAX_CHARACTERS:
        return text
    kept = text[:MAX_CHARACTERS]
    end = max(kept.rfind(character) for character in " \n\t,;&\"'")
    return (kept[: end + 1] if end > MAX_CHARACTERS // 2 else kept) + LEFT_OUT


def _second(name: str) -> Callable[[Match[str]], str]:
    """Return a replacement of a match's second group."""
    return lambda found: found[1] + (found[2] if _MARK in found[2] else _mark(name))


def _key(found: Match[str]) -> str:
    name, text = KEY_SHAPES[int((found.lastgroup or "")[1:])][0], found[0]
    # `sk-learn-contrib-package` has the prefix of a key, and no digit
    if name == "api-key" and not any(character.isdigit() for character in text):
        return text
    return _mark(name)


def _scheme(found: Match[str]) -> str:
    """Replace what follows `Bearer` or `Basic`, unless it is the next word of a sentence."""
    scheme, value = found[1], found[3]
    if scheme.lower() == "basic":
        try:
            secret = b":" in b64decode(value + "=" * (-len(value) % 4), validate=True)
        except ValueError:
            secret = False
    else:
        secret = any(character.isdigit() for character in value)
    return f"{scheme}{found[2]}{_mark('authorization')}" if secret else found[0]


def _replace_values(heads: Any, text: str) -> str:
    """Replace what follows the names of secrets, with its quotes kept.

    No pattern finds the end of a quoted value in JSON within JSON within JSON, where the quote has
    as many backslashes as at the beginning, and those within the value have more.
    """
    pieces, done = [], 0
    for found in heads.finditer(text):
        start, opening = found.end(), found[2]
        if start < done:
            continue  # within a value that is replaced
        glance = min(start + _GLANCE, len(text))
        end = _end_of_value(text, start, glance, opening)
        if _is_harmless(text[start:end], is_password=found[1] is not None):
            continue
        if end == glance:
            end = _end_of_value(text, start, len(text), opening)
        pieces += [text[done:start], _mark("password" if found[1] else "secret")]
        done = end
    return "".join([*pieces, text[done:]])


def _end_of_value(text: str, start: int, stop: int, opening: str) -> int:
    """Return where a value ends: before its closing quote, or with the line that lacks one."""
    if not opening:
        found = _BARE_VALUE.match(text, start, stop)
        return found.end() if found else start
    line_end = text.find("\n", start, stop)
    stop = stop if line_end < 0 else line_end
    at = text.find(opening[-1], start, stop)
    while at >= 0:
        end = at
        while end > start and text[end - 1] == "\\":
            end -= 1
        if at - end < len(opening):
            return end
        at = text.find(opening[-1], at + 1, stop)
    return stop


def _is_harmless(value: str, *, is_password: bool) -> bool:
    """Whether a value is none, or names where a secret is: a path, a variable, a template."""
    if value.startswith(_MARK) or value.lower().rstrip(".") in PLACEHOLDERS:
        return True
    if set(value) <= {"*", "x", "X", ".", "…"} or value.startswith(REFERENCES):
        return True
    if is_password:
        return False
    return len(value) < _MIN_SECRET or (value.isdigit() and len(value) <= _MAX_COUNT_DIGITS)


def _email(found: Match[str]) -> str:
    if found[0].startswith("git@") or found[1].lower() in FILE_ENDINGS:
        return found[0]
    return _mark("email")


def _card(found: Match[str]) -> str:
    text = found[0]
    digits = text.replace(" ", "").replace("-", "")
    if _JOINED_BEFORE.search(found.string[max(0, found.start() - 2) : found.start()]):
        return text  # a part of something longer: a UUID, a hash, a decimal
    if _JOINED_AFTER.match(found.string[found.end() : found.end() + 2]):
        return text
    if not _CARD_ISSUERS.fullmatch(digits) or _luhn(digits):
        return text
    return _mark("card-number")


def _luhn(digits: str) -> int:
    """Return the remainder of Luhn's sum: 0 for a card."""
    total = sum(int(digit) for digit in digits[-1::-2])
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10


_STEPS: tuple[Callable[[str], str], ...] = (
    # the most telling mark first: what one step has replaced, the next ones leave
    partial(_KEYS.sub, _key),
    partial(_URL_USER.sub, lambda found: f"{found[1]}{_mark('url-credentials')}@"),
    partial(_HEADERS.sub, _second("authorization")),
    partial(_COOKIES.sub, _second("cookie")),
    partial(_SCHEMES.sub, _scheme),
    partial(_replace_values, _PAIRS),
    partial(_replace_values, _OPTIONS),
    partial(_ELEMENTS.sub, _second("secret")),
    partial(_QUERIES.sub, _second("secret")),
    partial(_EMAILS.sub, _email),
    partial(_CARDS.sub, _card),
)
