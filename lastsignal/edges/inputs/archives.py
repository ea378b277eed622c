"""The members of zip archives as sources, also those that zstd has compressed (Inspect's .eval)."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lastsignal.edges.inputs.decompression import CHUNK_BYTES, Count, is_zip, unzstd
from lastsignal.edges.inputs.sources import Source

MAX_MEMBER_BYTES = 4 * 1024**3
"""A member that decompresses to more is cut here: it may be a bomb."""

MEMBER_SUFFIXES = (".json", ".jsonl", ".ndjson")

_ZSTD_METHOD = 93
_READABLE_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD_METHOD})
_ENCRYPTED = 0x1
_LOCAL_HEADER_BYTES = 30


def members_of(path: Path, count: Count, lose: Callable[[str], None]) -> list[zipfile.ZipInfo]:
    """Return the members of an archive that may be traces; others are counted by reason.

    Args:
        path: the archive.
        count: told why a member is passed over.
        lose: told the name of each that may be a trace, and that no key or method opens.

    Raises:
        zipfile.BadZipFile: it is no whole archive.
    """
    found = []
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename
            if member.is_dir():
                continue
            if not name.lower().endswith(MEMBER_SUFFIXES) or name.startswith("__MACOSX/"):
                count("foreign_member")
            elif member.flag_bits & _ENCRYPTED or member.compress_type not in _READABLE_METHODS:
                lose(name)
            else:
                found.append(member)
    return found


class MemberSource(Source):
    """One member."""

    def __init__(self, path: Path, name: str, member: zipfile.ZipInfo) -> None:
        is_zstd = member.compress_type == _ZSTD_METHOD
        # zipfile decompresses while it reads: what is consumed is text then
        size = member.compress_size if is_zstd else member.file_size
        super().__init__(f"{name}!{member.filename}", size)
        self._path = path
        self._member = member
        self._is_zstd = is_zstd

    def _raw(self) -> Iterator[bytes]:
        if self._is_zstd:
            yield from self._stored_bytes()
            return
        with zipfile.ZipFile(self._path) as archive, archive.open(self._member) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    def _decompress(self, raw: Iterator[bytes]) -> Iterator[bytes]:
        if self._is_zstd:
            raw = self._checked(unzstd(raw, self._count))
        left = MAX_MEMBER_BYTES
        try:
            for chunk in raw:
                yield chunk[:left]
                left -= len(chunk)
                if left < 0:
                    self._count("member_too_large")
                    return
        except (zipfile.BadZipFile, zlib.error, EOFError):
            self._count("corrupt_member")

    def _stored_bytes(self) -> Iterator[bytes]:
        """Yield the compressed bytes: Python's zipfile knows where they are, not what they are."""
        with self._path.open("rb") as file:
            file.seek(self._member.header_offset)
            header = file.read(_LOCAL_HEADER_BYTES)
            if not is_zip(header) or len(header) < _LOCAL_HEADER_BYTES:
                raise zipfile.BadZipFile("no local header")
            # The lengths of name and extra field, which differ from those in the directory.
            file.seek(sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28)), 1)
            left = self._member.compress_size
            while chunk := file.read(min(left, CHUNK_BYTES)):
                left -= len(chunk)
                yield chunk

    def _checked(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        checksum = 0
        for chunk in chunks:
            checksum = zlib.crc32(chunk, checksum)
            yield chunk
        if checksum != self._member.CRC and not self.skipped:
            self._count("corrupt_member")
