"""What is shown is what is in force, without a secret, and can be read again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastsignal.commands.aliases import ladder_of
from lastsignal.core.aliases.registry import LADDER
from lastsignal.core.durations import parse_duration
from lastsignal.edges.config import Config, load_config, reference, show
from lastsignal.edges.config.environment import variables
from lastsignal.edges.config.rendering import write_duration

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "deploy" / "lastsignal.toml"
ENVIRONMENT = {
    "HOME": "/home/me",
    "ON_CALL_URL": "slack://hunter2",
    "ALERTMANAGER_PASSWORD": "hunter2",
    "HOOK_URL": "https://hunter2",
    "HOOK_TOKEN": "hunter2",
}


@pytest.fixture
def everything(tmp_path: Path) -> Path:
    """Return the example file with nothing left out."""
    text = re.sub(r'^#(?=\[|[a-z_"]+ = )', "", EXAMPLE.read_text(encoding="utf-8"), flags=re.M)
    for line in ("username", "password", "tls_cert", "tls_key"):
        text = re.sub(rf"^{line} = .*\n", "", text, flags=re.M)  # exclude others, or need files
    for name in ("http.token", "alertmanager.token", "chat_url"):
        (tmp_path / name).write_text("hunter2")
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_defaults_are_shown_as_toml() -> None:
    text = show(load_config(environment=ENVIRONMENT))

    assert text.startswith(
        "# no configuration file: the defaults\n"
        'state_dir = "/home/me/.local/state/lastsignal"\n\n[inputs]\npaths = []\n'
    )
    assert '\nrepeat_interval = "4h"\n' in text
    assert '\nmax_record_bytes = "32MiB"\n' in text


def test_secrets_are_masked_or_shown_as_what_they_refer_to(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[[targets]]\nname = "a"\nurl = "slack://hunter2"\n'
        '[[targets]]\nname = "b"\nurl = { env = "ON_CALL_URL" }\n'
    )
    text = show(load_config(path, environment={**ENVIRONMENT, "LASTSIGNAL_HTTP_TOKEN": "hunter2"}))

    assert "hunter2" not in text
    assert 'url = "********"  # in plain text, not shown\n' in text
    assert 'url = { env = "ON_CALL_URL" }\n' in text
    assert 'token = { env = "LASTSIGNAL_HTTP_TOKEN" }  # from LASTSIGNAL_HTTP_TOKEN\n' in text


def test_what_is_shown_is_read_as_the_same_configuration(everything: Path) -> None:
    environment = {**ENVIRONMENT, "CREDENTIALS_DIRECTORY": str(everything.parent)}
    loaded = load_config(everything, environment=environment)
    shown = everything.with_name("shown.toml")
    shown.write_text(show(loaded), encoding="utf-8")

    again = load_config(shown, environment=environment)

    assert again.config == loaded.config
    assert show(again).partition("\n")[2] == show(loaded).partition("\n")[2]


def test_raw_tables_and_strange_names_survive(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[rules.params.x]\n"a \\"b\\"" = "\\u007f\\n"\n'
        "[rules.agents.'käse . x'.y]\nz = -1.5\n"
        "[aliases.fields]\n'a.b' = 'operation'\n"
        "[[aliases.dialects]]\nwhen = 1979-05-27\nwhere = { a = [1, { b = nan }], c = true }\n"
    )
    loaded = load_config(path, environment=ENVIRONMENT)
    shown = tmp_path / "shown.toml"
    shown.write_text(show(loaded), encoding="utf-8")

    again = load_config(shown, environment=ENVIRONMENT)

    assert again.config.rules == loaded.config.rules
    assert again.config.aliases.fields.values == {"a.b": "operation"}
    assert str(again.config.aliases.dialects[0].values) == str(
        loaded.config.aliases.dialects[0].values
    )


@given(st.integers(min_value=0, max_value=10**11))
def test_a_duration_is_shown_as_it_is_read(milliseconds: int) -> None:
    text = write_duration(milliseconds / 1000)

    assert round(parse_duration(text) * 1000) == milliseconds


# -- documents -----------------------------------------------------------------------------------


def test_the_example_is_a_configuration_of_defaults(tmp_path: Path) -> None:
    loaded = load_config(EXAMPLE, environment=ENVIRONMENT)

    assert loaded.warnings == []
    assert loaded.config.inputs.paths == ("/var/log/agents",)
    expected = Config(state_dir=loaded.config.state_dir)
    for section in ("rules", "incidents", "targets", "alertmanager", "http", "log", "limits"):
        assert getattr(loaded.config, section) == getattr(expected, section)


def test_what_the_example_leaves_out_is_right_too_and_names_every_key(everything: Path) -> None:
    environment = {**ENVIRONMENT, "CREDENTIALS_DIRECTORY": str(everything.parent)}
    loaded = load_config(everything, environment=environment)
    example = EXAMPLE.read_text(encoding="utf-8")

    assert loaded.warnings == []
    assert len(ladder_of(loaded.config.aliases)) >= len(LADDER)
    for _, place, _ in variables():
        assert re.search(rf"^#?{place[-1]} = ", example, re.M), f"{place} is not in the example"


def test_the_defaults_that_the_example_names_are_the_defaults() -> None:
    shown = show(load_config(EXAMPLE, environment={"HOME": "/home/me"}))
    told = re.findall(r"^#([a-z_]+ = .*)$", EXAMPLE.read_text(encoding="utf-8"), re.M)
    named = {line.partition(" = ")[0] for line in told}

    for line in shown.splitlines():
        key = line.partition(" = ")[0]
        if key in named and key not in ("state_dir", "paths") and not line.endswith(" = []"):
            assert line in told, f"the default is {line}"


def test_the_reference_in_the_docs_is_that_of_the_code() -> None:
    document = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")

    assert reference() in document, "`lastsignal config reference` writes it anew"


def test_the_docs_name_a_variable_that_exists() -> None:
    document = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    known = {name for name, _, _ in variables()} | {"LASTSIGNAL_CONFIG"}
    patterns = {"LASTSIGNAL_TARGETS_ON_CALL_URL"}

    for name in re.findall(r"`(LASTSIGNAL_[A-Z_]+)`", document):
        assert name in known | patterns
