"""What has been met before, known again by digests: bounded, and small enough to be kept."""

from __future__ import annotations

from hashlib import blake2b


def digest_of(data: bytes) -> int:
    """Return 64 bits that stand for bytes, the same in every process."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


def remember(known: dict[int, bool], digest: int, most: int) -> bool:
    """Note a digest, dropping the oldest beyond `most`; False where it was known already."""
    if digest in known:
        return False
    known[digest] = True
    if len(known) > most:
        del known[next(iter(known))]
    return True
