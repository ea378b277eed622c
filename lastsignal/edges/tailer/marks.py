"""Digests by which content is known again."""

from __future__ import annotations

import hashlib

import msgspec

TAIL_BYTES = 256
"""As much before an offset is compared before reading on from there."""


class Mark(msgspec.Struct, frozen=True):
    """How long a stretch of content is, and its digest."""

    length: int = 0
    digest: bytes = b""

    @classmethod
    def of(cls, content: bytes) -> Mark:
        """Return the mark of these bytes."""
        return cls(len(content), _digest(content)) if content else NOTHING

    def fits(self, content: bytes) -> bool:
        """Do these bytes begin with what was marked?"""
        if len(content) < self.length:
            return False
        return not self.length or _digest(content[: self.length]) == self.digest


NOTHING = Mark()


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=12).digest()
