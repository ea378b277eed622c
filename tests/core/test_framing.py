"""Which records a source's bytes hold, each with its offset and its line, and what is skipped."""

from __future__ import annotations

import json

import pytest

from lastsignal.core.framing import Framer, Record, Skip

KIB = 1024


def frame(data: bytes, max_record_bytes: int = 64 * KIB) -> tuple[list[Record], dict[str, int]]:
    """Frame a whole source."""
    framer = Framer(max_record_bytes)
    records = framer.feed(data) + framer.finish()
    for record, offset, line in records:
        assert record == data[offset : offset + len(record)]
        assert line == 1 + data.count(b"\n", 0, offset)
    return records, framer.skipped


def samples(data: bytes) -> list[Skip]:
    """Return the samples of what a source's framing skips."""
    framer = Framer()
    framer.feed(data)
    framer.finish()
    return framer.drain_samples()


class TestOneRecordALine:
    def test_each_line_is_a_record_with_its_offset_and_line(self) -> None:
        assert frame(b'{"a":1}\n{"b":2}\n') == ([(b'{"a":1}', 0, 1), (b'{"b":2}', 8, 2)], {})

    def test_blank_lines_are_no_records_and_no_skips(self) -> None:
        assert frame(b'\n  \n{"a":1}\n\r\n\t\n') == ([(b'{"a":1}', 4, 3)], {})

    def test_a_carriage_return_and_trailing_space_do_not_belong_to_the_record(self) -> None:
        data = b'{"a":1}\r\n{"b":2} \t\r\n["e",{}]\r\n'

        assert frame(data)[0] == [(b'{"a":1}', 0, 1), (b'{"b":2}', 9, 2), (b'["e",{}]', 20, 3)]

    def test_indentation_does_not_belong_to_the_record(self) -> None:
        assert frame(b'  {"a":1}\n') == ([(b'{"a":1}', 2, 1)], {})

    def test_a_byte_order_mark_counts_in_offsets_only(self) -> None:
        assert frame(b'\xef\xbb\xbf{"a":1}\n')[0] == [(b'{"a":1}', 3, 1)]

    def test_invalid_utf8_stays_in_the_record_for_the_reader_to_mend(self) -> None:
        assert frame(b'{"a":"\xff\xfe"}\n')[0] == [(b'{"a":"\xff\xfe"}', 0, 1)]

    def test_a_trailing_comma_is_cut_off(self) -> None:
        assert frame(b'{"a":1},\n{"b":2},\n')[0] == [(b'{"a":1}', 0, 1), (b'{"b":2}', 9, 2)]

    def test_an_array_that_begins_with_a_scalar_is_one_record(self) -> None:
        data = b'["event",{"a":1}]\n[7, {"a": [2]}]\n[null,{}]\n'

        assert [record for record, _, _ in frame(data)[0]] == data.splitlines()

    def test_a_line_of_ten_thousand_levels_is_a_record_like_any_other(self) -> None:
        line = b'{"a":' * 10_000 + b"1" + b"}" * 10_000

        assert frame(line + b'\n{"b":2}\n')[0][0] == (line, 0, 1)

    def test_ten_thousand_levels_over_as_many_lines_are_a_record(self) -> None:
        value = b'{\n"a":' * 10_000 + b"1" + b"}" * 10_000

        assert frame(value + b'\n{"b":2}\n', KIB * KIB)[0] == [
            (value, 0, 1),
            (b'{"b":2}', len(value) + 1, 10_002),
        ]


