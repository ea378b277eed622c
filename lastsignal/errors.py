"""The exception tree; imports nothing of ours.

LastSignalError            expected trouble: told to the user, never a traceback
├── InputError             exit 3: a path, a file or a stream cannot be read
├── UsageError             exit 3: flags that contradict each other, bad configuration
└── RuleError              exit 2: one or more rule files are wrong; carries every Problem
"""

from __future__ import annotations

from dataclasses import dataclass


class LastSignalError(Exception):
    """Expected trouble: the message says where, what, and how to fix it."""

    exit_code = 3


class InputError(LastSignalError):
    """A path, a file or a stream cannot be read."""


class UsageError(LastSignalError):
    """Arguments or configuration that cannot be acted on."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong in one place of a file that a user wrote."""

    path: str
    line: int
    """1-based; 0 where the whole file is meant."""
    message: str
    fix: str = ""
    severity: str = "error"
    """error | warning: only errors refuse a rule set."""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        fix = f"; {self.fix}" if self.fix else ""
        label = "warning: " if self.severity == "warning" else ""
        return f"{place}: {label}{self.message}{fix}"


class RuleError(LastSignalError):
    """Rule files that cannot be used; carries every problem, not only the first."""

    exit_code = 2

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
