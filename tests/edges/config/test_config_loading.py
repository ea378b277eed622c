"""A file, the environment and the command line become one configuration."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastsignal.core.addresses import Address, parse_address
from lastsignal.core.incidents import IncidentPolicy
from lastsignal.edges.config import Config, LoadedConfig, Override, Route, Secret, load_config
from lastsignal.edges.config.search import candidates

Load = Callable[..., LoadedConfig]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Return a way to load the text of a file under variables."""

    def load_text(text: str | None = None, **variables: str) -> LoadedConfig:
        path = None
        if text is not None:
            path = tmp_path / "here" / "config.toml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return load_config(path, environment={"HOME": str(tmp_path / "home"), **variables})

    return load_text


def test_no_file_at_all_is_a_sensible_configuration(load: Load, tmp_path: Path) -> None:
    loaded = load()

    assert loaded.path is None
    assert loaded.warnings == []
    assert loaded.config == Config(state_dir=tmp_path / "home/.local/state/lastsignal")
    assert loaded.config.http.listen.is_loopback


def test_an_empty_file_is_a_sensible_configuration(load: Load) -> None:
    assert load("").config == load().config


def test_every_kind_of_value_is_read(load: Load, tmp_path: Path) -> None:
    config = load(
        """
        [inputs]
        paths = ["traces", "/var/log/*.jsonl"]
        scan_interval = "1m30s"
        [incidents]
        repeat_interval = "1h"
        notify_from = "critical"
        [http]
        listen = "[::1]:0"
        reload = false
        [limits]
        max_record_bytes = "2MiB"
        max_traces = 5
        """
    ).config

    assert config.inputs.paths == (str(tmp_path / "here/traces"), "/var/log/*.jsonl")
    assert config.inputs.scan_interval == 90.0
    assert config.incidents == IncidentPolicy(repeat_interval=3600.0, notify_from="critical")
    assert config.http.listen == Address("::1", 0)
    assert not config.http.reload
    assert config.limits.max_record_bytes == 2 * 1024 * 1024
    assert config.limits.max_traces == 5


def test_targets_and_their_routes_are_read_in_their_order(load: Load) -> None:
    config = load(
        """
        [[targets]]
        name = "on-call"
        url = { env = "URL" }
        [[targets.routes]]
        severity = "critical"
        [[targets.routes]]
        agents = ["billing-*"]
        rules = ["retry_storm"]
        [[targets]]
        name = "mail"
        url = { env = "URL" }
        """,
        URL="slack://a/b/c",
    ).config

    assert [target.name for target in config.targets] == ["on-call", "mail"]
    assert config.targets[0].routes == (
        Route(severity="critical"),
        Route(agents=("billing-*",), rules=("retry_storm",)),
    )
    assert config.targets[0].url.reveal() == "slack://a/b/c"


def test_parameters_of_rules_are_read_for_all_for_an_agent_and_for_an_operation(load: Load) -> None:
    rules = load(
        """
        [rules.params.retry_storm]
        at_least = 8
        within = "2m"
        [rules.agents."the researcher".retry_storm]
        at_least = 20
        [rules.operations.bash.retry_storm]
        at_least = 40.5
        """
    ).config.rules

    assert rules.params == {"retry_storm": {"at_least": 8, "within": "2m"}}
    assert rules.agents == {"the researcher": {"retry_storm": {"at_least": 20}}}
    assert rules.operations == {"bash": {"retry_storm": {"at_least": 40.5}}}


def test_a_file_with_a_byte_order_mark_is_read(load: Load) -> None:
    assert load('\ufeff[log]\nlevel = "debug"\n').config.log.level == "debug"


# -- where it is looked for ----------------------------------------------------------------------


