"""Compressed bytes that arrive bit by bit → bytes, never more at once than asked for."""

from __future__ import annotations

import zlib
from typing import Protocol

import zstandard

GZIP_HEAD = b"\x1f\x8b"
ZSTD_HEAD = b"\x28\xb5\x2f\xfd"
HEADS = (GZIP_HEAD, ZSTD_HEAD)

# A run of one byte is 4 bytes for 128 KiB: as many as this hold 16 MiB at most.
_ZSTD_SLICE_BYTES = 512


class CorruptError(Exception):
    """The bytes are not what their first ones promise."""


class Unpacker(Protocol):
    """Give it raw bytes, take what they hold until nothing comes, and so on."""

    def give(self, raw: bytes) -> None:
        """Add raw bytes."""

    def take(self, limit: int) -> bytes:
        """Return the next bytes; none where more raw ones are needed."""

    @property
    def is_complete(self) -> bool:
        """Is all that was given a whole number of members, and taken?"""


def unpacker_for(head: bytes) -> Unpacker | None:
    """Return what unpacks a file that begins with these bytes; None for plain ones."""
    if head.startswith(GZIP_HEAD):
        return _GzipUnpacker()
    if head.startswith(ZSTD_HEAD):
        return _ZstdUnpacker()
    return None


def may_become_packed(head: bytes) -> bool:
    """Are these bytes too few to tell?"""
    return any(len(head) < len(whole) and whole.startswith(head) for whole in HEADS)


class _GzipUnpacker:
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)
        self._raw = b""
        self._holds_more = False
        self._is_between = False

    def give(self, raw: bytes) -> None:
        self._raw += raw

    @property
    def is_complete(self) -> bool:
        return self._is_between and not self._raw

    def take(self, limit: int) -> bytes:
        while self._raw or self._holds_more:
            if self._is_between:  # members may be padded
                self._raw = self._raw.lstrip(b"\0")
                self._is_between = not self._raw
                continue
            try:
                piece = self._decoder.decompress(self._raw, limit)
            except zlib.error as error:
                raise CorruptError(str(error)) from error
            self._raw, self._holds_more = self._decoder.unconsumed_tail, len(piece) == limit
            if self._decoder.eof:
                self._raw, self._holds_more = self._decoder.unused_data, False
                self._decoder, self._is_between = zlib.decompressobj(wbits=31), True
            if piece:
                return piece
        return b""


class _ZstdUnpacker:
    def __init__(self) -> None:
        self._context = zstandard.ZstdDecompressor()
        self._decoder = self._context.decompressobj()
        self._raw = b""
        self._ready = b""
        self._is_between = False

    def give(self, raw: bytes) -> None:
        self._raw += raw

    @property
    def is_complete(self) -> bool:
        return self._is_between and not self._raw and not self._ready

    def take(self, limit: int) -> bytes:
        while self._raw and not self._ready:
            data, self._raw = self._raw[:_ZSTD_SLICE_BYTES], self._raw[_ZSTD_SLICE_BYTES:]
            try:
                self._ready = self._decoder.decompress(data)
            except zstandard.ZstdError as error:
                raise CorruptError(str(error)) from error
            self._is_between = self._decoder.eof
            if self._is_between:
                self._raw = self._decoder.unused_data + self._raw
                self._decoder = self._context.decompressobj()
        piece, self._ready = self._ready[:limit], self._ready[limit:]
        return piece