class TestLogPrefixes:
    @pytest.mark.parametrize(
        "prefix",
        [
            b"2026-01-01 INFO autogen_core.events ",
            b"[2026-01-01 12:00:00] ",
            b"[2026-01-01 12:00:00,123] [INFO] [worker-1] ",
            b"[12345] INFO ",
            b"\x1b[32mINFO\x1b[0m: ",
            b"INFO {} request [id={x}]: ",
            b"data: ",
        ],
    )
    def test_the_record_begins_at_the_object(self, prefix: bytes) -> None:
        data = prefix + b'{"a": {"b": 1}}\n'

        assert frame(data) == ([(b'{"a": {"b": 1}}', len(prefix), 1)], {})

    def test_a_printed_object_may_begin_behind_a_prefix(self) -> None:
        data = b'INFO event {\n  "a": 1\n}\n{"b":2}\n'

        assert frame(data)[0] == [(b'{\n  "a": 1\n}', 11, 1), (b'{"b":2}', 24, 4)]

    def test_text_behind_an_object_is_counted(self) -> None:
        assert frame(b'INFO {"a": 1} took 3s\n') == ([(b'{"a": 1}', 5, 1)], {"not_json": 1})


class TestPrintedObjects:
    @pytest.mark.parametrize("indent", [0, 1, 2, 4, "\t"])
    def test_objects_printed_one_after_another_are_records(self, indent: int | str) -> None:
        values = [{"a": 1, "b": {"c": []}, "d": [{}, {"e": "}{"}, 1]}, {"f": '\\" {'}]
        texts = [json.dumps(value, indent=indent).encode() for value in values]

        records, skipped = frame(b"\n".join(texts) + b"\n")

        assert [record for record, _, _ in records] == texts
        assert records[1][2] == 1 + texts[0].count(b"\n") + 1
        assert skipped == {}

    def test_a_nested_object_on_a_line_of_its_own_is_no_record(self) -> None:
        data = b'{\n  "a": [\n    {"x": 1},\n    {}\n  ],\n  "b":\n    {"y": 1}\n}\n'

        assert frame(data) == ([(data.strip(), 0, 1)], {})

    def test_other_lines_may_stand_between(self) -> None:
        data = b'start\n{\n  "a": 1\n}\nINFO text\n\n{\n  "b": 2\n}\n'

        assert frame(data) == (
            [(b'{\n  "a": 1\n}', 6, 2), (b'{\n  "b": 2\n}', 30, 7)],
            {"not_json": 2},
        )

    def test_no_line_break_is_needed_between_two(self) -> None:
        records, skipped = frame(b'{\n  "a": 1\n}{\n  "b": 2\n}')

        assert records == [(b'{\n  "a": 1\n}', 0, 1), (b'{\n  "b": 2\n}', 12, 3)]
        assert skipped == {}

    def test_carriage_returns_inside_stay(self) -> None:
        assert frame(b'{\r\n  "a": 1\r\n}\r\n')[0] == [(b'{\r\n  "a": 1\r\n}', 0, 1)]

    def test_blank_lines_inside_stay(self) -> None:
        assert frame(b'{\n\n  "a": 1\n \n}\n')[0] == [(b'{\n\n  "a": 1\n \n}', 0, 1)]

    def test_comments_inside_stay_for_the_reader_to_mend(self) -> None:
        data = b'{\n  // "a" { [\n  "a": 1,\n\n  /// it\'s\n  "b": {}\n  // the end }\n}\n{"c":1}\n'
        whole = data[: data.index(b'{"c"')].strip()

        assert frame(data) == ([(whole, 0, 1), (b'{"c":1}', len(whole) + 1, 9)], {})

    def test_a_torn_printed_object_before_a_path_takes_no_line_with_it(self) -> None:
        records, skipped = frame(b'{\n  "a": 1,\n/usr/bin/python: killed\n{"b":2}\n')

        assert [record for record, _, _ in records] == [b'{"b":2}']
        assert skipped == {"torn_line": 1}


