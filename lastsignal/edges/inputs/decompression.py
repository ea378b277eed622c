"""Compressed bytes → bytes, in pieces of bounded size; what is damaged is read as far as it goes.

Told by the first bytes, not by a name. A fault is counted, never raised: what precedes it is read.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator

import zstandard

CHUNK_BYTES = 256 * 1024
"""What is read and handed on at once: larger ones leave the processor's cache."""

HEAD_BYTES = 4
_ZIP_HEADS = (b"PK\x03\x04", b"PK\x05\x06")  # an archive, and an empty one

# A run of one byte is 4 bytes for 128 KiB: as many as this hold 64 MiB at most.
_ZSTD_SLICE_BYTES = 2048

Count = Callable[[str], None]
"""count(reason of a fault)."""
Decompress = Callable[[Iterable[bytes], Count], Iterator[bytes]]


def is_zip(head: bytes) -> bool:
    """Do these first bytes begin a zip archive?"""
    return head.startswith(_ZIP_HEADS)


def decompression_of(head: bytes) -> Decompress | None:
    """Return what decompresses a source that begins with these bytes; None for plain ones."""
    if head.startswith(b"\x1f\x8b"):
        return gunzip
    is_skippable = head[1:HEAD_BYTES] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F
    if head.startswith(b"\x28\xb5\x2f\xfd") or is_skippable:
        return unzstd
    return None


def gunzip(chunks: Iterable[bytes], count: Count) -> Iterator[bytes]:
    """Decompress gzip members one after another, padding between them passed over."""
    decoder, members, begun = zlib.decompressobj(wbits=31), 0, False
    for chunk in chunks:
        data, is_full = chunk, False
        while data or is_full:
            if not begun and members:
                data = data.lstrip(b"\0")
            begun = begun or bool(data)
            try:
                piece = decoder.decompress(data, CHUNK_BYTES)
            except zlib.error:
                count("corrupt_gzip")
                return
            if piece:
                yield piece
            data, is_full = decoder.unconsumed_tail, len(piece) == CHUNK_BYTES
            if decoder.eof:
                data, is_full = decoder.unused_data, False
                decoder, members, begun = zlib.decompressobj(wbits=31), members + 1, False
    if begun:
        count("truncated_gzip")
        rest = decoder.flush()
        if rest:
            yield rest


def unzstd(chunks: Iterable[bytes], count: Count) -> Iterator[bytes]:
    """Decompress zstd frames one after another."""
    context = zstandard.ZstdDecompressor()
    decoder, begun = context.decompressobj(), False
    gathered = bytearray()
    for chunk in chunks:
        for start in range(0, len(chunk), _ZSTD_SLICE_BYTES):
            data = chunk[start : start + _ZSTD_SLICE_BYTES]
            while data:
                begun = True
                try:
                    gathered += decoder.decompress(data)
                except zstandard.ZstdError:
                    count("corrupt_zstd")
                    yield bytes(gathered)
                    return
                data = b""
                if decoder.eof:
                    data = decoder.unused_data
                    decoder, begun = context.decompressobj(), False
            if len(gathered) >= CHUNK_BYTES:
                yield bytes(gathered)
                gathered.clear()
    if begun:
        count("truncated_zstd")
    if gathered:
        yield bytes(gathered)
