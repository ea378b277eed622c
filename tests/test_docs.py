"""The documentation is true: what it shows is what the product says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from lastsignal.cli import EPILOG, cli
from lastsignal.commands.formats import markdown_table as dialect_table
from lastsignal.commands.formats import wrapper_table
from lastsignal.commands.rules import markdown_table as rule_table
from lastsignal.core.ruletest import run_cases
from lastsignal.edges.rulefiles import load_rules, read_rules

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
UPDATE = bool(os.environ.get("LASTSIGNAL_UPDATE_GOLDEN"))


def readme() -> str:
    """Return the README as it is now."""
    return README.read_text(encoding="utf-8")


def replace(pattern: str, new: str) -> None:
    """Write a generated part into the README, when asked to."""
    README.write_text(
        re.sub(pattern, lambda found: found[1] + new + found[2], readme(), flags=re.DOTALL),
        encoding="utf-8",
    )


def between(name: str) -> str:
    """Return the generated part of the README of this name."""
    found = re.search(
        rf"<!-- {name}: begin [^\n]*-->\n(.*?)<!-- {name}: end -->", readme(), re.DOTALL
    )
    assert found is not None
    return found[1].strip()


def test_the_readme_opens_with_what_the_product_really_says() -> None:
    path = "docs/examples/quota.jsonl"
    command = [sys.executable, "-m", "lastsignal", "diagnose", path]
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR")}
    said = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env=environment, check=False
    )
    if UPDATE:
        replace(r"(quota\.jsonl\n).*?(\n```)", said.stdout.rstrip())
    shown = re.search(r"\$ lastsignal diagnose (\S+)\n(.*?)\n```", readme(), re.DOTALL)

    assert shown is not None
    assert shown[1] == path
    assert said.returncode == 1
    assert [line.rstrip() for line in shown[2].splitlines()] == [
        line.rstrip() for line in said.stdout.rstrip().splitlines()
    ]
    assert readme().index(shown[0]) < 400


def test_the_readme_s_tables_are_those_of_the_code() -> None:
    tables = {
        "dialects": dialect_table(),
        "wrappers": wrapper_table(),
        "rules": rule_table(load_rules()),
    }
    for name, table in tables.items():
        if UPDATE:
            replace(rf"(<!-- {name}: begin [^\n]*-->\n).*?(<!-- {name}: end -->)", table + "\n")

        assert between(name) == table


def test_the_readme_holds_the_two_commands() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    for command in ("demo", "test"):
        assert f"$ make {command}" in readme()
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_the_exit_codes_of_the_readme_are_those_of_the_help() -> None:
    in_readme = re.findall(r"^\| (\d+) \|", readme(), re.MULTILINE)
    in_help = re.findall(r"^  (\d+) ", EPILOG, re.MULTILINE)

    assert in_readme == in_help


@pytest.mark.parametrize(
    "document", sorted([README, *(ROOT / "docs").rglob("*.md")]), ids=lambda path: path.name
)
def test_every_command_that_a_document_shows_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for words in re.findall(r"^\$ (?:.*\| )?lastsignal ([a-z][^\n#|]*)", text, re.MULTILINE):
        command: click.Command = cli
        rest = words.split()
        while isinstance(command, click.Group):
            found = command.get_command(click.Context(command), rest[0])
            assert found is not None, f"{document.name}: lastsignal {words}"
            command, rest = found, rest[1:]
        known = {option for one in command.params for option in one.opts}
        for word in rest:
            if word.startswith("-") and word != "-":
                assert word.split("=")[0] in known, f"{document.name}: lastsignal {words}"


def test_the_rule_in_the_readme_lints_and_passes_its_own_tests(tmp_path: Path) -> None:
    source = re.search(r"```yaml\n(id: .*?)```", readme(), re.DOTALL)
    assert source is not None
    path = tmp_path / f"{yaml.safe_load(source[1])['id']}.yaml"
    path.write_text(source[1], encoding="utf-8")

    found = read_rules([path], builtin=False)

    assert found.problems == []
    assert [case.mismatches for case in run_cases(found.rules[0])] == [[], []]


def test_every_command_has_a_help_that_teaches() -> None:
    def walk(command: click.Command, name: str) -> None:
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"
        if isinstance(command, click.Group):
            context = click.Context(command)
            for inner in command.list_commands(context):
                one = command.get_command(context, inner)
                assert one is not None, f"{name} {inner}"
                walk(one, f"{name} {inner}")

    walk(cli, "lastsignal")