class TestDocuments:
    def test_an_object_over_many_lines_is_one_record(self) -> None:
        document = json.dumps({"data": [{"spans": [{"id": 1}, {"id": 2}]}]}, indent=2).encode()

        assert frame(document) == ([(document, 0, 1)], {})

    @pytest.mark.parametrize("indent", [None, 0, 2, 4])
    def test_the_elements_of_an_array_are_the_records(self, indent: int | None) -> None:
        values = [{"a": 1, "b": ["]", {"c": "{"}]}, {}, {"d": [[1]]}]

        records, skipped = frame(json.dumps(values, indent=indent).encode())

        assert [json.loads(record) for record, _, _ in records] == values
        assert skipped == {}

    def test_each_element_has_its_own_offset_and_line(self) -> None:
        data = b'[\n  {\n    "a": 1\n  },\n  {"b": 2}\n]\n'

        assert frame(data) == ([(b'{\n    "a": 1\n  }', 4, 2), (b'{"b": 2}', 24, 5)], {})

    def test_elements_that_are_arrays_are_records_if_they_hold_an_object(self) -> None:
        data = b'[["event", {"a": 1}], [1, 2]]'

        assert frame(data) == ([(b'["event", {"a": 1}]', 1, 1)], {"not_an_object": 1})

    def test_an_array_that_is_still_being_written_gives_its_whole_elements(self) -> None:
        assert frame(b'[\n  {"a": 1},\n  {"b": 2},\n  {"c": ') == (
            [(b'{"a": 1}', 4, 2), (b'{"b": 2}', 16, 3)],
            {"torn_line": 1},
        )

    def test_an_element_comes_before_the_array_has_ended(self) -> None:
        framer = Framer()

        assert framer.feed(b'[{"a":1},{"b"') == [(b'{"a":1}', 1, 1)]
        assert framer.feed(b":2},") == [(b'{"b":2}', 9, 1)]

    def test_elements_that_hold_nothing_do_not_end_the_array(self) -> None:
        data = b'[{"a":1}, 5, null, {"b":2}]\n{"c":3}\n'

        assert [record for record, _, _ in frame(data)[0]] == [
            b'{"a":1}', b'{"b":2}', b'{"c":3}',
        ]  # fmt: skip

    def test_what_follows_the_document_is_framed_as_lines(self) -> None:
        data = b'[{"a":1}]\n[{"b":2}]\n{"c":3}\n'

        assert frame(data)[0] == [(b'{"a":1}', 1, 1), (b'{"b":2}', 11, 2), (b'{"c":3}', 20, 3)]

    @pytest.mark.parametrize("data", [b"[]", b"[]\n", b"{}", b"", b"\n", b"[\n]\n"])
    def test_an_empty_document_is_no_fault(self, data: bytes) -> None:
        assert set(frame(data)[1]) <= {"not_an_object"}


class TestWhatIsSkipped:
    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"Started new session", "not_json"),
            (b"[file_logger] Failed to log event", "not_json"),
            (b"{'a': 1", "not_json"),
            (b"{not json} at all", "not_json"),
            (b"42", "not_an_object"),
            (b'"massive error"', "not_an_object"),
            (b"[1]", "not_an_object"),
            (b"[1, 2, 3]", "not_an_object"),
            (b'["a", "b"]', "not_an_object"),
            (b"null,", "not_an_object"),
            (b"\x00\x01\x02\x03PK", "binary"),
            (b"\x7fELF\x02\x01\x01\x03", "binary"),
            (b'text\x00 {"a": 1}', "binary"),
        ],
    )
    def test_a_line_is_counted_by_reason_and_the_next_one_is_fine(
        self, line: bytes, reason: str
    ) -> None:
        records, skipped = frame(line + b'\n{"a":1}\n')

        assert records == [(b'{"a":1}', len(line) + 1, 2)]
        assert skipped.pop("nul_block", 1) == 1
        assert skipped == {reason: 1}

    def test_a_few_control_characters_leave_text_what_it_is(self) -> None:
        line = b"working on it " + b"\x08" + b" and on that\n"

        assert frame(line)[1] == {"not_json": 1}

    def test_a_sample_says_where_and_shows_the_first_80_bytes(self) -> None:
        text = b"x" * 100

        assert samples(b'{"a":1}\n  ' + text + b"\n") == [Skip("not_json", 2, 10, text[:80])]

    def test_samples_are_few_until_drained_and_counts_are_whole(self) -> None:
        framer = Framer()
        framer.feed(b"text\n" * 1000)

        assert framer.skipped == {"not_json": 1000}
        assert len(framer.drain_samples()) == 20
        framer.feed(b"more\n")
        assert framer.drain_samples() == [Skip("not_json", 1001, 5000, b"more")]

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
    def test_utf16_is_named_once_and_nothing_of_it_is_read(self, encoding: str) -> None:
        data = '{"a": 1}\n{"b": 2}\n'.encode(encoding)

        framer = Framer()

        assert framer.feed(data) + framer.feed(data) + framer.finish() == []
        assert framer.skipped == {"utf16": 1}

    def test_a_binary_source_costs_counters_only(self) -> None:
        data = bytes(range(256)) * 4000
        framer = Framer()

        assert framer.feed(data) + framer.finish() == []
        assert framer.buffered_bytes == 0
        assert sum(framer.skipped.values()) > 3000
        assert len(framer.drain_samples()) == 20


