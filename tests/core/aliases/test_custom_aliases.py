"""Names, words and layouts of a user's own: what records become by them, and their mistakes."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from kit.dialects import check_dialect

from lastsignal.core.aliases.custom import UserAliases, extended
from lastsignal.core.aliases.custom_reading import MAX_LAYOUTS, parse_aliases
from lastsignal.core.aliases.reading import Reader
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.events import Event

ACME = """
[[dialects]]
name = "acme"
framework = "acme-bot"
recognise = {keys = ["what.name"], equals = {kind = ["trace", "span"], v = 2}}
status = {"0" = "completed", "1" = "failed", "true" = "completed", gone = "aborted"}
timestamp_unit = "ms"

[dialects.fields]
event_type = "what.name"
operation = ["what.tool", "what.model"]
timestamp = "at"
trace_id = "run"
error_message = "what.err.text"
call_id = "what.n"

[dialects.events]
toolStart = {event_type = "tool_call", status = "started"}
toolDone = "tool_result"
"bye!" = {event_type = "agent_end"}
"""


def parsed(toml: str, taken: tuple[str, ...] = ()) -> tuple[UserAliases, list[str]]:
    """Return what a section says, and its mistakes as `place: message; fix`."""
    problems: list[str] = []

    def complain(place: tuple[str | int, ...], message: str, fix: str) -> None:
        problems.append(f"{'.'.join(map(str, place))}: {message}; {fix}")

    return parse_aliases(tomllib.loads(toml), complain, taken), problems


def read(toml: str, *records: dict[str, Any]) -> tuple[list[Event], Reader]:
    """Read records with a section's aliases."""
    aliases, problems = parsed(toml)
    assert problems == []
    reader = Reader("trace.jsonl", extended(LADDER, aliases), 0.0)
    placed = [(json.dumps(one).encode(), line * 1000, line) for line, one in enumerate(records, 1)]
    return reader.read(placed) + reader.finish(), reader


def acme(name: str, at: int, run: str = "r1", **what: Any) -> dict[str, Any]:
    """Return a record of the layout."""
    rest = {"status": what.pop("status")} if "status" in what else {}
    when = 1_780_000_000_000 + at
    return {"kind": "trace", "v": 2, "at": when, "run": run, "what": {"name": name, **what}, **rest}


def test_a_layout_says_how_it_is_told_and_what_is_where() -> None:
    events, reader = read(
        ACME,
        acme("toolStart", 0, tool="search", n="c1"),
        acme("toolDone", 1500, tool="search", n="c1", status=1, err={"text": "no such page"}),
        acme("toolDone", 2500, model="small", n="c2", status=True),
        acme("bye!", 3000, status="gone"),
    )

    assert [(one.event_type, one.status, one.operation, one.call_id) for one in events] == [
        ("tool_call", "started", "search", "c1"),
        ("tool_result", "failed", "search", "c1"),
        ("tool_result", "completed", "small", "c2"),
        ("agent_end", "aborted", None, None),
    ]
    assert [one.timestamp - 1_780_000_000 for one in events] == [0.0, 1.5, 2.5, 3.0]
    assert {one.trace_id for one in events} == {"r1"}
    assert {one.framework for one in events} == {"acme-bot"}
    assert events[1].error_message == "no such page"
    assert list(reader.formats) == ["acme"]


def test_what_a_layout_does_not_say_is_found_by_the_names_in_use() -> None:
    (event,), _ = read(ACME, {**acme("toolDone", 0, tool="a"), "agent_id": "scout", "attempt": 2})

    assert (event.agent, event.attempt) == ("scout", 2)


def test_records_of_a_layout_that_say_nothing_known_are_dropped_by_name() -> None:
    events, reader = read(
        ACME, acme("toolDone", 0), acme("heartbeat", 1), {"kind": "trace"}, {"kind": "span", "v": 2}
    )
    silent, other = read(LAYOUT, {"a": 1, "b": 2})

    assert len(events) == 1
    assert reader.skipped == {"unknown_event": 1, "unrecognised_record": 2}
    assert (silent, other.skipped) == ([], {"names_no_event": 1})


def test_a_layout_whose_records_are_all_alike_needs_no_word() -> None:
    toml = """
    [[dialects]]
    name = "results"
    recognise = {keys = ["tool", "rc"]}
    fields = {status = "rc"}
    events = {"*" = "tool_result"}
    status = {"0" = "completed", "1" = "failed"}
    """

    events, _ = read(toml, {"tool": "a", "rc": 0}, {"tool": "a", "rc": 1})

    assert [(one.event_type, one.status) for one in events] == [
        ("tool_result", "completed"),
        ("tool_result", "failed"),
    ]


