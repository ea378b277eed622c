"""Lines in which a runtime, journald or a log shipper has wrapped what a program wrote."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from lastsignal.core.framing import Checkpoint, Framer, Record, Rotations, Unwrapped, first_record
from lastsignal.core.framing.wrappers import WRAPPERS
from lastsignal.core.packing import pack
from lastsignal.core.timestamps import parse_timestamp

OBJECT = '{"event_type":"tool_call","operation":"search"}'
TIME = "2026-09-01T08:00:00.123456789Z"
POD = {"pod_name": "agent-1", "namespace_name": "prod", "container_name": "agent"}
BY_NAME = {one.name: one for one in WRAPPERS}


def cri(tag: str, text: str, stream: str = "stdout") -> str:
    """Return a line as a Kubernetes node writes it."""
    return f"{TIME} {stream} {tag} {text}\n"


def one_line(**value: object) -> str:
    """Return a JSON line."""
    return json.dumps(value, separators=(",", ":")) + "\n"


def docker(text: str, stream: str = "stdout", **more: object) -> str:
    """Return a line of Docker's json-file log."""
    return one_line(log=text, stream=stream, **more, time=TIME)


def entry(message: object, **fields: object) -> str:
    """Return an entry as `journalctl -o json` prints it."""
    told = {"__CURSOR": "s=1", "__REALTIME_TIMESTAMP": "1788249600123456", "PRIORITY": "6"}
    return (
        json.dumps({**told, "_SYSTEMD_UNIT": "agent.service", "MESSAGE": message, **fields}) + "\n"
    )


def frame(log: str, limit: int = 1 << 20) -> tuple[list[Record], dict[str, int]]:
    """Return the records of a whole source, and what could not be used."""
    framer = Framer(limit)
    records = framer.feed(log.encode()) + framer.finish()
    return records, framer.skipped


def read(log: str) -> list[tuple[str, int]]:
    """Return the records and their lines, of a source of which everything is used."""
    records, skipped = frame(log)
    assert skipped == {}
    return [(data.decode(), line) for data, _, line in records]


def whence(record: Record) -> tuple[str, Any]:
    """Return who has wrapped a record, and when."""
    assert isinstance(record, Unwrapped)
    return record.ended_by.wrapper, record.ended_by.written


WRAPPED = {
    "cri": (cri("F", OBJECT), TIME),
    "prefix": (f"{TIME} {OBJECT}\n", TIME),
    "prefix of compose": (f"\x1b[36magent-1  | \x1b[0m{TIME} {OBJECT}\n", TIME),
    "prefix of kubectl": (f"[pod/agent-5d9/agent] {TIME} {OBJECT}\n", TIME),
    "docker": (docker(OBJECT + "\n"), TIME),
    "docker with attributes": (docker(OBJECT + "\n", attrs={"tag": "agent/1"}), TIME),
    "journald": (entry(OBJECT), "1788249600123456"),
    "journald as bytes": (entry(list(OBJECT.encode())), "1788249600123456"),
    "fluent": (one_line(date=1788249600.123, log=OBJECT), 1788249600.123),
    "fluent of a pod": (
        one_line(date=1.5, time=TIME, stream="stdout", _p="F", log=OBJECT, kubernetes=POD),
        TIME,
    ),
    "fluent of Docker's driver": (
        one_line(container_id="c1", container_name="/agent", source="stdout", log=OBJECT),
        None,
    ),
    "fluent of a pod, parsed": (
        one_line(time=TIME, stream="stdout", logtag="F", message=OBJECT, kubernetes=POD),
        TIME,
    ),
    "fluent of the journal": (
        one_line(date=1.5, MESSAGE=OBJECT, PRIORITY="6", _BOOT_ID="b", _SYSTEMD_UNIT="a.service"),
        1.5,
    ),
    "vector of the journal": (
        one_line(
            host="h", message=OBJECT, source_type="journald", timestamp=TIME,
            __REALTIME_TIMESTAMP="1788249600123456", _SYSTEMD_UNIT="a.service", PRIORITY="6",
        ),
        TIME,
    ),
    "vector": (
        one_line(file="/a.log", host="h", message=OBJECT, source_type="file", timestamp=TIME),
        TIME,
    ),
    "vector of Docker": (
        one_line(
            container_created_at=TIME, container_id="c1", container_name="agent", host="h",
            image="agent:1", label={"a": "b"}, message=OBJECT, source_type="docker_logs",
            stream="stdout", timestamp=TIME,
        ),
        TIME,
    ),
    "vector of a pod": (
        one_line(
            file="/var/log/pods/a.log", kubernetes=POD, message=OBJECT,
            source_type="kubernetes_logs", stream="stdout", timestamp=TIME,
        ),
        TIME,
    ),
    "beats": (
        one_line(
            **{"@timestamp": TIME, "@metadata": {"beat": "filebeat", "type": "_doc"}},
            message=OBJECT, input={"type": "container"}, stream="stdout",
            log={"offset": 0, "file": {"path": "/a.log"}}, host={"name": "h"},
            agent={"type": "filebeat", "version": "8.1.0"}, ecs={"version": "8.0.0"},
        ),
        TIME,
    ),
    "logger of slog": (one_line(time=TIME, level="INFO", msg=OBJECT), TIME),
    "logger of pino": (
        one_line(level=30, time=1788249600123, pid=7, hostname="h", msg=OBJECT), 1788249600123
    ),
    "logger of Python": (
        one_line(asctime=TIME, levelname="INFO", name="agent", message=OBJECT), TIME
    ),
    "loki": (one_line(labels={"app": "agent"}, line=OBJECT, timestamp=TIME), TIME),
}  # fmt: skip


