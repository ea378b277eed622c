"""`lastsignal config` through the command line: exit codes and words."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastsignal.cli import run
from lastsignal.edges.config import reference


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LASTSIGNAL_CONFIG", "")


def write(tmp_path: Path, text: str) -> str:
    """Write a configuration and return its path."""
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_check_of_nothing_is_all_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "check"]) == 0

    said = capsys.readouterr()
    assert said.out.startswith("no configuration file: the defaults: all right, ")
    assert said.out.endswith(" rules, 0 targets\n")
    assert said.err == ""


def test_check_warns_and_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, '[[targets]]\nname = "a"\nurl = "slack://hunter2"\n')

    assert run(["config", "check", "--config", path]) == 0

    said = capsys.readouterr()
    assert f"{path}:3: warning: `targets[0].url` stands in the file in plain text" in said.err
    assert said.out.endswith(" 1 targets\n")
    assert "hunter2" not in said.out + said.err


def test_check_refuses_mistakes_with_exit_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, "[log]\nlevl = 1\n[http]\nreload = 1\n")

    assert run(["config", "check", "-c", path]) == 3
    assert capsys.readouterr().err == (
        f"lastsignal: {path}:2: unknown key `levl` in [log]; did you mean `level`?\n"
        f"{path}:4: `http.reload` is 1; it takes true or false\n"
    )


def test_check_knows_the_rules_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, '[rules]\ndisabled = ["retry_strom"]\n')

    assert run(["config", "check", "-c", path]) == 3
    assert "there is no rule `retry_strom`; did you mean `retry_storm`?" in capsys.readouterr().err


def test_check_counts_only_rules_that_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["config", "check"])
    every = capsys.readouterr().out.partition("all right, ")[2].partition(" ")[0]
    run(["config", "check", "-c", write(tmp_path, '[rules]\ndisabled = ["retry_storm"]\n')])
    fewer = capsys.readouterr().out.partition("all right, ")[2].partition(" ")[0]

    assert int(fewer) == int(every) - 1


def test_a_wrong_rule_file_is_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text("id: mine\n")

    assert run(["config", "check", "-c", write(tmp_path, '[rules]\npaths = ["mine.yaml"]\n')]) == 2
    assert f"{tmp_path}/mine.yaml:1: " in capsys.readouterr().err


def test_show_prints_toml_and_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, '[http]\ntoken = "hunter2"\n')

    assert run(["config", "show", "-c", path]) == 0

    said = capsys.readouterr()
    assert said.out.startswith(f"# from {path}\nstate_dir = ")
    assert "hunter2" not in said.out + said.err


def test_the_reference_is_printed_as_the_docs_have_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "reference"]) == 0
    assert capsys.readouterr().out == reference()


def test_check_knows_what_aliases_may_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[rules]\ndisabled = ["no_such"]\n[aliases.fields]\ntool_id = "operatoin"\n'
    path = write(tmp_path, text)

    assert run(["config", "check", "-c", path]) == 3
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(
        f"lastsignal: {path}:2: `rules.disabled[0]`: there is no rule `no_such`"
    )
    assert second.startswith(f"{path}:4: ")
    assert "`operation`" in second


def test_check_finds_nothing_wrong_with_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[3] / "deploy" / "lastsignal.toml"

    assert run(["config", "check", "-c", str(example)]) == 0
    assert capsys.readouterr().err == ""