def test_a_layout_keeps_the_contract() -> None:
    aliases, _ = parsed(ACME)
    dialect = extended(LADDER, aliases)[0]
    records = [
        acme("toolStart", 0, tool="search", n="c1"),
        acme("toolDone", 1500, tool="search", n="c1", status=1, err={"text": "no such page"}),
        acme("nothing", 1),
    ]

    events = check_dialect(dialect, records)

    assert len(events) == 2


def test_a_users_layout_is_asked_before_the_built_in_ones() -> None:
    toml = """
    [[dialects]]
    name = "mine"
    recognise = {equals = {event_type = "tool_call", app = "mine"}}
    """
    record = {"event_type": "tool_call", "app": "mine", "tool": "a"}

    assert list(read(toml, record)[1].formats) == ["mine"]
    assert list(read(toml, {**record, "app": "other"})[1].formats) == ["native"]


def test_names_and_words_of_a_users_own_count_for_every_flat_record() -> None:
    toml = """
    [fields]
    operation = ["my_tool", "call.tool"]
    agent = "worker"
    the_run = "trace_id"
    [events]
    toolStart = {event_type = "tool_call", status = "started"}
    "Tool Over" = "tool_result"
    """

    events, reader = read(
        toml,
        {"event": "toolStart", "my_tool": "a", "worker": "w", "the_run": "r"},
        {"event": "toolstart", "call": {"tool": "b"}},
        {"event": "tool-over", "tool": "c", "error": "boom"},
        {"event_type": "tool_call", "status": "started", "my_tool": "d"},
    )

    assert [(one.event_type, one.status, one.operation) for one in events] == [
        ("tool_call", "started", "a"),
        ("tool_call", "started", "b"),
        ("tool_result", "failed", "c"),
        ("tool_call", "started", "d"),
    ]
    assert (events[0].agent, events[0].trace_id) == ("w", "r")
    assert list(reader.formats) == ["flat", "native"] or list(reader.formats) == ["flat"]


def test_a_name_given_to_one_field_is_no_name_of_any_other() -> None:
    (event,), _ = read('[fields]\nagent = ["name"]', {"event": "tool_call", "name": "scout"})

    assert (event.agent, event.operation) == ("scout", None)


def test_no_alias_changes_the_ladder_where_there_are_none() -> None:
    assert extended(LADDER, UserAliases()) == LADDER