class TestNulBlocks:
    def test_a_line_behind_a_block_of_nuls_is_read(self) -> None:
        data = b'{"a":1}\n' + b"\0" * 4096 + b'{"b":2}\n{"c":3}\n'

        assert frame(data) == (
            [(b'{"a":1}', 0, 1), (b'{"b":2}', 4104, 2), (b'{"c":3}', 4112, 3)],
            {"nul_block": 1},
        )

    def test_nuls_at_the_very_start_are_not_taken_for_utf16(self) -> None:
        assert frame(b'\0{"a":1}\n')[0] == [(b'{"a":1}', 1, 1)]

    def test_nuls_at_the_end_are_counted(self) -> None:
        assert frame(b'{"a":1}\n' + b"\0" * 500) == ([(b'{"a":1}', 0, 1)], {"nul_block": 1})
        assert frame(b'{"a":1}\0\0\n') == ([(b'{"a":1}', 0, 1)], {"nul_block": 1})


class TestTornLines:
    def test_the_last_line_is_a_record_if_it_is_whole(self) -> None:
        assert frame(b'{"a":1}\n{"b":{"c":2}}') == (
            [(b'{"a":1}', 0, 1), (b'{"b":{"c":2}}', 8, 2)],
            {},
        )

    @pytest.mark.parametrize("torn", [b"{", b'{"b', b'{"b":{"c":2}', b'["e",{"b":2}', b'{"b":"}'])
    def test_the_last_line_is_torn_if_it_is_not_whole(self, torn: bytes) -> None:
        assert frame(b'{"a":1}\n' + torn) == ([(b'{"a":1}', 0, 1)], {"torn_line": 1})

    def test_a_line_torn_anywhere_never_takes_another_line_with_it(self) -> None:
        line = b'{"a": "x{y", "b": [1, {"c": null}, [true]], "d": {"e": "\\""}}'
        proper = b'{"f": {"g": 1}}'
        for cut in range(1, len(line)):
            data = line[:cut] + b"\n" + b"\n".join([proper] * 3) + b"\n"
            records, skipped = frame(data)

            assert [record for record, _, _ in records][-3:] == [proper] * 3, line[:cut]
            assert len(records) - 3 + sum(skipped.values()) == 1, line[:cut]

    def test_a_line_torn_anywhere_before_the_last_one_leaves_it_whole(self) -> None:
        line = b'{"a": "x", "b": [1, {"c": null}]}'
        for cut in range(1, len(line)):
            records, _ = frame(line[:cut] + b'\n{"f": 1}')

            assert records[-1][0] == b'{"f": 1}', line[:cut]

    def test_a_line_torn_before_prefixed_ones_takes_none_with_it(self) -> None:
        data = b'INFO {"a": 1,\n2026-01-01 INFO {"b": 2}\n2026-01-01 INFO {"c": 3}\n'

        records, skipped = frame(data)

        assert [record for record, _, _ in records] == [b'{"b": 2}', b'{"c": 3}']
        assert skipped == {"torn_line": 1}

    def test_a_torn_printed_object_ends_where_the_next_one_begins(self) -> None:
        data = b'{\n  "a": {\n    "b": 1,\n{\n  "c": 2\n}\n'

        records, skipped = frame(data)

        assert records == [(b'{\n  "c": 2\n}', 23, 4)]
        assert skipped == {"torn_line": 1}

    def test_a_document_whose_first_line_holds_more_than_a_brace_is_not_torn(self) -> None:
        data = b'{"spans": [\n{"a": 1}\n]}\n{"traces": [\n{"b": 1},\n{"c": 1}\n]}\n'

        assert frame(data) == ([(data[:23], 0, 1), (data[24:-1], 24, 4)], {})

    def test_a_torn_element_does_not_hide_those_behind_it(self) -> None:
        data = b'[\n{"a": "x\n{"b": 2},\n{"c": 3}\n]\n{"d": 4}\n'

        records, skipped = frame(data)

        assert [record for record, _, _ in records] == [b'{"b": 2}', b'{"c": 3}', b'{"d": 4}']
        assert skipped == {"torn_line": 1}