def test_the_first_file_that_exists_is_taken(load: Load, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home")}
    found = []
    for name in ("system.toml", "home/.config/lastsignal/config.toml", "lastsignal.toml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
        found.append(load_config(environment=home).path)
    (tmp_path / "variable.toml").write_text("")
    variable = {**home, "LASTSIGNAL_CONFIG": str(tmp_path / "variable.toml")}
    found.append(load_config(environment=variable).path)
    found.append(load_config(tmp_path / "system.toml", environment=variable).path)

    assert found == [
        tmp_path / "system.toml",
        tmp_path / "home/.config/lastsignal/config.toml",
        Path("lastsignal.toml"),
        tmp_path / "variable.toml",
        tmp_path / "system.toml",
    ]


def test_a_file_that_a_variable_names_must_be_there(load: Load) -> None:
    with pytest.raises(Exception, match=r"^/no/such\.toml: no such file"):
        load(LASTSIGNAL_CONFIG="/no/such.toml")


def test_a_relative_xdg_folder_is_ignored() -> None:
    found = [*candidates({"XDG_CONFIG_HOME": "relative", "HOME": "/home/me"})]

    assert Path("/home/me/.config/lastsignal/config.toml") in found


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"STATE_DIRECTORY": "/var/lib/lastsignal", "XDG_STATE_HOME": "/x"}, "/var/lib/lastsignal"),
        ({"STATE_DIRECTORY": "/var/lib/one:/var/lib/two"}, "/var/lib/one"),
        ({"XDG_STATE_HOME": "/x"}, "/x/lastsignal"),
        ({"STATE_DIRECTORY": "/a", "LASTSIGNAL_STATE_DIR": "/b"}, "/b"),
    ],
)
def test_state_is_kept_where_systemd_or_xdg_say(
    load: Load, variables: dict[str, str], expected: str
) -> None:
    assert load(**variables).config.state_dir == Path(expected)


def test_relative_paths_begin_beside_the_file_and_those_of_variables_here(
    load: Load, tmp_path: Path
) -> None:
    config = load('[rules]\npaths = ["rules"]\n', LASTSIGNAL_STATE_DIR="state").config

    assert config.rules.paths == (tmp_path / "here/rules",)
    assert config.state_dir == tmp_path / "state"


def test_the_tilde_is_the_home(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")

    assert load('[inputs]\npaths = ["~/.claude/**"]\n').config.inputs.paths == (
        "/home/me/.claude/**",
    )


# -- the environment -----------------------------------------------------------------------------


def test_variables_are_over_the_file_and_the_command_line_is_over_both(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[log]\nlevel = "error"\nformat = "json"\n[inputs]\nstart = "end"\n')
    environment = {"HOME": "/h", "LASTSIGNAL_LOG_LEVEL": "debug", "LASTSIGNAL_INPUTS_START": "end"}

    config = load_config(
        path,
        environment=environment,
        overrides=[Override(("inputs", "start"), "start", "--from")],
    ).config

    assert (config.log.level, config.log.format, config.inputs.start) == ("debug", "json", "start")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.jsonl", ["/cwd/a.jsonl"]),
        ("/a, /b ,", ["/a", "/b"]),
        ('["/with, comma", "/b"]', ["/with, comma", "/b"]),
    ],
)
def test_a_list_in_a_variable_has_commas_or_is_toml(
    load: Load, tmp_path: Path, text: str, expected: list[str]
) -> None:
    found = load(LASTSIGNAL_INPUTS_PATHS=text).config.inputs.paths

    assert [one.replace(str(tmp_path), "/cwd") for one in found] == expected


def test_a_broken_list_in_a_variable_is_told(load: Load) -> None:
    with pytest.raises(Exception, match=r"LASTSIGNAL_INPUTS_PATHS: `inputs.paths` is \"\[/a\""):
        load(LASTSIGNAL_INPUTS_PATHS="[/a")


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("Yes", True), ("off", False)])
def test_a_truth_in_a_variable_is_written_as_people_do(
    load: Load, text: str, expected: bool
) -> None:
    assert load(LASTSIGNAL_HTTP_ENABLED=text).config.http.enabled is expected