@pytest.mark.parametrize("name", WRAPPED)
def test_what_a_program_wrote_is_taken_out_of_its_wrapper(name: str) -> None:
    line, written = WRAPPED[name]
    (record,), skipped = frame(line * 1)

    assert record[0].decode() == OBJECT
    assert line[record[1]] == "{"
    assert whence(record) == (name.split(" ")[0], written)
    assert skipped == {}


def test_every_wrapper_has_a_line_above() -> None:
    assert {name.split(" ")[0] for name in WRAPPED} == set(BY_NAME)


@pytest.mark.parametrize("name", WRAPPED)
def test_a_record_can_be_found_again_as_its_program_wrote_it(name: str) -> None:
    line, _ = WRAPPED[name]
    (record,), _ = frame(line)
    there = (line + WRAPPED["docker"][0]).encode()[record[1] :]

    assert first_record(there, 4096).decode() == OBJECT


@pytest.mark.parametrize(
    "prefix",
    [
        "at=2026-09-01T08:00:00Z ",
        "agent-1  | ",
        "INFO agent: as of 2026-09-01 08:00:00 ",
        "INFO agent: ",
        "2026-09-01 agent: ",
        "2026-09-01 08:00:00:17 agent: ",
        "2026-13-01T08:00 ",
    ],
)
def test_a_prefix_that_neither_ends_nor_begins_with_a_time_lends_none(prefix: str) -> None:
    (record,), _ = frame(prefix + OBJECT + "\n")

    assert record == (OBJECT.encode(), len(prefix), 1)
    assert not isinstance(record, Unwrapped)


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-09-01 08:00:00,250 INFO agent: ",
        "2026-09-01 08:00:00.250 | INFO | agent:run:12 - ",
        "[2026-09-01 08:00:00.25] ",
        "INFO 2026-09-01 08:00:00,250 agent ",
        "agent-1  | 2026-09-01 08:00:00,250 - agent - INFO - ",
        "2026/09/01 08:00:00.250 ",
        "2026-09-01T10:00:00.250+02:00 agent: ",
        "2026-09-01 10:00:00,250 +0200 agent: ",
    ],
)
def test_a_prefix_that_begins_with_the_time_of_a_logger_lends_it(prefix: str) -> None:
    (record,), _ = frame(prefix + OBJECT + "\n")

    wrapper, written = whence(record)
    assert (wrapper, parse_timestamp(written)) == ("prefix", 1788249600.25)
    assert record == (OBJECT.encode(), len(prefix), 1)


INNER = '{"error": "no such file"}'