class TestTheSizeLimit:
    LIMIT = 1000

    @pytest.mark.parametrize(
        ("before", "after"),
        [(b'{"a":"', b'"}'), (b'{\n"a":"', b'"\n}'), (b'{\n"a":[1],\n"b":"', b'",\n"c":{\n}\n}')],
    )
    def test_a_value_of_the_limit_is_a_record_and_one_more_byte_skips_it(
        self, before: bytes, after: bytes
    ) -> None:
        room = self.LIMIT - len(before) - len(after)
        fits = before + b"x" * room + after
        exceeds = before + b"x" * (room + 1) + after

        records, skipped = frame(fits + b"\n" + exceeds + b'\n{"z":1}\n', self.LIMIT)

        assert [record for record, _, _ in records] == [fits, b'{"z":1}']
        assert skipped == {"record_too_long": 1}

    def test_an_element_that_is_too_long_is_skipped_alone(self) -> None:
        data = b'[{"a":1},{"b":"' + b"x" * 2000 + b'"},{"c":3}]'

        records, skipped = frame(data, self.LIMIT)

        assert records == [(b'{"a":1}', 1, 1), (b'{"c":3}', 2018, 1)]
        assert skipped == {"record_too_long": 1}

    def test_an_array_of_any_length_is_no_long_record(self) -> None:
        data = b"[" + b",".join([b'{"a":1}'] * 1000) + b"]"

        assert len(frame(data, self.LIMIT)[0]) == 1000

    @pytest.mark.parametrize("first", [b'{"a":"', b'{\n"a":"', b'[{"a":"', b"text ", b" ", b"\0"])
    def test_a_line_of_200_mb_stays_in_bounded_memory(self, first: bytes) -> None:
        framer = Framer(KIB * KIB)
        chunk = b"x" * KIB * KIB if first.strip(b" \0") else first * KIB * KIB
        peak = 0

        framer.feed(first)
        for _ in range(200):
            assert framer.feed(chunk) == []
            peak = max(peak, framer.buffered_bytes)
        closing = b'"}\n' if b'"' in first else b"\n"
        records = framer.feed(closing + b'}\n{"z":1}\n') + framer.finish()

        assert peak <= 2 * KIB * KIB
        assert [record for record, _, _ in records] == [b'{"z":1}']
        assert framer.skipped.get("record_too_long", 0) == (1 if first.strip(b" \0") else 0)

    def test_a_limit_too_small_to_tell_framings_apart_is_refused(self) -> None:
        with pytest.raises(ValueError, match="at least 128"):
            Framer(127)