def test_numbers_durations_sizes_and_addresses_are_read_from_variables(load: Load) -> None:
    config = load(
        LASTSIGNAL_LIMITS_MAX_TRACES=" 7 ",
        LASTSIGNAL_LIMITS_MAX_RECORD_BYTES="1KiB",
        LASTSIGNAL_INCIDENTS_RESOLVE_AFTER="5m",
        LASTSIGNAL_HTTP_LISTEN="localhost:80",
        LASTSIGNAL_ALERTMANAGER_URLS="http://a:9093/",
    ).config

    assert (config.limits.max_traces, config.limits.max_record_bytes) == (7, 1024)
    assert config.incidents.resolve_after == 300.0
    assert config.http.listen == Address("localhost", 80)
    assert config.alertmanager.urls == ("http://a:9093",)


def test_an_empty_variable_counts_as_not_set(load: Load) -> None:
    assert load(LASTSIGNAL_HTTP_TOKEN="", LASTSIGNAL_LOG_LEVEL="").config == load().config


def test_a_target_is_made_from_variables_alone(load: Load) -> None:
    loaded = load(
        LASTSIGNAL_TARGETS_ON_CALL_URL="slack://a/b/c", LASTSIGNAL_TARGETS_ON_CALL_TIMEOUT="3s"
    )

    (target,) = loaded.config.targets
    assert (target.name, target.timeout) == ("on_call", 3.0)
    assert target.url.reveal() == "slack://a/b/c"
    assert loaded.warnings == []


def test_a_target_of_the_file_is_changed_by_variables(load: Load) -> None:
    config = load(
        '[[targets]]\nname = "on-call"\nurl = { env = "NOT_SET" }\n',
        LASTSIGNAL_TARGETS_ON_CALL_URL="slack://a/b/c",
        LASTSIGNAL_TARGETS_ON_CALL_ENABLED="no",
    ).config

    assert [(one.name, one.enabled) for one in config.targets] == [("on-call", False)]
    assert config.targets[0].url.reveal() == "slack://a/b/c"


def test_an_unknown_variable_is_a_warning_with_the_nearest_name(load: Load) -> None:
    loaded = load(LASTSIGNAL_HTP_LISTEN="x", LASTSIGNAL_ZZZZZZ="x")

    assert [str(one) for one in loaded.warnings] == [
        "LASTSIGNAL_HTP_LISTEN: warning: the variable is unknown;"
        " did you mean `LASTSIGNAL_HTTP_LISTEN`?",
        "LASTSIGNAL_ZZZZZZ: warning: the variable is unknown; see docs/configuration.md",
    ]


def test_variables_that_kubernetes_sets_for_a_service_of_our_name_are_no_mistake(
    load: Load,
) -> None:
    loaded = load(
        LASTSIGNAL_SERVICE_HOST="10.0.0.1",
        LASTSIGNAL_SERVICE_PORT="9787",
        LASTSIGNAL_SERVICE_PORT_METRICS="9787",
        LASTSIGNAL_PORT="tcp://10.0.0.1:9787",
        LASTSIGNAL_PORT_9787_TCP_ADDR="10.0.0.1",
    )

    assert loaded.warnings == []


# -- secrets -------------------------------------------------------------------------------------