@pytest.mark.parametrize(
    "record",
    [
        {"message": INNER, "timestamp": TIME},
        {"message": INNER, "timestamp": TIME, "stream": "stdout"},
        {"message": INNER, "timestamp": TIME, "source_type": "tool", "operation": "search"},
        {"message": INNER, "level": "info", "@timestamp": TIME, "ecs": {"version": "8.0.0"}},
        {"log": INNER},
        {"log": INNER, "time": TIME},
        {"log": INNER, "stream": "stdout", "time": TIME, "level": "info"},
        {"log": INNER, "stream": "events", "time": TIME},
        {"log": {"a": 1}, "stream": "stdout", "time": TIME},
        {"log": INNER, "date": 1.5, "event_type": "tool_result"},
        {"line": INNER, "timestamp": TIME},
        {"line": INNER, "labels": ["a"], "timestamp": TIME},
        {"MESSAGE": INNER, "PRIORITY": "6"},
        {"MESSAGE": INNER, "date": 1.5, "PRIORITY": "6"},
        {"MESSAGE": INNER, "_BOOT_ID": "b", "status": "failed"},
        {"message": INNER, "timestamp": TIME, "LEVEL": "INFO"},
        {"kubernetes": POD, "message": INNER, "trace_id": "t-1"},
        {"output": INNER, "tool": "search"},
        {"message": INNER, "level": "ERROR", "timestamp": TIME},
        {"msg": INNER, "time": TIME},
        {"msg": INNER, "level": "INFO", "time": TIME, "tool": "search"},
        {"message": INNER, "level": "INFO", "time": TIME, "type": "tool_result"},
        {"msg": {"error": "no"}, "level": "INFO", "time": TIME},
    ],
    ids=json.dumps,
)
def test_a_record_that_holds_json_in_a_text_is_left_as_it_is(record: dict[str, Any]) -> None:
    line = json.dumps(record)
    (found,), skipped = frame(line + "\n")

    assert found == (line.encode(), 0, 1)
    assert not isinstance(found, Unwrapped)
    assert skipped == {}


LATER = "2026-09-01T09:00:00Z"


def beats(text: str) -> str:
    """Return what Filebeat writes of a line."""
    return one_line(**{"@timestamp": LATER}, message=text, agent={"type": "filebeat"})


