"""Every mistake is told with its line and the way out: one bad file for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastsignal.core.rules import Rule
from lastsignal.edges.config import ConfigError, Override, check_rules, load_config
from lastsignal.edges.rulefiles import load_rules
from lastsignal.errors import UsageError

BAD = sorted((Path(__file__).parent / "bad").glob("*.toml"))
ENVIRONMENT = {"HOME": "/nobody", "SLACK": "slack://secret"}


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    """Return the built-in rules."""
    return load_rules()


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_file_is_refused_with_these_words(path: Path) -> None:
    first, _, _ = path.read_text(encoding="utf-8").partition("\n")
    expected = first.removeprefix("# expect: ")

    with pytest.raises(ConfigError) as caught:
        load_config(path, environment=ENVIRONMENT)

    said = str(caught.value)
    assert said == expected.replace("{path}", str(path)).replace("{folder}", str(path.parent))
    assert caught.value.exit_code == 3
    assert isinstance(caught.value, UsageError)


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[log]\nlevel = "loud"\n[http]\nport = 1\n[limits]\nmax_traces = "x"\n')

    with pytest.raises(ConfigError) as caught:
        load_config(path, environment=ENVIRONMENT)

    assert [(one.line, one.message) for one in caught.value.problems] == [
        (2, '`log.level` is "loud"'),
        (4, "unknown key `port` in [http]"),
        (6, '`limits.max_traces` is "x"'),
    ]


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "no.toml"

    with pytest.raises(ConfigError) as caught:
        load_config(path, environment=ENVIRONMENT)

    assert str(caught.value) == f"{path}: no such file; name one that is there, or none at all"


def test_a_folder_is_no_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory; check its permissions"):
        load_config(tmp_path, environment=ENVIRONMENT)


def test_text_that_is_not_utf_8_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b'[log]\nlevel = "\xe4"\n')

    with pytest.raises(ConfigError) as caught:
        load_config(path, environment=ENVIRONMENT)

    assert str(caught.value) == f"{path}:2: the file is not UTF-8; save it as UTF-8"


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"#" * (1 << 20) + b"\n")

    with pytest.raises(ConfigError, match="the file is over 1 MiB"):
        load_config(path, environment=ENVIRONMENT)


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"a = {'[' * 100_000}\n")

    with pytest.raises(ConfigError, match="no valid TOML: "):
        load_config(path, environment=ENVIRONMENT)


def test_a_mistake_in_a_variable_is_told_by_its_name() -> None:
    environment = {**ENVIRONMENT, "LASTSIGNAL_LIMITS_MAX_TRACES": "many"}

    with pytest.raises(ConfigError) as caught:
        load_config(environment=environment)

    assert str(caught.value) == (
        'LASTSIGNAL_LIMITS_MAX_TRACES: `limits.max_traces` is "many";'
        " it takes a whole number, at least 1"
    )


def test_a_mistake_on_the_command_line_is_told_by_its_option() -> None:
    override = Override(("inputs", "start"), "beginning", "--from")

    with pytest.raises(ConfigError, match=r'^--from: `inputs.start` is "beginning"; it takes'):
        load_config(environment=ENVIRONMENT, overrides=[override])


def test_a_variable_cannot_repair_a_table_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("http = 3\n")

    with pytest.raises(ConfigError, match="`http` is 3; it takes a table"):
        load_config(path, environment={**ENVIRONMENT, "LASTSIGNAL_HTTP_LISTEN": "127.0.0.1:1"})


def test_without_a_home_somebody_must_say_where_state_is_kept() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(environment={})

    assert str(caught.value) == (
        "configuration: there is no place for state: neither STATE_DIRECTORY nor HOME is set;"
        ' add state_dir = "…" or set LASTSIGNAL_STATE_DIR'
    )


def test_rules_that_are_not_there_are_told_with_their_line(
    tmp_path: Path, rules: list[Rule]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        '[rules]\ndisabled = [\n  "retry_storm",\n  "retry_strom",\n]\n'
        "[rules.params.no_such_rule_at_all]\nat_least = 3\n"
        "[rules.params.retry_storm]\natleast = 3\n"
        "[rules.agents.researcher.retry_storm]\nzzz = 3\n"
        "[rules.operations.bash.retry_strom]\nat_least = 3\n"
    )
    known = next(", ".join(rule.text.params) for rule in rules if rule.id == "retry_storm")

    problems = check_rules(load_config(path, environment=ENVIRONMENT), rules)

    assert [str(one).removeprefix(f"{path}:") for one in problems] == [
        "4: `rules.disabled[1]`: there is no rule `retry_strom`; did you mean `retry_storm`?",
        "6: `rules.params.no_such_rule_at_all`: there is no rule `no_such_rule_at_all`;"
        " see `lastsignal rules list`",
        "9: the rule `retry_storm` has no parameter `atleast`; did you mean `at_least`?",
        f"11: the rule `retry_storm` has no parameter `zzz`; it has: {known}",
        "12: `rules.operations.bash.retry_strom`: there is no rule `retry_strom`;"
        " did you mean `retry_storm`?",
    ]
