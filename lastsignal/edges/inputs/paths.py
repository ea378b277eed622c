"""Arguments of the command line → sources, in an order that people expect.

A path that is named itself is read whatever it is called; below a folder, `folders` says what is. A
file that is reached by two ways is read once.
"""

from __future__ import annotations

import os
import re
import select
import stat
import sys
import weakref
import zipfile
from collections.abc import Callable, Sequence
from io import BufferedReader
from pathlib import Path
from typing import cast, overload

from lastsignal.edges.inputs.archives import MEMBER_SUFFIXES, MemberSource, members_of
from lastsignal.edges.inputs.decompression import HEAD_BYTES, is_zip
from lastsignal.edges.inputs.folders import TRACE_SUFFIXES, in_natural_order, traces_below
from lastsignal.edges.inputs.sources import (
    FileSource,
    Source,
    StreamSource,
    UnreadSource,
    named_faults,
)
from lastsignal.errors import InputError

STDIN = "-"

FIFO_PATIENCE_SECONDS = 1.0
"""How long a named pipe may be without a writer: it may be opened a moment after its reader."""


_has_wildcard = re.compile(r"[*?\[]").search


class Sources(Sequence[Source]):
    """Everything to read, in order.

    Args:
        sources: in the order of the arguments; those of one folder or glob by name, and numbers in
            it by value.
        skipped: files and members that were passed over, by reason.
    """

    def __init__(self, sources: Sequence[Source], skipped: dict[str, int]) -> None:
        self._sources = list(sources)
        self.skipped = skipped

    @overload
    def __getitem__(self, index: int) -> Source: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Source]: ...
    def __getitem__(self, index: int | slice) -> Source | Sequence[Source]:
        return self._sources[index]

    def __len__(self) -> int:
        return len(self._sources)


def open_sources(arguments: Sequence[str], stdin: Callable[[int], bytes] | None = None) -> Sources:
    """Return the sources that command-line arguments name.

    Args:
        arguments: files, folders, globs, or `-` for standard input.
        stdin: read(n) of what `-` stands for.

    Raises:
        InputError: an argument names nothing that can be read.
    """
    search = _Search()
    for argument in arguments:
        if argument == STDIN:
            search.add_stdin(stdin or _stdin_read())
        elif _exists(argument):
            search.add_named(argument)
        else:
            search.add_glob(argument)
    return Sources(search.sources, search.skipped)