NESTED = {
    "Filebeat that reads Docker's log": (beats(docker(OBJECT + "\n").rstrip()), "docker", TIME),
    "Filebeat that reads a node's log": (beats(cri("F", OBJECT).rstrip()), "cri", TIME),
    "Fluent Bit to the output of a container": (
        one_line(log=one_line(date=1.5, log=OBJECT), stream="stdout", time=LATER), "fluent", 1.5,
    ),
    "the journal on a node": (cri("F", entry(OBJECT).rstrip()), "journald", "1788249600123456"),
    "Loki of Filebeat of Docker": (
        one_line(labels={}, line=beats(docker(OBJECT + "\n").rstrip()).rstrip(), timestamp=LATER),
        "docker", TIME,
    ),
    "a JSON logger in Docker": (
        one_line(
            log=one_line(time=TIME, level="INFO", msg=OBJECT), stream="stdout", time=LATER
        ),
        "logger", TIME,
    ),
    "a JSON logger behind a time": (
        f"{LATER} " + one_line(time=TIME, level="INFO", msg=OBJECT), "logger", TIME,
    ),
    "a driver that tells no time, in Docker": (
        docker(one_line(container_id="c", container_name="/a", source="stdout", log=OBJECT)),
        "fluent", TIME,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_wrappers_within_wrappers_are_taken_off(name: str) -> None:
    line, wrapper, written = NESTED[name]
    (first, second), skipped = frame(line * 2)

    assert first[0].decode() == second[0].decode() == OBJECT
    assert [(offset, number) for _, offset, number in (first, second)] == [
        (line.index("{"), 1),
        (len(line) + line.index("{"), 2),
    ]
    assert whence(first) == whence(second) == (wrapper, written)
    assert skipped == {}
    assert first_record(line[first[1] :].encode(), 1 << 20).decode() == OBJECT


def test_more_than_three_wrappers_are_somebody_s_own() -> None:
    line = OBJECT + "\n"
    for _ in range(3):
        line = docker(line)
    assert read(line) == [(OBJECT, 1)]
    assert read(docker(line)) == [(docker(OBJECT + "\n").rstrip(), 1)]


def test_a_line_that_the_inner_wrapper_has_cut_is_one_record() -> None:
    parts = [docker(part) for part in (OBJECT[:9], OBJECT[9:20], OBJECT[20:] + "\n")]
    other = docker('{"a":1}\n', "stderr")
    log = "".join(beats(one.rstrip()) for one in (parts[0], other, *parts[1:], *parts))
    assert read(log) == [('{"a":1}', 2), (OBJECT, 1), (OBJECT, 5)]
    node = "".join(cri("F", one.rstrip()) for one in parts)
    assert read(node) == [(OBJECT, 1)]


def test_a_record_within_docker_that_holds_json_in_a_text_is_left_as_it_is() -> None:
    record = {"log": INNER, "level": "info", "event_type": "tool_result"}
    assert read(docker(json.dumps(record) + "\n")) == [(json.dumps(record), 1)]
    many = docker('{"a":1}\n') * 70
    late = docker(one_line(date=1.5, log=OBJECT))
    assert read(many + late)[-1][0] == one_line(date=1.5, log=OBJECT).rstrip()


@pytest.mark.parametrize("text", ["starting", "[1, 2]", "", "42"])
def test_a_shipper_is_told_only_by_a_text_that_is_an_object(text: str) -> None:
    line = one_line(date=1.5, log=text)
    records, skipped = frame(line * 100 + WRAPPED["fluent"][0] + line)

    assert [data.decode() for data, _, _ in records] == [line.rstrip()] * 100 + [OBJECT]
    assert sum(skipped.values()) == (1 if text else 0)


def test_docker_and_the_journal_are_told_whatever_the_text_is() -> None:
    assert frame(docker("starting\n") * 3) == ([], {"not_json": 3})
    assert frame(entry("starting") * 2) == ([], {"not_json": 2})


def test_a_traceback_between_the_records_is_passed_over_as_in_a_plain_log() -> None:
    text = "Traceback (most recent call last):\n", '  File "a.py", line 1\n', "ValueError: {x}\n"
    log = docker(OBJECT + "\n") + "".join(docker(one, "stderr") for one in text)
    log += docker(OBJECT + "\n")

    records, skipped = frame(log)

    assert [line for _, _, line in records] == [1, 5]
    assert skipped == frame("".join(text))[1] == {"not_json": 3}


LONG = '{"text": "' + "y" * 50 + '"}'


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        ("cri", [cri("P", LONG[:20]), cri("P", LONG[20:40]), cri("F", LONG[40:])]),
        ("docker", [docker(LONG[:20]), docker(LONG[20:40]), docker(LONG[40:] + "\n")]),
        (
            "journald",
            [
                entry(LONG[:20], _STREAM_ID="a", _LINE_BREAK="line-max"),
                entry(LONG[20:40], _STREAM_ID="a", _LINE_BREAK="line-max"),
                entry(LONG[40:], _STREAM_ID="a"),
            ],
        ),
        (
            "journald",
            [
                entry(LONG[:20], CONTAINER_ID_FULL="c", CONTAINER_PARTIAL_MESSAGE="true"),
                entry(LONG[20:40], CONTAINER_ID_FULL="c", CONTAINER_PARTIAL_MESSAGE="true"),
                entry(LONG[40:], CONTAINER_ID_FULL="c"),
            ],
        ),
        (
            "fluent",
            [
                one_line(date=1, log=LONG[:20], _p="P"),
                one_line(date=1, log=LONG[20:40], _p="P"),
                one_line(date=1, log=LONG[40:], _p="F"),
            ],
        ),
        (
            "fluent of Docker's driver",
            [
                one_line(container_id="c", log=LONG[:20], partial_message="true"),
                one_line(container_id="c", log=LONG[20:40], partial_message="true"),
                one_line(
                    container_id="c", log=LONG[40:], partial_message="true", partial_last="true"
                ),
            ],
        ),
    ],
)
def test_a_line_that_was_cut_is_one_record(whole: str, parts: list[str]) -> None:
    log = WRAPPED[whole][0] + "".join(parts) + WRAPPED[whole][0]

    assert read(log) == [(OBJECT, 1), (LONG, 2), (OBJECT, 5)]


def test_docker_s_lines_whose_newlines_were_taken_away_are_lines() -> None:
    log = docker("starting") + docker(OBJECT) + docker("INFO " + OBJECT) + docker("done")

    records, skipped = frame(log)

    assert [(data.decode(), line) for data, _, line in records] == [(OBJECT, 2), (OBJECT, 3)]
    assert skipped == {"not_json": 2}


