"""Which sources arguments name, what each yields, and what evidence reads again."""

from __future__ import annotations

import gzip
import io
import os
import socket
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard

from lastsignal.edges.inputs import Place, Sources, archives, open_sources, read_excerpts
from lastsignal.edges.inputs.decompression import CHUNK_BYTES, gunzip, unzstd
from lastsignal.edges.inputs.excerpts import excerpt_of
from lastsignal.edges.inputs.sources import FileSource
from lastsignal.errors import InputError

LINE = b'{"a":1}\n'
LINES = b"".join(b'{"number":%d}\n' % number for number in range(60_000))  # more than two chunks


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, data: bytes = LINE) -> Path:
    """Write a file and the folders above it."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return file


def names(sources: Sources) -> list[str]:
    """Return the names of sources, in order."""
    return [source.name for source in sources]


def content(argument: str) -> bytes:
    """Return the bytes of the one source that an argument names."""
    (source,) = open_sources([argument])
    return b"".join(source.chunks())


def write_zstd_archive(path: str, members: dict[str, bytes]) -> None:
    """Write a zip archive as Inspect does: Python 3.11's zipfile can neither write nor read it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, zstandard.compress(data))
        for member in archive.infolist():
            member.compress_type = 93
            member.CRC, member.file_size = zlib.crc32(members[member.filename]), 0
    written = bytearray(Path(path).read_bytes())
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():  # the local headers too, as a real writer has them
            written[member.header_offset + 8 : member.header_offset + 10] = (93).to_bytes(
                2, "little"
            )
    Path(path).write_bytes(written)


