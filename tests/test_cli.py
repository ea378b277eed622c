"""The command line as a whole: what it says of a command it has not, and what it need not load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lastsignal.cli import EXIT_USAGE, run

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "docs" / "examples" / "quota.jsonl"


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("daignose", "There is no command `daignose`. Did you mean `lastsignal diagnose`?"),
        (str(TRACE), f"Did you mean `lastsignal diagnose {TRACE}`?"),
        ("zzz", "There is no command `zzz`.\n"),
    ],
)
def test_a_command_that_is_none_is_told_with_what_may_be_meant(
    word: str, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([word]) == EXIT_USAGE
    assert advice in capsys.readouterr().err


def test_a_postmortem_does_not_wait_for_what_only_the_daemon_needs() -> None:
    heavy = {"uvicorn", "starlette", "httpx", "apprise", "watchfiles", "prometheus_client"}
    code = (
        "import sys; from lastsignal.cli import run; run(['diagnose', sys.argv[1]]);"
        " print(sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, TRACE], capture_output=True, text=True, check=True
    )

    assert "quota" in said.stdout.lower()
    assert not [name for name in heavy if f"'{name}'" in said.stderr]