@pytest.mark.parametrize("size", [100, 16_384])
def test_a_log_that_begins_with_a_line_that_was_cut_is_no_log_without_newlines(size: int) -> None:
    record = json.dumps({"text": "y" * 40_000, "more": {"a": 1}})
    text = f"INFO agent: {record}\n"
    parts = [text[start : start + size] for start in range(0, len(text), size)]

    assert read("".join(map(docker, parts))) == [(record, 1)]


def test_the_parts_of_two_streams_do_not_mix() -> None:
    first, second = ('{"a":', "1}"), ('{"e":', "2}")
    a_node = cri("P", first[0]) + cri("P", second[0], "stderr")
    a_node += cri("F", first[1]) + cri("F", second[1], "stderr")
    a_docker = docker(first[0]) + docker(second[0], "stderr")
    a_docker += docker(first[1] + "\n") + docker(second[1] + "\n", "stderr")
    a_journal = entry(first[0], _STREAM_ID="1", _LINE_BREAK="line-max")
    a_journal += entry(second[0], _STREAM_ID="2", _LINE_BREAK="line-max")
    a_journal += entry(first[1], _STREAM_ID="1") + entry(second[1], _STREAM_ID="2")

    for log in (a_node, a_docker, a_journal):
        assert read(log) == [('{"a":1}', 1), ('{"e":2}', 2)]


def test_the_lines_of_two_pods_in_one_file_do_not_mix() -> None:
    log = WRAPPED["fluent of a pod"][0]
    for number, text in enumerate(['{"a":', '{"b":', "1}", "2}"]):
        pod = {**POD, "pod_name": f"agent-{number % 2}"}
        tag = "P" if number < 2 else "F"
        log += one_line(stream="stdout", _p=tag, log=text, kubernetes=pod)

    assert read(log) == [(OBJECT, 1), ('{"a":1}', 2), ('{"b":2}', 3)]


def test_a_value_that_a_program_prints_over_many_lines_is_one_record() -> None:
    printed = json.dumps({"a": {"b": [1, 2]}, "c": "d"}, indent=2)
    lines = printed.split("\n")
    log = "".join(docker(line + "\n") + docker("noise\n", "stderr") for line in lines)

    records, skipped = frame(log)

    assert [(data.decode(), line) for data, _, line in records] == [(printed, 1)]
    assert skipped == {"not_json": len(lines)}
    for wrap in (lambda line: cri("F", line), lambda line: entry(line, _STREAM_ID="a")):
        assert read("".join(map(wrap, lines))) == [(printed, 1)]


def test_several_lines_in_one_entry_of_the_journal_are_read_one_by_one() -> None:
    assert read(entry('{"a":1}\n{"b":2}')) == [('{"a":1}', 1), ('{"b":2}', 1)]
    assert read(entry(['{"a":1}', '{"b":2}'])) == [('{"a":1}', 1), ('{"b":2}', 1)]


@pytest.mark.parametrize(
    "printed",
    [
        "\x1e" + entry(OBJECT),
        "data: " + entry(OBJECT) + "\n",
        json.dumps(json.loads(entry(OBJECT)), indent=8) + "\n",
    ],
    ids=["json-seq", "json-sse", "json-pretty"],
)
def test_whatever_journalctl_calls_json_is_read(printed: str) -> None:
    lines = printed.count("\n")

    assert read(printed * 3) == [(OBJECT, 1 + lines * number) for number in range(3)]


def test_what_journalctl_leaves_out_is_counted() -> None:
    records, skipped = frame(entry(OBJECT) + entry(None) + entry(OBJECT))

    assert [line for _, _, line in records] == [1, 3]
    assert skipped == {"message_left_out": 1}


def test_an_entry_whose_bytes_are_no_bytes_is_counted() -> None:
    assert frame(entry([1000, -1])) == ([], {"message_left_out": 1})


def test_a_log_prefix_within_a_wrapped_line_is_passed_over() -> None:
    log = cri("P", 'INFO agent: {"a":') + cri("F", "1} ")
    log += docker('2026-09-01 INFO agent: {"b":') + docker("2}\r\n")

    assert read(log) == [('{"a":1}', 1), ('{"b":2}', 3)]