LAYOUT = '[[dialects]]\nname = "x"\nrecognise = {keys = ["a", "b"]}\n'


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ("[field]\na = 1", "field: `aliases.field` is not known; did you mean `fields`?"),
        ('fields = "x"', "fields: `aliases.fields` is no table; write { name = value }"),
        ("dialects = 5", "dialects: `aliases.dialects` is no list; write [[aliases.dialects]]"),
        (
            '[fields]\noprtion = ["x"]',
            "fields.oprtion: `oprtion` is no field of an event; did you mean `operation`?",
        ),
        (
            '[fields]\nmy_tool = "oprtion"',
            "fields.my_tool: `my_tool` is no field of an event; did you mean `operation`?",
        ),
        (
            "[fields]\noperation = []",
            "fields.operation: `aliases.fields.operation` must be 1 to 32 names;"
            ' write ["name", "other.name"]',
        ),
        (
            "[fields]\noperation = [5]",
            "fields.operation.0: `aliases.fields.operation[0]` must be text of 1 to 200 characters;"
            " put it in quotes",
        ),
        (
            '[fields]\noperation = ["a..b"]',
            "fields.operation.0: `a..b` in `aliases.fields.operation[0]` is no path;"
            " write up to 8 names with a dot between them: a.b.c",
        ),
        (
            '[fields]\noperation = ["a"]\nagent = ["a"]',
            "fields.agent: `a` is given to `operation` as well;"
            " leave one: a name can mean one thing",
        ),
        (
            '[events]\ndone = "tool_reslt"',
            "events.done.event_type: `aliases.events.done.event_type` cannot be `tool_reslt`;"
            " did you mean `tool_result`?",
        ),
        (
            '[events]\ndone = {event_type = "tool_result", status = "OK"}',
            "events.done.status: `aliases.events.done.status` cannot be `OK`;"
            " write one of started, completed, failed, aborted",
        ),
        (
            '[events]\ndone = {status = "failed"}',
            "events.done.event_type: `aliases.events.done.event_type` is missing; write one of"
            " agent_start, model_call, tool_call, tool_result, retry, agent_end,"
            " process_error, audit",
        ),
        (
            "[events]\ndone = 5",
            "events.done: `aliases.events.done` is no table; write { name = value }",
        ),
        (
            LAYOUT.replace('"x"', '"X y"'),
            "dialects.0.name: `aliases.dialects[0].name` is missing or no name;"
            ' write name = "my_agent"',
        ),
        (
            LAYOUT.replace('name = "x"\n', ""),
            'dialects.0: `aliases.dialects[0].name` is missing or no name; write name = "my_agent"',
        ),
        (
            LAYOUT.replace('"x"', '"native"'),
            "dialects.0.name: `native` in `aliases.dialects[0].name` is the name of another"
            " dialect; choose another",
        ),
        (
            LAYOUT + LAYOUT,
            "dialects.1.name: `x` in `aliases.dialects[1].name` is the name of another dialect;"
            " choose another",
        ),
        (
            LAYOUT.replace('["a", "b"]', '["a"]'),
            "dialects.0.recognise: `aliases.dialects[0].recognise` tells this layout from no other;"
            ' name two keys, or what one of them equals: {keys=["a", "b"], equals={c=1}}',
        ),
        (
            LAYOUT.replace('"b"]', '"b"], equal = {c = 1}'),
            "dialects.0.recognise.equal: `aliases.dialects[0].recognise.equal` is not known;"
            " did you mean `equals`?",
        ),
        (
            LAYOUT.replace('"b"]', '"b"], equals = {c = {d = 1}}'),
            "dialects.0.recognise.equals.c: `aliases.dialects[0].recognise.equals.c` must be a"
            ' value; write "text"',
        ),
        (
            LAYOUT + 'timestamp_unit = "minutes"',
            "dialects.0.timestamp_unit: `aliases.dialects[0].timestamp_unit` cannot be `minutes`;"
            " write one of s, ms, us, ns",
        ),
        (
            LAYOUT + 'status = {KO = "faild"}',
            "dialects.0.status.KO: `aliases.dialects[0].status.KO` cannot be `faild`;"
            " did you mean `failed`?",
        ),
        (
            LAYOUT + "order = 3",
            "dialects.0.order: `aliases.dialects[0].order` is not known; there are name,",
        ),
        ("dialects = [5]", "dialects.0: `aliases.dialects[0]` is no table; write { name = value }"),
    ],
)
def test_every_mistake_is_told_with_its_place_and_its_fix(toml: str, problem: str) -> None:
    _, problems = parsed(toml, taken=("native",))

    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_of_several_wrong_entries_each_is_named() -> None:
    bad = LAYOUT.replace('"x"', '"X!"').replace('"b"]', '"", 3], equals = {c = [[1], 2, [3]]}')
    _, problems = parsed('[fields]\noperation = ["", "ok", "", "a."]\nagent = ["a."]\n' + bad + bad)

    told = [problem.partition(": ")[2].partition(";")[0] for problem in problems]
    assert len(told) == len(set(told))
    for way in ("fields.operation[0]", "fields.operation[2]", "fields.operation[3]",
                "fields.agent[0]", "dialects[1].recognise.keys[2]",
                "dialects[0].recognise.equals.c[2]"):  # fmt: skip
        assert sum(f"`aliases.{way}`" in one for one in told) == 1, told


def test_all_mistakes_are_told_at_once() -> None:
    toml = '[fields]\nx = ["y"]\noperation = []\n[events]\na = "b"\n' + LAYOUT + "status = 5"

    assert len(parsed(toml)[1]) == 4


def test_what_a_configuration_may_add_is_bounded() -> None:
    names = ", ".join(f'"n{number}"' for number in range(33))
    words = "".join(f'w{number} = "tool_call"\n' for number in range(501))
    layouts = "".join(LAYOUT.replace('"x"', f'"x{n}"') for n in range(MAX_LAYOUTS + 1))

    assert len(parsed(f"[fields]\noperation = [{names}]")[1]) == 1
    assert len(parsed(f"[events]\n{words}")[1]) == 1
    aliases, problems = parsed(layouts)
    assert (len(problems), len(aliases.layouts)) == (1, MAX_LAYOUTS)
