"""The line index knows where everything stands that a TOML file can hold."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastsignal.core.places import Place, show_place
from lastsignal.edges.config.positions import find_lines

EVERYTHING = '''\
# a comment = 1
top = 1 # another [comment]
dotted.one = "a # no comment"
dotted."two.parts" = 'it\\'
"quoted \\"key\\"" = 2026-01-02 03:04:05
[ table ]
text = """
several
lines = 3
"""
raw = \'\'\'
[no.table]\'\'\'
numbers = [ 1,
  2, # two
  [ 3,
    4 ],
]
inline = { a = 1, b.c = [{ d = "}" }], e = {} }
[table.inner."deep er"]
x = -inf
[[list]]
[[list.inner]]
a = 1
[[list.inner]]
b = 2
[list.inner.sub]
c = 3
[[list]]
[[list.inner]]
d = """"quoted""""
after = true
'''


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the way to everything in parsed TOML."""
    if place:
        yield place
    if isinstance(value, dict):
        for key, one in value.items():
            yield from places(one, (*place, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from places(one, (*place, index))


def test_every_kind_of_key_has_its_line() -> None:
    lines = find_lines(EVERYTHING)

    assert {show_place(place): line for place, line in lines.items()} == {
        "top": 2,
        "dotted": 3,
        "dotted.one": 3,
        'dotted."two.parts"': 4,
        '"quoted "key""': 5,
        "table": 6,
        "table.text": 7,
        "table.raw": 11,
        "table.numbers": 13,
        "table.numbers[0]": 13,
        "table.numbers[1]": 14,
        "table.numbers[2]": 15,
        "table.numbers[2][0]": 15,
        "table.numbers[2][1]": 16,
        "table.inline": 18,
        "table.inline.a": 18,
        "table.inline.b": 18,
        "table.inline.b.c": 18,
        "table.inline.b.c[0]": 18,
        "table.inline.b.c[0].d": 18,
        "table.inline.e": 18,
        "table.inner": 19,
        'table.inner."deep er"': 19,
        'table.inner."deep er".x': 20,
        "list": 21,
        "list[0]": 21,
        "list[0].inner": 22,
        "list[0].inner[0]": 22,
        "list[0].inner[0].a": 23,
        "list[0].inner[1]": 24,
        "list[0].inner[1].b": 25,
        "list[0].inner[1].sub": 26,
        "list[0].inner[1].sub.c": 27,
        "list[1]": 28,
        "list[1].inner": 29,
        "list[1].inner[0]": 29,
        "list[1].inner[0].d": 30,
        "list[1].inner[0].after": 31,
    }


@pytest.mark.parametrize("text", [EVERYTHING, EVERYTHING.replace("\n", "\r\n"), "", "\n\n", "# x"])
def test_nothing_that_was_parsed_is_without_a_line(text: str) -> None:
    assert set(places(tomllib.loads(text))) == set(find_lines(text))


names = st.text("ab-_1", min_size=1, max_size=3) | st.just('"x.y"') | st.just("'z'")
scalars = st.sampled_from(['"a]"', "'#'", "1", "true", "1979-05-27 07:32:00", '"""\n"\n"""', "[]"])
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[\n" + ",\n".join(items) + "\n]")
        | st.lists(st.tuples(st.sampled_from("abc"), inner), max_size=3, unique_by=lambda p: p[0])
        .map(lambda pairs: "{" + ", ".join(f"{k} = {v}" for k, v in pairs) + "}")
    ),
    max_leaves=6,
)  # fmt: skip
statements = st.one_of(
    st.tuples(names, values).map(lambda pair: f"{pair[0]} = {pair[1]}"),
    st.lists(names, min_size=1, max_size=3).map(lambda keys: f"[{'.'.join(keys)}]"),
    st.lists(names, min_size=1, max_size=3).map(lambda keys: f"[[{' . '.join(keys)}]]"),
    st.just("# comment"),
)


@given(st.lists(statements, max_size=8))
def test_whatever_tomllib_reads_has_a_line_at_which_it_stands(parts: list[str]) -> None:
    text = "\n".join(parts)
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = find_lines(text)

    assert set(places(parsed)) == set(lines)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())