def test_the_offset_of_a_record_is_that_of_its_first_byte_or_of_the_line_that_escapes_it() -> None:
    log = cri("F", "INFO " + OBJECT) + docker("INFO " + OBJECT + "\n") + cri("P", "INFO ")
    log += cri("F", OBJECT)
    records, _ = frame(log)

    assert [log[offset : offset + 9] for _, offset, _ in records] == [
        OBJECT[:9],
        '{"log":"I',
        OBJECT[:9],
    ]
    assert [line for _, _, line in records] == [1, 2, 4]
    assert [one.stands_so for one in records if isinstance(one, Unwrapped)] == [True, False, True]


def test_a_cut_line_that_never_ends_is_torn_and_one_beyond_the_limit_is_counted() -> None:
    for whole, part, end, start in (
        (cri("F", "{}"), cri("P", "x" * 100), cri("F", "x"), cri("P", '{"a":')),
        (docker("{}\n"), docker("x" * 100), docker("x\n"), docker('{"a":')),
    ):
        records, skipped = frame(whole + part * 3 + end + start, 200)
        assert [(data, line) for data, _, line in records] == [(b"{}", 1)]
        assert skipped == {"record_too_long": 1, "torn_line": 1}


def test_a_line_in_very_many_parts_is_found_where_it_begins() -> None:
    log = docker(OBJECT + "\n") + "".join(docker(one) for one in LONG * 3) + docker("\n")
    records, _ = frame(log)

    assert [line for _, _, line in records] == [1, 2]
    assert records[1][0].decode() == LONG * 3


def test_a_source_of_plain_objects_is_no_longer_looked_at() -> None:
    plain = '{"a":1}\n'
    assert len(frame(plain * 63 + docker(OBJECT + "\n"))[0]) == 64
    found = {63: OBJECT, 64: docker(OBJECT + "\n").rstrip()}
    for count, last in found.items():
        records, _ = frame(plain * count + docker(OBJECT + "\n"))
        assert records[-1][0].decode() == last


def test_a_wrapped_source_may_hold_other_lines_without_end() -> None:
    log = docker(OBJECT + "\n") + '{"a":1}\n' * 200 + entry(OBJECT) + docker(OBJECT + "\n")
    records, _ = frame(log)

    assert [line for data, _, line in records if data.decode() == OBJECT] == [1, 202, 203]


def test_streams_that_never_go_on_are_given_up_and_counted() -> None:
    open_line = '{"a":'
    log = "".join(entry(open_line, _STREAM_ID=f"s{n}", _LINE_BREAK="line-max") for n in range(100))
    framer = Framer()
    framer.feed(log.encode())

    assert framer.skipped == {"torn_line": 36}
    assert framer.buffered_bytes == 64 * len(open_line)
    assert len(framer.checkpoint().streams) == 64


def test_the_streams_of_one_source_share_their_memory() -> None:
    framer, limit = Framer(1000), 1000
    for number in range(50):
        part = entry('{"a": "' + "x" * 500, _STREAM_ID=f"s{number}", _LINE_BREAK="line-max")
        framer.feed(part.encode())
        assert framer.buffered_bytes <= 2 * limit

    assert framer.skipped == {"torn_line": 47}


def test_what_is_kept_of_open_streams_does_not_grow_with_what_their_lines_say_of_them() -> None:
    framer = Framer()
    framer.feed(one_line(log=OBJECT + "\n", stream="stdout", kubernetes=POD, time=TIME).encode())
    for number in range(3):
        pod = {"pod_name": f"{number}" + "x" * 100_000}
        for text in ("{", '"event_type":'):
            line = one_line(log=text, _p="P", stream="stdout", kubernetes=pod, time=["y" * 100_000])
            framer.feed(line.encode())
    kept = framer.checkpoint()
    going_on = Framer(resume=kept)
    whole = []
    for number in range(3):
        pod = {"pod_name": f"{number}" + "x" * 100_000}
        line = one_line(log='"audit"}\n', _p="F", stream="stdout", kubernetes=pod, time=TIME)
        whole += going_on.feed(line.encode())

    assert len(pack(kept)) < 3000
    assert [data for data, _, _ in whole] == [b'{"event_type":"audit"}'] * 3
    assert {whence(record) for record in whole} == {("fluent", TIME)}