class _Search:
    def __init__(self) -> None:
        self.sources: list[Source] = []
        self.skipped: dict[str, int] = {}
        self._seen: set[tuple[int, int]] = set()

    def add_stdin(self, read: Callable[[int], bytes]) -> None:
        if any(source.name == STDIN for source in self.sources):
            raise InputError("-: named twice, but standard input can be read only once")
        self.sources.append(StreamSource(STDIN, read))

    def add_glob(self, pattern: str) -> None:
        if not _has_wildcard(pattern):
            raise InputError(f"{pattern}: no such file or folder; check the path")
        found = _matches(pattern)
        if not found:
            raise InputError(f"{pattern}: matches no file; check the folder and the pattern")
        for path in found:
            self.add_named(path)

    def add_named(self, name: str) -> None:
        path = Path(name)
        try:
            mode = path.stat().st_mode
        except FileNotFoundError as error:
            raise InputError(f"{name}: is a link to nothing; name the file itself") from error
        except OSError as error:
            with named_faults(name):
                raise error
        if stat.S_ISDIR(mode):
            self._add_folder(path, name)
        elif stat.S_ISREG(mode):
            self._add_named_file(path, name)
        elif stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
            with named_faults(name):
                self.sources.append(_open_stream(path, name))
        else:
            raise InputError(f"{name}: is no file, folder or pipe; name one")

    def _add_folder(self, folder: Path, name: str) -> None:
        before = len(self.sources), sum(self.skipped.values())
        with named_faults(name):
            found = traces_below(folder, self._count, self._lose)
        for path in found:
            try:
                if not self._add_file(path, str(path)):
                    self._count("foreign")
            except OSError as error:
                self._lose(str(path), error)
            except zipfile.BadZipFile as error:
                trouble = f"damaged archive ({error}); copy or write it again"
                self.sources.append(UnreadSource(str(path), "damaged_archive", trouble))
        added = self.sources[before[0] :]
        for one in added:
            one.is_found = True
        self.sources[before[0] :] = sorted(added, key=lambda one: in_natural_order(one.name))
        if not added and not self.skipped.get("duplicate"):
            passed_over = sum(self.skipped.values()) - before[1]
            kinds = ", ".join(sorted(TRACE_SUFFIXES))
            raise InputError(
                f"{name}: holds no trace file ({passed_over} passed over); looked for {kinds}, also"
                " compressed, and for files that begin with JSON; name a file to read it anyway"
            )

    def _add_named_file(self, path: Path, name: str) -> None:
        try:
            with named_faults(name):
                is_any = self._add_file(path, name)
        except zipfile.BadZipFile as error:
            raise InputError(
                f"{name}: damaged archive ({error}); copy or write it again"
            ) from error
        if not is_any:
            kinds = ", ".join(MEMBER_SUFFIXES)
            raise InputError(f"{name}: holds no member that can be read; looked for {kinds}")

    def _add_file(self, path: Path, name: str) -> bool:
        """Add a file, or the members of an archive; False if that has none."""
        info = path.stat()
        identity = info.st_dev, info.st_ino
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if identity in self._seen:
            self._count("duplicate")
            return True
        if is_zip(head):
            members = members_of(path, self._count, lambda member: self._lose_member(name, member))
            members.sort(key=lambda member: in_natural_order(member.filename))
            found: list[Source] = [MemberSource(path, name, member) for member in members]
        else:
            found = [FileSource(path, name)]
        self.sources += found
        self._seen.add(identity)
        return bool(found)

    def _lose(self, name: str, fault: OSError) -> None:
        try:
            with named_faults(name):
                raise fault
        except InputError as error:
            trouble = str(error).removeprefix(f"{name}: ")
        self.sources.append(UnreadSource(name, "unreadable", trouble))

    def _lose_member(self, archive: str, member: str) -> None:
        trouble = "encrypted, or compressed in a way that is not known; unpack the archive first"
        self._count("unreadable_member")
        self.sources.append(UnreadSource(f"{archive}!{member}", "unreadable", trouble))

    def _count(self, reason: str) -> None:
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


def _exists(name: str) -> bool:
    with named_faults(name):  # a folder that hides whether it is there is no folder without it
        try:
            os.lstat(name)
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def _stdin_read() -> Callable[[int], bytes]:
    if sys.stdin is None:  # started with it closed
        raise InputError("-: standard input is closed; pipe something into it")
    return cast(BufferedReader, sys.stdin.buffer).read1


def _matches(pattern: str) -> list[str]:
    """Return what a glob matches, as a shell does: hidden names only where the pattern says so."""
    root = Path(pattern).anchor
    try:
        # not the glob module: its ** follows links, also in circles
        found = [str(path) for path in Path(root).glob(pattern[len(root) :])]
    except ValueError as error:
        raise InputError(f"{pattern}: {error}; write ** as a folder of its own") from error
    if not _is_hidden(pattern):
        found = [path for path in found if not _is_hidden(path)]
    return sorted(found, key=in_natural_order)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") and part.strip(".") for part in path.split("/"))


def _open_stream(path: Path, name: str) -> StreamSource:
    """Open a pipe or a device; a pipe that nobody writes to would wait for ever."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb", buffering=0)
    first = b""
    if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        poll.poll(FIFO_PATIENCE_SECONDS * 1000)
        try:
            first = os.read(descriptor, 1)
            is_empty = not first
        except BlockingIOError:  # a writer is there, and has nothing to say yet
            is_empty = False
        if is_empty:
            file.close()
            raise InputError(f"{name}: is a pipe that nobody writes to; start its writer first")
    os.set_blocking(descriptor, True)

    def read(count: int) -> bytes:
        nonlocal first
        data, first = first or file.read(count) or b"", b""
        return data

    source = StreamSource(name, read)
    weakref.finalize(source, file.close)
    return source
