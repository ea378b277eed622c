"""docs/output.md says what is so."""

from __future__ import annotations

import re
from pathlib import Path

import lastsignal
from lastsignal.core.diagnosis.report import SCHEMA_VERSION
from lastsignal.edges.report import FORMATS
from lastsignal.edges.report.markdown import MAX_CHARACTERS
from lastsignal.edges.report.sarif import LEVELS
from lastsignal.errors import LastSignalError, RuleError

PAGE = (Path(__file__).parents[2] / "docs" / "output.md").read_text(encoding="utf-8")
ROOT = Path(lastsignal.__file__).parents[1]


def rows(first: str) -> list[str]:
    """The first cells of the table that begins with a heading."""
    table = PAGE.split(f"| {first} |", 1)[1].split("\n\n", 1)[0]
    return [row.split("|")[1].strip().strip("`") for row in table.splitlines()[2:]]


def test_every_format_is_documented_and_no_other() -> None:
    assert sorted(rows("Format")) == sorted(FORMATS)
    assert set(re.findall(r"--format (\w+)", PAGE)) <= set(FORMATS)
    assert f"{MAX_CHARACTERS:,} characters" in PAGE


def test_exit_codes_are_those_of_the_errors() -> None:
    assert rows("Code") == ["0", "1", "2", "3", "4", "130"]
    assert (RuleError.exit_code, LastSignalError.exit_code) == (2, 3)


def test_the_schema_is_where_the_page_says() -> None:
    (path,) = set(re.findall(r"lastsignal/edges/report/schema-\d+\.json", PAGE))

    assert (ROOT / path).is_file()
    assert path.endswith(f"schema-{SCHEMA_VERSION.split('.')[0]}.json")


def test_levels_of_sarif_are_the_documented_ones() -> None:
    for severity, level in LEVELS.items():
        assert f"`{severity}` is `{level}`" in PAGE