def test_an_object_that_lacks_only_its_line_s_end_is_taken_when_the_source_stands_still() -> None:
    framer = Framer()
    assert framer.feed((docker(OBJECT + "\n") + docker(OBJECT)).encode())[-1][2] == 1

    assert [(data.decode(), line) for data, _, line in framer.take_whole_line()] == [(OBJECT, 2)]
    assert framer.feed(docker("\n").encode()) + framer.finish() == []
    assert framer.skipped == {}


class TestARecordThatIsLookedAtAgain:
    """The text of evidence, read from a place in the source on."""

    def test_of_a_line_that_was_cut_it_is_as_much_as_there_is(self) -> None:
        there = docker('{"a": "b", ') + docker("noise\n", "stderr") + docker('"c": 1')

        assert first_record(there.encode(), 4096) == b'{"a": "b", "c": 1'

    def test_of_a_line_that_ends_too_early_it_is_what_the_line_holds(self) -> None:
        there = docker('{"error_message": "caf\u00e9 \\"closed\\""}\n')
        for end in range(12, len(there) - 1):
            told = first_record(there[:end].encode(), 4096).decode()
            assert told.startswith("{")
            assert not told.startswith('{"log"')

    def test_of_any_other_bytes_it_is_the_bytes(self) -> None:
        for there in (b'{"log":5', b'{"log":"\\ud83d', b'{"a": "torn', b"text\n", b""):
            assert first_record(there, 4096) == there


def cri_part(text: str, tag: str) -> str:
    """Return a part of a line, or its end, as a node has it."""
    return cri(tag, text)


def docker_part(text: str, tag: str) -> str:
    """Return the same as Docker has it."""
    return docker(text + "\n" * (tag == "F"))


def nested_part(text: str, tag: str) -> str:
    """Return the same as Filebeat ships it."""
    return beats(docker_part(text, tag).rstrip())


class TestRotation:
    """Parts of a line in two files of one rotation."""

    @staticmethod
    def rotated(former: str, latter: str) -> tuple[list[Record], dict[str, int]]:
        """Return the records of both files, and what could not be used in either."""
        rotations = Rotations(["a.log.1", "b.log", "a.log"])
        first = rotations.begin(0)
        records = first.feed(former.encode())
        assert rotations.is_followed(0)
        rotations.leave(0, first.hand_over())
        records += first.finish()
        assert (rotations.is_followed(1), rotations.is_followed(2)) == (False, False)
        second = rotations.begin(2)
        again = Framer(resume=msgspec.msgpack.decode(pack(second.checkpoint()), type=Checkpoint))
        records += again.feed(latter.encode()) + again.finish()
        return records, {**first.skipped, **again.skipped}

    @pytest.mark.parametrize(("wrap", "line"), [(cri_part, 2), (docker_part, 2), (nested_part, 1)])
    def test_a_line_that_was_parted_is_one_record_where_its_stream_goes_on(
        self, wrap: Any, line: int
    ) -> None:
        parts = [wrap(OBJECT[:9], "P"), wrap(OBJECT[9:20], "P"), wrap(OBJECT[20:], "F")]
        other = wrap('{"a":1}', "F").replace("stdout", "stderr")
        records, skipped = self.rotated(other + parts[0], other + "".join(parts[1:]) + other)

        assert [(data.decode(), line) for data, _, line in records] == [
            ('{"a":1}', 1), ('{"a":1}', 1), (OBJECT, line), ('{"a":1}', 4),
        ]  # fmt: skip
        assert isinstance(records[2], Unwrapped)
        assert not records[2].stands_so
        assert skipped == {}

    def test_what_nothing_goes_on_with_is_torn_there(self) -> None:
        first = cri("P", OBJECT[:9])
        assert self.rotated(first, "") == ([], {"torn_line": 1})
        assert self.rotated(first, cri("F", OBJECT, "stderr"))[1] == {"torn_line": 1}

    def test_a_file_of_no_rotation_leaves_nothing(self) -> None:
        rotations = Rotations(["run-1", "run-2", "-", "-"])
        assert [rotations.is_followed(number) for number in range(4)] == [False] * 4
        assert Framer().hand_over() is None
        torn = Framer()
        torn.feed(cri("P", OBJECT[:9]).encode() + b"2026")
        assert torn.hand_over() is None
