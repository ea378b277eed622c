"""Names of files that are no UTF-8: shown, stored, and the same again."""

from __future__ import annotations

import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastsignal.core.file_names import from_text, shown, to_text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (b"a.jsonl", "a.jsonl"),
        ("über.jsonl".encode(), "über.jsonl"),
        (b"b\xff\xfe.jsonl", "b\\xff\\xfe.jsonl"),
        ("ü".encode() + b"\xc3", "ü\\xc3"),
    ],
)
def test_what_is_no_text_is_shown_as_its_bytes(name: bytes, text: str) -> None:
    assert shown(os.fsdecode(name)) == text


@given(st.binary().filter(lambda name: b"\0" not in name))
def test_every_name_can_be_stored_and_is_the_same_again(name: bytes) -> None:
    path = os.fsdecode(name)
    stored = msgspec.msgpack.decode(msgspec.msgpack.encode(to_text(path)))

    assert from_text(stored) == path
    shown(path).encode()
