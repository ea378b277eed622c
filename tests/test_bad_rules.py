"""Every mistake of a rule author, one a file: each is told with its line and its fix, all at once.

`tests/data/bad_rules.txt` holds the messages; `LASTSIGNAL_UPDATE_GOLDEN=1` writes it anew.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import pytest

from lastsignal.cli import run
from lastsignal.edges.rulefiles import builtin_rules, load_rules, read_rules
from lastsignal.errors import Problem, RuleError

FOLDER = Path(__file__).parent / "data" / "bad_rules"
EXPECTED = FOLDER.with_suffix(".txt")
FILES = sorted(FOLDER.glob("*.yaml"))


def shown(problem: Problem) -> str:
    """Return a problem as it is printed, without the place of this checkout."""
    said = str(problem).removeprefix(f"{FOLDER}{os.sep}")
    return said.replace(str(builtin_rules()), "rules")


@pytest.fixture(scope="module")
def told() -> dict[str, list[str]]:
    """Return what is said of all files, loaded together, by file."""
    found: dict[str, list[str]] = defaultdict(list)
    for problem in read_rules([FOLDER]).problems:
        found[Path(problem.path).name].append(shown(problem))
    if os.environ.get("LASTSIGNAL_UPDATE_GOLDEN"):
        lines = [line for path in FILES for line in found[path.name]]
        EXPECTED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_mistake_is_told_with_its_line_and_its_fix(
    path: Path, told: dict[str, list[str]]
) -> None:
    lines = EXPECTED.read_text(encoding="utf-8").splitlines()
    expected = [line for line in lines if line.startswith(f"{path.name}:")]

    assert expected
    assert told[path.name] == expected


def test_every_problem_has_a_line_and_a_fix() -> None:
    for problem in read_rules([FOLDER]).problems:
        assert problem.line >= 1, problem
        assert problem.fix, problem
        assert "Expected `" not in problem.message, "the decoder's own words"


def test_there_are_many_mistakes_and_no_message_without_a_file() -> None:
    named = {line.partition(":")[0] for line in EXPECTED.read_text(encoding="utf-8").splitlines()}

    assert len(FILES) >= 25
    assert named == {path.name for path in FILES}


def test_a_daemon_that_loads_them_hears_of_all_of_them() -> None:
    with pytest.raises(RuleError) as caught:
        load_rules([FOLDER])

    assert {Path(problem.path).name for problem in caught.value.problems} == {
        path.name for path in FILES
    }
    assert caught.value.exit_code == 2


def test_lint_prints_them_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["rules", "lint", str(FOLDER)])

    assert code == 2
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(EXPECTED.read_text(encoding="utf-8").splitlines())


def test_a_mistake_does_not_hide_those_of_other_files(tmp_path: Path) -> None:
    good = (builtin_rules() / "retry_storm.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(good.replace("id: retry_storm", "id: mine"), "utf-8")
    (tmp_path / "torn.yaml").write_text("id: torn\nwhere: {\n", "utf-8")

    found = read_rules([tmp_path])

    assert "mine" in {rule.id for rule in found.rules}
    assert [Path(problem.path).name for problem in found.problems] == ["torn.yaml"]