def test_a_secret_comes_from_a_file_beside_the_configuration(load: Load, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/token").write_text("hunter2\n")
    loaded = load('[http]\ntoken = { file = "token" }\n')

    assert loaded.config.http.token == Secret("hunter2")
    assert loaded.warnings == []


def test_a_secret_comes_from_the_credentials_of_systemd(load: Load, tmp_path: Path) -> None:
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials/token").write_text("hunter2")
    config = load(
        '[http]\ntoken = { file = "${CREDENTIALS_DIRECTORY}/token" }\n',
        CREDENTIALS_DIRECTORY=str(tmp_path / "credentials"),
    ).config

    assert config.http.token == Secret("hunter2")


def test_a_variable_that_holds_a_secret_is_not_called_unknown(load: Load) -> None:
    loaded = load('[http]\ntoken = { env = "LASTSIGNAL_MY_TOKEN" }\n', LASTSIGNAL_MY_TOKEN="x")

    assert loaded.config.http.token == Secret("x")
    assert loaded.warnings == []


def test_a_variable_may_name_the_file_of_a_secret(load: Load, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2")

    assert load(LASTSIGNAL_HTTP_TOKEN_FILE="token").config.http.token == Secret("hunter2")


def test_a_secret_in_plain_text_works_with_a_warning(load: Load, tmp_path: Path) -> None:
    loaded = load('[http]\ntoken = "hunter2"\n')

    assert loaded.config.http.token == Secret("hunter2")
    assert [str(one) for one in loaded.warnings] == [
        f"{tmp_path}/here/config.toml:2: warning: `http.token` stands in the file in plain text;"
        ' refer to it by { file = "…" }'
    ]


def test_a_secret_never_prints(load: Load) -> None:
    config = load('[http]\ntoken = "hunter2"\n').config

    assert "hunter2" not in f"{config} {config!r} {config.http.token} {config.http.token!r}"
    with pytest.raises(TypeError, match="a secret is not written anywhere"):
        pickle.dumps(config.http.token)


def test_an_address_that_others_reach_may_have_a_token_or_tls(load: Load, tmp_path: Path) -> None:
    (tmp_path / "pem").write_text("x")
    with_token = load(LASTSIGNAL_HTTP_LISTEN="0.0.0.0:1", LASTSIGNAL_HTTP_TOKEN="x")
    with_tls = load(
        LASTSIGNAL_HTTP_LISTEN="0.0.0.0:1",
        LASTSIGNAL_HTTP_TLS_CERT="pem",
        LASTSIGNAL_HTTP_TLS_KEY="pem",
    )

    assert with_token.warnings == []
    assert [str(one) for one in with_tls.warnings] == [
        "LASTSIGNAL_HTTP_LISTEN: warning: `http.listen`: whoever reaches 0.0.0.0:1 may read"
        " incidents; add `http.token`"
    ]


def test_an_address_that_is_not_listened_on_needs_no_protection(load: Load) -> None:
    assert not load('[http]\nenabled = false\nlisten = "0.0.0.0:1"\n').config.http.enabled


# -- what others understand ----------------------------------------------------------------------


def test_aliases_are_kept_as_written_with_their_lines(load: Load, tmp_path: Path) -> None:
    aliases = load(
        "[aliases.fields]\ntool_id = 'operation'\n"
        "[aliases.events]\nllm_done = 'model_call'\n"
        "[[aliases.dialects]]\nname = 'mine'\n\nwhere = { kind = ['a', 'b'] }\n"
    ).config.aliases

    assert aliases.fields.values == {"tool_id": "operation"}
    assert aliases.events.values == {"llm_done": "model_call"}
    (dialect,) = aliases.dialects
    assert dialect.values == {"name": "mine", "where": {"kind": ["a", "b"]}}
    assert str(dialect.problem(("where", "kind"), "bad", "fix")) == (
        f"{tmp_path}/here/config.toml:8: bad; fix"
    )
    assert dialect.problem((), "bad").line == 5
    assert aliases.fields.problem(("no", "such"), "bad").line == 1


def test_a_key_of_a_former_version_works_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('[log]\nverbosity = "loud"\n')
    renamed = {("log", "verbosity"): ("log", "level"), ("no", "such"): ("log", "format")}

    with pytest.raises(Exception, match=r'config\.toml:2: `log.level` is "loud"'):
        load_config(path, environment={"HOME": "/h"}, renamed=renamed)
    path.write_text('[log]\nverbosity = "debug"\n')
    loaded = load_config(path, environment={"HOME": "/h"}, renamed=renamed)

    assert loaded.config.log.level == "debug"
    assert [str(one) for one in loaded.warnings] == [
        f"{path}:2: warning: `log.verbosity` is now called `log.level`;"
        " rename it: the old name will go"
    ]


# -- addresses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_loopback"),
    [
        ("127.0.0.1:1", True),
        ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("localhost:1", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.0.0.1:1", False),
        ("localhost.example.org:1", False),
    ],
)
def test_an_address_knows_whether_only_this_machine_reaches_it(
    text: str, is_loopback: bool
) -> None:
    address = parse_address(text)

    assert address.is_loopback is is_loopback
    assert str(address) == text


@given(st.text())
def test_what_is_no_address_is_told_and_never_raises_otherwise(text: str) -> None:
    try:
        address = parse_address(text)
    except ValueError:
        return
    assert parse_address(str(address)) == address