class TestNamedPaths:
    def test_a_file_is_named_as_it_was_given_and_read_in_bounded_chunks(self) -> None:
        write("runs/trace.jsonl", LINES)

        (source,) = open_sources(["runs/../runs/trace.jsonl"])
        chunks = list(source.chunks())

        assert source.name == "runs/../runs/trace.jsonl"
        assert source.size == source.consumed == len(LINES)
        assert b"".join(chunks) == LINES
        assert max(map(len, chunks)) <= CHUNK_BYTES

    def test_a_source_can_be_read_again_from_its_start(self) -> None:
        write("trace.jsonl", LINES)
        (source,) = open_sources(["trace.jsonl"])

        first = next(source.chunks())

        assert b"".join(source.chunks()) == LINES
        assert LINES.startswith(first)

    def test_a_named_file_is_read_whatever_its_name(self) -> None:
        for name in (".hidden", "notes.md", "package.json", "empty.jsonl"):
            write(name, b"" if name.startswith("empty") else LINE)

        assert len(open_sources([".hidden", "notes.md", "package.json", "empty.jsonl"])) == 4

    def test_a_file_named_twice_is_read_once(self) -> None:
        write("a.jsonl")
        Path("b.jsonl").symlink_to("a.jsonl")

        sources = open_sources(["a.jsonl", "./a.jsonl", "b.jsonl"])

        assert names(sources) == ["a.jsonl"]
        assert sources.skipped == {"duplicate": 2}

    @pytest.mark.parametrize(
        ("argument", "message"),
        [
            ("gone.jsonl", "gone.jsonl: no such file or folder; check the path"),
            ("", ": no such file or folder; check the path"),
            ("gone/*.jsonl", "gone/*.jsonl: matches no file; check the folder and the pattern"),
            ("dangling", "dangling: is a link to nothing; name the file itself"),
            ("socket", "socket: is no file, folder or pipe; name one"),
            ("file/below", "file/below: no such file or folder; check the path"),
            ("x" * 300, "x" * 300 + ": cannot be read: File name too long"),
        ],
    )
    def test_what_cannot_be_read_is_named_with_the_way_out(
        self, argument: str, message: str
    ) -> None:
        Path("dangling").symlink_to("nowhere")
        write("file")
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("socket")
            with pytest.raises(InputError) as error:
                open_sources([argument])

        assert str(error.value) == message

    def test_a_file_without_permission_is_named_with_the_way_out(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write("secret.jsonl")
        monkeypatch.setattr(Path, "open", _deny)

        with pytest.raises(InputError) as error:
            open_sources(["secret.jsonl"])

        assert str(error.value) == "secret.jsonl: permission denied; let this user read it"

    def test_a_file_that_goes_away_before_it_is_read_is_named(self) -> None:
        file = write("trace.jsonl")
        (source,) = open_sources(["trace.jsonl"])
        file.unlink()

        with pytest.raises(InputError, match=r"trace\.jsonl: cannot be read: No such file"):
            list(source.chunks())


def _deny(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


class TestFolders:
    def test_traces_are_found_at_any_depth_in_natural_order(self) -> None:
        for name in ("m/message_10.json", "m/message_2.json", "b.jsonl", "a/deep/er/c.log"):
            write(f"runs/{name}")

        assert names(open_sources(["runs"])) == [
            "runs/a/deep/er/c.log",
            "runs/b.jsonl",
            "runs/m/message_2.json",
            "runs/m/message_10.json",
        ]

    @pytest.mark.parametrize(
        "name",
        [
            "t.json", "t.jsonl", "t.ndjson", "t.log", "t.traj", "T.JSONL", "t.jsonl.1",
            "t.log.2026-01-01", "t.jsonl-20260101", "t.jsonl.gz", "t.log.3.zst",
            "plain", "t.txt", "t.trace",
        ],
    )  # fmt: skip
    def test_a_trace_is_told_by_its_name_or_by_how_it_begins(self, name: str) -> None:
        write(f"runs/{name}")

        assert names(open_sources(["runs"])) == [f"runs/{name}"]

    @pytest.mark.parametrize(
        ("name", "data", "reason"),
        [
            (".t.jsonl", LINE, "hidden"),
            (".cache/t.jsonl", LINE, "hidden"),
            ("node_modules/t.json", LINE, "foreign"),
            ("package.json", LINE, "foreign"),
            ("README.md", LINE, "foreign"),
            ("main.py", LINE, "foreign"),
            ("settings.toml", b"[tool]\n", "foreign"),
            ("notes.txt", b"Dear diary\n", "foreign"),
            ("picture.png", b"\x89PNG\r\n\x1a\n", "foreign"),
            ("data.tar.gz", gzip.compress(LINE), "foreign"),
            ("t.jsonl", b"", "empty"),
        ],
    )
    def test_what_is_no_trace_is_passed_over_and_counted(
        self, name: str, data: bytes, reason: str
    ) -> None:
        write("runs/trace.jsonl")
        write(f"runs/more/{name}", data)

        sources = open_sources(["runs"])

        assert names(sources) == ["runs/trace.jsonl"]
        assert sources.skipped == {reason: 1}

    def test_what_is_no_file_is_passed_over_and_counted(self) -> None:
        write("runs/trace.jsonl")
        os.mkfifo("runs/pipe.jsonl")
        Path("runs/gone.jsonl").symlink_to("nowhere")
        Path("runs/self.jsonl").symlink_to("self.jsonl")
        write("runs/broken.eval", b"PK\x03\x04 and no more")

        sources = open_sources(["runs"])

        assert names(sources) == ["runs/broken.eval", "runs/trace.jsonl"]
        assert sources.skipped == {"not_a_file": 1, "unreadable": 2}

    def test_a_damaged_archive_in_a_folder_stays_to_be_told_of(self) -> None:
        write("runs/broken.eval", b"PK\x03\x04 and no more")

        (lost,) = open_sources(["runs"])

        assert list(lost.chunks()) == list(lost.chunks()) == []
        assert lost.skipped == {"damaged_archive": 1}
        assert lost.trouble is not None
        assert lost.trouble.startswith("damaged archive (")

    def test_a_file_that_goes_between_being_found_and_being_read_is_counted(self) -> None:
        going, staying = write("runs/1.jsonl"), write("runs/2.jsonl")
        first, second = open_sources(["runs"])
        named = FileSource(going, "1.jsonl")
        going.unlink()

        assert list(first.chunks()) == []
        assert first.skipped == {"unreadable": 1}
        assert first.trouble == "cannot be read: No such file or directory"
        assert b"".join(second.chunks()) == staying.read_bytes()
        assert (second.skipped, second.trouble) == ({}, None)
        with pytest.raises(InputError, match=r"^1\.jsonl: cannot be read: No such file"):
            list(named.chunks())

    def test_links_in_a_circle_end(self) -> None:
        write("runs/a/trace.jsonl")
        Path("runs/a/loop").symlink_to("..")
        Path("runs/again").symlink_to("a")

        assert names(open_sources(["runs"])) == ["runs/a/trace.jsonl"]

    def test_a_file_behind_a_link_is_read_once_under_its_own_name(self) -> None:
        write("runs/run-7.jsonl")
        Path("runs/latest.jsonl").symlink_to("run-7.jsonl")
        write("elsewhere/other.jsonl")
        Path("runs/linked").symlink_to("../elsewhere")

        sources = open_sources(["runs"])

        assert names(sources) == ["runs/linked/other.jsonl", "runs/run-7.jsonl"]
        assert sources.skipped == {"duplicate": 1}

    def test_a_folder_without_any_trace_is_an_error_and_not_clean(self) -> None:
        write("runs/README.md")

        with pytest.raises(InputError, match=r"^runs: holds no trace file \(1 passed over\)"):
            open_sources(["runs"])

    def test_a_folder_whose_traces_were_named_before_is_no_error(self) -> None:
        write("runs/trace.jsonl")

        assert names(open_sources(["runs/trace.jsonl", "runs"])) == ["runs/trace.jsonl"]


class TestGlobs:
    def test_matches_come_in_natural_order_and_hidden_ones_not_at_all(self) -> None:
        for name in ("r/t10.jsonl", "r/t9.jsonl", "r/.t1.jsonl", "r/s/t1.jsonl", "r/x.log"):
            write(name)

        assert names(open_sources(["r/t*.jsonl"])) == ["r/t9.jsonl", "r/t10.jsonl"]
        assert names(open_sources(["r/**/*.jsonl"])) == [
            "r/s/t1.jsonl", "r/t9.jsonl", "r/t10.jsonl",
        ]  # fmt: skip
        assert names(open_sources(["r/.t?.jsonl"])) == ["r/.t1.jsonl"]

    def test_an_absolute_glob_gives_absolute_names(self, tmp_path: Path) -> None:
        write("a.jsonl")

        assert names(open_sources([f"{tmp_path}/*.jsonl"])) == [f"{tmp_path}/a.jsonl"]

    def test_a_file_whose_name_looks_like_a_glob_is_that_file(self) -> None:
        write("run[1].jsonl")

        assert names(open_sources(["run[1].jsonl"])) == ["run[1].jsonl"]

    def test_a_pattern_that_is_none_is_told(self) -> None:
        with pytest.raises(InputError, match="write \\*\\* as a folder of its own"):
            open_sources(["a**/*.jsonl"])


class TestCompression:
    @pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
    def test_it_is_told_by_the_first_bytes_and_not_by_the_name(
        self, compress: Callable[[bytes], bytes]
    ) -> None:
        data = compress(LINES)
        write("trace.jsonl", data)

        (source,) = open_sources(["trace.jsonl"])

        assert b"".join(source.chunks()) == LINES
        assert source.size == source.consumed == len(data)
        assert source.skipped == {}

    @pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
    @pytest.mark.parametrize("padding", [b"", b"\0" * 512])
    def test_members_and_frames_follow_one_another(
        self, compress: Callable[[bytes], bytes], padding: bytes
    ) -> None:
        if compress is zstandard.compress:
            padding = b"\x50\x2a\x4d\x18\x04\0\0\0skip"
        write("trace.gz", compress(LINES) + padding + compress(LINE))

        assert content("trace.gz") == LINES + LINE

    @pytest.mark.parametrize(
        ("compress", "reason"),
        [(gzip.compress, "truncated_gzip"), (zstandard.compress, "truncated_zstd")],
    )
    def test_what_a_truncated_file_still_gives_is_read(
        self, compress: Callable[[bytes], bytes], reason: str
    ) -> None:
        write("trace.gz", compress(LINES)[:-40])
        (source,) = open_sources(["trace.gz"])

        data = b"".join(source.chunks())

        assert len(data) > len(LINES) // 3
        assert LINES.startswith(data)
        assert source.skipped == {reason: 1}

    @pytest.mark.parametrize(
        ("compress", "reason"),
        [(gzip.compress, "corrupt_gzip"), (zstandard.compress, "corrupt_zstd")],
    )
    def test_what_precedes_damage_is_read(
        self, compress: Callable[[bytes], bytes], reason: str
    ) -> None:
        write("trace.gz", compress(LINES) + b"no frame at all")
        (source,) = open_sources(["trace.gz"])

        assert b"".join(source.chunks()) == LINES
        assert source.skipped == {reason: 1}

    @pytest.mark.parametrize("size", [1, 2, 17, 4096])
    def test_the_pieces_in_which_compressed_bytes_come_do_not_matter(self, size: int) -> None:
        text = LINES[:9000]
        for decompress, data in (
            (gunzip, gzip.compress(text) + gzip.compress(b"")),
            (unzstd, zstandard.compress(text) + zstandard.compress(text)),
        ):
            faults: list[str] = []
            pieces = iter([data[start : start + size] for start in range(0, len(data), size)])

            assert b"".join(decompress(pieces, faults.append)) in (text, text + text)
            assert faults == []

    def test_a_bomb_comes_in_pieces_that_memory_can_hold(self) -> None:
        zeros = b"\0" * (1 << 20)
        packer = zstandard.ZstdCompressor().compressobj()
        bomb = b"".join(packer.compress(zeros) for _ in range(256)) + packer.flush()
        sizes = [len(piece) for piece in unzstd(iter([bomb]), lambda reason: None)]

        assert sum(sizes) == 256 << 20
        assert max(sizes) <= 65 << 20


MEMBERS = {"samples/10.json": b'{"id":10}', "samples/2.json": b'{"id":2}', "header.json": LINES}


class TestArchives:
    @pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 93])
    def test_each_member_is_a_source(self, method: int) -> None:
        if method == 93:
            write_zstd_archive("log.eval", MEMBERS)
        else:
            with zipfile.ZipFile("log.eval", "w", method) as archive:
                for name, data in MEMBERS.items():
                    archive.writestr(name, data)

        sources = open_sources(["log.eval"])

        assert names(sources) == [
            "log.eval!header.json", "log.eval!samples/2.json", "log.eval!samples/10.json",
        ]  # fmt: skip
        assert [b"".join(source.chunks()) for source in sources] == [
            LINES, b'{"id":2}', b'{"id":10}',
        ]  # fmt: skip
        assert all(source.size == source.consumed for source in sources)
        assert not any(source.skipped for source in sources)

    def test_members_that_are_no_traces_are_counted(self) -> None:
        with zipfile.ZipFile("log.zip", "w") as archive:
            archive.mkdir("folder")
            for name in ("trace.jsonl", "picture.png", "__MACOSX/trace.jsonl"):
                archive.writestr(name, LINE)
            archive.writestr("packed.json", LINE, zipfile.ZIP_LZMA)

        sources = open_sources(["log.zip"])

        assert names(sources) == ["log.zip!packed.json", "log.zip!trace.jsonl"]
        assert sources.skipped == {"foreign_member": 2, "unreadable_member": 1}
        assert list(sources[0].chunks()) == []
        assert sources[0].trouble is not None
        assert sources[0].trouble.startswith("encrypted, or compressed in a way that is not known")

    def test_an_archive_without_a_trace_is_an_error(self) -> None:
        with zipfile.ZipFile("log.zip", "w") as archive:
            archive.writestr("picture.png", b"")

        with pytest.raises(InputError, match=r"^log\.zip: holds no member that can be read"):
            open_sources(["log.zip"])

    def test_an_archive_without_its_directory_is_an_error(self) -> None:
        write_zstd_archive("log.eval", MEMBERS)
        file = Path("log.eval")
        file.write_bytes(file.read_bytes()[:-60])

        with pytest.raises(InputError, match=r"^log\.eval: damaged archive"):
            open_sources(["log.eval"])

    @pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
    def test_a_damaged_member_is_read_as_far_as_it_goes(self, method: int) -> None:
        if method == 93:
            write_zstd_archive("log.zip", {"t.jsonl": LINES})
        else:
            with zipfile.ZipFile("log.zip", "w", method) as archive:
                archive.writestr("t.jsonl", LINES)
        data = bytearray(Path("log.zip").read_bytes())
        data[len(data) // 2] ^= 0xFF
        Path("log.zip").write_bytes(data)

        (source,) = open_sources(["log.zip"])
        list(source.chunks())

        assert sum(source.skipped.values()) == 1
        assert set(source.skipped) <= {"corrupt_member", "corrupt_zstd"}

    @pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
    def test_a_member_that_is_a_bomb_is_cut(
        self, method: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archives, "MAX_MEMBER_BYTES", 1_000_000)
        if method == 93:
            write_zstd_archive("log.zip", {"t.jsonl": b"\0" * 9_000_000})
        else:
            with zipfile.ZipFile("log.zip", "w", method) as archive:
                archive.writestr("t.jsonl", b"\0" * 9_000_000)

        (source,) = open_sources(["log.zip"])

        assert sum(map(len, source.chunks())) == 1_000_000
        assert source.skipped == {"member_too_large": 1}


class TestStreams:
    def test_a_dash_is_standard_input(self) -> None:
        sources = open_sources(["-"], stdin=io.BytesIO(LINES).read1)

        assert names(sources) == ["-"]
        assert sources[0].size is None
        assert b"".join(sources[0].chunks()) == LINES
        assert sources[0].consumed == len(LINES)

    def test_it_may_be_compressed(self) -> None:
        (source,) = open_sources(["-"], stdin=io.BytesIO(gzip.compress(LINES)).read1)

        assert b"".join(source.chunks()) == LINES

    def test_a_look_at_its_start_takes_nothing_away(self) -> None:
        (source,) = open_sources(["-"], stdin=io.BytesIO(LINES).read1)

        first = next(source.chunks())

        assert b"".join(source.chunks()) == LINES
        assert LINES.startswith(first)

    def test_it_cannot_be_named_twice(self) -> None:
        with pytest.raises(InputError, match=r"^-: named twice"):
            open_sources(["-", "-"], stdin=io.BytesIO(LINES).read1)

    def test_a_zip_archive_needs_a_file(self) -> None:
        (source,) = open_sources(["-"], stdin=io.BytesIO(b"PK\x03\x04and so on").read1)

        with pytest.raises(InputError, match=r"^-: a zip archive cannot be read from a stream"):
            list(source.chunks())

    def test_a_pipe_is_read_to_the_end_of_its_writer(self) -> None:
        os.mkfifo("pipe")
        writer = threading.Thread(target=Path("pipe").write_bytes, args=(LINES,))
        writer.start()

        data = content("pipe")
        writer.join()

        assert data == LINES

    def test_a_pipe_that_nobody_writes_to_does_not_wait_for_ever(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("lastsignal.edges.inputs.paths.FIFO_PATIENCE_SECONDS", 0.01)
        os.mkfifo("pipe")

        with pytest.raises(InputError, match=r"^pipe: is a pipe that nobody writes to"):
            open_sources(["pipe"])

    def test_a_device_that_holds_nothing_is_an_empty_source(self) -> None:
        assert content("/dev/null") == b""


class TestExcerpts:
    def test_the_record_at_an_offset_is_shown(self) -> None:
        write("t.jsonl", b'{"a":1}\n{"b":2}\n{"c":3}')
        places = [Place("t.jsonl", 8), Place("t.jsonl", 16), Place("t.jsonl", 1, 3)]

        assert read_excerpts(places, open_sources(["t.jsonl"])) == {
            places[0]: '{"b":2}',
            places[1]: '{"c":3}',
            places[2]: '"a"',
        }

    def test_a_printed_record_is_shown_on_one_line(self) -> None:
        write("t.json", b'[\r\n  {\r\n    "a": "x  y"\r\n  },\n  {}]')
        place = Place("t.json", 5)

        assert read_excerpts([place], open_sources(["t.json"])) == {place: '{ "a": "x  y" }'}

    def test_many_places_of_a_compressed_file_are_one_pass(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write("t.gz", gzip.compress(LINES))
        offsets = [LINES.index(b'{"number":%d}' % number) for number in (59_999, 3, 30_000, 3)]
        places = [Place("t.gz", offset) for offset in offsets]
        passes = _count_calls(monkeypatch, FileSource, "_raw")

        found = read_excerpts(places, open_sources(["t.gz"]))

        assert [found[place] for place in places] == [
            '{"number":59999}', '{"number":3}', '{"number":30000}', '{"number":3}',
        ]  # fmt: skip
        assert len(passes) == 1

    def test_members_and_streams_are_shown_too(self) -> None:
        write_zstd_archive("log.eval", {"a.jsonl": LINES})
        sources = open_sources(["log.eval", "-"], stdin=io.BytesIO(LINE * 3).read1)
        for source in sources:
            list(source.chunks())
        places = [Place("log.eval!a.jsonl", 13), Place("-", 8)]

        assert list(read_excerpts(places, sources).values()) == ['{"number":1}', '{"a":1}']

    def test_reading_evidence_changes_nothing_of_what_was_counted(self) -> None:
        write("t.gz", gzip.compress(LINES)[:-40])
        (source,) = open_sources(["t.gz"])
        list(source.chunks())
        before = source.consumed, dict(source.skipped)

        read_excerpts([Place("t.gz", 0)], [source])

        assert (source.consumed, source.skipped) == before

    def test_evidence_that_is_gone_is_left_out(self) -> None:
        file = write("t.jsonl")
        sources = open_sources(["t.jsonl"])
        file.unlink()

        assert read_excerpts([Place("t.jsonl", 0), Place("other", 0)], sources) == {}

    def test_what_would_move_a_cursor_or_hide_text_is_escaped(self) -> None:
        record = '{"a":"\x1b[31m\x07\t\x7f\u202e\u2028"}'.encode() + b"\xff\0"

        assert excerpt_of(record) == (
            '{"a":"\\u001b[31m\\u0007\\t\\u007f\\u202e\\u2028"}\ufffd\\u0000'
        )

    def test_a_long_record_is_cut_to_the_characters_asked_for(self) -> None:
        assert excerpt_of(b"x" * 50, characters=10) == "xxxxxxxxx…"
        assert excerpt_of("ä".encode() * 10, characters=10) == "ä" * 10

    def test_a_long_record_is_cut_around_what_matters(self) -> None:
        record = (
            b'{"prompt":"' + b"x" * 5000 + b'","error":"it said \\"no\\"","rest":"' + b"y" * 5000
        )

        excerpt = excerpt_of(record, 'it said "no"', characters=100)

        assert len(excerpt) == 100
        assert excerpt.startswith("…xxx")
        assert '"error":"it said \\"no\\""' in excerpt
        assert excerpt.endswith("y…")

    def test_a_huge_record_is_read_in_part(self) -> None:
        write("t.jsonl", b'{"a":"' + b"x" * 10_000_000 + b'"}\n')
        place = Place("t.jsonl", 0)

        (excerpt,) = read_excerpts([place], open_sources(["t.jsonl"]), 20).values()

        assert excerpt == '{"a":"xxxxxxxxxxxxx…'


def _count_calls(monkeypatch: pytest.MonkeyPatch, owner: type[FileSource], name: str) -> list[int]:
    calls: list[int] = []
    original = getattr(owner, name)

    def counted(self: FileSource) -> Iterator[bytes]:
        calls.append(1)
        return original(self)  # type: ignore[no-any-return]  # whatever it returned before

    monkeypatch.setattr(owner, name, counted)
    return calls
